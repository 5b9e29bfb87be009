//! Records of several hosts as one: the laws, and that no field of a part is lost.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use proptest::prelude::*;
use record::{
    Calibration, Coverage, DeviceAccount, Difference, EndpointAccount, Environment, ErrorClass,
    ErrorCount, Fill, GroupAccount, Histogram, HostAccount, HostRole, Interval, LeftKind, LeftOver,
    LinkAccount, LoadAccount, LockAccount, LoopAccount, LostRank, MachineAccount, Measurements,
    NotOneWorkload, Operations, Outcome, PaceAccount, ProcessAccount, Record, Repeat,
    RequestPhases, Residency, SCHEMA, ScheduleEnd, SearchAccount, SearchPoint, ServerAccount,
    SigningCost, Span, Status, StonewallAccount, Stoppage, TargetFact, TargetReach,
    ThresholdResult, Trial, Verification, VerificationFailure, WalkAccount, WalkLevels,
    WorkerAccount, WorkerMeasured, WorkerSchedule,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const SECOND: u64 = 1_000_000_000;

fn times(values: &[u64]) -> Histogram {
    let mut out = Histogram::default();
    values.iter().for_each(|value| out.record(*value));
    out
}

fn operations(values: &[u64]) -> Measurements {
    let read = Operations {
        count: values.len() as u64,
        bytes: 4096 * values.len() as u64,
        errors: 1,
        smallest_bytes: Some(4096),
        largest_bytes: Some(8192),
        latency: times(values),
        service: Some(times(values)),
    };
    let mut out = Measurements::default();
    out.insert("read", read);
    out
}

fn interval(number: u64) -> Interval {
    Interval {
        start_ns: number * SECOND + 7,
        end_ns: (number + 1) * SECOND,
        operations: operations(&[100 + number]),
        in_flight: 3,
        cpu_ns: 40,
        device_read_bytes: Some(500),
        device_written_bytes: Some(600),
        steal_share: Some(0.25),
        target_cpu_ns: Some(70),
        target_resident_bytes: Some(800),
    }
}

/// A number that each name has for itself.
fn rank_of(name: &str) -> u32 {
    let bytes = name.bytes();
    bytes.fold(7, |hash: u32, byte| {
        hash.wrapping_mul(16_777_619) ^ u32::from(byte)
    })
}

/// The account of a group in which nothing is left out but what only all ranks together show.
fn group(id: &str) -> GroupAccount {
    GroupAccount {
        size: 3,
        launcher: "none".into(),
        plan: "p".into(),
        start_at: "2026-11-22T18:00:00Z".into(),
        target_is: Some(TargetReach::Shared),
        unsynchronised: id == "b",
        unseen_by: vec![1],
        lost: vec![LostRank {
            rank: 2,
            host: Some("c".into()),
            why: "gone".into(),
            last_heard_ns: Some(36),
        }],
        // Only all ranks together show these.
        machines: None,
        skew_ns: None,
        clock_bound_ns: None,
        clock_drift_ns: None,
        lead_ns: None,
        start_tries: None,
        max_skew_ns: None,
    }
}

/// The account of a host in which nothing is left out.
fn host(name: &str) -> HostAccount {
    let mut environment = Environment::default();
    environment.system.hostname = Some(name.into());
    HostAccount {
        role: HostRole::Generator,
        name: Some("a name".into()),
        pid: Some(1),
        window_ns: Some(31),
        late_ns: 3,
        rank: Some(rank_of(name)),
        target_set: Some(35),
        library: Some("a library".into()),
        clock_offset_ns: Some(-35),
        clock_bound_ns: Some(32),
        clock_drift_ns: Some(33),
        clock_drift_bound_ns: Some(34),
        gone: true,
        environment,
        calibration: Calibration {
            clock: "tsc".into(),
            clock_read_ns: 18.5,
            null_operation_ns: [("1".to_owned(), 40.5)].into(),
            clock_drift_ns: Some(2),
            sleep_overshoot_ns: Some(3),
        },
        process: ProcessAccount {
            user_ns: 4,
            system_ns: 5,
            major_faults: 6,
            minor_faults: 7,
            voluntary_switches: 8,
            involuntary_switches: 9,
            max_resident_bytes: 10,
            storage_read_bytes: Some(11),
            storage_written_bytes: Some(12),
        },
        machine: MachineAccount {
            busy_share: Some(0.5),
            steal_share: Some(0.1),
            iowait_share: Some(0.2),
            pressure_cpu_ns: Some(13),
            pressure_io_ns: Some(14),
            pressure_memory_ns: Some(15),
            throttled_ns: Some(16),
            dirty_before_bytes: Some(17),
            dirty_after_bytes: Some(18),
            swapped_pages: Some(19),
        },
        devices: vec![DeviceAccount {
            name: "sda".into(),
            reads: 20,
            read_bytes: 21,
            writes: 22,
            written_bytes: 23,
            flushes: Some(24),
            busy_ns: 25,
            queue_ns: 26,
            reads_merged: Some(27),
            writes_merged: Some(28),
            read_ns: Some(29),
            write_ns: Some(30),
        }],
        links: vec![LinkAccount {
            name: "eth0".into(),
            received_bytes: 31,
            sent_bytes: 32,
            bytes_per_second: Some(33),
        }],
        series: None,
        part: None,
    }
}

fn load() -> LoadAccount {
    let phases = RequestPhases {
        connecting: times(&[1]),
        sending: times(&[2]),
        waiting: times(&[3]),
        receiving: times(&[4]),
    };
    LoadAccount {
        scenario: "mixed".into(),
        users: vec![5, 6],
        phases: [("get".to_owned(), phases)].into(),
        iterations: times(&[7]),
        skipped: 8,
        retries: 9,
        endpoints: vec![EndpointAccount {
            address: "a:80".into(),
            operations: 10,
            errors: 11,
            connections_opened: 12,
            connections_failed: 13,
        }],
        connections_opened: 14,
        connections_failed: 15,
        lateness: Some(times(&[16])),
        queued: 17,
        unsent_age: Some(times(&[18])),
        signing: SigningCost {
            requests: 19,
            total_ns: 20,
        },
        setup: operations(&[21]),
        teardown: operations(&[22]),
        left_behind: 23,
        uploads_left_behind: 24,
        thresholds: vec![threshold("later than this version")],
        server: Some(ServerAccount {
            saw: Some(operations(&[25])),
            counters: [("requests".to_owned(), 26.0)].into(),
        }),
        search: Some(SearchAccount {
            threshold: "p99<1ms".into(),
            points: vec![SearchPoint {
                asked_per_second: 27.0,
                achieved_per_second: 28.0,
                unsent: 29,
                errors: 30,
                latency_p50_ns: Some(31.0),
                latency_p99_ns: Some(32.0),
                holds: true,
                undecided: true,
                measured: "33".into(),
                otherwise: Some("36".into()),
            }],
            holds_at: Some(34.0),
            breaks_at: Some(35.0),
            no_answer: None,
        }),
    }
}

/// One that no version can judge again.
fn threshold(text: &str) -> ThresholdResult {
    ThresholdResult {
        threshold: text.into(),
        quantity: Some("gravity".into()),
        comparator: Some(record::Comparator::Below),
        limit: Some(1.0),
        value: Some(0.5),
        holds: true,
        measured: "much".into(),
    }
}

fn worker() -> WorkerAccount {
    WorkerAccount {
        index: 0,
        host: 1,
        cpus: vec![1],
        nodes: vec![2],
        started_ns: 3,
        ended_ns: 4,
        operations: 5,
        bytes: 6,
        user_ns: 7,
        system_ns: 8,
        run_queue_wait_ns: Some(9),
        voluntary_switches: 10,
        involuntary_switches: 11,
        engine_features: Some("sqpoll".into()),
        error: Some("gone".into()),
        measured: Some(WorkerMeasured {
            operations: operations(&[12]),
            series: vec![interval(0)],
        }),
        schedule: Some(WorkerSchedule {
            late_ns: 13,
            begun_ns: 14,
            mean_ns: 15,
            behind_ns: 16,
            before_ns: 17,
            waited_ns: 18,
            gap_ns: 19,
            parts: 20,
            end: ScheduleEnd::Done,
        }),
    }
}

fn difference() -> Difference {
    Difference {
        key: "engine".into(),
        asked: Some("sync".into()),
        effective: Some("io_uring".into()),
        reason: "depth".into(),
    }
}

fn target() -> TargetFact {
    TargetFact {
        path: "/data/t".into(),
        kind: "file".into(),
        files: 1,
        bytes: 2,
        hole_bytes: Some(3),
    }
}

fn loops() -> LoopAccount {
    LoopAccount {
        in_flight_ns: 1,
        worker_ns: 2,
        submissions: 3,
        submitted: 4,
        reaps: 5,
        reaps_to_empty: 6,
        abandoned: 7,
    }
}

fn pace() -> PaceAccount {
    PaceAccount {
        asked_per_second: Some(1000.0),
        asked_bytes_per_second: Some(0.1),
        achieved_per_second: 999.7,
        unsent: 3,
        over_ns: Some(6),
        waited_ns: 7,
    }
}

fn verification() -> Verification {
    Verification {
        pattern: "header".into(),
        operations: 1,
        failures: 2,
        by_kind: [("torn".to_owned(), 3)].into(),
        first: vec![VerificationFailure {
            file: "f".into(),
            offset: 4,
            kind: "torn".into(),
            detail: "at 5".into(),
        }],
        self_check: "all found".into(),
    }
}

fn coverage() -> Coverage {
    Coverage {
        block_bytes: 1,
        blocks: 2,
        touched: 3,
        uses: 4,
        hottest_fifth_share: 0.5,
        buckets: vec![6],
    }
}

fn trial() -> Trial {
    Trial {
        plan: "p".into(),
        arm: "a".into(),
        row: "r".into(),
        attempt: 1,
        planned_blocks: Some(2),
        lead_in_ns: Some(3),
        unsaid: vec![record::UnsaidPlace::Order],
        question: Some(record::PlannedQuestion::default()),
        ..Trial::default()
    }
}

fn error() -> ErrorCount {
    ErrorCount {
        operation: "read".into(),
        error: "EIO".into(),
        count: 3,
        first_file: "f".into(),
        first_offset: Some(4),
        class: Some(ErrorClass::System),
    }
}

/// What one host says, with something in every field that a record of ours has. A field that is
/// added to a record must be added here, and is then held by the test of liveness.
fn stonewall() -> StonewallAccount {
    StonewallAccount {
        at_ns: 1,
        operations: 2,
        bytes: 3,
        fewest: 4,
        most: 5,
        wear_out_ns: Some(6),
        cut: 7,
    }
}

fn walk() -> WalkAccount {
    WalkAccount {
        entries: 8,
        matched: 9,
        levels: Some(WalkLevels {
            fewest: 10,
            most: 11,
        }),
    }
}

/// What is left, of which some may be gone after a 503.
fn left(kind: LeftKind, count: u64, why: &str, names: &str) -> LeftOver {
    LeftOver {
        kind,
        count,
        is_at_most: why == "HTTP 503",
        not_asked: count,
        why: [why.to_owned()].into(),
        names: [names.to_owned()].into(),
    }
}

fn part(id: &str) -> Record {
    let text = |text: &str| BTreeMap::from([("threads".to_owned(), text.to_owned())]);
    let span = Span {
        start_ns: 5,
        end_ns: 2 * SECOND,
        elapsed_ns: SECOND,
    };
    Record {
        schema: SCHEMA,
        id: id.into(),
        kind: "run".into(),
        name: "oltp".into(),
        started_at: "2026-11-22T10:00:00.000Z".into(),
        asked: text("4"),
        effective: text("4"),
        differences: vec![difference()],
        notices: vec!["a notice".into()],
        left_over: vec![left(LeftKind::Uploads, 36, "HTTP 403", "fathom-1")],
        targets: vec![target()],
        hosts: vec![host(id)],
        elapsed_ns: 2 * SECOND,
        operations: operations(&[100, 101]),
        spans: [("read".to_owned(), span)].into(),
        warmup: operations(&[99]),
        interval_ns: SECOND,
        series: vec![interval(0), interval(1)],
        workers: vec![worker()],
        loops: loops(),
        pace: Some(pace()),
        verification: Some(verification()),
        coverage: Some(coverage()),
        locks: Some(LockAccount {
            mode: "range".into(),
            wait: times(&[9]),
        }),
        residency: Some(Residency {
            total_bytes: 1,
            before_bytes: Some(2),
            after_bytes: Some(3),
        }),
        fill: Some(Fill {
            bytes: 1,
            elapsed_ns: 2,
            reason: "missing".into(),
        }),
        stonewall: Some(stonewall()),
        walk: Some(walk()),
        stops: vec![Stoppage {
            start_ns: 1,
            end_ns: 2,
            suspended_ns: 3,
        }],
        errors: vec![error()],
        outcome: Outcome {
            status: Status::Failed,
            exit_code: 1,
            message: Some("m".into()),
        },
        thresholds: vec![threshold("unknown to this version")],
        trial: Some(trial()),
        repeat: Some(Repeat {
            of: "w".into(),
            number: 1,
        }),
        group: Some(group(id)),
        companions: vec!["other".into()],
        // A record with figures of another tool is no part: see the test of refusals.
        summaries: BTreeMap::new(),
        source: None,
        load: Some(load()),
    }
}

fn merged(parts: &[&Record]) -> Result<Record, NotOneWorkload> {
    let mut all = Record::default();
    for part in parts {
        all.merge(part)?;
    }
    Ok(all)
}

/// The ways to every value of a document, histograms as one value each.
fn leaves(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields)
            if fields.contains_key("buckets") && fields.contains_key("layout") =>
        {
            out.push(path.to_owned());
        }
        Value::Object(fields) => {
            let inner = fields.iter();
            inner.for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), out));
        }
        Value::Array(items) => {
            let inner = items.iter().enumerate();
            inner.for_each(|(at, value)| leaves(value, &format!("{path}/{at}"), out));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push(path.to_owned());
        }
    }
}

/// Other values that may stand in the place of one: smaller and larger ones.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let words = [
                "interrupted",
                "ok",
                "baseline",
                "open",
                "target",
                "broken",
                "block",
                "posted",
                "time",
                "<=",
            ];
            let words = words.map(str::to_owned).into_iter();
            let words = words.chain([format!("{text}x"), String::new()]);
            words.map(Value::from).collect()
        }
        Value::Bool(is) => vec![(!is).into()],
        // What is never below nothing cannot be read as a smaller one.
        Value::Number(number) => match number.as_i64() {
            Some(number) => vec![(number + 5).into(), (number - 1).into()],
            None => vec![(number.as_f64().unwrap() / 2.0 + 0.3).into()],
        },
        Value::Object(_) => vec![serde_json::to_value(times(&[70_000, 1 << 40])).unwrap()],
        Value::Null | Value::Array(_) => vec![],
    }
}

/// The record with each other value at a place.
fn changed(record: &Record, path: &str) -> Vec<Record> {
    let mut document = serde_json::to_value(record).unwrap();
    let former = document.pointer(path).unwrap().clone();
    let others = others(&former).into_iter().filter_map(|other| {
        *document.pointer_mut(path).unwrap() = other;
        let read: Record = serde_json::from_value(document.clone()).ok()?;
        (read != *record).then_some(read)
    });
    others.collect()
}

/// What stays with its host: it changes nothing of the whole but the account of the host.
const STAYS_WITH_ITS_HOST: [&str; 17] = [
    // Where all see one target, none has one of its own.
    "/hosts/0/target_set",
    "/hosts/0/clock_offset_ns",
    "/hosts/0/name",
    "/hosts/0/pid",
    "/hosts/0/gone",
    "/hosts/0/window_ns",
    "/hosts/0/library",
    "/hosts/0/clock_drift_bound_ns",
    "/hosts/0/environment/",
    "/hosts/0/calibration/",
    "/hosts/0/process/",
    "/hosts/0/machine/",
    "/hosts/0/devices/",
    "/hosts/0/links/",
    // Whether hosts used the same blocks is not known here.
    "/coverage/",
    // Each host asks the same server, which tells each of them everything.
    "/load/server/",
    // Whoever leads the hosts searches, and knows all steps.
    "/load/search/",
];

/// What is of the host, and by which others of its record are placed: in time, or among the hosts.
const PLACES_OTHERS: [&str; 4] = [
    "/hosts/0/late_ns",
    "/hosts/0/rank",
    "/hosts/0/role",
    "/hosts/0/environment/system/hostname",
];

/// Judged again from the whole; where that is not possible, the whole says what the gravest part
/// said, and the others keep theirs.
const IS_JUDGED_AGAIN: [&str; 2] = ["/thresholds/", "/load/thresholds/"];

/// What is numbered anew.
const IS_NUMBERED: [&str; 2] = ["/workers/0/host", "/workers/0/index"];

/// What must be the same in all parts of one workload.
const IS_THE_SAME: [&str; 11] = [
    "/group/size",
    "/group/launcher",
    "/group/plan",
    "/group/start_at",
    "/group/target_is",
    "/kind",
    "/name",
    "/asked/",
    "/trial/",
    "/repeat/",
    "/load/scenario",
];

/// Each host's 100 files took 1 ms by its own clock, and the second began 80 ms after the first.
#[test]
fn a_kind_that_hosts_did_one_after_the_other_took_from_the_first_start_to_the_last_end() {
    let of = |id: &str, start_ns: u64, passes: u64| Record {
        spans: [(
            "stat".to_owned(),
            Span {
                start_ns,
                end_ns: start_ns + 1_000_000 + passes * 500_000,
                elapsed_ns: 1_000_000,
            },
        )]
        .into(),
        ..part(id)
    };
    let elapsed = |records: Vec<Record>| Record::merge_all(records).unwrap().elapsed_of("stat");
    assert_eq!(
        elapsed(vec![of("a", 0, 0), of("b", 80_000_000, 0)]),
        81_000_000
    );
    // Time that each gave to other kinds between two passes belongs to none of them.
    assert_eq!(elapsed(vec![of("a", 0, 1), of("b", 1_000, 1)]), 1_001_000);
    // Where one of them had a single pass, all of the time was somebody's.
    assert_eq!(elapsed(vec![of("a", 0, 1), of("b", 1_000, 0)]), 1_500_000);
}

#[test]
fn every_field_of_a_part_changes_the_whole_or_stays_with_its_host() {
    let (one, other) = (part("a"), part("b"));
    let before = merged(&[&one, &other]).unwrap();
    let (value, mut paths) = (serde_json::to_value(&other).unwrap(), Vec::new());
    leaves(&value, "", &mut paths);
    assert!(paths.len() > 200, "{}", paths.len());
    let without_hosts = |record: &Record| Record {
        hosts: Vec::new(),
        ..record.clone()
    };
    let is_in = |list: &[&str], path: &str| list.iter().any(|start| path.starts_with(start));
    for path in paths {
        // An environment is one value, of which a part will do.
        let is_null = value.pointer(&path).is_some_and(Value::is_null);
        if is_null && path.starts_with("/hosts/0/environment/") {
            continue;
        }
        let changed = changed(&other, &path);
        assert!(!changed.is_empty(), "{path} has no other value");
        let after = changed.iter().map(|changed| merged(&[&one, changed]));
        if is_in(&IS_THE_SAME, &path) {
            let refused = |after| matches!(after, Err(NotOneWorkload::Differ(_)));
            assert!(after.into_iter().all(refused), "{path}");
            continue;
        }
        let after: Vec<Record> = after.map(|after| after.expect(&path)).collect();
        let mut wholes = after.iter().map(without_hosts);
        let is_of_all = wholes.any(|whole| whole != without_hosts(&before));
        let is_kept = after.iter().any(|after| *after != before);
        if is_in(&IS_NUMBERED, &path) {
            assert!(!is_kept, "{path}");
            continue;
        }
        assert!(is_kept, "{path}");
        if !is_in(&PLACES_OTHERS, &path) && !is_in(&IS_JUDGED_AGAIN, &path) {
            assert_eq!(is_of_all, !is_in(&STAYS_WITH_ITS_HOST, &path), "{path}");
        }
    }
}

fn any_interval() -> impl Strategy<Value = (u64, Vec<u64>, Option<u64>)> {
    let values = prop::collection::vec(1_u64..1 << 40, 0..3);
    (0_u64..4, values, prop::option::of(0_u64..9))
}

/// A part of one workload, of which hosts may have done different amounts and know different things.
fn any_part() -> impl Strategy<Value = Record> {
    let series = prop::collection::vec(any_interval(), 0..5);
    let rates = (prop::option::of(0.1_f64..1e6), 0.1_f64..1e6);
    let words = prop::collection::vec("[a-c]", 0..3);
    let times = (0_u64..3 * SECOND, 0_u64..SECOND / 3, 0_u64..9);
    (any::<u64>(), series, rates, words, times, 0_usize..4).prop_map(
        |(id, series, rates, words, (elapsed_ns, late_ns, n), known)| {
            let mut part = part(&format!("{id:016x}"));
            part.hosts[0].late_ns = late_ns;
            part.hosts[0].environment.system.hostname = words.first().cloned();
            part.elapsed_ns = elapsed_ns;
            part.series = series
                .iter()
                .zip(0..)
                .map(|((flying, values, device), number)| Interval {
                    in_flight: *flying,
                    operations: operations(values),
                    device_read_bytes: *device,
                    steal_share: device.map(|n| n as f64 / 10.0),
                    target_cpu_ns: device.filter(|_| known > 1),
                    ..interval(number)
                })
                .collect();
            let pace = part.pace.as_mut().unwrap();
            (pace.asked_per_second, pace.achieved_per_second) = rates;
            part.pace = part.pace.filter(|_| n % 5 > 0);
            part.effective.insert("cpus".into(), n.to_string());
            part.errors.extend(words.iter().map(|word| ErrorCount {
                error: word.clone(),
                count: n,
                first_offset: Some(n),
                ..ErrorCount::default()
            }));
            part.thresholds.push(ThresholdResult {
                threshold: "rate>100".into(),
                ..ThresholdResult::default()
            });
            part.workers = vec![worker(); known];
            part.workers
                .iter_mut()
                .for_each(|worker| worker.user_ns = n);
            part.notices.extend(words);
            let kinds = [LeftKind::Objects, LeftKind::Uploads, LeftKind::Posted];
            let why = ["HTTP 403", "HTTP 503"][known % 2];
            part.leave(left(kinds[known % 3], n, why, &n.to_string()));
            part.outcome.exit_code = i32::try_from(n).unwrap();
            part.outcome.status = [
                Status::Ok,
                Status::Failed,
                Status::Interrupted,
                Status::Incomplete,
            ][known];
            part.residency = part.residency.filter(|_| known > 0);
            let load = part.load.as_mut().unwrap();
            load.users = vec![n; part.series.len()];
            load.server = load.server.take().filter(|_| known == 2);
            part
        },
    )
}

proptest! {
    #[test]
    fn merge_is_associative_and_commutative_with_an_identity(a in any_part(), b in any_part(), c in any_part()) {
        let sum = |x: &Record, y: &Record| merged(&[x, y]).unwrap();
        prop_assert_eq!(sum(&a, &b), sum(&b, &a));
        prop_assert_eq!(sum(&sum(&a, &b), &c), sum(&a, &sum(&b, &c)));
        prop_assert_eq!(&merged(&[&a]).unwrap(), &a);
        let all = sum(&sum(&a, &b), &c);
        prop_assert_eq!(&sum(&all, &Record::default()), &all);
        let text = serde_json::to_vec(&all).unwrap();
        prop_assert_eq!(record::parse_records(&text).records, [all]);
    }

    #[test]
    fn what_hosts_counted_is_what_all_counted_and_each_can_be_told_again(parts in prop::collection::vec(any_part(), 2..5)) {
        let all = merged(&parts.iter().collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(&Record::merge_all(parts.iter().rev().cloned()).unwrap(), &all);
        let mut operations = Measurements::default();
        parts.iter().for_each(|part| operations.merge(&part.operations));
        prop_assert_eq!(&all.operations, &operations);
        let counted = |series: &[Interval]| series.iter().map(|i| i.operations.count()).sum::<u64>();
        prop_assert_eq!(counted(&all.series), parts.iter().map(|part| counted(&part.series)).sum::<u64>());
        prop_assert!(all.series.is_sorted_by(|a, b| a.start_ns < b.start_ns));
        let again = all.by_host();
        prop_assert_eq!(again.len(), parts.len());
        for own in again {
            let part = parts.iter().find(|part| part.id == own.id).unwrap();
            prop_assert_eq!((&own.effective, &own.asked), (&part.effective, &part.asked));
            prop_assert_eq!((&own.operations, own.elapsed_ns), (&part.operations, part.elapsed_ns));
            prop_assert_eq!((&own.pace, &own.coverage), (&part.pace, &part.coverage));
            let told = HostAccount {
                series: None,
                ..own.generator().clone()
            };
            prop_assert_eq!(&told, part.generator());
            let counted = |record: &Record| {
                let load = record.load.clone().unwrap();
                (load.scenario, load.retries, load.queued, load.endpoints, load.lateness, load.signing)
            };
            prop_assert_eq!(counted(&own), counted(part));
            let times = |record: &Record| record.workers.iter().map(|w| (w.started_ns, w.ended_ns)).collect::<Vec<_>>();
            prop_assert_eq!(times(&own), times(part));
        }
    }
}

#[test]
fn what_is_not_of_one_workload_or_of_other_hosts_is_refused_and_nothing_changes() {
    let whole = merged(&[&part("a"), &part("b")]).unwrap();
    let with = |change: fn(&mut Record)| {
        let mut other = part("c");
        change(&mut other);
        other
    };
    for (other, wanted) in [
        (
            with(|other| other.id = "a".into()),
            NotOneWorkload::Twice("a".into()),
        ),
        (whole.clone(), NotOneWorkload::Twice("a".into())),
        (
            with(|other| other.load = None),
            NotOneWorkload::Differ("scenario"),
        ),
        (
            with(|other| other.hosts[0].rank = Some(rank_of("b"))),
            NotOneWorkload::SameRank(rank_of("b")),
        ),
        (
            with(|other| other.group = None),
            NotOneWorkload::Differ("group"),
        ),
        (
            with(|other| other.source = Some(record::Source::default())),
            NotOneWorkload::Foreign("c".into()),
        ),
        (
            with(|other| other.hosts.push(host("d"))),
            NotOneWorkload::Unattributed("c".into()),
        ),
    ] {
        let mut all = whole.clone();
        assert_eq!(all.merge(&other), Err(wanted.clone()));
        assert_eq!(all, whole, "{wanted}");
        let at_once = [part("a"), part("b"), other];
        assert_eq!(Record::merge_all(at_once), Err(wanted));
    }
    assert_eq!(Record::merge_all([]), Ok(Record::default()));
    assert_eq!(Record::merge_all([part("a")]), Ok(part("a")));
}

#[test]
fn intervals_are_added_where_they_lie_in_time() {
    let of = |id: &str, interval_ns: u64, lengths: &[u64], late_ns: u64| {
        let mut part = part(id);
        part.hosts[0].late_ns = late_ns;
        part.interval_ns = interval_ns;
        let mut end_ns = 0;
        part.series.clear();
        for (length, number) in lengths.iter().zip(0..) {
            part.series.push(Interval {
                start_ns: end_ns,
                end_ns: end_ns + length,
                ..interval(number)
            });
            end_ns += length;
        }
        part.load.as_mut().unwrap().users = (1..=lengths.len() as u64).collect();
        part
    };
    let told = |parts: &[&Record]| {
        let all = merged(parts).unwrap();
        let series = all.series.iter();
        let series = series.map(|i| (i.start_ns, i.end_ns, i.operations.count(), i.in_flight));
        (
            all.interval_ns,
            series.collect::<Vec<_>>(),
            all.load.unwrap().users,
        )
    };
    let usual = of("a", 10, &[10, 11, 5], 0);
    let frozen = of("b", 10, &[20, 10], 0);
    assert_eq!(
        told(&[&usual, &frozen]),
        (10, vec![(0, 21, 3, 6), (20, 30, 2, 6)], vec![3, 5]),
        "where one did not see an interval in time, what the others saw meanwhile is one with it"
    );
    let late = of("b", 10, &[10, 10], 10);
    assert_eq!(
        told(&[&usual, &late]),
        (
            10,
            vec![(0, 10, 1, 3), (10, 21, 2, 6), (20, 30, 2, 6)],
            vec![1, 3, 5]
        )
    );
    let halved = of("b", 20, &[20, 20], 0);
    assert_eq!(
        told(&[&usual, &halved]),
        (20, vec![(0, 21, 3, 6), (20, 40, 2, 6)], vec![3, 5]),
        "a host that halved its series gives the length"
    );
}

#[test]
fn a_host_that_ended_at_its_first_operation_kept_no_rate_of_the_whole_time() {
    let (mut long, mut other) = (part("a"), part("b"));
    for part in [&mut long, &mut other] {
        part.hosts[0].late_ns = 0;
        // As records say it that do not tell over which time it is.
        let pace = part.pace.as_mut().unwrap();
        (pace.over_ns, pace.waited_ns) = (None, 0);
    }
    let longest = long.elapsed_ns;
    (other.elapsed_ns, other.outcome.status) = (50_000, Status::Failed);
    other.pace.as_mut().unwrap().achieved_per_second = 20_000.0;
    let own = long.pace.as_ref().unwrap().achieved_per_second;
    let all = merged(&[&long, &other]).unwrap().pace.unwrap();
    let expected = own + 1e9 / longest as f64;
    assert!((all.achieved_per_second - expected).abs() < 1e-6, "{all:?}");
}

/// A rank that was asked for 200 operations a second and began so many, of a time that began late.
fn paced_rank(id: &str, late_ns: u64, elapsed_ns: u64, begun: u64) -> Record {
    let mut part = part(id);
    part.hosts[0].late_ns = late_ns;
    part.elapsed_ns = elapsed_ns;
    (part.load, part.stonewall) = (None, None);
    part.spans.clear();
    part.outcome = Outcome::default();
    part.pace = Some(PaceAccount {
        asked_per_second: Some(200.0),
        achieved_per_second: begun as f64 * 1e9 / (late_ns + elapsed_ns) as f64,
        ..PaceAccount::default()
    });
    part
}

fn achieved(parts: &[&Record]) -> f64 {
    let all = merged(parts).unwrap().pace.unwrap();
    (all.achieved_per_second * 1e6).round() / 1e6
}

#[test]
fn ranks_that_began_late_kept_the_rate_that_all_were_asked_for_from_the_common_start() {
    let in_time = paced_rank("a", 0, 3 * SECOND, 600);
    let late = |id: &str| paced_rank(id, 2 * SECOND, SECOND, 600);
    assert_eq!(achieved(&[&late("a"), &late("b")]), 400.0);
    assert_eq!(achieved(&[&in_time, &late("b")]), 400.0);
    let joined = merged(&[&late("b"), &late("c")]).unwrap();
    assert_eq!(achieved(&[&in_time, &joined]), 600.0);
    let mut cut = paced_rank("b", SECOND, SECOND / 2, 300);
    cut.outcome.status = Status::Failed;
    assert_eq!(achieved(&[&in_time, &cut]), 300.0);
}

#[test]
fn a_rank_that_waited_for_others_kept_its_rate() {
    // In two seconds of its own, while the other had four.
    let mut short = paced_rank("b", 0, 2 * SECOND, 400);
    let long = paced_rank("a", 0, 4 * SECOND, 800);
    assert_eq!(achieved(&[&long, &short]), 300.0);
    let pace = short.pace.as_mut().unwrap();
    (pace.over_ns, pace.waited_ns) = (Some(2 * SECOND), 2 * SECOND);
    assert_eq!(achieved(&[&long, &short]), 400.0);
}

#[test]
fn how_long_a_rank_had_a_rate_to_keep_begins_with_the_common_start() {
    let late = paced_rank("a", 2 * SECOND, SECOND, 600);
    assert_eq!(late.paced_ns(), 3 * SECOND);
    let alone = late.paced_bytes_per_second().unwrap();
    assert_eq!(alone, late.operations.bytes() as f64 / 3.0);
    let in_time = paced_rank("b", 0, 3 * SECOND, 600);
    assert_eq!(in_time.paced_bytes_per_second(), in_time.bytes_per_second());
    let all = merged(&[&late, &in_time]).unwrap();
    assert_eq!(all.paced_ns(), all.elapsed_ns);
    assert_eq!(all.paced_bytes_per_second(), all.bytes_per_second());
    let own = all.by_host().into_iter().map(|own| own.paced_ns());
    assert_eq!(own.collect::<Vec<_>>(), [3 * SECOND; 2]);
}

#[test]
fn of_a_load_that_ended_by_itself_late_answers_of_one_rank_take_nothing_from_the_rate_of_another() {
    let of = |id: &str, elapsed_ns| Record {
        load: Some(load()),
        ..paced_rank(id, 0, elapsed_ns, elapsed_ns / SECOND * 200)
    };
    let mut long = of("a", 4 * SECOND);
    // It was asked for operations in two of its seconds.
    let asked_in = |part: &mut Record, over_ns| {
        let pace = part.pace.as_mut().unwrap();
        (pace.achieved_per_second, pace.over_ns) = (200.0, Some(over_ns));
    };
    asked_in(&mut long, 2 * SECOND);
    let mut short = of("b", 2 * SECOND);
    asked_in(&mut short, 2 * SECOND);
    assert_eq!(achieved(&[&long, &short]), 400.0);
    short.outcome.status = Status::Failed;
    assert_eq!(achieved(&[&long, &short]), 400.0, "what failed had begun");
    let cut = of("c", SECOND);
    assert_eq!(achieved(&[&long, &cut]), 300.0, "nobody arrived any more");
    let all = merged(&[&long, &cut]).unwrap();
    assert_eq!(all.paced_ns(), 2 * SECOND);
}

/// Its arrivals came by chance, and the last of them early, when the course asked for more.
#[test]
fn ranks_of_a_load_were_asked_for_what_the_course_had_until_the_last_arrival_of_all() {
    let of = |id: &str, over_ns: u64, asked: f64| {
        let mut part = paced_rank(id, 0, over_ns, 200 * over_ns / SECOND);
        part.load = Some(LoadAccount::default());
        if let Some(pace) = &mut part.pace {
            (pace.over_ns, pace.asked_per_second) = (Some(over_ns), Some(asked));
        }
        part
    };
    let parts = [of("a", 4 * SECOND, 200.0), of("b", SECOND, 350.0)];
    let pace = merged(&parts.each_ref()).unwrap().pace.unwrap();
    assert_eq!(pace.achieved_per_second, 250.0);
    assert_eq!(pace.asked_per_second, Some(400.0));
}

#[test]
fn what_ranks_left_behind_is_summed_by_kind_and_each_keeps_its_own() {
    let of = |id: &str, some: &[(LeftKind, u64, &str, &str)]| {
        let mut part = part(id);
        part.left_over.clear();
        for (kind, count, why, names) in some {
            part.leave(left(*kind, *count, why, names));
        }
        part
    };
    let parts = [
        of("a", &[(LeftKind::Objects, 25, "HTTP 403", "f-1")]),
        of(
            "b",
            &[
                (LeftKind::Objects, 25, "HTTP 403", "f-1"),
                (LeftKind::Uploads, 2, "HTTP 403", "f-1"),
            ],
        ),
        // Ranks that nobody connected choose names of their own.
        of("c", &[(LeftKind::Uploads, 3, "HTTP 503", "f-2")]),
        of("d", &[]),
    ];
    let all = merged(&parts.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(
        merged(&parts.iter().rev().collect::<Vec<_>>()).unwrap(),
        all
    );
    let objects = left(LeftKind::Objects, 50, "HTTP 403", "f-1");
    let uploads = LeftOver {
        kind: LeftKind::Uploads,
        count: 5,
        is_at_most: true,
        not_asked: 5,
        why: ["HTTP 403".to_owned(), "HTTP 503".to_owned()].into(),
        names: ["f-1".to_owned(), "f-2".to_owned()].into(),
    };
    assert_eq!(all.left_over, [objects, uploads]);
    let of_each = |records: &[&Record]| -> BTreeSet<Vec<String>> {
        records.iter().map(|record| record.notes()).collect()
    };
    let own = all.by_host();
    let own: Vec<&Record> = own.iter().map(AsRef::as_ref).collect();
    assert_eq!(of_each(&own), of_each(&parts.each_ref()));
}

#[test]
fn of_hosts_of_which_one_does_not_say_its_pace_none_is_told() {
    let (one, mut other) = (part("a"), part("b"));
    assert!(merged(&[&one, &other]).unwrap().pace.is_some());
    other.pace = None;
    assert_eq!(merged(&[&one, &other]).unwrap().pace, None);
    // Who measured nothing had no pace to keep.
    other.elapsed_ns = 0;
    assert_eq!(merged(&[&one, &other]).unwrap().pace, one.pace);
}

#[test]
fn where_one_host_has_measured_it_is_not_said_that_nothing_was() {
    let of = |id: &str, elapsed_ns| {
        let mut part = part(id);
        part.outcome = Outcome {
            status: Status::Interrupted,
            exit_code: 130,
            message: Some(record::stopped_words(2, elapsed_ns)),
        };
        part
    };
    for (first, second) in [(0, 5), (5, 0)] {
        let all = merged(&[&of("a", first), &of("b", second)]).unwrap();
        let said = all.outcome.message.unwrap();
        assert!(said.contains("until then is here"), "{said}");
    }
}

#[test]
fn a_threshold_is_held_against_the_whole() {
    let of = |id: &str| {
        let mut part = part(id);
        part.outcome = Outcome {
            exit_code: 3,
            message: Some("1 of 1 threshold missed".into()),
            ..Outcome::default()
        };
        part.thresholds = vec![ThresholdResult {
            threshold: "read.count>=3".into(),
            value: Some(2.0),
            ..ThresholdResult::default()
        }];
        part.load = None;
        part
    };
    let all = merged(&[&of("a"), &of("b")]).unwrap();
    assert_eq!(all.thresholds.len(), 1);
    assert_eq!(
        (all.thresholds[0].value, all.thresholds[0].holds),
        (Some(4.0), true)
    );
    assert_eq!(all.outcome, Outcome::default());
}

#[test]
fn a_rank_to_which_nothing_fell_makes_the_time_of_the_whole_no_longer() {
    let mut idle = part("b");
    (idle.elapsed_ns, idle.operations) = (0, Measurements::default());
    idle.hosts[0].late_ns = 30 * SECOND;
    let all = merged(&[&part("a"), &idle]).unwrap();
    assert_eq!(all.elapsed_ns, 2 * SECOND + 3);
    assert_eq!(all.by_host()[1].elapsed_ns, 0);
    let alone = part("a");
    assert!(!alone.spans.is_empty());
    for (kind, span) in &alone.spans {
        assert_eq!(all.spans[kind].elapsed_ns, span.elapsed_ns, "{kind}");
    }
}

#[test]
fn a_stop_before_a_rank_began_is_told_by_the_common_start() {
    let stop = Stoppage {
        start_ns: 0,
        end_ns: 3 * SECOND,
        suspended_ns: 0,
    };
    let mut steady = part("a");
    steady.stops.clear();
    let mut stopped = part("b");
    stopped.stops = vec![stop];
    // As a load does, whose times are all from the common start.
    stopped.begins_itself(3 * SECOND);
    let all = merged(&[&steady, &stopped]).unwrap();
    assert_eq!(all.stops, [stop]);
    assert_eq!(all.by_host()[1].stops, [stop]);
}

#[test]
fn of_a_load_the_part_of_a_host_has_its_counters_and_no_field_that_it_does_not_know() {
    let all = merged(&[&part("a"), &part("b")]).unwrap();
    let load = serde_json::to_value(&all.hosts[0]).unwrap()["part"]["load"].clone();
    let own = load.as_object().unwrap();
    for of_all in [
        "scenario",
        "users",
        "phases",
        "iterations",
        "setup",
        "teardown",
    ] {
        assert!(!own.contains_key(of_all), "{of_all}");
    }
    assert_eq!(load["retries"], 9);
    assert_eq!(load["signing"]["requests"], 19);
    assert_eq!(load["lateness"]["count"], 1);
    // As records had it before: what is not there is nothing.
    let mut old = serde_json::to_value(&all).unwrap();
    old["hosts"][0]["part"]["load"] = serde_json::json!({ "retries": 0, "scenario": "" });
    let old: Record = serde_json::from_value(old).unwrap();
    let again = old.by_host();
    assert_eq!(again[0].load.as_ref().unwrap().lateness, None);
}

#[test]
fn a_rank_that_had_done_all_before_the_stonewall_counts_to_it() {
    let of = |id: &str, account: StonewallAccount| Record {
        stonewall: Some(account),
        ..part(id)
    };
    let early = StonewallAccount {
        operations: 100,
        bytes: 1000,
        fewest: 50,
        most: 50,
        ..StonewallAccount::default()
    };
    let whole = |parts: [Record; 2]| Record::merge_all(parts).unwrap().stonewall;
    let both = whole([of("a", early.clone()), of("b", stonewall())]).unwrap();
    assert_eq!((both.at_ns, both.operations, both.bytes), (1, 102, 1003));
    assert_eq!((both.fewest, both.most), (4, 50));
    // Where nobody was at work any more, there was none.
    assert_eq!(whole([of("a", early.clone()), of("b", early)]), None);
}
