//! What verification names of a fault, beside what it must.

use crate::faults::{Traces, follow};
use crate::sides::Device;
use record::Verification;
use std::collections::BTreeMap;
use std::path::Path;

const BLOCK: u64 = 4096;

/// One fault, verified.
pub(crate) struct Verified {
    pub(crate) traces: Traces,
    pub(crate) found: BTreeMap<String, u64>,
    /// Traces without a finding of their name, and findings without a trace of theirs.
    pub(crate) missed: u64,
    pub(crate) invented: u64,
    /// What else does not agree.
    pub(crate) wrong: Vec<String>,
}

/// Fills a device, tells it to do such a fault to 2 % of requests, and verifies a mix of reads and
/// writes of it.
///
/// # Errors
/// It could not be done.
pub(crate) fn verified(fathom: &Path, fault: &str) -> Result<Verified, String> {
    let mut device = Device::serve(fathom, "1m", None)?;
    let filled = [
        "--write-percent",
        "100",
        "--duration",
        "0s",
        "--verify",
        "--verify-when",
        "later",
    ];
    device.run(&filled)?;
    device.tell(&format!("misbehave {fault}=2%,seed=20261122"))?;
    let mix = [
        "--write-percent",
        "50",
        "--random",
        "--total-bytes",
        "32m",
        "--verify",
    ];
    let record = device.run(&[&mix[..], &["--continue-on-error"]].concat())?;
    let sides = device.end()?;
    let verification = record.verification.ok_or("nothing was verified")?;
    let traces = follow(&sides.entries);
    let mut wrong = sides.disagreements();
    wrong.extend(unlike(&verification, &traces));
    let (missed, invented) = differences(&traces.by_kind, &verification.by_kind);
    if missed + invented > 0 {
        wrong.push(format!(
            "{missed} were missed and {invented} invented: {:?} where {:?} are",
            verification.by_kind, traces.by_kind
        ));
    }
    Ok(Verified {
        traces,
        found: verification.by_kind,
        missed,
        invented,
        wrong,
    })
}

/// How many of the first are not among the second, and of the second not among the first.
fn differences(must: &BTreeMap<String, u64>, found: &BTreeMap<String, u64>) -> (u64, u64) {
    let less = |one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>| {
        let of = |(kind, count): (&String, &u64)| {
            count.saturating_sub(other.get(kind).copied().unwrap_or(0))
        };
        one.iter().map(of).sum()
    };
    (less(must, found), less(found, must))
}

/// What a verification says that the log does not.
fn unlike(verification: &Verification, traces: &Traces) -> Vec<String> {
    let mut out = Vec::new();
    if verification.operations != traces.reads {
        out.push(format!(
            "{} blocks were verified, and {} read",
            verification.operations, traces.reads
        ));
    }
    for failure in &verification.first {
        let block = failure.offset / BLOCK * BLOCK;
        let is_told = |(offset, kind): &(u64, String)| *offset == block && *kind == failure.kind;
        if !traces.places.iter().any(is_told) {
            out.push(format!(
                "a {} block is said to be at {block}, and is not",
                failure.kind
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missed_and_what_is_invented_are_counted_apart() {
        let kinds = |counts: &[(&str, u64)]| -> BTreeMap<String, u64> {
            counts
                .iter()
                .map(|(kind, count)| ((*kind).to_owned(), *count))
                .collect()
        };
        let must = kinds(&[("torn", 3), ("stale", 1)]);
        assert_eq!(differences(&must, &must), (0, 0));
        assert_eq!(
            differences(&must, &kinds(&[("torn", 2), ("corrupt", 5)])),
            (2, 5)
        );
    }
}
