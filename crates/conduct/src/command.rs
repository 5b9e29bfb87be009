//! A slot of a foreign command: it runs as often as was asked, each time as a group of its own.

use crate::child::{Env, Program, Running, Waited, failure, tail};
use crate::stated;
use crate::task::COMMAND as KIND;
use host::Context;
use lab::{CommandSpec, RepeatFor};
use record::{
    ErrorCount, Operations, Outcome, ProcessAccount, Record, Status, Summary, TargetFact,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::{CaughtSignal, Clock as _, Spent};
use units::Nanos;

/// The longest that a command which only prepares or cleans up may take.
const AROUND_NS: u64 = 600_000_000_000;

/// A foreign command with the place where it runs.
#[derive(Clone, Debug)]
pub struct CommandTask {
    pub(crate) spec: CommandSpec,
    pub(crate) place: SlotDirs,
    /// Its warm-up is run, and nothing else.
    pub(crate) is_warmup: bool,
}

/// Where the programs of a slot run and leave what they print.
#[derive(Clone, Debug)]
pub(crate) struct SlotDirs {
    /// The directory of the plan's file.
    pub(crate) dir: PathBuf,
    /// Empty when the slot begins.
    pub(crate) scratch: PathBuf,
    /// Beside it: what programs print.
    pub(crate) prints: PathBuf,
    pub(crate) mark: String,
    /// When the slot has taken too long.
    pub(crate) until_ns: u64,
}

/// What became of a program.
struct Once {
    wall_ns: u64,
    spent: Spent,
    failure: Option<String>,
    is_stopped: bool,
}

impl SlotDirs {
    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.prints.join(name)
    }

    fn program<'a>(
        &'a self,
        words: &'a [String],
        env: &'a BTreeMap<String, String>,
    ) -> Program<'a> {
        Program {
            words,
            env: Env {
                is_bare: false,
                own: env,
                scratch: &self.scratch,
                mark: &self.mark,
            },
            dir: &self.dir,
            input: None,
            output: None,
            errors: None,
            groups: &[],
        }
    }

    /// Runs a command that is not measured, from its start to its end.
    ///
    /// # Errors
    /// It did not end well, in words.
    pub(crate) fn run_around(
        &self,
        context: &Context,
        what: &str,
        words: &[String],
    ) -> Result<(), String> {
        let (env, prints) = (BTreeMap::new(), self.out(what));
        let program = Program {
            output: Some(&prints),
            errors: Some(&prints),
            ..self.program(words, &env)
        };
        let until = self
            .until_ns
            .min(context.clock.now().saturating_add(AROUND_NS));
        let once = once(&program, context, until, &[0]).map_err(|why| format!("{what}: {why}"))?;
        match once.failure {
            None => Ok(()),
            Some(why) => Err(format!("{what}: {why}{}", told(&prints))),
        }
    }
}

/// What a program printed, as the end of a sentence.
fn told(prints: &Path) -> String {
    let text = tail(prints);
    if text.is_empty() {
        String::new()
    } else {
        format!("; it printed: {text}")
    }
}

/// # Errors
/// It did not start.
fn once(
    program: &Program<'_>,
    context: &Context,
    until_ns: u64,
    good: &[i32],
) -> Result<Once, String> {
    let clock = &context.clock;
    let running: Running = program.start(clock)?;
    let began_ns = running.began_ns;
    let waited = running.wait(clock, until_ns);
    let wall_ns = clock.now().saturating_sub(began_ns);
    let spent = running.close()?;
    let failure = match waited {
        Waited::Ended => failure(spent.status, good),
        Waited::TimeOver => Some(format!("not ended after {}", Nanos(wall_ns))),
        Waited::Stopped => Some("stopped by a signal".into()),
    };
    Ok(Once {
        wall_ns,
        spent,
        failure,
        is_stopped: waited == Waited::Stopped,
    })
}

/// Everything that the repetitions of a slot came to.
#[derive(Default)]
struct Sum {
    operations: Operations,
    process: ProcessAccount,
    elapsed_ns: u64,
    values: BTreeMap<String, Vec<f64>>,
    units: BTreeMap<String, String>,
    failure: Option<String>,
    is_stopped: bool,
}

impl Sum {
    fn add(&mut self, once: Once) {
        let usage = once.spent.usage;
        let add = |sum: &mut Option<u64>, bytes: u64| *sum = Some(sum.unwrap_or(0) + bytes);
        self.elapsed_ns += once.wall_ns;
        self.process.user_ns += usage.user_ns;
        self.process.system_ns += usage.system_ns;
        self.process.major_faults += usage.major_faults;
        self.process.minor_faults += usage.minor_faults;
        self.process.voluntary_switches += usage.voluntary_switches;
        self.process.involuntary_switches += usage.involuntary_switches;
        let peak = usage.max_resident_kib * 1024;
        self.process.max_resident_bytes = self.process.max_resident_bytes.max(peak);
        add(&mut self.process.storage_read_bytes, once.spent.read_bytes);
        add(
            &mut self.process.storage_written_bytes,
            once.spent.written_bytes,
        );
        self.is_stopped |= once.is_stopped;
        if once.failure.is_some() {
            self.operations.errors += 1;
            self.failure = once.failure;
        } else {
            self.operations.count += 1;
            self.operations.latency.record(once.wall_ns);
        }
    }
}

/// Runs the command as often as was asked.
pub(crate) fn measure(task: &CommandTask, context: &Context, name: &str) -> Record {
    let CommandTask { spec, place, .. } = task;
    let mut record = context.record(KIND, name, None);
    let shown = spec.command.join(" ");
    record.asked.insert("command".into(), shown.clone());
    record.targets = vec![TargetFact {
        path: shown,
        kind: "command".into(),
        ..TargetFact::default()
    }];
    let mut sum = Sum::default();
    let began_ns = context.clock.now();
    for number in 0_u32.. {
        let elapsed_ns = context.clock.now().saturating_sub(began_ns);
        let is_enough = match spec.repeat {
            RepeatFor::Times(_) | RepeatFor::Nanos(_) if task.is_warmup => number >= spec.warmup,
            RepeatFor::Times(times) => number >= times,
            RepeatFor::Nanos(ns) => number > 0 && elapsed_ns >= ns,
        };
        if is_enough || sum.failure.is_some() {
            break;
        }
        if let Err(why) = repetition(spec, place, context, &mut sum) {
            sum.failure = Some(why);
        }
    }
    finish(record, sum, spec)
}

fn repetition(
    spec: &CommandSpec,
    place: &SlotDirs,
    context: &Context,
    sum: &mut Sum,
) -> Result<(), String> {
    let (output, errors) = (place.out("output"), place.out("errors"));
    let input = spec.input.as_ref().map(|path| place.dir.join(path));
    let reads_output = spec
        .read
        .iter()
        .any(|value| value.file.is_none() && !value.is_standard_error);
    let program = Program {
        input: input.as_deref(),
        output: reads_output.then_some(output.as_path()),
        errors: Some(&errors),
        ..place.program(&spec.command, &spec.env)
    };
    let limit = context.clock.now().saturating_add(spec.timeout_ns);
    let mut once = once(
        &program,
        context,
        limit.min(place.until_ns),
        &spec.exit_codes,
    )?;
    if let Some(why) = &mut once.failure {
        why.push_str(&told(&errors));
    }
    let is_good = once.failure.is_none();
    sum.add(once);
    if is_good {
        let files = stated::Printed {
            output: &output,
            errors: &errors,
            dir: &place.dir,
        };
        for value in &spec.read {
            for (name, number) in files.values(value)? {
                sum.values.entry(name.clone()).or_default().push(number);
                sum.units
                    .extend(value.unit.clone().map(|unit| (name, unit)));
            }
        }
    }
    Ok(())
}

fn finish(mut record: Record, sum: Sum, spec: &CommandSpec) -> Record {
    record.elapsed_ns = sum.elapsed_ns;
    let lacks = spec
        .read
        .iter()
        .find(|value| !value.name.is_empty() && !sum.values.contains_key(&value.name));
    let failure = sum.failure.or_else(|| {
        lacks
            .filter(|_| sum.operations.count > 0)
            .map(|value| format!("no value {}", value.name))
    });
    if sum.operations.count + sum.operations.errors > 0 {
        record.operations.insert(KIND, sum.operations);
    }
    record.generator_mut().process = sum.process;
    if !sum.values.is_empty() {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let summary = Summary {
            figures: sum
                .values
                .iter()
                .map(|(name, values)| (name.clone(), mean(values)))
                .collect(),
            as_written: sum.units,
            ..Summary::default()
        };
        record.summaries.insert(KIND.into(), summary);
    }
    if let Some(why) = failure {
        record.errors.push(ErrorCount {
            operation: KIND.into(),
            error: why.clone(),
            count: 1,
            ..ErrorCount::default()
        });
        let signal = sys::caught_signal().filter(|_| sum.is_stopped);
        record.outcome = Outcome {
            status: if sum.is_stopped {
                Status::Interrupted
            } else {
                Status::Failed
            },
            exit_code: signal.map_or(1, CaughtSignal::exit_code),
            message: Some(why),
        };
    }
    record
}
