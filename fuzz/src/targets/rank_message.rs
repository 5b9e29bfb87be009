//! What ranks say to each other: what is accepted is as long as its bytes, is said as what is read as the same again, and does not make this process
//! believe that it sees the clock of another.

use group::Message;
use std::sync::{LazyLock, Mutex};
use sys::{ClockReader, MachineClock};

static READER: LazyLock<Option<Mutex<ClockReader>>> =
    LazyLock::new(|| ClockReader::own(MachineClock::monotonic()).map(Mutex::new));

pub fn run(bytes: &[u8]) {
    let Some(message) = Message::read(bytes) else {
        return;
    };
    let again = message.bytes();
    assert_eq!(again.len(), bytes.len());
    assert_eq!(Message::read(&again).as_ref(), Some(&message));
    let reader = READER.as_ref().and_then(|reader| reader.lock().ok());
    if let (Message::Reader { word }, Some(mut reader)) = (&message, reader) {
        assert_eq!(reader.apart(word), None, "nobody knows what is drawn");
        let own = reader.introduction();
        assert!(reader.apart(own.as_bytes()).is_some(), "it sees itself");
    }
}
