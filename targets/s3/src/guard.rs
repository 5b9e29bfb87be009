//! What the protocol library does not look at in a body: whether chunks end with their last one,
//! whether a document is what its `Content-MD5` and checksum say, and, where nobody signed,
//! whether the body is what `x-amz-content-sha256` says.

use crate::protocol::{Hashes, content_md5, content_sha256_mismatch, given_in, invalid_argument};
use crate::question::Question;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use md5::{Digest as _, Md5};
use s3s::{S3Error, S3Result, StdError, s3_error};
use sha2::Sha256;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

/// The most bytes of the line before a chunk. The library refuses a longer one.
const LONGEST_LINE: usize = 1024;

/// Where in a body of chunks its reader stands.
#[derive(Debug, PartialEq, Eq)]
enum Chunks {
    /// In the line before a chunk, of which these are the digits of the size so far.
    Line {
        size: u64,
        digits: usize,
        length: usize,
    },
    /// So many bytes before the next line.
    Data(u64),
    /// The last chunk, which is empty, has begun.
    Last,
    /// No line has ever been like this; the library says so.
    Malformed,
}

impl Chunks {
    fn new() -> Self {
        Self::Line {
            size: 0,
            digits: 0,
            length: 0,
        }
    }

    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self {
                Self::Last | Self::Malformed => return,
                Self::Data(left) => {
                    let here = usize::try_from(*left)
                        .unwrap_or(usize::MAX)
                        .min(bytes.len());
                    *left -= here as u64;
                    bytes = &bytes[here..];
                    if *left == 0 {
                        *self = Self::new();
                    }
                }
                Self::Line {
                    size,
                    digits,
                    length,
                } => {
                    let (byte, rest) = (bytes[0], &bytes[1..]);
                    bytes = rest;
                    match char::from(byte).to_digit(16) {
                        Some(digit) if *digits == *length && *size < 1 << 32 => {
                            *size = *size << 4 | u64::from(digit);
                            *digits += 1;
                        }
                        Some(_) | None => {}
                    }
                    *length += 1;
                    if *length > LONGEST_LINE {
                        *self = Self::Malformed;
                    } else if byte == b'\n' {
                        *self = match (*digits, *size) {
                            (0, _) => Self::Malformed,
                            (_, 0) => Self::Last,
                            // The data end with a line's end of their own.
                            (_, size) => Self::Data(size + 2),
                        };
                    }
                }
            }
        }
    }
}

/// Where a guard leaves what it found.
#[derive(Clone, Default)]
pub(crate) struct Found(Arc<OnceLock<S3Error>>);

impl Found {
    /// What was wrong with the body, once.
    pub(crate) fn take(self) -> Option<S3Error> {
        let found = self.0.get()?;
        let mut error = S3Error::with_message(
            found.code().clone(),
            found.message().unwrap_or_default().to_owned(),
        );
        if let Some(status) = found.status_code() {
            error.set_status_code(status);
        }
        Some(error)
    }
}

/// What a document is compared with.
struct Document {
    hashes: Hashes,
    /// What `Content-MD5` says, and what it is so far.
    md5: Option<([u8; 16], Md5)>,
}

/// What a payload should be, in digits, and what it is so far.
type Payload = (String, Sha256);

/// A body that is looked at while it passes.
pub(crate) struct Guard<B> {
    inner: B,
    chunks: Option<Chunks>,
    document: Option<Document>,
    payload: Option<Payload>,
    found: Found,
    done: bool,
}

/// Whether the body is a document that its headers describe, which the library reads as a whole.
/// `PutObject` checks the bytes that it keeps; the checksum of `CompleteMultipartUpload` is of the
/// object.
fn is_document(operation: &str) -> bool {
    (operation.starts_with("Put") && operation != "PutObject")
        || ["CreateBucket", "DeleteObjects"].contains(&operation)
}

fn is_chunked(headers: &HeaderMap) -> bool {
    headers
        .get("x-amz-content-sha256")
        .is_some_and(|value| value.as_bytes().starts_with(b"STREAMING-"))
}

/// What a body without a signature is compared with; the protocol library compares signed ones.
/// Errors: `NotImplemented` for chunks, which the library takes apart for who signs alone;
/// `InvalidArgument`.
fn payload(headers: &HeaderMap) -> S3Result<Option<Payload>> {
    let Some(said) = headers.get("x-amz-content-sha256") else {
        return Ok(None);
    };
    if headers.contains_key(header::AUTHORIZATION) || said == "UNSIGNED-PAYLOAD" {
        return Ok(None);
    }
    if is_chunked(headers) {
        return Err(s3_error!(
            NotImplemented,
            "A body in chunks (aws-chunked) is implemented for requests with a signed header alone"
        ));
    }
    match said.to_str() {
        Ok(text) if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(Some((text.to_ascii_lowercase(), Sha256::new())))
        }
        Ok(_) | Err(_) => Err(invalid_argument(
            "x-amz-content-sha256 must be UNSIGNED-PAYLOAD or a valid sha256 value.",
        )),
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

impl<B> Guard<B> {
    /// `None` where there is nothing to look at. Errors: `InvalidDigest`, `InvalidRequest`,
    /// `InvalidArgument` and `NotImplemented` for what could not be compared.
    pub(crate) fn new(
        inner: impl FnOnce() -> B,
        headers: &HeaderMap,
        question: Question,
        found: &Found,
    ) -> S3Result<Option<Self>> {
        let payload = payload(headers)?;
        let chunks = is_chunked(headers).then(Chunks::new);
        let mut document = None;
        if chunks.is_none() && question.operation.is_some_and(is_document) {
            let given = given_in(headers)?;
            let md5 = content_md5(
                headers
                    .get("content-md5")
                    .and_then(|value| value.to_str().ok()),
            )?;
            if md5.is_some() || !given.is_empty() {
                document = Some(Document {
                    hashes: Hashes::new(given, None, None, None)?,
                    md5: md5.map(|md5| (md5, Md5::new())),
                });
            }
        }
        if chunks.is_none() && document.is_none() && payload.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            inner: inner(),
            chunks,
            document,
            payload,
            found: found.clone(),
            done: false,
        }))
    }

    /// Errors: where there is no body and there should be one, or another.
    pub(crate) fn of_nothing(mut self) -> S3Result<()> {
        let outcome = self.end();
        match (outcome, self.found.take()) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(error)) => Err(error),
            (Err(_), None) => Err(s3_error!(
                IncompleteBody,
                "The request body terminated unexpectedly, or is not as long as was said"
            )),
        }
    }

    fn pass(&mut self, bytes: &Bytes) {
        if let Some(chunks) = &mut self.chunks {
            chunks.pass(bytes);
        }
        if let Some(Document { hashes, md5 }) = &mut self.document {
            hashes.update(bytes);
            if let Some((_, md5)) = md5 {
                md5.update(bytes);
            }
        }
        if let Some((_, payload)) = &mut self.payload {
            payload.update(bytes);
        }
    }

    /// What is wrong with the whole.
    fn end(&mut self) -> Result<(), StdError> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        if self
            .chunks
            .as_ref()
            .is_some_and(|chunks| !matches!(chunks, Chunks::Last | Chunks::Malformed))
        {
            return Err("the body ended before its last chunk".into());
        }
        if let Some((wanted, payload)) = self.payload.take()
            && wanted != digits(&payload.finalize())
        {
            // There is one body, which ends once.
            let _ = self.found.0.set(content_sha256_mismatch());
            return Err("the body is not what its x-amz-content-sha256 says".into());
        }
        let Some(Document { hashes, md5 }) = self.document.take() else {
            return Ok(());
        };
        let same = md5.is_none_or(|(wanted, found)| wanted[..] == found.finalize()[..]);
        let outcome = if same {
            hashes.finish(None).map(drop)
        } else {
            Err(s3_error!(
                BadDigest,
                "The Content-MD5 you specified did not match what we received."
            ))
        };
        outcome.map_err(|error| {
            // There is one body, which ends once.
            let _ = self.found.0.set(error);
            "the document is not what its checksum says".into()
        })
    }
}

impl<B: Body<Data = Bytes, Error = StdError> + Unpin> Body for Guard<B> {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = self.get_mut();
        let frame = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => return Poll::Ready(this.end().err().map(Err)),
        };
        if let Some(bytes) = frame.data_ref() {
            this.pass(bytes);
        }
        // Whoever reads may not ask for what comes after the last bytes.
        if this.inner.is_end_stream()
            && let Err(error) = this.end()
        {
            return Poll::Ready(Some(Err(error)));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(pieces: &[&[u8]]) -> Chunks {
        let mut chunks = Chunks::new();
        pieces.iter().for_each(|piece| chunks.pass(piece));
        chunks
    }

    #[test]
    fn the_last_chunk_is_seen_and_its_absence_too() {
        for whole in [
            &b"0\r\n\r\n"[..],
            b"5\r\nhello\r\n0\r\n\r\n",
            b"5;chunk-signature=abc\r\n0\r\n0\r\r\n0;chunk-signature=d\r\n\r\n",
        ] {
            assert_eq!(
                after(&[whole]),
                Chunks::Last,
                "{}",
                String::from_utf8_lossy(whole)
            );
        }
        for cut in [
            &b""[..],
            b"5\r\nhello\r\n",
            b"5\r\nhello",
            b"7\r\n0\r\n\r\n0\r\n\r\n",
            b"0",
            b"0\r",
        ] {
            assert_ne!(
                after(&[cut]),
                Chunks::Last,
                "{}",
                String::from_utf8_lossy(cut)
            );
        }
        assert_eq!(after(&[&[b'0'; 2000]]), Chunks::Malformed);
    }

    proptest! {
        #[test]
        fn how_a_body_is_cut_does_not_matter(sizes in prop::collection::vec(1_usize..40, 0..6), cuts in prop::collection::vec(1_usize..9, 1..40)) {
            let mut body = Vec::new();
            for size in &sizes {
                body.extend(format!("{size:x}\r\n").bytes().chain(std::iter::repeat_n(b'0', *size)).chain(*b"\r\n"));
            }
            let open = body.len();
            body.extend(b"0\r\n\r\n");
            for (end, seen) in [(open, false), (body.len(), true)] {
                let (mut chunks, mut at) = (Chunks::new(), 0);
                for cut in cuts.iter().cycle() {
                    let to = (at + cut).min(end);
                    chunks.pass(&body[at..to]);
                    at = to;
                    if at == end {
                        break;
                    }
                }
                prop_assert_eq!(chunks == Chunks::Last, seen);
            }
        }
    }
}
