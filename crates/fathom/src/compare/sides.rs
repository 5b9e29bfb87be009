//! What is compared: sides as workloads, phase by phase.

use super::subject::{Meaning, TARGET, as_toml, meaning};
use crate::exit::Usage;
use anyhow::{Context as _, Result};
use clap::ArgMatches;
use conduct::{Row, Task};
use std::collections::BTreeSet;
use std::path::PathBuf;
use units::Nanos;
use workload::settings::{self, SETTINGS, nearest};
use workload::{Phase, SpecError, Workload, parse_config};

/// One side: its name and its phases, in the order of the baseline's.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) name: String,
    pub(super) phases: Vec<Phase>,
}

/// All sides, the baseline first, with names that differ and phases that match.
///
/// # Errors
/// A side that cannot be read, or whose phases are not those of the baseline.
pub(super) fn sides(matches: &ArgMatches, names: &[String], slot: Nanos) -> Result<Vec<Side>> {
    let mut common = Workload::default();
    common
        .targets
        .extend(matches.get_one::<PathBuf>("target").cloned());
    for pair in matches.get_many::<String>("set").into_iter().flatten() {
        if pair
            .split_once('=')
            .is_some_and(|(key, _)| key.trim() == TARGET)
        {
            return Err(Usage(format!("--set {pair}: the target of all sides is given with --target, that of one side as {pair}")).into());
        }
        set(&mut common, pair)?;
    }
    let mut out: Vec<Side> = Vec::new();
    for name in names {
        let mut phases = phases(&common, name)?;
        for phase in &mut phases {
            let stop = &mut phase.workload.stop;
            if !stop.has_end() {
                stop.duration = Some(slot);
            }
        }
        if let Some(base) = out.first() {
            phases = in_order_of(base, name, phases)?;
        }
        let taken: Vec<&str> = out.iter().map(|side| side.name.as_str()).collect();
        out.push(Side {
            name: unused(name, &taken),
            phases,
        });
    }
    Ok(out)
}

/// A side may be given twice, as in an A/A comparison.
pub(super) fn unused(name: &str, taken: &[&str]) -> String {
    let is_taken = |name: &str| taken.contains(&name);
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

fn phases(common: &Workload, side: &str) -> Result<Vec<Phase>> {
    let text = match meaning(side)? {
        Meaning::Toml(text) => text,
        Meaning::Settings => return settings_of(common, side),
        Meaning::Target => return one_phase(on(common, vec![side.into()])?),
    };
    let stages = parse_config(&text, common, &[]).with_context(|| as_toml(side))?;
    let phases: Vec<Phase> = stages.into_iter().flat_map(|stage| stage.0).collect();
    let mut seen = BTreeSet::new();
    match phases.iter().find(|phase| !seen.insert(phase.name.clone())) {
        Some(twice) => Err(Usage(format!(
            "{side} has two phases of the name {:?}; phases are compared by their names",
            twice.name
        ))
        .into()),
        None => Ok(phases),
    }
}

fn settings_of(common: &Workload, side: &str) -> Result<Vec<Phase>> {
    let mut workload = common.clone();
    let mut targets: Vec<PathBuf> = Vec::new();
    for pair in pairs(side, is_key) {
        match pair.split_once('=') {
            Some((key, path)) if key.trim() == TARGET => targets.push(path.trim().into()),
            Some(_) | None => set(&mut workload, &pair)?,
        }
    }
    one_phase(if targets.is_empty() {
        workload
    } else {
        on(&workload, targets)?
    })
}

fn one_phase(workload: Workload) -> Result<Vec<Phase>> {
    Ok(vec![Phase {
        name: "run".into(),
        workload,
    }])
}

/// A workload on the targets of one side.
fn on(workload: &Workload, targets: Vec<PathBuf>) -> Result<Workload> {
    if let Some(common) = workload.targets.first() {
        return Err(Usage(format!(
            "--target {} is the target of all sides and target={} that of one; give one of them",
            common.display(),
            targets[0].display()
        ))
        .into());
    }
    if targets.iter().any(|target| target.as_os_str().is_empty()) {
        return Err(Usage("target= names no target; example: target=/mnt/a".into()).into());
    }
    Ok(Workload {
        targets,
        ..workload.clone()
    })
}

fn in_order_of(base: &Side, side: &str, mut phases: Vec<Phase>) -> Result<Vec<Phase>> {
    // Without [[phase]]s there is one, and nothing to confuse it with.
    if let ([one], [of_base]) = (phases.as_mut_slice(), base.phases.as_slice())
        && (one.name == "run" || of_base.name == "run")
    {
        one.name.clone_from(&of_base.name);
    }
    let names = |phases: &[Phase]| {
        phases
            .iter()
            .map(|phase| phase.name.clone())
            .collect::<BTreeSet<_>>()
    };
    let (of_base, of_side) = (names(&base.phases), names(&phases));
    let listed = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(", ");
    let (missing, foreign) = (
        listed(of_base.difference(&of_side).collect()),
        listed(of_side.difference(&of_base).collect()),
    );
    if !missing.is_empty() || !foreign.is_empty() {
        let mut parts = Vec::new();
        parts.extend((!missing.is_empty()).then(|| format!("lacks {missing}")));
        parts.extend((!foreign.is_empty()).then(|| format!("has {foreign} as well")));
        return Err(Usage(format!(
            "the phases of {side} are not those of {}: it {}; give phases that are to be compared the same name",
            base.name,
            parts.join(" and ")
        ))
        .into());
    }
    phases.sort_by_key(|phase| {
        base.phases
            .iter()
            .position(|other| other.name == phase.name)
    });
    Ok(phases)
}

/// `KEY=VALUE,KEY=VALUE`; a comma inside a value is one that no option follows.
pub(super) fn pairs(side: &str, is_key: impl Fn(&str) -> bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in side.split(',') {
        let begins_an_option = part
            .split_once('=')
            .is_some_and(|(key, _)| is_key(key.trim()));
        match out.last_mut() {
            Some(last) if !begins_an_option => {
                last.push(',');
                last.push_str(part);
            }
            Some(_) | None => out.push(part.to_owned()),
        }
    }
    out
}

pub(super) fn is_key(key: &str) -> bool {
    key == TARGET || settings::find(key).is_some()
}

fn set(workload: &mut Workload, pair: &str) -> Result<()> {
    let (key, value) = pair
        .split_once('=')
        .ok_or_else(|| Usage(format!("{pair:?} is neither a file that exists nor KEY=VALUE; example: engine=io_uring or target=/mnt/a")))?;
    let key = key.trim();
    if !is_key(key) {
        let known = SETTINGS.iter().map(|setting| setting.key).chain([TARGET]);
        return Err(SpecError::UnknownKey {
            key: key.into(),
            suggestion: nearest(key, known),
        }
        .into());
    }
    Ok(settings::apply(workload, key, value.trim())?)
}

/// What is compared, the baseline first.
pub(super) struct Measured {
    pub(super) names: Vec<String>,
    /// A task of each side.
    pub(super) rows: Vec<Row>,
    /// Options in which a side differs from the baseline.
    pub(super) differing: BTreeSet<String>,
}

/// Workloads as what is compared.
pub(super) fn of_workloads(sides: &[Side]) -> Measured {
    let row = |(index, phase): (usize, &Phase)| Row {
        name: phase.name.clone(),
        tasks: sides
            .iter()
            .map(|side| Task::from(side.phases[index].workload.clone()))
            .collect(),
    };
    Measured {
        names: sides.iter().map(|side| side.name.clone()).collect(),
        rows: sides[0].phases.iter().enumerate().map(row).collect(),
        differing: differing(sides),
    }
}

/// Options in which a side differs from the baseline in any phase: what is compared.
fn differing(sides: &[Side]) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for (base, side) in sides
        .iter()
        .skip(1)
        .flat_map(|side| sides[0].phases.iter().zip(&side.phases))
    {
        let [a, b] = [base, side].map(|phase| settings::shown(&phase.workload));
        let only = |of: &[(&'static str, String)], other: &[(&'static str, String)]| {
            of.iter()
                .filter(|pair| !other.contains(pair))
                .map(|(key, _)| (*key).to_owned())
                .collect::<Vec<_>>()
        };
        keys.extend(only(&a, &b));
        keys.extend(only(&b, &a));
        keys.extend((base.workload.targets != side.workload.targets).then(|| TARGET.to_owned()));
    }
    // What follows from the engine is part of it.
    if keys.contains("engine") || keys.contains("queue-depth") {
        keys.extend(
            [
                "engine",
                "fixed-buffers",
                "fixed-files",
                "no-fixed-buffers",
                "no-fixed-files",
                "submit-batch",
                "reap-batch",
            ]
            .map(String::from),
        );
    }
    // What is read and what is written add up to all.
    if keys.contains("read-percent") || keys.contains("write-percent") {
        keys.extend(["read-percent", "write-percent"].map(String::from));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(names: &[&str]) -> Side {
        Side {
            name: "base.toml".into(),
            phases: phases_of(names),
        }
    }

    fn phases_of(names: &[&str]) -> Vec<Phase> {
        names
            .iter()
            .map(|name| Phase {
                name: (*name).into(),
                workload: Workload::default(),
            })
            .collect()
    }

    #[test]
    fn a_comma_inside_a_value_belongs_to_it() {
        assert_eq!(
            pairs(
                "engine=sim,sim-model=latency=1us,servers=4,queue-depth=2",
                is_key
            ),
            [
                "engine=sim",
                "sim-model=latency=1us,servers=4",
                "queue-depth=2"
            ]
        );
    }

    #[test]
    fn a_side_may_be_a_target_and_all_sides_may_have_one_but_not_both() {
        let of = |common: &Workload, side: &str| {
            phases(common, side)
                .map(|mut phases| phases.remove(0).workload)
                .map_err(|e| e.to_string())
        };
        let plain = Workload::default();
        let workload = of(&plain, "target=/mnt/a,b,engine=sync").unwrap();
        assert_eq!(
            (workload.targets, workload.engine.word()),
            (vec![PathBuf::from("/mnt/a,b")], "sync")
        );
        let url = "target=nbd+unix:///x?socket=/run/s";
        assert_eq!(
            of(&plain, url).unwrap().targets,
            [PathBuf::from("nbd+unix:///x?socket=/run/s")]
        );
        assert_eq!(
            of(&plain, "/").unwrap().targets,
            [PathBuf::from("/")],
            "a directory can be nothing else"
        );
        let common = Workload {
            targets: vec!["/x".into()],
            ..Workload::default()
        };
        assert!(
            of(&common, "target=/y")
                .unwrap_err()
                .contains("--target /x is the target of all sides and target=/y that of one")
        );
        assert!(
            of(&plain, "target=")
                .unwrap_err()
                .contains("names no target")
        );
        assert_eq!(
            of(&plain, "tagret=/y").unwrap_err(),
            "unknown option \"tagret\", did you mean \"target\"?"
        );
    }

    #[test]
    fn phases_are_matched_by_name_and_strangers_are_named() {
        let ordered =
            in_order_of(&side(&["a", "b"]), "other.toml", phases_of(&["b", "a"])).unwrap();
        assert_eq!(
            ordered
                .iter()
                .map(|phase| phase.name.as_str())
                .collect::<Vec<_>>(),
            ["a", "b"]
        );
        let refused = in_order_of(&side(&["a", "b"]), "other.toml", phases_of(&["b", "c"]))
            .unwrap_err()
            .to_string();
        assert_eq!(
            refused,
            "the phases of other.toml are not those of base.toml: it lacks a and has c as well; give phases that are to be compared the same name"
        );
        let one = in_order_of(&side(&["a"]), "engine=mmap", phases_of(&["run"])).unwrap();
        assert_eq!(
            one[0].name, "a",
            "a side of settings has one phase, whatever it is called"
        );
    }

    #[test]
    fn a_side_given_twice_has_two_names() {
        let taken = ["base.toml"];
        assert_eq!(
            (
                unused("base.toml", &taken).as_str(),
                unused("x", &taken).as_str()
            ),
            ("base.toml (2)", "x")
        );
    }

    #[test]
    fn options_that_differ_in_any_phase_are_what_is_compared() {
        let mut other = side(&["a", "b"]);
        other.phases[1].workload.threads = 3;
        assert_eq!(
            differing(&[side(&["a", "b"]), other]),
            BTreeSet::from(["threads".to_owned()])
        );
    }
}
