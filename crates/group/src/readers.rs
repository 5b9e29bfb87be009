//! Which ranks read one clock: a question for the time would find out less than they can see.

use crate::message::Message;
use crate::terms::Act;
use std::collections::BTreeSet;
use sys::ClockReader;

/// A rank's own clock, said once to whoever asks it for the time, and compared with what others say.
#[derive(Debug)]
pub(crate) struct Readers {
    /// `None` where nobody else can read it.
    own: Option<ClockReader>,
    told: BTreeSet<u32>,
}

impl Readers {
    pub(crate) fn new(own: Option<ClockReader>) -> Self {
        let told = BTreeSet::new();
        Self { own, told }
    }

    /// What is to be said before a question for the time is answered.
    pub(crate) fn answer(&mut self, from: u32, heard: &Message) -> Option<Act> {
        let Message::Ask { .. } = heard else {
            return None;
        };
        let own = self.own.as_ref().filter(|_| self.told.insert(from))?;
        let word = own.to_string().into_bytes().into();
        Some(Act::Send(from, Message::Reader { word }))
    }

    /// Whether whoever says this reads the same clock.
    pub(crate) fn is_beside(&self, heard: &Message) -> bool {
        let (Some(own), Message::Reader { word }) = (&self.own, heard) else {
            return false;
        };
        ClockReader::read(word).is_some_and(|other| own.reads_that_of(&other))
    }
}
