//! Limits of memory, CPU and processes by control groups, of version 2 or 1: whichever this machine
//! really has, which is found out by trying.

mod files;

use files::{entry, first_version, number, second_version, set};
use lab::Limits;
use std::fs;
use std::path::{Path, PathBuf};
use sys::{Clock as _, MachineClock};

/// What control groups of this machine are asked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupVersion {
    /// A hierarchy a controller: where the groups of this process are.
    One(Vec<(&'static str, PathBuf)>),
    /// One hierarchy.
    Two(PathBuf),
}

/// A group of one slot.
#[derive(Debug)]
pub(crate) struct LimitGroup {
    version: GroupVersion,
    /// One directory a controller; of version 2 one.
    dirs: Vec<PathBuf>,
}

/// What a group saw of its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitsSeen {
    pub(crate) peak_bytes: Option<u64>,
    /// How often memory was taken back because the limit was reached.
    pub(crate) at_limit: Option<u64>,
    pub(crate) oom_kills: u64,
    pub(crate) throttled_ns: Option<u64>,
}

/// Controllers that a limit needs.
pub(crate) fn controllers(limits: &Limits) -> Vec<&'static str> {
    let needed = [
        ("memory", limits.memory_bytes.is_some()),
        ("cpu", limits.cpus.is_some()),
        ("cpuset", limits.cpu_list.is_some()),
        ("pids", limits.processes.is_some()),
    ];
    needed
        .into_iter()
        .filter(|(_, is_needed)| *is_needed)
        .map(|(name, _)| name)
        .collect()
}

pub(crate) fn is_none(limits: &Limits) -> bool {
    controllers(limits).is_empty()
}

/// Time to wait for a group to become empty, and between two looks.
const EMPTY_NS: u64 = 5_000_000_000;
const LOOK_NS: u64 = 2_000_000;

/// What this machine can set, found by making a group, setting the limits, reading them back,
/// moving a process in, and removing it.
///
/// # Errors
/// It cannot, and what would help.
pub(crate) fn tried(
    limits: &Limits,
    name: &str,
    clock: &MachineClock,
) -> Result<GroupVersion, String> {
    let needed = controllers(limits);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut refusals = Vec::new();
    for version in versions(&mounts, &own, &needed) {
        match attempt(&version, limits, name, clock) {
            Ok(()) => return Ok(version),
            Err(why) => refusals.push(format!("{}: {why}", version.text())),
        }
    }
    if refusals.is_empty() {
        refusals.push(format!("no control group has {}", needed.join(", ")));
    }
    Err(format!(
        "limits cannot be set on this machine ({}); run as root, or under `systemd-run --user --scope -p Delegate=yes`",
        refusals.join("; ")
    ))
}

/// An empty group of this name is what a killed runner left; one that holds processes stays.
fn make_anew(dir: &Path) -> std::io::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            fs::remove_dir(dir)?;
            fs::create_dir(dir)
        }
        made => made,
    }
}

/// The hierarchies that have all these controllers, the newer first.
fn versions(mounts: &str, own: &str, needed: &[&'static str]) -> Vec<GroupVersion> {
    let mut out = Vec::new();
    let fields = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let fields: Vec<Vec<&str>> = fields.filter(|fields| fields.len() > 3).collect();
    if let Some(mount) = fields.iter().find(|fields| fields[2] == "cgroup2") {
        let path = own.lines().find_map(|line| line.strip_prefix("0::"));
        let at = inside(Path::new(mount[1]), path.unwrap_or("/"));
        let has = fs::read_to_string(at.join("cgroup.controllers")).unwrap_or_default();
        let has: Vec<&str> = has.split_ascii_whitespace().collect();
        if needed.iter().all(|name| has.contains(name)) {
            out.push(GroupVersion::Two(at));
        }
    }
    let of = |name: &&'static str| {
        let is_its = |fields: &&Vec<&str>| {
            fields[2] == "cgroup" && fields[3].split(',').any(|option| option == *name)
        };
        let mount = fields.iter().find(is_its)?;
        let path = own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers
                .split(',')
                .any(|controller| controller == *name)
                .then_some(path)
        });
        Some((*name, inside(Path::new(mount[1]), path.unwrap_or("/"))))
    };
    if let Some(all) = needed.iter().map(of).collect::<Option<Vec<_>>>() {
        out.push(GroupVersion::One(all));
    }
    out
}

/// The group of this process; in a container its path may begin above what is mounted.
fn inside(mount: &Path, path: &str) -> PathBuf {
    let at = mount.join(path.trim_start_matches('/'));
    if at.is_dir() { at } else { mount.to_owned() }
}

fn attempt(
    version: &GroupVersion,
    limits: &Limits,
    name: &str,
    clock: &MachineClock,
) -> Result<(), String> {
    let group = LimitGroup::make(version, limits, name)?;
    let moved = enter_and_leave(&group);
    let removed = group.remove(clock);
    moved.and(removed)
}

/// Whether a process may be moved into a group: a child that ends at once.
fn enter_and_leave(group: &LimitGroup) -> Result<(), String> {
    use std::os::unix::process::CommandExt as _;
    let mut child = std::process::Command::new("/bin/sh");
    child
        .args(["-c", "for g; do echo $$ > \"$g\" || exit 1; done", "sh"])
        .args(group.entries());
    child
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let status = child
        .process_group(0)
        .status()
        .map_err(|e| format!("no shell: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err("no process may be moved into a group".into())
}

impl GroupVersion {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::One(_) => "control groups of version 1".into(),
            Self::Two(_) => "control groups of version 2".into(),
        }
    }
}

impl LimitGroup {
    /// A new group with limits that were read back.
    ///
    /// # Errors
    /// A limit cannot be set.
    pub(crate) fn make(
        version: &GroupVersion,
        limits: &Limits,
        name: &str,
    ) -> Result<Self, String> {
        let parents: Vec<(&str, PathBuf)> = match version {
            GroupVersion::One(all) => all.clone(),
            GroupVersion::Two(at) => vec![("", at.clone())],
        };
        if let GroupVersion::Two(at) = version {
            for controller in controllers(limits) {
                set(at, "cgroup.subtree_control", &format!("+{controller}"))?;
            }
        }
        let mut group = Self {
            version: version.clone(),
            dirs: Vec::new(),
        };
        for (controller, parent) in parents {
            let dir = parent.join(name);
            make_anew(&dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
            group.dirs.push(dir.clone());
            let set = match version {
                GroupVersion::One(_) => first_version(controller, &dir, &parent, limits),
                GroupVersion::Two(_) => second_version(&dir, limits),
            };
            if let Err(why) = set {
                let _made_and_empty = group.dirs.iter().map(fs::remove_dir).collect::<Vec<_>>();
                return Err(why);
            }
        }
        Ok(group)
    }

    /// The files into which a process writes itself.
    pub(crate) fn entries(&self) -> Vec<PathBuf> {
        self.dirs
            .iter()
            .map(|dir| dir.join("cgroup.procs"))
            .collect()
    }

    pub(crate) fn seen(&self) -> LimitsSeen {
        let mut out = LimitsSeen::default();
        for dir in &self.dirs {
            let either = |one: Option<u64>, two: Option<u64>| one.or(two);
            out.peak_bytes = out.peak_bytes.or(either(
                number(dir, "memory.max_usage_in_bytes"),
                number(dir, "memory.peak"),
            ));
            out.at_limit = out.at_limit.or(either(
                number(dir, "memory.failcnt"),
                entry(dir, "memory.events", "max"),
            ));
            let killed = either(
                entry(dir, "memory.oom_control", "oom_kill"),
                entry(dir, "memory.events", "oom_kill"),
            );
            out.oom_kills += killed.unwrap_or(0);
            let throttled = either(
                entry(dir, "cpu.stat", "throttled_time"),
                entry(dir, "cpu.stat", "throttled_usec").map(|us| us * 1000),
            );
            out.throttled_ns = out.throttled_ns.or(throttled);
        }
        out
    }

    pub(crate) fn version(&self) -> &GroupVersion {
        &self.version
    }

    /// Ends what is in it and removes it.
    ///
    /// # Errors
    /// It does not become empty.
    pub(crate) fn remove(self, clock: &MachineClock) -> Result<(), String> {
        remove(&self.dirs, clock)
    }
}

/// Ends what is in groups, and removes them.
///
/// # Errors
/// One does not become empty.
pub(crate) fn remove(dirs: &[PathBuf], clock: &MachineClock) -> Result<(), String> {
    let until = clock.now().saturating_add(EMPTY_NS);
    for dir in dirs {
        loop {
            let inside = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
            for pid in inside.lines().filter_map(|line| line.trim().parse().ok()) {
                let _gone = sys::signal_process(pid, 9);
            }
            // Pages that it left in the cache are charged to it, and keep it.
            let _only_of_version_1 = fs::write(dir.join("memory.force_empty"), "0");
            match fs::remove_dir(dir) {
                Ok(()) => break,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                Err(error) if clock.now() >= until => {
                    return Err(format!(
                        "the control group {} is left behind: {error}",
                        dir.display()
                    ));
                }
                Err(_) => clock.sleep_until(clock.now() + LOOK_NS),
            }
        }
    }
    Ok(())
}

/// Groups of this name's beginning that an earlier runner left.
pub(crate) fn left_behind(prefix: &str) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let all = ["memory", "cpu", "cpuset", "pids"];
    let mut parents = Vec::new();
    for needed in all {
        for version in versions(&mounts, &own, &[needed]) {
            match version {
                GroupVersion::One(of) => parents.extend(of.into_iter().map(|(_, at)| at)),
                GroupVersion::Two(at) => parents.push(at),
            }
        }
    }
    parents.sort();
    parents.dedup();
    let entries = parents
        .iter()
        .filter_map(|at| fs::read_dir(at).ok())
        .flatten()
        .flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    named
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::files::quota;
    use super::*;

    const HYBRID: &str = "cgroup /m/memory cgroup rw,memory 0 0\ncgroup /m/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup2 /m/unified cgroup2 rw 0 0\n";
    const OWN: &str = "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/\n";

    #[test]
    fn the_hierarchies_of_a_limit_are_found_in_the_mounts() {
        let found = versions(HYBRID, OWN, &["memory", "cpu"]);
        let expected = GroupVersion::One(vec![
            ("memory", "/m/memory".into()),
            ("cpu", "/m/cpu".into()),
        ]);
        assert_eq!(
            found,
            [expected],
            "version 2 is mounted and has none of them"
        );
        assert_eq!(versions(HYBRID, OWN, &["pids"]), []);
    }

    fn all_limits() -> Limits {
        Limits {
            memory_bytes: Some(64 << 20),
            swap_bytes: Some(1 << 20),
            cpus: Some(1.5),
            cpu_list: Some("0-1".into()),
            processes: Some(50),
        }
    }

    fn read(dir: &Path, file: &str) -> String {
        fs::read_to_string(dir.join(file)).unwrap_or_default()
    }

    #[test]
    fn groups_of_version_2_are_made_limited_and_read_where_the_mounts_say() {
        let tree = tempfile::tempdir().unwrap();
        let own = tree.path().join("user/session");
        fs::create_dir_all(&own).unwrap();
        let mounts = format!("cgroup2 {} cgroup2 rw 0 0\n", tree.path().display());
        let needed = controllers(&all_limits());
        let found = |has: &str| {
            fs::write(own.join("cgroup.controllers"), has).unwrap();
            versions(&mounts, "0::/user/session\n", &needed)
        };
        assert_eq!(found("cpu memory pids\n"), [], "there is no cpuset");
        let all = found("cpuset cpu memory pids\n");
        assert_eq!(all, [GroupVersion::Two(own.clone())]);
        let version = &all[0];
        // A runner that was killed while it tried the limits has left this.
        fs::create_dir(own.join("fathom-1")).unwrap();
        let group = LimitGroup::make(version, &all_limits(), "fathom-1").unwrap();
        assert_eq!(read(&own, "cgroup.subtree_control"), "+pids");
        let dir = own.join("fathom-1");
        assert_eq!(group.entries(), [dir.join("cgroup.procs")]);
        for (file, value) in [
            ("memory.max", "67108864"),
            ("cpu.max", "150000 100000"),
            ("cpuset.cpus", "0-1"),
            ("pids.max", "50"),
        ] {
            assert_eq!(read(&dir, file), value, "{file}");
        }
        assert_eq!(group.seen(), LimitsSeen::default());
        for (file, text) in [
            ("memory.peak", "1000\n"),
            ("memory.events", "low 0\nmax 7\noom 1\noom_kill 2\n"),
            ("cpu.stat", "usage_usec 1\nthrottled_usec 3\n"),
        ] {
            fs::write(dir.join(file), text).unwrap();
        }
        let seen = LimitsSeen {
            peak_bytes: Some(1000),
            at_limit: Some(7),
            oom_kills: 2,
            throttled_ns: Some(3000),
        };
        assert_eq!(group.seen(), seen);
    }

    #[test]
    fn a_list_of_processors_of_version_1_takes_the_memory_of_its_parent() {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("cpuset.mems"), "0\n").unwrap();
        let version = GroupVersion::One(vec![("cpuset", tree.path().to_owned())]);
        let limits = Limits {
            cpu_list: Some("1,3".into()),
            ..Limits::default()
        };
        LimitGroup::make(&version, &limits, "g").unwrap();
        let dir = tree.path().join("g");
        let both = ["cpuset.mems", "cpuset.cpus"].map(|file| read(&dir, file));
        assert_eq!(both, ["0", "1,3"]);
        let twice = LimitGroup::make(&version, &limits, "g").unwrap_err();
        assert!(twice.contains("cannot make"), "{twice}");
    }

    #[test]
    fn only_what_is_limited_needs_a_controller() {
        assert!(is_none(&Limits::default()));
        let limits = Limits {
            memory_bytes: Some(1),
            cpus: Some(0.5),
            ..Limits::default()
        };
        assert_eq!(controllers(&limits), ["memory", "cpu"]);
        assert_eq!(quota(0.5), "50000");
    }
}
