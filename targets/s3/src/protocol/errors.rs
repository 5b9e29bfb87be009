//! What the store says, in the codes of S3.

use crate::storage::{StorageError, VersionId};
use http::{HeaderMap, HeaderValue, StatusCode};
use s3s::{S3Error, S3ErrorCode, StdError, s3_error};

/// An error of the store as AWS names it. What is internal says that it is, and no more.
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
pub(crate) fn storage_error(error: &StorageError) -> S3Error {
    match error {
        StorageError::NoSuchBucket => {
            s3_error!(NoSuchBucket, "The specified bucket does not exist")
        }
        StorageError::BucketAlreadyExists => s3_error!(
            BucketAlreadyExists,
            "The requested bucket name is not available"
        ),
        StorageError::BucketAlreadyOwnedByYou => {
            s3_error!(
                BucketAlreadyOwnedByYou,
                "Your previous request to create the named bucket succeeded and you already own it."
            )
        }
        StorageError::BucketNotEmpty => s3_error!(
            BucketNotEmpty,
            "The bucket you tried to delete is not empty"
        ),
        StorageError::NoSuchKey => s3_error!(NoSuchKey, "The specified key does not exist."),
        StorageError::NoSuchVersion => {
            s3_error!(NoSuchVersion, "The specified version does not exist.")
        }
        StorageError::DeleteMarker { version, .. } => delete_marker(*version, true),
        StorageError::NoSuchUpload => s3_error!(
            NoSuchUpload,
            "The specified multipart upload does not exist."
        ),
        StorageError::PreconditionFailed => precondition_failed(),
        StorageError::InvalidPart { number } => {
            s3_error!(
                InvalidPart,
                "Part {number} could not be found, or its ETag or checksum is another."
            )
        }
        StorageError::InvalidPartOrder => s3_error!(
            InvalidPartOrder,
            "The list of parts was not in ascending order."
        ),
        StorageError::InvalidPartNumber { .. } => {
            s3_error!(
                InvalidArgument,
                "Part number must be an integer between 1 and 10000, inclusive"
            )
        }
        StorageError::NoParts => s3_error!(MalformedXML, "You must specify at least one part"),
        StorageError::EntityTooSmall {
            number,
            size,
            least,
        } => {
            s3_error!(
                EntityTooSmall,
                "Part {number} has {size} bytes and is not the last; the least is {least}."
            )
        }
        StorageError::SizeMismatch { expected, found } => {
            s3_error!(
                InvalidRequest,
                "The parts have {found} bytes together; x-amz-mp-object-size says {expected}."
            )
        }
        StorageError::BadDigest => s3_error!(
            BadDigest,
            "The Content-MD5 or checksum you specified did not match what was received."
        ),
        StorageError::InvalidRange { size } => range_not_satisfiable(*size),
        StorageError::InvalidKey => {
            s3_error!(InvalidArgument, "A key has 1 to 1024 bytes and no NUL")
        }
        StorageError::KeyTooLong { .. } => s3_error!(KeyTooLongError, "Your key is too long"),
        StorageError::VersioningStaysOn => s3_error!(
            IllegalVersioningConfigurationException,
            "Versioning can only be suspended"
        ),
        StorageError::LockNeedsVersions => s3_error!(
            InvalidBucketState,
            "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed."
        ),
        StorageError::NeedsVersions => {
            s3_error!(
                InvalidBucketState,
                "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration"
            )
        }
        StorageError::NoObjectLock => s3_error!(
            InvalidRequest,
            "Bucket is missing Object Lock Configuration"
        ),
        StorageError::Locked => s3_error!(
            AccessDenied,
            "Access Denied because object protected by object lock."
        ),
        StorageError::RetentionPassed => s3_error!(
            InvalidArgument,
            "The retain until date must be in the future!"
        ),
        StorageError::NoSpace => custom(
            "InsufficientStorage",
            StatusCode::INSUFFICIENT_STORAGE,
            "No space is left for objects",
        ),
        StorageError::Closed => s3_error!(ServiceUnavailable, "The server is ending"),
        StorageError::Lost => s3_error!(
            ServiceUnavailable,
            "The server has lost its directory and writes nothing any more"
        ),
        error if error.too_many_files() => s3_error!(
            SlowDown,
            "The server has too many files open. Please reduce your request rate."
        ),
        StorageError::Corrupt { .. }
        | StorageError::Unusable { .. }
        | StorageError::Io { .. }
        | StorageError::Metadata(_) => {
            s3_error!(
                InternalError,
                "We encountered an internal error. Please try again."
            )
        }
    }
}

/// Whether an operator should hear of it.
pub(crate) fn is_internal(error: &StorageError) -> bool {
    matches!(
        error,
        StorageError::Corrupt { .. }
            | StorageError::Unusable { .. }
            | StorageError::Io { .. }
            | StorageError::Metadata(_)
            | StorageError::NoSpace
    )
}

/// A code that the protocol library does not list.
pub(crate) fn custom(code: &'static str, status: StatusCode, message: &'static str) -> S3Error {
    let mut error = S3Error::with_message(S3ErrorCode::Custom(code.into()), message);
    error.set_status_code(status);
    error
}

/// A document that is not what the schema has.
pub(crate) fn malformed_xml() -> S3Error {
    s3_error!(
        MalformedXML,
        "The XML you provided was not well-formed or did not validate against our published schema"
    )
}

pub(crate) fn precondition_failed() -> S3Error {
    s3_error!(
        PreconditionFailed,
        "At least one of the pre-conditions you specified did not hold"
    )
}

pub(crate) fn range_not_satisfiable(size: u64) -> S3Error {
    let mut error = s3_error!(InvalidRange, "The requested range is not satisfiable");
    error.set_status_code(StatusCode::RANGE_NOT_SATISFIABLE);
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{size}")) {
        error.set_headers(HeaderMap::from_iter([(http::header::CONTENT_RANGE, value)]));
    }
    error
}

/// A version that is a delete marker: hidden where the latest was asked for, not allowed where it
/// was named.
pub(crate) fn delete_marker(version: VersionId, latest: bool) -> S3Error {
    let mut error = if latest {
        s3_error!(NoSuchKey, "The specified key does not exist.")
    } else {
        s3_error!(
            MethodNotAllowed,
            "The specified method is not allowed against this resource."
        )
    };
    let mut headers = HeaderMap::new();
    headers.insert("x-amz-delete-marker", HeaderValue::from_static("true"));
    if let Ok(value) = HeaderValue::from_str(&version.to_string()) {
        headers.insert("x-amz-version-id", value);
    }
    error.set_headers(headers);
    error
}

/// Why the body of a request could not be taken, from what the layers below say in words alone.
pub(crate) fn body_error(error: &StdError) -> S3Error {
    let text = chain(error.as_ref());
    let says = |word: &str| text.contains(word);
    if says("Sha256Mismatch") {
        return content_sha256_mismatch();
    }
    if says("SignatureMismatch") {
        return s3_error!(
            SignatureDoesNotMatch,
            "The signature of a chunk or trailer does not match what was received."
        );
    }
    if says("FormatError") || says("TooLarge") || says("TooManyTrailer") {
        return s3_error!(InvalidRequest, "The chunks of the body are malformed");
    }
    s3_error!(
        IncompleteBody,
        "The request body terminated unexpectedly, or is not as long as was said"
    )
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        text.push_str(&inner.to_string());
        next = inner.source();
    }
    text
}

pub(crate) fn content_sha256_mismatch() -> S3Error {
    custom(
        "XAmzContentSHA256Mismatch",
        StatusCode::BAD_REQUEST,
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_aws_and_internal_causes_stay_inside() {
        let corrupt = storage_error(&StorageError::Corrupt {
            what: "/data/secret/path".into(),
        });
        assert_eq!(corrupt.code().as_str(), "InternalError");
        assert!(!corrupt.message().unwrap().contains("secret"));
        let full = storage_error(&StorageError::NoSpace);
        assert_eq!(full.status_code(), Some(StatusCode::INSUFFICIENT_STORAGE));
        let range = storage_error(&StorageError::InvalidRange { size: 7 });
        assert_eq!(range.status_code(), Some(StatusCode::RANGE_NOT_SATISFIABLE));
        assert_eq!(range.headers().unwrap()["content-range"], "bytes */7");
    }

    #[test]
    fn a_marker_is_hidden_where_the_latest_was_asked_for() {
        assert_eq!(
            delete_marker(VersionId::Null, true).code().as_str(),
            "NoSuchKey"
        );
        assert_eq!(
            delete_marker(VersionId::Null, false).code().as_str(),
            "MethodNotAllowed"
        );
        assert_eq!(
            delete_marker(VersionId::Null, false).headers().unwrap()["x-amz-delete-marker"],
            "true"
        );
    }

    #[test]
    fn what_is_wrong_with_a_body_has_its_code() {
        let code = |text: &str| {
            body_error(&Box::new(std::io::Error::other(text.to_owned())).into())
                .code()
                .as_str()
                .to_owned()
        };
        assert_eq!(
            code("UploadStreamError: Sha256Mismatch"),
            "XAmzContentSHA256Mismatch"
        );
        assert_eq!(
            code("AwsChunkedStreamError: SignatureMismatch"),
            "SignatureDoesNotMatch"
        );
        assert_eq!(code("connection reset"), "IncompleteBody");
    }
}
