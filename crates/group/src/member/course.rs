//! What a rank says of the work that was begun: that it cannot begin, that it is to end, and how far it
//! has come.

use super::GroupMember;
use crate::message::Message;
use crate::terms::Act;

impl GroupMember {
    pub(super) fn is_late(&mut self, now: u64, out: &mut Vec<Act>) {
        match &mut self.root {
            // Nobody begins without the root.
            Some(root) => root.halt(self.begun, out),
            None => out.push(Act::Send(0, Message::Late)),
        }
        self.next_tell = now;
    }

    /// What was begun is to end. That this rank lives is said at once: a launcher may kill all before long,
    /// and the root wants to know whom it had killed already.
    pub(super) fn hear_halt(&mut self, now: u64, start: u32, out: &mut Vec<Act>) {
        if start != self.begun {
            return;
        }
        self.next_tell = now;
        if !self.is_halted {
            self.is_halted = true;
            out.push(Act::Halted);
        }
    }

    /// Wants what was begun to end; who wants it again at the root hears who lives.
    pub(super) fn halt(&mut self, out: &mut Vec<Act>) {
        if self.begun == 0 {
            return;
        }
        match &mut self.root {
            Some(root) if self.is_halted => root.tell_halt(self.begun, out),
            None if self.is_halted => {}
            Some(root) => {
                root.halt(self.begun, out);
                self.is_halted = true;
                out.push(Act::Halted);
            }
            None => {
                self.wants_halt = true;
                out.push(Act::Send(0, Message::Halt { start: self.begun }));
            }
        }
    }

    /// Says once how much it had done when the time was over.
    pub(super) fn reach(&mut self, most: u64, out: &mut Vec<Act>) {
        if self.reached.is_some() || self.begun == 0 {
            return;
        }
        self.reached = Some(most);
        let start = self.begun;
        match &mut self.root {
            Some(root) => root.reached(0, start, most, out),
            None => out.push(Act::Send(0, Message::Reached { start, most })),
        }
    }

    /// The greatest of all is known.
    pub(super) fn hear_most(&mut self, most: u64, out: &mut Vec<Act>) {
        if self.most.is_none() {
            self.most = Some(most);
            out.push(Act::Reached(most));
        }
    }

    /// Says that it has left so many steps.
    pub(super) fn leave(&mut self, steps: u64, out: &mut Vec<Act>) {
        if steps <= self.left || self.begun == 0 {
            return;
        }
        self.left = steps;
        let start = self.begun;
        match &mut self.root {
            Some(root) => root.leave(0, start, steps, out),
            None => out.push(Act::Send(0, Message::Left { start, steps })),
        }
    }

    /// All have left so many; another may have heard of it before, and left the next.
    pub(super) fn hear_left(&mut self, steps: u64, out: &mut Vec<Act>) {
        if steps > self.left_by_all {
            self.left_by_all = steps;
            out.push(Act::Left(steps));
        }
    }

    /// What the root may have missed.
    pub(super) fn say_again(&self, out: &mut Vec<Act>) {
        let start = self.begun;
        if self.wants_halt && !self.is_halted {
            out.push(Act::Send(0, Message::Halt { start }));
        }
        let unheard = self.reached.filter(|_| self.most.is_none());
        out.extend(unheard.map(|most| Act::Send(0, Message::Reached { start, most })));
        if self.left > self.left_by_all {
            let steps = self.left;
            out.push(Act::Send(0, Message::Left { start, steps }));
        }
    }
}
