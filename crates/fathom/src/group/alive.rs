//! Which ranks of this machine live, as the kernel says: what they say themselves may be late where CPUs
//! are busy.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// What a rank says of its process.
pub(super) fn process_word() -> Value {
    let own = std::process::id();
    json!({ "number": own, "started": facts(own).map(|(_, started)| started) })
}

/// A process of this machine, and when it started: its number may be another's later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RankProcess {
    number: u32,
    started: u64,
}

impl RankProcess {
    /// What a rank of this machine has said of its process, if it could say anything.
    pub(super) fn read(word: &Value) -> Option<Self> {
        let number = word.get("number").and_then(Value::as_u64)?;
        Some(Self {
            number: u32::try_from(number).ok()?,
            started: word.get("started").and_then(Value::as_u64)?,
        })
    }

    /// Whether it works or waits. One that is stopped does neither, and one that has ended and that nobody
    /// has waited for is dead.
    pub(super) fn goes_on(self) -> bool {
        facts(self.number).is_some_and(|(state, started)| {
            started == self.started && ['R', 'S', 'D', 'I'].contains(&state)
        })
    }
}

/// What the kernel says of a process behind its name, which may hold anything and stands in brackets: its
/// state, its parent and more (proc_pid_stat(5)).
pub(super) fn stat_after_name(place: &Path) -> Option<String> {
    let stat = fs::read_to_string(place.join("stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

/// The process group of a process, by its number.
pub(super) fn process_group(process: u32) -> Option<u32> {
    let after = stat_after_name(Path::new(&format!("/proc/{process}")))?;
    // The fifth of all, behind the state and the parent.
    after.split(' ').nth(2)?.parse().ok()
}

/// Whether a process does something of its own at this signal, as the kernel says it (proc_pid_status(5)).
pub(super) fn catches(process: u32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether somebody has stopped a process.
pub(super) fn is_stopped(process: u32) -> bool {
    facts(process).is_some_and(|(state, _)| ['T', 't'].contains(&state))
}

/// The state of a process and when it started, in ticks since the machine did (proc_pid_stat(5)).
fn facts(process: u32) -> Option<(char, u64)> {
    let after = stat_after_name(Path::new(&format!("/proc/{process}")))?;
    let mut fields = after.split(' ');
    let state = fields.next()?.chars().next()?;
    // The state is the third of all, and this the 22nd.
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_catches_what_it_has_a_handler_for() {
        sys::catch_signals();
        let own = std::process::id();
        assert!(catches(own, 10));
        assert!(!catches(own, 9), "nobody catches that");
        assert!(!catches(u32::MAX, 10));
    }

    #[test]
    fn a_process_that_has_ended_or_is_another_or_is_stopped_does_not_go_on() {
        let own = RankProcess::read(&process_word()).expect("this one runs");
        assert!(own.goes_on());
        let another = RankProcess {
            started: own.started + 1,
            ..own
        };
        assert!(!another.goes_on());
        assert_eq!(RankProcess::read(&json!({ "number": 1 })), None);
        let sleep = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn();
        let mut child = sleep.expect("sleep starts");
        let number = child.id();
        let (_, started) = facts(number).expect("it runs");
        let process = RankProcess { number, started };
        assert!(process.goes_on());
        let stopped = Command::new("kill")
            .args(["-STOP", &number.to_string()])
            .status();
        assert!(stopped.expect("kill runs").success());
        while process.goes_on() {
            std::thread::yield_now();
        }
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        assert!(!process.goes_on());
    }
}
