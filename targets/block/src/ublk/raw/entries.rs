//! What is asked of a queue's ring.

use super::buffers::RequestBuffers;
use super::{Plain as _, QueueShape};
use crate::request::{BlockOperation, BlockRequest};
use crate::ublk::serving::UblkData;
use crate::ublk::wire::{IoCommand, registered_as};
use io_uring::types::Fixed;
use io_uring::{IoUring, opcode, squeue};
use std::io;

/// Marks the tag of a request that the kernel has done in a carrier.
pub(super) const CARRIED: u64 = 1 << 16;
/// Places of the files in the ring's table.
const CHAR_DEVICE: Fixed = Fixed(0);
const READS: Fixed = Fixed(1);
const WRITES: Fixed = Fixed(2);

/// A command about a tag, with what is said of its request.
#[inline]
pub(super) fn entry(
    code: u32,
    shape: QueueShape,
    buffers: &RequestBuffers,
    (tag, result): (u16, i32),
) -> squeue::Entry {
    let address = match shape.data {
        UblkData::Copied => buffers.address(usize::from(tag)),
        UblkData::Calls | UblkData::Registered => 0,
    };
    let command = IoCommand {
        queue: shape.queue,
        tag,
        result,
        address,
    };
    let mut bytes = [0; 16];
    bytes.copy_from_slice(command.bytes());
    let entry = opcode::UringCmd16::new(CHAR_DEVICE, code)
        .cmd(bytes)
        .build()
        .user_data(u64::from(tag));
    match shape.data {
        UblkData::Registered => with_address(entry, registered_as(tag)),
        UblkData::Copied | UblkData::Calls => entry,
    }
}

/// The address of an entry, for which the crate has no setter where it is a command.
#[inline]
fn with_address(entry: squeue::Entry, address: u64) -> squeue::Entry {
    /// Of `addr` in `struct io_uring_sqe`.
    const PLACE: usize = 16;
    const { assert!(size_of::<squeue::Entry>() == 64) };
    // SAFETY: an entry is `struct io_uring_sqe`, integers without padding, of which any bytes are a value.
    let mut bytes: [u8; 64] = unsafe { std::mem::transmute(entry) };
    bytes[PLACE..PLACE + 8].copy_from_slice(&address.to_ne_bytes());
    // SAFETY: as above.
    unsafe { std::mem::transmute(bytes) }
}

/// The rest of a read or write in a carrier, of which so many bytes are done.
#[inline]
pub(super) fn carrying(tag: u16, request: &BlockRequest, done: u32) -> squeue::Entry {
    // The registered pages begin at the address 0.
    let address = std::ptr::without_provenance_mut(done as usize);
    let offset = request.offset + u64::from(done);
    let length = u32::try_from(request.length).unwrap_or(u32::MAX) - done;
    let entry = if request.operation == BlockOperation::Read {
        opcode::ReadFixed::new(READS, address, length, tag)
            .offset(offset)
            .build()
    } else {
        opcode::WriteFixed::new(WRITES, address, length, tag)
            .offset(offset)
            .build()
    };
    entry.user_data(CARRIED | u64::from(tag))
}

/// A ring for one thread that submits and waits; the kernel's own work for it is done when it waits.
/// It has room for an entry of each tag, and for one that watches.
pub(super) fn build(depth: u16) -> io::Result<IoUring> {
    let entries = (u32::from(depth) + 1).next_power_of_two();
    let mut builder = IoUring::builder();
    builder
        .setup_cqsize(2 * entries)
        .setup_single_issuer()
        .setup_coop_taskrun()
        .setup_defer_taskrun();
    match builder.build(entries) {
        // Linux 6.0 has no deferred work.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::builder()
            .setup_cqsize(2 * entries)
            .setup_coop_taskrun()
            .build(entries),
        built => built,
    }
}
