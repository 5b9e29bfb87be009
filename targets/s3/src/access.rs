//! Which operation needs which permission, decided before a request's body is read.

use crate::keyring::{Keyring, Permission};
use crate::policy::{Circumstances, Peer, Place, Policy, Verdict};
use crate::storage::{BucketDocument, ObjectStore, StorageError};
use http::HeaderValue;
use s3s::access::{S3Access, S3AccessContext};
use s3s::{S3Error, S3Result, s3_error};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Any key.
    Key,
    Bucket(Permission),
    /// A key that may do everything.
    Admin,
}

/// One operation that this server has: its name, what it needs, and the action by which a bucket policy may allow it.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    need: Need,
    action: &'static str,
}

const READ: Need = Need::Bucket(Permission::Read);
const WRITE: Need = Need::Bucket(Permission::Write);
const LIST: Need = Need::Bucket(Permission::List);

const fn op(name: &'static str, need: Need, action: &'static str) -> Operation {
    Operation { name, need, action }
}

/// The operations of this server; what is not here needs an admin key and answers `NotImplemented`.
pub(crate) const OPERATIONS: [Operation; 55] = [
    op("GetObject", READ, "s3:GetObject"),
    op("PutObject", WRITE, "s3:PutObject"),
    op("HeadObject", READ, "s3:GetObject"),
    op("DeleteObject", WRITE, "s3:DeleteObject"),
    op("ListObjectsV2", LIST, "s3:ListBucket"),
    op("ListObjects", LIST, "s3:ListBucket"),
    op("ListObjectVersions", LIST, "s3:ListBucketVersions"),
    op("DeleteObjects", WRITE, "s3:DeleteObject"),
    op("CopyObject", WRITE, "s3:PutObject"),
    op("PostObject", WRITE, "s3:PutObject"),
    op("GetObjectAttributes", READ, "s3:GetObject"),
    op("GetObjectTagging", READ, "s3:GetObjectTagging"),
    op("PutObjectTagging", WRITE, "s3:PutObjectTagging"),
    op("DeleteObjectTagging", WRITE, "s3:DeleteObjectTagging"),
    op("GetObjectAcl", READ, "s3:GetObjectAcl"),
    op("PutObjectAcl", WRITE, "s3:PutObjectAcl"),
    op("CreateMultipartUpload", WRITE, "s3:PutObject"),
    op("UploadPart", WRITE, "s3:PutObject"),
    op("UploadPartCopy", WRITE, "s3:PutObject"),
    op("CompleteMultipartUpload", WRITE, "s3:PutObject"),
    op("AbortMultipartUpload", WRITE, "s3:AbortMultipartUpload"),
    op("ListParts", WRITE, "s3:ListMultipartUploadParts"),
    op("ListMultipartUploads", LIST, "s3:ListBucketMultipartUploads"),
    op("ListBuckets", Need::Key, "s3:ListAllMyBuckets"),
    op("HeadBucket", LIST, "s3:ListBucket"),
    op("GetBucketLocation", LIST, "s3:GetBucketLocation"),
    op("CreateBucket", Need::Admin, "s3:CreateBucket"),
    op("DeleteBucket", Need::Admin, "s3:DeleteBucket"),
    op("GetBucketVersioning", LIST, "s3:GetBucketVersioning"),
    op("PutBucketVersioning", Need::Admin, "s3:PutBucketVersioning"),
    op("GetBucketTagging", LIST, "s3:GetBucketTagging"),
    op("PutBucketTagging", Need::Admin, "s3:PutBucketTagging"),
    op("DeleteBucketTagging", Need::Admin, "s3:PutBucketTagging"),
    op("GetBucketCors", LIST, "s3:GetBucketCORS"),
    op("PutBucketCors", Need::Admin, "s3:PutBucketCORS"),
    op("DeleteBucketCors", Need::Admin, "s3:PutBucketCORS"),
    op("GetBucketPolicy", Need::Admin, "s3:GetBucketPolicy"),
    op("GetBucketPolicyStatus", Need::Admin, "s3:GetBucketPolicyStatus"),
    op("PutBucketPolicy", Need::Admin, "s3:PutBucketPolicy"),
    op("DeleteBucketPolicy", Need::Admin, "s3:DeleteBucketPolicy"),
    op("GetBucketLifecycleConfiguration", LIST, "s3:GetLifecycleConfiguration"),
    op("PutBucketLifecycleConfiguration", Need::Admin, "s3:PutLifecycleConfiguration"),
    op("DeleteBucketLifecycle", Need::Admin, "s3:PutLifecycleConfiguration"),
    op("GetPublicAccessBlock", Need::Admin, "s3:GetBucketPublicAccessBlock"),
    op("PutPublicAccessBlock", Need::Admin, "s3:PutBucketPublicAccessBlock"),
    op("DeletePublicAccessBlock", Need::Admin, "s3:PutBucketPublicAccessBlock"),
    op("GetBucketOwnershipControls", Need::Admin, "s3:GetBucketOwnershipControls"),
    op("PutBucketOwnershipControls", Need::Admin, "s3:PutBucketOwnershipControls"),
    op("DeleteBucketOwnershipControls", Need::Admin, "s3:PutBucketOwnershipControls"),
    op("GetBucketAcl", LIST, "s3:GetBucketAcl"),
    op("PutBucketAcl", Need::Admin, "s3:PutBucketAcl"),
    op("GetBucketEncryption", LIST, "s3:GetEncryptionConfiguration"),
    op("GetObjectLockConfiguration", LIST, "s3:GetBucketObjectLockConfiguration"),
    op("GetBucketLogging", LIST, "s3:GetBucketLogging"),
    op("GetBucketRequestPayment", LIST, "s3:GetBucketRequestPayment"),
];

/// Where a request leaves which operation it was, for the counters.
#[derive(Clone)]
pub(crate) struct OperationCell(pub(crate) Arc<AtomicUsize>);

impl OperationCell {
    /// One past the last index of [`OPERATIONS`].
    pub(crate) const UNKNOWN: usize = OPERATIONS.len();

    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(Self::UNKNOWN)))
    }
}

/// Decides by the keys' permissions and the buckets' policies.
pub(crate) struct Access {
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) store: Arc<dyn ObjectStore>,
}

impl Access {
    /// Whether this key, or nobody known, may do this. Errors: `AccessDenied`.
    pub(crate) fn decide(
        &self,
        asker: Option<&str>,
        name: &str,
        place: Option<Place<'_>>,
        circumstances: &Circumstances<'_>,
    ) -> S3Result<()> {
        if asker.is_some_and(|access| self.keyring.is_admin(access)) {
            return Ok(());
        }
        let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == name) else { return Err(denied()) };
        let verdict = match place {
            Some(place) => self.verdict(asker, operation.action, place, circumstances),
            None => Verdict::Silent,
        };
        let granted = match (verdict, operation.need, asker) {
            (Verdict::Deny, _, _) => false,
            (Verdict::Allow, _, _) => operation.need != Need::Admin,
            (Verdict::Silent, Need::Key, Some(_)) => true,
            (Verdict::Silent, Need::Bucket(permission), Some(access)) => {
                place.is_some_and(|(bucket, _)| self.keyring.permits(access, bucket, permission))
            }
            (Verdict::Silent, Need::Admin, Some(_)) | (Verdict::Silent, _, None) => false,
        };
        if granted { Ok(()) } else { Err(denied()) }
    }

    /// A policy that cannot be read denies.
    fn verdict(&self, asker: Option<&str>, action: &str, place: Place<'_>, circumstances: &Circumstances<'_>) -> Verdict {
        let (bucket, _) = place;
        match self.store.document(bucket, BucketDocument::Policy) {
            Ok(None) => Verdict::Silent,
            Ok(Some(text)) => match Policy::parse(bucket, &text) {
                Ok(policy) if asker.is_none() && self.restricts(bucket) => match policy.decide(asker, action, place, circumstances) {
                    Verdict::Deny => Verdict::Deny,
                    Verdict::Allow | Verdict::Silent => Verdict::Silent,
                },
                Ok(policy) => policy.decide(asker, action, place, circumstances),
                Err(_) => Verdict::Deny,
            },
            Err(_) => Verdict::Silent,
        }
    }

    /// Who may not list a bucket is not told which keys it does not hold. Errors: `AccessDenied`.
    fn hide_absence(&self, asker: Option<&str>, bucket: &str, key: &str, circumstances: &Circumstances<'_>) -> S3Result<()> {
        let names_version = || circumstances.query.is_some_and(|query| query.split('&').any(|pair| pair.starts_with("versionId=")));
        let may_list = || self.decide(asker, "ListObjectsV2", Some((bucket, None)), circumstances).is_ok();
        if asker.is_some_and(|access| self.keyring.is_admin(access)) || names_version() || may_list() {
            return Ok(());
        }
        match self.store.head(bucket, key, None) {
            Err(StorageError::NoSuchKey | StorageError::DeleteMarker { .. }) => Err(denied()),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Refuses what is asked of a bucket that somebody else owns than the asker thinks. Errors: `AccessDenied`.
    pub(crate) fn check_owner(&self, bucket: &str, expected: Option<&HeaderValue>) -> S3Result<()> {
        let Some(expected) = expected else { return Ok(()) };
        match self.store.bucket(bucket) {
            Ok(found) if found.owner.as_bytes() != expected.as_bytes() => Err(denied()),
            // That it is not there is for the operation to say.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Whether the bucket's block of public access makes its policy void for those who are not known.
    fn restricts(&self, bucket: &str) -> bool {
        let kept = self.store.document(bucket, BucketDocument::PublicAccessBlock);
        matches!(kept, Ok(Some(text)) if crate::documents::restricts_public(&text))
    }
}

fn denied() -> S3Error {
    s3_error!(AccessDenied, "Access Denied")
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let name = context.s3_op().name().to_owned();
        let index = OPERATIONS.iter().position(|operation| operation.name == name);
        if let Some(OperationCell(cell)) = context.extensions_mut().get::<OperationCell>() {
            cell.store(index.unwrap_or(OperationCell::UNKNOWN), Ordering::Relaxed);
        }
        let peer = context.extensions_mut().get::<Peer>().copied();
        let asker = context.credentials().map(|credentials| credentials.access_key.as_str());
        let circumstances = Circumstances { peer, query: context.uri().query(), headers: context.headers() };
        let path = context.s3_path();
        let place = path.get_bucket_name().map(|bucket| (bucket, path.get_object_key()));
        self.decide(asker, &name, place, &circumstances)?;
        if let (Some((bucket, Some(key))), "GetObject" | "HeadObject") = (place, name.as_str()) {
            self.hide_absence(asker, bucket, key, &circumstances)?;
        }
        match place {
            Some((bucket, _)) => self.check_owner(bucket, circumstances.headers.get("x-amz-expected-bucket-owner")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::nowhere;
    use crate::storage::{NewBucket, PutFinish, StorageOptions, open_memory};

    fn access() -> Access {
        let keys = "[[key]]\naccess = \"root\"\nsecret = \"root-secret\"\nadmin = true\n[[key]]\naccess = \"kim\"\nsecret = \"kim-secret\"\n[key.buckets]\n\"mine\" = [\"read\"]\n";
        let store = open_memory(StorageOptions::new(Arc::new(|| 0))).unwrap();
        store.create_bucket("mine", NewBucket::default()).unwrap();
        store.create_bucket("open", NewBucket::default()).unwrap();
        let policy = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::open/*"}}"#;
        store.set_document("open", BucketDocument::Policy, Some(policy.into())).unwrap();
        Access { keyring: Arc::new(Keyring::parse(keys).unwrap()), store }
    }

    #[test]
    fn nobody_known_may_do_only_what_a_policy_allows() {
        let access = access();
        assert!(access.decide(None, "GetObject", Some(("open", Some("k"))), &nowhere()).is_ok());
        assert!(access.decide(None, "GetObject", Some(("mine", Some("k"))), &nowhere()).is_err());
        assert!(access.decide(None, "ListObjectsV2", Some(("open", None)), &nowhere()).is_err());
        assert!(access.decide(None, "ListBuckets", None, &nowhere()).is_err());
        assert!(access.decide(None, "PutBucketPolicy", Some(("open", None)), &nowhere()).is_err());
    }

    #[test]
    fn a_key_may_do_what_it_was_given_and_nothing_that_is_not_listed() {
        let access = access();
        assert!(access.decide(Some("kim"), "GetObject", Some(("mine", Some("k"))), &nowhere()).is_ok());
        assert!(access.decide(Some("kim"), "PutObject", Some(("mine", Some("k"))), &nowhere()).is_err());
        assert!(access.decide(Some("kim"), "PutBucketWebsite", Some(("mine", None)), &nowhere()).is_err());
        assert!(access.decide(Some("root"), "PutBucketWebsite", Some(("mine", None)), &nowhere()).is_ok());
        assert!(access.decide(Some("kim"), "ListBuckets", None, &nowhere()).is_ok());
    }

    #[test]
    fn a_policy_that_allows_everybody_everything_lets_nobody_change_the_bucket() {
        let access = access();
        let policy =
            r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"*","Resource":["arn:aws:s3:::open","arn:aws:s3:::open/*"]}}"#;
        access.store.set_document("open", BucketDocument::Policy, Some(policy.into())).unwrap();
        assert!(access.decide(None, "ListObjectsV2", Some(("open", None)), &nowhere()).is_ok());
        for name in ["DeleteBucket", "PutBucketPolicy", "PutBucketVersioning"] {
            assert!(access.decide(None, name, Some(("open", None)), &nowhere()).is_err(), "{name}");
        }
    }

    #[test]
    fn a_bucket_of_another_owner_than_expected_is_refused() {
        let access = access();
        access.store.create_bucket("roots", NewBucket { owner: "root".into(), ..Default::default() }).unwrap();
        let check = |bucket: &str, owner: &'static str| access.check_owner(bucket, Some(&HeaderValue::from_static(owner))).is_ok();
        assert!(check("roots", "root") && !check("roots", "kim") && !check("roots", ""));
        assert!(check("absent", "kim") && access.check_owner("roots", None).is_ok());
    }

    #[test]
    fn who_may_not_list_is_not_told_what_is_missing() {
        let access = access();
        access.store.begin_put("open", "there").unwrap().finish(PutFinish::default()).unwrap();
        let told = |asker, bucket, key| access.hide_absence(asker, bucket, key, &nowhere()).is_ok();
        assert!(told(None, "open", "there") && !told(None, "open", "missing") && !told(Some("kim"), "mine", "missing"));
        assert!(told(Some("root"), "open", "missing"));
        let lists =
            r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::open","arn:aws:s3:::open/*"]}}"#;
        access.store.set_document("open", BucketDocument::Policy, Some(lists.into())).unwrap();
        assert!(told(None, "open", "missing"));
    }

    #[test]
    fn each_operation_is_listed_once() {
        for (index, operation) in OPERATIONS.iter().enumerate() {
            assert!(OPERATIONS[..index].iter().all(|earlier| earlier.name != operation.name), "{}", operation.name);
        }
    }
}
