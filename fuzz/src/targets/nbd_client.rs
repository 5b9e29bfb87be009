//! A client's bytes: whatever it says, each message is read within what was given, answers stay bounded, and the server comes to an end.
//!
//! The first byte says how much of a sound negotiation comes before the rest of the input.

use block::nbd::Conversation;
use block::{Geometry, NullBackend, ServedDevice};
use std::sync::Arc;

const OPTION: &[u8] = b"IHAVEOPT";
const FLAGS: &[u8] = b"\0\0\0\x03";
/// Structured replies, what is told of extents, and the export itself.
const STRUCTURED: &[u8] = b"IHAVEOPT\0\0\0\x08\0\0\0\0";
const CONTEXT: &[u8] = b"IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation";
const GO: &[u8] = b"IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";

pub fn run(bytes: &[u8]) {
    let Some((sound, rest)) = bytes.split_first() else {
        return;
    };
    let says = match sound % 4 {
        0 => rest.to_vec(),
        1 => [FLAGS, OPTION, rest].concat(),
        2 => [FLAGS, GO, rest].concat(),
        _ => [FLAGS, STRUCTURED, CONTEXT, GO, rest].concat(),
    };
    let geometry = Geometry {
        block: 1,
        read_only: sound & 4 != 0,
    };
    let device = ServedDevice::new(Box::new(NullBackend::new(1 << 20)), geometry);
    let mut conversation = Conversation::new(&Arc::new(device), "disk");
    if sound & 8 != 0 {
        conversation = conversation.with_tls();
    }
    let mut input = &says[..];
    while let Ok(Ok(read)) = conversation.step(input) {
        assert!((1..=input.len()).contains(&read));
        input = &input[read..];
        let waiting = conversation.answer().len();
        assert!(waiting <= 64 << 20, "{waiting} bytes of answers");
        conversation.sent(waiting);
        conversation.reap();
    }
}
