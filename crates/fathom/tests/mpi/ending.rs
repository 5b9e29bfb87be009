//! What ranks do of which one stands still when everything is measured, recorded and said.

use super::ground::{nobody_is_left, place, record, signal};
use super::{Launcher, Running, begin_line, is_first_of_its_kind, is_whole, launchers};
use record::Status;
use std::fs;
use std::path::Path;

/// Of a few seconds, after which nothing is left but the end.
const BRIEF: &str = "run x --file-size 4M --random --rate-iops 400 --duration 2s --no-live --lead 1s --max-skew 60s --save-every 500ms --records r.jsonl";
const MOST_TIMES: u32 = 5;

/// A run of which one rank was stopped when the record was whole, and not before.
fn stopped_at_the_end(launcher: &Launcher, dir: &Path, words: &str, by_front: bool) -> Running {
    let kept = dir.join("r.jsonl");
    for _ in 0..MOST_TIMES {
        let line = match by_front {
            true => launcher.by_front(dir, words),
            false => launcher.line("4", dir, words),
        };
        let running = begin_line(line, dir);
        let rank = running.ranks[2];
        let is_whole = || fs::read_to_string(&kept).is_ok_and(|kept| kept.contains(WHOLE));
        while !is_whole() {
            std::thread::yield_now();
        }
        let stopped = sys::signal_process(rank, STOP);
        if stopped.is_ok() && is_stopped(rank) {
            return running;
        }
        println!("{}: it had ended before, and is begun anew", launcher.name);
        let (code, said) = running.ended();
        assert_eq!(code, Some(0), "{}: {said}", launcher.name);
        nobody_is_left(dir, launcher.name);
        fs::remove_file(&kept).unwrap();
    }
    panic!(
        "{}: each run had ended before it was looked at",
        launcher.name
    );
}

const WHOLE: &str = r#""outcome":{"status":"ok""#;
const STOP: i32 = 19;

/// Whether it is, once the kernel has done what it was told.
fn is_stopped(process: u32) -> bool {
    loop {
        let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else {
            return false;
        };
        match stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next())
        {
            Some('T') => return true,
            Some('Z' | 'X') | None => return false,
            Some(_) => std::thread::yield_now(),
        }
    }
}

#[test]
fn a_rank_that_stands_still_when_all_is_recorded_is_no_hang_and_no_success() {
    let all = launchers();
    for (place_of, launcher) in all.iter().enumerate() {
        let by_front = is_first_of_its_kind(&all, place_of);
        let (dir, name) = (place(), launcher.name);
        let words = format!("{BRIEF} --lost-after 4s --output-format json");
        let running = stopped_at_the_end(launcher, dir.path(), &words, by_front);
        let (code, said) = running.ended();
        assert_ne!(code, Some(124), "{name} hung: {said}");
        assert_ne!(code, Some(0), "{name}: {said}");
        assert!(!by_front || code == Some(5), "{name}: {code:?} {said}");
        // The first is there, and shows what all have measured.
        is_whole(&said, name);
        assert!(!said.contains("at the end: rank 0"), "{name}: {said}");
        let record = record(dir.path(), name);
        assert_eq!(record.outcome.status, Status::Ok, "{name}: {said}");
        assert_eq!(record.hosts.len(), 4, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_rank_that_goes_on_before_it_is_lost_costs_nothing_at_the_end() {
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        let words = format!("{BRIEF} --lost-after 60s");
        let running = stopped_at_the_end(&launcher, dir.path(), &words, false);
        // Longer than a library was once waited for.
        let clock = sys::MachineClock::monotonic();
        let until = sys::monotonic_ns() + 4_000_000_000;
        sys::clock::Clock::sleep_until(&clock, until);
        signal(running.ranks[2], "CONT");
        let (code, said) = running.ended();
        assert_eq!(code, Some(0), "{name}: {said}");
        assert_eq!(
            record(dir.path(), name).outcome.status,
            Status::Ok,
            "{name}"
        );
        nobody_is_left(dir.path(), name);
    }
}
