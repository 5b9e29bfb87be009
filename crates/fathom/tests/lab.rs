//! Experiments from plan files, through the binary.

#[path = "lab/builds.rs"]
mod builds;
#[path = "lab/committed.rs"]
mod committed;
#[path = "lab/exchanged.rs"]
mod exchanged;
#[path = "lab/failures.rs"]
mod failures;
#[path = "lab/keys.rs"]
mod keys;
#[path = "lab/refused.rs"]
mod refused;
#[path = "lab/secrets.rs"]
mod secrets;
#[path = "lab/servers.rs"]
mod servers;
#[path = "lab/started.rs"]
mod started;
#[path = "lab/stated_units.rs"]
mod stated_units;
mod support;
#[path = "lab/tables.rs"]
mod tables;
#[path = "lab/walked.rs"]
mod walked;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// A plan whose command states a number: that of its arm, and a little that the pass brings.
fn stated(first: &str, second: &str) -> String {
    format!(
        r#"
question = "Is one of them less?"
better = "lower"
passes = [1, 30]
settle = "0s"
keep-free = "1MiB"
calibrate = 1
[workload]
command = "echo speed: {{value}}.{{pass}}5"
read = {{ name = "speed", regex = 'speed: ([0-9.]+)', unit = "ms" }}
[[arm]]
name = "first"
set = {{ value = "{first}" }}
[[arm]]
name = "second"
set = {{ value = "{second}" }}
"#
    )
}

fn in_dir(dir: &Path, words: &[&str]) -> Output {
    Command::new(FATHOM)
        .args(words)
        .current_dir(dir)
        .output()
        .expect("the test can do this")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command wrote on standard output that ended with this code.
fn said(output: &Output, code: i32) -> String {
    let (told, complained) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{told}{complained}");
    told
}

/// What a command wrote on standard error that ended with this code.
fn complained(output: &Output, code: i32) -> String {
    said(output, code);
    text(&output.stderr)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the test can do this");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("the test can do this")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn with_plan(plan: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("the test can do this");
    fs::write(dir.path().join("p.toml"), plan).expect("the test can do this");
    dir
}

#[test]
fn commands_that_state_10_and_12_are_told_apart_and_the_file_is_judged_alike() {
    let dir = with_plan(&stated("10", "12"));
    let told = said(
        &in_dir(dir.path(), &["lab", "run", "p.toml", "-o", "verdict.json"]),
        3,
    );
    assert!(
        told.contains("second against first: speed, margin 5.0 %") && told.contains("Slower"),
        "{told}"
    );
    assert_eq!(
        names(dir.path()),
        ["p.jsonl", "p.plan.toml", "p.toml", "verdict.json"]
    );
    let again = in_dir(dir.path(), &["compare", "p.jsonl"]);
    assert_eq!(text(&again.stdout), told, "the file holds the question");
    let other = in_dir(dir.path(), &["compare", "p.jsonl", "--metric", "iops"]);
    assert!(
        text(&other.stderr).contains("registered"),
        "{}",
        text(&other.stderr)
    );
}

#[test]
fn equal_commands_are_not_told_apart() {
    let dir = with_plan(&stated("10", "10"));
    let told = said(&in_dir(dir.path(), &["lab", "run", "p.toml"]), 0);
    assert!(told.contains("Within 5.0 %"), "{told}");
}

#[test]
#[ignore = "measures time: it needs an idle machine"]
fn commands_of_10_and_12_ms_are_told_apart_and_equal_ones_are_not() {
    for (second, code, word) in [("0.012", 3, "Slower"), ("0.010", 0, "")] {
        let plan = stated("0.010", second)
            .replace(
                "command = \"echo speed: {value}.{pass}5\"",
                "command = \"sleep {value}\"\nrepeat = 10",
            )
            .replace("better = \"lower\"", "metric = \"time\"")
            .replace("[1, 30]", "[1, 90]");
        let plan: String = plan
            .lines()
            .filter(|line| !line.starts_with("read"))
            .map(|line| format!("{line}\n"))
            .collect();
        let dir = with_plan(&plan);
        let told = said(&in_dir(dir.path(), &["lab", "run", "p.toml"]), code);
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn a_plan_is_shown_before_anything_happens_and_leaves_no_file() {
    let dir = with_plan(&stated("10", "12"));
    let told = said(&in_dir(dir.path(), &["lab", "plan", "p.toml"]), 0);
    for part in [
        "Is one of them less?",
        "first (baseline)",
        "second (candidate)",
        "command = echo speed: 12.{pass}5",
        "seed 1; first pass: ",
        "looked at after 8",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(names(dir.path()), ["p.toml"]);
}

#[test]
fn a_plan_that_leads_nowhere_is_refused_with_its_line() {
    for (from, to, expected) in [
        (
            "passes",
            "pases",
            "p.toml:4: a plan has no key \"pases\", did you mean \"passes\"?",
        ),
        (
            "{value}",
            "{valu}",
            "p.toml:9: the placeholder {valu} has no value",
        ),
        (
            "regex = 'speed: ([0-9.]+)'",
            "regex = 'speed'",
            "has 0 groups",
        ),
        (
            "better = \"lower\"",
            "",
            "nobody says whether more or less of value:speed is better",
        ),
    ] {
        let dir = with_plan(&stated("10", "12").replace(from, to));
        for verb in ["plan", "run"] {
            let told = complained(&in_dir(dir.path(), &["lab", verb, "p.toml"]), 2);
            assert!(told.contains(expected), "{expected}: {told}");
            assert_eq!(names(dir.path()), ["p.toml"]);
        }
    }
}

#[test]
fn a_command_that_fails_states_nothing_or_hangs_is_a_failed_slot_with_its_reason() {
    for (command, expected) in [
        (
            "sh -c 'echo {value} is wrong >&2; exit 7'",
            "exit code 7; it printed: 1",
        ),
        (
            "echo nothing {value}",
            "it states no speed: nothing matches",
        ),
        ("sh -c 'kill -9 $$ {value}'", "ended by signal 9"),
    ] {
        let plan = stated("10", "12").replace("echo speed: {value}.{pass}5", command);
        let dir = with_plan(&plan);
        let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(expected), "{expected}: {told}");
        assert_eq!(
            names(dir.path()),
            ["p.plan.toml", "p.toml"],
            "no directory is left"
        );
    }
    let hangs = stated("10", "12")
        .replace(
            "echo speed: {value}.{pass}5",
            "sh -c 'sleep 1000 & sleep 1000 {value}'",
        )
        .replace("keep-free", "slot-limit = \"50ms\"\nkeep-free");
    let output = in_dir(with_plan(&hangs).path(), &["lab", "run", "p.toml"]);
    assert!(
        text(&output.stderr).contains("not ended after"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn an_experiment_is_not_begun_twice_in_one_file_and_goes_on_where_it_is_asked_to() {
    let dir = with_plan(&stated("10", "12").replace("[1, 30]", "6"));
    let run = |more: &[&str]| in_dir(dir.path(), &[&["lab", "run", "p.toml"], more].concat());
    let early = run(&["--resume"]);
    assert_eq!(early.status.code(), Some(2), "{}", text(&early.stderr));
    // A runner that was killed before its first slot leaves no more than this.
    fs::write(dir.path().join("p.jsonl"), "").unwrap();
    let begins = run(&["--resume"]);
    assert_eq!(begins.status.code(), Some(3), "{}", text(&begins.stderr));
    assert!(
        text(&begins.stderr).contains("holds no slot yet: it begins"),
        "{}",
        text(&begins.stderr)
    );
    fs::remove_file(dir.path().join("p.jsonl")).unwrap();
    assert_eq!(run(&[]).status.code(), Some(3));
    let lines = fs::read_to_string(dir.path().join("p.jsonl")).unwrap();
    let twice = run(&[]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(
        text(&twice.stderr).contains("go on with it by --resume"),
        "{}",
        text(&twice.stderr)
    );
    // As after a kill: the last slots are gone.
    let all: Vec<&str> = lines.lines().collect();
    fs::write(dir.path().join("p.jsonl"), all[..all.len() - 3].join("\n")).unwrap();
    let again = run(&["--resume"]);
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
    assert!(
        text(&again.stdout).contains("6 blocks"),
        "{}",
        text(&again.stdout)
    );
    let other = stated("11", "12").replace("[1, 30]", "6");
    fs::write(dir.path().join("p.toml"), other).unwrap();
    let other = run(&["--resume"]);
    assert!(
        text(&other.stderr).contains("rows.0.workloads.0.options.command was"),
        "{}",
        text(&other.stderr)
    );
}

#[test]
fn what_a_slot_is_stays_for_the_whole_experiment_and_what_it_may_cost_does_not() {
    let plan = stated("10", "12").replace("[1, 30]", "6");
    let plan = format!("slot-limit = \"9m\"\nbudget = \"1h\"\n{plan}");
    assert!(plan.contains("settle = \"0s\""), "{plan}");
    let dir = with_plan(&plan);
    let file = dir.path().join("p.toml");
    let run = |more: &[&str]| in_dir(dir.path(), &[&["lab", "run", "p.toml"], more].concat());
    assert_eq!(run(&[]).status.code(), Some(3));
    // As after a kill: the last slots are gone.
    let records = dir.path().join("p.jsonl");
    let lines = fs::read_to_string(&records).unwrap();
    let all: Vec<&str> = lines.lines().collect();
    let begun = all[..all.len() - 3].join("\n");
    fs::write(&records, &begun).unwrap();
    let waits = "[environment]\nwait-idle = \"1m\"\n[workload]";
    for (from, to, key) in [
        (
            "slot-limit = \"9m\"",
            "slot-limit = \"8m\"",
            "options.slot-limit was",
        ),
        ("slot-limit = \"9m\"", "", "options.slot-limit was"),
        ("[workload]", waits, "options.environment.wait-idle was"),
        ("passes = 6", "passes = 7", "least_passes was"),
        ("\"lower\"", "\"higher\"", "question.better was"),
        (
            "budget = \"1h\"",
            "budget = \"59m\"",
            "budget = 1 h, which is 59 min now",
        ),
        (
            "settle = \"0s\"",
            "settle = \"1s\"",
            "settle = 0 s, which is 1 s now",
        ),
        ("\"ms\"", "\"s\"", "options.read.unit was"),
        ("question", "seed = 9\nquestion", "seed was"),
        (
            "question",
            "margin = \"1%\"\nquestion",
            "question.margin was",
        ),
    ] {
        fs::write(&file, plan.replacen(from, to, 1)).unwrap();
        let told = complained(&run(&["--resume"]), 2);
        assert!(told.contains(key), "{key}: {told}");
        assert_eq!(fs::read_to_string(&records).unwrap(), begun, "{key}");
    }
    let longer = plan.replacen("1h", "2h", 1);
    fs::write(&file, longer).unwrap();
    let again = said(&run(&["--resume"]), 3);
    assert!(again.contains("6 blocks"), "{again}");
}

/// Two arms of our own file share, asked for a page.
const SERVERS: &str = r#"
metric = "get.rate"
passes = 6
settle = "0s"
keep-free = "1MiB"
calibrate = 1
[factors]
users = [1, 2]
[server]
command = "{fathom} serve share --listen 127.0.0.1:{port} --db {scratch}/share.db --connections {pool}"
env = { PS_SHARED_SECRET = "lab" }
ready = { http = "{url}/login", within = "60s" }
LIMITS
[workload]
load = "fetch"
target = "{url}/login"
set = { users = "{users}", duration = "100ms" }
[[arm]]
name = "few"
set = { pool = 1 }
[[arm]]
name = "many"
set = { pool = 8 }
"#;

#[test]
fn servers_are_arms_and_every_slot_has_a_fresh_one() {
    let dir = with_plan(&SERVERS.replace("LIMITS", ""));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{told}");
    let records = records(dir.path());
    // On a machine that has much else to do a slot may end without an operation; its block is repeated.
    let slots: Vec<_> = records
        .iter()
        .filter(|record| record["outcome"]["status"] == "ok" && !record["trial"].is_null())
        .collect();
    assert!(slots.len() >= 24, "{told}");
    for record in slots {
        assert_eq!(record["effective"]["target"], "{url}/login");
        let hosts = record["hosts"].as_array().unwrap();
        assert!(
            hosts.iter().any(|host| host["role"] == "target"),
            "the server is watched"
        );
    }
    assert_eq!(names(dir.path()), ["p.jsonl", "p.plan.toml", "p.toml"]);
}

fn records(dir: &Path) -> Vec<serde_json::Value> {
    records_in(&dir.join("p.jsonl"))
}

fn records_in(file: &Path) -> Vec<serde_json::Value> {
    let lines = fs::read_to_string(file).unwrap_or_default();
    lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn a_server_that_never_gets_ready_ends_early_or_forks_away_is_told_with_what_it_printed() {
    for (command, expected) in [
        (
            "sh -c 'echo port {port} taken {pool}; exit 3'",
            "ended before it was ready; it printed: port",
        ),
        ("sh -c 'sleep 1000 {pool}'", "was not ready within 50 ms"),
        (
            "sh -c 'setsid sleep 1000 & echo away {pool}'",
            "ended before it was ready",
        ),
    ] {
        let line = SERVERS
            .lines()
            .find(|line| line.starts_with("command"))
            .unwrap();
        let plan = SERVERS
            .replace(line, &format!("command = \"{command}\""))
            .replace("LIMITS", "")
            .replace("60s", "50ms");
        let dir = with_plan(&plan);
        let told = complained(&in_dir(dir.path(), &["lab", "run", "p.toml"]), 1);
        assert!(told.contains(expected), "{expected}: {told}");
        assert_eq!(names(dir.path()), ["p.plan.toml", "p.toml"]);
    }
}

#[test]
#[ignore = "needs control groups that this process may make"]
fn privileged_limits_are_set_tried_and_seen() {
    let limits = "limits = { memory = \"64MiB\", cpus = 0.5, processes = 100 }";
    let dir = with_plan(&SERVERS.replace("LIMITS", limits));
    let output = in_dir(dir.path(), &["lab", "run", "p.toml"]);
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{told}");
    let records = records(dir.path());
    let notices = records
        .iter()
        .filter_map(|record| record["notices"].as_array());
    let limited = notices.flatten().filter(|notice| {
        notice.as_str().is_some_and(|text| {
            text.contains("the server was limited by control groups of version")
        })
    });
    assert_eq!(limited.count(), 24, "{told}");
    let hungry = "command = \"sh -c 'head -c 200000000 /dev/zero | tail; echo {pool}'\"";
    let line = SERVERS
        .lines()
        .find(|line| line.starts_with("command"))
        .unwrap();
    let plan = SERVERS
        .replace(line, hungry)
        .replace("LIMITS", "limits = { memory = \"16MiB\" }");
    let output = in_dir(with_plan(&plan).path(), &["lab", "run", "p.toml"]);
    assert!(
        text(&output.stderr).contains("killed for memory"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_second_runner_of_one_store_is_refused_whatever_name_it_gives() {
    let dir = with_plan(
        &stated("10", "12")
            .replace("[1, 30]", "6")
            .replace("{pass}5\"", "{pass}5 && sleep 1\"\nshell = true"),
    );
    let mut first = Command::new(FATHOM)
        .args(["lab", "run", "p.toml"])
        .current_dir(dir.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !dir.path().join("p.plan.toml").exists() {
        std::thread::yield_now();
    }
    let records = dir.path().join("p.jsonl");
    std::os::unix::fs::symlink("p.jsonl", dir.path().join("s.jsonl")).unwrap();
    fs::hard_link(&records, dir.path().join("h.jsonl")).unwrap();
    let second = |name| {
        let words = ["lab", "run", "p.toml", "--resume", "--records", name];
        in_dir(dir.path(), &words)
    };
    let seconds = ["p.jsonl", "./p.jsonl", "s.jsonl", "h.jsonl"].map(second);
    first.kill().unwrap();
    first.wait().unwrap();
    for second in seconds {
        let told = text(&second.stderr);
        assert_eq!(second.status.code(), Some(2), "{told}");
        assert!(told.contains("runs this experiment"), "{told}");
    }
}

/// The seven arms of the matrix in small: their servers, and an upload of each.
#[test]
fn the_matrix_of_the_file_share_runs_in_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let plan = fs::read_to_string(root.join("picoshare.toml")).unwrap();
    let plan = plan
        .replace(
            "[\"10MB\", \"50MB\", \"100MB\", \"200MB\", \"500MB\"]",
            "[\"10kB\", \"100kB\"]",
        )
        .replace(
            "memory = [\"64MiB\", \"128MiB\", \"256MiB\", \"512MiB\"]\n",
            "",
        )
        .replace("limits = { memory = \"{memory}\" }\n", "")
        .replace("duration = \"5s\"", "duration = \"100ms\"")
        .replace(
            "budget = \"4h\"",
            "passes = 1\nsettle = \"0s\"\nkeep-free = \"1MiB\"\ncalibrate = 0",
        );
    let dir = with_plan(&plan);
    let mut lab = Command::new(FATHOM);
    lab.args(["lab", "run", "p.toml"])
        .current_dir(dir.path())
        .env("PS_SHARED_SECRET", "lab");
    let output = lab.output().unwrap();
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let records = records(dir.path());
    // A block in which the machine stood still is repeated.
    let good: std::collections::BTreeSet<_> = records
        .iter()
        .filter(|record| record["outcome"]["status"] == "ok")
        .map(|record| [&record["trial"]["row"], &record["trial"]["arm"]].map(ToString::to_string))
        .collect();
    assert_eq!(
        good.len(),
        16,
        "seven arms and the control in two rows: {told}"
    );
    let placebo = "placebo: batch-chunk-reading is to change get, and put ran";
    assert!(told.contains(placebo), "{told}");
    assert_eq!(names(dir.path()), ["p.jsonl", "p.plan.toml", "p.toml"]);
}

#[test]
fn the_plans_of_the_repository_are_read_and_those_that_any_machine_can_do_are_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let plans = names(&root);
    assert_eq!(
        plans,
        [
            "ciphers.toml",
            "disks.toml",
            "git-refs.toml",
            "itoa",
            "picoshare.toml",
            "unpack.toml"
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    for plan in ["ciphers.toml", "disks.toml", "unpack.toml"] {
        let at = root.join(plan);
        let output = in_dir(dir.path(), &["lab", "plan", at.to_str().unwrap()]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{plan}: {}",
            text(&output.stderr)
        );
    }
    assert_eq!(names(dir.path()), [""; 0]);
}
