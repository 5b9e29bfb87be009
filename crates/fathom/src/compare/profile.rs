//! `--run --profile`: the standard rows, with every target in every block.

use super::experiment::{AskedOfExperiment, conclude, expected, store, told};
use super::files::VerdictFiles;
use super::kinds;
use super::plan::{check_blocks, planned};
use super::sides::{is_key, pairs, unused};
use super::subject::TARGET;
use crate::context;
use crate::exit::Usage;
use crate::live::Live;
use crate::run::time;
use crate::written::RECORDS;
use analyze::Question;
use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use conduct::Alone;
use conduct::profile::{Effort, Prepared, ProfileArm, ProfileRequest, prepare};
use record::{PlannedArm, Role};
use run::safety::OutputFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use units::Bytes;
use workload::{SpecError, settings};

/// With so many blocks a single one of the 24 standard rows can be found different: the smallest p
/// of ten signs is 1/512, and a share of false rows of 5 % among 24 asks 0.0021 of it.
const PASSES: u32 = 10;

/// Measures and compares.
pub(super) fn run(
    matches: &ArgMatches,
    names: &[String],
    files: VerdictFiles,
    mut question: Question,
) -> Result<i32> {
    let arms = arms(matches, names)?;
    let request = request(matches, names.len() - 1)?;
    if let Some(file) = matches.get_one::<PathBuf>("records") {
        let paths: Vec<PathBuf> = arms.iter().map(|arm| arm.path.clone()).collect();
        OutputFile::new(file, RECORDS)
            .forced(matches.get_flag("force"))
            .apart_from(&paths)
            .check()?;
    }
    let context = context::context(1_000_000_000)?;
    let live = Live::open(matches, &names.join(" | "))?;
    let made = prepare(&request, &arms, &mut Alone, &context, &mut live.clone());
    let mut prepared = made.map_err(crate::profile::told)?;
    tell_ground(&prepared);
    question.factors = expected(
        &prepared.experiment,
        BTreeSet::from([TARGET.to_owned()]),
        &question,
    )?;
    let mut asked_of = files.quantities(&question);
    asked_of.try_for_each(|of| kinds::check_plan(of, &prepared.experiment))?;
    drop(asked_of);
    prepared.experiment.plan.question = Some(planned(&question));
    let store = store(matches, &prepared.experiment)?;
    let code = conclude(
        &prepared.experiment,
        AskedOfExperiment {
            store,
            question,
            files,
        },
        &mut Alone,
        &prepared.context,
        &live,
    );
    let before = prepared.notes.len();
    prepared.clean();
    prepared.notes[before..].iter().for_each(|note| told(note));
    code
}

/// What was done before the first slot, and which rows there are.
fn tell_ground(prepared: &Prepared) {
    prepared.notes.iter().for_each(|note| told(note));
    for left in &prepared.left_out {
        told(&format!(
            "not measured: {} ({})",
            left.reason,
            left.rows.join(", ")
        ));
    }
}

fn arms(matches: &ArgMatches, names: &[String]) -> Result<Vec<ProfileArm>> {
    let mut out: Vec<ProfileArm> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let taken: Vec<&str> = out.iter().map(|arm| arm.arm.name.as_str()).collect();
        let role = if index == 0 {
            Role::Baseline
        } else {
            Role::Candidate
        };
        out.push(ProfileArm {
            arm: PlannedArm {
                name: unused(name, &taken),
                role,
                ..PlannedArm::default()
            },
            path: target(name)?,
        });
    }
    if matches.get_flag("aa") || names.len() > 2 && !matches.get_flag("no-aa") {
        let base = out[0].clone();
        out.push(ProfileArm {
            arm: PlannedArm {
                name: format!("{} (control)", base.arm.name),
                role: Role::Control,
                ..PlannedArm::default()
            },
            path: base.path,
        });
    }
    Ok(out)
}

/// `target=PATH`, or a path as it is.
fn target(side: &str) -> Result<PathBuf, Usage> {
    let is_option = |key: &str| settings::find(key.trim()).is_some();
    match side.split_once('=') {
        Some((key, path)) if key.trim() == TARGET && pairs(side, is_key).len() == 1 => {
            Ok(path.trim().into())
        }
        Some((key, _)) if key.trim() == TARGET || is_option(key) && !Path::new(side).exists() => {
            Err(Usage(format!(
                "{side:?}: with --profile a side is a target and nothing else, because the rows say how it is measured; example: target=/mnt/a"
            )))
        }
        Some(_) | None => Ok(side.into()),
    }
}

fn request(matches: &ArgMatches, candidates: usize) -> Result<ProfileRequest> {
    let effort = match (matches.get_flag("quick"), matches.get_flag("thorough")) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        (false, false) => Effort::Usual,
    };
    let passes = matches.get_one::<u32>("blocks").copied().unwrap_or(PASSES);
    if matches.value_source("blocks") == Some(ValueSource::CommandLine) {
        check_blocks(passes, 1, candidates)?;
    }
    let has_budget = matches.value_source("budget") == Some(ValueSource::CommandLine);
    let size = matches
        .get_one::<String>("size")
        .map(|text| Bytes::parse(text))
        .transpose();
    Ok(ProfileRequest {
        effort,
        budget: if has_budget {
            time(matches, "budget")?
        } else {
            None
        },
        passes: Some(passes),
        size: size.map_err(|source| SpecError::Expected {
            key: "size".into(),
            source,
        })?,
        order_seed: matches.get_one::<u64>("order-seed").copied(),
        ..ProfileRequest::new("")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_target_with_or_without_its_key() {
        assert_eq!(target("target=/mnt/a").unwrap(), PathBuf::from("/mnt/a"));
        assert_eq!(target("/mnt/a=b").unwrap(), PathBuf::from("/mnt/a=b"));
        for settings in ["engine=sync", "target=/mnt/a,engine=sync"] {
            assert!(
                target(settings)
                    .unwrap_err()
                    .0
                    .contains("a side is a target and nothing else"),
                "{settings}"
            );
        }
    }
}
