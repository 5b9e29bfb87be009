//! warp: the analysis in JSON, and the benchmark data with one operation a row.

pub(crate) mod analysis;
pub(crate) mod operations;
