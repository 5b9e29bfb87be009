use crate::storage::codec::{Decoder, Encoder};
use crate::storage::{Bucket, StorageResult, Versioning};
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
}

impl BucketRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Encoder::new();
        out.u8(1);
        out.u64(self.id);
        out.text(&self.owner);
        out.text(&self.region);
        out.u64(self.created_ms);
        out.u8(match self.versioning {
            Versioning::Off => 0,
            Versioning::On => 1,
            Versioning::Suspended => 2,
        });
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> StorageResult<Self> {
        let mut read = Decoder::new(bytes, "the record of a bucket");
        if read.u8()? != 1 {
            return Err(read.wrong());
        }
        let (id, owner, region, created_ms) = (read.u64()?, read.text()?, read.text()?, read.u64()?);
        let versioning = match read.u8()? {
            0 => Versioning::Off,
            1 => Versioning::On,
            2 => Versioning::Suspended,
            _ => return Err(read.wrong()),
        };
        read.end()?;
        Ok(Self { id, owner, region, created_ms, versioning })
    }

    pub(crate) fn named(self, name: &str) -> Bucket {
        Bucket { name: name.to_owned(), owner: self.owner, region: self.region, created_ms: self.created_ms, versioning: self.versioning }
    }
}
