//! What an audit found, for other programs: JSON, Markdown for the summary of a job, JUnit XML, and
//! annotations of its log. What a finding means for a gate is the same in all of them: `invalid`
//! fails, nothing else does.

mod junit;

pub use junit::audit_junit;

use crate::annotation::{AnnotationLevel, annotation};
use crate::differing::{differing_items, with_differing};
use crate::study::escaped;
use crate::verdicts::{GateOutcome, grouped, in_full, others};
use crate::words::counted;
use analyze::{Finding, Located, Severity};
use record::Record;
use serde_json::{Value, json};
use std::fmt::Write as _;

const MARK: &str = "<!-- fathom audit -->";
const SEVERITIES: [Severity; 3] = [Severity::Invalid, Severity::Warning, Severity::Note];

/// What was audited, and what was found.
#[derive(Clone, Copy, Debug)]
pub struct AuditAccount<'a> {
    pub found: &'a [Located],
    pub records: &'a [Record],
    /// Where each record stands.
    pub places: &'a [String],
}

impl AuditAccount<'_> {
    /// `2 invalid, 1 warning, 0 note`.
    #[must_use]
    pub fn counts(&self) -> String {
        let count = |severity| {
            let of = self.found.iter();
            of.filter(|located| located.finding.severity == severity)
                .count()
        };
        let counts: Vec<String> = SEVERITIES
            .into_iter()
            .map(|severity| format!("{} {severity}", count(severity)))
            .collect();
        counts.join(", ")
    }

    /// Whether a number is not what it is called.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        let mut found = self.found.iter();
        found.any(|located| located.finding.severity == Severity::Invalid)
    }

    /// `, 3 of 12 records, such as RND4K (a.jsonl, record 2)`.
    fn share(&self, of: &[usize]) -> String {
        let Some(first) = of.first() else {
            return String::new();
        };
        let place = match (self.records[*first].name.as_str(), &self.places[*first]) {
            ("", place) => place.clone(),
            (name, place) => format!("{name} ({place})"),
        };
        match of.len() {
            1 => format!(", {place}"),
            n => format!(", {n} of {} records, such as {place}", self.records.len()),
        }
    }
}

fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => GateOutcome::Failed.sign(),
        Severity::Warning => GateOutcome::NoVerdict.sign(),
        Severity::Note => "ℹ️",
    }
}

/// The findings as one JSON array, each with its place.
#[must_use]
pub fn audit_json(account: &AuditAccount<'_>) -> String {
    let entry = |Located { record, finding }: &Located| {
        let entry = json!({
            "record": record,
            "place": record.map(|index| &account.places[index]),
            "id": record.map(|index| &account.records[index].id),
            "rule": finding.rule,
            "severity": finding.severity.to_string(),
            "message": finding.message,
            "advice": finding.advice,
        });
        with_differing(entry, &finding.differing)
    };
    let entries: Vec<Value> = account.found.iter().map(entry).collect();
    let text = serde_json::to_string_pretty(&entries).expect("the value was made of JSON");
    crate::json_without_commands(&text) + "\n"
}

/// The findings as a Markdown document, of each rule those of one record; names are escaped, so that none becomes
/// markup.
#[must_use]
pub fn audit_markdown(account: &AuditAccount<'_>) -> String {
    let outcome = match account.is_invalid() {
        true => GateOutcome::Failed,
        false => GateOutcome::Passed,
    };
    let mut out = format!(
        "{MARK}\n## {} Audit of {}: {}\n",
        outcome.sign(),
        counted(account.records.len(), "record"),
        account.counts()
    );
    let grouped = grouped(account.found);
    if !grouped.is_empty() {
        out.push('\n');
    }
    for (located, records) in grouped {
        let share = escaped(&account.share(&records));
        let others = others(account.found, located);
        let told: Vec<&Finding> = std::iter::once(&located.finding).chain(others).collect();
        for (at, finding) in told.iter().enumerate() {
            let Finding {
                rule,
                severity,
                message,
                advice,
                differing,
            } = finding;
            let _infallible = writeln!(
                out,
                "- {} {severity} `{rule}`{share}: {}",
                sign(*severity),
                escaped(message),
            );
            out.push_str(&differing_items(differing));
            // Advice stands once, below all that it is for.
            if (told.get(at + 1)).is_none_or(|next| next.advice != *advice) {
                let _infallible = writeln!(out, "  - help: {}", escaped(advice));
            }
        }
    }
    out
}

/// The findings as annotations of a job's log, one a rule: its page shows few of each kind.
#[must_use]
pub fn audit_annotations(account: &AuditAccount<'_>) -> String {
    findings_annotations(account.found, |records| account.share(records))
}

/// Annotations of findings, one a rule, each with the share of records that `share` tells.
pub(crate) fn findings_annotations(
    found: &[Located],
    share: impl Fn(&[usize]) -> String,
) -> String {
    let mut out = String::new();
    for (located, records) in grouped(found) {
        let Finding {
            rule,
            severity,
            advice,
            ..
        } = &located.finding;
        let message = in_full(found, located);
        let level = match severity {
            Severity::Invalid => AnnotationLevel::Error,
            Severity::Warning => AnnotationLevel::Warning,
            Severity::Note => AnnotationLevel::Notice,
        };
        let title = format!("fathom {severity}: {rule}{}", share(&records));
        out.push_str(&annotation(level, &title, &format!("{message}\n{advice}")));
    }
    out
}

/// Whether a text is what this module writes, and may be written anew without asking.
#[must_use]
pub fn is_audit(text: &str) -> bool {
    let is_finding = |value: &Value| {
        let has = |key: &str| value.get(key).is_some();
        ["rule", "severity", "place", "advice"].into_iter().all(has)
    };
    let is_json = || {
        let entries = serde_json::from_str::<Vec<Value>>(text);
        entries.is_ok_and(|entries| entries.iter().all(is_finding))
    };
    text.starts_with(MARK) || junit::is_own(text) || is_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn records() -> Vec<Record> {
        let named = |name: &str| Record {
            id: format!("id of {name}"),
            name: name.into(),
            elapsed_ns: 1_500_000_000,
            ..Record::default()
        };
        vec![
            named("RND4K <Q1>"),
            named("b::set-output name=x::y"),
            named("c"),
        ]
    }

    pub(super) fn places() -> Vec<String> {
        (1..=3).map(|n| format!("a.jsonl, record {n}")).collect()
    }

    pub(super) fn found() -> Vec<Located> {
        let of = |rule, severity, record| Located {
            record,
            finding: Finding {
                rule,
                severity,
                message: "few <CPUs> & 3 %".into(),
                advice: "wait\nfor them".into(),
                differing: Vec::new(),
            },
        };
        vec![
            of("pacing_bound", Severity::Invalid, Some(1)),
            of("starved", Severity::Warning, Some(0)),
            of("starved", Severity::Warning, Some(2)),
            of("drift", Severity::Note, None),
        ]
    }

    fn with_account<T>(with: impl Fn(&AuditAccount<'_>) -> T) -> T {
        with(&AuditAccount {
            found: &found(),
            records: &records(),
            places: &places(),
        })
    }

    #[test]
    fn markdown_says_each_rule_once_and_no_name_is_markup() {
        insta::assert_snapshot!(with_account(audit_markdown), @"
        <!-- fathom audit -->
        ## ❌ Audit of 3 records: 1 invalid, 2 warning, 1 note

        - ❌ invalid `pacing_bound`, b::set-output name=x::y (a.jsonl, record 2): few &lt;CPUs&gt; &amp; 3 %
          - help: wait for them
        - ⚠️ warning `starved`, 2 of 3 records, such as RND4K &lt;Q1&gt; (a.jsonl, record 1): few &lt;CPUs&gt; &amp; 3 %
          - help: wait for them
        - ℹ️ note `drift`: few &lt;CPUs&gt; &amp; 3 %
          - help: wait for them
        ");
    }

    #[test]
    fn annotations_are_a_line_a_rule_and_no_name_is_a_command() {
        insta::assert_snapshot!(with_account(audit_annotations), @"
        ::error title=fathom invalid%3A pacing_bound%2C b%3A%3Aset-output name=x%3A%3Ay (a.jsonl%2C record 2)::few <CPUs> & 3 %25%0Await%0Afor them
        ::warning title=fathom warning%3A starved%2C 2 of 3 records%2C such as RND4K <Q1> (a.jsonl%2C record 1)::few <CPUs> & 3 %25%0Await%0Afor them
        ::notice title=fathom note%3A drift::few <CPUs> & 3 %25%0Await%0Afor them
        ");
    }

    #[test]
    fn each_form_is_known_again_and_nothing_else_is() {
        let of = [
            with_account(audit_json),
            with_account(audit_markdown),
            with_account(audit_junit),
        ];
        for text in &of {
            assert!(is_audit(text) && !crate::is_verdicts(text), "{text}");
        }
        let nothing = AuditAccount {
            found: &[],
            records: &[],
            places: &[],
        };
        assert_eq!(audit_json(&nothing), "[]\n");
        assert!(is_audit("[]\n"));
        for text in ["my thesis", "[{\"rule\": 1}]", "{}", ""] {
            assert!(!is_audit(text), "{text}");
        }
    }
}
