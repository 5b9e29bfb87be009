//! What an experiment will do, complete before its first slot.

use record::{PlanFacts, PlannedArm, PlannedQuestion, PlannedRow, PlannedWorkload, Role, Stopping};
use stats::{Control, Design, LOOKS, Unit};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use workload::{Workload, settings};

/// An experiment. A block is one slot of every arm for one row, in random order; a pass is one
/// block of every row, in random order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub name: String,
    /// One of them the baseline; a second run of it in each block is an arm of its own with the
    /// role of a control.
    pub arms: Vec<Arm>,
    pub rows: Vec<Row>,
    pub stopping: Stopping,
    /// Passes that run even when the budget is spent.
    pub least_passes: u32,
    pub most_passes: u32,
    /// No pass beyond the least begins after this time.
    pub budget_ns: u64,
    /// Longest wait, after a slot that wrote, for its data to reach the device.
    pub settle_ns: u64,
    /// Longest lead-in of a slot: its arm runs for so long, unmeasured, right before it (no longer
    /// than the slot itself; a slot without a time, once whole). 0: none.
    pub lead_in_ns: u64,
    /// Of the order of rows and arms.
    pub seed: u64,
    /// What will be asked of the records; `None` where levels alone are measured.
    pub question: Option<PlannedQuestion>,
}

/// A seed of an order that nobody chose: from the system's randomness and the time. With one seed
/// for everybody the coin would fall the same way in every experiment in the world, and what goes
/// in step with it would look like a difference everywhere.
#[must_use]
pub fn drawn_seed() -> u64 {
    // 48 bits: short enough to be typed again, and exact in every reader of JSON.
    RandomState::new().hash_one(sys::clock::wall_time()) >> 16
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    pub name: String,
    pub role: Role,
}

/// Under which circumstances.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    /// What each arm does here, in the order of the arms.
    pub workloads: Vec<Workload>,
}

/// One slot of a plan: the numbers of its row and arm, and when its turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub pass: u32,
    pub row: usize,
    pub arm: usize,
    /// How often this block was begun before.
    pub attempt: u32,
}

impl Plan {
    /// The name of this plan: [`PlanFacts::hash`].
    #[must_use]
    pub fn hash(&self) -> String {
        self.facts().hash()
    }

    /// Everything in this plan as its file says it.
    #[must_use]
    pub fn facts(&self) -> PlanFacts {
        let workload = |workload: &Workload| PlannedWorkload {
            targets: workload
                .targets
                .iter()
                .map(|target| target.display().to_string())
                .collect(),
            options: settings::shown(workload)
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        };
        PlanFacts {
            name: self.name.clone(),
            stopping: self.stopping,
            least_passes: self.least_passes,
            most_passes: self.most_passes,
            budget_ns: self.budget_ns,
            settle_ns: self.settle_ns,
            lead_in_ns: self.lead_in_ns,
            seed: self.seed,
            question: self.question.clone(),
            arms: self
                .arms
                .iter()
                .map(|arm| PlannedArm {
                    name: arm.name.clone(),
                    role: arm.role,
                })
                .collect(),
            rows: self
                .rows
                .iter()
                .map(|row| PlannedRow {
                    name: row.name.clone(),
                    workloads: row.workloads.iter().map(workload).collect(),
                })
                .collect(),
        }
    }

    /// The slots of a pass in the order in which they run: blocks one after the other, rows and the
    /// arms of each block shuffled.
    #[must_use]
    pub fn order(&self, pass: u32) -> Vec<Turn> {
        self.design()
            .pass(self.seed, pass as usize)
            .into_iter()
            .map(|slot| Turn {
                pass,
                row: slot.config,
                arm: slot.arm,
                attempt: 0,
            })
            .collect()
    }

    /// The slots of one block, redrawn for every attempt.
    #[must_use]
    pub fn block(&self, pass: u32, row: usize, attempt: u32) -> Vec<Turn> {
        let slots = self
            .design()
            .block(self.seed, pass as usize, row, attempt as usize);
        slots
            .into_iter()
            .map(|slot| Turn {
                pass,
                row,
                arm: slot.arm,
                attempt,
            })
            .collect()
    }

    /// Slots of a pass.
    #[must_use]
    pub fn slots_per_pass(&self) -> u32 {
        u32::try_from(self.arms.len() * self.rows.len()).unwrap_or(u32::MAX)
    }

    /// Whether the numbers may be looked at after so many passes.
    #[must_use]
    pub fn may_look(&self, passes: u32) -> bool {
        match self.stopping {
            Stopping::Fixed => false,
            Stopping::Open => LOOKS.contains(&passes),
        }
    }

    fn design(&self) -> Design {
        // The control is one of the arms here: its place in a block is drawn like every other.
        Design {
            arms: self.arms.len(),
            configs: self.rows.len(),
            control: Control::None,
            unit: Unit::Block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let arm = |name: &str, role| Arm {
            name: name.into(),
            role,
        };
        let row = |name: &str| Row {
            name: name.into(),
            workloads: vec![Workload::default(); 3],
        };
        Plan {
            name: "p".into(),
            arms: vec![
                arm("a", Role::Baseline),
                arm("b", Role::Candidate),
                arm("a (control)", Role::Control),
            ],
            rows: vec![row("r"), row("s")],
            stopping: Stopping::Open,
            least_passes: 8,
            most_passes: 90,
            budget_ns: 1,
            settle_ns: 1,
            lead_in_ns: 1,
            seed: 1,
            question: None,
        }
    }

    #[test]
    fn any_change_of_a_plan_changes_its_hash_and_none_keeps_it() {
        let changes: [fn(&mut Plan); 15] = [
            |p| p.name.push('x'),
            |p| p.arms[1].name.push('x'),
            |p| p.arms[1].role = Role::Control,
            |p| p.arms.swap(0, 1),
            |p| p.rows[1].name.push('x'),
            |p| p.rows[1].workloads[2].queue_depth = 7,
            |p| p.rows[1].workloads[2].targets.push("/x".into()),
            |p| p.stopping = Stopping::Fixed,
            |p| p.least_passes += 1,
            |p| p.budget_ns += 1,
            |p| p.settle_ns += 1,
            |p| p.lead_in_ns += 1,
            |p| p.seed += 1,
            |p| p.most_passes += 1,
            |p| {
                p.question = Some(PlannedQuestion {
                    metric: "x".into(),
                    margin: 0.05,
                })
            },
        ];
        assert_eq!(plan().hash(), plan().hash());
        let mut seen = std::collections::BTreeSet::from([plan().hash()]);
        for (index, change) in changes.iter().enumerate() {
            let mut changed = plan();
            change(&mut changed);
            assert!(seen.insert(changed.hash()), "change {index} is not seen");
        }
        assert!(seen.iter().all(|hash| hash.len() == 16));
    }

    #[test]
    fn drawn_seeds_differ_and_are_exact_in_json() {
        let seeds: std::collections::BTreeSet<u64> = (0..50).map(|_| drawn_seed()).collect();
        assert_eq!(seeds.len(), 50);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    }

    #[test]
    fn a_pass_holds_every_arm_of_every_row_once_and_blocks_are_not_mixed() {
        let plan = plan();
        for pass in 0..20 {
            let order = plan.order(pass);
            assert_eq!(order.len(), 6);
            for block in order.chunks(3) {
                let mut arms: Vec<usize> = block.iter().map(|turn| turn.arm).collect();
                arms.sort_unstable();
                assert_eq!(arms, [0, 1, 2]);
                assert!(
                    block
                        .iter()
                        .all(|turn| turn.row == block[0].row && turn.attempt == 0)
                );
                assert_eq!(block, plan.block(pass, block[0].row, 0));
            }
        }
    }

    #[test]
    fn passes_and_attempts_are_drawn_anew() {
        let plan = plan();
        let firsts: std::collections::BTreeSet<usize> =
            (0..30).map(|pass| plan.order(pass)[0].arm).collect();
        assert_eq!(firsts.len(), 3, "every arm comes first at times");
        let attempts: std::collections::BTreeSet<Vec<usize>> = (0..30)
            .map(|attempt| {
                plan.block(0, 0, attempt)
                    .iter()
                    .map(|turn| turn.arm)
                    .collect()
            })
            .collect();
        assert_eq!(attempts.len(), 6, "every order comes up at times");
    }

    #[test]
    fn only_open_experiments_look_and_only_at_the_looks() {
        let looks = |plan: &Plan| {
            (0..=12)
                .filter(|passes| plan.may_look(*passes))
                .collect::<Vec<_>>()
        };
        assert_eq!(looks(&plan()), [8, 10, 12]);
        assert_eq!(
            looks(&Plan {
                stopping: Stopping::Fixed,
                ..plan()
            }),
            [0_u32; 0]
        );
    }
}
