//! A comparison as text: verdict sentences first, then what else differs.

use analyze::{Comparison, RowComparison};
use stats::{Estimate, Reason, Verdict};
use std::fmt::Write as _;

/// The text of a comparison between two named sides.
#[must_use]
pub fn comparison_text(base: &str, candidate: &str, found: &Comparison) -> String {
    let mut out = format!("{candidate} against {base}: {}, margin {}\n", found.question.metric.name(), percent(found.question.margin));
    for row in &found.rows {
        let _infallible = write!(out, "\n{}\n  {}\n", row.row, sentence(row, found.question.margin));
        if let (Some(base), Some(candidate)) = (row.base, row.candidate) {
            let _infallible = writeln!(out, "  medians {} and {} over {} blocks", figure(base), figure(candidate), row.blocks);
        }
    }
    if found.rows.is_empty() {
        out.push_str("\nnothing to compare: no record ended well\n");
    }
    list(&mut out, "workload differs", &found.workload);
    list(&mut out, "environment differs", &found.environment);
    for text in &found.left_out {
        let _infallible = writeln!(out, "left out: {text}");
    }
    out
}

fn list(out: &mut String, title: &str, differences: &[analyze::Disagreement]) {
    if !differences.is_empty() {
        let _infallible = writeln!(out, "\n{title}:");
    }
    for d in differences {
        let _infallible = writeln!(out, "  {}: {} | {}", d.key, d.base, d.candidate);
    }
}

/// The verdict as a sentence (trust, section 3.8).
#[must_use]
pub fn sentence(row: &RowComparison, margin: f64) -> String {
    let effect = row.effect.as_ref().map(shown).unwrap_or_default();
    match &row.verdict {
        Verdict::Invalid(reason) => format!("No verdict: {}", reason_text(reason)),
        Verdict::Equivalent { different: true } => {
            format!("Different, but by less than {}: {effect}, {} blocks.", percent(margin), row.blocks)
        }
        Verdict::Equivalent { different: false } => format!("Within {}: {effect}, {} blocks.", percent(margin), row.blocks),
        Verdict::Faster { by_margin } => format!("Faster{}: {effect}, {} blocks.", beyond(*by_margin, margin), row.blocks),
        Verdict::Slower { by_margin } => format!("Slower{}: {effect}, {} blocks.", beyond(*by_margin, margin), row.blocks),
        Verdict::Inconclusive { mde, more } => {
            let more =
                more.as_ref().map(|more| format!(" About {} to {} more blocks would decide.", more.fewest, more.most)).unwrap_or_default();
            format!("Cannot tell: {effect}, {} blocks. Would have seen {} or more.{more}", row.blocks, percent(mde.exp_m1()))
        }
    }
}

fn beyond(by_margin: bool, margin: f64) -> String {
    if by_margin { format!(" by at least {}", percent(margin)) } else { String::new() }
}

fn reason_text(reason: &Reason) -> String {
    match reason {
        Reason::Audit(text) => text.clone(),
        Reason::OrderAliasedWithArm => {
            "one side ran after the other, so time and side cannot be separated. Measure them in randomised blocks: fathom compare --run"
                .into()
        }
        Reason::ControlFailed { p } => format!("two runs of the same baseline differ (p = {p:.4})"),
        Reason::UnequalFailures { p } => format!("the sides fail at different rates (p = {p:.4})"),
        Reason::WarmupTooLong { share } => format!("the warm-up was too short in {} of the slots", percent(*share)),
        Reason::NotSteady { share } => format!("no steady state in {} of the slots", percent(*share)),
        Reason::CarryOver => "a side changes what runs after it".into(),
        Reason::TooFewBlocks { n } => format!("{n} complete pairs; an interval needs {}", stats::FEWEST_BLOCKS),
    }
}

/// `+8.3 % [+5.6, +11.2]`: a ratio effect from its logarithm.
fn shown(effect: &Estimate) -> String {
    let ratio = |log: f64| 100.0 * log.exp_m1();
    format!("{:+.1} % [{:+.1}, {:+.1}]", ratio(effect.point), ratio(effect.low), ratio(effect.high))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn figure(value: f64) -> String {
    units::format_count(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Method;

    fn row(verdict: Verdict) -> RowComparison {
        let effect = Estimate { point: 0.0797, low: 0.0545, high: 0.1062, level: 0.95, n: 12, method: Method::HodgesLehmann };
        RowComparison {
            row: "r".into(),
            blocks: 12,
            base: Some(1000.0),
            candidate: Some(1083.0),
            effect: Some(effect),
            verdict,
            differences: vec![],
        }
    }

    #[test]
    fn verdicts_are_sentences_with_their_interval() {
        assert_eq!(sentence(&row(Verdict::Faster { by_margin: true }), 0.05), "Faster by at least 5.0 %: +8.3 % [+5.6, +11.2], 12 blocks.");
        assert_eq!(
            sentence(&row(Verdict::Invalid(Reason::TooFewBlocks { n: 1 })), 0.05),
            "No verdict: 1 complete pairs; an interval needs 6"
        );
        let unsure = sentence(&row(Verdict::Inconclusive { mde: 0.1_f64.ln_1p(), more: None }), 0.05);
        assert!(unsure.starts_with("Cannot tell: +8.3 % [+5.6, +11.2], 12 blocks. Would have seen 10.0 % or more."), "{unsure}");
    }
}
