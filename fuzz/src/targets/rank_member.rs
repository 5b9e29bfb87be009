//! A rank among two others that say anything, in any order: it says what others can read, only to them, begins once and never in the past, wants to be
//! told something again as long as it has not ended, hears of more steps each time that it hears of any, and ends when nobody says anything any more.
//!
//! The first byte is its number, and every piece begins with what happens, how much later, and of how many bytes a message is.

use group::{Act, GroupMember, GroupTiming, MemberInput, Message};

const SIZE: u32 = 3;
const SECOND: u64 = 1_000_000_000;
/// No message makes it say more than this: to both others what they may have missed, and what comes of it.
const MOST_ACTS: usize = 40;

struct Member {
    rank: u32,
    now: u64,
    member: GroupMember,
    has_ended: bool,
    /// Since the last time that it was ready.
    may_begin: bool,
    /// So many steps have all left, as it was told since it began.
    left: u64,
}

impl Member {
    fn told(&mut self, input: MemberInput) {
        self.may_begin |= input == MemberInput::Ready;
        let mut acts = Vec::new();
        self.member.on(self.now, input, &mut acts);
        assert!(!self.has_ended || acts.is_empty(), "{acts:?}");
        assert!(acts.len() <= MOST_ACTS, "{acts:?}");
        let mut is_told_again = self.has_ended;
        for act in acts {
            match act {
                Act::Send(to, message) => {
                    assert!(to < SIZE, "{to}");
                    assert_eq!(Message::read(&message.bytes()), Some(message));
                }
                Act::WakeAt(_) => is_told_again = true,
                Act::Begin { at, .. } => {
                    assert!(std::mem::take(&mut self.may_begin) && at >= self.now);
                    self.left = 0;
                }
                Act::Heard(words) => {
                    assert!(self.rank == 0 && words.len() == SIZE as usize);
                }
                Act::Left(steps) => assert!(std::mem::replace(&mut self.left, steps) < steps),
                Act::Snapshot(from, _) => assert!(self.rank == 0 && from < SIZE),
                Act::End(_) => (self.has_ended, is_told_again) = (true, true),
                Act::Answered(_)
                | Act::Compared(_)
                | Act::Halted
                | Act::Reached(_)
                | Act::Lost(_) => {}
            }
        }
        assert!(is_told_again, "nobody wakes it");
    }
}

pub fn run(bytes: &[u8]) {
    let Some((first, mut bytes)) = bytes.split_first() else {
        return;
    };
    let (rank, now) = (u32::from(*first) % SIZE, 1_000_000 * SECOND);
    let timing = GroupTiming::default();
    let mut member = Member {
        rank,
        now,
        member: GroupMember::new(rank, SIZE, timing, now),
        has_ended: false,
        may_begin: false,
        left: 0,
    };
    while let Some(([what, later, length], rest)) = bytes.split_first_chunk() {
        let (message, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        bytes = rest;
        // From no time to hours, and mostly what a message takes.
        member.now += u64::from(*later) << (12 * u32::from(what >> 6));
        let from = (rank + 1 + u32::from(what & 1)) % SIZE;
        let input = match (what >> 1) % 32 {
            0 => MemberInput::Wake,
            1 => MemberInput::Say(message.into()),
            2 => MemberInput::Answer(message.into()),
            3 => MemberInput::Ready,
            4 => MemberInput::Compare,
            5 => MemberInput::Halt,
            6 => MemberInput::Reached(u64::from(*later)),
            7 => MemberInput::Finish,
            8 => MemberInput::Ahead(from, (-i128::from(*later), i128::from(*length))),
            9 => MemberInput::Snapshot(message.into()),
            10 => MemberInput::Left(u64::from(*later)),
            _ => match Message::read(message) {
                Some(message) => MemberInput::From(from, message),
                None => continue,
            },
        };
        member.told(input);
    }
    // Nobody says anything more; the root is asked for the end.
    member.told(MemberInput::Finish);
    let patience = 4 * timing.lost_after_ns / SECOND;
    for _ in 0..patience {
        member.now += SECOND;
        member.told(MemberInput::Wake);
    }
    assert!(member.has_ended, "{:?}", member.member);
}
