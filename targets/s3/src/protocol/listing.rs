//! Listings of objects and versions.

use super::convert::{self, invalid_argument, url_encoded};
use super::{Asked, Protocol};
use crate::storage::{
    ListQuery, ListedObject, ObjectEntry, ObjectPage, StorageError, StorageResult, VersionEntry,
    VersionId, VersionPage, VersionQuery,
};
use base64_simd::URL_SAFE_NO_PAD;
use s3s::dto::{
    CommonPrefix, DeleteMarkerEntry, EncodingType, ListObjectVersionsInput,
    ListObjectVersionsOutput, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input,
    ListObjectsV2Output, Object, ObjectStorageClass, ObjectVersion, ObjectVersionStorageClass,
    Owner,
};
use s3s::{S3Result, s3_error};

/// The most entries of a page, as AWS has it.
const MOST: i32 = 1000;
/// Pages up to this many entries are read where they were asked for.
const ON_THE_SPOT: usize = 100;

/// How many entries to list. Errors: `InvalidArgument` for fewer than none.
pub(super) fn page_size(asked: Option<i32>) -> S3Result<(i32, usize)> {
    let asked = asked.unwrap_or(MOST);
    match usize::try_from(asked.min(MOST)) {
        Ok(most) => Ok((asked.min(MOST), most)),
        Err(_) => Err(invalid_argument(
            "The maximum number of entries must be an integer between 0 and 2147483647",
        )),
    }
}

/// How keys are written into an answer.
#[derive(Clone, Copy)]
pub(super) struct Encoding {
    url: bool,
}

impl Encoding {
    pub(super) fn new(asked: Option<&EncodingType>) -> S3Result<Self> {
        match asked.map(|kind| kind.as_str()) {
            None => Ok(Self { url: false }),
            Some(EncodingType::URL) => Ok(Self { url: true }),
            Some(_) => Err(invalid_argument(
                "Invalid Encoding Method specified in Request",
            )),
        }
    }

    pub(super) fn write(self, text: String) -> String {
        if self.url { url_encoded(&text) } else { text }
    }

    pub(super) fn prefixes(self, prefixes: Vec<String>) -> Option<Vec<CommonPrefix>> {
        let prefix = |prefix| CommonPrefix {
            prefix: Some(self.write(prefix)),
        };
        (!prefixes.is_empty()).then(|| prefixes.into_iter().map(prefix).collect())
    }
}

/// An empty delimiter is none, and is not said again in the answer.
pub(super) fn delimiter(given: Option<&String>) -> Option<String> {
    given.filter(|text| !text.is_empty()).cloned()
}

fn object(listed: ListedObject, owner: Option<Owner>, encoding: Encoding) -> Object {
    let ListedObject {
        key,
        modified_ms,
        size,
        etag,
        storage_class,
        checksum,
    } = listed;
    Object {
        key: Some(encoding.write(key)),
        last_modified: Some(convert::timestamp(modified_ms)),
        size: Some(convert::signed(size)),
        e_tag: Some(convert::etag(etag)),
        owner,
        storage_class: Some(ObjectStorageClass::from(
            storage_class.unwrap_or_else(|| ObjectStorageClass::STANDARD.to_owned()),
        )),
        checksum_algorithm: checksum.map(|(algorithm, _)| vec![convert::algorithm_name(algorithm)]),
        checksum_type: checksum.map(|(_, kind)| convert::kind_name(kind)),
        restore_status: None,
    }
}

/// Objects and common prefixes of a page.
fn split(
    page: ObjectPage,
    owner: Option<&Owner>,
    encoding: Encoding,
) -> (Vec<Object>, Vec<String>) {
    let (mut objects, mut prefixes) = (Vec::with_capacity(page.entries.len()), Vec::new());
    for entry in page.entries {
        match entry {
            ObjectEntry::Object(listed) => objects.push(object(listed, owner.cloned(), encoding)),
            ObjectEntry::CommonPrefix(prefix) => prefixes.push(prefix),
        }
    }
    (objects, prefixes)
}

impl Protocol {
    async fn object_page(&self, bucket: &str, query: ListQuery) -> S3Result<ObjectPage> {
        let bucket = bucket.to_owned();
        if query.max == 0 {
            self.check_bucket(&bucket)?;
            return Ok(ObjectPage::default());
        }
        if query.max <= ON_THE_SPOT {
            return self.stored(self.store.list_objects(&bucket, &query));
        }
        self.blocking(move |store| store.list_objects(&bucket, &query))
            .await
    }

    pub(super) async fn list_objects(
        &self,
        asked: Asked<ListObjectsInput>,
    ) -> S3Result<ListObjectsOutput> {
        let input = asked.input;
        let (max_keys, max) = page_size(input.max_keys)?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let query = ListQuery {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_ref()),
            after: input.marker.clone().filter(|marker| !marker.is_empty()),
            max,
        };
        let owner = convert::owner(&self.check_bucket(&input.bucket)?.owner);
        let mut page = self.object_page(&input.bucket, query).await?;
        let next = page.next.take();
        let (contents, prefixes) = split(page, Some(&owner), encoding);
        Ok(ListObjectsOutput {
            name: Some(input.bucket),
            prefix: Some(encoding.write(input.prefix.unwrap_or_default())),
            marker: Some(encoding.write(input.marker.unwrap_or_default())),
            max_keys: Some(max_keys),
            is_truncated: Some(next.is_some()),
            contents: Some(contents),
            common_prefixes: encoding.prefixes(prefixes),
            delimiter: delimiter(input.delimiter.as_ref()).map(|text| encoding.write(text)),
            next_marker: next.map(|next| encoding.write(next)),
            encoding_type: input.encoding_type,
            ..Default::default()
        })
    }

    pub(super) async fn list_objects_v2(
        &self,
        asked: Asked<ListObjectsV2Input>,
    ) -> S3Result<ListObjectsV2Output> {
        let input = asked.input;
        let (max_keys, max) = page_size(input.max_keys)?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let continued = input
            .continuation_token
            .as_deref()
            .filter(|token| !token.is_empty())
            .map(from_token)
            .transpose()?;
        let query = ListQuery {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_ref()),
            after: continued
                .or_else(|| input.start_after.clone())
                .filter(|after| !after.is_empty()),
            max,
        };
        let owner = match input.fetch_owner {
            Some(true) => Some(convert::owner(&self.check_bucket(&input.bucket)?.owner)),
            Some(false) | None => None,
        };
        let mut page = self.object_page(&input.bucket, query).await?;
        let next = page.next.take();
        let (contents, prefixes) = split(page, owner.as_ref(), encoding);
        Ok(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: Some(encoding.write(input.prefix.unwrap_or_default())),
            max_keys: Some(max_keys),
            key_count: Some(convert::small(contents.len() + prefixes.len())),
            continuation_token: input.continuation_token,
            is_truncated: Some(next.is_some()),
            next_continuation_token: next.map(|next| URL_SAFE_NO_PAD.encode_to_string(next)),
            contents: Some(contents),
            common_prefixes: encoding.prefixes(prefixes),
            delimiter: delimiter(input.delimiter.as_ref()).map(|text| encoding.write(text)),
            encoding_type: input.encoding_type,
            start_after: input.start_after.map(|text| encoding.write(text)),
            ..Default::default()
        })
    }

    async fn version_page(&self, bucket: &str, query: VersionQuery) -> S3Result<VersionPage> {
        let bucket = bucket.to_owned();
        if query.max == 0 {
            self.check_bucket(&bucket)?;
            return Ok(VersionPage::default());
        }
        self.blocking(move |store| -> StorageResult<VersionPage> {
            store.list_versions(&bucket, &query)
        })
        .await
    }

    pub(super) async fn list_object_versions(
        &self,
        asked: Asked<ListObjectVersionsInput>,
    ) -> S3Result<ListObjectVersionsOutput> {
        let input = asked.input;
        let (max_keys, max) = page_size(input.max_keys)?;
        let encoding = Encoding::new(input.encoding_type.as_ref())?;
        let key_marker = input.key_marker.clone().filter(|marker| !marker.is_empty());
        let version_marker = input
            .version_id_marker
            .as_deref()
            .filter(|marker| !marker.is_empty());
        if version_marker.is_some() && key_marker.is_none() {
            return Err(s3_error!(
                InvalidArgument,
                "A version-id marker cannot be specified without a key marker."
            ));
        }
        let query = VersionQuery {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_ref()),
            key_marker,
            version_marker: match convert::version(version_marker)? {
                // There is no place after it.
                Some(VersionId::NEVER) => return Err(self.refused(StorageError::NoSuchVersion)),
                marker => marker,
            },
            max,
        };
        let owner = convert::owner(&self.check_bucket(&input.bucket)?.owner);
        let page = self.version_page(&input.bucket, query).await?;
        let (mut versions, mut markers, mut prefixes) = (Vec::new(), Vec::new(), Vec::new());
        for entry in page.entries {
            match entry {
                VersionEntry::CommonPrefix(prefix) => prefixes.push(prefix),
                VersionEntry::Version(listed) if listed.delete_marker => {
                    markers.push(marker(listed, &owner, encoding))
                }
                VersionEntry::Version(listed) => versions.push(version(listed, &owner, encoding)),
            }
        }
        let (next_key, next_version) = page
            .next
            .map_or((None, None), |(key, version)| (Some(key), version));
        Ok(ListObjectVersionsOutput {
            name: Some(input.bucket),
            prefix: Some(encoding.write(input.prefix.unwrap_or_default())),
            key_marker: Some(encoding.write(input.key_marker.unwrap_or_default())),
            version_id_marker: Some(input.version_id_marker.unwrap_or_default()),
            max_keys: Some(max_keys),
            is_truncated: Some(next_key.is_some()),
            next_key_marker: next_key.map(|key| encoding.write(key)),
            next_version_id_marker: next_version.map(|version| version.to_string()),
            versions: Some(versions),
            delete_markers: Some(markers),
            common_prefixes: encoding.prefixes(prefixes),
            delimiter: delimiter(input.delimiter.as_ref()).map(|text| encoding.write(text)),
            encoding_type: input.encoding_type,
            ..Default::default()
        })
    }
}

fn version(
    listed: crate::storage::ListedVersion,
    owner: &Owner,
    encoding: Encoding,
) -> ObjectVersion {
    let object = object(listed.object, Some(owner.clone()), encoding);
    ObjectVersion {
        key: object.key,
        last_modified: object.last_modified,
        size: object.size,
        e_tag: object.e_tag,
        owner: object.owner,
        storage_class: object
            .storage_class
            .map(|class| ObjectVersionStorageClass::from(class.as_str().to_owned())),
        checksum_algorithm: object.checksum_algorithm,
        checksum_type: object.checksum_type,
        is_latest: Some(listed.latest),
        version_id: Some(listed.version.to_string()),
        restore_status: None,
    }
}

fn marker(
    listed: crate::storage::ListedVersion,
    owner: &Owner,
    encoding: Encoding,
) -> DeleteMarkerEntry {
    DeleteMarkerEntry {
        is_latest: Some(listed.latest),
        key: Some(encoding.write(listed.object.key)),
        last_modified: Some(convert::timestamp(listed.object.modified_ms)),
        owner: Some(owner.clone()),
        version_id: Some(listed.version.to_string()),
    }
}

/// The key that a continuation token stands for. Errors: `InvalidArgument`.
fn from_token(token: &str) -> S3Result<String> {
    let decoded = URL_SAFE_NO_PAD
        .decode_to_vec(token)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    decoded
        .filter(|key| !key.is_empty())
        .ok_or_else(|| invalid_argument("The continuation token provided is incorrect"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back_and_others_are_refused() {
        for key in ["a", "a/ü b", "\u{1}"] {
            assert_eq!(
                from_token(&URL_SAFE_NO_PAD.encode_to_string(key)).unwrap(),
                key
            );
        }
        for token in ["", "!", "_w"] {
            assert!(from_token(token).is_err(), "{token}");
        }
    }

    #[test]
    fn pages_have_at_most_a_thousand_entries_and_never_fewer_than_none() {
        assert_eq!(page_size(None).unwrap(), (1000, 1000));
        assert_eq!(page_size(Some(5_000)).unwrap(), (1000, 1000));
        assert_eq!(page_size(Some(0)).unwrap(), (0, 0));
        assert!(page_size(Some(-1)).is_err());
    }
}
