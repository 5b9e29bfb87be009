//! Bytes of objects on their way out: a batch is read while the one before it is sent.

use crate::storage::{ObjectReader, StorageError, StorageResult};
use bytes::Bytes;
use futures_core::Stream;
use s3s::StdError;
use s3s::stream::{ByteStream, RemainingLength};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::task::{JoinHandle, spawn_blocking};

/// Pieces of at most 128 KiB that are read by one hand-over.
const FIRST_BATCH: usize = 2;
const BATCH: usize = 8;

type Source = Box<dyn ObjectReader>;
type Batch = (Source, StorageResult<VecDeque<Bytes>>);

/// Told of what went wrong in the middle of a body, which the client only sees as an end that comes too early.
pub(crate) type Report = Arc<dyn Fn(&StorageError) + Send + Sync>;

/// The rest of an object's body.
pub(crate) struct Outflow {
    /// Behind a lock only because a body must be `Sync`; there is one who reads.
    source: Mutex<Option<Source>>,
    reading: Option<JoinHandle<Batch>>,
    ready: VecDeque<Bytes>,
    unread: u64,
    unsent: u64,
    batch: usize,
    report: Report,
}

impl Outflow {
    /// `length` bytes from where the reader stands.
    pub(crate) fn new(source: Source, length: u64, report: Report) -> Self {
        let source = Mutex::new(Some(source));
        Self { source, reading: None, ready: VecDeque::new(), unread: length, unsent: length, batch: FIRST_BATCH, report }
    }

    fn read_ahead(&mut self) {
        if self.unread == 0 || self.reading.is_some() {
            return;
        }
        let source = self.source.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut source) = source else { return };
        let pieces = std::mem::replace(&mut self.batch, BATCH);
        self.reading = Some(spawn_blocking(move || {
            let batch = read(&mut source, pieces);
            (source, batch)
        }));
    }

    fn fail(&mut self, error: StorageError) -> Poll<Option<Result<Bytes, StdError>>> {
        (self.report)(&error);
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
        loop {
            if this.ready.len() <= 1 {
                this.read_ahead();
            }
            if let Some(piece) = this.ready.pop_front() {
                this.unsent = this.unsent.saturating_sub(piece.len() as u64);
                return Poll::Ready(Some(Ok(piece)));
            }
            let Some(reading) = &mut this.reading else {
                if this.unsent > 0 {
                    return this.fail(StorageError::Corrupt { what: "an object is shorter than it was said to be".into() });
                }
                return Poll::Ready(None);
            };
            let Ok((source, batch)) = std::task::ready!(Pin::new(reading).poll(context)) else {
                this.reading = None;
                return this.fail(StorageError::Closed);
            };
            this.reading = None;
            *this.source.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(source);
            match batch {
                Ok(batch) => {
                    let bytes = batch.iter().map(|piece| piece.len() as u64).sum::<u64>();
                    this.unread = if bytes == 0 { 0 } else { this.unread.saturating_sub(bytes) };
                    this.ready = batch;
                }
                Err(error) => return this.fail(error),
            }
        }
    }
}

impl ByteStream for Outflow {
    fn remaining_length(&self) -> RemainingLength {
        usize::try_from(self.unsent).map_or_else(|_| RemainingLength::unknown(), RemainingLength::new_exact)
    }
}
