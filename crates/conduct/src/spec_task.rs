//! What a slot of a plan file is to do, as a task.

use crate::Task;
use crate::command::{CommandTask, SlotDirs};
use crate::slots::LoadReader;
use lab::{CommandSpec, WorkSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workload::{Workload, settings};

/// What a slot is to do, as a task.
pub(crate) fn task(
    work: WorkSpec,
    place: &SlotDirs,
    loads: &LoadReader<'_>,
) -> Result<Task, String> {
    match work {
        WorkSpec::Run { target, options } => run_task(target, &options, &place.dir),
        WorkSpec::Load {
            scenario,
            target,
            mut options,
        } => {
            options.extend(target.map(|target| ("target".to_owned(), target)));
            loads(&scenario, &options).map(|task| Task::Load(Box::new(task)))
        }
        WorkSpec::Command(spec) => Ok(Task::Command(Box::new(CommandTask {
            spec: from_file_s_directory(*spec, &place.dir),
            place: place.clone(),
            is_warmup: false,
        }))),
    }
}

/// A program that is named by a path is meant from the directory of the plan's file.
fn from_file_s_directory(mut spec: CommandSpec, dir: &Path) -> CommandSpec {
    let commands = [
        Some(&mut spec.command),
        spec.prepare.as_mut(),
        spec.cleanup.as_mut(),
    ];
    for words in commands.into_iter().flatten() {
        if words[0].contains('/') {
            words[0] = dir.join(&words[0]).display().to_string();
        }
    }
    spec
}

fn run_task(
    target: Option<String>,
    options: &BTreeMap<String, String>,
    dir: &Path,
) -> Result<Task, String> {
    let mut workload = Workload::default();
    for (key, value) in options {
        settings::apply(&mut workload, key, value).map_err(|e| e.to_string())?;
    }
    let is_address = |target: &str| target.contains("://");
    workload.targets.extend(target.map(|target| {
        if is_address(&target) {
            PathBuf::from(target)
        } else {
            dir.join(target)
        }
    }));
    Ok(Task::from(workload))
}
