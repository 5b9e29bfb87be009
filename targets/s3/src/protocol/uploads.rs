//! Listings of uploads under way and of their parts.

use super::checksums::set_checksums;
use super::listing::{Encoding, delimiter, page_size};
use super::{Asked, Protocol, convert};
use crate::storage::{ChecksumAlgorithm, PartQuery, UploadEntry, UploadQuery, UploadedPart};
use s3s::S3Result;
use s3s::dto::{
    Initiator, ListMultipartUploadsInput, ListMultipartUploadsOutput, ListPartsInput,
    ListPartsOutput, MultipartUpload, Part, StorageClass,
};

impl Protocol {
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
