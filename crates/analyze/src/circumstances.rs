//! Where records were measured, as facts that can be compared.

use record::{Environment, Record};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What the records say of where they were measured, by the path of the field, but for what names
/// the target and for the moment.
pub(crate) fn environment_facts(records: &[&Record]) -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut seen: Vec<&Environment> = Vec::new();
    for environment in records.iter().flat_map(|record| record.environments()) {
        // The slots of an experiment are mostly of one environment.
        if seen
            .iter()
            .any(|known| is_same_but_for_the_moment(known, environment))
        {
            continue;
        }
        seen.push(environment);
        let Ok(Value::Object(mut facts)) = serde_json::to_value(environment) else {
            continue;
        };
        facts.remove("moment");
        flatten("", &Value::Object(facts), &mut out);
    }
    out.retain(|key, _| !key.ends_with(".path"));
    out
}

/// Whether two environments differ in nothing but what changes by itself.
pub(crate) fn is_same_but_for_the_moment(a: &Environment, b: &Environment) -> bool {
    let Environment {
        fathom,
        system,
        cpu,
        memory,
        nodes,
        process,
        cgroup,
        storage,
        moment: _,
    } = a;
    (fathom, system, cpu, memory) == (&b.fathom, &b.system, &b.cpu, &b.memory)
        && (nodes, process, cgroup, storage) == (&b.nodes, &b.process, &b.cgroup, &b.storage)
}

fn flatten(path: &str, value: &Value, out: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(&path, inner, out);
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            out.entry(path.to_owned()).or_default().insert(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Moment;

    #[test]
    fn facts_are_named_by_their_field_and_unknown_ones_are_left_out() {
        let mut one = Record::default();
        one.generator_mut().environment.cpu.logical = Some(4);
        let mut two = one.clone();
        two.generator_mut().environment.cpu.logical = Some(8);
        two.generator_mut().environment.moment = Moment {
            uptime_seconds: Some(7),
            ..Moment::default()
        };
        let facts = environment_facts(&[&one, &one, &two]);
        assert_eq!(
            facts["cpu.logical"],
            BTreeSet::from(["4".to_owned(), "8".to_owned()])
        );
        assert!(
            !facts.contains_key("cpu.model") && !facts.keys().any(|key| key.starts_with("moment"))
        );
    }

    #[test]
    fn every_part_but_the_moment_counts() {
        let one = Environment::default();
        let mut two = Environment {
            moment: Moment {
                uptime_seconds: Some(7),
                ..Moment::default()
            },
            ..Environment::default()
        };
        assert!(is_same_but_for_the_moment(&one, &two));
        two.process.nice = Some(5);
        assert!(!is_same_but_for_the_moment(&one, &two));
    }
}
