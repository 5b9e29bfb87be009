//! What is known of the hosts of a trial: the one that Fathom ran on, and what it measured.

use crate::merge::{add_to, sum};
use crate::{Environment, HostSeries, Record, WalkAccount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a host is in a trial.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HostRole {
    /// Fathom ran here.
    #[default]
    Generator,
    /// What was measured ran here.
    Target,
}

/// What is known of one host, or of one process or control group on it, over the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostAccount {
    pub role: HostRole,
    /// What it is called, where its environment has no name for it: `process 4711`, `control group
    /// /sys/fs/cgroup/s3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The process that was asked to be watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How long after the common start of all hosts its own measured time began, in nanoseconds.
    #[serde(skip_serializing_if = "crate::is_unset")]
    pub late_ns: u64,
    /// Its number in the group, where it was one of several that did one workload together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Where ranks have targets of their own under the name that all have (`group.target_is` is
    /// `local`): the number of its target, the same for those who use the same. `None` where nobody
    /// knows who does, as of ranks that were not connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_set: Option<u32>,
    /// What connected it with the others, as that calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// By how much the clock of rank 0 was ahead of its own at the common start, as far as anybody can
    /// tell: clocks that count from the boot of their machine, not that of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset_ns: Option<i64>,
    /// By how much its clock may differ from that of the common start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_bound_ns: Option<u64>,
    /// By how much the clock of rank 0 gained on its own from the common start to the end; less than
    /// nothing where it lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_drift_ns: Option<i64>,
    /// By how much that may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_drift_bound_ns: Option<u64>,
    /// What was watched went away, and nothing is known of what it used.
    #[serde(skip_serializing_if = "crate::is_unset")]
    pub gone: bool,
    /// The time over which the machine, its devices and a target were counted, where it is not that
    /// of the measurement: works that ran together share the account, from the first beginning to
    /// the last end, and what ends with its first operation takes longer than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<u64>,
    pub environment: Environment,
    pub calibration: Calibration,
    /// Of Fathom, or of the target's own process with its children or control group.
    pub process: ProcessAccount,
    pub machine: MachineAccount,
    /// Block devices under the target, the nearest first.
    pub devices: Vec<DeviceAccount>,
    /// Its network links that carried something, but for the one to itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkAccount>,
    /// In a record of several hosts: what this one did by time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<HostSeries>,
    /// In a record of several hosts: what stays with this one of its own record, and what
    /// [`Record::by_host`] tells of it. Options are here where they are not the same on all hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Box<Record>>,
}

impl HostAccount {
    /// The machine: by its fingerprint, else by its name; `None` where nobody says.
    #[must_use]
    pub fn machine_name(&self) -> Option<&str> {
        let system = &self.environment.system;
        let fingerprint = system.machine_fingerprint.as_deref();
        fingerprint.or(system.hostname.as_deref())
    }

    /// How people call the machine.
    #[must_use]
    pub fn machine_called(&self) -> &str {
        let name = self.environment.system.hostname.as_deref();
        name.or(self.name.as_deref())
            .unwrap_or("a host without a name")
    }

    /// How people call it: the machine, and the rank where it was one of several.
    #[must_use]
    pub fn called(&self) -> Cow<'_, str> {
        let name = self.machine_called();
        match self.rank {
            Some(rank) => format!("{name} (rank {rank})").into(),
            None => name.into(),
        }
    }

    /// The account alone; a copy of the part, which may be long, is not made for it.
    pub(crate) fn without_part(&self) -> Self {
        Self {
            role: self.role,
            name: self.name.clone(),
            pid: self.pid,
            late_ns: self.late_ns,
            rank: self.rank,
            target_set: self.target_set,
            library: self.library.clone(),
            clock_offset_ns: self.clock_offset_ns,
            clock_bound_ns: self.clock_bound_ns,
            clock_drift_ns: self.clock_drift_ns,
            clock_drift_bound_ns: self.clock_drift_bound_ns,
            gone: self.gone,
            window_ns: self.window_ns,
            environment: self.environment.clone(),
            calibration: self.calibration.clone(),
            process: self.process.clone(),
            machine: self.machine.clone(),
            devices: self.devices.clone(),
            links: self.links.clone(),
            series: self.series.clone(),
            part: None,
        }
    }

    /// What the processes on it used; `None` where they went away.
    #[must_use]
    pub fn used(&self) -> Option<&ProcessAccount> {
        (!self.gone).then_some(&self.process)
    }
}

/// One of the hosts that Fathom ran on, with what it measured.
#[derive(Clone, Copy, Debug)]
pub struct HostPart<'r> {
    pub host: &'r HostAccount,
    /// What stays with it of its own record; in a record of one host that record.
    pub part: &'r Record,
}

impl HostPart<'_> {
    /// The time over which its machine and devices were counted.
    #[must_use]
    pub fn counted_over_ns(&self) -> u64 {
        self.host.window_ns.unwrap_or(self.part.elapsed_ns)
    }

    /// What it looked at, where it did nothing but walk.
    #[must_use]
    pub fn walked(&self) -> Option<WalkAccount> {
        let mut kinds = self.part.operations.kinds();
        let is_walk_alone = kinds.all(|(kind, _)| kind == "walk");
        self.part.walk.filter(|_| is_walk_alone)
    }

    /// What hosts are held against each other by: operations a second, and of a walk entries, for its
    /// directories have any size.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self.walked() {
            Some(_) => crate::walk::entries_per_second(self.part),
            None => self.part.operations_per_second(),
        }
    }
}

/// The account of a host of which nothing is known.
static NOTHING_KNOWN: LazyLock<HostAccount> = LazyLock::new(HostAccount::default);

impl Record {
    /// The hosts that Fathom ran on.
    pub fn generators(&self) -> impl Iterator<Item = &HostAccount> {
        let hosts = self.hosts.iter();
        hosts.filter(|host| host.role == HostRole::Generator)
    }

    /// The hosts that Fathom ran on with what each measured; without the copies that make a record of
    /// each, as [`Record::by_host`] does. Where nobody says, it is one of which nothing is known.
    #[must_use]
    pub fn host_parts(&self) -> Vec<HostPart<'_>> {
        let hosts = self.generators();
        let parts = hosts.filter_map(|host| {
            let part = host.part.as_deref()?;
            Some(HostPart { host, part })
        });
        let parts: Vec<HostPart<'_>> = parts.collect();
        if parts.is_empty() {
            let (host, part) = (self.generator(), self);
            return vec![HostPart { host, part }];
        }
        parts
    }

    /// The host that Fathom ran on. Where nobody says, and where it ran on several, it is one of
    /// which nothing is known: what belongs to each of several hosts is no fact of the whole.
    #[must_use]
    pub fn generator(&self) -> &HostAccount {
        let mut generators = self.generators();
        let only = generators.next().filter(|_| generators.next().is_none());
        only.unwrap_or(&NOTHING_KNOWN)
    }

    /// Whether its measured time began: what never did says nothing of options.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.elapsed_ns > 0 || !self.operations.is_empty()
    }

    /// The time over which machine and devices were counted.
    #[must_use]
    pub fn counted_over_ns(&self) -> u64 {
        self.generator().window_ns.unwrap_or(self.elapsed_ns)
    }

    /// The version of Fathom that measured; empty where nobody says, or hosts had several.
    #[must_use]
    pub fn fathom_version(&self) -> &str {
        let environments = self.generators().map(|host| &host.environment);
        let mut versions = environments.map(|environment| environment.fathom.version.as_str());
        let first = versions.next().unwrap_or_default();
        if versions.all(|version| version == first) {
            first
        } else {
            ""
        }
    }

    /// The machines that Fathom ran on, as far as their names are known.
    #[must_use]
    pub fn machines(&self) -> Vec<&str> {
        let hosts = self.generators();
        hosts.filter_map(HostAccount::machine_name).collect()
    }

    /// The circumstances of each host that Fathom ran on; nothing but unknown ones where nobody says.
    pub fn environments(&self) -> impl Iterator<Item = &Environment> {
        let nobody = self.generators().next().is_none();
        let unknown = nobody.then(|| &*NOTHING_KNOWN);
        let hosts = self.generators().chain(unknown);
        hosts.map(|host| &host.environment)
    }

    /// What Fathom used on all hosts together; of memory, the most on one of them.
    #[must_use]
    pub fn process(&self) -> ProcessAccount {
        let used = self.generators().map(|host| host.process.clone());
        used.reduce(ProcessAccount::beside).unwrap_or_default()
    }

    /// The same, to be written; it is added to a record that has none.
    ///
    /// # Panics
    /// The record is of several hosts: none of them stands for the others.
    pub fn generator_mut(&mut self) -> &mut HostAccount {
        let count = self.generators().count();
        assert!(count < 2, "a record of several hosts has no single account");
        if count == 0 {
            self.hosts.insert(0, HostAccount::default());
        }
        let mut hosts = self.hosts.iter_mut();
        let generator = hosts.find(|host| host.role == HostRole::Generator);
        generator.expect("one was added where there was none")
    }

    /// The hosts, and the processes on them, that served what was measured, where they were watched.
    pub fn targets_watched(&self) -> impl Iterator<Item = &HostAccount> {
        let hosts = self.hosts.iter();
        hosts.filter(|host| host.role == HostRole::Target)
    }

    /// What served what was measured, where one was watched and did not go away.
    #[must_use]
    pub fn target(&self) -> Option<&HostAccount> {
        self.targets_watched().find(|host| !host.gone)
    }
}

/// The instrument's own cost on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// `tsc` or `clock_monotonic`.
    pub clock: String,
    pub clock_read_ns: f64,
    /// One operation of the null engine at depth 1 and 32, full accounting.
    pub null_operation_ns: BTreeMap<String, f64>,
    /// Drift of the clock against `CLOCK_MONOTONIC` over the run.
    pub clock_drift_ns: Option<i64>,
    /// How much later than asked a sleep of this thread ends, median.
    pub sleep_overshoot_ns: Option<u64>,
}

/// This process over the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessAccount {
    pub user_ns: u64,
    pub system_ns: u64,
    pub major_faults: u64,
    pub minor_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub max_resident_bytes: u64,
    /// Bytes that this process caused to be read from and sent to storage.
    pub storage_read_bytes: Option<u64>,
    pub storage_written_bytes: Option<u64>,
}

impl ProcessAccount {
    /// This and another process at the same time.
    fn beside(mut self, other: Self) -> Self {
        for (mine, theirs) in [
            (&mut self.user_ns, other.user_ns),
            (&mut self.system_ns, other.system_ns),
            (&mut self.major_faults, other.major_faults),
            (&mut self.minor_faults, other.minor_faults),
            (&mut self.voluntary_switches, other.voluntary_switches),
            (&mut self.involuntary_switches, other.involuntary_switches),
        ] {
            add_to(mine, theirs);
        }
        self.max_resident_bytes = self.max_resident_bytes.max(other.max_resident_bytes);
        self.storage_read_bytes = sum(self.storage_read_bytes, other.storage_read_bytes);
        self.storage_written_bytes = sum(self.storage_written_bytes, other.storage_written_bytes);
        self
    }
}

/// The whole machine over the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineAccount {
    /// Shares of all CPU time, 0 to 1.
    pub busy_share: Option<f64>,
    pub steal_share: Option<f64>,
    pub iowait_share: Option<f64>,
    /// Time some task waited for the resource.
    pub pressure_cpu_ns: Option<u64>,
    pub pressure_io_ns: Option<u64>,
    pub pressure_memory_ns: Option<u64>,
    pub throttled_ns: Option<u64>,
    pub dirty_before_bytes: Option<u64>,
    pub dirty_after_bytes: Option<u64>,
    pub swapped_pages: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceAccount {
    pub name: String,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: Option<u64>,
    pub busy_ns: u64,
    /// Time of all requests at the device, summed.
    pub queue_ns: u64,
    /// Requests that were joined to one already waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_merged: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_merged: Option<u64>,
    /// Time of the requests that read, summed, and of those that write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ns: Option<u64>,
}

/// A network link over the measured time; what others sent over it counts too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkAccount {
    pub name: String,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// What it carries at most each way, as its driver says; of virtual links nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
}
