//! Answers.

use crate::error::ShareError;
use crate::flow::FromStore;
use bytes::Bytes;
use house::{StdError, described};
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of an answer.
pub(crate) enum ShareBody {
    Full(Option<Bytes>),
    Streamed(Box<FromStore>),
}

impl ShareBody {
    pub(crate) fn empty() -> Self {
        Self::Full(None)
    }
}

impl<T: Into<Bytes>> From<T> for ShareBody {
    fn from(bytes: T) -> Self {
        Self::Full(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty()))
    }
}

impl Body for ShareBody {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let next = match self.get_mut() {
            Self::Full(bytes) => bytes.take().map(Ok),
            Self::Streamed(stream) => ready!(stream.poll_next(context)),
        };
        Poll::Ready(next.map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Streamed(stream) => stream.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Full(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Self::Streamed(stream) => stream.left(),
        })
    }
}

/// An answer of this server.
pub(crate) type ShareReply = Response<ShareBody>;

/// Gives an answer a header, unless its value cannot be one.
pub(crate) fn with(mut reply: ShareReply, name: header::HeaderName, value: &str) -> ShareReply {
    if let Ok(value) = HeaderValue::from_str(value) {
        reply.headers_mut().insert(name, value);
    }
    reply
}

pub(crate) fn plain(status: StatusCode, text: &str) -> ShareReply {
    let mut reply = Response::new(ShareBody::from(format!("{text}\n")));
    *reply.status_mut() = status;
    with(reply, header::CONTENT_TYPE, "text/plain; charset=utf-8")
}

pub(crate) fn json(value: &serde_json::Value) -> ShareReply {
    let reply = Response::new(ShareBody::from(value.to_string()));
    with(reply, header::CONTENT_TYPE, "application/json")
}

pub(crate) fn nothing(status: StatusCode) -> ShareReply {
    let mut reply = Response::new(ShareBody::empty());
    *reply.status_mut() = status;
    reply
}

/// Why a request is not done, as its client is told.
#[derive(Debug)]
pub(crate) struct Denial {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
    /// Seconds after which it may be tried again.
    pub(crate) retry_after: Option<u64>,
    /// What only operators are told.
    pub(crate) cause: Option<String>,
}

impl Denial {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            retry_after: None,
            cause: None,
        }
    }

    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn missing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such thing here")
    }

    pub(crate) fn reply(self) -> ShareReply {
        let reply = plain(self.status, &self.text);
        match self.retry_after {
            Some(seconds) => with(reply, header::RETRY_AFTER, &seconds.to_string()),
            None => reply,
        }
    }
}

impl From<ShareError> for Denial {
    fn from(error: ShareError) -> Self {
        let cause = Some(described(&error));
        match error {
            ShareError::Missing => Self::missing(),
            ShareError::LinkClosed => Self::new(
                StatusCode::FORBIDDEN,
                "this guest link takes no more files: it is full, over or disabled",
            ),
            ShareError::NoSpace => Self {
                cause,
                ..Self::new(StatusCode::INSUFFICIENT_STORAGE, "there is no space for it")
            },
            ShareError::Busy => Self {
                retry_after: Some(5),
                cause,
                ..Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the database is busy; try again",
                )
            },
            ShareError::Damaged(_)
            | ShareError::Refused(_)
            | ShareError::InUse(_)
            | ShareError::Setting { .. }
            | ShareError::Io { .. }
            | ShareError::Database(_) => Self {
                cause,
                ..Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "this server could not do it; its operator finds why in its log",
                )
            },
        }
    }
}
