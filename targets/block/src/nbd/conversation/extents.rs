//! What is told of extents: where the device has room and where it has none.

use super::Conversation;
use crate::nbd::negotiation::ALLOCATION_ID;
use crate::nbd::wire::{WireRequest, chunk, flag, last_chunk};
use crate::request::Errno;
use std::sync::Arc;

/// Most extents that are told at once.
const EXTENTS: usize = 1024;

impl Conversation {
    /// Which pieces of an extent have room.
    pub(super) fn block_status(&mut self, wire: &WireRequest) {
        const HOLE_THAT_READS_AS_ZEROS: u32 = 3;
        let device = Arc::clone(self.lane.device());
        let end = wire.offset.checked_add(u64::from(wire.length));
        let Some(end) = end.filter(|end| *end <= device.size() && wire.length > 0) else {
            return self.end(wire.cookie, Err(Errno::EINVAL));
        };
        if !self.terms.allocation || wire.flags & !flag::ONE_EXTENT != 0 {
            return self.end(wire.cookie, Err(Errno::EINVAL));
        }
        let most = if wire.flags & flag::ONE_EXTENT != 0 {
            1
        } else {
            EXTENTS
        };
        let mut told = Vec::new();
        let mut at = wire.offset;
        while at < end && told.len() < most {
            let (to, has_room) = device.allocated(at, end);
            let length = u32::try_from(to - at).expect("the whole extent fits");
            let state = if has_room {
                0
            } else {
                HOLE_THAT_READS_AS_ZEROS
            };
            told.push((length, state));
            at = to;
        }
        let bytes = 4 + u32::try_from(told.len() * 8).expect("there are not many");
        self.out
            .push(&last_chunk(chunk::BLOCK_STATUS, wire.cookie, bytes));
        self.out.push(&ALLOCATION_ID.to_be_bytes());
        for (length, state) in told {
            self.out.push(&length.to_be_bytes());
            self.out.push(&state.to_be_bytes());
        }
    }
}
