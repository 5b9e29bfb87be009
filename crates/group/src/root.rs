//! What rank 0 does for all: it agrees on the start, hears who is there and what they say, and says
//! when it is over.

mod course;

use crate::message::{Message, Word};
use crate::terms::{Act, AgreedStart};
use crate::timing::GroupTiming;

/// A start is proposed so often at most, each time with twice the lead.
const MOST_ROUNDS: u32 = 8;

/// What the root knows of a rank.
#[derive(Clone, Debug, Default)]
struct Known {
    heard: u64,
    /// The start that it waits for, and whether its clock is known well enough.
    wants: u32,
    has_clock: bool,
    /// How far ahead the last proposal was for it.
    ahead: Option<u64>,
    /// Its word in the open round.
    word: Option<Word>,
    is_lost: bool,
    said_bye: bool,
    /// How much it had done when the time was over.
    reached: Option<u64>,
    /// Steps of the work that it has left.
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No start is agreed on; the one before, if any, is told again.
    Gathering {
        began_at: Option<u64>,
    },
    Agreeing {
        round: u32,
        at: u64,
        lead: u64,
    },
    Ending {
        since: u64,
    },
}

/// The root's own book.
#[derive(Debug)]
pub(crate) struct Root {
    ranks: Vec<Known>,
    phase: Phase,
    /// Starts that were agreed on, and proposals of all of them.
    starts: u32,
    attempts: u32,
    /// The open round, whether its words were handed over, and what came of the one before.
    round: u32,
    is_heard: bool,
    last_answer: Option<Word>,
    is_halted: bool,
    /// What the greatest of all had done, once all have said it.
    most: Option<u64>,
    left_by_all: u64,
    next_tell: u64,
}

/// What comes of a look at the book.
pub(crate) struct RootStep {
    /// The root's own part of this start begins at this time.
    pub(crate) begin: Option<(u32, u64, AgreedStart)>,
    pub(crate) is_over: bool,
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
            phase: Phase::Gathering { began_at: None },
            starts: 0,
            attempts: 0,
            round: 0,
            is_heard: false,
            last_answer: None,
            is_halted: false,
            most: None,
            left_by_all: 0,
            next_tell: now,
        }
    }

    pub(crate) fn said(&mut self, rank: u32, round: u32, word: Word) {
        if let Some(known) = self.ranks.get_mut(rank as usize)
            && round == self.round
        {
            known.word = Some(word);
        }
    }

    /// Answers the open round, of which all words were heard; whether it was so.
    pub(crate) fn answer(&mut self, word: &Word, out: &mut Vec<Act>) -> bool {
        if !self.is_heard {
            return false;
        }
        let round = self.round;
        self.round += 1;
        self.is_heard = false;
        self.ranks.iter_mut().for_each(|known| known.word = None);
        self.last_answer = Some(word.clone());
        let word = word.clone();
        self.tell_all(&Message::Answer { round, word }, out);
        true
    }

    pub(crate) fn finish(&mut self, now: u64, out: &mut Vec<Act>) {
        if !matches!(self.phase, Phase::Ending { .. }) {
            self.phase = Phase::Ending { since: now };
            self.tell_all(&self.last_word(), out);
        }
    }

    /// The root itself stood still for so long.
    pub(crate) fn excuse(&mut self, away: u64) {
        for known in &mut self.ranks {
            known.heard = known.heard.saturating_add(away);
        }
        if let Phase::Ending { since } = &mut self.phase {
            *since = since.saturating_add(away);
        }
    }

    fn last_word(&self) -> Message {
        Message::End {
            rounds: self.round,
            lost: self.lost(),
        }
    }

    pub(crate) fn lost(&self) -> Vec<u32> {
        let lost = (0_u32..)
            .zip(&self.ranks)
            .filter(|(_, known)| known.is_lost);
        lost.map(|(rank, _)| rank).collect()
    }

    pub(crate) fn hear(&mut self, now: u64, from: u32, message: Message, out: &mut Vec<Act>) {
        let asked = match self.phase {
            Phase::Agreeing { .. } => Some(self.attempts),
            Phase::Gathering { .. } | Phase::Ending { .. } => None,
        };
        let open = self.round;
        let Some(known) = self.ranks.get_mut(from as usize).filter(|_| from > 0) else {
            return;
        };
        known.heard = now;
        match message {
            Message::Here {
                heard,
                wants,
                bound_ns,
            } => {
                known.wants = known.wants.max(wants);
                known.has_clock = bound_ns.is_some() && wants > self.starts;
                if heard < open {
                    self.answer_again(from, heard, out);
                }
            }
            Message::Said { round, word } => {
                if round == open {
                    known.word = Some(word);
                    out.push(Act::Send(from, Message::Got { round }));
                } else if round < open {
                    self.answer_again(from, round, out);
                }
            }
            Message::Ahead { attempt, ns } if Some(attempt) == asked => known.ahead = Some(ns),
            Message::Snapshot { word } => out.push(Act::Snapshot(from, word)),
            Message::Halt { start } => self.halt(start, out),
            Message::Reached { start, most } => self.reached(from, start, most, out),
            Message::Left { start, steps } => self.leave(from, start, steps, out),
            Message::Late => known.is_lost = true,
            Message::Bye => known.said_bye = true,
            Message::Ahead { .. }
            | Message::Ask { .. }
            | Message::Time { .. }
            | Message::Reader { .. }
            | Message::Got { .. }
            | Message::Answer { .. }
            | Message::Propose { .. }
            | Message::Go { .. }
            | Message::Still
            | Message::Lost { .. }
            | Message::End { .. } => {}
        }
    }

    /// The answer of the last round, to one who has not heard it. Nobody is further behind: a round
    /// is open until all who live have spoken in it.
    fn answer_again(&self, to: u32, round: u32, out: &mut Vec<Act>) {
        let answer = self.last_answer.clone().filter(|_| round + 1 == self.round);
        out.extend(answer.map(|word| Act::Send(to, Message::Answer { round, word })));
    }

    /// The other ranks that are there.
    fn others(&self) -> impl Iterator<Item = (u32, &Known)> {
        let others = (0_u32..).zip(&self.ranks).skip(1);
        others.filter(|(_, known)| !known.is_lost)
    }

    pub(crate) fn go_on(
        &mut self,
        now: u64,
        wants: u32,
        timing: &GroupTiming,
        out: &mut Vec<Act>,
    ) -> RootStep {
        self.ranks[0].wants = wants;
        self.find_lost(now, timing, out);
        let begin = self.agree(now, timing, out);
        self.hear_round(out);
        self.tell(now, timing, out);
        RootStep {
            begin,
            is_over: self.is_over(now, timing),
            wake: self.wake(timing),
        }
    }

    /// Hands over the words of the open round, as soon as all who live have spoken.
    fn hear_round(&mut self, out: &mut Vec<Act>) {
        let mut ranks = self.ranks.iter();
        if self.is_heard || !ranks.all(|known| known.is_lost || known.word.is_some()) {
            return;
        }
        self.is_heard = true;
        let words = self.ranks.iter().map(|known| {
            let word = known.word.clone();
            word.filter(|_| !known.is_lost)
        });
        out.push(Act::Heard(words.collect()));
    }

    /// Agrees on the next start, where all want it; the agreed one is handed back.
    fn agree(
        &mut self,
        now: u64,
        timing: &GroupTiming,
        out: &mut Vec<Act>,
    ) -> Option<(u32, u64, AgreedStart)> {
        let is_whole = self.ranks.iter().all(|known| !known.is_lost);
        match self.phase {
            Phase::Gathering { .. } if is_whole => {
                let next = self.starts + 1;
                let mut ranks = self.ranks.iter().zip(0_u32..);
                let is_ready = |known: &Known, rank: u32| {
                    known.wants == next && (known.has_clock || rank == 0)
                };
                if ranks.all(|(known, rank)| is_ready(known, rank)) {
                    self.propose(1, now, timing.lead_ns, out);
                }
                None
            }
            Phase::Agreeing { .. } if !is_whole => {
                self.phase = Phase::Gathering { began_at: None };
                None
            }
            Phase::Agreeing { round, at, lead } => {
                let answers = self.others().map(|(_, known)| known.ahead);
                let answers: Option<Vec<u64>> = answers.collect();
                let least = answers.map(|ahead| ahead.into_iter().min().unwrap_or(lead));
                match least {
                    Some(least) if least >= lead / 2 && now < at => {
                        self.starts += 1;
                        (self.is_halted, self.most, self.left_by_all) = (false, None, 0);
                        self.phase = Phase::Gathering { began_at: Some(at) };
                        let start = self.starts;
                        for known in &mut self.ranks {
                            (known.has_clock, known.reached, known.left) = (false, None, 0);
                        }
                        self.tell_all(&Message::Go { start, at }, out);
                        let agreed = AgreedStart {
                            tries: round,
                            lead_ns: lead,
                        };
                        return Some((start, at, agreed));
                    }
                    Some(_) if round >= MOST_ROUNDS => self.give_up(),
                    Some(_) => self.propose(round + 1, now, lead.saturating_mul(2), out),
                    // An answer that does not come by then is asked for again.
                    None if now >= at && round < MOST_ROUNDS => {
                        self.propose(round + 1, now, lead.saturating_mul(2), out);
                    }
                    None if now >= at => self.give_up(),
                    None => {}
                }
                None
            }
            Phase::Gathering { .. } | Phase::Ending { .. } => None,
        }
    }

    fn propose(&mut self, round: u32, now: u64, lead: u64, out: &mut Vec<Act>) {
        let at = now.saturating_add(lead);
        self.phase = Phase::Agreeing { round, at, lead };
        self.attempts += 1;
        self.ranks.iter_mut().for_each(|known| known.ahead = None);
        let attempt = self.attempts;
        self.tell_all(&Message::Propose { attempt, at }, out);
    }

    /// Ranks that are silent for too long, or heard of the start too late.
    fn find_lost(&mut self, now: u64, timing: &GroupTiming, out: &mut Vec<Act>) {
        if matches!(self.phase, Phase::Ending { .. }) {
            return;
        }
        let before = self.lost().len();
        for known in self.ranks.iter_mut().skip(1) {
            known.is_lost |= now.saturating_sub(known.heard) > timing.lost_after_ns;
        }
        // One that said itself that it is late is told of as well.
        let ranks = self.lost();
        if ranks.len() > before || (!ranks.is_empty() && !self.is_halted) {
            self.halt(self.starts, out);
            self.tell_all(&Message::Lost { ranks }, out);
        }
    }

    /// Nobody agreed in time: those that answered least are lost.
    fn give_up(&mut self) {
        let others = self.ranks.iter().skip(1);
        let is_any_silent = others.clone().any(|known| known.ahead.is_none());
        let others = self.ranks.iter_mut().skip(1);
        others
            .filter(|known| !is_any_silent || known.ahead.is_none())
            .for_each(|known| known.is_lost = true);
        self.phase = Phase::Gathering { began_at: None };
    }

    /// Says again what ranks may have missed.
    fn tell(&mut self, now: u64, timing: &GroupTiming, out: &mut Vec<Act>) {
        if now < self.next_tell {
            return;
        }
        self.next_tell = now.saturating_add(timing.tell_every_ns);
        let start = self.starts;
        let word = match self.phase {
            Phase::Gathering { began_at: Some(at) } => Message::Go { start, at },
            Phase::Gathering { began_at: None } | Phase::Agreeing { .. } => Message::Still,
            Phase::Ending { .. } => self.last_word(),
        };
        self.tell_all(&word, out);
        self.tell_course(start, out);
        let ranks = self.lost();
        if !ranks.is_empty() {
            self.tell_all(&Message::Lost { ranks }, out);
        }
    }

    /// Those that are taken for lost hear it too: they may live, and have nobody to wait for.
    fn tell_all(&self, message: &Message, out: &mut Vec<Act>) {
        let others = (0_u32..).zip(&self.ranks).skip(1);
        let silent = others.filter(|(_, known)| !known.said_bye);
        out.extend(silent.map(|(rank, _)| Act::Send(rank, message.clone())));
    }

    /// Over when all have heard of the end or had the time to.
    fn is_over(&self, now: u64, timing: &GroupTiming) -> bool {
        let Phase::Ending { since } = self.phase else {
            return false;
        };
        let waited = now.saturating_sub(since) > timing.lost_after_ns;
        waited || self.others().all(|(_, known)| known.said_bye)
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
            Phase::Gathering { .. } => u64::MAX,
        };
        self.next_tell.min(silence).min(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_proposed_eight_times_with_twice_the_lead_each_time_and_no_more() {
        let timing = GroupTiming::default();
        let mut root = Root::new(2, 0);
        for known in &mut root.ranks {
            (known.wants, known.has_clock) = (1, true);
        }
        let mut leads = Vec::new();
        for now in 0..20 {
            let mut out = Vec::new();
            assert_eq!(root.agree(now, &timing, &mut out), None);
            for act in out {
                if let Act::Send(1, Message::Propose { at, .. }) = act {
                    leads.push(at - now);
                }
            }
            // It hears of each too late.
            root.ranks[1].ahead = Some(0);
        }
        let twice: Vec<u64> = (0..8).map(|time| timing.lead_ns << time).collect();
        assert_eq!(leads, twice);
        assert!(root.ranks[1].is_lost && !root.ranks[0].is_lost);
    }
}
