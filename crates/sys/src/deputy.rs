//! A process that outlives this one, should somebody kill it, and asks a child of it to end.
//!
//! The kernel's own way, PR_SET_PDEATHSIG, sends the signal again for each thread of the killed that the
//! child passes to, and a launcher that is asked twice kills at once. And whoever writes to the killed
//! is itself killed by it, or fails.

use crate::{ProcessEnd, checked, monotonic_ns};
use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Whoever was asked to end has so long.
const MOST_NS: u64 = 20_000_000_000;

/// What it is told: processes, up to the first 0, or that it has nothing to do any more. The first is of the child,
/// which says so itself before it runs a program.
type Message = [libc::pid_t; 16];
const FAREWELL: libc::pid_t = -1;

/// Watches over a child; dropped, it is gone, and the child is asked for nothing.
#[derive(Debug)]
pub struct Deputy {
    /// It reads from the other end.
    line: Option<OwnedFd>,
    process: libc::pid_t,
}

/// A child with a deputy beside it.
#[derive(Debug)]
pub struct Deputed {
    pub child: Child,
    pub end: ProcessEnd,
    pub stdout: PipeReader,
    pub stderr: PipeReader,
    pub deputy: Deputy,
}

impl Deputy {
    /// A launcher that was just started loses a signal or hangs at it: it has so long to begin what it starts before
    /// it is sent the first.
    pub const BEGIN_NS: u64 = 1_000_000_000;

    /// Starts a child that is sent `signal`, once, when this process ends without a word, or whomever
    /// [`Deputy::instead`] named last, a second after this at the earliest. From then on somebody takes what the
    /// child says, and after 20 s all of them are killed. The deputy is there first: whenever this process is
    /// killed, no child is left to itself.
    ///
    /// # Errors
    /// The child cannot be started, or no process or descriptor is left.
    pub fn spawn(mut command: Command, signal: i32) -> io::Result<Deputed> {
        let (stdout, prints) = io::pipe()?;
        let (stderr, says) = io::pipe()?;
        let heard = [&stdout, &stderr].map(|from| from.as_raw_fd());
        let not_its = [&prints, &says].map(|to| to.as_raw_fd());
        let deputy = Self::begin(signal, heard, not_its)?;
        let line = deputy.line.as_ref().map_or(-1, |line| line.as_raw_fd());
        let tell_of_itself = move || {
            let mut message: Message = [0; 16];
            // SAFETY: no memory is passed.
            message[0] = unsafe { libc::getpid() };
            tell(line, &message);
            Ok(())
        };
        // SAFETY: it makes system calls alone and allocates nothing.
        unsafe { command.pre_exec(tell_of_itself) };
        let child = command.stdout(prints).stderr(says).spawn()?;
        let end = ProcessEnd::of(child.id())?;
        Ok(Deputed {
            child,
            end,
            stdout,
            stderr,
            deputy,
        })
    }

    /// Starts the other process, which reads from `heard` and has nothing to do with `not_its`.
    fn begin(signal: i32, heard: [RawFd; 2], not_its: [RawFd; 2]) -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: the kernel writes two descriptors there.
        let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
        checked(libc::c_long::from(made))?;
        // SAFETY: the kernel has just given these to nobody else.
        let [read, line] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        // SAFETY: what the new process does makes system calls alone and allocates nothing.
        let process = unsafe { libc::fork() };
        if process == 0 {
            let [prints, says] = not_its;
            let closed = [line.as_raw_fd(), prints, says, 0, 1, 2];
            // SAFETY: the same; these descriptors are open in it.
            unsafe { stand_in(read.as_raw_fd(), signal, heard, closed) }
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
            tell(line.as_raw_fd(), &message);
        }
    }
}

/// Whole or not at all: it is shorter than what a pipe takes at once.
fn tell(line: RawFd, message: &Message) {
    // SAFETY: so many bytes are there to be read.
    unsafe { libc::write(line, message.as_ptr().cast(), size_of_val(message)) };
}

impl Drop for Deputy {
    fn drop(&mut self) {
        let Some(line) = self.line.take() else {
            return;
        };
        tell(line.as_raw_fd(), &[FAREWELL; 16]);
        // One that somebody has stopped would not hear it.
        if self.process > 0 {
            // SAFETY: no memory is passed; it is this process's own and was not waited for, so that the number is its.
            unsafe { libc::kill(self.process, libc::SIGKILL) };
        }
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
unsafe fn stand_in(read: RawFd, signal: i32, heard: [RawFd; 2], closed: [RawFd; 6]) -> ! {
    let mut bytes = [0_u8; 4096];
    let room = bytes.len();
    let place = bytes.as_mut_ptr().cast();
    // SAFETY: only system calls, on memory of this function.
    unsafe {
        // What ends the group of the other by a signal does not end this one, and it holds nothing open.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        for descriptor in closed {
            if ![read, heard[0], heard[1]].contains(&descriptor) {
                libc::close(descriptor);
            }
        }
        let mut child = None;
        let mut since = 0;
        let mut named: Option<[RawFd; 16]> = None;
        loop {
            let mut message: Message = [0; 16];
            let bytes = libc::read(read, message.as_mut_ptr().cast(), size_of_val(&message));
            match bytes {
                0 => break,
                1.. if message[0] == FAREWELL => libc::_exit(0),
                1.. if child.is_none() => {
                    since = monotonic_ns();
                    child = Some(held(message[0]));
                }
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
        let Some(child) = child else { libc::_exit(0) };
        let due = since.saturating_add(Deputy::BEGIN_NS);
        while let rest @ 1.. = due.saturating_sub(monotonic_ns()) {
            libc::usleep(libc::useconds_t::try_from(rest / 1000).unwrap_or(0) + 1);
        }
        send(child, named, signal);
        let begin = monotonic_ns();
        let mut entries = [heard[0], heard[1], child].map(|fd| libc::pollfd {
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
    use std::io::Read as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    /// A process that another test began meanwhile would hold the line open: one at a time.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// Says so at the signal, prints more than a pipe holds, and ends.
    fn script(told: &Path) -> Command {
        let script = r#"trap 'echo asked >>"$0"; head -c 300000 /dev/zero >&2 && head -c 300000 /dev/zero && echo said >>"$0"; done=1' TERM
            echo; while [ -z "$done" ]; do sleep 0.01; done; sleep 0.1"#;
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(told);
        command
    }

    fn deputed(told: &Path) -> Deputed {
        let mut deputed = Deputy::spawn(script(told), libc::SIGTERM).unwrap();
        deputed.stdout.read_exact(&mut [0]).unwrap();
        deputed
    }

    /// What the kernel does to a process that is killed.
    fn is_killed(deputed: Deputed) -> (Child, Deputy) {
        let Deputed {
            child, mut deputy, ..
        } = deputed;
        drop(deputy.line.take());
        (child, deputy)
    }

    fn has_done_all(deputy: &Deputy) {
        let process = u32::try_from(deputy.process).unwrap();
        assert_eq!(wait_child(process).unwrap().status.code(), Some(0));
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "wait_child waits for it")]
    fn a_child_is_asked_once_when_nobody_looks_after_it_and_what_it_says_is_taken() {
        let _one = ONE_AT_A_TIME.lock();
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        let (child, deputy) = is_killed(deputed(&told));
        assert_eq!(wait_child(child.id()).unwrap().status.code(), Some(0));
        let text = std::fs::read_to_string(&told).unwrap();
        assert_eq!(text, "asked\nsaid\n");
        has_done_all(&deputy);

        // Whom it was told to ask instead is asked, and the child is not.
        let begun = deputed(&told);
        let mut other = script(&told);
        let mut other = other
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = other.stdout.take().unwrap();
        out.read_exact(&mut [0]).unwrap();
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        begun.deputy.instead(&[begun.child.id(); 40]);
        begun.deputy.instead(&[other.id()]);
        let (mut child, deputy) = is_killed(begun);
        assert_eq!(wait_child(other.id()).unwrap().status.code(), Some(0));
        assert!(child.try_wait().unwrap().is_none(), "it is somebody else's");
        let text = std::fs::read_to_string(&told).unwrap();
        assert_eq!(text, "asked\nsaid\n".repeat(2));
        child.kill().unwrap();
        wait_child(child.id()).unwrap();
        has_done_all(&deputy);

        let begun = deputed(&told);
        let mut child = begun.child;
        drop(begun.deputy);
        assert!(child.try_wait().unwrap().is_none(), "nobody asked it");
        child.kill().unwrap();
        wait_child(child.id()).unwrap();
        let text = std::fs::read_to_string(&told).unwrap();
        assert_eq!(text, "asked\nsaid\n".repeat(2));
    }

    #[test]
    fn a_deputy_without_a_child_has_nothing_to_do() {
        let _one = ONE_AT_A_TIME.lock();
        let mut deputy = Deputy::begin(libc::SIGTERM, [-1; 2], [-1; 2]).unwrap();
        drop(deputy.line.take());
        has_done_all(&deputy);
        let missing = Deputy::spawn(Command::new("/no/such/program"), libc::SIGTERM);
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// The kernel gives a number again: whoever has that of one who has ended is a stranger.
    #[test]
    #[ignore = "privileged: says which number the next process has"]
    fn privileged_whoever_has_the_number_of_one_that_has_ended_is_sent_nothing() {
        let _one = ONE_AT_A_TIME.lock();
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        let mut named = Command::new("sleep").arg("600").spawn().unwrap();
        let begun = deputed(&told);
        begun.deputy.instead(&[named.id()]);
        let until = monotonic_ns() + 10_000_000_000;
        while !knows(begun.deputy.process, named.id()) {
            assert!(monotonic_ns() < until);
            std::thread::yield_now();
        }
        named.kill().unwrap();
        named.wait().unwrap();
        let mut stranger = with_number(named.id());
        let (mut child, deputy) = is_killed(begun);
        // It waits for the end of the child, which it has asked for nothing.
        child.kill().unwrap();
        wait_child(child.id()).unwrap();
        has_done_all(&deputy);
        stranger.kill().unwrap();
        let ended_by = stranger.wait().unwrap().signal();
        assert_eq!(ended_by, Some(libc::SIGKILL), "of nothing before");
    }

    /// Whether a process has a descriptor of another.
    fn knows(process: libc::pid_t, other: u32) -> bool {
        let of_other = format!("Pid:\t{other}");
        let held = std::fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap();
        held.flatten().any(|one| {
            let text = std::fs::read_to_string(one.path()).unwrap_or_default();
            text.lines().any(|line| line == of_other)
        })
    }

    /// A process with this number, which nobody has.
    fn with_number(number: u32) -> Child {
        for _ in 0..1000 {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).unwrap();
            let mut child = Command::new("sleep").arg("600").spawn().unwrap();
            if child.id() == number {
                return child;
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        panic!("somebody else is always faster");
    }
}
