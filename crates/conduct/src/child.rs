//! Programs that are none of ours: started in a group of their own, waited for, and ended whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use sys::{Clock as _, MachineClock, ProcessEnd, Readiness, Spent, wait_ready};

/// The most output that a failure tells of.
const MOST_TOLD: u64 = 64 << 10;
/// SIGKILL.
const KILL: i32 = 9;

/// The variable by which a process that was left behind is known as one of an experiment's.
pub(crate) const MARK: &str = "FATHOM_LAB_SLOT";

/// Variables by which git knows the repository that somebody works in, as inside of a hook: with them
/// a clone of an experiment, and what is built in it, would be about that one.
pub(crate) const OF_A_REPOSITORY: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_QUARANTINE_PATH",
];

/// What is to be started.
#[derive(Clone, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) words: &'a [String],
    /// In place of everything inherited, or beside it.
    pub(crate) env: Env<'a>,
    pub(crate) dir: &'a Path,
    pub(crate) input: Option<&'a Path>,
    /// Where its output and its errors go; nowhere if `None`.
    pub(crate) output: Option<&'a Path>,
    pub(crate) errors: Option<&'a Path>,
    /// Files of control groups that it writes itself into before it begins.
    pub(crate) groups: &'a [PathBuf],
}

/// Variables of a program.
#[derive(Clone, Debug)]
pub(crate) struct Env<'a> {
    pub(crate) is_bare: bool,
    pub(crate) own: &'a BTreeMap<String, String>,
    pub(crate) scratch: &'a Path,
    pub(crate) mark: &'a str,
}

/// Variables that nearly every program needs.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    /// Of the process and of its group.
    pub(crate) pid: u32,
    end: ProcessEnd,
    pub(crate) began_ns: u64,
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Ended,
    TimeOver,
    /// A signal asks this process to end.
    Stopped,
}

impl Program<'_> {
    /// Starts it.
    ///
    /// # Errors
    /// It cannot be started, in words.
    pub(crate) fn start(&self, clock: &MachineClock) -> Result<Running, String> {
        let told = |e: io::Error| format!("cannot start {}: {e}", self.words[0]);
        let mut command = if self.groups.is_empty() {
            let mut command = Command::new(&self.words[0]);
            command.args(&self.words[1..]);
            command
        } else {
            self.in_groups()
        };
        if self.env.is_bare {
            command.env_clear();
            for name in INHERITED {
                command.envs(std::env::var_os(name).map(|value| (name, value)));
            }
        }
        for name in OF_A_REPOSITORY {
            command.env_remove(name);
        }
        command
            .env("TMPDIR", self.env.scratch)
            .envs(self.env.own)
            .env(MARK, self.env.mark)
            .current_dir(self.dir)
            .process_group(0)
            .stdin(match self.input {
                None => Stdio::null(),
                Some(path) => File::open(path)
                    .map_err(|e| format!("cannot open {}: {e}", path.display()))?
                    .into(),
            })
            .stdout(sink(self.output)?)
            .stderr(sink(self.errors)?);
        sys::with_limits_before(&mut command);
        let began_ns = clock.now();
        let child = command.spawn().map_err(told)?;
        let pid = child.id();
        // Dropping the standard library's handle waits for nothing; the account is taken by
        // `wait_child`.
        drop(child);
        Running::of(pid, began_ns).map_err(told)
    }

    /// A shell that enters the groups and becomes the program.
    fn in_groups(&self) -> Command {
        let enter = "while [ \"$1\" != -- ]; do echo $$ > \"$1\" || exit 125; shift; done; shift; exec \"$@\"";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", enter, "sh"]);
        command.args(self.groups).arg("--").args(self.words);
        command
    }
}

fn sink(path: Option<&Path>) -> Result<Stdio, String> {
    let Some(path) = path else {
        return Ok(Stdio::null());
    };
    let file = File::create(path);
    file.map(Stdio::from)
        .map_err(|e| format!("cannot write {}: {e}", path.display()))
}

impl Running {
    /// A child that has just been started, to be waited for.
    ///
    /// # Errors
    /// It cannot be waited for; it is ended then.
    pub(crate) fn of(pid: u32, began_ns: u64) -> io::Result<Self> {
        let end = ProcessEnd::of(pid);
        if end.is_err() {
            let _gone = sys::signal_group(pid, KILL);
            let _gone = sys::signal_process(pid, KILL);
            let _reaped = sys::wait_child(pid);
        }
        Ok(Self {
            pid,
            end: end?,
            began_ns,
        })
    }

    /// Waits until it has ended, for as long as the clock is before `until_ns`.
    pub(crate) fn wait(&self, clock: &MachineClock, until_ns: u64) -> Waited {
        loop {
            if sys::caught_signal().is_some() {
                return Waited::Stopped;
            }
            let left_ns = until_ns.saturating_sub(clock.now());
            match wait_ready(&self.end, Readiness::Input, left_ns) {
                Ok(true) => return Waited::Ended,
                Ok(false) if clock.now() >= until_ns => return Waited::TimeOver,
                Ok(false) | Err(_) => {}
            }
        }
    }

    /// As [`Running::wait`], also where a signal asks this process to end: what is ended has to be
    /// waited for.
    pub(crate) fn wait_whatever_comes(&self, clock: &MachineClock, until_ns: u64) -> Waited {
        while clock.now() < until_ns {
            let left_ns = until_ns.saturating_sub(clock.now());
            if wait_ready(&self.end, Readiness::Input, left_ns).unwrap_or(false) {
                return Waited::Ended;
            }
        }
        Waited::TimeOver
    }

    pub(crate) fn has_ended(&self) -> bool {
        wait_ready(&self.end, Readiness::Input, 0).unwrap_or(false)
    }

    /// Asks the whole group.
    pub(crate) fn signal(&self, signal: i32) {
        let _none_is_left = sys::signal_group(self.pid, signal);
    }

    /// Ends what is left of the group and takes the account of its first process. Until then the
    /// number of the group is nobody else's.
    ///
    /// # Errors
    /// Somebody else waited for it.
    pub(crate) fn close(self) -> Result<Spent, String> {
        self.signal(KILL);
        sys::wait_child(self.pid)
            .map_err(|e| format!("the account of process {} is lost: {e}", self.pid))
    }
}

/// Ends what forked away from its group and became a child of this process, known by its mark.
/// Returns how many there were.
pub(crate) fn end_orphans(mark: &str) -> usize {
    let mut ended = 0;
    // What is ended may leave children of its own.
    for _ in 0..64 {
        let orphans: Vec<u32> = sys::own_children()
            .into_iter()
            .filter(|pid| has_mark(*pid, mark))
            .collect();
        if orphans.is_empty() {
            break;
        }
        for pid in orphans {
            let _gone = sys::signal_process(pid, KILL);
            let _reaped = sys::wait_child(pid);
            ended += 1;
        }
    }
    ended
}

/// Whether a process was started with a mark that begins so.
pub(crate) fn has_mark(pid: u32, mark: &str) -> bool {
    let Ok(variables) = std::fs::read(format!("/proc/{pid}/environ")) else {
        return false;
    };
    let own = format!("{MARK}={mark}");
    variables
        .split(|byte| *byte == 0)
        .any(|variable| variable.starts_with(own.as_bytes()))
}

/// How a program ended, where that was not as it should.
pub(crate) fn failure(status: ExitStatus, good: &[i32]) -> Option<String> {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) if good.contains(&code) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("ended by signal {signal}")),
        (None, None) => Some("ended for an unknown reason".into()),
    }
}

/// The end of a file of output, for people.
pub(crate) fn tail(path: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_TOLD)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(shown(String::from_utf8_lossy(&bytes).trim()))
    };
    read().unwrap_or_default()
}

/// Foreign text without what would move a terminal's cursor, colour it or end a record's line.
fn shown(text: &str) -> String {
    let letter = |letter: char| match letter {
        '\n' | '\t' => letter.to_string(),
        '\r' => String::new(),
        other if other.is_control() => other.escape_default().to_string(),
        other => other.to_string(),
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_printed_does_not_drive_the_terminal() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out");
        std::fs::write(&file, "a\u{1b}[31mred\r\n\tb\0\n").unwrap();
        assert_eq!(tail(&file), "a\\u{1b}[31mred\n\tb\\u{0}");
    }
}
