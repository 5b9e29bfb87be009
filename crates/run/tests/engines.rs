//! Whole runs over every engine, from typed options to the record: the same operations, the same
//! data, and books that balance.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod bench;
mod nbd_server;

use bench::{Options, Way, attempt, context, directory, measured, ways_to_a_file, workload};
use host::NoWatch;
use nbd_server::{NbdServer, Writes};
use record::{Measurements, Operations, Record};
use run::execute;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::SeqCst;
use sys::{LockKind, ofd_lock, ofd_unlock};
use tempfile::TempDir;
use workload::Phase;

const BLOCK: u64 = 4096;

const NBD: Way = Way {
    name: "nbd",
    options: &[("engine", "nbd"), ("queue-depth", "32")],
};
const NULL: Way = Way {
    name: "null",
    options: &[("engine", "null"), ("queue-depth", "32")],
};
const SIM: Way = Way {
    name: "sim",
    options: &[
        ("engine", "sim"),
        ("queue-depth", "32"),
        ("sim-model", "latency=10us,servers=4"),
    ],
};

/// A new file of zeros that are data, not holes.
fn zeros(dir: &TempDir, name: &str, bytes: usize) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, vec![0; bytes]).unwrap();
    path
}

/// A file, and the server that reaches it over NBD.
struct Subject {
    path: PathBuf,
    server: NbdServer,
}

impl Subject {
    fn of_zeros(dir: &TempDir, name: &str, bytes: usize) -> Self {
        let path = zeros(dir, name, bytes);
        Self {
            server: NbdServer::over(&path),
            path,
        }
    }

    /// Runs over one way, on the file itself or through the server; writing to either is permitted.
    fn run(&self, way: Way, options: Options<'_>) -> Record {
        let url = Path::new(&self.server.url);
        let target = if way.name == NBD.name {
            url
        } else {
            &self.path
        };
        let mut workload = workload(Some(target), &[way.options, options]);
        workload.files.allow_destroy = vec![target.into()];
        measured(&workload)
    }
}

fn ways_to_data() -> Vec<Way> {
    let mut ways = ways_to_a_file();
    ways.push(NBD);
    ways
}

fn kind<'a>(record: &'a Record, name: &str) -> &'a Operations {
    record.operations.kind(name).unwrap_or_else(|| {
        panic!(
            "no {name} in {:?}",
            record
                .operations
                .kinds()
                .map(|(k, _)| k)
                .collect::<Vec<_>>()
        )
    })
}

fn count(record: &Record, name: &str) -> u64 {
    record
        .operations
        .kind(name)
        .map_or(0, |operations| operations.count)
}

fn counts(measurements: &Measurements) -> Vec<(String, u64, u64)> {
    measurements
        .kinds()
        .map(|(kind, operations)| (kind.to_owned(), operations.count, operations.bytes))
        .collect()
}

/// What must hold of any record: every operation is in a histogram, and totals are the sums of
/// their parts.
fn books_balance(record: &Record) {
    let parts = [&record.operations, &record.warmup]
        .into_iter()
        .chain(record.series.iter().map(|interval| &interval.operations));
    for (kind, operations) in parts.flat_map(Measurements::kinds) {
        assert_eq!(
            operations.latency.count(),
            operations.count,
            "{kind}: a latency an operation"
        );
        assert!(
            operations
                .service
                .as_ref()
                .is_none_or(|service| service.count() == operations.count),
            "{kind}: a service time each"
        );
    }
    let mut series = Measurements::default();
    record
        .series
        .iter()
        .for_each(|interval| series.merge(&interval.operations));
    assert_eq!(
        counts(&series),
        counts(&record.operations),
        "the series adds up to the totals"
    );
    for (kind, operations) in series.kinds() {
        let whole = record.operations.kind(kind).unwrap();
        assert_eq!(
            operations.latency.sum(),
            whole.latency.sum(),
            "{kind}: no latency is lost between intervals"
        );
        let buckets = |operations: &Operations| operations.latency.buckets().collect::<Vec<_>>();
        assert_eq!(
            buckets(operations),
            buckets(whole),
            "{kind}: nor does one change its bucket"
        );
    }
    assert_eq!(
        record
            .workers
            .iter()
            .map(|worker| worker.operations)
            .sum::<u64>(),
        record.operations.count()
    );
    assert_eq!(
        record
            .workers
            .iter()
            .map(|worker| worker.bytes)
            .sum::<u64>(),
        record.operations.bytes()
    );
    assert_eq!(record.loops.abandoned, 0);
}

#[test]
fn one_seed_draws_the_same_operations_on_every_engine() {
    let dir = directory();
    let subject = Subject::of_zeros(&dir, "data", 4 << 20);
    let drawn = |way: Way, seed: &str| {
        let options: Options<'_> = &[
            ("random", "true"),
            ("distribution", "zipf"),
            ("scatter", "true"),
            ("read-percent", "70"),
            ("threads", "3"),
            ("fsync", "40"),
            ("file-size", "4m"),
            ("total-bytes", "3m"),
            ("heatmap", "true"),
            ("seed", seed),
        ];
        let record = if [NULL.name, SIM.name].contains(&way.name) {
            measured(&workload(None, &[way.options, options]))
        } else {
            subject.run(way, options)
        };
        books_balance(&record);
        (counts(&record.operations), record.coverage.unwrap().buckets)
    };
    let expected = drawn(NULL, "7");
    assert_eq!(
        expected
            .0
            .iter()
            .map(|(kind, ..)| kind.as_str())
            .collect::<Vec<_>>(),
        ["fsync", "read", "write"]
    );
    for way in ways_to_data().into_iter().chain([SIM]) {
        assert_eq!(drawn(way, "7"), expected, "{}", way.name);
    }
    assert_ne!(
        drawn(NULL, "8"),
        expected,
        "another seed draws other operations"
    );
}

#[test]
fn the_simulated_device_repeats_itself_to_the_nanosecond() {
    let simulated = |seed: &str| {
        let options: Options<'_> = &[
            ("engine", "sim"),
            ("sim-model", "latency=100us,jitter=exponential,servers=3"),
            ("threads", "2"),
            ("queue-depth", "8"),
            ("random", "true"),
            ("read-percent", "30"),
            ("duration", "2500ms"),
            ("seed", seed),
        ];
        let record = measured(&workload(None, &[options]));
        books_balance(&record);
        assert_eq!(record.series.len(), 3, "two whole intervals and a half");
        (record.elapsed_ns, record.operations, record.series)
    };
    assert_eq!(simulated("5"), simulated("5"));
    assert_ne!(simulated("5").1, simulated("6").1);
}

const WRITE_ALL: Options<'static> = &[
    ("write-percent", "100"),
    ("duration", "0s"),
    ("verify", "true"),
    ("file-size", "1m"),
    ("threads", "2"),
    ("random", "true"),
];
const VERIFY_ALL: Options<'static> = &[
    ("read-percent", "100"),
    ("duration", "0s"),
    ("verify", "true"),
    ("file-size", "1m"),
    ("threads", "2"),
];

#[test]
fn what_one_engine_writes_verifies_under_every_other() {
    let dir = directory();
    for (index, writer) in ways_to_data().into_iter().enumerate() {
        let subject = Subject::of_zeros(&dir, &format!("data{index}"), 1 << 20);
        let written = subject.run(writer, WRITE_ALL);
        assert_eq!(kind(&written, "write").bytes, 1 << 20);
        for reader in ways_to_data() {
            let verification = subject.run(reader, VERIFY_ALL).verification.unwrap();
            let found = (verification.operations, verification.failures);
            assert_eq!(
                found,
                ((1 << 20) / BLOCK, 0),
                "written by {}, read by {}: {:?}",
                writer.name,
                reader.name,
                verification.first
            );
        }
    }
}

#[test]
fn one_wrong_byte_is_found_by_every_engine() {
    let dir = directory();
    let whole = Subject::of_zeros(&dir, "whole", 1 << 20);
    whole.run(NBD, WRITE_ALL);
    let at = 37 * BLOCK + 1234;
    let mut bytes = std::fs::read(&whole.path).unwrap();
    bytes[usize::try_from(at).unwrap()] ^= 1;
    let path = dir.path().join("wrong");
    std::fs::write(&path, bytes).unwrap();
    let wrong = Subject {
        server: NbdServer::over(&path),
        path,
    };
    for way in ways_to_data() {
        let target = if way.name == NBD.name {
            Path::new(&wrong.server.url)
        } else {
            wrong.path.as_path()
        };
        let record = attempt(&workload(Some(target), &[way.options, VERIFY_ALL])).unwrap();
        let verification = record.verification.unwrap();
        assert_eq!(
            (verification.failures, record.outcome.exit_code),
            (1, 1),
            "{}",
            way.name
        );
        assert_eq!(
            verification.first[0].offset / BLOCK,
            37,
            "{}: {:?}",
            way.name,
            verification.first
        );
    }
}

#[test]
fn a_complete_run_moves_every_byte_of_the_file_once() {
    let dir = directory();
    let subject = Subject::of_zeros(&dir, "data", 1 << 20);
    let size = std::fs::metadata(&subject.path).unwrap().size();
    for way in ways_to_data() {
        for options in [
            &[
                ("threads", "3"),
                ("random", "true"),
                ("file-distribution", "shared"),
            ][..],
            &[
                ("threads", "3"),
                ("random", "true"),
                ("file-distribution", "partitioned"),
            ],
            &[("threads", "1")],
        ] {
            let complete: Options<'_> = &[
                ("duration", "0s"),
                ("read-percent", "50"),
                ("heatmap", "true"),
                ("block-size", "8k"),
            ];
            let before = subject.server.books.written_bytes.load(SeqCst);
            let record = subject.run(way, &[complete, options].concat());
            books_balance(&record);
            for name in ["read", "write"] {
                assert_eq!(kind(&record, name).bytes, size, "{}: {name}", way.name);
            }
            let coverage = record.coverage.unwrap();
            assert_eq!(
                (coverage.touched, coverage.uses),
                (size / 8192, 2 * size / 8192),
                "{}",
                way.name
            );
            assert_eq!(record.targets[0].bytes, size, "{}", way.name);
            if way.name == NBD.name {
                assert_eq!(
                    subject.server.books.written_bytes.load(SeqCst) - before,
                    size,
                    "the server's own count agrees"
                );
            }
        }
    }
}

#[test]
fn a_tail_shorter_than_a_block_is_left_out_and_the_claim_says_so() {
    let dir = directory();
    let subject = Subject::of_zeros(&dir, "data", (1 << 20) + 1000);
    for way in ways_to_data() {
        let record = subject.run(way, &[("duration", "0s"), ("write-percent", "100")]);
        assert_eq!(kind(&record, "write").bytes, 1 << 20, "{}", way.name);
    }
}

#[test]
fn mixed_verified_runs_have_no_failures() {
    let dir = directory();
    for sharing in ["shared", "partitioned"] {
        for (index, way) in ways_to_data().into_iter().enumerate() {
            let subject = Subject::of_zeros(&dir, &format!("{sharing}{index}"), 1 << 20);
            subject.run(way, WRITE_ALL);
            let options: Options<'_> = &[
                ("read-percent", "70"),
                ("random", "true"),
                ("verify", "true"),
                ("threads", "4"),
                ("file-size", "1m"),
                ("total-bytes", "16m"),
                ("file-distribution", sharing),
            ];
            let record = subject.run(way, options);
            books_balance(&record);
            let verification = record.verification.as_ref().unwrap();
            assert_eq!(
                verification.failures, 0,
                "{} {sharing}: {:?}",
                way.name, verification.first
            );
            assert_eq!(
                verification.operations,
                count(&record, "read"),
                "{}: every read was judged",
                way.name
            );
            assert!(
                count(&record, "read") > count(&record, "write") && count(&record, "write") > 0
            );
        }
    }
}

/// What a verified run finds on a server that forgets writes, of blocks that were all written
/// before: failures by kind, and how many writes were forgotten.
fn found_where_writes_are_lost(
    writes: Writes,
    options: Options<'_>,
) -> (BTreeMap<String, u64>, u64) {
    let dir = directory();
    let path = zeros(&dir, "export", 1 << 20);
    let server = NbdServer::that_does(writes, &path);
    let url = Path::new(&server.url);
    let on_it = |options: &[Options<'_>]| {
        let mut workload = workload(Some(url), options);
        workload.files.allow_destroy = vec![url.into()];
        attempt(&workload).unwrap()
    };
    assert_eq!(on_it(&[NBD.options, WRITE_ALL]).outcome.exit_code, 0);
    let record = on_it(&[NBD.options, &[("verify", "true")], options]);
    (
        record.verification.unwrap().by_kind,
        server.books.forgotten.load(SeqCst),
    )
}

#[test]
fn a_rewrite_that_is_lost_within_a_mixed_run_is_found_as_stale() {
    let options: Options<'_> = &[
        ("read-percent", "70"),
        ("random", "true"),
        ("total-bytes", "64m"),
    ];
    let forgets = |first| Writes::ForgetsAfter { first, every: 50 };
    let (found, forgotten) = found_where_writes_are_lost(forgets(2000), options);
    assert!(forgotten > 10, "{forgotten}");
    assert_eq!(found.keys().collect::<Vec<_>>(), ["stale"]);
    let (found, forgotten) = found_where_writes_are_lost(forgets(u64::MAX), options);
    assert_eq!((found.len(), forgotten), (0, 0), "nothing is lost");
}

#[test]
fn a_write_that_is_lost_in_a_later_pass_is_found_as_stale() {
    let only = |first| Writes::ForgetsAfter {
        first,
        every: u64::MAX,
    };
    // A pass writes 256 blocks.
    let (found, forgotten) = found_where_writes_are_lost(
        only(300),
        &[
            ("read-percent", "0"),
            ("verify-when", "passes"),
            ("duration", "2s"),
        ],
    );
    assert_eq!((found.get("stale"), forgotten), (Some(&1), 1), "{found:?}");
}

#[test]
fn an_fsync_follows_every_nth_write_to_the_last() {
    let dir = directory();
    let subject = Subject::of_zeros(&dir, "data", 1 << 20);
    let every = |op: &str, n: u64, ways: Vec<Way>| {
        for way in ways {
            for end in [("total-bytes", "1m"), ("duration", "0s")] {
                // 256 blocks: 8 divides them, 7 does not.
                let n_text = n.to_string();
                let options: Options<'_> = &[
                    ("write-percent", "100"),
                    ("file-size", "1m"),
                    (op, &n_text),
                    end,
                ];
                let flushes = subject.server.books.flushes.load(SeqCst);
                let record = if way.name == NULL.name {
                    measured(&workload(None, &[way.options, options]))
                } else {
                    subject.run(way, options)
                };
                books_balance(&record);
                let flushed = subject.server.books.flushes.load(SeqCst) - flushes;
                assert_eq!(count(&record, "write"), 256);
                assert_eq!(
                    count(&record, op),
                    256 / n,
                    "{} {end:?}: {op} {n}",
                    way.name
                );
                assert!(
                    way.name != NBD.name || flushed == 256 / n,
                    "the server's own count agrees"
                );
            }
        }
    };
    every("fsync", 7, ways_to_data());
    every("fsync", 8, ways_to_data());
    every("fdatasync", 8, vec![NULL]);
    let record = measured(&workload(
        None,
        &[
            NULL.options,
            &[
                ("write-percent", "100"),
                ("file-size", "1m"),
                ("total-bytes", "1m"),
                ("threads", "4"),
                ("fsync", "10"),
            ],
        ],
    ));
    assert_eq!(
        count(&record, "fsync"),
        4 * (64 / 10),
        "each worker counts its own writes"
    );
}

#[test]
fn the_last_fsync_of_every_file_is_counted() {
    let dir = directory();
    let subject = Subject::of_zeros(&dir, "data", 1 << 20);
    for end in [("total-bytes", "64k"), ("duration", "0s")] {
        for way in ways_to_data() {
            let record = subject.run(
                way,
                &[
                    ("write-percent", "100"),
                    ("end-fsync", "true"),
                    ("file-size", "1m"),
                    ("threads", "2"),
                    end,
                ],
            );
            books_balance(&record);
            assert_eq!(
                count(&record, "fsync"),
                2,
                "{} {end:?}: one a worker",
                way.name
            );
        }
        let many = dir.path().join(format!("many-{}", end.0));
        let options: Options<'_> = &[
            ("num-files", "3"),
            ("file-size", "64k"),
            ("write-percent", "100"),
            ("end-fsync", "true"),
            end,
        ];
        for way in ways_to_a_file() {
            let record = measured(&workload(Some(&many), &[way.options, options]));
            assert_eq!(
                count(&record, "fsync"),
                3,
                "{} {end:?}: one a file",
                way.name
            );
        }
    }
}

#[test]
fn total_bytes_are_exact_to_one_block() {
    let exact = |way: Way, threads: &str, (total, text): (u64, &str), more: Options<'_>| {
        let options: Options<'_> = &[
            ("total-bytes", text),
            ("threads", threads),
            ("file-size", "1m"),
            ("read-percent", "50"),
        ];
        let record = measured(&workload(None, &[way.options, options, more]));
        books_balance(&record);
        let bytes = record.operations.bytes();
        assert!(
            bytes >= total && bytes < total + BLOCK,
            "{}: {bytes} of {total} by {threads} workers, {more:?}",
            way.name
        );
    };
    for way in [NULL, SIM] {
        for threads in ["1", "3", "7"] {
            for total in [
                (1, "1"),
                (BLOCK, "4k"),
                (BLOCK + 1, "4097"),
                (100 * BLOCK, "400k"),
                (100 * BLOCK + 1, "409601"),
            ] {
                exact(way, threads, total, &[]);
                exact(
                    way,
                    threads,
                    total,
                    &[("block-size", "4k/30:64k/70"), ("random", "true")],
                );
            }
            // What is in flight when the warm-up ends counts as measured, so the total has to have
            // room for it.
            exact(way, threads, (4 << 20, "4m"), &[("warmup", "1ms")]);
        }
    }
}

#[test]
fn what_a_warm_up_counts_is_kept_apart() {
    let options: Options<'_> = &[
        ("engine", "sim"),
        ("sim-model", "latency=100us,servers=4"),
        ("queue-depth", "4"),
        ("threads", "2"),
        ("warmup", "1s"),
        ("duration", "2s"),
    ];
    let record = measured(&workload(None, &[options]));
    books_balance(&record);
    // Two devices of four servers do 80,000 operations a second; at each edge those in service may
    // fall on either side.
    let near = |counted: u64, seconds: u64| counted.abs_diff(80_000 * seconds) <= 8;
    assert!(
        near(record.warmup.count(), 1),
        "{} in the warm-up",
        record.warmup.count()
    );
    assert!(
        near(record.operations.count(), 2),
        "{} measured",
        record.operations.count()
    );
    assert_eq!(
        (
            record.elapsed_ns,
            record.series[0].start_ns,
            record.series.len()
        ),
        (2_000_000_000, 0, 2)
    );
    assert_eq!(record.series[1].end_ns, 2_000_000_000);
}

#[test]
fn an_open_loop_keeps_service_apart_and_counts_what_it_did_not_send() {
    let options = |model| {
        [
            ("engine", "sim"),
            ("sim-model", model),
            ("queue-depth", "4"),
            ("rate-iops", "1000"),
            ("duration", "10s"),
            ("threads", "2"),
            ("arrival", "poisson"),
        ]
    };
    let kept = measured(&workload(None, &[&options("latency=100us,servers=4")]));
    books_balance(&kept);
    let service = kind(&kept, "read").service.as_ref().unwrap();
    assert_eq!(
        (service.min(), service.max()),
        (Some(100_000), Some(100_000))
    );
    assert_eq!(kept.pace.as_ref().unwrap().unsent, 0);
    let overrun = measured(&workload(None, &[&options("latency=100ms,servers=4")]));
    books_balance(&overrun);
    let unsent = overrun.pace.as_ref().unwrap().unsent;
    // Two devices of four servers do 80 a second of the 1000 that were asked for.
    let (sent, intended) = (
        overrun.operations.count(),
        overrun.operations.count() + unsent,
    );
    assert!(
        sent <= 800 && intended.abs_diff(10_000) < 500,
        "{sent} sent, {unsent} unsent"
    );
    let enough = measured(&workload(
        None,
        &[
            &options("latency=100ms,servers=4"),
            &[("total-bytes", "400k"), ("duration", "1h")],
        ],
    ));
    assert_eq!(
        enough.pace.unwrap().unsent,
        0,
        "a run that ended by its bytes left nothing to send"
    );
}

#[test]
fn real_series_add_up_to_the_totals_at_any_interval() {
    let dir = directory();
    let subject = Subject::of_zeros(&dir, "data", 1 << 20);
    let workload = workload(
        Some(&subject.path),
        &[&[
            ("engine", "sync"),
            ("threads", "3"),
            ("read-percent", "50"),
            ("random", "true"),
            ("file-size", "1m"),
            ("total-bytes", "64m"),
            ("warmup", "5ms"),
        ]],
    );
    let mut workload = workload;
    workload.files.allow_destroy = vec![subject.path.clone()];
    let context = host::Context {
        interval_ns: 1_000_000,
        ..context()
    };
    let record = execute(
        &Phase {
            name: "series".into(),
            workload,
        },
        &context,
        &mut NoWatch,
    )
    .unwrap();
    books_balance(&record);
    assert!(record.operations.bytes() >= 64 << 20);
    assert!(
        record.series.is_sorted_by(|a, b| a.end_ns <= b.start_ns),
        "intervals do not overlap"
    );
}

/// The pid column of another program's line cannot hide a waiter: `->` begins only lines of those
/// who wait.
fn somebody_waits_for(inode: u64) -> bool {
    let end = format!(":{inode}");
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    locks
        .lines()
        .any(|line| line.contains("->") && line.split_whitespace().any(|word| word.ends_with(&end)))
}

#[test]
fn a_lock_held_elsewhere_is_waited_for_only_where_the_mode_covers_it() {
    let dir = directory();
    let path = zeros(&dir, "data", 8192);
    let holder = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let inode = holder.metadata().unwrap().ino();
    let options: Options<'_> = &[
        ("engine", "sync"),
        ("threads", "2"),
        ("file-size", "4k"),
        ("duration", "0s"),
    ];
    let only_the_first_block = |mode: &str| {
        workload(
            Some(&path),
            &[options, &[("threads", "1"), ("lock-mode", mode)]],
        )
    };

    ofd_lock(&holder, LockKind::Exclusive, 4096, 4096).unwrap();
    let free = measured(&only_the_first_block("range"));
    assert_eq!(
        free.locks.unwrap().wait.count(),
        1,
        "the second block's lock does not concern the first block"
    );

    for (mode, held_from) in [("full", 4096), ("range", 0)] {
        ofd_lock(&holder, LockKind::Exclusive, held_from, 4096).unwrap();
        let workload = only_the_first_block(mode);
        let worker = std::thread::spawn(move || measured(&workload));
        while !somebody_waits_for(inode) {
            assert!(!worker.is_finished(), "{mode}: the lock was not respected");
            std::thread::yield_now();
        }
        ofd_unlock(&holder, 0, 0).unwrap();
        let locks = worker.join().unwrap().locks.unwrap();
        assert_eq!((locks.mode.as_str(), locks.wait.count()), (mode, 1));
        assert!(locks.wait.max() > Some(0), "{mode}: the wait was measured");
    }
}

#[test]
fn workers_on_one_block_take_turns() {
    let dir = directory();
    let path = zeros(&dir, "data", 4096);
    for mode in ["range", "full"] {
        let options: Options<'_> = &[
            ("engine", "sync"),
            ("threads", "2"),
            ("file-size", "4k"),
            ("read-percent", "50"),
            ("total-bytes", "4m"),
            ("lock-mode", mode),
        ];
        let mut workload = workload(Some(&path), &[options]);
        workload.files.allow_destroy = vec![path.clone()];
        let record = measured(&workload);
        books_balance(&record);
        assert_eq!(
            record.locks.unwrap().wait.count(),
            record.operations.count(),
            "{mode}: a lock an operation"
        );
    }
}

#[test]
fn many_workers_run_and_end() {
    let options: Options<'_> = &[
        ("engine", "null"),
        ("threads", "256"),
        ("queue-depth", "8"),
        ("total-bytes", "64m"),
        ("random", "true"),
    ];
    let record = measured(&workload(None, &[options]));
    books_balance(&record);
    assert_eq!(
        (record.workers.len(), record.operations.bytes()),
        (256, 64 << 20)
    );
    assert!(
        record
            .workers
            .iter()
            .all(|worker| worker.bytes == (64 << 20) / 256)
    );
}

#[test]
fn a_failing_device_ends_the_run_or_is_counted() {
    let model = ("sim-model", "latency=10us,error-every=10");
    let options: Options<'_> = &[("engine", "sim"), model, ("total-bytes", "4m")];
    let stopped = attempt(&workload(None, &[options])).unwrap();
    assert_eq!(
        (
            stopped.operations.count(),
            stopped.operations.errors(),
            stopped.outcome.exit_code
        ),
        (9, 1, 1)
    );
    let counted = attempt(&workload(
        None,
        &[options, &[("continue-on-error", "true")]],
    ))
    .unwrap();
    assert_eq!(
        (counted.operations.count() + counted.operations.errors()) * BLOCK,
        4 << 20
    );
    assert_eq!(
        (counted.operations.errors(), counted.errors[0].count),
        (102, 102)
    );
    books_balance(&counted);
}

#[test]
fn every_file_a_worker_holds_is_written_by_nobody_else() {
    let dir = directory();
    let own = dir.path().join("own");
    for (index, way) in ways_to_a_file().into_iter().enumerate() {
        let path = own.with_extension(index.to_string());
        let options: Options<'_> = &[
            ("file-distribution", "per-worker"),
            ("threads", "3"),
            ("file-size", "256k"),
            ("write-percent", "100"),
            ("duration", "0s"),
        ];
        let record = measured(&workload(Some(&path), &[way.options, options]));
        books_balance(&record);
        for worker in 0..3 {
            let file = std::fs::File::open(format!("{}.worker{worker}", path.display())).unwrap();
            assert_eq!(file.metadata().unwrap().len(), 256 << 10);
            let mut byte = [0; 4096];
            file.read_exact_at(&mut byte, (256 << 10) - 4096).unwrap();
            assert!(
                byte.iter().any(|b| *b != 0),
                "{}: the last block of worker {worker} was written",
                way.name
            );
        }
        assert_eq!(
            record
                .workers
                .iter()
                .map(|worker| worker.bytes)
                .collect::<Vec<_>>(),
            [256 << 10; 3],
            "{}",
            way.name
        );
    }
}
