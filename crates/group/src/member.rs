//! What one rank does: it asks for the time until it knows the root's clock well, begins when the
//! root says, tells how far it is, and ends with all others or when they are lost.

use crate::offset::OffsetRange;
use crate::root::Root;

/// How long a group waits for what; all in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTiming {
    /// From the agreement to the common start, at first.
    pub lead_ns: u64,
    /// A rank that is not heard of for so long is lost.
    pub lost_after_ns: u64,
    /// A clock that is known so well is known well enough.
    pub wanted_bound_ns: u64,
    /// After so long it must do as it is known.
    pub clocks_for_ns: u64,
    /// Between two questions for the time.
    pub ask_every_ns: u64,
    /// Between two words of how far a rank is.
    pub tell_every_ns: u64,
}

impl Default for GroupTiming {
    fn default() -> Self {
        Self {
            lead_ns: 100_000_000,
            lost_after_ns: 10_000_000_000,
            wanted_bound_ns: 50_000,
            clocks_for_ns: 2_000_000_000,
            ask_every_ns: 5_000_000,
            tell_every_ns: 1_000_000_000,
        }
    }
}

/// What ranks say to each other. Times are of the clock of who says them, or of the root's where it
/// is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What time is it?
    Ask { sent: u64 },
    /// The asker's `sent` again, the time of who answers, and where the root's clock is from there.
    Time {
        sent: u64,
        read: u64,
        root: Option<(i128, i128)>,
    },
    /// How far a rank is: whether it knows the root's clock, and how well.
    Here { bound_ns: Option<u64> },
    /// To begin at this time of the root; how far ahead is that?
    Propose { round: u32, at: u64 },
    /// So far, in nanoseconds.
    Ahead { round: u32, ns: u64 },
    /// All begin at this time of the root.
    Go { at: u64 },
    /// The root is there.
    Still,
    /// What the rank did, and how well it knew when to begin.
    Done { part: u64, bound_ns: u64 },
    /// It heard of the start when it was over.
    Late,
    /// The trial is over; these are lost.
    End { lost: Vec<u32> },
    /// It has heard of the end.
    Bye,
}

/// What a member is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberInput {
    /// It is time.
    Wake,
    From(u32, Message),
    /// The work that began is done, and this came of it.
    Finished {
        part: u64,
    },
}

/// What a member wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Send(u32, Message),
    /// Wake it at this time of its own.
    WakeAt(u64),
    /// The work is to begin at this time of its own, which is known so well.
    Begin {
        at: u64,
        bound_ns: u64,
    },
    /// It is over; nothing is wanted any more.
    End(MemberEnd),
}

/// How it ended for one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEnd {
    /// All ranks ended; the root has the part of each, in order.
    Complete { parts: Vec<u64> },
    /// These ranks were lost, and what they did with them.
    Lost(Vec<u32>),
}

/// How far a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before the start is known.
    Before,
    Working,
    Done {
        part: u64,
    },
    Over,
}

/// One rank of a group.
#[derive(Debug)]
pub struct GroupMember {
    pub(crate) rank: u32,
    pub(crate) timing: GroupTiming,
    stage: Stage,
    /// When it began to be there.
    since: u64,
    clock: Option<OffsetRange>,
    knows_clock: bool,
    next_ask: u64,
    next_tell: u64,
    heard_root: u64,
    bound_ns: u64,
    root: Option<Root>,
}

impl GroupMember {
    /// A rank that is there from `now` on, by its own clock.
    #[must_use]
    pub fn new(rank: u32, size: u32, timing: GroupTiming, now: u64) -> Self {
        Self {
            rank,
            timing,
            stage: Stage::Before,
            since: now,
            clock: (rank == 0).then(|| OffsetRange::own(now)),
            knows_clock: rank == 0,
            next_ask: now,
            next_tell: now,
            heard_root: now,
            bound_ns: 0,
            root: (rank == 0).then(|| Root::new(size, now)),
        }
    }

    /// Whom it asks for the time: one with fewer ones in its number, so that answers are passed on
    /// along a tree as deep as the number of ranks has digits.
    #[must_use]
    pub fn asks(rank: u32) -> u32 {
        rank & rank.saturating_sub(1)
    }

    /// Tells it something at `now`, by its own clock; what it wants is appended.
    pub fn on(&mut self, now: u64, input: MemberInput, out: &mut Vec<Act>) {
        if self.stage == Stage::Over {
            return;
        }
        if self.rank == 0 {
            self.clock = Some(OffsetRange::own(now));
        }
        match input {
            MemberInput::Wake => {}
            MemberInput::Finished { part } => {
                if self.stage == Stage::Working {
                    self.stage = Stage::Done { part };
                    self.next_tell = now;
                }
            }
            MemberInput::From(from, message) => self.hear(now, from, message, out),
        }
        self.go_on(now, out);
    }

    fn hear(&mut self, now: u64, from: u32, message: Message, out: &mut Vec<Act>) {
        if from == 0 {
            self.heard_root = now;
        }
        match message {
            Message::Ask { sent } => {
                let root = self.knows_clock.then_some(self.clock).flatten();
                let root = root.map(|range| range.grown(now).ends());
                let read = now;
                out.push(Act::Send(from, Message::Time { sent, read, root }));
            }
            Message::Time { sent, read, root } => {
                if let Some(root) = root.filter(|_| self.rank > 0 && sent <= now) {
                    let newer = OffsetRange::answered(sent, now, read, root);
                    self.clock = Some(self.clock.map_or(newer, |known| known.and(newer)));
                }
            }
            Message::Propose { round, at } => {
                if let Some(clock) = self.clock {
                    let ns = clock.grown(now).own_at(at).saturating_sub(now);
                    out.push(Act::Send(0, Message::Ahead { round, ns }));
                }
            }
            Message::Go { at } => self.begin(now, at, out),
            Message::Still => {}
            Message::End { lost } => {
                out.push(Act::Send(0, Message::Bye));
                self.end(lost, Vec::new(), out);
            }
            Message::Here { .. }
            | Message::Ahead { .. }
            | Message::Done { .. }
            | Message::Late
            | Message::Bye => {
                if let Some(root) = &mut self.root {
                    root.hear(now, from, &message);
                }
            }
        }
    }

    /// Begins at a time of the root, once.
    pub(crate) fn begin(&mut self, now: u64, root_at: u64, out: &mut Vec<Act>) {
        let Some(clock) = self.clock.filter(|_| self.stage == Stage::Before) else {
            return;
        };
        let clock = clock.grown(now);
        let at = clock.own_at(root_at);
        if at < now {
            out.push(Act::Send(0, Message::Late));
            return;
        }
        self.stage = Stage::Working;
        self.bound_ns = match self.rank {
            0 => 0,
            _ => clock.grown(at).bound_ns(),
        };
        out.push(Act::Begin {
            at,
            bound_ns: self.bound_ns,
        });
    }

    /// Does what is due, and says when it is to be woken.
    fn go_on(&mut self, now: u64, out: &mut Vec<Act>) {
        if self.stage == Stage::Over {
            return;
        }
        if self.rank == 0 {
            self.lead(now, out);
        } else {
            self.follow(now, out);
        }
    }

    fn follow(&mut self, now: u64, out: &mut Vec<Act>) {
        if now.saturating_sub(self.heard_root) > self.timing.lost_after_ns {
            self.end(vec![0], Vec::new(), out);
            return;
        }
        let bound = self.clock.map(|clock| clock.grown(now).bound_ns());
        let waited = now.saturating_sub(self.since) >= self.timing.clocks_for_ns;
        let is_good = bound.is_some_and(|bound| bound <= self.timing.wanted_bound_ns);
        if !self.knows_clock && (is_good || waited && bound.is_some()) {
            self.knows_clock = true;
            self.next_tell = now;
        }
        if now >= self.next_ask {
            out.push(Act::Send(Self::asks(self.rank), Message::Ask { sent: now }));
            // What it knows grows old, and whoever asks it is told no better.
            let every = match (self.knows_clock, self.stage) {
                (false, _) => self.timing.ask_every_ns,
                (true, Stage::Before) => self.timing.ask_every_ns.saturating_mul(10),
                (true, _) => self.timing.tell_every_ns,
            };
            self.next_ask = now.saturating_add(every);
        }
        if now >= self.next_tell {
            let word = match self.stage {
                Stage::Done { part } => Message::Done {
                    part,
                    bound_ns: self.bound_ns,
                },
                Stage::Before | Stage::Working | Stage::Over => Message::Here {
                    bound_ns: bound.filter(|_| self.knows_clock),
                },
            };
            out.push(Act::Send(0, word));
            self.next_tell = now.saturating_add(self.timing.tell_every_ns);
        }
        let patience = self
            .heard_root
            .saturating_add(self.timing.lost_after_ns + 1);
        out.push(Act::WakeAt(self.next_ask.min(self.next_tell).min(patience)));
    }

    /// What the root does beside its own part.
    fn lead(&mut self, now: u64, out: &mut Vec<Act>) {
        let Some(mut root) = self.root.take() else {
            return;
        };
        if let Stage::Done { part } = self.stage {
            root.has_done(0, part);
        }
        let step = root.go_on(now, &self.timing, out);
        self.root = Some(root);
        if let Some(at) = step.begin {
            self.begin(now, at, out);
        }
        match step.ending {
            Some(MemberEnd::Complete { parts }) => self.end(Vec::new(), parts, out),
            Some(MemberEnd::Lost(lost)) => self.end(lost, Vec::new(), out),
            None => out.push(Act::WakeAt(step.wake)),
        }
    }

    fn end(&mut self, lost: Vec<u32>, parts: Vec<u64>, out: &mut Vec<Act>) {
        self.stage = Stage::Over;
        let ending = match lost.is_empty() {
            true => MemberEnd::Complete { parts },
            false => MemberEnd::Lost(lost),
        };
        out.push(Act::End(ending));
    }
}
