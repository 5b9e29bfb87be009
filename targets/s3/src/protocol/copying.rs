//! Copies of objects, whole or as parts.

use super::checksums::{Hashes, set_checksums};
use super::convert::{self, given_headers};
use super::{Asked, Protocol, asking, locks, tags, undone};
use crate::access::Deed;
use crate::policy::Circumstances;
use crate::storage::{
    Checksum, ChecksumAlgorithm, CopyObject, CopyPart, EtagCondition, Headers, ObjectVersion,
    SourceObject, StorageError, VersionId, Versioning,
};
use s3s::dto::{
    CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopyPartResult, CopySource,
    UploadPartCopyInput, UploadPartCopyOutput,
};
use s3s::{S3Result, s3_error};
use std::ops::Range;
use std::sync::Arc;

/// The most bytes of a copy in one request, as AWS has it.
const MOST_BYTES: u64 = 5 << 30;

type UserMetadata = Vec<(String, String)>;

/// The source that a header names.
fn source(given: &CopySource) -> S3Result<(String, String, Option<VersionId>)> {
    match given {
        CopySource::Bucket {
            bucket,
            key,
            version_id,
        } => Ok((
            bucket.to_string(),
            key.to_string(),
            convert::version(version_id.as_deref())?,
        )),
        CopySource::AccessPoint { .. } | CopySource::Outpost { .. } => Err(s3_error!(
            NotImplemented,
            "Copies from access points are not implemented"
        )),
    }
}

macro_rules! source_object {
    ($input:expr) => {{
        let (bucket, key, version) = source(&$input.copy_source)?;
        let conditions = convert::source_conditions(
            $input.copy_source_if_match.as_ref(),
            $input.copy_source_if_none_match.as_ref(),
            $input.copy_source_if_modified_since.as_ref(),
            $input.copy_source_if_unmodified_since.as_ref(),
        );
        SourceObject {
            bucket,
            key,
            version,
            conditions,
        }
    }};
}

impl Protocol {
    pub(super) async fn copy_object(
        &self,
        asked: Asked<CopyObjectInput>,
    ) -> S3Result<CopyObjectOutput> {
        let Asked {
            mut input,
            access_key,
            peer,
            headers,
            ..
        } = asked;
        undone::check(&headers)?;
        let mut source = source_object!(input);
        let asker = access_key.as_deref();
        self.check_source(asker, &source, peer, &headers)?;
        let lock = locks::given_lock!(input)?;
        let bucket = self.check_bucket(&input.bucket)?;
        self.check_lock(&bucket, &lock)?;
        let acl = self.new_acl(&bucket, asker, &headers)?;
        let replaces = directive(input.metadata_directive.as_ref().map(|text| text.as_str()))?;
        let retags = directive(input.tagging_directive.as_ref().map(|text| text.as_str()))?;
        check_itself(&input, &source, replaces)?;
        let found = self.found(
            self.store.head(&source.bucket, &source.key, source.version),
            source.version.is_none(),
        )?;
        check_size(&found)?;
        let metadata = replaced(&mut input, replaces, &found)?;
        let tags = match retags {
            true => Some(tags::from_header(input.tagging.as_deref())?),
            false => None,
        };
        if tags.is_none() && !found.content.tags.is_empty() {
            let circumstances = asking(asker, peer, &headers).circumstances;
            let to = (input.bucket.as_str(), input.key.as_str());
            self.check_tags_copied(asker, &source, to, &circumstances)?;
        }
        let named = input.checksum_algorithm.as_ref();
        let checksums = self
            .checksums_of_copy(named.map(|name| name.as_str()), &mut source, &found)
            .await?;
        let versioned = self.is_versioned(&source.bucket)?;
        let copy = CopyObject {
            source,
            bucket: input.bucket,
            key: input.key,
            metadata,
            tags,
            checksums,
            lock,
            acl,
            conditions: convert::conditions(None, None),
        };
        let made = self.blocking(move |store| store.copy_object(copy)).await?;
        let mut result = CopyObjectResult {
            e_tag: Some(convert::etag(made.etag)),
            last_modified: Some(convert::timestamp(made.modified_ms)),
            ..Default::default()
        };
        set_checksums!(result, &made.content.checksums);
        Ok(CopyObjectOutput {
            copy_object_result: Some(result),
            copy_source_version_id: convert::version_text(found.version, versioned),
            version_id: convert::version_text(made.version, bucket.versioning == Versioning::On),
            ..Default::default()
        })
    }

    /// The checksums of a copy that is to have one which its source has not. Errors:
    /// `InvalidRequest`.
    async fn checksums_of_copy(
        &self,
        named: Option<&str>,
        source: &mut SourceObject,
        found: &ObjectVersion,
    ) -> S3Result<Option<Vec<Checksum>>> {
        let Some(algorithm) = named.map(convert::algorithm).transpose()? else {
            return Ok(None);
        };
        let mut kept = found.content.checksums.iter();
        if kept.any(|kept| kept.algorithm == algorithm) {
            return Ok(None);
        }
        let computed = self.computed(source, Some(found.version), None, algorithm);
        let checksums = vec![computed.await?];
        pin(source, found);
        Ok(Some(checksums))
    }

    pub(super) async fn upload_part_copy(
        &self,
        asked: Asked<UploadPartCopyInput>,
    ) -> S3Result<UploadPartCopyOutput> {
        let Asked {
            input,
            access_key,
            peer,
            headers,
            ..
        } = asked;
        undone::check_part(&headers)?;
        let mut source = source_object!(input);
        self.check_source(access_key.as_deref(), &source, peer, &headers)?;
        let number = u32::try_from(input.part_number).unwrap_or(0);
        let found = self.found(
            self.store.head(&source.bucket, &source.key, source.version),
            source.version.is_none(),
        )?;
        let range = input
            .copy_source_range
            .as_deref()
            .map(|text| copied_range(text, found.size))
            .transpose()?;
        let upload = self.stored(self.store.multipart(
            &input.bucket,
            &input.key,
            &input.upload_id,
        ))?;
        let mut checksums = Vec::new();
        if let Some((algorithm, _)) = upload.checksum {
            checksums.push(
                self.computed(&source, Some(found.version), range.clone(), algorithm)
                    .await?,
            );
            pin(&mut source, &found);
        }
        let versioned = self.is_versioned(&source.bucket)?;
        let copy = CopyPart {
            source,
            range,
            bucket: input.bucket,
            key: input.key,
            upload: input.upload_id,
            number,
            checksums,
        };
        let part = self.blocking(move |store| store.copy_part(copy)).await?;
        let mut result = CopyPartResult {
            e_tag: Some(convert::etag(part.etag)),
            last_modified: Some(convert::timestamp(part.modified_ms)),
            ..Default::default()
        };
        set_checksums!(result, &part.checksums);
        Ok(UploadPartCopyOutput {
            copy_part_result: Some(result),
            copy_source_version_id: convert::version_text(found.version, versioned),
            ..Default::default()
        })
    }

    /// Whether who asks for a copy may read the tags of its source, which go with it, and set those
    /// of what is made.
    fn check_tags_copied(
        &self,
        asker: Option<&str>,
        source: &SourceObject,
        (bucket, key): (&str, &str),
        circumstances: &Circumstances<'_>,
    ) -> S3Result<()> {
        let read = Deed::new(
            "GetObjectTagging",
            Some((&source.bucket, Some(&source.key))),
        )
        .of_version(source.version);
        self.access.decide(asker, read, circumstances)?;
        self.access.decide(
            asker,
            Deed::new("PutObjectTagging", Some((bucket, Some(key)))),
            circumstances,
        )
    }

    /// Reads bytes once for a checksum that is not kept with them.
    async fn computed(
        &self,
        source: &SourceObject,
        version: Option<VersionId>,
        range: Option<Range<u64>>,
        algorithm: ChecksumAlgorithm,
    ) -> S3Result<Checksum> {
        let (bucket, key) = (source.bucket.clone(), source.key.clone());
        let store = Arc::clone(&self.store);
        let mut hashes = Hashes::computed(algorithm);
        let read = move || {
            let (_, mut reader) = store.get(&bucket, &key, version)?;
            if let Some(range) = range {
                reader.select(range);
            }
            while let Some(piece) = reader.next_chunk()? {
                hashes.update(&piece);
            }
            Ok(hashes)
        };
        let hashes = self.stored(super::intake::blocking(read).await?)?;
        let computed = hashes.finish(None)?.pop();
        computed.ok_or_else(|| self.refused(StorageError::Closed))
    }
}

/// Refuses a copy of an object to itself that would change nothing. Errors: `InvalidRequest`.
fn check_itself(input: &CopyObjectInput, source: &SourceObject, replaces: bool) -> S3Result<()> {
    let itself =
        source.bucket == input.bucket && source.key == input.key && source.version.is_none();
    if itself
        && !replaces
        && input.storage_class.is_none()
        && input.website_redirect_location.is_none()
    {
        return Err(s3_error!(
            InvalidRequest,
            "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes."
        ));
    }
    Ok(())
}

/// Errors: `InvalidRequest`.
fn check_size(source: &ObjectVersion) -> S3Result<()> {
    if source.size > MOST_BYTES {
        return Err(s3_error!(
            InvalidRequest,
            "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120"
        ));
    }
    Ok(())
}

/// What is copied is what was read: an object that was written over in between is not.
fn pin(source: &mut SourceObject, found: &ObjectVersion) {
    source
        .conditions
        .if_match
        .get_or_insert_with(|| EtagCondition::OneOf(vec![found.etag.to_string()]));
}

/// The headers and user metadata of a copy where they are not all the source's.
fn replaced(
    input: &mut CopyObjectInput,
    replaces: bool,
    found: &ObjectVersion,
) -> S3Result<Option<(Headers, UserMetadata)>> {
    if replaces {
        return Ok(Some((
            given_headers!(input).kept()?,
            convert::user_metadata(input.metadata.take())?,
        )));
    }
    let kept = &found.content.headers;
    // Where the source redirects to is not copied.
    let website_redirect_location = input.website_redirect_location.clone();
    if input.storage_class.is_none() && website_redirect_location == kept.website_redirect_location
    {
        return Ok(None);
    }
    let Headers {
        storage_class: class,
        ..
    } = given_headers!(input).kept()?;
    let storage_class = if input.storage_class.is_some() {
        class
    } else {
        kept.storage_class.clone()
    };
    Ok(Some((
        Headers {
            storage_class,
            website_redirect_location,
            ..kept.clone()
        },
        found.content.user.clone(),
    )))
}

/// Whether a directive replaces what the source has.
fn directive(given: Option<&str>) -> S3Result<bool> {
    match given {
        None | Some("COPY") => Ok(false),
        Some("REPLACE") => Ok(true),
        Some(_) => Err(s3_error!(
            InvalidArgument,
            "Unknown directive; write COPY or REPLACE"
        )),
    }
}

/// The range of `x-amz-copy-source-range`, which has both ends. Errors: `InvalidArgument`,
/// `InvalidRange`.
fn copied_range(text: &str, size: u64) -> S3Result<Range<u64>> {
    let ends = text
        .strip_prefix("bytes=")
        .and_then(|ends| ends.split_once('-'));
    let number = |text: &str| {
        text.parse::<u64>()
            .ok()
            .filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let range = ends.and_then(|(first, last)| Some(number(first)?..number(last)?.checked_add(1)?));
    match range {
        Some(range) if range.end <= range.start => Err(malformed_range()),
        Some(range) if range.end > size => Err(super::errors::range_not_satisfiable(size)),
        Some(range) => Ok(range),
        None => Err(malformed_range()),
    }
}

fn malformed_range() -> s3s::S3Error {
    convert::invalid_argument(
        "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_range_has_both_ends_and_lies_inside() {
        assert_eq!(copied_range("bytes=0-9", 10).unwrap(), 0..10);
        for (text, code) in [
            ("bytes=0-10", "InvalidRange"),
            ("bytes=5-4", "InvalidArgument"),
            ("bytes=0-", "InvalidArgument"),
            ("bytes=-5", "InvalidArgument"),
            ("0-5", "InvalidArgument"),
            ("bytes=+0-5", "InvalidArgument"),
            ("bytes=0-18446744073709551615", "InvalidArgument"),
        ] {
            assert_eq!(
                copied_range(text, 10).unwrap_err().code().as_str(),
                code,
                "{text}"
            );
        }
    }
}
