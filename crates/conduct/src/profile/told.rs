//! What a reader of a profile has to know of its file.

use super::fill::Filled;
use super::ground::Ground;
use super::{ProfileRequest, RowsLeftOut};
use units::Bytes;
use workload::{Cache, Phase};

/// How the file was filled.
pub(super) fn fill(ground: &Ground, filled: &Filled) -> String {
    let what = if ground.own.is_some() {
        "a file of its own, "
    } else {
        ""
    };
    let rate = units::ByteRate(filled.bytes_per_second);
    let mut text = format!(
        "wrote {what}{} of data that cannot be compressed at {rate}: {}",
        Bytes(filled.bytes),
        ground.target.display()
    );
    if let Some(share) = filled.end_against_start.filter(|share| *share < 0.8) {
        text.push_str(&format!(
            "; its last quarter went at {:.0} % of the speed of its first: a write cache or burst credits ran out, or other work interfered",
            100.0 * share
        ));
    }
    text
}

/// Why nothing can be measured.
pub(super) fn no_row(left_out: &[RowsLeftOut], requests: &[ProfileRequest]) -> String {
    let why = left_out
        .iter()
        .map(|left| left.reason.clone())
        .collect::<Vec<_>>()
        .join("; ");
    let paths: Vec<String> = requests
        .iter()
        .map(|request| request.path.display().to_string())
        .collect();
    format!("no row can be measured on {}: {why}", paths.join(" and "))
}

/// What the sizes mean for the rows.
pub(super) fn sizes(ground: &Ground, bytes: u64, cached: u64, rows: &[Phase]) -> Vec<String> {
    let mut out = Vec::new();
    if ground.is_memory() {
        out.push(format!(
            "{} lies in memory: all rows measure memory and the kernel, not storage",
            ground.kind()
        ));
    }
    let has_cached = rows.iter().any(|row| row.workload.cache == Cache::Warm);
    if has_cached {
        let memory = if ground.is_memory() {
            ""
        } else {
            ", which the page cache holds: they measure memory and the kernel"
        };
        let in_cpu = ground.l3_bytes.filter(|l3| cached <= *l3);
        let in_cpu = in_cpu.map_or(String::new(), |l3| {
            format!("; that fits into the L3 cache of {} of the CPU", Bytes(l3))
        });
        out.push(format!(
            "cached rows use the first {} of the file{memory}{in_cpu}",
            Bytes(cached)
        ));
    }
    let fits = ground
        .memory
        .total
        .filter(|total| bytes <= *total && !ground.is_memory());
    out.extend(fits.map(|total| {
        format!(
            "the file of {} fits into the memory of {}; direct rows bypass the page cache, caches below it they do not",
            Bytes(bytes),
            Bytes(total)
        )
    }));
    out
}
