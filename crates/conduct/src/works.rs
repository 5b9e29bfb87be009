//! The tasks of slots, done.

use crate::{Alone, Generator, LoadTask, Task, command};
use host::{Context, Watch};
use lab::{Turn, Unstarted, Work};
use object::{LoadError, Setup};
use record::{Outcome, Record, Status};
use run::RunError;
use workload::{Phase, Workload};

/// Does tasks, and keeps what the one of this turn needs.
#[derive(Default)]
pub(crate) struct Works<'a> {
    /// What a load needs on its server.
    setup: Option<Setup>,
    /// Who measures runs, if it is not this process.
    generator: Option<&'a mut dyn Generator>,
}

impl<'a> Works<'a> {
    /// Whoever measures runs.
    pub(crate) fn by(generator: &'a mut dyn Generator) -> Self {
        Self {
            setup: None,
            generator: Some(generator),
        }
    }

    /// What keeps any run from beginning.
    pub(crate) fn obstacle(&self) -> Option<String> {
        self.generator.as_ref()?.obstacle()
    }

    /// Waits until what was written is where it belongs, on all machines that wrote.
    pub(crate) fn settle(
        &mut self,
        longest_ns: u64,
        own: &mut dyn FnMut() -> Option<String>,
    ) -> Option<String> {
        match &mut self.generator {
            Some(generator) => generator.settle(longest_ns, own),
            None => own(),
        }
    }

    /// Makes what a task needs before it can be measured.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn make(
        &mut self,
        task: &Task,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<(), Unstarted> {
        if let Task::Load(task) = task {
            let made = Setup::make(&task.plan, context, watch);
            self.setup = Some(made.map_err(|error| refused(task, error, context))?);
        }
        Ok(())
    }

    /// Measures a task under the name of its row.
    ///
    /// # Errors
    /// Nothing was measured.
    pub(crate) fn measure(
        &mut self,
        name: &str,
        task: &Task,
        turn: Turn,
        work: Work,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Record, Unstarted> {
        let task = match work {
            Work::Slot => task.in_pass(turn.pass),
            Work::LeadIn { longest_ns } => task.in_pass(turn.pass).lead_in(longest_ns),
            Work::AtRate { per_second, for_ns } => task.at_rate(per_second, for_ns),
        };
        match task {
            Task::Run(workload) => self.run(name, *workload, context, watch),
            Task::Load(task) => self.load(&task, context, watch),
            Task::Command(task) => Ok(command::measure(&task, context, name)),
        }
    }

    /// Removes what was made, and tells the record what became of it.
    pub(crate) fn remove(&mut self, record: &mut Record) {
        if let Some(setup) = self.setup.take() {
            setup.remove(record);
        }
    }

    fn load(
        &mut self,
        task: &LoadTask,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Record, Unstarted> {
        let setup = self
            .setup
            .as_mut()
            .expect("a turn is prepared before it is measured");
        let outcome = setup.run(&task.plan, context, watch);
        let mut record = outcome.map_err(|error| refused(task, error, context))?;
        record.asked.clone_from(&task.asked);
        Ok(record)
    }

    fn run(
        &mut self,
        name: &str,
        workload: Workload,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Record, Unstarted> {
        let phase = Phase {
            name: name.to_owned(),
            workload,
        };
        let measured = match &mut self.generator {
            Some(generator) => generator.measure(&phase, context, watch),
            None => Alone.measure(&phase, context, watch),
        };
        measured.map_err(|error: RunError| Unstarted {
            record: Box::new(run::unstarted(&phase, context, &error)),
            source: Box::new(error),
        })
    }
}

/// A load that did not start, with its error.
fn refused(task: &LoadTask, error: LoadError, context: &Context) -> Unstarted {
    Unstarted {
        record: Box::new(unstarted_load(task, &error, context)),
        source: Box::new(error),
    }
}

/// The record of a load that did not start; nothing was measured.
#[must_use]
pub fn unstarted_load(
    LoadTask { plan, asked }: &LoadTask,
    error: &LoadError,
    context: &Context,
) -> Record {
    let status = match &error {
        LoadError::Asked(_) | LoadError::Target(_) | LoadError::Threads { .. } => Status::Failed,
        LoadError::Interrupted { .. } => Status::Interrupted,
        LoadError::Group(_) | LoadError::Missed { .. } => Status::Incomplete,
    };
    Record {
        asked: asked.clone(),
        effective: plan.effective(),
        outcome: Outcome {
            status,
            exit_code: error.exit_code(),
            message: Some(error.to_string()),
        },
        ..context.record("load", &plan.name(), None)
    }
}
