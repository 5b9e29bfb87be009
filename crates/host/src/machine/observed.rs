//! What a target's own process, or its control group, uses.

use super::sched::stat_field;
use super::tree::{Tree, after, kilobytes};
use std::path::{Path, PathBuf};

/// One tick of /proc: USER_HZ is 100 on every architecture that Linux has today.
const TICK_NS: u64 = 10_000_000;

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
    /// Memory at this moment.
    pub(crate) resident_bytes: u64,
    /// The most memory since it began, of a process without children or of a group.
    peak_bytes: Option<u64>,
    pub(crate) read_bytes: Option<u64>,
    pub(crate) written_bytes: Option<u64>,
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
    /// `None` where there is no such process or group.
    pub(super) fn used(&self, tree: &Tree) -> Option<Used> {
        match self {
            Self::Process(pid) => process_and_children(tree, *pid),
            Self::Group(path) => group(tree, path),
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

fn process_and_children(tree: &Tree, root: u32) -> Option<Used> {
    let mut sum = process(tree, root)?;
    let mut waiting = children(tree, root);
    let is_alone = waiting.is_empty();
    while let Some(pid) = waiting.pop() {
        // A child that is gone meanwhile is in the account of whoever waited for it.
        let Some(used) = process(tree, pid) else {
            continue;
        };
        sum = Used {
            user_ns: sum.user_ns + used.user_ns,
            system_ns: sum.system_ns + used.system_ns,
            resident_bytes: sum.resident_bytes + used.resident_bytes,
            peak_bytes: None,
            read_bytes: sum.read_bytes.zip(used.read_bytes).map(|(a, b)| a + b),
            written_bytes: sum
                .written_bytes
                .zip(used.written_bytes)
                .map(|(a, b)| a + b),
        };
        waiting.extend(children(tree, pid));
    }
    sum.peak_bytes = sum.peak_bytes.filter(|_| is_alone);
    Some(sum)
}

/// CPU time with that of the children that were waited for, fields 14 to 17 of proc_pid_stat(5).
fn process(tree: &Tree, pid: u32) -> Option<Used> {
    let stat = tree.text(format!("/proc/{pid}/stat"))?;
    let ticks = |number| stat_field(&stat, number)?.parse::<u64>().ok();
    let status = tree.text(format!("/proc/{pid}/status")).unwrap_or_default();
    let memory = |key| kilobytes(after(&status, key, ':')?);
    let io = tree.text(format!("/proc/{pid}/io"));
    let bytes = |key| after(io.as_deref()?, key, ':')?.parse::<u64>().ok();
    Some(Used {
        user_ns: (ticks(14)? + ticks(16)?) * TICK_NS,
        system_ns: (ticks(15)? + ticks(17)?) * TICK_NS,
        resident_bytes: memory("VmRSS").unwrap_or(0),
        peak_bytes: memory("VmHWM"),
        read_bytes: bytes("read_bytes"),
        written_bytes: bytes("write_bytes"),
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

/// The group's own counters: cpu.stat, memory.current, memory.peak, io.stat.
fn group(tree: &Tree, path: &Path) -> Option<Used> {
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
    Some(Used {
        user_ns: time("user_usec")?,
        system_ns: time("system_usec")?,
        resident_bytes: tree.number(path.join("memory.current")).unwrap_or(0),
        peak_bytes: tree.number(path.join("memory.peak")),
        read_bytes: moved("rbytes"),
        written_bytes: moved("wbytes"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tree::fixture::Fixture;

    fn stat(pid: u32, times: [u64; 4]) -> String {
        let [user, system, children_user, children_system] = times;
        format!(
            "{pid} (a) b) S 1 7 7 0 -1 4 11 0 22 0 {user} {system} {children_user} {children_system} 20 0 1 0\n"
        )
    }

    fn server() -> Fixture {
        let fixture = Fixture::new();
        fixture.file("proc/7/stat", stat(7, [5, 3, 2, 1]));
        fixture.file("proc/7/status", "VmHWM:\t 900 kB\nVmRSS:\t 600 kB\n");
        fixture.file("proc/7/io", "read_bytes: 10\nwrite_bytes: 20\n");
        fixture.file("proc/7/task/7/children", "");
        fixture
    }

    #[test]
    fn a_process_is_counted_with_the_children_that_live_and_those_that_ended() {
        let fixture = server();
        let alone = Observed::Process(7).used(&fixture.tree()).unwrap();
        assert_eq!(
            alone,
            Used {
                user_ns: 7 * TICK_NS,
                system_ns: 4 * TICK_NS,
                resident_bytes: 600 << 10,
                peak_bytes: Some(900 << 10),
                read_bytes: Some(10),
                written_bytes: Some(20),
            }
        );
        fixture.file("proc/7/task/7/children", "9 ");
        fixture.file("proc/9/stat", stat(9, [100, 50, 0, 0]));
        fixture.file("proc/9/status", "VmHWM:\t 90 kB\nVmRSS:\t 60 kB\n");
        fixture.file("proc/9/io", "read_bytes: 1\nwrite_bytes: 2\n");
        let both = Observed::Process(7).used(&fixture.tree()).unwrap();
        assert_eq!(
            (both.user_ns, both.system_ns, both.resident_bytes),
            (107 * TICK_NS, 54 * TICK_NS, 660 << 10)
        );
        assert_eq!((both.read_bytes, both.peak_bytes), (Some(11), None));
        assert_eq!(Observed::Process(8).used(&fixture.tree()), None);
    }

    #[test]
    fn a_control_group_is_counted_by_its_own_files() {
        let fixture = Fixture::new();
        let at = "sys/fs/cgroup/server";
        fixture.file(
            &format!("{at}/cpu.stat"),
            "usage_usec 9\nuser_usec 5\nsystem_usec 4\n",
        );
        fixture.file(&format!("{at}/memory.current"), "4096\n");
        fixture.file(&format!("{at}/memory.peak"), "8192\n");
        fixture.file(
            &format!("{at}/io.stat"),
            "8:0 rbytes=1 wbytes=2 rios=3\n8:16 rbytes=10 wbytes=20 rios=3\n",
        );
        let found = Observed::Group("/sys/fs/cgroup/server".into()).used(&fixture.tree());
        assert_eq!(
            found,
            Some(Used {
                user_ns: 5000,
                system_ns: 4000,
                resident_bytes: 4096,
                peak_bytes: Some(8192),
                read_bytes: Some(11),
                written_bytes: Some(22),
            })
        );
    }

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
