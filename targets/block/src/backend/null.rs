//! A device that keeps nothing: the floor of every front end.

use super::{BlockBackend, Carriers, Keep, ZeroRoom};
use crate::request::{BlockRequest, DeviceResult};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Reads give zeros, and writes are forgotten.
#[derive(Debug)]
pub struct NullBackend {
    size: AtomicU64,
}

impl NullBackend {
    pub fn new(size: u64) -> Self {
        Self {
            size: AtomicU64::new(size),
        }
    }
}

impl BlockBackend for NullBackend {
    fn size(&self) -> u64 {
        self.size.load(Relaxed)
    }

    fn read(&self, _offset: u64, into: &mut [u8]) -> DeviceResult {
        into.fill(0);
        Ok(())
    }

    fn write(&self, _offset: u64, _from: &[u8], _keep: Keep) -> DeviceResult {
        Ok(())
    }

    fn carriers(&self) -> io::Result<Option<Carriers>> {
        let writes = File::options().write(true).open("/dev/null")?;
        let reads = File::open("/dev/zero")?;
        Ok(Some(Carriers { reads, writes }))
    }

    fn carry(&self, _request: &BlockRequest) -> bool {
        true
    }

    fn flush(&self) -> DeviceResult {
        Ok(())
    }

    fn zero(&self, _extent: Range<u64>, _room: ZeroRoom, _keep: Keep) -> DeviceResult {
        Ok(())
    }

    fn allocated(&self, _offset: u64, end: u64) -> (u64, bool) {
        (end, false)
    }

    fn resize(&self, bytes: u64) -> DeviceResult {
        self.size.store(bytes, Relaxed);
        Ok(())
    }
}
