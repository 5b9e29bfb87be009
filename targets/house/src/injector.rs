//! Misbehaviour on command: what the models decide, done to one server's requests in its time.

use crate::wake::{Wait, Wakes};
use bytes::Bytes;
use misbehave::{Ask, Misbehaviour, Shaper, Treatment};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Instant;
use units::Nanos;

/// What is done to requests besides answering them.
pub(crate) struct Injector {
    models: Misbehaviour,
    shaper: Mutex<Shaper>,
    wakes: Wakes,
    started: Instant,
}

impl Injector {
    pub(crate) fn new(models: Misbehaviour, wakes: Wakes) -> Self {
        Self {
            models,
            shaper: Mutex::default(),
            wakes,
            started: Instant::now(),
        }
    }

    /// What is done to the request of this number.
    pub(crate) fn decide(&self, kind: &str, number: u64) -> Treatment {
        self.models.decide(&Ask {
            operation: kind,
            number,
            extent: None,
        })
    }

    fn since_start(&self, moment: Instant) -> Nanos {
        Nanos(u64::try_from((moment - self.started).as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long a request that came then waits for all of its turns, in nanoseconds.
    fn turns(&self, kind: &str, decision: &Treatment, since: Nanos) -> u64 {
        let mut shaper = self.shaper.lock().unwrap_or_else(PoisonError::into_inner);
        let after = |waits: u64| Nanos(since.0.saturating_add(waits));
        let mut waits = shaper.admit(&self.models, kind, since).0;
        waits = waits.saturating_add(self.models.stalled(kind, after(waits)).0);
        waits = waits.saturating_add(shaper.stalled(&self.models, kind, 0, after(waits)).0);
        let channel = shaper.occupy(&self.models, kind, decision.delay, after(waits));
        waits
            .saturating_add(channel.0)
            .saturating_add(decision.delay.0)
    }

    /// Waits until as long after the request came as was commanded; how long that was.
    pub(crate) async fn wait(
        &self,
        kind: &str,
        decision: &Treatment,
        begun: Instant,
    ) -> Option<Duration> {
        let since = self.since_start(begun);
        let delay = self.turns(kind, decision, since);
        if delay == 0 {
            return None;
        }
        let asked = Duration::from_nanos(delay);
        self.wakes.clone().until(begun + asked).await;
        Some(asked)
    }

    /// How long bytes that are ready at this moment wait for their turn.
    fn pass(&self, kind: &str, bytes: usize, now: Instant) -> Duration {
        let mut shaper = self.shaper.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, since) = (bytes as u64, self.since_start(now));
        let turn = shaper.pass(&self.models, kind, bytes, since);
        let stall = shaper.stalled(&self.models, kind, bytes, since);
        Duration::from_nanos(turn.0.max(stall.0))
    }
}

/// Bytes of one body in either direction, each piece of which waits for its turn.
pub(crate) struct Throttle {
    injector: Arc<Injector>,
    kind: &'static str,
    waiting: Option<(Wait, Bytes)>,
}

impl Throttle {
    /// `kind` is the operation whose limit holds.
    pub(crate) fn new(injector: Arc<Injector>, kind: &'static str) -> Self {
        Self {
            injector,
            kind,
            waiting: None,
        }
    }

    /// The piece whose turn was waited for, if any.
    pub(crate) fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some((turn, _)) = &mut self.waiting {
            ready!(turn.as_mut().poll(context));
        }
        Poll::Ready(self.waiting.take().map(|(_, bytes)| bytes))
    }

    /// Lets a piece through, at once or when [`Throttle::poll_turn`] says.
    pub(crate) fn poll_pass(&mut self, bytes: Bytes, context: &mut Context<'_>) -> Poll<Bytes> {
        let now = Instant::now();
        let delay = self.injector.pass(self.kind, bytes.len(), now);
        if delay.is_zero() {
            return Poll::Ready(bytes);
        }
        let mut turn = self.injector.wakes.wait(now + delay);
        if turn.as_mut().poll(context).is_ready() {
            return Poll::Ready(bytes);
        }
        self.waiting = Some((turn, bytes));
        Poll::Pending
    }

    /// Bytes that wait.
    pub(crate) fn held(&self) -> u64 {
        self.waiting
            .as_ref()
            .map_or(0, |(_, bytes)| bytes.len() as u64)
    }
}
