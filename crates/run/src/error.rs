//! Why a run does not start, or cannot go on.

use crate::safety::{MarkError, Refusal};
use engine::EngineError;
use std::io;
use std::path::PathBuf;
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
    #[error("{what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("stopped while preparing the target; what was written of it is removed or marked as unfinished")]
    Interrupted,
}

impl RunError {
    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }

    /// Exit code as the style document fixes them: 2 for what the user can mend, 1 for failures of the machine.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Spec(_) | Self::Unsuitable(_) | Self::Refused(_) | Self::Mark(_) | Self::Engine(_) => 2,
            Self::Io { source, .. } if matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => 2,
            Self::Io { .. } => 1,
            Self::Interrupted => 130,
        }
    }
}
