//! Loads that tests tell of.

use record::{
    Histogram, LoadAccount, Operations, PaceAccount, Record, RequestPhases, SCHEMA, ThresholdResult,
};

fn of(ns: u64, count: u64) -> Histogram {
    let mut out = Histogram::default();
    out.record_many(ns, count);
    out
}

/// `gets` downloads of 10 KiB at `ns` each for 10 s, and half as many uploads, by users of whom
/// most sleep.
pub(crate) fn load(name: &str, gets: u64, ns: u64, failed: u64) -> Record {
    let seconds = 10;
    let operations = |count: u64, errors| Operations {
        count,
        bytes: count * 10_240,
        errors,
        latency: of(ns, count),
        ..Operations::default()
    };
    let phases = |count| RequestPhases {
        connecting: of(ns / 50, 5),
        sending: of(ns / 100, count),
        waiting: of(ns * 4 / 5, count),
        receiving: of(ns / 5, count),
    };
    let mut record = Record {
        schema: SCHEMA,
        id: format!("{name}-{gets}-{ns}"),
        kind: "load".into(),
        name: name.into(),
        elapsed_ns: seconds * 1_000_000_000,
        load: Some(LoadAccount {
            scenario: name.into(),
            users: vec![25, 50, 50, 25],
            phases: [
                ("get".to_owned(), phases(gets)),
                ("put".to_owned(), phases(gets / 2)),
            ]
            .into(),
            iterations: of(ns + 500_000_000, gets),
            connections_opened: 50,
            thresholds: vec![
                ThresholdResult {
                    threshold: "get.p95<1s".into(),
                    holds: true,
                    measured: "80 ms".into(),
                    ..ThresholdResult::default()
                },
                ThresholdResult {
                    threshold: "put.p95<10ms".into(),
                    holds: false,
                    measured: "80 ms, 70 ms above the limit".into(),
                    ..ThresholdResult::default()
                },
            ],
            ..LoadAccount::default()
        }),
        ..Record::default()
    };
    record.operations.insert("get", operations(gets, failed));
    record.operations.insert("put", operations(gets / 2, 0));
    record.loops.in_flight_ns = u128::from(ns) * u128::from(gets + gets / 2);
    record.generator_mut().process.user_ns = 100_000 * (gets + gets / 2);
    for (key, value) in [
        ("users", "50"),
        ("mix", "get 50, put 25"),
        ("scenario", name),
    ] {
        record.effective.insert(key.into(), value.into());
    }
    if failed > 0 {
        record.errors.push(record::ErrorCount {
            operation: "get".into(),
            error: "503 SlowDown".into(),
            count: failed,
            first_file: "http://a/b".into(),
            first_offset: None,
            class: None,
        });
    }
    record
}

/// A step of a search: `rate` arrivals a second, of which some are slow.
pub(crate) fn step(rate: f64, slow_ns: u64, holds: bool) -> Record {
    let mut record = load("get", 1000, 2_000_000, 0);
    record.name = format!("get@{rate:.0}/s");
    record.id.clone_from(&record.name);
    let mut gets = record.operations.kind("get").cloned().unwrap_or_default();
    gets.latency.record_many(slow_ns, 30);
    gets.count += 30;
    record.operations = record::Measurements::default();
    record.operations.insert("get", gets);
    record.pace = Some(PaceAccount {
        asked_per_second: Some(rate),
        achieved_per_second: rate,
        ..PaceAccount::default()
    });
    record.effective.remove("users");
    let load = record.load.get_or_insert_default();
    load.lateness = Some(of(50_000, 1000));
    load.thresholds = vec![ThresholdResult {
        threshold: "p99<50ms".into(),
        holds,
        measured: "x".into(),
        ..ThresholdResult::default()
    }];
    record
}

/// Runs of one arm of a profile, six of each row: a name such as `RND4K Q8T1`, what it does, and
/// whether it is direct.
pub(crate) fn profile(rows: &[(&str, &str, bool)]) -> Vec<Record> {
    let mut out = Vec::new();
    for block in 0..6_u32 {
        for (number, (name, kind, is_direct)) in (0_u32..).zip(rows) {
            let is_random = name.starts_with("RND");
            let bytes = if is_random { 4096 } else { 1 << 20 };
            let depth = name.split(['Q', 'T']).nth(if is_random { 1 } else { 2 });
            let count = 1000 + 300 * u64::from(number) + 10 * u64::from(block * 7 % 5);
            let cache = if *is_direct { "direct" } else { "cached" };
            let name = format!("{name} {kind} {cache}");
            let mut record = Record {
                schema: SCHEMA,
                id: format!("{number}-{block}"),
                kind: "run".into(),
                name: name.clone(),
                started_at: format!("2026-01-01T00:{block:02}:{number:02}.000Z"),
                elapsed_ns: 1_000_000_000,
                trial: Some(record::Trial {
                    plan: "profile".into(),
                    arm: "disk".into(),
                    row: name,
                    block,
                    slot: block * 100 + number,
                    row_number: number,
                    ..record::Trial::default()
                }),
                ..Record::default()
            };
            record.operations.insert(
                kind,
                Operations {
                    count,
                    bytes: count * bytes,
                    latency: of(90_000, count),
                    ..Operations::default()
                },
            );
            for (key, value) in [
                ("random", is_random.to_string()),
                ("block-size", bytes.to_string()),
                ("queue-depth", depth.unwrap_or("1").to_owned()),
                ("threads", "1".to_owned()),
                ("direct", is_direct.to_string()),
            ] {
                record.effective.insert(key.into(), value);
            }
            out.push(record);
        }
    }
    out
}
