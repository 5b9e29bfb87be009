//! What else differs between two sets of records.

use record::Record;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A fact on which the two sides disagree; each side's values, joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    pub key: String,
    pub base: String,
    pub candidate: String,
}

/// Options that say where or how results are kept, or name the target: they may differ.
const HARMLESS: [&str; 6] = ["target", "seed", "allow-destroy", "export-layout-manifest", "heatmap", "heatmap-buckets"];

/// Effective options that differ.
#[must_use]
pub fn workload_differences(base: &[&Record], candidate: &[&Record]) -> Vec<Disagreement> {
    let facts = |records: &[&Record]| {
        let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for record in records {
            for (key, value) in record.effective.iter().filter(|(key, _)| !HARMLESS.contains(&key.as_str())) {
                // Rows of one experiment differ on purpose: only the same row is compared.
                let row = record.trial.as_ref().map_or("", |trial| trial.row.as_str());
                out.entry(format!("{row}\u{0}{key}")).or_default().insert(value.clone());
            }
        }
        out
    };
    let mut seen = BTreeSet::new();
    disagreements(&facts(base), &facts(candidate))
        .into_iter()
        .map(|d| Disagreement { key: d.key.split('\u{0}').next_back().unwrap_or_default().to_owned(), ..d })
        .filter(|d| seen.insert(d.key.clone()))
        .collect()
}

/// Facts of the environment that differ, but for those of the moment.
#[must_use]
pub fn environment_differences(base: &[&Record], candidate: &[&Record]) -> Vec<Disagreement> {
    let facts = |records: &[&Record]| {
        let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for record in records {
            let Ok(Value::Object(mut environment)) = serde_json::to_value(&record.environment) else { continue };
            environment.remove("moment");
            flatten("", &Value::Object(environment), &mut out);
        }
        out
    };
    disagreements(&facts(base), &facts(candidate)).into_iter().filter(|d| !d.key.ends_with(".path") && d.key != "storage.path").collect()
}

fn flatten(path: &str, value: &Value, out: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, inner, out);
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            out.entry(path.to_owned()).or_default().insert(text);
        }
    }
}

fn disagreements(base: &BTreeMap<String, BTreeSet<String>>, candidate: &BTreeMap<String, BTreeSet<String>>) -> Vec<Disagreement> {
    let keys: BTreeSet<&String> = base.keys().chain(candidate.keys()).collect();
    let show = |side: &BTreeMap<String, BTreeSet<String>>, key: &String| {
        side.get(key).map_or_else(|| "unknown".to_owned(), |values| values.iter().cloned().collect::<Vec<_>>().join(" | "))
    };
    keys.into_iter()
        .filter(|key| base.get(*key) != candidate.get(*key))
        .map(|key| Disagreement { key: key.clone(), base: show(base, key), candidate: show(candidate, key) })
        .collect()
}
