//! Every arm in every row in one picture, where there are more of them than an interval each has
//! room for.

use super::Plot;
use super::intervals::MOST;
use super::rows::leading_kind;
use crate::plot::{MatrixCell, MatrixLine, Tone, ValueUnit, matrix};
use crate::verdicts::sign;
use analyze::{RowComparison, Study, StudyRow};
use record::Preference;
use stats::Verdict;

const HOW_TO_READ: &str = "The sign is the verdict: ▲ better, ▼ worse, ≈ no difference that matters, ? cannot tell, ✕ no verdict. What was judged has its full \
    colour; a pale cell shows where its number lies and says nothing. A darker cell differs by more. The intervals stand in the table below.";
/// Changes from this on are told without decimals.
const WHOLE: f64 = 0.1;

/// The changes of all arms; `None` where each has room for its interval, or nothing is compared.
pub(super) fn changes(study: &Study) -> Option<Plot> {
    let changes = study.rows.len() * study.arms.len().saturating_sub(1);
    if study.rows.len() < 2 || changes <= MOST {
        return None;
    }
    let is_compared = |arm: &usize| {
        let mut rows = study.rows.iter();
        rows.any(|row| row.comparisons.get(*arm).is_some_and(Option::is_some))
    };
    let arms: Vec<usize> = (0..study.arms.len()).filter(is_compared).collect();
    let line = |name: &str, found: &[Option<RowComparison>], row: Option<&StudyRow>| {
        let of = arms.iter().map(|arm| {
            let comparison = found.get(*arm)?.as_ref()?;
            Some(cell(study, comparison, || {
                row.and_then(|row| levels(study, row, *arm))
            }))
        });
        MatrixLine {
            name: name.to_owned(),
            cells: of.collect(),
        }
    };
    let lines: Vec<MatrixLine> = study
        .rows
        .iter()
        .map(|row| line(&row.name, &row.comparisons, Some(row)))
        .collect();
    let is_judged = study.overall.iter().any(Option::is_some);
    let whole = is_judged.then(|| line("all rows", &study.overall, None));
    let names: Vec<String> = arms
        .iter()
        .map(|arm| study.arms[*arm].name.clone())
        .collect();
    let metric = super::heading(study, &study.metric);
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

/// The logarithm of the ratio of the levels of an arm and the baseline: where there are too few
/// blocks to compare it is all that is known.
fn levels(study: &Study, row: &StudyRow, arm: usize) -> Option<f64> {
    let kind = leading_kind(row, &study.metric)?;
    let level = |arm: usize| {
        row.cells
            .get(arm)?
            .as_ref()?
            .figure(kind, &study.metric)?
            .point
    };
    let log = (level(arm)? / level(study.baseline?)?).ln();
    Some(log).filter(|log| log.is_finite())
}

fn cell(study: &Study, found: &RowComparison, levels: impl Fn() -> Option<f64>) -> MatrixCell {
    let sign = sign(&found.verdict);
    let point = found.effect.as_ref().map(|effect| effect.point);
    let Some(log) = point.or_else(levels) else {
        return MatrixCell {
            tone: Tone::Nothing,
            size: 0.0,
            text: sign.to_owned(),
        };
    };
    let is_gain = (log > 0.0) != (study.metric.better() == Preference::Lower);
    let tone = match &found.verdict {
        Verdict::Faster { .. } => Tone::Better,
        Verdict::Slower { .. } => Tone::Worse,
        Verdict::Equivalent { .. } => Tone::Same,
        Verdict::Inconclusive { .. } | Verdict::Invalid(_) if is_gain => Tone::PerhapsBetter,
        Verdict::Inconclusive { .. } | Verdict::Invalid(_) => Tone::PerhapsWorse,
    };
    let change = log.exp_m1();
    let shown = match change.abs() >= WHOLE && change < 2.0 {
        true => format!("{:+.0} %", 100.0 * change),
        // Cells are narrow.
        false => ValueUnit::Change.text(change).replace("times", "×"),
    };
    MatrixCell {
        tone,
        size: log,
        text: format!("{sign} {shown}"),
    }
}
