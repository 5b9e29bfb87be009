//! What the run itself says about its data and its end, and what an audit found.

use super::layout::UNFOLD;
use super::page::{Page, counted};
use analyze::{DifferingFact, Finding};
use record::{Record, Status, Verification};

pub(super) fn write_verification(page: &mut Page, record: &Record) {
    let Some(verification) = &record.verification else {
        return;
    };
    let Verification {
        operations,
        failures,
        ..
    } = *verification;
    page.gap();
    let checked = format!(
        "Verification: Operations: {operations}, Failures: {failures}, Success: {}",
        success(operations, failures, record.outcome.status)
    );
    page.wrapped("", 2, &checked);
    if !verification.by_kind.is_empty() {
        let kinds: Vec<String> = verification
            .by_kind
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        page.wrapped("  ", 4, &format!("failures by kind: {}", kinds.join(", ")));
    }
    for failure in &verification.first {
        page.wrapped(
            "  ",
            4,
            &format!(
                "{} at {} offset {}: {}",
                failure.kind, failure.file, failure.offset, failure.detail
            ),
        );
    }
    if !verification.self_check.is_empty() {
        page.wrapped(
            "  ",
            4,
            &format!(
                "pattern {}; checked before the run: {}",
                verification.pattern, verification.self_check
            ),
        );
    }
}

/// Rounded down, so that one failure in any number of operations is no 100 %.
fn success(operations: u64, failures: u64, status: Status) -> String {
    if operations == 0 {
        let why = if status.has_done_all() {
            "written for a later check"
        } else {
            "nothing was checked"
        };
        return format!("n/a ({why})");
    }
    let hundredths =
        u128::from(operations.saturating_sub(failures)) * 10_000 / u128::from(operations);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

pub(super) fn write_thresholds(page: &mut Page, record: &Record) {
    for result in record.thresholds() {
        let word = if result.holds { "met" } else { "missed" };
        let text = format!("{word} {}: {}", result.threshold, result.measured);
        page.fact("threshold", &text);
    }
}

/// What failed, how often, and where first.
pub(super) fn write_errors(page: &mut Page, record: &Record) {
    for error in &record.errors {
        let place = match (error.first_file.as_str(), error.first_offset) {
            ("", None) => String::new(),
            ("", Some(offset)) => format!(", first at offset {offset}"),
            (place, None) => format!(", first at {place}"),
            (file, Some(offset)) => format!(", first at {file} offset {offset}"),
        };
        let text = format!(
            "{} x {} in {}{place}",
            error.count, error.error, error.operation
        );
        page.fact("error", &text);
    }
}

pub(super) fn write_outcome(page: &mut Page, record: &Record) {
    write_errors(page, record);
    if record.loops.abandoned > 0 {
        page.fact(
            "abandoned",
            &format!(
                "{} still in flight at the end",
                counted(record.loops.abandoned, "operation")
            ),
        );
    }
    write_end(page, record, None);
}

/// How it ended; `word` stands in the place of the usual one.
pub(super) fn write_end(page: &mut Page, record: &Record, word: Option<&str>) {
    let code = if record.outcome.exit_code == 0 {
        String::new()
    } else {
        format!(" (exit code {})", record.outcome.exit_code)
    };
    let message = record
        .outcome
        .message
        .as_ref()
        .map(|message| format!(": {message}"))
        .unwrap_or_default();
    let word = word.unwrap_or(record.outcome.status.word());
    page.fact("outcome", &format!("{word}{code}{message}"));
}

pub(super) fn write_findings(page: &mut Page, findings: &[Finding]) {
    if !findings.is_empty() {
        page.gap();
    }
    for finding in findings {
        let head = format!("{}[{}]", finding.severity, finding.rule);
        let told = (finding.message.as_str(), finding.differing.as_slice());
        write_finding(page, &head, told, Some(&finding.advice));
    }
    if page.layout().folds_findings && !findings.is_empty() {
        page.wrapped("", 2, UNFOLD);
    }
}

/// A finding, and below it what differs and what to do about it; folded, its beginning on one line.
pub(super) fn write_finding(
    page: &mut Page,
    head: &str,
    (message, differing): (&str, &[DifferingFact]),
    advice: Option<&str>,
) {
    if page.layout().folds_findings {
        let line = page.layout().one_line(&format!("{head}: {message}"));
        return page.line(&line);
    }
    page.wrapped("", 2, &format!("{head}: {message}"));
    for fact in differing {
        page.wrapped("  ", 6, &fact.to_string());
    }
    if let Some(advice) = advice {
        page.wrapped("  ", 8, &format!("help: {advice}"));
    }
}
