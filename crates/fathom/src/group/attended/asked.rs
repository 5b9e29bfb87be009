//! Whom a signal for the launcher reaches: a script that starts one and waits for it hands nothing on.

use crate::group::alive::{catches, is_stopped, process_group};
use crate::group::front::MARK;
use std::fs;
use sys::children_of;

const KILL: i32 = 9;
/// Programs that run scripts, and what the names of others begin with.
const SHELLS: [&str; 8] = ["sh", "dash", "ash", "bash", "ksh", "mksh", "zsh", "busybox"];
const INTERPRETERS: [&str; 3] = ["python", "perl", "ksh93"];

/// What was started as the launcher, and what it runs at this moment.
pub(super) struct SignalReach {
    /// The scripts, from the first on.
    scripts: Vec<u32>,
    /// The launcher itself, and what its script runs beside it.
    launchers: Vec<u32>,
}

impl SignalReach {
    /// Looks from the process on that was started: a script's own children in its process group and a launcher
    /// in another, or where it gave each another, all of them.
    pub(super) fn of(process: u32) -> Self {
        let mut asked = Self {
            scripts: Vec::new(),
            launchers: Vec::new(),
        };
        asked.add(process);
        asked
    }

    fn add(&mut self, process: u32) {
        let below = match is_interpreter(process) {
            true => children_of(process),
            false => Vec::new(),
        };
        let group = process_group(process);
        // Each is looked at once: it may go to a group of its own meanwhile.
        let is_beside = |child: &u32| group.is_some() && process_group(*child) == group;
        let (beside, apart): (Vec<u32>, Vec<u32>) = below.into_iter().partition(is_beside);
        let below = match beside.is_empty() {
            true => apart,
            false => [beside, apart.into_iter().filter(has_mark).collect()].concat(),
        };
        if below.is_empty() {
            self.launchers.push(process);
            return;
        }
        self.scripts.push(process);
        below.into_iter().for_each(|child| self.add(child));
    }

    /// Whether somebody has stopped one of those through whom ranks are heard, which hands nothing on then: what a
    /// script runs beside them is none, and neither are the ranks.
    pub(super) fn stands_still(&self) -> bool {
        let all = || self.scripts.iter().chain(&self.launchers).copied();
        let reach_ranks = all().filter(has_mark).flat_map(ways);
        all().take(1).chain(reach_ranks).any(is_stopped)
    }

    /// Whether a launcher does something of its own at this signal.
    pub(super) fn catch(&self, signal: i32) -> bool {
        self.launchers.iter().any(|one| catches(*one, signal))
    }

    /// Who is sent it. A reader beside the launcher dies of what the launcher catches, and where none catches
    /// it the script is not to go on to its next line.
    pub(super) fn reached(&self, signal: i32) -> Vec<u32> {
        let mut launchers = self.launchers.clone();
        if signal != KILL && self.catch(signal) {
            launchers.retain(|one| catches(*one, signal));
            return launchers;
        }
        [self.scripts.clone(), launchers].concat()
    }

    pub(super) fn send(&self, signal: i32) {
        for process in self.reached(signal) {
            let _it_may_have_ended = sys::signal_process(process, signal);
        }
    }
}

/// Whether a process was given what a launcher is to start, be it in the words of a shell, or runs one that was.
fn has_mark(process: &u32) -> bool {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mark = format!("--{MARK}=");
    let is_marked = words
        .windows(mark.len())
        .any(|part| part == mark.as_bytes());
    is_marked || children_of(*process).iter().any(has_mark)
}

/// A launcher and what it runs that itself runs ranks, or reaches others.
fn ways(process: u32) -> Vec<u32> {
    let below = children_of(process).into_iter();
    let below = below.filter(|child| has_mark(child) && !is_rank(*child));
    std::iter::once(process)
        .chain(below.flat_map(ways))
        .collect()
}

/// Whether a process runs this program.
fn is_rank(process: u32) -> bool {
    let program = |process: &str| fs::read_link(format!("/proc/{process}/exe")).ok();
    program(&process.to_string()) == program("self")
}

/// Whether a process runs a script.
fn is_interpreter(process: u32) -> bool {
    let program = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    SHELLS.contains(&&*name) || INTERPRETERS.iter().any(|known| name.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};
    use sys::{Clock as _, MachineClock};

    const TERM: i32 = 15;
    const STOP: i32 = 19;
    const CONT: i32 = 18;

    fn until(so: impl Fn() -> bool) {
        let clock = MachineClock::monotonic();
        let last = clock.now() + 30_000_000_000;
        while !so() {
            assert!(clock.now() < last);
            std::thread::yield_now();
        }
    }

    fn stop(process: u32) {
        sys::signal_process(process, STOP).unwrap();
        until(|| is_stopped(process));
    }

    /// A script in a process group of its own that has said how far it is.
    fn begun(script: &str) -> (Child, String) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut child = command.process_group(0).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        (child, line.trim().to_owned())
    }

    #[test]
    fn what_a_script_waits_for_has_the_signal_and_the_script_ends_after_it() {
        // Nobody catches TERM: the script is not to go on, and has it as well.
        let script = "sleep 600 & echo $!; wait; exit 7";
        let (mut child, launcher) = begun(script);
        let asked = SignalReach::of(child.id());
        assert_eq!(asked.scripts, [child.id()]);
        let launcher: u32 = launcher.parse().unwrap();
        assert_eq!(asked.launchers, [launcher]);
        assert!(!asked.catch(TERM));
        assert_eq!(asked.reached(TERM), [child.id(), launcher]);
        asked.send(KILL);
        assert_eq!(child.wait().unwrap().code(), None);

        // A script hears nothing where a launcher catches the signal, and goes on after it. This one stands for
        // a launcher, and is a shell itself.
        let inner = r#"sh -c 'trap "exit 3" TERM; echo; while :; do sleep 0.01; done'"#;
        let (mut child, _) = begun(&format!("{inner}; exit $(($? + 4))"));
        let inner = children_of(child.id());
        assert_eq!(inner.len(), 1);
        let asked = SignalReach {
            scripts: vec![child.id()],
            launchers: inner.clone(),
        };
        assert!(asked.catch(TERM));
        assert_eq!(asked.reached(TERM), inner);
        asked.send(TERM);
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn a_launcher_to_which_its_script_gave_a_session_is_the_launcher() {
        let (mut child, _) = begun("setsid sleep 600 & echo; wait; exit 7");
        let leads = |one: &u32| process_group(*one) == Some(*one);
        // It has its own a moment later.
        until(|| matches!(&SignalReach::of(child.id()).launchers[..], [one] if leads(one)));
        let asked = SignalReach::of(child.id());
        assert_eq!(asked.reached(KILL), [child.id(), asked.launchers[0]]);
        asked.send(KILL);
        assert_eq!(child.wait().unwrap().code(), None);
    }

    #[test]
    fn a_launcher_with_a_session_has_its_signals_beside_what_else_its_script_runs() {
        // It catches TERM and is no script; it is begun as it is, by words of a shell, and by a script in a file.
        let launcher = "timeout 600 sh -c 'echo; exec sleep 600' --under-front=1";
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("script");
        fs::write(&file, format!("{launcher}\nexit 3\n")).unwrap();
        let in_words = launcher.replace('\'', "\"");
        for begins in [
            format!("setsid {launcher}"),
            format!("setsid sh -c '{in_words}; exit 3'"),
            format!("setsid sh {}", file.display()),
        ] {
            let (mut child, _) = begun(&format!("sleep 600 & {begins}; exit 7"));
            let asked = SignalReach::of(child.id());
            assert_eq!(asked.launchers.len(), 2, "{begins}");
            assert_eq!(asked.reached(TERM), asked.launchers[1..], "{begins}");
            // Through what stands beside it nobody is heard. Until it runs, it is a shell with the whole script.
            until(|| !has_mark(&asked.launchers[0]));
            stop(asked.launchers[0]);
            assert!(!asked.stands_still(), "{begins}");
            stop(asked.launchers[1]);
            assert!(asked.stands_still(), "{begins}");
            sys::signal_process(asked.launchers[1], CONT).unwrap();
            asked.send(TERM);
            assert_eq!(child.wait().unwrap().code(), Some(7), "{begins}");
            // What stood beside it has had none.
            sys::signal_process(asked.launchers[0], KILL).unwrap();
        }
    }

    #[test]
    fn a_launcher_that_is_no_script_has_its_signals_itself() {
        // It waits until nobody writes to it.
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let asked = SignalReach::of(child.id());
        assert_eq!((asked.scripts.len(), asked.launchers.len()), (0, 1));
        assert_eq!(asked.reached(TERM), [child.id()]);
        assert!(!asked.stands_still());
        stop(child.id());
        assert!(asked.stands_still());
        asked.send(KILL);
        child.wait().unwrap();
    }
}
