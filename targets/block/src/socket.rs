//! Sockets of the file system: whose they are, and that none is left.

use crate::own::OwnName;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::{connect_at_once, connect_patiently, patiently};

/// How long another server may take to begin in the same directory, and one that has more callers
/// than it can take to take one more.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5000 });

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("{0} is in use by another server")]
    InUse(PathBuf),
    #[error("{0} is there, and is no socket")]
    NoSocket(PathBuf),
    #[error(
        "{0} is locked by another process, so that it cannot be told whether a server begins there; end that, or name another directory"
    )]
    Directory(PathBuf),
    #[error("{path} cannot be listened on")]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Connects to a server that may have more callers than it can take at the moment.
pub(crate) fn reach(path: &Path) -> io::Result<UnixStream> {
    connect_patiently(path, PATIENCE)
}

/// Makes a socket, in the place of one whose server is dead.
pub(crate) fn bind(path: &Path) -> Result<(UnixListener, OwnName), SocketError> {
    let wrong = |source| SocketError::Listen {
        path: path.to_owned(),
        source,
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let directory = File::open(parent).map_err(wrong)?;
    // Two servers that begin at once do not take each other's for dead.
    let locked = patiently(PATIENCE, || {
        flock(&directory, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from)
    });
    match locked {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return Err(SocketError::Directory(parent.to_owned()));
        }
        locked => locked.map_err(wrong)?,
    }
    match std::fs::symlink_metadata(path) {
        Ok(facts) if !facts.file_type().is_socket() => {
            return Err(SocketError::NoSocket(path.to_owned()));
        }
        Ok(_) => match connect_at_once(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(wrong)?;
            }
            // Also one whose queue of callers is full.
            Ok(_) | Err(_) => return Err(SocketError::InUse(path.to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(wrong(error)),
    }
    let listener = UnixListener::bind(path).map_err(wrong)?;
    let facts = std::fs::symlink_metadata(path).map_err(wrong)?;
    Ok((listener, OwnName::new(path, &facts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_a_full_queue_is_alive_and_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let mut callers = Vec::new();
        while let Ok(caller) = connect_at_once(&path) {
            callers.push(caller);
        }
        assert!(matches!(bind(&path), Err(SocketError::InUse(_))));
        assert!(path.exists());
    }

    #[test]
    fn a_directory_that_another_process_has_locked_is_not_waited_for_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let other = File::open(dir.path()).unwrap();
        flock(&other, FlockOperation::LockExclusive).unwrap();
        let refused = bind(&dir.path().join("s")).err().unwrap();
        assert!(matches!(refused, SocketError::Directory(_)), "{refused}");
        drop(other);
        bind(&dir.path().join("s")).unwrap();
    }
}
