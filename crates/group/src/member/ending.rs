//! How a rank's part in its group ends: with all others, or because some of them, or the root, are lost.

use super::GroupMember;
use crate::message::Message;
use crate::terms::{Act, MemberEnd};

impl GroupMember {
    /// Ends, unless there is an answer that it has not heard and will be told again.
    pub(super) fn hear_end(&mut self, now: u64, rounds: u32, lost: Vec<u32>, out: &mut Vec<Act>) {
        let is_lost = lost.contains(&self.rank);
        if !lost.is_empty() {
            self.are_lost(lost, out);
        }
        if self.heard < rounds && !is_lost {
            self.next_tell = now;
            return;
        }
        out.push(Act::Send(0, Message::Bye));
        self.end(MemberEnd::Over, out);
    }

    pub(super) fn are_lost(&mut self, ranks: Vec<u32>, out: &mut Vec<Act>) {
        if self.lost != ranks {
            self.lost.clone_from(&ranks);
            out.push(Act::Lost(ranks));
        }
    }

    pub(super) fn end(&mut self, ending: MemberEnd, out: &mut Vec<Act>) {
        self.is_over = true;
        out.push(Act::End(ending));
    }
}
