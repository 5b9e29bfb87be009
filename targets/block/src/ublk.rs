//! The ublk front: a block device of the kernel whose requests this program does.
//!
//! Two processes. The supervisor makes the device, gives the commands and holds the memory; the
//! server, its child, has the queues, a thread each. The child may be killed at any time: the
//! kernel keeps the requests, the supervisor starts another child over the same memory, and what was
//! acknowledged is there. Everything that talks to the kernel through shared memory is in `raw`.

mod control;
mod error;
mod estate;
mod halt;
mod node;
mod queue;
mod raw;
mod server;
mod serving;
mod standing;
mod supervisor;
mod wire;

pub use error::UblkError;
pub use estate::{Estate, Inherited, StartSign, inherited_control};
pub use server::{serve_queues, size_keeper};
pub use serving::{UblkData, UblkPriority, UblkServing, UblkStarted};
pub use standing::{UblkServer, UblkStanding, features, standing, stop_standing};
pub use supervisor::supervise;
