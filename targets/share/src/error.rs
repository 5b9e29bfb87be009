//! Why the store did not do what it was asked to.

use std::io;
use std::path::PathBuf;

/// Errors, by what whoever asked can do about them.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    #[error("no more than the reserve of the file system is left")]
    NoSpace,
    #[error("the database was locked for too long")]
    Busy,
    #[error("there is no such upload")]
    Missing,
    #[error("this guest link takes no more files")]
    LinkClosed,
    #[error("{0}: what was kept was changed from outside, or the disk has lost it")]
    Damaged(String),
    /// What was asked for, and what can be done instead.
    #[error("{0}")]
    Refused(String),
    #[error("{0} is in use by another server")]
    InUse(PathBuf),
    #[error("{what} cannot be {asked}: the database says {found}")]
    Setting {
        what: &'static str,
        asked: String,
        found: String,
    },
    #[error("{what}")]
    Io {
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("the database")]
    Database(#[source] rusqlite::Error),
}

pub type ShareResult<T> = Result<T, ShareError>;

impl ShareError {
    pub(crate) fn io(what: &'static str, source: io::Error) -> Self {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&source.kind()) {
            Self::NoSpace
        } else {
            Self::Io { what, source }
        }
    }
}

impl ShareError {
    pub(crate) fn panicked(error: tokio::task::JoinError) -> Self {
        Self::Io {
            what: "a thread of this server failed",
            source: io::Error::other(error),
        }
    }
}

impl From<rusqlite::Error> for ShareError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        // The memory that a log is shared through is a file as well (SQLITE_IOERR_SHMSIZE).
        const NO_SHARED_MEMORY: i32 = 4874;
        let extended = error.sqlite_error().map(|error| error.extended_code);
        if extended == Some(NO_SHARED_MEMORY) {
            return Self::NoSpace;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::NoSpace,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Database(error),
        }
    }
}
