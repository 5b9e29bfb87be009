//! Multipart uploads.

use super::checksums::{self, Hashes, given_checksums, set_checksums};
use super::convert::{self, given_headers};
use super::intake::{Intake, Upload, receive};
use super::listing::{Encoding, delimiter, page_size};
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
    CreateMultipartUploadOutput, Initiator, ListMultipartUploadsInput, ListMultipartUploadsOutput,
    ListPartsInput, ListPartsOutput, MultipartUpload, Part, StorageClass, UploadPartInput,
    UploadPartOutput,
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

    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
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
            return Err(s3_error!(
                MalformedXML,
                "The XML you provided was not well-formed or did not validate against our published schema"
            ));
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

    pub(super) async fn list_parts(
        &self,
        asked: Asked<ListPartsInput>,
    ) -> S3Result<ListPartsOutput> {
        let input = asked.input;
        let (max_parts, max) = page_size(input.max_parts)?;
        let after = input
            .part_number_marker
            .map_or(0, |marker| u32::try_from(marker).unwrap_or(0));
        let upload = self.stored(self.store.multipart(
            &input.bucket,
            &input.key,
            &input.upload_id,
        ))?;
        let query = PartQuery { after, max };
        let page = self.stored(self.store.list_parts(
            &input.bucket,
            &input.key,
            &input.upload_id,
            &query,
        ))?;
        let owner = match &upload.content.acl {
            Some(acl) => convert::owner(&acl.owner),
            None => convert::owner(&self.check_bucket(&input.bucket)?.owner),
        };
        let last = page.parts.last().map_or(after, |part| part.number);
        Ok(ListPartsOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(input.upload_id),
            initiator: Some(initiator(upload.initiator)),
            owner: Some(owner),
            is_truncated: Some(page.next.is_some()),
            max_parts: Some(max_parts),
            part_number_marker: i32::try_from(after).ok(),
            next_part_number_marker: i32::try_from(last).ok(),
            parts: Some(page.parts.into_iter().map(part).collect()),
            storage_class: Some(storage_class(upload.content.headers.storage_class)),
            checksum_algorithm: upload
                .checksum
                .map(|(algorithm, _)| convert::algorithm_name(algorithm)),
            checksum_type: upload.checksum.map(|(_, kind)| convert::kind_name(kind)),
            ..Default::default()
        })
    }

    pub(super) async fn list_multipart_uploads(
        &self,
        asked: Asked<ListMultipartUploadsInput>,
    ) -> S3Result<ListMultipartUploadsOutput> {
        let input = asked.input;
        let (max_uploads, max) = page_size(input.max_uploads)?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let query = UploadQuery {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_ref()),
            key_marker: input.key_marker.clone().filter(|marker| !marker.is_empty()),
            upload_marker: input
                .upload_id_marker
                .clone()
                .filter(|marker| !marker.is_empty()),
            max,
        };
        let owner = convert::owner(&self.check_bucket(&input.bucket)?.owner);
        let bucket = input.bucket.clone();
        let page = self
            .blocking(move |store| store.list_uploads(&bucket, &query))
            .await?;
        let (mut uploads, mut prefixes) = (Vec::new(), Vec::new());
        for entry in page.entries {
            match entry {
                UploadEntry::CommonPrefix(prefix) => prefixes.push(prefix),
                UploadEntry::Upload(listed) => uploads.push(MultipartUpload {
                    initiated: Some(convert::timestamp(listed.started_ms)),
                    initiator: Some(initiator(listed.initiator)),
                    key: Some(encoding.write(listed.key)),
                    owner: Some(
                        listed
                            .owner
                            .as_deref()
                            .map_or_else(|| owner.clone(), convert::owner),
                    ),
                    storage_class: Some(storage_class(listed.storage_class)),
                    upload_id: Some(listed.upload),
                    checksum_algorithm: listed
                        .checksum
                        .map(|(algorithm, _)| convert::algorithm_name(algorithm)),
                    checksum_type: listed.checksum.map(|(_, kind)| convert::kind_name(kind)),
                }),
            }
        }
        let (next_key, next_upload) = page
            .next
            .map_or((None, None), |(key, upload)| (Some(key), upload));
        Ok(ListMultipartUploadsOutput {
            bucket: Some(input.bucket),
            prefix: Some(encoding.write(input.prefix.unwrap_or_default())),
            delimiter: delimiter(input.delimiter.as_ref()).map(|text| encoding.write(text)),
            key_marker: Some(encoding.write(input.key_marker.unwrap_or_default())),
            upload_id_marker: Some(input.upload_id_marker.unwrap_or_default()),
            max_uploads: Some(max_uploads),
            is_truncated: Some(next_key.is_some()),
            next_key_marker: next_key.map(|key| encoding.write(key)),
            next_upload_id_marker: next_upload,
            uploads: Some(uploads),
            common_prefixes: encoding.prefixes(prefixes),
            encoding_type: input.encoding_type,
            ..Default::default()
        })
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

fn initiator(id: String) -> Initiator {
    Initiator {
        display_name: Some(id.clone()),
        id: Some(id),
    }
}

fn storage_class(kept: Option<String>) -> StorageClass {
    StorageClass::from(kept.unwrap_or_else(|| StorageClass::STANDARD.to_owned()))
}

fn part(part: UploadedPart) -> Part {
    let mut out = Part {
        e_tag: Some(convert::etag(part.etag)),
        last_modified: Some(convert::timestamp(part.modified_ms)),
        part_number: i32::try_from(part.number).ok(),
        size: Some(convert::signed(part.size)),
        ..Default::default()
    };
    set_checksums!(out, &part.checksums);
    out
}

fn part_ref(part: CompletedPart) -> S3Result<PartRef> {
    let given = given_checksums!(part);
    let checksum = |(algorithm, value)| Checksum {
        algorithm,
        kind: ChecksumKind::FullObject,
        value,
    };
    let malformed = || {
        s3_error!(
            MalformedXML,
            "The XML you provided was not well-formed or did not validate against our published schema"
        )
    };
    let number = u32::try_from(part.part_number.ok_or_else(malformed)?);
    let negative = "PartNumber must be an integer between 1 and 10000";
    Ok(PartRef {
        number: number.or(Err(convert::invalid_argument(negative)))?,
        etag: part.e_tag.ok_or_else(malformed)?.value().to_owned(),
        checksums: given.into_iter().map(checksum).collect(),
    })
}
