//! What the records of one cell say together of their time, thinned: never one series a record.

use super::thinned::{RateColumn, Sample, columns};
use crate::Effective;
use record::{Histogram, Interval, Quantity, Record};
use stats::warm_up::{RegimeChange, Steadiness, mser5, regime_change, steady};
use units::lossless::{f64_to_u64_saturating, u64_to_f64};

const SECOND: u64 = 1_000_000_000;
/// An interval shorter than this share of the usual, as the last one often is, gives no rate.
const SHORTEST_SHARE: u64 = 5;
/// Batches that MSER-5 needs to say anything, in values.
const FEWEST_VALUES: usize = 20;

/// From this block size on bytes are what people compare, below it operations.
const LARGE_BLOCK: u64 = 128 << 10;
/// Columns of a thinned series.
const RATE_COLUMNS: u32 = 110;

/// How the slots of a cell went on, each from its own start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Bytes or operations a second, as the row says.
    pub rate: Vec<RateColumn>,
    pub settling: Settling,
    /// The end of the time, and the latencies of all operations in equal parts of it.
    pub end_ns: f64,
    pub latencies: Vec<Histogram>,
}

/// The course of some records; `parts` is the most parts that latencies are told in.
pub(super) fn course(records: &[&Record], rate: &Quantity, parts: u32) -> Course {
    let (end_ns, latencies) = time_columns(records, parts);
    Course {
        rate: columns(&samples(records, rate), RATE_COLUMNS),
        settling: settling(records),
        end_ns,
        latencies,
    }
}

/// The rate that is shown of a row: bytes for large blocks and where bytes are compared, operations
/// otherwise.
pub(super) fn rate_of<'a>(
    records: impl Iterator<Item = &'a Record>,
    compared: &Quantity,
) -> Quantity {
    let mut sizes = records
        .filter_map(|record| Effective::of(record).block_bytes())
        .peekable();
    let is_large = sizes.peek().is_some() && sizes.all(|bytes| bytes >= LARGE_BLOCK);
    let throughput = Quantity::named("throughput");
    if is_large || *compared == throughput {
        throughput
    } else {
        Quantity::named("iops")
    }
}

fn length(interval: &Interval) -> u64 {
    interval.end_ns.saturating_sub(interval.start_ns)
}

fn intervals(record: &Record) -> impl Iterator<Item = &Interval> {
    let usual = record.interval_ns;
    record
        .series
        .iter()
        .filter(move |interval| length(interval) > 0 && length(interval) >= usual / SHORTEST_SHARE)
}

/// Bytes or operations a second in each interval of each record, each from its own start.
fn samples(records: &[&Record], metric: &Quantity) -> Vec<Sample> {
    let amount = |interval: &Interval| {
        if metric.is("throughput") {
            interval.operations.bytes()
        } else {
            interval.operations.count()
        }
    };
    let sample = |interval: &Interval| Sample {
        start_ns: interval.start_ns,
        end_ns: interval.end_ns,
        value: u64_to_f64(amount(interval)) * 1e9 / u64_to_f64(length(interval)),
    };
    records
        .iter()
        .flat_map(|record| intervals(record).map(sample))
        .collect()
}

/// Where slots settle, and whether.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settling {
    /// Cut of each slot, in seconds.
    pub cuts: Vec<usize>,
    /// Slots in which no steady part was found.
    pub at_limit: usize,
    /// The jump in the middle of all jumps of the level.
    pub jump: Option<RegimeChange>,
    /// Slots in which the level jumped.
    pub jumped: usize,
    /// The worst of the slots that are not steady after their cut.
    pub unsteady: Option<Steadiness>,
    pub slots: usize,
}

/// Settling of each record's operations a second; slots too short to tell are not counted.
fn settling(records: &[&Record]) -> Settling {
    let mut out = Settling::default();
    let mut changes: Vec<RegimeChange> = Vec::new();
    for record in records {
        let values = by_second(record);
        if values.len() < FEWEST_VALUES {
            continue;
        }
        out.slots += 1;
        let cut = mser5(&values);
        out.cuts.push(cut.seconds);
        out.at_limit += usize::from(cut.at_limit);
        changes.extend(regime_change(&values));
        let rest = steady(&values[cut.seconds.min(values.len())..])
            .filter(|steadiness| !steadiness.passes());
        if let Some(found) =
            rest.filter(|found| out.unsteady.is_none_or(|worst| found.range > worst.range))
        {
            out.unsteady = Some(found);
        }
    }
    out.jumped = changes.len();
    changes.sort_by_key(|change| change.second);
    out.jump = changes.get(changes.len() / 2).copied();
    out
}

/// Operations in each whole second of the measured time; none where intervals are longer than a
/// second.
fn by_second(record: &Record) -> Vec<f64> {
    let (Some(last), true) = (record.series.last(), record.interval_ns <= SECOND) else {
        return Vec::new();
    };
    let seconds = usize::try_from(last.end_ns / SECOND)
        .unwrap_or(0)
        .min(record.series.len());
    let mut out = vec![0.0; seconds];
    for interval in &record.series {
        let middle = interval.start_ns / 2 + interval.end_ns / 2;
        if let Some(value) = usize::try_from(middle / SECOND)
            .ok()
            .and_then(|second| out.get_mut(second))
        {
            *value += u64_to_f64(interval.operations.count());
        }
    }
    out
}

/// Latencies of all operations by time since the start of their slot: the end of the time, and its
/// equal parts, at most `most`.
fn time_columns(records: &[&Record], most: u32) -> (f64, Vec<Histogram>) {
    let all = || records.iter().flat_map(|record| intervals(record));
    let (Some(end), Some(usual)) = (
        all().map(|interval| interval.end_ns).max(),
        all().map(length).max(),
    ) else {
        return (0.0, Vec::new());
    };
    let count = (u64_to_f64(end) / u64_to_f64(usual))
        .round()
        .clamp(1.0, f64::from(most));
    let width = u64_to_f64(end) / count;
    let mut out =
        vec![Histogram::default(); usize::try_from(f64_to_u64_saturating(count)).unwrap_or(1)];
    let last = out.len() - 1;
    for interval in all() {
        let middle = u64_to_f64(interval.start_ns) / 2.0 + u64_to_f64(interval.end_ns) / 2.0;
        let index = usize::try_from(f64_to_u64_saturating(middle / width))
            .unwrap_or(last)
            .min(last);
        interval
            .operations
            .kinds()
            .for_each(|(_, operations)| out[index].merge(&operations.latency));
    }
    (u64_to_f64(end), out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Operations;

    /// A record of intervals of a tenth of a second with these operations in each.
    fn tenths(counts: impl IntoIterator<Item = u64>) -> Record {
        let interval = |(index, count): (u64, u64)| {
            let mut out = Interval {
                start_ns: index * SECOND / 10,
                end_ns: (index + 1) * SECOND / 10,
                ..Interval::default()
            };
            let mut operations = Operations {
                count,
                bytes: count * 4096,
                ..Operations::default()
            };
            operations.latency.record_many(100_000, count);
            out.operations.insert("read", operations);
            out
        };
        Record {
            interval_ns: SECOND / 10,
            series: (0..).zip(counts).map(interval).collect(),
            ..Record::default()
        }
    }

    #[test]
    fn a_burst_at_the_start_is_cut_and_a_late_jump_is_found() {
        let burst = tenths((0..600).map(|i| if i < 100 { 300 + i % 7 } else { 100 + i % 7 }));
        let found = settling(&[&burst]);
        assert_eq!((found.cuts.as_slice(), found.slots), ([10].as_slice(), 1));
        let cliff = tenths((0..600).map(|i| if i < 400 { 100 + i % 7 } else { 40 + i % 7 }));
        let found = settling(&[&cliff, &burst]);
        assert_eq!(found.jumped, 1);
        assert!(
            found
                .jump
                .is_some_and(|jump| jump.second.abs_diff(40) < 2 && jump.ratio < 0.5),
            "{found:?}"
        );
    }

    #[test]
    fn a_short_slot_says_nothing_of_its_warm_up() {
        assert_eq!(settling(&[&tenths([5; 50])]), Settling::default());
        assert_eq!(settling(&[&Record::default()]), Settling::default());
    }

    #[test]
    fn the_sliver_at_the_end_of_a_series_is_no_rate() {
        let mut record = tenths([10; 10]);
        record.series.push(Interval {
            start_ns: SECOND,
            end_ns: SECOND + 1000,
            ..Interval::default()
        });
        let found = samples(&[&record], &Quantity::named("iops"));
        assert_eq!((found.len(), found[0].value), (10, 100.0));
    }

    #[test]
    fn columns_hold_every_operation_of_all_records() {
        let (a, b) = (tenths([3; 100]), tenths([4; 100]));
        let (end, columns) = time_columns(&[&a, &b], 7);
        assert_eq!(
            (
                end,
                columns.len(),
                columns.iter().map(Histogram::count).sum::<u64>()
            ),
            (10e9, 7, 700)
        );
        assert!(time_columns(&[&Record::default()], 7).1.is_empty());
    }
}
