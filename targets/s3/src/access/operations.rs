//! The operations of this server, what each needs, and the actions by which a policy may allow it.

use crate::keyring::Permission;
use house::OperationName;

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Any key.
    Key,
    Bucket(Permission),
    /// A key that may do everything, or one to which a policy gives it.
    Policy,
    /// A key that may do everything.
    Admin,
}

/// One operation that this server has: its name, what it needs, and the actions by which a bucket
/// policy may allow it.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(super) need: Need,
    /// All of which are needed.
    pub(super) actions: &'static [&'static str],
    /// The same where the request names a version; empty where it cannot, or where that makes no
    /// difference.
    pub(super) of_version: &'static [&'static str],
}

const READ: Need = Need::Bucket(Permission::Read);
const WRITE: Need = Need::Bucket(Permission::Write);
const LIST: Need = Need::Bucket(Permission::List);

const fn op(name: &'static str, need: Need, actions: &'static [&'static str]) -> Operation {
    Operation {
        name,
        need,
        actions,
        of_version: &[],
    }
}

impl Operation {
    const fn of_version(self, of_version: &'static [&'static str]) -> Self {
        Self { of_version, ..self }
    }
}

/// The operations of this server with the actions that AWS documents for them; what is not here
/// needs an admin key and answers `NotImplemented`.
pub(crate) static OPERATIONS: [Operation; 60] = [
    op("GetObject", READ, &["s3:GetObject"]).of_version(&["s3:GetObjectVersion"]),
    op("PutObject", WRITE, &["s3:PutObject"]),
    op("HeadObject", READ, &["s3:GetObject"]).of_version(&["s3:GetObjectVersion"]),
    op("DeleteObject", WRITE, &["s3:DeleteObject"]).of_version(&["s3:DeleteObjectVersion"]),
    op("ListObjectsV2", LIST, &["s3:ListBucket"]),
    op("ListObjects", LIST, &["s3:ListBucket"]),
    op("ListObjectVersions", LIST, &["s3:ListBucketVersions"]),
    op("DeleteObjects", WRITE, &["s3:DeleteObject"]),
    op("CopyObject", WRITE, &["s3:PutObject"]),
    op("PostObject", WRITE, &["s3:PutObject"]),
    op(
        "GetObjectAttributes",
        READ,
        &["s3:GetObject", "s3:GetObjectAttributes"],
    )
    .of_version(&["s3:GetObjectVersion", "s3:GetObjectVersionAttributes"]),
    op("GetObjectTagging", READ, &["s3:GetObjectTagging"])
        .of_version(&["s3:GetObjectVersionTagging"]),
    op("PutObjectTagging", WRITE, &["s3:PutObjectTagging"])
        .of_version(&["s3:PutObjectVersionTagging"]),
    op("DeleteObjectTagging", WRITE, &["s3:DeleteObjectTagging"])
        .of_version(&["s3:DeleteObjectVersionTagging"]),
    op("GetObjectAcl", READ, &["s3:GetObjectAcl"]).of_version(&["s3:GetObjectVersionAcl"]),
    op("PutObjectAcl", WRITE, &["s3:PutObjectAcl"]).of_version(&["s3:PutObjectVersionAcl"]),
    op("CreateMultipartUpload", WRITE, &["s3:PutObject"]),
    op("UploadPart", WRITE, &["s3:PutObject"]),
    op("UploadPartCopy", WRITE, &["s3:PutObject"]),
    op("CompleteMultipartUpload", WRITE, &["s3:PutObject"]),
    op("AbortMultipartUpload", WRITE, &["s3:AbortMultipartUpload"]),
    op("ListParts", WRITE, &["s3:ListMultipartUploadParts"]),
    op(
        "ListMultipartUploads",
        LIST,
        &["s3:ListBucketMultipartUploads"],
    ),
    op("ListBuckets", Need::Key, &["s3:ListAllMyBuckets"]),
    op("HeadBucket", LIST, &["s3:ListBucket"]),
    op("GetBucketLocation", LIST, &["s3:GetBucketLocation"]),
    op("CreateBucket", Need::Admin, &["s3:CreateBucket"]),
    op("DeleteBucket", Need::Admin, &["s3:DeleteBucket"]),
    op("GetBucketVersioning", LIST, &["s3:GetBucketVersioning"]),
    op(
        "PutBucketVersioning",
        Need::Admin,
        &["s3:PutBucketVersioning"],
    ),
    op("GetBucketTagging", LIST, &["s3:GetBucketTagging"]),
    op("PutBucketTagging", Need::Admin, &["s3:PutBucketTagging"]),
    op("DeleteBucketTagging", Need::Admin, &["s3:PutBucketTagging"]),
    op("GetBucketCors", LIST, &["s3:GetBucketCORS"]),
    op("PutBucketCors", Need::Admin, &["s3:PutBucketCORS"]),
    op("DeleteBucketCors", Need::Admin, &["s3:PutBucketCORS"]),
    op("GetBucketPolicy", Need::Admin, &["s3:GetBucketPolicy"]),
    op(
        "GetBucketPolicyStatus",
        Need::Admin,
        &["s3:GetBucketPolicyStatus"],
    ),
    op("PutBucketPolicy", Need::Admin, &["s3:PutBucketPolicy"]),
    op(
        "DeleteBucketPolicy",
        Need::Admin,
        &["s3:DeleteBucketPolicy"],
    ),
    op(
        "GetBucketLifecycleConfiguration",
        LIST,
        &["s3:GetLifecycleConfiguration"],
    ),
    op(
        "PutBucketLifecycleConfiguration",
        Need::Admin,
        &["s3:PutLifecycleConfiguration"],
    ),
    op(
        "DeleteBucketLifecycle",
        Need::Admin,
        &["s3:PutLifecycleConfiguration"],
    ),
    op(
        "GetPublicAccessBlock",
        Need::Admin,
        &["s3:GetBucketPublicAccessBlock"],
    ),
    op(
        "PutPublicAccessBlock",
        Need::Admin,
        &["s3:PutBucketPublicAccessBlock"],
    ),
    op(
        "DeletePublicAccessBlock",
        Need::Admin,
        &["s3:PutBucketPublicAccessBlock"],
    ),
    op(
        "GetBucketOwnershipControls",
        Need::Admin,
        &["s3:GetBucketOwnershipControls"],
    ),
    op(
        "PutBucketOwnershipControls",
        Need::Admin,
        &["s3:PutBucketOwnershipControls"],
    ),
    op(
        "DeleteBucketOwnershipControls",
        Need::Admin,
        &["s3:PutBucketOwnershipControls"],
    ),
    op("GetBucketAcl", LIST, &["s3:GetBucketAcl"]),
    op("PutBucketAcl", Need::Admin, &["s3:PutBucketAcl"]),
    op(
        "GetBucketEncryption",
        LIST,
        &["s3:GetEncryptionConfiguration"],
    ),
    op(
        "GetObjectLockConfiguration",
        LIST,
        &["s3:GetBucketObjectLockConfiguration"],
    ),
    op(
        "PutObjectLockConfiguration",
        Need::Admin,
        &["s3:PutBucketObjectLockConfiguration"],
    ),
    op("GetObjectRetention", READ, &["s3:GetObjectRetention"]),
    op("PutObjectRetention", WRITE, &["s3:PutObjectRetention"]),
    op("GetObjectLegalHold", READ, &["s3:GetObjectLegalHold"]),
    op("PutObjectLegalHold", WRITE, &["s3:PutObjectLegalHold"]),
    op("GetBucketLogging", LIST, &["s3:GetBucketLogging"]),
    op(
        "GetBucketRequestPayment",
        LIST,
        &["s3:GetBucketRequestPayment"],
    ),
];

/// Operations that load generators do, and the kind as which they count them.
const KINDS: [(&str, &str); 11] = [
    ("PutObject", "put"),
    ("GetObject", "get"),
    ("HeadObject", "head"),
    ("DeleteObject", "delete"),
    ("CopyObject", "copy"),
    ("ListObjectsV2", "list"),
    ("PostObject", "post"),
    ("CreateMultipartUpload", "multipart_create"),
    ("UploadPart", "multipart_part"),
    ("CompleteMultipartUpload", "multipart_complete"),
    ("AbortMultipartUpload", "multipart_abort"),
];

/// The operations as counters name them: those that no load generator does are of their own kind.
pub(crate) fn counted() -> impl Iterator<Item = OperationName> {
    OPERATIONS
        .iter()
        .map(|&Operation { name, .. }| OperationName {
            name,
            kind: KINDS
                .iter()
                .find(|(known, _)| *known == name)
                .map_or(name, |(_, kind)| kind),
        })
}

/// What is no operation but a part of several.
pub(super) static PARTS: [Operation; 1] = [op(
    "BypassGovernanceRetention",
    Need::Policy,
    &["s3:BypassGovernanceRetention"],
)];

/// Every action by which a policy may allow something here.
pub(crate) fn actions() -> impl Iterator<Item = &'static str> {
    let operations = OPERATIONS.iter().chain(&PARTS);
    let own = |operation: &'static Operation| operation.actions.iter().chain(operation.of_version);
    operations
        .flat_map(own)
        .copied()
        .chain(ADDED.iter().map(|(_, action)| *action))
}

/// What these headers ask for besides the operation, and the action that it takes.
pub(super) const ADDED: [(&str, &str); 9] = [
    ("x-amz-acl", "s3:PutObjectAcl"),
    ("x-amz-grant-full-control", "s3:PutObjectAcl"),
    ("x-amz-grant-read", "s3:PutObjectAcl"),
    ("x-amz-grant-read-acp", "s3:PutObjectAcl"),
    ("x-amz-grant-write", "s3:PutObjectAcl"),
    ("x-amz-grant-write-acp", "s3:PutObjectAcl"),
    ("x-amz-object-lock-legal-hold", "s3:PutObjectLegalHold"),
    ("x-amz-object-lock-mode", "s3:PutObjectRetention"),
    ("x-amz-tagging", "s3:PutObjectTagging"),
];
/// The operations whose headers those are.
pub(super) const MAKERS: [&str; 4] = [
    "PutObject",
    "PostObject",
    "CopyObject",
    "CreateMultipartUpload",
];
