//! A comparison as text: verdict sentences first, then what stands beside them.

mod change;
mod findings;
mod reasons;

use crate::TextLayout;
use crate::words::counted;
use change::apart;
pub(crate) use change::{in_cells, percent, shown, signed};
use findings::findings_text;
pub(crate) use reasons::{NOT_DRAWN, reason_kind, reason_text, unjudged};

use analyze::{
    ArmComparison, ArmsComparison, Comparison, Disagreement, Interrupted, Located, LoneRow,
    Question, RowComparison,
};
use record::Quantity;
use stats::{CONTROL_ALPHA, Drift, PORTABLE_CHANGE, Reason, Verdict};
use std::fmt::Write as _;
use units::on_one_line;

/// Below this p the machine's behaviour over the blocks is said (trust, section 3.9).
const DRIFT_ALPHA: f64 = 0.01;
/// Below this p an effect depends on its row.
const ROW_ALPHA: f64 = 0.05;

/// The text of a comparison between two named sides, with what the audit of so many records found.
#[must_use]
pub fn comparison_text(
    base: &str,
    candidate: &str,
    found: &Comparison,
    findings: &[Located],
    records: usize,
    layout: TextLayout,
) -> String {
    // A name with a line break would end in a line that nobody of us wrote.
    let [base, candidate] = [base, candidate].map(on_one_line);
    let mut out = format!(
        "{candidate} against {base}: {}, margin {}\n",
        found.question.metric.name(),
        percent(found.question.margin)
    );
    for row in &found.rows {
        out.push('\n');
        row_text(&mut out, row, &found.question);
    }
    if found.rows.is_empty() && found.lone_rows.is_empty() {
        out.push_str("\nnothing to compare: no record ended well\n");
    }
    lone_rows_text(&mut out, [&base, &candidate], &found.lone_rows);
    differences_text(&mut out, found);
    left_out_text(&mut out, &found.left_out);
    findings_text(&mut out, findings, records, layout);
    out
}

/// The text of an experiment: every candidate over all rows, then row by row, then what the machine
/// did, then the audit.
#[must_use]
pub fn arms_text(found: &ArmsComparison, layout: TextLayout) -> String {
    let mut out = String::new();
    for candidate in &found.candidates {
        candidate_text(&mut out, &found.base, candidate);
    }
    if let Some(control) = &found.control {
        let verb = if control.p < CONTROL_ALPHA {
            "differ"
        } else {
            "agree"
        };
        let _infallible = writeln!(
            out,
            "control: {} and {} {verb} (p = {:.3}, {})",
            on_one_line(&found.base),
            on_one_line(&control.arm),
            control.p,
            counted(control.blocks, "block")
        );
    }
    found.drift.iter().flat_map(drift_lines).for_each(|line| {
        let _infallible = writeln!(out, "machine: {line}");
    });
    left_out_text(&mut out, &found.left_out);
    findings_text(&mut out, &found.findings, found.records, layout);
    out
}

fn candidate_text(out: &mut String, base: &str, of: &ArmComparison) {
    let question = &of.comparison.question;
    let _infallible = writeln!(
        out,
        "{} against {}: {}, margin {}\n",
        on_one_line(&of.candidate),
        on_one_line(base),
        question.metric.name(),
        percent(question.margin)
    );
    row_text(out, &of.pooled, question);
    if let Some(p) = of.depends_on_row.filter(|p| *p < ROW_ALPHA) {
        let _infallible = writeln!(
            out,
            "  The effect depends on the row (p = {p:.4}): read the rows, not all of them together."
        );
    }
    if of.comparison.rows.len() > 1 {
        of.comparison
            .rows
            .iter()
            .for_each(|row| row_text(out, row, question));
    }
    differences_text(out, &of.comparison);
    out.push('\n');
}

fn row_text(out: &mut String, row: &RowComparison, question: &Question) {
    let (metric, margin) = (&question.metric, question.margin);
    let _infallible = writeln!(
        out,
        "{}\n  {}",
        on_one_line(&row.row),
        sentence(row, metric, margin)
    );
    let is_said = matches!(row.verdict, Verdict::Invalid(Reason::NotDrawnByLot { .. }));
    if let (Some(base), Some(candidate), false) = (row.base, row.candidate, is_said) {
        let _infallible = writeln!(
            out,
            "  medians {} and {} over {}",
            metric.number(base),
            metric.number(candidate),
            counted(row.blocks, "block")
        );
    }
    if let Some(gain) = row.place {
        let _infallible = writeln!(
            out,
            "  the second slot of a block was {} against the first whatever ran there, which is taken out",
            signed(gain)
        );
    }
    if let Some(without) = &row.sensitivity {
        let numbers: Vec<String> = without
            .outlying
            .iter()
            .map(|index| (index + 1).to_string())
            .collect();
        let rest = RowComparison {
            blocks: row.blocks - numbers.len(),
            effect: without.effect,
            verdict: without.verdict.clone(),
            sensitivity: None,
            interrupted: None,
            ..row.clone()
        };
        let (noun, these) = if numbers.len() == 1 {
            ("block", "stands")
        } else {
            ("blocks", "stand")
        };
        let _infallible = writeln!(
            out,
            "  {noun} {} {these} out; without: {}",
            numbers.join(", "),
            sentence(&rest, metric, margin)
        );
    }
    if row.unused_blocks > 0 {
        let (noun, are) = if row.unused_blocks == 1 {
            ("block", "is")
        } else {
            ("blocks", "are")
        };
        let _infallible = writeln!(
            out,
            "  {} {noun} after the last permitted look {are} left out",
            row.unused_blocks
        );
    }
}

/// Rows of one side, a line a side.
fn lone_rows_text(out: &mut String, sides: [&str; 2], rows: &[LoneRow]) {
    for (name, is_of_base) in sides.into_iter().zip([true, false]) {
        let of_side: Vec<&str> = rows
            .iter()
            .filter(|lone| lone.is_of_base == is_of_base)
            .map(|lone| lone.row.as_str())
            .collect();
        let noun = if of_side.len() == 1 { "row" } else { "rows" };
        if !of_side.is_empty() {
            let _infallible = writeln!(
                out,
                "\n{noun} only in {name}: {}",
                on_one_line(&of_side.join(", "))
            );
        }
    }
}

/// What people call the facts of storage that say most.
const SUBJECT: [(&str, &str); 8] = [
    ("storage.file_system.kind", "file system"),
    ("storage.file_system.options", "mount options"),
    ("storage.file_system.source", "source"),
    ("storage.device.name", "device"),
    ("storage.device.model", "device model"),
    ("storage.device.rotational", "rotational"),
    ("storage.device.scheduler", "scheduler"),
    ("storage.is_memory", "lies in memory"),
];

/// The facts that say most, by what people call them.
pub(crate) fn leading_facts(found: &[Disagreement]) -> Vec<(&'static str, &Disagreement)> {
    SUBJECT
        .iter()
        .flat_map(|(key, name)| {
            found
                .iter()
                .filter(move |d| d.key == *key)
                .map(move |d| (*name, d))
        })
        .collect()
}

/// What comes with the targets or engines that are compared: the facts that say most, and the
/// number of the others.
fn subject_text(out: &mut String, found: &[Disagreement]) {
    if found.is_empty() {
        return;
    }
    out.push_str("\nwhat differs with what is compared:\n");
    let leading = leading_facts(found);
    for (name, d) in &leading {
        let sides = on_one_line(&format!("{} | {}", d.base, d.candidate));
        let _infallible = writeln!(out, "  {name}: {sides}");
    }
    let (shown, more) = (leading.len(), found.len() - leading.len());
    if more > 0 {
        let (noun, and) = (
            if more == 1 { "fact" } else { "facts" },
            if shown > 0 { "and " } else { "" },
        );
        let _infallible = writeln!(
            out,
            "  {and}{more} {}{noun} of the storage, which the records hold",
            if shown > 0 { "other " } else { "" }
        );
    }
}

fn differences_text(out: &mut String, found: &Comparison) {
    subject_text(out, &found.with_subject);
    list(out, "workload differs", &found.workload);
    list(out, "environment differs", &found.environment);
}

fn left_out_text(out: &mut String, left_out: &[String]) {
    for text in left_out {
        let _infallible = writeln!(out, "left out: {}", on_one_line(text));
    }
}

/// What disturbed the blocks. None of it is a reason against ratios within blocks.
pub(crate) fn drift_lines(drift: &Drift) -> Vec<String> {
    let below = |p: Option<f64>| p.filter(|p| *p < DRIFT_ALPHA);
    let mut out = Vec::new();
    if let Some((change, p)) = drift.change.zip(below(drift.trend_p)) {
        let not_portable = if change.exp_m1().abs() > PORTABLE_CHANGE {
            ": ratios are valid, absolute numbers are not portable"
        } else {
            ""
        };
        out.push(format!(
            "levels moved by {} over the run (p = {p:.4}){not_portable}",
            signed(change)
        ));
    }
    let says: [(Option<f64>, &str); 5] = [
        (
            drift.runs_p,
            "levels of neighbouring blocks go together: something slow disturbs the machine",
        ),
        (
            drift
                .variance_p
                .filter(|_| drift.variance_ratio.is_some_and(|ratio| ratio > 1.0)),
            "blocks differ more than slots within a block: pairs take it out",
        ),
        (
            drift.position_p,
            "the place in a block matters: something runs in step with the blocks; longer slots or a longer --settle help",
        ),
        (
            drift.spread_p,
            "the noise changed between the first and the second half",
        ),
        (
            drift.predecessor_p,
            "what ran before matters: carry-over; longer slots or a longer --settle help",
        ),
    ];
    out.extend(
        says.into_iter()
            .filter_map(|(p, text)| below(p).map(|p| format!("{text} (p = {p:.4})"))),
    );
    out
}

fn list(out: &mut String, title: &str, differences: &[analyze::Disagreement]) {
    if !differences.is_empty() {
        let _infallible = writeln!(out, "\n{title}:");
    }
    for d in differences {
        let fact = on_one_line(&format!("{}: {} | {}", d.key, d.base, d.candidate));
        let _infallible = writeln!(out, "  {fact}");
    }
}

/// The verdict as a sentence (trust, section 3.8), and whether the experiment came to its planned
/// end.
#[must_use]
pub fn sentence(row: &RowComparison, metric: &Quantity, margin: f64) -> String {
    let verdict = verdict(row, metric, margin);
    match (&row.verdict, row.interrupted) {
        (Verdict::Invalid(_), _) | (_, None) => verdict,
        (_, Some(Interrupted { complete, planned })) => {
            format!(
                "{verdict} Interrupted after {complete} of {planned} planned blocks: judged as what may stop at a look."
            )
        }
    }
}

fn verdict(row: &RowComparison, metric: &Quantity, margin: f64) -> String {
    let effect = row.effect.as_ref().map(shown).unwrap_or_default();
    let blocks = counted(row.blocks, "block");
    match &row.verdict {
        Verdict::Invalid(Reason::NotDrawnByLot { windows }) => undrawn(row, metric, *windows),
        Verdict::Invalid(reason) => unjudged(reason),
        Verdict::Equivalent { different: true } => {
            format!(
                "Different, but by less than {}: {effect}, {blocks}.",
                percent(margin)
            )
        }
        Verdict::Equivalent { different: false } => {
            format!("Within {}: {effect}, {blocks}.", percent(margin))
        }
        Verdict::Faster { .. } => format!("{}, {blocks}.", apart("Faster", row, metric.unit())),
        Verdict::Slower { .. } => format!("{}, {blocks}.", apart("Slower", row, metric.unit())),
        Verdict::Inconclusive { mde, more } => {
            let more = more
                .as_ref()
                .map(|more| {
                    format!(
                        " About {} to {} more blocks would decide.",
                        more.fewest, more.most
                    )
                })
                .unwrap_or_default();
            let seen = if mde.is_finite() {
                let least = signed(*mde);
                format!(
                    " Would have seen {} or more.",
                    least.trim_start_matches('+')
                )
            } else {
                String::new()
            };
            format!("Cannot tell: {effect}, {blocks}.{seen}{more}")
        }
    }
}

/// What is left to say of runs whose order nobody drew: where both sides lie, and in how few
/// stretches of time.
fn undrawn(row: &RowComparison, metric: &Quantity, [of_base, of_candidate]: [usize; 2]) -> String {
    let levels = row.base.zip(row.candidate).map(|(base, candidate)| {
        let (base_text, candidate_text, ratio) = (metric.number(base), metric.number(candidate), candidate / base);
        format!(" Medians {base_text} and {candidate_text}, a ratio of {ratio:.3}, over {of_base} and {of_candidate} windows of time.")
    });
    format!(
        "No verdict: {NOT_DRAWN}.{} For a verdict: fathom compare --run",
        levels.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::{ControlCheck, Finding, Sensitivity, Severity};
    use stats::{Estimate, Method};
    use std::collections::BTreeSet;

    fn row(verdict: Verdict) -> RowComparison {
        let effect = Estimate {
            point: 0.0797,
            low: 0.0545,
            high: 0.1062,
            level: 0.95,
            n: 12,
            method: Method::HodgesLehmann,
        };
        RowComparison {
            row: "r".into(),
            blocks: 12,
            base: Some(1000.0),
            candidate: Some(1083.0),
            effect: Some(effect),
            verdict,
            differences: vec![],
            unused_blocks: 0,
            sensitivity: None,
            interrupted: None,
            place: None,
        }
    }

    #[test]
    fn verdicts_are_sentences_with_their_interval() {
        assert_eq!(
            sentence(
                &row(Verdict::Faster { by_margin: true }),
                &Quantity::named("iops"),
                0.05
            ),
            "Faster by 8.3 % [5.6 to 11.2], 12 blocks."
        );
        assert_eq!(
            sentence(
                &row(Verdict::Invalid(Reason::TooFewBlocks { n: 1 })),
                &Quantity::named("iops"),
                0.05
            ),
            "No verdict: 1 complete pair; an interval needs 6"
        );
        let mut less = row(Verdict::Slower { by_margin: true });
        less.effect
            .iter_mut()
            .for_each(|effect| *effect = effect.negated());
        assert!(
            sentence(&less, &Quantity::named("iops"), 0.05)
                .starts_with("Slower by 7.7 % [5.3 to 10.1], 12"),
            "{}",
            sentence(&less, &Quantity::named("iops"), 0.05)
        );
        let mut broken = row(Verdict::Faster { by_margin: true });
        broken.interrupted = Some(Interrupted {
            complete: 13,
            planned: 60,
        });
        assert_eq!(
            sentence(&broken, &Quantity::named("iops"), 0.05),
            "Faster by 8.3 % [5.6 to 11.2], 12 blocks. Interrupted after 13 of 60 planned blocks: judged as what may stop at a look."
        );
        let mut undrawn = row(Verdict::Invalid(Reason::NotDrawnByLot { windows: [2, 3] }));
        undrawn.effect = None;
        assert_eq!(
            sentence(&undrawn, &Quantity::named("iops"), 0.05),
            "No verdict: the order was not drawn by lot: nothing bounds the error. Medians 1.00K and 1.08K, a ratio of 1.083, over 2 and 3 windows of time. For a verdict: fathom compare --run"
        );
        let unsure = sentence(
            &row(Verdict::Inconclusive {
                mde: 0.1_f64.ln_1p(),
                more: None,
            }),
            &Quantity::named("iops"),
            0.05,
        );
        assert!(
            unsure.starts_with(
                "Cannot tell: +8.3 % [+5.6, +11.2], 12 blocks. Would have seen 10.0 % or more."
            ),
            "{unsure}"
        );
    }

    fn located(record: Option<usize>, rule: &'static str) -> Located {
        let finding = Finding {
            rule,
            severity: Severity::Warning,
            message: "said".into(),
            advice: "do".into(),
            differing: Vec::new(),
        };
        Located { record, finding }
    }

    fn question() -> Question {
        Question {
            metric: Quantity::named("iops"),
            margin: 0.05,
            factors: BTreeSet::new(),
        }
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    fn an_experiment_reads_from_its_verdict_to_its_audit() {
        let comparison = Comparison {
            question: question(),
            rows: vec![row(Verdict::Faster { by_margin: false }); 2],
            lone_rows: vec![],
            with_subject: vec![],
            environment: vec![],
            workload: vec![],
            left_out: vec![],
        };
        let mut pooled = row(Verdict::Faster { by_margin: false });
        (pooled.base, pooled.candidate, pooled.unused_blocks) = (None, None, 2);
        pooled.sensitivity = Some(Sensitivity {
            outlying: vec![4],
            effect: pooled.effect,
            verdict: Verdict::Equivalent { different: false },
        });
        let drift = Drift {
            variance_ratio: Some(3.0),
            variance_p: Some(0.5),
            change: Some(-0.2),
            trend_p: Some(0.001),
            runs_p: None,
            position_p: Some(0.002),
            spread_p: None,
            predecessor_p: None,
        };
        let found = ArmsComparison {
            lost: vec![],
            question: question(),
            base: "a".into(),
            candidates: vec![ArmComparison {
                candidate: "b".into(),
                pooled,
                comparison,
                depends_on_row: Some(0.01),
            }],
            control: Some(ControlCheck {
                arm: "a (control)".into(),
                p: 0.4,
                blocks: 24,
            }),
            drift: Some(drift),
            findings: vec![
                located(Some(1), "x"),
                located(Some(2), "x"),
                located(None, "y"),
            ],
            records: 90,
            left_out: vec!["one".into()],
        };
        let expected = "\
b against a: operations a second, margin 5.0 %

r
  Faster by 8.3 % [5.6 to 11.2], 12 blocks.
  block 5 stands out; without: Within 5.0 %: +8.3 % [+5.6, +11.2], 11 blocks.
  2 blocks after the last permitted look are left out
  The effect depends on the row (p = 0.0100): read the rows, not all of them together.
r
  Faster by 8.3 % [5.6 to 11.2], 12 blocks.
  medians 1.00K and 1.08K over 12 blocks
r
  Faster by 8.3 % [5.6 to 11.2], 12 blocks.
  medians 1.00K and 1.08K over 12 blocks

control: a and a (control) agree (p = 0.400, 24 blocks)
machine: levels moved by -18.1 % over the run (p = 0.0010): ratios are valid, absolute numbers are not portable
machine: the place in a block matters: something runs in step with the blocks; longer slots or a longer --settle help (p = 0.0020)
left out: one

warning[x] in 2 of 90 records: said
  help: do
warning[y]: said
  help: do
";
        assert_eq!(arms_text(&found, TextLayout::default()), expected);
    }

    #[test]
    fn what_comes_with_a_target_is_listed_and_a_lone_row_is_one_line() {
        let differs = |key: &str| Disagreement {
            key: key.into(),
            base: "ext4".into(),
            candidate: "xfs".into(),
        };
        let found = Comparison {
            question: question(),
            rows: vec![],
            lone_rows: vec![
                LoneRow {
                    row: "q".into(),
                    is_of_base: true,
                },
                LoneRow {
                    row: "s".into(),
                    is_of_base: true,
                },
            ],
            with_subject: vec![
                differs("storage.device.minor"),
                differs("storage.file_system.kind"),
            ],
            environment: vec![],
            workload: vec![],
            left_out: vec![],
        };
        assert_eq!(
            comparison_text("a", "b", &found, &[], 3, TextLayout::default()),
            "b against a: operations a second, margin 5.0 %\n\nrows only in a: q, s\n\nwhat differs with what is compared:\n  \
             file system: ext4 | xfs\n  and 1 other fact of the storage, which the records hold\n"
        );
    }

    #[test]
    fn no_name_begins_a_line_of_its_own() {
        let forged = "x\n  Faster by 90.0 % [80.0 to 95.0], 6 blocks.";
        let mut of_row = row(Verdict::Faster { by_margin: false });
        of_row.row = forged.into();
        let differs = Disagreement {
            key: forged.into(),
            base: forged.into(),
            candidate: forged.into(),
        };
        let found = Comparison {
            question: question(),
            rows: vec![of_row],
            lone_rows: vec![LoneRow {
                row: forged.into(),
                is_of_base: true,
            }],
            with_subject: vec![differs.clone()],
            environment: vec![differs.clone()],
            workload: vec![differs],
            left_out: vec![forged.into()],
        };
        let mut finding = located(None, "starved");
        finding.finding.message = forged.into();
        let text = comparison_text(forged, forged, &found, &[finding], 3, TextLayout::default());
        assert!(
            text.lines()
                .all(|line| !line.starts_with("  Faster by 90.0 %")),
            "{text}"
        );
    }

    #[test]
    fn an_interval_without_ends_is_not_printed_as_one() {
        let mut unsure = row(Verdict::Inconclusive {
            mde: f64::INFINITY,
            more: None,
        });
        unsure.effect = unsure.effect.map(|effect| Estimate {
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            ..effect
        });
        assert_eq!(
            sentence(&unsure, &Quantity::named("iops"), 0.05),
            "Cannot tell: +8.3 % [no interval yet], 12 blocks."
        );
    }
}
