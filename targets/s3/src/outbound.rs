//! Answers on their way out: counted, and if so commanded slowed, cut or damaged.

use crate::front::Mischief;
use crate::journal::Entry;
use crate::metrics::{Metrics, Misbehaved};
use crate::throttle::Throttle;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body::{Body as _, Frame, SizeHint};
use misbehave::Treatment;
use s3s::{Body, StdError};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use tokio::time::Instant;

/// What is done to this answer's bytes.
struct Shape {
    throttle: Throttle,
    cut_at: Option<u64>,
    damage_at: Option<u64>,
}

/// The body of an answer; when it goes, the request is counted.
pub(crate) struct Outbound {
    inner: Body,
    metrics: Arc<Metrics>,
    operation: usize,
    status: StatusCode,
    begun: Instant,
    sent: u64,
    shape: Option<Box<Shape>>,
    /// What is said of the request when it has been answered.
    entry: Option<Box<Entry>>,
}

impl Outbound {
    pub(crate) fn new(
        inner: Body,
        metrics: Arc<Metrics>,
        operation: usize,
        status: StatusCode,
        begun: Instant,
        entry: Option<Entry>,
    ) -> Self {
        Self {
            inner,
            metrics,
            operation,
            status,
            begun,
            sent: 0,
            shape: None,
            entry: entry.map(Box::new),
        }
    }

    /// The same answer with the bandwidth limited and its bytes cut or damaged as was decided.
    pub(crate) fn shaped(
        mut self,
        mischief: Arc<Mischief>,
        kind: &'static str,
        decision: &Treatment,
        started: Instant,
    ) -> Self {
        let length = self.inner.size_hint().exact().unwrap_or(0);
        let place = |cut: Option<misbehave::BytePlace>| {
            cut.filter(|_| self.status.is_success())
                .and_then(|cut| cut.byte(length))
        };
        let (cut_at, damage_at) = (place(decision.truncate), place(decision.corrupt));
        for (there, how) in [
            (cut_at, Misbehaved::Truncated),
            (damage_at, Misbehaved::Corrupted),
        ] {
            if there.is_some() {
                self.metrics.misbehaved(how);
            }
        }
        self.shape = Some(Box::new(Shape {
            throttle: Throttle::new(mischief, kind, started),
            cut_at,
            damage_at,
        }));
        self
    }

    fn held(&self) -> u64 {
        self.shape.as_ref().map_or(0, |shape| shape.throttle.held())
    }

    fn give(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let from = self.sent;
        let bytes = match &self.shape {
            Some(shape) => match damaged(shape, bytes, from) {
                Some(bytes) => bytes,
                None => return Poll::Ready(Some(Err("this answer was to be cut here".into()))),
            },
            None => bytes,
        };
        self.sent += bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

/// The bytes as they go out; `None` where the answer ends before them.
fn damaged(shape: &Shape, mut bytes: Bytes, from: u64) -> Option<Bytes> {
    let within = |at: u64, length: usize| {
        at.checked_sub(from)
            .and_then(|at| usize::try_from(at).ok())
            .filter(|at| *at < length)
    };
    if let Some(cut_at) = shape.cut_at {
        if cut_at <= from {
            return None;
        }
        bytes.truncate(within(cut_at, bytes.len()).unwrap_or(bytes.len()));
    }
    if let Some(at) = shape.damage_at.and_then(|at| within(at, bytes.len())) {
        let mut copy = BytesMut::from(&bytes[..]);
        copy[at] ^= 1;
        return Some(copy.freeze());
    }
    Some(bytes)
}

impl http_body::Body for Outbound {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = self.get_mut();
        if let Some(shape) = &mut this.shape
            && let Some(bytes) = ready!(shape.throttle.poll_turn(context))
        {
            return this.give(bytes);
        }
        let frame = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => return Poll::Ready(None),
        };
        let bytes = match frame.into_data() {
            Ok(bytes) => bytes,
            Err(other) => return Poll::Ready(Some(Ok(other))),
        };
        let bytes = match &mut this.shape {
            Some(shape) => ready!(shape.throttle.poll_pass(bytes, context)),
            None => bytes,
        };
        this.give(bytes)
    }

    fn is_end_stream(&self) -> bool {
        self.held() == 0 && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.inner.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + self.held()),
            None => SizeHint::default(),
        }
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        self.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        let took = self.begun.elapsed();
        self.metrics
            .count(self.operation, self.status.as_u16(), self.sent, took);
        if let Some(entry) = &self.entry {
            entry.end(self.operation, self.status.as_u16(), self.sent, took);
        }
    }
}
