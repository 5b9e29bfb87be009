//! Uploads read in little pieces, for as many slow downloads as there may be.

use crate::content::BodyReader;
use crate::error::ShareResult;
use bytes::{Bytes, BytesMut};
use std::ops::Range;
use tokio::sync::OwnedSemaphorePermit;

/// The bytes of a piece.
pub(crate) const PIECE: u64 = 16 << 10;

/// A reader whose chunks are pieces.
pub(crate) struct Pieces {
    reader: Box<dyn BodyReader>,
    chunk: u64,
}

impl Pieces {
    /// `chunk` is the length of the chunks of the reader.
    pub(crate) fn new(reader: Box<dyn BodyReader>, chunk: u64) -> Self {
        Self { reader, chunk }
    }

    fn piece(&mut self, number: u64) -> ShareResult<Bytes> {
        let (mut at, end) = (number * PIECE, (number + 1) * PIECE);
        let mut piece = BytesMut::new();
        while at < end {
            let within = at % self.chunk;
            let length = (self.chunk - within).min(end - at);
            let part = self.reader.part(at / self.chunk, within..within + length)?;
            piece.extend_from_slice(&part);
            if (part.len() as u64) < length {
                break;
            }
            at += length;
        }
        Ok(piece.freeze())
    }
}

impl BodyReader for Pieces {
    fn read(&mut self, first: u64, count: u64) -> ShareResult<Vec<Bytes>> {
        let mut pieces = Vec::new();
        for number in first..first.saturating_add(count) {
            let piece = self.piece(number)?;
            if piece.is_empty() {
                break;
            }
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn part(&mut self, number: u64, range: Range<u64>) -> ShareResult<Bytes> {
        self.reader.part(number, range)
    }
}

/// A reader that may hold whole rows.
pub(crate) struct Ahead {
    reader: Box<dyn BodyReader>,
    _place: OwnedSemaphorePermit,
}

impl Ahead {
    pub(crate) fn new(reader: Box<dyn BodyReader>, place: OwnedSemaphorePermit) -> Self {
        Self {
            reader,
            _place: place,
        }
    }
}

impl BodyReader for Ahead {
    fn read(&mut self, first: u64, count: u64) -> ShareResult<Vec<Bytes>> {
        self.reader.read(first, count)
    }

    fn part(&mut self, number: u64, range: Range<u64>) -> ShareResult<Bytes> {
        self.reader.part(number, range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in chunks of a length.
    struct Whole(Vec<u8>, u64);

    impl BodyReader for Whole {
        fn read(&mut self, _: u64, _: u64) -> ShareResult<Vec<Bytes>> {
            Ok(Vec::new())
        }

        fn part(&mut self, number: u64, range: Range<u64>) -> ShareResult<Bytes> {
            assert!(range.end <= self.1);
            let at = |within: u64| {
                let at = usize::try_from(number * self.1 + within).unwrap();
                at.min(self.0.len())
            };
            Ok(Bytes::copy_from_slice(
                &self.0[at(range.start)..at(range.end)],
            ))
        }
    }

    #[test]
    fn pieces_are_the_bytes_whatever_the_chunks() {
        let bytes: Vec<u8> = (0..200_000u32)
            .map(|at| (at % 251).to_le_bytes()[0])
            .collect();
        for chunk in [1000, PIECE, 50_000, 270_321] {
            for length in [0, 1, 16_384, 32_768, 32_769, 200_000] {
                let kept = bytes[..length].to_vec();
                let mut reader = Pieces::new(Box::new(Whole(kept, chunk)), chunk);
                assert_eq!(reader.read(0, 100).unwrap().concat(), bytes[..length]);
                let second = reader.read(1, 1).unwrap().concat();
                let end = length.min(32_768);
                assert_eq!(second, bytes[16_384.min(end)..end], "{chunk} {length}");
            }
        }
    }
}
