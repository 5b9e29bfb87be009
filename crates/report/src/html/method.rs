//! How the numbers came about, and what was left out.

use super::words;
use analyze::Study;
use maud::{Markup, html};
use std::collections::BTreeSet;

pub(super) fn section(study: &Study) -> Markup {
    let tools: Vec<&str> = study.tools.iter().map(String::as_str).collect();
    html! {
        section id="method" {
            h2 { "Method" }
            @for text in sentences(study) { p { (text) } }
            p { "Measured by " (tools.join(", ")) "." }
            @for note in &study.notes { p { (note) } }
            @if !study.left_out.is_empty() {
                h3 { "Left out" }
                ul {
                    @for left in &study.left_out {
                        li { (words::name(&left.name)) ": " (left.reason) }
                    }
                }
            }
        }
    }
}

fn sentences(study: &Study) -> Vec<String> {
    let mut out = vec![
        "The unit of every figure is the block: one fresh run of every arm on one row, in random order. Figures are levels over blocks; an interval \
         is over blocks too and never over operations within one. A row of one block is a single observation and has no interval."
            .to_owned(),
    ];
    let estimates = study
        .figures()
        .filter_map(|figure| figure.interval().copied());
    let effects = study
        .rows
        .iter()
        .flat_map(|row| row.comparisons.iter().flatten())
        .filter_map(|comparison| comparison.effect);
    let methods: BTreeSet<String> = estimates
        .chain(effects)
        .map(|estimate| format!("{} at {}", estimate.method, words::percent(estimate.level)))
        .collect();
    if !methods.is_empty() {
        let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
        out.push(format!("Intervals: {}.", methods.join("; ")));
    }
    out.extend(crate::study::bounds_method(study));
    out.push(
        "Latency counts from the intended start of an operation. Percentiles are those of the slot's merged histogram, whose buckets are at most 0.8 % wide, \
         and are shown where at least ten operations lie beyond. Sizes and byte rates are in powers of 1024, counts in powers of 1000."
            .to_owned(),
    );
    if study.baseline.is_some() {
        out.push(format!(
            "Comparisons are by {}, in logarithms of ratios block by block; differences below {} do not matter. Nothing is dropped as an outlier, nothing is \
             corrected for drift, and nothing is sorted by result.",
            study.metric.title(),
            words::percent(study.margin)
        ));
    }
    out
}
