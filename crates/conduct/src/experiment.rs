//! A plan with what carries it out.

use crate::ready::{Ready, ready};
use crate::{Alone, Conductor, Generator, Task};
use host::{Context, Watch};
use lab::{Ended, KeepError, Kept, LabError};
use record::{PlanFacts, PlannedRow, Record};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

/// A seed of an order that nobody chose: from the system's randomness and the time. With one seed
/// for everybody the coin would fall the same way in every experiment in the world, and what goes
/// in step with it would look like a difference everywhere.
#[must_use]
pub fn drawn_seed() -> u64 {
    // 48 bits: short enough to be typed again, and exact in every reader of JSON.
    RandomState::new().hash_one(sys::clock::wall_time()) >> 16
}

/// Under which circumstances arms are measured.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    /// What each arm does here, in the order of the arms.
    pub tasks: Vec<Task>,
}

/// A plan, and the tasks of its rows.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub plan: PlanFacts,
    rows: Vec<Row>,
}

impl Experiment {
    /// An experiment of these rows; the plan says everything but them.
    #[must_use]
    pub fn new(plan: PlanFacts, rows: Vec<Row>) -> Self {
        let planned = |row: &Row| PlannedRow {
            name: row.name.clone(),
            workloads: row.tasks.iter().map(Task::planned).collect(),
        };
        Self {
            plan: PlanFacts {
                rows: rows.iter().map(planned).collect(),
                ..plan
            },
            rows,
        }
    }

    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// What each arm does in each row.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.rows.iter().flat_map(|row| &row.tasks)
    }

    /// What every arm will do in every row: rows as in the plan, and within a row the arms. Nothing
    /// is touched.
    ///
    /// # Errors
    /// An arm cannot work, or the files of all arms together do not fit where they lie.
    pub fn ready(&self, context: &Context) -> Result<Vec<Vec<Ready>>, LabError> {
        ready(&self.plan, &self.rows, context)
    }

    /// Carries the plan out as [`lab::run`] says, from its beginning.
    ///
    /// # Errors
    /// The plan cannot begin.
    pub fn run(
        &self,
        context: &Context,
        watch: &mut dyn Watch,
        keep: &mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
        decided: &mut dyn FnMut(&[Record]) -> bool,
    ) -> Result<Ended, LabError> {
        self.run_by(&mut Alone, context, watch, keep, decided)
    }

    /// The same with somebody else to measure runs.
    ///
    /// # Errors
    /// The plan cannot begin, or a record cannot be kept.
    pub fn run_by(
        &self,
        generator: &mut dyn Generator,
        context: &Context,
        watch: &mut dyn Watch,
        keep: &mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
        decided: &mut dyn FnMut(&[Record]) -> bool,
    ) -> Result<Ended, LabError> {
        self.ready(context)?;
        let conductor = Conductor::new(&self.rows, context, watch);
        let mut conductor = conductor.by(generator);
        lab::run(&self.plan, Vec::new(), &mut conductor, keep, decided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_seeds_differ_and_are_exact_in_json() {
        let seeds: std::collections::BTreeSet<u64> = (0..50).map(|_| drawn_seed()).collect();
        assert_eq!(seeds.len(), 50);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    }
}
