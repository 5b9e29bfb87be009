//! Where the data of requests is while they are done.

use std::io;
use std::ptr::NonNull;

/// Page-aligned buffers of equal length, which take memory where they are used.
pub(super) struct RequestBuffers {
    base: NonNull<u8>,
    stride: usize,
    bytes: usize,
}

// SAFETY: the buffers own their mapping exclusively.
unsafe impl Send for RequestBuffers {}

impl RequestBuffers {
    pub(super) fn new(count: usize, stride: usize) -> io::Result<Self> {
        let stride = stride.next_multiple_of(sys::page_size());
        let bytes = count * stride;
        Ok(Self {
            base: sys::map_anonymous(bytes)?,
            stride,
            bytes,
        })
    }

    pub(super) fn address(&self, slot: usize) -> u64 {
        debug_assert!((slot + 1) * self.stride <= self.bytes, "no such buffer");
        self.base.as_ptr() as u64 + (slot * self.stride) as u64
    }

    pub(super) fn slice(&mut self, slot: usize, bytes: usize) -> &mut [u8] {
        assert!(
            bytes <= self.stride && (slot + 1) * self.stride <= self.bytes,
            "{bytes} bytes do not fit into buffer {slot}"
        );
        // SAFETY: inside the mapping (asserted), and `&mut self` makes it the only reference; the
        // kernel touches the buffer only while no request of its tag is with us.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(slot * self.stride), bytes) }
    }
}

impl Drop for RequestBuffers {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once; the ring that names it is gone before.
        unsafe { sys::unmap(self.base, self.bytes) };
    }
}
