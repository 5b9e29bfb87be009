//! Arms that are git refs.

use super::{FATHOM, names, records_in, text};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

pub(super) fn git(dir: &Path, words: &[&str]) {
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "-c",
        "init.defaultBranch=main",
    ];
    let output = Command::new("git")
        .args(identity)
        .args(words)
        .current_dir(dir)
        .output()
        .expect("the test can do this");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

const REFS: &str = r#"
metric = "value:v"
better = "lower"
passes = 6
settle = "0s"
keep-free = "1MiB"
calibrate = 0
[build]
repository = "."
command = "sh -c 'cp tool.sh built; echo built >> log'"
identity = "wc -l log"
[workload]
command = "sh {tree}/built {pass}"
read = { name = "v", regex = 'value ([0-9.]+)' }
[[arm]]
name = "old"
build = { ref = "old" }
[[arm]]
name = "new"
build = { ref = "main" }
"#;

/// A repository with two commits, the plan that compares them, and a cache of its own.
fn with_refs() -> (tempfile::TempDir, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("the test can do this");
    let at = dir.path();
    let write = |value: &str| {
        fs::write(at.join("tool.sh"), format!("echo value {value}\n"))
            .expect("the test can do this")
    };
    git(at, &["init", "-q"]);
    write("10.$1");
    git(at, &["add", "tool.sh"]);
    git(at, &["commit", "-qm", "first"]);
    git(at, &["tag", "old"]);
    write("12.$1");
    git(at, &["commit", "-qam", "second"]);
    fs::write(at.join("p.toml"), REFS).expect("the test can do this");
    let cache = tempfile::tempdir().expect("the test can do this");
    (dir, cache)
}

fn lab_with(dir: &Path, cache: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(FATHOM);
    command
        .arg("lab")
        .args(words)
        .current_dir(dir)
        .env("XDG_CACHE_HOME", cache);
    command.output().expect("the test can do this")
}

#[test]
fn git_refs_are_arms_that_are_built_once_a_commit_and_stay_that_commit() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let lab = |words: &[&str]| lab_with(at, cache.path(), words);
    let shown = lab(&["plan", "p.toml"]);
    assert!(
        text(&shown.stdout).contains(", commit "),
        "{}{}",
        text(&shown.stdout),
        text(&shown.stderr)
    );
    assert_eq!(names(cache.path()), [""; 0], "a plan builds nothing");
    let output = lab(&["run", "p.toml"]);
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    // The branch moves on; what was resolved stays.
    fs::write(at.join("tool.sh"), "echo value 1.$1\n").unwrap();
    git(at, &["commit", "-qam", "third"]);
    let again = lab(&["run", "p.toml", "--resume"]);
    assert_eq!(
        again.status.code(),
        Some(3),
        "{}{}",
        text(&again.stdout),
        text(&again.stderr)
    );
    let logs = Command::new("find")
        .arg(cache.path())
        .args(["-name", "log", "-path", "*tree*"])
        .output()
        .unwrap();
    let logs = text(&logs.stdout);
    assert_eq!(logs.lines().count(), 2, "one tree a commit: {logs}");
    assert!(
        logs.lines()
            .all(|log| fs::read_to_string(log).unwrap() == "built\n"),
        "built once"
    );
}

#[test]
fn slots_of_an_arm_whose_build_fails_are_failed_records_and_the_others_go_on() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let lab = |words: &[&str]| lab_with(at, cache.path(), words);
    let fails = REFS
        .replace(
            "cp tool.sh built",
            "grep -q 10 tool.sh || exit 1; cp tool.sh built",
        )
        .replace("\"main\"", "\"old\"")
        + "[[arm]]\nname = \"broken\"\nbuild = { ref = \"main\" }\n";
    fs::write(at.join("q.toml"), fails).unwrap();
    let output = lab(&["run", "q.toml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(
        told.contains("no slot of broken can run: the build of main"),
        "{told}"
    );
    assert!(
        told.contains("Cannot tell: +0.0 %") && told.contains("over 6 blocks"),
        "the others go on: {told}"
    );
    assert!(
        told.contains("slots of broken failed, the last because the build of main"),
        "{told}"
    );
    let records = records_in(&at.join("q.jsonl"));
    let statuses = |arm: &str| -> Vec<&str> {
        let of_arm = records
            .iter()
            .filter(|record| record["trial"]["arm"] == arm);
        of_arm
            .filter_map(|record| record["outcome"]["status"].as_str())
            .collect()
    };
    let broken = statuses("broken");
    assert_eq!(broken.len(), 6, "{told}");
    assert!(broken.iter().all(|status| *status == "failed"), "{told}");
    assert_eq!(broken.len(), statuses("old").len());
    let status = text(&lab(&["status", "q.toml"]).stdout);
    assert!(!status.contains("0 complete"), "{status}");
    let again = lab(&["run", "q.toml", "--resume"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
    assert_eq!(records_in(&at.join("q.jsonl")).len(), records.len());
}

#[test]
fn an_experiment_of_which_one_of_two_arms_cannot_be_built_has_failed() {
    for (fine, word) in [("main", "10"), ("old", "12")] {
        let (dir, cache) = with_refs();
        let at = dir.path();
        // The baseline is `old`, which says 10, and the other `main`, which says 12.
        let fails = REFS.replace(
            "cp tool.sh built",
            &format!("grep -q {word} tool.sh && exit 1; cp tool.sh built"),
        );
        fs::write(at.join("q.toml"), fails).unwrap();
        let output = lab_with(at, cache.path(), &["run", "q.toml", "--ci"]);
        let told = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{fine} can be built: {told}");
        assert!(told.contains("failed: exit code 1"), "{told}");
        assert!(!told.contains("no arm beside its baseline"), "{told}");
        let records = records_in(&at.join("q.jsonl"));
        let kept: Vec<_> = records
            .iter()
            .filter(|record| !record["trial"].is_null())
            .collect();
        assert_eq!(kept.len(), 1, "one slot stands for those that cannot run");
        assert_eq!(kept[0]["outcome"]["status"], "failed");
        let suites = fs::read_to_string(at.join("q.xml")).unwrap();
        assert!(suites.contains("<error message="), "{suites}");
    }
}

#[test]
fn a_ref_or_repository_that_is_not_there_is_refused() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let lab = |words: &[&str]| lab_with(at, cache.path(), words);
    let nowhere = lab(&["plan", "p.toml"]);
    assert_eq!(nowhere.status.code(), Some(0));
    fs::write(at.join("r.toml"), REFS.replace("\"main\"", "\"nowhere\"")).unwrap();
    let output = lab(&["plan", "r.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("has no ref \"nowhere\""),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_build_that_hangs_is_ended_at_its_time_and_leaves_no_process() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let mark = format!("1{:08}", std::process::id());
    let plan = REFS.replace(
        "command = \"sh -c 'cp tool.sh built; echo built >> log'\"",
        &format!(
            "command = \"sh -c 'grep -q 12 tool.sh && {{{{ sleep {mark} & sleep {mark}; }}}}; cp tool.sh built; echo built >> log'\"\nwithin = \"300ms\""
        ),
    );
    fs::write(at.join("p.toml"), plan).unwrap();
    let output = lab_with(at, cache.path(), &["run", "p.toml"]);
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("no slot of new can run") && told.contains("300 ms"),
        "{told}"
    );
    let processes = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    assert!(
        !text(&processes.stdout).contains(&mark),
        "the build runs on"
    );
}

#[test]
fn a_factor_that_chooses_what_is_built_is_refused_because_an_arm_has_one_build() {
    let (dir, cache) = with_refs();
    let plan = REFS
        .replace(
            "[build]",
            "[factors]\nversion = [\"old\", \"main\"]\n[build]",
        )
        .replace("ref = \"old\"", "ref = \"{version}\"");
    fs::write(dir.path().join("p.toml"), plan).expect("the test can do this");
    for words in [["lab", "plan", "p.toml"], ["lab", "run", "p.toml"]] {
        let output = Command::new(FATHOM)
            .args(words)
            .current_dir(dir.path())
            .env("XDG_CACHE_HOME", cache.path())
            .output()
            .expect("the test can do this");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("the build of old is another in version=main than in version=old"),
            "{told}"
        );
    }
}

#[test]
fn inside_of_a_hook_the_repository_of_the_caller_is_left_as_it_is() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let output = Command::new(FATHOM)
        .args(["lab", "run", "p.toml"])
        .current_dir(at)
        .env("XDG_CACHE_HOME", cache.path())
        .env("GIT_DIR", at.join(".git"))
        .env("GIT_INDEX_FILE", at.join(".git/index"))
        .output()
        .expect("the test can do this");
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    let head = fs::read_to_string(at.join(".git/HEAD")).expect("the test can do this");
    assert_eq!(
        head, "ref: refs/heads/main\n",
        "its branch is still the one"
    );
}

#[test]
fn a_ref_of_a_repository_elsewhere_is_the_one_that_git_means() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    // Listed before `main`, and with a name that ends like it.
    git(at, &["branch", "feature/main", "old"]);
    git(at, &["tag", "-am", "annotated", "v2", "main"]);
    let commit = |name: &str| {
        let output = Command::new("git")
            .args(["rev-parse", name])
            .current_dir(at)
            .output();
        text(&output.expect("the test can do this").stdout)
            .trim()
            .to_owned()
    };
    let remote = format!("repository = \"file://{}\"", at.display());
    for (name, of) in [("main", "main"), ("v2", "v2^{commit}"), ("HEAD", "main")] {
        let plan = REFS
            .replace("repository = \".\"", &remote)
            .replace("\"main\"", &format!("\"{name}\""));
        fs::write(at.join("p.toml"), plan).expect("the test can do this");
        let output = lab_with(at, cache.path(), &["plan", "p.toml"]);
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(told.contains(&format!("commit {}", commit(of))), "{told}");
    }
}

#[test]
fn a_repository_that_does_not_answer_is_not_waited_for_without_end() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("the test can do this");
    let place = silent.local_addr().expect("the test can do this");
    let plan = REFS.replace(
        "repository = \".\"",
        &format!("repository = \"git://{place}/x\"\nwithin = \"300ms\""),
    );
    fs::write(at.join("p.toml"), plan).expect("the test can do this");
    for words in [["plan", "p.toml"], ["run", "p.toml"]] {
        let output = lab_with(at, cache.path(), &words);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("git ls-remote did not end within 300 ms"),
            "{told}"
        );
    }
    let processes = Command::new("ps").args(["-eo", "args"]).output();
    let processes = text(&processes.expect("the test can do this").stdout);
    assert!(!processes.contains(&place.to_string()), "git runs on");
}

#[test]
fn a_build_runs_in_its_directory_with_its_variables() {
    let (dir, cache) = with_refs();
    let plan = REFS
        .replace(
            "cp tool.sh built",
            "cp $WHAT ../.git/built; cp ../.git/built ../built",
        )
        .replace("echo built >> log", "pwd > where")
        .replace("wc -l log", "cat where")
        .replace(
            "[workload]",
            "directory = \".git\"\nenv = { WHAT = \"../tool.sh\" }\n[workload]",
        );
    fs::write(dir.path().join("p.toml"), plan).expect("the test can do this");
    let output = lab_with(dir.path(), cache.path(), &["run", "p.toml"]);
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.contains("identity {tree}/.git"),
        "its identity says where, as seen from the tree: {told}"
    );
}

#[test]
fn two_refs_of_one_commit_are_named_before_and_in_the_verdict() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    git(at, &["branch", "same", "main"]);
    let plan = REFS.replace("\"old\" }", "\"same\" }");
    fs::write(at.join("p.toml"), plan).expect("the test can do this");
    let same = "old and new are the same in everything that is known of them: an A/A test";
    for verb in ["plan", "run"] {
        let output = lab_with(at, cache.path(), &[verb, "p.toml"]);
        let told = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert!(told.contains(same), "{verb}: {told}");
    }
}

#[test]
fn who_builds_the_same_is_waited_for_until_the_time_is_over() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let built = lab_with(at, cache.path(), &["run", "p.toml"]);
    assert_eq!(built.status.code(), Some(3), "{}", text(&built.stderr));
    let found = Command::new("find")
        .arg(cache.path())
        .args(["-name", "lock"])
        .output()
        .expect("the test can do this");
    let found = text(&found.stdout);
    let first = found.lines().next().expect("a build has a lock");
    let lock = fs::File::open(first).expect("the test can do this");
    lock.lock().expect("nobody builds");
    let plan = fs::read_to_string(at.join("p.toml")).expect("the test can do this");
    let plan = plan.replace("[build]", "[build]\nwithin = \"300ms\"");
    fs::write(at.join("q.toml"), plan).expect("the test can do this");
    let output = lab_with(at, cache.path(), &["run", "q.toml"]);
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let why = "another runner that builds it was not ready within 300 ms";
    assert!(told.contains(why), "{told}");
}

#[test]
fn the_example_of_a_workflow_finds_the_branch_of_a_pull_request_s_checkout() {
    let (dir, cache) = with_refs();
    let origin = dir.path().display().to_string();
    let checkout = tempfile::tempdir().expect("the test can do this");
    let at = checkout.path();
    // As actions/checkout does it: branches are those of origin, and the head is none of them.
    git(at, &["init", "-q"]);
    git(at, &["remote", "add", "origin", &origin]);
    git(
        at,
        &[
            "fetch",
            "-q",
            "--tags",
            "origin",
            "+refs/heads/*:refs/remotes/origin/*",
        ],
    );
    git(at, &["checkout", "-q", "--detach", "old"]);
    let plan = REFS.replace("\"old\" }", "\"main\" }");
    let plan = plan.replacen(
        "build = { ref = \"main\" }\n[[arm]]",
        "build = { ref = \"HEAD\" }\n[[arm]]",
        1,
    );
    fs::write(at.join("p.toml"), plan).expect("the test can do this");
    let without = lab_with(at, cache.path(), &["plan", "p.toml"]);
    assert_eq!(without.status.code(), Some(2), "{}", text(&without.stdout));
    let workflow = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/examples/lab-workflow.yml");
    let workflow = fs::read_to_string(workflow).expect("the example is there");
    let steps = workflow
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- run: git "));
    let mut ran = 0;
    for words in steps {
        git(at, &words.split(' ').collect::<Vec<_>>());
        ran += 1;
    }
    assert_eq!(ran, 1);
    let output = lab_with(at, cache.path(), &["plan", "p.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// The processes that sleep for this long.
fn sleepers(seconds: &str) -> Vec<String> {
    let processes = Command::new("ps").args(["-eo", "pid,args"]).output();
    let processes = text(&processes.expect("the test can do this").stdout);
    let lines = processes
        .lines()
        .filter(|line| line.contains(&format!("sleep {seconds}")));
    let pids = lines.filter_map(|line| line.split_whitespace().next());
    pids.map(str::to_owned).collect()
}

#[test]
fn a_runner_that_ends_while_it_builds_has_begun_nothing_and_the_next_ends_what_it_left() {
    let (dir, cache) = with_refs();
    let at = dir.path();
    let seconds = format!("2{:08}", std::process::id());
    let waits = format!(
        "test -e {0}/go || exec sleep {seconds}; cp tool.sh built",
        at.display()
    );
    let plan = REFS.replace("cp tool.sh built", &waits);
    fs::write(at.join("p.toml"), plan).expect("the test can do this");
    for (signal, code) in [("KILL", None), ("TERM", Some(143))] {
        let mut runner = Command::new(FATHOM)
            .args(["lab", "run", "p.toml"])
            .current_dir(at)
            .env("XDG_CACHE_HOME", cache.path())
            .spawn()
            .expect("the test can do this");
        // Of the killed one there is a sleeper still: the next ends it before its own begins.
        let before = sleepers(&seconds);
        while sleepers(&seconds).iter().all(|pid| before.contains(pid)) {}
        assert_eq!(sleepers(&seconds).len(), 1, "two builds in one place");
        let kill = Command::new("kill")
            .args(["-s", signal, &runner.id().to_string()])
            .status();
        assert!(kill.expect("the test can do this").success());
        assert_eq!(runner.wait().expect("it is ours").code(), code);
    }
    assert_eq!(sleepers(&seconds), [""; 0]);
    let left = ["p.jsonl", "p.plan.toml"].map(|name| at.join(name).exists());
    assert_eq!(left, [true, false], "the killed one had locked its file");
    fs::write(at.join("go"), "").expect("the test can do this");
    let output = lab_with(at, cache.path(), &["run", "p.toml", "--resume"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}
