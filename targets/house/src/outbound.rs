//! Answers on their way out: counted, and if so commanded slowed, cut or damaged.

use crate::StdError;
use crate::injector::{Injector, Throttle};
use crate::metrics::{Answered, Flight, Metrics, Misbehaved, Sighting};
use crate::mishaps::{UnderWay, described};
use bytes::{Bytes, BytesMut};
use http::response::Parts;
use http::{StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use misbehave::Treatment;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::time::Instant;

/// Told of a request when it has been answered.
pub type Told = Box<dyn FnOnce(&Answered) + Send>;

/// A request that is being answered.
pub(crate) struct Visit {
    pub(crate) metrics: Arc<Metrics>,
    /// What its line says that it is.
    pub(crate) kind: &'static str,
    /// The same as which it is seen; a page of the server's own is no operation.
    pub(crate) seen_as: Option<&'static str>,
    pub(crate) begun: Instant,
    pub(crate) sighting: Sighting,
    /// Ends after the request was counted.
    pub(crate) _flight: Flight,
}

/// What is done to this answer's bytes.
struct Shape {
    throttle: Throttle,
    cut_at: Option<u64>,
    damage_at: Option<u64>,
}

/// The body of an answer; when it goes, the request is counted.
pub struct Outbound<B: Body<Data = Bytes, Error = StdError> + Unpin> {
    inner: B,
    visit: Visit,
    status: StatusCode,
    /// How long the answer is, where that is known.
    length: Option<u64>,
    sent: u64,
    ended: bool,
    shape: Option<Box<Shape>>,
    told: Option<Told>,
    under_way: UnderWay,
}

impl<B: Body<Data = Bytes, Error = StdError> + Unpin> Outbound<B> {
    pub(crate) fn new(
        inner: B,
        parts: &Parts,
        visit: Visit,
        told: Option<Told>,
        under_way: UnderWay,
    ) -> Self {
        let announced = || {
            parts
                .headers
                .get(header::CONTENT_LENGTH)?
                .to_str()
                .ok()?
                .parse()
                .ok()
        };
        Self {
            status: parts.status,
            length: inner.size_hint().exact().or_else(announced),
            inner,
            visit,
            sent: 0,
            ended: false,
            shape: None,
            told,
            under_way,
        }
    }

    /// The same answer with the bandwidth limited and its bytes cut or damaged as was decided.
    pub(crate) fn shaped(mut self, injector: &Arc<Injector>, decision: &Treatment) -> Self {
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
                self.visit.metrics.misbehaved(how);
            }
        }
        self.shape = Some(Box::new(Shape {
            throttle: Throttle::new(Arc::clone(injector), self.visit.kind),
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

impl<B: Body<Data = Bytes, Error = StdError> + Unpin> Body for Outbound<B> {
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
            Some(Err(error)) => {
                this.under_way.broke(&described(error.as_ref()));
                return Poll::Ready(Some(Err(error)));
            }
            None => {
                this.ended = true;
                return Poll::Ready(None);
            }
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

impl<B: Body<Data = Bytes, Error = StdError> + Unpin> Drop for Outbound<B> {
    fn drop(&mut self) {
        let answered = Answered {
            operation: self.visit.sighting.operation(),
            status: self.status.as_u16(),
            bytes: self.sent,
            took: self.visit.begun.elapsed(),
            // The HTTP library asks for no end that it knows. An answer that was cut may have been
            // given to us whole.
            cut: self
                .shape
                .as_ref()
                .is_some_and(|shape| shape.cut_at.is_some()),
            whole: match self.length {
                Some(length) => self.sent == length,
                None => self.ended || self.is_end_stream(),
            },
        };
        self.visit
            .metrics
            .count(self.visit.seen_as, &self.visit.sighting, &answered);
        if !answered.whole && !answered.cut {
            self.under_way.was_left();
        }
        if let Some(told) = self.told.take() {
            told(&answered);
        }
    }
}
