//! Every arm in every row in one picture, where there are more of them than an interval each has
//! room for.

use super::Plot;
use crate::plot::{MatrixCell, MatrixLine, Tone, matrix};
use crate::verdicts::sign;
use analyze::{RowComparison, Study};
use record::Preference;
use stats::Verdict;

const HOW_TO_READ: &str = "The sign is the verdict: ▲ better, ▼ worse, ≈ no difference that matters, ? cannot tell, ✕ no verdict. What was judged has its full \
    colour; a pale cell shows where its number lies and says nothing. A darker cell differs by more. The intervals stand in the table below.";
/// Changes from this on are told without decimals.
const WHOLE: f64 = 0.1;

/// The changes of all arms; `None` where there is one row, or nothing is compared.
pub(super) fn changes(study: &Study) -> Option<Plot> {
    if study.rows.len() < 2 {
        return None;
    }
    let is_compared = |arm: &usize| {
        let mut rows = study.rows.iter();
        rows.any(|row| row.comparisons.get(*arm).is_some_and(Option::is_some))
    };
    let arms: Vec<usize> = (0..study.arms.len()).filter(is_compared).collect();
    let line = |name: &str, found: &[Option<RowComparison>]| {
        let of = arms.iter().map(|arm| {
            let comparison = found.get(*arm)?.as_ref()?;
            Some(cell(study, comparison))
        });
        MatrixLine {
            name: name.to_owned(),
            cells: of.collect(),
        }
    };
    let lines: Vec<MatrixLine> = study
        .rows
        .iter()
        .map(|row| line(&row.name, &row.comparisons))
        .collect();
    let is_judged = study.overall.iter().any(Option::is_some);
    let whole = is_judged.then(|| line("all rows", &study.overall));
    let names: Vec<String> = arms
        .iter()
        .map(|arm| study.arms[*arm].name.clone())
        .collect();
    let metric = study.metric.title();
    let label = format!("Change of {metric} of each arm against the baseline, row by row");
    Some(Plot {
        caption: format!("{metric} against the baseline"),
        svg: matrix(&label, &names, whole.as_ref(), &lines)?,
        row: None,
        arm: None,
        quantity: None,
        legend: Vec::new(),
        notes: vec![(None, HOW_TO_READ.to_owned())],
    })
}

fn cell(study: &Study, found: &RowComparison) -> MatrixCell {
    let sign = sign(&found.verdict);
    let Some(effect) = &found.effect else {
        return MatrixCell {
            tone: Tone::Nothing,
            size: 0.0,
            text: sign.to_owned(),
        };
    };
    let is_gain = (effect.point > 0.0) != (study.metric.better() == Preference::Lower);
    let tone = match &found.verdict {
        Verdict::Faster { .. } => Tone::Better,
        Verdict::Slower { .. } => Tone::Worse,
        Verdict::Equivalent { .. } => Tone::Same,
        Verdict::Inconclusive { .. } if is_gain => Tone::PerhapsBetter,
        Verdict::Inconclusive { .. } => Tone::PerhapsWorse,
        Verdict::Invalid(_) => Tone::Nothing,
    };
    let change = effect.point.exp_m1();
    let shown = match change.abs() >= WHOLE {
        true => format!("{:+.0} %", 100.0 * change),
        false => format!("{:+.1} %", 100.0 * change),
    };
    MatrixCell {
        tone,
        size: effect.point,
        text: format!("{sign} {shown}"),
    }
}
