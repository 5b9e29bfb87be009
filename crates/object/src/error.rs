//! What keeps a load from being run.

use host::PeerFault;
use thiserror::Error;
use units::Nanos;

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
    /// Other ranks cannot take part, or are lost.
    #[error("{}", .0.text)]
    Group(PeerFault),
    /// The others began without this rank.
    #[error("rank {rank} came {} after the common start: give a longer --lead", Nanos(*late_ns))]
    Missed { rank: u32, late_ns: u64 },
}

impl From<PeerFault> for LoadError {
    fn from(fault: PeerFault) -> Self {
        Self::Group(fault)
    }
}

impl LoadError {
    /// The exit code of a load that did not start.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Asked(_) => 2,
            Self::Target(_) => 1,
            Self::Interrupted => sys::caught_signal().map_or(130, sys::CaughtSignal::exit_code),
            Self::Group(fault) => fault.exit_code,
            Self::Missed { .. } => PeerFault::LOST,
        }
    }

    pub(crate) fn asked(text: impl Into<String>) -> Self {
        Self::Asked(text.into())
    }
}
