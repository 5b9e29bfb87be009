//! Records as bytes: little-endian numbers, texts behind their lengths. What is decoded may be
//! damaged and is never trusted.

use super::{StorageError, StorageResult};
use bytes::Bytes;

/// Appends values to a record.
pub(crate) struct Encoder {
    out: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            out: Vec::with_capacity(256),
        }
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("a record has fewer than 2^32 of anything"));
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.raw(text.as_bytes());
    }

    pub(crate) fn optional(&mut self, text: Option<&str>) {
        self.u8(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    pub(crate) fn pairs(&mut self, pairs: &[(String, String)]) {
        self.count(pairs.len());
        for (name, value) in pairs {
            self.text(name);
            self.text(value);
        }
    }

    pub(crate) fn finish(self) -> Bytes {
        Bytes::from(self.out)
    }
}

/// Takes values from a record.
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Decoder<'a> {
    /// `what` names the record where it cannot be decoded.
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    /// That the record says something impossible.
    pub(crate) fn wrong(&self) -> StorageError {
        StorageError::corrupt(self.what)
    }

    pub(crate) fn raw(&mut self, len: usize) -> StorageResult<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| self.wrong())?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> StorageResult<[u8; N]> {
        Ok(self
            .raw(N)?
            .try_into()
            .expect("raw gives as many bytes as asked"))
    }

    pub(crate) fn u8(&mut self) -> StorageResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> StorageResult<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> StorageResult<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A count of things that take at least one byte each, so that a damaged one reserves no
    /// memory.
    pub(crate) fn count(&mut self) -> StorageResult<usize> {
        let count = usize::try_from(self.u32()?).expect("a usize holds a u32");
        if count > self.rest.len() {
            Err(self.wrong())
        } else {
            Ok(count)
        }
    }

    pub(crate) fn text(&mut self) -> StorageResult<String> {
        let len = self.count()?;
        let bytes = self.raw(len)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.wrong()),
        }
    }

    pub(crate) fn optional(&mut self) -> StorageResult<Option<String>> {
        match self.u8()? {
            0 => Ok(None),
            1 => self.text().map(Some),
            _ => Err(self.wrong()),
        }
    }

    pub(crate) fn pairs(&mut self) -> StorageResult<Vec<(String, String)>> {
        let count = self.count()?;
        (0..count)
            .map(|_| Ok((self.text()?, self.text()?)))
            .collect()
    }

    pub(crate) fn end(&self) -> StorageResult<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.wrong())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_read_back_in_their_order(number: u64, text in ".*", optional in proptest::option::of(".*"), pairs in proptest::collection::vec((".*", ".*"), 0..4)) {
            let mut out = Encoder::new();
            out.u64(number);
            out.text(&text);
            out.optional(optional.as_deref());
            out.pairs(&pairs);
            let bytes = out.finish();
            let mut read = Decoder::new(&bytes, "test");
            prop_assert_eq!((read.u64().unwrap(), read.text().unwrap()), (number, text));
            prop_assert_eq!((read.optional().unwrap(), read.pairs().unwrap()), (optional, pairs));
            prop_assert!(read.end().is_ok());
        }

        #[test]
        fn damaged_bytes_are_an_error_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut read = Decoder::new(&bytes, "test");
            let _ = read.pairs();
            let _ = read.optional();
            let _ = read.u64();
        }
    }
}
