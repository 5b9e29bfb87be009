//! Children of this process: waiting for one with an account of what it used, signals to groups, and
//! those whose own parents have ended.

use crate::{Usage, checked};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// Bytes of a block in the kernel's account of a process.
const ACCOUNT_BLOCK: u64 = 512;

/// A descriptor that is readable as soon as a process has ended.
#[derive(Debug)]
pub struct ProcessEnd(OwnedFd);

impl ProcessEnd {
    /// # Errors
    /// There is no such process, or a kernel without such descriptors.
    pub fn of(pid: u32) -> io::Result<Self> {
        let pid = libc::pid_t::try_from(pid)
            .map_err(|_no_pid| io::Error::from_raw_os_error(libc::ESRCH))?;
        // SAFETY: no memory is passed.
        let raw = checked(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
        let raw = libc::c_int::try_from(raw)
            .map_err(|_no_descriptor| io::Error::from_raw_os_error(libc::EBADF))?;
        // SAFETY: the kernel has just given this descriptor to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }))
    }
}

impl AsFd for ProcessEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a child used, with those of its own children that it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    pub status: ExitStatus,
    pub usage: Usage,
    /// Bytes that it caused to be read from storage, and that it left to be written there.
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// Waits until a child has ended and takes its account.
///
/// # Errors
/// It is no child of this process.
pub fn wait_child(pid: u32) -> io::Result<Spent> {
    let pid =
        libc::pid_t::try_from(pid).map_err(|_no_pid| io::Error::from_raw_os_error(libc::ECHILD))?;
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and the kernel fills it.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places are valid for the call.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut raw) };
        match checked(libc::c_long::from(waited)) {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let blocks = |n: libc::c_long| u64::try_from(n).unwrap_or(0) * ACCOUNT_BLOCK;
    Ok(Spent {
        status: ExitStatus::from_raw(status),
        usage: crate::process::of_account(&raw),
        read_bytes: blocks(raw.ru_inblock),
        written_bytes: blocks(raw.ru_oublock),
    })
}

/// A signal by its name without `SIG`; `None` where it has none here.
#[must_use]
pub fn signal_number(name: &str) -> Option<i32> {
    Some(match name {
        "TERM" => libc::SIGTERM,
        "INT" => libc::SIGINT,
        "QUIT" => libc::SIGQUIT,
        "HUP" => libc::SIGHUP,
        "KILL" => libc::SIGKILL,
        "USR1" => libc::SIGUSR1,
        "USR2" => libc::SIGUSR2,
        _ => return None,
    })
}

/// Sends a signal to all processes of a group; `false` where there are none.
///
/// # Errors
/// One of them is somebody else's.
pub fn signal_group(group: u32, signal: i32) -> io::Result<bool> {
    signal_to(
        libc::pid_t::try_from(group)
            .ok()
            .filter(|group| *group > 1)
            .map(|group| -group),
        signal,
    )
}

/// Sends a signal to one process; `false` where there is none.
///
/// # Errors
/// It is somebody else's.
pub fn signal_process(pid: u32, signal: i32) -> io::Result<bool> {
    signal_to(
        libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 1),
        signal,
    )
}

fn signal_to(whom: Option<libc::pid_t>, signal: i32) -> io::Result<bool> {
    let Some(whom) = whom else {
        return Ok(false);
    };
    // SAFETY: no memory is passed.
    match checked(libc::c_long::from(unsafe { libc::kill(whom, signal) })) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes processes below this one, whose own parents have ended, children of this one, so that none
/// of them gets away.
pub fn adopt_orphans() {
    // SAFETY: no memory is passed; a kernel that refuses leaves things as they are.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1_u64) };
}

/// Processes whose parent is this one, and those that `adopt_orphans` brought.
#[must_use]
pub fn own_children() -> Vec<u32> {
    children_of(std::process::id())
}

/// Processes whose parent is this process.
#[must_use]
pub fn children_of(process: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let of = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children"));
    let texts = threads.flatten().filter_map(|thread| of(thread).ok());
    texts
        .flat_map(|text| {
            let pids = text
                .split_ascii_whitespace()
                .filter_map(|word| word.parse().ok());
            pids.collect::<Vec<u32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Readiness, wait_ready};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    #[test]
    #[expect(clippy::zombie_processes, reason = "wait_child waits for it")]
    fn a_child_s_end_is_seen_and_its_account_taken() {
        let script = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; exit 7";
        let child = Command::new("/bin/sh")
            .args(["-c", script])
            .spawn()
            .unwrap();
        let end = ProcessEnd::of(child.id()).unwrap();
        assert!(wait_ready(&end, Readiness::Input, u64::MAX).unwrap());
        let spent = wait_child(child.id()).unwrap();
        assert_eq!(spent.status.code(), Some(7));
        assert!(spent.usage.max_resident_kib > 0);
        assert!(wait_child(child.id()).is_err(), "it is gone");
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "wait_child waits for it")]
    fn one_signal_ends_a_whole_group() {
        let child = Command::new("/bin/sh")
            .args(["-c", "sleep 1000 & sleep 1000"])
            .process_group(0)
            .spawn()
            .unwrap();
        assert!(signal_group(child.id(), libc::SIGKILL).unwrap());
        let spent = wait_child(child.id()).unwrap();
        assert_eq!(spent.status.signal(), Some(libc::SIGKILL));
        assert!(
            !signal_group(0, libc::SIGKILL).unwrap(),
            "its own group is none"
        );
    }
}
