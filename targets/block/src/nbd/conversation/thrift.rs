//! What one client takes of the memory for all.

use super::super::Awaits;
use super::super::client_memory::{MemoryGrant, MemoryShare};
use super::super::stay::Keeps;
use super::super::wire::{REQUEST_BYTES, WireRequest};
use super::Conversation;
use crate::request::Errno;

/// What each client has for answers without asking.
const FREE_BYTES: usize = 128 << 10;
/// A message up to this length is what each client has room for.
const SHORT_MESSAGE: usize = super::super::incoming::INPUT;

impl Conversation {
    /// Takes no more memory than it has of that for all clients.
    pub(in super::super) fn sharing(self, share: MemoryShare) -> Self {
        Self {
            share: Some(share),
            ..self
        }
    }

    /// Whether memory is short for all.
    pub(in super::super) fn is_tight(&self) -> bool {
        self.share.as_ref().is_some_and(MemoryShare::is_tight)
    }

    /// Says what its input takes, and gives back what it does not need.
    pub(in super::super) fn settle(&mut self, input: usize) {
        if self.is_tight() {
            self.out.rest();
        }
        self.incoming = input.saturating_sub(SHORT_MESSAGE);
        let takes = self.takes();
        if let Some(share) = &mut self.share {
            share.settle(takes);
        }
    }

    /// Has the next request refused rather than wait for memory.
    pub(in super::super) fn hurry(&mut self) {
        self.hurries = true;
    }

    /// What it keeps of the memory that others may wait for, beside what each client has.
    pub(in super::super) fn keeps(&self, message: usize) -> Keeps {
        if !self.share.as_ref().is_some_and(MemoryShare::is_long) {
            Keeps::Nothing
        } else if message > SHORT_MESSAGE {
            Keeps::Message
        } else if self.out.waiting().is_empty() {
            Keeps::Nothing
        } else {
            Keeps::Answers
        }
    }

    /// Whether others have waited for memory since it was last asked.
    pub(in super::super) fn others_waited(&mut self) -> bool {
        self.share.as_mut().is_some_and(MemoryShare::others_waited)
    }

    /// Has the write that has not come whole refused, and what still comes of it passed over.
    pub(in super::super) fn give_up(&mut self) {
        self.gives_up = true;
    }

    /// Bytes beside those that each client has.
    fn takes(&self) -> usize {
        Self::would_take(self.out.takes(), self.held_bytes, self.incoming)
    }

    /// What reads that are held have found is copied to where it is sent from when they end.
    #[inline]
    fn would_take(answers: usize, held: usize, incoming: usize) -> usize {
        (answers.max(held) + held).saturating_sub(FREE_BYTES) + incoming
    }

    /// Takes memory, up to so many bytes.
    #[inline]
    pub(super) fn afford(&mut self, takes: usize) -> MemoryGrant {
        let hurries = std::mem::take(&mut self.hurries);
        let Some(share) = &mut self.share else {
            return MemoryGrant::Taken;
        };
        match share.take_up_to(takes) {
            MemoryGrant::Waits if hurries => MemoryGrant::Never,
            room @ (MemoryGrant::Taken | MemoryGrant::Waits | MemoryGrant::Never) => room,
        }
    }

    /// Waits for the rest of a write, for which there is room where it is short.
    #[cold]
    pub(super) fn expect(&mut self, wire: &WireRequest) -> Result<usize, Awaits> {
        if std::mem::take(&mut self.gives_up) {
            return Ok(self.refuse(wire));
        }
        let message = REQUEST_BYTES + wire.length as usize;
        let incoming = message.saturating_sub(SHORT_MESSAGE).max(self.incoming);
        match self.afford(Self::would_take(
            self.out.takes(),
            self.held_bytes,
            incoming,
        )) {
            MemoryGrant::Taken => {
                self.incoming = incoming;
                Err(Awaits::Bytes(message))
            }
            MemoryGrant::Waits => Err(Awaits::Memory),
            MemoryGrant::Never => Ok(self.refuse(wire)),
        }
    }

    /// Refuses a write before it has come; says how many bytes are done with.
    fn refuse(&mut self, wire: &WireRequest) -> usize {
        self.skipped = wire.length;
        self.end(wire.cookie, Err(Errno::ENOMEM));
        REQUEST_BYTES
    }

    /// Bytes that it may take with a read of this length.
    #[inline]
    pub(super) fn takes_with_read(&self, bytes: usize) -> usize {
        let held = if self.lane.misbehaves() { bytes } else { 0 };
        let answers = self.out.takes() + self.out.growth(self.read_head() + bytes);
        Self::would_take(answers, self.held_bytes + held, self.incoming)
    }
}
