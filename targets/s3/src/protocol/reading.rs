//! GET and HEAD of objects: conditions, ranges, parts.

use super::checksums::set_checksums;
use super::outflow::{ByKernel, Outflow};
use super::{Answered, Asked, Protocol, asking, checksums, convert, errors};
use crate::lifecycle;
use crate::storage::{
    Checksum, ChecksumAlgorithm, Headers, ObjectReader, ObjectVersion, StorageError, StorageResult,
};
use http::{HeaderMap, HeaderValue};
use s3s::dto::{
    ChecksumMode, ETagCondition, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, Range, StorageClass, StreamingBlob, Timestamp,
};
use s3s::{Body, S3Error, S3Result, s3_error};

/// Objects up to this many bytes are read where they were asked for.
const ON_THE_SPOT: u64 = 64 << 10;

/// What is asked of GET and HEAD alike.
struct Wanted {
    bucket: String,
    key: String,
    version: Option<String>,
    range: Option<Range>,
    part: Option<i32>,
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
    modified: Option<Timestamp>,
    unmodified: Option<Timestamp>,
    checksums: bool,
}

macro_rules! wanted {
    ($input:expr) => {
        Wanted {
            bucket: $input.bucket,
            key: $input.key,
            version: $input.version_id,
            range: $input.range,
            part: $input.part_number,
            if_match: $input.if_match,
            if_none_match: $input.if_none_match,
            modified: $input.if_modified_since,
            unmodified: $input.if_unmodified_since,
            checksums: $input
                .checksum_mode
                .is_some_and(|mode| mode.as_str() == ChecksumMode::ENABLED),
        }
    };
}

/// Which bytes of an object are given.
struct Selected {
    range: std::ops::Range<u64>,
    /// As `Content-Range` says it, where less than all is given.
    said: Option<String>,
    parts: Option<i32>,
    checksums: Of,
}

/// Whose checksums these bytes have.
enum Of {
    Object,
    Part(Vec<Checksum>),
    /// A range has none.
    Nothing,
}

/// Writes what is known of an object into an output that has these fields; what has none is a
/// header.
macro_rules! describe {
    ($output:expr, $found:expr, $selected:expr, $versioned:expr, $checksums:expr, $told:expr) => {{
        let ObjectVersion {
            version,
            modified_ms,
            etag,
            content,
            ..
        } = $found;
        let Headers {
            cache_control,
            content_disposition,
            content_encoding,
            content_language,
            content_type,
            expires,
            ..
        } = content.headers;
        $output.accept_ranges = Some("bytes".to_owned());
        $output.cache_control = cache_control;
        $output.content_disposition = content_disposition;
        $output.content_encoding = content_encoding;
        $output.content_language = content_language;
        $output.content_type = content_type;
        $output.expires = convert::expires(expires.as_deref());
        $output.website_redirect_location = content.headers.website_redirect_location;
        $output.storage_class = content.headers.storage_class.map(StorageClass::from);
        $output.content_length = Some(convert::signed($selected.range.end - $selected.range.start));
        $output.content_range = $selected.said;
        $output.parts_count = $selected.parts;
        $output.e_tag = Some(convert::etag(etag));
        $output.last_modified = Some(convert::timestamp(modified_ms));
        $output.version_id = convert::version_text(version, $versioned);
        let told = match &$selected.checksums {
            Of::Object => content.checksums.as_slice(),
            Of::Part(own) => own,
            Of::Nothing => &[],
        };
        let mut headers = HeaderMap::new();
        if $checksums && !told.is_empty() {
            set_checksums!($output, told);
            headers = checksums::told(told);
            $output.checksum_type = content
                .checksums
                .first()
                .map(|first| convert::kind_name(first.kind));
        }
        $output.object_lock_mode = $told.mode;
        $output.object_lock_retain_until_date = $told.until;
        $output.object_lock_legal_hold_status = $told.hold;
        $output.metadata = convert::metadata(content.user);
        headers
    }};
}

impl Protocol {
    /// As `stored`, with a delete marker hidden where the latest was asked for.
    pub(super) fn found<T>(&self, outcome: StorageResult<T>, latest: bool) -> S3Result<T> {
        match outcome {
            Err(StorageError::DeleteMarker { version, .. }) => {
                Err(errors::delete_marker(version, latest))
            }
            other => self.stored(other),
        }
    }

    pub(super) async fn head_object(
        &self,
        asked: Asked<HeadObjectInput>,
    ) -> S3Result<Answered<HeadObjectOutput>> {
        let asking = asking(asked.access_key.as_deref(), asked.peer, &asked.headers);
        let wanted = wanted!(asked.input);
        let version = convert::version(wanted.version.as_deref())?;
        let versioned = self.is_versioned(&wanted.bucket)?;
        let found = self.found(
            self.store.head(&wanted.bucket, &wanted.key, version),
            version.is_none(),
        )?;
        check_conditions(&wanted, &found)?;
        let selected = self.select(&wanted, &found)?;
        let mut output = HeadObjectOutput {
            expiration: self.announced(&wanted, &found),
            ..Default::default()
        };
        let tags = found.content.tags.len();
        let told = self.told(&wanted.bucket, &found, &asking);
        let mut headers = describe!(output, found, selected, versioned, wanted.checksums, told);
        if tags > 0 {
            // The protocol library has no field for it here.
            headers.insert("x-amz-tagging-count", HeaderValue::from(tags));
        }
        Ok(Answered { output, headers })
    }

    pub(super) async fn get_object(
        &self,
        asked: Asked<GetObjectInput>,
    ) -> S3Result<Answered<GetObjectOutput>> {
        let asking = asking(asked.access_key.as_deref(), asked.peer, &asked.headers);
        let wanted = wanted!(asked.input);
        let version = convert::version(wanted.version.as_deref())?;
        let versioned = self.is_versioned(&wanted.bucket)?;
        let (found, mut reader) = self.found(
            self.store.get(&wanted.bucket, &wanted.key, version),
            version.is_none(),
        )?;
        check_conditions(&wanted, &found)?;
        let selected = self.select(&wanted, &found)?;
        if selected.range != (0..found.size) {
            reader.select(selected.range.clone());
        }
        let body = self
            .body(
                reader,
                selected.range.end - selected.range.start,
                found.size,
                asked.kernel,
            )
            .await?;
        let mut output = GetObjectOutput {
            body: Some(body),
            ..Default::default()
        };
        output.expiration = self.announced(&wanted, &found);
        let told = self.told(&wanted.bucket, &found, &asking);
        output.tag_count = i32::try_from(found.content.tags.len())
            .ok()
            .filter(|count| *count > 0);
        let headers = describe!(output, found, selected, versioned, wanted.checksums, told);
        Ok(Answered { output, headers })
    }

    async fn body(
        &self,
        mut reader: Box<dyn ObjectReader>,
        length: u64,
        size: u64,
        kernel: Option<ByKernel>,
    ) -> S3Result<StreamingBlob> {
        if length == 0 {
            return Ok(StreamingBlob::from(Body::empty()));
        }
        if size <= ON_THE_SPOT {
            let piece = self.stored(reader.next_chunk())?.unwrap_or_default();
            if piece.len() as u64 == length {
                return Ok(StreamingBlob::from(Body::from(piece)));
            }
            return Err(self.refused(StorageError::Corrupt {
                what: "a small object was not read in one piece".into(),
            }));
        }
        let begun = Outflow::new(reader, length, kernel).begun().await;
        Ok(StreamingBlob::new(self.stored(begun)?))
    }

    /// When the object expires, of a latest version that was not asked for by its name.
    fn announced(&self, wanted: &Wanted, found: &ObjectVersion) -> Option<String> {
        if wanted.version.is_some() {
            return None;
        }
        lifecycle::announced(&*self.store, &wanted.bucket, found)
    }

    fn select(&self, wanted: &Wanted, found: &ObjectVersion) -> S3Result<Selected> {
        let said = |range: &std::ops::Range<u64>| {
            Some(format!(
                "bytes {}-{}/{}",
                range.start,
                range.end.saturating_sub(1),
                found.size
            ))
        };
        match (wanted.range, wanted.part) {
            (Some(_), Some(_)) => Err(s3_error!(
                InvalidRequest,
                "Cannot specify both Range header and partNumber query parameter"
            )),
            (None, None) => Ok(Selected {
                range: 0..found.size,
                said: None,
                parts: None,
                checksums: Of::Object,
            }),
            (Some(range), None) => {
                let range = range
                    .check(found.size)
                    .or(Err(errors::range_not_satisfiable(found.size)))?;
                let checksums = if range == (0..found.size) {
                    Of::Object
                } else {
                    Of::Nothing
                };
                Ok(Selected {
                    said: said(&range),
                    range,
                    parts: None,
                    checksums,
                })
            }
            (None, Some(number)) => self.part(wanted, found, number).map(|selected| {
                let said = if selected.range.is_empty() {
                    None
                } else {
                    said(&selected.range)
                };
                Selected { said, ..selected }
            }),
        }
    }

    /// One part of an object, which may be all of it.
    fn part(&self, wanted: &Wanted, found: &ObjectVersion, number: i32) -> S3Result<Selected> {
        let invalid = || {
            errors::custom(
                "InvalidPartNumber",
                http::StatusCode::RANGE_NOT_SATISFIABLE,
                "The requested partnumber is not satisfiable",
            )
        };
        if !(1..=10_000).contains(&number) {
            return Err(convert::invalid_argument(
                "Part number must be an integer between 1 and 10000, inclusive",
            ));
        }
        if found.etag.parts == 0 {
            let whole = Selected {
                range: 0..found.size,
                said: None,
                parts: None,
                checksums: Of::Object,
            };
            return if number == 1 {
                Ok(whole)
            } else {
                Err(invalid())
            };
        }
        let parts = self.stored(self.store.parts_of(
            &wanted.bucket,
            &wanted.key,
            Some(found.version),
        ))?;
        let count = Some(convert::small(parts.len()));
        // AWS counts the parts of the finished object, whatever numbers they were uploaded with.
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        let part = parts.into_iter().nth(index).ok_or_else(invalid)?;
        Ok(Selected {
            range: part.range,
            said: None,
            parts: count,
            checksums: Of::Part(part.checksums),
        })
    }
}

/// As RFC 9110 13.2.2 orders the conditions. Errors: `PreconditionFailed`, `NotModified`.
fn check_conditions(wanted: &Wanted, found: &ObjectVersion) -> S3Result<()> {
    let holds = |if_match, if_none_match, modified, unmodified| {
        convert::source_conditions(if_match, if_none_match, modified, unmodified)
            .check(found.etag, found.modified_ms)
            .is_ok()
    };
    if !holds(
        wanted.if_match.as_ref(),
        None,
        None,
        wanted.unmodified.as_ref(),
    ) {
        return Err(errors::precondition_failed());
    }
    if !holds(
        None,
        wanted.if_none_match.as_ref(),
        wanted.modified.as_ref(),
        None,
    ) {
        return Err(not_modified(found));
    }
    Ok(())
}

fn not_modified(found: &ObjectVersion) -> S3Error {
    let mut error = s3_error!(NotModified);
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(&format!("\"{}\"", found.etag)) {
        headers.insert(http::header::ETAG, value);
    }
    error.set_headers(headers);
    error
}
