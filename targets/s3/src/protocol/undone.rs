//! Headers that ask for what this server does not do: what is accepted is done.

use http::{HeaderMap, HeaderName};
use s3s::{S3Result, s3_error};

/// Beginnings of headers that ask for what this server would leave undone.
const UNDONE: [(&str, &str); 4] = [
    (
        "x-amz-server-side-encryption",
        "Server-side encryption is not implemented",
    ),
    (
        "x-amz-copy-source-server-side-encryption",
        "Server-side encryption is not implemented",
    ),
    ("x-amz-rename-source", "Renaming is not implemented"),
    ("x-amz-write-offset-bytes", "Appending is not implemented"),
];

/// Refuses what would have to be ignored. Errors: `NotImplemented`, and
/// `AccessControlListNotSupported` for grants.
pub(crate) fn check(headers: &HeaderMap, acl: Option<&str>) -> S3Result<()> {
    for name in headers.keys().map(HeaderName::as_str) {
        if let Some((_, why)) = UNDONE.iter().find(|(start, _)| name.starts_with(start)) {
            return Err(s3_error!(NotImplemented, "{why}"));
        }
        if name.starts_with("x-amz-grant-") {
            return check_acl(Some(name));
        }
    }
    check_acl(acl)
}

/// Whether a canned ACL says what is so anyway: the bucket's owner owns all.
pub(crate) fn check_acl(acl: Option<&str>) -> S3Result<()> {
    match acl {
        None | Some("private" | "bucket-owner-full-control" | "bucket-owner-read") => Ok(()),
        Some(_) => Err(s3_error!(
            AccessControlListNotSupported,
            "The bucket does not allow ACLs; use a bucket policy"
        )),
    }
}
