//! A process that outlives this one, should somebody kill it, and asks a child of it to end.
//!
//! The kernel's own way, PR_SET_PDEATHSIG, sends the signal again for each thread of the killed that the
//! child passes to, and a launcher that is asked twice kills at once. And whoever writes to the killed
//! is itself killed by it, or fails.

use crate::{ProcessEnd, checked, monotonic_ns};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// Whoever was asked to end has so long.
const MOST_NS: u64 = 20_000_000_000;

/// What it is told: processes, up to the first 0, or that it has nothing to do any more.
type Message = [libc::pid_t; 16];
const FAREWELL: libc::pid_t = -1;

/// Watches over a child; dropped, it is gone, and the child is asked for nothing.
#[derive(Debug)]
pub struct Deputy {
    /// It reads from the other end.
    line: Option<OwnedFd>,
    process: libc::pid_t,
}

impl Deputy {
    /// A launcher that was just started loses a signal or hangs at it: it has so long to begin what it starts before
    /// it is sent the first.
    pub const BEGIN_NS: u64 = 1_000_000_000;

    /// Has the child be sent `signal`, once, when this process ends without a word, or whomever
    /// [`Deputy::instead`] named last, a second after this at the earliest, and takes from then on what the child
    /// says to it through both of `said`. After 20 s all of them are killed.
    ///
    /// # Errors
    /// No process or descriptor is left.
    pub fn begin(child: &ProcessEnd, signal: i32, said: [BorrowedFd<'_>; 2]) -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: the kernel writes two descriptors there.
        let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
        checked(libc::c_long::from(made))?;
        // SAFETY: the kernel has just given these to nobody else.
        let [read, line] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        let child = child.as_fd().as_raw_fd();
        let said = said.map(|said| said.as_raw_fd());
        // SAFETY: what the new process does makes system calls alone and allocates nothing.
        let process = unsafe { libc::fork() };
        if process == 0 {
            // SAFETY: the same; these descriptors are open in it.
            unsafe { stand_in(read.as_raw_fd(), line.as_raw_fd(), child, signal, said) }
        }
        checked(libc::c_long::from(process))?;
        Ok(Self {
            line: Some(line),
            process,
        })
    }

    /// From here on these are sent the signal, and not the child: it runs them and hands nothing on. Of more
    /// than 16 the first.
    pub fn instead(&self, processes: &[u32]) {
        let known = processes
            .iter()
            .filter_map(|process| libc::pid_t::try_from(*process).ok());
        let mut message: Message = [0; 16];
        for (place, process) in message.iter_mut().zip(known) {
            *place = process;
        }
        if let Some(line) = &self.line {
            tell(line, &message);
        }
    }
}

/// Whole or not at all: it is shorter than what a pipe takes at once.
fn tell(line: &OwnedFd, message: &Message) {
    // SAFETY: so many bytes are there to be read.
    unsafe {
        libc::write(
            line.as_raw_fd(),
            message.as_ptr().cast(),
            size_of_val(message),
        )
    };
}

impl Drop for Deputy {
    fn drop(&mut self) {
        let Some(line) = self.line.take() else {
            return;
        };
        tell(&line, &[FAREWELL; 16]);
        // SAFETY: the place of the status may be absent.
        unsafe {
            while libc::waitpid(self.process, std::ptr::null_mut(), 0) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
        }
    }
}

/// The new process: waits for a word or the end, and does then what there is to do.
///
/// # Safety
/// After a fork, with descriptors that are open.
unsafe fn stand_in(read: RawFd, line: RawFd, child: RawFd, signal: i32, said: [RawFd; 2]) -> ! {
    let mut bytes = [0_u8; 4096];
    let room = bytes.len();
    let place = bytes.as_mut_ptr().cast();
    // SAFETY: only system calls, on memory of this function.
    unsafe {
        // What ends the group of the other by a signal does not end this one, and it holds nothing open.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        for descriptor in [line, 0, 1, 2] {
            if ![read, child, said[0], said[1]].contains(&descriptor) {
                libc::close(descriptor);
            }
        }
        let since = monotonic_ns();
        let mut named: Option<[RawFd; 16]> = None;
        loop {
            let mut message: Message = [0; 16];
            let heard = libc::read(read, message.as_mut_ptr().cast(), size_of_val(&message));
            match heard {
                0 => break,
                1.. if message[0] == FAREWELL => libc::_exit(0),
                1.. => {
                    for descriptor in named.iter().flatten() {
                        libc::close(*descriptor);
                    }
                    named = (message[0] > 0).then(|| message.map(|process| held(process)));
                }
                _ if *libc::__errno_location() == libc::EINTR => {}
                _ => libc::_exit(0),
            }
        }
        let due = since.saturating_add(Deputy::BEGIN_NS);
        while let rest @ 1.. = due.saturating_sub(monotonic_ns()) {
            libc::usleep(libc::useconds_t::try_from(rest / 1000).unwrap_or(0) + 1);
        }
        send(child, named, signal);
        let begin = monotonic_ns();
        let mut entries = [said[0], said[1], child].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        while entries.iter().any(|entry| entry.fd >= 0) {
            let rest = MOST_NS.saturating_sub(monotonic_ns().saturating_sub(begin));
            if rest == 0 {
                send(child, None, libc::SIGKILL);
                send(child, named, libc::SIGKILL);
                break;
            }
            let millis = libc::c_int::try_from(rest / 1_000_000).unwrap_or(0) + 1;
            if libc::poll(entries.as_mut_ptr(), 3, millis) <= 0 {
                continue;
            }
            for entry in &mut entries[..2] {
                let has_some = entry.fd >= 0 && entry.revents != 0;
                if has_some && libc::read(entry.fd, place, room) == 0 {
                    entry.fd = -1;
                }
            }
            if entries[2].revents != 0 {
                entries[2].fd = -1;
            }
        }
        libc::_exit(0)
    }
}

/// A descriptor of the process, whose number may be another's later; negative where there is none.
///
/// # Safety
/// None is needed.
unsafe fn held(process: libc::pid_t) -> RawFd {
    if process <= 0 {
        return -1;
    }
    // SAFETY: no memory is passed.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    RawFd::try_from(descriptor).unwrap_or(-1)
}

/// Sends a signal to the processes that are named, or where none is to the child.
///
/// # Safety
/// None is needed but that their descriptors are open.
unsafe fn send(child: RawFd, named: Option<[RawFd; 16]>, signal: i32) {
    let none = std::ptr::null::<libc::siginfo_t>();
    for process in named.as_ref().map_or([child].as_slice(), |named| named) {
        // SAFETY: no memory is passed; a descriptor that is none is refused.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, *process, signal, none, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_child;
    use std::process::{Command, Stdio};

    /// One test: a process that another began meanwhile would hold the line open.
    #[test]
    #[expect(clippy::zombie_processes, reason = "wait_child waits for it")]
    fn a_child_is_asked_once_when_nobody_looks_after_it_and_what_it_says_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        // More than a pipe holds.
        let script = r#"trap 'echo asked >>"$0"; head -c 300000 /dev/zero >&2 && head -c 300000 /dev/zero && echo said >>"$0"; done=1' TERM
            echo; while [ -z "$done" ]; do sleep 0.01; done; sleep 0.1"#;
        let begin = || {
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(&told);
            let command = command.stderr(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut ready = [0];
            let out = child.stdout.as_mut().unwrap();
            std::io::Read::read_exact(out, &mut ready).unwrap();
            child
        };
        let mut child = begin();
        let said = child.stderr.take().unwrap();
        let printed = child.stdout.take().unwrap();
        let end = ProcessEnd::of(child.id()).unwrap();
        let mut deputy =
            Deputy::begin(&end, libc::SIGTERM, [said.as_fd(), printed.as_fd()]).unwrap();
        drop((said, printed));
        // As the kernel closes it for a killed process.
        drop(deputy.line.take());
        assert_eq!(wait_child(child.id()).unwrap().status.code(), Some(0));
        let text = std::fs::read_to_string(&told).unwrap();
        assert_eq!(text, "asked\nsaid\n");
        let deputy = u32::try_from(deputy.process).unwrap();
        assert_eq!(wait_child(deputy).unwrap().status.code(), Some(0));

        // Whom it was told to ask instead is asked, and the child is not.
        let (mut child, mut other) = (begin(), begin());
        let said = other.stderr.take().unwrap();
        let printed = other.stdout.take().unwrap();
        let end = ProcessEnd::of(child.id()).unwrap();
        let mut deputy =
            Deputy::begin(&end, libc::SIGTERM, [said.as_fd(), printed.as_fd()]).unwrap();
        drop((said, printed));
        deputy.instead(&[child.id(); 40]);
        deputy.instead(&[other.id()]);
        drop(deputy.line.take());
        assert_eq!(wait_child(other.id()).unwrap().status.code(), Some(0));
        assert!(child.try_wait().unwrap().is_none(), "it is somebody else's");
        let text = std::fs::read_to_string(&told).unwrap();
        assert_eq!(text, "asked\nsaid\n".repeat(2));
        child.kill().unwrap();
        wait_child(child.id()).unwrap();
        let deputy = u32::try_from(deputy.process).unwrap();
        assert_eq!(wait_child(deputy).unwrap().status.code(), Some(0));

        let mut child = begin();
        let said = child.stderr.take().unwrap();
        let printed = child.stdout.take().unwrap();
        let end = ProcessEnd::of(child.id()).unwrap();
        drop(Deputy::begin(&end, libc::SIGTERM, [said.as_fd(), printed.as_fd()]).unwrap());
        assert!(child.try_wait().unwrap().is_none(), "nobody asked it");
        child.kill().unwrap();
        wait_child(child.id()).unwrap();
        let text = std::fs::read_to_string(&told).unwrap();
        assert_eq!(text, "asked\nsaid\n".repeat(2));
    }
}
