//! An experiment as a plan file asks it, with what is known of it on this machine before the first
//! slot.

mod checked;
mod exchanged;
mod facts;
mod programs;
mod space;

use crate::build::{built, digest, locks_of};
use crate::command::SlotDirs;
use crate::left_behind::end_processes;
use crate::slots::{LoadReader, make_scratch};
use crate::{Task, surroundings};
use checked::{check_expects, check_limits, check_metric, commits, sample_works};
use exchanged::{KnownProgram, programs_of};
use facts::{arms, facts, kind, metric};
use host::Context;
use lab::{Builtins, LabError, PlanCell, PlanFile, Turn};
use programs::check_programs;
use record::{PlanFacts, Quantity, Record, Role};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
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
    /// Of each arm of the file.
    made: Vec<MadeArm>,
    /// What sets the limits of servers, in words.
    limits: Option<String>,
}

/// What is known of an arm of the file on this machine.
#[derive(Clone, Debug, Default)]
struct MadeArm {
    commit: Option<String>,
    /// Once it is built.
    tree: Option<PathBuf>,
    /// What identifies it beyond that.
    said: Option<String>,
    /// Why its build failed.
    lost: Option<String>,
    /// What it starts, as it was when the plan was made.
    programs: Vec<KnownProgram>,
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
    /// What the file asks, on this machine. Nothing is built, started or left. `known` is the plan
    /// of an earlier beginning, whose commits stay.
    ///
    /// # Errors
    /// What cannot work, with its arm and row.
    pub fn new(
        file: PlanFile,
        places: &Places,
        loads: &LoadReader<'_>,
        known: Option<&PlanFacts>,
    ) -> Result<Self, LabError> {
        let arms = arms(&file);
        let works = sample_works(&file, &places.dir, loads)?;
        let metric = metric(&file).map_err(LabError::Plan)?;
        check_metric(&file, &works, &metric)?;
        check_expects(&file)?;
        check_programs(&file, &places.dir)?;
        surroundings::check(&file.surroundings).map_err(LabError::Plan)?;
        let mark = digest(&places.records.display().to_string());
        let limits = check_limits(&file, &mark)?;
        let scratch = match &file.scratch {
            Some(at) => places.dir.join(at).join(format!("fathom-{mark}")),
            // Under a name that is nobody's: what lies there is removed.
            None => places.records.with_extension(format!("{mark}.scratch")),
        };
        let made = commits(&file, &places.dir, &mark, known)?;
        let mut out = Self {
            facts: PlanFacts::default(),
            metric,
            dir: places.dir.clone(),
            scratch,
            fathom: places.fathom.clone(),
            arms,
            mark,
            works,
            made,
            limits,
            file,
        };
        out.facts = out.stated();
        Ok(out)
    }

    /// What the file asks, as far as that is known on any machine: without identities.
    ///
    /// # Errors
    /// What cannot work, with its arm and row.
    pub fn asked(
        file: &PlanFile,
        dir: &Path,
        loads: &LoadReader<'_>,
    ) -> Result<PlanFacts, LabError> {
        let works = sample_works(file, dir, loads)?;
        let metric = metric(file).map_err(LabError::Plan)?;
        Ok(facts(file, &arms(file), &works, &metric))
    }

    /// Builds what is to be built. Every slot of an arm whose build fails is a failed one; which
    /// those are is returned, in words.
    ///
    /// # Errors
    /// What a build is to be cannot be read, that of a killed runner does not end, or a signal ended
    /// one: what is not built yet has not failed.
    pub fn build(&mut self, context: &Context) -> Result<Vec<String>, LabError> {
        // The build of a runner that was killed would go on in the same place.
        end_processes(&self.mark, &context.clock).map_err(LabError::Plan)?;
        let mut failed = Vec::new();
        for index in 0..self.file.arms.len() {
            let cell = &self.file.cells[0][index];
            let spec = cell.build(&self.builtins_of(index));
            let Some(spec) = spec.map_err(|e| LabError::Plan(e.to_string()))? else {
                continue;
            };
            let commit = self.made[index].commit.clone().unwrap_or_default();
            match built(&spec, &commit, &self.dir, &self.mark, context) {
                Ok(built) => {
                    self.made[index].tree = Some(built.tree);
                    self.made[index].said = built.identity;
                }
                Err(why) if sys::caught_signal().is_some() => {
                    let name = &self.file.arms[index].name;
                    return Err(LabError::Plan(format!("{name}: {why}")));
                }
                Err(why) => {
                    let name = &self.file.arms[index].name;
                    failed.push(format!("no slot of {name} can run: {why}"));
                    self.made[index].lost = Some(why);
                }
            }
        }
        self.facts = self.stated();
        Ok(failed)
    }

    /// Why an arm of the plan can never run.
    #[must_use]
    pub fn lost(&self, arm: usize) -> Option<&str> {
        self.made[self.arms[arm]].lost.as_deref()
    }

    /// The plan, as far as everything in it is known.
    fn stated(&mut self) -> PlanFacts {
        for index in 0..self.made.len() {
            self.made[index].programs = self.programs(index);
        }
        let mut facts = facts(&self.file, &self.arms, &self.works, &self.metric);
        for (arm, index) in facts.arms.iter_mut().zip(&self.arms) {
            arm.identity = self.identity(*index);
        }
        facts
    }

    /// What identifies an arm of the file.
    fn identity(&self, index: usize) -> BTreeMap<String, String> {
        let made = &self.made[index];
        let mut out = BTreeMap::new();
        out.extend(
            made.commit
                .clone()
                .map(|commit| ("commit".to_owned(), commit)),
        );
        out.extend(made.said.clone().map(|said| ("identity".to_owned(), said)));
        if let Some(tree) = &made.tree {
            out.extend(locks_of(tree));
        }
        out.extend(exchanged::stated(&made.programs, &self.file.rows));
        out
    }

    /// The programs that an arm of the file starts.
    fn programs(&self, index: usize) -> Vec<KnownProgram> {
        let cells = self.file.cells.iter().map(|cells| &cells[index]);
        programs_of(cells, &self.builtins_of(index), &self.dir)
    }

    /// Errors: what the arm starts in this row is not what it was when the plan was made.
    pub(crate) fn check_unexchanged(&self, turn: Turn) -> Result<(), String> {
        exchanged::check_unexchanged(&self.made[self.arms[turn.arm]].programs, turn.row)
    }

    fn builtins_of(&self, index: usize) -> Builtins {
        let mut with = Builtins::unknown();
        with.set("fathom", self.fathom.display().to_string());
        let made = &self.made[index];
        if let Some(commit) = &made.commit {
            with.set("commit", commit);
        }
        if let Some(tree) = &made.tree {
            with.set("tree", tree.display().to_string());
        }
        with
    }

    /// What is known of an arm of the plan whatever the slot.
    pub(crate) fn builtins(&self, arm: usize) -> Builtins {
        self.builtins_of(self.arms[arm])
    }

    /// What an arm does in a row.
    pub(crate) fn cell(&self, turn: Turn) -> &PlanCell {
        &self.file.cells[turn.row][self.arms[turn.arm]]
    }

    /// What went wrong in a slot, by its arm and row.
    pub(crate) fn of_slot(&self, turn: Turn, source: Box<dyn Error + Send + Sync>) -> LabError {
        LabError::Slot {
            arm: self.facts.arms[turn.arm].name.clone(),
            row: self.facts.rows[turn.row].name.clone(),
            source,
        }
    }

    /// `run` or `load`.
    pub(crate) fn kind(&self) -> &'static str {
        kind(&self.file)
    }

    /// By what this machine sets the limits of servers; `None` where there are none.
    #[must_use]
    pub fn limits(&self) -> Option<&str> {
        self.limits.as_deref()
    }

    /// The place of the baseline among the arms.
    #[must_use]
    pub fn baseline(&self) -> usize {
        let mut arms = self.facts.arms.iter();
        arms.position(|arm| arm.role == Role::Baseline).unwrap_or(0)
    }

    pub(crate) fn seed(&self, pass: u32) -> u64 {
        self.file.seed.wrapping_add(u64::from(pass))
    }

    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
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
        let [scratch, prints] = make_scratch(&self.slot_dir(turn))?;
        Ok(SlotDirs {
            dir: self.dir.clone(),
            scratch,
            prints,
            mark: self.mark.clone(),
            until_ns: context.clock.now().saturating_add(self.file.slot_limit_ns),
        })
    }

    /// What a record says of its arm and row: ports and directories are new in every slot, and no
    /// difference between arms.
    pub(crate) fn describe(&self, turn: Turn, record: &mut Record) {
        let planned = &self.facts.rows[turn.row].workloads[turn.arm];
        let is_command = record.targets.iter().any(|target| target.kind == "command")
            || planned.options.contains_key("command");
        let belongs =
            |key: &str| is_command || key.starts_with("server.") || key.starts_with("build.");
        let around = planned.options.iter().filter(|(key, _)| belongs(key));
        record
            .effective
            .extend(around.map(|(key, value)| (key.clone(), value.clone())));
        let shown = if is_command {
            planned.options.get("command")
        } else {
            planned
                .targets
                .first()
                .filter(|target| target.contains('{'))
        };
        let Some(shown) = shown else { return };
        if !is_command {
            record.effective.insert("target".into(), shown.clone());
        }
        for target in &mut record.targets {
            target.path.clone_from(shown);
        }
    }

    /// Removes them; what cannot be removed is said.
    pub(crate) fn remove_scratch(&self, turn: Turn) -> Option<String> {
        let at = self.slot_dir(turn);
        match fs::remove_dir_all(&at) {
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
}
