//! Where the bytes of a device are.

mod file;
mod memory;
mod null;
mod pages;
mod stable;

pub use file::FileBackend;
pub use memory::MemoryBackend;
pub use null::NullBackend;
pub use pages::RoomKeeper;
pub use stable::LossKeeper;

use crate::request::{BlockRequest, DataPlace, DeviceResult, Errno};
use std::fs::File;
use std::io;
use std::ops::Range;

/// The bytes of a device.
///
/// Every call is made by the thread of a queue, by many at once, and has ended when it returns: what
/// makes a request wait is the [`Lane`](crate::Lane) before it, which has no need of the bytes. The
/// caller has seen to it that extents lie inside the device. Concurrent calls for the same bytes
/// leave either's, in any mixture, as on a disk.
pub trait BlockBackend: Send + Sync {
    /// Bytes of the device.
    fn size(&self) -> u64;

    fn read(&self, offset: u64, into: &mut [u8]) -> DeviceResult;

    fn write(&self, offset: u64, from: &[u8], keep: Keep) -> DeviceResult;

    /// Whether [`BlockBackend::pass`] does this read or write now.
    fn passes(&self, _request: &BlockRequest) -> bool {
        false
    }

    /// Does a read or write whose data go straight between the device and a file, and are copied once.
    fn pass(&self, _request: &BlockRequest, _place: DataPlace<'_>) -> DeviceResult {
        Err(Errno::EOPNOTSUPP)
    }

    /// The files in which the kernel may read and write the bytes itself, at the offsets of the device.
    ///
    /// # Errors
    /// They cannot be opened.
    fn carriers(&self) -> io::Result<Option<Carriers>> {
        Ok(None)
    }

    /// A read or write begins that the kernel does in a carrier; `false` where this one cannot be
    /// done so.
    fn carry(&self, _request: &BlockRequest) -> bool {
        false
    }

    /// What [`BlockBackend::carry`] began has ended, well or not.
    fn carried(&self, _request: &BlockRequest) {}

    /// Makes all that was written stable.
    fn flush(&self) -> DeviceResult;

    /// The bytes read as zeros afterwards.
    fn zero(&self, extent: Range<u64>, room: ZeroRoom, keep: Keep) -> DeviceResult;

    /// Where the piece that begins at `offset` ends, at most at `end`, and whether it has room.
    fn allocated(&self, offset: u64, end: u64) -> (u64, bool);

    /// Whether its bytes are kept where they outlive the server: what is cut off there is gone for
    /// everybody.
    fn is_kept(&self) -> bool {
        false
    }

    /// Whether a flush has failed, so that what was written before may be lost for good.
    fn has_lost(&self) -> bool {
        false
    }

    /// Why it has the size that it has and takes no other one.
    fn keeps_size(&self) -> Option<&'static str> {
        None
    }

    /// Gives the device another size.
    fn resize(&self, bytes: u64) -> DeviceResult;

    /// Nothing more is asked of it.
    fn finish(&self) {}

    /// Loses its power: what is left of what was not stable is decided by the text. Devices without
    /// a volatile cache lose nothing and cannot.
    ///
    /// # Errors
    /// Why it cannot, or what is wrong with the text.
    fn crash(&self, _choice: &str) -> Result<String, String> {
        Err("the device has no volatile cache; serve it with --volatile".to_owned())
    }
}

/// Where the kernel finds what is read and leaves what is written.
#[derive(Debug)]
pub struct Carriers {
    pub reads: File,
    pub writes: File,
}

/// How long a change must last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Until the next flush it may be lost.
    Cached,
    /// It is stable when the call returns.
    Stable,
}

/// What becomes of the room of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroRoom {
    Given,
    Kept,
}
