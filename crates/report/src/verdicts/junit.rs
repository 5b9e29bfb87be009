//! Verdicts as JUnit XML: a suite an arm, a case a row. A gate that failed is a failure, no verdict
//! an error, cannot tell is skipped.

use super::{ArmEntries, Entry, GateOutcome, Verdicts, differences, word};
use crate::comparison::sentence;
use crate::junit::{START, escape, hostname, seconds, timestamp};
use analyze::HeldThreshold;
use record::Record;
use std::fmt::Write as _;

pub(super) const MARK: &str = "<!-- fathom verdicts -->\n<testsuites>\n";

/// The verdicts as JUnit XML.
#[must_use]
pub fn verdicts_junit(verdicts: &Verdicts<'_>) -> String {
    let mut out = format!("{START}{MARK}");
    for (number, arm) in verdicts.arms.iter().enumerate() {
        suite(&mut out, verdicts, arm, number);
    }
    out.push_str("</testsuites>\n");
    out
}

/// Whether a text is what [`verdicts_junit`] writes.
pub(super) fn is_junit(text: &str) -> bool {
    text.strip_prefix(START)
        .is_some_and(|rest| rest.starts_with(MARK))
}

fn suite(out: &mut String, verdicts: &Verdicts<'_>, arm: &ArmEntries<'_>, number: usize) {
    let lone = arm.comparison.lone_rows.len();
    let thresholds = verdicts.thresholds.iter();
    let thresholds: Vec<&HeldThreshold> = thresholds.filter(|held| held.arm == arm.name).collect();
    let count = |wanted: GateOutcome| {
        arm.entries
            .iter()
            .filter(|entry| verdicts.judge(entry) == wanted)
            .count()
    };
    let _infallible = writeln!(
        out,
        "  <testsuite name=\"{}\" package=\"fathom.compare\" id=\"{number}\" timestamp=\"{}\" hostname=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">",
        escape(&format!("{} against {}", arm.name, verdicts.base)),
        timestamp(&verdicts.records),
        escape(hostname(&verdicts.records)),
        arm.entries.len() + lone + thresholds.len(),
        count(GateOutcome::Failed) + thresholds.iter().filter(|held| !held.result.holds).count(),
        count(GateOutcome::NoVerdict) + lone,
        count(GateOutcome::Undecided),
        seconds(verdicts.records.iter().copied()),
    );
    properties(out, verdicts);
    for entry in &arm.entries {
        let verdict = word(&entry.found.verdict);
        case(
            out,
            verdicts,
            arm,
            entry,
            (
                verdict,
                &sentence(entry.found, &verdicts.question.metric, verdicts.margin()),
            ),
        );
    }
    for lone in &arm.comparison.lone_rows {
        let only = format!("row only in {}", verdicts.only_in(arm, lone));
        open_case(out, arm, &lone.row, "0.000");
        let _infallible = writeln!(
            out,
            ">\n      <error message=\"{0}\" type=\"lone row\">{0}</error>\n    </testcase>",
            escape(&only)
        );
    }
    for held in thresholds {
        let text = escape(&super::threshold_text(held));
        let name = format!("{} in {}", held.result.threshold, held.row);
        open_case(out, arm, &name, "0.000");
        let _infallible = match held.result.holds {
            true => writeln!(out, "/>"),
            false => writeln!(
                out,
                ">\n      <failure message=\"{text}\" type=\"threshold\">{text}</failure>\n    </testcase>"
            ),
        };
    }
    let _infallible = writeln!(
        out,
        "    <system-out>{}</system-out>\n    <system-err></system-err>\n  </testsuite>",
        escape(&said(arm))
    );
}

fn properties(out: &mut String, verdicts: &Verdicts<'_>) {
    let fail_on = verdicts.gate.words().join(",");
    let margin = format!("{:.1} %", 100.0 * verdicts.margin());
    let given = [
        ("metric", verdicts.question.metric.key()),
        ("margin", margin),
        ("baseline", verdicts.base.clone()),
        ("fail-on", fail_on),
    ];
    out.push_str("    <properties>\n");
    for (name, value) in given {
        let _infallible = writeln!(
            out,
            "      <property name=\"{name}\" value=\"{}\"/>",
            escape(&value)
        );
    }
    out.push_str("    </properties>\n");
}

fn open_case(out: &mut String, arm: &ArmEntries<'_>, row: &str, time: &str) {
    let _infallible = write!(
        out,
        "    <testcase name=\"{}\" classname=\"fathom.compare.{}\" time=\"{time}\"",
        escape(row),
        escape(&arm.name)
    );
}

fn case(
    out: &mut String,
    verdicts: &Verdicts<'_>,
    arm: &ArmEntries<'_>,
    entry: &Entry<'_>,
    (kind, text): (&str, &str),
) {
    let row = &entry.found.row;
    let is_of_row = |record: &&Record| {
        record
            .trial
            .as_ref()
            .map_or(entry.is_over_all_rows || record.name == *row, |trial| {
                (entry.is_over_all_rows || trial.row == *row) && trial.arm == arm.name
            })
    };
    open_case(
        out,
        arm,
        row,
        &seconds(verdicts.records.iter().copied().filter(is_of_row)),
    );
    let text = escape(text);
    let _infallible = match verdicts.judge(entry) {
        GateOutcome::Passed => writeln!(out, "/>"),
        GateOutcome::Undecided => writeln!(
            out,
            ">\n      <skipped message=\"{text}\"/>\n    </testcase>"
        ),
        GateOutcome::Failed => writeln!(
            out,
            ">\n      <failure message=\"{text}\" type=\"{kind}\">{text}</failure>\n    </testcase>"
        ),
        GateOutcome::NoVerdict => writeln!(
            out,
            ">\n      <error message=\"{text}\" type=\"no verdict\">{text}</error>\n    </testcase>"
        ),
    };
}

/// What differs, for whoever opens the suite.
fn said(arm: &ArmEntries<'_>) -> String {
    let facts = differences(arm.comparison)
        .into_iter()
        .flat_map(|(title, found)| {
            found
                .iter()
                .map(move |d| format!("differs {title}: {}: {} | {}", d.key, d.base, d.candidate))
        });
    facts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, rows, sides};
    use super::super::{Gate, Verdicts};
    use super::*;
    use analyze::LoneRow;

    #[test]
    fn a_case_a_row_with_failure_error_and_skipped() {
        let (mut found, records) = (sides(rows()), [record()]);
        found.lone_rows.push(LoneRow {
            row: "]]>&x".into(),
            is_of_base: false,
        });
        let verdicts = Verdicts::of_sides(
            ["a", "b\"<\u{1}\n\u{ffff}"],
            &found,
            &[],
            records.iter().collect(),
            Gate::Slower,
        );
        insta::assert_snapshot!(verdicts_junit(&verdicts), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <!-- fathom verdicts -->
        <testsuites>
          <testsuite name="b&quot;&lt;� � against a" package="fathom.compare" id="0" timestamp="2026-01-01T00:00:05" hostname="host &quot;x&quot;" tests="5" failures="1" errors="2" skipped="1" time="1.500">
            <properties>
              <property name="metric" value="get.p99"/>
              <property name="margin" value="5.0 %"/>
              <property name="baseline" value="a"/>
              <property name="fail-on" value="slower"/>
            </properties>
            <testcase name="RND4K &lt;Q1&gt;" classname="fathom.compare.b&quot;&lt;� �" time="0.000">
              <failure message="Slower by 24.4 % [23.7 to 25.0], 10 blocks." type="slower">Slower by 24.4 % [23.7 to 25.0], 10 blocks.</failure>
            </testcase>
            <testcase name="a|b" classname="fathom.compare.b&quot;&lt;� �" time="0.000"/>
            <testcase name="c" classname="fathom.compare.b&quot;&lt;� �" time="0.000">
              <skipped message="Cannot tell: -24.4 % [-25.0, -23.7], 10 blocks. Would have seen 10.0 % or more."/>
            </testcase>
            <testcase name="d" classname="fathom.compare.b&quot;&lt;� �" time="0.000">
              <error message="No verdict: 3 complete pairs; an interval needs 6" type="no verdict">No verdict: 3 complete pairs; an interval needs 6</error>
            </testcase>
            <testcase name="]]&gt;&amp;x" classname="fathom.compare.b&quot;&lt;� �" time="0.000">
              <error message="row only in b&quot;&lt;� �" type="lone row">row only in b&quot;&lt;� �</error>
            </testcase>
            <system-out>differs with what is compared: storage.file_system.kind: ext4 | xfs</system-out>
            <system-err></system-err>
          </testsuite>
        </testsuites>
        "#);
    }
}
