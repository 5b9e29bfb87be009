//! Bodies of requests, which can be read to their end after the site has refused them.
//!
//! A client sends all of its body before it reads an answer. A server that closes the connection
//! with bytes of it unread makes the kernel throw the answer away.

use crate::StdError;
use crate::injector::Throttle;
use crate::mishaps::UnderWay;
use crate::patience::Patience;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::timeout;

/// The most bytes that are read for nobody; a connection that has more is closed.
const MOST_DRAINED: u64 = 32 << 20;
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing may come: whoever sends nothing waits for the answer.
const SILENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Unasked,
    Begun,
    /// Nothing more comes.
    Ended,
    /// Too little came for too long.
    GivenUp,
}

struct State {
    body: Incoming,
    stage: Stage,
    patience: Patience,
    throttle: Option<Throttle>,
    /// Bytes that have come.
    came: u64,
    /// Who is told where it ends early, as long as anybody wants it.
    wanted_by: Option<UnderWay>,
}

impl State {
    /// The body does not come to its end.
    fn broke(&mut self, stage: Stage, why: &str) {
        self.stage = stage;
        if let Some(request) = &self.wanted_by {
            request.broke(&format!("{why} after {} bytes of it", self.came));
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        if self.stage == Stage::GivenUp {
            return Poll::Ready(None);
        }
        if let Some(throttle) = &mut self.throttle
            && let Some(bytes) = ready!(throttle.poll_turn(context))
        {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        self.stage = Stage::Begun;
        let Poll::Ready(polled) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.patience.poll_wait(context));
            self.broke(Stage::GivenUp, "the client was given up");
            return Poll::Ready(Some(Err("too little of the body came for too long".into())));
        };
        match polled.map(|polled| polled.map(Frame::into_data)) {
            Some(Ok(Ok(bytes))) => {
                self.patience.moved(bytes.len() as u64);
                self.came += bytes.len() as u64;
                let bytes = match &mut self.throttle {
                    Some(throttle) => ready!(throttle.poll_pass(bytes, context)),
                    None => bytes,
                };
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Some(Ok(Err(other))) => Poll::Ready(Some(Ok(other))),
            Some(Err(error)) => {
                self.broke(Stage::Ended, "the body ended early");
                Poll::Ready(Some(Err(error.into())))
            }
            None => {
                self.stage = Stage::Ended;
                Poll::Ready(None)
            }
        }
    }

    fn held(&self) -> u64 {
        self.throttle.as_ref().map_or(0, Throttle::held)
    }
}

/// A body that is given away and can still be read.
#[derive(Clone)]
pub struct Inbound(Arc<Mutex<State>>);

impl Inbound {
    pub(crate) fn new(
        body: Incoming,
        patience: Patience,
        throttle: Option<Throttle>,
        wanted_by: UnderWay,
    ) -> Self {
        let stage = if body.is_end_stream() {
            Stage::Ended
        } else {
            Stage::Unasked
        };
        Self(Arc::new(Mutex::new(State {
            body,
            stage,
            patience,
            throttle,
            came: 0,
            wanted_by: Some(wanted_by),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        self.state().poll(context)
    }

    /// Whether the client did not send what it had to in its time.
    pub fn was_given_up(&self) -> bool {
        self.state().stage == Stage::GivenUp
    }

    /// Reads what is left, unless the client waits to be told to send it.
    pub(crate) async fn drain(&self, waits: Waits) {
        self.state().wanted_by = None;
        match self.state().stage {
            Stage::Ended | Stage::GivenUp => return,
            Stage::Unasked if waits == Waits::ToBeTold => return,
            Stage::Unasked | Stage::Begun => {}
        }
        let read = async {
            let mut bytes = 0;
            let next = || timeout(SILENCE, poll_fn(|context| self.poll(context)));
            while let Ok(Some(Ok(frame))) = next().await {
                bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                if bytes > MOST_DRAINED {
                    return;
                }
            }
        };
        // What is not read in time is not read.
        let _ = timeout(PATIENCE, read).await;
    }
}

/// Whether a client sends its body at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    No,
    /// It sent `Expect: 100-continue`.
    ToBeTold,
}

impl Waits {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if headers.contains_key(header::EXPECT) {
            Self::ToBeTold
        } else {
            Self::No
        }
    }
}

impl Inbound {
    /// All of it as text, where it is no longer than `most`.
    pub(crate) async fn text(&mut self, most: usize) -> Result<String, String> {
        let mut bytes = Vec::new();
        while let Some(frame) = poll_fn(|context| self.poll(context)).await {
            let frame = frame.map_err(|error| error.to_string())?;
            bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..]));
            if bytes.len() > most {
                return Err(format!("the body is longer than {most} bytes"));
            }
        }
        String::from_utf8(bytes).map_err(|_not_utf8| "the body is not UTF-8".to_owned())
    }
}

impl Body for Inbound {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        self.poll(context)
    }

    fn is_end_stream(&self) -> bool {
        let state = self.state();
        state.held() == 0 && state.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let state = self.state();
        match state.body.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + state.held()),
            None => SizeHint::default(),
        }
    }
}
