//! Circumstances and options on a page: what differs first, since it may be what explains a
//! difference.

use super::name;
use crate::words::counted;
use analyze::{Fact, Study};
use maud::{Markup, html};
use std::collections::BTreeMap;

pub(super) fn circumstances(study: &Study, facts: &[Fact]) -> Markup {
    let (differing, same): (Vec<&Fact>, Vec<&Fact>) = facts.iter().partition(|fact| fact.differs);
    let several = study.arms.len() > 1;
    html! {
        @if several {
            p {
                @if differing.is_empty() {
                    "The arms differ in none of " (same.len()) " known facts."
                } @else {
                    "The arms differ, or one of them is unknown, in " (differing.len()) " of "
                    (counted(facts.len(), "fact")) ": any of these may explain a difference of results."
                }
            }
        }
        @if !differing.is_empty() { (by_arm(study, &differing)) }
        @if !same.is_empty() {
            div class="scroll" { table { tbody {
                @for fact in same {
                    tr {
                        th scope="row" { (fact.key) }
                        td class="long" { (value(fact.values.iter().flatten().next())) }
                    }
                }
            } } }
        }
    }
}

/// Options of a row: those that differ by arm, and in one line those that are not as they are when
/// nobody sets them.
pub(super) fn options(study: &Study, facts: &[Fact]) -> Markup {
    let several = study.arms.len() > 1;
    let (differing, same): (Vec<&Fact>, Vec<&Fact>) =
        facts.iter().partition(|fact| fact.differs && several);
    let usual: BTreeMap<&str, String> = workload::settings::shown(&workload::Workload::default())
        .into_iter()
        .collect();
    let is_usual = |fact: &&Fact| {
        let value = fact.values.iter().flatten().next();
        value.is_some() && value == usual.get(fact.key.as_str())
    };
    let (usual, chosen): (Vec<&Fact>, Vec<&Fact>) = same.into_iter().partition(is_usual);
    html! {
        details {
            summary {
                "Workload: " (counted(facts.len(), "option"))
                @match differing.len() {
                    0 => {}
                    1 => { ", 1 of them differs" }
                    several => { ", " (several) " of them differ" }
                }
            }
            @if !differing.is_empty() { (by_arm(study, &differing)) }
            p {
                @for (index, fact) in chosen.into_iter().enumerate() {
                    @if index > 0 { ", " }
                    code { (fact.key) " " (fact.values.iter().flatten().next().map_or("", String::as_str)) }
                }
                @if !usual.is_empty() { "; " (counted(usual.len(), "other")) " as usual" }
            }
        }
    }
}

/// Facts by arm, with a sign and a word where arms differ.
fn by_arm(study: &Study, facts: &[&Fact]) -> Markup {
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
                    th scope="col" data-arm=(index) { (name(&arm.name)) }
                }
            } }
            tbody {
                @for fact in facts {
                    tr class=[fact.differs.then_some("differs")] {
                        th scope="row" {
                            (fact.key)
                            @if fact.differs { " " span class="badge" { (word) } }
                        }
                        @for (index, found) in fact.values.iter().enumerate() {
                            td class="long" data-arm=(index) { (value(found.as_ref())) }
                        }
                    }
                }
            }
        } }
    }
}

/// The value of a fact.
fn value(text: Option<&String>) -> Markup {
    html! {
        @match text.map(String::as_str) {
            None => span class="quiet" { "unknown" },
            Some("") => span class="quiet" { "(empty)" },
            Some(text) => (name(text)),
        }
    }
}
