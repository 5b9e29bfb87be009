//! A machine on which something is measured: facts about it, and the session in which works that
//! start together are observed.
//!
//! A [`Session`] is opened by whoever starts the works. It owns what is seen over a window of time:
//! the edges of warm-up and intervals, the series, the counters of this process, of the machine, of
//! devices and of the target's own process. The works hand over their live counters and give back
//! only what is theirs. Deliberately absent: what is measured, and judging.
#![forbid(unsafe_code)]

mod account;
mod context;
mod event;
mod machine;
mod run_queue;
mod series;
mod session;

pub use context::{CommonStart, Context, PeerFault, Peers, SnapshotRule, StartBy, fresh_run};
pub use event::{Event, NoWatch, Watch};
pub use machine::{
    CgroupThrottle, CpuTicks, CpuTimes, DiskCounters, KernelFiles, LinkCounters, Machine,
    MemoryPressure, MemoryRoom, Observed, Pressure, ProcessIo, Reading, Stall, Stalls,
};
pub use run_queue::{RunQueueWait, RunQueueWatch};
pub use session::{Counted, Measured, Observation, Participant, Session};
