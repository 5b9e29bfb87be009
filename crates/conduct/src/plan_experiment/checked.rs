//! Whether every arm of a plan file could work in every row, before the first slot.

use super::MadeArm;
use crate::command::SlotDirs;
use crate::git::resolved;
use crate::slots::LoadReader;
use crate::spec_task::task;
use crate::task::COMMAND;
use crate::{Giver, Task, check_given, limits, stated};
use lab::{BuildSpec, Builtins, LabError, PlanFile, ReadyWhen, ValueSource, WorkSpec};
use record::{PlanFacts, Quantity};
use std::collections::BTreeSet;
use std::path::Path;
use sys::MachineClock;

/// Resolves the refs of all arms, or takes the commits of the plan that is resumed.
pub(super) fn commits(
    file: &PlanFile,
    dir: &Path,
    mark: &str,
    known: Option<&PlanFacts>,
) -> Result<Vec<MadeArm>, LabError> {
    let mut out = Vec::new();
    for (arm, cell) in file.arms.iter().zip(&file.cells[0]) {
        let spec = cell.build(&Builtins::sample("fathom"));
        let spec = spec.map_err(|e| LabError::Plan(e.to_string()))?;
        check_same_build(file, out.len(), spec.as_ref())?;
        let before = known.and_then(|plan| plan.arms.iter().find(|of| of.name == arm.name));
        let before = before.and_then(|arm| arm.identity.get("commit").cloned());
        let commit = match (spec, before) {
            (None, _) => None,
            (Some(_), Some(commit)) => Some(commit),
            (Some(spec), None) => {
                let commit = resolved(&spec, dir, mark);
                Some(commit.map_err(|why| LabError::Plan(format!("{}: {why}", arm.name)))?)
            }
        };
        out.push(MadeArm {
            commit,
            ..MadeArm::default()
        });
    }
    Ok(out)
}

/// An arm is built once, so a factor cannot choose what is built: every row but the first would
/// measure another commit than its name says.
fn check_same_build(
    file: &PlanFile,
    index: usize,
    first: Option<&BuildSpec>,
) -> Result<(), LabError> {
    let sample = Builtins::sample("fathom");
    for (row, cells) in file.rows.iter().zip(&file.cells) {
        let spec = cells[index].build(&sample);
        if spec.map_err(|e| LabError::Plan(e.to_string()))?.as_ref() != first {
            return Err(LabError::Plan(format!(
                "the build of {} is another in {} than in {}: an arm has one build, so make an arm of each",
                file.arms[index].name, row.name, file.rows[0].name
            )));
        }
    }
    Ok(())
}

/// Whether this machine can set the limits of every cell. Returns what would set them, in words.
pub(super) fn check_limits(file: &PlanFile, mark: &str) -> Result<Option<String>, LabError> {
    let clock = MachineClock::monotonic();
    let mut tried: Vec<lab::Limits> = Vec::new();
    let mut by = BTreeSet::new();
    for (row, cells) in file.rows.iter().zip(&file.cells) {
        for (arm, cell) in file.arms.iter().zip(cells) {
            let told = |why: String| LabError::Plan(format!("{} in {}: {why}", arm.name, row.name));
            let spec = cell.server(&Builtins::sample("fathom"));
            let Some(spec) = spec.map_err(|e| LabError::Plan(e.to_string()))? else {
                continue;
            };
            if let ReadyWhen::Line(text) = &spec.ready {
                stated::line_pattern(text).map_err(told)?;
            }
            if limits::is_none(&spec.limits) || tried.contains(&spec.limits) {
                continue;
            }
            let version = limits::tried(&spec.limits, &format!("fathom-{mark}-plan"), &clock)
                .map_err(told)?;
            let set = limits::controllers(&spec.limits).join(", ");
            by.insert(format!("{set} by {}", version.text()));
            tried.push(spec.limits);
        }
    }
    let by: Vec<String> = by.into_iter().collect();
    Ok((!by.is_empty()).then(|| by.join("; ")))
}

/// The tasks of all cells with placeholders of the right form: whether each could work.
pub(super) fn sample_works(
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

/// Whether the slots can give what is asked.
pub(super) fn check_metric(
    file: &PlanFile,
    works: &[Vec<Task>],
    metric: &Quantity,
) -> Result<(), LabError> {
    let mut rows = Vec::new();
    for ((row, cells), tasks) in file.rows.iter().zip(&file.cells).zip(works) {
        let mut givers = Vec::new();
        for ((arm, cell), task) in file.arms.iter().zip(cells).zip(tasks) {
            let server = cell.server(&Builtins::sample("fathom"));
            let server = server.map_err(|e| LabError::Plan(e.to_string()))?;
            givers.push(Giver {
                arm: &arm.name,
                task,
                has_server: server.is_some(),
            });
        }
        rows.push((row.name.as_str(), givers));
    }
    check_given(metric, &rows).map_err(|why| LabError::Plan(format!("metric: {why}")))
}

/// Refuses what no operation is called: an arm that is expected to change it would be a placebo.
pub(super) fn check_expects(file: &PlanFile) -> Result<(), LabError> {
    let known: BTreeSet<&str> = object::kinds()
        .chain(workload::kinds())
        .chain([COMMAND])
        .collect();
    for arm in &file.arms {
        let Some(stranger) = arm
            .expects
            .iter()
            .find(|kind| !known.contains(kind.as_str()))
        else {
            continue;
        };
        let near = units::nearest(stranger, known.iter().copied());
        let meant = near.map_or_else(String::new, |near| format!(", did you mean {near:?}?"));
        let known: Vec<&str> = known.into_iter().collect();
        return Err(LabError::Plan(format!(
            "{}: expects: {stranger:?} is no operation{meant}; there are {}",
            arm.name,
            known.join(", ")
        )));
    }
    Ok(())
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
