//! The operations of S3 over a store: what a request means, in the words of the store.
//!
//! Requests arrive here authenticated and permitted. Operations that are not below answer `NotImplemented`, by the library's defaults.

mod buckets;
mod checksums;
mod convert;
mod copying;
mod deleting;
mod errors;
mod intake;
mod listing;
mod multipart;
mod objects;
mod outflow;
mod reading;
mod settings;
mod tags;

pub(crate) use errors::{content_sha256_mismatch, custom};

use crate::access::Access;
use crate::storage::{ObjectStore, StorageError, StorageResult, Versioning};
use s3s::dto::*;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};
use std::sync::Arc;
use std::time::Duration;

/// Told of what an operator should know; never of secrets.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The protocol's side of a server.
pub(crate) struct Protocol {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) access: Arc<Access>,
    pub(crate) region: String,
    pub(crate) log: Log,
    /// How long a body may pause.
    pub(crate) idle: Duration,
}

/// Handlers know the request without its credentials' secret.
pub(crate) struct Asked<T> {
    pub(crate) input: T,
    pub(crate) headers: http::HeaderMap,
    pub(crate) access_key: Option<String>,
    pub(crate) trailers: Option<s3s::TrailingHeaders>,
}

impl<T> Asked<T> {
    /// Errors: `InvalidRequest` for a signature of version 2, which alone names no region.
    fn new(request: S3Request<T>) -> S3Result<Self> {
        let S3Request { input, headers, credentials, trailing_headers, region, .. } = request;
        if credentials.is_some() && region.is_none() {
            return Err(s3_error!(
                InvalidRequest,
                "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
            ));
        }
        Ok(Self { input, headers, access_key: credentials.map(|credentials| credentials.access_key), trailers: trailing_headers })
    }
}

impl Protocol {
    /// An error of the store as the client hears it; the operator hears more.
    fn refused(&self, error: StorageError) -> S3Error {
        if errors::is_internal(&error) {
            (self.log)(&described(&error));
        }
        errors::storage_error(&error)
    }

    fn stored<T>(&self, outcome: StorageResult<T>) -> S3Result<T> {
        outcome.map_err(|error| self.refused(error))
    }

    /// Calls the store where it may block.
    async fn blocking<T: Send + 'static>(&self, call: impl FnOnce(&dyn ObjectStore) -> StorageResult<T> + Send + 'static) -> S3Result<T> {
        let store = Arc::clone(&self.store);
        self.stored(intake::blocking(move || call(&*store)).await?)
    }

    /// Whether answers name versions: the bucket has or had them.
    fn is_versioned(&self, bucket: &str) -> S3Result<bool> {
        Ok(self.stored(self.store.bucket(bucket))?.versioning != Versioning::Off)
    }

    fn intake_refused(&self, refused: intake::Refused) -> S3Error {
        match refused {
            intake::Refused::Protocol(error) => error,
            intake::Refused::Store(error) => self.refused(error),
        }
    }
}

/// An error with what caused it.
pub(crate) fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Each operation by the method that has it.
macro_rules! operations {
    ($($name:ident($input:ty) -> $output:ty;)*) => {
        #[async_trait::async_trait]
        impl S3 for Protocol {
            $(async fn $name(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                Protocol::$name(self, Asked::new(request)?).await.map(S3Response::new)
            })*
        }
    };
}

operations! {
    list_buckets(ListBucketsInput) -> ListBucketsOutput;
    create_bucket(CreateBucketInput) -> CreateBucketOutput;
    head_bucket(HeadBucketInput) -> HeadBucketOutput;
    delete_bucket(DeleteBucketInput) -> DeleteBucketOutput;
    get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput;
    put_object(PutObjectInput) -> PutObjectOutput;
    post_object(PostObjectInput) -> PostObjectOutput;
    get_object(GetObjectInput) -> GetObjectOutput;
    head_object(HeadObjectInput) -> HeadObjectOutput;
    get_object_attributes(GetObjectAttributesInput) -> GetObjectAttributesOutput;
    delete_object(DeleteObjectInput) -> DeleteObjectOutput;
    delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput;
    copy_object(CopyObjectInput) -> CopyObjectOutput;
    list_objects(ListObjectsInput) -> ListObjectsOutput;
    list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output;
    list_object_versions(ListObjectVersionsInput) -> ListObjectVersionsOutput;
    create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput;
    upload_part(UploadPartInput) -> UploadPartOutput;
    upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput;
    complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput;
    abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput;
    list_parts(ListPartsInput) -> ListPartsOutput;
    list_multipart_uploads(ListMultipartUploadsInput) -> ListMultipartUploadsOutput;
    get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput;
    put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput;
    delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput;
    get_object_acl(GetObjectAclInput) -> GetObjectAclOutput;
    put_object_acl(PutObjectAclInput) -> PutObjectAclOutput;
    get_bucket_acl(GetBucketAclInput) -> GetBucketAclOutput;
    put_bucket_acl(PutBucketAclInput) -> PutBucketAclOutput;
    get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput;
    put_bucket_versioning(PutBucketVersioningInput) -> PutBucketVersioningOutput;
    get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput;
    put_bucket_tagging(PutBucketTaggingInput) -> PutBucketTaggingOutput;
    delete_bucket_tagging(DeleteBucketTaggingInput) -> DeleteBucketTaggingOutput;
    get_bucket_cors(GetBucketCorsInput) -> GetBucketCorsOutput;
    put_bucket_cors(PutBucketCorsInput) -> PutBucketCorsOutput;
    delete_bucket_cors(DeleteBucketCorsInput) -> DeleteBucketCorsOutput;
    get_bucket_policy(GetBucketPolicyInput) -> GetBucketPolicyOutput;
    get_bucket_policy_status(GetBucketPolicyStatusInput) -> GetBucketPolicyStatusOutput;
    put_bucket_policy(PutBucketPolicyInput) -> PutBucketPolicyOutput;
    delete_bucket_policy(DeleteBucketPolicyInput) -> DeleteBucketPolicyOutput;
    get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput) -> GetBucketLifecycleConfigurationOutput;
    put_bucket_lifecycle_configuration(PutBucketLifecycleConfigurationInput) -> PutBucketLifecycleConfigurationOutput;
    delete_bucket_lifecycle(DeleteBucketLifecycleInput) -> DeleteBucketLifecycleOutput;
    get_public_access_block(GetPublicAccessBlockInput) -> GetPublicAccessBlockOutput;
    put_public_access_block(PutPublicAccessBlockInput) -> PutPublicAccessBlockOutput;
    delete_public_access_block(DeletePublicAccessBlockInput) -> DeletePublicAccessBlockOutput;
    get_bucket_ownership_controls(GetBucketOwnershipControlsInput) -> GetBucketOwnershipControlsOutput;
    put_bucket_ownership_controls(PutBucketOwnershipControlsInput) -> PutBucketOwnershipControlsOutput;
    delete_bucket_ownership_controls(DeleteBucketOwnershipControlsInput) -> DeleteBucketOwnershipControlsOutput;
    get_bucket_encryption(GetBucketEncryptionInput) -> GetBucketEncryptionOutput;
    get_object_lock_configuration(GetObjectLockConfigurationInput) -> GetObjectLockConfigurationOutput;
    get_bucket_logging(GetBucketLoggingInput) -> GetBucketLoggingOutput;
    get_bucket_request_payment(GetBucketRequestPaymentInput) -> GetBucketRequestPaymentOutput;
}
