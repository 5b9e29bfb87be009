//! How work of ranks ends: what the first says for all, and the exit code that all of them have.

use super::agree::{Hello, agree};
use super::connection::RankLink;
use super::joining::{LONGEST_PART, record_word};
use super::launched::Launch;
use super::together::WorkEnd;
use super::words::fault_by;
use crate::context;
use crate::exit::{as_heard, code_of, say_end, say_last, told};
use crate::tell::{is_held, say};
use anyhow::Result;
use host::{Machine, PeerFault};
use record::{Outcome, Record, Status};
use run::RunError;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use sys::{CaughtSignal, Clock as _, MachineClock};

/// A rank before another has so long to speak, and no more of them are waited for.
const SPEAK_NS: u64 = 700_000_000;
const MOST_BEFORE: u32 = 4;

/// Leaves the group with the exit code of all.
pub(super) fn end_with(connection: &RankLink, outcome: Result<i32>) -> i32 {
    let code = outcome.as_ref().map_or_else(code_of, |code| *code);
    let code = of_the_impatient(code);
    // The root says it for all, and before the end: whoever sees one rank fail may kill the rest.
    if let Err(error) = &outcome
        && connection.is_root()
    {
        say(&format!("error: {}", told(error)));
    }
    say_of_lost_root(connection);
    // Whoever hears of the end with a loss ends all at once, and launchers kill soon after a signal. It is no success before
    // all have come to their end.
    let is_cut = !connection.seen().lost().is_empty() || sys::caught_signal().is_some();
    if connection.has_lost_root() {
        say_end(code);
    } else if connection.is_root() && (is_cut || code != 0 && !is_held()) {
        say_last(code);
    }
    connection.end(code, &why_left(outcome.as_ref().err()))
}

/// The code of a rank to which nothing more is said, and what it says of a root that was lost only then: what that would
/// show nobody shows, and that is no success.
pub(super) fn at_last(connection: &RankLink, code: i32, knew_of_lost_root: bool) -> i32 {
    if !knew_of_lost_root {
        say_of_lost_root(connection);
    }
    match connection.has_lost_root() {
        true => code.max(PeerFault::LOST),
        false => code,
    }
}

/// Ends with a code, once it has said why, where some ranks do not come to their end, or all of them do and the library
/// does not.
pub(super) fn unended(
    connection: &RankLink,
    code: i32,
) -> impl FnOnce(&[u32]) -> i32 + Send + 'static {
    let called = (0..connection.size).map(|rank| connection.called(rank));
    let called: Vec<String> = called.collect();
    let is_root = connection.is_root();
    move |silent| {
        // A launcher that was told by another to end all tells each of them.
        if is_root || sys::caught_signal().is_none() {
            say(&told_of_unended(&called, silent));
        }
        say_last(code);
        as_heard(code)
    }
}

fn told_of_unended(called: &[String], silent: &[u32]) -> String {
    let names = silent.iter().filter_map(|rank| called.get(*rank as usize));
    let names: Vec<&str> = names.map(String::as_str).collect();
    let what = match (names.is_empty(), silent.contains(&0)) {
        (true, _) => "a rank, or the MPI library, does not come to its end".to_owned(),
        (false, true) => format!(
            "lost at the end: {}, which keeps what all have measured and shows it",
            names.join(", ")
        ),
        (false, false) => format!("lost at the end: {}", names.join(", ")),
    };
    format!("error: {what}; what was measured is kept as the record says, and all ranks are ended")
}

/// Says what became of a root that is lost, where nobody before this rank can.
fn say_of_lost_root(connection: &RankLink) {
    if connection.speaks_for_lost_root() {
        say(&told_of_lost_root(connection));
    }
}

fn told_of_lost_root(connection: &RankLink) -> String {
    format!(
        "error: {}: it keeps what all measure, and its records hold what it had written until then",
        connection.loss().text
    )
}

/// Whoever aborts ends also the one that says what became of a lost root: each waits for those before it, of which more
/// may be lost than it knows, and says it where nobody has ended it by then.
pub(super) fn let_the_speaker_speak(connection: &RankLink) {
    let is_spoken = connection.is_root() || connection.speaks_for_lost_root();
    if !connection.has_lost_root() || is_spoken {
        return;
    }
    let before = u64::from(connection.rank.min(MOST_BEFORE).saturating_sub(1));
    let clock = MachineClock::monotonic();
    clock.sleep_until(clock.now() + before * SPEAK_NS);
    if sys::caught_signal().is_none() {
        say(&told_of_lost_root(connection));
    }
}

/// What a rank says that has ended while others go on: what only it knows.
pub(super) fn why_left(error: Option<&anyhow::Error>) -> PeerFault {
    error.map_or_else(|| PeerFault::lost("it had ended already"), fault_by)
}

/// Says to the others, who wait for this rank, why it cannot do what was asked: a file that is not
/// there, a key that is not set. Without a group it is said here.
///
/// # Errors
/// Nobody waits, or the others cannot be told.
pub(crate) fn refuse(launch: Option<&Launch>, error: anyhow::Error) -> Result<i32> {
    let Some(launch) = launch else {
        return Err(error);
    };
    let clock = context::clock(&Machine::at(Path::new("/")), Duration::from_millis(5));
    let Ok(connection) = RankLink::open(launch.choice.clone(), launch.timing, clock) else {
        return Err(error);
    };
    let hello = Hello {
        plan: "",
        works: &[],
        asked: launch.target_is,
        fault: Some(fault_by(&error)),
        is_told_people: false,
    };
    sys::catch_signals();
    if let Err(wrong) = launch.check(&connection) {
        // Each of them is alone. The first speaks, and has the code of all.
        connection.end(2, &why_left(Some(&wrong)));
        return if launch.is_root() { Err(error) } else { Ok(0) };
    }
    let agreed = agree(&connection, &hello);
    let why = agreed.map_or_else(|fault| RunError::from(fault).into(), |_| error);
    Ok(end_with(&connection, Err(why)))
}

impl WorkEnd {
    /// What the root says of it to the others. They know the signal that keeps the root from going on, so that
    /// all end by it.
    pub(super) fn word(&self, caught: Option<CaughtSignal>) -> Value {
        let caught = caught.filter(|_| !self.goes_on);
        json!({
            "code": self.exit_code,
            "goes_on": self.goes_on,
            "signal": caught.map(|caught| caught.signal),
        })
    }

    /// The same as another rank hears it: which signal the root had.
    pub(super) fn hear(&mut self, word: &[u8]) -> Option<i32> {
        let word: Value = serde_json::from_slice(word).unwrap_or_default();
        let number = |key| i32::try_from(word.get(key)?.as_i64()?).ok();
        self.exit_code = number("code").unwrap_or(PeerFault::LOST);
        self.goes_on = word.get("goes_on").and_then(Value::as_bool) == Some(true);
        number("signal").filter(|signal| (1..=64).contains(signal))
    }
}

/// How a record ends whose group was lost, or not waited for, before all had said what they have. One that
/// a signal had ended, here or on another rank, is ended by that.
pub(super) fn broken_off(fault: &PeerFault, before: Outcome) -> Outcome {
    let message = before.message.map_or_else(
        || fault.text.clone(),
        |also| format!("{}; {also}", fault.text),
    );
    let (status, exit_code) = match (sys::caught_signal(), before.status) {
        (Some(caught), _) => (Status::Interrupted, caught.exit_code()),
        (None, Status::Interrupted) => (Status::Interrupted, before.exit_code),
        (None, Status::Ok | Status::Apart | Status::Failed | Status::Incomplete) => {
            (Status::Incomplete, fault.exit_code)
        }
    };
    Outcome {
        status,
        exit_code,
        message: Some(message),
    }
}

/// Where somebody has asked this rank twice for the end, so that it does not wait until the others hear what
/// it has: the first keeps that, for a launcher that sees a rank end so may kill the others. What is left on
/// a server is said here, too.
pub(super) fn leave_part(connection: &RankLink, part: &Record, fault: &PeerFault) {
    if !sys::is_told_twice() {
        return;
    }
    let mut part = part.clone();
    if part.outcome.status != Status::Interrupted {
        part.outcome = broken_off(fault, part.outcome);
    }
    connection.tell_snapshot()(record_word(&part, LONGEST_PART));
    let called = connection.called(connection.rank);
    // The rest stands in the record.
    for left in &part.left_over {
        say(&format!("{called}: {left}"));
    }
    // Launchers kill the others once this rank has ended, and the first says no more.
    say_end(part.outcome.exit_code);
}

/// Whoever asks twice for the end has not lost the others, but does not wait for them.
fn of_the_impatient(code: i32) -> i32 {
    let impatient = sys::caught_signal().filter(|caught| caught.impatient);
    match impatient {
        Some(caught) if code == PeerFault::LOST => caught.exit_code(),
        Some(_) | None => code,
    }
}

/// Whoever decides what comes next stops where any rank was told to: it cannot measure any more, and
/// would be asked to for ever.
pub(super) fn stop_with_the_stopped(outcome: &Outcome) {
    let signal = sys::stopped_by(outcome.exit_code);
    if let Some(signal) = signal.filter(|_| outcome.status == Status::Interrupted) {
        sys::stop_with_another(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Usage;

    #[test]
    fn a_rank_that_ends_alone_says_what_only_it_knows() {
        let error = anyhow::anyhow!("Resource temporarily unavailable").context("no thread");
        let fault = why_left(Some(&error));
        assert_eq!(fault.text, "no thread: Resource temporarily unavailable");
        assert_eq!(fault.exit_code, 1);
        assert_eq!(why_left(Some(&Usage("x".into()).into())).exit_code, 2);
        assert_eq!(why_left(None), PeerFault::lost("it had ended already"));
    }

    #[test]
    fn who_does_not_come_to_the_end_is_named() {
        let called = ["a (rank 0)", "b (rank 1)", "c (rank 2)"].map(str::to_owned);
        let said = |silent: &[u32]| told_of_unended(&called, silent);
        assert!(said(&[1, 2]).contains("lost at the end: b (rank 1), c (rank 2); what"));
        assert!(said(&[0]).contains("a (rank 0), which keeps what all have measured"));
        assert!(said(&[]).contains("the MPI library"));
    }

    #[test]
    fn a_signal_that_the_root_alone_had_between_two_works_ends_all_ranks() {
        let end = |exit_code, goes_on| WorkEnd {
            record: None,
            exit_code,
            goes_on,
            unsaved: None,
        };
        let caught = Some(CaughtSignal {
            signal: 2,
            impatient: false,
        });
        let heard = |of: WorkEnd, caught| {
            let mut there = end(PeerFault::LOST, false);
            let signal = there.hear(of.word(caught).to_string().as_bytes());
            (there.exit_code, there.goes_on, signal)
        };
        assert_eq!(heard(end(0, true), None), (0, true, None));
        assert_eq!(heard(end(0, false), caught), (0, false, Some(2)));
        let goes_on = heard(end(3, true), caught);
        assert_eq!(goes_on, (3, true, None), "the next work hears it");
        let mut there = end(0, true);
        assert_eq!(there.hear(br#"{"signal":9999}"#), None);
        assert_eq!((there.exit_code, there.goes_on), (5, false));
    }

    #[test]
    fn what_a_signal_had_ended_on_one_rank_is_not_lost_with_the_others() {
        let of = |status, exit_code| {
            let before = Outcome {
                status,
                exit_code,
                message: Some("x".into()),
            };
            let outcome = broken_off(&PeerFault::lost("lost: b (rank 1)"), before);
            assert_eq!(outcome.message.as_deref(), Some("lost: b (rank 1); x"));
            (outcome.status, outcome.exit_code)
        };
        assert_eq!(of(Status::Ok, 0), (Status::Incomplete, 5));
        assert_eq!(of(Status::Failed, 1), (Status::Incomplete, 5));
        assert_eq!(of(Status::Interrupted, 143), (Status::Interrupted, 143));
    }
}
