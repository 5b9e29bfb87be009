//! Every operation of this server, a row each.

/// Gives the operations to another macro. In a row stand the name; the method of the protocol, with
/// what it takes and gives, unless it is no request of the protocol library (a form); by which
/// method on which resource it is asked for, the names in the query that select it, those that may
/// be there as well, and what else selects it; what who asks needs, the actions by which a policy
/// may allow it, as AWS documents them, and the same where the request names a version, if that
/// makes a difference.
///
/// Of several rows that fit a request, the first counts: rows with more to select by stand before
/// plain ones. What has no row needs an admin key and answers `NotImplemented`.
macro_rules! s3_operations {
    ($to:ident) => {
        $to! {
            ListBuckets: list_buckets(ListBucketsInput) -> ListBucketsOutput,
                GET_SERVICE [] ["max-buckets", "continuation-token", "prefix", "bucket-region"], KEY ["s3:ListAllMyBuckets"] [];
            GetBucketAcl: get_bucket_acl(GetBucketAclInput) -> GetBucketAclOutput,
                GET_BUCKET ["acl"] [], LIST ["s3:GetBucketAcl"] [];
            GetBucketCors: get_bucket_cors(GetBucketCorsInput) -> GetBucketCorsOutput,
                GET_BUCKET ["cors"] [], LIST ["s3:GetBucketCORS"] [];
            GetBucketEncryption: get_bucket_encryption(GetBucketEncryptionInput) -> GetBucketEncryptionOutput,
                GET_BUCKET ["encryption"] [], LIST ["s3:GetEncryptionConfiguration"] [];
            GetBucketLifecycleConfiguration: get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput) -> GetBucketLifecycleConfigurationOutput,
                GET_BUCKET ["lifecycle"] [], LIST ["s3:GetLifecycleConfiguration"] [];
            GetBucketLocation: get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput,
                GET_BUCKET ["location"] [], LIST ["s3:GetBucketLocation"] [];
            GetBucketLogging: get_bucket_logging(GetBucketLoggingInput) -> GetBucketLoggingOutput,
                GET_BUCKET ["logging"] [], LIST ["s3:GetBucketLogging"] [];
            GetBucketOwnershipControls: get_bucket_ownership_controls(GetBucketOwnershipControlsInput) -> GetBucketOwnershipControlsOutput,
                GET_BUCKET ["ownershipControls"] [], ADMIN ["s3:GetBucketOwnershipControls"] [];
            GetBucketPolicy: get_bucket_policy(GetBucketPolicyInput) -> GetBucketPolicyOutput,
                GET_BUCKET ["policy"] [], ADMIN ["s3:GetBucketPolicy"] [];
            GetBucketPolicyStatus: get_bucket_policy_status(GetBucketPolicyStatusInput) -> GetBucketPolicyStatusOutput,
                GET_BUCKET ["policyStatus"] [], ADMIN ["s3:GetBucketPolicyStatus"] [];
            GetBucketRequestPayment: get_bucket_request_payment(GetBucketRequestPaymentInput) -> GetBucketRequestPaymentOutput,
                GET_BUCKET ["requestPayment"] [], LIST ["s3:GetBucketRequestPayment"] [];
            GetBucketTagging: get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput,
                GET_BUCKET ["tagging"] [], LIST ["s3:GetBucketTagging"] [];
            GetBucketVersioning: get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput,
                GET_BUCKET ["versioning"] [], LIST ["s3:GetBucketVersioning"] [];
            GetObjectLockConfiguration: get_object_lock_configuration(GetObjectLockConfigurationInput) -> GetObjectLockConfigurationOutput,
                GET_BUCKET ["object-lock"] [], LIST ["s3:GetBucketObjectLockConfiguration"] [];
            GetPublicAccessBlock: get_public_access_block(GetPublicAccessBlockInput) -> GetPublicAccessBlockOutput,
                GET_BUCKET ["publicAccessBlock"] [], ADMIN ["s3:GetBucketPublicAccessBlock"] [];
            ListMultipartUploads: list_multipart_uploads(ListMultipartUploadsInput) -> ListMultipartUploadsOutput,
                GET_BUCKET ["uploads"] ["prefix", "delimiter", "encoding-type", "key-marker", "upload-id-marker", "max-uploads"], LIST ["s3:ListBucketMultipartUploads"] [];
            ListObjectVersions: list_object_versions(ListObjectVersionsInput) -> ListObjectVersionsOutput,
                GET_BUCKET ["versions"] ["prefix", "delimiter", "encoding-type", "key-marker", "version-id-marker", "max-keys"], LIST ["s3:ListBucketVersions"] [];
            ListObjectsV2: list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output,
                GET_BUCKET ["list-type=2"] ["list-type", "prefix", "delimiter", "encoding-type", "max-keys", "start-after", "continuation-token", "fetch-owner"], LIST ["s3:ListBucket"] [];
            ListObjects: list_objects(ListObjectsInput) -> ListObjectsOutput,
                GET_BUCKET [] ["list-type", "prefix", "delimiter", "encoding-type", "max-keys", "marker"], LIST ["s3:ListBucket"] [];
            HeadBucket: head_bucket(HeadBucketInput) -> HeadBucketOutput,
                HEAD_BUCKET [] [], LIST ["s3:ListBucket"] [];
            PutBucketAcl: put_bucket_acl(PutBucketAclInput) -> PutBucketAclOutput,
                PUT_BUCKET ["acl"] [], ADMIN ["s3:PutBucketAcl"] [];
            PutBucketCors: put_bucket_cors(PutBucketCorsInput) -> PutBucketCorsOutput,
                PUT_BUCKET ["cors"] [], ADMIN ["s3:PutBucketCORS"] [];
            PutBucketLifecycleConfiguration: put_bucket_lifecycle_configuration(PutBucketLifecycleConfigurationInput) -> PutBucketLifecycleConfigurationOutput,
                PUT_BUCKET ["lifecycle"] [], ADMIN ["s3:PutLifecycleConfiguration"] [];
            PutBucketOwnershipControls: put_bucket_ownership_controls(PutBucketOwnershipControlsInput) -> PutBucketOwnershipControlsOutput,
                PUT_BUCKET ["ownershipControls"] [], ADMIN ["s3:PutBucketOwnershipControls"] [];
            PutBucketPolicy: put_bucket_policy(PutBucketPolicyInput) -> PutBucketPolicyOutput,
                PUT_BUCKET ["policy"] [], ADMIN ["s3:PutBucketPolicy"] [];
            PutBucketTagging: put_bucket_tagging(PutBucketTaggingInput) -> PutBucketTaggingOutput,
                PUT_BUCKET ["tagging"] [], ADMIN ["s3:PutBucketTagging"] [];
            PutBucketVersioning: put_bucket_versioning(PutBucketVersioningInput) -> PutBucketVersioningOutput,
                PUT_BUCKET ["versioning"] [], ADMIN ["s3:PutBucketVersioning"] [];
            PutObjectLockConfiguration: put_object_lock_configuration(PutObjectLockConfigurationInput) -> PutObjectLockConfigurationOutput,
                PUT_BUCKET ["object-lock"] [], ADMIN ["s3:PutBucketObjectLockConfiguration"] [];
            PutPublicAccessBlock: put_public_access_block(PutPublicAccessBlockInput) -> PutPublicAccessBlockOutput,
                PUT_BUCKET ["publicAccessBlock"] [], ADMIN ["s3:PutBucketPublicAccessBlock"] [];
            CreateBucket: create_bucket(CreateBucketInput) -> CreateBucketOutput,
                PUT_BUCKET [] [], ADMIN ["s3:CreateBucket"] [];
            DeleteBucketCors: delete_bucket_cors(DeleteBucketCorsInput) -> DeleteBucketCorsOutput,
                DELETE_BUCKET ["cors"] [], ADMIN ["s3:PutBucketCORS"] [];
            DeleteBucketLifecycle: delete_bucket_lifecycle(DeleteBucketLifecycleInput) -> DeleteBucketLifecycleOutput,
                DELETE_BUCKET ["lifecycle"] [], ADMIN ["s3:PutLifecycleConfiguration"] [];
            DeleteBucketOwnershipControls: delete_bucket_ownership_controls(DeleteBucketOwnershipControlsInput) -> DeleteBucketOwnershipControlsOutput,
                DELETE_BUCKET ["ownershipControls"] [], ADMIN ["s3:PutBucketOwnershipControls"] [];
            DeleteBucketPolicy: delete_bucket_policy(DeleteBucketPolicyInput) -> DeleteBucketPolicyOutput,
                DELETE_BUCKET ["policy"] [], ADMIN ["s3:DeleteBucketPolicy"] [];
            DeleteBucketTagging: delete_bucket_tagging(DeleteBucketTaggingInput) -> DeleteBucketTaggingOutput,
                DELETE_BUCKET ["tagging"] [], ADMIN ["s3:PutBucketTagging"] [];
            DeletePublicAccessBlock: delete_public_access_block(DeletePublicAccessBlockInput) -> DeletePublicAccessBlockOutput,
                DELETE_BUCKET ["publicAccessBlock"] [], ADMIN ["s3:PutBucketPublicAccessBlock"] [];
            DeleteBucket: delete_bucket(DeleteBucketInput) -> DeleteBucketOutput,
                DELETE_BUCKET [] [], ADMIN ["s3:DeleteBucket"] [];
            PostObject,
                POST_BUCKET [] [] by Form, WRITE ["s3:PutObject"] [];
            DeleteObjects: delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput,
                POST_BUCKET ["delete"] [], WRITE ["s3:DeleteObject"] [];
            GetObjectAttributes: get_object_attributes(GetObjectAttributesInput) -> GetObjectAttributesOutput,
                GET_OBJECT ["attributes"] VERSION, READ ["s3:GetObject", "s3:GetObjectAttributes"] ["s3:GetObjectVersion", "s3:GetObjectVersionAttributes"];
            GetObjectAcl: get_object_acl(GetObjectAclInput) -> GetObjectAclOutput,
                GET_OBJECT ["acl"] VERSION, READ ["s3:GetObjectAcl"] ["s3:GetObjectVersionAcl"];
            GetObjectLegalHold: get_object_legal_hold(GetObjectLegalHoldInput) -> GetObjectLegalHoldOutput,
                GET_OBJECT ["legal-hold"] VERSION, READ ["s3:GetObjectLegalHold"] [];
            GetObjectRetention: get_object_retention(GetObjectRetentionInput) -> GetObjectRetentionOutput,
                GET_OBJECT ["retention"] VERSION, READ ["s3:GetObjectRetention"] [];
            GetObjectTagging: get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput,
                GET_OBJECT ["tagging"] VERSION, READ ["s3:GetObjectTagging"] ["s3:GetObjectVersionTagging"];
            ListParts: list_parts(ListPartsInput) -> ListPartsOutput,
                GET_OBJECT ["uploadId"] ["max-parts", "part-number-marker"], WRITE ["s3:ListMultipartUploadParts"] [];
            GetObject: get_object(GetObjectInput) -> GetObjectOutput,
                GET_OBJECT [] ANSWER, READ ["s3:GetObject"] ["s3:GetObjectVersion"];
            HeadObject: head_object(HeadObjectInput) -> HeadObjectOutput,
                HEAD_OBJECT [] ANSWER, READ ["s3:GetObject"] ["s3:GetObjectVersion"];
            PutObjectAcl: put_object_acl(PutObjectAclInput) -> PutObjectAclOutput,
                PUT_OBJECT ["acl"] VERSION, WRITE ["s3:PutObjectAcl"] ["s3:PutObjectVersionAcl"];
            PutObjectLegalHold: put_object_legal_hold(PutObjectLegalHoldInput) -> PutObjectLegalHoldOutput,
                PUT_OBJECT ["legal-hold"] VERSION, WRITE ["s3:PutObjectLegalHold"] [];
            PutObjectRetention: put_object_retention(PutObjectRetentionInput) -> PutObjectRetentionOutput,
                PUT_OBJECT ["retention"] VERSION, WRITE ["s3:PutObjectRetention"] [];
            PutObjectTagging: put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput,
                PUT_OBJECT ["tagging"] VERSION, WRITE ["s3:PutObjectTagging"] ["s3:PutObjectVersionTagging"];
            UploadPartCopy: upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput,
                PUT_OBJECT PART [] by CopySource, WRITE ["s3:PutObject"] [];
            UploadPart: upload_part(UploadPartInput) -> UploadPartOutput,
                PUT_OBJECT PART [], WRITE ["s3:PutObject"] [];
            CopyObject: copy_object(CopyObjectInput) -> CopyObjectOutput,
                PUT_OBJECT [] [] by CopySource, WRITE ["s3:PutObject"] [];
            PutObject: put_object(PutObjectInput) -> PutObjectOutput,
                PUT_OBJECT [] [], WRITE ["s3:PutObject"] [];
            DeleteObjectTagging: delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput,
                DELETE_OBJECT ["tagging"] VERSION, WRITE ["s3:DeleteObjectTagging"] ["s3:DeleteObjectVersionTagging"];
            AbortMultipartUpload: abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput,
                DELETE_OBJECT ["uploadId"] [], WRITE ["s3:AbortMultipartUpload"] [];
            DeleteObject: delete_object(DeleteObjectInput) -> DeleteObjectOutput,
                DELETE_OBJECT [] VERSION, WRITE ["s3:DeleteObject"] ["s3:DeleteObjectVersion"];
            CreateMultipartUpload: create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput,
                POST_OBJECT ["uploads"] [], WRITE ["s3:PutObject"] [];
            CompleteMultipartUpload: complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput,
                POST_OBJECT ["uploadId"] [], WRITE ["s3:PutObject"] [];
        }
    };
}
pub(crate) use s3_operations;
