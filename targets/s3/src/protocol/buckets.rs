//! Buckets themselves.

use super::errors::malformed_xml;
use super::{Asked, Protocol, convert, tags, undone};
use crate::acl::Ownership;
use crate::documents;
use crate::storage::{BucketDocument, BucketLock, NewBucket, StorageError, Tags};
use s3s::dto::*;
use s3s::{S3ErrorCode, S3Result, s3_error};

/// The most buckets of a page, as AWS has it.
const MOST_BUCKETS: i32 = 10_000;
/// The region that S3 had first, which is named by nothing.
const FIRST_REGION: &str = "us-east-1";

/// What a bucket begins with besides its name and its list. Errors: `MalformedXML`, `InvalidTag`.
fn documents_of(
    ownership: Ownership,
    configuration: Option<&str>,
) -> S3Result<Vec<(BucketDocument, Vec<u8>)>> {
    let controls = documents::ownership_controls(ownership);
    let mut kept = vec![(
        BucketDocument::Ownership,
        documents::written(&controls).ok_or_else(malformed_xml)?,
    )];
    let tag_set = tags::to_set(tags_of_configuration(configuration.unwrap_or_default())?);
    if !tag_set.is_empty() {
        kept.push((
            BucketDocument::Tags,
            documents::written(&Tagging { tag_set }).ok_or_else(malformed_xml)?,
        ));
    }
    Ok(kept)
}

/// The tags in the configuration of a new bucket, which the protocol library does not read.
fn tags_of_configuration(text: &str) -> S3Result<Tags> {
    let Some((_, rest)) = text.split_once("<Tags>") else {
        return if text.contains("<Tags ") {
            Err(malformed_xml())
        } else {
            Ok(Tags::new())
        };
    };
    let (tags, _) = rest.split_once("</Tags>").ok_or_else(malformed_xml)?;
    let tagging: Tagging =
        documents::read(format!("<Tagging><TagSet>{tags}</TagSet></Tagging>").as_bytes())
            .ok_or_else(malformed_xml)?;
    tags::from_document(tagging, tags::Tagged::Bucket)
}

impl Protocol {
    pub(super) async fn list_buckets(
        &self,
        asked: Asked<ListBucketsInput>,
    ) -> S3Result<ListBucketsOutput> {
        let Asked {
            input, access_key, ..
        } = asked;
        let asker = access_key.unwrap_or_default();
        if input
            .max_buckets
            .is_some_and(|most| !(1..=MOST_BUCKETS).contains(&most))
        {
            return Err(convert::invalid_argument(
                "Argument max-buckets must be an integer between 1 and 10000",
            ));
        }
        let prefix = input.prefix.clone().unwrap_or_default();
        let after = input.continuation_token.clone().unwrap_or_default();
        let most = input
            .max_buckets
            .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(0));
        let mut kept = self.stored(self.store.buckets())?;
        kept.retain(|bucket| {
            bucket.name.starts_with(&prefix)
                && bucket.name > after
                && self.access.keyring.knows(&asker, &bucket.name)
        });
        let next = (kept.len() > most).then(|| kept[most.max(1) - 1].name.clone());
        kept.truncate(most);
        let bucket = |bucket: crate::storage::Bucket| Bucket {
            bucket_region: Some(bucket.region),
            creation_date: Some(convert::timestamp(bucket.created_ms)),
            name: Some(bucket.name),
        };
        Ok(ListBucketsOutput {
            buckets: Some(kept.into_iter().map(bucket).collect()),
            continuation_token: next,
            owner: Some(convert::owner(&asker)),
            prefix: input.prefix,
        })
    }

    pub(super) async fn create_bucket(
        &self,
        asked: Asked<CreateBucketInput>,
    ) -> S3Result<CreateBucketOutput> {
        let Asked {
            input,
            access_key,
            bucket_configuration,
            headers,
            ..
        } = asked;
        if input.bucket == crate::front::OWN_PAGES {
            return Err(s3_error!(
                InvalidBucketName,
                "This server's own pages have the name of that bucket"
            ));
        }
        undone::check(&headers)?;
        let named = input
            .create_bucket_configuration
            .and_then(|given| given.location_constraint);
        let region = named.map_or_else(|| self.region.clone(), |region| region.as_str().to_owned());
        if region != self.region && !region.is_empty() {
            return Err(s3_error!(
                InvalidLocationConstraint,
                "The specified location-constraint is not valid; this server is {}",
                self.region
            ));
        }
        let owner = access_key.unwrap_or_default();
        let ownership = match &input.object_ownership {
            None => self.access.ownership,
            Some(named) => Ownership::parse(named.as_str()).ok_or_else(|| {
                convert::invalid_argument("Invalid x-amz-object-ownership header")
            })?,
        };
        let acl = self.new_bucket_acl(&owner, &headers, ownership)?;
        let has_list = acl.is_some();
        let mut documents = documents_of(ownership, bucket_configuration.as_deref())?;
        documents.extend(acl);
        let lock = (input.object_lock_enabled_for_bucket == Some(true)).then(BucketLock::default);
        let new = NewBucket {
            owner,
            region: self.region.clone(),
            lock,
            documents,
        };
        let bucket = input.bucket.clone();
        let location = Some(format!("/{}", input.bucket));
        match self
            .blocking(move |store| store.create_bucket(&bucket, new))
            .await
        {
            Ok(()) => Ok(CreateBucketOutput { location }),
            // The oldest region of AWS takes a bucket that is one's own already; all others refuse
            // it. A list that it would begin with is not what it has.
            Err(error)
                if *error.code() == S3ErrorCode::BucketAlreadyOwnedByYou
                    && self.region == FIRST_REGION
                    && !has_list =>
            {
                Ok(CreateBucketOutput { location })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn head_bucket(
        &self,
        asked: Asked<HeadBucketInput>,
    ) -> S3Result<HeadBucketOutput> {
        let bucket = self.stored(self.store.bucket(&asked.input.bucket))?;
        Ok(HeadBucketOutput {
            bucket_region: Some(bucket.region),
            ..Default::default()
        })
    }

    pub(super) async fn delete_bucket(
        &self,
        asked: Asked<DeleteBucketInput>,
    ) -> S3Result<DeleteBucketOutput> {
        let bucket = asked.input.bucket;
        self.blocking(move |store| store.delete_bucket(&bucket))
            .await?;
        Ok(DeleteBucketOutput::default())
    }

    pub(super) async fn get_bucket_location(
        &self,
        asked: Asked<GetBucketLocationInput>,
    ) -> S3Result<GetBucketLocationOutput> {
        let bucket = self.stored(self.store.bucket(&asked.input.bucket))?;
        let named = Some(bucket.region).filter(|region| region != FIRST_REGION);
        Ok(GetBucketLocationOutput {
            location_constraint: named.map(BucketLocationConstraint::from),
        })
    }

    /// Errors: `NoSuchBucket`.
    pub(super) fn check_bucket(&self, bucket: &str) -> S3Result<crate::storage::Bucket> {
        match self.store.bucket(bucket) {
            Ok(found) => Ok(found),
            Err(error @ StorageError::NoSuchBucket) => Err(super::errors::storage_error(&error)),
            Err(error) => Err(self.refused(error)),
        }
    }
}
