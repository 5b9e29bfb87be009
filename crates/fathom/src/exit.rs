//! Exit codes: 0 ok; 1 the run failed; 2 usage, or this machine cannot; 3 a gate failed; 4 invalid;
//! 5 incomplete; 128 + signal.

use crate::tell::say;
use object::LoadError;
use std::error::Error;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Where a launcher hands the code on, ours are told from its own by so much.
const OF_RANKS: i32 = 64;
/// Stopped by a terminal that hung up, by Ctrl-C, by whoever asked it to end.
const STOPPED: [i32; 3] = [129, 130, 143];

/// The word of the process of ours that the code goes to, through a launcher.
static FRONT: OnceLock<FrontWord> = OnceLock::new();

/// Drawn anew by a process that starts a launcher and told to its ranks alone: what they say of the
/// end is theirs by it, and neither another run's nor a text that somebody keeps. It is no secret
/// from the launcher, which could as well start another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrontWord(pub(crate) String);

impl FrontWord {
    pub(crate) fn draw() -> Self {
        Self(format!("{:032x}", sys::random_bits()))
    }

    /// The line by which a rank says how all ended.
    pub(crate) fn end_line(&self, code: i32) -> String {
        format!("{END}{code}.{}", self.proof(code))
    }

    /// The line by which a rank says that it has begun, and where.
    fn begun_line(&self, host: &str) -> String {
        format!("{BEGUN}{host}.{}", self.proof(host))
    }

    /// The hosts in such a line, which may hold the words of several ranks.
    pub(crate) fn begun_in(&self, line: &str) -> Option<Vec<String>> {
        let (_, said) = line.split_once(BEGUN)?;
        let said = said.split(END).next().unwrap_or_default();
        let hosts = said.split(BEGUN).map(|said| {
            let (host, proof) = said.trim().rsplit_once('.')?;
            (proof == self.proof(host)).then(|| host.to_owned())
        });
        hosts.collect()
    }

    /// What only they can say to whom the word was told; the line that was shown or repeated is not
    /// enough.
    fn proof(&self, of: impl std::fmt::Display) -> String {
        record::hash_of(format!("{} {of}", self.0).as_bytes())
    }

    /// The code in such a line, which a launcher may have put words before; the worst where it has
    /// put the lines of several ranks on one.
    pub(crate) fn end_in(&self, line: &str) -> Option<i32> {
        let (_, said) = line.split_once(END)?;
        let codes = said.split(END).map(|said| {
            let (code, proof) = said.trim().split_once('.')?;
            let code = code.parse().ok()?;
            (proof == self.proof(code)).then_some(code)
        });
        let codes: Option<Vec<i32>> = codes.collect();
        let worst = codes?.into_iter().max()?;
        (0..=255).contains(&worst).then_some(worst)
    }
}

/// Exit codes of this process go through a launcher to a process of ours, which hears that this one
/// has begun.
pub(crate) fn speak_to_front(word: FrontWord) {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    say(&word.begun_line(host.trim()));
    let _it_is_told_once = FRONT.set(word);
}

/// No exit code: no rank has said how it ended.
pub(crate) const NOTHING_SAID: i32 = -1;

/// What begins the lines that a rank says to the process that started its launcher: that it is there,
/// and how all ended.
const BEGUN: &str = "fathom-rank-begun=";
const END: &str = "fathom-ranks-ended=";

/// Says how all ended to a process of ours behind the launcher, which may not end by itself.
pub(crate) fn say_end(code: i32) {
    if let Some(front) = FRONT.get() {
        say(&front.end_line(code));
    }
}

/// The code as whoever waits for this process expects it.
pub(crate) fn as_heard(code: i32) -> i32 {
    match FRONT.get() {
        Some(_) => behind_launcher(code),
        None => code,
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
    let code = outcome.unwrap_or_else(|error| {
        say(&format!("error: {}", told(&error)));
        code_of(&error)
    });
    if crate::group::is_first() {
        say_end(code);
    }
    let own = as_heard(crate::group::leave(code));
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
                | LoadError::Interrupted
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
                if error
                    .chain()
                    .any(|cause| cause.is::<workload::SpecError>() || cause.is::<Usage>())
                {
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

/// What clap has to say: help and version on standard output, mistakes on standard error with code
/// 2.
pub(crate) fn usage(error: clap::Error) -> ExitCode {
    let _nobody_reads_a_closed_terminal = error.print();
    let code = crate::group::leave(error.exit_code());
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_ranks_is_told_from_other_words() {
        let word = FrontWord("a word".into());
        for code in [0, 5, 130] {
            assert_eq!(
                word.end_in(&format!("[1,0]<stderr>: {}\n", word.end_line(code))),
                Some(code)
            );
        }
        let joined = [word.end_line(5), word.end_line(0)].concat();
        assert_eq!(word.end_in(&joined), Some(5));
        let (of_another, of_failure) = (FrontWord("b".into()).end_line(0), word.end_line(5));
        let turned = of_failure.replace("=5", "=0");
        let half = [word.end_line(0).as_str(), "fathom-ranks-ended=0"].concat();
        for line in [
            "",
            "error: x",
            "fathom-ranks-ended=",
            "fathom-ranks-ended=0",
            "fathom-ranks-ended=0.a word",
            "fathom-ranks-ended=-7",
            "fathom-ranks-ended=5 x",
            &of_another,
            &turned,
            &half,
        ] {
            assert_eq!(word.end_in(line), None, "{line}");
        }
    }

    #[test]
    fn codes_of_ranks_are_told_from_those_of_their_launcher() {
        let heard: Vec<Option<i32>> = [0, 1, 2, 9, 65, 69, 70, 130, 137, 143, 255]
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
                Some(143),
                none
            ]
        );
        assert_eq!(as_heard(3), 3, "nobody waits behind a launcher");
        let told = [0, 1, 2, 3, 4, 5, 130].map(behind_launcher);
        assert_eq!(told, [0, 65, 66, 0, 0, 69, 130]);
    }
}
