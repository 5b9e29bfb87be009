//! A plan carried out, slot by slot, or what is left of it.

mod cells;

use crate::order::{block, check, may_look, rows_of_pass, slots_per_pass};
use crate::slot::{fault, spent_ns, wrote};
use crate::{Conduct, KeepError, LabError, Turn, Unstarted, Work};
use record::{LostCell, LostCells, PlanFacts, PlanLine, Record, SlotPlace, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// In how many attempts at one block an arm may fail before it is left out of the row: what fails
/// three times fails for a reason that a fourth will not mend.
pub const MOST_FAILURES: u32 = 3;

/// Exit code of what was asked wrongly.
const USAGE: i32 = 2;

/// An experiment that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Of every slot, in the order in which they ran, those that were done before included.
    pub records: Vec<Record>,
    pub why: WhyEnded,
    /// What could not run, and was left out while the others went on.
    pub lost: Vec<LostCell>,
}

/// Why an experiment ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyEnded {
    /// A look decided.
    Decided,
    /// All passes are run.
    Passes,
    Budget,
    /// SIGINT, SIGTERM or a hang-up.
    Signal,
    /// Nothing is left to compare, or no slot can be run: the last reason.
    Failed(String),
}

/// What is kept of an experiment, in this order: its plan, then every record.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    Plan(&'a PlanLine),
    Record(&'a Record),
}

/// Carries out a plan. The plan goes to `keep` before the first slot, every record before the next
/// slot begins. `decided` is asked at the looks that the plan permits, with all records so far;
/// where it says yes, the experiment ends.
///
/// `done` are the records of an earlier beginning of the same plan, whose plan was kept then: their
/// complete blocks stay, the others are begun again, and the time that their slots took counts for
/// the budget. Records of other plans are left out.
///
/// An arm that fails in [`MOST_FAILURES`] attempts at a block is left out of that row; the record of
/// its last failure says so. A row in which nothing is left to compare is run no further.
///
/// # Errors
/// The plan cannot begin.
pub fn run(
    plan: &PlanFacts,
    done: Vec<Record>,
    conduct: &mut dyn Conduct,
    keep: &mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
    decided: &mut dyn FnMut(&[Record]) -> bool,
) -> Result<Ended, LabError> {
    check(plan)?;
    let written = Arc::new(plan.clone().line());
    let is_of_plan =
        |record: &Record| place(record).is_some_and(|trial| trial.plan == written.hash);
    let records: Vec<Record> = done.into_iter().filter(is_of_plan).collect();
    if records.is_empty() {
        keep(Kept::Plan(&written)).map_err(LabError::Keep)?;
    }
    let mut course = Course {
        plan,
        conduct,
        keep,
        done: records.len(),
        spent_ns: records.iter().map(spent_ns).sum(),
        lost: LostCells::of(&records),
        records,
        written,
        notice: None,
    };
    course.try_all_again();
    let why = match course.nothing_to_compare()? {
        Some(why) => WhyEnded::Failed(why),
        None => course.passes(decided)?,
    };
    Ok(Ended {
        records: course.records,
        why,
        lost: course.lost.cells().to_vec(),
    })
}

fn place(record: &Record) -> Option<&Trial> {
    record.trial.as_ref()
}

/// The place of a turn's record; `None` where the plan has no such row or arm.
#[must_use]
pub fn trial(
    plan: &PlanFacts,
    written: &Arc<PlanLine>,
    turn: Turn,
    slot: u32,
    lead_in_ns: Option<u64>,
) -> Option<Trial> {
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    let (row, arm) = (plan.rows.get(turn.row)?, plan.arms.get(turn.arm)?);
    Some(Trial {
        plan: written.hash.clone(),
        arm: arm.name.clone(),
        row: row.name.clone(),
        block: turn.pass,
        attempt: turn.attempt,
        slot,
        role: arm.role,
        stopping: plan.stopping,
        arm_number: number(turn.arm),
        row_number: number(turn.row),
        planned_blocks: Some(plan.most_passes),
        lead_in_ns,
        left_out_after: 0,
        unsaid: Vec::new(),
        question: None,
        written_plan: Some(Arc::clone(written)),
    })
}

/// One turn as a slot of the plan is: with its lead-in, and settled after it. Nothing is kept.
///
/// # Errors
/// Nothing was measured.
pub fn rehearse(
    plan: &PlanFacts,
    conduct: &mut dyn Conduct,
    turn: Turn,
) -> Result<Record, Unstarted> {
    let mut course = Course {
        plan,
        written: Arc::new(plan.clone().line()),
        conduct,
        keep: &mut |_| Ok(()),
        records: Vec::new(),
        done: 0,
        spent_ns: 0,
        lost: LostCells::default(),
        notice: None,
    };
    let (outcome, _) = course.carried_out(turn);
    if outcome.as_ref().is_ok_and(wrote) {
        let _the_first_slot_would_tell = course.conduct.settle(turn, plan.settle_ns);
    }
    outcome
}

struct Course<'a> {
    plan: &'a PlanFacts,
    written: Arc<PlanLine>,
    conduct: &'a mut dyn Conduct,
    keep: &'a mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
    records: Vec<Record>,
    /// How many of them were there before.
    done: usize,
    /// What those took.
    spent_ns: u64,
    /// What is left out.
    lost: LostCells,
    /// What the record of the next slot has to say of the time before it.
    notice: Option<String>,
}

/// How a block ended before it was complete.
enum Broken {
    /// A slot of an arm failed.
    Failed,
    /// The generator itself stood still, or its ranks began too far apart.
    Stood(String),
    /// By what is no arm's failure.
    Machine(String),
    Signal,
}

impl Course<'_> {
    fn passes(&mut self, decided: &mut dyn FnMut(&[Record]) -> bool) -> Result<WhyEnded, LabError> {
        // A look that an earlier beginning went past did not decide.
        let done = self.records.iter().filter_map(place);
        let looked_at = done.map(|trial| trial.block).max().unwrap_or(0);
        for pass in 0..self.plan.most_passes {
            let mut open = rows_of_pass(self.plan, pass);
            open.retain(|row| self.closing(*row).is_none());
            for (index, row) in open.into_iter().enumerate() {
                let Some(attempt) = self.next_attempt(pass, row) else {
                    continue;
                };
                let spent = self.elapsed_ns() >= self.plan.budget_ns;
                if index == 0 && attempt == 0 && pass >= self.plan.least_passes && spent {
                    return Ok(WhyEnded::Budget);
                }
                match self.block(pass, row, attempt)? {
                    None | Some(Broken::Failed) => {}
                    Some(Broken::Stood(why) | Broken::Machine(why)) => {
                        return Ok(WhyEnded::Failed(why));
                    }
                    Some(Broken::Signal) => return Ok(WhyEnded::Signal),
                }
                if let Some(why) = self.nothing_left() {
                    return Ok(WhyEnded::Failed(why));
                }
            }
            if pass >= looked_at && may_look(self.plan, pass + 1) && decided(&self.records) {
                return Ok(WhyEnded::Decided);
            }
        }
        Ok(WhyEnded::Passes)
    }

    fn elapsed_ns(&self) -> u64 {
        self.spent_ns.saturating_add(self.conduct.elapsed_ns())
    }

    /// The attempt with which a block begins, after those of an earlier beginning; `None` if one of
    /// them is complete.
    fn next_attempt(&self, pass: u32, row: usize) -> Option<u32> {
        let is_here = |trial: &&Trial| trial.block == pass && trial.row_number as usize == row;
        let done = self.records[..self.done].iter();
        let slots: Vec<(&Trial, bool)> = done
            .filter_map(|record| Some((place(record).filter(is_here)?, fault(record).is_none())))
            .collect();
        let Some(last) = slots.iter().map(|(trial, _)| trial.attempt).max() else {
            return Some(0);
        };
        let good: BTreeSet<usize> = slots
            .iter()
            .filter(|(trial, good)| *good && trial.attempt == last)
            .map(|(trial, _)| trial.arm_number as usize)
            .collect();
        let mut able = (0..self.plan.arms.len()).filter(|arm| self.is_able(row, *arm));
        (!able.all(|arm| good.contains(&arm))).then_some(last + 1)
    }

    /// Runs a block until it is complete; `None` if it is, and the last failure where nothing is left
    /// to compare in its row.
    fn block(&mut self, pass: u32, row: usize, first: u32) -> Result<Option<Broken>, LabError> {
        let mut failures = BTreeMap::new();
        let mut stood_still = 0;
        for attempt in first.. {
            let order = block(self.plan, pass, row, attempt);
            match self.attempt(&order, &mut failures)? {
                Some(Broken::Failed) if self.closing(row).is_none() => {}
                Some(Broken::Stood(why)) => {
                    stood_still += 1;
                    if stood_still == MOST_FAILURES {
                        let row = &self.plan.rows[row].name;
                        return Ok(Some(Broken::Machine(format!(
                            "block {} of {row} failed {MOST_FAILURES} times, the last time because {why}",
                            pass + 1
                        ))));
                    }
                }
                other => return Ok(other),
            }
        }
        Ok(None)
    }

    /// Runs a block once; `failures` are those of its arms so far.
    fn attempt(
        &mut self,
        order: &[Turn],
        failures: &mut BTreeMap<usize, u32>,
    ) -> Result<Option<Broken>, LabError> {
        for turn in order {
            if self.is_left_out(*turn) {
                continue;
            }
            if self.conduct.is_stopped() {
                return Ok(Some(Broken::Signal));
            }
            if let Some(why) = self.conduct.obstacle() {
                return Ok(Some(Broken::Machine(why)));
            }
            let mut record = self.slot(*turn)?;
            let broken = self.broken(&record, *turn);
            if matches!(broken, Some(Broken::Failed)) {
                self.count_failure(&mut record, failures.entry(turn.arm).or_default());
            }
            let wrote = wrote(&record);
            if let Err(error) = self.kept(record) {
                return Ok(Some(Broken::Machine(error.to_string())));
            }
            if self.conduct.is_stopped() {
                return Ok(Some(Broken::Signal));
            }
            if wrote {
                self.notice = self.conduct.settle(*turn, self.plan.settle_ns);
            }
            if broken.is_some() {
                return Ok(broken);
            }
        }
        Ok(None)
    }

    /// Keeps a record; one that cannot be kept was measured all the same.
    fn kept(&mut self, record: Record) -> Result<(), LabError> {
        let kept = (self.keep)(Kept::Record(&record)).map_err(LabError::Keep);
        self.lost.add(&record);
        self.records.push(record);
        kept
    }

    fn slot(&mut self, turn: Turn) -> Result<Record, LabError> {
        let plan = self.plan;
        let (row, arm) = (&plan.rows[turn.row], &plan.arms[turn.arm]);
        let last = self
            .records
            .iter()
            .filter_map(place)
            .map(|trial| trial.slot);
        let slot = last.max().map_or(0, |last| last + 1);
        self.conduct.tell(&SlotPlace {
            row: &row.name,
            arm: &arm.name,
            pass: turn.pass,
            attempt: turn.attempt,
            slot,
            planned_slots: plan.most_passes.saturating_mul(slots_per_pass(plan)),
            slots_per_pass: slots_per_pass(plan),
            elapsed_ns: self.elapsed_ns(),
            budget_ns: plan.budget_ns,
        });
        let (outcome, lead_in_ns) = self.carried_out(turn);
        let mut record = match outcome {
            Ok(record) => record,
            // What the user can mend, and what never worked, is an error of the experiment and no
            // failure of a slot.
            Err(Unstarted { source, record })
                if turn.pass == 0 && record.outcome.exit_code == USAGE =>
            {
                return Err(LabError::Slot {
                    arm: arm.name.clone(),
                    row: row.name.clone(),
                    source,
                });
            }
            Err(unstarted) => *unstarted.record,
        };
        record.notices.extend(self.notice.take());
        record.trial = trial(plan, &self.written, turn, slot, lead_in_ns);
        Ok(record)
    }

    /// A turn from preparing to release, and how long its lead-in took, if its plan has one.
    fn carried_out(&mut self, turn: Turn) -> (Result<Record, Unstarted>, Option<u64>) {
        if let Err(unstarted) = self.conduct.prepare(turn) {
            return (Err(unstarted), None);
        }
        let mut lead_in_ns = None;
        let mut outcome = self.lead_in(turn, &mut lead_in_ns);
        match &mut outcome {
            Ok(record) => self.conduct.release(turn, record),
            Err(unstarted) => self.conduct.release(turn, &mut unstarted.record),
        }
        (outcome, lead_in_ns)
    }

    /// Measures a slot after its lead-in. A lead-in that fails is the failure of its slot.
    fn lead_in(&mut self, turn: Turn, took: &mut Option<u64>) -> Result<Record, Unstarted> {
        let (longest_ns, settle_ns) = (self.plan.lead_in_ns, self.plan.settle_ns);
        if longest_ns > 0 {
            let led = self.conduct.measure(turn, Work::LeadIn { longest_ns })?;
            *took = Some(led.elapsed_ns);
            if wrote(&led) {
                let left = self.conduct.settle(turn, settle_ns);
                self.notice = left.or(self.notice.take());
            }
            if !led.outcome.status.has_done_all() {
                return Ok(led);
            }
        }
        self.conduct.measure(turn, Work::Slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{
        Mock, Outcome, SLOT_NS, apart, carry_out, failed, most_steps, plan, reads, unstarted,
    };
    use record::{Operations, Status, Stopping};
    use std::collections::BTreeMap;

    const ARMS: [&str; 2] = ["base", "other"];

    fn fixed(rows: &[&str], passes: u32) -> PlanFacts {
        plan(&ARMS, rows, Stopping::Fixed, [passes, passes])
    }

    fn ended(outcome: Outcome) -> Ended {
        outcome.ended.unwrap().unwrap()
    }

    fn well(plan: &PlanFacts) -> Ended {
        let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
        ended(carry_out(plan, vec![], &mut mock, &mut |_| true))
    }

    fn trial(record: &Record) -> &Trial {
        record.trial.as_ref().unwrap()
    }

    fn wrote_some() -> Record {
        let mut out = reads(1);
        let one = Operations {
            count: 1,
            ..Operations::default()
        };
        out.operations.insert("write", one);
        out
    }

    /// Of each block the arms of its last attempt, if all of them are good.
    fn complete(records: &[Record]) -> BTreeMap<(u32, u32), BTreeSet<u32>> {
        let mut out: BTreeMap<(u32, u32), (u32, BTreeSet<u32>)> = BTreeMap::new();
        for record in records {
            let trial = trial(record);
            let block = out.entry((trial.row_number, trial.block)).or_default();
            if block.0 != trial.attempt {
                *block = (trial.attempt, BTreeSet::new());
            }
            if fault(record).is_none() {
                block.1.insert(trial.arm_number);
            }
        }
        let blocks = out.into_iter().map(|(block, (_, arms))| (block, arms));
        blocks
            .filter(|(_, arms)| arms.len() == ARMS.len())
            .collect()
    }

    #[test]
    fn every_slot_is_a_record_in_its_place_and_in_the_order_of_the_plan() {
        let plan = fixed(&["r", "s"], 3);
        let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
        let outcome = carry_out(&plan, vec![], &mut mock, &mut |_| {
            panic!("an experiment of fixed length is not looked at")
        });
        assert_eq!((outcome.plans, outcome.kept.len()), (1, 12));
        let places = mock.places.clone();
        assert_eq!(places[0], (0, 0, 12));
        assert_eq!(places[11], (11, 2, 12));
        let ended = ended(outcome);
        assert_eq!(ended.why, WhyEnded::Passes);
        let order: Vec<Turn> = (0..3)
            .flat_map(|pass| {
                rows_of_pass(&plan, pass)
                    .into_iter()
                    .map(move |row| (pass, row))
            })
            .flat_map(|(pass, row)| block(&plan, pass, row, 0))
            .collect();
        for ((slot, turn), record) in (0..).zip(order).zip(&ended.records) {
            let expected = Trial {
                plan: plan.hash(),
                arm: plan.arms[turn.arm].name.clone(),
                row: plan.rows[turn.row].name.clone(),
                block: turn.pass,
                attempt: 0,
                slot,
                role: plan.arms[turn.arm].role,
                stopping: Stopping::Fixed,
                arm_number: u32::try_from(turn.arm).unwrap(),
                row_number: u32::try_from(turn.row).unwrap(),
                planned_blocks: Some(3),
                written_plan: Some(Arc::new(plan.clone().line())),
                ..Trial::default()
            };
            assert_eq!(trial(record), &expected);
        }
    }

    #[test]
    fn a_turn_is_prepared_led_in_measured_released_and_settled() {
        let led = PlanFacts {
            lead_in_ns: 1,
            ..plan(&["a"], &["r"], Stopping::Fixed, [1, 1])
        };
        let mut mock = Mock::new(|_, _, _| Ok(wrote_some()));
        mock.left = Some("the lead-in had not settled".into());
        let ended = ended(carry_out(&led, vec![], &mut mock, &mut |_| true));
        let log = [
            "prepare 000",
            "lead 000",
            "settle 000",
            "measure 000",
            "release 000",
            "settle 000",
        ];
        assert_eq!(mock.log, log);
        assert_eq!(trial(&ended.records[0]).lead_in_ns, Some(SLOT_NS));
        assert_eq!(ended.records[0].notices, ["the lead-in had not settled"]);
        mock.log.clear();
        rehearse(&led, &mut mock, Turn::default()).unwrap();
        assert_eq!(mock.log, log, "a rehearsal takes as long as a slot");
    }

    #[test]
    fn what_was_not_written_in_time_is_said_by_the_next_slot() {
        let mut mock = Mock::new(|_, _, _| Ok(wrote_some()));
        mock.left = Some("34 MiB unwritten".into());
        let ended = ended(carry_out(&fixed(&["r"], 1), vec![], &mut mock, &mut |_| {
            true
        }));
        assert!(ended.records[0].notices.is_empty());
        assert_eq!(ended.records[1].notices, ["34 MiB unwritten"]);
    }

    #[test]
    fn only_what_leaves_something_behind_is_waited_for() {
        assert!(wrote(&wrote_some()) && !wrote(&reads(9)) && !wrote(&Record::default()));
        let warmed = Record {
            warmup: wrote_some().operations,
            ..reads(9)
        };
        let filled = Record {
            fill: Some(record::Fill {
                bytes: 1,
                ..record::Fill::default()
            }),
            ..reads(9)
        };
        let made = Record {
            load: Some(record::LoadAccount {
                setup: wrote_some().operations,
                ..record::LoadAccount::default()
            }),
            ..reads(9)
        };
        assert!(wrote(&warmed) && wrote(&filled) && wrote(&made));
    }

    #[test]
    fn an_open_experiment_is_looked_at_after_whole_passes_at_the_looks_alone() {
        let open = plan(&ARMS, &["r"], Stopping::Open, [8, 90]);
        let mut looks = Vec::new();
        let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
        let outcome = carry_out(&open, vec![], &mut mock, &mut |records| {
            looks.push(records.len());
            records.len() == 24
        });
        let why = ended(outcome).why;
        assert_eq!((looks, why), (vec![16, 20, 24], WhyEnded::Decided));
    }

    #[test]
    fn the_least_passes_run_without_a_budget_and_no_more() {
        let poor = PlanFacts {
            budget_ns: 0,
            ..plan(&ARMS, &["r"], Stopping::Open, [3, 9])
        };
        let ended = well(&poor);
        assert_eq!((ended.why, ended.records.len()), (WhyEnded::Budget, 6));
    }

    #[test]
    fn no_pass_begins_after_the_budget() {
        let budget = PlanFacts {
            budget_ns: 9 * SLOT_NS,
            ..plan(&ARMS, &["r"], Stopping::Open, [1, 9])
        };
        assert_eq!(
            well(&budget).records.len(),
            10,
            "the pass that had begun is ended"
        );
    }

    #[test]
    fn a_failed_slot_repeats_its_whole_block_under_the_same_number() {
        let mut fails = true;
        let mut mock = Mock::new(|turn, _, _| {
            let breaks = turn.pass == 1 && turn.arm == 1 && std::mem::take(&mut fails);
            Ok(if breaks {
                failed(Status::Failed, 1)
            } else {
                reads(1)
            })
        });
        let ended = ended(carry_out(&fixed(&["r"], 3), vec![], &mut mock, &mut |_| {
            true
        }));
        assert_eq!(ended.why, WhyEnded::Passes);
        let of_block = ended
            .records
            .iter()
            .filter(|record| trial(record).block == 1);
        let again: Vec<u32> = of_block
            .filter(|record| trial(record).attempt == 1)
            .map(|record| trial(record).arm_number)
            .collect();
        assert_eq!(again.len(), 2);
        assert_eq!(complete(&ended.records).len(), 3);
        let slots: Vec<u32> = ended
            .records
            .iter()
            .map(|record| trial(record).slot)
            .collect();
        assert!((0..).zip(slots).all(|(expected, slot)| expected == slot));
    }

    #[test]
    fn what_fails_every_time_ends_the_experiment_with_its_reason() {
        let mut mock = Mock::new(|turn, _, _| {
            Ok(if turn.arm == 1 {
                failed(Status::Failed, 1)
            } else {
                reads(1)
            })
        });
        let ended = ended(carry_out(&fixed(&["r"], 3), vec![], &mut mock, &mut |_| {
            true
        }));
        let why = "block 1 of r failed 3 times, the last time because other: it broke";
        assert_eq!(ended.why, WhyEnded::Failed(why.into()));
        let failed = ended
            .records
            .iter()
            .filter(|record| fault(record).is_some());
        assert_eq!(failed.count(), 3, "each failure is a record");
    }

    const THREE: [&str; 3] = ["base", "other", "third"];

    /// Slots of these cells fail, of others none.
    fn failing(cells: &'static [(usize, usize)]) -> Mock<'static> {
        Mock::new(move |turn, _, _| {
            Ok(if cells.contains(&(turn.row, turn.arm)) {
                failed(Status::Failed, 1)
            } else {
                reads(1)
            })
        })
    }

    /// Good slots by row and arm.
    fn good(ended: &Ended) -> BTreeMap<(u32, u32), usize> {
        let mut out = BTreeMap::new();
        for record in ended.records.iter().filter(|of| fault(of).is_none()) {
            let trial = trial(record);
            *out.entry((trial.row_number, trial.arm_number)).or_default() += 1;
        }
        out
    }

    #[test]
    fn a_cell_that_fails_every_time_is_left_out_by_name_and_the_others_go_on() {
        let plan = plan(&THREE, &["r", "s"], Stopping::Fixed, [3, 3]);
        let mut mock = failing(&[(1, 2)]);
        let ended = ended(carry_out(&plan, vec![], &mut mock, &mut |_| true));
        assert_eq!(ended.why, WhyEnded::Passes);
        let said = "third in s: could not run: it broke (3 of 3 attempts at block 1)";
        assert_eq!(ended.lost.len(), 1);
        assert_eq!(ended.lost[0].to_string(), said);
        let failures: Vec<&Record> = ended
            .records
            .iter()
            .filter(|record| fault(record).is_some())
            .collect();
        assert_eq!(failures.len(), 3, "it is not run again in later passes");
        let last = failures[2];
        assert_eq!(trial(last).left_out_after, 3);
        assert!(last.notices[0].contains("left out there"), "{last:?}");
        let good = good(&ended);
        assert!([(0, 0), (0, 1), (0, 2)].iter().all(|cell| good[cell] == 3));
        assert!(good[&(1, 0)] >= 3 && good[&(1, 1)] >= 3 && !good.contains_key(&(1, 2)));
    }

    #[test]
    fn a_row_without_its_baseline_or_without_others_is_closed_and_the_last_row_ends_it() {
        for cells in [&[(0, 0)][..], &[(0, 1), (0, 2)]] {
            let plan = plan(&THREE, &["r", "s"], Stopping::Fixed, [3, 3]);
            let ended = ended(carry_out(&plan, vec![], &mut failing(cells), &mut |_| true));
            assert_eq!(
                (&ended.why, ended.lost.len()),
                (&WhyEnded::Passes, cells.len())
            );
            let of_row = ended.records.iter().filter(|of| trial(of).row == "r");
            assert!(
                of_row.clone().all(|record| trial(record).block == 0),
                "nothing is measured where nothing is compared"
            );
            assert_eq!(good(&ended)[&(1, 2)], 3);
        }
        let plan = plan(&THREE, &["r", "s"], Stopping::Fixed, [3, 3]);
        let mut mock = failing(&[(0, 0), (1, 1), (1, 2)]);
        let ended = ended(carry_out(&plan, vec![], &mut mock, &mut |_| true));
        assert!(
            matches!(&ended.why, WhyEnded::Failed(why) if why.contains("failed 3 times")),
            "{ended:?}"
        );
        assert_eq!(ended.lost.len(), 3);
    }

    #[test]
    fn killed_before_any_step_what_is_left_out_stays_out_and_all_else_is_run() {
        let plan = plan(&THREE, &["r", "s"], Stopping::Fixed, [2, 2]);
        let cells: &[(usize, usize)] = &[(1, 2)];
        let whole = ended(carry_out(&plan, vec![], &mut failing(cells), &mut |_| true));
        let steps = u32::try_from(3 * whole.records.len()).unwrap();
        for killed_at in 0..steps {
            let mut first = failing(cells);
            first.killed_at = Some(killed_at);
            let begun = carry_out(&plan, vec![], &mut first, &mut |_| true);
            let ended = ended(carry_out(
                &plan,
                begun.kept,
                &mut failing(cells),
                &mut |_| true,
            ));
            assert_eq!((&ended.why, ended.lost.len()), (&WhyEnded::Passes, 1));
            let of_lost = ended
                .records
                .iter()
                .filter(|of| trial(of).left_out_after > 0);
            assert_eq!(of_lost.count(), 1, "killed at {killed_at}");
            let blocks = good(&ended);
            assert!((0..3).all(|arm| blocks[&(0, arm)] >= 2), "{blocks:?}");
            assert!((0..2).all(|arm| blocks[&(1, arm)] >= 2), "{blocks:?}");
        }
    }

    #[test]
    fn what_ended_with_nothing_left_is_tried_again_by_who_goes_on() {
        let plan = fixed(&["r"], 2);
        let broken = carry_out(&plan, vec![], &mut failing(&[(0, 1)]), &mut |_| true);
        let mut mended = Mock::new(|_, _, _| Ok(reads(1)));
        let ended = ended(carry_out(&plan, broken.kept, &mut mended, &mut |_| true));
        assert_eq!((ended.why, ended.lost.len()), (WhyEnded::Passes, 0));
        assert_eq!(complete(&ended.records).len(), 2);
    }

    #[test]
    fn a_generator_that_stands_still_leaves_no_arm_out() {
        let mut mock = Mock::new(|_, _, _| {
            let mut out = reads(1);
            out.stops.push(record::Stoppage {
                end_ns: 1,
                ..record::Stoppage::default()
            });
            Ok(out)
        });
        let ended = ended(carry_out(&fixed(&["r"], 2), vec![], &mut mock, &mut |_| {
            true
        }));
        assert!(
            matches!(&ended.why, WhyEnded::Failed(why) if why.contains("stood still")),
            "{:?}",
            ended.why
        );
        assert_eq!((ended.records.len(), ended.lost.len()), (3, 0));
    }

    #[test]
    fn a_slot_whose_ranks_began_too_far_apart_is_measured_again() {
        let run = |times: usize| {
            let mut left = times;
            let mut mock = Mock::new(move |_, _, _| {
                let is_apart = left > 0;
                left = left.saturating_sub(1);
                Ok(if is_apart { apart(reads(1)) } else { reads(1) })
            });
            ended(carry_out(&fixed(&["r"], 2), vec![], &mut mock, &mut |_| {
                true
            }))
        };
        let again = run(1);
        assert_eq!((again.why, again.lost.len()), (WhyEnded::Passes, 0));
        assert_eq!(again.records.len(), 5);
        let never = run(100);
        let why = "ranks began 2 ns apart, more than --max-skew 1 ns";
        assert!(
            matches!(&never.why, WhyEnded::Failed(said) if said.ends_with(why)),
            "{:?}",
            never.why
        );
        assert_eq!((never.records.len(), never.lost.len()), (3, 0));
    }

    #[test]
    fn what_cannot_work_is_an_error_at_first_and_a_failed_slot_later() {
        let refused = |in_pass: u32, exit_code: i32| {
            let mut mock = Mock::new(move |turn, _, _| {
                if turn.pass == in_pass && turn.arm == 1 && turn.attempt == 0 {
                    Err(unstarted(failed(Status::Failed, exit_code)))
                } else {
                    Ok(reads(1))
                }
            });
            let outcome = carry_out(&fixed(&["r"], 2), vec![], &mut mock, &mut |_| true);
            let released = mock
                .log
                .iter()
                .filter(|step| step.starts_with("release"))
                .count();
            let prepared = mock
                .log
                .iter()
                .filter(|step| step.starts_with("prepare"))
                .count();
            assert_eq!(released, prepared, "whatever was prepared is released");
            outcome.ended.unwrap()
        };
        let error = refused(0, 2).unwrap_err();
        assert_eq!(error.to_string(), "other in r: not here");
        assert!(matches!(error, LabError::Slot { .. }));
        for (in_pass, exit_code) in [(0, 1), (1, 2)] {
            let ended = refused(in_pass, exit_code).unwrap();
            let faults = ended.records.iter().filter_map(fault).count();
            assert_eq!((ended.why, faults), (WhyEnded::Passes, 1));
        }
    }

    #[test]
    fn a_record_that_cannot_be_kept_ends_it_at_once() {
        let mut calls = 0;
        let mut keep = |line: Kept<'_>| {
            calls += 1;
            match line {
                Kept::Record(_) => Err("the disk is full".into()),
                Kept::Plan(_) => Ok(()),
            }
        };
        let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
        let plan = fixed(&["r"], 3);
        let ended = run(&plan, vec![], &mut mock, &mut keep, &mut |_| true).unwrap();
        let why = WhyEnded::Failed("a record cannot be kept: the disk is full".into());
        assert_eq!((ended.why, ended.records.len(), calls), (why, 1, 2));
    }

    #[test]
    fn plans_that_say_nothing_are_refused() {
        let changes: [fn(&mut PlanFacts); 5] = [
            |plan| plan.arms.clear(),
            |plan| plan.rows.clear(),
            |plan| (plan.least_passes, plan.most_passes) = (0, 0),
            |plan| plan.least_passes = 4,
            |plan| plan.rows[0].workloads.truncate(1),
        ];
        for change in changes {
            let mut bad = fixed(&["r"], 3);
            change(&mut bad);
            let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
            let outcome = carry_out(&bad, vec![], &mut mock, &mut |_| true);
            assert!(
                matches!(outcome.ended, Some(Err(LabError::Plan(_)))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_signal_between_any_two_steps_ends_it_and_what_was_measured_is_kept() {
        let plan = fixed(&["r", "s"], 2);
        for step in 0..most_steps(&plan) {
            let mut mock = Mock::new(|_, _, _| Ok(wrote_some()));
            mock.stopped_at = Some(step);
            let outcome = carry_out(&plan, vec![], &mut mock, &mut |_| true);
            let measured = mock.log.iter().filter(|step| step.starts_with("measure"));
            assert_eq!(outcome.kept.len(), measured.count());
            let why = ended(outcome).why;
            assert!(
                matches!(why, WhyEnded::Signal | WhyEnded::Passes),
                "{why:?}"
            );
        }
    }

    #[test]
    fn killed_before_any_step_it_resumes_to_all_blocks_of_the_plan() {
        let led = PlanFacts {
            lead_in_ns: 1,
            ..fixed(&["r", "s"], 3)
        };
        for killed_at in 0..most_steps(&led) {
            let mut first = Mock::new(|_, _, _| Ok(wrote_some()));
            first.killed_at = Some(killed_at);
            let begun = carry_out(&led, vec![], &mut first, &mut |_| true);
            let measured = first.log.iter().filter(|step| step.starts_with("measure"));
            assert!(
                measured.count() <= begun.kept.len() + 1,
                "one slot is lost at most"
            );
            let mut second = Mock::new(|_, _, _| Ok(wrote_some()));
            let resumed = carry_out(&led, begun.kept.clone(), &mut second, &mut |_| true);
            let (plans, new) = (resumed.plans, resumed.kept.len());
            let ended = ended(resumed);
            assert_eq!(ended.why, WhyEnded::Passes);
            assert_eq!(
                plans,
                usize::from(begun.kept.is_empty()),
                "the plan is kept once"
            );
            assert_eq!(
                ended.records[..begun.kept.len()],
                begun.kept,
                "killed at {killed_at}"
            );
            assert_eq!(complete(&ended.records).len(), 6, "killed at {killed_at}");
            // All that is measured again is the block that was under way.
            assert!(ended.records.len() <= 12 + 1 && new <= 12);
            let slots: BTreeSet<u32> = ended
                .records
                .iter()
                .map(|record| trial(record).slot)
                .collect();
            assert_eq!(
                slots.len(),
                ended.records.len(),
                "no slot has the number of another"
            );
        }
    }

    #[test]
    fn a_resumed_block_is_drawn_anew_and_interruptions_are_no_failures() {
        let plan = fixed(&["r"], 1);
        let mut done: Vec<Record> = Vec::new();
        for interruptions in 1..=5 {
            let mut mock = Mock::new(|_, _, _| Ok(failed(Status::Interrupted, 130)));
            mock.stopped_at = Some(2);
            let outcome = carry_out(&plan, done.clone(), &mut mock, &mut |_| true);
            done.extend(outcome.kept);
            assert_eq!(trial(done.last().unwrap()).attempt, interruptions - 1);
        }
        let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
        let ended = ended(carry_out(&plan, done, &mut mock, &mut |_| true));
        assert_eq!(ended.why, WhyEnded::Passes);
        let last = &ended.records[5..];
        let expected: Vec<usize> = block(&plan, 0, 0, 5).iter().map(|turn| turn.arm).collect();
        let arms: Vec<usize> = last
            .iter()
            .map(|record| trial(record).arm_number as usize)
            .collect();
        assert_eq!(arms, expected);
    }

    #[test]
    fn a_look_that_was_passed_is_not_taken_again_and_one_that_was_missed_is() {
        let open = plan(&ARMS, &["r"], Stopping::Open, [8, 90]);
        let all = well(&fixed(&["r"], 9)).records;
        let mut of_plan = all.clone();
        for record in &mut of_plan {
            record.trial.as_mut().unwrap().plan = open.hash();
        }
        for (done, expected) in [(16, 16), (18, 20)] {
            let mut looks = Vec::new();
            let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
            let before = of_plan[..done].to_vec();
            carry_out(&open, before, &mut mock, &mut |records| {
                looks.push(records.len());
                true
            });
            assert_eq!(looks, [expected], "after {done} slots");
        }
        let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
        let other = carry_out(&open, all, &mut mock, &mut |_| true);
        assert_eq!(
            ended(other).records.len(),
            16,
            "records of other plans do not count"
        );
    }

    #[test]
    fn what_was_spent_before_counts_for_the_budget() {
        let budget = PlanFacts {
            budget_ns: 6 * SLOT_NS,
            ..plan(&ARMS, &["r"], Stopping::Open, [1, 9])
        };
        let mut mock = Mock::new(|_, _, _| Ok(reads(1)));
        mock.stopped_at = Some(9);
        let begun = carry_out(&budget, vec![], &mut mock, &mut |_| false);
        assert_eq!(begun.kept.len(), 3);
        let mut again = Mock::new(|_, _, _| Ok(reads(1)));
        let ended = ended(carry_out(&budget, begun.kept, &mut again, &mut |_| false));
        assert_eq!((ended.why, ended.records.len()), (WhyEnded::Budget, 7));
    }

    /// Ratios of the second arm to the first, as logarithms by block.
    fn ratios(records: &[Record]) -> Vec<f64> {
        let mut blocks: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
        for record in records {
            let count = units::lossless::u64_to_f64(record.operations.count());
            let trial = trial(record);
            blocks.entry(trial.block).or_default()[trial.arm_number as usize] = count.ln();
        }
        blocks
            .into_values()
            .map(|[base, other]| other - base)
            .collect()
    }

    #[test]
    fn drift_is_no_difference_and_hides_none() {
        for (slower, expected) in [(0.0, 0.0), (0.1, 0.9_f64.ln())] {
            // Every slot is 1 % slower than the one before.
            let mut mock = Mock::new(|turn, _, step| {
                let drift = 0.99_f64.powi(i32::try_from(step / 3).unwrap());
                let own = if turn.arm == 1 { 1.0 - slower } else { 1.0 };
                let count = 1e9 * drift * own;
                Ok(reads(units::lossless::f64_to_u64_saturating(count)))
            });
            let outcome = carry_out(&fixed(&["r"], 60), vec![], &mut mock, &mut |_| true);
            let found = stats::hodges_lehmann(&ratios(&ended(outcome).records), 0.95);
            assert!(
                found.low <= expected && expected <= found.high,
                "{slower}: {found:?}"
            );
            assert_eq!(found.high < 0.0, slower > 0.0, "{slower}: {found:?}");
        }
    }
}
