//! What the requests of a run have in common: address, keys of objects, signing, patience.

use crate::connection::Peer;
use crate::ledger::Ledger;
use crate::payload::{Object, Payload};
use crate::sign::Credentials;
use crate::target::Service;
use engine::MachineClock;
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Buffer that every response of a thread is read into.
const READ_BYTES: usize = 256 << 10;
/// What all requests of a run have in common.
pub(crate) struct Habits {
    pub(crate) service: Service,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) signs_payload: bool,
    pub(crate) closes: bool,
    pub(crate) timeout: Duration,
    pub(crate) retries: u32,
    /// Begins every key, and ends with the separator.
    pub(crate) root: String,
    /// A slash on S3; elsewhere directories may not exist.
    pub(crate) separator: char,
    pub(crate) prefixes: u32,
    pub(crate) field: String,
    pub(crate) payload: Payload,
    pub(crate) clock: MachineClock,
    /// Seconds since 1970 at second 0 of the clock.
    pub(crate) epoch: u64,
}

/// What the requests of one thread share.
pub(crate) struct Thread {
    pub(crate) habits: Arc<Habits>,
    pub(crate) peers: Arc<Vec<Peer>>,
    pub(crate) ledger: Ledger,
    pub(crate) scratch: RefCell<Vec<u8>>,
}

impl Thread {
    pub(crate) fn new(habits: Arc<Habits>, peers: Arc<Vec<Peer>>, ledger: Ledger) -> Rc<Self> {
        Rc::new(Self { habits, peers, ledger, scratch: RefCell::new(vec![0; READ_BYTES]) })
    }
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About<'a> {
    Object(Object),
    Bucket,
    /// The keys of one prefix.
    Prefix(u32),
    /// The target's own URL.
    Itself,
    /// Part `number` of an upload of the object, from this offset.
    Part {
        object: Object,
        upload: &'a str,
        number: u64,
        from: u64,
        length: u64,
    },
    /// An upload of the object, and what completes it.
    Upload {
        object: Object,
        upload: &'a str,
        body: &'a [u8],
    },
}

/// The key of an object: spread over the prefixes by owner, seeds by number.
pub(crate) fn write_key(habits: &Habits, object: Object, out: &mut Vec<u8>) {
    let spread = if object.owner == Object::SEED { object.number } else { u64::from(object.owner) };
    let _infallible = write!(out, "{}p{}{}", habits.root, spread % u64::from(habits.prefixes), habits.separator);
    let _infallible = match object.owner {
        Object::SEED => write!(out, "seed-{:06}", object.number),
        owner => write!(out, "u{owner:05}-{:08}", object.number),
    };
}

/// Percent-encoding of all but the unreserved characters, as signatures need it.
pub(crate) fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_encoded_is() {
        assert_eq!(encoded("a-b_c.d~e"), "a-b_c.d~e");
        assert_eq!(encoded("a/b+c=="), "a%2Fb%2Bc%3D%3D");
    }
}
