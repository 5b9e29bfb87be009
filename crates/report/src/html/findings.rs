//! What the audits found, the gravest first, each with its word.

use super::words;
use analyze::{GroupedFinding, Severity, Study};
use maud::{Markup, html};

/// Names of records listed after a finding.
const MOST_NAMES: usize = 6;

pub(super) fn section(study: &Study) -> Markup {
    let count = |severity: Severity| {
        study
            .findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    };
    html! {
        section id="findings" {
            h2 { "Findings" }
            @if study.findings.is_empty() {
                p { "No audit rule found anything." }
            } @else {
                p {
                    (count(Severity::Invalid)) " invalid, "
                    (words::counted(count(Severity::Warning), "warning")) ", "
                    (words::counted(count(Severity::Note), "note")) "."
                }
                ul class="findings" {
                    @for finding in &study.findings { (item(finding)) }
                }
            }
        }
    }
}

fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "✕",
        Severity::Warning => "▲",
        Severity::Note => "●",
    }
}

fn item(finding: &GroupedFinding) -> Markup {
    html! {
        li class=(finding.severity) {
            b { (sign(finding.severity)) " " (finding.severity) } " "
            code { (finding.rule) } " " (finding.message) "."
            br;
            small { (whose(finding)) (capital(&finding.advice)) "." }
        }
    }
}

/// Which records a finding is about: all, or how many and the names of the first.
fn whose(finding: &GroupedFinding) -> Markup {
    let (found, names) = (finding.records.len(), &finding.names);
    let is_about_all = found == finding.of;
    html! {
        @if is_about_all && finding.of > 1 {
            "In all " (finding.of) " records. "
        } @else if !is_about_all && found > 0 {
            "In " (found) " of " (finding.of) " records: "
            @for (index, name) in names.iter().take(MOST_NAMES).enumerate() {
                @if index > 0 { "; " }
                (words::name(name))
            }
            @if names.len() > MOST_NAMES { " and " (names.len() - MOST_NAMES) " more" }
            ". "
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
