//! Requests that end later than they came.

use super::super::wire::WireRequest;
use super::Conversation;
use crate::lane::Reaped;
use crate::request::{DeviceResult, Errno};

/// What a tag keeps of the room of a read that was held: most of them are short.
const KEPT_BYTES: usize = 64 << 10;

impl Conversation {
    /// Keeps what is needed of a request to answer it when it ends.
    pub(super) fn hold(&mut self, wire: &WireRequest, is_read: bool) -> &mut Vec<u8> {
        let tag = self.free.pop().expect("the request was submitted by it");
        let waiting = &mut self.waiting[usize::from(tag)];
        waiting.cookie = wire.cookie;
        waiting.offset = wire.offset;
        waiting.is_read = is_read;
        &mut waiting.data
    }

    /// Answers what was held and has ended.
    pub fn reap(&mut self) {
        if self.lane.held() == 0 {
            return;
        }
        let mut reaped = std::mem::take(&mut self.reaped);
        self.lane.reap(&mut reaped);
        for Reaped { tag, outcome } in reaped.drain(..) {
            self.release(tag, outcome);
        }
        self.reaped = reaped;
    }

    /// Answers what is held with the end of the device.
    pub(in super::super) fn abandon(&mut self) {
        let mut reaped = Vec::new();
        self.lane.abandon(&mut reaped);
        for Reaped { tag, outcome } in reaped {
            self.release(tag, outcome);
        }
    }

    fn release(&mut self, tag: u16, outcome: DeviceResult) {
        let waiting = &mut self.waiting[usize::from(tag)];
        let (cookie, offset, is_read) = (waiting.cookie, waiting.offset, waiting.is_read);
        self.free.push(tag);
        if !is_read {
            return self.end(cookie, outcome);
        }
        let data = std::mem::take(&mut waiting.data);
        self.held_bytes -= data.len();
        let head = self.read_head();
        match outcome {
            Err(_) => self.end(cookie, outcome),
            // There was no memory for what it found.
            Ok(()) if data.is_empty() => self.end(cookie, Err(Errno::ENOMEM)),
            Ok(()) => {
                let Some(room) = self.out.room(head + data.len()) else {
                    return self.end(cookie, Err(Errno::ENOMEM));
                };
                let length = u32::try_from(data.len()).expect("it was a length of the wire");
                let structured = self.terms.structured;
                Self::write_read_head(room, structured, cookie, offset, length);
                room[head..].copy_from_slice(&data);
                self.out.add(head + data.len());
            }
        }
        if data.capacity() <= KEPT_BYTES {
            self.waiting[usize::from(tag)].data = data;
        }
    }
}
