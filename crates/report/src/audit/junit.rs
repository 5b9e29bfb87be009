//! An audit as JUnit XML: a case a rule, always all of them, so that a job's history shows each.
//! What makes a record invalid is a failure, a warning is skipped, and a note passes.

use super::AuditAccount;
use crate::junit::{START, escape, hostname, seconds, timestamp};
use crate::verdicts::{grouped, in_full};
use analyze::{Severity, rules};
use record::Record;
use std::fmt::Write as _;

const MARK: &str = "<!-- fathom audit -->\n<testsuites>\n";

/// The findings as JUnit XML.
#[must_use]
pub fn audit_junit(account: &AuditAccount<'_>) -> String {
    let grouped = grouped(account.found);
    let count = |severity| {
        let of = grouped.iter();
        of.filter(|(located, _)| located.finding.severity == severity)
            .count()
    };
    let records: Vec<&Record> = account.records.iter().collect();
    let mut out = format!("{START}{MARK}");
    let _infallible = writeln!(
        out,
        "  <testsuite name=\"audit\" package=\"fathom.audit\" id=\"0\" timestamp=\"{}\" hostname=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\">\n    <properties>\n      <property name=\"records\" value=\"{}\"/>\n    </properties>",
        timestamp(&records),
        escape(hostname(&records)),
        rules().len(),
        count(Severity::Invalid),
        count(Severity::Warning),
        seconds(records.iter().copied()),
        records.len()
    );
    let mut notes: Vec<String> = Vec::new();
    for rule in rules() {
        let _infallible = write!(
            out,
            "    <testcase name=\"{}\" classname=\"fathom.audit\" time=\"0.000\"",
            rule.id
        );
        let of = grouped.iter().find(|(of, _)| of.finding.rule == rule.id);
        let Some((located, of)) = of else {
            out.push_str("/>\n");
            continue;
        };
        let finding = &located.finding;
        let text = format!(
            "{}[{}]{}: {}",
            finding.severity,
            rule.id,
            account.share(of),
            in_full(account.found, located)
        );
        let (text, advice) = (escape(&text), escape(&finding.advice));
        let _infallible = match finding.severity {
            Severity::Invalid => writeln!(
                out,
                ">\n      <failure message=\"{text}\" type=\"invalid\">{text}; help: {advice}</failure>\n    </testcase>"
            ),
            Severity::Warning => writeln!(
                out,
                ">\n      <skipped message=\"{text}\"/>\n    </testcase>"
            ),
            Severity::Note => {
                notes.push(text);
                writeln!(out, "/>")
            }
        };
    }
    let _infallible = writeln!(
        out,
        "    <system-out>{}</system-out>\n    <system-err></system-err>\n  </testsuite>\n</testsuites>",
        notes.join("; ")
    );
    out
}

/// Whether a text is what [`audit_junit`] writes.
pub(super) fn is_own(text: &str) -> bool {
    let rest = text.strip_prefix(START);
    rest.is_some_and(|rest| rest.starts_with(MARK))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{found, places, records};
    use super::*;

    #[test]
    fn every_rule_is_a_case_and_what_is_invalid_fails() {
        let (found, records, places) = (found(), records(), places());
        let text = audit_junit(&AuditAccount {
            found: &found,
            records: &records,
            places: &places,
        });
        let all = rules().len();
        assert!(
            text.contains(&format!(
                "tests=\"{all}\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"4.500\""
            )),
            "{text}"
        );
        assert_eq!(text.matches("<testcase ").count(), all);
        for part in [
            "<testcase name=\"pacing_bound\" classname=\"fathom.audit\" time=\"0.000\">\n      <failure message=\"invalid[pacing_bound], b::set-output name=x::y (a.jsonl, record 2): few &lt;CPUs&gt; &amp; 3 %\"",
            "<skipped message=\"warning[starved], 2 of 3 records",
            "<testcase name=\"drift\" classname=\"fathom.audit\" time=\"0.000\"/>",
            "<system-out>note[drift]: few",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
