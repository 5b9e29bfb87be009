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
mod device;
mod lane;
pub mod nbd;
mod request;
pub mod ublk;

pub use backend::{BlockBackend, FileBackend, MemoryBackend, NullBackend};
pub use device::{Geometry, ServedDevice};
pub use lane::{Lane, Reaped, Submitted};
pub use request::{BlockOperation, BlockRequest, Buffer, DeviceResult, Errno};
