//! As what the programs of an experiment are started.

use super::{FATHOM, said};
use std::fs;
use std::process::Command;

/// What a program inherits from whoever starts it, and could be measured with: how late its sleeps
/// end, its limits, CPUs and signals, those aside that the C library keeps for itself.
const INHERITED: &str = r"
cat /proc/self/timerslack_ns /proc/self/limits
grep -E '^(SigBlk|SigIgn|Cpus_allowed_list|NoNewPrivs|Cap)' /proc/self/status
cat /proc/self/oom_score_adj
umask
ls /proc/self/fd
";

/// The lines, with the two signals of the C library taken as not ignored.
fn lines(of: &str) -> Vec<String> {
    let ignored = |mask: &str| {
        u64::from_str_radix(mask.trim(), 16).expect("the kernel writes so") & !(0b11 << 31)
    };
    let line = |line: &str| match line.strip_prefix("SigIgn:") {
        Some(mask) => format!("SigIgn: {:x}", ignored(mask)),
        None => line.to_owned(),
    };
    of.lines().map(line).collect()
}

#[test]
fn programs_are_started_as_a_shell_starts_them() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("inherited.sh");
    fs::write(&script, INHERITED).unwrap();
    let plan = r#"
passes = [1, 1]
settle = "0s"
keep-free = "1MiB"
calibrate = 1
[workload]
command = "sh -c 'sh inherited.sh > {arm}.txt </dev/null'"
[[arm]]
name = "first"
[[arm]]
name = "second"
"#;
    fs::write(dir.path().join("lab.toml"), plan).unwrap();
    let mut lab = Command::new(FATHOM);
    lab.args(["lab", "run", "lab.toml"]).current_dir(dir.path());
    // One block has no verdict.
    said(&lab.output().unwrap(), 4);
    let own = Command::new("sh").arg(&script).output().unwrap();
    let own = lines(&String::from_utf8(own.stdout).unwrap());
    assert!(own.len() > 20, "{own:?}");
    for arm in ["first", "second"] {
        let told = fs::read_to_string(dir.path().join(format!("{arm}.txt"))).unwrap();
        assert_eq!(lines(&told), own, "{arm}");
    }
}
