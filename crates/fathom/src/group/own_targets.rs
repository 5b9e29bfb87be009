//! What ranks cannot do where hosts have targets of their own under the name that all have.

use super::beforehand::target_sets;
use super::work::GroupWork;
use host::PeerFault;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workload::{EngineTarget, Shift, Workload};

/// More files than these are not looked at before ranks begin.
const MOST_LOOKED_AT: usize = 10_000;

/// What is said where a target of a host's own is to have what others wrote.
pub(super) const NO_OTHERS: &str = "--shift asks for what another rank wrote, and each host has a target of its own, where no other wrote: drop it";

/// Whether a rank would write its targets, or make what is not there of them, as every other would that
/// has the same.
pub(super) fn makes(works: &[GroupWork]) -> bool {
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
        let used = run::files_of(workload);
        let used = used.iter().filter(|target| !is_server(target));
        let mut used = used.take(MOST_LOOKED_AT);
        used.any(|path| !is_whole(path))
    };
    workload.writes_blocks() || changes || lacks()
}

/// The ranks that have one target of their own and would each write or make it, in words; nobody is
/// asked to wait for another there.
pub(super) fn crowded(places: &[Value], called: impl Fn(u32) -> String) -> Option<String> {
    let mut ranks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (set, rank) in target_sets(places).into_iter().zip(0_u32..) {
        ranks.entry(set).or_default().push(rank);
    }
    let makes = |rank: &u32| {
        let place = places.get(*rank as usize);
        place.and_then(|place| place.get("makes")?.as_bool()) == Some(true)
    };
    let crowd = ranks
        .into_values()
        .find(|ranks| ranks.len() > 1 && ranks.iter().any(makes))?;
    let names: Vec<String> = crowd.into_iter().map(called).collect();
    Some(format!(
        "several writers: {} have one target, and each would write it or make it as its own: start one rank on each host, with more --threads; give each worker a file (--file-distribution per-worker); or say --target-is shared where all hosts see the same",
        names.join(", ")
    ))
}

/// Refuses what ranks with targets of their own cannot do, as all of them do.
///
/// # Errors
/// Some have the same one and would write it, or it is asked for what other hosts wrote.
pub(super) fn check(crowded: Option<&str>, works: &[GroupWork]) -> Result<(), PeerFault> {
    let refused = |text: &str| {
        Err(PeerFault {
            text: text.to_owned(),
            exit_code: 2,
        })
    };
    if let Some(text) = crowded {
        return refused(text);
    }
    match GroupWork::phases_of(works).any(|phase| reads_others(&phase.workload)) {
        true => refused(NO_OTHERS),
        false => Ok(()),
    }
}

/// Whether it is asked for another rank's part.
pub(super) fn reads_others(workload: &Workload) -> bool {
    workload.shift.is_some_and(|shift| shift != Shift::By(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
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
        let own = ("file-distribution", "per-worker");
        assert!(!made(&missing, &[size, own, ("write-percent", "100")]));
        assert!(!made(dir.path(), &[("meta", "create,unlink")]));
        assert!(!made(&missing, &[("engine", "null"), size]));
        assert!(!made(Path::new("nbd://h/x"), &[("write-percent", "100")]));
    }

    #[test]
    fn ranks_that_have_one_target_do_not_all_make_it() {
        let place =
            |boot: &str, makes: bool| json!({ "boot": boot, "target": "x", "makes": makes });
        let told = |places: &[Value]| crowded(places, |rank| format!("r{rank}"));
        assert_eq!(told(&[place("a", true), place("b", true)]), None);
        let read_alone = [place("a", false), place("a", false)];
        assert_eq!(told(&read_alone), None);
        let text = told(&[place("a", true), place("b", true), place("b", true)]).unwrap();
        assert!(text.starts_with("several writers: r1, r2 have"), "{text}");
    }

    #[test]
    fn a_shift_has_no_other_s_part_to_read() {
        let told = |shift| check(None, &works(Path::new("x"), &[("shift", shift)]));
        assert!(told("0").is_ok());
        for shift in ["1", "random"] {
            let fault = told(shift).unwrap_err();
            assert!(fault.exit_code == 2 && fault.text.contains("--shift"));
        }
        let fault = check(Some("several writers"), &[]).unwrap_err();
        assert_eq!(
            (fault.exit_code, fault.text.as_str()),
            (2, "several writers")
        );
    }
}
