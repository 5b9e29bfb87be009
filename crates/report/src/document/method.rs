//! How the numbers came about, what they cannot show, and what was left out.

use super::{Block, Section, bounds, intervals};
use crate::comparison::percent;
use analyze::Study;
use record::Quantity;
use stats::Method;
use std::collections::BTreeSet;

pub(super) fn section(study: &Study) -> Section<'_> {
    let mut items = study.notes.clone();
    items.extend(study.left_out.iter().map(|left| {
        let number = left.record + 1;
        format!("left out: record {number}, {}: {}", left.name, left.reason)
    }));
    items.extend(sentences(study));
    Section::new("method", "Method and limits", vec![Block::Items(items)]).folded()
}

fn sentences(study: &Study) -> Vec<String> {
    let tools: Vec<&str> = study.tools.iter().map(String::as_str).collect();
    let intervals = study.figures().filter_map(|figure| figure.interval());
    let methods: BTreeSet<String> = intervals
        .map(|estimate| level_method(estimate.method))
        .collect();
    let mut out = vec![
        format!("Measured by {}.", tools.join(", ")),
        format!(
            "Sizes and bandwidths are in powers of 1024 (1 MiB = 1,048,576 bytes), counts in powers of 1000, {} are operations a second; \
             a source's own units are converted, but for those of numbers that a command or a table states.",
            super::heading(study, &Quantity::named("iops"))
        ),
        "n is the number of blocks (fresh runs in an order drawn by lot), or of repeated records where there is no plan. Operations within a run are not \
         independent and are never counted as n."
            .to_owned(),
    ];
    if methods.is_empty() && !study.figures().any(|figure| figure.bounds.is_some()) {
        out.push("No figure has an interval: a distribution-free one needs six blocks, a parametric one five.".to_owned());
    } else if !methods.is_empty() {
        let methods: Vec<String> = methods.into_iter().collect();
        out.push(format!(
            "Levels are estimated on logarithms over blocks ({}); intervals are of 95 % for one look at one figure.",
            methods.join("; ")
        ));
    }
    out.extend(bounds::method(study));
    if (0..study.arms.len()).any(|arm| study.geometric_mean(arm).is_some()) {
        out.push(intervals::MEAN.to_owned());
    }
    if study.baseline.is_some() {
        out.push(format!(
            "A verdict rests on the differences within blocks, in logarithms of ratios; where an experiment may stop at a look, its interval is as wide as looking \
             requires. Differences below {} do not matter. Nothing is dropped as an outlier, corrected for drift, or sorted by result.",
            percent(study.margin)
        ));
    }
    out.push(
        "Latency counts from the intended start of an operation. Percentiles are of one run each, from histograms whose buckets are at most 0.8 % wide, and never \
         averaged over operations of several; one with fewer than ten operations above it is not shown. A maximum is the largest of all blocks."
            .to_owned(),
    );
    out.push("All this is of these machines in these sessions: another device, fill, temperature or kernel may differ by more than any interval here.".to_owned());
    out
}

pub(crate) fn level_method(method: Method) -> String {
    match method {
        Method::HodgesLehmann => "Hodges-Lehmann with the exact signed-rank interval".to_owned(),
        Method::OfKinds | Method::PairedT => {
            "mean with Student's t interval at five blocks".to_owned()
        }
    }
}
