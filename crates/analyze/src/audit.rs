//! The rules of the audit, one a file, and their order.

use crate::{Finding, Severity};
use record::{Operations, Record};
use units::Percent;

mod bytes_and_blocks;
mod clock_drift;
mod compressible_data;
mod coordinated_omission;
mod counts_inconsistent;
mod cpu_frequency;
mod depth_not_reached;
mod device_disagrees;
mod dirty_at_end;
mod elapsed;
mod errors_as_success;
#[cfg(test)]
pub(crate) mod example;
mod failures_in_latency;
mod foreign_io;
mod generator_bound;
mod generator_late;
mod generator_stopped;
mod hidden_layers;
mod inline_completion;
mod label_vs_pattern;
mod latency_below_io;
mod little_law;
mod medium_limit;
mod memory_target;
mod never_written;
mod no_io;
mod not_steady;
mod paced_by_kernel;
mod pacing_bound;
mod percentile_from_few_samples;
mod provider_limit;
mod ramp_in_percentile;
mod rate_not_kept;
mod series;
mod served_from_cache;
mod server_disagrees;
mod set;
mod shared_random_writes;
mod short_run;
mod single_observation;
mod starved;
mod summary_contradicts_data;
mod target_on_same_host;
mod verified_nothing;
mod verify_cannot_tell_holes;
mod volatile_writes;
mod warm_up_in_data;
mod working_set;

pub use percentile_from_few_samples::{SHOWN_PERCENTILES, percentile_has_support};
pub use set::{Located, audit};

const RULES: [fn(&Record) -> Vec<Finding>; 45] = [
    generator_stopped::check,
    bytes_and_blocks::check,
    little_law::check,
    elapsed::check,
    depth_not_reached::check,
    inline_completion::check,
    memory_target::check,
    served_from_cache::check,
    device_disagrees::check,
    server_disagrees::check,
    dirty_at_end::check,
    volatile_writes::check,
    rate_not_kept::check,
    starved::check,
    clock_drift::check,
    verified_nothing::check,
    verify_cannot_tell_holes::check,
    percentile_from_few_samples::check,
    short_run::check,
    shared_random_writes::check,
    single_observation::check,
    latency_below_io::check,
    label_vs_pattern::check,
    pacing_bound::check,
    errors_as_success::check,
    counts_inconsistent::check,
    summary_contradicts_data::check,
    working_set::check,
    medium_limit::check,
    never_written::check,
    no_io::check,
    not_steady::check,
    generator_bound::check,
    generator_late::check,
    target_on_same_host::check,
    paced_by_kernel::check,
    coordinated_omission::check,
    ramp_in_percentile::check,
    failures_in_latency::check,
    warm_up_in_data::check,
    provider_limit::check,
    foreign_io::check,
    cpu_frequency::check,
    compressible_data::check,
    hidden_layers::check,
];

/// Kind of a record that measures nothing: what a document concludes, with the figures that it
/// names.
pub(crate) const CLAIM: &str = "claim";

/// What a record says against itself: the gravest first, and that it is a single observation last.
#[must_use]
pub fn self_check(record: &Record) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|check| check(record)).collect();
    findings.sort_by_key(|finding| (finding.severity, finding.rule == "single_observation"));
    findings
}

fn finding(rule: &'static str, severity: Severity, message: String, advice: &str) -> Finding {
    Finding {
        rule,
        severity,
        message,
        advice: advice.to_owned(),
    }
}

/// A share as a percentage with one decimal; only nothing is 0% and only everything is 100%.
fn percent(share: f64) -> String {
    match (share * 1000.0).round() / 10.0 {
        0.0 if share > 0.0 => "under 0.1%".to_owned(),
        100.0 if share < 1.0 => "over 99.9%".to_owned(),
        rounded => Percent(rounded).to_string(),
    }
}

/// A number of things, with an s where it is not one.
fn some(n: impl TryInto<u64>, thing: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Whether the target is known to lie in memory.
fn in_memory(record: &Record) -> bool {
    record
        .environment
        .storage
        .as_ref()
        .is_some_and(|storage| storage.is_memory == Some(true))
}

/// What was counted of a kind; nothing where the kind does not occur.
fn counted(record: &Record, kind: &str) -> Operations {
    record.operations.kind(kind).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_record_is_only_a_single_observation() {
        let rules: Vec<_> = self_check(&example::sound())
            .into_iter()
            .map(|f| f.rule)
            .collect();
        assert_eq!(rules, ["single_observation"]);
    }

    #[test]
    fn an_empty_record_accuses_nobody() {
        let rules: Vec<_> = self_check(&Record::default())
            .into_iter()
            .map(|f| f.rule)
            .collect();
        assert_eq!(rules, ["single_observation"]);
    }

    #[test]
    fn the_gravest_finding_is_first_and_the_single_observation_last() {
        let mut record = example::sound();
        record.elapsed_ns = 1_000_000_000;
        record.environment.storage.get_or_insert_default().is_memory = Some(true);
        let found = self_check(&record);
        assert!(found.is_sorted_by_key(|finding| finding.severity));
        assert!(found.len() > 2);
        assert_eq!(
            found.last().map(|finding| finding.rule),
            Some("single_observation")
        );
    }

    #[test]
    fn a_share_is_never_rounded_to_none_or_all() {
        for (share, text) in [
            (0.0, "0%"),
            (0.0004, "under 0.1%"),
            (0.5, "50%"),
            (0.9999, "over 99.9%"),
            (1.0, "100%"),
            (1.0004, "100%"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn every_finding_says_what_to_do() {
        let mut record = example::sound();
        record.elapsed_ns = 1_000_000_000;
        for finding in self_check(&record) {
            assert!(
                !finding.advice.is_empty() && !finding.message.ends_with('.'),
                "{finding:?}"
            );
        }
    }
}
