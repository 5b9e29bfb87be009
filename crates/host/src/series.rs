//! The series: what was counted at the edges of intervals, halved where a run is long.

use record::Interval;

/// Beyond this many intervals neighbours are merged, so that memory does not grow with the length
/// of a run.
const MOST_INTERVALS: usize = 2048;

/// What is kept at each edge.
#[derive(Debug, Default)]
pub(crate) struct Series {
    pub(crate) whole: Vec<Interval>,
    /// Of each worker; empty where nobody asked for them.
    pub(crate) workers: Vec<Vec<Interval>>,
    /// Users that were there at the end of each interval.
    pub(crate) users: Vec<u64>,
    /// Length of an interval, longer than asked where neighbours were merged.
    pub(crate) interval_ns: u64,
}

impl Series {
    /// Makes room: every two neighbours become one where there are too many.
    pub(crate) fn shorten(&mut self) {
        if self.whole.len() < MOST_INTERVALS {
            return;
        }
        for series in std::iter::once(&mut self.whole).chain(&mut self.workers) {
            *series = coarser(std::mem::take(series));
        }
        let last = |pair: &[u64]| pair.last().copied();
        self.users = self.users.chunks(2).filter_map(last).collect();
        self.interval_ns *= 2;
    }
}

/// Every two neighbours as one.
fn coarser(series: Vec<Interval>) -> Vec<Interval> {
    let mut out: Vec<Interval> = Vec::with_capacity(series.len().div_ceil(2));
    for (index, interval) in series.into_iter().enumerate() {
        match out.last_mut().filter(|_| index % 2 == 1) {
            Some(left) => left.extend_to(&interval),
            None => out.push(interval),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Measurements, Operations};

    fn interval(index: u64) -> Interval {
        let mut operations = Measurements::default();
        operations.insert(
            "get",
            Operations {
                count: index,
                ..Operations::default()
            },
        );
        Interval {
            start_ns: index * 10,
            end_ns: index * 10 + 10,
            operations,
            in_flight: index,
            cpu_ns: 1,
            device_read_bytes: Some(3),
            device_written_bytes: None,
            steal_share: Some(0.5),
            target_cpu_ns: Some(2),
            target_resident_bytes: Some(100_u64.saturating_sub(index)),
        }
    }

    #[test]
    fn merged_neighbours_keep_time_and_counts() {
        let found = coarser((0..5).map(interval).collect());
        let shown: Vec<_> = found
            .iter()
            .map(|i| {
                (
                    i.start_ns,
                    i.end_ns,
                    i.operations.count(),
                    i.in_flight,
                    i.cpu_ns,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [(0, 20, 1, 1, 2), (20, 40, 5, 3, 2), (40, 50, 4, 4, 1)]
        );
        let first = &found[0];
        assert_eq!(
            (first.device_read_bytes, first.device_written_bytes),
            (Some(6), None)
        );
        assert_eq!(
            (
                first.target_cpu_ns,
                first.target_resident_bytes,
                first.steal_share
            ),
            (Some(4), Some(100), Some(0.5))
        );
    }

    #[test]
    fn a_series_that_was_halved_says_how_long_its_intervals_are() {
        let mut series = Series {
            interval_ns: 10,
            ..Series::default()
        };
        for index in 0..MOST_INTERVALS as u64 {
            series.whole.push(interval(index));
            series.users.push(index);
            series.shorten();
        }
        let interval = &series.whole[7];
        assert_eq!(series.interval_ns, interval.end_ns - interval.start_ns);
        assert_eq!(
            (series.whole.len(), series.users.len(), series.users[1]),
            (MOST_INTERVALS / 2, MOST_INTERVALS / 2, 3)
        );
    }
}
