//! What one rank does: it asks for the time until it knows the root's clock well, begins when the
//! root says, says its words in rounds, and ends with all others or when the root is lost.

mod clocks;
mod course;
mod ending;

use crate::drift::{BestBound, DriftQuestion};
use crate::message::{Message, Word};
use crate::offset::OffsetRange;
use crate::root::Root;
use crate::terms::{Act, AgreedStart, MemberEnd, MemberInput};
use crate::timing::GroupTiming;
use clocks::SeenAhead;

/// A rank's own word.
#[derive(Clone, Debug)]
struct Said {
    round: u32,
    word: Word,
    is_known: bool,
}

/// One rank of a group.
#[derive(Debug)]
pub struct GroupMember {
    rank: u32,
    timing: GroupTiming,
    is_over: bool,
    clock: Option<OffsetRange>,
    /// By how much the clock of whom it asks was ahead when that was seen last.
    ahead: SeenAhead,
    drift: DriftQuestion,
    /// Rounds of which it has heard the answer.
    heard: u32,
    said: Option<Said>,
    /// The start that it waits for, counted from 1, and since when.
    wants: u32,
    wants_since: u64,
    best: BestBound,
    /// The start for which the root was told that this clock is known.
    told_ready: u32,
    begun: u32,
    wants_halt: bool,
    is_halted: bool,
    /// What it had done when the time was over, and what the greatest of all is.
    reached: Option<u64>,
    most: Option<u64>,
    /// Steps of the work that it has left, and that all have.
    left: u64,
    left_by_all: u64,
    lost: Vec<u32>,
    next_ask: u64,
    next_tell: u64,
    heard_root: u64,
    /// When it was last told something.
    told_at: u64,
    root: Option<Root>,
}

impl GroupMember {
    /// A rank that is there from `now` on, by its own clock.
    #[must_use]
    pub fn new(rank: u32, size: u32, timing: GroupTiming, now: u64) -> Self {
        Self {
            rank,
            timing,
            is_over: false,
            clock: (rank == 0).then(|| OffsetRange::own(now)),
            ahead: SeenAhead::Unknown,
            drift: DriftQuestion::default(),
            heard: 0,
            said: None,
            wants: 0,
            wants_since: now,
            best: BestBound::default(),
            told_ready: 0,
            begun: 0,
            wants_halt: false,
            is_halted: false,
            reached: None,
            most: None,
            left: 0,
            left_by_all: 0,
            lost: Vec::new(),
            next_ask: now,
            next_tell: now,
            heard_root: now,
            told_at: now,
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
        if self.is_over {
            return;
        }
        self.excuse(now);
        if self.rank == 0 {
            self.clock = Some(OffsetRange::own(now));
        }
        match input {
            MemberInput::Wake => {}
            MemberInput::From(from, message) => self.hear(now, from, message, out),
            MemberInput::Ahead(other, range) => self.see_ahead(now, other, range),
            MemberInput::Say(word) => self.say(word, out),
            MemberInput::Answer(word) => {
                if let Some(root) = &mut self.root
                    && root.answer(&word, out)
                {
                    self.answered(word, out);
                }
            }
            MemberInput::Ready => {
                self.wants = self.begun + 1;
                (self.wants_since, self.next_ask, self.next_tell) = (now, now, now);
                self.best = BestBound::default();
            }
            MemberInput::Snapshot(word) => match self.rank {
                0 => out.push(Act::Snapshot(0, word)),
                _ => out.push(Act::Send(0, Message::Snapshot { word })),
            },
            MemberInput::Compare => self.compare(now, out),
            MemberInput::Halt => self.halt(out),
            MemberInput::Reached(most) => self.reach(most, out),
            MemberInput::Left(steps) => self.leave(steps, out),
            // Whoever drives it does not go on.
            MemberInput::Leave => {}
            MemberInput::Finish => {
                if let Some(root) = &mut self.root {
                    root.finish(now, out);
                }
            }
        }
        self.go_on(now, out);
    }

    /// While this process stood still it heard nobody: that time says nothing of the others.
    fn excuse(&mut self, now: u64) {
        let away = now.saturating_sub(std::mem::replace(&mut self.told_at, now));
        // It is told something at least as often as it tells.
        if away > self.timing.lost_after_ns / 2 + self.timing.tell_every_ns {
            self.heard_root = self.heard_root.saturating_add(away);
            self.root.iter_mut().for_each(|root| root.excuse(away));
        }
    }

    fn say(&mut self, word: Word, out: &mut Vec<Act>) {
        let round = self.heard;
        match &mut self.root {
            Some(root) => root.said(0, round, word),
            None => {
                let message = Message::Said {
                    round,
                    word: word.clone(),
                };
                out.push(Act::Send(0, message));
                self.said = Some(Said {
                    round,
                    word,
                    is_known: false,
                });
            }
        }
    }

    fn answered(&mut self, word: Word, out: &mut Vec<Act>) {
        self.heard += 1;
        self.said = None;
        out.push(Act::Answered(word));
    }

    fn hear(&mut self, now: u64, from: u32, message: Message, out: &mut Vec<Act>) {
        if from == 0 {
            self.heard_root = now;
        }
        match message {
            Message::Ask { sent } => {
                let root = self.clock.map(|range| range.grown(now).ends());
                let read = now;
                out.push(Act::Send(from, Message::Time { sent, read, root }));
            }
            Message::Time { sent, read, root } => {
                if let Some(root) = root {
                    self.hear_time(now, (sent, read), root);
                }
            }
            Message::Propose { attempt, at } => {
                if let Some(clock) = self.clock {
                    let ns = clock.grown(now).own_at(at).saturating_sub(now);
                    out.push(Act::Send(0, Message::Ahead { attempt, ns }));
                }
            }
            Message::Go { start, at } => self.begin(now, (start, at), None, out),
            Message::Still | Message::Reader { .. } => {}
            Message::Got { round } => {
                let said = self.said.as_mut().filter(|said| said.round == round);
                said.into_iter().for_each(|said| said.is_known = true);
            }
            Message::Answer { round, word } => {
                if from == 0 && self.root.is_none() && round == self.heard {
                    self.answered(word, out);
                }
            }
            Message::Lost { ranks } => self.are_lost(ranks, out),
            Message::Halt { start } if self.root.is_none() => {
                self.hear_halt(now, start, out);
            }
            Message::Reached { start, most } if self.root.is_none() => {
                if start == self.begun {
                    self.hear_most(most, out);
                }
            }
            Message::Left { start, steps } if self.root.is_none() => {
                if start == self.begun {
                    self.hear_left(steps, out);
                }
            }
            Message::End { rounds, lost } => self.hear_end(now, rounds, lost, out),
            Message::Here { .. }
            | Message::Said { .. }
            | Message::Ahead { .. }
            | Message::Snapshot { .. }
            | Message::Halt { .. }
            | Message::Reached { .. }
            | Message::Left { .. }
            | Message::Late
            | Message::Bye => {
                if let Some(root) = &mut self.root {
                    root.hear(now, from, message, out);
                }
            }
        }
    }

    /// Begins at a time of the root, once.
    fn begin(
        &mut self,
        now: u64,
        (start, root_at): (u32, u64),
        agreed: Option<AgreedStart>,
        out: &mut Vec<Act>,
    ) {
        let is_wanted = start == self.begun + 1 && start == self.wants;
        let Some(clock) = self.clock.filter(|_| is_wanted) else {
            return;
        };
        let clock = clock.grown(now);
        let at = clock.own_at(root_at);
        if at < now {
            self.is_late(now, out);
            return;
        }
        self.begun = start;
        self.drift = DriftQuestion::begun(clock.grown(at));
        (self.is_halted, self.wants_halt) = (false, false);
        (self.reached, self.most) = (None, None);
        (self.left, self.left_by_all) = (0, 0);
        let bound_ns = match self.rank {
            0 => 0,
            _ => clock.grown(at).bound_ns(),
        };
        let ahead_ns = i128::from(root_at) - i128::from(at);
        out.push(Act::Begin {
            at,
            ahead_ns: i64::try_from(ahead_ns).unwrap_or(i64::MAX),
            bound_ns,
            agreed,
        });
    }

    /// Does what is due, and says when it is to be woken.
    fn go_on(&mut self, now: u64, out: &mut Vec<Act>) {
        if self.is_over {
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
            self.are_lost(vec![0], out);
            self.end(MemberEnd::RootLost, out);
            return;
        }
        let compared = self.drift.answer(
            now,
            self.timing.wanted_bound_ns,
            self.timing.clocks_still_ns,
        );
        out.extend(compared.map(Act::Compared));
        let waits = self.wants > self.begun;
        let bound = self.clock.map(|clock| clock.grown(now).bound_ns());
        let waited = now.saturating_sub(self.wants_since) >= self.timing.clocks_for_ns;
        let is_good = bound.is_some_and(|bound| bound <= self.timing.wanted_bound_ns);
        let is_still = waits && self.best.is_still(now, bound, self.timing.clocks_still_ns);
        let known = bound.filter(|_| waits && (is_good || waited || is_still));
        if now >= self.next_ask {
            out.push(Act::Send(Self::asks(self.rank), Message::Ask { sent: now }));
            // What it knows grows old, and whoever asks it is told no better.
            let every = match (waits, known.is_some()) {
                (true, false) => self.timing.ask_every_ns,
                (true, true) => self.timing.ask_every_ns.saturating_mul(10),
                (false, _) if self.drift.is_open() => self.timing.ask_every_ns,
                // A question has both look closely for a while, which costs a worker its CPU.
                (false, _) => self.timing.tell_every_ns.saturating_mul(10),
            };
            self.next_ask = now.saturating_add(every);
        }
        // As soon as it knows, the others need not wait any longer.
        let is_news = known.is_some() && self.told_ready != self.wants;
        if now >= self.next_tell || is_news {
            self.tell(now, known, out);
        }
        let patience = self
            .heard_root
            .saturating_add(self.timing.lost_after_ns + 1);
        out.push(Act::WakeAt(self.next_ask.min(self.next_tell).min(patience)));
    }

    fn tell(&mut self, now: u64, bound_ns: Option<u64>, out: &mut Vec<Act>) {
        out.push(Act::Send(
            0,
            Message::Here {
                heard: self.heard,
                wants: self.wants,
                bound_ns,
            },
        ));
        if let Some(said) = self.said.as_ref().filter(|said| !said.is_known) {
            let (round, word) = (said.round, said.word.clone());
            out.push(Act::Send(0, Message::Said { round, word }));
        }
        self.say_again(out);
        if bound_ns.is_some() {
            self.told_ready = self.wants;
        }
        self.next_tell = now.saturating_add(self.timing.tell_every_ns);
    }

    /// What the root does beside its own part.
    fn lead(&mut self, now: u64, out: &mut Vec<Act>) {
        let Some(mut root) = self.root.take() else {
            return;
        };
        let step = root.go_on(now, self.wants, &self.timing, out);
        let (lost, is_halted, most) = (root.lost(), root.is_halted(), root.most());
        let left = root.left_by_all();
        self.root = Some(root);
        if let Some((start, at, agreed)) = step.begin {
            self.begin(now, (start, at), Some(agreed), out);
        }
        if is_halted && !self.is_halted {
            self.is_halted = true;
            out.push(Act::Halted);
        }
        most.into_iter().for_each(|most| self.hear_most(most, out));
        self.hear_left(left, out);
        if !lost.is_empty() {
            self.are_lost(lost, out);
        }
        if step.is_over {
            self.end(MemberEnd::Over, out);
        } else {
            out.push(Act::WakeAt(step.wake));
        }
    }
}
