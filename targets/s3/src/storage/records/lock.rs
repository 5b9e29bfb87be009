//! Locks as bytes. They stand last in a record, and a record without one is as it was before there
//! were locks.

use crate::storage::codec::{Decoder, Encoder};
use crate::storage::{
    BucketLock, DefaultRetention, ObjectLock, Retention, RetentionMode, RetentionPeriod,
    StorageResult,
};

fn mode_code(mode: RetentionMode) -> u8 {
    match mode {
        RetentionMode::Governance => 1,
        RetentionMode::Compliance => 2,
    }
}

fn decode_mode(read: &Decoder<'_>, code: u8) -> StorageResult<RetentionMode> {
    match code {
        1 => Ok(RetentionMode::Governance),
        2 => Ok(RetentionMode::Compliance),
        _ => Err(read.wrong()),
    }
}

/// A mode or 0, the end of a retention, and 0, 1 or 2 for a hold that was never said, is off or on.
pub(super) fn encode_lock(out: &mut Encoder, lock: &ObjectLock) {
    out.u8(lock
        .retention
        .map_or(0, |retention| mode_code(retention.mode)));
    out.u64(lock.retention.map_or(0, |retention| retention.until_ms));
    out.u8(match lock.hold {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    });
}

pub(super) fn decode_lock(read: &mut Decoder<'_>) -> StorageResult<ObjectLock> {
    let (code, until_ms) = (read.u8()?, read.u64()?);
    let retention = match code {
        0 => None,
        code => Some(Retention {
            mode: decode_mode(read, code)?,
            until_ms,
        }),
    };
    let hold = match read.u8()? {
        0 => None,
        1 => Some(false),
        2 => Some(true),
        _ => return Err(read.wrong()),
    };
    Ok(ObjectLock { retention, hold })
}

/// A mode or 0, then 1 for days or 2 for years, and their number.
pub(super) fn encode_bucket_lock(out: &mut Encoder, lock: &BucketLock) {
    let Some(DefaultRetention { mode, period }) = lock.default else {
        return out.u8(0);
    };
    out.u8(mode_code(mode));
    let (unit, count) = match period {
        RetentionPeriod::Days(days) => (1, days),
        RetentionPeriod::Years(years) => (2, years),
    };
    out.u8(unit);
    out.u32(count);
}

pub(super) fn decode_bucket_lock(read: &mut Decoder<'_>) -> StorageResult<BucketLock> {
    let code = read.u8()?;
    if code == 0 {
        return Ok(BucketLock::default());
    }
    let mode = decode_mode(read, code)?;
    let period = match (read.u8()?, read.u32()?) {
        (1, days) => RetentionPeriod::Days(days),
        (2, years) => RetentionPeriod::Years(years),
        _ => return Err(read.wrong()),
    };
    Ok(BucketLock {
        default: Some(DefaultRetention { mode, period }),
    })
}
