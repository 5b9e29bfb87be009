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
    #[error("stopped by a signal during the setup{left}")]
    Interrupted {
        /// What is left on the server, where something is.
        left: String,
    },
    /// Other ranks cannot take part, or are lost.
    #[error("{}", .0.text)]
    Group(PeerFault),
    /// What a load is made of cannot be started, after the common start.
    #[error(
        "a thread of the load cannot be started: {why}; raise `ulimit -u`, or give fewer --users{left}"
    )]
    Threads {
        why: String,
        /// What is left on the server, where something is.
        left: String,
    },
    /// The others began without this rank.
    #[error("rank {rank} came {} after the common start: give a longer --lead{left}", Nanos(*late_ns))]
    Missed {
        rank: u32,
        late_ns: u64,
        /// What is left on the server, where something is.
        left: String,
    },
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
            Self::Target(_) | Self::Threads { .. } => 1,
            Self::Interrupted { .. } => {
                sys::caught_signal().map_or(130, sys::CaughtSignal::exit_code)
            }
            Self::Group(fault) => fault.exit_code,
            Self::Missed { .. } => PeerFault::LOST,
        }
    }

    /// Whether the others have begun, and meet this rank again when they have ended.
    pub(crate) fn comes_after_the_start(&self) -> bool {
        match self {
            Self::Missed { .. } | Self::Threads { .. } => true,
            Self::Asked(_) | Self::Target(_) | Self::Interrupted { .. } | Self::Group(_) => false,
        }
    }

    /// The same, with what could not be removed of what was made.
    pub(crate) fn with_left(self, notices: &[String]) -> Self {
        if notices.is_empty() {
            return self;
        }
        let left = format!("; {}", notices.join("; "));
        match self {
            Self::Asked(text) => Self::Asked(text + &left),
            Self::Target(text) => Self::Target(text + &left),
            Self::Interrupted { .. } => Self::Interrupted { left },
            Self::Group(fault) => Self::Group(PeerFault {
                text: fault.text + &left,
                ..fault
            }),
            Self::Threads { why, .. } => Self::Threads { why, left },
            Self::Missed { rank, late_ns, .. } => Self::Missed {
                rank,
                late_ns,
                left,
            },
        }
    }

    pub(crate) fn asked(text: impl Into<String>) -> Self {
        Self::Asked(text.into())
    }
}
