//! The files of a control group.

use lab::Limits;
use std::fs;
use std::path::Path;
use units::Bytes;

pub(super) fn set(dir: &Path, file: &str, value: &str) -> Result<(), String> {
    let at = dir.join(file);
    fs::write(&at, value).map_err(|e| format!("cannot write {value} to {}: {e}", at.display()))
}

pub(super) fn number(dir: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(dir.join(file)).ok()?.trim().parse().ok()
}

pub(super) fn entry(dir: &Path, file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(dir.join(file)).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

/// A period of the CPU's quota, in microseconds: the kernel's own.
const PERIOD_US: f64 = 100_000.0;

pub(super) fn quota(cpus: f64) -> String {
    format!("{:.0}", (cpus * PERIOD_US).max(1000.0))
}

pub(super) fn first_version(
    controller: &str,
    dir: &Path,
    parent: &Path,
    limits: &Limits,
) -> Result<(), String> {
    match controller {
        "memory" => {
            let Some(bytes) = limits.memory_bytes else {
                return Ok(());
            };
            set(dir, "memory.limit_in_bytes", &bytes.to_string())?;
            read_back(dir, "memory.limit_in_bytes", bytes)?;
            // Where there is no swap there is no such file, and nothing to limit.
            let both = bytes
                .saturating_add(limits.swap_bytes.unwrap_or(0))
                .to_string();
            match set(dir, "memory.memsw.limit_in_bytes", &both) {
                Err(why) if dir.join("memory.memsw.limit_in_bytes").exists() => Err(why),
                Ok(()) | Err(_) => Ok(()),
            }
        }
        "cpu" => match limits.cpus {
            None => Ok(()),
            Some(cpus) => {
                set(dir, "cpu.cfs_period_us", &format!("{PERIOD_US:.0}"))?;
                set(dir, "cpu.cfs_quota_us", &quota(cpus))
            }
        },
        "cpuset" => match &limits.cpu_list {
            None => Ok(()),
            // A group takes no process until it has both.
            Some(list) => {
                let memory = fs::read_to_string(parent.join("cpuset.mems")).unwrap_or_default();
                set(dir, "cpuset.mems", memory.trim())?;
                set(dir, "cpuset.cpus", list)
            }
        },
        _ => match limits.processes {
            None => Ok(()),
            Some(processes) => set(dir, "pids.max", &processes.to_string()),
        },
    }
}

pub(super) fn second_version(dir: &Path, limits: &Limits) -> Result<(), String> {
    if let Some(bytes) = limits.memory_bytes {
        set(dir, "memory.max", &bytes.to_string())?;
        read_back(dir, "memory.max", bytes)?;
        if dir.join("memory.swap.max").exists() {
            set(
                dir,
                "memory.swap.max",
                &limits.swap_bytes.unwrap_or(0).to_string(),
            )?;
        }
    }
    if let Some(cpus) = limits.cpus {
        set(dir, "cpu.max", &format!("{} {PERIOD_US:.0}", quota(cpus)))?;
    }
    if let Some(list) = &limits.cpu_list {
        set(dir, "cpuset.cpus", list)?;
    }
    match limits.processes {
        None => Ok(()),
        Some(processes) => set(dir, "pids.max", &processes.to_string()),
    }
}

/// The kernel rounds to pages.
fn read_back(dir: &Path, file: &str, wanted: u64) -> Result<(), String> {
    let page = sys::page_size() as u64;
    match number(dir, file) {
        Some(got) if got.abs_diff(wanted) <= page => Ok(()),
        Some(got) => Err(format!(
            "{file} is {} where {} was set",
            Bytes(got),
            Bytes(wanted)
        )),
        None => Err(format!("{file} cannot be read back")),
    }
}
