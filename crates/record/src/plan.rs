//! The plan of an experiment, which stands in its file before the first record.

use crate::{Role, SCHEMA, Stopping};
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanLine {
    pub schema: u32,
    /// `plan`.
    pub kind: String,
    /// Of the plan below: [`PlanFacts::hash`].
    pub hash: String,
    pub plan: PlanFacts,
}

/// Everything that was decided before the first slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedQuestion {
    pub metric: String,
    /// A ratio, 0.05 for 5 %.
    pub margin: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedArm {
    pub name: String,
    pub role: Role,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRow {
    pub name: String,
    /// In the order of the arms.
    pub workloads: Vec<PlannedWorkload>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWorkload {
    pub targets: Vec<String>,
    pub options: BTreeMap<String, String>,
}

/// Sixteen hexadecimal digits that stand for these bytes.
#[allow(deprecated, reason = "see the import")]
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    let mut hasher = SipHasher::new_with_keys(0, 0);
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

impl PlanFacts {
    /// Sixteen hexadecimal digits that stand for everything in this plan: SipHash-2-4 (Aumasson and
    /// Bernstein 2012) with the zero key over its JSON. The same plan has the same hash on
    /// every machine and in every version that knows the same options.
    ///
    /// # Panics
    /// Never: a plan has no value that JSON lacks but a margin that is no number, which no question
    /// has.
    #[must_use]
    pub fn hash(&self) -> String {
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
}
