//! Deleting objects, one or many.

use super::{Asked, Protocol, convert};
use crate::access::denied;
use crate::policy::{Circumstances, UNTAGGED};
use crate::storage::{
    Bypass, DeleteTarget, Deleted, StorageError, StorageResult, VersionId, Versioning,
};
use s3s::dto::{
    Delete, DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput,
    DeletedObject, ETagCondition, Error, ObjectIdentifier,
};
use s3s::{S3Result, s3_error};
use tokio::sync::oneshot;

/// The most objects of one request, as AWS has it.
const MOST: usize = 1000;

impl Protocol {
    pub(super) async fn delete_object(
        &self,
        asked: Asked<DeleteObjectInput>,
    ) -> S3Result<DeleteObjectOutput> {
        let bypass = {
            let input = &asked.input;
            self.bypass(
                input.bypass_governance_retention,
                &input.bucket,
                Some(&input.key),
                &asked.asking(),
            )?
        };
        let input = asked.input;
        if input.if_match_last_modified_time.is_some() || input.if_match_size.is_some() {
            return Err(s3_error!(
                NotImplemented,
                "Conditions on size and time are not implemented; use If-Match"
            ));
        }
        let version = convert::version(input.version_id.as_deref())?;
        let versioned = self.check_bucket(&input.bucket)?.versioning != Versioning::Off;
        let conditions = convert::conditions(input.if_match.as_ref(), None);
        let target = DeleteTarget {
            key: input.key,
            version,
            conditions,
            bypass,
        };
        let (send, receive) = oneshot::channel();
        self.store.delete_then(
            &input.bucket,
            target,
            Box::new(move |outcome| drop(send.send(outcome))),
        );
        match receive.await.unwrap_or(Err(StorageError::Closed)) {
            Ok(deleted) => Ok(DeleteObjectOutput {
                delete_marker: deleted.delete_marker.then_some(true),
                version_id: deleted
                    .version
                    .and_then(|version| convert::version_text(version, versioned)),
                request_charged: None,
            }),
            // A version that is not there is deleted as well.
            Err(StorageError::NoSuchVersion) => Ok(DeleteObjectOutput {
                version_id: input.version_id,
                ..Default::default()
            }),
            Err(error) => Err(self.refused(error)),
        }
    }

    pub(super) async fn delete_objects(
        &self,
        asked: Asked<DeleteObjectsInput>,
    ) -> S3Result<DeleteObjectsOutput> {
        let Asked {
            input,
            headers,
            access_key,
            peer,
            ..
        } = asked;
        let DeleteObjectsInput {
            bucket,
            delete: Delete { objects, quiet },
            bypass_governance_retention: bypasses,
            ..
        } = input;
        if objects.is_empty() || objects.len() > MOST {
            return Err(s3_error!(
                MalformedXML,
                "The XML you provided was not well-formed or did not validate against our published schema"
            ));
        }
        let versioned = self.check_bucket(&bucket)?.versioning != Versioning::Off;
        let (mut targets, mut named, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let bypass = if bypasses == Some(true) {
            Bypass::Governance
        } else {
            Bypass::Nothing
        };
        let circumstances = Circumstances {
            peer,
            query: None,
            headers: &headers,
            tags: UNTAGGED,
            now_ms: 0,
        };
        let granted = self.deletable(
            access_key.as_deref(),
            &bucket,
            &objects,
            bypass,
            &circumstances,
        );
        for (object, granted) in objects.into_iter().zip(granted) {
            match target(&object, bypass) {
                _ if !granted => errors.push(failure(object, &denied())),
                Ok(target) => {
                    targets.push(target);
                    named.push(object);
                }
                Err(error) => errors.push(failure(object, &error)),
            }
        }
        let outcomes = self
            .blocking(move |store| store.delete_objects(&bucket, targets))
            .await?;
        let mut deleted = Vec::new();
        for (object, outcome) in named.into_iter().zip(outcomes) {
            match self.one(outcome) {
                Ok(done) if quiet != Some(true) => deleted.push(answer(object, done, versioned)),
                Ok(_) => {}
                Err(error) => errors.push(failure(object, &error)),
            }
        }
        Ok(DeleteObjectsOutput {
            deleted: Some(deleted),
            errors: (!errors.is_empty()).then_some(errors),
            request_charged: None,
        })
    }

    /// Which of these the asker may delete, and may so delete.
    fn deletable(
        &self,
        asker: Option<&str>,
        bucket: &str,
        objects: &[ObjectIdentifier],
        bypass: Bypass,
        circumstances: &Circumstances<'_>,
    ) -> Vec<bool> {
        let named = |object: &ObjectIdentifier| {
            let text = object.version_id.as_deref()?;
            Some(convert::named_version(text))
        };
        let asked_for: Vec<(&str, Option<VersionId>)> = objects
            .iter()
            .map(|object| (object.key.as_str(), named(object)))
            .collect();
        let may = |operation| {
            self.access
                .granted(asker, operation, bucket, &asked_for, circumstances)
        };
        let mut granted = may("DeleteObject");
        if bypass == Bypass::Governance {
            let may_bypass = may("BypassGovernanceRetention");
            granted
                .iter_mut()
                .zip(may_bypass)
                .for_each(|(granted, too)| *granted &= too);
        }
        granted
    }

    fn one(&self, outcome: StorageResult<Deleted>) -> S3Result<Deleted> {
        match outcome {
            Err(StorageError::NoSuchVersion) => Ok(Deleted::default()),
            other => self.stored(other),
        }
    }
}

fn target(object: &ObjectIdentifier, bypass: Bypass) -> S3Result<DeleteTarget> {
    if object.last_modified_time.is_some() || object.size.is_some() {
        return Err(s3_error!(
            NotImplemented,
            "Conditions on size and time are not implemented; use ETag"
        ));
    }
    let etag = object.e_tag.clone().map(ETagCondition::ETag);
    let version = convert::version(object.version_id.as_deref())?;
    Ok(DeleteTarget {
        key: object.key.clone(),
        version,
        conditions: convert::conditions(etag.as_ref(), None),
        bypass,
    })
}

fn failure(object: ObjectIdentifier, error: &s3s::S3Error) -> Error {
    Error {
        code: Some(error.code().as_str().to_owned()),
        key: Some(object.key),
        message: error.message().map(str::to_owned),
        version_id: object.version_id,
    }
}

fn answer(object: ObjectIdentifier, done: Deleted, versioned: bool) -> DeletedObject {
    let marker = if done.delete_marker {
        done.version
            .and_then(|version| convert::version_text(version, versioned))
    } else {
        None
    };
    DeletedObject {
        delete_marker: done.delete_marker.then_some(true),
        delete_marker_version_id: marker,
        key: Some(object.key),
        version_id: object.version_id,
    }
}
