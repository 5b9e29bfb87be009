//! Bytes of objects on their way out. What was compared with its checksum lately is left to the
//! kernel to send, where the connection can; what is in memory is read where it is sent; from the
//! first piece on that has to be waited for, a batch is read on another thread while the one before
//! it is sent.

use crate::storage::{ObjectReader, StorageError, StorageResult};
use bytes::Bytes;
use futures_core::Stream;
use house::{FileFault, Handoff};
use s3s::StdError;
use s3s::stream::{ByteStream, RemainingLength};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::task::{JoinHandle, spawn_blocking};

/// Pieces of at most 128 KiB that are read by one hand-over.
const FIRST_BATCH: usize = 2;
const BATCH: usize = 8;

type Source = Box<dyn ObjectReader>;
type Batch = (Source, StorageResult<VecDeque<Bytes>>);

/// A connection on which the kernel sends files.
#[derive(Clone)]
pub(crate) struct ByKernel {
    pub(crate) handoff: Arc<Handoff>,
    /// Told of what it could not send whole.
    pub(crate) fault: Option<FileFault>,
}

/// The rest of an object's body.
pub(crate) struct Outflow {
    /// Behind a lock only because a body must be `Sync`; there is one who reads.
    source: Mutex<Option<Source>>,
    reading: Option<JoinHandle<Batch>>,
    ready: VecDeque<Bytes>,
    /// What was read before the head was answered.
    first: Option<Bytes>,
    unread: u64,
    unsent: u64,
    batch: usize,
    kernel: Option<ByKernel>,
}

impl Outflow {
    /// `length` bytes from where the reader stands; where the kernel sends files some of them are
    /// marks.
    pub(crate) fn new(source: Source, length: u64, kernel: Option<ByKernel>) -> Self {
        let source = Mutex::new(Some(source));
        Self {
            source,
            reading: None,
            ready: VecDeque::new(),
            first: None,
            unread: length,
            unsent: length,
            batch: FIRST_BATCH,
            kernel,
        }
    }

    /// Waits for the first bytes, so that what cannot be read is an error with a status, and no
    /// answer that breaks off.
    pub(crate) async fn begun(mut self) -> StorageResult<Self> {
        match poll_fn(|context| Pin::new(&mut self).poll_next(context)).await {
            Some(Ok(first)) => {
                self.unsent += first.len() as u64;
                self.first = Some(first);
                Ok(self)
            }
            Some(Err(error)) => Err(error
                .downcast::<StorageError>()
                .map_or(StorageError::Closed, |error| *error)),
            None => Ok(self),
        }
    }

    fn read_ahead(&mut self) {
        if self.unread == 0 || self.reading.is_some() {
            return;
        }
        let source = self
            .source
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(mut source) = source else { return };
        let pieces = std::mem::replace(&mut self.batch, BATCH);
        self.reading = Some(spawn_blocking(move || {
            let batch = read(&mut source, pieces);
            (source, batch)
        }));
    }

    /// The next bytes without waiting for them.
    fn read_at_once(&mut self) -> StorageResult<Option<Bytes>> {
        let source = self
            .source
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(source) = source else {
            return Ok(None);
        };
        if let Some(ByKernel { handoff, fault }) = &self.kernel
            && let Some(span) = source.next_span()
        {
            return Ok(Some(handoff.put_all([span], fault.as_ref())));
        }
        source.next_cached()
    }

    fn fail(&mut self, error: StorageError) -> Poll<Option<Result<Bytes, StdError>>> {
        (self.unread, self.unsent) = (0, 0);
        Poll::Ready(Some(Err(Box::new(error))))
    }
}

fn read(source: &mut Source, pieces: usize) -> StorageResult<VecDeque<Bytes>> {
    let mut batch = VecDeque::with_capacity(pieces);
    while batch.len() < pieces {
        match source.next_chunk()? {
            Some(piece) => batch.push_back(piece),
            None => break,
        }
    }
    Ok(batch)
}

impl Stream for Outflow {
    type Item = Result<Bytes, StdError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            this.unsent = this.unsent.saturating_sub(first.len() as u64);
            return Poll::Ready(Some(Ok(first)));
        }
        loop {
            if this.ready.len() == 1 {
                this.read_ahead();
            }
            if let Some(piece) = this.ready.pop_front() {
                this.unsent = this.unsent.saturating_sub(piece.len() as u64);
                return Poll::Ready(Some(Ok(piece)));
            }
            if this.reading.is_none() && this.unread > 0 {
                match this.read_at_once() {
                    Ok(Some(piece)) => {
                        let bytes = piece.len() as u64;
                        (this.unread, this.unsent) = (
                            this.unread.saturating_sub(bytes),
                            this.unsent.saturating_sub(bytes),
                        );
                        return Poll::Ready(Some(Ok(piece)));
                    }
                    Ok(None) => this.read_ahead(),
                    Err(error) => return this.fail(error),
                }
            }
            let Some(reading) = &mut this.reading else {
                if this.unsent > 0 {
                    return this.fail(StorageError::Corrupt {
                        what: "an object is shorter than it was said to be".into(),
                    });
                }
                return Poll::Ready(None);
            };
            let Ok((source, batch)) = std::task::ready!(Pin::new(reading).poll(context)) else {
                this.reading = None;
                return this.fail(StorageError::Closed);
            };
            this.reading = None;
            *this
                .source
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner) = Some(source);
            match batch {
                Ok(batch) => {
                    let bytes = batch.iter().map(|piece| piece.len() as u64).sum::<u64>();
                    this.unread = if bytes == 0 {
                        0
                    } else {
                        this.unread.saturating_sub(bytes)
                    };
                    this.ready = batch;
                }
                Err(error) => return this.fail(error),
            }
        }
    }
}

impl ByteStream for Outflow {
    fn remaining_length(&self) -> RemainingLength {
        usize::try_from(self.unsent)
            .map_or_else(|_| RemainingLength::unknown(), RemainingLength::new_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::FileSpan;
    use proptest::prelude::*;
    use std::ops::Range;

    /// Pieces of which some have to be waited for; after `broken` of them comes an error.
    struct Pieces {
        left: VecDeque<(Bytes, bool)>,
        broken: Option<usize>,
    }

    impl Pieces {
        fn fails(&mut self) -> StorageResult<()> {
            match &mut self.broken {
                Some(0) => Err(StorageError::Corrupt {
                    what: "a test".into(),
                }),
                Some(left) => {
                    *left -= 1;
                    Ok(())
                }
                None => Ok(()),
            }
        }
    }

    impl ObjectReader for Pieces {
        fn select(&mut self, _: Range<u64>) {}

        fn next_chunk(&mut self) -> StorageResult<Option<Bytes>> {
            self.fails()?;
            Ok(self.left.pop_front().map(|(piece, _)| piece))
        }

        fn next_cached(&mut self) -> StorageResult<Option<Bytes>> {
            if self.left.front().is_some_and(|(_, cached)| *cached) {
                self.next_chunk()
            } else {
                Ok(None)
            }
        }

        fn next_span(&mut self) -> Option<FileSpan> {
            None
        }
    }

    fn source(pieces: &[(Vec<u8>, bool)], broken: Option<usize>) -> Source {
        Box::new(Pieces {
            left: pieces
                .iter()
                .map(|(piece, cached)| (Bytes::from(piece.clone()), *cached))
                .collect(),
            broken,
        })
    }

    /// What comes out, and whether it ended well.
    async fn all(source: Source, length: usize) -> (Vec<u8>, bool) {
        let mut body = Outflow::new(source, length as u64, None);
        let mut out = Vec::new();
        loop {
            assert_eq!(body.remaining_length().exact(), Some(length - out.len()));
            match poll_fn(|context| Pin::new(&mut body).poll_next(context)).await {
                Some(Ok(piece)) => out.extend_from_slice(&piece),
                Some(Err(_)) => return (out, false),
                None => return (out, true),
            }
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(work)
    }

    proptest! {
        #[test]
        fn all_bytes_come_in_order_wherever_they_are_read(
            pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..20), any::<bool>()), 0..40),
        ) {
            let whole: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece.clone()).collect();
            prop_assert_eq!(run(all(source(&pieces, None), whole.len())), (whole, true));
        }
    }

    #[test]
    fn an_object_that_is_too_short_or_breaks_ends_in_an_error() {
        for cached in [true, false] {
            let pieces = vec![(vec![1; 4], cached); 5];
            assert_eq!(
                run(all(source(&pieces, None), 21)),
                (vec![1; 20], false),
                "cached: {cached}"
            );
            let (out, whole) = run(all(source(&pieces, Some(3)), 20));
            assert!(out.len() <= 12 && !whole, "cached: {cached}");
        }
    }
}
