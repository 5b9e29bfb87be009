//! A rank's connection with the others, as whoever works on this thread uses it.

mod peers;

use super::alive::RankProcess;
use super::view::{GroupView, locked};
use super::words::{SAID, fault_of, fault_word, said, unawaited};
use crate::exit::{as_heard, say_last};
use anyhow::Result;
use group::{
    AgreedStart, ClockDrift, Connected, GroupEvent, GroupTiming, Left, MemberInput, Word, connect,
};
use host::PeerFault;
use mpi::MpiChoice;
use serde_json::{Value, json};
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sys::MachineClock;

/// Signals are looked at so often by whoever waits for other ranks.
const LOOK: Duration = Duration::from_millis(20);

/// The group as one rank sees it.
pub(crate) struct RankLink {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// What the MPI library calls itself.
    pub(crate) library: String,
    ask: Sender<MemberInput>,
    told: Mutex<Receiver<GroupEvent>>,
    seen: Arc<GroupView>,
    /// How each rank is called, as the root knows them.
    names: Mutex<Vec<String>>,
    /// At the root: the processes of ranks of its machine.
    processes: Mutex<Vec<Option<RankProcess>>>,
    own: Mutex<Option<Connected>>,
}

impl RankLink {
    /// Connects with the ranks that the launcher started.
    ///
    /// # Errors
    /// There is no library, or it cannot begin.
    pub(crate) fn open(
        choice: MpiChoice,
        timing: GroupTiming,
        clock: MachineClock,
    ) -> Result<Self> {
        let seen = Arc::new(GroupView::default());
        let notes = Arc::clone(&seen);
        let (to, told) = channel();
        let own = connect(choice, timing, clock, move |what| {
            notes.note(&what);
            let is_noted = matches!(
                what,
                GroupEvent::Snapshot(..)
                    | GroupEvent::Spoke(..)
                    | GroupEvent::Halted
                    | GroupEvent::Reached(_)
                    | GroupEvent::Left(_)
            );
            if !is_noted {
                let _nobody_waits_any_more = to.send(what);
            }
        })?;
        Ok(Self {
            rank: own.rank,
            size: own.size,
            library: own.library.clone(),
            ask: own.ask.clone(),
            told: Mutex::new(told),
            seen,
            names: Mutex::default(),
            processes: Mutex::default(),
            own: Mutex::new(Some(own)),
        })
    }

    pub(crate) fn is_root(&self) -> bool {
        self.rank == 0
    }

    /// Whether nobody is left who speaks for all.
    pub(crate) fn has_lost_root(&self) -> bool {
        self.seen.lost().contains(&0)
    }

    /// Whether this is the first of those that are left where the root is not.
    pub(crate) fn speaks_for_lost_root(&self) -> bool {
        self.rank > 0 && (0..self.rank).all(|rank| self.seen.lost().contains(&rank))
    }

    pub(crate) fn seen(&self) -> &Arc<GroupView> {
        &self.seen
    }

    pub(crate) fn began_at(&self) -> u64 {
        self.seen.began_at()
    }

    pub(crate) fn agreed(&self) -> Option<AgreedStart> {
        self.seen.agreed()
    }

    pub(crate) fn name_ranks(&self, names: Vec<String>) {
        *locked(&self.names) = names;
    }

    pub(super) fn know_processes(&self, processes: Vec<Option<RankProcess>>) {
        *locked(&self.processes) = processes;
    }

    /// Whether a rank is seen to work or to wait, whatever is heard of it.
    pub(super) fn sees_going_on(&self, rank: u32) -> bool {
        let known = locked(&self.processes).get(rank as usize).copied();
        known.flatten().is_some_and(RankProcess::goes_on)
    }

    /// A host's name, where the rank has said one.
    pub(crate) fn host_of(&self, rank: u32) -> Option<String> {
        locked(&self.names).get(rank as usize).cloned()
    }

    /// How people call a rank.
    pub(crate) fn called(&self, rank: u32) -> String {
        match self.host_of(rank) {
            Some(host) => format!("{host} (rank {rank})"),
            None => format!("rank {rank}"),
        }
    }

    fn want(&self, input: MemberInput) {
        let _a_group_that_has_ended_says_so = self.ask.send(input);
    }

    /// Has what was begun end, also where it is ending already: those say so who live.
    pub(crate) fn halt_again(&self) {
        self.want(MemberInput::Halt);
    }

    /// What this rank has measured so far.
    pub(crate) fn tell_snapshot(&self) -> impl Fn(Vec<u8>) + Send + 'static {
        let ask = self.ask.clone();
        move |bytes| {
            let _nobody_asks_any_more = ask.send(MemberInput::Snapshot(bytes.into()));
        }
    }

    /// Says a word and waits for what comes of the words of all, which the root decides: of the words
    /// of lost ranks there are none.
    ///
    /// # Errors
    /// The group has ended, or nobody waits for it.
    pub(crate) fn round(
        &self,
        own: Vec<u8>,
        decide: impl FnOnce(Vec<Option<Word>>) -> Vec<u8>,
    ) -> Result<Word, PeerFault> {
        self.want(MemberInput::Say(own.into()));
        // A round that was left earlier may still be answered, and that would be taken for this one's.
        if self.rank > 0 && sys::is_told_twice() {
            return Err(unawaited());
        }
        let mut decide = Some(decide);
        loop {
            match self.next()? {
                GroupEvent::Heard(words) => {
                    if let Some(decide) = decide.take() {
                        self.want(MemberInput::Answer(decide(words).into()));
                    }
                }
                GroupEvent::Answered(word) => return Ok(word),
                GroupEvent::Begin { .. }
                | GroupEvent::Compared(_)
                | GroupEvent::Lost(_)
                | GroupEvent::Halted
                | GroupEvent::Reached(_)
                | GroupEvent::Left(_)
                | GroupEvent::Snapshot(..)
                | GroupEvent::Spoke(..)
                | GroupEvent::End(_)
                | GroupEvent::Broken(_) => {}
            }
        }
    }

    /// By how much the root's clock has moved against this one since the last start. Where somebody
    /// waits for the end nobody asks.
    pub(crate) fn clock_drift(&self) -> Option<ClockDrift> {
        if sys::caught_signal().is_some() || !self.seen.lost().is_empty() {
            return None;
        }
        self.want(MemberInput::Compare);
        loop {
            if let GroupEvent::Compared(drift) = self.next().ok()? {
                return drift;
            }
        }
    }

    /// The next thing that is told.
    fn next(&self) -> Result<GroupEvent, PeerFault> {
        let fault = |text: &str| PeerFault::lost(text);
        let told = locked(&self.told);
        loop {
            match told.recv_timeout(LOOK) {
                Ok(GroupEvent::End(_)) if self.seen.lost().is_empty() => {
                    return Err(fault("the other ranks have ended"));
                }
                Ok(GroupEvent::End(_)) => return Err(self.loss()),
                Ok(GroupEvent::Broken(why)) => {
                    return Err(fault(&format!("messages do not come any more: {why}")));
                }
                Ok(told) => return Ok(told),
                Err(RecvTimeoutError::Timeout) => {
                    if sys::is_told_twice() {
                        return Err(unawaited());
                    }
                }
                Err(RecvTimeoutError::Disconnected) if self.seen.lost().is_empty() => {
                    return Err(fault("the other ranks have ended"));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.loss()),
            }
        }
    }

    /// This rank's word in the open round, where the others go on without it.
    fn say_left(&self, why: &PeerFault) {
        let word = fault_word(why).to_string();
        self.want(MemberInput::Say(word.into_bytes().into()));
    }

    /// Who is lost, in words.
    pub(crate) fn loss(&self) -> PeerFault {
        let lost = self.seen.lost();
        let names: Vec<String> = lost.iter().map(|rank| self.called(*rank)).collect();
        PeerFault::lost(format!("lost: {}", names.join(", ")))
    }

    /// What comes of a step: the first that cannot go on decides.
    fn decided(&self, words: &[Option<Word>]) -> Value {
        if words.iter().any(Option::is_none) {
            return fault_word(&self.loss());
        }
        let faults = words.iter().flatten().map(|word| fault_of(word));
        let first = self.first_of(faults.collect());
        first.map_or_else(|| json!({}), |fault| fault_word(&fault))
    }

    /// What is said of the ranks that cannot go on, with what the first says; one word a rank.
    pub(super) fn first_of(&self, said: Vec<Option<PeerFault>>) -> Option<PeerFault> {
        let all = said.len();
        let faults = said.into_iter().zip(0_u32..);
        let faults = faults.filter_map(|(fault, rank)| Some((fault?, rank)));
        let faults: Vec<(PeerFault, u32)> = faults.collect();
        let (first, rank) = faults.first()?;
        let text = match faults.len() {
            1 if self.size > 1 => format!("{}: {}", self.called(*rank), first.text),
            // What all of them say needs no names.
            several if several == all => first.text.clone(),
            several => format!(
                "{} and {} more: {}",
                self.called(*rank),
                several - 1,
                first.text
            ),
        };
        Some(PeerFault {
            text,
            exit_code: first.exit_code,
        })
    }

    /// Says how far this rank is, and hears what comes of it where all can go on.
    fn come_together(
        &self,
        own: &Value,
        decide: &mut dyn FnMut(&[String]) -> String,
    ) -> Result<String, PeerFault> {
        let answer = self.round(own.to_string().into_bytes(), |words| {
            let mut decided = self.decided(&words);
            if decided.get("fault").is_none() {
                let said: Vec<String> = words.iter().flatten().map(|word| said(word)).collect();
                decided = json!({ SAID: decide(&said) });
            }
            decided.to_string().into_bytes()
        })?;
        fault_of(&answer).map_or_else(|| Ok(said(&answer)), Err)
    }

    /// Leaves the group, whose end the root says. Until then nobody waits for what this rank would
    /// have said, and whoever asks hears why. The code with which this rank ends.
    pub(crate) fn end(&self, code: i32, why: &PeerFault) -> i32 {
        let began = sys::monotonic_ns();
        if self.is_root() {
            self.want(MemberInput::Finish);
        } else {
            self.say_left(why);
        }
        let knew = self.has_lost_root();
        while let Ok(told) = self.next() {
            if matches!(told, GroupEvent::Answered(_)) {
                self.say_left(why);
            }
        }
        let code = super::ending::at_last(self, code, knew);
        let Some(own) = locked(&self.own).take() else {
            return code;
        };
        if !self.seen.lost().is_empty() {
            say_last(code);
            super::ending::let_the_speaker_speak(self);
            own.abort(as_heard(code));
            return code;
        }
        let of_unended = code.max(PeerFault::LOST);
        // The others wait for the first as long as that does, from when they have heard of the end.
        let waited_ns = if self.is_root() {
            sys::monotonic_ns() - began
        } else {
            0
        };
        let waited = Duration::from_nanos(waited_ns);
        match own.close(waited, super::ending::unended(self, of_unended)) {
            Left::Unended => return of_unended,
            Left::Whole => super::leaving::ended_whole(self.size),
            Left::Failed => (),
        }
        code
    }
}

impl fmt::Debug for RankLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.size)
    }
}
