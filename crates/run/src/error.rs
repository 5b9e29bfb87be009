//! Why a run does not start, or cannot go on.

use crate::safety::{MarkError, Refusal};
use engine::EngineError;
use host::PeerFault;
use std::io;
use std::path::PathBuf;
use units::Nanos;
use workload::SpecError;

/// Nothing was measured; the variant decides the exit code.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The workload contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The workload cannot work on this target or this machine.
    #[error("{0}")]
    Unsuitable(String),
    /// Something would be destroyed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Mark(#[from] MarkError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{what} {}: {source}{}", path.display(), remedy(source))]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "stopped by signal {signal} before anything was measured; what was made for this run is removed, and what was there is Fathom's as before"
    )]
    Interrupted { signal: i32 },
    #[error(
        "this rank was {} late for the common start {start_at}: nothing was measured here; give a --start-at that leaves all ranks the time to prepare",
        Nanos(*late_ns)
    )]
    Late { late_ns: u64, start_at: String },
    #[error(
        "rank {rank} was {} late for the common start: nothing was measured there; give --lead more time",
        Nanos(*late_ns)
    )]
    Missed { rank: u32, late_ns: u64 },
    /// A rank of the group cannot go on.
    #[error("{}", .0.text)]
    Group(PeerFault),
}

impl From<PeerFault> for RunError {
    fn from(fault: PeerFault) -> Self {
        Self::Group(fault)
    }
}

impl RunError {
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }

    /// Exit code as the style document fixes them: 2 for what the user can mend, 1 for failures of
    /// the machine.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Io { source, .. } | Self::Mark(MarkError::Io { source, .. }) => {
                use io::ErrorKind::{
                    InvalidFilename, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
                };
                let mendable = [
                    InvalidFilename,
                    NotADirectory,
                    NotFound,
                    PermissionDenied,
                    ReadOnlyFilesystem,
                ];
                if mendable.contains(&source.kind()) {
                    2
                } else {
                    1
                }
            }
            Self::Spec(_)
            | Self::Unsuitable(_)
            | Self::Refused(_)
            | Self::Mark(_)
            | Self::Engine(_) => 2,
            Self::Interrupted { signal } => sys::stopped_code(*signal),
            Self::Late { .. } | Self::Missed { .. } => PeerFault::LOST,
            Self::Group(fault) => fault.exit_code,
        }
    }
}

fn remedy(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::PermissionDenied {
        "; run as a user who may, or choose another target"
    } else if source.kind() == io::ErrorKind::ReadOnlyFilesystem {
        "; choose a target that can be written"
    } else if source.kind() == io::ErrorKind::NotADirectory {
        "; a part of this path is a file: check the spelling"
    } else if source.kind() == io::ErrorKind::StorageFull {
        "; free space, or give a smaller --file-size"
    } else if source.kind() == io::ErrorKind::FileTooLarge {
        "; give a smaller --file-size, or raise the limit of the shell (`ulimit -f`)"
    } else {
        ""
    }
}
