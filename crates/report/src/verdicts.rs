//! The verdicts of a comparison for other programs: JSON, Markdown for the summary of a job, JUnit
//! XML.
//!
//! All three say the same of the same entries. What a verdict means for a gate is decided here and
//! nowhere else, so that a file and the exit code beside it agree.

mod annotations;
mod failure;
mod json;
mod junit;
mod markdown;

pub use annotations::verdicts_annotations;
pub use failure::{
    VerdictFailure, failure_annotation, failure_json, failure_junit, failure_markdown,
};
pub(crate) use json::verdict_fields;
pub use json::verdicts_json;
pub use junit::verdicts_junit;
pub use markdown::verdicts_markdown;

use analyze::{
    ArmsComparison, Comparison, ControlCheck, Disagreement, Finding, HeldThreshold, Located,
    LoneRow, Question, RowComparison,
};
use record::Record;
use stats::{Reason, Verdict};

/// Which verdicts fail a gate. That a loss passes where not knowing does not is nobody's wish,
/// hence the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    #[default]
    Slower,
    SlowerOrUndecided,
}

impl Gate {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Slower => &["slower"],
            Self::SlowerOrUndecided => &["slower", "undecided"],
        }
    }
}

/// What a verdict, or all of them together, means for a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateOutcome {
    Passed,
    /// Nothing is known that would fail it.
    Undecided,
    Failed,
    /// There is no verdict.
    NoVerdict,
}

impl GateOutcome {
    /// 0, 3 where the gate failed, 4 without a verdict.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Passed | Self::Undecided => 0,
            Self::Failed => 3,
            Self::NoVerdict => 4,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Undecided => "undecided",
            Self::Failed => "failed",
            Self::NoVerdict => "no verdict",
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Passed => "✅",
            Self::Undecided => "❔",
            Self::Failed => "❌",
            Self::NoVerdict => "⚠️",
        }
    }
}

/// The verdict on one arm in one row, or over all rows.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    found: &'a RowComparison,
    is_over_all_rows: bool,
    /// Whether the experiment was to decide this: what it says of single rows besides cannot be
    /// undecided in a gate's eyes.
    is_decisive: bool,
}

/// One arm and all that is said of it.
#[derive(Clone, Debug)]
struct ArmEntries<'a> {
    name: String,
    entries: Vec<Entry<'a>>,
    comparison: &'a Comparison,
}

/// All verdicts of a comparison.
#[derive(Clone, Debug)]
pub struct Verdicts<'a> {
    base: String,
    arms: Vec<ArmEntries<'a>>,
    question: &'a Question,
    control: Option<&'a ControlCheck>,
    findings: &'a [Located],
    left_out: &'a [String],
    /// Whether something that was asked could not run.
    has_lost: bool,
    records: Vec<&'a Record>,
    gate: Gate,
    thresholds: Vec<HeldThreshold>,
}

impl<'a> Verdicts<'a> {
    /// Of two sets of records, each with its name.
    #[must_use]
    pub fn of_sides(
        names: [&str; 2],
        found: &'a Comparison,
        findings: &'a [Located],
        records: Vec<&'a Record>,
        gate: Gate,
    ) -> Self {
        let entry = |row| Entry {
            found: row,
            is_over_all_rows: false,
            is_decisive: true,
        };
        let entries = found.rows.iter().map(entry).collect();
        Self {
            base: names[0].to_owned(),
            arms: vec![ArmEntries {
                name: names[1].to_owned(),
                entries,
                comparison: found,
            }],
            question: &found.question,
            control: None,
            findings,
            left_out: &found.left_out,
            has_lost: false,
            records,
            gate,
            thresholds: Vec::new(),
        }
    }

    /// Of the arms of an experiment.
    #[must_use]
    pub fn of_arms(found: &'a ArmsComparison, records: Vec<&'a Record>, gate: Gate) -> Self {
        let arms = found.candidates.iter().map(|candidate| {
            let rows = candidate.comparison.rows.iter();
            let has_rows = rows.len() > 1;
            let pooled = Entry {
                found: &candidate.pooled,
                is_over_all_rows: has_rows,
                is_decisive: true,
            };
            let rows = rows.filter(|_| has_rows).map(|row| Entry {
                found: row,
                is_over_all_rows: false,
                is_decisive: false,
            });
            ArmEntries {
                name: candidate.candidate.clone(),
                entries: std::iter::once(pooled).chain(rows).collect(),
                comparison: &candidate.comparison,
            }
        });
        Self {
            base: found.base.clone(),
            arms: arms.collect(),
            question: &found.question,
            control: found.control.as_ref(),
            findings: &found.findings,
            left_out: &found.left_out,
            has_lost: !found.lost.is_empty(),
            records,
            gate,
            thresholds: Vec::new(),
        }
    }

    /// The same with the thresholds that the candidates were held against.
    #[must_use]
    pub fn held_against(self, thresholds: Vec<HeldThreshold>) -> Self {
        Self { thresholds, ..self }
    }

    /// The thresholds of all candidates as text, a line each.
    #[must_use]
    pub fn thresholds_text(&self) -> String {
        let line = |held: &HeldThreshold| format!("threshold {}\n", threshold_text(held));
        self.thresholds.iter().map(line).collect()
    }

    /// What all verdicts together mean for the gate: the gravest. A threshold that is missed fails
    /// it whatever the verdicts are: a number beyond its limit needs no other side.
    #[must_use]
    pub fn outcome(&self) -> GateOutcome {
        if !self.thresholds_are_met() {
            return GateOutcome::Failed;
        }
        self.arms
            .iter()
            .map(|arm| self.outcome_of(arm))
            .chain(self.has_lost.then_some(GateOutcome::NoVerdict))
            .max()
            .unwrap_or(GateOutcome::NoVerdict)
    }

    fn thresholds_are_met(&self) -> bool {
        self.thresholds.iter().all(|held| held.result.holds)
    }

    fn outcome_of(&self, arm: &ArmEntries<'_>) -> GateOutcome {
        let lone = arm
            .comparison
            .lone_rows
            .first()
            .map(|_| GateOutcome::NoVerdict);
        // A single row without a verdict of its own, beside one over all rows, takes nothing from
        // that.
        let counts =
            |entry: &&Entry<'_>| entry.is_decisive || self.judge(entry) == GateOutcome::Failed;
        arm.entries
            .iter()
            .filter(counts)
            .map(|entry| self.judge(entry))
            .chain(lone)
            .max()
            .unwrap_or(GateOutcome::NoVerdict)
    }

    fn judge(&self, entry: &Entry<'_>) -> GateOutcome {
        match entry.found.verdict {
            Verdict::Invalid(_) => GateOutcome::NoVerdict,
            Verdict::Slower { .. } => GateOutcome::Failed,
            Verdict::Inconclusive { .. }
                if entry.is_decisive && self.gate == Gate::SlowerOrUndecided =>
            {
                GateOutcome::Failed
            }
            Verdict::Inconclusive { .. } => GateOutcome::Undecided,
            Verdict::Faster { .. } | Verdict::Equivalent { .. } => GateOutcome::Passed,
        }
    }

    /// The side that has a row alone.
    fn only_in<'b>(&'b self, arm: &'b ArmEntries<'_>, lone: &LoneRow) -> &'b str {
        if lone.is_of_base {
            &self.base
        } else {
            &arm.name
        }
    }

    fn margin(&self) -> f64 {
        self.question.margin
    }
}

/// `p99<5ms missed in run of b: 6 ms, 1 ms above the limit (median of 8 runs)`.
fn threshold_text(held: &HeldThreshold) -> String {
    let HeldThreshold {
        arm,
        row,
        runs,
        result,
    } = held;
    let word = if result.holds { "met" } else { "missed" };
    let place = match row.as_str() {
        "" => arm.clone(),
        row => format!("{row} of {arm}"),
    };
    let of = match runs {
        0 | 1 => String::new(),
        runs => format!(" (median of {runs} runs)"),
    };
    format!(
        "{} {word} in {place}: {}{of}",
        result.threshold, result.measured
    )
}

/// Whether a text is what this module writes, and may be written anew without asking.
#[must_use]
pub fn is_verdicts(text: &str) -> bool {
    text.starts_with(markdown::MARK) || junit::is_junit(text) || json::is_json(text)
}

/// A sign for a verdict.
pub(crate) fn sign(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Faster { .. } => "▲",
        Verdict::Slower { .. } => "▼",
        Verdict::Equivalent { .. } => "≈",
        Verdict::Inconclusive { .. } => "?",
        Verdict::Invalid(Reason::Underway { .. }) => "…",
        Verdict::Invalid(_) => "✕",
    }
}

/// What people call a verdict.
pub(crate) fn told(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Inconclusive { .. } => "cannot tell",
        Verdict::Invalid(Reason::Underway { .. }) => "not judged yet",
        Verdict::Invalid(_) => "no verdict",
        Verdict::Faster { .. } | Verdict::Slower { .. } | Verdict::Equivalent { .. } => {
            word(verdict)
        }
    }
}

/// The word for a verdict.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Invalid(_) => "none",
        Verdict::Equivalent { .. } => "equivalent",
        Verdict::Faster { .. } => "faster",
        Verdict::Slower { .. } => "slower",
        Verdict::Inconclusive { .. } => "undecided",
    }
}

/// One finding a rule, the gravest, with the number of records that it is about.
pub(crate) fn grouped(findings: &[Located]) -> Vec<(&Located, Vec<usize>)> {
    let mut out: Vec<(&Located, Vec<usize>)> = Vec::new();
    for located in findings {
        match out
            .iter_mut()
            .find(|(first, _)| first.finding.rule == located.finding.rule)
        {
            Some((_, records)) => {
                let new = located.record.filter(|record| !records.contains(record));
                records.extend(new);
            }
            None => out.push((located, located.record.into_iter().collect())),
        }
    }
    out
}

/// What else is found by the rule of a finding in the record that it is about.
pub(crate) fn others<'f>(
    found: &'f [Located],
    first: &Located,
) -> impl Iterator<Item = &'f Finding> {
    let is_other = move |located: &&Located| {
        located.record.is_some()
            && located.record == first.record
            && located.finding.rule == first.finding.rule
            && located.finding != first.finding
    };
    found
        .iter()
        .filter(is_other)
        .map(|located| &located.finding)
}

/// What is found by the rule of a finding in the record that it is about, on one line.
pub(crate) fn in_full(found: &[Located], first: &Located) -> String {
    let others = others(found, first).map(Finding::in_full);
    let told = std::iter::once(first.finding.in_full()).chain(others);
    told.collect::<Vec<_>>().join("; ")
}

/// Facts that differ, by what they are said of.
fn differences(comparison: &Comparison) -> [(&'static str, &[Disagreement]); 3] {
    [
        ("with what is compared", &comparison.with_subject),
        ("in the workload", &comparison.workload),
        ("in the environment", &comparison.environment),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::{ArmComparison, Finding, Severity};
    use record::Quantity;
    use stats::{Estimate, Method, Reason};
    use std::collections::BTreeSet;

    fn row(name: &str, verdict: Verdict) -> RowComparison {
        let effect = Estimate {
            point: -0.28,
            low: -0.2877,
            high: -0.2705,
            level: 0.95,
            n: 10,
            method: Method::HodgesLehmann,
        };
        RowComparison {
            row: name.into(),
            blocks: 10,
            unused_blocks: 0,
            base: Some(1000.0),
            candidate: Some(756.0),
            effect: (!matches!(verdict, Verdict::Invalid(_))).then_some(effect),
            verdict,
            differences: vec![],
            sensitivity: None,
            interrupted: None,
            place: None,
        }
    }

    fn question() -> Question {
        Question {
            metric: Quantity::parse("get.p99").unwrap(),
            margin: 0.05,
            factors: BTreeSet::new(),
        }
    }

    pub(super) fn sides(rows: Vec<RowComparison>) -> Comparison {
        Comparison {
            question: question(),
            rows,
            lone_rows: vec![],
            with_subject: vec![Disagreement {
                key: "storage.file_system.kind".into(),
                base: "ext4".into(),
                candidate: "xfs".into(),
            }],
            environment: vec![],
            workload: vec![],
            left_out: vec!["one".into()],
        }
    }

    pub(super) fn rows() -> Vec<RowComparison> {
        vec![
            row("RND4K <Q1>", Verdict::Slower { by_margin: true }),
            row("a|b", Verdict::Equivalent { different: false }),
            row(
                "c",
                Verdict::Inconclusive {
                    mde: 0.1_f64.ln_1p(),
                    more: None,
                },
            ),
            row("d", Verdict::Invalid(Reason::TooFewBlocks { n: 3 })),
        ]
    }

    pub(super) fn finding() -> Located {
        let finding = Finding {
            rule: "starved",
            severity: Severity::Warning,
            message: "few <CPUs>".into(),
            advice: "wait".into(),
            differing: Vec::new(),
        };
        Located {
            record: Some(1),
            finding,
        }
    }

    pub(super) fn record() -> Record {
        let mut record = Record {
            started_at: "2026-01-01T00:00:05.250Z".into(),
            elapsed_ns: 1_500_000_000,
            ..Record::default()
        };
        record.generator_mut().environment.system.hostname = Some("host \"x\"".into());
        record
    }

    fn outcome(rows: Vec<RowComparison>, gate: Gate) -> GateOutcome {
        Verdicts::of_sides(["a", "b"], &sides(rows), &[], vec![], gate).outcome()
    }

    #[test]
    fn the_gravest_verdict_is_that_of_the_gate() {
        let rows = rows();
        let of = |numbers: &[usize], gate| {
            outcome(
                numbers.iter().map(|number| rows[*number].clone()).collect(),
                gate,
            )
        };
        assert_eq!(of(&[1], Gate::Slower), GateOutcome::Passed);
        assert_eq!(
            (
                of(&[1, 2], Gate::Slower),
                of(&[1, 2], Gate::SlowerOrUndecided)
            ),
            (GateOutcome::Undecided, GateOutcome::Failed)
        );
        assert_eq!(of(&[0, 1, 2], Gate::Slower), GateOutcome::Failed);
        assert_eq!(of(&[0, 3], Gate::Slower), GateOutcome::NoVerdict);
        assert_eq!(of(&[], Gate::Slower), GateOutcome::NoVerdict);
        let codes = [
            GateOutcome::Passed,
            GateOutcome::Undecided,
            GateOutcome::Failed,
            GateOutcome::NoVerdict,
        ]
        .map(GateOutcome::exit_code);
        assert_eq!(codes, [0, 0, 3, 4]);
        let mut lone = sides(vec![rows[1].clone()]);
        lone.lone_rows.push(LoneRow {
            row: "x".into(),
            is_of_base: true,
        });
        assert_eq!(
            Verdicts::of_sides(["a", "b"], &lone, &[], vec![], Gate::Slower).outcome(),
            GateOutcome::NoVerdict
        );
    }

    #[test]
    fn of_several_rows_those_that_are_undecided_do_not_fail_a_gate_and_a_slower_one_does() {
        let rows = rows();
        let arms = |pooled: &RowComparison, of_rows: &[&RowComparison]| ArmsComparison {
            lost: vec![],
            question: question(),
            base: "a".into(),
            candidates: vec![ArmComparison {
                candidate: "b".into(),
                pooled: pooled.clone(),
                comparison: sides(of_rows.iter().map(|row| (*row).clone()).collect()),
                depends_on_row: None,
            }],
            control: None,
            drift: None,
            findings: vec![],
            records: 0,
            left_out: vec![],
        };
        let outcome = |found: &ArmsComparison| {
            Verdicts::of_arms(found, vec![], Gate::SlowerOrUndecided).outcome()
        };
        assert_eq!(
            outcome(&arms(&rows[1], &[&rows[1], &rows[2]])),
            GateOutcome::Passed
        );
        assert_eq!(
            outcome(&arms(&rows[1], &[&rows[1], &rows[0]])),
            GateOutcome::Failed
        );
        assert_eq!(
            outcome(&arms(&rows[2], &[&rows[2]])),
            GateOutcome::Failed,
            "the one row is what is decided"
        );
        assert_eq!(
            outcome(&arms(&rows[3], &[&rows[1], &rows[1]])),
            GateOutcome::NoVerdict
        );
    }

    #[test]
    fn every_form_is_known_again_and_nothing_else_is() {
        let (found, records) = (sides(rows()), [record()]);
        let verdicts = Verdicts::of_sides(
            ["a", "b"],
            &found,
            &[],
            records.iter().collect(),
            Gate::Slower,
        );
        for text in [
            verdicts_json(&verdicts),
            verdicts_markdown(&verdicts),
            verdicts_junit(&verdicts),
        ] {
            assert!(is_verdicts(&text), "{text}");
        }
        assert!(
            !is_verdicts("# notes")
                && !is_verdicts("{\"schema\":1}")
                && !is_verdicts("<?xml version=\"1.0\"?><testsuites/>")
        );
    }
}
