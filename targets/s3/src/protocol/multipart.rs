//! Multipart uploads.

use super::checksums::{self, Hashes, given_checksums, set_checksums};
use super::convert::{self, given_headers};
use super::intake::{Intake, Upload, receive};
use super::objects::{check_length, trailer};
use super::{Answered, Asked, Protocol, locks, tags, undone};
use crate::storage::{
    Checksum, ChecksumAlgorithm, ChecksumKind, Complete, Content, NewMultipart, ObjectVersion,
    PartFinish, PartQuery, PartRef, StorageError, UploadEntry, UploadQuery, UploadedPart,
    Versioning,
};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CompletedPart, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, UploadPartInput, UploadPartOutput,
};
use s3s::{S3Result, s3_error};

/// The most parts of an upload, as AWS has it.
const MOST_PARTS: usize = 10_000;

impl Protocol {
    pub(super) async fn create_multipart_upload(
        &self,
        asked: Asked<CreateMultipartUploadInput>,
    ) -> S3Result<CreateMultipartUploadOutput> {
        let lock = locks::given_lock!(asked.input)?;
        let found = self.check_bucket(&asked.input.bucket)?;
        self.check_lock(&found, &lock)?;
        let Asked {
            mut input,
            access_key,
            headers,
            ..
        } = asked;
        undone::check(&headers)?;
        let acl = self.new_acl(&found, access_key.as_deref(), &headers)?;
        let content = Content {
            headers: given_headers!(input).kept()?,
            user: convert::user_metadata(input.metadata.take())?,
            tags: tags::from_header(input.tagging.as_deref())?,
            checksums: Vec::new(),
            lock,
            acl,
        };
        let algorithm = input
            .checksum_algorithm
            .as_ref()
            .map(|name| convert::algorithm(name.as_str()))
            .transpose()?;
        let named = input.checksum_type.as_ref().map(|kind| kind.as_str());
        if algorithm.is_none() && named.is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
            ));
        }
        let checksum = algorithm
            .map(|algorithm| Ok::<_, s3s::S3Error>((algorithm, checksums::kind(algorithm, named)?)))
            .transpose()?;
        let new = NewMultipart {
            content,
            checksum,
            initiator: access_key.unwrap_or_default(),
        };
        let (bucket, key) = (input.bucket.clone(), input.key.clone());
        let upload_id = self
            .blocking(move |store| store.create_multipart(&bucket, &key, new))
            .await?;
        Ok(CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(upload_id),
            checksum_algorithm: checksum.map(|(algorithm, _)| convert::algorithm_name(algorithm)),
            checksum_type: checksum.map(|(_, kind)| convert::kind_name(kind)),
            ..Default::default()
        })
    }

    pub(super) async fn upload_part(
        &self,
        asked: Asked<UploadPartInput>,
    ) -> S3Result<Answered<UploadPartOutput>> {
        let Asked {
            mut input,
            headers,
            trailers,
            sighting,
            ..
        } = asked;
        undone::check_part(&headers)?;
        check_length(input.content_length)?;
        let number = u32::try_from(input.part_number).unwrap_or(0);
        let upload = self.stored(self.store.begin_part(
            &input.bucket,
            &input.key,
            &input.upload_id,
            number,
        ))?;
        let wanted = self
            .stored(
                self.store
                    .multipart(&input.bucket, &input.key, &input.upload_id),
            )?
            .checksum;
        let named = input.checksum_algorithm.as_ref().map(|name| name.as_str());
        // Of an upload that was started without, the object has what AWS gives it.
        let kept = wanted.map_or(ChecksumAlgorithm::Crc64Nvme, |(algorithm, _)| algorithm);
        let hashes = Hashes::new(
            checksums::given_in(&headers)?,
            trailer(&headers),
            named,
            Some(kept),
        )?;
        let finish = PartFinish {
            checksums: Vec::new(),
            expected_md5: checksums::content_md5(input.content_md5.as_deref())?,
        };
        let received =
            receive(Intake::new(Upload::Part(upload), hashes), input.body.take()).await?;
        let part = received
            .into_part(finish, trailers)
            .await
            .map_err(|refused| self.intake_refused(refused))?;
        if let Some(sighting) = sighting {
            sighting.took(part.size);
        }
        let mut output = UploadPartOutput {
            e_tag: Some(convert::etag(part.etag)),
            ..Default::default()
        };
        set_checksums!(output, &part.checksums);
        Ok(Answered {
            output,
            headers: checksums::told(&part.checksums),
        })
    }

    pub(super) async fn complete_multipart_upload(
        &self,
        asked: Asked<CompleteMultipartUploadInput>,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        let Asked { input, base, .. } = asked;
        let listed = input
            .multipart_upload
            .as_ref()
            .and_then(|upload| upload.parts.clone())
            .unwrap_or_default();
        if listed.is_empty() || listed.len() > MOST_PARTS {
            return Err(super::malformed_xml());
        }
        let parts: Vec<PartRef> = listed.into_iter().map(part_ref).collect::<S3Result<_>>()?;
        let upload = match self
            .store
            .multipart(&input.bucket, &input.key, &input.upload_id)
        {
            Err(StorageError::NoSuchUpload) => return self.completed_before(input, &parts, &base),
            other => self.stored(other)?,
        };
        let given = checksums::given_in(&asked.headers)?;
        let checksums = match upload.checksum {
            Some((algorithm, kind)) => {
                vec![self.assembled(&input, &parts, algorithm, kind, &given)?]
            }
            None if given
                .iter()
                .any(|(algorithm, _)| *algorithm != ChecksumAlgorithm::Crc64Nvme) =>
            {
                return Err(s3_error!(
                    InvalidRequest,
                    "The upload was started without the checksum algorithm that its completion has."
                ));
            }
            // A part that is a copy has no checksum, and then the object has none.
            None => match self.assembled(
                &input,
                &parts,
                ChecksumAlgorithm::Crc64Nvme,
                ChecksumKind::FullObject,
                &given,
            ) {
                Err(error) if !given.is_empty() => return Err(error),
                computed => computed.into_iter().collect(),
            },
        };
        let complete = Complete {
            parts,
            checksums,
            conditions: convert::conditions(input.if_match.as_ref(), input.if_none_match.as_ref()),
            expected_size: input.mpu_object_size.map(object_size).transpose()?,
        };
        let versioning = self.check_bucket(&input.bucket)?.versioning;
        let (bucket, key, id) = (
            input.bucket.clone(),
            input.key.clone(),
            input.upload_id.clone(),
        );
        let named = complete.parts.clone();
        let store = std::sync::Arc::clone(&self.store);
        match super::intake::blocking(move || {
            store.complete_multipart(&bucket, &key, &id, complete)
        })
        .await?
        {
            // Somebody else, or the same client again, was faster.
            Err(StorageError::NoSuchUpload) => self.completed_before(input, &named, &base),
            outcome => {
                let made = self.stored(outcome)?;
                self.finished.keep((&input.bucket, &input.upload_id), &made);
                Ok(completed(input.bucket, made, versioning, &base))
            }
        }
    }

    /// Answers what is asked again, as it is where the first answer was lost: the upload is gone,
    /// and the object is what these parts made.
    fn completed_before(
        &self,
        input: CompleteMultipartUploadInput,
        parts: &[PartRef],
        base: &str,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        let versioning = self.check_bucket(&input.bucket)?.versioning;
        let missing = || self.refused(StorageError::NoSuchUpload);
        if input.if_match.is_some() || input.if_none_match.is_some() {
            return Err(missing());
        }
        let found = self
            .finished
            .get((&input.bucket, &input.upload_id))
            .filter(|made| made.key == input.key);
        let found = found.map_or_else(|| self.store.head(&input.bucket, &input.key, None), Ok);
        let Ok(made) = found else {
            return Err(missing());
        };
        if checksums::etag_of_parts(parts.iter().map(|part| part.etag.as_str())) != Some(made.etag)
        {
            return Err(missing());
        }
        Ok(completed(input.bucket, made, versioning, base))
    }

    /// The checksum of the object that these parts will be. The store checks again that the parts
    /// are those.
    fn assembled(
        &self,
        input: &CompleteMultipartUploadInput,
        parts: &[PartRef],
        algorithm: ChecksumAlgorithm,
        kind: ChecksumKind,
        given: &checksums::Given,
    ) -> S3Result<Checksum> {
        let all = PartQuery {
            after: 0,
            max: MOST_PARTS,
        };
        let uploaded = self
            .stored(
                self.store
                    .list_parts(&input.bucket, &input.key, &input.upload_id, &all),
            )?
            .parts;
        let named = |part: &&UploadedPart| {
            parts
                .binary_search_by_key(&part.number, |named| named.number)
                .is_ok()
        };
        let kept: Vec<UploadedPart> = uploaded.iter().filter(named).cloned().collect();
        if kept.len() != parts.len() {
            // Out of order, twice or not there: the store says which.
            return Ok(Checksum {
                algorithm,
                kind,
                value: String::new(),
            });
        }
        let computed = checksums::assembled(algorithm, kind, &kept)?;
        checksums::check_assembled(&computed, given)?;
        Ok(computed)
    }

    pub(super) async fn abort_multipart_upload(
        &self,
        asked: Asked<AbortMultipartUploadInput>,
    ) -> S3Result<AbortMultipartUploadOutput> {
        let AbortMultipartUploadInput {
            bucket,
            key,
            upload_id,
            if_match_initiated_time,
            ..
        } = asked.input;
        if let Some(expected) = if_match_initiated_time {
            self.check_started(&bucket, &key, &upload_id, convert::milliseconds(&expected))?;
        }
        self.blocking(move |store| store.abort_multipart(&bucket, &key, &upload_id))
            .await?;
        Ok(AbortMultipartUploadOutput::default())
    }

    /// Errors: `PreconditionFailed` where an upload was started in another second than is said.
    fn check_started(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        expected_ms: u64,
    ) -> S3Result<()> {
        self.stored(self.store.multipart(bucket, key, upload))?;
        let mut query = UploadQuery {
            prefix: key.to_owned(),
            delimiter: None,
            key_marker: None,
            upload_marker: None,
            max: 1000,
        };
        loop {
            let page = self.stored(self.store.list_uploads(bucket, &query))?;
            for entry in page.entries {
                if let UploadEntry::Upload(listed) = entry
                    && listed.key == key
                    && listed.upload == upload
                {
                    let same = listed.started_ms / 1000 == expected_ms / 1000;
                    return if same {
                        Ok(())
                    } else {
                        Err(super::errors::precondition_failed())
                    };
                }
            }
            let Some((key_marker, upload_marker)) = page.next else {
                return Err(self.refused(StorageError::NoSuchUpload));
            };
            (query.key_marker, query.upload_marker) = (Some(key_marker), upload_marker);
        }
    }
}

fn completed(
    bucket: String,
    made: ObjectVersion,
    versioning: Versioning,
    base: &str,
) -> CompleteMultipartUploadOutput {
    let mut output = CompleteMultipartUploadOutput {
        location: Some(format!(
            "{base}/{bucket}/{}",
            convert::url_encoded(&made.key)
        )),
        bucket: Some(bucket),
        key: Some(made.key),
        e_tag: Some(convert::etag(made.etag)),
        version_id: convert::version_text(made.version, versioning == Versioning::On),
        ..Default::default()
    };
    set_checksums!(output, &made.content.checksums);
    output.checksum_type = made
        .content
        .checksums
        .first()
        .map(|first| convert::kind_name(first.kind));
    output
}

/// The size that a client says the object has. Errors: `InvalidRequest`.
fn object_size(said: i64) -> S3Result<u64> {
    u64::try_from(said).or(Err(s3_error!(
        InvalidRequest,
        "Value for x-amz-mp-object-size header is less than zero"
    )))
}

fn part_ref(part: CompletedPart) -> S3Result<PartRef> {
    let given = given_checksums!(part);
    let checksum = |(algorithm, value)| Checksum {
        algorithm,
        kind: ChecksumKind::FullObject,
        value,
    };
    let malformed = || super::malformed_xml();
    let number = u32::try_from(part.part_number.ok_or_else(malformed)?);
    let negative = "PartNumber must be an integer between 1 and 10000";
    Ok(PartRef {
        number: number.or(Err(convert::invalid_argument(negative)))?,
        etag: part.e_tag.ok_or_else(malformed)?.value().to_owned(),
        checksums: given.into_iter().map(checksum).collect(),
    })
}
