//! The receiving half of HTTP/1.1 (RFC 9112), as a machine that is fed bytes: no I/O, no clock,
//! nothing allocated once it has run.

use units::lossless::{to_u64, to_usize};

/// A response head longer than this is refused.
const MOST_HEAD: usize = 32 << 10;
const MOST_HEADERS: usize = 64;
/// A line of a chunk's size, or of a trailer, longer than this is refused.
const MOST_LINE: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// Bytes that are still to come.
    Length(u64),
    UntilClose,
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    Done,
}

/// What a request expects, as far as it decides where the response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Body,
    /// The answer to HEAD: a length is stated and no body follows.
    HeadOnly,
}

/// One response as it comes in.
#[derive(Debug)]
pub(crate) struct Response {
    state: State,
    expect: Expect,
    /// A head, or a line between chunks, of which the end has not come.
    partial: Vec<u8>,
    pub(crate) status: u16,
    /// As the head states it.
    pub(crate) length: Option<u64>,
    pub(crate) etag: Vec<u8>,
    /// Which part of the object the body is, as the head states it.
    pub(crate) range: Vec<u8>,
    /// The first cookie that is set, without what is said of it.
    pub(crate) cookie: Vec<u8>,
    /// Whether the server will take no further request.
    pub(crate) closes: bool,
    /// Bytes of the body so far.
    pub(crate) received: u64,
}

impl Response {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Head,
            expect: Expect::Body,
            partial: Vec::new(),
            status: 0,
            length: None,
            etag: Vec::new(),
            range: Vec::new(),
            cookie: Vec::new(),
            closes: false,
            received: 0,
        }
    }

    /// Prepares for the answer to the next request.
    pub(crate) fn begin(&mut self, expect: Expect) {
        self.partial.clear();
        self.etag.clear();
        self.range.clear();
        self.cookie.clear();
        (
            self.state,
            self.expect,
            self.status,
            self.length,
            self.closes,
            self.received,
        ) = (State::Head, expect, 0, None, false, 0);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes the next bytes of the connection; the body goes to `sink` piece by piece, with the
    /// status.
    ///
    /// # Errors
    /// What came is no HTTP/1.1 response, or more than one.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl FnMut(u16, &[u8]),
    ) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Head => self.head(bytes)?,
                State::Length(left) => {
                    let (body, rest) = bytes.split_at(bytes.len().min(to_usize(left)));
                    self.body(body, sink);
                    let left = left - to_u64(body.len());
                    self.state = if left == 0 {
                        State::Done
                    } else {
                        State::Length(left)
                    };
                    rest
                }
                State::UntilClose => {
                    self.body(bytes, sink);
                    &[]
                }
                State::Chunk(left) => {
                    let (body, rest) = bytes.split_at(bytes.len().min(to_usize(left)));
                    self.body(body, sink);
                    let left = left - to_u64(body.len());
                    self.state = if left == 0 {
                        State::ChunkEnd
                    } else {
                        State::Chunk(left)
                    };
                    rest
                }
                State::ChunkSize | State::ChunkEnd | State::Trailers => self.line(bytes)?,
                State::Done => return Err("bytes after the end of the response"),
            };
        }
        Ok(())
    }

    /// The server has closed: true if that ends the response rightly.
    pub(crate) fn close(&mut self) -> bool {
        self.closes = true;
        if self.state == State::UntilClose {
            self.state = State::Done;
        }
        self.is_done()
    }

    /// Bytes of a successful answer's body that are still to come, where the head said how many.
    pub(crate) fn body_left(&self) -> u64 {
        match self.state {
            State::Length(left) if (200..300).contains(&self.status) => left,
            State::Length(_)
            | State::Head
            | State::UntilClose
            | State::ChunkSize
            | State::Chunk(_)
            | State::ChunkEnd
            | State::Trailers
            | State::Done => 0,
        }
    }

    /// Counts bytes of the body that were thrown away unseen.
    ///
    /// # Panics
    /// They are more than [`Response::body_left`] says.
    pub(crate) fn skip(&mut self, bytes: u64) {
        let left = self
            .body_left()
            .checked_sub(bytes)
            .expect("no more is thrown away than is left");
        self.received += bytes;
        self.state = if left == 0 {
            State::Done
        } else {
            State::Length(left)
        };
    }

    /// Whether any byte has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.state != State::Head || !self.partial.is_empty()
    }

    fn body(&mut self, body: &[u8], sink: &mut impl FnMut(u16, &[u8])) {
        self.received += to_u64(body.len());
        sink(self.status, body);
    }

    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], &'static str> {
        if self.partial.is_empty()
            && let Some(used) = self.parse(bytes)?
        {
            return Ok(&bytes[used..]);
        }
        let before = self.partial.len();
        self.partial.extend_from_slice(bytes);
        let whole = std::mem::take(&mut self.partial);
        let parsed = if before == 0 {
            Ok(None)
        } else {
            self.parse(&whole)
        };
        self.partial = whole;
        match parsed? {
            Some(used) => {
                self.partial.clear();
                Ok(&bytes[used - before..])
            }
            None if self.partial.len() > MOST_HEAD => Err("a response head of more than 32 KiB"),
            None => Ok(&[]),
        }
    }

    /// Length of the head, once it is whole.
    fn parse(&mut self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let used = match response.parse(bytes) {
            Ok(httparse::Status::Complete(used)) => used,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err("no HTTP/1.1 response head"),
        };
        self.status = response.code.unwrap_or(0);
        self.closes = response.version == Some(0);
        if (100..200).contains(&self.status) {
            // An interim response; the real one follows (RFC 9110, 15.2).
            return Ok(Some(used));
        }
        let mut is_chunked = false;
        for header in response.headers.iter() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("transfer-encoding") {
                is_chunked = header.value.to_ascii_lowercase().ends_with(b"chunked");
            } else if is("connection") {
                self.closes |= header.value.eq_ignore_ascii_case(b"close");
            } else {
                self.keep(header.name, header.value)?;
            }
        }
        self.state = match (self.expect, self.status, is_chunked, self.length) {
            (Expect::HeadOnly, ..) | (_, 204 | 304, ..) | (_, _, false, Some(0)) => State::Done,
            (Expect::Body, _, true, _) => State::ChunkSize,
            (Expect::Body, _, false, Some(length)) => State::Length(length),
            (Expect::Body, _, false, None) => State::UntilClose,
        };
        if is_chunked {
            self.length = None;
        }
        Ok(Some(used))
    }

    /// Keeps what a header says of the answer, whichever protocol carries it.
    ///
    /// # Errors
    /// Two lengths, or one that is no number.
    pub(crate) fn keep(&mut self, name: &str, value: &[u8]) -> Result<(), &'static str> {
        let is = |of: &str| name.eq_ignore_ascii_case(of);
        if is("content-length") {
            let length: Option<u64> = std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.trim().parse().ok());
            let length = length.ok_or("a content-length that is no number")?;
            if self.length.is_some_and(|other| other != length) {
                return Err("two different content-lengths");
            }
            self.length = Some(length);
        } else if is("etag") {
            self.etag.extend_from_slice(value);
        } else if is("content-range") {
            // Two of them name no part.
            self.range.extend_from_slice(value);
        } else if is("set-cookie") && self.cookie.is_empty() {
            let pair = value.split(|byte| *byte == b';').next();
            self.cookie.extend_from_slice(pair.unwrap_or_default());
        }
        Ok(())
    }

    /// One line between chunks: the end of a chunk, a size, a trailer.
    fn line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], &'static str> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            self.partial.extend_from_slice(bytes);
            return if self.partial.len() > MOST_LINE {
                Err("a chunk line of more than 4 KiB")
            } else {
                Ok(&[])
            };
        };
        self.partial.extend_from_slice(&bytes[..end]);
        let line = std::mem::take(&mut self.partial);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        self.state = match self.state {
            State::ChunkEnd if text.is_empty() => State::ChunkSize,
            State::ChunkEnd => return Err("a chunk longer than it said"),
            State::Trailers if text.is_empty() => State::Done,
            State::Trailers => State::Trailers,
            State::ChunkSize
            | State::Head
            | State::Length(_)
            | State::UntilClose
            | State::Chunk(_)
            | State::Done => {
                let digits = text
                    .split(|byte| *byte == b';')
                    .next()
                    .unwrap_or_default()
                    .trim_ascii();
                let size = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|text| u64::from_str_radix(text, 16).ok());
                match size.ok_or("a chunk size that is no number")? {
                    0 => State::Trailers,
                    size => State::Chunk(size),
                }
            }
        };
        self.partial = line;
        self.partial.clear();
        Ok(&bytes[end + 1..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(expect: Expect, pieces: &[&[u8]]) -> (Result<(), &'static str>, Response, Vec<u8>) {
        let mut response = Response::new();
        response.begin(expect);
        let mut body = Vec::new();
        let result = pieces.iter().try_for_each(|piece| {
            response.feed(piece, &mut |_, bytes| body.extend_from_slice(bytes))
        });
        (result, response, body)
    }

    const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\nhello";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n";

    #[test]
    fn a_head_alone_ends_where_there_is_no_body() {
        for (expect, head) in [
            (
                Expect::HeadOnly,
                &b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"[..],
            ),
            (Expect::Body, b"HTTP/1.1 204 No Content\r\n\r\n"),
            (
                Expect::Body,
                b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            ),
        ] {
            assert!(read(expect, &[head]).1.is_done());
        }
    }

    #[test]
    fn an_interim_response_is_passed_over() {
        let (result, response, body) =
            read(Expect::Body, &[b"HTTP/1.1 100 Continue\r\n\r\n", PLAIN]);
        assert_eq!(
            (result, response.status, body.as_slice()),
            (Ok(()), 200, &b"hello"[..])
        );
    }

    #[test]
    fn a_truncated_body_is_not_done() {
        let mut response = read(Expect::Body, &[&PLAIN[..PLAIN.len() - 1]]).1;
        assert!(!response.close());
        let mut response = read(Expect::Body, &[&CHUNKED[..CHUNKED.len() - 2]]).1;
        assert!(!response.close());
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let mut response = read(Expect::Body, &[b"HTTP/1.0 200 OK\r\n\r\nhello"]).1;
        assert!(!response.is_done() && response.close() && response.closes);
        assert_eq!(response.received, 5);
    }

    #[test]
    fn what_is_skipped_is_counted_and_ends_the_body() {
        let mut response = read(Expect::Body, &[&PLAIN[..PLAIN.len() - 3]]).1;
        assert_eq!(response.body_left(), 3);
        response.skip(2);
        assert_eq!(
            (response.body_left(), response.is_done(), response.received),
            (1, false, 4)
        );
        response.skip(1);
        assert!(response.is_done() && response.received == 5);
    }

    #[test]
    fn what_is_no_response_is_refused() {
        for bytes in [
            &b"SSH-2.0-OpenSSH\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        ] {
            assert!(
                read(Expect::Body, &[bytes]).0.is_err(),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(cuts in prop::collection::vec(0_usize..90, 0..6), chunked in any::<bool>()) {
            let whole = if chunked { CHUNKED } else { PLAIN };
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).chain([0, whole.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
            let (result, response, body) = read(Expect::Body, &pieces);
            prop_assert_eq!(result, Ok(()));
            prop_assert!(response.is_done() && body == b"hello" && response.received == 5 && response.status == 200);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), whole in any::<bool>()) {
            let start: &[u8] = if whole { b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" } else { b"HTTP/1.1 " };
            let _any = read(Expect::Body, &[start, &bytes]);
        }
    }
}
