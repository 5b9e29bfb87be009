//! Between two slots: what one wrote must not be the other's load.

use crate::Task;
use host::{Context, Machine};
use record::StorageLayer;
use run::resolve;
use std::fs::File;
use sys::Clock;
use units::{Bytes, Nanos, counted};

/// Less than this waiting to be written is what an idle machine always has.
const SETTLED_BYTES: u64 = 16 << 20;
/// Time between two looks at the counters.
const LOOK_NS: u64 = 10_000_000;

/// After so many slots in a row that did not settle, what waits to be written is somebody else's.
const OF_OTHERS: u32 = 3;

/// Waits between slots, each for what it brought: what others on this machine write is there before
/// and after.
///
/// How much a slot wrote is not counted by its processes: those who write for it may be none of
/// them.
#[derive(Debug, Default)]
pub struct Drain {
    /// What waited to be written when the last slot that settled, or the first, began.
    found_bytes: u64,
    /// Slots since then that did not settle: what they left is not what the next one found.
    unsettled: u32,
}

impl Drain {
    /// A slot is about to begin.
    pub fn begin(&mut self, machine: &Machine) {
        if self.unsettled.is_multiple_of(OF_OTHERS) {
            self.found_bytes = Left::now(machine, None).unwritten_bytes;
        }
    }

    /// Sends the files of a task to their device and waits, for at most `limit_ns`, until the machine
    /// has no more to write than the slot found. What is left then is said in words.
    pub fn settle(&mut self, task: &Task, context: &Context, limit_ns: u64) -> Option<String> {
        let left = settle(task, context, limit_ns, self.found_bytes);
        self.unsettled = if left.is_some() {
            self.unsettled + 1
        } else {
            0
        };
        left
    }
}

/// Sends the files of a task to their device and waits until the machine has no more to write than
/// was found, for at most `limit_ns`. What is left then is said in words. The server of a load may be
/// on this machine.
pub(crate) fn settle(
    task: &Task,
    context: &Context,
    limit_ns: u64,
    found_bytes: u64,
) -> Option<String> {
    let (files, storage) = match task {
        Task::Run(workload) => {
            let resolved = resolve(workload, &context.machine).ok();
            let resolved = resolved.filter(|resolved| !resolved.layout.files.is_empty())?;
            (resolved.layout.files, resolved.storage)
        }
        Task::Load(_) | Task::Command(_) => (Vec::new(), None),
    };
    let (clock, machine) = (context.clock, &context.machine);
    let end = clock.now().saturating_add(limit_ns);
    let mut unsynced = 0;
    for file in &files {
        // Reading rights suffice to sync. A file that the run removed has nothing to sync.
        let Ok(open) = File::open(&file.path) else {
            continue;
        };
        if clock.now() >= end || open.sync_all().is_err() {
            unsynced += 1;
        }
    }
    let device = storage.as_ref().and_then(first_device);
    loop {
        let left = Left::now(machine, device);
        if unsynced == 0 && left.is_settled(found_bytes) {
            return None;
        }
        if unsynced > 0 || clock.now() >= end || sys::caught_signal().is_some() {
            return Some(left.told(unsynced, limit_ns, found_bytes));
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
}

/// The block device nearest to the target.
fn first_device(layer: &StorageLayer) -> Option<(u32, u32)> {
    let own = layer
        .device
        .as_ref()
        .map(|device| (device.major, device.minor));
    own.or_else(|| layer.layers.iter().find_map(first_device))
}

/// What is still under way; a counter that the machine does not have is settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left {
    unwritten_bytes: u64,
    in_flight: u64,
}

impl Left {
    fn now(machine: &Machine, device: Option<(u32, u32)>) -> Self {
        let memory = machine.memory_pressure().unwrap_or_default();
        let in_flight = device
            .and_then(|(major, minor)| machine.disk_counters(major, minor))
            .map_or(0, |counters| counters.in_flight);
        Self {
            unwritten_bytes: memory.dirty_bytes.unwrap_or(0) + memory.writeback_bytes.unwrap_or(0),
            in_flight,
        }
    }

    fn is_settled(self, found_bytes: u64) -> bool {
        let of_others = if found_bytes < SETTLED_BYTES {
            0
        } else {
            found_bytes
        };
        self.unwritten_bytes < of_others + SETTLED_BYTES && self.in_flight == 0
    }

    fn told(self, unsynced: usize, limit_ns: u64, found_bytes: u64) -> String {
        let found = if found_bytes < SETTLED_BYTES {
            String::new()
        } else {
            format!(" (it found {})", Bytes(found_bytes))
        };
        let files = if unsynced > 0 {
            format!(", {} not synced", counted(unsynced, "file"))
        } else {
            String::new()
        };
        format!(
            "the slot before had not settled after {}: {} unwritten{found}, {} at the device{files}",
            Nanos(limit_ns),
            Bytes(self.unwritten_bytes),
            counted(self.in_flight, "request")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Calibration, FathomVersion};
    use std::path::Path;
    use sys::MachineClock;
    use workload::Workload;

    fn context(root: &Path) -> Context {
        Context {
            clock: MachineClock::monotonic(),
            machine: Machine::at(root),
            fathom: FathomVersion::default(),
            calibration: Calibration::default(),
            interval_ns: 1_000_000_000,
            target: None,
            common_start: None,
            snapshots: None,
        }
    }

    /// A workload on one file, and a machine with so much dirty memory.
    fn waiting(dirty_kib: u64) -> (tempfile::TempDir, Workload) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        std::fs::write(
            dir.path().join("proc/meminfo"),
            format!("Dirty: {dirty_kib} kB\nWriteback: 0 kB\n"),
        )
        .unwrap();
        std::fs::write(dir.path().join("f"), [0; 4096]).unwrap();
        let workload = Workload {
            targets: vec![dir.path().join("f")],
            ..Workload::default()
        };
        (dir, workload)
    }

    fn task(workload: &Workload) -> Task {
        Task::Run(Box::new(workload.clone()))
    }

    #[test]
    fn what_is_not_written_in_time_is_said_with_its_amount() {
        let (dir, workload) = waiting(34 << 10);
        let told = settle(&task(&workload), &context(dir.path()), 20_000_000, 0);
        assert_eq!(
            told.as_deref(),
            Some(
                "the slot before had not settled after 20 ms: 34 MiB unwritten, 0 requests at the device"
            )
        );
    }

    #[test]
    fn an_idle_machine_is_not_waited_for() {
        let (dir, workload) = waiting(1 << 10);
        let context = context(dir.path());
        assert_eq!(settle(&task(&workload), &context, u64::MAX, 0), None);
        let no_file = Workload {
            engine: workload::EngineName::Sim,
            targets: vec![],
            ..workload
        };
        assert_eq!(settle(&task(&no_file), &context, u64::MAX, 0), None);
    }

    /// Sets what waits to be written.
    fn write_waiting(dir: &Path, mib: u64) {
        let text = format!("Dirty: {} kB\nWriteback: 0 kB\n", mib << 10);
        std::fs::write(dir.join("proc/meminfo"), text).unwrap();
    }

    #[test]
    fn what_others_had_to_write_before_a_slot_is_not_waited_for_after_it() {
        let (dir, workload) = waiting(0);
        let (context, task) = (context(dir.path()), task(&workload));
        let mut drain = Drain::default();
        let mut slot = |found_mib, left_mib| {
            write_waiting(dir.path(), found_mib);
            drain.begin(&context.machine);
            write_waiting(dir.path(), left_mib);
            drain.settle(&task, &context, 20_000_000)
        };
        assert_eq!(slot(300, 310), None, "others write");
        assert_eq!(slot(0, 15), None);
        assert!(
            slot(300, 400)
                .unwrap()
                .contains("400 MiB unwritten (it found 300 MiB)")
        );
        // What the slot before left is no beginning for the next.
        assert!(slot(400, 400).is_some());
        assert!(slot(400, 400).is_some());
        assert_eq!(
            slot(400, 400),
            None,
            "nobody here has written for three slots"
        );
        assert!(slot(0, 20).is_some());
    }
}
