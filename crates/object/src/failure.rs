//! Why a request failed, in the few words under which failures are counted.

use record::ErrorClass;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// No connection: the server has not seen the request.
    Connect,
    /// The connection broke.
    Broken,
    Timeout,
    /// An answer that says no.
    Status(u16),
    /// An answer that is no HTTP, too short, or of another length.
    Content,
    /// Bytes that were not the object's.
    Verification,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) what: String,
    /// The reason that the answer's body gave, as object stores do; empty without.
    pub(crate) code: String,
    /// In the object, where it is known.
    pub(crate) offset: u64,
}

impl FailureKind {
    pub(crate) fn class(self) -> ErrorClass {
        match self {
            Self::Connect => ErrorClass::Connect,
            Self::Broken => ErrorClass::Broken,
            Self::Timeout => ErrorClass::Timeout,
            Self::Status(_) => ErrorClass::Refused,
            Self::Content => ErrorClass::Malformed,
            Self::Verification => ErrorClass::Verification,
        }
    }
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            code: String::new(),
            offset: 0,
        }
    }

    pub(crate) fn connect(error: &io::Error) -> Self {
        Self::new(FailureKind::Connect, format!("connect: {}", words(error)))
    }

    pub(crate) fn broken(error: &io::Error) -> Self {
        Self::new(FailureKind::Broken, words(error))
    }

    /// An answer with a status that is no success, and what its body says.
    pub(crate) fn status(status: u16, body: &[u8]) -> Self {
        let code = element(body, "Code").unwrap_or_default();
        let what = format!("HTTP {status} {code}");
        Self {
            code: code.into(),
            ..Self::new(FailureKind::Status(status), what.trim_end())
        }
    }

    /// Whether it was an answer that says no.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.kind, FailureKind::Status(_))
    }

    /// Whether the server may have done what was asked: nothing was heard that says no.
    pub(crate) fn is_in_doubt(&self) -> bool {
        match self.kind {
            // What stands before a server, or failed in it, does not know either; a form may answer what it has done
            // with another place. Who gives a reason has not done it, but where that is a failure of his own. A
            // success without what belongs to it is no word that it was not done.
            FailureKind::Status(500 | 502 | 504) => true,
            FailureKind::Status(501) => false,
            FailureKind::Status(300..=399 | 408 | 500..=599) => !self.has_reason(),
            FailureKind::Status(400..=499) => false,
            FailureKind::Status(_) => true,
            FailureKind::Connect => false,
            FailureKind::Broken
            | FailureKind::Timeout
            | FailureKind::Content
            | FailureKind::Verification => true,
        }
    }

    /// Whether what should be removed was not there, by the word of who would know: an object store, which says of
    /// what it knows nothing.
    pub(crate) fn is_gone(&self) -> bool {
        let known = ["NoSuchKey", "NoSuchUpload", "NoSuchBucket"];
        self.is_not_found() && known.contains(&self.code.as_str())
    }

    /// Whether something was not there, or the server, or what stands before it, knows no such place.
    pub(crate) fn is_not_found(&self) -> bool {
        self.kind == FailureKind::Status(404)
    }

    /// Whether another server of the same store may do it, or know.
    pub(crate) fn is_for_another(&self) -> bool {
        self.may_pass() || self.knows_no_such_place()
    }

    /// The same, where another server of the same store may know it.
    fn knows_no_such_place(&self) -> bool {
        let is_of_store = ["NoSuchKey", "NoSuchUpload"].contains(&self.code.as_str());
        self.is_not_found() && !is_of_store
    }

    /// Whether the answer's body had a code beside the status.
    fn has_reason(&self) -> bool {
        !self.code.is_empty()
    }

    /// Whether another try may succeed.
    pub(crate) fn may_pass(&self) -> bool {
        match self.kind {
            FailureKind::Connect | FailureKind::Broken | FailureKind::Timeout => true,
            FailureKind::Status(status) => status == 429 || status >= 500,
            FailureKind::Content | FailureKind::Verification => false,
        }
    }
}

/// The system's words without its numbers, which would divide equal failures.
fn words(error: &io::Error) -> String {
    let kind = error.kind();
    let known = [
        (io::ErrorKind::ConnectionRefused, "connection refused"),
        (io::ErrorKind::ConnectionReset, "connection reset"),
        (io::ErrorKind::BrokenPipe, "connection closed while sending"),
        (io::ErrorKind::UnexpectedEof, "connection closed inside TLS"),
    ];
    known
        .iter()
        .find(|(known, _)| *known == kind)
        .map_or_else(|| error.to_string(), |(_, words)| (*words).to_owned())
}

/// Text of the first element of this name; entities stay as they are.
pub(crate) fn element<'a>(xml: &'a [u8], name: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(xml).ok()?;
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let end = start + text[start..].find(&format!("</{name}>"))?;
    Some(&text[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_says_no_is_counted_under_its_code() {
        let failure = Failure::status(503, b"<Error><Code>SlowDown</Code></Error>");
        assert_eq!(
            (failure.what.as_str(), failure.may_pass()),
            ("HTTP 503 SlowDown", true)
        );
        let failure = Failure::status(403, b"go away");
        assert_eq!(
            (failure.what.as_str(), failure.may_pass()),
            ("HTTP 403", false)
        );
        let lost = Failure::new(FailureKind::Timeout, "timeout");
        assert!(lost.is_in_doubt() && !failure.is_in_doubt());
        let in_doubt = |code, body: &[u8]| Failure::status(code, body).is_in_doubt();
        let reason = b"<Code>SlowDown</Code>".as_slice();
        for (status, without, with) in [
            (101, true, true),
            (200, true, true),
            (303, true, false),
            (403, false, false),
            (404, false, false),
            (408, true, false),
            (500, true, true),
            (501, false, false),
            (503, true, false),
            (504, true, true),
            (524, true, false),
        ] {
            let said = (in_doubt(status, b""), in_doubt(status, reason));
            assert_eq!(said, (without, with), "{status}");
        }
    }

    #[test]
    fn what_stands_before_an_object_store_does_not_know_what_is_gone() {
        for (body, is_gone) in [
            ("<Code>NoSuchKey</Code>", true),
            ("<Code>NoSuchUpload</Code>", true),
            ("<Code>SlowDown</Code>", false),
            ("default backend", false),
        ] {
            let mut answer = Failure::status(404, body.as_bytes());
            answer.what.push_str(" at 127.0.0.1:9000");
            assert_eq!(answer.is_gone(), is_gone, "{body}");
        }
        let refused = Failure::status(403, b"<Code>NoSuchKey</Code>");
        assert!(!refused.is_gone());
    }

    #[test]
    fn an_element_is_found_or_not() {
        assert_eq!(
            element(b"<a><UploadId>x-1</UploadId></a>", "UploadId"),
            Some("x-1")
        );
        assert_eq!(
            [
                element(b"<UploadId>x", "UploadId"),
                element(b"\xff<A>b</A>", "A")
            ],
            [None, None]
        );
    }

    #[test]
    fn equal_failures_have_equal_words() {
        let refused = io::Error::from_raw_os_error(111);
        assert_eq!(
            Failure::connect(&refused).what,
            "connect: connection refused"
        );
    }
}
