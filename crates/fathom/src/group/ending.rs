//! How work of ranks ends: what the first says for all, and the exit code that all of them have.

use super::agree::{Hello, agree};
use super::connection::RankLink;
use super::launched::Launch;
use super::words::fault_by;
use crate::context;
use crate::exit::{code_of, told};
use crate::tell::say;
use anyhow::Result;
use host::{Machine, PeerFault};
use record::{Outcome, Status};
use run::RunError;
use std::path::Path;
use std::time::Duration;

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
    if connection.speaks_for_lost_root() {
        say(&format!(
            "error: {}: it keeps what all measure, and its records hold what it had written until then",
            connection.loss().text
        ));
    }
    if connection.is_root() || connection.has_lost_root() {
        crate::exit::say_end(code);
    }
    connection.end(code, &why_left(outcome.as_ref().err()));
    code
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

/// How a record ends whose group was lost, or not waited for, before all had said what they have.
pub(super) fn broken_off(fault: &PeerFault, also: Option<String>) -> Outcome {
    let message = also.map_or_else(
        || fault.text.clone(),
        |also| format!("{}; {also}", fault.text),
    );
    let (status, exit_code) = match sys::caught_signal() {
        Some(caught) => (Status::Interrupted, caught.exit_code()),
        None => (Status::Incomplete, fault.exit_code),
    };
    Outcome {
        status,
        exit_code,
        message: Some(message),
    }
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
}
