//! Facts about the machine, from /proc and /sys as text.
//!
//! Nothing is guessed: what cannot be read is `None`. A root other than `/` stands for another
//! machine, which is how every reader is tested. The readers for observers come in two forms:
//! `disk_counters` and its like read once; `watch_disk` and its like keep the files open for
//! reading again and again.
//!
//! Absent on purpose: sizes that need statvfs, which the caller adds, and anything that needs a
//! device to be opened.

mod cgroup;
mod counters;
mod cpu;
mod device;
mod fingerprint;
mod kernel_files;
mod link;
mod memory;
mod mount;
mod observed;
mod pressure;
mod room;
mod sched;
mod storage;
mod system;
mod tree;
mod watched;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use record::{CpuFacts, CpuList, Environment, FathomVersion, NumaNode, StorageLayer, SystemFacts};

pub use counters::{DiskCounters, ProcessIo};
pub use kernel_files::{KernelFiles, Reading};
pub use link::LinkCounters;
pub use observed::Observed;
pub(crate) use observed::Used;
pub use pressure::{CgroupThrottle, MemoryPressure, Pressure, Stall, Stalls};
pub use room::MemoryRoom;
pub use sched::{CpuTicks, CpuTimes};
pub(crate) use watched::Watched;

use cgroup::Groups;
use fingerprint::Fingerprint;
use mount::Mount;
use storage::{Place, Stack};
use tree::Tree;

/// A machine, as the kernel describes it under a root directory.
///
/// What stays as it is as long as a machine runs is read once, and shared with clones.
#[derive(Clone, Debug)]
pub struct Machine {
    tree: Tree,
    still: Arc<Still>,
}

/// What stays as it is as long as a machine runs.
#[derive(Debug, Default)]
struct Still {
    first_processor: OnceLock<String>,
    system: OnceLock<SystemFacts>,
    /// As long as the same processors are online.
    cpu: Mutex<Option<CpuFacts>>,
}

impl Machine {
    /// The machine under `root`; `/` is the one that this process runs on.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            tree: Tree::at(root),
            still: Arc::default(),
        }
    }

    /// Everything that a number measured on `target` may depend on.
    #[must_use]
    pub fn environment(&self, target: Option<&Path>, fathom: FathomVersion) -> Environment {
        let tree = &self.tree;
        let mounts = mount::mounts(tree);
        let key = Fingerprint::of_machine(tree);
        let still = &self.still;
        let first_processor = still
            .first_processor
            .get_or_init(|| cpu::first_processor(tree));
        let system = still
            .system
            .get_or_init(|| system::still(tree, first_processor, key));
        let meminfo = memory::meminfo(tree);
        Environment {
            fathom,
            system: system::facts(tree, &mounts, system.clone()),
            cpu: self.cpu(first_processor),
            memory: memory::facts(tree, &meminfo),
            nodes: self.nodes(),
            process: system::process(tree),
            cgroup: Groups::new(tree, &mounts).limits(),
            storage: target.map(|target| self.stack(&mounts, key, &Place::of(target))),
            moment: system::moment(tree, &meminfo),
        }
    }

    fn cpu(&self, first_processor: &str) -> CpuFacts {
        let known = self.still.cpu.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let facts = cpu::facts(&self.tree, first_processor, known.as_ref());
        known.clone_from(&Some(facts.clone()));
        facts
    }

    /// What a path lies on; of a path that is still to be made, what its nearest parent lies on.
    #[must_use]
    pub fn storage(&self, target: &Path) -> StorageLayer {
        let key = Fingerprint::of_machine(&self.tree);
        self.stack(&mount::mounts(&self.tree), key, &Place::of(target))
    }

    fn stack(&self, mounts: &[Mount], key: Option<Fingerprint>, place: &Place) -> StorageLayer {
        Stack {
            tree: &self.tree,
            mounts,
            key,
        }
        .at(place)
    }

    /// What the machine is called, or this process's part of it.
    #[must_use]
    pub fn hostname(&self) -> Option<String> {
        system::hostname(&self.tree)
    }

    /// Another after every start of the machine, and the same for all who run on it.
    #[must_use]
    pub fn boot_id(&self) -> Option<String> {
        system::boot_id(&self.tree)
    }

    /// The online NUMA nodes by id; empty where the kernel exposes none.
    #[must_use]
    pub fn nodes(&self) -> Vec<NumaNode> {
        memory::nodes(&self.tree)
    }

    /// The CPUs that are online.
    #[must_use]
    pub fn online_cpus(&self) -> Option<CpuList> {
        cpu::online(&self.tree)
    }

    /// The CPUs that this process may run on.
    #[must_use]
    pub fn allowed_cpus(&self) -> Option<CpuList> {
        system::process(&self.tree).allowed_cpus
    }

    /// Memory that this process may lock; `None` where nothing limits it.
    #[must_use]
    pub fn lockable_bytes(&self) -> Option<u64> {
        if system::may_lock_memory(&self.tree) {
            return None;
        }
        match system::process(&self.tree).locked_memory_bytes {
            Some(record::Limit::AtMost(bytes)) => Some(bytes),
            Some(record::Limit::Unlimited) | None => None,
        }
    }

    /// The counters of a block device or partition.
    #[must_use]
    pub fn disk_counters(&self, major: u32, minor: u32) -> Option<DiskCounters> {
        self.watch_disk(major, minor)?.read()
    }

    /// The counters of a block device or partition, for repeated reading.
    #[must_use]
    pub fn watch_disk(&self, major: u32, minor: u32) -> Option<KernelFiles<DiskCounters>> {
        let own = format!("/sys/dev/block/{major}:{minor}");
        let mut files = vec![format!("{own}/stat")];
        // The kernel counts flushes for whole disks alone.
        if self.tree.exists(format!("{own}/partition")) {
            files.push(format!("{own}/../stat"));
        }
        KernelFiles::open(&self.tree, &files)
    }

    /// The network links of this machine, or of this process's part of it, but for the one to itself.
    #[must_use]
    pub fn links(&self) -> Vec<LinkCounters> {
        link::links(&self.tree)
    }

    /// What this process has transferred.
    #[must_use]
    pub fn process_io(&self) -> Option<ProcessIo> {
        self.watch_process_io()?.read()
    }

    /// What this process has transferred, for repeated reading.
    #[must_use]
    pub fn watch_process_io(&self) -> Option<KernelFiles<ProcessIo>> {
        KernelFiles::open(&self.tree, &["/proc/self/io".to_owned()])
    }

    /// Whether the use of a process or control group can be watched here.
    #[must_use]
    pub fn sees(&self, observed: &Observed) -> bool {
        observed.members(&self.tree).is_some()
    }

    /// Begins to watch a process or control group.
    pub(crate) fn watch(&self, observed: &Observed) -> Watched {
        Watched::begin(observed.clone(), &self.tree)
    }

    /// What it has used until now; `None` once it is gone.
    pub(crate) fn used(&self, watched: &mut Watched) -> Option<Used> {
        watched.used(&self.tree)
    }

    /// The CPU times of the machine.
    #[must_use]
    pub fn cpu_times(&self) -> Option<CpuTimes> {
        self.watch_cpu_times()?.read()
    }

    /// The CPU times of the machine, for repeated reading with [`KernelFiles::refresh`].
    #[must_use]
    pub fn watch_cpu_times(&self) -> Option<KernelFiles<CpuTimes>> {
        KernelFiles::open(&self.tree, &["/proc/stat".to_owned()])
    }

    /// How long a thread of this process has been runnable without a CPU, in nanoseconds.
    #[must_use]
    pub fn thread_wait_ns(&self, tid: u32) -> Option<u64> {
        let told = self.tree.text(format!("/proc/self/task/{tid}/schedstat"))?;
        told.split_ascii_whitespace().nth(1)?.parse().ok()
    }

    /// The stalls of the whole machine.
    #[must_use]
    pub fn pressure(&self) -> Option<Pressure> {
        self.watch_pressure()?.read()
    }

    /// The stalls of the whole machine, for repeated reading.
    #[must_use]
    pub fn watch_pressure(&self) -> Option<KernelFiles<Pressure>> {
        KernelFiles::open(&self.tree, &Pressure::PATHS.map(str::to_owned))
    }

    /// How often CPU limits stopped this process's control groups.
    #[must_use]
    pub fn throttle(&self) -> Option<CgroupThrottle> {
        self.watch_throttle()?.read()
    }

    /// How often CPU limits stop this process's control groups, for repeated reading.
    #[must_use]
    pub fn watch_throttle(&self) -> Option<KernelFiles<CgroupThrottle>> {
        let mounts = mount::mounts(&self.tree);
        KernelFiles::open(
            &self.tree,
            &Groups::new(&self.tree, &mounts).throttle_paths(),
        )
    }

    /// How much memory this process may still take, to be asked again and again.
    #[must_use]
    pub fn memory_room(&self) -> MemoryRoom {
        let mounts = mount::mounts(&self.tree);
        MemoryRoom::new(&self.tree, &Groups::new(&self.tree, &mounts))
    }

    /// What the page cache holds and what memory shortage has cost.
    #[must_use]
    pub fn memory_pressure(&self) -> Option<MemoryPressure> {
        self.watch_memory_pressure()?.read()
    }

    /// What the page cache holds and what memory shortage has cost, for repeated reading.
    #[must_use]
    pub fn watch_memory_pressure(&self) -> Option<KernelFiles<MemoryPressure>> {
        KernelFiles::open(&self.tree, &MemoryPressure::PATHS.map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::mount::tests::MOUNTS;
    use super::tree::fixture::Fixture;
    use super::*;

    /// One sound text for each kind of file that is read.
    const FILES: [(&str, &str); 29] = [
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
        ("etc/os-release", "PRETTY_NAME=\"An OS\"\n"),
        (
            "proc/cpuinfo",
            "processor : 0\nmodel name : A CPU\nflags : constant_tsc hypervisor\n",
        ),
        ("proc/loadavg", "0.1 0.2 0.3 1/2 3\n"),
        (
            "proc/meminfo",
            "MemTotal: 8 kB\nMemAvailable: 4 kB\nDirty: 1 kB\n",
        ),
        (
            "proc/pressure/io",
            "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n",
        ),
        ("proc/self/auxv", "\u{6}\0\0\0\0\0\0\0\0\u{10}\0\0\0\0\0\0"),
        ("proc/self/cgroup", "0::/a/b\n"),
        (
            "proc/self/io",
            "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n",
        ),
        (
            "proc/self/limits",
            "Max open files            1024   4096   files\n",
        ),
        ("proc/self/mountinfo", MOUNTS),
        (
            "proc/self/stat",
            "7 (x) R 1 7 7 0 -1 4 11 0 22 0 33 44 0 0 20 0 1 0\n",
        ),
        ("proc/self/status", "Seccomp:\t0\nCpus_allowed_list:\t0-1\n"),
        ("proc/self/task/7/schedstat", "1 2 3\n"),
        (
            "proc/stat",
            "cpu 1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
        ),
        ("proc/uptime", "5.5 1.1\n"),
        ("proc/vmstat", "pswpin 1\npswpout 2\npgmajfault 3\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        (
            "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
            "0\n",
        ),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
        ("sys/devices/system/node/online", "0\n"),
        ("sys/devices/system/node/node0/cpulist", "0-1\n"),
        ("sys/dev/block/259:2/dev", "259:2\n"),
        ("sys/dev/block/259:2/size", "100\n"),
        (
            "sys/dev/block/259:2/stat",
            "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
        ),
        ("sys/dev/block/259:2/queue/scheduler", "[none] kyber\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/a/io.max", "8:0 rbps=1 wbps=max\n"),
        (
            "sys/fs/cgroup/a/b/cpu.stat",
            "nr_periods 1\nnr_throttled 2\nthrottled_usec 3\n",
        ),
    ];

    const CGROUP_MOUNT: &str = "30 22 0:60 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    fn machine() -> Fixture {
        let fixture = Fixture::new();
        FILES.iter().for_each(|(path, text)| {
            fixture.file(path, text);
        });
        fixture.file("proc/self/mountinfo", format!("{MOUNTS}{CGROUP_MOUNT}"));
        fixture
    }

    /// Everything that can be read, however little comes of it.
    fn read_all(machine: &Machine) -> (Environment, usize) {
        let readings = [
            machine.disk_counters(259, 2).is_some(),
            machine.process_io().is_some(),
            machine.cpu_times().is_some(),
            machine.thread_wait_ns(7) == Some(2),
            machine.pressure().is_some(),
            machine.throttle().is_some(),
            machine.memory_pressure().is_some(),
        ];
        let mut environment = machine.environment(None, FathomVersion::default());
        let place = Place {
            path: "/home/x".into(),
            device: None,
            node: None,
        };
        let mounts = mount::mounts(&machine.tree);
        environment.storage =
            Some(machine.stack(&mounts, Fingerprint::of_machine(&machine.tree), &place));
        (
            environment,
            readings.into_iter().filter(|read| *read).count(),
        )
    }

    #[test]
    fn a_sound_machine_is_read_in_every_part() {
        let fixture = machine();
        let (environment, readings) = read_all(&Machine::at(fixture.root()));
        assert_eq!(readings, 7);
        assert_eq!(
            environment
                .system
                .machine_fingerprint
                .as_ref()
                .map(String::len),
            Some(16)
        );
        assert_eq!(environment.cpu.model.as_deref(), Some("A CPU"));
        assert_eq!(environment.memory.total_bytes, Some(8192));
        assert_eq!(environment.nodes.len(), 1);
        assert_eq!(
            environment
                .cgroup
                .as_ref()
                .and_then(|group| group.cpu_period_us),
            Some(100_000)
        );
        assert_eq!(environment.moment.uptime_seconds, Some(5));
        let storage = environment.storage.as_ref().unwrap();
        assert_eq!(storage.device.as_ref().unwrap().size_bytes, Some(51_200));
        let text = serde_json::to_string(&environment).unwrap();
        assert_eq!(
            serde_json::from_str::<Environment>(&text).unwrap(),
            environment
        );
    }

    #[test]
    fn what_can_change_while_a_machine_runs_is_read_again_and_the_rest_once() {
        let fixture = machine();
        let machine = Machine::at(fixture.root());
        let read = || machine.clone().environment(None, FathomVersion::default());
        let before = read();
        let cpus = "sys/devices/system/cpu";
        for (path, text) in [
            ("etc/os-release", "PRETTY_NAME=\"Another\"\n"),
            ("proc/cpuinfo", "model name : B CPU\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/size", "64K\n"),
            ("proc/loadavg", "9.1 0.2 0.3 1/2 3\n"),
            ("proc/sys/vm/swappiness", "7\n"),
            ("sys/fs/cgroup/a/cpu.max", "70000 100000\n"),
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                "powersave\n",
            ),
        ] {
            fixture.file(path, text);
        }
        let after = read();
        assert_eq!(after.moment.load_average, Some([9.1, 0.2, 0.3]));
        assert_eq!(after.system.sysctls["vm.swappiness"], "7");
        let quota = after.cgroup.unwrap().cpu_quota_us;
        assert_eq!(quota, Some(record::Limit::AtMost(70_000)));
        assert_eq!(after.cpu.governor.as_deref(), Some("powersave"));
        assert_eq!(
            (&after.cpu.model, &after.system.os_name),
            (&before.cpu.model, &before.system.os_name)
        );
        // Another processor that is online is another topology.
        fixture.file(&format!("{cpus}/online"), "0\n");
        assert_eq!((before.cpu.cores, read().cpu.cores), (None, Some(1)));
    }

    #[test]
    fn an_empty_machine_is_unknown_in_every_part() {
        let fixture = Fixture::new();
        let machine = Machine::at(fixture.root());
        let (mut environment, readings) = read_all(&machine);
        assert_eq!(readings, 0);
        assert_eq!(
            (machine.online_cpus(), machine.allowed_cpus()),
            (None, None)
        );
        let expected = StorageLayer {
            path: Some("/home/x".to_owned()),
            ..StorageLayer::default()
        };
        assert_eq!(environment.storage.take(), Some(expected));
        assert_eq!(
            environment.system.architecture.take().as_deref(),
            Some(std::env::consts::ARCH)
        );
        assert_eq!(environment, Environment::default());
    }

    #[test]
    fn a_watched_disk_is_read_anew_and_may_vanish() {
        let fixture = machine();
        let mut probe = Machine::at(fixture.root()).watch_disk(259, 2).unwrap();
        let earlier = probe.read().unwrap();
        let stat = "sys/dev/block/259:2/stat";
        fixture.file(stat, "4 2 11 4 5 6 7 8 2 10 11 12 13 14 15 16 17\n");
        let grown = probe.read().unwrap().since(&earlier).unwrap();
        assert_eq!(
            (
                grown.reads,
                grown.bytes_read(),
                grown.writes,
                grown.in_flight
            ),
            (3, 8 * 512, 0, 2)
        );
        fixture.file(stat, "");
        assert_eq!(probe.read(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn garbage_and_torn_files_never_panic(
            changes in proptest::collection::vec((0..FILES.len(), any::<bool>(), 0..80_usize, garbage()), 1..12),
        ) {
            let fixture = machine();
            for (file, torn, length, garbage) in changes {
                let (path, text) = FILES[file];
                let kept = &text.as_bytes()[..length.min(text.len())];
                let bytes = if torn { kept.to_vec() } else { [kept, &garbage].concat() };
                fixture.file(path, bytes);
            }
            let (environment, _) = read_all(&Machine::at(fixture.root()));
            prop_assert!(serde_json::to_string(&environment).is_ok());
        }
    }

    /// Bytes that are no text, and text of the words and signs that the readers look for, with
    /// extreme numbers.
    fn garbage() -> impl Strategy<Value = Vec<u8>> {
        let words = prop::sample::select(vec![
            " ",
            "\n",
            ":",
            "=",
            ",",
            "-",
            "/",
            "..",
            "(",
            ")",
            "[",
            "]",
            "\\040",
            "\\999",
            "max",
            "cpu",
            "kB",
            "K",
            "nan",
            "0",
            "1",
            "-1",
            "4294967295",
            "18446744073709551615",
            "99999999999999999999",
            "some ",
            "total=",
            " - ",
        ]);
        let text =
            proptest::collection::vec(words, 0..40).prop_map(|words| words.concat().into_bytes());
        prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), text]
    }

    #[test]
    fn this_machine_agrees_with_itself() {
        let machine = Machine::at(Path::new("/"));
        let directory = tempfile::tempdir().unwrap();
        let fathom = FathomVersion {
            version: "1".to_owned(),
            commit: Some("abc".to_owned()),
        };
        let environment = machine.environment(Some(directory.path()), fathom.clone());
        assert_eq!(environment.fathom, fathom);
        let online = machine.online_cpus().unwrap();
        assert!(!online.ids().is_empty());
        let allowed = machine.allowed_cpus().unwrap();
        assert!(allowed.ids().iter().all(|cpu| online.ids().contains(cpu)));
        let cpu = &environment.cpu;
        assert!(cpu.logical.unwrap() as usize >= online.ids().len());
        assert!(
            cpu.cores
                .is_none_or(|cores| cores as usize <= online.ids().len())
        );
        assert!(
            environment.memory.total_bytes.unwrap()
                >= environment.moment.memory_available_bytes.unwrap()
        );
        assert!(
            environment
                .nodes
                .iter()
                .flat_map(|node| node.cpus.ids())
                .all(|cpu| online.ids().contains(cpu))
        );
        let storage = environment.storage.unwrap();
        assert!(
            directory
                .path()
                .canonicalize()
                .unwrap()
                .starts_with(storage.file_system.unwrap().mount_point)
        );
        assert!(machine.cpu_times().unwrap().cpus.len() <= online.ids().len());
    }

    #[test]
    fn this_thread_and_process_are_seen_working() {
        let machine = Machine::at(Path::new("/"));
        let mut watch = machine.watch_process_io();
        let before = watch.as_mut().and_then(KernelFiles::read);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 100_000]).unwrap();
        // Sandboxes may withhold /proc/self/io; where it is given it must move.
        if let (Some(before), Some(after)) = (before, watch.as_mut().and_then(KernelFiles::read)) {
            assert!(after.since(&before).unwrap().wchar >= 100_000);
        }
        let thread = sys::thread_id();
        assert!(machine.thread_wait_ns(thread).is_some());
        assert_eq!(machine.thread_wait_ns(u32::MAX), None);
    }
}
