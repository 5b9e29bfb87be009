//! The verdict on blocks.

use super::pairs::Block;
use super::{Interrupted, Question, RowComparison, Sensitivity, accused};
use record::Preference;
use stats::{Better, Reason, effect, judge, outlying};

/// How blocks are judged, beside the question.
pub(super) struct Judgement {
    pub(super) level: f64,
    pub(super) unused_blocks: usize,
    pub(super) interrupted: Option<Interrupted>,
    pub(super) invalid: Option<Reason>,
}

/// The verdict on blocks, of one row or of several. A block without the metric makes it invalid:
/// leaving it out would be a choice by result.
pub(super) fn judged(
    name: &str,
    blocks: &[Block<'_>],
    how: &Judgement,
    question: &Question,
) -> RowComparison {
    let values: Vec<(f64, f64)> = blocks
        .iter()
        .filter_map(|block| block.values(&question.metric))
        .collect();
    let differences: Vec<f64> = values
        .iter()
        .map(|(base, candidate)| candidate - base)
        .collect();
    let estimate = effect(&differences, how.level);
    let better = if question.metric.better() == Preference::Higher {
        Better::Higher
    } else {
        Better::Lower
    };
    let invalid = how
        .invalid
        .clone()
        .or_else(|| (values.len() < blocks.len()).then(|| without_metric(blocks, question)))
        .or_else(|| accused::undirected(&question.metric))
        .or_else(|| {
            (differences.len() < stats::FEWEST_BLOCKS).then_some(Reason::TooFewBlocks {
                n: differences.len(),
            })
        });
    let median = |side: fn(&(f64, f64)) -> f64| {
        (!values.is_empty())
            .then(|| stats::sample::median(&values.iter().map(side).collect::<Vec<_>>()).exp())
    };
    let sensitivity = if invalid.is_some() {
        None
    } else {
        sensitivity(&differences, how.level, question.margin, better)
    };
    RowComparison {
        row: name.to_owned(),
        blocks: differences.len(),
        unused_blocks: how.unused_blocks,
        interrupted: how.interrupted,
        base: median(|v| v.0),
        candidate: median(|v| v.1),
        verdict: judge(estimate.as_ref(), invalid, question.margin, better),
        effect: estimate,
        differences,
        sensitivity,
    }
}

fn without_metric(blocks: &[Block<'_>], question: &Question) -> Reason {
    let lacking = blocks
        .iter()
        .filter(|block| block.values(&question.metric).is_none())
        .count();
    Reason::Audit(format!(
        "{lacking} of {} blocks have no {}, or too few operations for it; choose another --metric, or longer slots",
        blocks.len(),
        question.metric.name()
    ))
}

fn sensitivity(
    differences: &[f64],
    level: f64,
    margin: f64,
    better: Better,
) -> Option<Sensitivity> {
    let outlying = outlying(differences);
    if outlying.is_empty() {
        return None;
    }
    let rest: Vec<f64> = (0..differences.len())
        .filter(|i| !outlying.contains(i))
        .map(|i| differences[i])
        .collect();
    let effect = effect(&rest, level);
    let too_few =
        (rest.len() < stats::FEWEST_BLOCKS).then_some(Reason::TooFewBlocks { n: rest.len() });
    Some(Sensitivity {
        outlying,
        verdict: judge(effect.as_ref(), too_few, margin, better),
        effect,
    })
}
