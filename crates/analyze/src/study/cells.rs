//! What one arm did in one row: each metric block by block, and its level with an interval over
//! blocks.

use super::course::course;
use super::loads::{REQUESTS, figures_of_loads};
use super::rows::Slot;
use super::{Bounds, Cell, Figure, bounds, details, hosts};
use crate::Effective;
use crate::figures::{figures, of_kind, sum_of_transfers};
use record::{Coverage, Histogram, Quantity, QuantityValue, Record};
use stats::{Estimate, FEWEST_BLOCKS, effect, hodges_lehmann};
use std::collections::BTreeMap;

/// All kinds of operations together.
pub(super) const ALL: &str = "all";
/// Level of the interval of a level.
const LEVEL: f64 = 0.95;
/// The kinds of operations of the records, [`ALL`] last where they are counted together.
pub(super) fn kinds<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut together = false;
    for record in records {
        for figures in figures(record)
            .filter(|figures| !out.iter().any(|known| known == figures.kind))
            .collect::<Vec<_>>()
        {
            out.push(figures.kind.to_owned());
        }
        together |= has_all(record);
    }
    out.sort();
    out.extend(together.then(|| ALL.to_owned()));
    out
}

/// Whether several kinds are counted by us, or reads and writes stated by a source.
fn has_all(record: &Record) -> bool {
    record.operations.kinds().count() > 1
        || sum_of_transfers(record, |f| f.per_second()).is_some() && figures(record).count() > 1
}

/// The cell of the slots of one arm in one row; `None` of none.
pub(super) fn cell(
    slots: &[Slot<'_>],
    kinds: &[String],
    rate: &Quantity,
    time_parts: u32,
) -> Option<Cell> {
    if slots.is_empty() {
        return None;
    }
    let records: Vec<&Record> = slots.iter().map(|slot| slot.record).collect();
    let figures = kinds
        .iter()
        .flat_map(|kind| figures_of(slots, kind))
        .collect();
    Some(Cell {
        records: slots.iter().map(|slot| slot.index).collect(),
        numbers: slots.iter().map(|slot| slot.block).collect(),
        blocks: slots.len(),
        span: bounds::span(slots),
        figures,
        of_loads: figures_of_loads(slots),
        latencies: latencies(&records, kinds),
        course: course(&records, rate, time_parts),
        accesses: accesses(&records),
        operation_bytes: operation_bytes(slots.first()?.record, kinds),
        details: records.iter().map(|record| details::of(record)).collect(),
        hosts: hosts::of(slots),
        ranks: hosts::sizes(slots),
    })
}

/// All latencies by kind, over all records that have them.
fn latencies(records: &[&Record], kinds: &[String]) -> BTreeMap<String, Histogram> {
    let of = |kind: &String| {
        let mut out = Histogram::default();
        for record in records {
            let counted = record
                .operations
                .kind(kind)
                .map(|operations| &operations.latency)
                .filter(|latency| !latency.is_empty());
            let told = || record.summaries.get(kind)?.latency.as_ref();
            if let Some(latency) = counted.or_else(told) {
                out.merge(latency);
            }
        }
        (!out.is_empty()).then(|| (kind.clone(), out))
    };
    kinds
        .iter()
        .filter(|kind| *kind != ALL)
        .filter_map(of)
        .collect()
}

/// Accesses by place of all records that counted them over the same range: its bytes, and uses of
/// its equal parts.
fn accesses(records: &[&Record]) -> Option<(u64, Vec<u64>)> {
    let mut found = records
        .iter()
        .filter_map(|record| record.coverage.as_ref())
        .filter(|coverage| !coverage.buckets.is_empty());
    let first = found.next()?;
    let shape = |coverage: &Coverage| {
        (
            coverage.blocks,
            coverage.block_bytes,
            coverage.buckets.len(),
        )
    };
    let mut buckets = first.buckets.clone();
    for other in found.filter(|other| shape(other) == shape(first)) {
        buckets
            .iter_mut()
            .zip(&other.buckets)
            .for_each(|(sum, uses)| *sum = sum.saturating_add(*uses));
    }
    Some((first.blocks.saturating_mul(first.block_bytes), buckets))
}

fn operation_bytes(record: &Record, kinds: &[String]) -> BTreeMap<String, f64> {
    let of = |kind: &String| Some((kind.clone(), bytes_each(record, kind)?));
    kinds.iter().filter_map(of).collect()
}

/// Mean bytes of an operation: as counted, or of a document from its rate, its time and its share
/// of all requests.
fn bytes_each(record: &Record, kind: &str) -> Option<f64> {
    let quotient =
        |bytes: f64, count: f64| Some(bytes / count).filter(|size| size.is_finite() && *size > 0.0);
    if let Some(operations) = record.operations.kind(kind) {
        return quotient(operations.bytes as f64, operations.count as f64);
    }
    let summary = record.summaries.get(kind)?;
    let all = record.summaries.get(REQUESTS);
    let shared = || {
        Some(
            summary.figures.get("share_percent")? / 100.0
                * (all?.count? + all?.errors.unwrap_or(0)) as f64,
        )
    };
    let count = summary.count.map(|count| count as f64).or_else(shared)?;
    let over_time =
        || Some(summary.bytes_per_second? * Effective::of(record).measured_ns()? as f64 / 1e9);
    quotient(
        summary.bytes.map(|bytes| bytes as f64).or_else(over_time)?,
        count,
    )
}

fn figures_of(slots: &[Slot<'_>], kind: &str) -> Vec<Figure> {
    let of = |metric: Quantity| {
        let column: Vec<(u32, QuantityValue)> = slots
            .iter()
            .map(|slot| (slot.block, value(slot.record, kind, &metric)))
            .collect();
        figure(kind, metric, &column)
    };
    Quantity::in_studies().into_iter().filter_map(of).collect()
}

/// What a table shows of a kind of operation, or of all of them.
fn value(record: &Record, kind: &str, metric: &Quantity) -> QuantityValue {
    let counted = record.operations.kinds().count();
    let is_known = match (kind, metric.is_of_operations()) {
        // Kinds that follow each other have no latency in common, and what a source says of
        // several is not added up.
        (ALL, true) if metric.is_of_times() => counted > 1 && record.spans.len() < 2,
        (ALL, _) => true,
        (_, true) => of_kind(record, kind).is_some(),
        // The process has no account by kind.
        (_, false) => !has_all(record) && figures(record).count() == 1,
    };
    if !is_known {
        return QuantityValue::Unknown;
    }
    let of = match kind {
        ALL => metric.clone(),
        kind => metric.of_kind(kind),
    };
    match of.of(record) {
        // Operations that move no bytes have no bandwidth.
        QuantityValue::Known(0.0) if metric.is("throughput") => QuantityValue::Unknown,
        value @ (QuantityValue::Known(_) | QuantityValue::TooFew(_) | QuantityValue::Unknown) => {
            value
        }
    }
}

/// The share of blocks without enough operations for a percentile beyond which it has no level.
const MOST_TOO_FEW: f64 = 0.1;

/// The level of one quantity over the blocks of a cell; `None` where no block says anything.
pub(super) fn figure(
    kind: &str,
    metric: Quantity,
    column: &[(u32, QuantityValue)],
) -> Option<Figure> {
    let values: Vec<(u32, f64)> = column
        .iter()
        .filter_map(|(block, reading)| Some((*block, reading.known()?)))
        .collect();
    let too_few = column
        .iter()
        .filter(|(_, reading)| matches!(reading, QuantityValue::TooFew(_)))
        .count();
    if values.is_empty() && too_few == 0 {
        return None;
    }
    let numbers: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    // Blocks with too few operations are the slow ones: a level of the others is too fast.
    let lacks_the_slow = too_few as f64 > MOST_TOO_FEW * column.len() as f64;
    let (point, estimate, mut notes) = match lacks_the_slow {
        true => (None, None, Vec::new()),
        false => level(&metric, &numbers),
    };
    if too_few > 0 {
        let of = column.len();
        let some = match (values.is_empty(), lacks_the_slow) {
            (true, _) => String::new(),
            (false, true) => format!(" in {too_few} of {of} blocks, which are the slow ones"),
            (false, false) => format!(" in {too_few} of {of} blocks, which are not in it"),
        };
        notes.push(format!("too few operations for {}{some}", metric.key()));
    } else if values.len() < column.len() {
        notes.push(format!(
            "known of {} of {} blocks",
            values.len(),
            column.len()
        ));
    }
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Some(Figure {
        kind: kind.to_owned(),
        metric,
        values,
        point,
        bounds: estimate.map(Bounds::Interval),
        note,
    })
}

/// The level behind values of blocks, in their own unit. On logarithms, as noise and drift
/// multiply.
fn level(metric: &Quantity, values: &[f64]) -> (Option<f64>, Option<Estimate>, Vec<String>) {
    let mut notes = Vec::new();
    match values.len() {
        0 => return (None, None, notes),
        1 => notes.push("single observation".to_owned()),
        2..5 => notes.push(format!("n = {}: too few for an interval", values.len())),
        n @ 5..FEWEST_BLOCKS => notes.push(format!("n = {n}: parametric interval")),
        FEWEST_BLOCKS.. => {}
    }
    if metric.is("max") {
        // The longest of more operations is longer: maxima of blocks have no common level.
        return (values.iter().copied().reduce(f64::max), None, notes);
    }
    if values.contains(&0.0) {
        let none = values.iter().filter(|value| **value == 0.0).count();
        if values.len() > 1 {
            notes.push(format!(
                "zero in {none} of {} blocks: their median, no interval",
                values.len()
            ));
        }
        return (Some(stats::sample::median(values)), None, notes);
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let estimate = effect(&logarithms, LEVEL).map(|e| Estimate {
        point: e.point.exp(),
        low: e.low.exp(),
        high: e.high.exp(),
        ..e
    });
    let few = || {
        if let [only] = values {
            *only
        } else {
            hodges_lehmann(&logarithms, LEVEL).point.exp()
        }
    };
    (
        Some(estimate.map_or_else(few, |estimate| estimate.point)),
        estimate,
        notes,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::example::{blocks, quoted, sound};
    use record::Summary;

    fn cell_of(records: &[Record]) -> Cell {
        let slots: Vec<Slot<'_>> = records
            .iter()
            .zip(0_u32..)
            .map(|(record, block)| Slot {
                index: 0,
                record,
                block,
                repeat: 0,
                part: 0,
            })
            .collect();
        cell(&slots, &kinds(records.iter()), &Quantity::named("iops"), 60).unwrap()
    }

    fn repeated(n: u64) -> Vec<Record> {
        let vary = |k: u64| {
            let mut record = sound();
            record.elapsed_ns += k * 1_000_000;
            record
        };
        (0..n).map(vary).collect()
    }

    #[test]
    fn a_cell_holds_what_its_records_say_together_and_each_of_them() {
        let records = repeated(3);
        let cell = cell_of(&records);
        let reads = |record: &Record| {
            record
                .operations
                .kind("read")
                .map_or(0, |o| o.latency.count())
        };
        let all: u64 = records.iter().map(reads).sum();
        assert_eq!(cell.latencies["read"].count(), all);
        let in_time: u64 = cell.course.latencies.iter().map(Histogram::count).sum();
        let in_series = records[0].series.iter().map(|interval| {
            let kinds = interval.operations.kinds();
            kinds
                .map(|(_, operations)| operations.latency.count())
                .sum::<u64>()
        });
        assert_eq!(in_time, 3 * in_series.sum::<u64>());
        let ids: Vec<&str> = cell
            .details
            .iter()
            .map(|record| record.id.as_str())
            .collect();
        assert_eq!(
            ids,
            records
                .iter()
                .map(|record| record.id.as_str())
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_interval_needs_blocks() {
        for (n, has, note) in [
            (1, false, Some("single observation")),
            (4, false, Some("n = 4: too few for an interval")),
            (5, true, Some("n = 5: parametric interval")),
            (6, true, None),
        ] {
            let cell = cell_of(&repeated(n));
            let rate = cell.figure("read", &Quantity::named("iops")).unwrap();
            assert_eq!(
                (rate.bounds.is_some(), rate.note.as_deref()),
                (has, note),
                "{n}"
            );
            assert!(
                (rate.point.unwrap() / 10_000.0 - 1.0).abs() < 0.001,
                "{:?}",
                rate.point
            );
            if let Some(estimate) = rate.interval() {
                assert!(
                    estimate.low < estimate.point
                        && estimate.point < estimate.high
                        && estimate.low > 9000.0
                );
            }
        }
    }

    #[test]
    fn a_mixture_is_shown_apart_and_together() {
        let mut record = sound();
        record.operations.insert("write", blocks(50_000, 100_000));
        record.generator_mut().process.user_ns = 150_000_000;
        let cell = cell_of(&[record]);
        let point = |kind: &str, metric| cell.figure(kind, &metric).and_then(|figure| figure.point);
        let near = |value: Option<f64>, expected: f64| {
            assert!(
                (value.unwrap() / expected - 1.0).abs() < 0.02,
                "{value:?}, not {expected}"
            )
        };
        near(point("read", Quantity::named("iops")), 10_000.0);
        near(point("write", Quantity::named("iops")), 5000.0);
        near(point(ALL, Quantity::named("iops")), 15_000.0);
        near(
            point(ALL, Quantity::named("mean")),
            (2.0 * 3_200_000.0 + 100_000.0) / 3.0,
        );
        near(point(ALL, Quantity::named("cpu/op")), 1000.0);
        assert_eq!(
            point("read", Quantity::named("cpu/op")),
            None,
            "the process has no account by kind"
        );
    }

    #[test]
    fn a_percentile_without_support_is_not_shown() {
        let mut record = sound();
        record.operations = record::Measurements::default();
        record.operations.insert("read", blocks(500, 1000));
        let cell = cell_of(&[record]);
        let tail = cell.figure("read", &Quantity::named("p99")).unwrap();
        assert_eq!(
            (tail.point, tail.note.as_deref()),
            (None, Some("too few operations for p99"))
        );
        assert!(
            cell.figure("read", &Quantity::named("p50"))
                .unwrap()
                .point
                .is_some()
        );
    }

    #[test]
    fn a_percentile_that_only_fast_blocks_have_has_no_level() {
        let of = |operations| {
            let mut record = sound();
            record.operations = record::Measurements::default();
            record.operations.insert("read", blocks(operations, 1000));
            record
        };
        let p99 = |slow: usize| {
            let few = std::iter::repeat_n(of(500), slow);
            let records: Vec<Record> = few.chain((slow..10).map(|_| of(5000))).collect();
            cell_of(&records)
                .figure("read", &Quantity::named("p99"))
                .cloned()
                .unwrap()
        };
        assert!(p99(1).point.is_some());
        assert_eq!((p99(2).point, p99(2).bounds), (None, None));
        let note = p99(2).note.unwrap();
        assert_eq!(
            note,
            "too few operations for p99 in 2 of 10 blocks, which are the slow ones"
        );
    }

    #[test]
    fn the_maximum_is_the_largest_of_all_blocks() {
        let mut records = repeated(8);
        records[3].operations.insert("read", blocks(1, 77_000_000));
        let cell = cell_of(&records);
        let largest = cell.figure("read", &Quantity::named("max")).unwrap();
        assert_eq!(
            (largest.point, largest.bounds, largest.values.len()),
            (Some(77_000_000.0), None, 8)
        );
    }

    #[test]
    fn a_stalled_block_is_zero_and_not_missing() {
        let mut records = repeated(6);
        records[2].operations = record::Measurements::default();
        records[2].operations.insert("read", blocks(0, 1));
        records[2].operations.insert("fsync", blocks(1, 1));
        let cell = cell_of(&records);
        let rate = cell.figure("read", &Quantity::named("iops")).unwrap();
        assert_eq!((rate.values[2].1, rate.bounds), (0.0, None));
        assert_eq!(
            rate.note.as_deref(),
            Some("zero in 1 of 6 blocks: their median, no interval")
        );
    }

    #[test]
    fn figures_of_a_document_are_shown_as_it_gives_them() {
        let record = quoted(
            "read",
            Summary {
                per_second: Some(7831.0),
                mean_ns: Some(1_020_000.0),
                ..Summary::default()
            },
        );
        let cell = cell_of(&[record]);
        let shown: Vec<(&Quantity, Option<f64>)> = cell
            .figures
            .iter()
            .map(|figure| (&figure.metric, figure.point))
            .collect();
        assert_eq!(shown.len(), 2);
        assert!(
            (shown[0].1.unwrap() - 7831.0).abs() < 1e-6
                && (shown[1].1.unwrap() - 1_020_000.0).abs() < 1e-6,
            "{shown:?}"
        );
    }
}
