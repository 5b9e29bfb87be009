//! Where a worker and its operations stand.

use crate::source::Drawn;
use engine::Op;

#[derive(Clone, Copy)]
pub(super) struct InFlight {
    pub(super) drawn: Drawn,
    pub(super) intended: u64,
    pub(super) issued: u64,
}

pub(super) const IDLE: InFlight = InFlight {
    drawn: Drawn {
        op: Op::Read,
        file: 0,
        offset: 0,
        len: 0,
    },
    intended: 0,
    issued: 0,
};

/// What a running worker does next.
pub(super) enum NextDraw {
    Operation {
        drawn: Drawn,
        intended: u64,
    },
    /// Nothing before this time.
    At(u64),
    /// Every block of a complete order was used, or every byte that was asked for.
    Complete,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopStage {
    Running,
    /// At the stonewall, until everybody has said what it has done.
    Waiting,
    Flushing,
    Draining,
}
