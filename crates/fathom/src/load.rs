//! `fathom load`: one object or HTTP workload, with virtual users or an arrival rate.

mod knee;
mod options;

use crate::context;
use crate::exit::Usage;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::output::{Output, tell};
use crate::target;
use anyhow::Result;
use clap::{ArgMatches, Command};
use host::Context;
use object::{LoadError, LoadPlan, execute};
use record::{Outcome, Record, Status};

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
    let target = target::observed(matches)?;
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
    let context = Context {
        target,
        ..context::context(output.interval_ns())?
    };
    let load = Load {
        context,
        asked: options::asked(matches),
        metrics: Metrics::start(matches)?,
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
            load.output.finish(&[record], "")?;
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
    metrics: Option<Metrics>,
    matches: &'a ArgMatches,
    output: Output,
}

impl Load<'_> {
    /// One load, as a whole record.
    fn once(&self, plan: &LoadPlan) -> Result<Record, LoadError> {
        let mut record = execute(plan, &self.context, &mut self.live())?;
        record.asked = self.asked.clone();
        Ok(record)
    }

    fn live(&self) -> Live {
        Live::new(self.matches, self.metrics.clone())
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
        self.output.save(&Record {
            asked: self.asked.clone(),
            effective: plan.effective(),
            outcome: Outcome {
                status,
                exit_code,
                message: Some(error.to_string()),
            },
            ..self.context.record("load", &plan.scenario.name, None)
        })?;
        if exit_code == 1 {
            Err(error.into())
        } else {
            Ok(exit_code)
        }
    }
}
