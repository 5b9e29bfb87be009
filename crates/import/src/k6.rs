//! k6: the summary of a run, and its single points.
//!
//! A metric that `contains` time is in milliseconds, one that contains data in bytes
//! (`metrics/value_type.go`); a `rate` counts in `passes` the samples that were not zero, so that
//! the `passes` of `http_req_failed` are failures.

pub(crate) mod points;
pub(crate) mod summary;

/// Requests of all methods together, with what k6 says of them under several metrics.
const REQUESTS: &str = "request";
/// The part of k6's built-in metrics that are times, for exports that do not say so.
const TIMES: [&str; 5] = [
    "http_req_",
    "iteration_duration",
    "group_duration",
    "ws_connecting",
    "grpc_req_duration",
];

/// Whether a built-in metric is a time; `None` of a metric that the user made.
fn is_built_in_time(metric: &str) -> Option<bool> {
    let name = metric.split('{').next().unwrap_or(metric);
    match name {
        "http_req_failed" | "http_reqs" | "iterations" | "vus" | "vus_max" | "data_sent"
        | "data_received" | "checks" | "dropped_iterations" => Some(false),
        _ => TIMES
            .iter()
            .any(|start| name.starts_with(start))
            .then_some(true),
    }
}

/// The percentage behind a name such as `p(99.9)` or `med`.
fn percentile_of(name: &str) -> Option<String> {
    match name {
        "med" => Some("50".into()),
        _ => crate::bins::percentile_key(name.strip_prefix("p(")?.strip_suffix(')')?),
    }
}
