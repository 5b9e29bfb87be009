//! The operations of this server, what each needs, and the actions by which a policy may allow it.

use crate::keyring::Permission;
use crate::operations::s3_operations;
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
const ADMIN: Need = Need::Admin;
const KEY: Need = Need::Key;

macro_rules! table {
    ($($name:ident $(: $method:ident($input:ident) -> $output:ident)?,
        $place:ident $selects:tt $takes:tt $(by $by:ident)?, $need:ident $actions:tt $of_version:tt;)+) => {
        /// The operations of this server.
        pub(crate) static OPERATIONS: &[Operation] = &[$(Operation {
            name: stringify!($name),
            need: $need,
            actions: &$actions,
            of_version: &$of_version,
        }),+];
    };
}

s3_operations!(table);

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
pub(super) static PARTS: [Operation; 1] = [Operation {
    name: "BypassGovernanceRetention",
    need: Need::Policy,
    actions: &["s3:BypassGovernanceRetention"],
    of_version: &[],
}];

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
