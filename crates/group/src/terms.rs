//! What a member is told, and what it wants.

use crate::drift::ClockDrift;
use crate::message::{Message, Word};

/// What a member is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberInput {
    /// It is time.
    Wake,
    From(u32, Message),
    /// By how much the clock of that rank is ahead of this one's at least and at most, as it has just
    /// said and this rank can see.
    Ahead(u32, (i128, i128)),
    /// Its word in the round that is open.
    Say(Word),
    /// The root's answer to a round of which all words were heard.
    Answer(Word),
    /// It can begin.
    Ready,
    /// What it has measured so far.
    Snapshot(Word),
    /// How far the root's clock has moved since the start is to be found out.
    Compare,
    /// What was begun is to end.
    Halt,
    /// The time is over, and it had done so much.
    Reached(u64),
    /// It has left so many steps of the work, of which all do one after the other.
    Left(u64),
    /// The root says that nothing more comes.
    Finish,
    /// Nobody asks any more: it ends without the others.
    Leave,
}

/// What a member wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Send(u32, Message),
    /// Wake it at this time of its own.
    WakeAt(u64),
    /// All words of a round, `None` of ranks that are lost; the root's user answers them.
    Heard(Vec<Option<Word>>),
    /// What came of the round.
    Answered(Word),
    /// The work is to begin at this time of its own, where the root's clock is so far ahead, which is
    /// known so well.
    Begin {
        at: u64,
        ahead_ns: i64,
        bound_ns: u64,
        agreed: Option<AgreedStart>,
    },
    /// How far the root's clock has moved since the start; `None` where there was none, or no answer.
    Compared(Option<ClockDrift>),
    /// What was begun is to end.
    Halted,
    /// So much had that one done that had done most, of all.
    Reached(u64),
    /// All have left so many steps.
    Left(u64),
    /// What a rank has measured so far; the root is told.
    Snapshot(u32, Word),
    /// All that are lost so far.
    Lost(Vec<u32>),
    /// It is over; nothing is wanted any more.
    End(MemberEnd),
}

/// How a start was agreed on, which the root knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgreedStart {
    /// How many moments were proposed until one was far enough ahead for all.
    pub tries: u32,
    /// From the last proposal to the start.
    pub lead_ns: u64,
}

/// How it ended for one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberEnd {
    /// As the root said.
    Over,
    /// Without the root.
    RootLost,
}
