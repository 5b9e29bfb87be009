//! Several hosts by one command, and what is said where a launcher started what is of one process.
//! The launchers here are scripts; real ones are in `mpi.rs`.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// What launchers say of a process, without which this one was started by none.
const OF_LAUNCHERS: [&str; 10] = [
    "PMIX_RANK",
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

/// A command that ends whatever happens. A signal to it reaches the program once.
fn command(dir: &Path, words: &str, env: &[(&str, &str)]) -> Command {
    let mut out = Command::new("timeout");
    out.args(["--foreground", "-k", "30", "100", "env"])
        .args(env.iter().map(|(name, value)| format!("{name}={value}")))
        .arg(FATHOM)
        .args(words.split_whitespace())
        .current_dir(dir)
        .stdin(Stdio::null());
    for name in OF_LAUNCHERS {
        out.env_remove(name);
    }
    out
}

fn fathom(dir: &Path, words: &str, env: &[(&str, &str)]) -> (Option<i32>, String) {
    let output = command(dir, words, env).output().unwrap();
    let said = [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat();
    (output.status.code(), said)
}

#[test]
fn what_one_process_does_is_refused_once_where_a_launcher_started_several() {
    let dir = tempfile::tempdir().unwrap();
    for verb in ["calibrate", "lab run plan.toml"] {
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
        assert_eq!(
            (code, said.as_str()),
            (Some(0), ""),
            "{verb}: the first has it"
        );
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

#[test]
fn a_rank_of_nobody_knows_how_many_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = "run x --engine null --file-size 1M --duration 10ms --no-live";
    let env = [("PMIX_RANK", "1"), ("PMIX_NAMESPACE", "prterun-h-1@1")];
    let (code, told) = fathom(dir.path(), run, &env);
    assert!(
        code == Some(2) && told.contains("env -u PMIX_RANK"),
        "{told}"
    );
    assert!(told.contains("mpirun or mpiexec"), "{told}");
    // One of one, and one whose number of all was taken away.
    for more in [
        &[("PMI_SIZE", "1"), ("PMI_RANK", "0")][..],
        &[("OMPI_COMM_WORLD_RANK", "1")],
    ] {
        let (code, told) = fathom(dir.path(), run, &[&env[..], more].concat());
        assert_eq!(code, Some(0), "{told}");
    }
}

#[test]
fn a_command_that_no_host_could_do_is_refused_before_anything_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let started = dir.path().join("started");
    let program = launcher(
        dir.path(),
        "mpirun (Open MPI) 4.1.4",
        &format!("touch {}", started.display()),
    );
    for (words, wanted) in [
        ("run", "no target"),
        ("run x --threshold get.p99<1ms", "threshold"),
        (
            "run x --read-percent 50 --write-percent 60",
            "write-percent",
        ),
        ("run x --lost-after 1s", "at least 4 s"),
        ("run x --lead 1us", "at least 1ms"),
        ("run x --nonsense", "--nonsense"),
        (
            "run x --mpi none",
            "with --mpi none they would know nothing",
        ),
    ] {
        for dry in ["--dry-run", ""] {
            let words = format!("{words} {dry} --hosts a,b --launcher {}", program.display());
            let (code, said) = fathom(dir.path(), &words, &[]);
            assert_eq!(code, Some(2), "{words}: {said}");
            assert!(said.contains(wanted), "{words}: {said}");
            assert_eq!(said.matches("error: ").count(), 1, "{words}: {said}");
        }
    }
    assert!(!started.exists());
    // What needs no target has none.
    let words = format!(
        "run --engine null --dry-run --hosts a,b --launcher {}",
        program.display()
    );
    assert_eq!(fathom(dir.path(), &words, &[]).0, Some(0));
}

/// A launcher that says it is of this make, and does the rest.
fn launcher(dir: &Path, version: &str, rest: &str) -> PathBuf {
    launcher_at(dir.join("mpirun"), version, rest)
}

fn launcher_at(path: PathBuf, version: &str, rest: &str) -> PathBuf {
    let text =
        format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{version}'; exit; fi\n{rest}\n");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Becomes what it is to start, on this machine and once.
const STARTS_ONE: &str =
    "while [ $# -gt 0 ]; do case \"$1\" in */fathom) exec \"$@\";; esac; shift; done";
const RUN: &str = "run x --file-size 1M --duration 100ms --no-live";
/// The second can be no name, so that nobody is asked for it in a network.
const UNKNOWN: &str = "localhost,nowhere..invalid";

#[test]
fn the_line_of_each_launcher_is_shown_and_nothing_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let path = |program: &Path| {
        let bin = program.parent().unwrap().display().to_string();
        format!("{bin}:/usr/bin:/bin")
    };
    for (version, wanted) in [
        (
            "mpirun (Open MPI) 4.1.4",
            "--host a:1,b:2 -n 3 --map-by slot --bind-to none",
        ),
        ("HYDRA build details:", "-hosts a:1,b:2 -n 3 -bind-to none"),
    ] {
        let program = launcher(dir.path(), version, "echo started; exit 1");
        let path = path(&program);
        let words = format!("{RUN} --hosts a,b:2 --dry-run --random");
        let (code, said) = fathom(dir.path(), &words, &[("PATH", &path)]);
        assert_eq!(code, Some(0), "{said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains(wanted)
                && said.contains(&format!("{FATHOM} run --under-front=3 x"))
                && said.contains("--random")
                && !said.contains("--hosts")
                && !said.contains("--dry-run"),
            "{version}: {said}"
        );
        assert!(!said.contains("started"), "{said}");
    }
    fs::write(dir.path().join("hosts"), "a # first\r\nb slots=2\r\n").unwrap();
    let program = launcher(dir.path(), "slurm 23.11", "");
    for (words, wanted) in [
        (
            "--hosts a:2,b:2",
            "-N 2 -n 4 --ntasks-per-node 2 -w a,b --cpu-bind=none",
        ),
        ("--host-list a", "-N 1 -n 1"),
        ("--hosts a --mode standalone", "-N 1 -n 1"),
    ] {
        let words = format!("{RUN} {words} --launcher {} --dry-run", program.display());
        let (code, said) = fathom(dir.path(), &words, &[]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(0) && said.contains(wanted), "{words}: {said}");
    }
    let program = launcher(dir.path(), "HYDRA build details:", "");
    fs::write(
        dir.path().join("job.fio"),
        "[j]\nfilename=x\nsize=1m\nrw=read\n",
    )
    .unwrap();
    for words in [
        format!("{RUN} --hostfile hosts"),
        format!("{RUN} --clients-file hosts"),
        "run --fio job.fio --hosts a,b:2".to_owned(),
    ] {
        let words = format!("{words} --launcher {} --dry-run", program.display());
        let (code, said) = fathom(dir.path(), &words, &[]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            code == Some(0)
                && said.contains("-hosts a:1,b:2 -n 3")
                && !said.contains("-file hosts"),
            "{words}: {said}"
        );
    }
    assert!(!dir.path().join("x").exists());
}

#[test]
fn nobody_names_a_launcher_and_it_is_srun_inside_of_an_allocation_of_slurm() {
    let dir = tempfile::tempdir().unwrap();
    let [srun, mpirun, mpiexec] = ["srun", "mpirun", "mpiexec"].map(|name| dir.path().join(name));
    launcher_at(srun.clone(), "slurm 23.11", "");
    launcher_at(mpirun.clone(), "mpirun (Open MPI) 4.1.4", "");
    launcher_at(mpiexec.clone(), "HYDRA build details:", "");
    let path = dir.path().display().to_string();
    let chosen = |words: &str, job: Option<(&str, &str)>| {
        let env: Vec<_> = job.into_iter().chain([("PATH", path.as_str())]).collect();
        let (code, said) = fathom(
            dir.path(),
            &format!("{RUN} --hosts a --dry-run {words}"),
            &env,
        );
        assert_eq!(code, Some(0), "{said}");
        PathBuf::from(said.split_whitespace().next().unwrap())
    };
    let job = Some(("SLURM_JOB_ID", "7"));
    for words in ["", "--launcher auto"] {
        assert_eq!(chosen(words, job), srun, "{words}");
        assert_eq!(chosen(words, None), mpirun, "{words}");
    }
    assert_eq!(chosen("--launcher mpirun", job), mpirun);
    // An allocation without srun has the others, and mpiexec is the last of them.
    fs::remove_file(srun).unwrap();
    fs::remove_file(mpirun).unwrap();
    assert_eq!(chosen("", job), mpiexec);
}

#[test]
fn what_lets_somebody_in_stands_in_no_line_of_a_launcher() {
    let dir = tempfile::tempdir().unwrap();
    let program = launcher(dir.path(), "mpirun (Open MPI) 4.1.4", "touch started");
    let shown = |words: &str| {
        let verb = if words.contains("--guest") {
            "post"
        } else {
            "get"
        };
        let words = format!(
            "load {verb} --hosts a,b --dry-run --launcher {} {words}",
            program.display()
        );
        fathom(
            dir.path(),
            &words,
            &[
                ("KEY", "Authorization: Bearer topsecret"),
                ("EMPTY", ""),
                ("PS_SHARED_SECRET", "topsecret"),
            ],
        )
    };
    for words in [
        "--target http://h:1/x --header Authorization:topsecret",
        "--target http://h:1/x --header X-Custom:topsecret",
        "--target http://h:1/x --header X-PSK:topsecret",
        "--target http://h:1/x --header Referer:http://h/?token=topsecret",
        "--target http://h:1/x --header User-Agent:password=topsecret",
        "--target http://h:1/x?token=topsecret",
        "--target http://h:1/x?AWSAccessKeyId=topsecret&Expires=1",
        "--target share+http://h:1 --guest topsecret",
    ] {
        let (code, said) = shown(words);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains(" @VARIABLE") && !said.contains("topsecret"),
            "{said}"
        );
    }
    let (code, said) = shown("--target http://h:1/x?page=2 --header @KEY --header Accept:blue");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("-x KEY") && said.contains("Accept:blue"),
        "{said}"
    );
    assert!(!said.contains("topsecret"), "{said}");
    for (variable, wanted) in [
        (
            "@NONE",
            "the variable NONE of the environment, which is to hold it, is not set",
        ),
        (
            "@EMPTY",
            "the variable EMPTY of the environment, which is to hold it, is empty",
        ),
        ("@", "example: --header @VARIABLE"),
    ] {
        let (code, said) = shown(&format!("--target http://h:1/x --header {variable}"));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(2) && said.contains(wanted), "{said}");
    }
    assert!(!dir.path().join("started").exists());
}

#[test]
fn what_is_no_group_of_hosts_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("empty", "# none\r\n\r\n"), ("bad", "a\nb c\n")] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let program = launcher(dir.path(), "ssh 9.2", "touch started");
    let other = format!("--hosts a --launcher {}", program.display());
    let other = other.as_str();
    for (words, wanted) in [
        ("--hosts a,b,a", "host a stands there twice"),
        ("--hosts a:0", "from 1 to 65536"),
        ("--hosts=-oProxyCommand=x", "begins with a hyphen"),
        ("--hostfile empty", "names no host"),
        ("--hostfile bad", "line 2"),
        ("--hostfile missing", "cannot be read"),
        ("--hosts a --hostfile empty", "give one of them"),
        (
            "--hosts a --launcher /nonexistent/mpirun",
            "there is no /nonexistent/mpirun",
        ),
        ("--launcher mpirun", "none are given"),
        (
            "--hosts a --rank 0/2 --clock unsynchronised --start-at 2030-01-01T00:00:00Z --records r",
            "give one of them",
        ),
        ("--clients-file bad", "line 2"),
        ("--hosts a --clients-file empty", "give one of them"),
        ("--mode service", "--mode service: no host needs a service"),
        (
            "--hosts a --mode coordinator",
            "--mode coordinator: no host needs a service",
        ),
        (
            "--hosts a --listen-port 9000",
            "--listen-port: no host needs a service",
        ),
        (
            "--hosts a --mode standalone --worker-port 9000",
            "--worker-port: no host needs a service",
        ),
        (other, "Fathom knows the words of"),
    ] {
        let (code, said) = fathom(dir.path(), &format!("{RUN} {words}"), &[]);
        assert_eq!(code, Some(2), "{words}: {said}");
        assert!(said.contains(wanted), "{words}: {said}");
    }
    let (code, said) = fathom(
        dir.path(),
        &format!("{RUN} --hosts a"),
        &[("PATH", "/nonexistent")],
    );
    assert!(
        code == Some(2) && said.contains("neither mpirun nor mpiexec is in PATH"),
        "{said}"
    );
    let several = [("PMI_SIZE", "2"), ("PMI_RANK", "0")];
    let (code, said) = fathom(dir.path(), &format!("{RUN} --hosts a"), &several);
    assert!(
        code == Some(2) && said.contains("leave out one of the two"),
        "{said}"
    );
    assert!(!dir.path().join("started").exists() && !dir.path().join("x").exists());
}

/// What a shell says that is given this line, in which FATHOM is the command and BY its launcher.
fn by_shell(dir: &Path, line: &str) -> (Option<i32>, String) {
    let program = launcher(dir, "HYDRA build details:", "touch started");
    let line = line.replace("BY", &format!("--launcher {}", program.display()));
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60", "sh", "-c", &line.replace("FATHOM", FATHOM)]);
    let output = command.current_dir(dir).stdin(Stdio::null());
    let output = output.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output.status.code(), said)
}

#[test]
fn hosts_may_come_from_a_pipe_and_what_ranks_read_may_not() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["/dev/stdin", "/dev/fd/0"] {
        let line = format!("printf 'a\\nb:2\\n' | FATHOM {RUN} --hostfile {file} --dry-run BY");
        let (code, said) = by_shell(dir.path(), &line);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("a:1,b:2"), "{said}");
        assert!(!said.contains("--hostfile"), "{said}");
    }
    for (line, why) in [
        (
            // Nobody writes to it: it is refused before it is read.
            "mkfifo p; FATHOM run x -c p",
            "p is a pipe",
        ),
        (
            "ln -s /dev/stdin l; echo 'duration = \"1s\"' | FATHOM run x -c l",
            "l is what a process of this machine has open",
        ),
        (
            "echo 'duration = \"1s\"' | FATHOM run x -c //dev/stdin",
            "//dev/stdin is what a process of this machine has open",
        ),
    ] {
        let (code, said) = by_shell(dir.path(), &format!("{line} --hosts a,b BY"));
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains(why), "{line}: {said}");
    }
    assert!(!dir.path().join("started").exists());
}

#[test]
fn what_is_said_of_connected_ranks_is_refused_where_there_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let by_clock = "--rank 0/2 --clock unsynchronised --start-at 2030-01-01T00:00:00Z --records r";
    let run = |more: &str| format!("{RUN} {more}");
    let load = |more: &str| format!("load get --target http://127.0.0.1:1/x {more}");
    for (words, wanted) in [
        (run("--max-skew 1s"), "or with --rank: drop it"),
        (run("--mpi auto"), "or with --rank: drop it"),
        (run("--target-is local"), "or with --rank: drop it"),
        (load("--max-skew 1s"), "under mpirun or srun: drop it"),
        (
            "profile . --lost-after 9s".to_owned(),
            "under mpirun or srun: drop it",
        ),
        (
            run(&format!("{by_clock} --mpi libmpi.so.40")),
            "--mpi names the library",
        ),
        (
            run(&format!("{by_clock} --lead 1s")),
            "--lead is of ranks that are connected",
        ),
    ] {
        let (code, said) = fathom(dir.path(), &words, &[]);
        assert_eq!(code, Some(2), "{words}: {said}");
        assert!(said.contains(wanted), "{words}: {said}");
    }
    let several = [("PMI_SIZE", "2"), ("PMI_RANK", "0")];
    for (words, is_by_clock) in [(run("--mpi none"), true), (load("--mpi none"), false)] {
        let (code, said) = fathom(dir.path(), &words, &several);
        assert_eq!(code, Some(2), "{words}: {said}");
        assert_eq!(
            said.contains("--rank NUMBER/2"),
            is_by_clock,
            "{words}: {said}"
        );
    }
    assert!(!dir.path().join("x").exists() && !dir.path().join("r").exists());
}

#[test]
fn the_end_of_ranks_is_told_from_that_of_their_launcher() {
    let dir = tempfile::tempdir().unwrap();
    let program = launcher(dir.path(), "HYDRA build details:", STARTS_ONE);
    let by = format!("--launcher {}", program.display());
    let hosts = format!("--hosts localhost {by}");
    let (code, said) = fathom(dir.path(), &format!("{RUN} --records r.jsonl {hosts}"), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        record::read_records(&dir.path().join("r.jsonl"))
            .unwrap()
            .records
            .len(),
        1
    );
    let (code, said) = fathom(
        dir.path(),
        &format!("{RUN} --threshold iops>1000g {hosts}"),
        &[],
    );
    assert_eq!(code, Some(3), "{said}");
    let missing = RUN.replace(" x ", " missing/x ");
    let (code, said) = fathom(dir.path(), &format!("{missing} {hosts}"), &[]);
    assert_eq!(code, Some(2), "{said}");
    // Ranks of a job file of fio are begun as others are.
    let job = "[j]\nfilename=x\nsize=1m\nrw=randread\nbs=4k\nruntime=100ms\ntime_based\n";
    fs::write(dir.path().join("job.fio"), job).unwrap();
    let by_job = format!("run --fio job.fio --no-live --records fio.jsonl {hosts}");
    let (code, said) = fathom(dir.path(), &by_job, &[]);
    assert_eq!(code, Some(0), "{said}");
    let kept = record::read_records(&dir.path().join("fio.jsonl")).unwrap();
    assert!(kept.records[0].operations.count() > 0, "{said}");
    for end in ["exit 0", "exit 1", "exit 2", "exit 255", "kill -9 $$"] {
        let program = launcher(dir.path(), "HYDRA build details:", end);
        let hosts = format!("--hosts {UNKNOWN} --launcher {}", program.display());
        let (code, said) = fathom(dir.path(), &format!("{RUN} {hosts}"), &[]);
        assert_eq!(code, Some(5), "{end}: {said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("no rank said how")
                && said.contains("This machine knows no address of nowhere..invalid. Each of")
                && said.contains("must let `ssh HOST"),
            "{end}: {said}"
        );
    }
}

/// What is said of the end counts if it is of the ranks of this very run: a launcher that starts
/// nothing may show the line that it was given, and what another run had said.
#[test]
fn words_that_no_rank_of_this_run_said_are_no_end_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let proof = "0.0123456789abcdef";
    for says in [
        "fathom-ranks-ended=0".to_owned(),
        format!("fathom-ranks-ended={proof}"),
        "fathom-ranks-ended=0.$mark".to_owned(),
        "fathom-ranks-ended=0 $*".to_owned(),
    ] {
        let mark = "mark=${*#*--under-front=*:}; mark=${mark%% *}";
        let rest = format!("{mark}\necho \"{says}\" >&2");
        let program = launcher(dir.path(), "HYDRA build details:", &rest);
        let hosts = format!("--hosts localhost --launcher {}", program.display());
        let (code, said) = fathom(dir.path(), &format!("{RUN} --records r.jsonl {hosts}"), &[]);
        assert_eq!(code, Some(5), "{says}: {said}");
        assert!(said.contains("no rank said how"), "{says}: {said}");
        assert!(said.contains("fathom-ranks-ended"), "people see it: {said}");
        assert!(!dir.path().join("r.jsonl").exists(), "{says}");
    }
}

/// A launcher waits for ever for a way into a host that hangs, or that ends and starts nothing.
#[test]
fn ranks_that_do_not_begin_are_told_of_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let begins = STARTS_ONE.replace("exec \"$@\"", "\"$@\"; exec sleep 300");
    for (rest, begun) in [
        (
            "exec sleep 300",
            "0 of 2 ranks have begun (this machine knows no address of nowhere..invalid);",
        ),
        (begins.as_str(), "1 of 2 ranks have begun (on "),
    ] {
        let program = launcher(dir.path(), "HYDRA build details:", rest);
        let hosts = format!(
            "--hosts {UNKNOWN} --lost-after 4s --launcher {}",
            program.display()
        );
        let (code, said) = fathom(dir.path(), &format!("{RUN} --records r.jsonl {hosts}"), &[]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!said.contains("fathom-rank"), "{said}");
        if begun.starts_with('0') {
            assert_eq!(code, Some(5), "{said}");
            assert!(
                said.contains(&format!("{begun} the others are waited for; Ctrl-C")),
                "{said}"
            );
            assert!(
                said.contains("localhost, nowhere..invalid must let `ssh HOST"),
                "{said}"
            );
        } else {
            // The one that begins finds that it is alone, and that is the end of all.
            assert_eq!(code, Some(2), "{said}");
        }
        assert!(!dir.path().join("r.jsonl").exists());
    }
}

#[test]
fn fewer_ranks_than_hosts_were_named_for_are_no_success() {
    let dir = tempfile::tempdir().unwrap();
    // One in the place of three, and three of which none hears of the others.
    let three = STARTS_ONE.replace(
        "exec \"$@\"",
        "\"$@\" & \"$@\" & \"$@\"; code=$?; wait; exit $code",
    );
    for rest in [STARTS_ONE, three.as_str()] {
        let program = launcher(dir.path(), "HYDRA build details:", rest);
        let hosts = format!("--hosts localhost:3 --launcher {}", program.display());
        let words = format!("{RUN} --records r.jsonl {hosts}");
        let (code, said) = fathom(dir.path(), &words, &[]);
        assert_eq!(code, Some(2), "{said}");
        // The same error of several is handed on once.
        assert_eq!(
            said.matches("asks for 3 ranks, and the launcher started this one as one of 1")
                .count(),
            1,
            "{said}"
        );
        assert!(!dir.path().join("r.jsonl").exists());
    }
}

/// How a command ended whose launcher, which does this, had a signal as soon as it was ready for it.
fn signalled(dir: &Path, rest: &str, words: &str, signal: i32) -> Option<i32> {
    let program = launcher(dir, "HYDRA build details:", rest);
    let words = format!(
        "{RUN} {words} --hosts localhost --launcher {}",
        program.display()
    );
    let mut child = command(dir, &words, &[]).spawn().unwrap();
    for _ in 0..3000 {
        if dir.join("ready").exists() {
            break;
        }
        // Nothing tells of a file that somebody else makes.
        let clock = sys::MachineClock::monotonic();
        sys::Clock::sleep_until(&clock, sys::monotonic_ns() + 20_000_000);
    }
    assert!(dir.join("ready").exists());
    assert!(sys::signal_process(child.id(), signal).unwrap());
    child.wait().unwrap().code()
}

#[test]
fn a_signal_goes_to_the_launcher_and_its_end_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let rest = "trap 'echo ended > got; exit 0' TERM\ntouch ready\nwhile :; do sleep 0.05; done";
    let code = signalled(dir.path(), rest, "", 15);
    assert!(dir.path().join("got").exists(), "{code:?}");
    // The launcher itself is content, and no rank is known to be.
    assert_eq!(code, Some(143));
}

#[test]
fn a_signal_after_the_ranks_have_ended_changes_neither_their_record_nor_the_code() {
    for (words, wanted) in [("", 0), ("--threshold iops>1000g", 3)] {
        let dir = tempfile::tempdir().unwrap();
        let rest = STARTS_ONE.replace(
            "exec \"$@\"",
            "\"$@\"; trap 'exit 130' INT; trap 'exit 143' TERM; touch ready; while :; do sleep 0.05; done",
        );
        let words = format!("--records r.jsonl {words}");
        let code = signalled(dir.path(), &rest, &words, 2);
        let kept = record::read_records(&dir.path().join("r.jsonl")).unwrap();
        let outcome = &kept.records[0].outcome;
        assert_eq!(outcome.status, record::Status::Ok, "{outcome:?}");
        assert_eq!((code, outcome.exit_code), (Some(wanted), wanted));
    }
}

#[test]
fn a_launcher_that_hangs_after_its_ranks_have_ended_is_ended_and_the_code_is_theirs() {
    let dir = tempfile::tempdir().unwrap();
    // It does what it is asked to, and then neither ends nor hears a signal that can be ignored.
    let rest = STARTS_ONE.replace(
        "exec \"$@\"",
        "\"$@\"; trap '' TERM; touch ready; while :; do sleep 0.05; done",
    );
    let program = launcher(dir.path(), "HYDRA build details:", &rest);
    let words = format!(
        "{RUN} --threshold iops>1000g --hosts localhost --launcher {}",
        program.display()
    );
    let (code, said) = fathom(dir.path(), &words, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("was killed") && said.contains("processes on localhost"),
        "{said}"
    );
    assert!(!said.contains("fathom-ranks-ended"), "{said}");
    assert!(dir.path().join("ready").exists());
}
