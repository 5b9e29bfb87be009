//! The file in which an experiment is asked: `PLAN.toml`.
//!
//! Reading it touches nothing. A key is what some reader asks for; a key that nobody asks for, a
//! placeholder without a value and a value without a use are errors with their line.

mod arms;
mod cell;
mod node;
mod reading;
mod rows;
mod spec;
mod template;

pub use cell::PlanCell;
pub use spec::{
    BuildSpec, CommandSpec, Limits, ReadyWhen, RepeatFor, Reset, ServerSpec, StatedValue,
    ValueSource, WorkSpec,
};
pub use template::Builtins;

use arms::{ArmOfFile, Arms};
use cell::{Sections, cell};
use node::{NodeValue, PlanNode};
use reading::NodeTable;
use record::Role;
use rows::rows;
use stats::pass_looks;
use template::Names;

/// A plan file that cannot be carried out, and the line that says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct PlanFileError {
    pub file: String,
    pub line: usize,
    pub reason: String,
}

/// What is wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl Wrong {
    pub(crate) fn new(line: usize, reason: impl Into<String>) -> Self {
        Self {
            line,
            reason: reason.into(),
        }
    }
}

/// How many passes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// So many, looked at once.
    Fixed(u32),
    /// At least and at most so many, ended by a look.
    ByLooks([u32; 2]),
    /// Ended by a look, and by no budget before the first.
    UntilKnown,
}

impl Passes {
    /// At least and at most so many, of so many rows: without a word, no budget ends them before the
    /// first look, for which the blocks of all rows count together.
    #[must_use]
    pub fn ends(self, rows: u32) -> [u32; 2] {
        match self {
            Self::Fixed(n) => [n, n],
            Self::ByLooks(ends) => ends,
            Self::UntilKnown => {
                let first = pass_looks(rows.max(1), MOST_PASSES).first().copied();
                [first.unwrap_or(MOST_PASSES), MOST_PASSES]
            }
        }
    }
}

/// What is done to the machine before each slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    pub drop_caches: bool,
    /// Longest wait until the CPUs are idle; 0: none.
    pub wait_idle_ns: u64,
    pub governor: Option<String>,
}

/// One variant of what is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileArm {
    pub name: String,
    pub role: Role,
    /// The operations that it is meant to change; where the workload does none of them, it is a
    /// placebo.
    pub expects: Vec<String>,
}

/// One combination of the factors' values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    pub name: String,
}

/// An experiment as its file asks it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFile {
    pub name: String,
    pub question: String,
    pub seed: u64,
    pub metric: Option<String>,
    pub better: Option<String>,
    /// A ratio, 0.05 for 5 %.
    pub margin: f64,
    pub passes: Passes,
    pub budget_ns: u64,
    pub settle_ns: u64,
    pub control: Option<bool>,
    pub calibrate: u32,
    pub slot_limit_ns: u64,
    pub scratch: Option<String>,
    pub keep_free_bytes: u64,
    pub surroundings: Surroundings,
    pub arms: Vec<FileArm>,
    pub rows: Vec<FileRow>,
    /// What each arm does: rows as above, and within a row the arms.
    pub cells: Vec<Vec<PlanCell>>,
}

/// The most slots of a pass: more is a slip of the pen.
const MOST_CELLS: usize = 10_000;
/// Looks are simulated up to so many passes.
const MOST_PASSES: u32 = 90;

impl PlanFile {
    /// A slot may take so long where nobody says otherwise.
    pub const USUAL_SLOT_LIMIT_NS: u64 = 900_000_000_000;

    /// Reads a plan; `file` is its name in messages, and without its ending the plan's.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(text: &str, file: &str) -> Result<Self, PlanFileError> {
        read(text, file).map_err(|Wrong { line, reason }| PlanFileError {
            file: file.to_owned(),
            line,
            reason,
        })
    }

    /// Whether the baseline runs twice a block.
    #[must_use]
    pub fn has_control(&self) -> bool {
        let candidates = self.arms.iter().filter(|arm| arm.role == Role::Candidate);
        let is_there = self.arms.iter().any(|arm| arm.role == Role::Control);
        !is_there && self.control.unwrap_or(candidates.count() > 1)
    }
}

fn read(text: &str, file: &str) -> Result<PlanFile, Wrong> {
    let root = node::parse(text)?;
    let top = NodeTable::of(&root, "a plan");
    let common = Sections::of(&top)?;
    let (factors, arms) = (top.section("factors")?, top.get("arm"));
    let mut plan = settings(&top, file)?;
    top.check_known()?;
    let (rows, factors) = rows(factors)?;
    let arms = Arms::of(arms)?;
    arms.check_apart(&factors)?;
    if rows.len().saturating_mul(arms.list.len()) > MOST_CELLS {
        return Err(Wrong::new(
            1,
            format!("more than {MOST_CELLS} slots a pass"),
        ));
    }
    let shown: std::sync::Arc<str> = file.into();
    let mut names = Names::default();
    for row in &rows {
        let mut of_row = Vec::new();
        for arm in &arms.list {
            let values = names.of_cell(arm, row, &arms.common);
            of_row.push(cell(common, arm, &values, &mut names, &shown)?);
        }
        plan.cells.push(of_row);
    }
    names.check_used(&factors, &arms)?;
    plan.arms = arms.list.into_iter().map(|arm| arm.facts).collect();
    let row = |row: rows::RowOfFile| FileRow { name: row.name };
    plan.rows = rows.into_iter().map(row).collect();
    Ok(plan)
}

/// What is said of the experiment as a whole; arms, rows and cells are still to come.
fn settings(top: &NodeTable<'_>, file: &str) -> Result<PlanFile, Wrong> {
    let stem = std::path::Path::new(file).file_stem();
    let surroundings = top.table("environment", |table| {
        Ok(Surroundings {
            drop_caches: table.switch("drop-caches")?.unwrap_or(false),
            wait_idle_ns: table.time("wait-idle")?.unwrap_or(0),
            governor: table.text("governor")?,
        })
    })?;
    Ok(PlanFile {
        name: match top.name("name")? {
            Some(name) if name.contains('/') => {
                return Err(top.wrong("name", "is the beginning of file names, and has no /"));
            }
            Some(name) => name,
            None => stem.map_or_else(|| "plan".into(), |stem| stem.to_string_lossy().into_owned()),
        },
        question: top.text("question")?.unwrap_or_default(),
        seed: top.whole("seed")?.unwrap_or(1),
        metric: top.text("metric")?,
        better: top.one_of("better", &["higher", "lower"])?,
        margin: margin(top)?,
        passes: passes(top)?,
        budget_ns: top.time("budget")?.unwrap_or(3_600_000_000_000),
        settle_ns: top.time("settle")?.unwrap_or(10_000_000_000),
        control: top.switch("control")?,
        calibrate: top.whole("calibrate")?.unwrap_or(3),
        slot_limit_ns: top
            .some_time("slot-limit")?
            .unwrap_or(PlanFile::USUAL_SLOT_LIMIT_NS),
        scratch: top.text("scratch")?,
        keep_free_bytes: top.size("keep-free")?.unwrap_or(2 << 30),
        surroundings: surroundings.unwrap_or_default(),
        arms: Vec::new(),
        rows: Vec::new(),
        cells: Vec::new(),
    })
}

fn margin(top: &NodeTable<'_>) -> Result<f64, Wrong> {
    let margin = top.share("margin")?.unwrap_or(0.05);
    if margin > 0.0 && margin.is_finite() {
        return Ok(margin);
    }
    Err(top.wrong(
        "margin",
        "must be above 0: no experiment shows that two things are exactly equal",
    ))
}

fn passes(top: &NodeTable<'_>) -> Result<Passes, Wrong> {
    let bad = || {
        top.wrong(
            "passes",
            format!("is a number above 0, or [least, most] of at most {MOST_PASSES}"),
        )
    };
    Ok(match top.get("passes").map(|node| &node.value) {
        None => Passes::UntilKnown,
        Some(NodeValue::Whole(n)) => {
            let n = u32::try_from(*n).ok().filter(|n| (1..=100_000).contains(n));
            Passes::Fixed(n.ok_or_else(bad)?)
        }
        Some(NodeValue::List(items)) => {
            let whole = |node: &PlanNode| match node.value {
                NodeValue::Whole(n) => u32::try_from(n).ok(),
                NodeValue::Text(_)
                | NodeValue::Float(_)
                | NodeValue::Switch(_)
                | NodeValue::List(_)
                | NodeValue::Table(_) => None,
            };
            let ends: Vec<u32> = items.iter().filter_map(whole).collect();
            match ends[..] {
                [least, most]
                    if items.len() == 2 && least >= 1 && least <= most && most <= MOST_PASSES =>
                {
                    Passes::ByLooks([least, most])
                }
                _ => return Err(bad()),
            }
        }
        Some(
            NodeValue::Text(_) | NodeValue::Float(_) | NodeValue::Switch(_) | NodeValue::Table(_),
        ) => {
            return Err(bad());
        }
    })
}

#[cfg(test)]
mod tests;
