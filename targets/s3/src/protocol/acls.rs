//! Access control lists: of what is made, and of what there is.

use super::{Asked, Protocol, convert};
use crate::acl::{self, Canned, Known, Ownership, Wanted};
use crate::documents;
use crate::storage::records::bucket_acl;
use crate::storage::{Acl, Bucket, BucketDocument, Grantee};
use http::HeaderMap;
use s3s::dto::{
    AccessControlPolicy, GetBucketAclInput, GetBucketAclOutput, GetObjectAclInput,
    GetObjectAclOutput, PutBucketAclInput, PutBucketAclOutput, PutObjectAclInput,
    PutObjectAclOutput,
};
use s3s::{S3Error, S3Result, s3_error};
use std::sync::Arc;

/// What is told of a bucket in which there are no lists.
fn unsupported() -> S3Error {
    s3_error!(
        AccessControlListNotSupported,
        "The bucket does not allow ACLs; use a bucket policy, or give it an object ownership that has them"
    )
}

/// Takes what says what is so anyway: the bucket's owner owns all. Errors:
/// `AccessControlListNotSupported`.
fn check_without_lists(wanted: &Wanted, owner: &str) -> S3Result<()> {
    let says_so = match wanted {
        Wanted::Canned(
            Canned::Private | Canned::BucketOwnerRead | Canned::BucketOwnerFullControl,
        ) => true,
        Wanted::Canned(
            Canned::PublicRead | Canned::PublicReadWrite | Canned::AuthenticatedRead,
        ) => false,
        Wanted::Grants(grants) => *grants == Acl::private(owner).grants,
    };
    if says_so { Ok(()) } else { Err(unsupported()) }
}

/// What a list is of, as far as lists differ by it.
struct Subject<'a> {
    bucket: &'a str,
    bucket_owner: &'a str,
    /// Of what the list is of.
    owner: &'a str,
}

impl Protocol {
    fn known<'a>(&'a self, owner: &'a str) -> Known<'a> {
        Known {
            keyring: &self.access.keyring,
            owner,
        }
    }

    /// Refuses a list that lets in more than single keys where the bucket's block of public access
    /// does. Errors: `AccessDenied`.
    fn check_public(&self, bucket: &str, acl: &Acl) -> S3Result<()> {
        if !acl.is_public() {
            return Ok(());
        }
        let block = self.stored(
            self.store
                .document(bucket, BucketDocument::PublicAccessBlock),
        )?;
        if block.is_some_and(|text| documents::blocks_public_lists(&text)) {
            return Err(s3_error!(
                AccessDenied,
                "The bucket's public access block refuses public ACLs"
            ));
        }
        Ok(())
    }

    /// The list that a new object begins with; `None` is that of what the bucket's owner has to
    /// itself. Errors: as for headers of lists, `AccessControlListNotSupported`, `AccessDenied`.
    pub(super) fn new_acl(
        &self,
        bucket: &Bucket,
        asker: Option<&str>,
        headers: &HeaderMap,
    ) -> S3Result<Option<Acl>> {
        // Nobody known owns nothing.
        let asker = asker.unwrap_or(&bucket.owner);
        let wanted = Wanted::of(headers, self.known(asker))?;
        if wanted.is_none() && asker == bucket.owner {
            return Ok(None);
        }
        let ownership = self.access.ownership(&bucket.name);
        let gives_away = wanted == Some(Wanted::Canned(Canned::BucketOwnerFullControl));
        let owner = match ownership {
            Ownership::BucketOwnerEnforced => {
                let wanted = wanted.map(|wanted| check_without_lists(&wanted, &bucket.owner));
                return wanted.transpose().map(|_| None);
            }
            Ownership::BucketOwnerPreferred if gives_away => &bucket.owner,
            Ownership::BucketOwnerPreferred | Ownership::ObjectWriter => asker,
        };
        let wanted = wanted.unwrap_or(Wanted::Canned(Canned::Private));
        let acl = wanted.list(owner, &bucket.owner);
        self.check_public(&bucket.name, &acl)?;
        Ok(Some(acl).filter(|acl| *acl != Acl::private(&bucket.owner)))
    }

    /// The list that a new bucket begins with, as its document. Errors: as for headers of lists,
    /// `InvalidBucketAclWithObjectOwnership`.
    pub(super) fn new_bucket_acl(
        &self,
        owner: &str,
        headers: &HeaderMap,
        ownership: Ownership,
    ) -> S3Result<Option<(BucketDocument, Vec<u8>)>> {
        let Some(wanted) = Wanted::of(headers, self.known(owner))? else {
            return Ok(None);
        };
        if ownership == Ownership::BucketOwnerEnforced {
            return match check_without_lists(&wanted, owner) {
                Ok(()) => Ok(None),
                Err(_) => Err(without_lists()),
            };
        }
        let acl = wanted.list(owner, owner);
        let document = (acl != Acl::private(owner)).then(|| bucket_acl(&acl).to_vec());
        Ok(document.map(|document| (BucketDocument::Acl, document)))
    }

    /// Refuses to turn lists off where the bucket's own lets others in. Errors:
    /// `InvalidBucketAclWithObjectOwnership`.
    pub(super) fn check_lists_end(&self, bucket: &Bucket) -> S3Result<()> {
        let owns = |grantee: &Grantee| *grantee == Grantee::Key(bucket.owner.clone());
        let kept = self.access.bucket_acl(&bucket.name);
        match kept {
            Some(acl) if !acl.grants.iter().all(|grant| owns(&grant.grantee)) => {
                Err(without_lists())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The list that a request to change one asks for. Errors: as for headers and documents of
    /// lists, `MissingSecurityHeader`, `UnexpectedContent`, `AccessControlListNotSupported`,
    /// `AccessDenied`.
    fn wanted_acl(
        &self,
        subject: &Subject<'_>,
        headers: &HeaderMap,
        document: Option<&AccessControlPolicy>,
    ) -> S3Result<Option<Acl>> {
        let known = self.known(subject.owner);
        let wanted = match (Wanted::of(headers, known)?, document) {
            (Some(wanted), None) => wanted,
            (None, Some(document)) => Wanted::of_document(document, known)?,
            (Some(_), Some(_)) => {
                return Err(s3_error!(
                    UnexpectedContent,
                    "This request does not support content"
                ));
            }
            (None, None) => {
                return Err(s3_error!(
                    MissingSecurityHeader,
                    "Your request was missing a required header: an ACL is said by x-amz-acl, by x-amz-grant-* or by a document"
                ));
            }
        };
        if self.access.ownership(subject.bucket) == Ownership::BucketOwnerEnforced {
            return check_without_lists(&wanted, subject.bucket_owner).map(|()| None);
        }
        let acl = wanted.list(subject.owner, subject.bucket_owner);
        self.check_public(subject.bucket, &acl)?;
        Ok(Some(acl))
    }

    pub(super) async fn get_bucket_acl(
        &self,
        asked: Asked<GetBucketAclInput>,
    ) -> S3Result<GetBucketAclOutput> {
        let found = self.check_bucket(&asked.input.bucket)?;
        let (owner, grants) = acl::told(&self.bucket_list(&found));
        Ok(GetBucketAclOutput {
            owner: Some(owner),
            grants: Some(grants),
        })
    }

    /// The list that counts for a bucket.
    fn bucket_list(&self, bucket: &Bucket) -> Acl {
        let counts = self.access.ownership(&bucket.name) != Ownership::BucketOwnerEnforced;
        let kept = self.access.bucket_acl(&bucket.name).filter(|_| counts);
        kept.unwrap_or_else(|| Acl::private(&bucket.owner))
    }

    pub(super) async fn put_bucket_acl(
        &self,
        asked: Asked<PutBucketAclInput>,
    ) -> S3Result<PutBucketAclOutput> {
        let Asked { input, headers, .. } = asked;
        let found = self.check_bucket(&input.bucket)?;
        let subject = Subject {
            bucket: &found.name,
            bucket_owner: &found.owner,
            owner: &found.owner,
        };
        let wanted = self.wanted_acl(&subject, &headers, input.access_control_policy.as_ref())?;
        if let Some(acl) = wanted {
            let text = bucket_acl(&acl).to_vec();
            self.keep(input.bucket, BucketDocument::Acl, Some(text))
                .await?;
        }
        Ok(PutBucketAclOutput::default())
    }

    pub(super) async fn get_object_acl(
        &self,
        asked: Asked<GetObjectAclInput>,
    ) -> S3Result<GetObjectAclOutput> {
        let input = asked.input;
        let version = convert::version(input.version_id.as_deref())?;
        let bucket = self.check_bucket(&input.bucket)?;
        let found = self.found(
            self.store.head(&input.bucket, &input.key, version),
            version.is_none(),
        )?;
        let counts = found.content.acl.is_some()
            && self.access.ownership(&bucket.name) != Ownership::BucketOwnerEnforced;
        let acl = found.content.acl.filter(|_| counts);
        let (owner, grants) = acl::told(&acl.unwrap_or_else(|| Acl::private(&bucket.owner)));
        Ok(GetObjectAclOutput {
            owner: Some(owner),
            grants: Some(grants),
            request_charged: None,
        })
    }

    pub(super) async fn put_object_acl(
        &self,
        asked: Asked<PutObjectAclInput>,
    ) -> S3Result<PutObjectAclOutput> {
        let Asked { input, headers, .. } = asked;
        let version = convert::version(input.version_id.as_deref())?;
        let bucket = self.check_bucket(&input.bucket)?;
        let found = self.found(
            self.store.head(&input.bucket, &input.key, version),
            version.is_none(),
        )?;
        let owner = found
            .content
            .acl
            .map_or_else(|| bucket.owner.clone(), |acl| acl.owner);
        let subject = Subject {
            bucket: &bucket.name,
            bucket_owner: &bucket.owner,
            owner: &owner,
        };
        let wanted = self.wanted_acl(&subject, &headers, input.access_control_policy.as_ref())?;
        if let Some(acl) = wanted {
            let acl = Some(acl).filter(|acl| *acl != Acl::private(&bucket.owner));
            let store = Arc::clone(&self.store);
            // The version whose owner was asked for, and not one that was written over it since.
            let version = Some(found.version);
            let change = move || store.set_acl(&input.bucket, &input.key, version, acl);
            self.found(super::intake::blocking(change).await?, false)?;
        }
        Ok(PutObjectAclOutput::default())
    }
}

/// That a list lets others in where there are no lists.
fn without_lists() -> S3Error {
    s3_error!(
        InvalidBucketAclWithObjectOwnership,
        "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
    )
}
