//! An experiment that ended with an error and without a verdict, in the forms of verdicts.

use super::{GateOutcome, json, junit, markdown};
use crate::annotation::{AnnotationLevel, annotation};
use crate::junit::{NO_TIME, START, escape};
use crate::study::escaped;

/// What ended, and why.
#[derive(Clone, Copy, Debug)]
pub struct VerdictFailure<'a> {
    pub name: &'a str,
    pub why: &'a str,
    pub exit_code: i32,
}

/// As Markdown.
#[must_use]
pub fn failure_markdown(failure: &VerdictFailure<'_>) -> String {
    let mut lines = failure.why.lines();
    let mut out = format!(
        "{}\n## {} Storage comparison: {} failed\n\n{}\n",
        markdown::MARK,
        GateOutcome::NoVerdict.sign(),
        escaped(failure.name),
        escaped(lines.next().unwrap_or_default())
    );
    let rest: Vec<&str> = lines.collect();
    if !rest.is_empty() {
        // Indented, so that nothing in it is markup.
        out.push('\n');
        rest.iter()
            .for_each(|line| out.push_str(&format!("    {line}\n")));
    }
    out
}

/// As JUnit XML: one case, which is an error.
#[must_use]
pub fn failure_junit(failure: &VerdictFailure<'_>) -> String {
    let (name, why) = (escape(failure.name), escape(failure.why));
    let first = escape(failure.why.lines().next().unwrap_or_default());
    format!(
        "{START}{}  <testsuite name=\"{name}\" package=\"fathom.compare\" id=\"0\" timestamp=\"{}\" hostname=\"localhost\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.000\">\n    <properties>\n    </properties>\n    <testcase name=\"experiment\" classname=\"fathom.compare.{name}\" time=\"0.000\">\n      <error message=\"{first}\" type=\"failed\">{why}</error>\n    </testcase>\n    <system-out></system-out>\n    <system-err></system-err>\n  </testsuite>\n</testsuites>\n",
        junit::MARK,
        NO_TIME,
    )
}

/// As JSON.
#[must_use]
pub fn failure_json(failure: &VerdictFailure<'_>) -> String {
    let whole = serde_json::json!({
        json::MARK: json::FORM,
        "outcome": "failed to run",
        "exit_code": failure.exit_code,
        "error": failure.why,
        "verdicts": [],
    });
    let text = serde_json::to_string_pretty(&whole).expect("the value was made of JSON");
    crate::json_without_commands(&text) + "\n"
}

/// As an annotation of a job's log.
#[must_use]
pub fn failure_annotation(failure: &VerdictFailure<'_>) -> String {
    let VerdictFailure {
        name,
        why,
        exit_code,
    } = failure;
    let title = format!("fathom: {name}, exit code {exit_code}");
    annotation(AnnotationLevel::Error, &title, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdicts::is_verdicts;

    #[test]
    fn a_failure_is_told_in_every_form_and_no_text_of_it_is_markup() {
        let failure = VerdictFailure {
            name: "a<b",
            why: "the server <died>\n* it printed & ended",
            exit_code: 1,
        };
        let [markdown, junit, json] = [
            failure_markdown(&failure),
            failure_junit(&failure),
            failure_json(&failure),
        ];
        for text in [&markdown, &junit, &json] {
            assert!(is_verdicts(text), "{text}");
        }
        assert!(
            markdown.contains("\n    * it printed & ended\n"),
            "{markdown}"
        );
        assert!(
            junit.contains("<error message=\"the server &lt;died&gt;\" type=\"failed\">"),
            "{junit}"
        );
        assert!(json.contains("\"exit_code\": 1"), "{json}");
        assert_eq!(
            failure_annotation(&failure),
            "::error title=fathom%3A a<b%2C exit code 1::the server <died>%0A* it printed & ended\n"
        );
    }
}
