//! Bytes that wait to be sent.

/// Room that is kept when nothing waits.
const KEPT: usize = 1 << 20;

/// A queue of bytes, written in place: what a read finds is put where it is sent from.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReplyQueue {
    /// Room for so many bytes behind those that wait; [`ReplyQueue::add`] makes them wait too.
    #[inline]
    pub(super) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.end + bytes;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.end..end]
    }

    #[inline]
    pub(super) fn add(&mut self, bytes: usize) {
        self.end += bytes;
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.add(bytes.len());
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
