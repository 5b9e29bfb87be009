//! Series of several hosts as one, by time.

use super::accounts::{add_to, sum};
use crate::{Interval, Record, by_nearest_device};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

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

/// What the device next to the target read and wrote in an interval.
#[derive(Clone, Copy, Default)]
struct Moved {
    read: Option<u64>,
    written: Option<u64>,
}

impl Moved {
    /// Leaves nothing in the interval, to which anything can be added.
    fn taken_from(interval: &mut Interval) -> Self {
        Self {
            read: interval.device_read_bytes.replace(0),
            written: interval.device_written_bytes.replace(0),
        }
    }

    /// Of two hosts that counted one device what the one counted that looked for longer.
    fn larger(self, other: Self) -> Self {
        Self {
            read: self.read.max(other.read),
            written: self.written.max(other.written),
        }
    }

    fn only_if(self, is_known: bool) -> Self {
        if is_known { self } else { Self::default() }
    }

    fn add_to(self, interval: &mut Interval) {
        interval.device_read_bytes = sum(interval.device_read_bytes, self.read);
        interval.device_written_bytes = sum(interval.device_written_bytes, self.written);
    }
}

/// Records whose series tell of one device: ranks of one machine each count all that its disk moved.
struct Watchers {
    /// Their indices.
    records: Vec<usize>,
    /// Not so of a record that was merged of hosts of several machines, one of which another record
    /// has too: how much of its sum is of which device nobody knows any more.
    are_known: bool,
}

impl Watchers {
    fn of(records: &[Record]) -> Vec<Self> {
        let hosts = records.iter().enumerate();
        let hosts = hosts.flat_map(|(at, of)| of.generators().map(move |host| (at, host)));
        let devices = by_nearest_device(hosts, |of| of.1).into_iter();
        let devices: Vec<BTreeSet<usize>> = devices
            .map(|hosts| hosts.into_iter().map(|(at, _)| at).collect())
            .collect();
        let mut watched = vec![0_usize; records.len()];
        devices.iter().flatten().for_each(|at| watched[*at] += 1);
        let (mut are_known, mut is_placed) =
            (vec![true; records.len()], vec![false; records.len()]);
        let mut out = Vec::new();
        for sharing in devices.into_iter().filter(|sharing| sharing.len() > 1) {
            let is_one = sharing.iter().all(|at| watched[*at] == 1);
            let marks = if is_one {
                &mut is_placed
            } else {
                &mut are_known
            };
            sharing.iter().for_each(|at| marks[*at] = is_one);
            if is_one {
                out.push(Self {
                    records: sharing.into_iter().collect(),
                    are_known: true,
                });
            }
        }
        let alone = are_known.into_iter().enumerate();
        let alone = alone.filter(|(at, _)| !is_placed[*at]);
        out.extend(alone.map(|(at, are_known)| Self {
            records: vec![at],
            are_known,
        }));
        out
    }
}

/// What several hosts did by time.
pub(super) struct SeriesOfAll {
    interval_ns: u64,
    places: Places,
}

impl SeriesOfAll {
    /// An interval of the sum is as long as edges of all series have in common: a time is divided only where all
    /// records divide it.
    pub(super) fn of(records: &mut [Record]) -> Self {
        let lengths = records.iter().map(|record| record.interval_ns);
        let interval_ns = lengths.filter(|ns| *ns > 0).reduce(common_multiple);
        let interval_ns = interval_ns.unwrap_or_default();
        let edges = Edges::of(records, interval_ns);
        let mut all = Places::new();
        for watchers in Watchers::of(records) {
            let mut moved: BTreeMap<u64, Moved> = BTreeMap::new();
            for record in &watchers.records {
                for (at, (mut interval, users)) in places(&mut records[*record], &edges) {
                    let own = Moved::taken_from(&mut interval);
                    let known = moved.entry(at).or_default();
                    *known = known.larger(own).only_if(watchers.are_known);
                    add(&mut all, at, interval, users);
                }
            }
            for (at, moved) in moved {
                let place = all.entry(at).or_default();
                moved.add_to(&mut place.0);
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

fn common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).saturating_mul(b)
}

/// Puts an interval beside what other hosts did in the same time.
fn add(all: &mut Places, at: u64, interval: Interval, users: Option<u64>) {
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

/// Where the intervals of all begin: at every edge but those that lie within an interval of some
/// record. A host that stood still has one interval where the others have several, and a rate is what
/// all did over a time that is the same for all.
struct Edges {
    interval_ns: u64,
    /// The first and the last number that one interval covers, by the first; apart from each other.
    covered: BTreeMap<u64, u64>,
}

impl Edges {
    fn of(records: &[Record], interval_ns: u64) -> Self {
        let mut out = Self {
            interval_ns: interval_ns.max(1),
            covered: BTreeMap::new(),
        };
        for record in records {
            let own_ns = record.interval_ns.max(1);
            let begin = record.series.first().map_or(0, |first| first.start_ns);
            for interval in &record.series {
                let [start, end] = [interval.start_ns, interval.end_ns].map(|ns| edge(ns, own_ns));
                if end.saturating_sub(start) > out.interval_ns {
                    let [first, last] = [start, end - 1].map(|ns| ns / out.interval_ns);
                    // It goes on in the midst of an interval of the others, which is then one with it as well.
                    let beyond = interval.end_ns.saturating_sub(begin) % own_ns;
                    let is_at_an_edge = beyond.min(own_ns - beyond) <= own_ns / 10;
                    out.cover(first, if is_at_an_edge { last } else { last + 1 });
                }
            }
        }
        out
    }

    fn cover(&mut self, first: u64, last: u64) {
        let (mut first, mut last) = (first, last);
        while let Some((&other, &end)) = self.covered.range(..=last).next_back()
            && end >= first
        {
            self.covered.remove(&other);
            (first, last) = (first.min(other), last.max(end));
        }
        self.covered.insert(first, last);
    }

    /// The number of the interval of all in which that of a record lies.
    fn place(&self, interval: &Interval, own_ns: u64) -> u64 {
        let at = edge(interval.start_ns, own_ns) / self.interval_ns;
        match self.covered.range(..=at).next_back() {
            Some((first, last)) if *last >= at => *first,
            Some(_) | None => at,
        }
    }
}

/// The edge of a record's own series that a moment is nearest to.
const fn edge(ns: u64, own_ns: u64) -> u64 {
    (ns.saturating_add(own_ns / 2) / own_ns).saturating_mul(own_ns)
}

/// The intervals of a record by where they begin.
fn places(record: &mut Record, edges: &Edges) -> Places {
    let mut out = Places::new();
    let own_ns = record.interval_ns.max(1);
    let series = std::mem::take(&mut record.series);
    let mut users = record.load.iter().flat_map(|load| &load.users);
    for interval in series {
        let at = edges.place(&interval, own_ns);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceAccount;

    /// A rank on a machine whose disk read and wrote so much in each second.
    fn rank(number: u32, boot: Option<&str>, moved: [u64; 2]) -> Record {
        let interval = |at: u64| Interval {
            start_ns: at * 10,
            end_ns: at * 10 + 10,
            cpu_ns: 1,
            device_read_bytes: Some(moved[0]),
            device_written_bytes: Some(moved[1]),
            ..Interval::default()
        };
        let mut record = Record {
            id: number.to_string(),
            elapsed_ns: 20,
            interval_ns: 10,
            series: vec![interval(0), interval(1)],
            ..Record::default()
        };
        let host = record.generator_mut();
        host.rank = Some(number);
        host.environment.system.boot_id = boot.map(str::to_owned);
        host.devices = vec![DeviceAccount {
            name: "vda".into(),
            ..DeviceAccount::default()
        }];
        record
    }

    #[test]
    fn where_one_stood_still_the_intervals_of_the_others_are_one_with_its_own() {
        let mut still = rank(0, Some("a"), [3, 0]);
        let mut other = rank(1, Some("b"), [1, 0]);
        other.series = (0..6)
            .map(|at| Interval {
                start_ns: at * 10 + 1,
                end_ns: at * 10 + 11,
                in_flight: at,
                ..other.series[0].clone()
            })
            .collect();
        still.series = [(0, 10), (10, 41), (41, 50), (50, 60)]
            .map(|(start_ns, end_ns)| Interval {
                start_ns,
                end_ns,
                in_flight: 100,
                ..still.series[0].clone()
            })
            .to_vec();
        let all = Record::merge_all([still.clone(), other.clone()]).unwrap();
        let found = all
            .series
            .iter()
            .map(|of| (of.start_ns, of.end_ns, of.cpu_ns, of.in_flight));
        let found: Vec<_> = found.collect();
        assert_eq!(
            found,
            [
                (0, 11, 2, 100),
                (10, 41, 4, 103),
                (41, 51, 2, 104),
                (50, 61, 2, 105)
            ]
        );
        let mut between = still.clone();
        (between.series[1].end_ns, between.series[2].start_ns) = (43, 43);
        let found = Record::merge_all([between, other.clone()]).unwrap();
        let found = found
            .series
            .iter()
            .map(|of| (of.start_ns, of.end_ns, of.cpu_ns));
        let whole = [(0, 11, 2), (10, 51, 6), (50, 61, 2)];
        assert_eq!(
            found.collect::<Vec<_>>(),
            whole,
            "not at an edge of the others"
        );
        let mut by_one = other;
        by_one.merge(&still).unwrap();
        by_one.merge(&rank(2, Some("c"), [9, 9])).unwrap();
        let all = Record::merge_all([rank(2, Some("c"), [9, 9]), all]).unwrap();
        assert_eq!(by_one.series.len(), 4);
        assert_eq!(by_one.series, all.series);
    }

    #[test]
    fn intervals_of_different_lengths_are_joined_at_the_edges_that_all_have() {
        let of = |number, own_ns: u64| {
            let mut one = rank(number, Some("a"), [0, 0]);
            let interval = |at: u64| Interval {
                start_ns: at * own_ns,
                end_ns: (at + 1) * own_ns,
                cpu_ns: own_ns,
                ..Interval::default()
            };
            one.series = (0..120 / own_ns).map(interval).collect();
            one.interval_ns = own_ns;
            one
        };
        let mut all = [of(0, 20), of(1, 30)];
        let mut joined = Record::default();
        SeriesOfAll::of(&mut all).tell(&mut joined);
        let told = joined.series.iter();
        let told: Vec<_> = told
            .map(|own| (own.start_ns, own.end_ns, own.cpu_ns))
            .collect();
        assert_eq!(told, [(0, 60, 120), (60, 120, 120)]);
        assert_eq!(joined.interval_ns, 60);
    }

    #[test]
    fn what_is_covered_twice_is_one() {
        let mut edges = Edges {
            interval_ns: 1,
            covered: BTreeMap::new(),
        };
        for (first, last) in [(4, 6), (10, 12), (1, 2), (6, 10), (2, 3)] {
            edges.cover(first, last);
        }
        assert_eq!(edges.covered, [(1, 3), (4, 12)].into());
    }

    /// What the disks moved by interval.
    fn moved(record: &Record) -> Vec<[Option<u64>; 2]> {
        let series = record.series.iter();
        let moved = series.map(|of| [of.device_read_bytes, of.device_written_bytes]);
        moved.collect()
    }

    #[test]
    fn the_disk_of_a_machine_counts_once_however_many_ranks_watch_it() {
        let one = [
            rank(0, Some("a"), [70, 5]),
            rank(1, Some("a"), [68, 6]),
            rank(2, Some("b"), [1000, 0]),
        ];
        let all = Record::merge_all(one.clone()).unwrap();
        assert_eq!(moved(&all), [[Some(1070), Some(6)]; 2]);
        assert_eq!(all.series[0].cpu_ns, 3);
        let mut by_one = one[0].clone();
        by_one.merge(&one[1]).unwrap();
        by_one.merge(&one[2]).unwrap();
        assert_eq!(by_one, all);
        let unknown = [rank(0, None, [70, 5]), rank(1, None, [68, 6])];
        let all = Record::merge_all(unknown).unwrap();
        assert_eq!(moved(&all), [[Some(138), Some(11)]; 2], "two machines");
    }

    #[test]
    fn of_a_sum_over_machines_nobody_knows_what_a_rank_beside_saw_of_it() {
        let mut all = Record::merge_all([rank(0, Some("a"), [70, 5]), rank(1, Some("b"), [9, 9])]);
        let all = all.as_mut().unwrap();
        all.merge(&rank(2, Some("a"), [68, 6])).unwrap();
        assert_eq!(moved(all), [[None, None]; 2]);
    }
}
