//! A modelled device under a virtual clock: known truth for the whole pipeline, in milliseconds of
//! real time.
//!
//! The device has `servers` that each serve one operation at a time, first come first served:
//! service takes `latency`, constant or exponentially distributed. During a stall nothing starts
//! and nothing ends. With mean service time `L` and `s` servers its highest rate is `s / L`; at
//! depth 1 a closed loop does `1 / L` operations a second.

use crate::{Arena, Completion, Engine, EngineError, Request, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use sys::{Clock, VirtualClock};
use units::Nanos;
use units::random::Random;

/// How the modelled device behaves; all times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimModel {
    pub latency_ns: u64,
    pub exponential: bool,
    pub servers: u32,
    /// Start and length of the one stall.
    pub stall: Option<(u64, u64)>,
    /// Every N-th operation fails with EIO; 0: none.
    pub error_every: u64,
}

impl SimModel {
    /// Reads `latency=100us,jitter=none|exponential,servers=1,stall=3s+2s,error-every=1000`; only
    /// the latency is required.
    ///
    /// # Errors
    /// An unknown key or a value that does not fit.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let bad = |reason: String| EngineError::SimModel {
            model: text.into(),
            reason,
        };
        let time = |value: &str| {
            Nanos::parse(value)
                .map(|n| n.0)
                .map_err(|e| bad(e.to_string()))
        };
        let mut model = Self {
            latency_ns: 0,
            exponential: false,
            servers: 1,
            stall: None,
            error_every: 0,
        };
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| bad(format!("{part:?} is not KEY=VALUE")))?;
            match key.trim() {
                "latency" => model.latency_ns = time(value)?,
                "jitter" => {
                    model.exponential = match value {
                        "none" => false,
                        "exponential" => true,
                        _ => {
                            return Err(bad(format!(
                                "jitter {value:?} is neither none nor exponential"
                            )));
                        }
                    }
                }
                "servers" => {
                    model.servers = value
                        .parse()
                        .ok()
                        .filter(|n| (1..=65_536).contains(n))
                        .ok_or_else(|| bad(format!("servers {value:?} is not 1 to 65536")))?
                }
                "stall" => {
                    let (start, length) = value
                        .split_once('+')
                        .ok_or_else(|| bad(format!("stall {value:?} is not START+LENGTH")))?;
                    model.stall = Some((time(start)?, time(length)?));
                }
                "error-every" => {
                    model.error_every = value.parse().ok().ok_or_else(|| {
                        bad(format!("error-every {value:?} is not a whole number"))
                    })?
                }
                other => return Err(bad(format!("unknown key {other:?}"))),
            }
        }
        if model.latency_ns == 0 {
            return Err(bad("latency must be above zero".into()));
        }
        Ok(model)
    }
}

pub struct SimEngine {
    model: SimModel,
    clock: VirtualClock,
    arena: Arena,
    /// When each server is free again.
    servers: BinaryHeap<Reverse<u64>>,
    /// Operations in service or queued, by their end.
    pending: BinaryHeap<Reverse<(u64, Slot, i64)>>,
    served: u64,
    rng: Random,
}

impl SimEngine {
    /// A device for `depth` operations of `block` bytes that shares the worker's clock; `seed`
    /// decides exponential service times.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(
        model: SimModel,
        clock: VirtualClock,
        depth: u32,
        block: usize,
        seed: u64,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            model,
            clock,
            arena: Arena::new(depth, block)?,
            servers: (0..model.servers).map(|_| Reverse(0)).collect(),
            pending: BinaryHeap::with_capacity(depth as usize),
            served: 0,
            rng: Random::new(seed),
        })
    }

    fn service_ns(&mut self) -> u64 {
        if !self.model.exponential {
            return self.model.latency_ns;
        }
        units::lossless::f64_to_u64_saturating(
            self.model.latency_ns as f64 * self.rng.exponential(),
        )
        .max(1)
    }

    fn end_of(&self, start: u64, service: u64) -> u64 {
        match self.model.stall {
            Some((stall, length)) if start >= stall && start < stall.saturating_add(length) => {
                stall.saturating_add(length).saturating_add(service)
            }
            Some((stall, length)) if start < stall && start.saturating_add(service) > stall => {
                start.saturating_add(service).saturating_add(length)
            }
            Some(_) | None => start.saturating_add(service),
        }
    }
}

impl Engine for SimEngine {
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        let now = self.clock.now();
        for request in batch {
            let Reverse(free) = self.servers.pop().unwrap_or(Reverse(now));
            let service = self.service_ns();
            let end = self.end_of(free.max(now), service);
            self.servers.push(Reverse(end));
            self.served += 1;
            let failed =
                self.model.error_every > 0 && self.served.is_multiple_of(self.model.error_every);
            let result = if failed {
                -i64::from(libc::EIO)
            } else {
                i64::from(request.len)
            };
            self.pending.push(Reverse((end, request.slot, result)));
        }
        Ok(batch.len())
    }

    fn reap(
        &mut self,
        min: usize,
        timeout_ns: u64,
        out: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let limit = self.clock.now().saturating_add(timeout_ns);
        let mut taken = 0;
        while let Some(&Reverse((end, slot, result))) = self.pending.peek() {
            if end > self.clock.now() {
                if taken >= min {
                    break;
                }
                if end > limit {
                    self.clock.advance_to(limit);
                    break;
                }
                self.clock.advance_to(end);
            }
            self.pending.pop();
            out.push(Completion { slot, result });
            taken += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn read(slot: Slot) -> Request {
        Request {
            slot,
            file: 0,
            op: Op::Read,
            offset: 0,
            len: 4096,
        }
    }

    #[test]
    fn servers_work_in_parallel_and_queue_beyond() {
        let clock = VirtualClock::default();
        let mut engine = SimEngine::new(
            SimModel::parse("latency=100us,servers=2").unwrap(),
            clock.clone(),
            4,
            4096,
            1,
        )
        .unwrap();
        engine.submit(&[read(0), read(1), read(2)]).unwrap();
        let mut out = Vec::new();
        engine.reap(2, u64::MAX, &mut out).unwrap();
        assert_eq!((out.len(), clock.now()), (2, 100_000));
        engine.reap(1, 50_000, &mut out).unwrap();
        assert_eq!(
            (out.len(), clock.now()),
            (2, 150_000),
            "a timeout passes time and completes nothing"
        );
        engine.reap(1, u64::MAX, &mut out).unwrap();
        assert_eq!((out.len(), clock.now()), (3, 200_000));
    }

    #[test]
    fn nothing_ends_inside_a_stall() {
        let clock = VirtualClock::default();
        let mut engine = SimEngine::new(
            SimModel::parse("latency=100us,stall=50us+2s").unwrap(),
            clock.clone(),
            1,
            4096,
            1,
        )
        .unwrap();
        let mut out = Vec::new();
        engine.submit(&[read(0)]).unwrap();
        engine.reap(1, u64::MAX, &mut out).unwrap();
        assert_eq!(clock.now(), 2_000_100_000);
    }

    #[test]
    fn time_ends_where_its_clock_does() {
        let clock = VirtualClock::default();
        let model = SimModel::parse("latency=200000d,stall=1ns+1ns").unwrap();
        let mut engine = SimEngine::new(model, clock.clone(), 2, 4096, 1).unwrap();
        let mut out = Vec::new();
        engine.submit(&[read(0), read(1)]).unwrap();
        engine.reap(2, u64::MAX, &mut out).unwrap();
        assert_eq!((out.len(), clock.now()), (2, u64::MAX));
    }

    #[test]
    fn a_bad_model_says_what_a_good_one_is() {
        let error = SimModel::parse("latency=fast").unwrap_err().to_string();
        assert!(error.contains("example: latency=100us"), "{error}");
    }
}
