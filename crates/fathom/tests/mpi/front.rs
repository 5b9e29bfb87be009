//! The process that was given `--hosts`: what becomes of the ranks when it is killed.

use super::ground::{ranks_once, wait_for};
use super::{
    FATHOM, LONG, SHORT, begin_line, launchers, launchers_by_kind, nobody_is_left, place, said,
    signal,
};
use record::{Record, Status, read_records};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use sys::{Clock as _, MachineClock};

/// The last of what is kept of the run.
fn kept(dir: &Path) -> Option<Record> {
    read_records(&dir.join("r.jsonl")).ok()?.records.pop()
}

#[test]
fn whoever_kills_the_front_ends_its_launcher_and_all_ranks_and_keeps_what_they_measured() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        // What is kept more than once it keeps when it is asked to end.
        let words = LONG.replace("--save-every 500ms ", "");
        let words = words.replace("--lost-after 4s", "--lost-after 30s");
        let mut line = launcher.by_front(dir.path(), &words);
        let line = line.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = line.spawn().unwrap();
        let mut before = None;
        let what = "a record of four ranks that go on";
        let ranks = ranks_once(&mut child, dir.path(), what, || {
            let record = kept(dir.path());
            before =
                record.filter(|record| record.hosts.len() == 4 && record.operations.count() > 0);
            before.is_some()
        });
        assert_eq!(ranks.map(|ranks| ranks.len()), Ok(4), "{name}");
        let before = before.unwrap();
        // Below `timeout`.
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let front = fs::read_to_string(children).unwrap().trim().to_owned();
        signal(front.parse().unwrap(), "KILL");
        child.wait().unwrap();
        // It would go on for a minute.
        nobody_is_left(dir.path(), name);
        let record = kept(dir.path()).unwrap();
        assert!(
            [Status::Interrupted, Status::Incomplete].contains(&record.outcome.status),
            "{name}: {:?}",
            record.outcome
        );
        assert!(record.elapsed_ns < 40_000_000_000, "{name}");
        assert!(
            record.operations.count() > before.operations.count(),
            "{name}: {:?}",
            record.outcome
        );
    }
}

#[test]
fn what_the_launcher_s_own_words_say_is_not_said_twice_and_children_of_before_are_left_alone() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let program = launcher.program.display().to_string();
        let words = [&[program.as_str()], &launcher.words[..]]
            .concat()
            .join(" ");
        // A shell that becomes Fathom had a child, which is none of the launcher's.
        let shell = "sleep 600 >/dev/null 2>&1 & echo $! >child; exec \"$@\"";
        let mut line = Command::new("timeout");
        line.args(["-k", "5", "300", "sh", "-c", shell, "sh", FATHOM])
            .args(SHORT.split_whitespace())
            .args(["--hosts", "localhost:2", "--launcher", &words])
            .current_dir(dir.path())
            .stdin(Stdio::null());
        let output = line.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        let child = fs::read_to_string(dir.path().join("child")).unwrap();
        signal(child.trim().parse().unwrap(), "KILL");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn ranks_end_well_where_nobody_reads_what_their_launcher_prints_or_a_disk_is_full() {
    for launcher in launchers() {
        let name = launcher.name;
        let gone = || {
            let (from, to) = std::io::pipe().unwrap();
            drop(from);
            Stdio::from(to)
        };
        let full = || Stdio::from(fs::File::create("/dev/full").unwrap());
        let ways: [(&dyn Fn() -> Stdio, i32); 2] = [(&gone, 0), (&full, 1)];
        for (to, code) in ways {
            let dir = place();
            let mut line = launcher.by_front(dir.path(), SHORT);
            let output = line.stdout(to()).output().unwrap();
            let told = said(&output);
            assert_eq!(output.status.code(), Some(code), "{name}: {told}");
            let cause = "error: cannot write to standard output: ";
            assert_eq!(told.contains(cause), code == 1, "{name}: {told}");
            let record = kept(dir.path()).unwrap();
            assert_eq!(record.outcome.status, Status::Ok, "{name}: {told}");
            nobody_is_left(dir.path(), name);
        }
    }
}

#[test]
fn a_result_that_is_read_long_after_the_end_is_whole() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        // More than all buffers of a launcher hold.
        let words = format!("{SHORT} --series-interval 10ms --worker-series --output-format json");
        let mut line = launcher.by_front(dir.path(), &words);
        let line = line.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = line.spawn().unwrap();
        // Longer than a launcher is waited for that does not end.
        let clock = MachineClock::monotonic();
        clock.sleep_until(clock.now() + 15_000_000_000);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        let result = serde_json::from_slice::<serde_json::Value>(&output.stdout);
        assert!(result.is_ok(), "{name}: {} bytes", output.stdout.len());
        assert!(output.stdout.len() > 1_000_000, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

/// A launcher that stands still with what nobody reads keeps no rank from its end, and loses nothing of it.
#[test]
fn a_result_of_a_launcher_typed_by_hand_is_whole_for_a_late_reader() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        // More than pipes hold, and less than whoever prints would have to wait with.
        let words = format!("{SHORT} --output-format json");
        let mut line = launcher.line("2", dir.path(), &words);
        let line = line.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = line.spawn().unwrap();
        wait_for("the whole record", || {
            kept(dir.path()).filter(|record| record.outcome.status == Status::Ok)
        });
        // Longer than a library has for its end.
        let clock = MachineClock::monotonic();
        clock.sleep_until(clock.now() + 6_000_000_000);
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {told}");
        let result = serde_json::from_slice::<serde_json::Value>(&output.stdout);
        assert!(result.is_ok(), "{name}: {} bytes", output.stdout.len());
        assert!(output.stdout.len() > 150_000, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

/// What is started as the launcher, `./launch.sh`.
fn script(dir: &Path, text: &str) {
    let place = dir.join("launch.sh");
    fs::write(&place, text).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A run of two ranks that this script starts.
fn by_script(dir: &Path, more: &str) -> Output {
    let words = format!("{SHORT} {more} --hosts localhost:2 --launcher ./launch.sh");
    let mut line = Command::new("timeout");
    line.args(["-k", "5", "300", FATHOM])
        .args(words.split_whitespace());
    line.current_dir(dir).output().unwrap()
}

/// A script of the launcher's that keeps all that is said leads it into one.
#[test]
fn ranks_are_heard_where_a_script_leads_what_they_say_into_what_they_print() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let text = format!(
            "#!/bin/sh\n{} \"$@\" 2>&1 | tee -a log\n",
            launcher.program.display()
        );
        script(dir.path(), &text);
        let run = |more: &str| {
            let output = by_script(dir.path(), more);
            (output.status.code(), said(&output))
        };
        let (code, told) = run("");
        assert_eq!(code, Some(0), "{name}: {told}");
        let (code, told) = run("--threshold iops>1000g");
        assert_eq!(code, Some(3), "{name}: {told}");
        // What is for the front alone went to the log, and not to people.
        let log = fs::read_to_string(dir.path().join("log")).unwrap();
        let words: Vec<&str> = log.lines().filter(|line| !told.contains(line)).collect();
        assert!(!words.is_empty(), "{name}: {told}");
        nobody_is_left(dir.path(), name);
    }
}

/// It is not ended for the silence of its ranks, which have ended: what they printed stands between them and here.
#[test]
fn a_result_that_a_script_hands_on_late_is_whole() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let program = launcher.program.display();
        // Longer than a launcher is waited for that does not end.
        let late = "2>&1 | (sleep 9; cat)";
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && exec {program} --version\n{program} \"$@\" {late}\n"
        );
        script(dir.path(), &text);
        let output = by_script(dir.path(), "--output-format json");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        // Words of ranks were led into it.
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("fathom-ranks"), "{name}: {text}");
        let begin = text.find('{').expect("a result");
        let result = serde_json::from_str::<serde_json::Value>(&text[begin..]);
        assert!(result.is_ok(), "{name}: {text}");
        nobody_is_left(dir.path(), name);
    }
}

/// What it began hands on what ranks print after it has ended itself.
#[test]
fn a_result_that_a_script_leaves_with_a_filter_is_whole() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let program = launcher.program.display();
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && exec {program} --version\nmkfifo pipe\n(sleep 3; cat) <pipe &\nexec >pipe\n{program} \"$@\"\n"
        );
        script(dir.path(), &text);
        let output = by_script(dir.path(), "--output-format json");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        let result = serde_json::from_slice::<serde_json::Value>(&output.stdout);
        assert!(result.is_ok(), "{name}: {} bytes", output.stdout.len());
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_result_of_which_nobody_reads_the_rest_is_no_success_where_the_end_is_asked_for_twice() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let words = format!("{SHORT} --series-interval 10ms --worker-series --output-format json");
        let mut line = Command::new(FATHOM);
        line.args(words.split_whitespace())
            .args(["--hosts", "localhost:2", "--launcher"])
            .arg(&launcher.program)
            .current_dir(dir.path())
            .stdin(Stdio::null());
        let line = line.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = line.spawn().unwrap();
        wait_for("the whole record", || {
            kept(dir.path()).filter(|record| record.outcome.status == Status::Ok)
        });
        // The rest is the front's own to write then.
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        wait_for("the end of all others", || {
            let left = fs::read_to_string(&children).unwrap();
            left.is_empty().then_some(())
        });
        let clock = MachineClock::monotonic();
        let wait = |ns| clock.sleep_until(clock.now() + ns);
        for _ in 0..2 {
            signal(child.id(), "INT");
            wait(800_000_000);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}: {}", said(&output));
        let told = "nobody had read the rest of it";
        assert!(said(&output).contains(told), "{name}: {}", said(&output));
        nobody_is_left(dir.path(), name);
    }
}

/// The launcher hears of no end, or goes on after it.
#[test]
fn ranks_that_died_without_a_word_are_not_waited_for_where_their_launcher_stays() {
    let Some(launcher) = launchers_by_kind().into_iter().next() else {
        return;
    };
    let (name, dir) = (launcher.name, place());
    let program = launcher.program.display();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec {program} --version\n{program} \"$@\"\nsleep 300\n"
    );
    script(dir.path(), &text);
    let mut line = Command::new("timeout");
    line.args(["-k", "5", "150", FATHOM])
        .args(LONG.split_whitespace())
        .args(["--hosts", "localhost:4", "--launcher", "./launch.sh"])
        .current_dir(dir.path())
        .stdin(Stdio::null());
    let running = begin_line(line, dir.path());
    for rank in &running.ranks {
        let _its_launcher_may_have_killed_it = sys::signal_process(*rank, 9);
    }
    let (code, said) = running.ended();
    assert_eq!(code, Some(5), "{name}: {said}");
    assert!(
        said.contains("no rank has given a sign of life for 14"),
        "{said}"
    );
    assert!(kept(dir.path()).unwrap().operations.count() > 0, "{name}");
    nobody_is_left(dir.path(), name);
}
