//! What is known of a bucket.

use super::BucketLock;

/// Whether a bucket keeps the versions that are overwritten or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Versioning {
    #[default]
    Off,
    On,
    /// New objects replace the version `null`; older versions stay.
    Suspended,
}

/// What a bucket is made with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewBucket {
    /// The access key of the owner.
    pub owner: String,
    pub region: String,
    /// With one the bucket has versions from the start.
    pub lock: Option<BucketLock>,
    pub documents: Vec<(BucketDocument, Vec<u8>)>,
}

/// One bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    pub name: String,
    /// The access key of the owner.
    pub owner: String,
    pub region: String,
    /// Milliseconds since 1970 UTC.
    pub created_ms: u64,
    pub versioning: Versioning,
    pub lock: Option<BucketLock>,
}

/// A document that the protocol keeps with a bucket; its bytes are the protocol's matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BucketDocument {
    Tags,
    Cors,
    Policy,
    Lifecycle,
    PublicAccessBlock,
    Ownership,
    Notification,
    Logging,
    Encryption,
    ObjectLock,
    Acl,
}

impl BucketDocument {
    /// As what it is kept.
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Tags => 1,
            Self::Cors => 2,
            Self::Policy => 3,
            Self::Lifecycle => 4,
            Self::PublicAccessBlock => 5,
            Self::Ownership => 6,
            Self::Notification => 7,
            Self::Logging => 8,
            Self::Encryption => 9,
            Self::ObjectLock => 10,
            Self::Acl => 11,
        }
    }
}
