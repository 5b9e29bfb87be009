//! Bytes that wait to be sent.

/// Room that is kept when nothing waits, unless memory is short for all: it is mapped anew else.
const KEPT: usize = 8 << 20;

/// Room beyond what is asked for, so that all that are held can be refused where memory has run out.
const SPARE: usize = 16 << 10;

/// A queue of bytes, written in place: what a read finds is put where it is sent from.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    is_short: bool,
}

impl ReplyQueue {
    /// Room for so many bytes behind those that wait, if there is memory for them;
    /// [`ReplyQueue::add`] makes them wait too.
    #[inline]
    pub(super) fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        if self.bytes.len() < self.end + bytes {
            self.make_room(bytes)?;
        }
        Some(&mut self.bytes[self.end..self.end + bytes])
    }

    /// Bytes that [`ReplyQueue::room`] takes more for so many.
    #[inline]
    pub(super) fn growth(&self, bytes: usize) -> usize {
        let wanted = self.end.saturating_add(bytes);
        if wanted <= self.bytes.len() {
            return 0;
        }
        wanted.saturating_add(SPARE) - self.bytes.len()
    }

    /// Bytes that it takes.
    pub(super) fn takes(&self) -> usize {
        self.bytes.len()
    }

    /// Keeps no room where nothing waits.
    pub(super) fn rest(&mut self) {
        if self.start == self.end {
            self.bytes = Vec::new();
        }
    }

    /// Whether an answer is missing, for which there was no memory.
    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// What has gone leaves its room: a client that always leaves something waiting would otherwise
    /// take memory for all that it was ever sent. At least as much has gone as is moved.
    #[cold]
    fn make_room(&mut self, bytes: usize) -> Option<()> {
        if self.start >= self.end - self.start {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let wanted = self.end + bytes;
        if self.bytes.len() < wanted {
            let more = wanted - self.bytes.len() + SPARE;
            // It grows by more than it must, unless that cannot be had.
            if self.bytes.try_reserve(more).is_err() {
                self.bytes.try_reserve_exact(more).ok()?;
            }
            self.bytes.resize(wanted + SPARE, 0);
        }
        Some(())
    }

    #[inline]
    pub(super) fn add(&mut self, bytes: usize) {
        self.end += bytes;
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.room(bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.add(bytes.len());
            }
            None => self.is_short = true,
        }
    }

    pub(super) fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// So many bytes have gone.
    pub(super) fn gone(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > KEPT {
                self.bytes = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_can_hold_is_said_to_be_missing_and_what_was_there_is_kept() {
        let mut queue = ReplyQueue::default();
        queue.push(b"kept");
        assert!(queue.room(usize::MAX / 4).is_none());
        assert!(!queue.is_short(), "whoever asked for it can say otherwise");
        queue.push(b" and more");
        assert_eq!(queue.waiting(), b"kept and more");
        // All that may be held can be refused without more memory.
        let room = queue.bytes.len();
        queue.push(&[0; 256 * 36]);
        assert_eq!(queue.bytes.len(), room);
    }

    #[test]
    fn a_queue_that_is_never_empty_keeps_its_bytes_in_order_and_does_not_grow() {
        let mut queue = ReplyQueue::default();
        let piece = |number: u16| number.to_be_bytes().repeat(5000);
        queue.push(&piece(0));
        for number in 1..2000 {
            queue.push(&piece(number));
            assert_eq!(queue.waiting()[..10_000], piece(number - 1), "{number}");
            queue.gone(10_000);
        }
        assert_eq!(queue.waiting(), piece(1999));
        assert!(queue.bytes.len() < 100_000, "{} bytes", queue.bytes.len());
    }
}
