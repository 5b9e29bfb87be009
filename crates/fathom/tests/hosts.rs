//! Several hosts by one command, and what is said where a launcher started what is of one process.
//! The launchers here are scripts; real ones are in `mpi.rs`.

#![allow(
    clippy::unwrap_used,
    reason = "what fails here fails the test"
)]

use std::path::Path;
use std::process::{Command, Stdio};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// What launchers say of a process, without which this one was started by none.
const OF_LAUNCHERS: [&str; 9] = [
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_RANK",
    "PMI_SIZE",
    "PMI_RANK",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",
    "SLURM_JOB_ID",
];

fn fathom(dir: &Path, words: &str, env: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(FATHOM);
    command
        .args(words.split_whitespace())
        .current_dir(dir)
        .stdin(Stdio::null());
    for name in OF_LAUNCHERS {
        command.env_remove(name);
    }
    let output = command.envs(env.iter().copied()).output().unwrap();
    let said = [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat();
    (output.status.code(), said)
}

#[test]
fn what_one_process_does_is_refused_once_where_a_launcher_started_several() {
    let dir = tempfile::tempdir().unwrap();
    for verb in [
        "profile . --quick --records r.jsonl",
        "calibrate",
        "compare threads=1 threads=2 --run --target x --records r.jsonl",
        "lab run plan.toml",
    ] {
        let env = |rank| [("PMI_SIZE", "4"), ("PMI_RANK", rank)];
        let (code, said) = fathom(dir.path(), verb, &env("0"));
        assert_eq!(code, Some(2), "{verb}: {said}");
        let name = verb.split(' ').next().unwrap();
        assert!(
            said.contains("a launcher started 4 of this command (PMI_SIZE)")
                && said.contains(&format!("env -u PMI_SIZE fathom {name}")),
            "{verb}: {said}"
        );
        let (code, said) = fathom(dir.path(), verb, &env("3"));
        assert_eq!((code, said.as_str()), (Some(2), ""), "{verb}");
    }
    assert!(!dir.path().join("r.jsonl").exists());
    // One of one is alone, and reading is nobody's business.
    let alone = [("PMI_SIZE", "1"), ("PMI_RANK", "0")];
    let (code, said) = fathom(dir.path(), "lab run missing.toml", &alone);
    assert!(code == Some(2) && said.contains("missing.toml"), "{said}");
    let several = [("PMI_SIZE", "4"), ("PMI_RANK", "0")];
    let (code, said) = fathom(dir.path(), "explain start_skew", &several);
    assert_eq!(code, Some(0), "{said}");
}
