//! An IO500-like run: the phases of a plan one after the other, each as large as what the ones
//! before it reached.
//!
//! What holds whatever happens:
//! * Everything lies in a new directory below the one that was named, and nothing else is touched.
//! * A phase that uses what another wrote takes as much as every worker had written.
//! * After a phase that failed no other begins: its numbers would be of something else.

mod plan;
mod sizes;
mod work_dir;

pub use plan::{io500_phases, io500_text};
pub use sizes::{Io500Asked, Io500Sizes, check_room, io500_sizes};
pub use work_dir::{WorkDir, remove_stale_dirs};

use super::ProfileError;
use crate::Task;
use lab::Turn;
use record::{PlanFacts, PlanLine, PlannedArm, PlannedRow, Record, Role, Trial};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Bytes;
use workload::{
    FileSharing, Find, IO500_LIKE, Io500Phase, Io500Role, MetaOp, Phase, Shift, Stage, Workload,
};

/// Who does the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io500Group {
    pub ranks: u32,
    /// How many ranks further on lies what a rank reads.
    pub shift: u32,
}

/// The phases and how far they are.
#[derive(Debug)]
pub struct Io500Course {
    /// As the plan has them.
    phases: Vec<Phase>,
    group: Io500Group,
    dir: WorkDir,
    line: Arc<PlanLine>,
    begun: usize,
    /// Operations that every worker had done, by the name of the phase that wrote.
    reached: BTreeMap<String, u64>,
    is_over: bool,
}

impl Io500Course {
    /// A course of these phases in a directory that was made for it; `arm` is what records call the
    /// target.
    #[must_use]
    pub fn new(phases: Vec<Phase>, group: Io500Group, dir: WorkDir, arm: &str) -> Self {
        let placed: Vec<Phase> = phases
            .into_iter()
            .map(|phase| placed(phase, &dir))
            .collect();
        let row = |phase: &Phase| PlannedRow {
            name: phase.name.clone(),
            workloads: vec![Task::from(phase.workload.clone()).planned()],
        };
        let facts = PlanFacts {
            name: IO500_LIKE.into(),
            least_passes: 1,
            most_passes: 1,
            arms: vec![PlannedArm {
                name: arm.to_owned(),
                role: Role::Candidate,
                ..PlannedArm::default()
            }],
            rows: placed.iter().map(row).collect(),
            ..PlanFacts::default()
        };
        Self {
            phases: placed,
            group,
            dir,
            line: Arc::new(facts.line()),
            begun: 0,
            reached: BTreeMap::new(),
            is_over: false,
        }
    }

    /// What is written before the first record.
    #[must_use]
    pub fn plan(&self) -> &Arc<PlanLine> {
        &self.line
    }

    /// Where it works.
    #[must_use]
    pub fn dir(&self) -> &WorkDir {
        &self.dir
    }

    /// The phase whose turn it is; `None` after the last, and after one that failed.
    ///
    /// # Errors
    /// What it would use was not written, or the directory cannot be written to.
    pub fn step(&mut self) -> Result<Option<Stage>, ProfileError> {
        let Some(phase) = self.phases.get(self.begun).filter(|_| !self.is_over) else {
            return Ok(None);
        };
        let mut phase = phase.clone();
        self.begun += 1;
        match known(&phase.name).role {
            Io500Role::Writes if phase.name.ends_with("hard-write") => self.dir.set_mark()?,
            Io500Role::Walks => self.dir.set_mark()?,
            Io500Role::Writes => {}
            Io500Role::Uses(written) => {
                let reached = self.reached.get(written).copied().unwrap_or_default();
                if reached == 0 {
                    return Err(ProfileError::Failed(format!(
                        "{}: there is nothing that every worker of {written} has written",
                        phase.name
                    )));
                }
                self.cut(&mut phase.workload, written, reached);
                let by = self.group.shift;
                phase.workload.shift = (by > 0).then_some(Shift::By(by));
            }
        }
        Ok(Some(Stage(vec![phase])))
    }

    /// As much as every worker had written.
    fn cut(&self, workload: &mut Workload, written: &str, reached: u64) {
        let workers = self.workers(workload);
        if !workload.files.meta.is_empty() {
            workload.files.total_files = Some(reached.saturating_mul(workers));
            return;
        }
        let wrote = self.phases.iter().find(|phase| phase.name == written);
        let block = wrote.map_or(workload.blocks.smallest(), |phase| {
            phase.workload.blocks.smallest()
        });
        let of_each = reached.saturating_mul(block.0);
        let of_file = match workload.files.sharing {
            FileSharing::PerWorker => of_each,
            FileSharing::Shared | FileSharing::Partitioned | FileSharing::Interleaved => {
                of_each.saturating_mul(workers)
            }
        };
        workload.files.size = Some(Bytes(of_file));
    }

    fn workers(&self, workload: &Workload) -> u64 {
        u64::from(workload.threads) * u64::from(self.group.ranks)
    }

    /// Gives the record of the last phase its place, and learns from it how far that came.
    pub fn took(&mut self, record: &mut Record) {
        let Some(row) = self.begun.checked_sub(1) else {
            return;
        };
        let turn = Turn {
            row,
            ..Turn::default()
        };
        let slot = u32::try_from(row).unwrap_or(u32::MAX);
        let trial: Option<Trial> = lab::trial(&self.line.plan, &self.line, turn, slot, None);
        record.trial = trial;
        self.is_over |= !record.outcome.status.has_done_all();
        let phase = &self.phases[row];
        if known(&phase.name).role == Io500Role::Writes {
            let most = self.most_of_each(&phase.workload);
            let reached = reached(record, most);
            self.reached.insert(phase.name.clone(), reached);
        }
    }

    /// Operations of a worker that has done all of a writing phase.
    fn most_of_each(&self, workload: &Workload) -> u64 {
        let files = &workload.files;
        let workers = self.workers(workload).max(1);
        if let Some(total) = files.total_files {
            return total / workers;
        }
        let blocks = files.size.unwrap_or_default().0 / workload.blocks.smallest().0.max(1);
        match files.sharing {
            FileSharing::PerWorker => blocks,
            FileSharing::Shared | FileSharing::Partitioned | FileSharing::Interleaved => {
                blocks / workers
            }
        }
    }

    /// No phase begins any more.
    pub fn end(&mut self) {
        self.is_over = true;
    }
}

/// The phase of the table; a plan has no other.
fn known(name: &str) -> &'static Io500Phase {
    Io500Phase::find(name).expect("whoever reads a plan refuses names that are none")
}

/// The phase with its paths in the directory of the run.
fn placed(mut phase: Phase, dir: &WorkDir) -> Phase {
    let target = dir.data().join(known(&phase.name).target);
    let files = &mut phase.workload.files;
    if files.meta.contains(&MetaOp::Unlink) {
        files.allow_destroy = vec![target.clone()];
    }
    if files.meta.contains(&MetaOp::Walk) {
        let find = files.find.get_or_insert_with(Find::default);
        find.newer = Some(dir.mark());
    }
    phase.workload.targets = vec![target];
    phase
}

/// Operations that every worker has done of a writing phase in which one may do `most`: all ranks go on
/// until the number of the fastest worker of all.
fn reached(record: &Record, most: u64) -> u64 {
    record.stonewall.as_ref().map_or(most, |stonewall| {
        let all_caught_up = stonewall.wear_out_ns.is_some() && stonewall.cut == 0;
        let done = if all_caught_up {
            stonewall.most
        } else {
            stonewall.fewest
        };
        done.min(most)
    })
}

#[cfg(test)]
mod tests;
