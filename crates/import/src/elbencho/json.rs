//! `--jsonfile`: one JSON document a phase, all values as texts.

use super::{LATENCY_NOTICE, enter_targets, kind};
use crate::error::Fault;
use crate::input::Input;
use crate::node::{Node, sound};
use crate::origin::{Origin, without_secrets};
use record::{LatencyRange, Record, Summary};
use units::Bytes;
use units::time;

const MICRO_NS: f64 = 1000.0;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    origin.admit(documents.values.len())?;
    if !documents.after.is_empty() {
        return Err(Fault::whole("text follows the last JSON document"));
    }
    documents
        .values
        .iter()
        .enumerate()
        .map(|(index, value)| phase(&Node::root(value, &format!("[{index}]")), index, origin))
        .collect()
}

fn phase(root: &Node<'_>, index: usize, origin: &Origin<'_>) -> Result<Record, Fault> {
    let phase = root.need("phase_type")?.text()?;
    let config = root.need("config")?;
    let name = match root.opt_text("label")? {
        Some(label) => format!("{label} {phase}"),
        None => phase.to_owned(),
    };
    let mut record = origin.record(index, &name, config.opt_text("version")?);
    if let Some(start) = root.get("iso_start_date") {
        let moment =
            time::parse(start.text()?).ok_or_else(|| start.fault("not a date and time"))?;
        record.started_at = time::format(moment);
    }
    configuration(&config, &mut record)?;
    let last = root.need("last_done")?;
    record.elapsed_ns = last
        .opt_count_or_text("elapsed_time_ms")?
        .unwrap_or_default()
        .saturating_mul(1_000_000);
    let kind = kind(phase);
    store(&mut record, &kind, &last, None)?;
    if last.get("rwmix_read").is_some() {
        store(&mut record, "read", &last, Some("rwmix_read"))?;
    }
    let mut figures = Summary::default();
    if let Some(cpu) = last.opt_number_or_text("cpu%")? {
        figures.figures.insert("cpu%".into(), cpu);
    }
    if let Some(first) = root.get("first_done") {
        for (key, value) in first.members()?.filter(|(_, value)| !value.is_object()) {
            figures
                .figures
                .insert(format!("first done {key}"), value.number_or_text()?);
        }
    }
    record.summaries.insert("job".into(), figures);
    if last.get("latency").is_some() {
        record.notices.push(LATENCY_NOTICE.into());
    }
    Ok(record)
}

fn configuration(config: &Node<'_>, record: &mut Record) -> Result<(), Fault> {
    for (key, name) in [
        ("threads", "threads"),
        ("io_depth", "queue-depth"),
        ("hosts", "hosts"),
    ] {
        if let Some(count) = config.opt_count_or_text(key)? {
            record.effective.insert(name.into(), count.to_string());
        }
    }
    for (key, name) in [("block_size", "block-size"), ("file_size", "file-size")] {
        if let Some(bytes) = config.opt_count_or_text(key)? {
            record.effective.insert(name.into(), Bytes(bytes).exact());
        }
    }
    for (key, name) in [("direct_io", "direct"), ("random_offsets", "random")] {
        if let Some(text) = config
            .opt_text(key)?
            .filter(|text| matches!(*text, "true" | "false"))
        {
            record.effective.insert(name.into(), text.to_owned());
        }
    }
    if let Some(command) = config.opt_text("command")? {
        enter_targets(
            record,
            command,
            config.opt_count_or_text("paths")?,
            config.opt_text("path_type")?,
        );
        record
            .asked
            .insert("command".into(), without_secrets(command));
    }
    Ok(())
}

/// Enters operations of a phase, and entries (files, directories) where it counts them; `part` is
/// the reads of a mix.
fn store(
    record: &mut Record,
    kind: &str,
    last: &Node<'_>,
    part: Option<&str>,
) -> Result<(), Fault> {
    let Some(numbers) = part.map_or_else(|| Some(last.clone()), |part| last.get(part)) else {
        return Ok(());
    };
    let entries = Summary {
        count: numbers.opt_count_or_text("entries")?,
        per_second: numbers.opt_number_or_text("entries/s")?,
        ..Summary::default()
    };
    let operations = Summary {
        bytes: numbers.opt_count_or_text("bytes")?,
        per_second: numbers.opt_number_or_text("iops")?,
        bytes_per_second: numbers.opt_number_or_text("bytes/s")?,
        ..Summary::default()
    };
    let latency = last.get("latency");
    let has_operations = operations.per_second.is_some();
    for (name, mut summary) in [("entries", entries), ("IO", operations)] {
        if let Some(node) = latency.as_ref().and_then(|latency| latency.get(name)) {
            add_latency(&node, part, &mut summary)?;
        }
        if summary == Summary::default() {
            continue;
        }
        let name = if name == "entries" && has_operations {
            format!("{kind} entries")
        } else {
            kind.to_owned()
        };
        record.summaries.insert(name, summary);
    }
    Ok(())
}

fn add_latency(node: &Node<'_>, part: Option<&str>, summary: &mut Summary) -> Result<(), Fault> {
    let moments = part.map_or_else(|| Some(node.clone()), |part| node.get(part));
    if let Some(moments) = moments {
        let micros = |key| {
            Ok(moments
                .opt_count_or_text(key)?
                .filter(|us| *us > 0)
                .map(|us| us as f64 * MICRO_NS))
        };
        (summary.min_ns, summary.mean_ns, summary.max_ns) =
            (micros("min_us")?, micros("avg_us")?, micros("max_us")?);
    }
    let histogram = node.get("histogram");
    let histogram = histogram.and_then(|histogram| {
        part.map_or_else(|| Some(histogram.clone()), |part| histogram.get(part))
    });
    let Some(buckets) = histogram.and_then(|histogram| histogram.get("buckets")) else {
        return Ok(());
    };
    let mut total = 0_u64;
    for bucket in buckets.items()? {
        let range = bucket.need("range")?;
        let (from, to) =
            bounds(range.text()?).ok_or_else(|| range.fault("not a range such as 19-23us"))?;
        let count = bucket.need("count")?.count_or_text()?;
        total = total
            .checked_add(count)
            .ok_or_else(|| bucket.fault("the counts add up to more than 64 bits hold"))?;
        summary.ranges.push(LatencyRange {
            from_ns: from * MICRO_NS,
            to_ns: to * MICRO_NS,
            count,
        });
    }
    summary.samples = Some(total);
    Ok(())
}

/// The ends in microseconds of `19-23us`; they are rounded as printed.
fn bounds(range: &str) -> Option<(f64, f64)> {
    let (from, to) = range.strip_suffix("us")?.split_once('-')?;
    let [from, to] =
        [from, to].map(|end| end.parse().ok().filter(|us: &f64| sound(us) && *us >= 0.0));
    Some((from?, to?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_in_microseconds() {
        assert_eq!(bounds("2.8-3.4us"), Some((2.8, 3.4)));
        for text in ["", "1-2", "1us", "-1-2us", "a-bus", "1-infus"] {
            assert_eq!(bounds(text), None, "{text}");
        }
    }
}
