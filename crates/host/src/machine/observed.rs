//! What a target's own process, or its control group, uses.

use super::sched::stat_field;
use super::tree::{Tree, after, kilobytes};
use std::path::{Path, PathBuf};

/// One tick of /proc: USER_HZ is 100 on every architecture that Linux has today.
pub(super) const TICK_NS: u64 = 10_000_000;

/// Somebody else on this machine whose use is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// A process and its children.
    Process(u32),
    /// A control group of version 2, as the path of its directory.
    Group(PathBuf),
}

/// What it had used at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    /// Memory at this moment; `None` where the kernel does not count it.
    pub(crate) resident_bytes: Option<u64>,
    /// The most memory since it began, of a process without children or of a group.
    pub(super) peak_bytes: Option<u64>,
    pub(crate) read_bytes: Option<u64>,
    pub(crate) written_bytes: Option<u64>,
}

/// One process, or a whole group, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) pid: u32,
    /// Tells it from a later one of the same number or name.
    pub(super) began: u64,
    /// With the CPU time of those that it waited for.
    pub(super) used: Used,
    /// CPU time of children that have ended and that it waited for.
    pub(super) waited_for_ns: CpuTime,
}

/// CPU time in user mode and in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTime {
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
}

impl Used {
    /// The most memory from `before` to this moment, where edges between them showed `seen`: a
    /// mark that rose was set meanwhile.
    pub(crate) fn peak_since(&self, before: &Self, seen: u64) -> u64 {
        let risen = self
            .peak_bytes
            .zip(before.peak_bytes)
            .filter(|(after, before)| after > before);
        risen.map_or(seen, |(after, _)| after.max(seen))
    }
}

impl Observed {
    /// The process with its children, itself first, or the group alone; `None` where there is none.
    pub(super) fn members(&self, tree: &Tree) -> Option<Vec<Member>> {
        match self {
            Self::Process(pid) => process_and_children(tree, *pid),
            Self::Group(path) => group(tree, path).map(|group| vec![group]),
        }
    }

    /// The process that was named.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Process(pid) => Some(*pid),
            Self::Group(_) => None,
        }
    }

    /// How it is called in records.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Process(pid) => format!("process {pid}"),
            Self::Group(path) => format!("control group {}", path.display()),
        }
    }
}

fn process_and_children(tree: &Tree, root: u32) -> Option<Vec<Member>> {
    let mut members = vec![process(tree, root)?];
    let mut waiting = children(tree, root);
    while let Some(pid) = waiting.pop() {
        // A child that is gone meanwhile is in the account of whoever waited for it.
        let Some(member) = process(tree, pid) else {
            continue;
        };
        members.push(member);
        waiting.extend(children(tree, pid));
    }
    Some(members)
}

/// Fields 14 to 17 and 22 of proc_pid_stat(5).
fn process(tree: &Tree, pid: u32) -> Option<Member> {
    let stat = tree.text(format!("/proc/{pid}/stat"))?;
    let field = |number| stat_field(&stat, number)?.parse::<u64>().ok();
    let time = |number| Some(field(number)? * TICK_NS);
    let status = tree.text(format!("/proc/{pid}/status")).unwrap_or_default();
    let memory = |key| kilobytes(after(&status, key, ':')?);
    let io = tree.text(format!("/proc/{pid}/io"));
    let bytes = |key| after(io.as_deref()?, key, ':')?.parse::<u64>().ok();
    let waited_for_ns = CpuTime {
        user_ns: time(16)?,
        system_ns: time(17)?,
    };
    Some(Member {
        pid,
        began: field(22)?,
        used: Used {
            user_ns: time(14)? + waited_for_ns.user_ns,
            system_ns: time(15)? + waited_for_ns.system_ns,
            resident_bytes: Some(memory("VmRSS").unwrap_or(0)),
            peak_bytes: memory("VmHWM"),
            read_bytes: bytes("read_bytes"),
            written_bytes: bytes("write_bytes"),
        },
        waited_for_ns,
    })
}

fn children(tree: &Tree, pid: u32) -> Vec<u32> {
    let threads = tree.names(format!("/proc/{pid}/task"));
    let of = |tid: &String| tree.text(format!("/proc/{pid}/task/{tid}/children"));
    let texts = threads.iter().filter_map(of);
    texts
        .flat_map(|text| {
            text.split_ascii_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// The group's own counters: cpu.stat, memory.current, memory.peak, io.stat. A group of version 1
/// has no times in its cpu.stat, and is none.
fn group(tree: &Tree, path: &Path) -> Option<Member> {
    let text = |name| tree.text(path.join(name));
    let cpu = text("cpu.stat")?;
    let time = |key: &str| {
        let mut words = cpu.lines().filter_map(|line| line.split_once(' '));
        let (_, us) = words.find(|(name, _)| *name == key)?;
        Some(us.trim().parse::<u64>().ok()? * 1000)
    };
    let io = text("io.stat");
    let moved = |key: &str| {
        let words = io.as_deref()?.split_ascii_whitespace();
        let values = words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        Some(values.filter_map(|value| value.parse::<u64>().ok()).sum())
    };
    Some(Member {
        began: tree.inode(path)?,
        used: Used {
            user_ns: time("user_usec")?,
            system_ns: time("system_usec")?,
            resident_bytes: tree.number(path.join("memory.current")),
            peak_bytes: tree.number(path.join("memory.peak")),
            read_bytes: moved("rbytes"),
            written_bytes: moved("wbytes"),
        },
        ..Member::default()
    })
}

#[cfg(test)]
pub(super) mod example {
    use super::super::tree::fixture::Fixture;

    pub(in crate::machine) fn stat(pid: u32, times: [u64; 4], began: u64) -> String {
        let [user, system, children_user, children_system] = times;
        format!(
            "{pid} (a) b) S 1 7 7 0 -1 4 11 0 22 0 {user} {system} {children_user} {children_system} 20 0 1 0 {began} 0\n"
        )
    }

    /// Process 7, without children.
    pub(in crate::machine) fn server() -> Fixture {
        let fixture = Fixture::new();
        fixture.file("proc/7/stat", stat(7, [5, 3, 2, 1], 100));
        fixture.file("proc/7/status", "VmHWM:\t 900 kB\nVmRSS:\t 600 kB\n");
        fixture.file("proc/7/io", "read_bytes: 10\nwrite_bytes: 20\n");
        fixture.file("proc/7/task/7/children", "");
        fixture
    }

    /// Process 9, a child of 7.
    pub(in crate::machine) fn child(fixture: &Fixture) {
        fixture.file("proc/7/task/7/children", "9 ");
        fixture.file("proc/9/stat", stat(9, [100, 50, 0, 0], 200));
        fixture.file("proc/9/status", "VmHWM:\t 90 kB\nVmRSS:\t 60 kB\n");
        fixture.file("proc/9/io", "read_bytes: 1\nwrite_bytes: 2\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_counts_if_it_was_reached_meanwhile() {
        let at = |peak_bytes| Used {
            peak_bytes,
            ..Used::default()
        };
        assert_eq!(at(Some(9)).peak_since(&at(Some(9)), 5), 5, "an older one");
        assert_eq!(at(Some(9)).peak_since(&at(Some(8)), 5), 9);
        assert_eq!(at(None).peak_since(&at(Some(8)), 5), 5);
    }
}
