//! A plan carried out, slot by slot.

use crate::plan::{Plan, Turn};
use crate::ready::ready;
use crate::{drain, lead_in};
use host::{Context, Event, SlotPlace, Watch};
use record::{PlanLine, Record, Status, Trial};
use run::{RunError, execute, unstarted};
use std::sync::Arc;
use sys::Clock;
use workload::Phase;

/// How often a block is begun before the experiment ends: what fails three times in a row fails for
/// a reason that a fourth will not mend.
pub const MOST_ATTEMPTS: u32 = 3;

/// An experiment that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Of every slot, in the order in which they ran.
    pub records: Vec<Record>,
    pub why: WhyEnded,
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
    /// A block failed in every attempt: which, and the last reason.
    Failed(String),
}

/// What is kept of an experiment, in this order: its plan, then every record.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    Plan(&'a PlanLine),
    Record(&'a Record),
}

/// Why a caller cannot keep a record.
pub type KeepError = Box<dyn std::error::Error + Send + Sync>;

/// The experiment cannot work, or its records would be lost; what was measured until then has been
/// kept.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// An arm cannot work on this target or machine, which its first slot shows.
    #[error("{arm} in {row}: {source}")]
    Slot {
        arm: String,
        row: String,
        source: Box<RunError>,
    },
    /// What cannot be kept is not measured any further.
    #[error("a record cannot be kept: {0}")]
    Keep(#[source] KeepError),
    /// A plan without arms, rows or passes, with another number of workloads than arms, or whose
    /// files do not fit.
    #[error("{0}")]
    Plan(String),
}

/// Carries out a plan. The plan goes to `keep` before the first slot, every record before the next
/// slot begins. `decided` is asked at the looks that the plan permits, with all records so far;
/// where it says yes, the experiment ends.
///
/// # Errors
/// The plan cannot begin, or a record cannot be kept.
pub fn run(
    plan: &Plan,
    context: &Context,
    watch: &mut dyn Watch,
    keep: &mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
    decided: &mut dyn FnMut(&[Record]) -> bool,
) -> Result<Ended, LabError> {
    check(plan)?;
    ready(plan, context)?;
    let start = context.clock.now();
    let written = Arc::new(plan.facts().line());
    keep(Kept::Plan(&written)).map_err(LabError::Keep)?;
    let mut course = Course {
        plan,
        written,
        context,
        start,
        watch,
        keep,
        records: Vec::new(),
        notice: None,
    };
    let why = course.passes(decided)?;
    Ok(Ended {
        records: course.records,
        why,
    })
}

fn check(plan: &Plan) -> Result<(), LabError> {
    let bad = |text: String| Err(LabError::Plan(text));
    if plan.arms.is_empty() || plan.rows.is_empty() || plan.most_passes == 0 {
        return bad(format!(
            "the experiment {:?} has no arms, no rows or no passes",
            plan.name
        ));
    }
    if plan.least_passes > plan.most_passes {
        return bad(format!(
            "the experiment {:?} has at least {} and at most {} passes",
            plan.name, plan.least_passes, plan.most_passes
        ));
    }
    match plan
        .rows
        .iter()
        .find(|row| row.workloads.len() != plan.arms.len())
    {
        Some(row) => bad(format!(
            "row {:?} has {} workloads for {} arms",
            row.name,
            row.workloads.len(),
            plan.arms.len()
        )),
        None => Ok(()),
    }
}

struct Course<'a> {
    plan: &'a Plan,
    written: Arc<PlanLine>,
    context: &'a Context,
    start: u64,
    watch: &'a mut dyn Watch,
    keep: &'a mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
    records: Vec<Record>,
    /// What the record of the next slot has to say of the time before it.
    notice: Option<String>,
}

/// How a block ended before it was complete.
enum Broken {
    Failed(String),
    Signal,
}

impl Course<'_> {
    fn passes(&mut self, decided: &mut dyn FnMut(&[Record]) -> bool) -> Result<WhyEnded, LabError> {
        for pass in 0..self.plan.most_passes {
            if pass >= self.plan.least_passes && self.elapsed() >= self.plan.budget_ns {
                return Ok(WhyEnded::Budget);
            }
            for block in self.plan.order(pass).chunks(self.plan.arms.len()) {
                match self.block(block)? {
                    None => {}
                    Some(Broken::Failed(why)) => return Ok(WhyEnded::Failed(why)),
                    Some(Broken::Signal) => return Ok(WhyEnded::Signal),
                }
            }
            if self.plan.may_look(pass + 1) && decided(&self.records) {
                return Ok(WhyEnded::Decided);
            }
        }
        Ok(WhyEnded::Passes)
    }

    fn elapsed(&self) -> u64 {
        self.context.clock.now().saturating_sub(self.start)
    }

    /// Runs a block until it is complete; `None` if it is.
    fn block(&mut self, first: &[Turn]) -> Result<Option<Broken>, LabError> {
        let Some(Turn { pass, row, .. }) = first.first().copied() else {
            return Ok(None);
        };
        let mut last_failure = String::new();
        for attempt in 0..MOST_ATTEMPTS {
            let order = if attempt == 0 {
                first.to_vec()
            } else {
                self.plan.block(pass, row, attempt)
            };
            match self.attempt(&order)? {
                Some(Broken::Failed(why)) => last_failure = why,
                other @ (None | Some(Broken::Signal)) => return Ok(other),
            }
        }
        let row = &self.plan.rows[row].name;
        Ok(Some(Broken::Failed(format!(
            "block {} of {row} failed {MOST_ATTEMPTS} times, the last time because {last_failure}",
            pass + 1
        ))))
    }

    fn attempt(&mut self, order: &[Turn]) -> Result<Option<Broken>, LabError> {
        for turn in order {
            if sys::caught_signal().is_some() {
                return Ok(Some(Broken::Signal));
            }
            let record = self.slot(*turn)?;
            let (status, message) = (record.outcome.status, record.outcome.message.clone());
            let stopped = record.longest_stop_ns();
            (self.keep)(Kept::Record(&record)).map_err(LabError::Keep)?;
            let wrote = drain::wrote(&record);
            self.records.push(record);
            if sys::caught_signal().is_some() {
                return Ok(Some(Broken::Signal));
            }
            if wrote {
                let workload = &self.plan.rows[turn.row].workloads[turn.arm];
                self.notice = drain::settle(workload, self.context, self.plan.settle_ns);
            }
            if status == Status::Ok && stopped > 0 {
                let arm = &self.plan.arms[turn.arm].name;
                let time = units::Nanos(stopped);
                return Ok(Some(Broken::Failed(format!(
                    "{arm}: the generator itself stood still for {time}"
                ))));
            }
            if status != Status::Ok {
                let arm = &self.plan.arms[turn.arm].name;
                return Ok(Some(Broken::Failed(format!(
                    "{arm}: {}",
                    message.unwrap_or_else(|| "its run did not end well".into())
                ))));
            }
        }
        Ok(None)
    }

    fn slot(&mut self, turn: Turn) -> Result<Record, LabError> {
        let plan = self.plan;
        let (row, arm) = (&plan.rows[turn.row], &plan.arms[turn.arm]);
        let slot = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        self.watch.on(&Event::Slot(SlotPlace {
            row: &row.name,
            arm: &arm.name,
            pass: turn.pass,
            attempt: turn.attempt,
            slot,
            planned_slots: plan.most_passes.saturating_mul(plan.slots_per_pass()),
            slots_per_pass: plan.slots_per_pass(),
            elapsed_ns: self.elapsed(),
            budget_ns: plan.budget_ns,
        }));
        let mut workload = row.workloads[turn.arm].clone();
        if !workload.verify.on {
            // All arms of a block draw the same operations, every block others. What is verified
            // was written from the seed that it has.
            workload.seed = workload.seed.wrapping_add(u64::from(turn.pass));
        }
        let phase = Phase {
            name: row.name.clone(),
            workload,
        };
        let led = self.lead_in(&phase, turn)?;
        let lead_in_ns = led.as_ref().map(|led| led.elapsed_ns);
        // A lead-in that fails is the failure of its slot.
        let mut record = match led.filter(|led| led.outcome.status != Status::Ok) {
            Some(failed) => failed,
            None => self.executed(&phase, turn)?,
        };
        record.notices.extend(self.notice.take());
        record.trial = Some(Trial {
            plan: self.written.hash.clone(),
            arm: arm.name.clone(),
            row: row.name.clone(),
            block: turn.pass,
            slot,
            role: arm.role,
            stopping: plan.stopping,
            arm_number: u32::try_from(turn.arm).unwrap_or(u32::MAX),
            row_number: u32::try_from(turn.row).unwrap_or(u32::MAX),
            planned_blocks: Some(plan.most_passes),
            lead_in_ns,
            written_plan: Some(Arc::clone(&self.written)),
        });
        Ok(record)
    }

    /// Runs the lead-in of a slot, if its plan has one, and waits for what it wrote.
    fn lead_in(&mut self, slot: &Phase, turn: Turn) -> Result<Option<Record>, LabError> {
        let Some(workload) = lead_in::of(&slot.workload, self.plan.lead_in_ns) else {
            return Ok(None);
        };
        let phase = Phase {
            name: slot.name.clone(),
            workload,
        };
        let record = self.executed(&phase, turn)?;
        if drain::wrote(&record) {
            let left = drain::settle(&phase.workload, self.context, self.plan.settle_ns);
            self.notice = left.or(self.notice.take());
        }
        Ok(Some(record))
    }

    fn executed(&mut self, phase: &Phase, turn: Turn) -> Result<Record, LabError> {
        match execute(phase, self.context, &mut *self.watch) {
            Ok(record) => Ok(record),
            // What the user can mend, and what never worked, is an error of the experiment and no
            // failure of a slot.
            Err(source) if turn.pass == 0 && source.exit_code() == 2 => Err(LabError::Slot {
                arm: self.plan.arms[turn.arm].name.clone(),
                row: self.plan.rows[turn.row].name.clone(),
                source: Box::new(source),
            }),
            Err(error) => Ok(unstarted(phase, self.context, &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arm, Row};
    use host::Machine;
    use host::NoWatch;
    use record::{Calibration, FathomVersion, Role, Stopping};
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;
    use sys::MachineClock;
    use workload::{Workload, settings};

    fn context() -> Context {
        Context {
            clock: MachineClock::monotonic(),
            machine: Machine::at(Path::new("/")),
            fathom: FathomVersion::default(),
            calibration: Calibration::default(),
            interval_ns: 1_000_000_000,
            target: None,
        }
    }

    fn workload(options: &[(&str, &str)]) -> Workload {
        let mut out = Workload::default();
        for (key, value) in options {
            settings::apply(&mut out, key, value).unwrap();
        }
        out
    }

    fn sim(model: &str) -> Workload {
        workload(&[
            ("engine", "sim"),
            ("sim-model", model),
            ("file-size", "1M"),
            ("total-bytes", "64K"),
        ])
    }

    fn plan(rows: &[&str], stopping: Stopping, passes: [u32; 2]) -> Plan {
        let arm = |name: &str, role| Arm {
            name: name.into(),
            role,
        };
        Plan {
            name: "test".into(),
            arms: vec![arm("base", Role::Baseline), arm("other", Role::Candidate)],
            rows: rows
                .iter()
                .map(|name| Row {
                    name: (*name).into(),
                    workloads: vec![sim("latency=10us"), sim("latency=20us")],
                })
                .collect(),
            stopping,
            least_passes: passes[0],
            most_passes: passes[1],
            budget_ns: u64::MAX,
            settle_ns: 0,
            lead_in_ns: 0,
            seed: 3,
            question: None,
        }
    }

    fn run_all(
        plan: &Plan,
        keep: &mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
        decided: &mut dyn FnMut(&[Record]) -> bool,
    ) -> Ended {
        run(plan, &context(), &mut NoWatch, keep, decided).unwrap()
    }

    fn trial(record: &Record) -> &Trial {
        record.trial.as_ref().unwrap()
    }

    #[test]
    fn every_slot_is_a_record_in_its_place_and_in_the_order_of_the_plan() {
        let plan = plan(&["r", "s"], Stopping::Fixed, [3, 3]);
        let mut kept = Vec::new();
        let ended = run_all(
            &plan,
            &mut |line| {
                kept.push(match line {
                    Kept::Plan(plan) => plan.hash.clone(),
                    Kept::Record(record) => record.id.clone(),
                });
                Ok(())
            },
            &mut |_| panic!("an experiment of fixed length is not looked at"),
        );
        assert_eq!(
            (ended.why, ended.records.len(), kept.len()),
            (WhyEnded::Passes, 12, 13)
        );
        assert_eq!(kept[0], plan.hash(), "the plan comes first");
        let order: Vec<Turn> = (0..3).flat_map(|pass| plan.order(pass)).collect();
        for ((slot, turn), record) in (0..).zip(order).zip(&ended.records) {
            let expected = Trial {
                plan: plan.hash(),
                arm: plan.arms[turn.arm].name.clone(),
                row: plan.rows[turn.row].name.clone(),
                block: turn.pass,
                slot,
                role: plan.arms[turn.arm].role,
                stopping: Stopping::Fixed,
                arm_number: u32::try_from(turn.arm).unwrap(),
                row_number: u32::try_from(turn.row).unwrap(),
                planned_blocks: Some(3),
                lead_in_ns: None,
                written_plan: Some(Arc::new(plan.facts().line())),
            };
            assert_eq!(trial(record), &expected);
        }
    }

    #[test]
    fn with_lead_ins_every_slot_follows_its_own_arm_and_only_slots_are_records() {
        let led = Plan {
            lead_in_ns: 1_000_000,
            ..plan(&["r"], Stopping::Fixed, [3, 3])
        };
        let ended = run_all(&led, &mut |_| Ok(()), &mut |_| true);
        assert_eq!((ended.why, ended.records.len()), (WhyEnded::Passes, 6));
        // 16 operations of 10 and of 20 us: each lead-in is the work of its own slot.
        for record in &ended.records {
            let took = trial(record).lead_in_ns.unwrap();
            assert!(
                took >= record.elapsed_ns / 2,
                "{took} {}",
                record.elapsed_ns
            );
            assert_eq!(record.operations.kind("read").unwrap().count, 16);
        }
    }

    #[test]
    fn arms_of_a_block_share_a_seed_and_blocks_do_not() {
        let ended = run_all(
            &plan(&["r"], Stopping::Fixed, [4, 4]),
            &mut |_| Ok(()),
            &mut |_| true,
        );
        let mut seeds: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for record in &ended.records {
            seeds
                .entry(trial(record).block)
                .or_default()
                .insert(record.effective["seed"].clone());
        }
        assert!(
            seeds.values().all(|of_block| of_block.len() == 1),
            "{seeds:?}"
        );
        assert_eq!(
            seeds.into_values().flatten().collect::<BTreeSet<_>>().len(),
            4
        );
    }

    #[test]
    fn an_open_experiment_is_looked_at_after_whole_passes_at_the_looks_alone() {
        let mut looks = Vec::new();
        let ended = run_all(
            &plan(&["r"], Stopping::Open, [8, 90]),
            &mut |_| Ok(()),
            &mut |records| {
                looks.push(records.len());
                records.len() == 24
            },
        );
        assert_eq!((looks, ended.why), (vec![16, 20, 24], WhyEnded::Decided));
    }

    #[test]
    fn the_least_passes_run_without_a_budget_and_no_more() {
        let ended = run_all(
            &Plan {
                budget_ns: 0,
                ..plan(&["r"], Stopping::Open, [3, 9])
            },
            &mut |_| Ok(()),
            &mut |_| false,
        );
        assert_eq!((ended.why, ended.records.len()), (WhyEnded::Budget, 6));
    }

    #[test]
    fn a_failed_slot_repeats_its_whole_block_under_the_same_number() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        std::fs::create_dir(&place).unwrap();
        let mut plan = plan(&["r"], Stopping::Fixed, [3, 3]);
        plan.rows[0].workloads[1] = Workload {
            targets: vec![place.join("f")],
            ..workload(&[("file-size", "64K"), ("total-bytes", "64K")])
        };
        let mut away = false;
        let ended = run_all(
            &plan,
            &mut |line| {
                let Kept::Record(record) = line else {
                    return Ok(());
                };
                if record.outcome.status != Status::Ok {
                    std::fs::create_dir(&place)?;
                } else if trial(record).block == 0 && std::mem::replace(&mut away, true) {
                    std::fs::remove_dir_all(&place)?;
                }
                Ok(())
            },
            &mut |_| true,
        );
        assert_eq!(ended.why, WhyEnded::Passes);
        let of_block: Vec<(&str, Status)> = ended
            .records
            .iter()
            .filter(|r| trial(r).block == 1)
            .map(|r| (trial(r).arm.as_str(), r.outcome.status))
            .collect();
        let failed = of_block
            .iter()
            .position(|(_, status)| *status != Status::Ok)
            .expect("the directory was away");
        assert_eq!(of_block[failed], ("other", Status::Failed));
        let again: BTreeSet<&str> = of_block[failed + 1..].iter().map(|(arm, _)| *arm).collect();
        assert_eq!(
            (again.len(), of_block.len()),
            (2, failed + 3),
            "{of_block:?}"
        );
        assert!(
            (0..)
                .zip(&ended.records)
                .all(|(slot, record)| trial(record).slot == slot),
            "every attempt takes slots of its own"
        );
    }

    #[test]
    fn what_fails_every_time_ends_the_experiment_with_its_reason() {
        let mut plan = plan(&["r"], Stopping::Fixed, [3, 3]);
        plan.rows[0].workloads[1] = sim("latency=10us,error-every=3");
        let ended = run_all(&plan, &mut |_| Ok(()), &mut |_| true);
        let WhyEnded::Failed(why) = ended.why else {
            panic!("{:?}", ended.why)
        };
        assert!(
            why.starts_with("block 1 of r failed 3 times, the last time because other: "),
            "{why}"
        );
        let failed = ended
            .records
            .iter()
            .filter(|record| record.outcome.status != Status::Ok)
            .count();
        assert_eq!(failed, 3, "each failure is a record");
    }

    #[test]
    fn an_arm_that_cannot_work_is_an_error_and_not_a_failure() {
        let mut plan = plan(&["r"], Stopping::Fixed, [3, 3]);
        plan.rows[0].workloads[1] = Workload {
            targets: vec!["/no/such/place/f".into()],
            ..Workload::default()
        };
        let error = run(
            &plan,
            &context(),
            &mut NoWatch,
            &mut |_| Ok(()),
            &mut |_| true,
        )
        .unwrap_err();
        assert!(
            matches!(&error, LabError::Slot { arm, row, source } if arm == "other" && row == "r" && source.exit_code() == 2),
            "{error}"
        );
    }

    #[test]
    fn a_record_that_cannot_be_kept_ends_it_at_once() {
        let mut calls = 0;
        let mut keep = |line: Kept<'_>| {
            calls += 1;
            if let Kept::Record(_) = line {
                Err("the disk is full".into())
            } else {
                Ok(())
            }
        };
        let error = run(
            &plan(&["r"], Stopping::Fixed, [3, 3]),
            &context(),
            &mut NoWatch,
            &mut keep,
            &mut |_| true,
        )
        .unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), calls),
            ("a record cannot be kept: the disk is full", 2)
        );
    }

    #[test]
    fn plans_that_say_nothing_are_refused() {
        let good = plan(&["r"], Stopping::Fixed, [3, 3]);
        for bad in [
            Plan {
                arms: vec![],
                ..good.clone()
            },
            Plan {
                rows: vec![],
                ..good.clone()
            },
            Plan {
                most_passes: 0,
                least_passes: 0,
                ..good.clone()
            },
            Plan {
                least_passes: 4,
                ..good.clone()
            },
            Plan {
                rows: vec![Row {
                    name: "r".into(),
                    workloads: vec![sim("latency=1us")],
                }],
                ..good.clone()
            },
        ] {
            let outcome = run(&bad, &context(), &mut NoWatch, &mut |_| Ok(()), &mut |_| {
                true
            });
            assert!(matches!(outcome, Err(LabError::Plan(_))), "{bad:?}");
        }
    }

    #[test]
    fn the_watch_hears_of_every_slot_before_it_begins() {
        struct Told(Vec<(u32, u32, u32)>);
        impl Watch for Told {
            fn on(&mut self, event: &Event<'_>) {
                if let Event::Slot(place) = event {
                    self.0.push((place.slot, place.pass, place.planned_slots));
                }
            }
        }
        let mut told = Told(Vec::new());
        run(
            &plan(&["r"], Stopping::Fixed, [2, 2]),
            &context(),
            &mut told,
            &mut |_| Ok(()),
            &mut |_| true,
        )
        .unwrap();
        assert_eq!(told.0, [(0, 0, 4), (1, 0, 4), (2, 1, 4), (3, 1, 4)]);
    }
}
