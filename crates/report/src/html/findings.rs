//! What the audits found, the gravest first, each with its word.

use super::words;
use crate::plot::escape;
use analyze::{GroupedFinding, Severity, Study};
use record::Record;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Names of records listed after a finding.
const MOST_NAMES: usize = 6;

pub(super) fn section(study: &Study, records: &[Record]) -> Option<String> {
    let mut out = String::from("<section id=\"findings\">\n<h2>Findings</h2>\n");
    if study.findings.is_empty() {
        out.push_str("<p>No audit rule found anything.</p>\n");
    } else {
        let count = |severity: Severity| {
            study
                .findings
                .iter()
                .filter(|finding| finding.severity == severity)
                .count()
        };
        let _infallible = write!(
            out,
            "<p>{} invalid, {}, {}.</p>\n<ul class=\"findings\">\n",
            count(Severity::Invalid),
            words::counted(count(Severity::Warning), "warning"),
            words::counted(count(Severity::Note), "note")
        );
        for finding in &study.findings {
            write_finding(&mut out, finding, records);
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
    Some(out)
}

fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "✕",
        Severity::Warning => "▲",
        Severity::Note => "●",
    }
}

fn write_finding(out: &mut String, finding: &GroupedFinding, records: &[Record]) {
    let _infallible = writeln!(
        out,
        "<li class=\"{0}\"><b>{1} {0}</b> <code>{2}</code> {3}.<br><small>{4}{5}.</small></li>",
        finding.severity,
        sign(finding.severity),
        escape(finding.rule),
        escape(&finding.message),
        whose(finding, records),
        escape(&capital(&finding.advice))
    );
}

/// Which records a finding is about: all, or how many and the names of the first.
fn whose(finding: &GroupedFinding, records: &[Record]) -> String {
    let found: Vec<&Record> = finding
        .records
        .iter()
        .filter_map(|index| records.get(*index))
        .collect();
    if found.is_empty() {
        return String::new();
    }
    if found.len() == finding.of {
        return if finding.of == 1 {
            String::new()
        } else {
            format!("In all {} records. ", finding.of)
        };
    }
    let named = |record: &&Record| match &record.trial {
        Some(trial) => format!("{}, {}", trial.row, trial.arm),
        None => record.name.clone(),
    };
    let names: BTreeSet<String> = found.iter().map(named).collect();
    let shown: Vec<String> = names
        .iter()
        .take(MOST_NAMES)
        .map(|text| words::name(text))
        .collect();
    let more = if names.len() > MOST_NAMES {
        format!(" and {} more", names.len() - MOST_NAMES)
    } else {
        String::new()
    };
    format!(
        "In {} of {} records: {}{more}. ",
        found.len(),
        finding.of,
        shown.join("; ")
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
