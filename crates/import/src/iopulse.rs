//! IOPulse: `--json-output` (`aggregate.json`, or the file of one node).
//!
//! Latencies are `micros`, whole microseconds rounded down, so that 0 stands for anything below one
//! and is left out. Its percentiles are the lower edges of buckets a quarter of a power of two wide
//! (`src/stats/simple_histogram.rs`). Times of day are written with years of 365 and months of 30
//! days (`format_timestamp` in `src/output/json.rs`) and are not taken.

use crate::error::Fault;
use crate::input::Input;
use crate::node::Node;
use crate::origin::Origin;
use record::{Record, Summary};
use units::Bytes;

const MICRO_NS: f64 = 1000.0;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    let Some(value) = documents.values.first() else {
        return Ok(Vec::new());
    };
    let root = Node::root(value, "");
    let about = root.need("test_info")?;
    let end = root.need("final_summary")?;
    let mut record = origin.record(0, origin.stem(), None);
    configuration(&about.need("config")?, &mut record)?;
    if let Some(duration) = end.get("total_duration") {
        record.elapsed_ns = duration.need("micros")?.count()?.saturating_mul(1000);
    }
    let all = end.need("aggregate")?;
    for kind in ["read", "write"] {
        let summary = direction(&all, kind)?;
        if summary.count != Some(0) || summary.errors.is_some_and(|errors| errors > 0) {
            record.summaries.insert(kind.into(), summary);
        }
    }
    metadata(&all, &mut record)?;
    let summary = Summary {
        figures: figures(&all)?,
        ..Summary::default()
    };
    record.summaries.insert("job".into(), summary);
    record.notices.extend(notices(&about)?);
    Ok(vec![record])
}

fn configuration(config: &Node<'_>, record: &mut Record) -> Result<(), Fault> {
    let mut set = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            record.effective.insert(key.to_owned(), value);
        }
    };
    for (key, name) in [
        ("threads", "threads"),
        ("queue_depth", "queue-depth"),
        ("read_percent", "read-percent"),
    ] {
        set(name, config.opt_count(key)?.map(|n| n.to_string()));
    }
    for (key, name) in [("block_size", "block-size"), ("file_size", "file-size")] {
        set(name, config.opt_count(key)?.map(|n| Bytes(n).exact()));
    }
    for (key, name) in [("engine", "engine"), ("distribution", "distribution")] {
        set(name, config.opt_text(key)?.map(str::to_lowercase));
    }
    for (key, name) in [
        ("zipf_theta", "zipf-theta"),
        ("pareto_h", "pareto-h"),
        ("gaussian_stddev", "gaussian-stddev"),
    ] {
        set(name, config.opt_number(key)?.map(|x| x.to_string()));
    }
    Ok(())
}

fn direction(all: &Node<'_>, kind: &str) -> Result<Summary, Fault> {
    let count = all.need(&format!("{kind}_ops"))?.count()?;
    let mut summary = Summary {
        count: Some(count),
        bytes: all.opt_count(&format!("{kind}_bytes"))?,
        errors: all.opt_count(&format!("errors_{kind}"))?,
        per_second: all.opt_number(&format!("{kind}_iops"))?,
        ..Summary::default()
    };
    if let Some(rate) = all.get(&format!("{kind}_throughput")) {
        summary.bytes_per_second = Some(rate.need("bytes_per_sec")?.number()?);
        if let Some(text) = rate.opt_text("human")? {
            summary
                .as_written
                .insert("bytes_per_second".into(), text.to_owned());
        }
    }
    if let Some(latency) = all.get(&format!("{kind}_latency")).filter(|_| count > 0) {
        add_latency(&latency, &mut summary)?;
    }
    Ok(summary)
}

fn add_latency(latency: &Node<'_>, summary: &mut Summary) -> Result<(), Fault> {
    for (key, field) in [
        ("min", &mut summary.min_ns),
        ("max", &mut summary.max_ns),
        ("mean", &mut summary.mean_ns),
    ] {
        *field = micros(latency, key, "_ns", &mut summary.as_written)?;
    }
    for (key, percent) in [
        ("p50", "50"),
        ("p90", "90"),
        ("p95", "95"),
        ("p99", "99"),
        ("p99_9", "99.9"),
    ] {
        if let Some(ns) = micros(latency, key, "", &mut summary.as_written)? {
            summary.percentiles_ns.insert(percent.into(), ns);
        }
    }
    Ok(())
}

/// A duration in nanoseconds; what is rounded down to 0 stays only as written.
fn micros(
    latency: &Node<'_>,
    key: &str,
    suffix: &str,
    as_written: &mut std::collections::BTreeMap<String, String>,
) -> Result<Option<f64>, Fault> {
    let Some(node) = latency.get(key) else {
        return Ok(None);
    };
    if let Some(text) = node.opt_text("human")? {
        as_written.insert(format!("{key}{suffix}"), text.to_owned());
    }
    let micros = node.need("micros")?.count()?;
    Ok((micros > 0).then_some(micros as f64 * MICRO_NS))
}

fn metadata(all: &Node<'_>, record: &mut Record) -> Result<(), Fault> {
    let Some(node) = all.get("metadata_operations") else {
        return Ok(());
    };
    let latencies = node.get("latency");
    for (key, value) in node.members()? {
        let Some(kind) = key.strip_suffix("_ops").filter(|kind| *kind != "total") else {
            continue;
        };
        let count = value.count()?;
        if count == 0 {
            continue;
        }
        let mut summary = Summary {
            count: Some(count),
            ..Summary::default()
        };
        if let Some(latency) = latencies.as_ref().and_then(|all| all.get(kind)) {
            add_latency(&latency, &mut summary)?;
        }
        record.summaries.insert(kind.to_owned(), summary);
    }
    Ok(())
}

fn figures(all: &Node<'_>) -> Result<std::collections::BTreeMap<String, f64>, Fault> {
    let mut out = std::collections::BTreeMap::new();
    for part in [
        "resource_utilization",
        "coverage",
        "queue_depth_stats",
        "block_size_verification",
    ] {
        let Some(node) = all.get(part) else { continue };
        for (key, value) in node.members()? {
            if let Ok(number) = value.number() {
                out.insert(key.to_owned(), number);
            }
        }
    }
    for key in ["errors", "errors_metadata"] {
        if let Some(errors) = all.opt_number(key)? {
            out.insert(key.to_owned(), errors);
        }
    }
    Ok(out)
}

fn notices(about: &Node<'_>) -> Result<Vec<String>, Fault> {
    let mut out = vec![
        "latencies are whole microseconds rounded down, percentiles the lower edges of buckets up to 25 % wide".to_owned(),
        "whether operations were direct or random is not in IOPulse's JSON".to_owned(),
    ];
    if let Some(start) = about.opt_text("start_time")? {
        out.push(format!("IOPulse dates the start {start} in years of 365 and months of 30 days: the real date is unknown"));
    }
    Ok(out)
}
