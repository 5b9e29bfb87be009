//! What the file of an experiment's records holds before a run, and whether that is the experiment
//! that goes on.

use crate::compare::told;
use crate::exit::Usage;
use anyhow::Result;
use conduct::PlanExperiment;
use record::{PlanFacts, Record};
use std::collections::BTreeSet;
use std::path::Path;
use units::Nanos;

/// What the file of records holds before this run.
pub(super) struct StoreBefore {
    pub(super) records: Vec<Record>,
    /// The plan of the experiment in it.
    pub(super) plan: Option<PlanFacts>,
    is_resumed: bool,
}

pub(super) fn found(file: &Path, is_resumed: bool) -> Result<StoreBefore> {
    // Of a pipe nothing can be read.
    if !file.is_file() {
        return Ok(StoreBefore {
            records: Vec::new(),
            plan: None,
            is_resumed,
        });
    }
    let found = record::read_records(file)?;
    crate::records::tell_damage(file, &found);
    Ok(StoreBefore {
        plan: found.plans.first().map(|line| line.plan.clone()),
        records: found.records,
        is_resumed,
    })
}

impl StoreBefore {
    /// Whether it is this experiment that goes on; a file of another one, or of this one where
    /// nobody asked to go on, is refused.
    pub(super) fn is_this(&self, experiment: &PlanExperiment, file: &Path) -> Result<bool> {
        let shown = file.display();
        let refused = |text: String| Err(Usage(text).into());
        let Some(plan) = &self.plan else {
            // Slots added to these would be judged with them, and neither has a verdict then.
            let slots = self.records.iter().filter(|record| record.trial.is_some());
            let slots = slots.count();
            if slots > 0 {
                return refused(format!(
                    "{shown} holds {} of an experiment and not the line of its plan, which was the first; put it back, or give another --records",
                    units::counted(slots, "slot")
                ));
            }
            if self.is_resumed && !self.records.is_empty() {
                return refused(format!(
                    "{shown} holds no experiment to go on with; leave --resume out"
                ));
            }
            if self.is_resumed {
                // Whoever was killed before the first slot left no more than this.
                told(&format!("{shown} holds no slot yet: it begins"));
            }
            return Ok(false);
        };
        let is_same = plan.hash() == experiment.facts.hash();
        match (is_same, self.is_resumed) {
            (true, true) => match cut(plan, &experiment.facts) {
                None => Ok(true),
                Some(cut) => refused(format!(
                    "{shown} holds this experiment with {cut}; {MAY_CHANGE}"
                )),
            },
            (true, false) => refused(format!(
                "{shown} holds this experiment already; go on with it by --resume, or give another --records"
            )),
            (false, true) => refused(format!(
                "{shown} holds another experiment: {}; {MAY_CHANGE}",
                differing(plan, &experiment.facts).unwrap_or_else(|| "nothing is different".into())
            )),
            (false, false) => refused(format!(
                "{shown} holds another experiment, and a file of two cannot be judged; give another --records"
            )),
        }
    }
}

const MAY_CHANGE: &str =
    "a plan that goes on may have a longer budget, and other numbers of calibrate and keep-free";

/// What of the allowances of a plan that goes on is not what it was, or less: slots between which
/// the machine had less time are others, and a budget that ends when somebody has seen the slots
/// ends them by what they show.
fn cut(before: &PlanFacts, after: &PlanFacts) -> Option<String> {
    let [budget, settle] = [
        (before.budget_ns, after.budget_ns),
        (before.settle_ns, after.settle_ns),
    ];
    let changed = [
        ("budget", budget, budget.1 < budget.0),
        ("settle", settle, settle.1 != settle.0),
    ];
    let (key, (was, is), _) = changed.into_iter().find(|(_, _, is_refused)| *is_refused)?;
    Some(format!(
        "{key} = {}, which is {} now",
        Nanos(was),
        Nanos(is)
    ))
}

/// The first key in which two plans differ, allowances aside.
pub(super) fn differing(before: &PlanFacts, after: &PlanFacts) -> Option<String> {
    let value = |plan: &PlanFacts| serde_json::to_value(plan).unwrap_or_default();
    let [mut before, mut after] = [before, after].map(value);
    for plan in [&mut before, &mut after] {
        plan["budget_ns"] = serde_json::Value::Null;
        plan["settle_ns"] = serde_json::Value::Null;
    }
    first_difference("", &before, &after)
}

fn first_difference(path: &str, a: &serde_json::Value, b: &serde_json::Value) -> Option<String> {
    let below = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    if let (Some(a), Some(b)) = (a.as_object(), b.as_object()) {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let null = serde_json::Value::Null;
        let of = |map: &serde_json::Map<String, serde_json::Value>, key: &str| {
            map.get(key).unwrap_or(&null).clone()
        };
        return keys
            .into_iter()
            .find_map(|key| first_difference(&below(key), &of(a, key), &of(b, key)));
    }
    if let (Some(a), Some(b)) = (a.as_array(), b.as_array())
        && a.len() == b.len()
    {
        let mut pairs = a.iter().zip(b).zip(0..);
        return pairs
            .find_map(|((a, b), index)| first_difference(&below(&index.to_string()), a, b));
    }
    (a != b).then(|| format!("{path} was {a} and is {b}"))
}
