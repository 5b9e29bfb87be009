//! What else differs between two sets of records.

use super::row_of;
use super::subject::{TARGET, targets_differ};
use crate::circumstances::environment_facts;
use record::Record;
use stats::Reason;
use std::collections::{BTreeMap, BTreeSet};

/// A fact on which the two sides disagree; each side's values, joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    pub key: String,
    pub base: String,
    pub candidate: String,
}

/// Options that say where or how results are kept, or name the target: they may differ.
const HARMLESS: [&str; 6] = [
    "target",
    "seed",
    "allow-destroy",
    "export-layout-manifest",
    "heatmap",
    "heatmap-buckets",
];

/// Stands among the options for how many ranks there were.
pub(crate) const RANKS: &str = "ranks";

/// Options by which sides differ and that a question may name as its factors.
#[must_use]
pub fn factors_between(base: &[&Record], candidate: &[&Record]) -> BTreeSet<String> {
    let target = targets_differ(&[base.to_vec(), candidate.to_vec()]).then(|| TARGET.to_owned());
    workload_differences(base, candidate)
        .into_iter()
        .map(|d| d.key)
        .chain(target)
        .collect()
}

/// Effective options, and numbers of ranks, that differ in a row that both sides have.
#[must_use]
pub fn workload_differences(base: &[&Record], candidate: &[&Record]) -> Vec<Disagreement> {
    let rows = |records: &[&Record]| {
        records
            .iter()
            .map(|record| row_of(record).to_owned())
            .collect::<BTreeSet<String>>()
    };
    let (of_base, of_candidate) = (rows(base), rows(candidate));
    let facts = |records: &[&Record]| {
        let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for record in records {
            // Rows differ on purpose: only the same row is compared.
            let row = row_of(record);
            if !of_base.contains(row) || !of_candidate.contains(row) {
                continue;
            }
            // What is of each rank is as often there as there are ranks.
            let of_ranks = out.entry(format!("{row}\u{0}{RANKS}")).or_default();
            of_ranks.insert(record.ranks().to_string());
            for (key, value) in record
                .effective
                .iter()
                .filter(|(key, _)| !HARMLESS.contains(&key.as_str()))
            {
                out.entry(format!("{row}\u{0}{key}"))
                    .or_default()
                    .insert(value.clone());
            }
        }
        out
    };
    let mut seen = BTreeSet::new();
    disagreements(&facts(base), &facts(candidate))
        .into_iter()
        .map(|d| Disagreement {
            key: d
                .key
                .split('\u{0}')
                .next_back()
                .unwrap_or_default()
                .to_owned(),
            ..d
        })
        .filter(|d| seen.insert(d.key.clone()))
        .collect()
}

/// Facts of the environment that differ, but for those of the moment.
#[must_use]
pub fn environment_differences(base: &[&Record], candidate: &[&Record]) -> Vec<Disagreement> {
    disagreements(&environment_facts(base), &environment_facts(candidate))
}

fn disagreements(
    base: &BTreeMap<String, BTreeSet<String>>,
    candidate: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<Disagreement> {
    let keys: BTreeSet<&String> = base.keys().chain(candidate.keys()).collect();
    let show = |side: &BTreeMap<String, BTreeSet<String>>, key: &String| {
        side.get(key).map_or_else(
            || "unknown".to_owned(),
            |values| values.iter().cloned().collect::<Vec<_>>().join(" | "),
        )
    };
    keys.into_iter()
        .filter(|key| base.get(*key) != candidate.get(*key))
        .map(|key| Disagreement {
            key: key.clone(),
            base: show(base, key),
            candidate: show(candidate, key),
        })
        .collect()
}

/// Hosts that differ explain any difference.
pub(super) fn foreign_host(environment: &[Disagreement]) -> Option<Reason> {
    let telling = [
        "system.machine_fingerprint",
        "system.hostname",
        "cpu.model",
        "storage.device.model",
        "storage.file_system.kind",
    ];
    let found: Vec<&str> = environment
        .iter()
        .map(|d| d.key.as_str())
        .filter(|key| telling.contains(key))
        .collect();
    (!found.is_empty()).then(|| {
        Reason::Audit(format!(
            "the environments differ ({}), so the cause is unknown",
            found.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Moment, StorageLayer};

    fn on(model: &str) -> Record {
        let mut record = Record::default();
        record.generator_mut().environment.cpu.model = Some(model.into());
        record
    }

    #[test]
    fn facts_that_differ_are_named_with_both_values() {
        let (a, b) = (on("i7"), on("M1"));
        let found = environment_differences(&[&a], &[&b, &a]);
        assert_eq!(
            found,
            [Disagreement {
                key: "cpu.model".into(),
                base: "i7".into(),
                candidate: "M1 | i7".into()
            }]
        );
        assert_eq!(
            environment_differences(&[&a], &[&Record::default()])[0].candidate,
            "unknown"
        );
    }

    #[test]
    fn a_number_of_ranks_is_part_of_the_work() {
        let mut ranks = on("i7");
        ranks.group = Some(record::GroupAccount {
            size: 3,
            ..record::GroupAccount::default()
        });
        let found = workload_differences(&[&on("i7")], &[&ranks]);
        let found: Vec<_> = found
            .iter()
            .map(|of| (&*of.key, &*of.base, &*of.candidate))
            .collect();
        assert_eq!(found, [("ranks", "1", "3")]);
        assert_eq!(workload_differences(&[&ranks], &[&ranks]), []);
    }

    #[test]
    fn the_moment_and_the_path_of_the_target_may_differ() {
        let mut other = on("i7");
        other.generator_mut().environment.moment = Moment {
            uptime_seconds: Some(7),
            ..Moment::default()
        };
        other.generator_mut().environment.storage = Some(StorageLayer {
            path: Some("/b".into()),
            ..StorageLayer::default()
        });
        let mut one = on("i7");
        one.generator_mut().environment.storage = Some(StorageLayer {
            path: Some("/a".into()),
            ..StorageLayer::default()
        });
        assert_eq!(environment_differences(&[&one], &[&other]), []);
    }
}
