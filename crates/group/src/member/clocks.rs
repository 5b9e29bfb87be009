//! What a rank makes of what others say of the time.

use super::GroupMember;
use crate::drift::ClockDrift;
use crate::offset::OffsetRange;
use crate::terms::Act;

impl GroupMember {
    /// The answer of `from`, who had `read` its clock, to a question of `sent`, and where the root's
    /// clock is from there.
    pub(super) fn hear_time(
        &mut self,
        now: u64,
        from: u32,
        (sent, read): (u64, u64),
        root: (i128, i128),
    ) {
        if self.rank == 0 || sent > now {
            return;
        }
        // Who says something else reads another clock, whatever was said of it.
        let newer = match self.beside == Some(from) && (sent..=now).contains(&read) {
            true => OffsetRange::beside(read, root),
            false => OffsetRange::answered(sent, now, read, root),
        };
        self.drift.hear(sent, newer);
        self.clock = Some(self.clock.map_or(newer, |known| known.and(newer)));
    }

    /// Asks for the time once more, closely, as at the start.
    pub(super) fn compare(&mut self, now: u64, out: &mut Vec<Act>) {
        if self.rank == 0 {
            out.push(Act::Compared((self.begun > 0).then_some(ClockDrift::NONE)));
        } else if self.drift.ask(now, self.timing.compare_for_ns) {
            self.next_ask = now;
        } else {
            out.push(Act::Compared(None));
        }
    }
}
