//! Exit codes: 0 ok; 1 the run failed; 2 usage, or this machine cannot; 3 a gate failed; 4 invalid;
//! 5 incomplete; 128 + signal.

mod front_word;
mod speech;

pub(crate) use front_word::FrontWord;

use crate::tell::{is_held, print_held, say};
use object::LoadError;
use std::error::Error;
use std::process::ExitCode;
use std::sync::OnceLock;
use sys::MachineClock;

/// Where a launcher hands the code on, ours are told from its own by so much.
const OF_RANKS: i32 = 64;
/// Stopped by a terminal that hung up, by Ctrl-C, by what Open MPI's launcher hands on, by whoever asked it
/// to end.
const STOPPED: [i32; 4] = [129, 130, 138, 143];

/// A rank has so long to end: what a library does at the end of a process may not come to its own end either. MPICH 5
/// asks the launcher then, which may stand still with much that the first has printed until somebody reads it.
const ENDS_NS: u64 = 3_000_000_000;
const MUCH_ENDS_NS: u64 = 600_000_000_000;

/// A launcher has so long to read what the first has printed before it is asked to end all.
const READ_NS: u64 = 2_000_000_000;
const READ_LOOK_NS: u64 = 1_000_000;

/// The word of the process of ours that the code goes to, through a launcher.
static FRONT: OnceLock<FrontWord> = OnceLock::new();

/// Exit codes of this process go through a launcher to a process of ours, which hears that this one
/// has begun.
pub(crate) fn speak_to_front(word: FrontWord) {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    sys::ignore_what_launchers_hand_on();
    say(&word.begun_line(host.trim()));
    if crate::group::is_first() {
        speech::begin(word.clone());
    }
    let _it_is_told_once = FRONT.set(word);
}

/// No exit code: no rank has said how it ended.
pub(crate) const NOTHING_SAID: i32 = -1;

/// What the first rank prints, in which nothing else that it says is to stand. How much it is it says before to a
/// process of ours behind the launcher: it may wait there for longer than anybody would wait for a sign of life.
pub(crate) fn while_printing<T>(bytes: usize, print: impl FnOnce() -> T) -> T {
    let Some(front) = FRONT.get().filter(|_| crate::group::is_first()) else {
        return print();
    };
    speech::quietly(|| {
        say(&front.prints_line(bytes));
        print()
    })
}

/// Says how all ended to a process of ours behind the launcher, which may not end by itself.
pub(crate) fn say_end(code: i32) {
    if let Some(front) = FRONT.get() {
        say(&front.end_line(code));
    }
}

/// The last of a process that ends without coming back from its library.
pub(crate) fn say_last(code: i32) {
    if crate::group::is_first() {
        let code = print_held().map_or_else(|error| code_of(&error), |()| code);
        wait_until_read();
        say_end(code);
    }
}

/// A launcher that is asked to end all hands on no more of what it has not read.
fn wait_until_read() {
    let clock = MachineClock::monotonic();
    let is_read = || sys::unread_of_pipe(std::io::stdout()).is_none_or(|unread| unread == 0);
    sys::wait_while_awake(&clock, READ_NS, READ_LOOK_NS, is_read);
}

/// Whether a process of ours started the launcher, and is told how all ended.
pub(crate) fn has_front() -> bool {
    FRONT.get().is_some()
}

/// The code as whoever waits for this process expects it.
pub(crate) fn as_heard(code: i32) -> i32 {
    match has_front() {
        true => behind_launcher(code),
        false => code,
    }
}

/// A verdict has been said by its line, and no rank failed: a launcher that saw one end with it
/// would call the job aborted.
fn behind_launcher(code: i32) -> i32 {
    match code {
        3 | 4 => 0,
        1 | 2 | 5 => OF_RANKS + code,
        code => code,
    }
}

/// The code that ranks meant; `None` where the launcher speaks for itself.
pub(crate) fn from_launcher(code: i32) -> Option<i32> {
    let of_ranks = code - OF_RANKS;
    if (1..=5).contains(&of_ranks) {
        return Some(of_ranks);
    }
    Some(code).filter(|code| *code == 0 || STOPPED.contains(code))
}

/// A verb's outcome as an exit code, its error told.
pub(crate) fn code(outcome: anyhow::Result<i32>) -> ExitCode {
    let is_much = is_held();
    if is_much {
        // One beside this whose library still ends needs the launcher, too.
        crate::group::wait_for_others();
    }
    let printed = print_held();
    let outcome = outcome.and_then(|code| printed.map(|()| code));
    let code = outcome.unwrap_or_else(|error| {
        if !(error.is::<OptionsRefused>() && crate::group::is_said_by_another()) {
            say(&format!("error: {}", told(&error)));
        }
        code_of(&error)
    });
    if crate::group::is_first() {
        say_end(code);
    }
    let own = as_heard(crate::group::leave(code));
    crate::group::watch_the_end(own, if is_much { MUCH_ENDS_NS } else { ENDS_NS });
    ExitCode::from(u8::try_from(own).unwrap_or(1))
}

/// An error and its causes, without those that it tells itself.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let add = |told: String, cause: String| {
        if told.contains(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    };
    error
        .chain()
        .map(ToString::to_string)
        .reduce(add)
        .unwrap_or_default()
}

/// Why a task did not start, as its own kind of error: a mistake of the command line is told as one.
pub(crate) fn unstarted(source: Box<dyn Error + Send + Sync>) -> anyhow::Error {
    let source = match source.downcast::<LoadError>() {
        Ok(error) => {
            return match *error {
                LoadError::Asked(text) => Usage(text).into(),
                error @ (LoadError::Target(_)
                | LoadError::Threads { .. }
                | LoadError::Interrupted { .. }
                | LoadError::Group(_)
                | LoadError::Missed { .. }) => error.into(),
            };
        }
        Err(source) => source,
    };
    match source.downcast::<run::RunError>() {
        Ok(error) => anyhow::Error::new(*error),
        Err(source) => anyhow::Error::from_boxed(source),
    }
}

/// The exit code of an error.
pub(crate) fn code_of(error: &anyhow::Error) -> i32 {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<run::RunError>())
        .map_or_else(
            || {
                if error.chain().any(|cause| {
                    cause.is::<workload::SpecError>()
                        || cause.is::<Usage>()
                        || cause.is::<OptionsRefused>()
                }) {
                    2
                } else {
                    1
                }
            },
            run::RunError::exit_code,
        )
}

/// A mistake in how the command was called.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A mistake that every rank of one machine makes with the same command line.
#[derive(Debug)]
pub(crate) struct OptionsRefused(String);

impl OptionsRefused {
    /// The same mistake as one of these.
    pub(crate) fn of(error: anyhow::Error) -> anyhow::Error {
        match code_of(&error) {
            2 => Self(told(&error)).into(),
            _ => error,
        }
    }
}

impl std::fmt::Display for OptionsRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsRefused {}

/// What clap has to say: help and version on standard output, mistakes on standard error with code
/// 2.
pub(crate) fn usage(error: clap::Error) -> ExitCode {
    if error.exit_code() == 0 || !crate::group::is_launched() {
        let _nobody_reads_a_closed_terminal = error.print();
    } else if !crate::group::is_said_by_another() {
        // Printed in pieces it would be mixed with what other ranks say.
        say(&error.render().to_string());
    }
    let code = crate::group::leave(error.exit_code());
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_ranks_are_told_from_those_of_their_launcher() {
        let heard: Vec<Option<i32>> = [0, 1, 2, 9, 65, 69, 70, 130, 137, 138, 143, 255]
            .into_iter()
            .map(from_launcher)
            .collect();
        let none = None;
        assert_eq!(
            heard,
            [
                Some(0),
                none,
                none,
                none,
                Some(1),
                Some(5),
                none,
                Some(130),
                none,
                Some(138),
                Some(143),
                none
            ]
        );
        assert_eq!(as_heard(3), 3, "nobody waits behind a launcher");
        let told = [0, 1, 2, 3, 4, 5, 130].map(behind_launcher);
        assert_eq!(told, [0, 65, 66, 0, 0, 69, 130]);
    }
}
