//! Records as CSV (RFC 4180 quoting, one line feed a row), for spreadsheets and data frames.
//!
//! [`csv`] is the series: one row an interval and kind of operation, every kind in every interval,
//! so that a stall is a row of zeros and not a gap. The columns from `in_flight` on describe the
//! whole interval and repeat on each of its rows: do not add them up over kinds. [`csv_summary`] is
//! the totals: one row a record and kind; `elapsed_s` is the kind's own time where kinds follow
//! each other. Times are nanoseconds unless the name ends in `_s`; a cell is empty where a value is
//! unknown or there was no operation to have a latency.

use crate::per_second;
use analyze::Effective;
use record::{Histogram, Interval, Operations, Record};
use std::collections::BTreeSet;
use units::lossless::f64_to_u64_saturating;

const SERIES: &str = "record,start_s,end_s,kind,operations,iops,bytes,bytes_per_s,errors,mean_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,\
    in_flight,cpu_ns,device_read_bytes,device_written_bytes,steal_share";
const SUMMARY: &str = "record,id,started_at,target,engine,block_size,queue_depth,threads,elapsed_s,status,kind,operations,iops,bytes,\
    bytes_per_s,errors,min_ns,mean_ns,stddev_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,service_mean_ns,service_p99_ns";

/// The series of all records under one header line.
#[must_use]
pub fn csv(records: &[Record]) -> String {
    let mut out = format!("{SERIES}\n");
    for record in records {
        let mut kinds: BTreeSet<&str> = record.operations.kinds().map(|(kind, _)| kind).collect();
        kinds.extend(
            record
                .series
                .iter()
                .flat_map(|interval| interval.operations.kinds().map(|(kind, _)| kind)),
        );
        for interval in &record.series {
            for kind in &kinds {
                push_row(&mut out, &series_row(record, interval, kind));
            }
        }
    }
    out
}

/// The totals of all records under one header line.
#[must_use]
pub fn csv_summary(records: &[Record]) -> String {
    let mut out = format!("{SUMMARY}\n");
    for record in records {
        for (kind, operations) in record.operations.kinds() {
            push_row(&mut out, &summary_row(record, kind, operations));
        }
    }
    out
}

fn series_row(record: &Record, interval: &Interval, kind: &str) -> Vec<String> {
    let none = Operations::default();
    let operations = interval.operations.kind(kind).unwrap_or(&none);
    let length = interval.end_ns.saturating_sub(interval.start_ns);
    let mut row = vec![
        record.name.clone(),
        seconds(interval.start_ns),
        seconds(interval.end_ns),
        kind.to_owned(),
    ];
    row.extend(counts(operations, length));
    row.push(decimal(operations.latency.mean()));
    row.extend(tail(&operations.latency));
    row.extend([interval.in_flight.to_string(), interval.cpu_ns.to_string()]);
    row.extend([
        whole(interval.device_read_bytes),
        whole(interval.device_written_bytes),
    ]);
    row.push(
        interval
            .steal_share
            .map_or_else(String::new, |share| format!("{share:.6}")),
    );
    row
}

fn summary_row(record: &Record, kind: &str, operations: &Operations) -> Vec<String> {
    let effective = Effective::of(record);
    let text = |key| effective.text(key).unwrap_or_default().to_owned();
    let targets: Vec<&str> = record
        .targets
        .iter()
        .map(|target| target.path.as_str())
        .collect();
    let mut row = vec![
        record.name.clone(),
        record.id.clone(),
        record.started_at.clone(),
        targets.join(" "),
    ];
    row.extend(["engine", "block-size", "queue-depth", "threads"].map(text));
    row.extend([
        seconds(record.elapsed_of(kind)),
        record.outcome.status.word().to_owned(),
        kind.to_owned(),
    ]);
    row.extend(counts(operations, record.elapsed_of(kind)));
    let latency = &operations.latency;
    row.extend([
        whole(latency.min()),
        decimal(latency.mean()),
        decimal(latency.stddev()),
    ]);
    row.extend(tail(latency));
    let service = operations.service.as_ref();
    row.extend([
        decimal(service.and_then(Histogram::mean)),
        rounded(service.and_then(|s| s.quantile(0.99))),
    ]);
    row
}

fn counts(operations: &Operations, length_ns: u64) -> [String; 5] {
    [
        operations.count.to_string(),
        format!("{:.3}", per_second(operations.count, length_ns)),
        operations.bytes.to_string(),
        format!("{:.3}", per_second(operations.bytes, length_ns)),
        operations.errors.to_string(),
    ]
}

fn tail(latency: &Histogram) -> [String; 5] {
    let quantile = |q| rounded(latency.quantile(q));
    [
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        whole(latency.max()),
    ]
}

/// Nanoseconds as seconds, exact.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn whole(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn rounded(value: Option<f64>) -> String {
    whole(value.map(|value| f64_to_u64_saturating(value.round())))
}

fn decimal(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.1}"))
}

/// Adds one line; cells are quoted where they must be, and characters that change the look of other
/// text, but for line breaks, are escaped as Rust writes them: tables are also read on terminals.
/// What the runner of a job would obey is written as in text for people, for want of an escape, and
/// a spreadsheet finds an apostrophe before text that it would compute, which tells it not to.
pub(crate) fn push_row(out: &mut String, cells: &[String]) {
    for (position, cell) in cells.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        let cell = &escaped(cell);
        if cell.contains(['"', ',', '\n']) {
            out.push('"');
            out.push_str(&cell.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(cell);
        }
    }
    out.push('\n');
}

fn escaped(cell: &str) -> String {
    let escape = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if units::disturbs(c) => c.escape_default().to_string(),
        c => c.to_string(),
    };
    let escaped: String = cell.chars().map(escape).collect();
    let escaped = crate::without_commands(&escaped);
    if is_formula(&escaped) {
        format!("'{escaped}")
    } else {
        escaped
    }
}

/// Whether a spreadsheet computes a cell instead of showing it: text is, numbers are not, for a sign.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t']) && !cell.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use proptest::prelude::*;

    /// Splits one CSV text into rows of cells, quotes resolved.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell, mut quoted) =
            (Vec::new(), Vec::new(), String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    cell.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => row.push(std::mem::take(&mut cell)),
                '\n' if !quoted => {
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                other => cell.push(other),
            }
        }
        rows
    }

    #[test]
    fn the_series_of_a_record() {
        insta::assert_snapshot!(csv(&[example::oltp()]), @r#"
        record,start_s,end_s,kind,operations,iops,bytes,bytes_per_s,errors,mean_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,in_flight,cpu_ns,device_read_bytes,device_written_bytes,steal_share
        oltp,0.000000000,0.500000000,fsync,4,8.000,0,0.000,0,2400000.0,2400000,2400000,2400000,2400000,2400000,8,210000000,17969152,7753728,0.002000
        oltp,0.000000000,0.500000000,read,4387,8774.000,17969152,35938304.000,0,84194.2,81176,81400,112077,400000,400000,8,210000000,17969152,7753728,0.002000
        oltp,0.000000000,0.500000000,write,1893,3786.000,7753728,15507456.000,0,24825.7,21072,30530,30586,1199054,1200000,8,210000000,17969152,7753728,0.002000
        oltp,0.500000000,1.000000000,fsync,4,8.000,0,0.000,0,2400000.0,2400000,2400000,2400000,2400000,2400000,8,210000000,17969152,7753728,0.002000
        oltp,0.500000000,1.000000000,read,4387,8774.000,17969152,35938304.000,0,84194.2,81176,81400,112077,400000,400000,8,210000000,17969152,7753728,0.002000
        oltp,0.500000000,1.000000000,write,1893,3786.000,7753728,15507456.000,0,24825.7,21072,30530,30586,1199054,1200000,8,210000000,17969152,7753728,0.002000
        oltp,1.000000000,1.500000000,fsync,4,8.000,0,0.000,0,2400000.0,2400000,2400000,2400000,2400000,2400000,8,210000000,17969152,7753728,0.002000
        oltp,1.000000000,1.500000000,read,920,1840.000,3768320,7536640.000,0,277826.1,84229,84438,9000000,9000000,9000000,8,210000000,17969152,7753728,0.002000
        oltp,1.000000000,1.500000000,write,1893,3786.000,7753728,15507456.000,0,24825.7,21072,30530,30586,1199054,1200000,8,210000000,17969152,7753728,0.002000
        oltp,1.500000000,2.000000000,fsync,4,8.000,0,0.000,0,2400000.0,2400000,2400000,2400000,2400000,2400000,8,210000000,17969152,7753728,0.002000
        oltp,1.500000000,2.000000000,read,4387,8774.000,17969152,35938304.000,0,84194.2,81176,81400,112077,400000,400000,8,210000000,17969152,7753728,0.002000
        oltp,1.500000000,2.000000000,write,1893,3786.000,7753728,15507456.000,0,24825.7,21072,30530,30586,1199054,1200000,8,210000000,17969152,7753728,0.002000
        "#);
    }

    #[test]
    fn the_totals_of_a_record() {
        insta::assert_snapshot!(csv_summary(&[example::oltp()]), @r#"
        record,id,started_at,target,engine,block_size,queue_depth,threads,elapsed_s,status,kind,operations,iops,bytes,bytes_per_s,errors,min_ns,mean_ns,stddev_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,service_mean_ns,service_p99_ns
        oltp,20261120T110701.601-4711,2026-11-20T11:07:01.601Z,/data/oltp.dat,io_uring,4k,4,2,2.000000000,failed,fsync,16,8.000,0,0.000,0,2400000,2400000.0,255.5,2400000,2400000,2400000,2400000,2400000,,
        oltp,20261120T110701.601-4711,2026-11-20T11:07:01.601Z,/data/oltp.dat,io_uring,4k,4,2,2.000000000,failed,read,14081,7040.500,57675776,28837888.000,3,81000,96845.4,336519.2,81196,84350,112082,8997827,9000000,,
        oltp,20261120T110701.601-4711,2026-11-20T11:07:01.601Z,/data/oltp.dat,io_uring,4k,4,2,2.000000000,failed,write,7572,3786.000,31014912,15507456.000,0,21000,24825.7,46979.6,21072,30530,30586,1199054,1200000,,
        "#);
    }

    #[test]
    fn an_interval_without_operations_is_a_row_of_zeros() {
        let mut record = example::oltp();
        record.series[1].operations = record::Measurements::default();
        let rows = parse(&csv(&[record]));
        let stalled: Vec<_> = rows
            .iter()
            .filter(|row| row[1] == "0.500000000")
            .map(|row| (row[3].as_str(), row[4].as_str(), row[9].as_str()))
            .collect();
        assert_eq!(
            stalled,
            [("fsync", "0", ""), ("read", "0", ""), ("write", "0", "")]
        );
    }

    #[test]
    fn no_escape_of_a_name_gets_into_a_table() {
        let name = "=n\u{1b}[2J\u{202e}\r\n\tend";
        let record = Record {
            name: name.into(),
            ..example::oltp()
        };
        let rows = parse(&csv(&[record]));
        assert_eq!(rows[1][0], "'=n\\u{1b}[2J\\u{202e}\\r\n\tend");
    }

    #[test]
    fn a_spreadsheet_computes_no_name_and_numbers_stay_numbers() {
        let line = |cells: &[&str]| {
            let mut out = String::new();
            let cells: Vec<String> = cells.iter().map(|&cell| cell.to_owned()).collect();
            push_row(&mut out, &cells);
            out
        };
        let commands = [
            "=HYPERLINK(1)",
            "+1+1",
            "-2+cmd|x",
            "@SUM(A1)",
            "\t=1",
            "-",
            "+inf",
        ];
        for (name, cell) in commands.iter().zip(parse(&line(&commands)).concat()) {
            assert_eq!(cell, format!("'{name}"));
        }
        let numbers = "-1.5,+3,-1e-3,0,\n";
        assert_eq!(line(&["-1.5", "+3", "-1e-3", "0", ""]), numbers);
        assert_eq!(line(&["a=b", "a-b", "x@y"]), "a=b,a-b,x@y\n");
    }

    #[test]
    fn no_name_in_a_table_is_a_command_to_the_runner_of_a_job() {
        let record = Record {
            name: "::error::x\n::add-mask::y##[z".into(),
            ..example::oltp()
        };
        let text = csv(&[record]);
        assert_eq!(crate::without_commands(&text), text);
        assert_eq!(parse(&text)[1][0], ": :error::x\n: :add-mask::y# #[z");
    }

    #[test]
    fn records_without_series_or_operations_are_a_header() {
        assert_eq!(csv(&[Record::default()]).lines().count(), 1);
        assert_eq!(csv_summary(&[]).lines().count(), 1);
    }

    proptest! {
        #[test]
        fn any_text_survives_and_every_row_is_as_long_as_the_header(name in "(?s).{0,20}") {
            let record = Record { name: name.clone(), ..example::oltp() };
            for text in [csv(std::slice::from_ref(&record)), csv_summary(&[record])] {
                let rows = parse(&text);
                prop_assert!(rows.len() > 1);
                for row in &rows[1..] {
                    prop_assert_eq!(row.len(), rows[0].len());
                    prop_assert_eq!(&row[0], &escaped(&name));
                }
            }
        }
    }
}
