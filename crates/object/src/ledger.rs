//! What one load thread counts. One thread writes; the live counters are read by others while it
//! runs.

use crate::failure::{Failure, FailureKind};
use crate::verbs::{CALLS, Call};
use record::{
    EndpointAccount, ErrorClass, ErrorCount, Histogram, LiveCounters, LoopAccount, RequestPhases,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Moments of one successful request, in nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moments {
    pub(crate) intended: u64,
    pub(crate) issued: u64,
    /// When the new connection stood, if one was opened.
    pub(crate) connected: Option<u64>,
    pub(crate) sent: u64,
    pub(crate) first_byte: u64,
    pub(crate) done: u64,
}

/// The first failure of its words, and how many there were.
struct Failures {
    count: u64,
    key: String,
    offset: u64,
    class: ErrorClass,
}

/// What went to one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndpointCells {
    pub(crate) begun: Cell<u64>,
    pub(crate) succeeded: Cell<u64>,
    pub(crate) opened: Cell<u64>,
    pub(crate) not_opened: Cell<u64>,
}

/// Counters of one thread.
pub(crate) struct Ledger {
    pub(crate) live: Arc<LiveCounters>,
    phases: RefCell<Vec<Option<RequestPhases>>>,
    errors: RefCell<HashMap<(Call, String), Failures>>,
    pub(crate) iterations: RefCell<Histogram>,
    pub(crate) lateness: RefCell<Histogram>,
    pub(crate) skipped: Cell<u64>,
    pub(crate) queued: Cell<u64>,
    pub(crate) retries: Cell<u64>,
    /// In the order of the target.
    pub(crate) endpoints: Vec<EndpointCells>,
    pub(crate) signed: Cell<u64>,
    pub(crate) signing_ns: Cell<u64>,
    pub(crate) verified: Cell<u64>,
    pub(crate) wrong: Cell<u64>,
    /// Requests in flight, since when, and the integral before.
    flight: Cell<(u64, u64, u128)>,
    /// Requests in flight by kind.
    unanswered: [Cell<u64>; CALLS.len()],
    /// Tries that went out and of which nobody knows what came of them, by kind: those in flight as well.
    in_doubt: [Cell<u64>; CALLS.len()],
    last_done: Cell<u64>,
}

pub(crate) fn add(cell: &Cell<u64>, n: u64) {
    cell.set(cell.get() + n);
}

/// Live counters for these kinds of requests.
pub(crate) fn live_counters(calls: &[Call], is_open: bool) -> Arc<LiveCounters> {
    let kinds: Vec<(&'static str, bool)> = CALLS
        .iter()
        .map(|call| (call.request().name, calls.contains(call)))
        .collect();
    Arc::new(LiveCounters::new(&kinds, is_open))
}

impl Ledger {
    /// Nothing counted yet, of a target with so many endpoints.
    pub(crate) fn new(live: Arc<LiveCounters>, endpoints: usize) -> Self {
        Self {
            live,
            phases: RefCell::new(vec![None; CALLS.len()]),
            errors: RefCell::default(),
            iterations: RefCell::default(),
            lateness: RefCell::default(),
            skipped: Cell::default(),
            queued: Cell::default(),
            retries: Cell::default(),
            endpoints: vec![EndpointCells::default(); endpoints],
            signed: Cell::default(),
            signing_ns: Cell::default(),
            verified: Cell::default(),
            wrong: Cell::default(),
            flight: Cell::default(),
            unanswered: Default::default(),
            in_doubt: Default::default(),
            last_done: Cell::default(),
        }
    }

    /// A request begins.
    pub(crate) fn enter(&self, call: Call, now: u64) {
        add(&self.unanswered[call.index()], 1);
        self.change_flight(now, |n| n + 1);
    }

    /// A try of a request begins: the server may do it from here on.
    pub(crate) fn doubt(&self, call: Call) {
        add(&self.in_doubt[call.index()], 1);
    }

    /// It is known what came of a try.
    pub(crate) fn know(&self, call: Call) {
        let in_doubt = &self.in_doubt[call.index()];
        in_doubt.set(in_doubt.get().saturating_sub(1));
    }

    /// Tries of which nobody knows what came of them.
    pub(crate) fn in_doubt(&self, call: Call) -> u64 {
        self.in_doubt[call.index()].get()
    }

    fn change_flight(&self, now: u64, change: impl Fn(u64) -> u64) {
        let (n, since, integral) = self.flight.get();
        let after = change(n);
        self.flight.set((
            after,
            now,
            integral + u128::from(n) * u128::from(now.saturating_sub(since)),
        ));
        self.live.set_in_flight(after);
    }

    fn leave(&self, call: Call, now: u64) {
        let unanswered = &self.unanswered[call.index()];
        unanswered.set(unanswered.get().saturating_sub(1));
        self.change_flight(now, |n| n.saturating_sub(1));
        self.last_done.set(self.last_done.get().max(now));
    }

    pub(crate) fn succeeded(&self, call: Call, bytes: u64, at: &Moments) {
        self.leave(call, at.done);
        self.live
            .kind(call.index())
            .succeeded(bytes, at.done - at.intended, at.done - at.issued);
        let mut phases = self.phases.borrow_mut();
        let phases = phases[call.index()].get_or_insert_default();
        if let Some(connected) = at.connected {
            phases.connecting.record(connected - at.issued);
        }
        phases
            .sending
            .record(at.sent - at.connected.unwrap_or(at.issued));
        phases.waiting.record(at.first_byte.saturating_sub(at.sent));
        phases
            .receiving
            .record(at.done - at.first_byte.max(at.sent));
    }

    pub(crate) fn failed(&self, call: Call, failure: &Failure, key: &[u8], now: u64) {
        self.leave(call, now);
        self.live.kind(call.index()).failed();
        let mut errors = self.errors.borrow_mut();
        let entry = errors
            .entry((call, failure.what.clone()))
            .or_insert_with(|| Failures {
                count: 0,
                key: String::from_utf8_lossy(key).into_owned(),
                offset: failure.offset,
                class: failure.kind.class(),
            });
        entry.count += 1;
    }

    /// Counts requests that nobody waits for any more as failures, and returns how many there were.
    pub(crate) fn abandon(&self, now: u64) -> u64 {
        let failure = Failure::new(FailureKind::Timeout, "not answered when the run ended");
        let (n, last) = (self.flight.get().0, self.last_done.get());
        for call in CALLS.iter().copied() {
            (0..self.unanswered[call.index()].get())
                .for_each(|_| self.failed(call, &failure, b"", now));
        }
        // Giving up is not the end of an operation.
        self.last_done.set(last);
        n
    }

    /// What went to each endpoint, by their addresses.
    pub(crate) fn endpoints<'a>(
        &self,
        addresses: impl Iterator<Item = &'a str>,
    ) -> Vec<EndpointAccount> {
        let account = |(cells, address): (&EndpointCells, &str)| EndpointAccount {
            address: address.to_owned(),
            operations: cells.succeeded.get(),
            errors: cells.begun.get() - cells.succeeded.get(),
            connections_opened: cells.opened.get(),
            connections_failed: cells.not_opened.get(),
        };
        self.endpoints.iter().zip(addresses).map(account).collect()
    }

    /// The last end of a request; 0 if none ended.
    pub(crate) fn last_done(&self) -> u64 {
        self.last_done.get()
    }

    pub(crate) fn loop_account(&self, worker_ns: u64) -> LoopAccount {
        LoopAccount {
            in_flight_ns: self.flight.get().2,
            worker_ns: u128::from(worker_ns),
            ..LoopAccount::default()
        }
    }

    pub(crate) fn phases(&self) -> Vec<(&'static str, RequestPhases)> {
        let phases = self.phases.borrow();
        phases
            .iter()
            .zip(CALLS)
            .filter_map(|(phases, call)| Some((call.request().name, phases.clone()?)))
            .collect()
    }

    /// What failed, and where first, as `told` has it of a path.
    pub(crate) fn errors(&self, told: &dyn Fn(&str) -> String) -> Vec<ErrorCount> {
        let errors = self.errors.borrow();
        let count = |((call, what), failures): (&(Call, String), &Failures)| ErrorCount {
            operation: call.request().name.to_owned(),
            error: what.clone(),
            count: failures.count,
            first_file: told(&failures.key),
            first_offset: (failures.class == ErrorClass::Verification).then_some(failures.offset),
            class: Some(failures.class),
        };
        errors.iter().map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_to_the_service_time() {
        let ledger = Ledger::new(live_counters(&[Call::Get], true), 1);
        ledger.enter(Call::Get, 100);
        ledger.succeeded(
            Call::Get,
            10,
            &Moments {
                intended: 50,
                issued: 100,
                connected: Some(130),
                sent: 140,
                first_byte: 190,
                done: 200,
            },
        );
        let (name, phases) = ledger.phases().remove(0);
        let sums = [
            &phases.connecting,
            &phases.sending,
            &phases.waiting,
            &phases.receiving,
        ]
        .map(Histogram::sum);
        assert_eq!((name, sums), ("get", [30, 10, 50, 10]));
        let get = ledger.live.snapshot().kind("get").cloned().unwrap();
        assert_eq!((get.latency.sum(), get.service.unwrap().sum()), (150, 100));
        assert_eq!(
            (ledger.loop_account(1).in_flight_ns, ledger.last_done()),
            (100, 200)
        );
    }

    #[test]
    fn equal_failures_are_one_line() {
        let ledger = Ledger::new(live_counters(&[Call::Put], false), 1);
        for key in ["a", "b"] {
            ledger.enter(Call::Put, 0);
            ledger.failed(
                Call::Put,
                &Failure::new(FailureKind::Timeout, "timeout"),
                key.as_bytes(),
                5,
            );
        }
        let [error] = ledger.errors(&str::to_owned).try_into().unwrap();
        assert_eq!(
            (
                error.operation.as_str(),
                error.count,
                error.first_file.as_str(),
                error.class
            ),
            ("put", 2, "a", Some(ErrorClass::Timeout))
        );
        assert_eq!(
            ledger
                .live
                .snapshot()
                .kind("put")
                .map(|put| (put.count, put.errors)),
            Some((0, 2))
        );
    }

    #[test]
    fn what_is_abandoned_was_in_flight_until_then() {
        let ledger = Ledger::new(live_counters(&[Call::Put], false), 1);
        ledger.enter(Call::Put, 10);
        ledger.enter(Call::Put, 20);
        assert_eq!((ledger.abandon(30), ledger.live.in_flight()), (2, 0));
        assert_eq!(ledger.loop_account(1).in_flight_ns, 10 + 20);
        assert_eq!(ledger.live.snapshot().errors(), 2);
    }
}
