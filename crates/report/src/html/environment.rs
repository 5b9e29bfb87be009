//! The circumstances of the arms side by side: what differs first, since it may be what explains a
//! difference.

use super::words;
use analyze::{Fact, Study};
use maud::{Markup, html};

pub(super) fn section(study: &Study) -> Option<Markup> {
    if study.environments.is_empty() {
        return None;
    }
    let (differing, same): (Vec<&Fact>, Vec<&Fact>) =
        study.environments.iter().partition(|fact| fact.differs);
    let is_alone = study.arms.len() < 2;
    Some(html! {
        section id="environments" {
            h2 { "Environments" }
            @if !is_alone {
                p {
                    @if differing.is_empty() {
                        "The arms differ in none of " (same.len()) " known facts."
                    } @else {
                        "The arms differ, or one of them is unknown, in " (differing.len()) " of "
                        (words::counted(study.environments.len(), "fact"))
                        ": any of these may explain a difference of results."
                    }
                }
            }
            @if !differing.is_empty() { (table(study, &differing)) }
            @if !same.is_empty() {
                details open[is_alone] {
                    summary {
                        @if is_alone { "Known facts" }
                        @else { "The same for all arms: " (words::counted(same.len(), "fact")) }
                    }
                    div class="scroll" { table { tbody {
                        @for fact in same {
                            tr {
                                th scope="row" { (fact.key) }
                                td class="long" { (words::value(agreed(fact).unwrap_or("unknown"))) }
                            }
                        }
                    } } }
                }
            }
        }
    })
}

/// The value on which the arms agree, where it is known.
fn agreed(fact: &Fact) -> Option<&str> {
    fact.values.iter().flatten().next().map(String::as_str)
}

/// Options of a row: those that differ by arm, and the others in one line each.
pub(super) fn options(study: &Study, facts: &[Fact]) -> Markup {
    let (differing, same): (Vec<&Fact>, Vec<&Fact>) = facts
        .iter()
        .partition(|fact| fact.differs && study.arms.len() > 1);
    html! {
        @if !differing.is_empty() { (table(study, &differing)) }
        p {
            @for (index, fact) in same.into_iter().enumerate() {
                @if index > 0 { ", " }
                code { (fact.key) " " (agreed(fact).unwrap_or_default()) }
            }
        }
    }
}

/// Facts by arm, with a sign and a word where arms differ.
fn table(study: &Study, facts: &[&Fact]) -> Markup {
    let word = if study.arms.len() > 1 {
        "≠ differs"
    } else {
        "≠ several"
    };
    html! {
        div class="scroll" { table {
            thead { tr {
                th scope="col" { "Fact" }
                @for (index, arm) in study.arms.iter().enumerate() {
                    th scope="col" data-arm=(index) { (words::name(&arm.name)) }
                }
            } }
            tbody {
                @for fact in facts {
                    tr class=[fact.differs.then_some("differs")] {
                        th scope="row" {
                            (fact.key)
                            @if fact.differs { " " span class="badge" { (word) } }
                        }
                        @for (index, value) in fact.values.iter().enumerate() {
                            td class="long" data-arm=(index) {
                                @if let Some(value) = value { (words::value(value)) }
                                @else { span class="quiet" { "unknown" } }
                            }
                        }
                    }
                }
            }
        } }
    }
}
