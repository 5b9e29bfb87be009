//! A signal that reached the process with `--hosts`: its exit code, what is shown and what is kept say the
//! same, whatever the launcher makes of the signal.

use super::{LONG, launchers, nobody_is_left, place, said, signal, wait_for};
use record::{Status, read_records};
use std::fs;
use std::process::Stdio;

#[test]
fn the_record_and_the_result_say_the_signal_that_the_front_ended_by() {
    for launcher in launchers() {
        for (number, by) in [(1, "HUP"), (2, "INT"), (15, "TERM")] {
            let (name, dir) = (format!("{}, {by}", launcher.name), place());
            // Nobody is lost here, however busy the machine is.
            let words = LONG.replace("--lost-after 4s", "--lost-after 30s");
            // What is kept in between is no newer than what was there before the signal.
            let words = match by {
                "INT" => words.replace("--save-every 500ms ", ""),
                _ => words,
            };
            let mut line = launcher.by_front(dir.path(), &words);
            let line = line.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = line.spawn().unwrap();
            let before = wait_for("a record of four ranks that go on", || {
                let mut read = read_records(&dir.path().join("r.jsonl")).ok()?;
                let record = read.records.pop()?;
                (record.hosts.len() == 4 && record.operations.count() > 0).then_some(record)
            });
            // Below `timeout`.
            let children = format!("/proc/{0}/task/{0}/children", child.id());
            let front = fs::read_to_string(children).unwrap().trim().to_owned();
            signal(front.parse().unwrap(), by);
            let output = child.wait_with_output().unwrap();
            let told = said(&output);
            assert_eq!(output.status.code(), Some(128 + number), "{name}: {told}");
            assert!(!told.contains("fathom-"), "{name}: {told}");
            let results = told.matches("outcome       interrupted").count();
            assert_eq!(results, 1, "{name}: {told}");
            assert!(!told.contains("non-zero"), "{name}: {told}");
            let read = read_records(&dir.path().join("r.jsonl")).unwrap();
            let record = read.records.last().unwrap();
            let outcome = &record.outcome;
            assert_eq!(outcome.status, Status::Interrupted, "{name}: {outcome:?}");
            assert_eq!(outcome.exit_code, 128 + number, "{name}: {outcome:?}");
            assert!(
                record.elapsed_ns > before.elapsed_ns
                    && record.operations.count() > before.operations.count(),
                "{name}: what was measured last is not kept: {told}"
            );
            nobody_is_left(dir.path(), &name);
        }
    }
}
