//! Ranks that began further apart than they may: what they measured counts nowhere.

use super::{
    Act, Launcher, ROWS, SHORT, Server, launchers_by_kind, nobody_is_left, place, record, said,
};
use record::{Record, Status, read_records};
use std::fs;
use std::path::Path;

/// Further apart than this are any two.
const ANY: &str = "--max-skew 1ns";

fn ended(launcher: &Launcher, dir: &Path, words: &str) -> (Option<i32>, String, Vec<Record>) {
    let words = format!("{words} {ANY} --lead 1s --records r.jsonl");
    let output = launcher.by_front_of(2, dir, &words).output().unwrap();
    let records = read_records(&dir.join("r.jsonl"));
    let records = records
        .unwrap_or_else(|_| panic!("{}", said(&output)))
        .records;
    nobody_is_left(dir, launcher.name);
    (output.status.code(), said(&output), records)
}

/// Each says why it does not count.
fn none_counts(records: &[Record], name: &str) {
    // One that was late for the start did nothing, and says that.
    let is_ok = |of: &Record| of.outcome.status == Status::Ok;
    assert!(!records.iter().any(is_ok), "{name}");
    for record in records
        .iter()
        .filter(|of| of.outcome.status == Status::Apart)
    {
        let group = record.group.as_ref().unwrap();
        assert_eq!(group.max_skew_ns, Some(1), "{name}");
        let why = record.outcome.message.as_deref().unwrap();
        assert!(why.contains("apart, more than --max-skew 1 ns"), "{name}");
        assert_eq!(record.outcome.exit_code, 4, "{name}");
    }
}

#[test]
fn a_run_whose_ranks_began_too_far_apart_does_not_count() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let words = SHORT.replace(" --max-skew 60s --records r.jsonl", "");
        let (code, said, records) = ended(&launcher, dir.path(), &words);
        assert_eq!(code, Some(4), "{name}: {said}");
        assert_eq!(records.len(), 1, "{name}");
        none_counts(&records, name);
        let kept = record(dir.path(), name);
        assert!(kept.operations.count() > 0, "{name}: it is shown");
    }
}

#[test]
fn no_knee_comes_of_steps_whose_ranks_began_too_far_apart() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let server = Server::start(|_| Act::Answer);
        let target = server.s3("bench");
        let words = format!(
            "load get --target {target} --users 4 --seeds 8 --arrival constant --rate 100 --no-live --find-knee errors<1% --most-rate 200 --step-duration 200ms"
        );
        let (code, said, records) = ended(&launcher, dir.path(), &words);
        assert_eq!(code, Some(4), "{name}: {said}");
        assert_eq!(records.len(), 3, "{name}: it was measured again");
        none_counts(&records, name);
        for told in ["no knee", "was begun too far apart by its ranks"] {
            assert!(said.contains(told), "{name}: {said}");
        }
        assert_eq!(server.objects(), 0, "{name}");
    }
}

#[test]
fn no_row_and_no_comparison_comes_of_slots_whose_ranks_began_too_far_apart() {
    for launcher in launchers_by_kind() {
        let name = launcher.name;
        let compare = "compare rate-iops=2000 rate-iops=1000 --run --set file-size=4M --target x --slot 200ms --settle 0 --blocks 6";
        for words in ["profile . --rows rows.toml --size 16M --passes 2", compare] {
            let dir = place();
            fs::write(dir.path().join("rows.toml"), ROWS).unwrap();
            let (code, said, records) = ended(&launcher, dir.path(), words);
            assert_eq!(code, Some(1), "{name}: {said}");
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let why = "failed 3 times, the last time because";
            assert!(said.contains(why), "{name}: {said}");
            none_counts(&records, name);
        }
    }
}

#[test]
fn no_score_comes_of_phases_whose_ranks_began_too_far_apart() {
    let Some(launcher) = launchers_by_kind().into_iter().next() else {
        return;
    };
    let (dir, name) = (place(), launcher.name);
    let words = "profile . --io500-like --stonewall 100ms --size 64M --files 100";
    let (code, said, records) = ended(&launcher, dir.path(), words);
    assert_eq!(code, Some(4), "{name}: {said}");
    let apart = records
        .iter()
        .filter(|of| of.outcome.status == Status::Apart);
    assert!(apart.count() > 0, "{name}: {said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("No IO500-like score"), "{name}: {said}");
}
