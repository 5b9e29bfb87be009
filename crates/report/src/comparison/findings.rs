//! What the audit found of what is compared.

use crate::TextLayout;
use crate::terminal::UNFOLD;
use crate::verdicts::grouped;
use analyze::Located;
use std::fmt::Write as _;

/// One entry a rule: the gravest finding speaks for it, with the number of records in which it
/// fires.
pub(super) fn findings_text(
    out: &mut String,
    findings: &[Located],
    records: usize,
    layout: TextLayout,
) {
    for (number, (Located { finding, .. }, fired)) in grouped(findings).into_iter().enumerate() {
        let share = match fired.len() {
            0 => String::new(),
            n => format!(" in {n} of {records} records"),
        };
        if number == 0 && !out.ends_with("\n\n") {
            out.push('\n');
        }
        let text = format!(
            "{}[{}]{share}: {}",
            finding.severity,
            finding.rule,
            units::on_one_line(&finding.in_full())
        );
        let _infallible = match layout.folds_findings {
            true => writeln!(out, "{}", layout.one_line(&text)),
            false => writeln!(out, "{text}\n  help: {}", finding.advice),
        };
    }
    if layout.folds_findings && !findings.is_empty() {
        let _infallible = writeln!(out, "{UNFOLD}");
    }
}
