//! How long a server waits for a client that neither sends nor takes what it should.
//!
//! The time counts only while the client is what is waited for: a slow disk, or a bandwidth that
//! was limited on command, is not its fault.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Who is waited for moves at least this many bytes, or all there are, in the time given; without
/// it a byte a minute would hold a connection for ever.
const LEAST_MOVED: u64 = 16 << 10;

/// The time that a client has in one direction of a body.
pub(crate) struct Patience {
    given: Duration,
    moved: u64,
    waited: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    pub(crate) fn new(given: Duration) -> Self {
        Self {
            given,
            moved: 0,
            waited: Duration::ZERO,
            since: None,
            timer: None,
        }
    }

    /// The client did something.
    pub(crate) fn moved(&mut self, bytes: u64) {
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
        self.moved += bytes;
        if self.moved >= LEAST_MOVED {
            self.rest();
        }
    }

    /// Nothing is waited for any more.
    pub(crate) fn rest(&mut self) {
        (self.moved, self.waited, self.since) = (0, Duration::ZERO, None);
    }

    /// Nothing moves until the client does something; ready where it has had its time.
    pub(crate) fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let end = now + self.given.saturating_sub(self.waited);
        let begins = self.since.is_none();
        self.since.get_or_insert(now);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if begins {
            timer.as_mut().reset(end);
        }
        timer.as_mut().poll(context)
    }
}

/// A connection that ends with `TimedOut` where its peer does not take what is written to it.
/// Reading waits as long as it is asked to.
pub struct Patient<S> {
    inner: S,
    patience: Patience,
}

impl<S> Patient<S> {
    pub fn new(inner: S, given: Duration) -> Self {
        Self {
            inner,
            patience: Patience::new(given),
        }
    }

    fn judged<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_pending() && self.patience.poll_wait(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }

    fn written(
        &mut self,
        polled: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = polled {
            self.patience.moved(bytes as u64);
        }
        self.judged(polled, context)
    }

    fn emptied(
        &mut self,
        polled: Poll<io::Result<()>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if polled.is_ready() {
            self.patience.rest();
        }
        self.judged(polled, context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write(context, bytes);
        this.written(polled, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write_vectored(context, pieces);
        this.written(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_flush(context);
        this.emptied(polled, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_shutdown(context);
        this.emptied(polled, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::sleep;

    const GIVEN: Duration = Duration::from_secs(60);

    /// Drives a patience by what comes every ten seconds; how long it lasted.
    async fn lasts(every_ten_seconds: u64, most: u32) -> Option<u64> {
        let (mut patience, begun) = (Patience::new(GIVEN), Instant::now());
        for _ in 0..most {
            let waited = poll_fn(|context| patience.poll_wait(context));
            if tokio::time::timeout(Duration::from_secs(10), waited)
                .await
                .is_ok()
            {
                return Some(begun.elapsed().as_secs());
            }
            patience.moved(every_ten_seconds);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_is_given_up_and_a_slow_line_is_not() {
        assert_eq!(lasts(0, 100).await, Some(60));
        assert_eq!(lasts(1, 100).await, Some(60));
        assert_eq!(lasts(4096, 100).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_server_was_busy_does_not_count() {
        let mut patience = Patience::new(GIVEN);
        for _ in 0..5 {
            let waited = poll_fn(|context| patience.poll_wait(context));
            assert!(
                tokio::time::timeout(Duration::from_secs(10), waited)
                    .await
                    .is_err()
            );
            patience.moved(1);
            sleep(GIVEN).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_taken_ends_the_connection_and_what_is_taken_does_not() {
        let (near, mut far) = duplex(1000);
        let mut near = Patient::new(near, GIVEN);
        near.write_all(&[0; 1000]).await.unwrap();
        let begun = Instant::now();
        let error = near.write_all(&[0; 1]).await.unwrap_err();
        assert_eq!(
            (error.kind(), begun.elapsed().as_secs()),
            (io::ErrorKind::TimedOut, 60)
        );
        let (near, taken) = duplex(1000);
        let mut near = Patient::new(near, GIVEN);
        let taking = tokio::spawn(async move {
            let mut taken = taken;
            let mut bytes = vec![0; 1000];
            while taken.read_exact(&mut bytes).await.is_ok() {
                sleep(Duration::from_secs(2)).await;
            }
        });
        near.write_all(&vec![0; 100_000]).await.unwrap();
        drop(near);
        taking.await.unwrap();
        far.read_exact(&mut [0; 1000]).await.unwrap();
    }
}
