//! A block device whose truth is known: what the instrument says of it can be held against what it
//! was told to do, and against what it did.
//!
//! Three floors. A [`BlockBackend`] has the bytes. A [`ServedDevice`] stands before it with what
//! is done to requests on the way; each thread has a [`Lane`] to it, on which requests are submitted
//! and end at once or later. A front end speaks with those who ask: [`nbd`] over
//! sockets, [`ublk`] with the kernel, which makes a device of it.
//!
//! Absent on purpose: anything of the measuring side, several owners, transport over a network that
//! is not this machine's.
#![deny(unsafe_code)]

mod backend;
pub mod control;
mod device;
mod journal;
mod lane;
mod log;
mod lookout;
mod mischief;
pub mod nbd;
mod orders;
mod own;
mod replaced;
mod request;
mod setting;
mod socket;
#[cfg(test)]
mod testing;
pub mod ublk;
mod volatile;

pub use backend::{
    BlockBackend, FileBackend, Keep, LossKeeper, MemoryBackend, NullBackend, RoomKeeper, ZeroRoom,
};
pub use device::{Geometry, ServedDevice, SizeKeeper};
pub use journal::{CrashJournal, CrashStates, JournalFlaw};
pub use lane::{Lane, Reaped, Submitted};
pub use log::{DeviceLog, LogEnd, LogEntry, Treated};
pub use misbehave::{MisbehaveError, Misbehaviour, Vocabulary};
pub use orders::OrdersFile;
pub use own::OwnName;
pub use request::{BlockOperation, BlockRequest, Buffer, DataPlace, DeviceResult, Errno};
pub use setting::VOCABULARY;
pub use socket::SocketError;
pub use volatile::VolatileBackend;
