//! `--csvfile`: one row a phase, columns by their labels (`docs/csv-docs.md`). The command stands
//! last and is the only quoted field.

use super::{LATENCY_NOTICE, enter_targets, kind};
use crate::error::{Fault, Location};
use crate::input::Input;
use crate::origin::{Origin, without_secrets};
use record::{Record, Summary};
use units::Bytes;
use units::time;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let mut lines = input
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        return Ok(Vec::new());
    };
    let labels: Vec<&str> = header.split(',').collect();
    if !labels.contains(&"operation") {
        return Err(Fault::new(
            Location::Line {
                line: 1,
                column: None,
            },
            "no column \"operation\": elbencho's first line of labels is needed",
        ));
    }
    let mut records = Vec::new();
    // A file that several runs append to may repeat the labels.
    for (index, line) in lines.filter(|(_, line)| *line != header) {
        let values: Vec<&str> = line.split(',').collect();
        if values.len() != labels.len() {
            let reason = format!(
                "{} fields under {} labels: the line is damaged or of another version",
                values.len(),
                labels.len()
            );
            return Err(Fault::new(
                Location::Line {
                    line: index + 1,
                    column: None,
                },
                reason,
            ));
        }
        records.push(phase(
            &Row {
                line: index + 1,
                labels: &labels,
                values: &values,
            },
            records.len(),
            origin,
        )?);
        origin.admit(records.len())?;
    }
    Ok(records)
}

struct Row<'a> {
    line: usize,
    labels: &'a [&'a str],
    values: &'a [&'a str],
}

impl Row<'_> {
    /// `None` where the column is missing or empty.
    fn text(&self, label: &str) -> Option<&str> {
        let column = self.labels.iter().position(|known| *known == label)?;
        self.values
            .get(column)
            .copied()
            .filter(|value| !value.is_empty())
    }

    fn count(&self, label: &str) -> Result<Option<u64>, Fault> {
        let read = |text: &str| {
            text.parse()
                .ok()
                .ok_or_else(|| self.fault(label, format!("{text:?} is no whole number")))
        };
        self.text(label).map(read).transpose()
    }

    fn fault(&self, label: &str, reason: String) -> Fault {
        Fault::new(
            Location::Field {
                line: self.line,
                column: label.to_owned(),
            },
            reason,
        )
    }
}

fn phase(row: &Row<'_>, index: usize, origin: &Origin<'_>) -> Result<Record, Fault> {
    let phase = row
        .text("operation")
        .ok_or_else(|| row.fault("operation", "is empty".into()))?;
    let name = row
        .text("label")
        .map_or_else(|| phase.to_owned(), |label| format!("{label} {phase}"));
    let mut record = origin.record(index, &name, row.text("version"));
    if let Some(start) = row.text("ISO date") {
        let moment = time::parse(start)
            .ok_or_else(|| row.fault("ISO date", format!("{start:?} is no date and time")))?;
        record.started_at = time::format(moment);
    }
    for (label, key) in [
        ("threads", "threads"),
        ("IO depth", "queue-depth"),
        ("hosts", "hosts"),
    ] {
        if let Some(count) = row.count(label)? {
            record.effective.insert(key.into(), count.to_string());
        }
    }
    for (label, key) in [("block size", "block-size"), ("file size", "file-size")] {
        if let Some(bytes) = row.count(label)? {
            record.effective.insert(key.into(), Bytes(bytes).exact());
        }
    }
    for (label, key) in [("direct IO", "direct"), ("random", "random")] {
        if let Some(flag) = row.count(label)? {
            record.effective.insert(key.into(), (flag != 0).to_string());
        }
    }
    if let Some(command) = row.text("command") {
        enter_targets(
            &mut record,
            command,
            row.count("paths")?,
            row.text("path type"),
        );
        record
            .asked
            .insert("command".into(), without_secrets(command));
    }
    record.elapsed_ns = row
        .count("time ms [last]")?
        .unwrap_or_default()
        .saturating_mul(1_000_000);
    store(&mut record, &kind(phase), row, "")?;
    store(&mut record, "read", row, "rwmix read ")?;
    let mut figures = Summary::default();
    for label in [
        "CPU% [last]",
        "time ms [first]",
        "entries/s [first]",
        "IOPS [first]",
        "MiB/s [first]",
    ] {
        if let Some(value) = row.count(label)? {
            figures.figures.insert(label.into(), value as f64);
        }
    }
    record.summaries.insert("job".into(), figures);
    record.notices.push(LATENCY_NOTICE.into());
    record.notices.push("elbencho's CSV gives bandwidth and amounts in whole MiB; bandwidth is entered, amounts are not".into());
    Ok(record)
}

fn store(record: &mut Record, kind: &str, row: &Row<'_>, prefix: &str) -> Result<(), Fault> {
    let count = |label: &str| row.count(&format!("{prefix}{label}"));
    let mib = count("MiB/s [last]")?;
    let mut operations = Summary {
        per_second: count("IOPS [last]")?.map(|n| n as f64),
        bytes_per_second: mib.map(|n| n as f64 * 1_048_576.0),
        ..Summary::default()
    };
    if let Some(mib) = mib {
        operations
            .as_written
            .insert("bytes_per_second".into(), format!("{mib} MiB/s"));
    }
    let mut entries = Summary {
        count: count("entries [last]")?,
        per_second: count("entries/s [last]")?.map(|n| n as f64),
        ..Summary::default()
    };
    for (summary, name) in [(&mut operations, "IO"), (&mut entries, "Ent")] {
        let micros = |part: &str| {
            Ok(count(&format!("{name} lat us [{part}]"))?
                .filter(|us| *us > 0)
                .map(|us| us as f64 * 1000.0))
        };
        (summary.min_ns, summary.mean_ns, summary.max_ns) =
            (micros("min")?, micros("avg")?, micros("max")?);
    }
    let has_operations = operations != Summary::default();
    if has_operations {
        record.summaries.insert(kind.to_owned(), operations);
    }
    if entries != Summary::default() {
        record.summaries.insert(
            if has_operations {
                format!("{kind} entries")
            } else {
                kind.to_owned()
            },
            entries,
        );
    }
    Ok(())
}
