//! Records of an experiment with a known truth.

use record::{Histogram, Operations, Record, Role, SCHEMA, Trial};
use units::random::Random;

/// How large an experiment is.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) arms: u32,
    pub(crate) rows: u32,
    pub(crate) blocks: u32,
    /// Whether records have latencies, which are large.
    pub(crate) with_latency: bool,
}

/// Randomised blocks on one machine; arm 0 is the baseline, and the last arm does `ratio` times as
/// much.
pub(crate) fn experiment(shape: Shape, ratio: f64) -> Vec<Record> {
    let mut rng = Random::new(7);
    let mut slot = 0;
    let mut out = Vec::new();
    for block in 0..shape.blocks {
        for row in 0..shape.rows {
            let mut arms: Vec<u32> = (0..shape.arms).collect();
            rng.shuffle(&mut arms);
            for arm in arms {
                let noise = 1.0 + (f64::from((slot * 7919) % 1001) - 500.0) / 25_000.0;
                let effect = if arm + 1 == shape.arms { ratio } else { 1.0 };
                out.push(record(
                    shape,
                    arm,
                    row,
                    block,
                    slot,
                    20_000.0 * noise * effect,
                ));
                slot += 1;
            }
        }
    }
    out
}

fn record(shape: Shape, arm: u32, row: u32, block: u32, slot: u32, per_second: f64) -> Record {
    let count = units::lossless::f64_to_u64_saturating(per_second);
    let mut latency = Histogram::default();
    if shape.with_latency {
        let mean = 1_000_000_000 / count;
        latency.record_many(mean / 2, count / 2);
        latency.record_many(mean * 3 / 2, count - count / 2);
    }
    let mut record = Record {
        schema: SCHEMA,
        id: format!("synthetic-{slot}"),
        kind: "run".into(),
        name: format!("row {row}"),
        started_at: format!(
            "2026-01-01T{:02}:{:02}:{:02}.000Z",
            slot / 3600 % 24,
            slot / 60 % 60,
            slot % 60
        ),
        elapsed_ns: 1_000_000_000,
        trial: Some(Trial {
            plan: "synthetic".into(),
            arm: format!("arm {arm}"),
            row: format!("row {row}"),
            block,
            slot,
            role: if arm == 0 {
                Role::Baseline
            } else {
                Role::Candidate
            },
            ..Trial::default()
        }),
        ..Record::default()
    };
    record.operations.insert(
        "read",
        Operations {
            count,
            bytes: count * 4096,
            latency,
            ..Operations::default()
        },
    );
    for (key, value) in [
        ("engine", "io_uring"),
        ("block-size", "4k"),
        ("random", "true"),
        ("direct", "true"),
        ("threads", "1"),
    ] {
        record.effective.insert(key.into(), value.into());
    }
    let depth = 1_u64 << (row % 8);
    record
        .effective
        .insert("queue-depth".into(), depth.to_string());
    (record.loops.worker_ns, record.loops.in_flight_ns) = (
        u128::from(record.elapsed_ns),
        u128::from(depth * record.elapsed_ns),
    );
    record.effective.insert("seed".into(), block.to_string());
    let system = &mut record.generator_mut().environment.system;
    (system.hostname, system.kernel_release) = (Some("bench".into()), Some("6.12.0".into()));
    record.generator_mut().environment.cpu.model = Some("Some CPU".into());
    record
}
