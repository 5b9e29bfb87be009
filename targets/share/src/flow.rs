//! Bytes of uploads on their way to a connection.

use crate::content::{BodyReader, ReadChunk};
use crate::error::{ShareError, ShareResult};
use bytes::Bytes;
use house::{FileFault, FileSpan, Handoff, SPAN, StdError};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

/// A part of an answer.
pub(crate) enum Stretch {
    Text(Bytes),
    Upload(Range<u64>),
}

impl Stretch {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Upload(range) => range.end - range.start,
        }
    }
}

type Read = (Box<dyn BodyReader>, ShareResult<Vec<ReadChunk>>);

/// Where a connection's answers get their bytes from.
#[derive(Clone)]
pub(crate) enum Way {
    /// From this process, so many chunks of the store at once.
    Read(u64),
    /// From this process, a chunk whenever the one before it was sent.
    Piecemeal,
    /// From the kernel, where the store knows in which file they lie.
    Kernel(Arc<Handoff>, Option<FileFault>),
}

/// Pieces of a file whose places are looked for at once. Each time costs two threads a wake-up.
const PLACES: usize = 64;
/// Chunks whose places are still known when the next are looked for.
const FEW_CHUNKS: usize = 8;

/// Where chunks lie in their file, from one on.
fn places(reader: &mut dyn BodyReader, first: u64, most: u64) -> ShareResult<Vec<ReadChunk>> {
    let (mut found, mut pieces) = (Vec::new(), 0);
    for number in first..first.saturating_add(most) {
        let Some(spans) = reader.place(number)? else {
            break;
        };
        pieces += spans.len();
        found.push(ReadChunk::Spans(spans));
        if pieces >= PLACES {
            break;
        }
    }
    Ok(found)
}

/// Reads from a chunk on.
fn read(
    reader: &mut dyn BodyReader,
    way: &Way,
    first: u64,
    most: u64,
) -> ShareResult<Vec<ReadChunk>> {
    let count = match way {
        Way::Read(count) => (*count).min(most),
        Way::Piecemeal => 1,
        Way::Kernel(..) => {
            let found = places(reader, first, most)?;
            if !found.is_empty() {
                return Ok(found);
            }
            1
        }
    };
    let read = reader.read(first, count)?;
    Ok(read.into_iter().map(ReadChunk::Bytes).collect())
}

/// Bytes of an upload, read ahead by one read where there is memory for it, so that the disk works
/// while the network does.
pub(crate) struct FromStore {
    stretches: VecDeque<Stretch>,
    chunk: u64,
    way: Way,
    reader: Option<Box<dyn BodyReader>>,
    reading: Option<JoinHandle<Read>>,
    /// The number of the first chunk that was asked for last.
    asked: u64,
    /// What was read and not yet sent, with the numbers of the chunks.
    ready: VecDeque<(u64, ReadChunk)>,
    left: u64,
}

impl FromStore {
    /// `chunk` is the length of the chunks that the reader gives.
    pub(crate) fn new(
        reader: Box<dyn BodyReader>,
        stretches: Vec<Stretch>,
        chunk: u64,
        way: Way,
    ) -> Self {
        let left = stretches.iter().map(Stretch::length).sum();
        Self {
            stretches: stretches.into(),
            chunk,
            way,
            reader: Some(reader),
            reading: None,
            asked: 0,
            ready: VecDeque::new(),
            left,
        }
    }

    /// Waits until its first bytes are found, so that what cannot be read is an error with a status
    /// and no answer that breaks off.
    pub(crate) async fn begun(mut self) -> ShareResult<Self> {
        let first = self.stretches.iter().find_map(|stretch| match stretch {
            Stretch::Upload(range) if !range.is_empty() => Some(range.clone()),
            Stretch::Upload(_) | Stretch::Text(_) => None,
        });
        if let Some(range) = first {
            self.ask(range.start / self.chunk, range.end);
            let missing = poll_fn(|context| self.poll_read(context)).await?;
            if missing.is_some() {
                return Err(cut_short());
            }
        }
        Ok(self)
    }

    /// Begins to read from a chunk on, unless something is being read.
    fn ask(&mut self, first: u64, end: u64) {
        if let Some(mut reader) = self.reader.take() {
            let (way, most) = (self.way.clone(), end.div_ceil(self.chunk) - first);
            self.asked = first;
            self.reading = Some(tokio::task::spawn_blocking(move || {
                let read = read(&mut *reader, &way, first, most);
                (reader, read)
            }));
        }
    }

    /// Begins to read what comes after all that is ready, as early as its way has memory for both.
    /// `next` is the chunk after the one that is being sent.
    fn ask_ahead(&mut self, next: u64, end: u64) {
        let (next, is_early) = match (&self.way, self.ready.back()) {
            (Way::Piecemeal, _) => return,
            (Way::Read(_) | Way::Kernel(..), None) => (next, true),
            (Way::Read(_), Some(_)) => return,
            // Places take little memory.
            (Way::Kernel(..), Some((last, _))) => (last + 1, self.ready.len() <= FEW_CHUNKS),
        };
        if is_early && next.saturating_mul(self.chunk) < end {
            self.ask(next, end);
        }
    }

    /// Takes what was read; the number of the first chunk that was asked for and did not come.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<ShareResult<Option<u64>>> {
        let Some(reading) = &mut self.reading else {
            return Poll::Ready(Ok(None));
        };
        let (reader, read) =
            ready!(Pin::new(reading).poll(context)).map_err(ShareError::panicked)?;
        (self.reading, self.reader) = (None, Some(reader));
        let read = read?;
        let missing = read.is_empty().then_some(self.asked);
        self.ready.extend((self.asked..).zip(read));
        Poll::Ready(Ok(missing))
    }

    /// The next bytes of a range.
    fn poll_range(
        &mut self,
        range: &Range<u64>,
        context: &mut Context<'_>,
    ) -> Poll<ShareResult<Bytes>> {
        let wanted = range.start / self.chunk;
        loop {
            let found = self.ready.front().map(|(number, _)| *number);
            if found == Some(wanted) {
                let (_, chunk) = self.ready.pop_front().expect("it was just looked at");
                let bytes = match &chunk {
                    ReadChunk::Bytes(chunk) => part(chunk, range, wanted * self.chunk),
                    ReadChunk::Spans(spans) => self.hand(spans, range, wanted * self.chunk),
                };
                let end = range.start + bytes.len() as u64;
                let goes_on = end < range.end && !end.is_multiple_of(self.chunk);
                let is_span = matches!(chunk, ReadChunk::Spans(_));
                if bytes.is_empty() || (goes_on && !is_span) {
                    return Poll::Ready(Err(cut_short()));
                }
                if goes_on {
                    self.ready.push_front((wanted, chunk));
                }
                self.ask_ahead(wanted + 1, range.end);
                return Poll::Ready(Ok(bytes));
            }
            if found.is_some() {
                self.ready.pop_front();
            } else if self.reading.is_some() {
                let missing = ready!(self.poll_read(context))?;
                if missing == Some(wanted) {
                    return Poll::Ready(Err(cut_short()));
                }
            } else {
                self.ask(wanted, range.end);
            }
        }
    }

    /// One mark of the first bytes of a range, as far as its chunk has them; nothing where they are
    /// not in the chunk.
    fn hand(&self, spans: &[FileSpan], range: &Range<u64>, begin: u64) -> Bytes {
        let Way::Kernel(handoff, fault) = &self.way else {
            return Bytes::new();
        };
        let (mut at, mut from) = (begin, range.start);
        let last = range.end.min(from + SPAN as u64);
        let mut pieces = Vec::with_capacity(spans.len());
        for span in spans {
            let end = at + span.len as u64;
            if from < end.min(last) {
                let length = end.min(last) - from;
                pieces.push(FileSpan {
                    offset: span.offset + (from - at),
                    len: usize::try_from(length).unwrap_or(SPAN),
                    file: Arc::clone(&span.file),
                });
                from += length;
            }
            at = end;
        }
        handoff.put_all(pieces, fault.as_ref())
    }

    /// Bytes that are yet to come.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stretches.is_empty()
    }

    /// What comes next.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, StdError>>> {
        let bytes = match self.stretches.front_mut() {
            None => return Poll::Ready(None),
            Some(Stretch::Text(text)) => {
                let text = std::mem::take(text);
                self.stretches.pop_front();
                text
            }
            Some(Stretch::Upload(range)) => {
                let range = range.clone();
                let bytes = ready!(self.poll_range(&range, context))?;
                let rest = range.start + bytes.len() as u64..range.end;
                if rest.is_empty() {
                    self.stretches.pop_front();
                } else if let Some(front) = self.stretches.front_mut() {
                    *front = Stretch::Upload(rest);
                }
                bytes
            }
        };
        self.left -= bytes.len() as u64;
        Poll::Ready(Some(Ok(bytes)))
    }
}

/// The part of a chunk that lies in a range; `begin` is where in the upload the chunk begins.
fn part(chunk: &Bytes, range: &Range<u64>, begin: u64) -> Bytes {
    let within = |at: u64| {
        usize::try_from(at.saturating_sub(begin))
            .unwrap_or(usize::MAX)
            .min(chunk.len())
    };
    let (from, to) = (within(range.start), within(range.end));
    chunk.slice(from..to.max(from))
}

fn cut_short() -> ShareError {
    ShareError::Damaged("the upload ends before its size".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::ShareBody;
    use http_body::Body as _;

    /// Chunks of ten bytes, each with its number; it ends early where that is wanted.
    struct Tens(u64);

    impl BodyReader for Tens {
        fn read(&mut self, first: u64, count: u64) -> ShareResult<Vec<Bytes>> {
            let end = first.saturating_add(count).min(self.0.div_ceil(10));
            let chunk = |number: u64| {
                let length = (self.0 - number * 10).min(10);
                (0..length)
                    .map(|at| u8::try_from(number * 10 + at).unwrap())
                    .collect::<Vec<u8>>()
                    .into()
            };
            Ok((first..end).map(chunk).collect())
        }

        fn part(&mut self, _: u64, _: Range<u64>) -> ShareResult<Bytes> {
            Ok(Bytes::new())
        }
    }

    /// A batch of none is sent piece by piece.
    async fn sent(stretches: Vec<Stretch>, size: u64, batch: u64) -> Result<Vec<u8>, String> {
        let way = match batch {
            0 => Way::Piecemeal,
            batch => Way::Read(batch),
        };
        let stream = FromStore::new(Box::new(Tens(size)), stretches, 10, way);
        let stream = stream.begun().await.map_err(|error| error.to_string())?;
        let mut body = ShareBody::Streamed(Box::new(stream));
        let (mut out, expected) = (Vec::new(), body.size_hint().exact().unwrap());
        while let Some(frame) =
            std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
        {
            out.extend_from_slice(
                frame
                    .map_err(|error| error.to_string())?
                    .data_ref()
                    .unwrap(),
            );
        }
        assert!(body.is_end_stream() && out.len() as u64 == expected);
        Ok(out)
    }

    #[tokio::test]
    async fn any_ranges_are_sent_in_any_batches() {
        for batch in [0, 1, 2, 3, 100] {
            for range in [0..95, 0..1, 9..11, 10..20, 37..95, 94..95, 20..90] {
                let expected: Vec<u8> = (range.start..range.end)
                    .map(|at| u8::try_from(at).unwrap())
                    .collect();
                let found = sent(vec![Stretch::Upload(range.clone())], 95, batch).await;
                assert_eq!(found, Ok(expected), "{range:?} {batch}");
            }
            let several = vec![
                Stretch::Text("a".into()),
                Stretch::Upload(90..93),
                Stretch::Text("b".into()),
                Stretch::Upload(5..25),
                Stretch::Upload(7..8),
            ];
            let found = sent(several, 95, batch).await.unwrap();
            assert_eq!(found[..5], [b'a', 90, 91, 92, b'b']);
            assert_eq!((found.len(), found[25]), (26, 7));
        }
    }

    #[tokio::test]
    async fn an_upload_that_is_shorter_than_it_was_ends_with_an_error() {
        for size in [0, 5, 10, 90, 94] {
            for batch in [0, 1, 4] {
                assert!(
                    sent(vec![Stretch::Upload(0..95)], size, batch)
                        .await
                        .is_err(),
                    "{size}"
                );
            }
        }
    }
}
