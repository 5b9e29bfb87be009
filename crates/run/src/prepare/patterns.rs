//! What a workload writes, as marks and writers call it.

use super::use_of;
use crate::data::Fill;
use crate::verify::Pattern;
use workload::{DataPattern, VerifyPattern, Workload};

/// What a verified file is marked with: the pattern, and the seed where the content depends on it.
pub(crate) fn pattern_label(workload: &Workload) -> String {
    match workload.verify.pattern {
        VerifyPattern::Random => format!("random, seed {}", workload.seed),
        VerifyPattern::Zeros
        | VerifyPattern::Ones
        | VerifyPattern::Sequential
        | VerifyPattern::Header => workload.verify.pattern.word().to_owned(),
    }
}

pub(crate) fn verify_pattern(pattern: VerifyPattern) -> Pattern {
    match pattern {
        VerifyPattern::Zeros => Pattern::Zeros,
        VerifyPattern::Ones => Pattern::Ones,
        VerifyPattern::Sequential => Pattern::Sequential,
        VerifyPattern::Random => Pattern::Random,
        VerifyPattern::Header => Pattern::Header,
    }
}

pub(crate) fn data_fill(pattern: DataPattern) -> Fill {
    match pattern {
        DataPattern::Zeros => Fill::Zeros,
        DataPattern::Ones => Fill::Ones,
        DataPattern::Sequential => Fill::Sequential,
        DataPattern::Random => Fill::Random,
    }
}

/// Whether each write of a block is to have a generation of its own. Where every block is written once,
/// or once a pass, the run or the pass has one.
pub(super) fn numbers_rewrites(workload: &Workload) -> bool {
    let io = use_of(workload);
    workload.verify.on
        && workload.verify.pattern.tells_writes_apart()
        && io.writes
        && !workload.reads_back()
        && (io.reads || !workload.stop.complete)
}
