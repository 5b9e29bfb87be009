//! What is kept of a load of ranks that does not come to its end.

use super::ground::{nobody_is_left, place, record, signal, wait_for};
use super::server::{Act, Server};
use super::{Running, begin_line, launchers};
use record::{Record, Status};
use std::path::Path;

/// Objects that take seconds to remove, made by four ranks.
fn begun(launcher: &super::Launcher, dir: &Path) -> (Server, Running) {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" => Act::Late(2000),
        _ => Act::Answer,
    });
    let target = server.s3("bench");
    let line = format!(
        "load put --target {target} --users 8 --rate 400 --duration 60s --no-live --max-skew 60s --lost-after 30s --save-every 200ms --records r.jsonl"
    );
    let running = begin_line(launcher, dir, &line, "");
    (server, running)
}

/// A launcher may kill ranks soon after it has told them to end, and before all is removed.
#[test]
fn what_a_load_measured_is_kept_before_what_it_made_is_removed() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let (_server, running) = begun(&launcher, dir.path());
        let told = running.launcher();
        signal(told, "INT");
        let is_kept = |record: &Record| {
            let mut notices = record.notices.iter();
            record.outcome.status == Status::Interrupted
                && record.hosts.len() == 4
                && notices.any(|notice| notice.contains("had not been removed"))
        };
        let kept = wait_for("a record of all that was measured", || {
            Some(record(dir.path(), name)).filter(is_kept)
        });
        assert!(kept.operations.count() > 0, "{name}");
        assert!(kept.group.as_ref().unwrap().lost.is_empty(), "{name}");
        assert!(kept.asked.contains_key("rate"), "{name}: {:?}", kept.asked);
        // Nobody waits for the rest.
        for rank in &running.ranks {
            let _it_may_have_ended = std::process::Command::new("kill")
                .args(["-9", &rank.to_string()])
                .output();
        }
        let (code, said) = running.ended();
        assert_ne!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        assert_eq!(record.operations, kept.operations, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn what_a_load_has_measured_is_kept_while_it_goes_on() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let (_server, running) = begun(&launcher, dir.path());
        for rank in &running.ranks {
            let _its_launcher_may_have_killed_it = std::process::Command::new("kill")
                .args(["-9", &rank.to_string()])
                .output();
        }
        let (code, said) = running.ended();
        assert_ne!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        let outcome = &record.outcome;
        assert_eq!(outcome.status, Status::Incomplete, "{name}: {outcome:?}");
        assert!(record.operations.kind("put").unwrap().count > 0, "{name}");
        assert_eq!(
            record.load.as_ref().unwrap().scenario,
            "put",
            "{name}: it is told as a load"
        );
        nobody_is_left(dir.path(), name);
    }
}
