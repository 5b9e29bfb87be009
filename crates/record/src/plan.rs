//! The plan of an experiment, which stands in its file before the first record.

use crate::{Role, SCHEMA, Stopping};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::Hasher;
#[allow(
    deprecated,
    reason = "the successor DefaultHasher may change between releases; the name of a plan must not"
)]
use std::hash::SipHasher;

/// What a plan's line calls itself; a record has its verb in the same place.
pub(crate) const KIND: &str = "plan";

/// The line of a file that holds a plan, written before the first slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanLine {
    pub schema: u32,
    /// `plan`.
    pub kind: String,
    /// Of the plan below: [`PlanFacts::hash`]; older versions hashed the allowance as well.
    pub hash: String,
    pub plan: PlanFacts,
}

/// Everything that was decided before the first slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFacts {
    pub name: String,
    pub stopping: Stopping,
    /// Passes that run even when the budget is spent.
    pub least_passes: u32,
    /// Blocks of each row: of a fixed length so many, of an open one at most so many.
    pub most_passes: u32,
    pub budget_ns: u64,
    pub settle_ns: u64,
    /// Longest lead-in of a slot: what its own arm does, unmeasured, right before it. 0: none.
    #[serde(default, skip_serializing_if = "crate::is_unset")]
    pub lead_in_ns: u64,
    /// Of the order of rows and arms.
    pub seed: u64,
    /// What is asked of the records; `None` where levels alone are measured.
    pub question: Option<PlannedQuestion>,
    pub arms: Vec<PlannedArm>,
    pub rows: Vec<PlannedRow>,
}

/// What is compared, and which differences matter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedQuestion {
    pub metric: String,
    /// A ratio, 0.05 for 5 %.
    pub margin: f64,
    /// `higher` or `lower`, of a number of which only its source knows what is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<String>,
    /// What is to be found out, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedArm {
    pub name: String,
    pub role: Role,
    /// Kinds of operations that it is meant to change; empty: nobody says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expects: Vec<String>,
    /// What it is, as far as that was known before the first slot: the hashes of its executables,
    /// its commit, what it says of itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub identity: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedRow {
    pub name: String,
    /// In the order of the arms.
    pub workloads: Vec<PlannedWorkload>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedWorkload {
    pub targets: Vec<String>,
    pub options: BTreeMap<String, String>,
}

/// Sixteen hexadecimal digits that stand for these bytes.
#[allow(deprecated, reason = "see the import")]
pub fn hash_of(bytes: &[u8]) -> String {
    let mut hasher = SipHasher::new_with_keys(0, 0);
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

impl PlanLine {
    /// Whether the plan is the one that the hash was made of.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        [self.plan.hash(), self.plan.hash_of_all()].contains(&self.hash)
    }
}

impl PlanFacts {
    /// Sixteen hexadecimal digits that stand for the identity of this plan: everything in it but its
    /// allowance, the budget and the longest wait, which may be larger when it is resumed.
    #[must_use]
    pub fn hash(&self) -> String {
        let identity = Self {
            budget_ns: 0,
            settle_ns: 0,
            ..self.clone()
        };
        identity.hash_of_all()
    }

    /// SipHash-2-4 (Aumasson and Bernstein 2012) with the zero key over the JSON of the whole plan.
    /// The same plan has the same hash on every machine and in every version that knows the same
    /// options.
    ///
    /// # Panics
    /// Never: a plan has no value that JSON lacks but a margin that is no number, which no question
    /// has.
    fn hash_of_all(&self) -> String {
        hash_of(&serde_json::to_vec(self).expect("a plan is made of texts and finite numbers"))
    }

    /// The line that holds this plan.
    #[must_use]
    pub fn line(self) -> PlanLine {
        PlanLine {
            schema: SCHEMA,
            kind: KIND.into(),
            hash: self.hash(),
            plan: self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_read_back_has_the_hash_it_was_written_with() {
        let plan = PlanFacts {
            name: "compare".into(),
            most_passes: 40,
            seed: (1 << 53) - 1,
            question: Some(PlannedQuestion {
                metric: "operations a second".into(),
                margin: 0.1 + 0.2,
                ..PlannedQuestion::default()
            }),
            rows: vec![PlannedRow {
                name: "r \u{7f} \"".into(),
                workloads: vec![PlannedWorkload::default()],
            }],
            ..PlanFacts::default()
        };
        let line = plan.clone().line();
        let again: PlanLine = serde_json::from_str(&serde_json::to_string(&line).unwrap()).unwrap();
        assert_eq!((again.plan.hash(), again.hash.len()), (line.hash, 16));
        let edited = PlanFacts {
            most_passes: 9,
            ..plan
        };
        assert_ne!(edited.hash(), again.hash);
    }

    #[test]
    fn a_longer_budget_is_the_same_plan_and_older_hashes_of_all_of_it_hold() {
        let plan = PlanFacts {
            budget_ns: 1,
            settle_ns: 2,
            ..PlanFacts::default()
        };
        let longer = PlanFacts {
            budget_ns: 3,
            settle_ns: 4,
            ..plan.clone()
        };
        assert_eq!(plan.hash(), longer.hash());
        let older = PlanLine {
            hash: plan.hash_of_all(),
            ..plan.clone().line()
        };
        assert!(plan.line().is_unchanged() && older.is_unchanged());
        let edited = PlanLine {
            plan: longer,
            ..older
        };
        assert!(!edited.is_unchanged());
    }
}
