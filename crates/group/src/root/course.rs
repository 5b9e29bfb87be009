//! What the root hears and says of the work that was begun.

use super::Root;
use crate::message::Message;
use crate::terms::Act;

impl Root {
    /// What was begun is to end everywhere.
    pub(crate) fn halt(&mut self, start: u32, out: &mut Vec<Act>) {
        if start == self.starts && !self.is_halted {
            self.is_halted = true;
            self.tell_halt(start, out);
        }
    }

    /// Says that what was begun is to end; whoever lives answers.
    pub(crate) fn tell_halt(&self, start: u32, out: &mut Vec<Act>) {
        self.tell_all(&Message::Halt { start }, out);
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.is_halted
    }

    /// A rank had done so much when the time was over; when all have said it all are told the greatest.
    /// A rank that is lost ends the work of all.
    pub(crate) fn reached(&mut self, rank: u32, start: u32, most: u64, out: &mut Vec<Act>) {
        let known = self.ranks.get_mut(rank as usize);
        let Some(known) = known.filter(|_| start == self.starts) else {
            return;
        };
        known.reached.get_or_insert(most);
        let all: Option<Vec<u64>> = self.ranks.iter().map(|known| known.reached).collect();
        let greatest = all.and_then(|all| all.into_iter().max());
        if let Some(most) = greatest.filter(|_| self.most.is_none()) {
            self.most = Some(most);
            self.tell_all(&Message::Reached { start, most }, out);
        }
    }

    /// A rank has left so many steps; how many all have left is told to all.
    pub(crate) fn leave(&mut self, rank: u32, start: u32, steps: u64, out: &mut Vec<Act>) {
        let known = self.ranks.get_mut(rank as usize);
        let Some(known) = known.filter(|_| start == self.starts) else {
            return;
        };
        known.left = known.left.max(steps);
        let by_all = self.ranks.iter().map(|known| known.left).min();
        let steps = by_all.unwrap_or(0);
        if steps > self.left_by_all {
            self.left_by_all = steps;
            self.tell_all(&Message::Left { start, steps }, out);
        }
    }

    pub(crate) fn left_by_all(&self) -> u64 {
        self.left_by_all
    }

    pub(crate) fn most(&self) -> Option<u64> {
        self.most
    }

    /// Says again what ranks may have missed of it.
    pub(super) fn tell_course(&self, start: u32, out: &mut Vec<Act>) {
        if self.is_halted {
            self.tell_all(&Message::Halt { start }, out);
        }
        let most = self.most;
        most.into_iter()
            .for_each(|most| self.tell_all(&Message::Reached { start, most }, out));
        if self.left_by_all > 0 {
            let steps = self.left_by_all;
            self.tell_all(&Message::Left { start, steps }, out);
        }
    }
}
