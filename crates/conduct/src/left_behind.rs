//! What a runner that was killed left on this machine.

use crate::child::has_mark;
use crate::limits;
use std::fs;
use std::path::Path;
use sys::{Clock as _, MachineClock};

/// The longest wait until what was ended is gone.
const GONE_NS: u64 = 10_000_000_000;
const LOOK_NS: u64 = 2_000_000;

/// Takes away what an experiment left on this machine: processes by their mark, control groups by
/// their names, directories.
///
/// # Errors
/// Something stays.
pub(crate) fn clear(mark: &str, scratch: &Path, clock: &MachineClock) -> Result<(), String> {
    end_processes(mark, clock)?;
    limits::remove(&limits::left_behind(&format!("fathom-{mark}")), clock)?;
    match fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{} is left behind: {error}", scratch.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Ends what an experiment left running: servers, commands and builds.
///
/// # Errors
/// Something stays.
pub(crate) fn end_processes(mark: &str, clock: &MachineClock) -> Result<(), String> {
    let until = clock.now().saturating_add(GONE_NS);
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return Ok(());
        }
        if clock.now() >= until {
            return Err(format!(
                "processes {left:?} of an earlier runner do not end"
            ));
        }
        for pid in left {
            let _gone = sys::signal_process(pid, 9);
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
}

/// Processes that were started for slots of this experiment and live.
fn marked(mark: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id() && has_mark(*pid, mark))
        .collect()
}
