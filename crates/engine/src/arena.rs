//! One aligned, zeroed block of memory a worker, cut into equal buffers.

use crate::{EngineError, Slot};
use std::ptr::NonNull;

/// Buffers of `stride` bytes each, page-aligned, owned until dropped.
pub struct Arena {
    base: NonNull<u8>,
    bytes: usize,
    stride: usize,
    len: usize,
}

// SAFETY: the arena owns its mapping exclusively; moving it to another thread moves the only
// reference.
unsafe impl Send for Arena {}

impl Arena {
    /// Reserves and touches `slots` buffers of `len` bytes, so that the run meets no page fault.
    /// Pages land on the NUMA node that the calling thread's memory policy names.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(slots: u32, len: usize) -> Result<Self, EngineError> {
        let page = sys::page_size();
        let stride = len.max(1).next_multiple_of(page.min(4096));
        let bytes = (stride * slots.max(1) as usize).next_multiple_of(page);
        let base =
            sys::map_anonymous(bytes).map_err(|source| EngineError::Memory { bytes, source })?;
        let mut arena = Self {
            base,
            bytes,
            stride,
            len,
        };
        for slot in 0..slots {
            arena.buffer(slot).fill(0xA5);
        }
        Ok(arena)
    }

    /// The buffer of a slot.
    #[inline]
    pub fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let start = slot as usize * self.stride;
        assert!(
            start + self.len <= self.bytes,
            "slot {slot} is beyond the arena"
        );
        // SAFETY: the range lies inside the mapping (asserted) and `&mut self` makes it the only
        // reference.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(start), self.len) }
    }

    /// Address of a slot's buffer, for handing to the kernel.
    #[inline]
    pub(crate) fn address(&self, slot: Slot) -> *mut u8 {
        let start = slot as usize * self.stride;
        debug_assert!(
            start + self.len <= self.bytes,
            "slot {slot} is beyond the arena"
        );
        // SAFETY: slots are below the count the arena was made for, so the offset stays inside the
        // mapping.
        unsafe { self.base.as_ptr().add(start) }
    }

    /// Base and length of the whole mapping.
    pub(crate) fn whole(&self) -> (*mut u8, usize) {
        (self.base.as_ptr(), self.bytes)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: base and bytes come from `map_anonymous` and are unmapped once, here.
        unsafe { sys::unmap(self.base, self.bytes) };
    }
}
