//! What each of several hosts did by time, in short.

use crate::merge::add_to;
use crate::{Interval, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So many intervals no series of ours has; in a longer one most would be empty.
const MOST_INTERVALS: usize = 1 << 16;

/// What one of several hosts did by time: numbers alone, an interval after the other from its own first
/// operation. What was counted over several of them, because nobody looked in time, is spread over these
/// by their share of the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostSeries {
    pub interval_ns: u64,
    /// Operations of all kinds that succeeded.
    pub operations: Vec<u64>,
    /// Bytes that they moved; empty where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bytes: Vec<u64>,
}

impl HostSeries {
    /// Of a record of one host, whose times are its own; `None` where it has no series.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let interval_ns = record.interval_ns.max(1);
        let covered = |of: &Interval| Covered::of(of.start_ns, of.end_ns, interval_ns);
        let length = record.series.iter().map(|of| covered(of).end()).max()?;
        let length = usize::try_from(length).ok();
        let length = length.filter(|length| *length <= MOST_INTERVALS)?;
        let (mut operations, mut bytes) = (vec![0_u64; length], vec![0_u64; length]);
        for interval in &record.series {
            let covered = covered(interval);
            covered.spread(interval.operations.count(), &mut operations)?;
            covered.spread(interval.operations.bytes(), &mut bytes)?;
        }
        if bytes.iter().all(|own| *own == 0) {
            bytes.clear();
        }
        Some(Self {
            interval_ns,
            operations,
            bytes,
        })
    }
}

/// The time over which something was counted, in places of one length.
struct Covered {
    from_ns: u64,
    to_ns: u64,
    place_ns: u64,
}

impl Covered {
    /// Who looks a little late, by less than a tenth of a place, looked in time.
    fn of(start_ns: u64, end_ns: u64, place_ns: u64) -> Self {
        let in_time = |ns: u64| {
            let near = place_ns / 10;
            let over = ns.saturating_add(near) % place_ns;
            match over <= near.saturating_mul(2) {
                true => ns.saturating_add(near).saturating_sub(over),
                false => ns,
            }
        };
        let from_ns = in_time(start_ns).min(u64::MAX - 1);
        Self {
            from_ns,
            to_ns: in_time(end_ns).max(from_ns + 1),
            place_ns,
        }
    }

    /// The first place after it.
    fn end(&self) -> u64 {
        self.to_ns.div_ceil(self.place_ns)
    }

    /// Adds a count to the places, to each as much as it has of the time; `None` where one is missing.
    fn spread(&self, count: u64, places: &mut [u64]) -> Option<()> {
        let mut added = 0;
        for number in self.from_ns / self.place_ns..self.end() {
            let until_ns = (number + 1).saturating_mul(self.place_ns).min(self.to_ns);
            let [part, whole] = [until_ns, self.to_ns].map(|ns| u128::from(ns - self.from_ns));
            let until = u64::try_from(u128::from(count) * part / whole).ok()?;
            add_to(
                places.get_mut(usize::try_from(number).ok()?)?,
                until - added,
            );
            added = until;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operations;

    fn of(intervals: &[(u64, u64)]) -> Record {
        let interval = |(start_ns, count): &(u64, u64)| {
            let mut interval = Interval {
                start_ns: *start_ns,
                end_ns: start_ns + 10,
                ..Interval::default()
            };
            let read = Operations {
                count: *count,
                bytes: 4 * count,
                ..Operations::default()
            };
            interval.operations.insert("read", read);
            interval
        };
        Record {
            interval_ns: 10,
            elapsed_ns: 40,
            series: intervals.iter().map(interval).collect(),
            ..Record::default()
        }
    }

    #[test]
    fn each_interval_stands_at_its_place_and_what_was_not_seen_is_empty() {
        let series = HostSeries::of(&of(&[(0, 5), (11, 6), (29, 7)])).unwrap();
        assert_eq!(series.operations, [5, 6, 0, 7]);
        assert_eq!(series.bytes, [20, 24, 0, 28]);
        assert_eq!(HostSeries::of(&of(&[])), None);
        assert_eq!(HostSeries::of(&of(&[(0, 0)])).unwrap().bytes, [0_u64; 0]);
        assert_eq!(HostSeries::of(&of(&[(0, 5), (u64::MAX - 20, 1)])), None);
    }

    #[test]
    fn what_was_counted_over_several_intervals_is_spread_over_them() {
        let mut record = of(&[(0, 5), (10, 17), (40, 5)]);
        record.series[1].end_ns = 41;
        let series = HostSeries::of(&record).unwrap();
        assert_eq!(series.operations, [5, 5, 6, 6, 5]);
        assert_eq!(series.bytes.iter().sum::<u64>(), 4 * 27);
        // Who looked late looks again in time.
        let mut record = of(&[(0, 25), (26, 4), (30, 10)]);
        (record.series[0].end_ns, record.series[1].end_ns) = (26, 30);
        let operations = HostSeries::of(&record).unwrap().operations;
        assert_eq!(operations, [9, 10, 10, 10]);
    }

    #[test]
    fn a_joined_record_has_that_of_each_host_by_its_own_clock() {
        let parts = [(0_u32, 5), (1, 8)].map(|(rank, count)| {
            let mut part = of(&[(0, count), (10, count)]);
            part.id = rank.to_string();
            let host = part.generator_mut();
            (host.rank, host.late_ns) = (Some(rank), 7 * u64::from(rank));
            part
        });
        let all = Record::merge_all(parts).unwrap();
        let own = |at: usize| all.hosts[at].series.clone().unwrap().operations;
        assert_eq!((own(0), own(1)), (vec![5, 5], vec![8, 8]));
        assert_eq!(all.by_host()[1].generator().series, all.hosts[1].series);
    }
}
