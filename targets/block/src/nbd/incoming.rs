//! What a client has sent and was not read yet.

/// What is read at once, unless one message is longer.
pub(super) const INPUT: usize = 256 << 10;

/// Bytes that came and were not read yet.
pub(super) struct Incoming {
    pub(super) bytes: Vec<u8>,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Incoming {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            end: 0,
        }
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes no more than short messages need, if there is no more in it.
    pub(super) fn rest(&mut self) {
        if self.bytes.len() > INPUT && self.end - self.start <= INPUT {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.bytes.truncate(INPUT);
            self.bytes.shrink_to_fit();
        }
    }

    /// Room for more of a message of so many bytes, or for whatever comes. It grows with what has
    /// come: who announces a long message and does not send it takes no memory. `None` where there
    /// is no memory for it.
    pub(super) fn room(&mut self, message: usize) -> Option<&mut [u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if message > INPUT || self.start + message.max(INPUT / 2) > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let wanted = message.max(INPUT);
            let earned = wanted.min((2 * self.end).max(INPUT));
            if self.bytes.len() < earned {
                let more = earned - self.bytes.len();
                self.bytes.try_reserve_exact(more).ok()?;
                self.bytes.resize(earned, 0);
            } else if self.bytes.len() > wanted && self.end <= wanted {
                self.bytes.truncate(wanted);
                self.bytes.shrink_to_fit();
            }
        }
        Some(&mut self.bytes[self.end..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_announced_and_not_sent_takes_no_memory() {
        const MESSAGE: usize = 32 << 20;
        let mut incoming = Incoming::new();
        let mut sent = 0;
        while sent < MESSAGE {
            let room = incoming.room(MESSAGE).unwrap().len();
            assert!(incoming.bytes.len() <= (2 * sent).max(INPUT));
            let piece = room.min(MESSAGE - sent).min(100_000);
            incoming.end += piece;
            sent += piece;
        }
        assert_eq!(incoming.unread().len(), MESSAGE);
        incoming.start = incoming.end;
        incoming.room(0);
        assert_eq!(incoming.bytes.len(), MESSAGE, "the next may be as long");
    }
}
