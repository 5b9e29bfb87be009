use super::{FRAME_HEAD, SETTINGS, State};
use crate::connection::{Stream, speaks_no_http2};
use crate::settings::Thread;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use sys::Clock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection's bytes, which are watched for whether they begin as HTTP/2 does.
pub(super) struct Wire {
    pub(super) stream: Stream,
    pub(super) head: [u8; FRAME_HEAD],
    pub(super) have: usize,
    pub(super) state: Rc<State>,
    pub(super) thread: Rc<Thread>,
}

impl Wire {
    fn look(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.state.heard.set(self.thread.settings.clock.now());
        if self.state.begun.get() {
            return Ok(());
        }
        let room = &mut self.head[self.have..];
        let n = room.len().min(bytes.len());
        room[..n].copy_from_slice(&bytes[..n]);
        self.have += n;
        if bytes.is_empty() {
            return Err(speaks_no_http2("it closed the connection"));
        }
        // Length in three bytes, then the type: what answers in another protocol has other bytes
        // there.
        if self.have > 3 && self.head[3] != SETTINGS {
            return Err(speaks_no_http2("its answer is another protocol's"));
        }
        if self.have == FRAME_HEAD {
            self.state.begun.set(true);
            self.state.known.notify_one();
        }
        Ok(())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match self.stream.poll_read(context, buffer) {
            Poll::Ready(Ok(())) => Poll::Ready(self.look(&buffer.filled()[before..])),
            // Some servers reset what they do not understand.
            Poll::Ready(Err(_)) if !self.state.begun.get() => {
                Poll::Ready(Err(speaks_no_http2("it broke the connection")))
            }
            other @ (Poll::Ready(Err(_)) | Poll::Pending) => other,
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.poll_write(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.poll_write(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_shutdown(context)
    }
}
