//! What a rank makes of what others say of the time.

use super::GroupMember;
use crate::drift::ClockDrift;
use crate::offset::OffsetRange;
use crate::terms::Act;

/// What a rank has seen of the clock of whom it asks, without asking.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum SeenAhead {
    #[default]
    Unknown,
    /// By how much it is ahead at least and at most, and when that was seen.
    By((i128, i128), u64),
    /// An answer contradicted what was seen, so that it counts no more.
    Refuted,
}

impl GroupMember {
    pub(super) fn see_ahead(&mut self, now: u64, other: u32, range: (i128, i128)) {
        let is_asked = other == Self::asks(self.rank) && self.rank > 0;
        if is_asked && !matches!(self.ahead, SeenAhead::Refuted) {
            self.ahead = SeenAhead::By(range, now);
        }
    }

    /// The answer of whom it asks, who had `read` its clock, to a question of `sent`, and where the
    /// root's clock is from there.
    pub(super) fn hear_time(&mut self, now: u64, (sent, read): (u64, u64), root: (i128, i128)) {
        if self.rank == 0 || sent > now {
            return;
        }
        let answered = OffsetRange::answered(sent, now, read, root);
        let newer = match self.ahead {
            // What was seen before the question is of another moment.
            SeenAhead::By(range, at) if at >= sent => OffsetRange::beside(answered, range, root)
                .unwrap_or_else(|| {
                    (self.ahead, self.clock) = (SeenAhead::Refuted, None);
                    answered
                }),
            SeenAhead::By(..) | SeenAhead::Unknown | SeenAhead::Refuted => answered,
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
