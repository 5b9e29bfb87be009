//! The instrument's own cost on this machine: part of every record.

use crate::access::{Draw, Order, Share, Space};
use crate::content::Content;
use crate::pace::Pace;
use crate::source::{FlushEvery, Source, SourcePlan};
use crate::tally::Tally;
use crate::worker::{Batching, StopRule, WorkerPlan, work};
use engine::{Clock, EngineError, MachineClock, NullEngine, Op};
use record::{Calibration, LiveCounters};
use std::sync::atomic::AtomicBool;
use workload::ThinkMode;

/// Measures the clock, a sleep, and the worker loop over the null engine, for about `budget_ns` each.
///
/// # Errors
/// Not enough memory for the buffers.
pub fn calibrate(clock: &MachineClock, budget_ns: u64) -> Result<Calibration, EngineError> {
    let mut out =
        Calibration { clock: clock.source().into(), clock_read_ns: clock_read_ns(clock, budget_ns / 4), ..Calibration::default() };
    for depth in [1, 32] {
        out.null_operation_ns.insert(format!("depth {depth}"), null_operation_ns(clock, depth, budget_ns)?);
    }
    out.sleep_overshoot_ns = Some(sleep_overshoot_ns(clock));
    Ok(out)
}

fn clock_read_ns(clock: &MachineClock, budget_ns: u64) -> f64 {
    let start = clock.now();
    let (mut reads, mut now) = (0_u64, start);
    while now - start < budget_ns.max(1000) {
        for _ in 0..64 {
            now = clock.now();
        }
        reads += 64;
    }
    (now - start) as f64 / reads as f64
}

fn sleep_overshoot_ns(clock: &MachineClock) -> u64 {
    engine::sys::precise_sleeps();
    let mut late: Vec<u64> = (0..5)
        .map(|_| {
            let deadline = clock.now() + 100_000;
            clock.sleep_until(deadline);
            clock.now().saturating_sub(deadline)
        })
        .collect();
    late.sort_unstable();
    late[late.len() / 2]
}

fn null_operation_ns(clock: &MachineClock, depth: u32, budget_ns: u64) -> Result<f64, EngineError> {
    const BLOCKS: u64 = 1 << 18;
    let kinds = Op::ALL.map(|op| (op.name(), op == Op::Read));
    let (warmup, measured) = (LiveCounters::new(&kinds, false), LiveCounters::new(&kinds, false));
    let space = Space::new(&[BLOCKS * 4096], 0, 4096);
    let order = Order::Random { share: Share { low: 0, high: BLOCKS }, draw: Draw::Uniform, scatter: None };
    let source = Source::new(SourcePlan {
        space: space.clone(),
        reads: Some(order),
        writes: None,
        read_share: 1.0,
        lengths: vec![(4096, 100)],
        flush: FlushEvery::default(),
        seed: 1,
        worker: 0,
    });
    let halt = AtomicBool::new(false);
    let mut engine = NullEngine::new(depth, 4096)?;
    let start = clock.now();
    let mut plan = WorkerPlan {
        batching: Batching { depth, submit: depth, reap: 1 },
        source,
        pace: Pace::closed(),
        think_mode: ThinkMode::Sleep,
        stop: StopRule { warmup_ends: start + budget_ns / 4, ends: start + budget_ns, bytes: u64::MAX, errors: 1 },
        content: Content::new(&space, 4096, None, None, None),
        locks: None,
        end_flush: Vec::new(),
        warmup: &warmup,
        measured: &measured,
        halt: &halt,
        tick: None,
    };
    let mut tally = Tally::default();
    work(&mut engine, clock, &mut plan, &mut tally)?;
    let operations = measured.snapshot().count().max(1);
    Ok(tally.ended.saturating_sub(tally.started) as f64 / operations as f64)
}
