//! What is done to the machine before each slot.

use host::Context;
use lab::Surroundings;
use std::fs;
use std::path::{Path, PathBuf};
use sys::Clock as _;
use units::Nanos;

const CACHES: &str = "/proc/sys/vm/drop_caches";
/// Page cache, dentries and inodes.
const ALL_CACHES: &str = "3";
/// A machine is idle below this share of its CPU time, seen for so long.
const IDLE_SHARE: f64 = 0.1;
const SEEN_NS: u64 = 200_000_000;

/// Whether this machine permits what is asked.
///
/// # Errors
/// It does not, and what would help.
pub(crate) fn check(asked: &Surroundings) -> Result<(), String> {
    if asked.drop_caches && sys::may_write(Path::new(CACHES)).is_err() {
        return Err(
            "drop-caches: caches are dropped by root alone; run as root, or leave it out".into(),
        );
    }
    let Some(governor) = &asked.governor else {
        return Ok(());
    };
    let files = governors();
    let Some(first) = files.first() else {
        return Err("governor: this machine has no CPU frequency to govern; leave it out".into());
    };
    let known = first.with_file_name("scaling_available_governors");
    let known = fs::read_to_string(known).unwrap_or_default();
    if !known.split_ascii_whitespace().any(|name| name == governor) {
        return Err(format!(
            "governor: {governor:?} is none of {}",
            known.trim()
        ));
    }
    if sys::may_write(first).is_err() {
        return Err("governor: it is set by root alone; run as root, or leave it out".into());
    }
    Ok(())
}

fn governors() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/sys/devices/system/cpu/cpufreq") else {
        return Vec::new();
    };
    let files = entries
        .flatten()
        .map(|entry| entry.path().join("scaling_governor"));
    files.filter(|file| file.is_file()).collect()
}

/// Makes the machine as it was asked.
///
/// # Errors
/// It cannot be made so.
pub(crate) fn prepare(asked: &Surroundings, context: &Context) -> Result<(), String> {
    if let Some(governor) = &asked.governor {
        for file in governors() {
            let set = fs::write(&file, governor);
            set.map_err(|e| format!("governor: cannot write {}: {e}", file.display()))?;
        }
    }
    if asked.wait_idle_ns > 0 {
        wait_idle(asked.wait_idle_ns, context)?;
    }
    if asked.drop_caches {
        let dropped = fs::write(CACHES, ALL_CACHES);
        dropped.map_err(|e| format!("drop-caches: {e}"))?;
    }
    Ok(())
}

fn wait_idle(longest_ns: u64, context: &Context) -> Result<(), String> {
    let clock = &context.clock;
    let until = clock.now().saturating_add(longest_ns);
    loop {
        let before = context.machine.cpu_times();
        clock.sleep_until(clock.now() + SEEN_NS);
        let after = context.machine.cpu_times();
        let busy = after.zip(before).map(|(after, before)| {
            let total = after.since(&before).total;
            total.busy() as f64 / (total.elapsed() as f64).max(1.0)
        });
        match busy {
            None => return Ok(()),
            Some(busy) if busy < IDLE_SHARE => return Ok(()),
            Some(_) if sys::caught_signal().is_some() => return Ok(()),
            Some(busy) if clock.now() >= until => {
                return Err(format!(
                    "wait-idle: the CPUs are {:.0} % busy after {}",
                    100.0 * busy,
                    Nanos(longest_ns)
                ));
            }
            Some(_) => {}
        }
    }
}
