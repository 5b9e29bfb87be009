//! Latencies as bars.

use super::page::{Page, grouped, share, time};
use record::{Histogram, Record};

/// Of the longest bar.
const BAR: usize = 50;
/// Columns of a table of bars that hold no bar.
const BESIDE_BAR: usize = 44;
const BLOCKS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Lower bounds of the rows in each decade, in tenths: finer than factors of two, and round
/// numbers.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];

pub(super) fn write(page: &mut Page, record: &Record) {
    for (kind, operations) in record
        .operations
        .kinds()
        .filter(|(_, operations)| !operations.latency.is_empty())
    {
        page.gap();
        page.line(&format!("{kind} latency"));
        let bar = page.width().saturating_sub(BESIDE_BAR).clamp(8, BAR);
        page.table(&rows(&operations.latency, bar));
    }
}

/// One row for each range from the first to the last with operations; a run of empty ranges is one
/// row.
fn rows(histogram: &Histogram, longest: usize) -> Vec<Vec<String>> {
    let bounds = bounds();
    let mut counts = vec![0_u64; bounds.len()];
    for (low, width, count) in histogram.buckets() {
        let middle = low + (width - 1) / 2;
        counts[bounds
            .partition_point(|bound| *bound <= middle)
            .saturating_sub(1)] += count;
    }
    let used = |count: &u64| *count > 0;
    let (Some(first), Some(last)) = (counts.iter().position(used), counts.iter().rposition(used))
    else {
        return Vec::new();
    };
    let most = counts.iter().copied().max().unwrap_or(1);
    let mut out = Vec::new();
    for place in first..=last {
        let count = counts[place];
        if count > 0 {
            let part = count as f64 / histogram.count() as f64;
            let range = format!(
                "  {:>8} - {:>8}",
                bound(&bounds, place),
                bound(&bounds, place + 1)
            );
            out.push(vec![
                range,
                grouped(count),
                share(part),
                bar(count, most, longest),
            ]);
        } else if counts[place - 1] > 0 {
            out.push(vec!["       …".to_owned()]);
        }
    }
    // A table aligns to the right; bars begin at the left.
    let widest = out
        .iter()
        .filter_map(|row| row.get(3))
        .map(|bar| bar.chars().count())
        .max()
        .unwrap_or(0);
    for bar in out.iter_mut().filter_map(|row| row.get_mut(3)) {
        *bar = format!("{bar:<widest$}");
    }
    out
}

fn bounds() -> Vec<u64> {
    let decades = (0..19).map(|power| 10_u64.pow(power));
    let mut out = vec![0];
    out.extend(decades.flat_map(|decade| {
        STEPS.map(|step| {
            if decade == 1 {
                step / 10
            } else {
                decade / 10 * step
            }
        })
    }));
    out.dedup();
    out
}

fn bound(bounds: &[u64], place: usize) -> String {
    bounds
        .get(place)
        .map_or_else(|| "…".to_owned(), |ns| time(Some(*ns as f64)))
}

fn bar(count: u64, most: u64, longest: usize) -> String {
    let eighths = (u128::from(count) * (longest as u128) * 8).div_ceil(u128::from(most.max(1)));
    let eighths = usize::try_from(eighths)
        .unwrap_or(usize::MAX)
        .min(longest * 8);
    format!("{}{}", "█".repeat(eighths / 8), BLOCKS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_ascend_and_are_round() {
        let bounds = bounds();
        assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        assert!(
            [1, 2, 3, 5, 7, 10, 15, 20, 1500, 70_000]
                .iter()
                .all(|ns| bounds.contains(ns))
        );
    }

    #[test]
    fn every_operation_is_in_a_row_and_none_is_invisible() {
        let mut histogram = Histogram::default();
        histogram.record_many(0, 3);
        histogram.record_many(1_000_000, 1_000_000);
        histogram.record(u64::MAX);
        let rows = rows(&histogram, BAR);
        let counts: Vec<&str> = rows
            .iter()
            .filter(|row| row.len() > 1)
            .map(|row| row[1].as_str())
            .collect();
        assert_eq!(counts, ["3", "1,000,000", "1"]);
        assert!(
            rows.iter()
                .filter(|row| row.len() > 1)
                .all(|row| !row[3].trim().is_empty())
        );
        assert_eq!(bar(10, 10, BAR).chars().count(), BAR);
    }
}
