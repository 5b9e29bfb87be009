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
        (true, true) => Ok(()),
    }
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
