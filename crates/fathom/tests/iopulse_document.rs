//! Every command of IOPulse's performance tuning guide, run through the program that bears its
//! name.
//!
//! The commands are as the guide writes them. [`scaled`] changes size and length alone:
//! * `--file-size` becomes 32 MiB, or eight blocks where that is more;
//! * `--duration` becomes 300 ms, unless it is `0s`, which means until complete;
//! * files lie in a temporary directory;
//! * `--affinity best-effort` is added, because the guide assumes a machine of 96 CPUs and two NUMA
//!   nodes.
//!
//! What the guide expects and a machine can check is held against what was recorded. Speeds are
//! not.

mod support;

use record::{Record, WorkerAccount};
use support::content::{distinct_blocks, filled_blocks, flip, is_all, make_hole};
use support::laws::{assert_drawn_from, assert_sound, gaussian, hottest_fifth, pareto, zipf};
use support::skip::{has_direct, has_io_uring, has_numa, skipped};
use support::{Place, Ran, effective, kind, transfers};
use units::{Bytes, IdList, Nanos};
use workload::settings;

// "1. Engine Selection"
const MMAP: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --engine mmap --threads 4";
const IO_URING_DIRECT: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --engine io_uring --queue-depth 32 --threads 4 --direct";
const SYNC: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --engine sync --threads 4";

// "2. NUMA Affinity"
const BLOCKS_1M: &str = "iopulse test.dat --file-size 5G --duration 10s --write-percent 100 --random \
  --threads 32 --block-size 1M --engine mmap";
const BLOCKS_1M_NODE_0: &str = "iopulse test.dat --file-size 5G --duration 10s --write-percent 100 --random \
  --threads 32 --block-size 1M --engine mmap --numa-zones 0";
const BLOCKS_10M: &str = "iopulse test.dat --file-size 5G --duration 10s --write-percent 100 --random \
  --threads 32 --block-size 10M --engine mmap";
const BLOCKS_10M_BOTH_NODES: &str = "iopulse test.dat --file-size 5G --duration 10s --write-percent 100 --random \
  --threads 32 --block-size 10M --engine mmap --numa-zones 0,1";
const OVERPROVISIONED: &str = "iopulse test.dat --file-size 5G --duration 10s --write-percent 100 --random \
  --threads 128 --block-size 1M --engine mmap";
const OVERPROVISIONED_BOTH_NODES: &str = "iopulse test.dat --file-size 5G --duration 10s --write-percent 100 --random \
  --threads 128 --block-size 1M --engine mmap --numa-zones 0,1";

// "3. CPU Affinity"
const CPU_CORES: &str = "iopulse test.dat --file-size 5G --duration 10s --write-percent 100 --random \
  --threads 32 --block-size 1M --engine mmap --cpu-cores 0-31";

// "4. Think Time"
const THINKING_OLTP: &str = "iopulse test.dat --file-size 10G --duration 60s --read-percent 70 --write-percent 30 \
  --random --distribution zipf --zipf-theta 1.0 \
  --block-size 8k --threads 16 --queue-depth 32 \
  --think-time 50us --think-mode sleep";
const ADAPTIVE: &str = "iopulse test.dat --file-size 10G --duration 60s --write-percent 100 --random \
  --threads 8 --think-adaptive-percent 50";

// "5. Data Verification"
const WRITE_VERIFIED: &str = "iopulse test.dat --file-size 1G --duration 0s --write-percent 100 --random \
  --verify --verify-pattern zeros";
const READ_AND_VERIFY: &str = "iopulse test.dat --file-size 1G --duration 0s --read-percent 100 --random \
  --verify --verify-pattern zeros";

// "6. File Distribution Modes"
const PER_WORKER: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --threads 4 --file-distribution per-worker";
const SHARED: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --threads 4 --file-distribution shared";
const PARTITIONED: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --threads 4 --file-distribution partitioned";

// "7. O_DIRECT vs Buffered I/O"
const DIRECT: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --engine io_uring --queue-depth 32 --threads 4 --direct";
const BUFFERED: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --engine io_uring --queue-depth 32 --threads 4";

// "Example 1: OLTP Database"
const OLTP: &str = "iopulse /data/db_test.dat \
  --file-size 100G \
  --duration 300s \
  --read-percent 70 --write-percent 30 \
  --random \
  --distribution zipf --zipf-theta 1.0 \
  --block-size 8k \
  --threads 32 \
  --queue-depth 32 \
  --engine io_uring \
  --think-time 50us --think-mode sleep \
  --numa-zones 0,1 \
  --direct";

// "Example 2: High-Throughput Streaming"
const STREAMING: &str = "iopulse /data/stream_test.dat \
  --file-size 100G \
  --duration 60s \
  --write-percent 100 \
  --random \
  --block-size 1M \
  --threads 128 \
  --engine mmap \
  --numa-zones 0,1";

// "Example 3: Cache/CDN Simulation"
const CACHE: &str = "iopulse /data/cache_test.dat \
  --file-size 50G \
  --duration 300s \
  --read-percent 95 --write-percent 5 \
  --random \
  --distribution zipf --zipf-theta 1.2 \
  --block-size 64k \
  --threads 64 \
  --queue-depth 128 \
  --engine io_uring \
  --numa-zones 0,1";

// "Example 4: Data Integrity Testing"
const INTEGRITY_WRITE: &str = "iopulse /data/integrity_test.dat \
  --file-size 10G \
  --duration 0s \
  --write-percent 100 \
  --random \
  --verify --verify-pattern random";
const INTEGRITY_READ: &str = "iopulse /data/integrity_test.dat \
  --file-size 10G \
  --duration 0s \
  --read-percent 100 \
  --random \
  --verify --verify-pattern random";

// "Optimization 1: Per-Worker Files for Aggregate Bandwidth"
const AGGREGATE: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --threads 4 --file-distribution per-worker";

// "Optimization 2: Partitioned Distribution for MPI-IO Simulation"
const MPI_IO: &str = "iopulse test.dat --file-size 1G --duration 10s --write-percent 100 --random \
  --threads 4 --file-distribution partitioned";

// "Optimization 3: Write Patterns for Deduplication Testing"
const WRITE_RANDOM: &str = "iopulse test.dat --file-size 10G --duration 60s --write-percent 100 --random \
  --write-pattern random";
const WRITE_ZEROS: &str = "iopulse test.dat --file-size 10G --duration 60s --write-percent 100 --random \
  --write-pattern zeros";

const DURATION: Nanos = Nanos(300_000_000);

/// The value of a flag in a command.
fn value<'a>(command: &'a str, flag: &str) -> Option<&'a str> {
    command
        .split_whitespace()
        .skip_while(|word| *word != flag)
        .nth(1)
}

fn block_bytes(command: &str) -> u64 {
    value(command, "--block-size").map_or(4096, |text| {
        Bytes::parse(text).expect("the guide's sizes are sizes").0
    })
}

fn file_bytes(command: &str) -> u64 {
    (32 << 20).max(8 * block_bytes(command))
}

fn threads(command: &str) -> usize {
    value(command, "--threads").map_or(1, |text| {
        text.parse().expect("the guide's threads are a number")
    })
}

/// The arguments of a command of the guide at the size of a test.
fn scaled(command: &str) -> String {
    let mut words: Vec<String> = command
        .split_whitespace()
        .skip(1)
        .map(|word| word.trim_start_matches("/data/").to_owned())
        .collect();
    for at in 1..words.len() {
        match words[at - 1].as_str() {
            "--file-size" => words[at] = file_bytes(command).to_string(),
            "--duration" if words[at] != "0s" => words[at] = DURATION.exact(),
            _ => {}
        }
    }
    words.join(" ")
}

/// Runs a command of the guide, with `more` appended, and holds its record against what is true of
/// all of them.
fn run(place: &Place, command: &str, more: &str) -> Ran {
    let arguments = format!("{} --affinity best-effort {more}", scaled(command));
    let ran = place.iopulse(&arguments).succeeded();
    let record = ran.record();
    let reads: f64 = value(command, "--read-percent").map_or(0.0, |text| {
        text.parse().expect("the guide's shares are numbers")
    });
    assert_sound(command, record, block_bytes(command), reads / 100.0);
    assert_eq!(record.workers.len(), threads(command), "{command}");
    let depth = value(command, "--queue-depth").map_or(1.0, |text| {
        text.parse().expect("the guide's depths are numbers")
    });
    let in_flight = record.loops.in_flight_ns as f64 / record.loops.worker_ns as f64;
    assert!(
        in_flight <= depth * 1.001,
        "{command}: {in_flight} in flight"
    );
    if value(command, "--duration") == Some("0s") {
        assert_eq!(
            record.operations.count(),
            file_bytes(command) / block_bytes(command),
            "{command}: every block once"
        );
    } else {
        // From the first worker at work on: a busy machine may start even that one late.
        assert!(
            record.elapsed_ns >= DURATION.0 / 2,
            "{command}: measured {}",
            record.elapsed_ns
        );
    }
    assert_as_asked(&arguments, record);
    ran
}

/// Every option that was given is recorded as asked, and is in effect unless the record says why
/// not.
fn assert_as_asked(arguments: &str, record: &Record) {
    for word in arguments.split_whitespace() {
        let Some(setting) = word.strip_prefix("--").and_then(settings::find) else {
            continue;
        };
        let given = setting
            .value
            .map_or(Some("true"), |_| value(arguments, word))
            .expect("the command was accepted");
        let mut workload = workload::Workload::default();
        setting
            .apply(&mut workload, given)
            .expect("the command was accepted");
        let asked = setting.show(&workload);
        assert_eq!(
            record.asked.get(setting.key),
            asked.as_ref(),
            "{word} of `{arguments}`"
        );
        let explained = record
            .differences
            .iter()
            .any(|difference| difference.key == setting.key);
        let until_complete =
            setting.key == "duration" && effective(record, "run-until-complete") == Some("true");
        if !explained && !until_complete {
            assert_eq!(
                record.effective.get(setting.key),
                asked.as_ref(),
                "{word} of `{arguments}`"
            );
        }
    }
}

#[test]
fn scaling_changes_size_and_length_alone() {
    assert_eq!(
        scaled(OLTP),
        "db_test.dat --file-size 33554432 --duration 300ms --read-percent 70 --write-percent 30 --random --distribution zipf \
         --zipf-theta 1.0 --block-size 8k --threads 32 --queue-depth 32 --engine io_uring --think-time 50us --think-mode sleep \
         --numa-zones 0,1 --direct"
    );
    assert_eq!(value(&scaled(BLOCKS_10M), "--file-size"), Some("83886080"));
    assert_eq!(value(&scaled(WRITE_VERIFIED), "--duration"), Some("0s"));
}

#[test]
fn each_engine_of_the_selection_runs() {
    let place = Place::new();
    for (command, engine) in [
        (MMAP, "mmap"),
        (IO_URING_DIRECT, "io_uring"),
        (SYNC, "sync"),
    ] {
        if engine == "io_uring" && !(has_io_uring() && has_direct(&place)) {
            continue;
        }
        let record = run(&place, command, "").into_record();
        assert_eq!(effective(&record, "engine"), Some(engine));
        assert!(
            record.notices.is_empty() && record.differences.is_empty(),
            "{:?} {:?}",
            record.notices,
            record.differences
        );
    }
    // The fourth of the guide's ranking, for which it shows no command.
    let libaio = SYNC.replace("sync", "libaio --queue-depth 8");
    assert_eq!(
        effective(run(&place, &libaio, "").record(), "engine"),
        Some("libaio")
    );
}

#[test]
fn mmap_fills_an_empty_file_by_itself() {
    let place = Place::new();
    place.write("test.dat", b"");
    let record = run(&place, MMAP, "").into_record();
    assert_eq!(record.fill.map(|fill| fill.bytes), Some(file_bytes(MMAP)));
}

/// NUMA nodes of this machine.
fn nodes() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    IdList::parse(text.trim())
        .map(|list| list.0)
        .unwrap_or_default()
}

/// CPUs that this process may use.
fn cpus() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("the kernel tells the allowed CPUs");
    IdList::parse(list.trim())
        .expect("the kernel's list is a list")
        .0
}

/// Workers lie on ids that exist; ids that do not exist are recorded as asked but not effective,
/// and refused without best effort.
fn assert_placed(
    place: &Place,
    command: &str,
    flag: &str,
    has: &[u32],
    of: impl Fn(&WorkerAccount) -> Vec<u32>,
) {
    let key = flag.trim_start_matches("--");
    let asked = IdList::parse(value(command, flag).expect("the command has this flag"))
        .expect("the guide's lists are lists");
    let record = run(place, command, "").into_record();
    let mut used: Vec<u32> = record.workers.iter().flat_map(&of).collect();
    used.sort_unstable();
    used.dedup();
    assert!(
        !used.is_empty() && used.iter().all(|id| has.contains(id)),
        "{command}: {used:?} of {has:?}"
    );
    assert!(
        record.workers.iter().all(|worker| !of(worker).is_empty()),
        "{command}: every worker has a place"
    );
    let missing = asked.0.iter().any(|id| !has.contains(id));
    let difference = record
        .differences
        .iter()
        .find(|difference| difference.key == key);
    assert_eq!(difference.is_some(), missing, "{command}: {difference:?}");
    let Some(difference) = difference else {
        assert_eq!(used, asked.0, "{command}");
        skipped(&format!("a machine without {flag} {asked}"));
        return;
    };
    assert_eq!(
        difference.asked.as_deref(),
        Some(asked.to_string().as_str()),
        "{command}"
    );
    assert_eq!(
        difference.effective.as_deref(),
        Some(IdList(used).to_string().as_str()),
        "{command}"
    );
    let what = if key == "numa-zones" {
        "NUMA nodes"
    } else {
        "CPUs"
    };
    let refused = place.iopulse(&scaled(command)).ended_with(2);
    refused
        .says(&format!("this machine has {what} {}", IdList(has.to_vec())))
        .says("--affinity best-effort");
    assert!(
        refused.record.is_none(),
        "nothing was measured: {}",
        refused.text()
    );
}

#[test]
fn blocks_of_1m_run_with_and_without_a_numa_node() {
    let place = Place::new();
    let free = run(&place, BLOCKS_1M, "").into_record();
    assert!(
        free.workers
            .iter()
            .all(|worker| worker.nodes.is_empty() && worker.cpus.is_empty())
    );
    if !has_numa() {
        return;
    }
    let bound = run(&place, BLOCKS_1M_NODE_0, "").into_record();
    assert!(
        bound
            .workers
            .iter()
            .all(|worker| worker.nodes.len() == 1 && !worker.cpus.is_empty())
    );
}

#[test]
fn blocks_of_10m_run_with_and_without_both_numa_nodes() {
    let place = Place::new();
    run(&place, BLOCKS_10M, "");
    if !has_numa() {
        return;
    }
    assert_placed(
        &place,
        BLOCKS_10M_BOTH_NODES,
        "--numa-zones",
        &nodes(),
        |worker| worker.nodes.clone(),
    );
}

#[test]
fn more_threads_than_cpus_run_with_and_without_both_numa_nodes() {
    let place = Place::new();
    run(&place, OVERPROVISIONED, "");
    if !has_numa() {
        return;
    }
    assert_placed(
        &place,
        OVERPROVISIONED_BOTH_NODES,
        "--numa-zones",
        &nodes(),
        |worker| worker.nodes.clone(),
    );
}

#[test]
fn workers_are_pinned_one_a_core_round_robin() {
    let place = Place::new();
    assert_placed(&place, CPU_CORES, "--cpu-cores", &cpus(), |worker| {
        worker.cpus.clone()
    });
    let record = run(&place, CPU_CORES, "").into_record();
    let pins: Vec<u32> = record.workers.iter().map(|worker| worker.cpus[0]).collect();
    let round = IdList::parse(effective(&record, "cpu-cores").expect("cores were asked for"))
        .expect("a record's lists are lists")
        .0;
    assert!(record.workers.iter().all(|worker| worker.cpus.len() == 1));
    assert_eq!(
        pins,
        round.iter().copied().cycle().take(32).collect::<Vec<_>>()
    );
}

#[test]
fn ids_that_no_machine_has_are_refused() {
    let place = Place::new();
    for (flag, what) in [
        ("--cpu-cores 60000", "CPUs"),
        ("--numa-zones 60000", "NUMA nodes"),
    ] {
        let ran = place
            .iopulse(&format!(
                "test.dat --file-size 1M --write-percent 100 {flag}"
            ))
            .ended_with(2);
        ran.says(&format!("this machine has {what}"));
        assert!(
            !place.path("test.dat").exists(),
            "refused before anything was touched"
        );
    }
}

/// Operations that `pause` after each leaves room for: every completion owes a pause, and only
/// those in flight at the start are free.
fn most_operations(record: &Record, pause_ns: u64, depth: u64) -> u64 {
    record
        .workers
        .iter()
        .map(|worker| (worker.ended_ns - worker.started_ns) / pause_ns + depth)
        .sum()
}

#[test]
fn think_time_of_the_oltp_simulation_limits_the_rate() {
    if !has_io_uring() {
        return;
    }
    let place = Place::new();
    let ran = run(&place, THINKING_OLTP, "--heatmap");
    let record = ran.record();
    let limit = most_operations(record, 50_000, 32);
    assert!(
        transfers(record) <= limit,
        "{} operations where pauses leave room for {limit}",
        transfers(record)
    );
    assert_drawn_from("OLTP with think time", record, &zipf(4096, 1.0));
    // A depth of 32 was asked of the default engine.
    assert_eq!(effective(record, "engine"), Some("io_uring"));
    assert!(
        record
            .differences
            .iter()
            .any(|difference| difference.key == "engine"),
        "{:?}",
        record.differences
    );
    ran.says("engine: asked auto, effective io_uring");
}

#[test]
fn think_time_leaves_fewer_operations_than_none() {
    let place = Place::new();
    let command = "test.dat --file-size 1M --read-percent 100 --random --duration 300ms";
    let without = place.measure(command);
    let with = place.measure(&format!("{command} --think-time 20ms"));
    let limit = most_operations(&with, 20_000_000, 1);
    assert!(
        transfers(&with) <= limit && limit < transfers(&without),
        "{} with, {} without",
        transfers(&with),
        transfers(&without)
    );
}

#[test]
fn adaptive_think_time_is_half_of_each_latency() {
    let place = Place::new();
    let record = run(&place, ADAPTIVE, "").into_record();
    let writes = kind(&record, "write").latency;
    // The pauses after the workers' last operations lie beyond their end.
    let beyond = u128::from(writes.max().unwrap_or(0)) * threads(ADAPTIVE) as u128;
    let least = writes.sum() + writes.sum().saturating_sub(beyond) / 2;
    assert!(
        record.loops.worker_ns >= least,
        "{} ns for operations and pauses of {least} ns",
        record.loops.worker_ns
    );
    // Where sleeps are exact, so is the sum of operations and pauses.
    let modelled = place.measure(&format!(
        "{} --engine sim --sim-model latency=1ms",
        scaled(ADAPTIVE)
    ));
    for worker in &modelled.workers {
        let elapsed = (worker.ended_ns - worker.started_ns) as f64;
        let each = elapsed / worker.operations as f64 / 1e6;
        assert!(
            (each - 1.5).abs() < 0.02,
            "an operation of 1 ms and its pause take {each} ms"
        );
    }
}

/// The two commands of a verification, with another pattern.
fn with_pattern(command: &str, pattern: &str) -> String {
    let at = command
        .find("--verify-pattern ")
        .expect("the command verifies");
    format!("{}--verify-pattern {pattern}", &command[..at])
}

fn assert_verified(ran: &Ran, command: &str) {
    let blocks = file_bytes(command) / block_bytes(command);
    let verification = ran
        .record()
        .verification
        .as_ref()
        .unwrap_or_else(|| panic!("no verification: {}", ran.text()));
    assert_eq!(
        (verification.operations, verification.failures),
        (blocks, 0),
        "{}",
        ran.text()
    );
    ran.says(&format!(
        "Verification: Operations: {blocks}, Failures: 0, Success: 100.00%"
    ));
}

#[test]
fn zeros_written_to_completion_are_verified_to_completion() {
    let place = Place::new();
    let written = run(&place, WRITE_VERIFIED, "");
    assert_eq!(
        kind(written.record(), "write").count,
        8192,
        "every block of 32 MiB once"
    );
    assert!(is_all(&place.bytes("test.dat"), 0));
    assert_verified(&run(&place, READ_AND_VERIFY, ""), READ_AND_VERIFY);
}

#[test]
fn the_integrity_example_finds_no_failure() {
    let place = Place::new();
    run(&place, INTEGRITY_WRITE, "");
    let bytes = place.bytes("integrity_test.dat");
    assert_eq!(
        (filled_blocks(&bytes), distinct_blocks(&bytes)),
        (8192, 8192),
        "no block is left out, no two are alike"
    );
    assert_verified(&run(&place, INTEGRITY_READ, ""), INTEGRITY_READ);
}

/// Writes and verifies with a pattern, then changes a byte behind the program's back.
fn assert_a_changed_byte_is_found(pattern: &str, holds: impl Fn(&[u8]) -> bool) {
    let place = Place::new();
    let (write, read) = (
        with_pattern(WRITE_VERIFIED, pattern),
        with_pattern(READ_AND_VERIFY, pattern),
    );
    run(&place, &write, "");
    assert!(holds(&place.bytes("test.dat")), "the file holds {pattern}");
    assert_verified(&run(&place, &read, ""), &read);
    let offset = 1234 * 4096 + 567;
    flip(&place.path("test.dat"), offset);
    // A second time as well: finding a failure must not make it go away.
    for _ in 0..2 {
        let ran = place.iopulse(&scaled(&read)).ended_with(1);
        ran.says("Verification: Operations: 8192, Failures: 1, Success: 99.98%")
            .says(&format!("test.dat offset {offset}"));
        let verification = ran
            .record()
            .verification
            .as_ref()
            .expect("the run verified");
        assert_eq!(
            (verification.failures, verification.first.len()),
            (1, 1),
            "{}",
            ran.text()
        );
        assert_eq!(verification.first[0].offset, offset as u64, "{pattern}");
        assert_eq!(ran.record().outcome.exit_code, 1);
    }
}

#[test]
fn a_changed_byte_among_zeros_is_found() {
    assert_a_changed_byte_is_found("zeros", |bytes| is_all(bytes, 0));
}

#[test]
fn a_changed_byte_among_ones_is_found() {
    assert_a_changed_byte_is_found("ones", |bytes| is_all(bytes, 0xff));
}

#[test]
fn a_changed_byte_among_sequential_bytes_is_found() {
    assert_a_changed_byte_is_found("sequential", |bytes| {
        bytes
            .chunks(256)
            .all(|part| part.iter().copied().eq(0..=255))
    });
}

#[test]
fn a_changed_byte_among_random_bytes_is_found() {
    assert_a_changed_byte_is_found("random", |bytes| distinct_blocks(bytes) == 8192);
}

#[test]
fn a_changed_byte_among_headers_is_found() {
    assert_a_changed_byte_is_found("header", |bytes| distinct_blocks(bytes) == 8192);
}

#[test]
fn a_lost_block_is_found_and_not_filled_in() {
    let place = Place::new();
    let read = with_pattern(READ_AND_VERIFY, "header");
    run(&place, &with_pattern(WRITE_VERIFIED, "header"), "");
    make_hole(&place.path("test.dat"), 40_960..45_056);
    let holed = place.bytes("test.dat");
    let ran = place.iopulse(&scaled(&read)).ended_with(1);
    ran.says("holes at test.dat offset 40960");
    assert!(
        place.bytes("test.dat") == holed,
        "a verifying read writes nothing"
    );
}

#[test]
fn a_verifying_read_of_another_pattern_fails_or_is_refused() {
    let place = Place::new();
    run(&place, WRITE_VERIFIED, "");
    let ran = place.iopulse(&scaled(&with_pattern(READ_AND_VERIFY, "ones")));
    assert!(matches!(ran.code, Some(1 | 2)), "{}", ran.text());
}

fn assert_per_worker_files(command: &str) {
    let place = Place::new();
    let record = run(&place, command, "").into_record();
    for worker in 0..4 {
        let path = place.path(&format!("test.dat.worker{worker}"));
        let length = std::fs::metadata(&path)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
            .len();
        assert_eq!(length, file_bytes(command), "{}", path.display());
    }
    assert!(!place.path("test.dat").exists() && !place.path("test.dat.worker4").exists());
    assert_eq!(
        (record.targets[0].files, record.targets[0].bytes),
        (4, 4 * file_bytes(command))
    );
    // Each worker alone fills its whole file.
    let whole = place.measure(&format!(
        "{} --run-until-complete",
        scaled(command).replace("--duration 300ms ", "")
    ));
    for worker in &whole.workers {
        assert_eq!(worker.bytes, file_bytes(command), "worker {}", worker.index);
        let bytes = place.bytes(&format!("test.dat.worker{}", worker.index));
        assert_eq!(
            filled_blocks(&bytes) * 4096,
            bytes.len(),
            "worker {}",
            worker.index
        );
    }
}

#[test]
fn per_worker_files_are_on_disk() {
    assert_per_worker_files(PER_WORKER);
}

#[test]
fn per_worker_files_for_aggregate_bandwidth_are_on_disk() {
    assert_per_worker_files(AGGREGATE);
}

#[test]
fn shared_random_writes_run_with_a_note() {
    let place = Place::new();
    let ran = run(&place, SHARED, "--heatmap --heatmap-buckets 4");
    ran.says("note[shared_random_writes]");
    let coverage = ran
        .record()
        .coverage
        .as_ref()
        .expect("a heat map was asked for");
    assert_drawn_from("shared", ran.record(), &[1.0 / 8192.0; 8192]);
    assert_eq!(coverage.uses, ran.record().operations.count());
}

/// A quarter of the range is used by one worker, and by no other: the operations on it are that
/// worker's.
fn assert_disjoint(command: &str) {
    let place = Place::new();
    let record = run(&place, command, "--heatmap --heatmap-buckets 4").into_record();
    let by_worker: Vec<u64> = record
        .workers
        .iter()
        .map(|worker| worker.operations)
        .collect();
    assert_eq!(
        record.coverage.expect("a heat map was asked for").buckets,
        by_worker
    );
    // Complete, every block is written by the one worker whose it is.
    let complete = format!(
        "{} --run-until-complete --heatmap --heatmap-buckets 4",
        scaled(command).replace("--duration 300ms ", "")
    );
    let record = place.measure(&complete);
    let coverage = record.coverage.as_ref().expect("a heat map was asked for");
    assert_eq!(
        (coverage.touched, coverage.uses),
        (8192, 8192),
        "every block exactly once"
    );
    assert_eq!(coverage.buckets, [2048; 4]);
    assert!(
        record
            .workers
            .iter()
            .all(|worker| worker.operations == 2048)
    );
}

#[test]
fn partitions_are_disjoint() {
    assert_disjoint(PARTITIONED);
}

#[test]
fn partitions_of_the_mpi_simulation_are_disjoint() {
    assert_disjoint(MPI_IO);
}

#[test]
fn shared_workers_divide_a_complete_run() {
    let place = Place::new();
    let complete = format!(
        "{} --run-until-complete --heatmap",
        scaled(SHARED).replace("--duration 300ms ", "")
    );
    let record = place.measure(&complete);
    let coverage = record.coverage.as_ref().expect("a heat map was asked for");
    assert_eq!(
        (coverage.touched, coverage.uses, record.operations.count()),
        (8192, 8192, 8192),
        "every block exactly once"
    );
}

#[test]
fn direct_and_buffered_both_run_and_direct_is_real() {
    let place = Place::new();
    if !has_io_uring() {
        return;
    }
    let buffered = run(&place, BUFFERED, "").into_record();
    assert_eq!(effective(&buffered, "direct"), Some("false"));
    if !has_direct(&place) {
        return;
    }
    let direct = run(&place, DIRECT, "").into_record();
    assert_eq!(effective(&direct, "direct"), Some("true"));
    let sent = direct.generator().process.storage_written_bytes;
    assert!(
        sent.is_none_or(|sent| sent >= direct.operations.bytes()),
        "{sent:?} of {} reached storage",
        direct.operations.bytes()
    );
    let device = direct
        .generator()
        .devices
        .first()
        .map(|device| device.written_bytes);
    assert!(
        device.is_none_or(|device| device >= direct.operations.bytes()),
        "{device:?} of {} at the device",
        direct.operations.bytes()
    );
}

#[test]
fn the_oltp_example_has_its_mix_its_hot_data_and_its_pauses() {
    let place = Place::new();
    if !(has_io_uring() && has_direct(&place) && has_numa()) {
        return;
    }
    let record = run(&place, OLTP, "--heatmap").into_record();
    assert_drawn_from("OLTP", &record, &zipf(4096, 1.0));
    let limit = most_operations(&record, 50_000, 32);
    assert!(
        transfers(&record) <= limit,
        "{} operations where pauses leave room for {limit}",
        transfers(&record)
    );
}

#[test]
fn the_streaming_example_runs_with_128_threads() {
    let place = Place::new();
    if !has_numa() {
        return;
    }
    assert_placed(&place, STREAMING, "--numa-zones", &nodes(), |worker| {
        worker.nodes.clone()
    });
}

#[test]
fn the_cache_example_has_its_mix_and_its_popular_content() {
    if !(has_io_uring() && has_numa()) {
        return;
    }
    let place = Place::new();
    let record = run(&place, CACHE, "--heatmap").into_record();
    assert_drawn_from("cache", &record, &zipf(512, 1.2));
}

#[test]
fn distributions_have_the_hot_share_that_the_guide_promises() {
    let place = Place::new();
    let law = |options: &str, masses: &[f64]| {
        let command = format!(
            "test.dat --engine null --file-size 32M --random --heatmap --total-bytes 800M --threads 2 {options}"
        );
        assert_drawn_from(options, &place.measure(&command), masses);
    };
    law("--distribution uniform", &[1.0 / 8192.0; 8192]);
    law("--distribution zipf --zipf-theta 1.2", &zipf(8192, 1.2));
    law("--distribution zipf --zipf-theta 0.5", &zipf(8192, 0.5));
    law("--distribution pareto", &pareto(8192, 0.2));
    law("--distribution pareto --pareto-h 0.1", &pareto(8192, 0.1));
    law("--distribution gaussian", &gaussian(8192, 0.5, 0.1));
    law(
        "--distribution gaussian --gaussian-center 0 --gaussian-stddev 0.3",
        &gaussian(8192, 0.0, 0.3),
    );
    assert!(
        (hottest_fifth(&pareto(8192, 0.2), 100) - 0.8).abs() < 0.001,
        "pareto is 80/20"
    );
}

#[test]
fn random_writes_defeat_deduplication_and_zeros_invite_it() {
    let place = Place::new();
    let record = run(&place, WRITE_RANDOM, "--heatmap").into_record();
    let bytes = place.bytes("test.dat");
    let touched = usize::try_from(record.coverage.expect("a heat map was asked for").touched)
        .expect("a small file");
    assert_eq!(
        (filled_blocks(&bytes), distinct_blocks(&bytes)),
        (touched, touched),
        "every written block is new"
    );
    run(&place, WRITE_ZEROS, "");
    assert!(
        filled_blocks(&place.bytes("test.dat")) < touched,
        "zeros took the place of random blocks"
    );
    let complete = |pattern: &str| {
        place.measure(&format!(
            "test.dat --write-percent 100 --random --duration 0s --write-pattern {pattern}"
        ));
        place.bytes("test.dat")
    };
    assert_eq!(distinct_blocks(&complete("random")), 8192);
    assert!(is_all(&complete("zeros"), 0));
    assert!(is_all(&complete("ones"), 0xff));
    assert!(
        complete("sequential")
            .chunks(256)
            .all(|part| part.iter().copied().eq(0..=255))
    );
}
