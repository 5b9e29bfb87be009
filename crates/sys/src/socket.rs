//! Connecting to sockets of the file system without waiting for ever: a server whose queue of
//! callers is full keeps a plain `connect` waiting, and no timeout of a stream ends that.

use crate::{Clock, MachineClock, caught_signal, checked};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How often what would block is tried.
const MOMENT_NS: u64 = 20_000_000;

/// Connects, or says at once why it cannot: `WouldBlock` where the server's queue of callers is full.
///
/// # Errors
/// As the kernel has it, and of a path that no socket can have.
pub fn connect_at_once(path: &Path) -> io::Result<UnixStream> {
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: an address of zeros is one without a name.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    // The kernel wants a zero behind the name.
    if bytes.is_empty() || bytes.contains(&0) || bytes.len() >= address.sun_path.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the path of a socket has 1 to {} bytes, and none of them is zero",
                address.sun_path.len() - 1
            ),
        ));
    }
    address.sun_family =
        libc::sa_family_t::try_from(libc::AF_UNIX).expect("families have small numbers");
    for (into, byte) in address.sun_path.iter_mut().zip(bytes) {
        *into = libc::c_char::from_ne_bytes([*byte]);
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is handed over.
    let socket = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    checked(socket.into())?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_un>())
        .expect("an address has few bytes");
    // SAFETY: the address lives through the call and has this length.
    let connected = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            (&raw const address).cast::<libc::sockaddr>(),
            length,
        )
    };
    checked(connected.into())?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Connects to a server that may have more callers than it can take at the moment.
///
/// # Errors
/// As [`connect_at_once`], and `TimedOut` where it took no more for so long.
pub fn connect_patiently(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let connected = patiently(patience, || connect_at_once(path));
    connected.map_err(|error| {
        if error.kind() == io::ErrorKind::WouldBlock {
            let what = "it has more callers than it takes";
            return io::Error::new(io::ErrorKind::TimedOut, what);
        }
        error
    })
}

/// Tries what would block again for so long, or until a signal wants an end.
///
/// # Errors
/// Those of the last attempt.
pub fn patiently<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let clock = MachineClock::monotonic();
    let patience = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
    let end = clock.now().saturating_add(patience);
    loop {
        match attempt() {
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock
                    && clock.now() < end
                    && caught_signal().is_none() =>
            {
                clock.sleep_until(clock.now() + MOMENT_NS);
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    /// Callers until the queue of a server is full that takes none.
    fn fill(path: &Path) -> Vec<UnixStream> {
        let mut callers = Vec::new();
        while let Ok(caller) = connect_at_once(path) {
            callers.push(caller);
        }
        callers
    }

    #[test]
    fn a_server_with_a_full_queue_is_told_from_one_that_answers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        // SAFETY: no memory is handed over.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let mut callers = fill(&path);
        assert!(!callers.is_empty());
        let full = connect_at_once(&path).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        let waited = connect_patiently(&path, Duration::from_millis(1)).unwrap_err();
        assert_eq!(waited.kind(), io::ErrorKind::TimedOut);
        assert!(waited.to_string().contains("more callers"), "{waited}");
        // Whoever was let in is served, and makes room.
        let (mut taken, _) = listener.accept().unwrap();
        callers[0].write_all(b"x").unwrap();
        taken.read_exact(&mut [0]).unwrap();
        connect_patiently(&path, Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn what_is_no_socket_and_no_path_is_told_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let kind = |path: &Path| connect_patiently(path, Duration::MAX).unwrap_err().kind();
        assert_eq!(kind(&dir.path().join("none")), io::ErrorKind::NotFound);
        assert_eq!(kind(Path::new("")), io::ErrorKind::InvalidInput);
        assert_eq!(
            kind(&dir.path().join("x".repeat(200))),
            io::ErrorKind::InvalidInput
        );
    }
}
