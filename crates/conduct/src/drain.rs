//! Between two slots: what one wrote must not be the other's load.

use host::{Context, Machine};
use record::{Record, StorageLayer};
use run::resolve;
use std::fs::File;
use sys::Clock;
use units::{Bytes, Nanos};
use workload::Workload;

/// Less than this waiting to be written is what an idle machine always has.
const SETTLED_BYTES: u64 = 16 << 20;
/// Time between two looks at the counters.
const LOOK_NS: u64 = 10_000_000;
/// Operations that leave nothing behind.
const HARMLESS: [&str; 4] = ["read", "stat", "open", "readdir"];

/// Whether a run left anything to write: its operations, those before the measured time, or the
/// making of its files.
pub(crate) fn wrote(record: &Record) -> bool {
    let kinds = record.operations.kinds().chain(record.warmup.kinds());
    let operations = kinds
        .filter(|(kind, counted)| !HARMLESS.contains(kind) && counted.count > 0)
        .count();
    operations > 0 || record.fill.as_ref().is_some_and(|fill| fill.bytes > 0)
}

/// Sends the files of a workload to their device and waits until the machine has nothing more to
/// write, for at most `limit_ns`. What is left then is said in words.
pub(crate) fn settle(workload: &Workload, context: &Context, limit_ns: u64) -> Option<String> {
    let (clock, machine) = (context.clock, &context.machine);
    let end = clock.now().saturating_add(limit_ns);
    let resolved = resolve(workload, machine)
        .ok()
        .filter(|resolved| !resolved.layout.files.is_empty())?;
    let mut unsynced = 0;
    for file in &resolved.layout.files {
        // Reading rights suffice to sync. A file that the run removed has nothing to sync.
        let Ok(open) = File::open(&file.path) else {
            continue;
        };
        if clock.now() >= end || open.sync_all().is_err() {
            unsynced += 1;
        }
    }
    let device = resolved.storage.as_ref().and_then(first_device);
    loop {
        let left = Left::now(machine, device);
        if unsynced == 0 && left.is_settled() {
            return None;
        }
        if unsynced > 0 || clock.now() >= end || sys::caught_signal().is_some() {
            return Some(left.told(unsynced, limit_ns));
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

    fn is_settled(self) -> bool {
        self.unwritten_bytes < SETTLED_BYTES && self.in_flight == 0
    }

    fn told(self, unsynced: usize, limit_ns: u64) -> String {
        let files = if unsynced > 0 {
            format!(", {unsynced} files not synced")
        } else {
            String::new()
        };
        format!(
            "the slot before had not settled after {}: {} unwritten, {} requests at the device{files}",
            Nanos(limit_ns),
            Bytes(self.unwritten_bytes),
            self.in_flight
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Calibration, FathomVersion, Fill, Measurements, Operations};
    use std::path::Path;
    use sys::MachineClock;

    fn counted(kind: &str, count: u64) -> Measurements {
        let mut out = Measurements::default();
        out.insert(
            kind,
            Operations {
                count,
                ..Operations::default()
            },
        );
        out
    }

    #[test]
    fn only_what_leaves_something_behind_is_waited_for() {
        let of = |operations| Record {
            operations,
            ..Record::default()
        };
        assert!(wrote(&of(counted("write", 1))) && wrote(&of(counted("unlink", 1))));
        assert!(
            !wrote(&of(counted("write", 0)))
                && !wrote(&of(counted("read", 9)))
                && !wrote(&Record::default())
        );
        assert!(wrote(&Record {
            warmup: counted("write", 1),
            ..Record::default()
        }));
        assert!(wrote(&Record {
            fill: Some(Fill {
                bytes: 1,
                ..Fill::default()
            }),
            ..of(counted("read", 9))
        }));
    }

    fn context(root: &Path) -> Context {
        Context {
            clock: MachineClock::monotonic(),
            machine: Machine::at(root),
            fathom: FathomVersion::default(),
            calibration: Calibration::default(),
            interval_ns: 1_000_000_000,
            target: None,
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

    #[test]
    fn what_is_not_written_in_time_is_said_with_its_amount() {
        let (dir, workload) = waiting(34 << 10);
        let told = settle(&workload, &context(dir.path()), 20_000_000);
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
        assert_eq!(settle(&workload, &context(dir.path()), u64::MAX), None);
        assert_eq!(
            settle(
                &Workload {
                    engine: workload::EngineName::Sim,
                    targets: vec![],
                    ..workload
                },
                &context(dir.path()),
                u64::MAX
            ),
            None
        );
    }
}
