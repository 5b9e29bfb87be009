//! Where an experiment stands while it runs: what its blocks say so far, without a verdict.
//!
//! Nothing of a record is kept but the compared number, so that an experiment of any length can be
//! shown after every slot. The interval is as wide as looking again and again demands: nobody who
//! watches it and stops when it pleases is told more than a look would say.

use super::arms::ALPHA;
use super::pairs::logarithm;
use record::{LostCell, LostCells, PlanFacts, Quantity, Record, Role, Stopping};
use stats::{Estimate, OrderedPair, PairArm, Thresholds, hodges_lehmann};
use std::collections::{BTreeMap, BTreeSet};

/// The numbers of an experiment's complete blocks so far.
#[derive(Clone, Debug)]
pub struct Standing {
    plan: PlanFacts,
    metric: Quantity,
    thresholds: Thresholds,
    /// By row and pass: the attempt, and by arm the slot with its number.
    blocks: BTreeMap<(usize, u32), Attempt>,
    /// Which arm ran in which slot.
    ran: BTreeMap<u32, usize>,
    /// What could not run.
    lost: LostCells,
}

#[derive(Clone, Debug, Default)]
struct Attempt {
    number: u32,
    /// By arm: the slot, and the logarithm of the metric.
    slots: BTreeMap<usize, (u32, Option<f64>)>,
}

/// What an arm does against the baseline, as far as blocks say.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmStanding {
    pub arm: String,
    /// Whether it is the baseline a second time.
    pub is_control: bool,
    /// Complete blocks of both that have the metric.
    pub pairs: usize,
    /// Of the logarithm of the ratio; `None` without a pair.
    pub effect: Option<Estimate>,
}

impl Standing {
    /// An experiment of which nothing has run.
    #[must_use]
    pub fn new(plan: &PlanFacts, metric: &Quantity) -> Self {
        Self {
            plan: plan.clone(),
            metric: metric.clone(),
            thresholds: Thresholds::open(),
            blocks: BTreeMap::new(),
            ran: BTreeMap::new(),
            lost: LostCells::default(),
        }
    }

    #[must_use]
    pub fn plan(&self) -> &PlanFacts {
        &self.plan
    }

    #[must_use]
    pub fn metric(&self) -> &Quantity {
        &self.metric
    }

    /// The arms that could not run in a row, in the order in which they were left out.
    #[must_use]
    pub fn lost(&self) -> &[LostCell] {
        self.lost.cells()
    }

    /// Counts a slot. One that failed makes its block none.
    pub fn add(&mut self, record: &Record) {
        let Some(trial) = &record.trial else { return };
        self.lost.add(record);
        let place = (trial.row_number as usize, trial.block);
        let block = self.blocks.entry(place).or_default();
        if trial.attempt != block.number {
            *block = Attempt {
                number: trial.attempt,
                ..Attempt::default()
            };
        }
        self.ran.insert(trial.slot, trial.arm_number as usize);
        if record.is_good_slot() {
            let value = logarithm(record, &self.metric);
            block
                .slots
                .insert(trial.arm_number as usize, (trial.slot, value));
        }
    }

    /// Passes that are complete in every row that is open.
    #[must_use]
    pub fn passes(&self) -> u32 {
        let of_row = |row: usize| {
            let of = self.blocks.range((row, 0)..=(row, u32::MAX));
            of.filter(|(_, block)| self.is_complete(row, block)).count()
        };
        let rows = 0..self.plan.rows.len();
        let open = rows.filter(|row| !self.is_closed(*row));
        let least = open.map(of_row).min().unwrap_or(0);
        u32::try_from(least).unwrap_or(u32::MAX)
    }

    /// Whether every arm has run.
    #[must_use]
    pub fn has_all_arms(&self) -> bool {
        let arms: BTreeSet<usize> = self.ran.values().copied().collect();
        arms.len() == self.plan.arms.len()
    }

    fn is_complete(&self, row: usize, block: &Attempt) -> bool {
        let mut arms = 0..self.plan.arms.len();
        arms.all(|arm| block.slots.contains_key(&arm) || self.is_lost(row, arm))
    }

    fn is_lost(&self, row: usize, arm: usize) -> bool {
        let row = self.plan.rows.get(row).map_or("", |row| &row.name);
        self.lost.cell(row, &self.plan.arms[arm].name).is_some()
    }

    fn is_closed(&self, row: usize) -> bool {
        let arms = self
            .plan
            .arms
            .iter()
            .map(|arm| (arm.role, arm.name.as_str()));
        let row = self.plan.rows.get(row).map_or("", |row| &row.name);
        self.lost.closing(row, arms).is_some()
    }

    /// Every arm against the baseline, over all rows together, in the order of the plan.
    #[must_use]
    pub fn arms(&self) -> Vec<ArmStanding> {
        let Some(base) = self.of_role(Role::Baseline) else {
            return Vec::new();
        };
        let others = (0..self.plan.arms.len()).filter(|arm| *arm != base);
        others.map(|arm| self.arm(base, arm)).collect()
    }

    fn of_role(&self, role: Role) -> Option<usize> {
        self.plan.arms.iter().position(|arm| arm.role == role)
    }

    fn arm(&self, base: usize, arm: usize) -> ArmStanding {
        let facts = &self.plan.arms[arm];
        let rows = 0..self.plan.rows.len();
        let differences: Vec<f64> = rows
            .filter(|row| !self.is_closed(*row) && !self.is_lost(*row, arm))
            .flat_map(|row| self.differences(row, base, arm))
            .collect();
        ArmStanding {
            arm: facts.name.clone(),
            is_control: facts.role == Role::Control,
            pairs: differences.len(),
            effect: (!differences.is_empty())
                .then(|| hodges_lehmann(&differences, self.level(differences.len()))),
        }
    }

    /// ln(arm / base) of the complete blocks of a row, as the comparison makes them.
    fn differences(&self, row: usize, base: usize, arm: usize) -> Vec<f64> {
        let control = self.of_role(Role::Control).filter(|other| *other != arm);
        let of_row = self.blocks.range((row, 0)..=(row, u32::MAX));
        let complete = of_row.filter(|(_, block)| self.is_complete(row, block));
        let mut are_pairs = true;
        let pair = |(_, block): (&(usize, u32), &Attempt)| {
            let ((base_slot, base_log), (arm_slot, arm_log)) =
                (*block.slots.get(&base)?, *block.slots.get(&arm)?);
            let base_log = match control.and_then(|control| block.slots.get(&control)) {
                Some((_, log)) => 0.5 * (base_log? + (*log)?),
                None => base_log?,
            };
            are_pairs &= control.is_none() && base_slot.abs_diff(arm_slot) == 1;
            let before = base_slot.min(arm_slot).checked_sub(1);
            let after = before.and_then(|slot| match *self.ran.get(&slot)? {
                arm_before if arm_before == base => Some(PairArm::Base),
                arm_before if arm_before == arm => Some(PairArm::Candidate),
                _ => None,
            });
            Some(OrderedPair {
                difference: arm_log? - base_log,
                base_first: base_slot < arm_slot,
                after,
            })
        };
        let pairs: Vec<OrderedPair> = complete.filter_map(pair).collect();
        let place = are_pairs.then(|| stats::place_in_block(&pairs)).flatten();
        // Where all blocks ran in one order, what the arm does would be taken for what its place does.
        let place = place.filter(|place| place.is_separable);
        stats::without_place(&pairs, place)
    }

    /// The level of an interval of so many pairs: of the look that comes next, or of all
    /// candidates together where the length is fixed.
    fn level(&self, pairs: usize) -> f64 {
        let candidates = self
            .plan
            .arms
            .iter()
            .filter(|arm| arm.role == Role::Candidate)
            .count()
            .max(1);
        if self.plan.stopping == Stopping::Fixed {
            return 1.0 - ALPHA / candidates as f64;
        }
        let family = candidates.min(self.thresholds.family());
        let look = self.thresholds.next_look(pairs.saturating_sub(1));
        let look = look.or_else(|| self.thresholds.last_look(pairs));
        let p = look.and_then(|look| self.thresholds.at(look, family));
        1.0 - p.unwrap_or(0.0)
    }

    /// The next pass after which the numbers are judged, from now on; `None` where there is none.
    #[must_use]
    pub fn next_look(&self) -> Option<u32> {
        let (passes, last) = (self.passes(), self.plan.most_passes);
        let rows = u32::try_from(self.plan.rows.len()).unwrap_or(u32::MAX);
        match self.plan.stopping {
            Stopping::Fixed => (passes < last).then_some(last),
            Stopping::Open => stats::LOOKS.into_iter().find(|look| *look > passes),
            Stopping::EachPass => stats::pass_looks(rows, last)
                .into_iter()
                .find(|look| *look > passes),
        }
        .filter(|look| *look <= last)
    }

    /// Whether the first look is past.
    #[must_use]
    pub fn has_been_looked_at(&self) -> bool {
        let rows = u32::try_from(self.plan.rows.len()).unwrap_or(u32::MAX);
        let passes = self.passes();
        match self.plan.stopping {
            Stopping::Fixed => passes >= self.plan.most_passes,
            Stopping::Open => passes >= stats::FIRST_LOOK,
            Stopping::EachPass => !stats::pass_looks(rows, passes).is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{PlannedArm, PlannedRow, Status, Trial};

    fn plan(stopping: Stopping, most_passes: u32) -> PlanFacts {
        let arm = |name: &str, role| PlannedArm {
            name: name.into(),
            role,
            ..PlannedArm::default()
        };
        PlanFacts {
            arms: vec![arm("a", Role::Baseline), arm("b", Role::Candidate)],
            rows: vec![PlannedRow {
                name: "r".into(),
                ..PlannedRow::default()
            }],
            stopping,
            most_passes,
            ..PlanFacts::default()
        }
    }

    fn slot(block: u32, arm: u32, attempt: u32, seconds: f64) -> Record {
        Record {
            elapsed_ns: units::lossless::f64_to_u64_saturating(seconds * 1e9),
            trial: Some(Trial {
                arm_number: arm,
                block,
                attempt,
                slot: 2 * block + (arm + block) % 2,
                ..Trial::default()
            }),
            ..Record::default()
        }
    }

    fn standing(stopping: Stopping, blocks: u32) -> Standing {
        let mut out = Standing::new(&plan(stopping, 20), &Quantity::named("time"));
        for block in 0..blocks {
            let noise = 1.0 + 0.001 * f64::from(block);
            out.add(&slot(block, 0, 0, noise));
            out.add(&slot(block, 1, 0, 1.2 * noise));
        }
        out
    }

    #[test]
    fn an_interval_comes_with_the_first_look_and_narrows() {
        let effect = |blocks| standing(Stopping::Open, blocks).arms()[0].effect.unwrap();
        assert!((effect(3).point - 1.2_f64.ln()).abs() < 1e-6);
        assert!(effect(7).high.is_infinite(), "before the first look");
        assert!(effect(8).high.is_finite());
        assert!(
            effect(8).level > 0.95,
            "who looks again and again needs a wider one"
        );
    }

    #[test]
    fn what_an_arm_does_is_not_taken_for_what_its_place_does_where_all_ran_in_one_order() {
        let mut of = Standing::new(&plan(Stopping::Open, 20), &Quantity::named("time"));
        for block in 0..8 {
            for (arm, seconds) in [(0, 1.0), (1, 1.2)] {
                let mut record = slot(block, arm, 0, seconds * (1.0 + 0.001 * f64::from(block)));
                record.trial.as_mut().unwrap().slot = 2 * block + arm;
                of.add(&record);
            }
        }
        let point = of.arms()[0].effect.unwrap().point;
        assert!((point - 1.2_f64.ln()).abs() < 1e-6, "{point}");
    }

    #[test]
    fn a_block_that_was_begun_again_counts_once_and_a_failed_slot_makes_it_none() {
        let mut of = standing(Stopping::Open, 2);
        of.add(&slot(2, 0, 0, 1.0));
        assert_eq!((of.passes(), of.arms()[0].pairs), (2, 2));
        of.add(&slot(2, 1, 1, 1.2));
        assert_eq!(of.arms()[0].pairs, 2, "slots of two attempts are no pair");
        of.add(&slot(2, 0, 1, 1.0));
        assert_eq!((of.passes(), of.arms()[0].pairs), (3, 3));
        let mut failed = slot(3, 0, 0, 1.0);
        failed.outcome.status = Status::Failed;
        of.add(&failed);
        of.add(&slot(3, 1, 0, 1.2));
        assert_eq!(of.passes(), 3);
    }

    #[test]
    fn an_arm_that_is_left_out_holds_up_no_pass_and_a_row_without_others_is_none() {
        let mut of = standing(Stopping::Open, 2);
        let third = PlannedArm {
            name: "c".into(),
            ..PlannedArm::default()
        };
        of.plan.arms.push(third);
        assert_eq!(of.passes(), 0);
        let lost = |arm: u32, name: &str| {
            let mut out = slot(0, arm, 0, 1.0);
            out.outcome.status = Status::Failed;
            let trial = out.trial.as_mut().unwrap();
            (trial.arm, trial.row) = (name.into(), "r".into());
            trial.left_out_after = 3;
            out
        };
        of.add(&lost(2, "c"));
        assert_eq!(of.passes(), 2);
        assert_eq!(of.arms()[0].pairs, 2);
        assert_eq!((of.arms()[1].pairs, of.arms()[1].effect), (0, None));
        of.add(&lost(1, "b"));
        assert_eq!(
            (of.passes(), of.arms()[0].pairs),
            (0, 0),
            "nothing is compared"
        );
    }

    #[test]
    fn the_next_look_is_that_of_the_plan() {
        let next = |stopping, blocks| standing(stopping, blocks).next_look();
        assert_eq!(next(Stopping::Open, 0), Some(8));
        assert_eq!(next(Stopping::Open, 8), Some(10));
        assert_eq!(next(Stopping::Fixed, 8), Some(20));
        assert_eq!(next(Stopping::Fixed, 20), None);
        assert_eq!(next(Stopping::EachPass, 3), Some(8));
        assert_eq!(next(Stopping::EachPass, 8), Some(9));
    }
}
