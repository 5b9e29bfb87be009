//! What the launcher leaves on this machine when it ends: ways into hosts, and ranks.

use super::{KILL, TERM};
use crate::group::alive::process_group;
use sys::{Clock as _, MachineClock, ProcessEnd, Readiness, wait_ready};

/// What a launcher left on this machine has so long to end when it is asked, and then it is killed.
const PATIENCE_NS: u64 = 3_000_000_000;

/// Children that this process had before: a shell that has become this process had its own.
pub(super) struct Before {
    children: Vec<u32>,
    group: Option<u32>,
}

impl Before {
    pub(super) fn the_launcher() -> Self {
        Self {
            children: sys::own_children(),
            group: process_group(std::process::id()),
        }
    }

    /// Whether a child came of the launcher. That has a process group of its own, where this process's own
    /// holds what children of before leave to it.
    fn came_after(&self, child: u32) -> bool {
        let is_new = !self.children.contains(&child);
        is_new && (self.group.is_none() || process_group(child) != self.group)
    }

    /// Whether something runs that came of the launcher.
    pub(super) fn leaves_some(&self) -> bool {
        let mut left = sys::own_children().into_iter();
        left.any(|pid| self.came_after(pid) && !has_ended(pid, 0))
    }

    /// Ends what the launcher started on this machine and did not wait for.
    pub(super) fn end_what_came_after(&self) {
        let clock = MachineClock::monotonic();
        for signal in [TERM, KILL] {
            let until = clock.now().saturating_add(PATIENCE_NS);
            // Those that end leave their own children to this process.
            loop {
                let mut left = sys::own_children();
                left.retain(|pid| self.came_after(*pid));
                for pid in &left {
                    let _it_may_have_ended = sys::signal_process(*pid, signal);
                }
                if left.is_empty() {
                    return;
                }
                for pid in left {
                    let rest = until.saturating_sub(clock.now());
                    if has_ended(pid, rest) {
                        let _reaped = sys::wait_child(pid);
                    }
                }
                if clock.now() >= until {
                    break;
                }
            }
        }
    }
}

/// Whether a process has ended, or does so in so many nanoseconds.
fn has_ended(pid: u32, within_ns: u64) -> bool {
    ProcessEnd::of(pid)
        .is_ok_and(|end| wait_ready(&end, Readiness::Input, within_ns).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    /// One that waits until nobody writes to it.
    fn begin(command: &mut Command) -> Child {
        command.stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn children_of_before_and_what_they_leave_are_not_the_launcher_s() {
        let mut of_before = begin(Command::new("cat").process_group(0));
        let before = Before::the_launcher();
        let mut of_those = begin(&mut Command::new("cat"));
        let mut of_the_launcher = begin(Command::new("cat").process_group(0));
        let children = [&of_before, &of_those, &of_the_launcher].map(|child| child.id());
        let came_after = children.map(|child| before.came_after(child));
        let leaves_some = before.leaves_some();
        for child in [&mut of_before, &mut of_those, &mut of_the_launcher] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(came_after, [false, false, true]);
        assert!(leaves_some && !before.leaves_some());
    }
}
