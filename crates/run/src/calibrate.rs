//! The instrument's own cost on this machine: part of every record.

use crate::access::{Draw, Order, Share, Space};
use crate::content::Content;
use crate::pace::Pace;
use crate::source::{FlushEvery, Source, SourcePlan};
use crate::tally::Tally;
use crate::worker::{Batching, StopRule, WorkerPlan, work};
use engine::{EngineError, NullEngine, Op};
use record::{Calibration, LiveCounters};
use std::sync::atomic::AtomicBool;
use sys::{Clock, MachineClock};
use workload::ThinkMode;

/// Measures the clock, a sleep, and the worker loop over the null engine, for about `budget_ns`
/// each.
///
/// # Errors
/// Not enough memory for the buffers.
pub fn calibrate(clock: &MachineClock, budget_ns: u64) -> Result<Calibration, EngineError> {
    let mut out = Calibration {
        clock: clock.source().into(),
        clock_read_ns: clock_read_ns(clock, budget_ns / 4),
        ..Calibration::default()
    };
    for depth in [1, 32] {
        if let Some(cost) = null_operation_ns(clock, depth, budget_ns)? {
            out.null_operation_ns.insert(format!("depth {depth}"), cost);
        }
    }
    out.sleep_overshoot_ns = Some(sleep_overshoot_ns(clock));
    Ok(out)
}

/// The least of several rounds, as for operations.
fn clock_read_ns(clock: &MachineClock, budget_ns: u64) -> f64 {
    (0..ROUNDS)
        .map(|_| clock_round_ns(clock, budget_ns / ROUNDS))
        .fold(f64::INFINITY, f64::min)
}

fn clock_round_ns(clock: &MachineClock, budget_ns: u64) -> f64 {
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
    let _meanwhile = sys::precise_sleeps();
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

/// Rounds into which the time is divided: what else runs on the machine makes a round longer, and
/// never shorter.
const ROUNDS: u64 = 5;
/// How often a round is repeated that the scheduler has spoilt.
const TRIES: u64 = 5;

/// Time of one operation in the loop, the least of several rounds; `None` where the scheduler left
/// no round whole.
///
/// A worker that loses its CPU from before the end of the warm-up to after the end of the round
/// measures nothing, and nothing divided by no operations is not a cost of 0 ns.
fn null_operation_ns<C: Clock>(
    clock: &C,
    depth: u32,
    budget_ns: u64,
) -> Result<Option<f64>, EngineError> {
    let (mut least, mut whole) = (None, 0);
    for _ in 0..ROUNDS + TRIES {
        let (elapsed_ns, operations) = null_round(clock, depth, budget_ns / ROUNDS)?;
        if operations > 0 && elapsed_ns > 0 {
            let cost = elapsed_ns as f64 / operations as f64;
            least = Some(least.map_or(cost, |least: f64| least.min(cost)));
            whole += 1;
        }
        if whole == ROUNDS {
            break;
        }
    }
    Ok(least)
}

/// Measured time and operations of the loop over the null engine.
fn null_round<C: Clock>(clock: &C, depth: u32, budget_ns: u64) -> Result<(u64, u64), EngineError> {
    const BLOCKS: u64 = 1 << 18;
    let kinds = Op::ALL.map(|op| (op.name(), op == Op::Read));
    let (warmup, measured) = (
        LiveCounters::new(&kinds, false),
        LiveCounters::new(&kinds, false),
    );
    let space = Space::new(&[BLOCKS * 4096], 0, 4096);
    let order = Order::Random {
        share: Share {
            low: 0,
            high: BLOCKS,
        },
        draw: Draw::Uniform,
        scatter: None,
    };
    let source = Source::new(SourcePlan {
        space: space.clone(),
        reads: Some(order),
        writes: None,
        one_order: false,
        read_share: 1.0,
        lengths: vec![(4096, 100)],
        bytes: u64::MAX,
        flush: FlushEvery::default(),
        seed: 1,
        worker: 0,
    });
    let halt = AtomicBool::new(false);
    let mut engine = NullEngine::new(depth, 4096)?;
    let start = clock.now();
    let mut plan = WorkerPlan {
        batching: Batching {
            depth,
            submit: depth,
            reap: 1,
        },
        source,
        pace: Pace::closed(),
        think_mode: ThinkMode::Sleep,
        stop: StopRule {
            warmup_ends: start + budget_ns / 4,
            ends: start + budget_ns,
            bytes: u64::MAX,
            errors: 1,
        },
        stonewall: None,
        wears_out_until: None,
        content: Content::new(&space, 4096, None, None, None),
        locks: None,
        end_flush: Vec::new(),
        warmup: &warmup,
        measured: &measured,
        halt: &halt,
        run_queue_wait: None,
        tick: None,
    };
    let mut tally = Tally::default();
    work(&mut engine, clock, &mut plan, &mut tally, || ())?;
    Ok((
        tally.ended.saturating_sub(tally.started),
        measured.snapshot().count(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A clock that a tick passes on at each reading, and on which `pauses` readings find that the
    /// CPU was away for a second.
    #[derive(Clone)]
    struct Interrupted {
        now: Rc<Cell<u64>>,
        pauses: Rc<Cell<u64>>,
    }

    impl Interrupted {
        fn new(pauses: u64) -> Self {
            Self {
                now: Rc::new(Cell::new(0)),
                pauses: Rc::new(Cell::new(pauses)),
            }
        }
    }

    impl Clock for Interrupted {
        fn now(&self) -> u64 {
            // The first reading of a round is its start; a worker that loses the CPU right after it
            // finds the round over.
            let away = self.pauses.get() > 0 && !self.now.get().is_multiple_of(1_000_000_000);
            self.pauses.set(self.pauses.get() - u64::from(away));
            let step = if away {
                1_000_000_000 - self.now.get() % 1_000_000_000
            } else {
                10
            };
            self.now.set(self.now.get() + step);
            self.now.get()
        }

        fn sleep_until(&self, deadline: u64) {
            self.now.set(self.now.get().max(deadline));
        }

        fn is_virtual(&self) -> bool {
            true
        }
    }

    /// Readings are ten times as far apart until so many were made.
    #[derive(Clone)]
    struct Busy {
        now: Rc<Cell<u64>>,
        slow: Rc<Cell<u64>>,
    }

    impl Clock for Busy {
        fn now(&self) -> u64 {
            self.slow.set(self.slow.get().saturating_sub(1));
            self.now
                .set(self.now.get() + if self.slow.get() > 0 { 1000 } else { 10 });
            self.now.get()
        }

        fn sleep_until(&self, deadline: u64) {
            self.now.set(self.now.get().max(deadline));
        }

        fn is_virtual(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_busy_machine_while_one_round_lasts_costs_nothing() {
        let of = |slow: u64| {
            let clock = Busy {
                now: Rc::new(Cell::new(0)),
                slow: Rc::new(Cell::new(slow)),
            };
            null_operation_ns(&clock, 1, 1_000_000).unwrap().unwrap()
        };
        let quiet = of(0);
        assert!(
            (of(300) / quiet - 1.0).abs() < 0.05,
            "{} for {quiet}",
            of(300)
        );
        assert!(
            of(u64::MAX) > 10.0 * quiet,
            "a machine that is never quiet is no quiet machine"
        );
    }

    #[test]
    fn a_round_in_which_nothing_ran_is_measured_again_and_is_no_cost_of_nothing() {
        let cost = null_operation_ns(&Interrupted::new(0), 1, 100_000).unwrap();
        assert!(cost.is_some_and(|ns| ns >= 10.0), "{cost:?}");
        assert_eq!(
            null_round(&Interrupted::new(1), 1, 100_000).unwrap().1,
            0,
            "the round is spoilt"
        );
        for pauses in 1..4 {
            assert_eq!(
                null_operation_ns(&Interrupted::new(pauses), 1, 100_000).unwrap(),
                cost,
                "{pauses} pauses"
            );
        }
        assert_eq!(
            null_operation_ns(&Interrupted::new(u64::MAX), 1, 100_000).unwrap(),
            None
        );
    }

    #[test]
    fn every_calibration_has_both_depths_and_none_costs_nothing() {
        let calibration = calibrate(&MachineClock::monotonic(), 200_000).unwrap();
        assert!(
            calibration.null_operation_ns.values().all(|ns| *ns > 0.0),
            "{calibration:?}"
        );
        assert!(calibration.clock_read_ns > 0.0);
    }
}
