//! What an arm does in a row.

use crate::command::CommandTask;
use lab::RepeatFor;
use object::LoadPlan;
use record::{Measurable, NeverMeasured, PlannedWorkload};
use std::collections::BTreeMap;
use std::path::PathBuf;
use units::{Nanos, Rate};
use workload::{Workload, settings};

/// Far from the seeds of the blocks: a lead-in must not bring into the cache just what its slot
/// will ask for.
const SEEDS_AWAY: u64 = 1 << 40;

/// What a repetition of a command counts as.
pub(crate) const COMMAND: &str = "run";

/// The work of an arm in a row.
#[derive(Clone, Debug)]
pub enum Task {
    Run(Box<Workload>),
    Load(Box<LoadTask>),
    Command(Box<CommandTask>),
}

/// A load, and what was asked of it by the names of flags.
#[derive(Clone, Debug)]
pub struct LoadTask {
    pub plan: LoadPlan,
    pub asked: BTreeMap<String, String>,
}

impl LoadTask {
    /// The same load at so many turns a second, for this time.
    #[must_use]
    pub fn at_rate(&self, per_second: f64, for_ns: u64) -> Self {
        let mut out = self.clone();
        out.plan = out.plan.at_rate(per_second, for_ns, None);
        out.plan.step_per_second = Some(per_second);
        out
    }
}

impl From<Workload> for Task {
    fn from(workload: Workload) -> Self {
        Self::Run(Box::new(workload))
    }
}

impl Task {
    /// The task as a plan keeps it.
    #[must_use]
    pub fn planned(&self) -> PlannedWorkload {
        match self {
            Self::Run(workload) => PlannedWorkload {
                targets: workload
                    .targets
                    .iter()
                    .map(|target| target.display().to_string())
                    .collect(),
                options: shown(workload),
            },
            Self::Load(task) => {
                let mut options = task.plan.effective();
                let target = options.remove("target");
                PlannedWorkload {
                    targets: target.into_iter().collect(),
                    options,
                }
            }
            Self::Command(task) => PlannedWorkload {
                targets: vec![task.spec.command.join(" ")],
                options: BTreeMap::new(),
            },
        }
    }

    /// The time of a slot, where the task has one.
    #[must_use]
    pub fn slot_ns(&self) -> Option<u64> {
        match self {
            Self::Run(workload) => {
                let measured = workload.stop.duration?;
                (!workload.runs_to_completion()).then_some(measured.0 + workload.stop.warmup.0)
            }
            Self::Load(task) => {
                let plan = &task.plan;
                let whole_ns = plan
                    .scenario
                    .course()
                    .total_ns()
                    .saturating_add(plan.warmup_ns);
                plan.iterations.is_none().then_some(whole_ns)
            }
            Self::Command(task) => match task.spec.repeat {
                RepeatFor::Nanos(ns) => Some(ns),
                RepeatFor::Times(_) => None,
            },
        }
    }

    /// What its record will be able to give numbers of, as far as the task decides it.
    #[must_use]
    pub fn measurable(&self) -> Measurable {
        match self {
            Self::Run(workload) => measurable(workload),
            Self::Load(task) => task.plan.measurable(),
            Self::Command(task) => {
                let read = task.spec.read.iter();
                // An importer names what it finds.
                let names = read.map(|value| (!value.name.is_empty()).then(|| value.name.clone()));
                let of_command = Measurable {
                    stated: names.collect(),
                    most_operations: match task.spec.repeat {
                        RepeatFor::Times(times) => Some(u64::from(times)),
                        RepeatFor::Nanos(_) => None,
                    },
                    ..Measurable::of_kinds([COMMAND])
                };
                of_command
                    .without(NeverMeasured::Requests)
                    .without(NeverMeasured::Schedule)
            }
        }
    }

    /// The files that it uses.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Run(workload) => run::files_of(workload),
            Self::Load(_) | Self::Command(_) => Vec::new(),
        }
    }

    /// The task in one pass: all arms of a block draw the same operations, every block others.
    pub(crate) fn in_pass(&self, pass: u32) -> Self {
        self.reseeded(u64::from(pass))
    }

    /// Its own work, for no longer than this and than the slot itself. Work that has no time is done
    /// once whole.
    /// That of a command is its warm-up.
    pub(crate) fn lead_in(&self, longest_ns: u64) -> Self {
        let mut out = self.reseeded(SEEDS_AWAY);
        if let Self::Command(task) = &mut out {
            task.is_warmup = true;
            return out;
        }
        let Some(whole_ns) = self.slot_ns() else {
            return out;
        };
        let for_ns = longest_ns.min(whole_ns);
        match &mut out {
            Self::Run(workload) => {
                workload.stop.duration = Some(Nanos(for_ns));
                workload.stop.warmup = Nanos(0);
            }
            Self::Load(task) => task.plan = task.plan.at_its_peak(for_ns),
            Self::Command(_) => {}
        }
        out
    }

    /// The same work at so many operations a second, for this time.
    pub(crate) fn at_rate(&self, per_second: f64, for_ns: u64) -> Self {
        let mut out = self.clone();
        match &mut out {
            Self::Run(workload) => {
                workload.pace.rate_iops = Some(Rate(per_second));
                workload.stop.duration = Some(Nanos(for_ns));
            }
            Self::Load(task) => **task = task.at_rate(per_second, for_ns),
            // A command has no rate.
            Self::Command(_) => {}
        }
        out
    }

    /// What is verified was written from the seed that it has, and keeps it.
    fn reseeded(&self, by: u64) -> Self {
        let mut out = self.clone();
        match &mut out {
            Self::Run(workload) if !workload.verify.on => {
                workload.seed = workload.seed.wrapping_add(by);
            }
            Self::Run(_) | Self::Command(_) => {}
            Self::Load(task) => task.plan.seed = task.plan.seed.wrapping_add(by),
        }
        out
    }
}

/// All options of a workload that have a value.
pub(crate) fn shown(workload: &Workload) -> BTreeMap<String, String> {
    let options = settings::shown(workload).into_iter();
    options
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// What the record of a workload will be able to give numbers of.
#[must_use]
pub fn measurable(workload: &Workload) -> Measurable {
    Measurable::of_kinds(kinds(workload))
        .without(NeverMeasured::Requests)
        .without(NeverMeasured::Schedule)
}

/// The kinds of operations that a workload will do.
fn kinds(workload: &Workload) -> Vec<&'static str> {
    if !workload.files.meta.is_empty() {
        let operations = workload.files.meta.iter();
        return operations.map(|operation| operation.word()).collect();
    }
    let read = workload.read_percent().unwrap_or(100.0);
    let flush = &workload.durability;
    let done = [
        ("read", read > 0.0),
        ("write", read < 100.0),
        ("fsync", flush.fsync > 0 || flush.end_fsync),
        ("fdatasync", flush.fdatasync > 0),
    ];
    done.into_iter()
        .filter(|(_, does)| *does)
        .map(|(kind, _)| kind)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{HttpVersion, LoadTarget, Scenario, Trust};
    use units::Percent;

    fn run(options: &[(&str, &str)]) -> Task {
        let mut out = Workload::default();
        for (key, value) in options {
            settings::apply(&mut out, key, value).unwrap();
        }
        Task::Run(Box::new(out))
    }

    fn workload(task: Task) -> Workload {
        match task {
            Task::Run(workload) => *workload,
            Task::Load(_) | Task::Command(_) => panic!("{task:?}"),
        }
    }

    fn load() -> LoadTask {
        let mut scenario = Scenario::preset("fetch").unwrap();
        scenario.thresholds = vec![object::threshold("errors<1%").unwrap()];
        LoadTask {
            plan: LoadPlan {
                scenario,
                target: LoadTarget::parse("http://h:1/x").unwrap(),
                headers: Vec::new(),
                credentials: None,
                trust: Trust::Public,
                threads: 1,
                timeout_ns: 1,
                retries: 0,
                new_connections: false,
                version: HttpVersion::One,
                seed: 1,
                keep: false,
                iterations: None,
                warmup_ns: 5,
                secret: None,
                guest: None,
                server_counters: false,
                share: object::LoadShare::default(),
                of_all: None,
                step_per_second: None,
            },
            asked: BTreeMap::new(),
        }
    }

    fn plan(task: Task) -> LoadPlan {
        match task {
            Task::Load(task) => task.plan,
            Task::Run(_) | Task::Command(_) => panic!("{task:?}"),
        }
    }

    #[test]
    fn a_lead_in_is_the_work_of_its_own_slot_and_no_longer() {
        let slot = run(&[("duration", "10s"), ("warmup", "2s"), ("random", "true")]);
        for (longest, expected) in [(3_000_000_000, 3_000_000_000), (u64::MAX, 12_000_000_000)] {
            let stop = workload(slot.lead_in(longest)).stop;
            assert_eq!(
                (stop.duration, stop.warmup),
                (Some(Nanos(expected)), Nanos(0))
            );
        }
        let (led, slot) = (workload(slot.lead_in(1)), workload(slot));
        let alike = Workload {
            stop: slot.stop,
            seed: slot.seed,
            ..led.clone()
        };
        assert_eq!(alike, slot);
        assert_ne!(led.seed, slot.seed, "it reads other blocks");
    }

    #[test]
    fn work_without_a_time_is_done_once_whole() {
        for options in [("total-bytes", "64K"), ("duration", "0s")] {
            let slot = run(&[options]);
            assert_eq!(workload(slot.lead_in(1)).stop, workload(slot).stop);
        }
        let mut counted = load();
        counted.plan.iterations = Some(9);
        let led = plan(Task::Load(Box::new(counted.clone())).lead_in(1));
        assert_eq!(
            (led.iterations, led.scenario),
            (Some(9), counted.plan.scenario)
        );
    }

    #[test]
    fn the_lead_in_of_a_load_is_its_peak_and_judges_nothing() {
        let led = plan(Task::Load(Box::new(load())).lead_in(7));
        assert_eq!((led.scenario.course().total_ns(), led.warmup_ns), (7, 0));
        assert_eq!(led.scenario.most_users(), load().plan.scenario.most_users());
        assert!(led.scenario.thresholds.is_empty());
        assert_ne!(led.seed, load().plan.seed);
    }

    #[test]
    fn arms_of_a_block_share_a_seed_and_blocks_do_not_unless_they_verify() {
        let plain = run(&[]);
        let seed = |task: &Task, pass| workload(task.in_pass(pass)).seed;
        assert_eq!((seed(&plain, 0), seed(&plain, 3)), (1, 4));
        let verified = run(&[("verify", "true")]);
        assert_eq!(seed(&verified, 3), seed(&verified, 0));
        assert_eq!(plan(Task::Load(Box::new(load())).in_pass(3)).seed, 4);
    }

    #[test]
    fn a_rate_is_that_of_operations() {
        let paced = workload(run(&[]).at_rate(50.0, 9));
        assert_eq!(
            (paced.pace.rate_iops, paced.stop.duration),
            (Some(Rate(50.0)), Some(Nanos(9)))
        );
        let paced = plan(Task::Load(Box::new(load())).at_rate(50.0, 9));
        assert!(
            paced.effective()["rate"].starts_with("50"),
            "{:?}",
            paced.effective()
        );
        assert_eq!(
            (paced.name().as_str(), paced.scenario.name.as_str()),
            ("fetch@50/s", "fetch")
        );
    }

    #[test]
    fn what_a_task_does_follows_from_its_mix_and_flushes() {
        let mut mixed = Workload::default();
        let kinds =
            |workload: &Workload| measurable(workload).kinds.into_iter().collect::<Vec<_>>();
        assert_eq!(kinds(&mixed), ["read"]);
        mixed.access.write_percent = Some(Percent(30.0));
        mixed.durability.fdatasync = 1;
        assert_eq!(kinds(&mixed), ["fdatasync", "read", "write"]);
        assert_eq!(
            Task::Load(Box::new(load())).measurable(),
            Measurable::of_kinds(["get"]).without(NeverMeasured::Schedule)
        );
    }
}
