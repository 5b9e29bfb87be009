//! A launcher that runs: what its ranks say passes through here, signals go to it, and it is not
//! waited for long after its ranks have ended.

mod asked;
mod heard;
mod left;
mod owed;
mod repeats;

use super::launcher::{Dialect, SIGNAL_HANDED_ON};
use super::muster::{Muster, Overdue};
use super::naming::SignalNaming;
use super::printed::HandedOn;
use crate::exit::{self, FrontWord};
use crate::tell::said;
use anyhow::{Context as _, Result};
use asked::SignalReach;
use heard::{Heard, RankWords, passed_on};
use left::Before;
use owed::Owed;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use sys::{Clock as _, Deputed, Deputy, MachineClock, ProcessEnd, Readiness, wait_ready};

/// So often signals are looked at, and whether the first rank knows of one.
const LOOK_NS: u64 = 100_000_000;
const NAMED_LOOK_NS: u64 = 5_000_000;
/// So often it is looked whom a script has begun: that costs, on a machine whose ranks measure.
const REACH_LOOK_NS: u64 = 1_000_000_000;
/// A launcher that was asked to end by a signal has so long until it is told, and so long until it
/// is killed; while ranks say that they still work, as for a removal of minutes, it is not told.
const SIGNAL_PATIENCE_NS: [u64; 2] = [15_000_000_000, 20_000_000_000];
/// The same where its ranks have said how it ended; with what they waited for each other that is less
/// than anybody waits for.
const END_PATIENCE_NS: [u64; 2] = [6_000_000_000, 10_000_000_000];
/// Where no rank gives a sign of life any more for so much longer than one may be silent, and none has said how it
/// ended, all have died without a word: their launcher is told at once, and killed.
const SILENCE_NS: u64 = 10_000_000_000;
const SILENCE_PATIENCE_NS: [u64; 2] = [0, 5_000_000_000];
/// Where this process stood still for longer than this itself, it could hear nobody.
const STOOD_STILL_NS: u64 = 1_000_000_000;
/// Last words have so long to come where a process that was left behind could still say some.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Of what a script leaves behind that may hold what ranks print or say, nothing may come for so long.
const LEFT_NS: u64 = 10_000_000_000;
const TERM: i32 = 15;
const KILL: i32 = 9;

/// How a launcher ended.
pub(super) struct LauncherEnd {
    pub(super) status: ExitStatus,
    /// What its ranks said of the end, the worst of it.
    pub(super) said: Option<i32>,
    /// It did not end by itself, and was killed.
    pub(super) was_killed: bool,
    /// Not all ranks had begun when nobody waited for them any more.
    pub(super) is_given_up: bool,
    /// They gave no sign of life any more.
    pub(super) was_silent: bool,
    /// Why not all that it printed could be written.
    pub(super) unwritten: Option<std::io::Error>,
    /// By which signal all ranks but the first know of the one that this process had, which the first was told.
    pub(super) handed_on: Option<i32>,
}

/// Starts the launcher and waits for its end; its ranks know the word.
///
/// # Errors
/// It cannot be started or waited for.
pub(super) fn attend(
    line: &[OsString],
    dialect: Dialect,
    word: &FrontWord,
    muster: &Arc<Muster>,
) -> Result<LauncherEnd> {
    let [program, words @ ..] = line else {
        anyhow::bail!("a launcher has a name");
    };
    // A way into a host that is not there any more would hold what this process was given to write to.
    sys::adopt_orphans();
    let before = Before::the_launcher();
    let mut command = Command::new(program);
    // In a group of its own it has a signal of the terminal from here, and once.
    command.args(words).stdin(Stdio::piped()).process_group(0);
    // Whoever kills this process would leave nobody who looks after the ranks.
    let Deputed {
        mut child,
        end,
        stdout: prints,
        stderr: from,
        deputy,
    } = Deputy::spawn(command, dialect.asking(TERM, false))
        .with_context(|| format!("cannot start {}", program.display()))?;
    let of_ranks = RankWords::new(muster);
    let pid = child.id();
    let naming = SignalNaming::new(child.stdin.take(), word, &of_ranks.has_heard, dialect);
    // A script may lead what ranks say into what they print.
    let prints = Heard::new(prints, word, of_ranks.clone());
    let printed = HandedOn::begin(prints, std::io::stdout());
    let for_people = passed_on(from, std::io::stderr(), word, of_ranks.clone());
    // Dropping the standard library's handle waits for nothing; `wait_child` does.
    drop(child);
    let mut waited = Waited {
        of_ranks: &of_ranks,
        dialect,
        naming,
        overdue: None,
        patience: Patience::default(),
        sent: None,
        deputy: &deputy,
        printed: &printed,
        for_people: &for_people,
        owed: Owed::default(),
        named: vec![pid],
        named_next: 0,
        alive_at: 0,
        looked_at: 0,
    };
    let status = waited.wait(pid, &end)?;
    let (was_killed, overdue) = (waited.patience.is_over, waited.overdue);
    let was_told = waited.patience.is_told;
    let was_silent = waited.patience.silent_at.is_some();
    let sent = waited.sent.filter(|_| waited.naming.is_heard());
    drop(deputy);
    if !was_told {
        let is_well = status.success();
        wait_for_what_is_left(&before, &printed, &of_ranks, is_well);
    }
    let leaves_some = before.leaves_some();
    before.end_what_came_after();
    for_people.wait_for_last(LAST_WORDS);
    let _nobody_reads_a_closed_terminal = for_people.end(LAST_WORDS, 0);
    // One that did not end by itself may have kept the rest.
    let prints = of_ranks.prints.load(Relaxed);
    let was_ended = was_told || leaves_some || status.code().is_none();
    let unwritten = printed.end(LAST_WORDS, if was_ended { prints } else { 0 });
    let said = Some(of_ranks.said.load(Relaxed)).filter(|code| *code != exit::NOTHING_SAID);
    Ok(LauncherEnd {
        status,
        said,
        was_killed,
        is_given_up: overdue == Some(Overdue::GivenUp),
        was_silent,
        unwritten,
        handed_on: sent.map(|signal| handed_on(dialect, signal)),
    })
}

/// Waits for what the launcher has started and left, as long as that hands on what ranks have said that they print, or
/// may still say how they ended.
fn wait_for_what_is_left(before: &Before, printed: &HandedOn, of_ranks: &RankWords, is_well: bool) {
    let clock = MachineClock::monotonic();
    let (mut come, mut since) = (0, clock.now());
    while clock.now().saturating_sub(since) < LEFT_NS && !sys::is_told_twice() {
        let (now_come, is_full) = printed.come();
        let is_owed = now_come < of_ranks.prints.load(Relaxed);
        let is_unsaid = is_well && of_ranks.said.load(Relaxed) == exit::NOTHING_SAID;
        if !(is_owed || is_unsaid) || !before.leaves_some() {
            return;
        }
        if now_come != come || is_full {
            (come, since) = (now_come, clock.now());
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
}

/// What ranks are sent by a launcher that was sent this: Open MPI's makes SIGTERM of what ends it.
fn handed_on(dialect: Dialect, sent: i32) -> i32 {
    match dialect {
        Dialect::OpenMpi if sent != SIGNAL_HANDED_ON => TERM,
        Dialect::OpenMpi | Dialect::Hydra | Dialect::Slurm => sent,
    }
}

/// What is known while a launcher runs.
struct Waited<'a> {
    of_ranks: &'a RankWords,
    dialect: Dialect,
    naming: SignalNaming<ChildStdin>,
    overdue: Option<Overdue>,
    patience: Patience,
    /// What the launcher was sent first.
    sent: Option<i32>,
    deputy: &'a Deputy,
    printed: &'a HandedOn,
    for_people: &'a HandedOn,
    owed: Owed,
    /// Whom the deputy would tell: from its beginning on what was started.
    named: Vec<u32>,
    named_next: u64,
    /// When ranks last gave a sign of life, and when that was looked at.
    alive_at: u64,
    looked_at: u64,
}

impl Waited<'_> {
    /// Waits for the launcher; what signals ask of this process they ask of it.
    fn wait(&mut self, pid: u32, end: &ProcessEnd) -> Result<ExitStatus> {
        let clock = MachineClock::monotonic();
        let begin = clock.now();
        let mut look_ns = LOOK_NS;
        (self.alive_at, self.looked_at) = (begin, begin);
        while !wait_ready(end, Readiness::Input, look_ns).unwrap_or(false) {
            let now = clock.now();
            self.name_whom_to_tell(now, pid);
            let has_ended = self.of_ranks.said.load(Relaxed) != exit::NOTHING_SAID;
            let is_asked = self.patience.asked_at.is_some() || has_ended;
            let waited = now.saturating_sub(begin);
            let overdue = self.of_ranks.muster.overdue(waited, self.overdue);
            if let Some(overdue) = overdue.filter(|_| !is_asked) {
                self.overdue = Some(overdue);
                self.tell(overdue);
            }
            let have_begun = self.of_ranks.muster.is_complete();
            let is_printing = self.look_for_print(now);
            self.look_for_life(now, pid, have_begun && !has_ended && !is_printing);
            let caught = sys::caught_signal()
                .filter(|caught| caught.impatient || may_be_asked(waited, have_begun));
            let is_named = caught.is_none_or(|caught| {
                caught.impatient || self.naming.is_done(now, caught.signal, have_begun)
            });
            look_ns = if is_named { LOOK_NS } else { NAMED_LOOK_NS };
            let asked = match (self.overdue, caught.filter(|_| is_named)) {
                (Some(Overdue::GivenUp), None) => Some(sys::CaughtSignal {
                    signal: TERM,
                    impatient: false,
                }),
                (_, caught) => caught,
            };
            let is_heard = self.naming.is_heard();
            let asked = asked.map(|asked| {
                let is_caught = is_heard && SignalReach::of(pid).catch(SIGNAL_HANDED_ON);
                let signal = self.dialect.asking(asked.signal, is_caught);
                sys::CaughtSignal { signal, ..asked }
            });
            // What ranks have printed before they ended may wait in a launcher, or in what a script does with it.
            let is_owed = has_ended && self.owed.is_waited_for(now);
            if self.of_ranks.is_work.swap(false, Relaxed) || is_printing || is_owed {
                self.patience.hear_of_work(now);
            }
            let next = self.patience.next(now, has_ended, asked);
            if let Some(signal) = next {
                SignalReach::of(pid).send(signal);
                self.sent.get_or_insert(signal);
            }
            if next == Some(KILL) {
                self.say(
                    "the launcher did not end and was killed: its processes may be left on the hosts",
                );
            }
        }
        Ok(sys::wait_child(pid)?.status)
    }

    /// Whether some more has come of what the first rank prints, or is not taken while so much waits for its reader.
    fn look_for_print(&mut self, now: u64) -> bool {
        let (come, is_full) = self.printed.come();
        let prints = self.of_ranks.prints.load(Relaxed);
        let has_come = self.owed.look(now, come, prints);
        if is_full {
            self.owed.hear_of_reader(now);
        }
        if let Some(news) = self.owed.news(now) {
            self.say(&news);
        }
        is_full || has_come
    }

    /// Says it to people, and waits for none of them.
    fn say(&self, text: &str) {
        self.for_people.add(said(text));
    }

    /// Has the launcher told where ranks that are to live have given no sign of it for too long.
    fn look_for_life(&mut self, now: u64, pid: u32, are_to_live: bool) {
        let stood_still = now.saturating_sub(self.looked_at) > STOOD_STILL_NS;
        self.looked_at = now;
        let is_owed = self.owed.is_waited_for(now);
        if self.of_ranks.is_alive.swap(false, Relaxed) || !are_to_live || stood_still || is_owed {
            self.alive_at = now;
        }
        let silence = now.saturating_sub(self.alive_at);
        let lost_after = self.of_ranks.muster.lost_after_ns();
        if silence <= lost_after.saturating_add(SILENCE_NS) {
            return;
        }
        // One that stands still hands on no sign.
        if SignalReach::of(pid).stands_still() {
            self.alive_at = now;
        } else if self.patience.hear_of_silence(now) {
            let silence = units::Nanos(silence);
            self.say(&format!(
                "no rank has given a sign of life for {silence}, and the launcher is ended"
            ));
        }
    }

    /// Says to the deputy whom a signal would reach, when that is somebody else than before.
    fn name_whom_to_tell(&mut self, now: u64, pid: u32) {
        if now < self.named_next {
            return;
        }
        self.named_next = now.saturating_add(REACH_LOOK_NS);
        let reached = SignalReach::of(pid).reached(self.dialect.asking(TERM, false));
        if reached != self.named {
            self.deputy.instead(&reached);
            self.named = reached;
        }
    }

    fn tell(&self, overdue: Overdue) {
        let begun = self.of_ranks.muster.told();
        let what = match overdue {
            Overdue::Said => "the others are waited for; Ctrl-C ends it",
            Overdue::GivenUp => "the others are waited for no longer, and the launcher is ended",
        };
        self.say(&format!("{begun}; {what}"));
    }
}

/// Whether a launcher that was started so long ago may be sent a signal.
fn may_be_asked(since_ns: u64, have_begun: bool) -> bool {
    have_begun || since_ns >= Deputy::BEGIN_NS
}

/// What a launcher is to be told, and when.
#[derive(Debug, Default)]
struct Patience {
    /// A signal of whoever started this process was handed on.
    is_asked: bool,
    is_told: bool,
    is_over: bool,
    asked_at: Option<u64>,
    ended_at: Option<u64>,
    silent_at: Option<u64>,
}

impl Patience {
    /// Ranks do what they said they would, or what they print still comes; once a launcher is told, that is no reason
    /// to wait.
    fn hear_of_work(&mut self, now: u64) {
        if !self.is_told {
            let since = [&mut self.asked_at, &mut self.ended_at];
            since.into_iter().flatten().for_each(|since| *since = now);
        }
    }

    /// All ranks have died without a word; whether that is news.
    fn hear_of_silence(&mut self, now: u64) -> bool {
        let is_news = self.silent_at.is_none();
        self.silent_at.get_or_insert(now);
        is_news
    }

    /// The signal that is due, once.
    fn next(
        &mut self,
        now: u64,
        has_ended: bool,
        caught: Option<sys::CaughtSignal>,
    ) -> Option<i32> {
        if has_ended {
            self.ended_at.get_or_insert(now);
        }
        if let Some(caught) = caught
            && !self.is_asked
        {
            self.is_asked = true;
            self.asked_at = Some(now);
            return Some(caught.signal);
        }
        let is_past = |limit: usize| {
            let past = |since: Option<u64>, [term, kill]: [u64; 2]| {
                let most = if limit == 0 { term } else { kill };
                since.is_some_and(|since| now.saturating_sub(since) >= most)
            };
            past(self.asked_at, SIGNAL_PATIENCE_NS)
                || past(self.ended_at, END_PATIENCE_NS)
                || past(self.silent_at, SILENCE_PATIENCE_NS)
        };
        let is_impatient = caught.is_some_and(|caught| caught.impatient);
        if !self.is_told && (is_impatient || is_past(0)) {
            self.is_told = true;
            return Some(TERM);
        }
        if self.is_told && !self.is_over && is_past(1) {
            self.is_over = true;
            return Some(KILL);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn told(ended_at: Option<u64>, signal_at: Option<u64>) -> Vec<(u64, i32)> {
        told_by(Dialect::Hydra, ended_at, signal_at)
    }

    fn told_by(dialect: Dialect, ended_at: Option<u64>, signal_at: Option<u64>) -> Vec<(u64, i32)> {
        let mut patience = Patience::default();
        let told = (0..40).filter_map(|second| {
            let caught = signal_at.filter(|at| second >= *at);
            let caught = caught.map(|_| sys::CaughtSignal {
                signal: dialect.asking(1, true),
                impatient: false,
            });
            let has_ended = ended_at.is_some_and(|at| second >= at);
            let signal = patience.next(second * S, has_ended, caught)?;
            Some((second, signal))
        });
        told.collect()
    }

    #[test]
    fn a_launcher_is_asked_then_told_then_killed_and_each_once() {
        assert_eq!(
            told(None, None),
            [],
            "nobody ends a launcher whose ranks work"
        );
        // A hangup asks as TERM does: Hydra dies of it, and with it what ranks have.
        assert_eq!(told(None, Some(3)), [(3, 15), (18, 15), (23, 9)]);
        assert_eq!(told(Some(5), None), [(11, 15), (15, 9)]);
        assert_eq!(told(Some(5), Some(3)), [(3, 15), (11, 15), (15, 9)]);
        // srun would kill them.
        assert_eq!(told_by(Dialect::Slurm, None, Some(3))[0], (3, 2));
        // Open MPI's launcher would.
        let of_open_mpi = told_by(Dialect::OpenMpi, None, Some(3));
        assert_eq!(of_open_mpi, [(3, 10), (18, 15), (23, 9)]);
        assert_eq!(Dialect::OpenMpi.asking(2, false), 2);
    }

    #[test]
    fn a_launcher_begins_its_ranks_before_it_is_asked_to_end_or_has_had_the_time_to() {
        for (since_ns, have_begun, may) in [
            (0, false, false),
            (Deputy::BEGIN_NS - 1, false, false),
            (0, true, true),
            (Deputy::BEGIN_NS, false, true),
        ] {
            assert_eq!(may_be_asked(since_ns, have_begun), may);
        }
    }

    #[test]
    fn ranks_that_say_that_they_work_are_told_nothing_until_they_are_silent_or_asked_again() {
        let told = |silent_from: u64, impatient_at: u64| {
            let mut patience = Patience::default();
            let told = (0..200).filter_map(|second| {
                if second % 3 == 0 && second < silent_from {
                    patience.hear_of_work(second * S);
                }
                let caught = (second >= 3).then_some(sys::CaughtSignal {
                    signal: 2,
                    impatient: second >= impatient_at,
                });
                Some((second, patience.next(second * S, false, caught)?))
            });
            told.collect::<Vec<(u64, i32)>>()
        };
        assert_eq!(told(200, 300), [(3, 2)], "a removal of minutes");
        assert_eq!(told(100, 300), [(3, 2), (114, 15), (119, 9)]);
        // What they print still comes after their end.
        let mut patience = Patience::default();
        let after = (0..40).filter_map(|second| {
            if second < 20 {
                patience.hear_of_work(second * S);
            }
            Some((second, patience.next(second * S, second >= 5, None)?))
        });
        assert_eq!(after.collect::<Vec<_>>(), [(25, 15), (29, 9)]);
        // Words that come after that hold nobody up.
        assert_eq!(told(200, 50), [(3, 2), (50, 15), (68, 9)]);
    }

    #[test]
    fn a_launcher_whose_ranks_have_died_without_a_word_is_told_at_once_and_killed() {
        let mut patience = Patience::default();
        let told = (0..30).filter_map(|second| {
            if second == 7 {
                assert!(patience.hear_of_silence(second * S));
            } else if second > 7 {
                assert!(!patience.hear_of_silence(second * S));
            }
            Some((second, patience.next(second * S, false, None)?))
        });
        assert_eq!(told.collect::<Vec<_>>(), [(7, 15), (12, 9)]);
    }

    #[test]
    fn ranks_have_the_signal_that_their_launcher_makes_of_what_it_was_sent() {
        let sent = [2, SIGNAL_HANDED_ON, TERM];
        assert_eq!(sent.map(|sent| handed_on(Dialect::Hydra, sent)), sent);
        let of_open_mpi = sent.map(|sent| handed_on(Dialect::OpenMpi, sent));
        assert_eq!(of_open_mpi, [TERM, SIGNAL_HANDED_ON, TERM]);
    }
}
