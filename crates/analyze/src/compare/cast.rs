//! Which arm of an experiment plays what.

use super::ArmComparison;
use record::{Record, Role, Status};
use stats::{CONTROL_ALPHA, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// Records that are no experiment that could be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoExperiment {
    #[error(
        "{of} of {} no place in an experiment; `fathom compare --run` and `fathom profile` write such, and two files are compared as BASE CANDIDATE",
        match records {
            1 => "1 record has".to_owned(),
            several => format!("{several} records have"),
        }
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

/// The baseline against itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlCheck {
    pub arm: String,
    /// The p of all tests together: of all rows and of each, at this look and those before. Each
    /// spends its part of [`CONTROL_ALPHA`], and the one that comes nearest to its part is
    /// scaled to the whole.
    pub p: f64,
    pub blocks: usize,
}

impl ControlCheck {
    /// Why there is no verdict where it fails.
    pub(super) fn failure(&self) -> Option<Reason> {
        (self.p < CONTROL_ALPHA).then_some(Reason::ControlFailed { p: self.p })
    }
}

/// Who plays what.
pub(super) struct Cast<'a> {
    pub(super) base: &'a str,
    pub(super) control: Option<&'a str>,
    /// Those of the plan in its order, also where no slot of one ended well.
    pub(super) candidates: Vec<&'a str>,
    /// Arms of which at least one slot ended well: a block holds one of each.
    usable: BTreeSet<&'a str>,
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
        // An arm that has no record because the experiment ended before it is one all the same.
        let mut written = trials
            .iter()
            .filter_map(|trial| trial.written_plan.as_deref());
        let planned = written.next().into_iter().flat_map(|line| &line.plan.arms);
        let planned = planned.map(|arm| (arm.role, arm.name.as_str()));
        let planned = (0_u32..).zip(planned);
        let there = trials.iter().map(|trial| {
            let arm = (trial.role, trial.arm.as_str());
            (trial.arm_number, arm)
        });
        let mut places: BTreeMap<(Role, &str), u32> = BTreeMap::new();
        for (place, arm) in planned.chain(there) {
            let known = places.entry(arm).or_insert(place);
            *known = place.min(*known);
        }
        let of_role = |role: Role| -> Vec<&str> {
            let of = places.iter().filter(|((of, _), _)| *of == role);
            let mut of: Vec<_> = of.map(|((_, name), place)| (*place, *name)).collect();
            of.sort_unstable();
            of.into_iter().map(|(_, name)| name).collect()
        };
        let baselines = of_role(Role::Baseline);
        let [base] = baselines[..] else {
            return Err(NoExperiment::Baselines {
                names: baselines.into_iter().map(str::to_owned).collect(),
            });
        };
        let candidates = of_role(Role::Candidate);
        if candidates.is_empty() {
            return Err(NoExperiment::NoCandidate {
                base: base.to_owned(),
            });
        }
        let good = records
            .iter()
            .filter(|record| record.outcome.status == Status::Ok);
        let usable: BTreeSet<&str> = good
            .filter_map(|record| Some(record.trial.as_ref()?.arm.as_str()))
            .collect();
        Ok(Self {
            base,
            control: of_role(Role::Control)
                .into_iter()
                .find(|name| usable.contains(name)),
            candidates,
            usable,
        })
    }

    /// How many slots a complete block has; `None` where none can be complete.
    pub(super) fn arms(&self) -> Option<usize> {
        self.is_usable(self.base).then_some(self.usable.len())
    }

    /// Whether a slot of it ended well.
    pub(super) fn is_usable(&self, arm: &str) -> bool {
        self.usable.contains(arm)
    }
}

/// Rows stand where their plan has them.
pub(super) fn with_rows_in_order(
    records: &[Record],
    mut candidates: Vec<ArmComparison>,
) -> Vec<ArmComparison> {
    let mut places: BTreeMap<&str, u32> = BTreeMap::new();
    for trial in records.iter().filter_map(|record| record.trial.as_ref()) {
        let known = places.entry(&trial.row).or_insert(trial.row_number);
        *known = trial.row_number.min(*known);
    }
    for of in &mut candidates {
        let rows = &mut of.comparison.rows;
        rows.sort_by_key(|row| places.get(row.row.as_str()).copied());
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Trial;

    #[test]
    fn candidates_stand_in_the_order_of_the_plan_and_not_of_their_names_or_of_the_lot() {
        let trial = |(arm, arm_number): (&str, u32)| Record {
            trial: Some(Trial {
                arm: arm.into(),
                arm_number,
                role: match arm_number {
                    0 => Role::Baseline,
                    _ => Role::Candidate,
                },
                ..Trial::default()
            }),
            ..Record::default()
        };
        let drawn = [("32", 2), ("1", 0), ("8", 1), ("8", 1), ("1", 0), ("32", 2)];
        let records = drawn.map(trial);
        assert_eq!(Cast::of(&records).unwrap().candidates, ["8", "32"]);
    }
}
