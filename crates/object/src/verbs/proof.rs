//! What proves that a successful answer is right.

use super::About;
use crate::failure::{Failure, FailureKind};

/// A successful answer.
pub(crate) struct GoodAnswer<'a> {
    pub(crate) status: u16,
    /// As the head says it.
    pub(crate) length: Option<u64>,
    pub(crate) received: u64,
    pub(crate) etag: &'a [u8],
    /// Which part of the object it is, as the head says it.
    pub(crate) range: &'a [u8],
    /// Where it is kept.
    pub(crate) body: &'a [u8],
}

pub(super) fn wrong(what: &str) -> Failure {
    Failure::new(FailureKind::Content, what)
}

/// Whether an answer is the object, or the part of it that was asked for.
pub(super) fn is_what_was_asked(about: &About<'_>, answer: &GoodAnswer<'_>) -> Result<(), Failure> {
    const PARTIAL_CONTENT: u16 = 206;
    match (about.is_range, answer.status == PARTIAL_CONTENT) {
        (false, _) => has_length_of(about, Some(answer.received)),
        (true, false) => Err(wrong("the whole object came where a part was asked for")),
        (true, true) if answer.received != about.length => {
            Err(wrong("the answer has another length than the part"))
        }
        (true, true) => is_part(about, answer.range),
    }
}

/// Whether the part that an answer names is the one that was asked for: a length alone is that of
/// any other part as well.
fn is_part(about: &About<'_>, named: &[u8]) -> Result<(), Failure> {
    let Some(part) = NamedPart::parse(named) else {
        return Err(wrong(
            "the answer does not say which part it is (Content-Range)",
        ));
    };
    if (part.first, part.last) != (about.from, about.from + about.length - 1) {
        return Err(wrong("the answer is another part than was asked for"));
    }
    let size = about.object.map(|object| object.size);
    match part.of.zip(size) {
        Some((of, size)) if of != size => Err(wrong(
            "the answer is a part of something of another length than the object",
        )),
        Some(_) | None => Ok(()),
    }
}

/// A part as the head of an answer names it (RFC 9110, 14.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NamedPart {
    first: u64,
    last: u64,
    /// Length of the whole, where it is said.
    of: Option<u64>,
}

impl NamedPart {
    fn parse(text: &[u8]) -> Option<Self> {
        let (unit, rest) = std::str::from_utf8(text).ok()?.trim().split_once(' ')?;
        let (part, of) = rest.trim().split_once('/')?;
        let (first, last) = part.split_once('-')?;
        let of = match of {
            "*" => None,
            of => Some(number(of)?),
        };
        unit.eq_ignore_ascii_case("bytes").then_some(Self {
            first: number(first)?,
            last: number(last)?,
            of,
        })
    }
}

/// Digits alone: a sign is none of them.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Whether a length is that of the object, where there is one.
pub(super) fn has_length_of(about: &About<'_>, length: Option<u64>) -> Result<(), Failure> {
    match about.object {
        Some(object) if length != Some(object.size) => {
            Err(wrong("the answer has another length than the object"))
        }
        Some(_) | None => Ok(()),
    }
}
