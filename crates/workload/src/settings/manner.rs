//! How options may be given.

/// Options that belong to the call and not to the workload: they are permitted beside a job that
/// another format describes.
pub const OF_THE_CALL: &[&str] = &[
    "no-refill",
    "allow-destroy",
    "seed",
    "affinity",
    "export-layout-manifest",
    "heatmap",
    "heatmap-buckets",
    "worker-series",
];

/// Whether an option can be given several times, each time adding to what it holds.
#[must_use]
pub fn repeats(key: &str) -> bool {
    key == "allow-destroy"
}
