//! Whether what came out can be believed, in one sentence.

use super::{Belief, FindingLine, Findings};
use crate::words::counted;
use analyze::{Severity, Study};
use stats::Verdict;

/// How a reason begins that is no ground to believe nothing.
const RESERVED: &str = "With reservations: ";
/// How a reason ends that others stand below.
const BELOW: &str = " more below.";

impl Belief {
    /// As it is said where the other findings do not stand below, but somewhere else.
    pub(crate) fn told_apart(&self, place: &str) -> String {
        let ended = self.text.strip_suffix(BELOW);
        ended.map_or_else(|| self.text.clone(), |text| format!("{text} more{place}."))
    }
}

pub(super) fn belief(study: &Study, found: &Findings<'_>) -> Belief {
    let of_findings = of_findings(study, found);
    let text = match (&study.ended_badly, of_findings.severity) {
        (None, _) | (_, Some(Severity::Invalid)) => return of_findings,
        (Some(ended), None) => format!("{RESERVED}{ended}."),
        (Some(ended), Some(_)) => {
            let others = of_findings.text.trim_start_matches(RESERVED);
            format!("{RESERVED}{ended}; {others}")
        }
    };
    Belief {
        severity: Some(Severity::Warning),
        text,
    }
}

fn of_findings(study: &Study, found: &Findings<'_>) -> Belief {
    let is_grave = |severity: Severity| severity != Severity::Note;
    let left_out = |record: &usize| study.left_out.iter().any(|left| left.record == *record);
    // What was found of what does not count stands with the findings.
    let is_of_counting = |line: &&FindingLine<'_>| {
        let of = &line.finding.records;
        study.rows.is_empty() || of.is_empty() || !of.iter().all(left_out)
    };
    let told = found.told().filter(is_of_counting);
    let mut grave = told.filter(|line| is_grave(line.finding.severity));
    let Some(FindingLine { finding, whose, .. }) = grave.next() else {
        let text = if study.figures().any(|figure| figure.bounds.is_some()) || is_judged(study) {
            "Nothing that the audit looks at speaks against it."
        } else if study.rows.is_empty() {
            "There is nothing to believe."
        } else {
            "As single observations: nothing that the audit looks at speaks against them, and nothing says how far another run would lie from these."
        };
        return Belief {
            severity: None,
            text: text.to_owned(),
        };
    };
    let others = grave.flat_map(|line| line.finding.told());
    let others = finding.others.iter().cloned().chain(others);
    let more = match others.filter(|of| is_grave(of.severity)).count() {
        0 => String::new(),
        n => format!(" {}{BELOW}", counted(n, "finding")),
    };
    let word = match finding.severity {
        Severity::Invalid => "No: ",
        Severity::Warning | Severity::Note => RESERVED,
    };
    let message = with_place(&finding.message, whose.as_deref());
    Belief {
        severity: Some(finding.severity),
        text: format!("{word}{message}.{more}"),
    }
}

/// What was found with the records that it is about, where it does not end with them itself.
fn with_place(message: &str, whose: Option<&str>) -> String {
    let place = whose.map_or_else(String::new, |whose| format!(" ({whose})"));
    match message.ends_with(&place) {
        true => message.to_owned(),
        false => format!("{message}{place}"),
    }
}

/// Whether some comparison has an interval and a verdict: then not each number stands alone, even
/// where every arm ran once a row.
fn is_judged(study: &Study) -> bool {
    let of_rows = study.rows.iter().flat_map(|row| &row.comparisons);
    let mut found = of_rows.chain(&study.overall).flatten();
    found.any(|found| found.effect.is_some() && !matches!(found.verdict, Verdict::Invalid(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_stands_below_nobody_is_sent_there() {
        let of = |text: &str| Belief {
            severity: None,
            text: text.to_owned(),
        };
        let two = of("No: short. 2 findings more below.");
        assert_eq!(
            two.told_apart(" above"),
            "No: short. 2 findings more above."
        );
        assert_eq!(two.told_apart(""), "No: short. 2 findings more.");
        assert_eq!(of("No: short.").told_apart(" above"), "No: short.");
    }

    #[test]
    fn a_run_that_ended_badly_says_so_first_and_of_each_figure_that_a_program_reads() {
        let mut record = crate::document::example::load("get", 400, 1_000, 0);
        record.outcome = record::Outcome {
            status: record::Status::Interrupted,
            exit_code: 130,
            message: Some("stopped by signal 2".into()),
        };
        let mut study = analyze::study(&[record], &analyze::StudyOptions::default());
        study.findings.clear();
        let text = crate::study_markdown(&study);
        let ended = "it did not end well: stopped by signal 2";
        assert!(
            text.contains(&format!("- What is here does not count: {ended}.\n")),
            "{text}"
        );
        assert!(
            text.contains(&format!("With reservations: {ended}")),
            "{text}"
        );
        let csv = crate::study_csv(&study);
        let rows: Vec<&str> = csv.lines().skip(1).collect();
        let told = format!("does not count: {ended}");
        assert!(
            rows.len() > 3 && rows.iter().all(|row| row.contains(&told)),
            "{csv}"
        );
        let json = crate::study_json(&study);
        assert!(
            json.contains(&format!("\"ended_badly\": \"{ended}\"")),
            "{json}"
        );
    }

    #[test]
    fn the_place_of_a_finding_stands_once() {
        assert_eq!(with_place("short", Some("run")), "short (run)");
        assert_eq!(with_place("short (run)", Some("run")), "short (run)");
        assert_eq!(with_place("short", None), "short");
    }
}
