//! The rules of the audit, one a file, and their order.

use crate::Finding;
use record::{Operations, Record};
use units::Percent;

mod always;
mod bound_by_launcher;
mod bytes_and_blocks;
mod client_link;
mod clock_drift;
mod clock_uncertain;
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
mod hosts_differ;
mod hosts_lost;
mod inline_completion;
#[cfg(test)]
mod joined;
mod kinds_apart;
mod label_vs_pattern;
mod latency_below_io;
mod little_law;
#[cfg(test)]
mod liveness;
mod medium_limit;
mod memory_target;
mod never_written;
mod no_io;
mod not_ended;
mod not_one_target;
mod not_steady;
mod own_cache;
mod paced_by_kernel;
mod pacing_bound;
mod percentile_from_few_samples;
mod provider_limit;
mod ramp_in_percentile;
mod rate_not_kept;
mod rate_share;
mod rule;
mod series;
mod series_lacks;
mod served_from_cache;
mod server_disagrees;
mod set;
mod shared_machine;
mod shared_random_writes;
mod short_run;
mod single_observation;
mod start_skew;
mod starved;
mod straggler;
mod summary_contradicts_data;
mod tail_after_stop;
mod target_on_same_host;
mod verified_nothing;
mod verify_cannot_tell_holes;
mod volatile_writes;
mod warm_up_in_data;
mod working_set;

pub use always::is_always;
pub use percentile_from_few_samples::SHOWN_PERCENTILES;
use record::percentile_has_support;
pub use rule::{Rule, explain, rules, title};
pub use set::{Located, audit};

/// Every rule: of one record, then of several together; findings of one severity come in this order.
const RULES: [Rule; 92] = [
    hosts_lost::RULE,
    not_ended::RULE,
    series_lacks::RULE,
    generator_stopped::RULE,
    bytes_and_blocks::RULE,
    little_law::RULE,
    straggler::RULE,
    start_skew::RULE,
    kinds_apart::RULE,
    elapsed::RULE,
    depth_not_reached::RULE,
    inline_completion::RULE,
    memory_target::RULE,
    served_from_cache::RULE,
    device_disagrees::RULE,
    server_disagrees::RULE,
    dirty_at_end::RULE,
    volatile_writes::RULE,
    rate_not_kept::RULE,
    rate_share::RULE,
    starved::RULE,
    clock_drift::RULE,
    verified_nothing::RULE,
    verify_cannot_tell_holes::RULE,
    percentile_from_few_samples::RULE,
    short_run::RULE,
    shared_random_writes::RULE,
    single_observation::RULE,
    latency_below_io::RULE,
    label_vs_pattern::RULE,
    pacing_bound::RULE,
    errors_as_success::RULE,
    counts_inconsistent::RULE,
    summary_contradicts_data::RULE,
    working_set::RULE,
    never_written::RULE,
    no_io::RULE,
    not_steady::RULE,
    generator_bound::RULE,
    generator_late::RULE,
    target_on_same_host::RULE,
    paced_by_kernel::RULE,
    coordinated_omission::RULE,
    ramp_in_percentile::RULE,
    failures_in_latency::RULE,
    warm_up_in_data::RULE,
    provider_limit::RULE,
    foreign_io::RULE,
    cpu_frequency::RULE,
    compressible_data::RULE,
    hidden_layers::RULE,
    hosts_differ::RULE,
    not_one_target::RULE,
    own_cache::RULE,
    client_link::RULE,
    clock_uncertain::RULE,
    shared_machine::RULE,
    bound_by_launcher::RULE,
    tail_after_stop::RULE,
    set::no_repetition::RULE,
    set::order_aliased::RULE,
    set::control_fails::RULE,
    set::environment_differs::RULE,
    set::several_machines::RULE,
    set::arms_identical::RULE,
    set::size_mix::RULE,
    set::faster_than_medium::RULE,
    set::environment_unrecorded::RULE,
    set::depth_inversion::RULE,
    set::unit_mix::RULE,
    set::same_setup_two_numbers::RULE,
    set::unequal_durations::RULE,
    set::latency_at_unequal_load::RULE,
    set::effect_below_mde::RULE,
    set::baseline_is_outlier::RULE,
    set::effect_flips_sign::RULE,
    set::many_comparisons::RULE,
    set::cells_missing::RULE,
    set::compared_with_nothing::RULE,
    set::verified_elsewhere::RULE,
    set::change_not_exercised::RULE,
    set::provenance_mismatch::RULE,
    set::pseudo_replication::RULE,
    set::unregistered_stopping::RULE,
    set::plan_contradicted::RULE,
    set::plan_missing::RULE,
    set::plan_unfinished::RULE,
    set::drift::RULE,
    set::carry_over::RULE,
    set::ageing::RULE,
    set::one_sided::RULE,
    set::saturation_not_seen::RULE,
];

/// Kind of a record that measures nothing: what a document concludes, with the figures that it
/// names.
pub(crate) const CLAIM: &str = "claim";

/// What a record says against itself: the gravest first, and that it is a single observation last.
#[must_use]
pub fn self_check(record: &Record) -> Vec<Finding> {
    let mut findings: Vec<Finding> = rule::alone(record).collect();
    findings.sort_by_key(|finding| (finding.severity, finding.rule == "single_observation"));
    findings
}

/// A share as a percentage with one decimal; only nothing is 0% and only everything is 100%.
fn percent(share: f64) -> String {
    match (share * 1000.0).round() / 10.0 {
        0.0 if share > 0.0 => "under 0.1%".to_owned(),
        100.0 if share < 1.0 => "over 99.9%".to_owned(),
        rounded => Percent(rounded).to_string(),
    }
}

/// So many of several hosts are named.
const MOST_NAMED: usize = 4;

/// What is said of the first of several hosts, and how many more there are.
fn few_told(mut told: Vec<String>) -> String {
    let more = told.len().saturating_sub(MOST_NAMED);
    told.truncate(MOST_NAMED);
    if more > 0 {
        told.push(format!("and so {more} more"));
    }
    told.join("; ")
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Whether the target is known to lie in memory.
fn in_memory(record: &Record) -> bool {
    record
        .generator()
        .environment
        .storage
        .as_ref()
        .is_some_and(|storage| storage.is_memory == Some(true))
}

/// Whether a trial of our own never came to its measured time, as one that could not connect.
fn measured_nothing(record: &Record) -> bool {
    record.source.is_none() && record.elapsed_ns == 0
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
        record
            .generator_mut()
            .environment
            .storage
            .get_or_insert_default()
            .is_memory = Some(true);
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
