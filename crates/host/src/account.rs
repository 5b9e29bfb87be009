//! The counters of this process, of the machine and of devices around the measured time.

use crate::{
    CgroupThrottle, CpuTicks, CpuTimes, DiskCounters, LinkCounters, Machine, MemoryPressure,
    Pressure, ProcessIo, Stalls,
};
use record::{DeviceAccount, LinkAccount, MachineAccount, ProcessAccount, StorageLayer};
use sys::Usage;

/// A block device by name and number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    name: String,
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// The devices that a target lies on, the nearest first.
pub(crate) fn devices(layer: &StorageLayer) -> Vec<Device> {
    let mut out = Vec::new();
    collect(layer, &mut out);
    out
}

fn collect(layer: &StorageLayer, out: &mut Vec<Device>) {
    if let Some(device) = &layer.device {
        let name = device
            .name
            .clone()
            .unwrap_or_else(|| format!("{}:{}", device.major, device.minor));
        let (major, minor) = (device.major, device.minor);
        if !out
            .iter()
            .any(|known| (known.major, known.minor) == (major, minor))
        {
            out.push(Device { name, major, minor });
        }
    }
    layer.layers.iter().for_each(|below| collect(below, out));
}

/// Everything that is counted beside operations, at one moment.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    usage: Usage,
    io: Option<ProcessIo>,
    cpu: Option<CpuTimes>,
    pressure: Option<Pressure>,
    throttle: Option<CgroupThrottle>,
    memory: Option<MemoryPressure>,
    disks: Vec<(Device, Option<DiskCounters>)>,
    links: Vec<LinkCounters>,
}

impl Counters {
    pub(crate) fn read(machine: &Machine, devices: &[Device]) -> Self {
        let disk = |device: &Device| machine.disk_counters(device.major, device.minor);
        Self {
            usage: sys::usage_of_process(),
            io: machine.process_io(),
            cpu: machine.cpu_times(),
            pressure: machine.pressure(),
            throttle: machine.throttle(),
            memory: machine.memory_pressure(),
            disks: devices
                .iter()
                .map(|device| (device.clone(), disk(device)))
                .collect(),
            links: machine.links(),
        }
    }

    /// This process since `before`.
    pub(crate) fn process(&self, before: &Self) -> ProcessAccount {
        let io = self.io.as_ref().zip(before.io.as_ref());
        let io = io.and_then(|(after, before)| after.since(before));
        ProcessAccount {
            storage_read_bytes: io.as_ref().map(|io| io.read_bytes),
            storage_written_bytes: io.as_ref().map(|io| io.write_bytes),
            ..of_threads(&self.usage.since(&before.usage))
        }
    }

    /// The whole machine since `before`.
    pub(crate) fn machine(&self, before: &Self) -> MachineAccount {
        let cpu = self
            .cpu
            .as_ref()
            .zip(before.cpu.as_ref())
            .map(|(after, before)| after.since(before).total)
            .filter(|ticks| ticks.elapsed() > 0);
        let share = |part: fn(&CpuTicks) -> u64| {
            cpu.as_ref()
                .map(|ticks| part(ticks) as f64 / ticks.elapsed() as f64)
        };
        let pressure = self
            .pressure
            .as_ref()
            .zip(before.pressure.as_ref())
            .map(|(after, before)| after.since(before));
        let throttle = self.throttle.as_ref().zip(before.throttle.as_ref());
        let memory = self.memory.as_ref().zip(before.memory.as_ref());
        MachineAccount {
            busy_share: share(CpuTicks::busy),
            steal_share: share(|ticks| ticks.steal),
            iowait_share: share(|ticks| ticks.iowait),
            pressure_cpu_ns: pressure.as_ref().and_then(|p| some_ns(p.cpu.as_ref())),
            pressure_io_ns: pressure.as_ref().and_then(|p| some_ns(p.io.as_ref())),
            pressure_memory_ns: pressure.as_ref().and_then(|p| some_ns(p.memory.as_ref())),
            throttled_ns: throttle
                .and_then(|(after, before)| after.since(before))
                .map(|throttle| throttle.throttled_ns),
            dirty_before_bytes: memory.and_then(|(_, before)| dirty(before)),
            dirty_after_bytes: memory.and_then(|(after, _)| dirty(after)),
            swapped_pages: memory
                .map(|(after, before)| after.since(before))
                .and_then(|memory| Some(memory.swapped_in_pages? + memory.swapped_out_pages?)),
        }
    }

    /// The links that carried something since `before`.
    pub(crate) fn links(&self, before: &Self) -> Vec<LinkAccount> {
        let grown = self.links.iter().filter_map(|link| {
            let mut earlier = before.links.iter();
            link.since(earlier.find(|earlier| earlier.name == link.name)?)
        });
        let account = |link: LinkCounters| LinkAccount {
            name: link.name,
            received_bytes: link.received_bytes,
            sent_bytes: link.sent_bytes,
            bytes_per_second: link.bytes_per_second,
        };
        grown.map(account).collect()
    }

    /// One device since `before`.
    pub(crate) fn device(&self, before: &Self, device: &Device) -> Option<DeviceAccount> {
        let of = |counters: &Self| counters.disks.iter().find(|(d, _)| d == device)?.1;
        let grown = of(self)?.since(&of(before)?)?;
        Some(DeviceAccount {
            name: device.name.clone(),
            reads: grown.reads,
            read_bytes: grown.bytes_read(),
            writes: grown.writes,
            written_bytes: grown.bytes_written(),
            flushes: grown.flushes,
            busy_ns: grown.busy_ms * 1_000_000,
            queue_ns: grown.queue_ms * 1_000_000,
            reads_merged: Some(grown.reads_merged),
            writes_merged: Some(grown.writes_merged),
            read_ns: Some(grown.read_ms * 1_000_000),
            write_ns: Some(grown.write_ms * 1_000_000),
        })
    }
}

/// What threads used. What they moved to and from storage is known of the whole process alone.
pub(crate) fn of_threads(usage: &Usage) -> ProcessAccount {
    ProcessAccount {
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        major_faults: usage.major_faults,
        minor_faults: usage.minor_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        max_resident_bytes: usage.max_resident_kib * 1024,
        storage_read_bytes: None,
        storage_written_bytes: None,
    }
}

fn dirty(memory: &MemoryPressure) -> Option<u64> {
    Some(memory.dirty_bytes? + memory.writeback_bytes?)
}

fn some_ns(stalls: Option<&Stalls>) -> Option<u64> {
    stalls
        .and_then(|stalls| stalls.some.as_ref())
        .map(|some| some.total_us * 1000)
}
