//! What the tests of this crate share.

use crate::{
    BlockOperation, BlockRequest, Buffer, DeviceResult, Geometry, Lane, MemoryBackend, Reaped,
    ServedDevice, Submitted, control,
};
use std::sync::Arc;

pub(crate) fn memory(bytes: u64) -> Arc<ServedDevice> {
    over(Box::new(MemoryBackend::new(bytes).unwrap()))
}

pub(crate) fn over(backend: Box<dyn crate::BlockBackend>) -> Arc<ServedDevice> {
    let geometry = Geometry {
        block: 1,
        read_only: false,
    };
    Arc::new(ServedDevice::new(backend, geometry))
}

pub(crate) fn told(device: &ServedDevice, line: &str) -> String {
    control::obey(device, line, |_| Err("none".to_owned())).unwrap()
}

/// Waits until a request that was submitted has ended.
pub(crate) fn ended(lane: &mut Lane, submitted: Submitted) -> DeviceResult {
    match submitted {
        Submitted::Done(outcome) => outcome,
        Submitted::Held => {
            let mut out: Vec<Reaped> = Vec::new();
            while out.is_empty() {
                lane.reap(&mut out);
                std::thread::yield_now();
            }
            out[0].outcome
        }
    }
}

pub(crate) fn write(lane: &mut Lane, offset: u64, bytes: &[u8]) -> DeviceResult {
    let request = BlockRequest::new(BlockOperation::Write, offset, bytes.len() as u64);
    let submitted = lane.submit(0, &request, Buffer::Brings(bytes));
    ended(lane, submitted)
}

pub(crate) fn read(lane: &mut Lane, offset: u64, length: usize) -> Result<Vec<u8>, crate::Errno> {
    let mut bytes = vec![0xee; length];
    let request = BlockRequest::new(BlockOperation::Read, offset, length as u64);
    let submitted = lane.submit(0, &request, Buffer::Takes(&mut bytes));
    ended(lane, submitted).map(|()| bytes)
}

pub(crate) fn other(lane: &mut Lane, request: &BlockRequest) -> DeviceResult {
    let submitted = lane.submit(0, request, Buffer::Nothing);
    ended(lane, submitted)
}
