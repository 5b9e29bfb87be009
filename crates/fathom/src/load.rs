//! `fathom load`: one object or HTTP workload, with virtual users or an arrival rate.

mod knee;
mod options;
mod summary;

use crate::context;
use crate::exit::Usage;
use crate::live::Live;
use crate::output::{Output, tell};
use anyhow::Result;
use clap::{ArgMatches, Command};
use host::{CpuTicks, CpuTimes, Machine};
use object::{Instruments, LoadError, LoadPlan, LoadWatch, Scenario, execute};
use record::{Interval, MachineAccount, Outcome, Record, SCHEMA, Status};
use run::{Context, Watch};

/// The verb's arguments.
pub(crate) fn command() -> Command {
    options::command()
}

/// Runs the verb and returns the exit code.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    if let Some(code) = options::shown(matches)? {
        return Ok(code);
    }
    let plan = options::plan(matches).map_err(usage)?;
    plan.check().map_err(usage)?;
    let mut output = Output::new(matches)?;
    output.check_writable(&[])?;
    if matches.get_flag("dry-run") {
        let lines: Vec<String> = plan
            .effective()
            .into_iter()
            .map(|(key, text)| format!("{key} = {text}"))
            .collect();
        tell(&lines.join("\n"))?;
        return Ok(0);
    }
    sys::catch_signals();
    let context = context::context(output.interval_ns())?;
    let load = Load {
        context,
        asked: options::asked(matches),
        matches,
        output,
    };
    match knee::asked(matches)? {
        Some(search) => load.find_knee(&plan, search),
        None => {
            let record = match load.once(&plan) {
                Ok(record) => record,
                Err(error) => return load.refused(&plan, error),
            };
            load.output.save(&record)?;
            let code = record.outcome.exit_code;
            load.finish(&[record], "")?;
            Ok(code)
        }
    }
}

/// A mistake of the command line is told as one.
fn usage(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Asked(text) => Usage(text).into(),
        LoadError::Target(_) | LoadError::Interrupted => error.into(),
    }
}

/// What all steps of a command have in common.
struct Load<'a> {
    context: Context,
    asked: std::collections::BTreeMap<String, String>,
    matches: &'a ArgMatches,
    output: Output,
}

impl Load<'_> {
    /// One load, as a whole record.
    fn once(&self, plan: &LoadPlan) -> Result<Record, LoadError> {
        let mut watch = self.watch(plan);
        let record = execute(plan, &self.instruments(), &mut watch)?;
        Ok(self.completed(record, &watch))
    }

    fn watch(&self, plan: &LoadPlan) -> Watching<'_> {
        Watching::new(
            &self.context.machine,
            Live::new(self.matches, None),
            &plan.scenario,
        )
    }

    fn instruments(&self) -> Instruments {
        Instruments {
            clock: self.context.clock,
            interval_ns: self.context.interval_ns,
        }
    }

    /// The record with what is the command's to know.
    fn completed(&self, mut record: Record, watch: &Watching<'_>) -> Record {
        let context = &self.context;
        record.asked = self.asked.clone();
        record.environment = context.machine.environment(None, context.fathom.clone());
        record.calibration = context.calibration.clone();
        record.calibration.clock_drift_ns = Some(context.clock.drift_ns());
        record.machine = watch.account();
        record
    }

    /// A load that did not start is a record too, unless it was asked wrongly.
    fn refused(&self, plan: &LoadPlan, error: LoadError) -> Result<i32> {
        let (status, exit_code) = match &error {
            LoadError::Asked(_) => return Err(usage(error)),
            LoadError::Target(_) => (Status::Failed, 1),
            LoadError::Interrupted => (
                Status::Interrupted,
                sys::caught_signal().map_or(130, sys::CaughtSignal::exit_code),
            ),
        };
        let started_at = object::started_at(sys::clock::wall_time());
        self.output.save(&Record {
            schema: SCHEMA,
            id: format!("{started_at}-{}", std::process::id()),
            kind: "load".into(),
            name: plan.scenario.name.clone(),
            started_at,
            asked: self.asked.clone(),
            effective: plan.effective(),
            environment: self
                .context
                .machine
                .environment(None, self.context.fathom.clone()),
            outcome: Outcome {
                status,
                exit_code,
                message: Some(error.to_string()),
            },
            ..Record::default()
        })?;
        if exit_code == 1 {
            Err(error.into())
        } else {
            Ok(exit_code)
        }
    }

    /// Writes results; `curve` follows the text of the records.
    fn finish(&self, records: &[Record], curve: &str) -> Result<()> {
        let more = options::shown_more(self.matches);
        self.output.finish_as(
            records,
            &|record| summary::text(record, &analyze::self_check(record), &more),
            curve,
        )
    }
}

/// Progress, and the machine's counters around the measured time.
struct Watching<'a> {
    machine: &'a Machine,
    live: Live,
    seed_bytes: u64,
    before: Option<CpuTimes>,
    after: Option<CpuTimes>,
}

impl<'a> Watching<'a> {
    fn new(machine: &'a Machine, live: Live, scenario: &Scenario) -> Self {
        let bytes = scenario.seeds.iter().fold(0_u64, |sum, seed| {
            sum.saturating_add(seed.count.saturating_mul(seed.size))
        });
        Self {
            machine,
            live,
            seed_bytes: bytes / scenario.seed_count().max(1),
            before: None,
            after: None,
        }
    }

    fn account(&self) -> MachineAccount {
        let ticks = self
            .after
            .as_ref()
            .zip(self.before.as_ref())
            .map(|(after, before)| after.since(before).total);
        let ticks = ticks.filter(|ticks| ticks.elapsed() > 0);
        let share = |part: fn(&CpuTicks) -> u64| {
            ticks
                .as_ref()
                .map(|ticks| part(ticks) as f64 / ticks.elapsed() as f64)
        };
        MachineAccount {
            busy_share: share(CpuTicks::busy),
            steal_share: share(|ticks| ticks.steal),
            iowait_share: share(|ticks| ticks.iowait),
            ..MachineAccount::default()
        }
    }
}

impl LoadWatch for Watching<'_> {
    fn preparing(&mut self, done: u64, to_do: u64) {
        self.live.filling(
            done.saturating_mul(self.seed_bytes),
            to_do.saturating_mul(self.seed_bytes),
        );
    }

    fn began(&mut self) {
        self.before = self.machine.cpu_times();
    }

    fn live_interval_ns(&self) -> Option<u64> {
        self.live.live_interval_ns()
    }

    fn interval(&mut self, interval: &Interval) {
        self.live.interval(interval);
    }

    fn ended(&mut self) {
        self.after = self.machine.cpu_times();
    }
}
