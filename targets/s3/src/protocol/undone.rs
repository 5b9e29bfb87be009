//! Headers that ask for what this server does not do: what is accepted is done.

use crate::acl;
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

/// Refuses what would have to be ignored. Errors: `NotImplemented`.
pub(crate) fn check(headers: &HeaderMap) -> S3Result<()> {
    for name in headers.keys().map(HeaderName::as_str) {
        if let Some((_, why)) = UNDONE.iter().find(|(start, _)| name.starts_with(start)) {
            return Err(s3_error!(NotImplemented, "{why}"));
        }
    }
    Ok(())
}

/// As `check`, for a part, whose access control list is that of its upload. Errors:
/// `NotImplemented`.
pub(crate) fn check_part(headers: &HeaderMap) -> S3Result<()> {
    let mut names = headers.keys().map(HeaderName::as_str);
    if names.any(acl::is_of_list) {
        return Err(s3_error!(
            NotImplemented,
            "A part has no ACL of its own: say it when the upload is created"
        ));
    }
    check(headers)
}
