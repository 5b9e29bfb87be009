//! What access control lists add to keys and policies.
//!
//! A list counts where the bucket's ownership says so, and nowhere else. Who owns a bucket gets
//! nothing of it by a list: only keys that may do everything make buckets, and one that is no such
//! key any more has what the file of the keys leaves it.

use super::operations::MAKERS;
use super::{Access, Deed};
use crate::acl::Ownership;
use crate::documents;
use crate::storage::records::read_bucket_acl;
use crate::storage::{Acl, BucketDocument, Public, Right, StorageError};

/// Whose list decides of an action, and the right that it takes.
enum Asks {
    OfBucket(Right),
    OfObject(Right),
    /// To write into the bucket with a key, whose own the upload is then.
    ToWriteAsKey,
    /// To delete what one has written oneself.
    ToDeleteOwn,
}

/// As AWS documents the actions that each right stands for; of all others no list says anything.
fn asks(action: &str, makes: bool) -> Option<Asks> {
    match action {
        "s3:ListBucket" | "s3:ListBucketVersions" | "s3:ListBucketMultipartUploads" => {
            Some(Asks::OfBucket(Right::Read))
        }
        "s3:PutObject" => Some(Asks::OfBucket(Right::Write)),
        "s3:AbortMultipartUpload" | "s3:ListMultipartUploadParts" => Some(Asks::ToWriteAsKey),
        // The list that something is made with is said by who owns it then.
        "s3:PutObjectAcl" if makes => Some(Asks::ToWriteAsKey),
        "s3:DeleteObject" => Some(Asks::ToDeleteOwn),
        "s3:GetBucketAcl" => Some(Asks::OfBucket(Right::ReadAcl)),
        "s3:PutBucketAcl" => Some(Asks::OfBucket(Right::WriteAcl)),
        "s3:GetObject" | "s3:GetObjectVersion" => Some(Asks::OfObject(Right::Read)),
        "s3:GetObjectAcl" | "s3:GetObjectVersionAcl" => Some(Asks::OfObject(Right::ReadAcl)),
        "s3:PutObjectAcl" | "s3:PutObjectVersionAcl" => Some(Asks::OfObject(Right::WriteAcl)),
        _ => None,
    }
}

/// The lists of a bucket in which they count.
struct Lists<'a> {
    access: &'a Access,
    bucket: &'a str,
    owner: String,
    public: Public,
}

impl Lists<'_> {
    fn give(&self, acl: Option<&Acl>, asker: Option<&str>, right: Right) -> bool {
        let owns_bucket = asker == Some(self.owner.as_str());
        // Grants to all are the bucket owner's, too, but by no key.
        let asker = asker.filter(|_| !owns_bucket);
        acl.is_some_and(|acl| acl.gives(asker, right, self.public))
    }

    fn of_bucket(&self, asker: Option<&str>, right: Right) -> bool {
        let kept = self.access.bucket_acl(self.bucket);
        self.give(kept.as_ref(), asker, right)
    }

    fn of_object(&self, asker: Option<&str>, key: &str, deed: Deed<'_>, right: Right) -> bool {
        match self.access.store.head(self.bucket, key, deed.version) {
            Ok(found) => self.give(found.content.acl.as_ref(), asker, right),
            // What is not there is told to those who may see what is.
            Err(
                StorageError::NoSuchKey
                | StorageError::NoSuchVersion
                | StorageError::DeleteMarker { .. },
            ) => right == Right::Read && self.of_bucket(asker, Right::Read),
            Err(_) => false,
        }
    }

    fn own(&self, asker: &str, key: &str) -> bool {
        match self.access.store.head(self.bucket, key, None) {
            Ok(found) => found.content.acl.is_some_and(|acl| acl.owner == asker),
            Err(_) => false,
        }
    }
}

impl Access {
    /// Whose the objects of a bucket are. What cannot be read turns lists off.
    pub(crate) fn ownership(&self, bucket: &str) -> Ownership {
        match self.store.document(bucket, BucketDocument::Ownership) {
            Ok(Some(text)) => documents::ownership(&text),
            Ok(None) => self.ownership,
            Err(_) => Ownership::BucketOwnerEnforced,
        }
    }

    /// The list of a bucket, where it was given one that can be read.
    pub(crate) fn bucket_acl(&self, bucket: &str) -> Option<Acl> {
        let kept = self.store.document(bucket, BucketDocument::Acl).ok()??;
        read_bucket_acl(&kept).ok()
    }

    fn lists<'a>(&'a self, bucket: &'a str) -> Option<Lists<'a>> {
        if self.ownership(bucket) == Ownership::BucketOwnerEnforced {
            return None;
        }
        let owner = self.store.bucket(bucket).ok()?.owner;
        let block = self
            .store
            .document(bucket, BucketDocument::PublicAccessBlock)
            .ok()?;
        let ignored = block.is_some_and(|text| documents::ignores_public_lists(&text));
        let public = if ignored {
            Public::Ignored
        } else {
            Public::Counts
        };
        Some(Lists {
            access: self,
            bucket,
            owner,
            public,
        })
    }

    /// Whether a list gives this key, or nobody known, one action of what it asks for.
    pub(super) fn is_listed(&self, asker: Option<&str>, action: &str, deed: Deed<'_>) -> bool {
        let Some((bucket, key)) = deed.place else {
            return false;
        };
        let Some(asks) = asks(action, MAKERS.contains(&deed.operation)) else {
            return false;
        };
        let Some(lists) = self.lists(bucket) else {
            return false;
        };
        match (asks, key, asker) {
            (Asks::OfBucket(right), _, _) => lists.of_bucket(asker, right),
            (Asks::OfObject(right), Some(key), _) => lists.of_object(asker, key, deed, right),
            (Asks::ToWriteAsKey, _, Some(_)) => lists.of_bucket(asker, Right::Write),
            (Asks::ToDeleteOwn, Some(key), Some(asker)) => {
                lists.of_bucket(Some(asker), Right::Write) && lists.own(asker, key)
            }
            (Asks::OfObject(_) | Asks::ToWriteAsKey | Asks::ToDeleteOwn, _, _) => false,
        }
    }

    /// Whether a list could let this key delete something in a bucket.
    pub(super) fn lists_deletion(&self, asker: Option<&str>, bucket: &str) -> bool {
        asker.is_some()
            && self
                .lists(bucket)
                .is_some_and(|lists| lists.of_bucket(asker, Right::Write))
    }
}
