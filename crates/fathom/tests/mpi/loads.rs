//! What is kept of a load of ranks that does not come to its end.

use super::ground::{nobody_is_left, place, record, signal, wait_for};
use super::server::{Act, Server};
use super::{LONG, Launcher, Running, begin, launchers, launchers_by_kind};
use record::{LeftKind, Record, Status};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Objects that take seconds to remove, made by four ranks for so long.
fn begun(launcher: &Launcher, dir: &Path, duration: &str) -> (Server, Running) {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" => Act::Late(2000),
        _ => Act::Answer,
    });
    let target = server.s3("bench");
    let line = format!(
        "load put --target {target} --users 8 --rate 400 --arrival constant --duration {duration} --no-live --max-skew 60s --lost-after 30s --save-every 200ms --records r.jsonl"
    );
    let running = begin(launcher, dir, &line);
    (server, running)
}

fn kill_all(running: &Running) {
    for rank in &running.ranks {
        let _its_launcher_may_have_killed_it = Command::new("kill")
            .args(["-9", &rank.to_string()])
            .output();
    }
}

/// A launcher may kill ranks soon after it has told them to end, and before all is removed.
#[test]
fn what_a_load_measured_is_kept_before_what_it_made_is_removed() {
    const MOST_TIMES: u32 = 3;
    for launcher in launchers() {
        let is_kept = (0..MOST_TIMES).any(|_| is_kept_before_the_removal(&launcher));
        assert!(is_kept, "{}: killed before all had said it", launcher.name);
    }
}

/// Not so where the launcher killed all before they had said what they had measured, as Open MPI 5 does
/// after 0.2 s in which they get no CPU.
fn is_kept_before_the_removal(launcher: &Launcher) -> bool {
    let (name, dir) = (launcher.name, place());
    let (_server, running) = begun(launcher, dir.path(), "60s");
    signal(running.launcher(), "INT");
    let is_kept = |record: &Record| {
        let mut notices = record.notices.iter();
        // What is kept before all have ended is not all that was measured.
        let message = record.outcome.message.as_deref().unwrap_or_default();
        record.outcome.status == Status::Interrupted
            && record.hosts.len() == 4
            && !message.contains("had not ended")
            && notices.any(|notice| notice.contains("had not been removed"))
    };
    let is_there = |rank: &u32| Path::new(&format!("/proc/{rank}")).exists();
    let kept = wait_for("a record of all that was measured", || {
        let are_gone = !running.ranks.iter().any(is_there);
        let kept = Some(record(dir.path(), name)).filter(is_kept);
        kept.map(Some).or(are_gone.then_some(None))
    });
    let Some(kept) = kept else {
        println!("begun anew: {name}: {}", running.ended().1);
        return false;
    };
    assert!(kept.operations.count() > 0, "{name}");
    assert!(kept.group.as_ref().unwrap().lost.is_empty(), "{name}");
    assert!(kept.asked.contains_key("rate"), "{name}: {:?}", kept.asked);
    // Nobody waits for the rest.
    kill_all(&running);
    let (code, said) = running.ended();
    // Of ranks that are killed after a signal that it handed on, MPICH 4's launcher may say 0 of its own.
    let is_its_own = code == Some(0) && name == "MPICH of the system";
    assert!(is_its_own || code != Some(0), "{name}: {said}");
    let record = record(dir.path(), name);
    assert_eq!(record.operations, kept.operations, "{name}");
    // Nobody else says it any more; the launcher of Open MPI 5 hands on nothing after a signal.
    let words: Vec<&str> = said.split_whitespace().collect();
    let told = words
        .join(" ")
        .contains("the names of what is left begin with fathom-");
    assert!(told || name == "Open MPI 5", "{name}: {said}");
    nobody_is_left(dir.path(), name);
    true
}

#[test]
fn what_a_load_has_measured_is_kept_while_it_goes_on() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let (_server, running) = begun(&launcher, dir.path(), "60s");
        kill_all(&running);
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

/// Whoever is asked twice for the end, or killed, while it removes what it made has measured all the same.
#[test]
fn a_load_that_has_measured_all_is_whole_while_it_removes_what_it_made() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let (_server, running) = begun(&launcher, dir.path(), "2s");
        let is_kept = |record: &Record| {
            let mut notices = record.notices.iter();
            record.outcome.status == Status::Ok
                && notices.any(|notice| notice.contains("had not been removed"))
        };
        let kept = wait_for("a record of all that was measured", || {
            Some(record(dir.path(), name)).filter(is_kept)
        });
        // Some launchers kill the others when one has given up.
        let given_up = wait_for("a record that a signal ended", || {
            // It may have ended before the record says so.
            let _gone = sys::signal_process(running.ranks[1], 2);
            Some(record(dir.path(), name)).filter(|record| record.outcome.exit_code == 130)
        });
        kill_all(&running);
        let (code, said) = running.ended();
        assert_ne!(code, Some(0), "{name}: {said}");
        assert_eq!(kept.hosts.len(), 4, "{name}");
        assert_eq!(given_up.operations, kept.operations, "{name}");
        assert!(given_up.group.as_ref().unwrap().lost.is_empty(), "{name}");
        let mut left = given_up.left_over.iter().flat_map(|left| &left.why);
        let is_told = left.any(|why| why.contains("the removal was given up at a second signal"));
        assert!(is_told, "{name}: {:?}", given_up.notes());
        let done = kept.operations.kind("put").unwrap().count;
        let pace = kept.pace.as_ref().unwrap();
        assert_eq!(done + pace.unsent, 800, "{name}");
        let outcome = &record(dir.path(), name).outcome;
        assert_eq!(outcome.status, Status::Interrupted, "{name}: {outcome:?}");
        nobody_is_left(dir.path(), name);
    }
}

/// When the first time comes to keep something no rank has said anything yet.
#[test]
fn what_ranks_say_first_is_kept_at_once() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let words = LONG.replace("--save-every 500ms", "--save-every 10min");
        let line = launcher.line("4", dir.path(), &words);
        let running = Running::begin(line, dir.path(), "a line of records", |records| {
            !records.is_empty()
        });
        kill_all(&running);
        let (code, said) = running.ended();
        assert_ne!(code, Some(0), "{name}: {said}");
        let outcome = record(dir.path(), name).outcome;
        assert_eq!(outcome.status, Status::Incomplete, "{name}: {outcome:?}");
        nobody_is_left(dir.path(), name);
    }
}

/// A launcher that is asked twice may kill ranks before any of them has ended.
#[test]
fn a_setup_that_ranks_give_up_tells_the_signal_and_takes_nobody_for_lost() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        // A rank that looks for the bucket late begins all the same.
        let server = Server::start(|asked| match asked.number {
            300.. if asked.method != "HEAD" => Act::Late(400_000),
            _ => Act::Answer,
        });
        let target = server.s3("bench");
        let words = format!(
            "load get --target {target} --seeds 100000 --timeout 5min --no-live --lead 1s --max-skew 60s --save-every 200ms --records r.jsonl"
        );
        let line = launcher.line("4", dir.path(), &words);
        let running = Running::begin(line, dir.path(), "word of four ranks", |records| {
            records.last().is_some_and(|last| last.hosts.len() == 4)
        });
        let told = running.launcher();
        signal(told, "INT");
        let is_told = |record: &Record| record.outcome.status == Status::Interrupted;
        wait_for("a record that tells the signal", || {
            Some(record(dir.path(), name)).filter(is_told)
        });
        let _it_may_have_ended = Command::new("kill")
            .args(["-INT", &told.to_string()])
            .output();
        kill_all(&running);
        let (_, said) = running.ended();
        let record = record(dir.path(), name);
        let outcome = &record.outcome;
        assert!(is_told(&record), "{name}: {outcome:?}: {said}");
        assert!(
            [130, 143].contains(&outcome.exit_code),
            "{name}: {outcome:?}"
        );
        let text = std::fs::read_to_string(dir.path().join("r.jsonl")).unwrap();
        assert!(!text.contains("nothing was heard"), "{name}: {said}");
        assert!(record.group.as_ref().unwrap().lost.is_empty(), "{name}");
        nobody_is_left(dir.path(), name);
    }
}

/// The others end without it, and a launcher kills what does not answer.
#[test]
fn a_root_that_stands_still_leaves_what_all_had_measured_and_says_how_it_ended() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let server = Server::start(|_| Act::Answer);
        let target = server.s3("bench");
        // What is kept regularly comes too late.
        let words = format!(
            "load put --target {target} --users 4 --rate 400 --duration 60s --no-live --lead 1s --max-skew 60s --lost-after 4s --save-every 10min --records r.jsonl"
        );
        let running = begin(&launcher, dir.path(), &words);
        signal(running.ranks[0], "STOP");
        let (code, said) = running.ended();
        assert_ne!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        let message = record.outcome.message.as_deref().unwrap();
        assert!(record.operations.count() > 0, "{name}: {message}");
        // One that is asked to end before it is killed knows whom it has lost.
        let is_told = match record.outcome.status {
            Status::Incomplete => message.contains("has written no more"),
            Status::Interrupted => message.contains("ended") || message.contains("lost"),
            Status::Ok | Status::Apart | Status::Failed => false,
        };
        assert!(is_told, "{name}: {message}");
        nobody_is_left(dir.path(), name);
    }
}

/// What a rank would have made is of no use any more.
#[test]
fn a_setup_of_ranks_ends_when_one_of_them_is_lost() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        // All would take minutes.
        let server = Server::start(|asked| match asked.method.as_str() {
            "PUT" => Act::Late(200),
            _ => Act::Answer,
        });
        let target = server.s3("bench");
        let words = format!(
            "load get --target {target} --seeds 100000 --no-live --lead 1s --max-skew 60s --lost-after 4s --save-every 200ms --records r.jsonl"
        );
        let line = launcher.line("4", dir.path(), &words);
        let running = Running::begin(line, dir.path(), "word of four ranks", |records| {
            records.last().is_some_and(|last| last.hosts.len() == 4)
        });
        signal(running.ranks[2], "STOP");
        let (code, said) = running.ended();
        assert_ne!(code, Some(0), "{name}: {said}");
        let made = server.requests();
        assert!(made < 50_000, "{name}: {made}: {said}");
        let record = record(dir.path(), name);
        let lost = &record.group.as_ref().unwrap().lost;
        let ranks: Vec<u32> = lost.iter().map(|lost| lost.rank).collect();
        // One that a busy machine lets wait is named as well.
        assert!(ranks.contains(&2), "{name}: {ranks:?} {:?}", record.outcome);
        nobody_is_left(dir.path(), name);
    }
}

/// Of what several ranks say of one signal people read the words of one.
#[test]
fn a_setup_of_ranks_that_is_stopped_removes_the_bucket_last_and_says_when_it_is_left() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let removed: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&removed);
        let server = Server::start(move |asked| match asked.method.as_str() {
            "PUT" => Act::Late(200),
            "DELETE" => {
                seen.lock().unwrap().push(asked.path.clone());
                match asked.path.as_str() {
                    "/bench" => Act::Status(409, "BucketNotEmpty"),
                    _ => Act::Answer,
                }
            }
            _ => Act::Answer,
        });
        let target = server.s3("bench");
        let words = format!(
            "load get --target {target} --seeds 100000 --no-live --lead 1s --max-skew 60s --lost-after 30s --save-every 200ms --records r.jsonl"
        );
        let line = launcher.line("4", dir.path(), &words);
        let running = Running::begin(line, dir.path(), "word of four ranks", |records| {
            records.last().is_some_and(|last| last.hosts.len() == 4)
        });
        // A launcher that is told itself may kill ranks before they have removed anything.
        for rank in &running.ranks {
            signal(*rank, "INT");
        }
        let (code, said) = running.ended();
        assert_eq!(code, Some(130), "{name}: {said}");
        let removed = removed.lock().unwrap();
        let first = removed.iter().position(|path| path == "/bench");
        assert_eq!(first, Some(removed.len() - 1), "{name}");
        let message = record(dir.path(), name).outcome.message.unwrap();
        let left = "during the setup; rank 0: the bucket that this load made could not be removed";
        assert!(message.contains(left), "{name}: {message}");
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains(left), "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

/// What one rank cannot make none begins with, and all end alike.
#[test]
fn a_search_whose_setup_is_refused_to_one_rank_leaves_nothing_and_says_whose_it_was() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        // The names of a rank's objects end with its number before the first separator.
        let server = Server::start(|asked| match asked.method.as_str() {
            "PUT" if asked.path.contains("-1/") => Act::Status(403, "AccessDenied"),
            _ => Act::Answer,
        });
        let target = server.s3("bench");
        let words = format!(
            "load get --target {target} --users 1 --seeds 8 --rate 50 --no-live --lead 1s --max-skew 60s --records r.jsonl --find-knee errors<1% --step-duration 300ms"
        );
        let (code, said) = launcher.ended_of("2", dir.path(), &words);
        assert_eq!(code, Some(1), "{name}: {said}");
        let refused = "4 of 4 objects that the load reads could not be made, the first because: HTTP 403 AccessDenied";
        assert!(
            said.contains(refused) && said.contains("(rank 1): "),
            "{name}: {said}"
        );
        assert_eq!(server.objects(), 0, "{name}: {said}");
        assert!(!dir.path().join("r.jsonl").exists(), "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn what_a_search_by_ranks_leaves_is_the_sum_of_all_in_its_last_record() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let server = Server::start(|asked| match asked.method.as_str() {
            "DELETE" => Act::Status(403, "AccessDenied"),
            _ => Act::Answer,
        });
        let target = server.s3("bench");
        let words = format!(
            "load get --target {target} --users 1 --seeds 9 --rate 50 --no-live --lead 1s --max-skew 60s --records r.jsonl --find-knee errors<1% --most-rate 100 --step-duration 300ms"
        );
        let (_, said) = launcher.ended_of("3", dir.path(), &words);
        let records = record::read_records(&dir.path().join("r.jsonl")).unwrap();
        let (last, before) = records.records.split_last().unwrap();
        let mut left = last.left_over.iter();
        let objects = left.find(|left| left.kind == LeftKind::Objects);
        let objects = objects.map(|left| (left.count, left.is_at_most));
        assert_eq!(objects, Some((9, false)), "{name}: {said}");
        assert!(before.iter().all(|record| record.left_over.is_empty()));
        let load = last.load.as_ref().unwrap();
        assert_eq!(load.left_behind, 9, "{name}: {said}");
        let deletes = load.teardown.kind("delete").unwrap();
        assert_eq!(deletes.errors, 9, "{name}: {said}");
        // The bucket is there as well.
        assert_eq!(server.objects(), 10, "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}
