//! What keeps a load from being run.

use thiserror::Error;

/// Why a load did not start.
#[derive(Debug, Error)]
pub enum LoadError {
    /// What was asked makes no sense, or cannot be done against this target: usage.
    #[error("{0}")]
    Asked(String),
    /// The target, or what the setup needs of it, is not there.
    #[error("{0}")]
    Target(String),
    /// A signal came before anything was measured.
    #[error("stopped by a signal during the setup")]
    Interrupted,
}

impl LoadError {
    pub(crate) fn asked(text: impl Into<String>) -> Self {
        Self::Asked(text.into())
    }
}
