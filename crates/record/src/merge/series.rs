//! Series of several hosts as one, by time.

use super::accounts::{add_to, sum};
use crate::{Interval, Record};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Intervals by the number of the one that they fall into, each with the users that were there at
/// its end.
type Places = BTreeMap<u64, (Interval, Option<u64>)>;

impl Interval {
    /// Makes one interval of this one and the next of the same host.
    pub fn extend_to(&mut self, next: &Self) {
        self.steal_share = self
            .steal_share
            .zip(next.steal_share)
            .map(|(a, b)| (a + b) / 2.0);
        self.end_ns = next.end_ns;
        self.in_flight = next.in_flight;
        let target_resident = self.target_resident_bytes.max(next.target_resident_bytes);
        self.count(next);
        self.target_cpu_ns = sum(self.target_cpu_ns, next.target_cpu_ns);
        self.target_resident_bytes = target_resident;
    }

    /// Adds what another host did in the same time. Of stolen time it keeps that of the host that
    /// lost most.
    fn add_beside(&mut self, other: &Self) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        add_to(&mut self.in_flight, other.in_flight);
        self.count(other);
        self.steal_share = [self.steal_share, other.steal_share]
            .into_iter()
            .flatten()
            .reduce(f64::max);
        // Not every host watches a target.
        for (mine, theirs) in [
            (&mut self.target_cpu_ns, other.target_cpu_ns),
            (&mut self.target_resident_bytes, other.target_resident_bytes),
        ] {
            *mine = sum(*mine, theirs).or(*mine).or(theirs);
        }
    }

    /// What adds up whatever the intervals are.
    fn count(&mut self, other: &Self) {
        self.operations.merge(&other.operations);
        add_to(&mut self.cpu_ns, other.cpu_ns);
        self.device_read_bytes = sum(self.device_read_bytes, other.device_read_bytes);
        self.device_written_bytes = sum(self.device_written_bytes, other.device_written_bytes);
    }
}

/// What several hosts did by time.
pub(super) struct SeriesOfAll {
    interval_ns: u64,
    places: Places,
}

impl SeriesOfAll {
    /// The longest of all lengths of an interval is that of the sum.
    pub(super) fn of(records: &mut [Record]) -> Self {
        let lengths = records.iter().map(|record| record.interval_ns);
        let interval_ns = lengths.max().unwrap_or_default();
        let mut all = Places::new();
        for record in records {
            for (at, (interval, users)) in places(record, interval_ns) {
                match all.entry(at) {
                    Entry::Vacant(place) => {
                        place.insert((interval, users));
                    }
                    Entry::Occupied(mut place) => {
                        let (mine, mine_users) = place.get_mut();
                        mine.add_beside(&interval);
                        *mine_users = sum(*mine_users, users).or(*mine_users).or(users);
                    }
                }
            }
        }
        Self {
            interval_ns,
            places: all,
        }
    }

    /// Makes it that of a record.
    pub(super) fn tell(self, record: &mut Record) {
        record.interval_ns = self.interval_ns;
        let all = self.places.into_values();
        let (series, users): (Vec<Interval>, Vec<Option<u64>>) = all.unzip();
        record.series = series;
        if let Some(load) = &mut record.load {
            let has_users = users.iter().any(Option::is_some);
            let users = users.into_iter().filter(|_| has_users);
            load.users = users.map(Option::unwrap_or_default).collect();
        }
    }
}

/// The intervals of a record, each at the edge of its own series that its beginning is nearest to, in
/// intervals of another length.
fn places(record: &mut Record, every_ns: u64) -> Places {
    let mut out = Places::new();
    let own_ns = record.interval_ns.max(1);
    let series = std::mem::take(&mut record.series);
    let mut users = record.load.iter().flat_map(|load| &load.users);
    for interval in series {
        let edge = interval.start_ns.saturating_add(own_ns / 2) / own_ns;
        let at = edge.saturating_mul(own_ns) / every_ns.max(1);
        let users = users.next().copied();
        match out.entry(at) {
            Entry::Vacant(place) => {
                place.insert((interval, users));
            }
            Entry::Occupied(mut place) => {
                let (first, first_users) = place.get_mut();
                first.extend_to(&interval);
                *first_users = users.or(*first_users);
            }
        }
    }
    out
}
