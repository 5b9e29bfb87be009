//! What ranks cannot do where hosts have targets of their own under the name that all have.

use super::agree::settled;
use super::beforehand::at_targets;
use super::connection::RankLink;
use super::words::{fault_by, fault_word};
use super::work::GroupWork;
use host::PeerFault;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workload::{EngineTarget, Rank, Shift, Workload};

/// More files than these are not looked at before ranks begin.
const MOST_LOOKED_AT: usize = 10_000;

/// What is said where a target of a host's own is to have what others wrote.
pub(super) const NO_OTHERS: &str = "--shift asks for what another rank wrote, and each host has a target of its own, where no other wrote: drop it";

/// Whether a rank would write its targets, or make what is not there of them, as every other would that
/// has the same.
fn makes(works: &[GroupWork]) -> bool {
    let mut phases = GroupWork::phases_of(works);
    phases.any(|phase| makes_files(&phase.workload))
}

fn makes_files(workload: &Workload) -> bool {
    let files = &workload.files;
    let is_server = |target: &PathBuf| run::is_server(target);
    let have_own = files.are_owned() || !files.meta.is_empty();
    if workload.engine.target() != EngineTarget::Files
        || have_own
        || workload.targets.iter().all(is_server)
    {
        return false;
    }
    let fill = &files.fill;
    let changes = fill.refill == Some(true) || fill.truncate || fill.preallocate;
    let size = files.size.map_or(0, |size| size.0);
    let is_whole = |path: &Path| {
        let facts = std::fs::metadata(path);
        facts.is_ok_and(|facts| !facts.is_file() || facts.len() >= size)
    };
    let lacks = || {
        let used = run::first_files_of(workload, MOST_LOOKED_AT);
        let mut used = used.iter().filter(|target| !is_server(target));
        used.any(|path| !is_whole(path))
    };
    workload.writes_blocks() || changes || lacks()
}

/// The ranks that have one target of their own, where some are to write or make it.
fn crowd(sets: &[u32], makers: &[bool]) -> Option<Vec<u32>> {
    let mut ranks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (set, rank) in sets.iter().zip(0_u32..) {
        ranks.entry(*set).or_default().push(rank);
    }
    let makes = |rank: &u32| makers.get(*rank as usize) == Some(&true);
    let mut ranks = ranks.into_values();
    ranks.find(|ranks| ranks.len() > 1 && ranks.iter().any(makes))
}

/// Refuses what ranks with targets of their own cannot do, as all of them do.
///
/// # Errors
/// Some have the same one and would write it, or it is asked for what other hosts wrote.
pub(super) fn check(
    connection: &RankLink,
    sets: &[u32],
    works: &[GroupWork],
) -> Result<(), PeerFault> {
    if GroupWork::phases_of(works).any(|phase| reads_others(&phase.workload)) {
        return Err(PeerFault {
            text: NO_OTHERS.to_owned(),
            exit_code: 2,
        });
    }
    // All know the same sets, so that all of them meet here or none does.
    let users = at_targets(sets);
    if users.iter().all(|(_, users)| *users == 1) {
        return Ok(());
    }
    let own = users.get(connection.rank as usize);
    let own = own.is_some_and(|(_, users)| *users > 1) && makes(works);
    let decided = settled(connection, &json!({ "makes": own }), |words| {
        let makes = |word: &Value| word.get("makes").and_then(Value::as_bool) == Some(true);
        let makes: Vec<bool> = words.iter().map(makes).collect();
        crowd(sets, &makes).map_or(json!({}), |ranks| {
            let names = ranks.into_iter().map(|rank| connection.called(rank));
            fault_word(&several_writers(&names.collect::<Vec<_>>()))
        })
    });
    decided.map(drop)
}

/// Nobody is asked to wait for another where each has a target of its own.
fn several_writers(names: &[String]) -> PeerFault {
    PeerFault {
        text: format!(
            "several writers: {} have one target, and each would write it or make it as its own: start one rank on each host, with more --threads; give each worker a file (--file-distribution per-worker); or say --target-is shared where all hosts see the same",
            names.join(", ")
        ),
        exit_code: 2,
    }
}

/// Refuses fewer names than there are ranks that share them, as all do: of some targets there may be
/// more users than of others.
///
/// # Errors
/// One of so many ranks of a target would have none.
pub(super) fn check_names(works: &[GroupWork], users: u32) -> Result<(), PeerFault> {
    let rank = Rank::default().at_target(0, users);
    for phase in GroupWork::phases_of(works) {
        let _its_part = workload::share(&phase.workload, rank).map_err(|e| fault_by(&e.into()))?;
    }
    Ok(())
}

/// Whether it is asked for another rank's part.
pub(super) fn reads_others(workload: &Workload) -> bool {
    workload.shift.is_some_and(|shift| shift != Shift::By(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Phase, Stage};

    fn works(target: &Path, options: &[(&str, &str)]) -> Vec<GroupWork> {
        let mut workload = Workload {
            targets: vec![target.to_path_buf()],
            ..Workload::default()
        };
        for (key, text) in options {
            workload::settings::apply(&mut workload, key, text).expect("it is an option");
        }
        let name = "x".to_owned();
        vec![GroupWork::Stage(Stage(vec![Phase { name, workload }]))]
    }

    #[test]
    fn whoever_reads_what_is_there_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (there, missing) = (dir.path().join("x"), dir.path().join("y"));
        std::fs::write(&there, vec![1; 8192]).unwrap();
        let made = |target: &Path, options: &[(&str, &str)]| makes(&works(target, options));
        let size = ("file-size", "8KiB");
        assert!(!made(&there, &[]));
        assert!(!made(&there, &[size]));
        assert!(made(&there, &[("file-size", "12KiB")]));
        assert!(made(&there, &[("write-percent", "1")]));
        assert!(made(&there, &[("refill", "true")]));
        assert!(made(&missing, &[size]));
        // All of these names have no room in memory.
        assert!(made(dir.path(), &[("total-files", "4294967296"), size]));
        let own = ("file-distribution", "per-worker");
        assert!(!made(&missing, &[size, own, ("write-percent", "100")]));
        assert!(!made(dir.path(), &[("meta", "create,unlink")]));
        assert!(!made(&missing, &[("engine", "null"), size]));
        assert!(!made(Path::new("nbd://h/x"), &[("write-percent", "100")]));
    }

    #[test]
    fn ranks_that_have_one_target_do_not_all_make_it() {
        let all = [true; 3];
        assert_eq!(crowd(&[0, 1, 2], &all), None);
        assert_eq!(crowd(&[0, 0, 0], &[false; 3]), None, "they read alone");
        assert_eq!(crowd(&[0, 1, 1], &[true, false, false]), None);
        assert_eq!(crowd(&[0, 1, 1], &[false, false, true]), Some(vec![1, 2]));
        let fault = several_writers(&["r1".into(), "r2".into()]);
        assert!(fault.text.starts_with("several writers: r1, r2 have"));
        assert_eq!(fault.exit_code, 2);
    }

    #[test]
    fn names_are_as_many_as_ranks_of_one_target() {
        let options = [("meta", "create,unlink"), ("total-files", "2")];
        let works = works(Path::new("x"), &options);
        assert!(check_names(&works, 2).is_ok());
        let fault = check_names(&works, 3).unwrap_err();
        assert_eq!(fault.exit_code, 2);
        assert!(
            fault.text.contains("3 ranks share 2 files"),
            "{}",
            fault.text
        );
    }

    #[test]
    fn a_shift_has_no_other_s_part_to_read() {
        let asked = |shift| {
            let works = works(Path::new("x"), &[("shift", shift)]);
            GroupWork::phases_of(&works).any(|phase| reads_others(&phase.workload))
        };
        assert!(!asked("0"));
        assert!(asked("1") && asked("random"));
    }
}
