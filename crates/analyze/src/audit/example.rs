//! Records to try rules on.

use crate::Finding;
use record::{
    BlockDevice, DeviceAccount, GroupAccount, Histogram, Interval, LoopAccount, Operations, Record,
    Source, StorageLayer, Summary, Trial, WorkerAccount,
};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// `count` operations of 4096 bytes, each of `latency_ns`.
pub(crate) fn blocks(count: u64, latency_ns: u64) -> Operations {
    let mut latency = Histogram::default();
    latency.record_many(latency_ns, count);
    Operations {
        count,
        bytes: count * 4096,
        smallest_bytes: Some(4096),
        largest_bytes: Some(4096),
        latency,
        ..Operations::default()
    }
}

/// Direct random reads at depth 32 of a disk for 10 s: every account agrees with every other.
pub(crate) fn sound() -> Record {
    let reads = 100_000;
    let mut record = Record {
        elapsed_ns: 10 * SECOND,
        ..Record::default()
    };
    // Little's law: 32 in flight for 10 s are 3.2 ms for each of 100,000.
    record.operations.insert("read", blocks(reads, 3_200_000));
    record.loops = LoopAccount {
        in_flight_ns: u128::from(32 * 10 * SECOND),
        worker_ns: u128::from(10 * SECOND),
        submissions: 60_000,
        submitted: reads,
        reaps: 60_000,
        reaps_to_empty: 3,
        abandoned: 0,
    };
    record.workers = vec![WorkerAccount {
        ended_ns: 10 * SECOND,
        operations: reads,
        run_queue_wait_ns: Some(1_000_000),
        ..WorkerAccount::default()
    }];
    record.generator_mut().devices = vec![DeviceAccount {
        name: "nvme0n1".into(),
        reads,
        read_bytes: reads * 4096,
        ..DeviceAccount::default()
    }];
    record.generator_mut().environment.storage = Some(StorageLayer {
        device: Some(BlockDevice::default()),
        is_memory: Some(false),
        ..StorageLayer::default()
    });
    for (key, value) in [
        ("engine", "io_uring"),
        ("queue-depth", "32"),
        ("block-size", "4k"),
        ("threads", "1"),
        ("direct", "true"),
        ("random", "true"),
    ] {
        set(&mut record, key, value);
    }
    set(&mut record, "read-percent", "100");
    record
}

/// Buffered writes at depth 1 for 10 s on the same disk.
pub(crate) fn writing() -> Record {
    let mut record = sound();
    record.operations = record::Measurements::default();
    record.operations.insert("write", blocks(100_000, 100_000));
    record.loops.in_flight_ns = u128::from(10 * SECOND);
    for (key, value) in [
        ("queue-depth", "1"),
        ("direct", "false"),
        ("read-percent", "0"),
        ("engine", "sync"),
    ] {
        set(&mut record, key, value);
    }
    record.generator_mut().devices[0].read_bytes = 0;
    record
}

/// What one rank of so many did.
pub(crate) fn part(rank: u32, size: u32) -> Record {
    let mut part = sound();
    part.id = rank.to_string();
    part.group = Some(GroupAccount {
        size,
        launcher: "none".into(),
        ..GroupAccount::default()
    });
    let host = part.generator_mut();
    host.environment.system.hostname = Some(format!("node{rank}"));
    host.rank = Some(rank);
    part
}

/// What so many ranks did together, each on a host of its own and changed as its number asks.
pub(crate) fn group_of(size: u32, change: impl Fn(u32, &mut Record)) -> Record {
    let parts = (0..size).map(|rank| {
        let mut part = part(rank, size);
        change(rank, &mut part);
        part
    });
    Record::merge_all(parts).unwrap()
}

/// What so many ranks did that are alike.
pub(crate) fn group(size: u32) -> Record {
    group_of(size, |_, _| ())
}

/// The sound record with a series of as many seconds as there are rates.
pub(crate) fn with_rates(rates: &[u64]) -> Record {
    let mut record = sound();
    record.interval_ns = SECOND;
    record.series = (0..)
        .zip(rates)
        .map(|(second, rate)| {
            let mut interval = Interval {
                start_ns: second * SECOND,
                end_ns: (second + 1) * SECOND,
                ..Interval::default()
            };
            interval.operations.insert("read", blocks(*rate, 3_200_000));
            interval
        })
        .collect();
    record
}

pub(crate) fn set(record: &mut Record, key: &str, value: &str) {
    record.effective.insert(key.to_owned(), value.to_owned());
}

/// What a document says of one kind of operation, measured for 10 s.
pub(crate) fn quoted(kind: &str, summary: Summary) -> Record {
    Record {
        elapsed_ns: 10 * SECOND,
        summaries: [(kind.to_owned(), summary)].into(),
        source: Some(Source {
            tool: "document".into(),
            format: "document".into(),
            ..Source::default()
        }),
        ..Record::default()
    }
}

/// A record's place in an experiment of one row.
pub(crate) fn placed(record: Record, arm: &str, block: u32, slot: u32) -> Record {
    let trial = Trial {
        plan: "plan".into(),
        arm: arm.into(),
        row: "row".into(),
        block,
        slot,
        ..Trial::default()
    };
    Record {
        trial: Some(trial),
        ..record
    }
}

/// The message of the one finding.
pub(crate) fn only(found: &[Finding]) -> &str {
    assert_eq!(found.len(), 1, "{found:?}");
    &found[0].message
}
