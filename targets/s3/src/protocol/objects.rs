//! Putting objects, and what is said of them besides their bytes.

use super::checksums::{self, Hashes, set_checksums};
use super::convert::{self, given_headers};
use super::intake::{Intake, Upload, receive};
use super::{Answered, Asked, Protocol, locks, tags, undone};
use crate::lifecycle;
use crate::storage::{Bucket, ChecksumAlgorithm, Content, ObjectVersion, PutFinish, Versioning};
use s3s::dto::{
    DeleteObjectTaggingInput, DeleteObjectTaggingOutput, GetObjectAttributesInput,
    GetObjectAttributesOutput, GetObjectAttributesParts, GetObjectTaggingInput,
    GetObjectTaggingOutput, ObjectAttributes, ObjectPart, PutObjectInput, PutObjectOutput,
    PutObjectTaggingInput, PutObjectTaggingOutput, StorageClass, StreamingBlob,
};
use s3s::{S3Result, TrailingHeaders, s3_error};

/// The most bytes of one PUT, as AWS has it.
const MOST_BYTES: i64 = 5 << 30;

/// Refuses a body that is said to be too long. Errors: `EntityTooLarge`.
pub(super) fn check_length(length: Option<i64>) -> S3Result<()> {
    match length {
        Some(length) if length > MOST_BYTES => Err(s3_error!(
            EntityTooLarge,
            "Your proposed upload exceeds the maximum allowed object size."
        )),
        Some(_) | None => Ok(()),
    }
}

/// What a trailer is said to hold.
pub(super) fn trailer(headers: &http::HeaderMap) -> Option<&str> {
    headers
        .get("x-amz-trailer")
        .and_then(|value| value.to_str().ok())
}

/// What a PUT says of its object before the bytes come: the hashes to take on the way, and how it
/// is finished.
macro_rules! announced {
    ($input:expr, $headers:expr, $given:expr, $acl:expr) => {{
        let named = $input.checksum_algorithm.as_ref().map(|name| name.as_str());
        let hashes = Hashes::new($given, trailer(&$headers), named, None)?;
        let content = Content {
            headers: given_headers!($input).kept()?,
            user: convert::user_metadata($input.metadata.take())?,
            tags: tags::from_header($input.tagging.as_deref())?,
            checksums: Vec::new(),
            lock: locks::given_lock!($input)?,
            acl: $acl,
        };
        let finish = PutFinish {
            content,
            conditions: convert::conditions(
                $input.if_match.as_ref(),
                $input.if_none_match.as_ref(),
            ),
            expected_md5: checksums::content_md5($input.content_md5.as_deref())?,
        };
        (hashes, finish)
    }};
}

/// The attributes that there are.
const ATTRIBUTES: [&str; 5] = [
    ObjectAttributes::ETAG,
    ObjectAttributes::CHECKSUM,
    ObjectAttributes::OBJECT_PARTS,
    ObjectAttributes::STORAGE_CLASS,
    ObjectAttributes::OBJECT_SIZE,
];

/// Errors: `InvalidRequest` where none is asked for, `InvalidArgument` for one that there is not.
fn check_attributes(given: &[ObjectAttributes]) -> S3Result<()> {
    let mut names = given
        .iter()
        .flat_map(|given| given.as_str().split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .peekable();
    if names.peek().is_none() {
        return Err(s3_error!(
            InvalidRequest,
            "The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty"
        ));
    }
    if names.all(|name| ATTRIBUTES.contains(&name)) {
        Ok(())
    } else {
        Err(convert::invalid_argument(
            "Invalid attribute name specified.",
        ))
    }
}

impl Protocol {
    /// Takes the bytes in and makes the object; answers it with the versioning of its bucket.
    async fn put(
        &self,
        (found, key): (Bucket, &str),
        body: Option<StreamingBlob>,
        (hashes, finish): (Hashes, PutFinish),
        trailers: Option<TrailingHeaders>,
    ) -> S3Result<(ObjectVersion, Versioning)> {
        self.check_lock(&found, &finish.content.lock)?;
        let upload = Upload::Object(self.stored(self.store.begin_put(&found.name, key))?);
        let received = receive(Intake::new(upload, hashes), body).await?;
        let made = received
            .into_object(finish, trailers)
            .await
            .map_err(|refused| self.intake_refused(refused))?;
        Ok((made, found.versioning))
    }

    pub(super) async fn put_object(
        &self,
        asked: Asked<PutObjectInput>,
    ) -> S3Result<Answered<PutObjectOutput>> {
        let Asked {
            mut input,
            headers,
            access_key,
            trailers,
            sighting,
            ..
        } = asked;
        undone::check(&headers)?;
        check_length(input.content_length)?;
        let bucket = self.check_bucket(&input.bucket)?;
        let acl = self.new_acl(&bucket, access_key.as_deref(), &headers)?;
        let announced = announced!(input, headers, checksums::given_in(&headers)?, acl);
        let (made, versioning) = self
            .put((bucket, &input.key), input.body.take(), announced, trailers)
            .await?;
        if let Some(sighting) = sighting {
            sighting.took(made.size);
        }
        let mut output = PutObjectOutput {
            e_tag: Some(convert::etag(made.etag)),
            ..Default::default()
        };
        output.expiration = lifecycle::announced(&*self.store, &input.bucket, &made);
        set_checksums!(output, &made.content.checksums);
        output.checksum_type = made
            .content
            .checksums
            .first()
            .map(|first| convert::kind_name(first.kind));
        output.version_id = convert::version_text(made.version, versioning == Versioning::On);
        Ok(Answered {
            output,
            headers: checksums::told(&made.content.checksums),
        })
    }

    pub(super) async fn get_object_attributes(
        &self,
        asked: Asked<GetObjectAttributesInput>,
    ) -> S3Result<GetObjectAttributesOutput> {
        let input = asked.input;
        let versioned = self.is_versioned(&input.bucket)?;
        check_attributes(&input.object_attributes)?;
        let version = convert::version(input.version_id.as_deref())?;
        let found = self.found(
            self.store.head(&input.bucket, &input.key, version),
            version.is_none(),
        )?;
        // The header is a list, which the protocol library hands on as it came.
        let wants = |name: &str| {
            input
                .object_attributes
                .iter()
                .any(|given| given.as_str().split(',').any(|one| one.trim() == name))
        };
        let mut output = GetObjectAttributesOutput {
            last_modified: Some(convert::timestamp(found.modified_ms)),
            version_id: convert::version_text(found.version, versioned),
            ..Default::default()
        };
        if wants(ObjectAttributes::ETAG) {
            output.e_tag = Some(convert::etag(found.etag));
        }
        if wants(ObjectAttributes::CHECKSUM) {
            output.checksum = checksums::document(&found.content.checksums);
        }
        if wants(ObjectAttributes::OBJECT_SIZE) {
            output.object_size = Some(convert::signed(found.size));
        }
        if wants(ObjectAttributes::STORAGE_CLASS) {
            let class = found
                .content
                .headers
                .storage_class
                .clone()
                .unwrap_or_else(|| "STANDARD".to_owned());
            output.storage_class = Some(StorageClass::from(class));
        }
        if wants(ObjectAttributes::OBJECT_PARTS) && found.etag.parts > 0 {
            output.object_parts = Some(self.attribute_parts(&input, &found)?);
        }
        Ok(output)
    }

    fn attribute_parts(
        &self,
        input: &GetObjectAttributesInput,
        found: &ObjectVersion,
    ) -> S3Result<GetObjectAttributesParts> {
        let parts = self.stored(self.store.parts_of(
            &input.bucket,
            &input.key,
            Some(found.version),
        ))?;
        let after = input
            .part_number_marker
            .map_or(0, |marker| u32::try_from(marker).unwrap_or(0));
        let most = input
            .max_parts
            .map_or(1000, |most| usize::try_from(most).unwrap_or(0))
            .min(1000);
        let total = convert::small(parts.len());
        let mut page: Vec<_> = parts
            .into_iter()
            .filter(|part| part.number > after)
            .collect();
        let truncated = page.len() > most;
        page.truncate(most);
        let last = page.last().map_or(after, |part| part.number);
        let part = |part: crate::storage::ObjectPart| {
            let mut out = ObjectPart {
                part_number: i32::try_from(part.number).ok(),
                size: Some(convert::signed(part.range.end - part.range.start)),
                ..Default::default()
            };
            set_checksums!(out, &part.checksums);
            out
        };
        // AWS lists parts only where the client gave them checksums; CRC64NVME is of the whole
        // object, and computed where none was given.
        let own = |checksum: &crate::storage::Checksum| {
            checksum.algorithm != ChecksumAlgorithm::Crc64Nvme
        };
        let composite = page.iter().any(|part| part.checksums.iter().any(own));
        Ok(GetObjectAttributesParts {
            is_truncated: Some(truncated),
            max_parts: Some(convert::small(most)),
            next_part_number_marker: i32::try_from(last).ok(),
            part_number_marker: i32::try_from(after).ok(),
            parts: composite.then(|| page.into_iter().map(part).collect()),
            total_parts_count: Some(total),
        })
    }

    pub(super) async fn get_object_tagging(
        &self,
        asked: Asked<GetObjectTaggingInput>,
    ) -> S3Result<GetObjectTaggingOutput> {
        let input = asked.input;
        let version = convert::version(input.version_id.as_deref())?;
        let versioned = self.is_versioned(&input.bucket)?;
        let found = self.found(
            self.store.head(&input.bucket, &input.key, version),
            version.is_none(),
        )?;
        Ok(GetObjectTaggingOutput {
            tag_set: tags::to_set(found.content.tags),
            version_id: convert::version_text(found.version, versioned),
        })
    }

    pub(super) async fn put_object_tagging(
        &self,
        asked: Asked<PutObjectTaggingInput>,
    ) -> S3Result<PutObjectTaggingOutput> {
        let input = asked.input;
        let tags = tags::from_document(input.tagging, tags::Tagged::Object)?;
        let version = self
            .retag(input.bucket, input.key, input.version_id.as_deref(), tags)
            .await?;
        Ok(PutObjectTaggingOutput {
            version_id: version,
        })
    }

    pub(super) async fn delete_object_tagging(
        &self,
        asked: Asked<DeleteObjectTaggingInput>,
    ) -> S3Result<DeleteObjectTaggingOutput> {
        let input = asked.input;
        let version = self
            .retag(
                input.bucket,
                input.key,
                input.version_id.as_deref(),
                Vec::new(),
            )
            .await?;
        Ok(DeleteObjectTaggingOutput {
            version_id: version,
        })
    }

    async fn retag(
        &self,
        bucket: String,
        key: String,
        version: Option<&str>,
        tags: crate::storage::Tags,
    ) -> S3Result<Option<String>> {
        let version = convert::version(version)?;
        let versioned = self.is_versioned(&bucket)?;
        let latest = version.is_none();
        let store = std::sync::Arc::clone(&self.store);
        let outcome =
            super::intake::blocking(move || store.set_tags(&bucket, &key, version, tags)).await?;
        Ok(convert::version_text(
            self.found(outcome, latest)?,
            versioned,
        ))
    }
}
