//! The analysis in JSON: that of warp 1 (`Realtime` in `pkg/aggregate/live.go`) and that before it
//! (`Aggregated` in `aggregate.go`).
//!
//! Durations are `*_millis`, sizes and throughputs bytes. Percentiles, means and deviations of
//! merged segments are sums to be divided by `merged_entries`: an average of percentiles, which is
//! no percentile. They are taken only where nothing was merged.

use crate::error::Fault;
use crate::input::Input;
use crate::node::Node;
use crate::origin::{Origin, without_secrets};
use record::{ErrorCount, Record, Summary};
use units::time;

const MILLI_NS: f64 = 1e6;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    let Some(value) = documents.values.first() else {
        return Ok(Vec::new());
    };
    let root = Node::root(value, "");
    let mut record = origin.record(0, origin.stem(), root.opt_text("warp_version")?);
    if let Some(command) = root
        .opt_text("commandline")?
        .filter(|text| !text.is_empty())
    {
        record
            .asked
            .insert("command".into(), without_secrets(command));
    }
    if root.get("final").and_then(|node| node.as_bool()) == Some(false) {
        record
            .notices
            .push("warp wrote this before the benchmark ended".into());
    }
    match root.get("total") {
        Some(total) => {
            span(&total, &mut record)?;
            if let Some(kinds) = root.get("by_op_type") {
                for (name, node) in kinds.members()? {
                    kind(name, &node, ["total_requests", "total_errors"], &mut record)?;
                }
            }
            // A run that was stopped early may have nothing but the total.
            if record.summaries.is_empty() {
                kind(
                    "all",
                    &total,
                    ["total_requests", "total_errors"],
                    &mut record,
                )?;
            }
        }
        None => {
            let operations = root.need("operations")?;
            for node in operations.items()? {
                span(&node, &mut record)?;
                kind(
                    node.need("type")?.text()?,
                    &node,
                    ["n", "errors"],
                    &mut record,
                )?;
            }
        }
    }
    Ok(if record.summaries.is_empty() {
        Vec::new()
    } else {
        vec![record]
    })
}

/// Start, length and concurrency of the benchmark.
fn span(node: &Node<'_>, record: &mut Record) -> Result<(), Fault> {
    let moment = |key: &str| match node.get(key) {
        Some(node) => time::parse(node.text()?)
            .map(Some)
            .ok_or_else(|| node.fault("not a date and time")),
        None => Ok(None),
    };
    if let (Some(start), Some(end)) = (moment("start_time")?, moment("end_time")?) {
        if record.started_at.is_empty() {
            record.started_at = time::format(start);
        }
        record.elapsed_ns = record
            .elapsed_ns
            .max(u64::try_from(end - start).unwrap_or_default());
    }
    if let Some(users) = node.opt_count("concurrency")?.filter(|users| *users > 0) {
        record.effective.insert("users".into(), users.to_string());
    }
    Ok(())
}

fn kind(
    name: &str,
    node: &Node<'_>,
    [total, failed]: [&str; 2],
    record: &mut Record,
) -> Result<(), Fault> {
    let name = name.to_lowercase();
    let (requests, errors) = (node.opt_count(total)?, node.opt_count(failed)?);
    let mut summary = Summary {
        count: requests.map(|requests| requests.saturating_sub(errors.unwrap_or_default())),
        errors,
        bytes: node.opt_count("total_bytes")?,
        ..Summary::default()
    };
    if let Some(throughput) = node.get("throughput") {
        add_throughput(&throughput, &name, &mut summary, record)?;
    }
    let mut parts = Parts::default();
    for member in ["single_sized_requests", "multi_sized_requests"] {
        if let Some(part) = node.get(member) {
            parts.add(&part)?;
        }
    }
    if let Some(clients) = node.get("requests_by_client") {
        for (_, segments) in clients.members()? {
            for segment in segments.items()? {
                for member in ["single_sized_requests", "multi_sized_requests"] {
                    if let Some(part) = segment.get(member) {
                        parts.add(&part)?;
                    }
                }
            }
        }
    }
    parts.describe(&name, &mut summary, record)?;
    if errors.is_some_and(|errors| errors > 0) {
        record.notices.push(format!(
            "{name}: warp's bytes and latencies include failed operations"
        ));
        let count = errors.unwrap_or_default();
        let first = node
            .get("first_errors")
            .map(|list| list.items().map(|mut items| items.next()))
            .transpose()?
            .flatten();
        let error = first
            .map(|text| text.text())
            .transpose()?
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect();
        record.errors.push(ErrorCount {
            operation: name.clone(),
            error,
            count,
            ..ErrorCount::default()
        });
    }
    if summary != Summary::default() {
        record.summaries.insert(name, summary);
    }
    Ok(())
}

fn add_throughput(
    node: &Node<'_>,
    name: &str,
    summary: &mut Summary,
    record: &mut Record,
) -> Result<(), Fault> {
    let millis = node
        .opt_number("measure_duration_millis")?
        .filter(|millis| *millis > 0.0);
    let rate = |key| {
        Ok(node
            .opt_number(key)?
            .zip(millis)
            .map(|(amount, millis)| amount * 1000.0 / millis))
    };
    summary.bytes_per_second = rate("bytes")?;
    // Segments that an operation only partly lies in count parts of it: `objects` has the
    // fractions, `ops` whole ones only.
    let objects_per_second = rate("objects")?;
    summary.per_second = rate("ops")?;
    for (key, value) in [
        ("objects per second", objects_per_second),
        ("throughput window ms", millis),
    ] {
        if let Some(value) = value {
            summary.figures.insert(key.into(), value);
        }
    }
    let elapsed_ms = record.elapsed_ns as f64 / MILLI_NS;
    if let Some(millis) = millis.filter(|millis| (millis - elapsed_ms).abs() > elapsed_ms * 0.05) {
        record.notices.push(format!("{name}: warp's throughput is of {millis} ms out of {elapsed_ms:.0} ms, its counts are of all"));
    }
    Ok(())
}

/// Statistics of requests that warp keeps apart: by client and by ten seconds.
#[derive(Default)]
struct Parts<'a> {
    nodes: Vec<Node<'a>>,
    merged: u64,
    requests: u64,
    /// Sum of means weighted by requests, in milliseconds.
    weighted: f64,
    fastest: Option<f64>,
    slowest: Option<f64>,
}

impl<'a> Parts<'a> {
    fn add(&mut self, node: &Node<'a>) -> Result<(), Fault> {
        if let Some(sizes) = node.get("by_size") {
            for size in sizes.items()? {
                self.add(&size)?;
            }
            return Ok(());
        }
        let requests = node.opt_count("requests")?.unwrap_or_default();
        if requests == 0 || node.get("skipped").and_then(|node| node.as_bool()) == Some(true) {
            return Ok(());
        }
        let merged = node.opt_count("merged_entries")?.unwrap_or(1).max(1);
        let Some(mean) = node
            .opt_number("dur_avg_millis")?
            .or(node.opt_number("avg_duration_millis")?)
        else {
            return Ok(());
        };
        self.weighted += mean / merged as f64 * requests as f64;
        self.requests = self.requests.saturating_add(requests);
        self.merged = self.merged.saturating_add(merged);
        let (fastest, slowest) = (
            node.opt_number("fastest_millis")?,
            node.opt_number("slowest_millis")?,
        );
        self.fastest = self.fastest.into_iter().chain(fastest).reduce(f64::min);
        self.slowest = self.slowest.into_iter().chain(slowest).reduce(f64::max);
        self.nodes.push(node.clone());
        Ok(())
    }

    fn describe(
        &self,
        name: &str,
        summary: &mut Summary,
        record: &mut Record,
    ) -> Result<(), Fault> {
        if self.requests == 0 {
            return Ok(());
        }
        summary.samples = Some(self.requests);
        summary.mean_ns = Some(self.weighted / self.requests as f64 * MILLI_NS);
        summary.min_ns = self.fastest.map(|millis| millis * MILLI_NS);
        summary.max_ns = self.slowest.map(|millis| millis * MILLI_NS);
        let [node] = &self.nodes[..] else {
            record.notices.push(format!(
                "{name}: warp keeps latencies in {} parts, of which means can be joined and percentiles cannot; \
                 warp --full with its .csv.zst has every operation",
                self.nodes.len()
            ));
            return Ok(());
        };
        if self.merged > 1 {
            record.notices.push(format!(
                "{name}: warp's percentiles are averages over {} parts and are left out",
                self.merged
            ));
            return Ok(());
        }
        summary.stddev_ns = node
            .opt_number("std_dev_millis")?
            .map(|millis| millis * MILLI_NS);
        for (key, percent) in [
            ("dur_median_millis", "50"),
            ("dur_90_millis", "90"),
            ("dur_99_millis", "99"),
        ] {
            if let Some(millis) = node.opt_number(key)? {
                summary
                    .percentiles_ns
                    .insert(percent.into(), millis * MILLI_NS);
            }
        }
        if let Some(first) = node.get("first_byte") {
            record
                .summaries
                .insert(format!("{name} first byte"), first_byte(&first)?);
        }
        Ok(())
    }
}

fn first_byte(node: &Node<'_>) -> Result<Summary, Fault> {
    let ns = |key| Ok(node.opt_number(key)?.map(|millis| millis * MILLI_NS));
    let mut summary = Summary {
        mean_ns: ns("average_millis")?,
        min_ns: ns("fastest_millis")?,
        max_ns: ns("slowest_millis")?,
        stddev_ns: ns("std_dev_millis")?,
        ..Summary::default()
    };
    for (key, percent) in [
        ("p25_millis", "25"),
        ("median_millis", "50"),
        ("p75_millis", "75"),
        ("p90_millis", "90"),
        ("p99_millis", "99"),
    ] {
        if let Some(value) = ns(key)? {
            summary.percentiles_ns.insert(percent.into(), value);
        }
    }
    Ok(summary)
}
