//! The manifests of docs/hosts, as far as they can be held without a cluster: this
//! program accepts the commands in them.

#![allow(clippy::print_stdout, reason = "what is skipped is told")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn kept(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts");
    root.join(name)
}

/// The items of the first list below `args:`.
fn arguments(manifest: &str) -> Vec<String> {
    let mut lines = manifest.lines().skip_while(|line| line.trim() != "args:");
    lines.next();
    let items = lines.map_while(|line| line.trim().strip_prefix("- "));
    items
        .map(|item| item.trim_matches('"').to_owned())
        .collect()
}

/// The command, from the word behind `fathom` on, with its paths below `place` and nothing touched.
fn dry(words: &[String], place: &Path, envs: &[(&str, &str)]) -> Output {
    let here = |word: &String| {
        let word = word.replace("/measured", place.to_str().expect("a path in words"));
        // The sizes are those of a cluster.
        word.replace("--file-size=8G", "--file-size=8M")
            .replace("START", "2099-01-01T00:00:00Z")
            .replace("$(JOB_COMPLETION_INDEX)", "2")
    };
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(words.iter().map(here))
        .args(["--clock", "unsynchronised", "--dry-run"])
        .envs(envs.iter().copied())
        .output()
        .expect("the program starts")
}

fn assert_accepted(what: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{what}: {:?} {said}{complained}",
        output.status
    );
}

#[test]
fn commands_of_the_manifests_are_accepted() {
    let place = tempfile::tempdir().unwrap();
    for (name, envs) in [
        ("indexed-job.yaml", &[("JOB_COMPLETION_INDEX", "2")][..]),
        ("mpijob.yaml", &[]),
    ] {
        let text = fs::read_to_string(kept(name)).unwrap();
        let words = arguments(&text);
        let verb = words.iter().position(|word| word == "run");
        let verb = verb.unwrap_or_else(|| panic!("{name} has no run in {words:?}"));
        let mut words = words[verb..].to_vec();
        if name == "mpijob.yaml" {
            // What begins at a moment is said by the launcher there.
            words.extend(
                ["--rank=1/4", "--start-at=START", "--target-is=shared"].map(str::to_owned),
            );
        }
        assert_accepted(name, &dry(&words, place.path(), envs));
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn mpirun_of_the_manifest_does_not_run_as_root_which_it_would_refuse() {
    let text = fs::read_to_string(kept("mpijob.yaml")).unwrap();
    let containers = text.matches("          image: ").count();
    assert_eq!(text.matches("runAsUser: 1000").count(), containers);
    assert!(text.contains("sshAuthMountPath: /home/mpiuser/.ssh"));
}

#[test]
fn no_page_gives_a_patience_that_is_refused() {
    let place = tempfile::tempdir().unwrap();
    for page in ["README.md", "failures.md", "../security.md"] {
        let text = fs::read_to_string(kept(page)).unwrap();
        let given = text.split("--lost-after ").skip(1);
        let times = given.filter_map(|rest| rest.split(['`', ' ', '\n']).next());
        for time in times.filter(|time| time.starts_with(|digit: char| digit.is_ascii_digit())) {
            let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
                .args(["run", "--engine", "null", "--hosts", "a", "--dry-run"])
                .args(["--lost-after", time])
                .current_dir(place.path())
                .output()
                .expect("the program starts");
            let complained = String::from_utf8_lossy(&output.stderr);
            assert!(
                !complained.contains("must be at least"),
                "{page}: {complained}"
            );
        }
    }
}

#[test]
fn the_manifests_are_yaml_of_the_kinds_that_they_name() {
    let check = "import sys, yaml\nfor path in sys.argv[1:]:\n    print(yaml.safe_load(open(path))['kind'])";
    let can = Command::new("python3").args(["-c", "import yaml"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: needs python3-yaml");
        return;
    }
    let output = Command::new("python3")
        .args(["-c", check])
        .args(["indexed-job.yaml", "mpijob.yaml"].map(kept))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "Job\nMPIJob\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
