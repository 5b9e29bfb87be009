//! What a bucket is told of itself: versioning, tags, CORS, policy, lifecycle, and the read-outs
//! that clients expect.

use super::{Asked, Protocol, tags};
use crate::acl::Ownership;
use crate::documents;
use crate::lifecycle;
use crate::policy::Policy;
use crate::storage::{BucketDocument, Versioning};
use s3s::dto::*;
use s3s::{S3Error, S3Result, s3_error};

/// The most bytes of a policy, as AWS has it.
const MOST_POLICY: usize = 20 << 10;

fn unwritable() -> S3Error {
    s3_error!(
        InternalError,
        "We encountered an internal error. Please try again."
    )
}

fn public_access_block_missing() -> S3Error {
    super::errors::custom(
        "NoSuchPublicAccessBlockConfiguration",
        http::StatusCode::NOT_FOUND,
        "The public access block configuration was not found",
    )
}

impl Protocol {
    pub(super) async fn keep(
        &self,
        bucket: String,
        document: BucketDocument,
        value: Option<Vec<u8>>,
    ) -> S3Result<()> {
        self.blocking(move |store| store.set_document(&bucket, document, value))
            .await
    }

    fn kept(&self, bucket: &str, document: BucketDocument) -> S3Result<Option<bytes::Bytes>> {
        self.stored(self.store.document(bucket, document))
    }

    pub(super) async fn get_bucket_versioning(
        &self,
        asked: Asked<GetBucketVersioningInput>,
    ) -> S3Result<GetBucketVersioningOutput> {
        let status = match self.check_bucket(&asked.input.bucket)?.versioning {
            Versioning::Off => None,
            Versioning::On => Some(BucketVersioningStatus::from_static(
                BucketVersioningStatus::ENABLED,
            )),
            Versioning::Suspended => Some(BucketVersioningStatus::from_static(
                BucketVersioningStatus::SUSPENDED,
            )),
        };
        Ok(GetBucketVersioningOutput {
            status,
            mfa_delete: None,
        })
    }

    pub(super) async fn put_bucket_versioning(
        &self,
        asked: Asked<PutBucketVersioningInput>,
    ) -> S3Result<PutBucketVersioningOutput> {
        let PutBucketVersioningInput {
            bucket,
            versioning_configuration: wanted,
            ..
        } = asked.input;
        if wanted
            .mfa_delete
            .is_some_and(|mfa| mfa.as_str() == MFADelete::ENABLED)
        {
            return Err(s3_error!(NotImplemented, "MFA delete is not implemented"));
        }
        let versioning = match wanted.status.as_ref().map(BucketVersioningStatus::as_str) {
            Some(BucketVersioningStatus::ENABLED) => Versioning::On,
            Some(BucketVersioningStatus::SUSPENDED) => Versioning::Suspended,
            Some(_) | None => {
                return Err(s3_error!(
                    MalformedXML,
                    "The Status of a versioning configuration is Enabled or Suspended"
                ));
            }
        };
        self.blocking(move |store| store.set_versioning(&bucket, versioning))
            .await?;
        Ok(PutBucketVersioningOutput::default())
    }

    pub(super) async fn get_bucket_tagging(
        &self,
        asked: Asked<GetBucketTaggingInput>,
    ) -> S3Result<GetBucketTaggingOutput> {
        let kept = self.kept(&asked.input.bucket, BucketDocument::Tags)?;
        let tagging: Option<Tagging> = kept.and_then(|text| documents::read(&text));
        tagging
            .map(|tagging| GetBucketTaggingOutput {
                tag_set: tagging.tag_set,
            })
            .ok_or_else(|| s3_error!(NoSuchTagSet, "The TagSet does not exist"))
    }

    pub(super) async fn put_bucket_tagging(
        &self,
        asked: Asked<PutBucketTaggingInput>,
    ) -> S3Result<PutBucketTaggingOutput> {
        let tag_set = tags::to_set(tags::from_document(
            asked.input.tagging,
            tags::Tagged::Bucket,
        )?);
        let text = documents::written(&Tagging { tag_set }).ok_or_else(unwritable)?;
        self.keep(asked.input.bucket, BucketDocument::Tags, Some(text))
            .await?;
        Ok(PutBucketTaggingOutput::default())
    }

    pub(super) async fn delete_bucket_tagging(
        &self,
        asked: Asked<DeleteBucketTaggingInput>,
    ) -> S3Result<DeleteBucketTaggingOutput> {
        self.keep(asked.input.bucket, BucketDocument::Tags, None)
            .await?;
        Ok(DeleteBucketTaggingOutput::default())
    }

    pub(super) async fn get_bucket_cors(
        &self,
        asked: Asked<GetBucketCorsInput>,
    ) -> S3Result<GetBucketCorsOutput> {
        let kept = self.kept(&asked.input.bucket, BucketDocument::Cors)?;
        let cors: Option<CORSConfiguration> = kept.and_then(|text| documents::read(&text));
        let missing = || {
            s3_error!(
                NoSuchCORSConfiguration,
                "The CORS configuration does not exist"
            )
        };
        cors.map(|cors| GetBucketCorsOutput {
            cors_rules: Some(cors.cors_rules),
        })
        .ok_or_else(missing)
    }

    pub(super) async fn put_bucket_cors(
        &self,
        asked: Asked<PutBucketCorsInput>,
    ) -> S3Result<PutBucketCorsOutput> {
        let cors = asked.input.cors_configuration;
        crate::cors::check(&cors)?;
        let text = documents::written(&cors).ok_or_else(unwritable)?;
        self.keep(asked.input.bucket, BucketDocument::Cors, Some(text))
            .await?;
        Ok(PutBucketCorsOutput::default())
    }

    pub(super) async fn delete_bucket_cors(
        &self,
        asked: Asked<DeleteBucketCorsInput>,
    ) -> S3Result<DeleteBucketCorsOutput> {
        self.keep(asked.input.bucket, BucketDocument::Cors, None)
            .await?;
        Ok(DeleteBucketCorsOutput::default())
    }

    pub(super) async fn get_bucket_policy(
        &self,
        asked: Asked<GetBucketPolicyInput>,
    ) -> S3Result<GetBucketPolicyOutput> {
        let kept = self.kept(&asked.input.bucket, BucketDocument::Policy)?;
        let text =
            kept.ok_or_else(|| s3_error!(NoSuchBucketPolicy, "The bucket policy does not exist"))?;
        Ok(GetBucketPolicyOutput {
            policy: String::from_utf8(text.to_vec()).ok(),
        })
    }

    pub(super) async fn get_bucket_policy_status(
        &self,
        asked: Asked<GetBucketPolicyStatusInput>,
    ) -> S3Result<GetBucketPolicyStatusOutput> {
        let bucket = asked.input.bucket;
        let kept = self.kept(&bucket, BucketDocument::Policy)?;
        let text =
            kept.ok_or_else(|| s3_error!(NoSuchBucketPolicy, "The bucket policy does not exist"))?;
        let public = Policy::parse(&bucket, &text).is_ok_and(|policy| policy.is_public());
        Ok(GetBucketPolicyStatusOutput {
            policy_status: Some(PolicyStatus {
                is_public: Some(public),
            }),
        })
    }

    pub(super) async fn put_bucket_policy(
        &self,
        asked: Asked<PutBucketPolicyInput>,
    ) -> S3Result<PutBucketPolicyOutput> {
        let PutBucketPolicyInput {
            bucket,
            policy: text,
            ..
        } = asked.input;
        if text.len() > MOST_POLICY {
            return Err(s3_error!(InvalidArgument, "A policy has at most 20 KiB"));
        }
        self.check_bucket(&bucket)?;
        let policy = Policy::parse_new(&bucket, text.as_bytes(), &self.access.keyring)
            .map_err(|error| s3_error!(MalformedPolicy, "{error}"))?;
        let block = self.kept(&bucket, BucketDocument::PublicAccessBlock)?;
        if policy.is_public()
            && block.is_some_and(|block| documents::blocks_public_policies(&block))
        {
            return Err(s3_error!(
                AccessDenied,
                "The bucket's public access block refuses public policies"
            ));
        }
        self.keep(bucket, BucketDocument::Policy, Some(text.into_bytes()))
            .await?;
        Ok(PutBucketPolicyOutput::default())
    }

    pub(super) async fn delete_bucket_policy(
        &self,
        asked: Asked<DeleteBucketPolicyInput>,
    ) -> S3Result<DeleteBucketPolicyOutput> {
        self.keep(asked.input.bucket, BucketDocument::Policy, None)
            .await?;
        Ok(DeleteBucketPolicyOutput::default())
    }

    pub(super) async fn get_bucket_lifecycle_configuration(
        &self,
        asked: Asked<GetBucketLifecycleConfigurationInput>,
    ) -> S3Result<GetBucketLifecycleConfigurationOutput> {
        let kept = self.kept(&asked.input.bucket, BucketDocument::Lifecycle)?;
        let rules: Option<BucketLifecycleConfiguration> =
            kept.and_then(|text| documents::read(&text));
        let missing = || {
            s3_error!(
                NoSuchLifecycleConfiguration,
                "The lifecycle configuration does not exist"
            )
        };
        let rules = rules.ok_or_else(missing)?.rules;
        Ok(GetBucketLifecycleConfigurationOutput {
            rules: Some(rules),
            transition_default_minimum_object_size: None,
        })
    }

    pub(super) async fn put_bucket_lifecycle_configuration(
        &self,
        asked: Asked<PutBucketLifecycleConfigurationInput>,
    ) -> S3Result<PutBucketLifecycleConfigurationOutput> {
        let PutBucketLifecycleConfigurationInput {
            bucket,
            lifecycle_configuration,
            ..
        } = asked.input;
        let missing = || super::malformed_xml();
        let mut configuration = lifecycle_configuration.ok_or_else(missing)?;
        lifecycle::name_rules(&mut configuration);
        lifecycle::check(&configuration)?;
        let text = documents::written(&configuration).ok_or_else(unwritable)?;
        self.keep(bucket, BucketDocument::Lifecycle, Some(text))
            .await?;
        Ok(PutBucketLifecycleConfigurationOutput::default())
    }

    pub(super) async fn delete_bucket_lifecycle(
        &self,
        asked: Asked<DeleteBucketLifecycleInput>,
    ) -> S3Result<DeleteBucketLifecycleOutput> {
        self.keep(asked.input.bucket, BucketDocument::Lifecycle, None)
            .await?;
        Ok(DeleteBucketLifecycleOutput::default())
    }

    pub(super) async fn get_public_access_block(
        &self,
        asked: Asked<GetPublicAccessBlockInput>,
    ) -> S3Result<GetPublicAccessBlockOutput> {
        let kept = self.kept(&asked.input.bucket, BucketDocument::PublicAccessBlock)?;
        let block: PublicAccessBlockConfiguration = kept
            .and_then(|text| documents::read(&text))
            .ok_or_else(public_access_block_missing)?;
        Ok(GetPublicAccessBlockOutput {
            public_access_block_configuration: Some(block),
        })
    }

    pub(super) async fn put_public_access_block(
        &self,
        asked: Asked<PutPublicAccessBlockInput>,
    ) -> S3Result<PutPublicAccessBlockOutput> {
        let text = documents::written(&asked.input.public_access_block_configuration)
            .ok_or_else(unwritable)?;
        self.keep(
            asked.input.bucket,
            BucketDocument::PublicAccessBlock,
            Some(text),
        )
        .await?;
        Ok(PutPublicAccessBlockOutput::default())
    }

    pub(super) async fn delete_public_access_block(
        &self,
        asked: Asked<DeletePublicAccessBlockInput>,
    ) -> S3Result<DeletePublicAccessBlockOutput> {
        self.keep(asked.input.bucket, BucketDocument::PublicAccessBlock, None)
            .await?;
        Ok(DeletePublicAccessBlockOutput::default())
    }

    pub(super) async fn get_bucket_ownership_controls(
        &self,
        asked: Asked<GetBucketOwnershipControlsInput>,
    ) -> S3Result<GetBucketOwnershipControlsOutput> {
        let kept = self.kept(&asked.input.bucket, BucketDocument::Ownership)?;
        let controls: Option<OwnershipControls> = kept.and_then(|text| documents::read(&text));
        let missing = || {
            s3_error!(
                OwnershipControlsNotFoundError,
                "The bucket ownership controls were not found"
            )
        };
        Ok(GetBucketOwnershipControlsOutput {
            ownership_controls: Some(controls.ok_or_else(missing)?),
        })
    }

    pub(super) async fn put_bucket_ownership_controls(
        &self,
        asked: Asked<PutBucketOwnershipControlsInput>,
    ) -> S3Result<PutBucketOwnershipControlsOutput> {
        let controls = asked.input.ownership_controls;
        let named = match &controls.rules[..] {
            [rule] => Ownership::parse(rule.object_ownership.as_str()),
            _ => None,
        };
        let bucket = self.check_bucket(&asked.input.bucket)?;
        match named {
            Some(Ownership::BucketOwnerEnforced) => self.check_lists_end(&bucket)?,
            Some(Ownership::BucketOwnerPreferred | Ownership::ObjectWriter) => {}
            None => return Err(super::malformed_xml()),
        }
        let text = documents::written(&controls).ok_or_else(unwritable)?;
        self.keep(asked.input.bucket, BucketDocument::Ownership, Some(text))
            .await?;
        Ok(PutBucketOwnershipControlsOutput::default())
    }

    pub(super) async fn delete_bucket_ownership_controls(
        &self,
        asked: Asked<DeleteBucketOwnershipControlsInput>,
    ) -> S3Result<DeleteBucketOwnershipControlsOutput> {
        self.keep(asked.input.bucket, BucketDocument::Ownership, None)
            .await?;
        Ok(DeleteBucketOwnershipControlsOutput::default())
    }

    pub(super) async fn get_bucket_encryption(
        &self,
        asked: Asked<GetBucketEncryptionInput>,
    ) -> S3Result<GetBucketEncryptionOutput> {
        self.check_bucket(&asked.input.bucket)?;
        Err(s3_error!(
            ServerSideEncryptionConfigurationNotFoundError,
            "The server side encryption configuration was not found"
        ))
    }

    pub(super) async fn get_bucket_logging(
        &self,
        asked: Asked<GetBucketLoggingInput>,
    ) -> S3Result<GetBucketLoggingOutput> {
        self.check_bucket(&asked.input.bucket)?;
        Ok(GetBucketLoggingOutput::default())
    }

    pub(super) async fn get_bucket_request_payment(
        &self,
        asked: Asked<GetBucketRequestPaymentInput>,
    ) -> S3Result<GetBucketRequestPaymentOutput> {
        self.check_bucket(&asked.input.bucket)?;
        Ok(GetBucketRequestPaymentOutput {
            payer: Some(Payer::from_static(Payer::BUCKET_OWNER)),
        })
    }
}
