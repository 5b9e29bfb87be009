//! A record made by hand, in which every account has something to say.

use record::{
    Coverage, CpuList, DeviceAccount, Difference, Environment, ErrorCount, FathomVersion, Fill,
    Histogram, HostAccount, Interval, LockAccount, LoopAccount, MachineAccount, Measurements,
    Operations, Outcome, PaceAccount, ProcessAccount, Record, SCHEMA, Status, TargetFact,
    Verification, VerificationFailure, WorkerAccount,
};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const GIB: u64 = 1 << 30;

fn latencies(pairs: &[(u64, u64)]) -> Histogram {
    let mut out = Histogram::default();
    pairs
        .iter()
        .for_each(|(ns, count)| out.record_many(*ns, *count));
    out
}

/// Operations of 4 KiB with these latencies and how often each occurred.
fn blocks(pairs: &[(u64, u64)], bytes: u64) -> Operations {
    let latency = latencies(pairs);
    let count = latency.count();
    Operations {
        count,
        bytes: count * bytes,
        smallest_bytes: Some(bytes),
        largest_bytes: Some(bytes),
        latency,
        ..Operations::default()
    }
}

fn quarter(stalled: bool) -> Measurements {
    let mut out = Measurements::default();
    let reads: &[(u64, u64)] = if stalled {
        &[(84_000, 900), (9_000_000, 20)]
    } else {
        &[(81_000, 4000), (112_000, 380), (400_000, 7)]
    };
    out.insert("read", blocks(reads, 4096));
    out.insert(
        "write",
        blocks(&[(21_000, 1500), (30_500, 390), (1_200_000, 3)], 4096),
    );
    out.insert("fsync", blocks(&[(2_400_000, 4)], 0));
    out
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

const EFFECTIVE: &[(&str, &str)] = &[
    ("arrival", "constant"),
    ("block-size", "4k"),
    ("direct", "true"),
    ("distribution", "zipf"),
    ("duration", "2s"),
    ("end-fsync", "false"),
    ("engine", "io_uring"),
    ("file-distribution", "shared"),
    ("file-size", "8g"),
    ("fsync", "500"),
    ("lock-mode", "range"),
    ("queue-depth", "4"),
    ("random", "true"),
    ("read-percent", "70"),
    ("think-time", "0s"),
    ("threads", "2"),
    ("verify", "true"),
    ("verify-pattern", "header"),
    ("zipf-theta", "1.2"),
];

fn series() -> Vec<Interval> {
    let interval = |i: u64| Interval {
        start_ns: i * 500 * MS,
        end_ns: (i + 1) * 500 * MS,
        operations: quarter(i == 2),
        in_flight: 8,
        cpu_ns: 210 * MS,
        device_read_bytes: Some(17_969_152),
        device_written_bytes: Some(7_753_728),
        steal_share: Some(0.002),
        target_cpu_ns: None,
        target_resident_bytes: None,
    };
    (0..4).map(interval).collect()
}

fn worker(index: u32) -> WorkerAccount {
    WorkerAccount {
        index,
        cpus: vec![index],
        nodes: vec![0],
        started_ns: 12_000,
        ended_ns: 2000 * MS,
        operations: 10_844,
        bytes: 10_840 * 4096,
        user_ns: 120 * MS,
        system_ns: 290 * MS,
        run_queue_wait_ns: Some(14 * MS),
        voluntary_switches: 9000,
        involuntary_switches: 40,
        engine_features: Some("single issuer, deferred task run".into()),
        ..WorkerAccount::default()
    }
}

fn verification() -> Verification {
    let failure = |offset, kind: &str, detail: &str| VerificationFailure {
        file: "/data/oltp.dat".into(),
        offset,
        kind: kind.into(),
        detail: detail.into(),
    };
    Verification {
        pattern: "header".into(),
        operations: 14_101,
        failures: 2,
        by_kind: BTreeMap::from([("stale".to_owned(), 1), ("torn".to_owned(), 1)]),
        first: vec![
            failure(4096, "torn", "sector 3 of 8 is of generation 4, not 5"),
            failure(1_638_400, "stale", "generation 2, expected 3"),
        ],
        self_check: "bit flip, swap, hole and stale block found".into(),
    }
}

fn coverage() -> Coverage {
    let buckets: Vec<u64> = (0..128)
        .map(|i| if i >= 120 { 0 } else { 4000 / (i + 1) })
        .collect();
    Coverage {
        block_bytes: 4096,
        blocks: 2_097_152,
        touched: 9_911,
        uses: buckets.iter().sum(),
        hottest_fifth_share: 0.714,
        buckets,
    }
}

fn environment() -> Environment {
    let mut out = Environment {
        fathom: FathomVersion {
            version: "0.1.0".into(),
            commit: None,
        },
        ..Environment::default()
    };
    out.cpu.online = Some(CpuList::from_iter([0, 1]));
    out
}

fn process() -> ProcessAccount {
    ProcessAccount {
        user_ns: 250 * MS,
        system_ns: 590 * MS,
        minor_faults: 812,
        voluntary_switches: 18_100,
        involuntary_switches: 81,
        max_resident_bytes: 19 << 20,
        ..ProcessAccount::default()
    }
}

fn device() -> DeviceAccount {
    DeviceAccount {
        name: "nvme0n1".into(),
        reads: 14_100,
        read_bytes: 57_753_600,
        writes: 7_640,
        written_bytes: 31_293_440,
        flushes: Some(16),
        busy_ns: 1_720 * MS,
        queue_ns: 14_900 * MS,
        reads_merged: Some(3),
        writes_merged: Some(12),
        read_ns: Some(9_100 * MS),
        write_ns: Some(5_800 * MS),
    }
}

/// Two workers on a file, 70 % reads, verified and locked, with a stall, an error, and two corrupt
/// blocks.
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
pub(crate) fn oltp() -> Record {
    let series = series();
    let mut operations = Measurements::default();
    series
        .iter()
        .for_each(|interval| operations.merge(&interval.operations));
    operations.insert(
        "read",
        Operations {
            errors: 3,
            ..Operations::default()
        },
    );
    let mut asked = texts(EFFECTIVE);
    asked.insert("engine".into(), "sync".into());
    let lock_wait = latencies(&[(350, 21_000), (48_000, 600)]);
    Record {
        schema: SCHEMA,
        id: "20261120T110701.601-4711".into(),
        kind: "run".into(),
        name: "oltp".into(),
        started_at: "2026-11-20T11:07:01.601Z".into(),
        asked,
        effective: texts(EFFECTIVE),
        differences: vec![Difference {
            key: "engine".into(),
            asked: Some("sync".into()),
            effective: Some("io_uring".into()),
            reason: "sync has one operation in flight, and a queue depth of 4 was asked for".into(),
        }],
        notices: vec!["the file system has no DIOALIGN: alignment assumed from the device".into()],
        targets: vec![TargetFact {
            path: "/data/oltp.dat".into(),
            kind: "file".into(),
            files: 1,
            bytes: 8 * GIB,
            ..TargetFact::default()
        }],
        hosts: vec![HostAccount {
            environment: environment(),
            process: process(),
            machine: MachineAccount {
                busy_share: Some(0.47),
                iowait_share: Some(0.11),
                steal_share: Some(0.002),
                ..MachineAccount::default()
            },
            devices: vec![device()],
            ..HostAccount::default()
        }],
        elapsed_ns: 2000 * MS,
        operations,
        interval_ns: 500 * MS,
        series,
        workers: vec![worker(0), worker(1)],
        loops: LoopAccount {
            in_flight_ns: 7_700 * 2 * u128::from(MS),
            worker_ns: 4000 * u128::from(MS),
            submissions: 15_000,
            submitted: 21_688,
            reaps: 16_000,
            reaps_to_empty: 90,
            abandoned: 0,
        },
        pace: Some(PaceAccount {
            asked_per_second: None,
            asked_bytes_per_second: None,
            achieved_per_second: 10_843.5,
            unsent: 0,
            over_ns: None,
            waited_ns: 0,
        }),
        verification: Some(verification()),
        coverage: Some(coverage()),
        locks: Some(LockAccount {
            mode: "range".into(),
            wait: lock_wait,
        }),
        fill: Some(Fill {
            bytes: 8 * GIB,
            elapsed_ns: 4_130 * MS,
            reason: "the file was missing".into(),
        }),
        errors: vec![ErrorCount {
            operation: "read".into(),
            error: "EIO".into(),
            count: 3,
            first_file: "/data/oltp.dat".into(),
            first_offset: Some(7_340_032),
            class: None,
        }],
        outcome: Outcome {
            status: Status::Failed,
            exit_code: 1,
            message: Some("2 blocks failed verification, 3 reads failed".into()),
        },
        ..Record::default()
    }
}
