//! The limits of this process's control groups, in versions 1 and 2.

use std::collections::BTreeMap;
use std::path::Path;

use record::{CgroupVersion, ControlGroup, CpuList, IoLimit, Limit};

use super::cpu;
use super::mount::Mount;
use super::tree::Tree;

/// A limit of version 1 that means none: the largest number of pages, in bytes, of any page size.
pub(super) const VERSION_1_UNLIMITED: u64 = 1 << 62;

/// The directories of one controller, from this process's group up to the mount point.
struct Levels {
    unified: bool,
    directories: Vec<String>,
}

pub(super) struct Groups<'a> {
    tree: &'a Tree,
    mounts: &'a [Mount],
    membership: String,
}

impl<'a> Groups<'a> {
    pub(super) fn new(tree: &'a Tree, mounts: &'a [Mount]) -> Self {
        Self {
            tree,
            mounts,
            membership: tree.text("/proc/self/cgroup").unwrap_or_default(),
        }
    }

    /// `None` where no control group hierarchy is mounted.
    pub(super) fn limits(&self) -> Option<ControlGroup> {
        let version = self.version()?;
        let mut group = ControlGroup {
            version: Some(version),
            ..ControlGroup::default()
        };
        if let Some((quota, period)) = self.cpu() {
            group.cpu_quota_us = Some(quota);
            group.cpu_period_us = period;
        }
        group.memory_max_bytes = self.memory("memory.limit_in_bytes", "memory.max");
        group.memory_high_bytes = self.memory("memory.high", "memory.high");
        group.cpus = self.set(
            &["cpuset.effective_cpus", "cpuset.cpus"],
            "cpuset.cpus.effective",
        );
        group.memory_nodes = self.set(
            &["cpuset.effective_mems", "cpuset.mems"],
            "cpuset.mems.effective",
        );
        group.io = self.io();
        Some(group)
    }

    /// The files that count the throttling of this process's CPU time.
    pub(super) fn throttle_paths(&self) -> Vec<String> {
        let directories = self
            .levels("cpu")
            .map(|levels| levels.directories)
            .unwrap_or_default();
        directories
            .into_iter()
            .map(|directory| format!("{directory}/cpu.stat"))
            .collect()
    }

    /// Where the limits of memory are, the nearest first, and whether they are of version 2.
    pub(super) fn memory_directories(&self) -> (bool, Vec<String>) {
        self.levels("memory")
            .map(|levels| (levels.unified, levels.directories))
            .unwrap_or_default()
    }

    fn version(&self) -> Option<CgroupVersion> {
        let mounted = |kind: &str| self.mounts.iter().any(|mount| mount.kind == kind);
        match (mounted("cgroup"), mounted("cgroup2")) {
            (true, true) => Some(CgroupVersion::Hybrid),
            (true, false) => Some(CgroupVersion::V1),
            (false, true) => Some(CgroupVersion::V2),
            (false, false) => None,
        }
    }

    /// Where a controller is bound to a version 1 hierarchy it is there; otherwise version 2 has
    /// it.
    fn levels(&self, controller: &str) -> Option<Levels> {
        let lines = || {
            self.membership
                .lines()
                .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        };
        let has = |list: &str| list.split(',').any(|name| name == controller);
        let bound = lines().find(|(controllers, _)| has(controllers));
        let (unified, path, mount) = match bound {
            Some((_, path)) => {
                let mounted = |mount: &&Mount| mount.kind == "cgroup" && has(&mount.super_options);
                (false, path, self.mounts.iter().find(mounted)?)
            }
            None => {
                let (_, path) = lines().find(|(controllers, _)| controllers.is_empty())?;
                (
                    true,
                    path,
                    self.mounts.iter().find(|mount| mount.kind == "cgroup2")?,
                )
            }
        };
        Some(Levels {
            unified,
            directories: directories(mount, path)?,
        })
    }

    /// The quota and period of the level that grants the least.
    fn cpu(&self) -> Option<(Limit, Option<u64>)> {
        let levels = self.levels("cpu")?;
        let read = |directory: &String| {
            if levels.unified {
                let text = self.tree.text(format!("{directory}/cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                return Some((maximum(quota)?, period.parse().ok()));
            }
            let quota = self
                .tree
                .number::<i64>(format!("{directory}/cpu.cfs_quota_us"))?;
            let period = self.tree.number(format!("{directory}/cpu.cfs_period_us"));
            Some((
                u64::try_from(quota).map_or(Limit::Unlimited, Limit::AtMost),
                period,
            ))
        };
        levels
            .directories
            .iter()
            .filter_map(read)
            .min_by(|a, b| granted(*a).total_cmp(&granted(*b)))
    }

    /// The smallest limit of any level.
    fn memory(&self, version_1: &str, version_2: &str) -> Option<Limit> {
        let levels = self.levels("memory")?;
        let read = |directory: &String| {
            if levels.unified {
                return maximum(&self.tree.text(format!("{directory}/{version_2}"))?);
            }
            let bytes = self.tree.number(format!("{directory}/{version_1}"))?;
            Some(if bytes < VERSION_1_UNLIMITED {
                Limit::AtMost(bytes)
            } else {
                Limit::Unlimited
            })
        };
        levels.directories.iter().filter_map(read).min()
    }

    /// The set in force, which the nearest level with such a file states.
    fn set(&self, version_1: &[&str], version_2: &str) -> Option<CpuList> {
        let levels = self.levels("cpuset")?;
        let names = if levels.unified {
            &[version_2]
        } else {
            version_1
        };
        let files = levels
            .directories
            .iter()
            .flat_map(|directory| names.iter().map(move |name| format!("{directory}/{name}")));
        files
            .filter_map(|file| cpu::list(self.tree, file))
            .find(|list| !list.ids().is_empty())
    }

    fn io(&self) -> Option<Vec<IoLimit>> {
        let bound = self.levels("blkio").filter(|levels| !levels.unified);
        let levels = bound.or_else(|| self.levels("io").filter(|levels| levels.unified))?;
        let files = if levels.unified {
            &VERSION_2_IO[..]
        } else {
            &VERSION_1_IO
        };
        let mut limits = BTreeMap::new();
        let mut any = false;
        for directory in &levels.directories {
            for (file, key) in files {
                let text = self.tree.text(format!("{directory}/{file}"));
                any |= text.is_some();
                text.unwrap_or_default()
                    .lines()
                    .for_each(|line| tighten(&mut limits, line, *key));
            }
        }
        any.then(|| limits.into_values().collect())
    }
}

/// The files of I/O limits, and what a number in them limits where the line does not say.
const VERSION_2_IO: [(&str, Option<&str>); 1] = [("io.max", None)];
const VERSION_1_IO: [(&str, Option<&str>); 4] = [
    ("blkio.throttle.read_bps_device", Some("rbps")),
    ("blkio.throttle.write_bps_device", Some("wbps")),
    ("blkio.throttle.read_iops_device", Some("riops")),
    ("blkio.throttle.write_iops_device", Some("wiops")),
];

/// Takes over a line such as `8:16 rbps=1048576 wiops=max`, or one of version 1 (`8:16 1048576`) as
/// `key`.
fn tighten(limits: &mut BTreeMap<(u32, u32), IoLimit>, line: &str, key: Option<&str>) {
    let mut words = line.split_ascii_whitespace();
    let numbers = words.next().and_then(|device| {
        let (major, minor) = device.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    let Some((major, minor)) = numbers else {
        return;
    };
    let limit = limits.entry((major, minor)).or_insert(IoLimit {
        major,
        minor,
        ..IoLimit::default()
    });
    for word in words {
        let (name, value) = word
            .split_once('=')
            .or(key.map(|key| (key, word)))
            .unwrap_or_default();
        let field = match name {
            "rbps" => &mut limit.read_bytes_per_second,
            "wbps" => &mut limit.write_bytes_per_second,
            "riops" => &mut limit.reads_per_second,
            "wiops" => &mut limit.writes_per_second,
            _ => continue,
        };
        *field = maximum(value).map_or(*field, |value| value.min(*field));
    }
}

/// A number or `max`.
fn maximum(text: &str) -> Option<Limit> {
    match text {
        "max" => Some(Limit::Unlimited),
        number => number.parse().ok().map(Limit::AtMost),
    }
}

/// CPUs granted, only to order levels by it.
#[allow(
    clippy::cast_precision_loss,
    reason = "the order of quotas does not hang on the 54th bit"
)]
fn granted((quota, period): (Limit, Option<u64>)) -> f64 {
    match (quota, period) {
        (Limit::AtMost(quota), Some(period)) if period > 0 => quota as f64 / period as f64,
        (Limit::AtMost(_) | Limit::Unlimited, _) => f64::INFINITY,
    }
}

/// The directories of `path` under a mount, the deepest first; `None` where the mount does not show
/// the path, as across control group namespaces.
fn directories(mount: &Mount, path: &str) -> Option<Vec<String>> {
    let below = Path::new(path).strip_prefix(&mount.root).ok()?;
    let names: Option<Vec<&str>> = below
        .iter()
        .map(|name| name.to_str().filter(|name| *name != ".."))
        .collect();
    let mut directory = mount.point.trim_end_matches('/').to_owned();
    let mut directories = vec![directory.clone()];
    for name in names? {
        directory = format!("{directory}/{name}");
        directories.push(directory.clone());
    }
    directories.reverse();
    Some(directories)
}

#[cfg(test)]
mod tests {
    use super::super::mount::mounts;
    use super::super::tree::fixture::Fixture;
    use super::*;

    fn limits(fixture: &Fixture) -> Option<ControlGroup> {
        let tree = fixture.tree();
        Groups::new(&tree, &mounts(&tree)).limits()
    }

    fn version_2() -> Fixture {
        let fixture = Fixture::new();
        fixture
            .file("proc/self/cgroup", "0::/pod/app\n")
            .file(
                "proc/self/mountinfo",
                "1 1 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
            )
            .files(
                "sys/fs/cgroup/pod",
                &[
                    ("cpu.max", "150000 100000\n"),
                    ("memory.max", "4096\n"),
                    ("cpuset.cpus.effective", "0-3\n"),
                    ("io.max", "8:16 rbps=500 wbps=max riops=max wiops=10\n"),
                    (
                        "cpu.stat",
                        "nr_periods 5\nnr_throttled 1\nthrottled_usec 3\n",
                    ),
                ],
            )
            .files(
                "sys/fs/cgroup/pod/app",
                &[
                    ("cpu.max", "max 100000\n"),
                    ("memory.max", "8192\n"),
                    ("memory.high", "max\n"),
                    ("io.max", "8:16 rbps=max wbps=7 riops=max wiops=20\n"),
                ],
            );
        fixture
    }

    #[test]
    fn version_2_yields_the_tightest_limit_of_all_levels() {
        let group = limits(&version_2()).unwrap();
        assert_eq!(group.version, Some(CgroupVersion::V2));
        assert_eq!(
            (group.cpu_quota_us, group.cpu_period_us),
            (Some(Limit::AtMost(150_000)), Some(100_000))
        );
        assert_eq!(group.memory_max_bytes, Some(Limit::AtMost(4096)));
        assert_eq!(group.memory_high_bytes, Some(Limit::Unlimited));
        assert_eq!(group.cpus.unwrap().ids(), [0, 1, 2, 3]);
        assert_eq!(group.memory_nodes, None);
        let io = IoLimit {
            major: 8,
            minor: 16,
            read_bytes_per_second: Limit::AtMost(500),
            write_bytes_per_second: Limit::AtMost(7),
            reads_per_second: Limit::Unlimited,
            writes_per_second: Limit::AtMost(10),
        };
        assert_eq!(group.io, Some(vec![io]));
    }

    #[test]
    fn version_1_yields_the_tightest_limit_of_all_levels() {
        let fixture = Fixture::new();
        fixture
            .file(
                "proc/self/cgroup",
                "4:memory:/d/x\n3:cpuset:/\n2:cpu,cpuacct:/d/x\n1:name=systemd:/\n5:blkio:/d/x\n",
            )
            .file(
                "proc/self/mountinfo",
                "\
                1 1 0:1 /d /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                1 1 0:2 /d /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                1 1 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                1 1 0:4 /d /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
            )
            .files(
                "sys/fs/cgroup/cpu/x",
                &[
                    ("cpu.cfs_quota_us", "50000\n"),
                    ("cpu.cfs_period_us", "200000\n"),
                ],
            )
            .files(
                "sys/fs/cgroup/cpu",
                &[
                    ("cpu.cfs_quota_us", "-1\n"),
                    ("cpu.cfs_period_us", "100000\n"),
                ],
            )
            .file(
                "sys/fs/cgroup/memory/x/memory.limit_in_bytes",
                "9223372036854771712\n",
            )
            .file("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n")
            .file(
                "sys/fs/cgroup/blkio/x/blkio.throttle.write_bps_device",
                "8:0 1048576\n",
            );
        let group = limits(&fixture).unwrap();
        assert_eq!(group.version, Some(CgroupVersion::V1));
        assert_eq!(
            (group.cpu_quota_us, group.cpu_period_us),
            (Some(Limit::AtMost(50_000)), Some(200_000))
        );
        assert_eq!(group.memory_max_bytes, Some(Limit::Unlimited));
        assert_eq!(group.memory_high_bytes, None);
        assert_eq!(group.cpus.unwrap().ids(), [0, 1]);
        let io = group.io.unwrap();
        assert_eq!(
            (
                io.len(),
                io[0].write_bytes_per_second,
                io[0].reads_per_second
            ),
            (1, Limit::AtMost(1 << 20), Limit::Unlimited)
        );
    }

    #[test]
    fn a_group_outside_the_mount_is_unknown() {
        let fixture = version_2();
        for outside in ["0::/../other\n", "0::\n", "x", ""] {
            fixture.file("proc/self/cgroup", outside);
            let group = limits(&fixture).unwrap();
            assert_eq!(
                (group.cpu_quota_us, group.memory_max_bytes, group.io),
                (None, None, None),
                "{outside}"
            );
        }
        assert_eq!(limits(&Fixture::new()), None);
    }

    #[test]
    fn the_levels_that_can_throttle_are_all_named() {
        let fixture = version_2();
        let tree = fixture.tree();
        let paths = Groups::new(&tree, &mounts(&tree)).throttle_paths();
        let under = |path: &str| format!("/sys/fs/cgroup{path}/cpu.stat");
        assert_eq!(paths, [under("/pod/app"), under("/pod"), under("")]);
    }
}
