//! Between the types of the protocol library and those of the store.

use crate::storage::{self, Conditions, EtagCondition, Headers, SourceConditions, VersionId};
use s3s::dto::{
    ChecksumAlgorithm, ChecksumType, ETag, ETagCondition, Metadata, Owner, Timestamp,
    TimestampFormat,
};
use s3s::{S3Error, S3Result, s3_error};
use std::time::{Duration, SystemTime};

/// The content type of objects that were put without one, as AWS has it.
pub(crate) const DEFAULT_TYPE: &str = "binary/octet-stream";
/// The most bytes of names and values of user metadata.
const MOST_METADATA: usize = 2048;

/// A count as the protocol's signed numbers have it; none of ours comes near the limit.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count of a page or of parts as the protocol's signed numbers have it.
pub(crate) fn small(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

pub(crate) fn timestamp(ms: u64) -> Timestamp {
    Timestamp::from(SystemTime::UNIX_EPOCH + Duration::from_millis(ms))
}

/// Milliseconds since 1970; times before that are 0.
pub(crate) fn milliseconds(time: &Timestamp) -> u64 {
    let mut text = Vec::new();
    match time.format(TimestampFormat::EpochSeconds, &mut text) {
        Ok(()) => {
            let text = String::from_utf8(text).unwrap_or_default();
            let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
            let part: u64 = format!("{part:0<3}")[..3].parse().unwrap_or(0);
            whole.parse::<u64>().map_or(0, |seconds| {
                seconds.saturating_mul(1000).saturating_add(part)
            })
        }
        Err(_) => 0,
    }
}

/// As `Display` writes it, without its machinery: a page of a listing has a thousand of them.
pub(crate) fn etag(etag: storage::ETag) -> ETag {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(40);
    for byte in etag.md5 {
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
    if etag.parts > 0 {
        text.push('-');
        text.push_str(&etag.parts.to_string());
    }
    ETag::Strong(text)
}

pub(crate) fn owner(id: &str) -> Owner {
    Owner {
        id: Some(id.to_owned()),
        display_name: Some(id.to_owned()),
    }
}

/// A version as it is named in requests.
pub(crate) fn version(text: Option<&str>) -> S3Result<Option<VersionId>> {
    match text {
        None => Ok(None),
        Some("") => Err(s3_error!(
            InvalidArgument,
            "Version id cannot be the empty string"
        )),
        Some(text) => match text.parse() {
            Ok(version) => Ok(Some(version)),
            // It has the form of an id, as other servers give them: no version of ours has it, and
            // what is asked of it is answered as of any version that is not there.
            Err(_) if is_opaque(text) => Ok(Some(VersionId::NEVER)),
            Err(_) => Err(s3_error!(InvalidArgument, "Invalid version id specified")),
        },
    }
}

/// A version as it is named in requests; one that cannot be is none that there is.
pub(crate) fn named_version(text: &str) -> VersionId {
    let version = version(Some(text)).ok().flatten();
    version.unwrap_or(VersionId::NEVER)
}

/// Whether a text could be the id of a version somewhere.
fn is_opaque(text: &str) -> bool {
    (20..=1024).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// How a version is named in answers: not at all where the bucket never had versions.
pub(crate) fn version_text(version: VersionId, versioned: bool) -> Option<String> {
    versioned.then(|| version.to_string())
}

fn condition(condition: Option<&ETagCondition>) -> Option<EtagCondition> {
    condition.map(|condition| match condition.as_etag() {
        Some(etag) => EtagCondition::OneOf(vec![etag.value().to_owned()]),
        None => EtagCondition::Any,
    })
}

pub(crate) fn conditions(
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> Conditions {
    Conditions {
        if_match: condition(if_match),
        if_none_match: condition(if_none_match),
        if_modified_at_ms: None,
    }
}

pub(crate) fn source_conditions(
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
    modified: Option<&Timestamp>,
    unmodified: Option<&Timestamp>,
) -> SourceConditions {
    SourceConditions {
        if_match: condition(if_match),
        if_none_match: condition(if_none_match),
        if_modified_since_ms: modified.map(milliseconds),
        if_unmodified_since_ms: unmodified.map(milliseconds),
    }
}

/// The headers of an object that is on its way in. A field that is not given is not kept.
pub(crate) struct GivenHeaders<'a> {
    pub(crate) cache_control: &'a Option<String>,
    pub(crate) content_disposition: &'a Option<String>,
    pub(crate) content_encoding: &'a Option<String>,
    pub(crate) content_language: &'a Option<String>,
    pub(crate) content_type: &'a Option<String>,
    pub(crate) expires: &'a Option<Timestamp>,
    pub(crate) website_redirect_location: &'a Option<String>,
    pub(crate) storage_class: Option<&'a str>,
}

/// Reads the same fields out of any input that has them.
macro_rules! given_headers {
    ($input:expr) => {
        $crate::protocol::convert::GivenHeaders {
            cache_control: &$input.cache_control,
            content_disposition: &$input.content_disposition,
            content_encoding: &$input.content_encoding,
            content_language: &$input.content_language,
            content_type: &$input.content_type,
            expires: &$input.expires,
            website_redirect_location: &$input.website_redirect_location,
            storage_class: $input.storage_class.as_ref().map(|class| class.as_str()),
        }
    };
}
pub(crate) use given_headers;

impl GivenHeaders<'_> {
    pub(crate) fn kept(&self) -> S3Result<Headers> {
        if let Some(class) = self.storage_class
            && class != "STANDARD"
            && class != "REDUCED_REDUNDANCY"
        {
            return Err(s3_error!(
                InvalidStorageClass,
                "The storage class you specified is not valid"
            ));
        }
        let elsewhere = |to: &str| {
            to.starts_with('/') || to.starts_with("http://") || to.starts_with("https://")
        };
        if self
            .website_redirect_location
            .as_deref()
            .is_some_and(|to| !elsewhere(to))
        {
            return Err(super::errors::custom(
                "InvalidRedirectLocation",
                http::StatusCode::BAD_REQUEST,
                "The website redirect location must have a prefix of 'http://' or 'https://' or '/'.",
            ));
        }
        Ok(Headers {
            cache_control: self.cache_control.clone(),
            content_disposition: self.content_disposition.clone(),
            content_encoding: self.content_encoding.as_deref().and_then(without_chunked),
            content_language: self.content_language.clone(),
            content_type: Some(
                self.content_type
                    .clone()
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
            ),
            expires: self.expires.as_ref().and_then(|time| {
                let mut text = Vec::new();
                time.format(TimestampFormat::HttpDate, &mut text).ok()?;
                String::from_utf8(text).ok()
            }),
            website_redirect_location: self.website_redirect_location.clone(),
            storage_class: self
                .storage_class
                .filter(|class| *class != "STANDARD")
                .map(str::to_owned),
        })
    }
}

/// The encodings of the object itself: `aws-chunked` is only how it was sent.
fn without_chunked(encoding: &str) -> Option<String> {
    if !encoding.contains("aws-chunked") {
        return Some(encoding.to_owned());
    }
    let kept: Vec<&str> = encoding
        .split(',')
        .map(str::trim)
        .filter(|one| *one != "aws-chunked" && !one.is_empty())
        .collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

/// An `Expires` header as it was kept.
pub(crate) fn expires(text: Option<&str>) -> Option<Timestamp> {
    text.and_then(|text| Timestamp::parse(TimestampFormat::HttpDate, text).ok())
}

/// User metadata in the order of its names. Errors: `MetadataTooLarge`.
pub(crate) fn user_metadata(given: Option<Metadata>) -> S3Result<Vec<(String, String)>> {
    let mut pairs: Vec<(String, String)> = given.into_iter().flatten().collect();
    if pairs
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum::<usize>()
        > MOST_METADATA
    {
        return Err(s3_error!(
            MetadataTooLarge,
            "Your metadata headers exceed the maximum allowed metadata size"
        ));
    }
    pairs.sort();
    Ok(pairs)
}

pub(crate) fn metadata(kept: Vec<(String, String)>) -> Option<Metadata> {
    (!kept.is_empty()).then(|| kept.into_iter().collect())
}

/// Each algorithm by the name that S3 has for it.
const ALGORITHM_NAMES: [(storage::ChecksumAlgorithm, &str); 10] = [
    (storage::ChecksumAlgorithm::Crc32, ChecksumAlgorithm::CRC32),
    (
        storage::ChecksumAlgorithm::Crc32c,
        ChecksumAlgorithm::CRC32C,
    ),
    (
        storage::ChecksumAlgorithm::Crc64Nvme,
        ChecksumAlgorithm::CRC64NVME,
    ),
    (storage::ChecksumAlgorithm::Sha1, ChecksumAlgorithm::SHA1),
    (
        storage::ChecksumAlgorithm::Sha256,
        ChecksumAlgorithm::SHA256,
    ),
    (storage::ChecksumAlgorithm::Sha512, "SHA512"),
    (storage::ChecksumAlgorithm::Md5, "MD5"),
    (storage::ChecksumAlgorithm::Xxhash64, "XXHASH64"),
    (storage::ChecksumAlgorithm::Xxhash3, "XXHASH3"),
    (storage::ChecksumAlgorithm::Xxhash128, "XXHASH128"),
];

/// Errors: `InvalidRequest`.
pub(crate) fn algorithm(text: &str) -> S3Result<storage::ChecksumAlgorithm> {
    let found = ALGORITHM_NAMES.iter().find(|(_, name)| *name == text);
    found.map(|(algorithm, _)| *algorithm).ok_or_else(|| {
        let names: Vec<&str> = ALGORITHM_NAMES.iter().map(|(_, name)| *name).collect();
        s3_error!(
            InvalidRequest,
            "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [{}]",
            names.join(", ")
        )
    })
}

pub(crate) fn algorithm_text(algorithm: storage::ChecksumAlgorithm) -> &'static str {
    ALGORITHM_NAMES
        .iter()
        .find(|(known, _)| *known == algorithm)
        .map_or("", |(_, name)| name)
}

pub(crate) fn algorithm_name(algorithm: storage::ChecksumAlgorithm) -> ChecksumAlgorithm {
    ChecksumAlgorithm::from_static(algorithm_text(algorithm))
}

pub(crate) fn kind_name(kind: storage::ChecksumKind) -> ChecksumType {
    ChecksumType::from_static(match kind {
        storage::ChecksumKind::FullObject => ChecksumType::FULL_OBJECT,
        storage::ChecksumKind::Composite => ChecksumType::COMPOSITE,
    })
}

/// Percent-encodes what a listing with `encoding-type=url` holds.
pub(crate) fn url_encoded(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

/// Decodes one name or value of a query; `None` where it is not one.
pub(crate) fn query_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let hex = text.get(at + 1..at + 3)?;
                out.push(u8::from_str_radix(hex, 16).ok()?);
                at += 3;
            }
            b'+' => {
                out.push(b' ');
                at += 1;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}

pub(crate) fn invalid_argument(message: &'static str) -> S3Error {
    s3_error!(InvalidArgument, "{message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_milliseconds() {
        for ms in [0, 1, 999, 1_000, 1_700_000_000_123, 1_700_000_000_050] {
            assert_eq!(milliseconds(&timestamp(ms)), ms);
        }
    }

    #[test]
    fn etags_are_written_as_they_are_shown() {
        for parts in [0, 1, 10_000] {
            let one = storage::ETag {
                md5: [
                    0x00, 0x0f, 0xf0, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xab, 0xcd, 0xef,
                ],
                parts,
            };
            assert_eq!(etag(one).value(), one.to_string());
        }
    }

    #[test]
    fn how_a_body_was_sent_is_not_kept() {
        assert_eq!(without_chunked("aws-chunked"), None);
        assert_eq!(without_chunked("gzip,aws-chunked").as_deref(), Some("gzip"));
        assert_eq!(without_chunked("gzip").as_deref(), Some("gzip"));
    }

    #[test]
    fn encoded_text_reads_back() {
        for text in ["a b+c/ü%&=?", "", "~-_."] {
            assert_eq!(query_decoded(&url_encoded(text)).as_deref(), Some(text));
        }
        assert_eq!(query_decoded("a+b").as_deref(), Some("a b"));
        for broken in ["%", "%4", "%zz", "%ff", "%é"] {
            assert_eq!(query_decoded(broken), None, "{broken}");
        }
    }
}
