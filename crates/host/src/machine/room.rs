//! How much memory this process may still take before the kernel ends something for it.

use super::cgroup::{Groups, VERSION_1_UNLIMITED};
use super::memory;
use super::tree::{self, Tree};

/// Kept back of every limit, for whatever else is needed meanwhile: this share, within these
/// bounds.
const KEPT_SHARE: u64 = 32;
const LEAST_KEPT: u64 = 8 << 20;
const MOST_KEPT: u64 = 256 << 20;

/// The memory that the machine, and each control group of this process, has left.
#[derive(Clone, Debug)]
pub struct MemoryRoom {
    tree: Tree,
    directories: Vec<String>,
    unified: bool,
}

impl MemoryRoom {
    pub(super) fn new(tree: &Tree, groups: &Groups<'_>) -> Self {
        let (unified, directories) = groups.memory_directories();
        Self {
            tree: tree.clone(),
            directories,
            unified,
        }
    }

    /// Bytes that may be taken; `None` where nothing says.
    ///
    /// Pages of files that could be dropped count as free, and so does swap space.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let meminfo = memory::meminfo(&self.tree);
        let size = |key: &str| memory::size(&meminfo, key);
        let swap = size("SwapFree").unwrap_or(0);
        let machine = size("MemAvailable").map(|available| {
            let has = available.saturating_add(swap);
            has.saturating_sub(kept(size("MemTotal").unwrap_or(0)))
        });
        let groups = self.directories.iter();
        let groups = groups.filter_map(|directory| self.of_group(directory, swap));
        groups.chain(machine).min()
    }

    /// What one level leaves; `None` where it limits nothing.
    fn of_group(&self, directory: &str, swap: u64) -> Option<u64> {
        let number = |name: &str| {
            let text = self.tree.value(format!("{directory}/{name}"))?;
            let number = text.parse::<u64>().ok();
            number.filter(|number| *number < VERSION_1_UNLIMITED)
        };
        let stat = self.tree.text(format!("{directory}/memory.stat"));
        let stat = stat.unwrap_or_default();
        let pages = |name: &str| tree::after(&stat, name, ' ')?.parse::<u64>().ok();
        let left = |limit: &str, used: &str| {
            let used = number(used)?;
            Some(number(limit)?.saturating_sub(used))
        };
        let sum = |names: [&str; 2]| names.into_iter().filter_map(pages).sum::<u64>();
        let (limit, has) = if self.unified {
            let limit = number("memory.max")?;
            let swap =
                left("memory.swap.max", "memory.swap.current").map_or(swap, |own| own.min(swap));
            let has = left("memory.max", "memory.current")?.saturating_add(swap);
            (
                limit,
                has.saturating_add(sum(["active_file", "inactive_file"])),
            )
        } else {
            let limit = number("memory.limit_in_bytes")?;
            let has = left("memory.limit_in_bytes", "memory.usage_in_bytes")?.saturating_add(swap);
            let both = left("memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes");
            let files = sum(["total_active_file", "total_inactive_file"]);
            (
                limit,
                both.map_or(has, |both| both.min(has)).saturating_add(files),
            )
        };
        Some(has.saturating_sub(kept(limit)))
    }
}

fn kept(limit: u64) -> u64 {
    (limit / KEPT_SHARE).clamp(LEAST_KEPT, MOST_KEPT)
}

#[cfg(test)]
mod tests {
    use super::super::mount::mounts;
    use super::super::tree::fixture::Fixture;
    use super::*;

    fn room(fixture: &Fixture) -> Option<u64> {
        let tree = fixture.tree();
        let mounts = mounts(&tree);
        MemoryRoom::new(&tree, &Groups::new(&tree, &mounts)).bytes()
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_level_with_the_least_left_decides_and_what_can_be_dropped_counts_as_left() {
        let fixture = Fixture::new();
        assert_eq!(room(&fixture), None);
        fixture.file(
            "proc/meminfo",
            "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\nSwapFree: 1024 kB\n",
        );
        assert_eq!(room(&fixture), Some((512 + 1 - 32) * MIB));
        let bytes = |mib: u64| format!("{}\n", mib * MIB);
        fixture
            .file("proc/self/cgroup", "3:memory:/x\n")
            .file(
                "proc/self/mountinfo",
                "1 1 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            )
            .files(
                "sys/fs/cgroup/memory",
                &[
                    ("memory.limit_in_bytes", "9223372036854771712\n"),
                    ("memory.usage_in_bytes", &bytes(900)),
                ],
            )
            .files(
                "sys/fs/cgroup/memory/x",
                &[
                    ("memory.limit_in_bytes", &bytes(64)),
                    ("memory.usage_in_bytes", &bytes(40)),
                    (
                        "memory.stat",
                        "inactive_file 1\ntotal_inactive_file 2097152\ntotal_active_file 1048576\n",
                    ),
                ],
            );
        assert_eq!(room(&fixture), Some((24 + 1 + 3 - 8) * MIB));
        fixture.files(
            "sys/fs/cgroup/memory/x",
            &[
                ("memory.memsw.limit_in_bytes", &bytes(64)),
                ("memory.memsw.usage_in_bytes", &bytes(44)),
            ],
        );
        assert_eq!(room(&fixture), Some((20 + 3 - 8) * MIB), "swap is limited");
    }

    #[test]
    fn groups_of_version_2_leave_what_their_limit_does() {
        let fixture = Fixture::new();
        let bytes = |mib: u64| format!("{}\n", mib * MIB);
        fixture
            .file("proc/self/cgroup", "0::/a/b\n")
            .file(
                "proc/self/mountinfo",
                "1 1 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            )
            .files(
                "sys/fs/cgroup/a",
                &[
                    ("memory.max", &bytes(100)),
                    ("memory.current", &bytes(99)),
                    ("memory.stat", "active_file 10485760\n"),
                ],
            )
            .files(
                "sys/fs/cgroup/a/b",
                &[("memory.max", "max\n"), ("memory.current", &bytes(50))],
            );
        assert_eq!(room(&fixture), Some((1 + 10 - 8) * MIB));
    }
}
