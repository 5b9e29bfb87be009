//! The profile of a directory, file or device: rows of a fixed table, each measured in several
//! passes of random order.
//!
//! What holds whatever happens:
//! * Nothing is written but the profile's own file, or the one file or device that the user gave up
//!   by name. The own file is removed when the profile ends, also by a signal, an error or a panic;
//!   after a kill the next profile in that directory removes it.
//! * How many passes there will be is decided before the first, by time and never by results.
//! * Sizes and times come from few steps, so that profiles of different targets mostly do the same
//!   work and can be compared.
//! * A row that cannot work here is left out with the reason, and everything else is measured.
//!
//! Every row runs once before the first pass. That rehearsal is not counted: it tells what a slot
//! costs besides its own time, and which rows this target refuses only when they run.

mod fill;
mod ground;
mod io500;
mod own_file;
mod prepared;
mod rehearsal;
mod rows;
mod timetable;
mod told;

use crate::Generator;
use fill::{FillOrder, Filled, fill};
use ground::Ground;
use host::{Context, Watch};
pub use io500::{
    Io500Asked, Io500Course, Io500Group, Io500Sizes, WorkDir, check_room, io500_phases,
    io500_sizes, io500_text, remove_stale_dirs,
};
use lab::{Ended, KeepError, Kept, LabError, WhyEnded};
pub use own_file::{OwnFile, remove_stale};
pub use prepared::{Prepared, ProfileArm, prepare};
use record::{PlanFacts, PlannedArm, PlannedRow, Record, Role};
use run::RunError;
use std::path::{Path, PathBuf};
use sys::Clock;
use timetable::fill_ns;
use units::{Bytes, Nanos};
use workload::{EngineName, MetaOp, SpecError, Workload};

/// Fewest passes with an interval of 95 % by the exact signed-rank law.
const FEWEST_PASSES: u32 = 6;

/// How much time a profile takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    Quick,
    #[default]
    Usual,
    Thorough,
}

impl Effort {
    /// Time for everything, the making of the file included.
    #[must_use]
    pub fn budget(self) -> Nanos {
        let seconds = match self {
            Self::Quick => 30,
            Self::Usual => 170,
            Self::Thorough => 880,
        };
        Nanos(seconds * 1_000_000_000)
    }

    fn passes(self) -> u32 {
        match self {
            Self::Quick | Self::Usual => FEWEST_PASSES,
            Self::Thorough => 2 * FEWEST_PASSES,
        }
    }

    /// Time of a slot where nothing disturbs.
    fn slot_ns(self) -> u64 {
        match self {
            Self::Quick => 200_000_000,
            Self::Usual => 500_000_000,
            Self::Thorough => 2_000_000_000,
        }
    }

    fn most_file_bytes(self) -> u64 {
        match self {
            Self::Quick => 1 << 30,
            Self::Usual => 4 << 30,
            Self::Thorough => 16 << 30,
        }
    }
}

/// What is asked of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRequest {
    /// A directory, in which a file is made, or an existing file or block device.
    pub path: PathBuf,
    pub effort: Effort,
    /// Instead of the effort's own.
    pub budget: Option<Nanos>,
    /// Exactly so many passes, however long they take.
    pub passes: Option<u32>,
    /// Bytes of the file.
    pub size: Option<Bytes>,
    /// Of all rows.
    pub engine: Option<EngineName>,
    /// Name and text of a TOML file of rows instead of the standard ones.
    pub rows: Option<(String, String)>,
    /// The existing file or device that may be overwritten.
    pub allow_destroy: Option<PathBuf>,
    /// What records call this target; else the machine's name and the path.
    pub arm: Option<String>,
    /// Of offsets and data.
    pub seed: u64,
    /// Of the order of rows; else it is drawn.
    pub order_seed: Option<u64>,
}

impl ProfileRequest {
    /// The usual profile of a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            effort: Effort::default(),
            budget: None,
            passes: None,
            size: None,
            engine: None,
            rows: None,
            allow_destroy: None,
            arm: None,
            seed: 1,
            order_seed: None,
        }
    }

    fn budget_ns(&self) -> u64 {
        self.budget.unwrap_or(self.effort.budget()).0
    }
}

/// Rows that were not measured, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsLeftOut {
    pub rows: Vec<String>,
    pub reason: String,
}

/// A profile that has ended.
#[derive(Clone, Debug)]
pub struct Profiled {
    pub plan: PlanFacts,
    pub records: Vec<Record>,
    pub why: WhyEnded,
    pub left_out: Vec<RowsLeftOut>,
    /// What was done, and what the reader must know of it.
    pub notes: Vec<String>,
    /// Measured time of one slot of rows without an end of their own.
    pub slot: Nanos,
    pub elapsed: Nanos,
}

impl Profiled {
    /// Passes that are complete in every row.
    #[must_use]
    pub fn complete_passes(&self) -> u32 {
        let of = |row: &PlannedRow| {
            let blocks = self
                .records
                .iter()
                .filter(|record| record.outcome.status == record::Status::Ok)
                .filter_map(|r| r.trial.as_ref());
            blocks
                .filter(|trial| trial.row == row.name)
                .map(|trial| trial.block)
                .collect::<std::collections::BTreeSet<u32>>()
                .len()
        };
        u32::try_from(self.plan.rows.iter().map(of).min().unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// What was asked cannot work here.
    #[error("{0}")]
    Unsuitable(String),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The target failed.
    #[error("{0}")]
    Failed(String),
}

/// Measures the profile of a target: `generator` the rows, and this process makes the file and says
/// what suits it. Every record goes to `keep` before the next slot begins.
///
/// # Errors
/// Nothing was measured: the target cannot be used, cannot be filled, fails in the rehearsal, or a
/// signal came before the first slot.
pub fn profile(
    request: &ProfileRequest,
    generator: &mut dyn Generator,
    context: &Context,
    watch: &mut dyn Watch,
    keep: &mut dyn FnMut(Kept<'_>) -> Result<(), KeepError>,
) -> Result<Profiled, ProfileError> {
    let start = context.clock.now();
    let arm = ProfileArm {
        arm: PlannedArm {
            name: arm_name(request.arm.as_deref(), &request.path, context),
            role: Role::Candidate,
            ..PlannedArm::default()
        },
        path: request.path.clone(),
    };
    let mut prepared = prepare(request, &[arm], generator, context, watch)?;
    let experiment = &prepared.experiment;
    let Ended { records, why, lost } =
        experiment.run_by(generator, &prepared.context, watch, keep, &mut |_| false)?;
    let why = match (why, lost.first()) {
        (WhyEnded::Passes | WhyEnded::Decided | WhyEnded::Budget, Some(lost)) => {
            WhyEnded::Failed(lost.to_string())
        }
        (why, _) => why,
    };
    prepared.clean();
    let elapsed = Nanos(context.clock.now() - start);
    let Prepared {
        experiment,
        left_out,
        notes,
        slot,
        ..
    } = prepared;
    Ok(Profiled {
        plan: experiment.plan,
        records,
        why,
        left_out,
        notes,
        slot,
        elapsed,
    })
}

/// Adds a row to those of the same reason.
fn leave_out(left_out: &mut Vec<RowsLeftOut>, row: &str, reason: String) {
    match left_out.iter_mut().find(|known| known.reason == reason) {
        Some(known) => known.rows.push(row.to_owned()),
        None => left_out.push(RowsLeftOut {
            rows: vec![row.to_owned()],
            reason,
        }),
    }
}

fn make_file(
    request: &ProfileRequest,
    ground: &Ground,
    bytes: u64,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Filled, ProfileError> {
    let direct = ground.no_direct.is_none().then_some(if ground.has_ring {
        EngineName::IoUring
    } else {
        EngineName::Libaio
    });
    let order = FillOrder {
        target: ground.target.clone(),
        allow_destroy: request.allow_destroy.clone(),
        direct,
        bytes,
        within_ns: request.size.is_none().then(|| fill_ns(request.budget_ns())),
    };
    fill(&order, context, watch)
}

/// Ends a row with its slot unless it has an end of its own.
fn end_after(workload: &mut Workload, times: timetable::SlotTimes) {
    let stop = &mut workload.stop;
    if !stop.has_end() {
        stop.duration = Some(Nanos(times.measured_ns));
        // A walk is done once, and measured from its beginning.
        if stop.warmup.0 == 0 && !workload.files.meta.contains(&MetaOp::Walk) {
            stop.warmup = Nanos(times.warm_up_ns);
        }
    }
}

/// What records call a target of which nobody says a name.
#[must_use]
pub fn arm_name(asked: Option<&str>, path: &Path, context: &Context) -> String {
    if let Some(asked) = asked {
        return asked.to_owned();
    }
    let environment = context.machine.environment(None, context.fathom.clone());
    let host = environment.system.hostname;
    let host = host.unwrap_or_else(|| "this machine".into());
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    format!("{host}:{}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: timetable::SlotTimes = timetable::SlotTimes {
        warm_up_ns: 10,
        measured_ns: 90,
        settle_ns: 5,
    };

    #[test]
    fn a_row_ends_with_its_slot_unless_it_has_an_end_of_its_own() {
        let mut plain = Workload::default();
        end_after(&mut plain, TIMES);
        assert_eq!(
            (plain.stop.duration, plain.stop.warmup),
            (Some(Nanos(90)), Nanos(10))
        );
        let mut own = Workload::default();
        own.stop.total_bytes = Some(Bytes(4096));
        end_after(&mut own, TIMES);
        assert_eq!((own.stop.duration, own.stop.warmup), (None, Nanos(0)));
        let mut walk = Workload::default();
        walk.files.meta = vec![MetaOp::Walk];
        end_after(&mut walk, TIMES);
        assert_eq!(
            (walk.stop.duration, walk.stop.warmup),
            (Some(Nanos(90)), Nanos(0))
        );
    }

    #[test]
    fn rows_are_left_out_together_where_the_reason_is_the_same() {
        let mut out = Vec::new();
        [("a", "x"), ("b", "y"), ("c", "x")]
            .iter()
            .for_each(|(row, why)| leave_out(&mut out, row, (*why).to_owned()));
        assert_eq!(
            out.iter()
                .map(|left| (left.reason.as_str(), left.rows.len()))
                .collect::<Vec<_>>(),
            [("x", 2), ("y", 1)]
        );
    }

    #[test]
    fn every_effort_has_the_passes_that_an_interval_needs_and_more_time_than_the_one_before() {
        let efforts = [Effort::Quick, Effort::Usual, Effort::Thorough];
        assert!(
            efforts
                .iter()
                .all(|effort| effort.passes() >= FEWEST_PASSES)
        );
        assert!(
            efforts
                .windows(2)
                .all(|pair| pair[0].budget() < pair[1].budget())
        );
        let finite = |passes: u32| {
            stats::hodges_lehmann(&vec![0.1; passes as usize], 0.95)
                .low
                .is_finite()
        };
        assert!(finite(FEWEST_PASSES) && !finite(FEWEST_PASSES - 1));
    }
}
