//! How ranks that a launcher started end: the first has the code of all, and ends last.
//!
//! A launcher that sees one of its processes fail kills the others, and what it ends with itself may
//! then be made of the signal (MPICH's 9) instead of what all have said.

use super::alive::stat_after_name;
use super::launched::launched;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sys::{Clock as _, MachineClock};

/// The first waits no longer for others on its machine.
const MOST_NS: u64 = 5_000_000_000;
/// Those on other machines have so long.
const ELSEWHERE_NS: u64 = 100_000_000;
const LOOK_NS: u64 = 2_000_000;
const WATCH_STEP_NS: u64 = 50_000_000;
/// The exit code of what is refused before ranks have met: it is refused to all of them.
const REFUSED: i32 = 2;

/// With how many ranks, none of them lost, this one has come to an end of the group; 0 while it has
/// not.
static ENDED_WITH: AtomicU32 = AtomicU32::new(0);

/// All ranks of the group have ended, and none is lost.
pub(super) fn ended_whole(size: u32) {
    ENDED_WITH.store(size, Relaxed);
}

/// The exit code of this process, where all ranks end with `code`: of the first when the others
/// have ended, of another none. The code of a signal is every rank's, for a launcher that had the signal asks
/// for it; where a process of ours started the launcher, that process knows how the ranks ended, and the
/// launcher would call the job aborted, so that the code is 0.
pub(crate) fn leave(code: i32) -> i32 {
    let is_of_signal = sys::stopped_by(code).is_some();
    let is_told = is_of_signal && crate::exit::has_front();
    let Some(launched) = launched().filter(|_| code > 0) else {
        return if is_told { 0 } else { code };
    };
    let is_whole = ENDED_WITH.load(Relaxed) == launched.size;
    if is_of_signal {
        return if is_told && is_whole { 0 } else { code };
    }
    if !is_whole && code != REFUSED {
        return code;
    }
    if launched.rank > 0 {
        return 0;
    }
    wait_for_others();
    code
}

/// A rank ends with the code within this time of its own, whatever its library does then.
pub(crate) fn watch_the_end(code: i32, within_ns: u64) {
    if launched().is_none() {
        return;
    }
    let watch = move || {
        let clock = MachineClock::monotonic();
        sys::wait_while_awake(&clock, within_ns, WATCH_STEP_NS, || false);
        sys::exit_at_once(code);
    };
    let thread = std::thread::Builder::new().name("fathom-watch".into());
    let _without_a_watch_the_library_is_trusted = thread.spawn(watch);
}

/// Waits until the others have ended.
pub(crate) fn wait_for_others() {
    let size = launched().map_or(1, |launched| launched.size);
    let Ok(own) = fs::read_link("/proc/self/exe") else {
        return;
    };
    let parent = std::os::unix::process::parent_id();
    let beside = || running_below(parent, &own, std::process::id());
    let clock = MachineClock::monotonic();
    let until = clock.now() + MOST_NS;
    let mut most = 0;
    loop {
        let left = beside();
        most = most.max(left);
        if left == 0 || clock.now() >= until {
            break;
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
    if most + 1 < size {
        clock.sleep_until(clock.now() + ELSEWHERE_NS);
    }
}

/// How many children of a process run a program, but for one of them.
fn running_below(parent: u32, program: &Path, but: u32) -> u32 {
    let Ok(entries) = fs::read_dir("/proc") else {
        return 0;
    };
    let places = entries.flatten().map(|entry| entry.path());
    let counted = places.filter(|place| is_running_below(place, parent, program, but));
    u32::try_from(counted.count()).unwrap_or(u32::MAX)
}

/// One that has ended has no program any more.
fn is_running_below(place: &Path, parent: u32, program: &Path, but: u32) -> bool {
    let name = place.file_name().and_then(|name| name.to_str());
    let Some(pid) = name.and_then(|name| name.parse::<u32>().ok()) else {
        return false;
    };
    if pid == but {
        return false;
    }
    let after = stat_after_name(place).unwrap_or_default();
    let above = after
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse::<u32>().ok());
    above == Some(parent) && fs::read_link(place.join("exe")).is_ok_and(|exe| exe == program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn others_below_the_same_process_are_waited_for_until_they_have_ended() {
        let begin = || {
            let child = Command::new("sleep")
                .arg("600")
                .stdin(Stdio::null())
                .spawn();
            child.expect("sleep starts")
        };
        let mut all = [begin(), begin(), begin()];
        let exe = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).expect("it runs");
        let program = exe(all[0].id());
        assert_eq!(program, exe(all[2].id()));
        let first = all[0].id();
        let left = || running_below(std::process::id(), &program, first);
        assert_eq!(left(), 2);
        all[1].kill().expect("it runs");
        // Nobody has waited for it: what it ended with is not yet told.
        while left() == 2 {
            std::thread::yield_now();
        }
        assert_eq!(left(), 1);
        assert_eq!(running_below(first, &program, first), 0);
        for child in &mut all {
            let _one_has_ended = child.kill();
            child.wait().expect("it is ours");
        }
        assert_eq!(left(), 0);
    }
}
