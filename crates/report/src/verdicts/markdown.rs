//! Verdicts as Markdown: what the summary of a job shows. Names are escaped, so that none becomes
//! markup.

use super::{ArmEntries, Entry, GateOutcome, Verdicts, differences, grouped, in_full};
use crate::comparison::{in_cells, leading_facts, sentence};
use crate::study::escaped;
use crate::words::counted;
use analyze::Disagreement;
use stats::Verdict;
use std::fmt::Write as _;

pub(super) const MARK: &str = "<!-- fathom verdicts -->";
/// Facts of one kind that are listed; the JSON has all.
const SHOWN: usize = 8;

/// The verdicts as a Markdown document.
#[must_use]
pub fn verdicts_markdown(verdicts: &Verdicts<'_>) -> String {
    let outcome = verdicts.outcome();
    let mut out = format!(
        "{MARK}\n## {} Storage comparison: {}\n\n",
        outcome.sign(),
        heading(verdicts, outcome)
    );
    let _infallible = writeln!(
        out,
        "{}, each with {}. Differences below {:.1} % do not matter.",
        escaped(&capitalised(&verdicts.question.metric.name())),
        escaped(&verdicts.base),
        100.0 * verdicts.margin()
    );
    verdicts
        .arms
        .iter()
        .for_each(|arm| arm_text(&mut out, verdicts, arm));
    if let Some(control) = verdicts.control {
        let _infallible = writeln!(
            out,
            "\nControl: {} a second time, p = {:.3} over {}.",
            escaped(&verdicts.base),
            control.p,
            counted(control.blocks, "block")
        );
    }
    if !verdicts.thresholds.is_empty() {
        out.push_str("\n### Thresholds\n\n");
    }
    for held in &verdicts.thresholds {
        let outcome = match held.result.holds {
            true => GateOutcome::Passed,
            false => GateOutcome::Failed,
        };
        let text = escaped(&super::threshold_text(held));
        let _infallible = writeln!(out, "- {} {text}", outcome.sign());
    }
    findings(&mut out, verdicts);
    out
}

fn heading(verdicts: &Verdicts<'_>, outcome: GateOutcome) -> &'static str {
    let has = |word: &str| {
        verdicts
            .arms
            .iter()
            .flat_map(|arm| &arm.entries)
            .any(|entry| super::word(&entry.found.verdict) == word)
    };
    match outcome {
        GateOutcome::Failed if has("slower") => "slower",
        GateOutcome::Failed if !verdicts.thresholds_are_met() => "a threshold is missed",
        GateOutcome::Failed => "failed, because it cannot be told",
        GateOutcome::NoVerdict => "no verdict",
        GateOutcome::Undecided => "cannot tell",
        GateOutcome::Passed if has("faster") && !has("equivalent") && !has("undecided") => "faster",
        GateOutcome::Passed => "no loss",
    }
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(rest).collect()
    })
}

fn arm_text(out: &mut String, verdicts: &Verdicts<'_>, arm: &ArmEntries<'_>) {
    let _infallible = write!(
        out,
        "\n### {} against {}\n\n| | Row | Verdict | Change | Interval | Baseline | Arm | Blocks |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
        escaped(&arm.name),
        escaped(&verdicts.base)
    );
    arm.entries
        .iter()
        .for_each(|entry| line(out, verdicts, entry));
    let said: Vec<String> = arm
        .entries
        .iter()
        .filter(|entry| needs_words(&entry.found.verdict))
        .map(|entry| in_words(verdicts, entry))
        .collect();
    if !said.is_empty() {
        out.push('\n');
    }
    said.iter().for_each(|text| out.push_str(text));
    for lone in &arm.comparison.lone_rows {
        let _infallible = writeln!(
            out,
            "- {}: row only in {}",
            escaped(&lone.row),
            escaped(verdicts.only_in(arm, lone))
        );
    }
    for (title, found) in differences(arm.comparison)
        .into_iter()
        .filter(|(_, found)| !found.is_empty())
    {
        let _infallible = writeln!(out, "\nWhat differs {title}:\n");
        let leading = leading_facts(found);
        let shown: Vec<(&str, &Disagreement)> = if leading.is_empty() {
            found
                .iter()
                .take(SHOWN)
                .map(|d| (d.key.as_str(), d))
                .collect()
        } else {
            leading
        };
        for (name, d) in &shown {
            let _infallible = writeln!(
                out,
                "- {}: {} → {}",
                escaped(name),
                escaped(&d.base),
                escaped(&d.candidate)
            );
        }
        if found.len() > shown.len() {
            let _infallible = writeln!(out, "- and {} more", found.len() - shown.len());
        }
    }
}

/// Where the table does not say why.
fn needs_words(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Invalid(_) | Verdict::Inconclusive { .. })
}

fn in_words(verdicts: &Verdicts<'_>, entry: &Entry<'_>) -> String {
    format!(
        "- {}: {}\n",
        escaped(&entry.found.row),
        escaped(&sentence(
            entry.found,
            &verdicts.question.metric,
            verdicts.margin()
        ))
    )
}

fn line(out: &mut String, verdicts: &Verdicts<'_>, entry: &Entry<'_>) {
    let found = entry.found;
    let [change, interval] = found
        .effect
        .as_ref()
        .map_or_else(|| ["-".to_owned(), "-".to_owned()], in_cells);
    let median = |value: Option<f64>| {
        value.map_or_else(
            || "-".to_owned(),
            |value| escaped(&verdicts.question.metric.number(value)),
        )
    };
    let _infallible = writeln!(
        out,
        "| {} | {} | {} | {change} | {interval} | {} | {} | {} |",
        verdicts.judge(entry).sign(),
        escaped(&found.row),
        in_brief(&found.verdict),
        median(found.base),
        median(found.candidate),
        found.blocks
    );
}

fn in_brief(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Invalid(_) => "no verdict",
        Verdict::Equivalent { different: false } => "equivalent",
        Verdict::Equivalent { different: true } => "different, but within the margin",
        Verdict::Faster { .. } => "**faster**",
        Verdict::Slower { .. } => "**slower**",
        Verdict::Inconclusive { .. } => "cannot tell",
    }
}

fn findings(out: &mut String, verdicts: &Verdicts<'_>) {
    let grouped = grouped(verdicts.findings);
    if grouped.is_empty() {
        return;
    }
    let _infallible = writeln!(
        out,
        "\n<details><summary>Findings: {}</summary>\n",
        grouped.len()
    );
    for (located, records) in grouped {
        let found = &located.finding;
        let share = if records.is_empty() {
            String::new()
        } else {
            format!(", {} of {} records", records.len(), verdicts.records.len())
        };
        let _infallible = writeln!(
            out,
            "- {} `{}`{share}: {}. {}",
            found.severity,
            found.rule,
            escaped(&in_full(verdicts.findings, located)),
            escaped(&capitalised(&found.advice))
        );
    }
    out.push_str("\n</details>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::{finding, record, rows, sides};
    use super::super::{Gate, Verdicts};
    use super::*;

    #[test]
    fn a_summary_of_a_job() {
        let (found, records, findings) = (sides(rows()), [record(), record()], [finding()]);
        let verdicts = Verdicts::of_sides(
            ["a|<b>", "new"],
            &found,
            &findings,
            records.iter().collect(),
            Gate::Slower,
        );
        insta::assert_snapshot!(verdicts_markdown(&verdicts), @r#"
        <!-- fathom verdicts -->
        ## ⚠️ Storage comparison: no verdict

        Get: p99 latency, each with a\|&lt;b&gt;. Differences below 5.0 % do not matter.

        ### new against a\|&lt;b&gt;

        | | Row | Verdict | Change | Interval | Baseline | Arm | Blocks |
        | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
        | ❌ | RND4K &lt;Q1&gt; | **slower** | -24.4 % | -25.0 % to -23.7 % | 1 µs | 756 ns | 10 |
        | ✅ | a\|b | equivalent | -24.4 % | -25.0 % to -23.7 % | 1 µs | 756 ns | 10 |
        | ❔ | c | cannot tell | -24.4 % | -25.0 % to -23.7 % | 1 µs | 756 ns | 10 |
        | ⚠️ | d | no verdict | - | - | 1 µs | 756 ns | 10 |

        - c: Cannot tell: -24.4 % [-25.0, -23.7], 10 blocks. Would have seen 10.0 % or more.
        - d: No verdict: 3 complete pairs; an interval needs 6

        What differs with what is compared:

        - file system: ext4 → xfs

        <details><summary>Findings: 1</summary>

        - warning `starved`, 1 of 2 records: few &lt;CPUs&gt;. Wait

        </details>
        "#);
    }
}
