//! An experiment as a plan file asks it, with what is known of it on this machine before the first
//! slot.

use crate::Task;
use crate::command::SlotDirs;
use crate::slots::{LoadReader, make_scratch, task};
use crate::stated;
use host::Context;
use lab::{
    Builtins, LabError, Passes, PlanCell, PlanFile, Turn, ValueSource, WorkSpec, usual_lead_in_ns,
};
use record::{
    PlanFacts, PlannedArm, PlannedQuestion, PlannedRow, Preference, Quantity, Role, Stopping,
};
use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use sys::Clock as _;

/// A plan file with the places on this machine.
#[derive(Clone, Debug)]
pub struct PlanExperiment {
    pub facts: PlanFacts,
    pub file: PlanFile,
    pub metric: Quantity,
    /// Where the file lies and its commands run.
    dir: PathBuf,
    /// Where the slots' directories are made.
    scratch: PathBuf,
    pub(crate) fathom: PathBuf,
    /// For each arm of the plan the arm of the file: the control is the baseline's.
    arms: Vec<usize>,
    /// By which what this experiment leaves behind is known.
    mark: String,
    /// What each arm of the file does in each row, with placeholders of the right form.
    works: Vec<Vec<Task>>,
}

/// Where things lie.
#[derive(Clone, Debug)]
pub struct Places {
    /// The directory of the plan's file.
    pub dir: PathBuf,
    /// The file of records.
    pub records: PathBuf,
    /// The program itself.
    pub fathom: PathBuf,
}

impl PlanExperiment {
    /// What the file asks, on this machine. Nothing is made or started.
    ///
    /// # Errors
    /// What cannot work, with its arm and row.
    pub fn new(file: PlanFile, places: &Places, loads: &LoadReader<'_>) -> Result<Self, LabError> {
        let arms = arms(&file);
        let works = sample_works(&file, &places.dir, loads)?;
        let metric = metric(&file).map_err(LabError::Plan)?;
        let facts = facts(&file, &arms, &works, &metric);
        let mut hasher = DefaultHasher::new();
        places.records.hash(&mut hasher);
        let mark = format!("{}-{:08x}", facts.hash(), hasher.finish() >> 32);
        let scratch = match &file.scratch {
            Some(at) => places.dir.join(at).join(format!("fathom-{mark}")),
            None => beside(&places.records, "scratch"),
        };
        Ok(Self {
            facts,
            metric,
            dir: places.dir.clone(),
            scratch,
            fathom: places.fathom.clone(),
            arms,
            mark,
            works,
            file,
        })
    }

    /// What an arm does in a row.
    pub(crate) fn cell(&self, turn: Turn) -> &PlanCell {
        &self.file.cells[turn.row][self.arms[turn.arm]]
    }

    /// `run` or `load`.
    pub(crate) fn kind(&self) -> &'static str {
        kind(&self.file)
    }

    pub(crate) fn seed(&self, pass: u32) -> u64 {
        self.file.seed.wrapping_add(u64::from(pass))
    }

    fn slot_dir(&self, turn: Turn) -> PathBuf {
        let Turn {
            pass,
            row,
            arm,
            attempt,
        } = turn;
        self.scratch.join(format!("{pass}-{row}-{arm}-{attempt}"))
    }

    /// The directories of a slot, empty.
    pub(crate) fn place(&self, turn: Turn, context: &Context) -> Result<SlotDirs, String> {
        let [scratch, prints] = make_scratch(&self.slot_dir(turn), self.file.keep_free_bytes)?;
        Ok(SlotDirs {
            dir: self.dir.clone(),
            scratch,
            prints,
            mark: self.mark.clone(),
            until_ns: context.clock.now().saturating_add(self.file.slot_limit_ns),
        })
    }

    /// Removes them; what cannot be removed is said.
    pub(crate) fn remove_scratch(&self, turn: Turn) -> Option<String> {
        let at = self.slot_dir(turn);
        let removed = fs::remove_dir_all(&at);
        let _not_empty_while_others_are_there = fs::remove_dir(&self.scratch);
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Some(format!("{} is left behind: {error}", at.display()))
            }
            Ok(()) | Err(_) => None,
        }
    }

    /// The commands of every arm in a row as they will run, for people.
    #[must_use]
    pub fn shown(&self, row: usize) -> Vec<(String, Vec<(String, String)>)> {
        let planned = &self.facts.rows[row].workloads;
        let arms = self.facts.arms.iter().zip(planned);
        arms.map(|(arm, planned)| {
            let target = planned
                .targets
                .first()
                .map(|target| ("target".to_owned(), target.clone()));
            let options = planned.options.clone().into_iter();
            (
                arm.name.clone(),
                target.into_iter().chain(options).collect(),
            )
        })
        .collect()
    }

    /// The measured time and the lead-ins of one pass, where slots have a time.
    #[must_use]
    pub fn pass_ns(&self) -> Option<u64> {
        let lead_in_ns = self.facts.lead_in_ns;
        let slots = self
            .works
            .iter()
            .flat_map(|of_row| self.arms.iter().map(|arm| of_row[*arm].slot_ns()));
        slots
            .map(|slot| slot.map(|ns| ns.saturating_add(ns.min(lead_in_ns))))
            .sum()
    }

    /// What an arm does otherwise than the baseline in any row: that is what is compared.
    #[must_use]
    pub fn factors(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        for row in &self.facts.rows {
            let Some((base, others)) = row.workloads.split_first() else {
                continue;
            };
            for other in others {
                let all = base.options.keys().chain(other.options.keys());
                keys.extend(
                    all.filter(|key| base.options.get(*key) != other.options.get(*key))
                        .cloned(),
                );
                keys.extend((base.targets != other.targets).then(|| "target".to_owned()));
            }
        }
        keys
    }

    /// Whether an arm changes operations that the workload does not do: what it differs by is
    /// error.
    #[must_use]
    pub fn placebos(&self, kinds: &BTreeSet<String>) -> Vec<String> {
        let is_placebo = |arm: &&PlannedArm| {
            !arm.expects.is_empty() && !arm.expects.iter().any(|kind| kinds.contains(kind))
        };
        let arms = self.facts.arms.iter().filter(is_placebo);
        arms.map(|arm| arm.name.clone()).collect()
    }
}

/// A file beside the records, with another ending.
fn beside(records: &Path, ending: &str) -> PathBuf {
    records.with_extension(ending)
}

/// For each arm of the plan the arm of the file.
fn arms(file: &PlanFile) -> Vec<usize> {
    let mut out: Vec<usize> = (0..file.arms.len()).collect();
    if file.has_control() {
        out.extend(file.arms.iter().position(|arm| arm.role == Role::Baseline));
    }
    out
}

/// The tasks of all cells with placeholders of the right form: whether each could work.
fn sample_works(
    file: &PlanFile,
    dir: &Path,
    loads: &LoadReader<'_>,
) -> Result<Vec<Vec<Task>>, LabError> {
    let place = SlotDirs {
        dir: dir.to_owned(),
        scratch: "/nonexistent".into(),
        prints: "/nonexistent".into(),
        mark: String::new(),
        until_ns: u64::MAX,
    };
    let mut out = Vec::new();
    let mut kinds = BTreeSet::new();
    for (row, cells) in file.rows.iter().zip(&file.cells) {
        let mut of_row = Vec::new();
        for (arm, cell) in file.arms.iter().zip(cells) {
            let unable =
                |why: String| LabError::Plan(format!("{} in {}: {why}", arm.name, row.name));
            let work = cell
                .work(&Builtins::sample("fathom"))
                .map_err(|e| LabError::Plan(e.to_string()))?;
            check_values(&work).map_err(unable)?;
            kinds.insert(kind_of(&work));
            of_row.push(task(work, &place, loads).map_err(unable)?);
        }
        out.push(of_row);
    }
    if kinds.len() > 1 {
        let kinds: Vec<&str> = kinds.into_iter().collect();
        return Err(LabError::Plan(format!(
            "arms cannot be compared where some do {}",
            kinds.join(" and others ")
        )));
    }
    Ok(out)
}

/// Whether what is read of a command could ever be found.
fn check_values(work: &WorkSpec) -> Result<(), String> {
    let WorkSpec::Command(spec) = work else {
        return Ok(());
    };
    for value in &spec.read {
        match &value.source {
            ValueSource::Regex(text) => drop(stated::pattern(text)?),
            ValueSource::Pointer(text) if !text.is_empty() && !text.starts_with('/') => {
                return Err(format!("json {text:?}: a JSON pointer begins with /"));
            }
            ValueSource::Pointer(_) => {}
            ValueSource::Import(format) => drop(
                format
                    .parse::<import::Format>()
                    .map_err(|e| format!("import: {e}"))?,
            ),
        }
    }
    Ok(())
}

fn kind_of(work: &WorkSpec) -> &'static str {
    match work {
        WorkSpec::Run { .. } => "run",
        WorkSpec::Load { .. } => "load",
        WorkSpec::Command(_) => "command",
    }
}

fn kind(file: &PlanFile) -> &'static str {
    let first = file.cells.first().and_then(|cells| cells.first());
    let work = first.and_then(|cell| cell.work(&Builtins::sample("fathom")).ok());
    match work {
        Some(WorkSpec::Load { .. }) => "load",
        Some(WorkSpec::Run { .. } | WorkSpec::Command(_)) | None => "run",
    }
}

/// What is asked: as the file says, else what such a workload is usually asked.
fn metric(file: &PlanFile) -> Result<Quantity, String> {
    let first = file.cells.first().and_then(|cells| cells.first());
    let work = first.and_then(|cell| cell.work(&Builtins::sample("fathom")).ok());
    let usual = match work {
        Some(WorkSpec::Command(spec)) => {
            match spec.read.iter().find(|value| !value.name.is_empty()) {
                Some(value) => format!("value:{}", value.name),
                None => "time".into(),
            }
        }
        Some(WorkSpec::Run { .. } | WorkSpec::Load { .. }) | None => "iops".into(),
    };
    let text = file.metric.as_deref().unwrap_or(&usual);
    let metric = Quantity::parse(text).map_err(|e| format!("metric {text:?}: {e}"))?;
    let better = match file.better.as_deref() {
        Some("higher") => Preference::Higher,
        Some(_) => Preference::Lower,
        None if metric.better() == Preference::Unsaid => {
            return Err(format!(
                "nobody says whether more or less of {metric} is better; add better = \"higher\" or better = \"lower\""
            ));
        }
        None => return Ok(metric),
    };
    if ![Preference::Unsaid, better].contains(&metric.better()) {
        return Err(format!("better: of {metric} the other is better"));
    }
    Ok(metric.preferring(better))
}

fn facts(file: &PlanFile, arms: &[usize], works: &[Vec<Task>], metric: &Quantity) -> PlanFacts {
    let arm = |(number, index): (usize, &usize)| {
        let of_file = &file.arms[*index];
        let is_control = number >= file.arms.len();
        PlannedArm {
            name: if is_control {
                format!("{} (control)", of_file.name)
            } else {
                of_file.name.clone()
            },
            role: if is_control {
                Role::Control
            } else {
                of_file.role
            },
            expects: of_file.expects.clone(),
            ..PlannedArm::default()
        }
    };
    let row = |(row, cells): (&lab::FileRow, &Vec<PlanCell>)| PlannedRow {
        name: row.name.clone(),
        workloads: arms.iter().map(|index| cells[*index].planned()).collect(),
    };
    let (stopping, [least_passes, most_passes]) = match file.passes {
        Passes::Fixed(n) => (Stopping::Fixed, [n, n]),
        Passes::ByLooks(ends) if file.rows.len() > 1 => (Stopping::EachPass, ends),
        Passes::ByLooks(ends) => (Stopping::Open, ends),
    };
    PlanFacts {
        name: file.name.clone(),
        stopping,
        least_passes,
        most_passes,
        budget_ns: file.budget_ns,
        settle_ns: file.settle_ns,
        lead_in_ns: lead_in_ns(works),
        seed: file.seed,
        question: Some(PlannedQuestion {
            metric: metric.key(),
            margin: file.margin,
            better: file.better.clone(),
            text: file.question.clone(),
        }),
        arms: arms.iter().enumerate().map(arm).collect(),
        rows: file.rows.iter().zip(&file.cells).map(row).collect(),
    }
}

/// Half of the longest slot; the lead-in of a command is its warm-up.
fn lead_in_ns(works: &[Vec<Task>]) -> u64 {
    let of = |task: &Task| match task {
        Task::Command(command) if command.spec.warmup == 0 => 0,
        Task::Run(_) | Task::Load(_) | Task::Command(_) => {
            usual_lead_in_ns(task.slot_ns().unwrap_or(u64::MAX))
        }
    };
    works.iter().flatten().map(of).max().unwrap_or(0)
}
