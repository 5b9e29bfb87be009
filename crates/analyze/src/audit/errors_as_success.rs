//! One failure is no success of 100 %.

use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures, of_kind as of_name};
use crate::{Finding, Severity};
use record::{Record, Status};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "errors_as_success",
    catalogue_number: Some(57),
    severity: Severity::Invalid,
    title: "Failures stand beside a success of 100 %",
    text: "\
Failed operations of a kind against what the source calls success (a figure or a printed
text with \"success\" in its name). Without such a claim, an imported run that counts as
passed in spite of failures is a warning.
1 of 2,605 is 99.96 %, not 100 %. It matters because failures are often fast: an error
after 1 ms improves the mean of a target of 50 ms, and the arm that fails more looks
better.
What to do: show the number of failures beside the rate, find out what failed, and
compare only arms that fail equally.",
    checks: &[Check::Alone(check)],
};

const ADVICE: &str =
    "show the number of failures beside the rate, and look at what failed before comparing";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let kinds = figures(record).filter_map(|figures| judge(record, &figures));
    let found: Vec<Finding> = kinds.collect();
    if found.is_empty() {
        listed(record).into_iter().collect()
    } else {
        found
    }
}

/// Errors that are listed beside a success that leaves no room for them.
fn listed(record: &Record) -> Option<Finding> {
    let error = record.errors.first()?;
    let said = record
        .summaries
        .keys()
        .find_map(|name| said_success(&of_name(record, name)?))?;
    let message = format!(
        "{} ({}) stands beside a success of {said}",
        error.error, error.operation
    );
    Some(RULE.finding(Severity::Invalid, message, ADVICE))
}

fn judge(record: &Record, figures: &Figures<'_>) -> Option<Finding> {
    let errors = figures.errors().filter(|errors| *errors > 0)?;
    let all = figures
        .count()
        .map(|count| format!(" of {}", count.saturating_add(errors)))
        .unwrap_or_default();
    let kind = figures.kind;
    if let Some(said) = said_success(figures) {
        return Some(RULE.finding(
            Severity::Invalid,
            format!("{kind}: {errors}{all} failed, shown as a success of {said}"),
            ADVICE,
        ));
    }
    let passed = record.source.is_some() && record.outcome.status == Status::Ok;
    let message = || format!("{kind}: {errors}{all} failed, and the run counts as a success");
    passed.then(|| RULE.finding(Severity::Warning, message(), ADVICE))
}

/// A success that the source calls whole.
fn said_success(figures: &Figures<'_>) -> Option<String> {
    let named = |name: &str| name.to_ascii_lowercase().contains("success");
    let written = figures
        .as_written()
        .filter(|(name, _)| named(name))
        .find(|(_, text)| {
            let number: Option<f64> = text.trim().trim_end_matches('%').trim().parse().ok();
            number == Some(if text.contains('%') { 100.0 } else { 1.0 })
        });
    let stated = || {
        figures
            .others()
            .any(|(name, value)| named(name) && matches!(value, 1.0 | 100.0))
            .then(|| "100%".to_owned())
    };
    written.map(|(_, text)| text.to_owned()).or_else(stated)
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, sound};
    use super::*;
    use record::Summary;

    fn failed(errors: u64, success: &str) -> Record {
        let as_written = [("success_rate".to_owned(), success.to_owned())].into();
        quoted(
            "put",
            Summary {
                count: Some(2604),
                errors: Some(errors),
                as_written,
                ..Summary::default()
            },
        )
    }

    #[test]
    fn a_failure_beside_a_hundred_per_cent_is_found() {
        let found = check(&failed(1, "100%"));
        assert_eq!(
            only(&found),
            "put: 1 of 2605 failed, shown as a success of 100%"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn an_error_that_is_listed_beside_a_hundred_per_cent_is_found() {
        let mut record = failed(0, "100%");
        record.errors = vec![record::ErrorCount {
            operation: "put".into(),
            error: "HTTP 400".into(),
            ..record::ErrorCount::default()
        }];
        assert_eq!(
            only(&check(&record)),
            "HTTP 400 (put) stands beside a success of 100%"
        );
        record.summaries.get_mut("put").unwrap().as_written.clear();
        assert_eq!(check(&record), [], "nobody called it whole");
    }

    #[test]
    fn failures_in_a_run_that_passed_are_a_warning() {
        assert_eq!(check(&failed(1, "99.96%"))[0].severity, Severity::Warning);
    }

    #[test]
    fn no_failure_and_a_failed_run_are_silent() {
        assert_eq!(check(&failed(0, "100%")), []);
        let mut record = failed(1, "99.96%");
        record.outcome.status = Status::Failed;
        assert_eq!(check(&record), []);
        assert_eq!(check(&sound()), []);
    }
}
