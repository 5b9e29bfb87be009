//! What the ranks of a group do together: a stage of a run, or a load.

use crate::live::{Live, LiveView, WorkView, page_title};
use anyhow::Result;
use conduct::{LoadTask, unstarted_load};
use host::{CommonStart, Context, PeerFault};
use object::{LoadError, LoadShare};
use record::Record;
use run::{RunError, execute_stage, files_of, unstarted};
use std::path::PathBuf;
use workload::{FileSharing, Phase, Rank, Stage};

/// One of the works that a command has one after another.
#[derive(Clone)]
pub(crate) enum GroupWork {
    Stage(Stage),
    Load(Box<LoadTask>),
}

impl GroupWork {
    fn phases(&self) -> &[Phase] {
        match self {
            Self::Stage(stage) => &stage.0,
            Self::Load(_) => &[],
        }
    }

    /// The phases that use files, of all works.
    pub(super) fn phases_of(works: &[Self]) -> impl Iterator<Item = &Phase> {
        works.iter().flat_map(Self::phases)
    }

    pub(super) fn files(&self) -> Vec<PathBuf> {
        let phases = self.phases().iter();
        phases.flat_map(|phase| files_of(&phase.workload)).collect()
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Stage(stage) => stage.0.first().map_or("", |phase| phase.name.as_str()),
            Self::Load(task) => &task.plan.scenario.name,
        }
    }

    /// The same text for all ranks that were asked for the same.
    pub(super) fn plan(&self) -> String {
        match self {
            Self::Stage(stage) => {
                let plans: Vec<String> = stage.0.iter().map(super::plan).collect();
                plans.join(" ")
            }
            Self::Load(task) => {
                let mut effective = task.plan.effective();
                // As many as the host has CPUs for, where nobody says.
                if !task.asked.contains_key("threads") {
                    effective.remove("threads");
                }
                record::hash_of(format!("{effective:?} {:?}", task.asked).as_bytes())
            }
        }
    }

    /// What the page of several works is called.
    pub(super) fn title(works: &[Self]) -> String {
        match works.first() {
            Some(Self::Load(task)) => format!("fathom load: {}", task.plan.scenario.name),
            Some(Self::Stage(_)) | None => {
                let stages = works.iter().map(|work| Stage(work.phases().to_vec()));
                page_title(&stages.collect::<Vec<_>>())
            }
        }
    }

    pub(super) fn view(&self, context: &Context) -> LiveView {
        LiveView::Work(Box::new(match self {
            Self::Stage(stage) => WorkView::of_stage(stage, context),
            Self::Load(task) => WorkView::of_load(&task.plan, context),
        }))
    }

    /// The part of one rank.
    ///
    /// # Errors
    /// There are no parts of it, or not for so many.
    pub(super) fn share(&self, rank: Rank) -> Result<Self> {
        match self {
            Self::Stage(stage) => {
                let [phase] = stage.0.as_slice() else {
                    return Err(crate::exit::Usage("several ranks do one phase at a time: phases that start together are for one host".into()).into());
                };
                let mut phase = phase.clone();
                phase.workload = workload::share(&phase.workload, rank)?;
                Ok(Self::Stage(Stage(vec![phase])))
            }
            Self::Load(task) => {
                let share = LoadShare {
                    rank: rank.number(),
                    size: rank.size(),
                };
                let plan = task.plan.shared(share);
                let plan = plan.map_err(|error| crate::exit::unstarted(Box::new(error)))?;
                Ok(Self::Load(Box::new(LoadTask {
                    plan,
                    asked: task.asked.clone(),
                })))
            }
        }
    }

    /// A rank's part, done. Where nothing was measured, its record says why, and where it was refused
    /// there is none.
    pub(super) fn measure(&self, context: &Context, live: &Live) -> Result<Record, PeerFault> {
        let mut live = live.clone();
        match self {
            Self::Stage(stage) => {
                let measured = check_files(&stage.0, context)
                    .and_then(|()| execute_stage(stage, context, &mut live));
                match (measured, stage.0.first()) {
                    (Ok(mut records), _) => records.pop().ok_or_else(|| PeerFault {
                        text: "nothing came of it".into(),
                        exit_code: 1,
                    }),
                    (Err(error), Some(phase))
                        if error.exit_code() != 2 && !matches!(error, RunError::Group { .. }) =>
                    {
                        Ok(unstarted(phase, context, &error))
                    }
                    (Err(error), _) => Err(PeerFault {
                        text: error.to_string(),
                        exit_code: error.exit_code(),
                    }),
                }
            }
            Self::Load(task) => match object::execute(&task.plan, context, &mut live) {
                Ok(record) => Ok(Record {
                    asked: task.asked.clone(),
                    ..record
                }),
                Err(error) if error.exit_code() == 2 || matches!(error, LoadError::Group(_)) => {
                    Err(PeerFault {
                        text: error.to_string(),
                        exit_code: error.exit_code(),
                    })
                }
                Err(error) => Ok(unstarted_load(task, &error, context)),
            },
        }
    }
}

/// What ranks cannot do together to files that all of them use; it is said as any other fault.
fn check_files(phases: &[Phase], context: &Context) -> Result<(), RunError> {
    let start = context.common_start.as_ref();
    let is_shared = start.is_some_and(|start| start.has_one_target() && start.group.size > 1);
    for workload in phases.iter().map(|phase| &phase.workload) {
        let has_own =
            workload.files.sharing == FileSharing::PerWorker || !workload.files.meta.is_empty();
        let writes = workload.read_percent()? < 100.0;
        if !is_shared || has_own || !writes || !workload.verify.on {
            continue;
        }
        let fault = PeerFault {
            text: "ranks cannot write and verify files that all of them use: give --file-distribution per-worker".into(),
            exit_code: 2,
        };
        start
            .and_then(CommonStart::peers)
            .map_or(Ok(()), |peers| peers.meet(Err(fault)))?;
    }
    Ok(())
}
