//! Findings on a page: a line each, which opens.

use super::{name, severity_sign};
use crate::document::{FindingLine, Findings};
use crate::words::counted;
use maud::{Markup, html};

pub(super) fn findings(found: &Findings<'_>) -> Markup {
    let always = || found.lines.iter().filter(|line| line.finding.is_always);
    html! {
        p { (found.counts()) }
        div class="findings" {
            @for of in found.told() { (line(of)) }
            @if always().next().is_some() {
                details class="always" {
                    summary { "As always" }
                    @for of in always() { (line(of)) }
                }
            }
        }
    }
}

fn line(line: &FindingLine<'_>) -> Markup {
    let finding = line.finding;
    // Advice stands once, below all that it is for.
    let told = finding.told();
    html! {
        details class={ "finding " (finding.severity) } {
            summary {
                b { (severity_sign(finding.severity)) " " (finding.severity) } " "
                span class="headline" { (line.headline) }
                @if let Some(whose) = &line.whose { " " small { (name(whose)) } }
                @if told.len() > 1 { " " small { (counted(told.len(), "finding")) } }
            }
            @for (at, of) in told.iter().enumerate() {
                p { @if of.severity != finding.severity { b { (of.severity) } ": " } (capital(&of.message)) "." }
                @if !of.differing.is_empty() {
                    table {
                        @for fact in &of.differing {
                            tr {
                                th { (fact.what) }
                                td { @for value in &fact.values { div { (value) } } }
                            }
                        }
                    }
                }
                @if told.get(at + 1).is_none_or(|next| next.advice != of.advice) {
                    p { (capital(&of.advice)) "." }
                }
            }
            p class="quiet" { "Rule " code { (finding.rule) } "; " code { "fathom explain " (finding.rule) } " says more." }
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
