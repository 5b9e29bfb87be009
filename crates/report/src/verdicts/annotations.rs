//! Verdicts as annotations of a job's log: a line an arm, one more for each row that fails the gate
//! alone, for each threshold that is missed, and for each rule that makes a number worth less.

use super::{ArmEntries, Entry, GateOutcome, Verdicts};
use crate::annotation::{AnnotationLevel, annotation};
use crate::audit::findings_annotations;
use crate::comparison::sentence;
use analyze::{Located, Severity};

/// The verdicts as annotations.
#[must_use]
pub fn verdicts_annotations(verdicts: &Verdicts<'_>) -> String {
    let mut out = String::new();
    for arm in &verdicts.arms {
        let told =
            |entry: &&Entry<'_>| entry.is_decisive || verdicts.judge(entry) == GateOutcome::Failed;
        for entry in arm.entries.iter().filter(told) {
            out.push_str(&of_entry(verdicts, arm, entry));
        }
        for lone in &arm.comparison.lone_rows {
            let only = format!("row only in {}", verdicts.only_in(arm, lone));
            let title = title(verdicts, arm, &lone.row);
            out.push_str(&annotation(AnnotationLevel::Error, &title, &only));
        }
    }
    for held in verdicts.thresholds.iter().filter(|held| !held.result.holds) {
        let text = super::threshold_text(held);
        let title = format!("fathom compare: {} missed", held.result.threshold);
        out.push_str(&annotation(AnnotationLevel::Error, &title, &text));
    }
    let grave: Vec<Located> = verdicts
        .findings
        .iter()
        .filter(|located| located.finding.severity != Severity::Note)
        .cloned()
        .collect();
    let of = verdicts.records.len();
    out + &findings_annotations(&grave, |records| match records.len() {
        0 => String::new(),
        n => format!(", {n} of {of} records"),
    })
}

fn title(verdicts: &Verdicts<'_>, arm: &ArmEntries<'_>, row: &str) -> String {
    format!(
        "fathom compare: {} against {}, {row}",
        arm.name, verdicts.base
    )
}

fn of_entry(verdicts: &Verdicts<'_>, arm: &ArmEntries<'_>, entry: &Entry<'_>) -> String {
    let level = match verdicts.judge(entry) {
        GateOutcome::Passed => AnnotationLevel::Notice,
        GateOutcome::Undecided => AnnotationLevel::Warning,
        GateOutcome::Failed | GateOutcome::NoVerdict => AnnotationLevel::Error,
    };
    let text = format!(
        "{}: {}",
        verdicts.question.metric.name(),
        sentence(entry.found, &verdicts.question.metric, verdicts.margin())
    );
    annotation(level, &title(verdicts, arm, &entry.found.row), &text)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{finding, record, rows, sides};
    use super::super::{Gate, Verdicts};
    use super::*;
    use analyze::LoneRow;

    #[test]
    fn each_verdict_is_a_line_by_what_it_means_for_the_gate_and_no_name_is_a_command() {
        let (mut found, records) = (sides(rows()), [record()]);
        found.lone_rows.push(LoneRow {
            row: "x\n::set-output name=a::b".into(),
            is_of_base: false,
        });
        let findings = [finding()];
        let verdicts = Verdicts::of_sides(
            ["a", "b::add-mask::c"],
            &found,
            &findings,
            records.iter().collect(),
            Gate::Slower,
        );
        insta::assert_snapshot!(verdicts_annotations(&verdicts), @r"
        ::error title=fathom compare%3A b%3A%3Aadd-mask%3A%3Ac against a%2C RND4K <Q1>::get: p99 latency: Slower by 24.4 %25 [23.7 to 25.0], 10 blocks.
        ::notice title=fathom compare%3A b%3A%3Aadd-mask%3A%3Ac against a%2C a|b::get: p99 latency: Within 5.0 %25: -24.4 %25 [-25.0, -23.7], 10 blocks.
        ::warning title=fathom compare%3A b%3A%3Aadd-mask%3A%3Ac against a%2C c::get: p99 latency: Cannot tell: -24.4 %25 [-25.0, -23.7], 10 blocks. Would have seen 10.0 %25 or more.
        ::error title=fathom compare%3A b%3A%3Aadd-mask%3A%3Ac against a%2C d::get: p99 latency: No verdict: 3 complete pairs; an interval needs 6
        ::error title=fathom compare%3A b%3A%3Aadd-mask%3A%3Ac against a%2C x %3A%3Aset-output name=a%3A%3Ab::row only in b::add-mask::c
        ::warning title=fathom warning%3A starved%2C 1 of 1 records::few <CPUs>%0Await
        ");
    }
}
