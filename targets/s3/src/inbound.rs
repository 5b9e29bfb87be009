//! Bodies of requests, which can be read to their end after the protocol has refused them.
//!
//! A client sends all of its body before it reads an answer. A server that closes the connection with bytes of it unread makes the
//! kernel throw the answer away.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use s3s::StdError;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// The most bytes that are read for nobody; a connection that has more is closed.
const MOST_DRAINED: u64 = 32 << 20;
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(10);

struct State {
    body: Incoming,
    begun: bool,
    ended: bool,
}

/// A body that is given away and can still be read.
#[derive(Clone)]
pub(crate) struct Inbound(Arc<Mutex<State>>);

impl Inbound {
    pub(crate) fn new(body: Incoming) -> Self {
        let ended = body.is_end_stream();
        Self(Arc::new(Mutex::new(State { body, begun: false, ended })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut state = self.state();
        state.begun = true;
        let polled = Pin::new(&mut state.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            state.ended = true;
        }
        polled
    }

    /// Reads what is left, unless the client waits to be told to send it.
    pub(crate) async fn drain(&self, waits: Waits) {
        {
            let state = self.state();
            if state.ended || (waits == Waits::ToBeTold && !state.begun) {
                return;
            }
        }
        let read = async {
            let mut bytes = 0;
            while let Some(Ok(frame)) = poll_fn(|context| self.poll(context)).await {
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

impl Body for Inbound {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        self.poll(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.state().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.state().body.size_hint()
    }
}
