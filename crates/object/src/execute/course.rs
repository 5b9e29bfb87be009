//! How a load goes on until its threads have ended, and how long it took.

use crate::LoadError;
use crate::payload::Object;
use crate::target::Service;
use crate::worker::{self, Live, Shared, ThreadReport};
use host::{Context, Observation};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use sys::Clock;

/// How long answers are waited for after a signal.
const SIGNAL_GRACE_NS: u64 = 5_000_000_000;

/// The threads of a load; where one cannot be started, those that were are ended.
pub(super) fn threads(
    shared: &Arc<Shared>,
    live: &[Live],
) -> Result<Vec<JoinHandle<std::io::Result<ThreadReport>>>, LoadError> {
    let mut running = Vec::new();
    for (index, live) in (0..shared.threads).zip(live) {
        let (of_all, live) = (Arc::clone(shared), live.clone());
        let thread = std::thread::Builder::new().name(format!("load-{index}"));
        match thread.spawn(move || worker::run(&of_all, index, live)) {
            Ok(thread) => running.push(thread),
            Err(why) => {
                shared.stop.store(true, Relaxed);
                shared.abort.store(true, Relaxed);
                for thread in running {
                    let _what_it_did_counts_for_nothing = thread.join();
                }
                return Err(LoadError::Threads {
                    why: why.to_string(),
                    left: String::new(),
                });
            }
        }
    }
    Ok(running)
}

/// Waits for the threads, and has somebody `look` meanwhile; the signal that ended them, if one did.
pub(super) fn wait(
    shared: &Shared,
    running: &[JoinHandle<std::io::Result<ThreadReport>>],
    context: &Context,
    observation: &mut Observation<'_, '_, '_>,
    look: &mut dyn FnMut(u64),
) -> Option<i32> {
    let clock = context.clock;
    let (mut signalled, mut halted_at) = (None, None);
    while !running.iter().all(JoinHandle::is_finished) {
        let wait_ns = observation.wait_ns();
        clock.sleep_until(clock.now() + wait_ns);
        let now = observation.woke(wait_ns);
        look(now);
        if let Some(caught) = sys::caught_signal() {
            shared.stop.store(true, Relaxed);
            let (_, since) = *signalled.get_or_insert((caught.signal, now));
            if caught.impatient || now - since > SIGNAL_GRACE_NS {
                shared.abort.store(true, Relaxed);
            }
        }
        if let Some(peers) = context.peers() {
            // What ends early on one rank ends on all.
            if signalled.is_some() {
                peers.halt();
            } else if peers.is_halted() {
                shared.stop.store(true, Relaxed);
                if now - *halted_at.get_or_insert(now) > SIGNAL_GRACE_NS {
                    shared.abort.store(true, Relaxed);
                }
            }
        }
    }
    signalled.map(|(signal, _)| signal)
}

/// From the start of the measured time to the last answer.
pub(super) fn elapsed_ns(shared: &Shared, reports: &[ThreadReport], now: u64) -> u64 {
    let from = shared.measured_from;
    let last = reports.iter().map(|done| done.last_done).max().unwrap_or(0);
    // Users that pause or have left are part of the load until its course is over; who hangs after
    // that is not waited for. Threads see the end of arrivals that were counted out after it.
    let course = shared.start + shared.scenario.course().total_ns();
    let is_done = |done: &ThreadReport| done.unsent.is_empty() && done.loop_account.abandoned == 0;
    let over = shared.arrivals_over();
    let over = over.filter(|_| reports.iter().all(is_done));
    let course_ns = over.unwrap_or(course).saturating_sub(from);
    let worked = reports.iter().map(|done| done.account.ended_ns).max();
    let worked_ns = worked.unwrap_or(0).min(course_ns);
    let last = if last > from { last } else { now };
    last.saturating_sub(from).max(worked_ns)
}

/// What users left on the server.
pub(super) struct Remains {
    pub(super) objects: Vec<Object>,
    /// Whether some of these may not be there.
    pub(super) is_in_doubt: bool,
    pub(super) uploads: Vec<(Object, String)>,
    /// How many there may be of which only the server knows.
    pub(super) hidden_uploads: u64,
    /// Whether some of the uploads may not be open.
    pub(super) has_ended_uploads: bool,
}

impl Remains {
    /// Where the server names objects, one without a name is not there as far as anybody knows.
    pub(super) fn of(reports: &[ThreadReport], service: &Service) -> Self {
        let is_named = |object: &Object| *service != Service::Share || !object.given.is_empty();
        let objects = reports.iter().flat_map(|done| done.objects.iter().copied());
        Self {
            objects: objects.filter(is_named).collect(),
            is_in_doubt: reports.iter().any(|done| done.is_in_doubt),
            uploads: reports
                .iter()
                .flat_map(|done| done.uploads.iter().cloned())
                .collect(),
            hidden_uploads: reports.iter().map(|done| done.hidden_uploads).sum(),
            has_ended_uploads: reports.iter().any(|done| done.has_ended_uploads),
        }
    }
}
