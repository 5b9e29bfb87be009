//! Bodies in either direction, held to the bandwidth that was asked for.

use crate::front::Mischief;
use bytes::Bytes;
use house::Wait;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::time::{Duration, Instant};
use units::Nanos;

/// Bytes of one body, each piece of which waits for its turn.
pub(crate) struct Throttle {
    mischief: Arc<Mischief>,
    kind: &'static str,
    started: Instant,
    waiting: Option<(Wait, Bytes)>,
}

impl Throttle {
    /// `kind` is the operation whose limit holds, `started` when the server did.
    pub(crate) fn new(mischief: Arc<Mischief>, kind: &'static str, started: Instant) -> Self {
        Self {
            mischief,
            kind,
            started,
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
        let since = Nanos(u64::try_from((now - self.started).as_nanos()).unwrap_or(u64::MAX));
        let mut shaper = self
            .mischief
            .shaper
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let delay = shaper.pass(&self.mischief.models, self.kind, bytes.len() as u64, since);
        drop(shaper);
        if delay.0 == 0 {
            return Poll::Ready(bytes);
        }
        let mut turn = self
            .mischief
            .wakes
            .wait(now + Duration::from_nanos(delay.0));
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
