//! Sockets of the file system: whose they are, and that none is left.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("{0} is in use by another server")]
    InUse(PathBuf),
    #[error("{0} is there, and is no socket")]
    NoSocket(PathBuf),
    #[error("{path} cannot be listened on")]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl OwnSocket {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// A socket of the file system that goes with its owner, unless it is somebody else's by then.
pub(crate) struct OwnSocket {
    path: PathBuf,
    node: (u64, u64),
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        let facts = std::fs::symlink_metadata(&self.path);
        if facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == self.node) {
            let _whoever_removed_it_has_done_no_harm = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes a socket, in the place of one whose server is dead.
pub(crate) fn bind(path: &Path) -> Result<(UnixListener, OwnSocket), SocketError> {
    let wrong = |source| SocketError::Listen {
        path: path.to_owned(),
        source,
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = File::open(parent.unwrap_or(Path::new("."))).map_err(wrong)?;
    // Two servers that begin at once do not take each other's for dead.
    flock(&directory, FlockOperation::LockExclusive).map_err(|error| wrong(error.into()))?;
    match std::fs::symlink_metadata(path) {
        Ok(facts) if !facts.file_type().is_socket() => {
            return Err(SocketError::NoSocket(path.to_owned()));
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(wrong)?;
            }
            Ok(_) | Err(_) => return Err(SocketError::InUse(path.to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(wrong(error)),
    }
    let listener = UnixListener::bind(path).map_err(wrong)?;
    let facts = std::fs::symlink_metadata(path).map_err(wrong)?;
    let socket = OwnSocket {
        path: path.to_owned(),
        node: (facts.dev(), facts.ino()),
    };
    Ok((listener, socket))
}
