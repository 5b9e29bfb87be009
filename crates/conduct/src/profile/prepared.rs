//! A profile made ready: the targets filled, the rows chosen that work on all of them, and the
//! plan.
//!
//! Of several targets each row is one block of all, so that they can be compared. Rows are of the
//! same size on all targets, and one that any of them refuses is left out for all.

use super::ground::{Ground, cached_bytes, most_bytes};
use super::rehearsal::rehearse;
use super::timetable::{last_pass_ns, slot_times};
use super::{
    ProfileError, ProfileRequest, RowsLeftOut, end_after, leave_out, make_file, rows, told,
};
use crate::{Experiment, Generator, Row, Task, drawn_seed};
use host::{Context, Watch};
use lab::usual_lead_in_ns;
use record::{PlanFacts, PlannedArm, Stopping};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use sys::Clock;
use units::{Bytes, Nanos};
use workload::{Cache, EngineName, Phase, Workload};

/// Intervals of the series in a slot.
const INTERVALS: u64 = 5;
const SHORTEST_INTERVAL_NS: u64 = 10_000_000;
const LONGEST_INTERVAL_NS: u64 = 1_000_000_000;

/// A row and what each arm does in it.
pub(super) struct ProfileRow {
    pub(super) name: String,
    pub(super) workloads: Vec<Workload>,
}

/// An arm and where it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileArm {
    pub arm: PlannedArm,
    pub path: PathBuf,
}

/// All that comes before the first slot. Dropped, it takes the files with it that were made for it.
pub struct Prepared {
    pub experiment: Experiment,
    /// That of the request, with the length of intervals that suits the slots.
    pub context: Context,
    pub left_out: Vec<RowsLeftOut>,
    /// What was done, and what the reader must know of it.
    pub notes: Vec<String>,
    /// Measured time of one slot of rows without an end of their own.
    pub slot: Nanos,
    grounds: Vec<Ground>,
}

impl Prepared {
    /// Removes the files that were made, and notes that they are gone.
    pub fn clean(&mut self) {
        for ground in &mut self.grounds {
            let Some(path) = ground.own.take().map(|own| own.path().to_owned()) else {
                continue;
            };
            let several = self.experiment.plan.arms.len() > 1;
            self.notes.push(match (path.exists(), several) {
                (true, _) => format!("{} could not be removed; remove it", path.display()),
                (false, false) => "its file is removed".into(),
                (false, true) => format!("{} is removed", path.display()),
            });
        }
    }
}

/// Fills the target of every arm and makes the plan: every row once a pass for every arm. The path
/// of the request itself is not used.
///
/// # Errors
/// A target cannot be used or filled or fails in the rehearsal, no row works on all of them, or a
/// signal came.
pub fn prepare(
    request: &ProfileRequest,
    arms: &[ProfileArm],
    generator: &mut dyn Generator,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Prepared, ProfileError> {
    let start = context.clock.now();
    let mut rows = rows::rows(request)?;
    let mut sites = Sites::find(request, arms, context)?;
    let mut notes: Vec<String> = sites
        .grounds
        .iter_mut()
        .flat_map(|ground| std::mem::take(&mut ground.notes))
        .collect();
    let has_direct = sites
        .grounds
        .iter()
        .all(|ground| ground.no_direct.is_none());
    notes.extend(rows::within_effort(&mut rows, request, has_direct));
    let bytes = sites.fill(context, watch, &mut notes)?;
    let cached = sites
        .grounds
        .iter()
        .map(|ground| cached_bytes(bytes, ground.memory))
        .min()
        .unwrap_or(bytes);
    for said in sites
        .grounds
        .iter()
        .flat_map(|ground| told::sizes(ground, bytes, cached, &rows))
    {
        // Targets of one machine have much in common.
        if !notes.contains(&said) {
            notes.push(said);
        }
    }
    let mut left_out = Vec::new();
    let mut rows = sites.suitable(rows, bytes, cached, context, &mut left_out);
    let around = rehearse(&mut rows, &mut left_out, generator, context, watch)?;
    if rows.is_empty() {
        let why = told::no_row(&left_out, &sites.requests);
        return Err(ProfileError::Unsuitable(why));
    }
    let left_ns = request
        .budget_ns()
        .saturating_sub(context.clock.now() - start);
    let (experiment, interval_ns, slot) = experiment(request, arms, rows, left_ns, &around);
    let context = Context {
        interval_ns,
        ..context.clone()
    };
    Ok(Prepared {
        experiment,
        context,
        left_out,
        notes,
        slot,
        grounds: sites.grounds,
    })
}

/// The experiment for the time that is left, the length of an interval and that of a slot.
fn experiment(
    request: &ProfileRequest,
    arms: &[ProfileArm],
    mut rows: Vec<ProfileRow>,
    left_ns: u64,
    around: &[u64],
) -> (Experiment, u64, Nanos) {
    let passes = request.passes.unwrap_or(request.effort.passes());
    // The usual slot is that of a profile of one target: its time is kept for every arm, whatever
    // the whole then takes.
    let usual_ns = request.budget.is_none().then_some(request.effort.slot_ns());
    let times = match (arms.len() > 1, usual_ns) {
        (true, Some(_)) => slot_times(u64::MAX, passes, around, usual_ns),
        // A lead-in is half of its slot.
        (true, None) => slot_times(left_ns / 3 * 2, passes, around, usual_ns),
        (false, _) => slot_times(left_ns, passes, around, usual_ns),
    };
    rows.iter_mut()
        .flat_map(|row| &mut row.workloads)
        .for_each(|workload| end_after(workload, times));
    let slot_ns = times.measured_ns + times.warm_up_ns;
    let plan = PlanFacts {
        name: "profile".into(),
        arms: arms.iter().map(|arm| arm.arm.clone()).collect(),
        stopping: Stopping::Fixed,
        least_passes: request.passes.unwrap_or(1),
        most_passes: passes,
        budget_ns: last_pass_ns(left_ns),
        settle_ns: times.settle_ns,
        lead_in_ns: if arms.len() > 1 {
            usual_lead_in_ns(slot_ns)
        } else {
            0
        },
        seed: request.order_seed.unwrap_or_else(drawn_seed),
        ..PlanFacts::default()
    };
    let row = |row: ProfileRow| Row {
        name: row.name,
        tasks: row.workloads.into_iter().map(Task::from).collect(),
    };
    let experiment = Experiment::new(plan, rows.into_iter().map(row).collect());
    let interval_ns =
        (times.measured_ns / INTERVALS).clamp(SHORTEST_INTERVAL_NS, LONGEST_INTERVAL_NS);
    (experiment, interval_ns, Nanos(times.measured_ns))
}

/// Where arms are measured; arms of one path share a site.
struct Sites {
    grounds: Vec<Ground>,
    /// What is asked of each.
    requests: Vec<ProfileRequest>,
    /// By arm.
    of_arm: Vec<usize>,
}

impl Sites {
    fn find(
        request: &ProfileRequest,
        arms: &[ProfileArm],
        context: &Context,
    ) -> Result<Self, ProfileError> {
        let mut out = Self {
            grounds: Vec::new(),
            requests: Vec::new(),
            of_arm: Vec::new(),
        };
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        for arm in arms {
            let known = out
                .requests
                .iter()
                .position(|known| real(&known.path) == real(&arm.path));
            out.of_arm.push(known.unwrap_or(out.grounds.len()));
            if known.is_none() {
                let request = ProfileRequest {
                    path: arm.path.clone(),
                    ..request.clone()
                };
                out.grounds.push(Ground::find(&request, context)?);
                out.requests.push(request);
            }
        }
        Ok(out)
    }

    fn choices(&self) -> impl Iterator<Item = Choice<'_>> {
        self.requests
            .iter()
            .zip(&self.grounds)
            .map(|(request, ground)| Choice { request, ground })
    }

    /// Fills what may be written to and returns the bytes that every target has.
    fn fill(
        &self,
        context: &Context,
        watch: &mut dyn Watch,
        notes: &mut Vec<String>,
    ) -> Result<u64, ProfileError> {
        let mut bytes = u64::MAX;
        for Choice { request, ground } in self.choices() {
            bytes = bytes.min(most_bytes(ground, request)?);
        }
        self.fits(bytes)?;
        let mut filled_ones = Vec::new();
        for choice in self.choices() {
            if choice.may_write(context) {
                let filled = make_file(choice.request, choice.ground, bytes, context, watch)?;
                bytes = bytes.min(filled.bytes);
                filled_ones.push((choice.ground, filled));
            }
        }
        notes.extend(
            filled_ones
                .iter()
                .map(|(ground, filled)| told::fill(ground, filled)),
        );
        for Choice { ground, .. } in self.choices().filter(|choice| !choice.may_write(context)) {
            ground.without_holes(bytes)?;
        }
        Ok(bytes)
    }

    /// Files of several targets may lie in one file system.
    fn fits(&self, bytes: u64) -> Result<(), ProfileError> {
        let mut needed: BTreeMap<u64, (u64, &Ground)> = BTreeMap::new();
        for ground in self.grounds.iter().filter(|ground| ground.own.is_some()) {
            if let Ok(facts) = ground.target.metadata() {
                needed.entry(facts.dev()).or_insert((0, ground)).0 += bytes;
            }
        }
        match needed
            .into_values()
            .find(|(needed, ground)| ground.free_bytes.is_some_and(|free| *needed > free))
        {
            None => Ok(()),
            Some((needed, ground)) => Err(ProfileError::Unsuitable(format!(
                "the files of all targets need {} in the file system of {}, of which {} are free; free space, or give a smaller --size",
                Bytes(needed),
                ground.target.display(),
                Bytes(ground.free_bytes.unwrap_or_default())
            ))),
        }
    }

    /// The rows that can work on every target, made ready for each.
    fn suitable(
        &self,
        rows: Vec<Phase>,
        bytes: u64,
        cached: u64,
        context: &Context,
        left_out: &mut Vec<RowsLeftOut>,
    ) -> Vec<ProfileRow> {
        let choices: Vec<Choice<'_>> = self.choices().collect();
        let mut out = Vec::new();
        for row in rows {
            let fitted: Result<Vec<Workload>, String> = choices
                .iter()
                .map(|choice| {
                    let mut workload = row.workload.clone();
                    choice.fit(&mut workload, bytes, cached)?;
                    let phase = Phase {
                        name: row.name.clone(),
                        workload,
                    };
                    run::dry_run(&phase, context).map_err(|error| error.to_string())?;
                    Ok(phase.workload)
                })
                .collect();
            match fitted {
                Ok(of_site) => {
                    out.push(ProfileRow {
                        name: row.name,
                        workloads: self
                            .of_arm
                            .iter()
                            .map(|site| of_site[*site].clone())
                            .collect(),
                    });
                }
                Err(reason) => leave_out(left_out, &row.name, reason),
            }
        }
        out
    }
}

/// Which rows can be measured on a target.
struct Choice<'a> {
    request: &'a ProfileRequest,
    ground: &'a Ground,
}

impl Choice<'_> {
    /// Whether the target may be written to: its own file, one that Fathom made, or one that the
    /// user gave up.
    fn may_write(&self, context: &Context) -> bool {
        if self.ground.own.is_some() {
            return true;
        }
        let mut workload = self.base();
        workload.access.write_percent = Some(units::Percent(100.0));
        workload.files.size = self.ground.has.map(|bytes| Bytes(bytes.min(4096)));
        run::dry_run(
            &Phase {
                name: "write".into(),
                workload,
            },
            context,
        )
        .is_ok()
    }

    fn base(&self) -> Workload {
        let mut workload = Workload {
            targets: vec![self.ground.target.clone()],
            ..Workload::default()
        };
        workload
            .files
            .allow_destroy
            .extend(self.request.allow_destroy.clone());
        workload
    }

    /// Gives a row its target, size and seed, or says why it cannot have them.
    fn fit(&self, workload: &mut Workload, bytes: u64, cached: u64) -> Result<(), String> {
        let is_direct = workload.durability.open.direct;
        if let Some(why) = self.ground.no_direct.as_ref().filter(|_| is_direct) {
            return Err(why.clone());
        }
        if !self.ground.has_ring && workload.engine == EngineName::Auto && workload.queue_depth > 1
        {
            if !is_direct {
                return Err("io_uring is not permitted here, and no other engine holds several cached operations".into());
            }
            workload.engine = EngineName::Libaio;
        }
        let base = self.base();
        workload.targets = base.targets;
        workload.files.allow_destroy = base.files.allow_destroy;
        workload.seed = self.request.seed;
        let most = if workload.cache == Cache::Warm {
            cached
        } else {
            bytes
        };
        let size = *workload.files.size.get_or_insert(Bytes(most));
        if size.0 > bytes {
            return Err(format!(
                "its file-size {} is more than the {} that the target has here",
                size.exact(),
                Bytes(bytes)
            ));
        }
        Ok(())
    }
}
