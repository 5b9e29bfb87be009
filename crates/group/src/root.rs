//! What rank 0 does for all: it agrees on the start, hears who is there, and says when it is over.

use crate::member::{Act, GroupTiming, MemberEnd, Message};

/// A start is proposed so often at most, each time with twice the lead.
const MOST_ROUNDS: u32 = 8;

/// What the root knows of a rank.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    heard: u64,
    has_clock: bool,
    /// How far ahead the last proposal was for it.
    ahead: Option<u64>,
    part: Option<u64>,
    is_late: bool,
    said_bye: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Gathering,
    Agreeing { round: u32, at: u64, lead: u64 },
    Begun { at: u64 },
    Ending { since: u64 },
}

/// The root's own book.
#[derive(Debug)]
pub(crate) struct Root {
    ranks: Vec<Known>,
    phase: Phase,
    lost: Vec<u32>,
    next_tell: u64,
}

/// What comes of a look at the book.
pub(crate) struct RootStep {
    /// The root's own part begins at this time.
    pub(crate) begin: Option<u64>,
    pub(crate) ending: Option<MemberEnd>,
    pub(crate) wake: u64,
}

impl Root {
    pub(crate) fn new(size: u32, now: u64) -> Self {
        let known = Known {
            heard: now,
            ..Known::default()
        };
        let mut ranks = vec![known; size.max(1) as usize];
        (ranks[0].has_clock, ranks[0].said_bye) = (true, true);
        Self {
            ranks,
            phase: Phase::Gathering,
            lost: Vec::new(),
            next_tell: now,
        }
    }

    pub(crate) fn has_done(&mut self, rank: u32, part: u64) {
        if let Some(known) = self.ranks.get_mut(rank as usize) {
            known.part = Some(part);
        }
    }

    pub(crate) fn hear(&mut self, now: u64, from: u32, message: &Message) {
        let asked = match self.phase {
            Phase::Agreeing { round, .. } => Some(round),
            Phase::Gathering | Phase::Begun { .. } | Phase::Ending { .. } => None,
        };
        let Some(known) = self.ranks.get_mut(from as usize) else {
            return;
        };
        known.heard = now;
        match message {
            Message::Here { bound_ns } => known.has_clock |= bound_ns.is_some(),
            Message::Ahead { round, ns } if Some(*round) == asked => known.ahead = Some(*ns),
            Message::Done { part, .. } => known.part = Some(*part),
            Message::Late => known.is_late = true,
            Message::Bye => known.said_bye = true,
            Message::Ahead { .. }
            | Message::Ask { .. }
            | Message::Time { .. }
            | Message::Propose { .. }
            | Message::Go { .. }
            | Message::Still
            | Message::End { .. } => {}
        }
    }

    /// The other ranks.
    fn others(&self) -> impl Iterator<Item = (u32, &Known)> {
        (0_u32..).zip(&self.ranks).skip(1)
    }

    pub(crate) fn go_on(&mut self, now: u64, timing: &GroupTiming, out: &mut Vec<Act>) -> RootStep {
        self.find_lost(now, timing, out);
        let mut begin = None;
        match self.phase {
            Phase::Gathering => {
                if self.ranks.iter().all(|known| known.has_clock) {
                    self.propose(1, now, timing.lead_ns, out);
                }
            }
            Phase::Agreeing { round, at, lead } => {
                let answers = self.others().map(|(_, known)| known.ahead);
                let answers: Option<Vec<u64>> = answers.collect();
                let least = answers.map(|ahead| ahead.into_iter().min().unwrap_or(lead));
                match least {
                    Some(least) if least >= lead / 2 && now < at => {
                        self.phase = Phase::Begun { at };
                        self.tell_all(&Message::Go { at }, out);
                        begin = Some(at);
                    }
                    Some(_) if round >= MOST_ROUNDS => self.give_up(now, out),
                    Some(_) => self.propose(round + 1, now, lead.saturating_mul(2), out),
                    // An answer that does not come by then is asked for again.
                    None if now >= at && round < MOST_ROUNDS => {
                        self.propose(round + 1, now, lead.saturating_mul(2), out);
                    }
                    None if now >= at => self.give_up(now, out),
                    None => {}
                }
            }
            Phase::Begun { .. } => {
                if self.ranks.iter().all(|known| known.part.is_some()) {
                    self.over(now, out);
                }
            }
            Phase::Ending { .. } => {}
        }
        self.tell(now, timing, out);
        RootStep {
            begin,
            ending: self.ending(now, timing),
            wake: self.wake(timing),
        }
    }

    fn propose(&mut self, round: u32, now: u64, lead: u64, out: &mut Vec<Act>) {
        let at = now.saturating_add(lead);
        self.phase = Phase::Agreeing { round, at, lead };
        self.ranks.iter_mut().for_each(|known| known.ahead = None);
        self.tell_all(&Message::Propose { round, at }, out);
    }

    /// Ranks that are silent for too long, or heard of the start too late.
    fn find_lost(&mut self, now: u64, timing: &GroupTiming, out: &mut Vec<Act>) {
        if matches!(self.phase, Phase::Ending { .. }) {
            return;
        }
        let is_lost =
            |known: &Known| known.is_late || now.saturating_sub(known.heard) > timing.lost_after_ns;
        let lost = self.others().filter(|(_, known)| is_lost(known));
        self.lost = lost.map(|(rank, _)| rank).collect();
        if !self.lost.is_empty() {
            self.over(now, out);
        }
    }

    /// Nobody agreed in time: those that answered least are lost.
    fn give_up(&mut self, now: u64, out: &mut Vec<Act>) {
        let silent: Vec<u32> = self
            .others()
            .filter(|(_, known)| known.ahead.is_none())
            .map(|(rank, _)| rank)
            .collect();
        self.lost = match silent.is_empty() {
            true => self.others().map(|(rank, _)| rank).collect(),
            false => silent,
        };
        self.over(now, out);
    }

    fn over(&mut self, now: u64, out: &mut Vec<Act>) {
        self.phase = Phase::Ending { since: now };
        let lost = self.lost.clone();
        self.tell_all(&Message::End { lost }, out);
    }

    /// Says again what ranks may have missed.
    fn tell(&mut self, now: u64, timing: &GroupTiming, out: &mut Vec<Act>) {
        if now < self.next_tell {
            return;
        }
        self.next_tell = now.saturating_add(timing.tell_every_ns);
        let lost = self.lost.clone();
        let word = match self.phase {
            Phase::Gathering | Phase::Agreeing { .. } => Message::Still,
            Phase::Begun { at } => Message::Go { at },
            Phase::Ending { .. } => Message::End { lost },
        };
        self.tell_all(&word, out);
    }

    fn tell_all(&self, message: &Message, out: &mut Vec<Act>) {
        let silent = self.others().filter(|(_, known)| !known.said_bye);
        out.extend(silent.map(|(rank, _)| Act::Send(rank, message.clone())));
    }

    /// The end, when all have heard of it or had the time to.
    fn ending(&self, now: u64, timing: &GroupTiming) -> Option<MemberEnd> {
        let Phase::Ending { since } = self.phase else {
            return None;
        };
        let mut there = self.others().filter(|(rank, _)| !self.lost.contains(rank));
        let waited = now.saturating_sub(since) > timing.lost_after_ns;
        if !waited && !there.all(|(_, known)| known.said_bye) {
            return None;
        }
        if !self.lost.is_empty() {
            return Some(MemberEnd::Lost(self.lost.clone()));
        }
        let parts = self.ranks.iter().map(|known| known.part);
        let parts: Option<Vec<u64>> = parts.collect();
        Some(parts.map_or_else(
            || MemberEnd::Lost(vec![0]),
            |parts| MemberEnd::Complete { parts },
        ))
    }

    fn wake(&self, timing: &GroupTiming) -> u64 {
        let patience = timing.lost_after_ns + 1;
        let silence = self.others().map(|(_, known)| known.heard);
        let silence = silence
            .min()
            .map_or(u64::MAX, |heard| heard.saturating_add(patience));
        let phase = match self.phase {
            Phase::Agreeing { at, .. } => at,
            Phase::Ending { since } => return self.next_tell.min(since.saturating_add(patience)),
            Phase::Gathering | Phase::Begun { .. } => u64::MAX,
        };
        self.next_tell.min(silence).min(phase)
    }
}
