//! The loop: one thread, one engine, slots filled as they fall idle.
//!
//! After its first turn the loop allocates nothing, takes no lock and formats nothing; it reads the
//! clock when a batch has been reaped and once more before a submission if anything but drawing
//! offsets happened in between.

mod bounds;
mod direct;
mod otherwise;
mod plan;
mod state;
mod stonewall;

pub(crate) use plan::{Batching, StopRule, Tick, WorkerPlan};
use state::{IDLE, InFlight, LoopStage, NextDraw};

use crate::pace::Due;
use crate::source::Drawn;
use crate::steps::Between;
use crate::stonewall::StonewallMeeting;
use crate::tally::Tally;
use engine::{Completion, Engine, EngineError, Op, Request, Slot};
use record::LiveCounters;
use std::sync::atomic::Ordering::Relaxed;
use sys::Clock;
use workload::ThinkMode;

/// Below this distance to a due time the loop polls: a sleep would end too late.
const POLL_NS: u64 = 70_000;
/// How often a worker that has left a step looks whether all others have.
const MEETING_LOOK_NS: u64 = 20_000;
/// Longest wait before the stop flag is looked at again.
const PATIENCE_NS: u64 = 100_000_000;

/// Runs the plan to its end, from when `arrive` comes back: what the loop needs is there by then, so that
/// its first operation waits for nothing else.
///
/// # Errors
/// The engine failed as a whole; what was counted stays in the live counters and in `tally`.
pub(crate) fn work<E: Engine, C: Clock>(
    engine: &mut E,
    clock: &C,
    plan: &mut WorkerPlan<'_>,
    tally: &mut Tally,
    arrive: impl FnOnce(),
) -> Result<(), EngineError> {
    let prepared = Loop::new(engine, clock, plan, tally);
    arrive();
    prepared.run()
}

/// A pause gives the CPU away to its end; an open loop must start on time; spinning never sleeps.
/// Virtual time has no late sleepers.
fn margin<C: Clock>(clock: &C, plan: &WorkerPlan<'_>) -> u64 {
    match plan.think_mode {
        _ if clock.is_virtual() => 0,
        _ if plan.pace.is_open() => POLL_NS,
        ThinkMode::Sleep => 0,
        ThinkMode::Spin => u64::MAX,
    }
}

struct Loop<'a, 'p, E, C> {
    engine: &'a mut E,
    clock: &'a C,
    plan: &'a mut WorkerPlan<'p>,
    tally: &'a mut Tally,
    slots: Vec<InFlight>,
    idle: Vec<Slot>,
    batch: Vec<Request>,
    done: Vec<Completion>,
    counters: &'p LiveCounters,
    stage: LoopStage,
    bytes_left: u64,
    /// Nothing was left to start.
    complete: bool,
    /// Until this worker has reported there.
    stonewall: Option<&'p StonewallMeeting>,
    /// What it had begun there, where it goes on.
    wears_out: Option<(&'p StonewallMeeting, u64)>,
    now: u64,
    next_tick: u64,
    work_before_submit: bool,
    /// Whether [`Loop::sprint`] does all that a turn would.
    direct_path: bool,
    /// How long before a due time sleeping gives way to polling.
    margin: u64,
}

impl<'a, 'p, E: Engine, C: Clock> Loop<'a, 'p, E, C> {
    fn new(
        engine: &'a mut E,
        clock: &'a C,
        plan: &'a mut WorkerPlan<'p>,
        tally: &'a mut Tally,
    ) -> Self {
        let depth = plan.batching.depth as usize;
        Self {
            engine,
            clock,
            tally,
            slots: vec![IDLE; depth],
            idle: (0..plan.batching.depth).rev().collect(),
            batch: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
            counters: plan.measured,
            stage: LoopStage::Running,
            bytes_left: plan.stop.bytes,
            complete: false,
            stonewall: plan.stonewall,
            wears_out: None,
            now: 0,
            next_tick: u64::MAX,
            work_before_submit: plan.content.takes_time() || plan.locks.is_some(),
            direct_path: E::PERFORMS && direct::is_open(plan),
            margin: margin(clock, plan),
            plan,
        }
    }

    fn run(mut self) -> Result<(), EngineError> {
        self.begin_of_loop();
        let outcome = self.turn();
        self.end_of_loop();
        outcome
    }

    fn turn(&mut self) -> Result<(), EngineError> {
        loop {
            self.edge();
            if self.direct_path && self.stage == LoopStage::Running {
                self.sprint();
                continue;
            }
            let wait = self.fill();
            if self.stage == LoopStage::Draining && self.in_flight() == 0 && self.batch.is_empty() {
                return Ok(());
            }
            self.submit()?;
            self.reap(wait)?;
            if self.plan.halt.load(Relaxed) && self.tally.patience_is_over(self.now) {
                return Ok(());
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.idle.len() - self.batch.len()
    }

    /// What a point in time decides: warm-up over, time over, interval over.
    #[inline]
    fn edge(&mut self) {
        if self.stage == LoopStage::Running
            && (self.now >= self.plan.stop.ends || self.plan.halt.load(Relaxed))
        {
            self.end_of_time();
        }
        if !std::ptr::eq(self.counters, self.plan.measured)
            && self.now >= self.plan.stop.warmup_ends
        {
            self.begin_measured_time();
        }
        while self.now >= self.next_tick {
            if let Some(tick) = &mut self.plan.tick {
                (tick.edge)(self.next_tick);
                self.next_tick += tick.every_ns;
            }
        }
    }

    /// Bytes of operations that have begun and not ended: begun in the warm-up, they end in the
    /// measured time and count there.
    fn bytes_begun(&self) -> u64 {
        let all: u64 = self
            .slots
            .iter()
            .map(|slot| u64::from(slot.drawn.len))
            .sum();
        let ended: u64 = self
            .idle
            .iter()
            .map(|slot| u64::from(self.slots[*slot as usize].drawn.len))
            .sum();
        all - ended
    }

    fn finish(&mut self) {
        self.report_once();
        if self.plan.end_flush.is_empty() || self.plan.halt.load(Relaxed) {
            self.stage = LoopStage::Draining;
        } else {
            self.stage = LoopStage::Flushing;
            self.plan
                .source
                .end_with_flush(std::mem::take(&mut self.plan.end_flush).into_iter());
        }
    }

    /// Fills idle slots with due operations; returns how long nothing more will be due.
    #[inline]
    fn fill(&mut self) -> u64 {
        while self.batch.len() < self.plan.batching.submit as usize {
            let Some(&slot) = self.idle.last() else {
                return PATIENCE_NS;
            };
            let (drawn, intended) = match self.stage {
                LoopStage::Running => match self.draw() {
                    NextDraw::Operation { drawn, intended } => (drawn, intended),
                    NextDraw::At(time) => {
                        return time
                            .min(self.plan.stop.ends)
                            .saturating_sub(self.now)
                            .clamp(1, PATIENCE_NS);
                    }
                    NextDraw::Complete => {
                        self.complete = true;
                        self.finish();
                        continue;
                    }
                },
                LoopStage::Waiting => match self.meet() {
                    Some(wait_ns) => return wait_ns,
                    None => continue,
                },
                // A flush must cover what was written, so everything else has to end first.
                LoopStage::Flushing if self.idle.len() < self.slots.len() => return PATIENCE_NS,
                LoopStage::Flushing => match self.plan.source.next_at_end() {
                    Some(drawn) => (drawn, self.now),
                    None => {
                        self.stage = LoopStage::Draining;
                        return PATIENCE_NS;
                    }
                },
                LoopStage::Draining => return PATIENCE_NS,
            };
            self.idle.pop();
            self.start(slot, drawn, intended);
        }
        // A full batch with slots to spare: hand it over and fill on, so that the depth is reached
        // before anything is waited for.
        if self.idle.is_empty() { PATIENCE_NS } else { 0 }
    }

    /// The next operation of a running worker. A flush follows its write at once and is no event of
    /// the pace.
    #[inline]
    fn draw(&mut self) -> NextDraw {
        if let Some(drawn) = self.plan.source.next_flush() {
            return NextDraw::Operation {
                drawn,
                intended: self.now,
            };
        }
        if self.bytes_left == 0 {
            return NextDraw::Complete;
        }
        match self.plan.pace.due(self.now) {
            Due::At(time) => NextDraw::At(time),
            Due::Now { intended } => match self.plan.source.next() {
                Some(drawn) => {
                    self.plan.pace.started(drawn.len.into(), self.now);
                    NextDraw::Operation { drawn, intended }
                }
                None => self.draw_next_step(),
            },
        }
    }

    /// The source has given all that it had: what follows is another step, or nothing.
    #[cold]
    fn draw_next_step(&mut self) -> NextDraw {
        let is_idle = self.idle.len() == self.slots.len();
        let between = self.plan.source.between(self.now, is_idle);
        let is_first = !self.plan.source.has_left_a_step();
        if !is_first {
            self.leave_step();
        }
        match between {
            Between::Over => NextDraw::Complete,
            Between::NotYet => NextDraw::At(self.now + MEETING_LOOK_NS),
            Between::Begun(op) => {
                if op == Op::Write {
                    self.plan
                        .content
                        .begin_pass(self.plan.source.write_passes().ended);
                }
                self.begin_to_pace(is_first);
                self.draw()
            }
        }
    }

    #[inline]
    fn start(&mut self, slot: Slot, drawn: Drawn, intended: u64) {
        if self.bytes_left != u64::MAX && std::ptr::eq(self.counters, self.plan.measured) {
            self.bytes_left = self.bytes_left.saturating_sub(u64::from(drawn.len));
        }
        if drawn.op == Op::Write {
            let buffer = &mut self.engine.buffer(slot)[..drawn.len as usize];
            self.plan.content.prepare(buffer, &drawn);
        } else if drawn.op == Op::Read {
            self.plan.content.expect(slot, &drawn);
        }
        if let Some(locks) = &mut self.plan.locks {
            locks.take(self.clock, &drawn);
        }
        self.slots[slot as usize] = InFlight {
            drawn,
            intended,
            issued: 0,
        };
        self.batch.push(Request {
            slot,
            file: drawn.file,
            op: drawn.op,
            offset: drawn.offset,
            len: drawn.len,
        });
    }

    /// Reads the clock after work that took time of its own; what is prepared is not in flight yet.
    fn pass_time(&mut self) {
        let before = std::mem::replace(&mut self.now, self.clock.now());
        self.tally.in_flight(before, self.now, self.in_flight());
    }

    #[inline]
    fn submit(&mut self) -> Result<(), EngineError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        if self.work_before_submit {
            self.pass_time();
        }
        let issued = self.now;
        let accepted = self.engine.submit(&self.batch)?;
        for request in &self.batch[..accepted] {
            let state = &mut self.slots[request.slot as usize];
            state.issued = issued;
            if !self.plan.pace.is_open() {
                state.intended = issued;
            }
        }
        self.tally.submitted(accepted);
        if accepted == self.batch.len() {
            self.batch.clear();
        } else {
            self.batch.drain(..accepted);
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait_ns: u64) -> Result<(), EngineError> {
        let in_flight = self.in_flight();
        self.done.clear();
        if in_flight == 0 {
            self.pause(wait_ns);
        } else if wait_ns >= PATIENCE_NS {
            let min = (self.plan.batching.reap as usize).min(in_flight);
            self.engine.reap(min, wait_ns, &mut self.done)?;
        } else if wait_ns > self.margin {
            self.engine.reap(1, wait_ns - self.margin, &mut self.done)?;
        } else {
            self.engine.reap(0, 0, &mut self.done)?;
        }
        let before = std::mem::replace(&mut self.now, self.clock.now());
        self.tally.in_flight(before, self.now, in_flight);
        self.tally.reaped(self.now, in_flight, self.done.len());
        for i in 0..self.done.len() {
            let completion = self.done[i];
            self.end(completion);
        }
        self.counters.set_in_flight(self.in_flight() as u64);
        Ok(())
    }

    /// Nothing is in flight: wait for the next due time.
    fn pause(&mut self, wait_ns: u64) {
        if self.stage == LoopStage::Waiting {
            return self.rest(wait_ns);
        }
        if self.stage != LoopStage::Running || wait_ns == 0 {
            return;
        }
        if wait_ns > self.margin {
            self.clock.sleep_until(self.now + wait_ns - self.margin);
        } else {
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn end(&mut self, completion: Completion) {
        let slot = completion.slot;
        let InFlight {
            drawn,
            intended,
            issued,
        } = self.slots[slot as usize];
        self.idle.push(slot);
        if let Some(locks) = &mut self.plan.locks {
            locks.release(&drawn);
        }
        let latency = self.now.saturating_sub(intended);
        let wanted = if drawn.op.transfers() {
            i64::from(drawn.len)
        } else {
            0
        };
        let kind = self.counters.kind(drawn.op as usize);
        if completion.result == wanted {
            kind.succeeded(
                u64::from(drawn.len),
                latency,
                self.now.saturating_sub(issued),
            );
            if !self.plan.content.is_trivial()
                && let Some(outcome) =
                    self.plan
                        .content
                        .ended(self.engine.buffer(slot), slot, &drawn)
            {
                self.tally.verified(&outcome);
            }
        } else {
            let service = self.now.saturating_sub(issued);
            self.end_otherwise(drawn, completion.result, service);
        }
        self.plan.pace.ended(self.now, latency);
    }
}
