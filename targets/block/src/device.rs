//! A device as its front ends share it.

use crate::backend::BlockBackend;
use crate::lane::Lane;
use crate::request::{BlockOperation, BlockRequest, Buffer, DeviceResult, Errno};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a device tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Offsets and lengths are multiples of it: a power of two.
    pub block: u32,
    pub read_only: bool,
}

/// One device. Each queue or connection has a [`Lane`] to it.
pub struct ServedDevice {
    backend: Box<dyn BlockBackend>,
    geometry: Geometry,
    requests: AtomicU64,
    clock: fn() -> u64,
}

impl ServedDevice {
    pub fn new(backend: Box<dyn BlockBackend>, geometry: Geometry) -> Self {
        Self {
            backend,
            geometry,
            requests: AtomicU64::new(0),
            clock: sys::monotonic_ns,
        }
    }

    /// Bytes of the device.
    pub fn size(&self) -> u64 {
        self.backend.size()
    }

    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// A way to the device for one thread, on which at most `depth` requests are under way at once.
    pub fn lane(self: &Arc<Self>, depth: u16) -> Lane {
        Lane::new(Arc::clone(self), depth)
    }

    /// Where the piece that begins at `offset` ends, at most at `end`, and whether it has room.
    pub fn allocated(&self, offset: u64, end: u64) -> (u64, bool) {
        self.backend.allocated(offset, end)
    }

    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// The number of the next request.
    pub(crate) fn number(&self) -> u64 {
        self.requests.fetch_add(1, Relaxed)
    }

    /// Whether a request can be done at all.
    pub(crate) fn admits(&self, request: &BlockRequest) -> DeviceResult {
        if request.operation == BlockOperation::Flush {
            return Ok(());
        }
        let block = u64::from(self.geometry.block);
        if request.operation.changes() && self.geometry.read_only {
            return Err(Errno::EPERM);
        }
        if !request.offset.is_multiple_of(block) || !request.length.is_multiple_of(block) {
            return Err(Errno::EINVAL);
        }
        let end = request.offset.checked_add(request.length);
        if end.is_some_and(|end| end <= self.size()) {
            Ok(())
        } else if request.operation == BlockOperation::Read {
            Err(Errno::EINVAL)
        } else {
            Err(Errno::ENOSPC)
        }
    }

    /// Does what was admitted.
    #[inline]
    pub(crate) fn perform(&self, request: &BlockRequest, buffer: &mut Buffer<'_>) -> DeviceResult {
        let BlockRequest {
            offset, keep_room, ..
        } = *request;
        match (request.operation, buffer) {
            (BlockOperation::Read, Buffer::Takes(into)) => return self.backend.read(offset, into),
            (BlockOperation::Flush, _) => return self.backend.flush(),
            (BlockOperation::Write, Buffer::Brings(from)) => self.backend.write(offset, from)?,
            (BlockOperation::Read | BlockOperation::Write, _) => return Err(Errno::EINVAL),
            (BlockOperation::Trim, _) => self.backend.zero(request.extent(), false)?,
            (BlockOperation::Zero, _) => self.backend.zero(request.extent(), keep_room)?,
        }
        if request.fua {
            self.backend.flush()
        } else {
            Ok(())
        }
    }
}
