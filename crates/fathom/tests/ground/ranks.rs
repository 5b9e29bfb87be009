//! What tests of real launchers look at: processes in a directory of their own, and the one record.
#![allow(dead_code, reason = "each test binary uses its own part")]

use record::{Record, read_records};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Output};

pub(crate) fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

/// What is kept of the one trial.
pub(crate) fn record(dir: &Path, words: &str) -> Record {
    let read = read_records(&dir.join("r.jsonl"));
    let read = read.unwrap_or_else(|why| panic!("{words}: {why}"));
    assert_eq!(read.records.len(), 1, "{words}");
    read.records.into_iter().next().unwrap()
}

/// The processes that run in this directory, which is of one test alone.
pub(crate) fn left_in(dir: &Path) -> Vec<(u32, String)> {
    let dir = dir.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let here = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse::<u32>().ok()?;
        let at = fs::read_link(process.path().join("cwd")).ok()?;
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        (at == dir).then(|| (number, name.trim().to_owned()))
    });
    here.collect()
}

/// Waits until a condition holds, looking at it often.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3000 {
        if let Some(found) = look() {
            return found;
        }
        // Nothing tells of the end of somebody else's process.
        sys::clock::Clock::sleep_until(
            &sys::MachineClock::monotonic(),
            sys::monotonic_ns() + 20_000_000,
        );
    }
    panic!("waited in vain for {what}");
}

pub(crate) fn nobody_is_left(dir: &Path, launcher: &str) {
    wait_for(&format!("the end of all processes of {launcher}"), || {
        let left = left_in(dir);
        left.is_empty().then_some(())
    });
}

/// The process of each rank.
pub(crate) fn ranks_in(dir: &Path) -> Vec<u32> {
    let mut found: Vec<(u32, u32)> = left_in(dir)
        .into_iter()
        .filter(|(_, name)| name == "fathom")
        .filter_map(|(number, _)| {
            let environment = fs::read(format!("/proc/{number}/environ")).ok()?;
            let text = String::from_utf8_lossy(&environment).into_owned();
            let rank = text.split('\0').find_map(|pair| {
                let known = ["OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "SLURM_PROCID="];
                known.iter().find_map(|name| pair.strip_prefix(name))
            });
            Some((rank?.parse().ok()?, number))
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found.len(), 4, "{found:?}");
    found.into_iter().map(|(_, number)| number).collect()
}

/// The process of each rank of a run, once the run is so far; or what it said, where it has ended by then,
/// as one does of which a rank got no CPU for too long.
#[track_caller]
pub(crate) fn ranks_once(
    run: &mut Child,
    dir: &Path,
    what: &str,
    mut is_so_far: impl FnMut() -> bool,
) -> Result<Vec<u32>, String> {
    let ended = wait_for(what, || match run.try_wait().unwrap() {
        Some(status) => Some(Some(status)),
        None => is_so_far().then_some(None),
    });
    let Some(status) = ended else {
        return Ok(ranks_in(dir));
    };
    let mut said = Vec::new();
    if let Some(told) = &mut run.stdout {
        told.read_to_end(&mut said).unwrap();
    }
    if let Some(told) = &mut run.stderr {
        told.read_to_end(&mut said).unwrap();
    }
    let said = String::from_utf8_lossy(&said);
    Err(format!(
        "it ended ({status}) before there was {what}: {said}"
    ))
}

pub(crate) fn signal(process: u32, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}

pub(crate) fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}
