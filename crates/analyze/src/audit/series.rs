//! The rate of a record second by second, as far as its series tells.

use record::Record;

const SECOND_NS: u64 = 1_000_000_000;
/// Below it a slot has no warm-up, no gate and no plateau worth the name: five windows of six
/// seconds.
pub(super) const SHORTEST: usize = 30;
/// Fewer operations in ten seconds, and their count scatters by more than the rules would allow a
/// level to move.
const FEWEST_IN_TEN_SECONDS: f64 = 1000.0;

/// Operations a second, one value for each second of a record of our own that offers all the load
/// it can; `None` where the series is too short, too coarse or too thin to say anything about
/// steadiness, and where kinds of operations follow each other. Intervals in which the generator
/// stood still say nothing of the rate.
pub(super) fn seconds(record: &Record) -> Option<Vec<f64>> {
    let effective = crate::Effective::of(record);
    if record.source.is_some()
        || !record.spans.is_empty()
        || effective.is_open_loop()
        || effective.thinks()
    {
        return None;
    }
    let mut out = Vec::new();
    let (mut length, mut operations) = (0, 0);
    let ran = |interval: &&record::Interval| {
        !record
            .stops
            .iter()
            .any(|stop| stop.start_ns < interval.end_ns && interval.start_ns < stop.end_ns)
    };
    for interval in record.series.iter().filter(ran) {
        length += interval.end_ns.saturating_sub(interval.start_ns);
        operations += interval.operations.count();
        // The last second may lack a few operations, and an interval a few milliseconds.
        if length >= SECOND_NS - SECOND_NS / 20 {
            if length > SECOND_NS + SECOND_NS / 2 {
                return None;
            }
            out.push(operations as f64 * 1e9 / length as f64);
            (length, operations) = (0, 0);
        }
    }
    let mean = stats::sample::mean(&out);
    (out.len() >= SHORTEST && mean * 10.0 >= FEWEST_IN_TEN_SECONDS).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::super::example::{blocks, set, sound, with_rates};
    use super::*;

    #[test]
    fn intervals_become_seconds() {
        let record = with_rates(&[1000; 40]);
        assert_eq!(seconds(&record).unwrap(), vec![1000.0; 40]);
        let mut fine = record;
        fine.series = fine
            .series
            .iter()
            .flat_map(|second| {
                let half = |from: u64, to: u64| {
                    let mut interval = record::Interval {
                        start_ns: from,
                        end_ns: to,
                        ..record::Interval::default()
                    };
                    interval.operations.insert("read", blocks(500, 1000));
                    interval
                };
                let middle = second.start_ns.midpoint(second.end_ns);
                [half(second.start_ns, middle), half(middle, second.end_ns)]
            })
            .collect();
        assert_eq!(seconds(&fine).unwrap(), vec![1000.0; 40]);
    }

    #[test]
    fn a_second_in_which_the_generator_stood_still_is_left_out() {
        let mut rates = [1000; 40];
        rates[20] = 10;
        let mut record = with_rates(&rates);
        assert_ne!(seconds(&record).unwrap(), vec![1000.0; 40]);
        record.stops = vec![record::Stoppage {
            start_ns: 20_100_000_000,
            end_ns: 20_900_000_000,
            suspended_ns: 0,
        }];
        assert_eq!(seconds(&record).unwrap(), vec![1000.0; 39]);
    }

    #[test]
    fn what_is_short_coarse_thin_or_paced_says_nothing() {
        assert_eq!(seconds(&sound()), None);
        assert_eq!(seconds(&with_rates(&[1000; 29])), None);
        assert_eq!(seconds(&with_rates(&[99; 40])), None);
        let mut coarse = with_rates(&[1000; 40]);
        coarse.series.iter_mut().for_each(|interval| {
            interval.start_ns *= 2;
            interval.end_ns *= 2;
        });
        assert_eq!(seconds(&coarse), None);
        let mut thinking = with_rates(&[1000; 40]);
        set(&mut thinking, "think-time", "1ms");
        assert_eq!(seconds(&thinking), None);
    }
}
