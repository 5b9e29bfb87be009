//! What each of several hosts did by time, in short.

use crate::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So many intervals no series of ours has; in a longer one most would be empty.
const MOST_INTERVALS: u64 = 1 << 16;

/// What one of several hosts did by time: numbers alone, an interval after the other from its own first
/// operation. What was counted in an interval that was not seen in time stands where it began.
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
        let place = |start_ns: u64| start_ns.saturating_add(interval_ns / 2) / interval_ns;
        let last = record.series.iter().map(|of| place(of.start_ns)).max()?;
        let length = usize::try_from(last)
            .ok()
            .filter(|_| last < MOST_INTERVALS)?
            + 1;
        let (mut operations, mut bytes) = (vec![0_u64; length], vec![0_u64; length]);
        for interval in &record.series {
            let at = usize::try_from(place(interval.start_ns)).ok()?;
            let counted = [
                (&mut operations, interval.operations.count()),
                (&mut bytes, interval.operations.bytes()),
            ];
            for (all, own) in counted {
                let sum = all.get_mut(at)?;
                *sum = sum.saturating_add(own);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, Operations};

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
