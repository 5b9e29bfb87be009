//! The actions that there are: a policy that denies one that is misspelt would deny nothing.

use crate::access;
use crate::keyring::matches;

/// Actions on buckets and objects that AWS documents and that no operation of this server needs.
const ELSEWHERE: [&str; 43] = [
    "s3:CreateBucketMetadataTableConfiguration",
    "s3:DeleteBucketMetadataTableConfiguration",
    "s3:DeleteBucketWebsite",
    "s3:GetAccelerateConfiguration",
    "s3:GetAnalyticsConfiguration",
    "s3:GetBucketAbac",
    "s3:GetBucketMetadataTableConfiguration",
    "s3:GetBucketNotification",
    "s3:GetBucketWebsite",
    "s3:GetIntelligentTieringConfiguration",
    "s3:GetInventoryConfiguration",
    "s3:GetMetricsConfiguration",
    "s3:GetObjectTorrent",
    "s3:GetObjectVersionForReplication",
    "s3:GetObjectVersionTorrent",
    "s3:GetReplicationConfiguration",
    "s3:InitiateReplication",
    "s3:ListTagsForResource",
    "s3:ObjectOwnerOverrideToBucketOwner",
    "s3:PauseReplication",
    "s3:PutAccelerateConfiguration",
    "s3:PutAnalyticsConfiguration",
    "s3:PutBucketAbac",
    "s3:PutBucketLogging",
    "s3:PutBucketNotification",
    "s3:PutBucketRequestPayment",
    "s3:PutBucketWebsite",
    "s3:PutEncryptionConfiguration",
    "s3:PutIntelligentTieringConfiguration",
    "s3:PutInventoryConfiguration",
    "s3:PutMetricsConfiguration",
    "s3:PutReplicationConfiguration",
    "s3:RenameObject",
    "s3:ReplicateDelete",
    "s3:ReplicateObject",
    "s3:ReplicateTags",
    "s3:RestoreObject",
    "s3:TagResource",
    "s3:UntagResource",
    "s3:UpdateBucketMetadataInventoryTableConfiguration",
    "s3:UpdateBucketMetadataJournalTableConfiguration",
    "s3:UpdateBucketMetadataTableConfiguration",
    "s3:UpdateObjectEncryption",
];

/// Whether a pattern is of any action.
pub(super) fn is_of_any(pattern: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    access::actions()
        .chain(ELSEWHERE)
        .any(|action| matches(&pattern, &action.to_ascii_lowercase()))
}
