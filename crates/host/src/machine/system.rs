//! The operating system, what it runs on, and what this process may do.

use record::{Limit, Moment, ProcessFacts, SystemFacts};

use super::fingerprint::Fingerprint;
use super::mount::Mount;
use super::tree::{self, Tree};
use super::{cpu, memory, sched};

/// Settings that move the numbers of buffered writes, asynchronous I/O, the scheduler or the
/// network.
const SYSCTLS: [&str; 12] = [
    "fs.aio-max-nr",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "net.ipv4.tcp_congestion_control",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.overcommit_memory",
    "vm.swappiness",
];

/// Names that container managers give to control groups.
const CONTAINER_CGROUPS: [&str; 7] = [
    "docker",
    "kubepods",
    "containerd",
    "libpod",
    "lxc",
    "garden",
    "machine.slice",
];

pub(super) fn hostname(tree: &Tree) -> Option<String> {
    tree.value("/proc/sys/kernel/hostname")
}

/// Another after every start of the machine.
pub(super) fn boot_id(tree: &Tree) -> Option<String> {
    tree.value("/proc/sys/kernel/random/boot_id")
}

/// What stays as it is as long as the machine runs.
pub(super) fn still(tree: &Tree, first_processor: &str, key: Option<Fingerprint>) -> SystemFacts {
    let kernel = |name: &str| tree.value(format!("/proc/sys/kernel/{name}"));
    let firmware = |name: &str| tree.value(format!("/sys/class/dmi/id/{name}"));
    SystemFacts {
        machine_fingerprint: key.map(|key| key.of("machine", "")),
        boot_id: boot_id(tree),
        kernel_release: kernel("osrelease"),
        kernel_version: kernel("version"),
        // Kernels before 6.1 do not say; they run this binary, so its architecture is theirs.
        architecture: kernel("arch").or_else(|| Some(std::env::consts::ARCH.to_owned())),
        os_name: os_name(tree),
        hypervisor: cpu::flags(first_processor)
            .map(|flags| flags.iter().any(|flag| flag == "hypervisor")),
        hypervisor_name: tree.value("/sys/hypervisor/type"),
        vendor: firmware("sys_vendor"),
        product: firmware("product_name"),
        ..SystemFacts::default()
    }
}

/// All of it, with what can be set while the machine runs.
pub(super) fn facts(tree: &Tree, mounts: &[Mount], still: SystemFacts) -> SystemFacts {
    let sysctl = |name: &&str| {
        let value = tree.value(format!("/proc/sys/{}", name.replace('.', "/")))?;
        Some(((*name).to_owned(), value))
    };
    SystemFacts {
        hostname: hostname(tree),
        container_hints: container_hints(tree, mounts),
        clocksource: tree.value("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        io_uring_disabled: tree.number("/proc/sys/kernel/io_uring_disabled"),
        sysctls: SYSCTLS.iter().filter_map(sysctl).collect(),
        ..still
    }
}

fn os_name(tree: &Tree) -> Option<String> {
    let text = tree
        .text("/etc/os-release")
        .or_else(|| tree.text("/usr/lib/os-release"))?;
    let name = tree::after(&text, "PRETTY_NAME", '=')?.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

fn container_hints(tree: &Tree, mounts: &[Mount]) -> Vec<String> {
    let mut hints = Vec::new();
    let marks = ["/.dockerenv", "/run/.containerenv"];
    hints.extend(
        marks
            .into_iter()
            .filter(|mark| tree.exists(mark))
            .map(str::to_owned),
    );
    if let Some(manager) = tree.value("/run/systemd/container") {
        hints.push(format!("/run/systemd/container: {manager}"));
    }
    let groups = tree.text("/proc/self/cgroup").unwrap_or_default();
    let named = CONTAINER_CGROUPS
        .into_iter()
        .filter(|name| groups.contains(name));
    hints.extend(named.map(|name| format!("control group of {name}")));
    if mounts
        .iter()
        .rev()
        .find(|mount| mount.point == "/")
        .is_some_and(|root| root.kind == "overlay")
    {
        hints.push("root is an overlay".to_owned());
    }
    hints
}

pub(super) fn process(tree: &Tree) -> ProcessFacts {
    let status = tree.text("/proc/self/status").unwrap_or_default();
    let limits = tree.text("/proc/self/limits").unwrap_or_default();
    ProcessFacts {
        allowed_cpus: tree::after(&status, "Cpus_allowed_list", ':')
            .and_then(|list| list.parse().ok()),
        nice: tree
            .text("/proc/self/stat")
            .and_then(|stat| sched::stat_field(&stat, 19)?.parse().ok()),
        seccomp_mode: tree::after(&status, "Seccomp", ':').and_then(|mode| mode.parse().ok()),
        locked_memory_bytes: soft_limit(&limits, "Max locked memory"),
        open_files: soft_limit(&limits, "Max open files"),
        ticks_per_second: memory::auxiliary(tree, memory::AT_CLKTCK),
    }
}

/// Whether the process has CAP_IPC_LOCK, which lifts the limit of locked memory.
pub(super) fn may_lock_memory(tree: &Tree) -> bool {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let status = tree.text("/proc/self/status").unwrap_or_default();
    tree::after(&status, "CapEff", ':')
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .is_some_and(|mask| mask & CAP_IPC_LOCK != 0)
}

/// The first value of a line of /proc/self/limits, whose names contain spaces.
fn soft_limit(limits: &str, name: &str) -> Option<Limit> {
    let values = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match values.split_ascii_whitespace().next()? {
        "unlimited" => Some(Limit::Unlimited),
        number => number.parse().ok().map(Limit::AtMost),
    }
}

pub(super) fn moment(tree: &Tree, meminfo: &str) -> Moment {
    let uptime = tree.text("/proc/uptime");
    Moment {
        uptime_seconds: uptime.and_then(|text| text.split_once('.')?.0.parse().ok()),
        load_average: tree
            .text("/proc/loadavg")
            .and_then(|text| load_average(&text)),
        memory_available_bytes: memory::size(meminfo, "MemAvailable"),
        swap_free_bytes: memory::size(meminfo, "SwapFree"),
        huge_pages_free: memory::size(meminfo, "HugePages_Free"),
    }
}

fn load_average(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_ascii_whitespace();
    let mut next = || {
        words
            .next()?
            .parse()
            .ok()
            .filter(|load: &f64| load.is_finite())
    };
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::super::tree::fixture::Fixture;
    use super::*;

    fn all(tree: &Tree, first_processor: &str) -> SystemFacts {
        facts(tree, &[], still(tree, first_processor, None))
    }

    #[test]
    fn the_system_names_itself() {
        let fixture = Fixture::new();
        fixture
            .files(
                "proc/sys/kernel",
                &[
                    ("hostname", "h\n"),
                    ("osrelease", "6.1.0\n"),
                    ("arch", "riscv64\n"),
                ],
            )
            .files(
                "proc/sys",
                &[
                    ("vm/dirty_ratio", "20\n"),
                    ("kernel/io_uring_disabled", "2\n"),
                ],
            )
            .file("etc/os-release", "NAME=x\nPRETTY_NAME=\"An OS 1\"\n")
            .file("sys/class/dmi/id/sys_vendor", "QEMU\n");
        let facts = all(&fixture.tree(), "flags : fpu hypervisor\n");
        assert_eq!(
            (facts.hostname.as_deref(), facts.kernel_release.as_deref()),
            (Some("h"), Some("6.1.0"))
        );
        assert_eq!(
            (facts.architecture.as_deref(), facts.os_name.as_deref()),
            (Some("riscv64"), Some("An OS 1"))
        );
        assert_eq!(
            (facts.hypervisor, facts.vendor.as_deref()),
            (Some(true), Some("QEMU"))
        );
        assert_eq!(
            facts.sysctls.into_iter().collect::<Vec<_>>(),
            [("vm.dirty_ratio".to_owned(), "20".to_owned())]
        );
        assert_eq!(
            (facts.io_uring_disabled, facts.boot_id, facts.product),
            (Some(2), None, None)
        );
    }

    #[test]
    fn a_processor_without_x86_flags_leaves_the_hypervisor_unknown() {
        let fixture = Fixture::new();
        assert_eq!(
            all(&fixture.tree(), "Features : fp asimd\n").hypervisor,
            None
        );
        assert_eq!(
            all(&fixture.tree(), "flags : fpu\n").hypervisor,
            Some(false)
        );
    }

    #[test]
    fn signs_of_a_container_name_their_place() {
        let fixture = Fixture::new();
        fixture
            .file(".dockerenv", "")
            .file("proc/self/cgroup", "0::/kubepods/besteffort/x\n");
        let root = Mount {
            point: "/".to_owned(),
            kind: "overlay".to_owned(),
            ..Mount::default()
        };
        let hints = container_hints(&fixture.tree(), &[root]);
        assert_eq!(
            hints,
            [
                "/.dockerenv",
                "control group of kubepods",
                "root is an overlay"
            ]
        );
        assert!(container_hints(&Fixture::new().tree(), &[]).is_empty());
    }

    #[test]
    fn what_the_process_may_do_is_read() {
        let fixture = Fixture::new();
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 4096                 files\n\
                      Max locked memory         unlimited            unlimited            bytes\n";
        let files = [
            (
                "status",
                "Seccomp:\t2\nSeccomp_filters:\t1\nCpus_allowed_list:\t0-1,4\n",
            ),
            (
                "stat",
                "7 (a b) R 1 7 7 0 -1 4 11 0 22 0 33 44 0 0 20 -5 1 0",
            ),
            ("limits", limits),
        ];
        fixture.files("proc/self", &files);
        let facts = process(&fixture.tree());
        assert_eq!(facts.allowed_cpus.unwrap().ids(), [0, 1, 4]);
        assert_eq!((facts.seccomp_mode, facts.nice), (Some(2), Some(-5)));
        assert_eq!(facts.open_files, Some(Limit::AtMost(1024)));
        assert_eq!(facts.locked_memory_bytes, Some(Limit::Unlimited));
    }

    #[test]
    fn the_moment_is_read_and_nonsense_is_unknown() {
        let fixture = Fixture::new();
        fixture.files(
            "proc",
            &[
                ("uptime", "512.07 990.1\n"),
                ("loadavg", "0.50 1.25 2.00 1/90 7\n"),
            ],
        );
        let now = moment(&fixture.tree(), "MemAvailable: 2 kB\n");
        assert_eq!(
            (now.uptime_seconds, now.load_average),
            (Some(512), Some([0.5, 1.25, 2.0]))
        );
        assert_eq!(now.memory_available_bytes, Some(2048));
        assert_eq!(load_average("0.5 nan 1 1/2 3"), None);
    }
}
