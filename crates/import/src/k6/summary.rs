//! `--summary-export` and the data of `handleSummary`, which has each metric's type, content and
//! values apart.

use super::{REQUESTS, is_built_in_time, percentile_of};
use crate::error::Fault;
use crate::input::Input;
use crate::node::Node;
use crate::origin::Origin;
use record::{Record, Summary};
use units::lossless::f64_to_u64_saturating;
use units::time;

const MILLI_NS: f64 = 1e6;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    let Some(value) = documents.values.first() else {
        return Ok(Vec::new());
    };
    let root = Node::root(value, "");
    let mut record = origin.record(0, origin.stem(), None);
    let metrics = root.need("metrics")?;
    let mut unknown = Vec::new();
    for (name, node) in metrics.members()? {
        let metric = Metric::read(name, &node)?;
        if metric.is_unknown_trend {
            unknown.push(name.to_owned());
        }
        record.notices.extend(thresholds(name, &node)?);
        record.summaries.insert(name.to_owned(), metric.summary);
    }
    if !unknown.is_empty() {
        record.notices.push(format!(
            "the export does not say whether these are times; they stand as plain figures: {}",
            unknown.join(", ")
        ));
    }
    join_requests(&mut record);
    elapsed(&root, &mut record)?;
    // `vus_max` counts the users that were allocated, of which a scenario with an arrival rate may
    // need few.
    let users = [
        ("vus", "max"),
        ("vus", "value"),
        ("vus_max", "max"),
        ("vus_max", "value"),
    ];
    if let Some(users) = users
        .iter()
        .find_map(|(metric, key)| figure(&record, metric, key).filter(|users| *users > 0.0))
    {
        record.effective.insert("users".into(), users.to_string());
    }
    Ok(vec![record])
}

struct Metric {
    summary: Summary,
    /// A distribution of which the file does not say what it is of.
    is_unknown_trend: bool,
}

impl Metric {
    fn read(name: &str, node: &Node<'_>) -> Result<Self, Fault> {
        let values = node.get("values").unwrap_or_else(|| node.clone());
        let contains = node.opt_text("contains")?;
        let is_trend = values.get("avg").is_some();
        let is_time = match contains {
            Some(contains) => Some(contains == "time"),
            None => is_built_in_time(name),
        };
        // The rate of a metric that counts passes is their share.
        let is_share = values.get("passes").is_some();
        let is_data = contains.map_or(matches!(name, "data_sent" | "data_received"), |contains| {
            contains == "data"
        });
        let mut summary = Summary::default();
        for (key, value) in values
            .members()?
            .filter(|(key, value)| *key != "thresholds" && !value.is_object())
        {
            let number = value.number()?;
            match (key, is_trend && is_time == Some(true)) {
                (_, true) => trend(key, number, &mut summary),
                ("count", false) if is_data => summary.bytes = Some(value.count()?),
                ("rate", false) if is_data => summary.bytes_per_second = Some(number),
                // A counter of the user may add fractions or take away.
                ("count", false) if number >= 0.0 && number.fract() == 0.0 => {
                    summary.count = Some(f64_to_u64_saturating(number))
                }
                ("rate", false) if !is_trend && !is_share => summary.per_second = Some(number),
                _ => {
                    summary.figures.insert(key.to_owned(), number);
                }
            }
        }
        Ok(Self {
            summary,
            is_unknown_trend: is_trend && is_time.is_none(),
        })
    }
}

fn trend(key: &str, millis: f64, summary: &mut Summary) {
    let ns = millis * MILLI_NS;
    match key {
        "avg" => summary.mean_ns = Some(ns),
        "min" => summary.min_ns = Some(ns),
        "max" => summary.max_ns = Some(ns),
        "count" => summary.samples = Some(f64_to_u64_saturating(millis)),
        _ => match percentile_of(key) {
            Some(percent) => {
                summary.percentiles_ns.insert(percent, ns);
            }
            None => {
                summary.figures.insert(key.to_owned(), millis);
            }
        },
    }
}

/// Thresholds that were crossed: in exports `true` means crossed, in the data of `handleSummary`
/// `ok` means held.
fn thresholds(name: &str, node: &Node<'_>) -> Result<Vec<String>, Fault> {
    let Some(thresholds) = node.get("thresholds") else {
        return Ok(Vec::new());
    };
    let crossed = |node: &Node<'_>| {
        node.as_bool()
            .or_else(|| node.get("ok").and_then(|ok| ok.as_bool()).map(|ok| !ok))
            .unwrap_or(false)
    };
    Ok(thresholds
        .members()?
        .filter(|(_, node)| crossed(node))
        .map(|(text, _)| format!("threshold crossed: {name} {text}"))
        .collect())
}

/// Puts together what k6 says of requests: how many, how many failed, how fast, how long.
fn join_requests(record: &mut Record) {
    let Some(requests) = record.summaries.get("http_reqs") else {
        return;
    };
    let (all, per_second) = (requests.count, requests.per_second);
    let mut joined = record
        .summaries
        .get("http_req_duration")
        .cloned()
        .unwrap_or_default();
    let errors = figure(record, "http_req_failed", "passes").map(f64_to_u64_saturating);
    joined.errors = errors;
    joined.count = all
        .zip(errors)
        .map(|(all, errors)| all.saturating_sub(errors));
    if joined.count.is_none() {
        joined.count = all;
    }
    // The rate of k6 is that of all requests, however they ended; it stands at `http_reqs`.
    let successes = joined
        .count
        .zip(all)
        .filter(|(_, all)| *all > 0)
        .map(|(count, all)| count as f64 / all as f64);
    joined.per_second = per_second.map(|rate| rate * successes.unwrap_or(1.0));
    record.summaries.insert(REQUESTS.into(), joined);
}

fn figure(record: &Record, metric: &str, key: &str) -> Option<f64> {
    record.summaries.get(metric)?.figures.get(key).copied()
}

/// The length of the run: as said, else what k6 divided a count by.
fn elapsed(root: &Node<'_>, record: &mut Record) -> Result<(), Fault> {
    let said = root
        .get("state")
        .map(|state| state.opt_number("testRunDurationMs"))
        .transpose()?
        .flatten();
    let divided = ["iterations", "http_reqs"].iter().find_map(|name| {
        let summary = record.summaries.get(*name)?;
        let (count, rate) = (summary.count?, summary.per_second?);
        (rate > 0.0).then(|| count as f64 / rate * 1000.0)
    });
    record.elapsed_ns = said
        .or(divided)
        .and_then(|ms| time::nanos(ms, MILLI_NS))
        .unwrap_or_default();
    Ok(())
}
