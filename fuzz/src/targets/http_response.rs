//! Answers of a hostile server: the reader neither panics nor keeps more than it says, and where the bytes are cut makes no difference.
//!
//! The first byte says what is expected, the second where the bytes are cut.

#[allow(dead_code, reason = "the client uses what this target does not")]
#[path = "../../../crates/object/src/wire.rs"]
mod wire;

use wire::{Expect, Response};

struct Read {
    result: Result<(), &'static str>,
    response: Response,
    body: Vec<u8>,
}

fn read(expect: Expect, pieces: &[&[u8]]) -> Read {
    let (mut response, mut body) = (Response::new(), Vec::new());
    response.begin(expect);
    let result = pieces
        .iter()
        .try_for_each(|piece| response.feed(piece, &mut |_, bytes| body.extend_from_slice(bytes)));
    Read {
        result,
        response,
        body,
    }
}

pub fn run(bytes: &[u8]) {
    let [expect, cut, bytes @ ..] = bytes else {
        return;
    };
    let expect = if expect % 2 == 0 {
        Expect::Body
    } else {
        Expect::HeadOnly
    };
    let whole = read(expect, &[bytes]);
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let mut parts = read(expect, &[first, second]);
    assert_eq!(whole.result, parts.result);
    if whole.result.is_ok() {
        assert_eq!(whole.body, parts.body);
        assert_eq!(
            (whole.response.status, whole.response.is_done()),
            (parts.response.status, parts.response.is_done())
        );
        assert_eq!(whole.response.received, whole.body.len() as u64);
        if let Some(length) = whole.response.length.filter(|_| expect == Expect::Body) {
            assert!(whole.response.received <= length || whole.response.status == 0);
        }
    }
    parts.response.close();
    parts.response.body_left();
}
