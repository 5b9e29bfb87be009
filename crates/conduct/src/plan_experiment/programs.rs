//! Whether the programs and files that a plan names are there.

use lab::{Builtins, LabError, PlanCell, PlanFile, Reset, WorkSpec};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What a command needs to begin.
struct Needed<'a> {
    words: &'a [String],
    env: Option<&'a BTreeMap<String, String>>,
}

/// Refuses programs and inputs that are not there and that nothing in the plan could make.
pub(super) fn check_programs(file: &PlanFile, dir: &Path) -> Result<(), LabError> {
    for (row, cells) in file.rows.iter().zip(&file.cells) {
        for (arm, cell) in file.arms.iter().zip(cells) {
            check_cell(cell, dir)
                .map_err(|why| LabError::Plan(format!("{} in {}: {why}", arm.name, row.name)))?;
        }
    }
    Ok(())
}

fn check_cell(cell: &PlanCell, dir: &Path) -> Result<(), String> {
    // What a slot or a build puts there is not known yet.
    let with = Builtins::unknown();
    let server = cell.server(&with).ok().flatten();
    let work = match cell.work(&with).ok() {
        Some(WorkSpec::Command(spec)) => Some(spec),
        Some(WorkSpec::Run { .. } | WorkSpec::Load { .. }) | None => None,
    };
    let mut needed = Vec::new();
    let (mut prepares, mut input) = (false, None);
    let bare = |words| Needed { words, env: None };
    if let Some(server) = &server {
        prepares |= server.prepare.is_some();
        needed.extend(server.prepare.as_deref().map(bare));
        needed.push(Needed {
            words: &server.command,
            env: Some(&server.env),
        });
        if let Reset::Command(words) = &server.reset {
            needed.push(bare(words));
        }
    }
    if let Some(work) = &work {
        prepares |= work.prepare.is_some();
        needed.extend(work.prepare.as_deref().map(bare));
        needed.push(Needed {
            words: &work.command,
            env: Some(&work.env),
        });
        needed.extend(work.cleanup.as_deref().map(bare));
        input = work.input.as_ref();
    }
    needed
        .iter()
        .try_for_each(|needed| check_program(needed, dir, prepares))?;
    match input.filter(|input| !input.contains('{') && !prepares) {
        Some(input) if !dir.join(input).is_file() => Err(format!(
            "input: there is no file {}",
            dir.join(input).display()
        )),
        Some(_) | None => Ok(()),
    }
}

fn check_program(needed: &Needed<'_>, dir: &Path, prepares: bool) -> Result<(), String> {
    let program = needed.words.first().map_or("", String::as_str);
    if program.contains('{') {
        return Ok(());
    }
    if program.contains('/') {
        let at = dir.join(program);
        return match is_program(&at) {
            Ok(()) => Ok(()),
            // What prepares a slot may make it.
            Err(_) if prepares => Ok(()),
            Err(why) => Err(format!("cannot start {}: {why}", at.display())),
        };
    }
    // Who sets the path knows where programs are.
    if needed.env.is_some_and(|env| env.contains_key("PATH")) {
        return Ok(());
    }
    let all = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&all).map(|at: PathBuf| at.join(program));
    if places.any(|at| is_program(&at).is_ok()) {
        return Ok(());
    }
    Err(format!(
        "cannot start {program}: no directory of PATH has it"
    ))
}

fn is_program(at: &Path) -> Result<(), &'static str> {
    match std::fs::metadata(at) {
        Err(_) => Err("there is no such file"),
        Ok(facts) if !facts.is_file() => Err("it is no file"),
        Ok(facts) if facts.permissions().mode() & 0o111 == 0 => Err("it is not executable"),
        Ok(_) => Ok(()),
    }
}
