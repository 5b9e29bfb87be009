//! What a slot says, done.

use crate::drain::Drain;
use crate::works::Works;
use crate::{Generator, Row};
use host::{Context, Event, Watch};
use lab::{Conduct, Turn, Unstarted, Work};
use record::{Record, SlotPlace};
use sys::Clock;

/// Does the tasks of rows on this machine.
pub struct Conductor<'a> {
    rows: &'a [Row],
    context: &'a Context,
    watch: &'a mut dyn Watch,
    began: u64,
    works: Works<'a>,
    drain: Drain,
}

impl<'a> Conductor<'a> {
    pub fn new(rows: &'a [Row], context: &'a Context, watch: &'a mut dyn Watch) -> Self {
        Self {
            rows,
            context,
            watch,
            began: context.clock.now(),
            works: Works::default(),
            drain: Drain::default(),
        }
    }

    /// With another than this process to measure runs.
    #[must_use]
    pub(crate) fn by(self, generator: &'a mut dyn Generator) -> Self {
        let works = Works::by(generator);
        Self { works, ..self }
    }
}

impl Conduct for Conductor<'_> {
    fn tell(&mut self, place: &SlotPlace<'_>) {
        self.watch.on(&Event::Slot(*place));
    }

    fn elapsed_ns(&self) -> u64 {
        self.context.clock.now().saturating_sub(self.began)
    }

    fn is_stopped(&self) -> bool {
        sys::caught_signal().is_some()
    }

    fn obstacle(&mut self) -> Option<String> {
        self.works.obstacle()
    }

    fn prepare(&mut self, turn: Turn) -> Result<(), Unstarted> {
        self.drain.begin(&self.context.machine);
        let task = self.rows[turn.row].tasks[turn.arm].in_pass(turn.pass);
        self.works.make(&task, self.context, &mut *self.watch)
    }

    fn measure(&mut self, turn: Turn, work: Work) -> Result<Record, Unstarted> {
        let row = &self.rows[turn.row];
        let task = &row.tasks[turn.arm];
        self.works
            .measure(&row.name, task, turn, work, self.context, &mut *self.watch)
    }

    fn release(&mut self, _turn: Turn, record: &mut Record) {
        self.works.remove(record);
    }

    fn settle(&mut self, turn: Turn, longest_ns: u64) -> Option<String> {
        let task = &self.rows[turn.row].tasks[turn.arm];
        let (drain, context) = (&mut self.drain, self.context);
        let mut own = || drain.settle(task, context, longest_ns);
        self.works.settle(longest_ns, &mut own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Task};
    use host::{Machine, NoWatch};
    use lab::{Ended, Kept, LabError, WhyEnded};
    use record::{Calibration, FathomVersion, PlanFacts, PlannedArm, Role, Status};
    use run::RunError;
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
            common_start: None,
            snapshots: None,
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

    /// Three blocks of two arms.
    fn experiment(workloads: [Workload; 2], lead_in_ns: u64) -> Experiment {
        let arm = |name: &str, role| PlannedArm {
            name: name.into(),
            role,
            ..PlannedArm::default()
        };
        let plan = PlanFacts {
            name: "test".into(),
            least_passes: 3,
            most_passes: 3,
            budget_ns: u64::MAX,
            lead_in_ns,
            seed: 3,
            arms: vec![arm("base", Role::Baseline), arm("other", Role::Candidate)],
            ..PlanFacts::default()
        };
        let row = Row {
            name: "r".into(),
            tasks: workloads
                .map(|workload| Task::Run(Box::new(workload)))
                .into(),
        };
        Experiment::new(plan, vec![row])
    }

    fn models() -> [Workload; 2] {
        [sim("latency=10us"), sim("latency=20us")]
    }

    fn run(
        experiment: &Experiment,
        keep: &mut dyn FnMut(Kept<'_>) -> Result<(), lab::KeepError>,
    ) -> Result<Ended, LabError> {
        experiment.run(&context(), &mut NoWatch, keep, &mut |_| true)
    }

    fn trial(record: &Record) -> &record::Trial {
        record.trial.as_ref().unwrap()
    }

    #[test]
    fn any_change_of_an_experiment_changes_the_hash_of_its_plan_and_none_keeps_it() {
        let changes: [fn(&mut [Workload; 2]); 3] = [
            |workloads| workloads[1].queue_depth = 7,
            |workloads| workloads[1].targets.push("/x".into()),
            |workloads| workloads.swap(0, 1),
        ];
        let hash = |workloads| experiment(workloads, 1).plan.hash();
        assert_eq!(hash(models()), hash(models()));
        let mut seen = BTreeSet::from([hash(models())]);
        for (index, change) in changes.iter().enumerate() {
            let mut changed = models();
            change(&mut changed);
            assert!(seen.insert(hash(changed)), "change {index} is not seen");
        }
        assert!(seen.insert(experiment(models(), 2).plan.hash()));
    }

    #[test]
    fn with_lead_ins_every_slot_follows_its_own_arm_and_only_slots_are_records() {
        let ended = run(&experiment(models(), 1_000_000), &mut |_| Ok(())).unwrap();
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
    fn arms_of_a_block_are_run_with_one_seed_and_blocks_with_others() {
        let ended = run(&experiment(models(), 0), &mut |_| Ok(())).unwrap();
        let mut seeds: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for record in &ended.records {
            let of_block = seeds.entry(trial(record).block).or_default();
            of_block.insert(record.effective["seed"].clone());
        }
        assert!(
            seeds.values().all(|of_block| of_block.len() == 1),
            "{seeds:?}"
        );
        let all: BTreeSet<String> = seeds.into_values().flatten().collect();
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn a_target_that_is_away_for_a_slot_is_a_failed_record_and_a_block_again() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        std::fs::create_dir(&place).unwrap();
        let file = Workload {
            targets: vec![place.join("f")],
            ..workload(&[("file-size", "64K"), ("total-bytes", "64K")])
        };
        let mut away = false;
        let [base, _] = models();
        let ended = run(&experiment([base, file], 0), &mut |line| {
            let Kept::Record(record) = line else {
                return Ok(());
            };
            if record.outcome.status != Status::Ok {
                std::fs::create_dir(&place)?;
            } else if trial(record).block == 0 && std::mem::replace(&mut away, true) {
                std::fs::remove_dir_all(&place)?;
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(ended.why, WhyEnded::Passes);
        let failed = |record: &&Record| record.outcome.status == Status::Failed;
        let failed: Vec<&Record> = ended.records.iter().filter(failed).collect();
        assert_eq!(failed.len(), 1);
        let (block, arm) = (trial(failed[0]).block, trial(failed[0]).arm.as_str());
        assert_eq!((block, arm), (1, "other"));
        let again = ended.records.iter().map(trial);
        assert_eq!(again.filter(|trial| trial.attempt == 1).count(), 2);
    }

    #[test]
    fn an_arm_that_cannot_work_is_an_error_and_not_a_failure() {
        let [base, _] = models();
        let nowhere = Workload {
            targets: vec!["/no/such/place/f".into()],
            ..Workload::default()
        };
        let error = run(&experiment([base, nowhere], 0), &mut |_| Ok(())).unwrap_err();
        let LabError::Slot { arm, row, source } = error else {
            panic!("{error}")
        };
        assert_eq!((arm.as_str(), row.as_str()), ("other", "r"));
        let source = source.downcast::<RunError>().unwrap();
        assert_eq!(source.exit_code(), 2);
    }
}
