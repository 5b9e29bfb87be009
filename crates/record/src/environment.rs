//! The circumstances of a trial, as plain data.
//!
//! An unknown fact is `None` and is written as null; it is never replaced by a likely value. What
//! changes by itself from one minute to the next is in [`Moment`], so that two environments can be
//! compared without it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::FileSystem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything outside the workload that a number may depend on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Environment {
    pub fathom: FathomVersion,
    pub system: SystemFacts,
    pub cpu: CpuFacts,
    pub memory: MemoryFacts,
    /// Empty where the kernel exposes no nodes.
    pub nodes: Vec<NumaNode>,
    pub process: ProcessFacts,
    pub cgroup: Option<ControlGroup>,
    /// What the target path lies on; `None` when the target is not a path.
    pub storage: Option<StorageLayer>,
    pub moment: Moment,
}

/// Which build of Fathom measured.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct FathomVersion {
    pub version: String,
    pub commit: Option<String>,
}

/// The operating system and what it runs on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct SystemFacts {
    pub hostname: Option<String>,
    /// A keyed hash of the machine id: equal on one machine, not reversible to the id.
    pub machine_fingerprint: Option<String>,
    pub boot_id: Option<String>,
    pub kernel_release: Option<String>,
    pub kernel_version: Option<String>,
    pub architecture: Option<String>,
    pub os_name: Option<String>,
    /// Whether the CPU reports a hypervisor; `None` where the architecture has no such flag.
    pub hypervisor: Option<bool>,
    /// The kernel's own name for the hypervisor (`xen`), where it has one.
    pub hypervisor_name: Option<String>,
    /// The system vendor of the firmware tables, which names most clouds and virtual machine
    /// monitors.
    pub vendor: Option<String>,
    pub product: Option<String>,
    /// Signs of a container, each naming where it was seen; none seen does not prove that there is
    /// none.
    pub container_hints: Vec<String>,
    pub clocksource: Option<String>,
    /// 0 for everybody, 1 for the privileged or the io_uring group, 2 for nobody.
    pub io_uring_disabled: Option<u32>,
    /// Kernel settings that storage numbers depend on, by sysctl name.
    pub sysctls: BTreeMap<String, String>,
}

/// The processors. Cache sizes are those of one cache of the first online CPU.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct CpuFacts {
    pub model: Option<String>,
    pub microcode: Option<String>,
    /// CPUs present, online or not.
    pub logical: Option<u32>,
    pub online: Option<CpuList>,
    pub isolated: Option<CpuList>,
    /// Physical cores among the online CPUs.
    pub cores: Option<u32>,
    pub sockets: Option<u32>,
    /// The largest number of online threads on one core.
    pub threads_per_core: Option<u32>,
    pub l1d_bytes: Option<u64>,
    pub l2_bytes: Option<u64>,
    pub l3_bytes: Option<u64>,
    /// The frequency governor; several, sorted and joined by commas, where CPUs differ.
    pub governor: Option<String>,
    pub frequency_driver: Option<String>,
    /// The lowest frequency that the policy in force permits.
    pub min_mhz: Option<u32>,
    /// The highest frequency that the policy in force permits.
    pub max_mhz: Option<u32>,
    pub turbo: Option<bool>,
    /// Those flags of the CPU that decide whether its time stamp counter can be a clock.
    pub flags: Option<Vec<String>>,
}

/// Memory as it is set up.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct MemoryFacts {
    pub total_bytes: Option<u64>,
    pub page_bytes: Option<u64>,
    pub swap_total_bytes: Option<u64>,
    /// Huge pages of the default size in the pool.
    pub huge_pages: Option<u64>,
    pub huge_page_bytes: Option<u64>,
    /// The mode of transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
}

/// One NUMA node; a node of memory alone has an empty CPU list.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct NumaNode {
    pub id: u32,
    pub cpus: CpuList,
    pub memory_total_bytes: Option<u64>,
}

/// What the kernel lets this process do.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct ProcessFacts {
    pub allowed_cpus: Option<CpuList>,
    pub nice: Option<i32>,
    /// 0 off, 1 strict, 2 filter.
    pub seccomp_mode: Option<u32>,
    pub locked_memory_bytes: Option<Limit>,
    pub open_files: Option<Limit>,
    /// Clock ticks a second, the unit of CPU times in /proc.
    pub ticks_per_second: Option<u64>,
}

/// A bound that the kernel states, or its statement that there is none.
#[derive(
    Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    AtMost(u64),
    #[default]
    Unlimited,
}

/// Which control group interface is mounted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    V1,
    V2,
    Hybrid,
}

/// The tightest limits among this process's control group and its visible ancestors.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct ControlGroup {
    pub version: Option<CgroupVersion>,
    /// CPU microseconds a period; may exceed the period where several CPUs are granted.
    pub cpu_quota_us: Option<Limit>,
    pub cpu_period_us: Option<u64>,
    pub memory_max_bytes: Option<Limit>,
    /// The size above which the group is slowed by reclaim (version 2).
    pub memory_high_bytes: Option<Limit>,
    pub cpus: Option<CpuList>,
    pub memory_nodes: Option<CpuList>,
    /// `None` where no limit file could be read, empty where no device is limited.
    pub io: Option<Vec<IoLimit>>,
}

/// The I/O limits of a control group on one device.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct IoLimit {
    pub major: u32,
    pub minor: u32,
    pub read_bytes_per_second: Limit,
    pub write_bytes_per_second: Limit,
    pub reads_per_second: Limit,
    pub writes_per_second: Limit,
}

/// One level of the storage stack: a place in a file system, or a device, and what lies below.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct StorageLayer {
    /// The path at this level: the target, a loop device's backing file, an overlay's upper
    /// directory.
    pub path: Option<String>,
    /// `None` where the level is a device itself, or where the mount is unknown.
    pub file_system: Option<FileSystem>,
    /// The block device that the file system lies on directly, or that the level is.
    pub device: Option<BlockDevice>,
    /// What this level is built from: parts of an array or a mapping, a backing file, the members
    /// of a pool.
    pub layers: Vec<StorageLayer>,
    /// Whether memory (or nothing at all) answers instead of a medium, as far as this machine can
    /// see.
    pub is_memory: Option<bool>,
}

/// How a block device is reached.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Nvme,
    NvmeFabric,
    Virtio,
    Ata,
    Usb,
    Iscsi,
    Scsi,
    Mmc,
    Xen,
    Pmem,
    Nbd,
    Rbd,
    Ublk,
    Loop,
    Md,
    Dm,
    Zram,
    Ram,
    Null,
}

/// A block device; of a partition, the queue and the hardware are those of the whole disk.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct BlockDevice {
    pub name: Option<String>,
    pub major: u32,
    pub minor: u32,
    /// The disk that this device is a partition of.
    pub partition_of: Option<String>,
    pub partition_start_bytes: Option<u64>,
    pub size_bytes: Option<u64>,
    pub read_only: Option<bool>,
    pub logical_block_bytes: Option<u64>,
    pub physical_block_bytes: Option<u64>,
    pub scheduler: Option<String>,
    pub rotational: Option<bool>,
    pub nr_requests: Option<u64>,
    /// Commands that the device itself accepts (SCSI).
    pub queue_depth: Option<u64>,
    pub hardware_queues: Option<u64>,
    pub tags_per_hardware_queue: Option<u64>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    pub force_unit_access: Option<bool>,
    pub read_ahead_bytes: Option<u64>,
    pub max_request_bytes: Option<u64>,
    pub polling: Option<bool>,
    /// The largest discard; 0 where the device takes none.
    pub discard_max_bytes: Option<u64>,
    pub zoned: Option<String>,
    pub model: Option<String>,
    pub firmware: Option<String>,
    /// A hash of the serial number keyed by the machine id: tells devices apart, does not name
    /// them.
    pub serial_fingerprint: Option<String>,
    pub transport: Option<Transport>,
    /// The kind of mapping of a dm device: `lvm`, `crypt`, `mpath`, …
    pub mapping: Option<String>,
    pub raid_level: Option<String>,
    /// What an array is busy with besides serving: `idle`, `resync`, `check`, …
    pub raid_activity: Option<String>,
    pub backing_file: Option<String>,
    /// Whether a loop device bypasses the page cache of its backing file.
    pub backing_direct_io: Option<bool>,
}

/// What was true only when it was read.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Moment {
    pub uptime_seconds: Option<u64>,
    /// Over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    pub memory_available_bytes: Option<u64>,
    pub swap_free_bytes: Option<u64>,
    pub huge_pages_free: Option<u64>,
}

/// A set of CPU or node ids, ascending; written as the kernel does: `0-3,8`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Hash, Default)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(Vec<u32>);

/// One past the largest id that a list may hold; the kernel's own bound is 8192 CPUs.
const IDS: u32 = 1 << 16;

impl CpuList {
    /// The ids, ascending and distinct.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.0
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }
}

/// The text is not a list of ids and ranges such as `0-3,8`.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error("'{text}' is not a list of ids and ranges below {IDS}, such as 0-3,8")]
pub struct CpuListError {
    text: String,
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || CpuListError {
            text: text.to_owned(),
        };
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        let mut ids = Vec::new();
        for piece in text.split(',') {
            let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
            let first: u32 = first.trim().parse().ok().ok_or_else(wrong)?;
            let last: u32 = last.trim().parse().ok().ok_or_else(wrong)?;
            // A kernel's list ascends, which also bounds the work on hostile text.
            if first > last || last >= IDS || ids.last().is_some_and(|&before| before >= first) {
                return Err(wrong());
            }
            ids.extend(first..=last);
        }
        Ok(Self(ids))
    }
}

impl TryFrom<String> for CpuList {
    type Error = CpuListError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> Self {
        list.to_string()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        for (position, run) in runs.enumerate() {
            let comma = if position == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_unknown_fact_is_written_as_null_and_an_absent_one_read_as_unknown() {
        let text = serde_json::to_value(CpuFacts::default()).unwrap();
        assert!(text["model"].is_null());
        assert!(text["online"].is_null());
        let read: Environment = serde_json::from_str(r#"{"cpu":{"cores":4}}"#).unwrap();
        assert_eq!(read.cpu.cores, Some(4));
        assert_eq!(read.storage, None);
    }

    #[test]
    fn a_limit_tells_none_from_unknown() {
        let limits = (Limit::AtMost(7), Limit::Unlimited, None::<Limit>);
        let text = serde_json::to_string(&limits).unwrap();
        assert_eq!(text, r#"[{"at_most":7},"unlimited",null]"#);
        assert!(Limit::AtMost(u64::MAX) < Limit::Unlimited);
    }

    #[test]
    fn layers_nest_in_a_record() {
        let disk = StorageLayer {
            device: Some(BlockDevice {
                transport: Some(Transport::NvmeFabric),
                ..BlockDevice::default()
            }),
            ..StorageLayer::default()
        };
        let top = StorageLayer {
            layers: vec![disk],
            is_memory: Some(false),
            ..StorageLayer::default()
        };
        let text = serde_json::to_string(&top).unwrap();
        assert!(text.contains(r#""transport":"nvme_fabric""#), "{text}");
        assert_eq!(serde_json::from_str::<StorageLayer>(&text).unwrap(), top);
    }

    #[test]
    fn a_cpu_list_is_written_as_the_kernel_writes_it() {
        let list: CpuList = [9, 0, 1, 2, 8, 2, 5].into_iter().collect();
        assert_eq!(serde_json::to_string(&list).unwrap(), r#""0-2,5,8-9""#);
        assert_eq!("".parse::<CpuList>().unwrap().ids(), [0; 0]);
        assert_eq!(" 3 \n".parse::<CpuList>().unwrap().ids(), [3]);
    }

    #[test]
    fn a_text_that_is_no_list_is_refused() {
        for text in [
            "x",
            "3-1",
            "1,,2",
            "0-",
            "-1",
            "0-65536",
            "0-4294967295",
            "1,1",
            "5,0-3",
            "0-3,2-4",
        ] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_cpu_list_survives_its_text(ids in proptest::collection::vec(0..IDS, 0..40)) {
            let list: CpuList = ids.into_iter().collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }

        #[test]
        fn no_text_makes_the_list_parser_panic(text in "[-0-9, x]{0,24}") {
            let _ = text.parse::<CpuList>();
        }
    }
}
