//! Rates and latencies, a row a kind of operation.

use super::TerminalOptions;
use super::page::{Page, grouped, time};
use crate::per_second;
use analyze::SHOWN_PERCENTILES;
use record::{Histogram, Operations, Record, percentile_has_support};
use units::{ByteRate, Bytes, Nanos, format_count};

pub(super) const STAR: &str = "* fewer than 10 operations were slower than this percentile";

pub(super) fn write_rates(page: &mut Page, record: &Record) {
    let measured = &record.operations;
    page.gap();
    if measured.is_empty() {
        page.line("no operation was measured");
        return;
    }
    let follow = !record.spans.is_empty();
    let row = |label: &str, count: u64, bytes: u64, errors: u64, elapsed_ns: Option<u64>| {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let moved = |text: String| Some(text).filter(|_| bytes > 0);
        let throughput =
            or_none(elapsed_ns.and_then(|ns| moved(ByteRate(per_second(bytes, ns)).to_string())));
        let iops = or_none(elapsed_ns.map(|ns| format_count(per_second(count, ns))));
        let mut cells = vec![
            label.to_owned(),
            iops,
            throughput,
            grouped(count),
            or_none(moved(Bytes(bytes).to_string())),
            grouped(errors),
        ];
        cells.extend(follow.then(|| or_none(elapsed_ns.map(|ns| Nanos(ns).to_string()))));
        cells
    };
    let mut head: Vec<String> = ["", "IOPS", "throughput", "operations", "bytes", "errors"]
        .map(str::to_owned)
        .to_vec();
    // Each kind went on in a time of its own, over which its rate is.
    head.extend(follow.then(|| "time".to_owned()));
    let mut rows = vec![head];
    // One that the warm-up had done has none of the measured time.
    let elapsed_of = |kind: &str| {
        let has_time = !follow || record.spans.contains_key(kind);
        has_time.then(|| record.elapsed_of(kind))
    };
    rows.extend(measured.kinds().map(|(kind, operations)| {
        row(
            kind,
            operations.count,
            operations.bytes,
            operations.errors,
            elapsed_of(kind),
        )
    }));
    if rows.len() > 2 {
        let sum = |field: fn(&Operations) -> u64| {
            measured.kinds().fold(0_u64, |sum, (_, operations)| {
                sum.saturating_add(field(operations))
            })
        };
        let all = if follow {
            record.elapsed_of_all()
        } else {
            Some(record.elapsed_ns)
        };
        rows.push(row(
            "all",
            sum(|o| o.count),
            sum(|o| o.bytes),
            sum(|o| o.errors),
            all,
        ));
    }
    page.table(&rows);
}

pub(super) fn write_latencies(page: &mut Page, record: &Record, options: &TerminalOptions) {
    let percentiles: &[f64] = if options.show_percentiles.is_empty() {
        &SHOWN_PERCENTILES
    } else {
        &options.show_percentiles
    };
    let mut rows = latency_rows(record, percentiles, options.show_latency);
    if rows.len() < 2 {
        return;
    }
    let starred = align_stars(&mut rows);
    page.gap();
    page.fitting_table(&rows, &[]);
    if starred {
        page.line(STAR);
    }
}

/// A header, and a row for each kind of operation that has latencies; its service times below it
/// where they are another thing.
pub(super) fn latency_rows(
    record: &Record,
    percentiles: &[f64],
    with_spread: bool,
) -> Vec<Vec<String>> {
    let mut rows = vec![header(percentiles, with_spread)];
    for (kind, operations) in record.operations.kinds() {
        if operations.latency.is_empty() {
            continue;
        }
        rows.push(row(kind, &operations.latency, percentiles, with_spread));
        if let Some(service) = &operations.service {
            rows.push(row("  service", service, percentiles, with_spread));
        }
    }
    rows
}

fn header(percentiles: &[f64], with_spread: bool) -> Vec<String> {
    let mut out = vec!["latency".to_owned()];
    if with_spread {
        out.push("min".to_owned());
    }
    out.push("mean".to_owned());
    if with_spread {
        out.push("stddev".to_owned());
    }
    out.extend(percentiles.iter().map(|percent| format!("p{percent}")));
    out.push("max".to_owned());
    out
}

fn row(label: &str, histogram: &Histogram, percentiles: &[f64], with_spread: bool) -> Vec<String> {
    let mut out = vec![label.to_owned()];
    if with_spread {
        out.push(time(histogram.min().map(|ns| ns as f64)));
    }
    out.push(time(histogram.mean()));
    if with_spread {
        out.push(time(histogram.stddev()));
    }
    out.extend(percentiles.iter().map(|percent| {
        let star = if histogram.is_empty() || percentile_has_support(histogram.count(), *percent) {
            ""
        } else {
            "*"
        };
        format!("{}{star}", time(histogram.quantile(percent / 100.0)))
    }));
    out.push(time(histogram.max().map(|ns| ns as f64)));
    out
}

/// Gives cells without a star a space in columns that have one; tells whether there is any.
fn align_stars(rows: &mut [Vec<String>]) -> bool {
    let columns = rows.first().map_or(0, Vec::len);
    let starred: Vec<usize> = (0..columns)
        .filter(|column| rows.iter().any(|row| row[*column].ends_with('*')))
        .collect();
    for row in rows {
        for column in starred
            .iter()
            .copied()
            .filter(|column| !row[*column].ends_with('*'))
            .collect::<Vec<_>>()
        {
            row[column].push(' ');
        }
    }
    !starred.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextLayout;

    #[test]
    fn a_kind_that_the_warm_up_had_done_has_no_rate_and_no_time() {
        let mut record = Record {
            elapsed_ns: 9_000_000_000,
            ..Record::default()
        };
        let operations = |count| Operations {
            count,
            ..Operations::default()
        };
        record.operations.insert("create", operations(0));
        record.operations.insert("stat", operations(300));
        let span = record::Span {
            elapsed_ns: 3_000_000_000,
            ..record::Span::default()
        };
        record.spans.insert("stat".into(), span);
        let mut page = Page::new(TextLayout::default());
        write_rates(&mut page, &record);
        let text = page.finish();
        let cells = |kind: &str| {
            let line = text.lines().find(|line| line.starts_with(kind));
            line.map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>())
        };
        assert_eq!(cells("create"), Some(vec!["-", "-", "0", "-", "0", "-"]));
        assert_eq!(
            cells("stat"),
            Some(vec!["100", "-", "300", "-", "0", "3", "s"])
        );
    }
}
