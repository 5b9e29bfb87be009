//! What the ranks of a group do together: a stage of a run, or a load.

use super::connection::RankLink;
use super::watched::RankWatch;
use crate::live::{Live, LiveView, WorkView, page_title};
use anyhow::Result;
use conduct::{LoadTask, unstarted_load};
use host::{CommonStart, Context, PeerFault};
use object::{LoadError, LoadShare};
use record::{Difference, Record};
use run::{RunError, execute_stage, files_of, unstarted};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use workload::{FileSharing, MetaOp, Phase, Rank, Shift, Stage, Workload};

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
                let plans: Vec<String> = stage.0.iter().map(super::place::plan).collect();
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

    /// What was asked, where whoever measures knows only what it came to.
    pub(super) fn asked(&self) -> BTreeMap<String, String> {
        match self {
            Self::Load(task) => task.asked.clone(),
            Self::Stage(_) => BTreeMap::new(),
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
        let view = match self {
            Self::Stage(stage) => WorkView::of_stage(stage, context),
            Self::Load(task) => WorkView::of_load(&task.plan, context),
        };
        LiveView::Work(Box::new(view.of_ranks()))
    }

    /// Whose part a rank does in each of several works: what it wrote in an earlier one it reads on
    /// another host, where there is one and nobody says whose it reads; and it writes its own, for
    /// what is written and read further on alike is read by its writer. So it is with names: those that one phase made
    /// the next looks up on another host.
    pub(super) fn place_shifts(works: &mut [Self], apart: Option<u32>) -> Vec<Option<ShiftChange>> {
        let mut written: BTreeSet<PathBuf> = BTreeSet::new();
        let is_only = works.len() == 1;
        let mut of_phase = |workload: &mut Workload| {
            let is_met = workload.targets.iter().any(|path| written.contains(path));
            let asked = workload.shift;
            let names = &workload.files.meta;
            let makes_names = names.contains(&MetaOp::Create);
            // Alone it does to all ranks alike what somebody may ask for, but no kind reads what another rank made.
            let is_alone = is_only && !(makes_names && names.len() > 1);
            if workload.writes_blocks() || makes_names {
                written.extend(workload.targets.iter().cloned());
                workload.shift = asked.filter(|by| is_alone || *by == Shift::By(0));
            } else if is_met && names.iter().all(looks_up) {
                workload.shift = asked.or(apart.map(Shift::By));
            }
            let effective = workload.shift;
            (asked != effective).then_some(ShiftChange { asked, effective })
        };
        let of_work = |work: &mut Self| match work {
            Self::Stage(stage) => {
                let mut phases = stage.0.iter_mut();
                phases.find_map(|phase| of_phase(&mut phase.workload))
            }
            Self::Load(_) => None,
        };
        works.iter_mut().map(of_work).collect()
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
    pub(super) fn measure(
        &self,
        context: &Context,
        live: &Live,
        connection: &Arc<RankLink>,
    ) -> Result<Record, PeerFault> {
        let mut watch = RankWatch::new(live, connection);
        match self {
            Self::Stage(stage) => {
                let measured = check_files(&stage.0, context)
                    .and_then(|()| execute_stage(stage, context, &mut watch));
                match (measured, stage.0.first()) {
                    (Ok(mut records), _) => records.pop().ok_or_else(|| PeerFault {
                        text: "nothing came of it".into(),
                        exit_code: 1,
                    }),
                    (Err(error), Some(phase))
                        if error.exit_code() != 2 && !matches!(error, RunError::Group(_)) =>
                    {
                        Ok(unstarted(phase, context, &error))
                    }
                    (Err(error), _) => Err(PeerFault {
                        text: error.to_string(),
                        exit_code: error.exit_code(),
                    }),
                }
            }
            Self::Load(task) => match object::execute(&task.plan, context, &mut watch) {
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

/// Another part of the target than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShiftChange {
    asked: Option<Shift>,
    effective: Option<Shift>,
}

impl ShiftChange {
    /// Says it in the record of the work.
    pub(super) fn tell(self, record: &mut Record) {
        let text = |shift: Option<Shift>| shift.map(|shift| shift.to_string());
        let (asked, effective) = (text(self.asked), text(self.effective));
        match &asked {
            Some(asked) => record.asked.insert("shift".into(), asked.clone()),
            None => record.asked.remove("shift"),
        };
        let reason = match effective {
            Some(_) => {
                "what an earlier phase of this command wrote is read on another host than its own, so that no cache of its own answers; --shift 0 leaves it"
            }
            None => {
                "a rank writes its own part: what is written and read further on alike would be read by its writer"
            }
        };
        record.differences.push(Difference {
            key: "shift".into(),
            asked,
            effective,
            reason: reason.into(),
        });
    }
}

/// Whether an operation leaves a name as it is and where it is.
fn looks_up(kind: &MetaOp) -> bool {
    match kind {
        MetaOp::Stat | MetaOp::Open | MetaOp::Read | MetaOp::Readdir => true,
        // Directories of a walk are shared out as they are found.
        MetaOp::Create | MetaOp::Rename | MetaOp::Unlink | MetaOp::Walk => false,
    }
}

/// What ranks cannot do together to files that all of them use; it is said as any other fault.
fn check_files(phases: &[Phase], context: &Context) -> Result<(), RunError> {
    let start = context.common_start.as_ref();
    let has_others = start.is_some_and(|start| start.group.size > 1);
    let is_one = start.is_some_and(CommonStart::has_one_target);
    for workload in phases.iter().map(|phase| &phase.workload) {
        let has_own = workload.files.sharing == FileSharing::PerWorker;
        let is_server = |target: &PathBuf| run::is_server(target);
        let is_shared = has_others && (is_one || workload.targets.iter().any(is_server));
        // A pass of reads would come to blocks that another rank has not written yet.
        let reads_others = workload.reads_back() && !workload.parts_blocks();
        if !is_shared || has_own || !workload.writes_blocks() || !reads_others {
            continue;
        }
        let fault = PeerFault {
            text: "ranks that read back what they wrote must each have their own blocks, and these are dealt out anew for the reads: give --file-distribution partitioned with one --block-size, or blocks in order (drop --random), or --verify-when later and read in a run of its own".into(),
            exit_code: 2,
        };
        start
            .and_then(CommonStart::peers)
            .map_or(Ok(()), |peers| peers.meet(Err(fault)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Phases one after another: the target, the share of reads, and what is said of the shift.
    fn works(phases: &[(&str, &str, Option<Shift>)]) -> Vec<GroupWork> {
        let work = |(target, reads, shift): &(&str, &str, Option<Shift>)| {
            let mut workload = Workload {
                targets: vec![PathBuf::from(target)],
                shift: *shift,
                ..Workload::default()
            };
            workload::settings::apply(&mut workload, "read-percent", reads).expect("it is a share");
            let name = (*target).to_owned();
            GroupWork::Stage(Stage(vec![Phase { name, workload }]))
        };
        phases.iter().map(work).collect()
    }

    fn shifts(works: &[GroupWork]) -> Vec<Option<Shift>> {
        GroupWork::phases_of(works)
            .map(|phase| phase.workload.shift)
            .collect()
    }

    #[test]
    fn phases_that_start_together_are_for_one_host() {
        let two = works(&[("a", "100", None), ("b", "100", None)]);
        let phases = GroupWork::phases_of(&two).cloned().collect();
        let rank = Rank::new(0, 2).expect("the first of two");
        let refused = GroupWork::Stage(Stage(phases)).share(rank);
        let why = refused.err().map(|why| why.to_string()).unwrap_or_default();
        assert!(
            why.contains("phases that start together are for one host"),
            "{why}"
        );
        assert!(two[0].share(rank).is_ok());
    }

    #[test]
    fn what_the_same_command_wrote_is_read_on_another_host() {
        let mut all = works(&[
            ("a", "100", None),
            ("a", "0", None),
            ("a", "100", None),
            ("b", "100", None),
            ("a", "50", None),
            ("a", "100", Some(Shift::By(0))),
            ("a", "100", Some(Shift::Random)),
        ]);
        let changes = GroupWork::place_shifts(&mut all, Some(2));
        let changed: Vec<bool> = changes.iter().map(Option::is_some).collect();
        assert_eq!(changed, [false, false, true, false, false, false, false]);
        let (by_one_host, own) = (Some(Shift::By(2)), Some(Shift::By(0)));
        let random = Some(Shift::Random);
        assert_eq!(
            shifts(&all),
            [None, None, by_one_host, None, None, own, random]
        );
    }

    #[test]
    fn ranks_write_their_own_where_they_read_another_s() {
        let random = Some(Shift::Random);
        let mut all = works(&[("a", "0", random), ("a", "100", random)]);
        let changes = GroupWork::place_shifts(&mut all, None);
        assert_eq!(shifts(&all), [None, random]);
        let change = changes[0].expect("the first changed");
        assert_eq!(changes[1], None);
        let mut record = Record::default();
        change.tell(&mut record);
        assert_eq!(
            record.asked.get("shift").map(String::as_str),
            Some("random")
        );
        assert_eq!(record.differences[0].effective, None);
        let mut one = works(&[("a", "0", random)]);
        assert_eq!(GroupWork::place_shifts(&mut one, Some(1)), [None]);
        assert_eq!(shifts(&one), [random], "somebody may ask for it");
    }

    #[test]
    fn names_that_one_phase_made_the_next_looks_up_on_another_host() {
        let of_names = |all: &[(&str, Option<Shift>)]| {
            let phases = all.iter().map(|(_, shift)| ("d", "100", *shift));
            let mut works = works(&phases.collect::<Vec<_>>());
            for (work, (meta, _)) in works.iter_mut().zip(all) {
                let GroupWork::Stage(stage) = work else {
                    unreachable!("it is a stage");
                };
                workload::settings::apply(&mut stage.0[0].workload, "meta", meta)
                    .expect("these are kinds");
            }
            GroupWork::place_shifts(&mut works, Some(2));
            shifts(&works)
        };
        let by_one_host = Some(Shift::By(2));
        let all = of_names(&[
            ("create", by_one_host),
            ("stat,read", None),
            ("walk", None),
            ("unlink", None),
        ]);
        assert_eq!(all, [None, by_one_host, None, None]);
        assert_eq!(of_names(&[("create,stat", by_one_host)]), [None]);
        assert_eq!(of_names(&[("stat", by_one_host)]), [by_one_host]);
    }

    #[test]
    fn a_shift_that_nobody_asked_for_is_a_difference() {
        let mut record = Record::default();
        record.asked.insert("shift".into(), "1".into());
        let effective = Some(Shift::By(1));
        let change = ShiftChange {
            asked: None,
            effective,
        };
        change.tell(&mut record);
        assert!(record.asked.is_empty());
        let told = &record.differences[0];
        assert_eq!((&told.asked, told.effective.as_deref()), (&None, Some("1")));
    }
}
