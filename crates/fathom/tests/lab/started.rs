//! As what the programs of an experiment are started.

use super::{FATHOM, said};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// What a program inherits from whoever starts it, and could be measured with: how late its sleeps
/// end, its limits, CPUs and signals.
const INHERITED: &str = r"
cat /proc/self/timerslack_ns /proc/self/limits
grep -E '^(SigBlk|SigIgn|Cpus_allowed_list|NoNewPrivs|Cap)' /proc/self/status
cat /proc/self/oom_score_adj
umask
ls /proc/self/fd
";

/// Signals that Fathom hears also where they were ignored, as in the background of a script, and two
/// that the C library keeps for itself.
const HEARD: [u32; 8] = [2, 10, 12, 14, 15, 24, 32, 33];

/// The lines, without those signals.
fn lines(of: &str) -> Vec<String> {
    let ignored = |mask: &str| {
        let mask = u64::from_str_radix(mask.trim(), 16).expect("the kernel writes so");
        HEARD
            .into_iter()
            .fold(mask, |mask, signal| mask & !(1 << (signal - 1)))
    };
    let line = |line: &str| match line.strip_prefix("SigIgn:") {
        Some(mask) => format!("SigIgn: {:x}", ignored(mask)),
        None => line.to_owned(),
    };
    of.lines().map(line).collect()
}

/// From a shell with limits of its own that ignores a signal.
fn from_a_shell(dir: &Path, line: &str, more: &str) -> Output {
    let line = format!("ulimit -Sn 256 && ulimit -Ss 4096 && {more}{line}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(dir);
    shell.output().expect("there is a shell")
}

#[test]
fn programs_are_started_as_a_shell_starts_them_in_every_slot() {
    for trap in ["", "trap '' XFSZ && "] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        fs::write(path.join("inherited.sh"), INHERITED).unwrap();
        // What is measured needs many files of this process, and raises its limit.
        let plan = r#"
passes = [2, 2]
settle = "0s"
keep-free = "1MiB"
calibrate = 1
[server]
command = '''sh -c "sh DIR/inherited.sh > DIR/{arm}-{pass}.txt; echo ready; exec sleep 1000"'''
ready = { line = "^ready", within = "60s" }
[workload]
target = "DIR/data"
run = { file-size = "1MiB", duration = "50ms" }
[[arm]]
name = "first"
[[arm]]
name = "second"
"#;
        fs::write(
            path.join("lab.toml"),
            plan.replace("DIR", path.to_str().unwrap()),
        )
        .unwrap();
        let ran = from_a_shell(path, &format!("exec {FATHOM} lab run lab.toml"), trap);
        // Two blocks have no verdict.
        said(&ran, 4);
        let own = from_a_shell(path, "exec sh inherited.sh </dev/null", trap);
        let own = lines(&String::from_utf8(own.stdout).unwrap());
        assert!(own.len() > 20, "{own:?}");
        for slot in ["first-0", "second-0", "first-1", "second-1"] {
            let told = fs::read_to_string(path.join(format!("{slot}.txt")));
            let told = told.unwrap_or_else(|_| panic!("{slot}: {:?} {ran:?}", super::names(path)));
            assert_eq!(lines(&told), own, "{slot} {trap}");
        }
    }
}
