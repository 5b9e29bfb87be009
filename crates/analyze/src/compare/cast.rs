//! Which arm of an experiment plays what.

use record::{Record, Role};
use std::collections::BTreeSet;

/// Records that are no experiment that could be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoExperiment {
    #[error(
        "{of} of {records} records have no place in an experiment; `fathom compare --run` and `fathom profile` write such, and two files are compared as BASE CANDIDATE"
    )]
    NotPlaced { of: usize, records: usize },
    #[error("{} experiments are in one place (plans {}); compare them one at a time, each from a file of its own", plans.len(), plans.join(", "))]
    Several { plans: Vec<String> },
    #[error("the experiment has {} arms with the role of the baseline{}; one is needed", names.len(), listed(names))]
    Baselines { names: Vec<String> },
    #[error("the experiment has no arm beside its baseline {base:?}, so nothing is compared")]
    NoCandidate { base: String },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    }
}

/// Who plays what.
pub(super) struct Cast<'a> {
    pub(super) base: &'a str,
    pub(super) control: Option<&'a str>,
    pub(super) candidates: Vec<&'a str>,
}

impl<'a> Cast<'a> {
    pub(super) fn of(records: &'a [Record]) -> Result<Self, NoExperiment> {
        let trials: Vec<_> = records
            .iter()
            .filter_map(|record| record.trial.as_ref())
            .collect();
        if trials.len() < records.len() || trials.is_empty() {
            return Err(NoExperiment::NotPlaced {
                of: records.len() - trials.len(),
                records: records.len(),
            });
        }
        let plans: BTreeSet<&str> = trials.iter().map(|trial| trial.plan.as_str()).collect();
        if plans.len() > 1 {
            return Err(NoExperiment::Several {
                plans: plans.into_iter().map(str::to_owned).collect(),
            });
        }
        let of_role = |role: Role| -> BTreeSet<&str> {
            trials
                .iter()
                .filter(|trial| trial.role == role)
                .map(|trial| trial.arm.as_str())
                .collect()
        };
        let baselines: Vec<&str> = of_role(Role::Baseline).into_iter().collect();
        let [base] = baselines[..] else {
            return Err(NoExperiment::Baselines {
                names: baselines.into_iter().map(str::to_owned).collect(),
            });
        };
        let candidates: Vec<&str> = of_role(Role::Candidate).into_iter().collect();
        let control = of_role(Role::Control).into_iter().next();
        if candidates.is_empty() {
            return Err(NoExperiment::NoCandidate {
                base: base.to_owned(),
            });
        }
        Ok(Self {
            base,
            control,
            candidates,
        })
    }

    pub(super) fn arms(&self) -> usize {
        1 + usize::from(self.control.is_some()) + self.candidates.len()
    }
}
