//! Launchers that bind each rank to one CPU: it is said before anything is measured, and found after.

use super::{Launcher, launchers, nobody_is_left, place, record, said};
use std::process::{Command, Stdio};

/// The launcher told to bind each rank to a core; `None` where that leaves a rank all CPUs that there are.
fn binding(launcher: Launcher) -> Option<Launcher> {
    let words = launcher.words.into_iter();
    let words = words.map(|word| if word == "none" { "core" } else { word });
    let launcher = Launcher {
        words: words.collect(),
        ..launcher
    };
    let mut line = Command::new("timeout");
    let line = line.args(["-k", "5", "60"]).arg(&launcher.program);
    let line = line.args(&launcher.words).args(["-n", "2", "nproc"]);
    let output = line.stdin(Stdio::null()).output().unwrap();
    let there = std::thread::available_parallelism().unwrap().get();
    let allowed = String::from_utf8_lossy(&output.stdout).into_owned();
    let allowed: Vec<usize> = allowed.lines().flat_map(str::parse).collect();
    if allowed == [1, 1] && there > 1 {
        return Some(launcher);
    }
    println!(
        "SKIPPED: needs two cores to which {} binds two ranks: {there} CPUs, {}",
        launcher.name,
        said(&output)
    );
    None
}

#[test]
fn a_rank_that_its_launcher_leaves_fewer_cpus_than_it_has_workers_is_told_before_and_after() {
    for launcher in launchers().into_iter().filter_map(binding) {
        let (dir, name) = (place(), launcher.name);
        let ended = |more: &str| {
            let words = format!(
                "run x --random --no-live --lead 1s --max-skew 60s --lost-after 30s --records r.jsonl {more}"
            );
            launcher.ended_of("2", dir.path(), &words)
        };
        let advice = "tell it not to bind: --bind-to none (Open MPI), -bind-to none (MPICH)";
        // It is told of a run that is refused, so that it is told before any begins.
        let refused = "--threads 2 --file-size 12k --block-size 4k --duration 0s";
        let (code, told) = ended(refused);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert_eq!(told.matches(advice).count(), 1, "{name}: {told}");
        assert!(
            told.contains("(rank 0) has 1 of ") && told.contains("(rank 1) has 1 of "),
            "{name}: {told}"
        );
        let (code, told) = ended("--threads 2 --file-size 4M --duration 1s");
        assert_eq!(code, Some(0), "{name}: {told}");
        assert_eq!(
            told.matches("note: the launcher left fewer CPUs").count(),
            1,
            "{name}: {told}"
        );
        assert!(told.contains(" CPUs for 2 workers"), "{name}: {told}");
        assert!(told.contains("bound_by_launcher"), "{name}: {told}");
        let hosts = record(dir.path(), name).hosts;
        let allowed = hosts.iter().map(|host| {
            let allowed = host.environment.process.allowed_cpus.as_ref();
            allowed.unwrap().ids().len()
        });
        assert_eq!(allowed.collect::<Vec<_>>(), [1, 1], "{name}");
        std::fs::remove_file(dir.path().join("r.jsonl")).unwrap();
        // One worker has the one CPU that it can use.
        let (code, told) = ended("--threads 1 --file-size 4M --duration 1s");
        assert_eq!(code, Some(0), "{name}: {told}");
        assert!(
            !told.contains("fewer CPUs") && !told.contains("bound_by_launcher"),
            "{name}: {told}"
        );
        nobody_is_left(dir.path(), name);
    }
}
