use super::lock::{decode_bucket_lock, encode_bucket_lock};
use crate::storage::codec::{Decoder, Encoder};
use crate::storage::{Bucket, BucketLock, StorageResult, Versioning};
use bytes::Bytes;

/// A bucket under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketRecord {
    /// Under which the bucket's rows lie; another bucket of the same name has another one.
    pub(crate) id: u64,
    pub(crate) owner: String,
    pub(crate) region: String,
    pub(crate) created_ms: u64,
    pub(crate) versioning: Versioning,
    pub(crate) lock: Option<BucketLock>,
}

impl BucketRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Encoder::new();
        // Without a lock it is as it was before there were any.
        out.u8(if self.lock.is_some() { 2 } else { 1 });
        out.u64(self.id);
        out.text(&self.owner);
        out.text(&self.region);
        out.u64(self.created_ms);
        out.u8(match self.versioning {
            Versioning::Off => 0,
            Versioning::On => 1,
            Versioning::Suspended => 2,
        });
        if let Some(lock) = &self.lock {
            encode_bucket_lock(&mut out, lock);
        }
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> StorageResult<Self> {
        let mut read = Decoder::new(bytes, "the record of a bucket");
        let form = read.u8()?;
        if !(1..=2).contains(&form) {
            return Err(read.wrong());
        }
        let (id, owner, region, created_ms) =
            (read.u64()?, read.text()?, read.text()?, read.u64()?);
        let versioning = match read.u8()? {
            0 => Versioning::Off,
            1 => Versioning::On,
            2 => Versioning::Suspended,
            _ => return Err(read.wrong()),
        };
        let lock = if form == 2 {
            Some(decode_bucket_lock(&mut read)?)
        } else {
            None
        };
        read.end()?;
        Ok(Self {
            id,
            owner,
            region,
            created_ms,
            versioning,
            lock,
        })
    }

    pub(crate) fn named(self, name: &str) -> Bucket {
        let Self {
            owner,
            region,
            created_ms,
            versioning,
            lock,
            ..
        } = self;
        Bucket {
            name: name.to_owned(),
            owner,
            region,
            created_ms,
            versioning,
            lock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{DefaultRetention, RetentionMode, RetentionPeriod};

    #[test]
    fn a_bucket_reads_back_and_one_without_a_lock_is_as_before_there_were_any() {
        let default = |mode, period| {
            Some(BucketLock {
                default: Some(DefaultRetention { mode, period }),
            })
        };
        let days = default(RetentionMode::Governance, RetentionPeriod::Days(3));
        let years = default(RetentionMode::Compliance, RetentionPeriod::Years(2));
        for (lock, form) in [
            (None, 1),
            (Some(BucketLock::default()), 2),
            (days, 2),
            (years, 2),
        ] {
            let (owner, region) = ("o".to_owned(), "r".to_owned());
            let record = BucketRecord {
                id: 7,
                owner,
                region,
                created_ms: 8,
                versioning: Versioning::On,
                lock,
            };
            let bytes = record.encode();
            assert_eq!(BucketRecord::decode(&bytes).unwrap(), record);
            assert_eq!(bytes[0], form);
            assert!((0..bytes.len()).all(|cut| BucketRecord::decode(&bytes[..cut]).is_err()));
        }
    }
}
