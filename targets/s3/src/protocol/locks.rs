//! Object lock: retention, legal holds and the defaults of buckets, as requests and answers have
//! them.

use super::errors::{custom, malformed_xml};
use super::{Asked, Protocol, convert};
use crate::access::{Asking, Deed};
use crate::storage::{
    Bucket, BucketLock, Bypass, DefaultRetention, ObjectLock, ObjectVersion, Retention,
    RetentionMode, RetentionPeriod, StorageError, VersionId,
};
use http::StatusCode;
use s3s::dto::{
    self, GetObjectLegalHoldInput, GetObjectLegalHoldOutput, GetObjectLockConfigurationInput,
    GetObjectLockConfigurationOutput, GetObjectRetentionInput, GetObjectRetentionOutput,
    ObjectLockConfiguration, ObjectLockEnabled, ObjectLockLegalHold, ObjectLockLegalHoldStatus,
    ObjectLockMode, ObjectLockRetention, ObjectLockRetentionMode, ObjectLockRule,
    PutObjectLegalHoldInput, PutObjectLegalHoldOutput, PutObjectLockConfigurationInput,
    PutObjectLockConfigurationOutput, PutObjectRetentionInput, PutObjectRetentionOutput, Timestamp,
};
use s3s::{S3Error, S3Result, s3_error};

/// The longest default, as AWS has it.
const MOST_DAYS: u32 = 36_500;
const MOST_YEARS: u32 = 100;

/// What the headers of a request say of the lock of its object. Errors: `InvalidArgument`.
pub(crate) fn given(
    mode: Option<&str>,
    until: Option<&Timestamp>,
    hold: Option<&str>,
) -> S3Result<ObjectLock> {
    let retention = match (mode, until) {
        (None, None) => None,
        (Some(mode), Some(until)) => {
            let mode = mode_of(mode)
                .ok_or_else(|| convert::invalid_argument("Unknown wormMode directive."))?;
            Some(Retention {
                mode,
                until_ms: convert::milliseconds(until),
            })
        }
        (Some(_), None) | (None, Some(_)) => {
            return Err(convert::invalid_argument(
                "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied",
            ));
        }
    };
    let hold = match hold {
        None => None,
        Some(status) => Some(hold_of(status).ok_or_else(|| {
            convert::invalid_argument("Legal Hold must be either of 'ON' or 'OFF'")
        })?),
    };
    Ok(ObjectLock { retention, hold })
}

/// Reads the same headers out of any input that has them.
macro_rules! given_lock {
    ($input:expr) => {
        $crate::protocol::locks::given(
            $input.object_lock_mode.as_ref().map(|mode| mode.as_str()),
            $input.object_lock_retain_until_date.as_ref(),
            $input
                .object_lock_legal_hold_status
                .as_ref()
                .map(|status| status.as_str()),
        )
    };
}
pub(crate) use given_lock;

fn mode_of(text: &str) -> Option<RetentionMode> {
    match text {
        ObjectLockMode::GOVERNANCE => Some(RetentionMode::Governance),
        ObjectLockMode::COMPLIANCE => Some(RetentionMode::Compliance),
        _ => None,
    }
}

fn mode_name(mode: RetentionMode) -> &'static str {
    match mode {
        RetentionMode::Governance => ObjectLockMode::GOVERNANCE,
        RetentionMode::Compliance => ObjectLockMode::COMPLIANCE,
    }
}

fn hold_of(text: &str) -> Option<bool> {
    match text {
        ObjectLockLegalHoldStatus::ON => Some(true),
        ObjectLockLegalHoldStatus::OFF => Some(false),
        _ => None,
    }
}

fn hold_name(hold: bool) -> ObjectLockLegalHoldStatus {
    ObjectLockLegalHoldStatus::from_static(if hold {
        ObjectLockLegalHoldStatus::ON
    } else {
        ObjectLockLegalHoldStatus::OFF
    })
}

/// What an answer to GET or HEAD tells of a lock.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) mode: Option<ObjectLockMode>,
    pub(crate) until: Option<Timestamp>,
    pub(crate) hold: Option<ObjectLockLegalHoldStatus>,
}

/// The default that a configuration asks for. Errors: `MalformedXML`, `InvalidArgument`.
fn default_of(rule: Option<ObjectLockRule>) -> S3Result<Option<DefaultRetention>> {
    let Some(rule) = rule else { return Ok(None) };
    let dto::DefaultRetention { days, mode, years } =
        rule.default_retention.ok_or_else(malformed_xml)?;
    let mode = mode
        .as_ref()
        .and_then(|mode| mode_of(mode.as_str()))
        .ok_or_else(malformed_xml)?;
    let positive = |count: i32, most: u32| match u32::try_from(count) {
        Ok(0) | Err(_) => Err(convert::invalid_argument(
            "Default retention period must be a positive integer value.",
        )),
        Ok(count) if count > most => Err(convert::invalid_argument(
            "Default retention period too large",
        )),
        Ok(count) => Ok(count),
    };
    let period = match (days, years) {
        (Some(days), None) => RetentionPeriod::Days(positive(days, MOST_DAYS)?),
        (None, Some(years)) => RetentionPeriod::Years(positive(years, MOST_YEARS)?),
        (Some(_), Some(_)) | (None, None) => return Err(malformed_xml()),
    };
    Ok(Some(DefaultRetention { mode, period }))
}

fn rule_of(default: DefaultRetention) -> ObjectLockRule {
    let counted = |count: u32| i32::try_from(count).ok();
    let (days, years) = match default.period {
        RetentionPeriod::Days(days) => (counted(days), None),
        RetentionPeriod::Years(years) => (None, counted(years)),
    };
    let mode = Some(ObjectLockRetentionMode::from_static(mode_name(
        default.mode,
    )));
    ObjectLockRule {
        default_retention: Some(dto::DefaultRetention { days, mode, years }),
    }
}

/// The retention that a document asks for; an empty one lifts it. Errors: `MalformedXML`.
fn retention_of(document: Option<ObjectLockRetention>) -> S3Result<Option<Retention>> {
    let ObjectLockRetention {
        mode,
        retain_until_date,
    } = document.ok_or_else(malformed_xml)?;
    match (mode, retain_until_date) {
        (None, None) => Ok(None),
        (Some(mode), Some(until)) => {
            let mode = mode_of(mode.as_str()).ok_or_else(malformed_xml)?;
            Ok(Some(Retention {
                mode,
                until_ms: convert::milliseconds(&until),
            }))
        }
        (Some(_), None) | (None, Some(_)) => Err(malformed_xml()),
    }
}

/// The version that is named. Of these operations an empty name is none, as the SDK for Go sends
/// it.
fn named(version: Option<&str>) -> S3Result<Option<VersionId>> {
    convert::version(version.filter(|text| !text.is_empty()))
}

fn not_locked() -> S3Error {
    custom(
        "NoSuchObjectLockConfiguration",
        StatusCode::NOT_FOUND,
        "The specified object does not have a ObjectLock configuration",
    )
}

impl Protocol {
    /// Refuses a lock where the bucket has none, before the bytes come. Errors: `InvalidRequest`.
    pub(super) fn check_lock(&self, bucket: &Bucket, lock: &ObjectLock) -> S3Result<()> {
        if lock.is_empty() || bucket.lock.is_some() {
            Ok(())
        } else {
            Err(self.refused(StorageError::NoObjectLock))
        }
    }

    /// What a request that names `x-amz-bypass-governance-retention` may. Errors: `AccessDenied`
    /// where that is nothing.
    pub(super) fn bypass(
        &self,
        asked: Option<bool>,
        bucket: &str,
        key: Option<&str>,
        asking: &Asking<'_>,
    ) -> S3Result<Bypass> {
        if asked != Some(true) {
            return Ok(Bypass::Nothing);
        }
        let deed = Deed::new("BypassGovernanceRetention", Some((bucket, key)));
        self.access
            .decide(asking.asker, deed, &asking.circumstances)?;
        Ok(Bypass::Governance)
    }

    /// What of an object's lock the asker may know.
    pub(super) fn told(&self, bucket: &str, found: &ObjectVersion, asking: &Asking<'_>) -> Told {
        let ObjectLock { retention, hold } = found.content.lock;
        if found.content.lock.is_empty() {
            return Told::default();
        }
        let place = Some((bucket, Some(found.key.as_str())));
        let may = |name| {
            self.access
                .decide(asking.asker, Deed::new(name, place), &asking.circumstances)
                .is_ok()
        };
        let retention = retention.filter(|_| may("GetObjectRetention"));
        Told {
            mode: retention.map(|retention| ObjectLockMode::from_static(mode_name(retention.mode))),
            until: retention.map(|retention| convert::timestamp(retention.until_ms)),
            hold: hold.filter(|_| may("GetObjectLegalHold")).map(hold_name),
        }
    }

    pub(super) async fn put_object_lock_configuration(
        &self,
        asked: Asked<PutObjectLockConfigurationInput>,
    ) -> S3Result<PutObjectLockConfigurationOutput> {
        let PutObjectLockConfigurationInput {
            bucket,
            object_lock_configuration,
            ..
        } = asked.input;
        let ObjectLockConfiguration {
            object_lock_enabled,
            rule,
        } = object_lock_configuration.ok_or_else(malformed_xml)?;
        if object_lock_enabled.is_none_or(|enabled| enabled.as_str() != ObjectLockEnabled::ENABLED)
        {
            return Err(malformed_xml());
        }
        let lock = BucketLock {
            default: default_of(rule)?,
        };
        self.blocking(move |store| store.set_bucket_lock(&bucket, lock))
            .await?;
        Ok(PutObjectLockConfigurationOutput::default())
    }

    pub(super) async fn get_object_lock_configuration(
        &self,
        asked: Asked<GetObjectLockConfigurationInput>,
    ) -> S3Result<GetObjectLockConfigurationOutput> {
        let missing = || {
            s3_error!(
                ObjectLockConfigurationNotFoundError,
                "Object Lock configuration does not exist for this bucket"
            )
        };
        let lock = self
            .check_bucket(&asked.input.bucket)?
            .lock
            .ok_or_else(missing)?;
        let object_lock_enabled = Some(ObjectLockEnabled::from_static(ObjectLockEnabled::ENABLED));
        let configuration = ObjectLockConfiguration {
            object_lock_enabled,
            rule: lock.default.map(rule_of),
        };
        Ok(GetObjectLockConfigurationOutput {
            object_lock_configuration: Some(configuration),
        })
    }

    /// The lock of a version in a bucket that has one.
    fn lock_of(&self, bucket: &str, key: &str, version: Option<&str>) -> S3Result<ObjectLock> {
        let version = named(version)?;
        let found = self.found(self.store.head(bucket, key, version), version.is_none())?;
        match self.check_bucket(bucket)?.lock {
            Some(_) => Ok(found.content.lock),
            None => Err(self.refused(StorageError::NoObjectLock)),
        }
    }

    pub(super) async fn get_object_retention(
        &self,
        asked: Asked<GetObjectRetentionInput>,
    ) -> S3Result<GetObjectRetentionOutput> {
        let input = asked.input;
        let retention = self
            .lock_of(&input.bucket, &input.key, input.version_id.as_deref())?
            .retention
            .ok_or_else(not_locked)?;
        let mode = Some(ObjectLockRetentionMode::from_static(mode_name(
            retention.mode,
        )));
        let retention = ObjectLockRetention {
            mode,
            retain_until_date: Some(convert::timestamp(retention.until_ms)),
        };
        Ok(GetObjectRetentionOutput {
            retention: Some(retention),
        })
    }

    pub(super) async fn put_object_retention(
        &self,
        asked: Asked<PutObjectRetentionInput>,
    ) -> S3Result<PutObjectRetentionOutput> {
        let bypass = {
            let input = &asked.input;
            self.bypass(
                input.bypass_governance_retention,
                &input.bucket,
                Some(&input.key),
                &asked.asking(),
            )?
        };
        let PutObjectRetentionInput {
            bucket,
            key,
            version_id,
            retention,
            ..
        } = asked.input;
        self.check_bucket(&bucket)?;
        let retention = retention_of(retention)?;
        let version = named(version_id.as_deref())?;
        let store = std::sync::Arc::clone(&self.store);
        let outcome = super::intake::blocking(move || {
            store.set_retention(&bucket, &key, version, retention, bypass)
        })
        .await?;
        self.found(outcome, version.is_none())?;
        Ok(PutObjectRetentionOutput::default())
    }

    pub(super) async fn get_object_legal_hold(
        &self,
        asked: Asked<GetObjectLegalHoldInput>,
    ) -> S3Result<GetObjectLegalHoldOutput> {
        let input = asked.input;
        let hold = self
            .lock_of(&input.bucket, &input.key, input.version_id.as_deref())?
            .hold
            .ok_or_else(not_locked)?;
        Ok(GetObjectLegalHoldOutput {
            legal_hold: Some(ObjectLockLegalHold {
                status: Some(hold_name(hold)),
            }),
        })
    }

    pub(super) async fn put_object_legal_hold(
        &self,
        asked: Asked<PutObjectLegalHoldInput>,
    ) -> S3Result<PutObjectLegalHoldOutput> {
        let PutObjectLegalHoldInput {
            bucket,
            key,
            version_id,
            legal_hold,
            ..
        } = asked.input;
        self.check_bucket(&bucket)?;
        let status = legal_hold.and_then(|hold| hold.status);
        let hold = status
            .and_then(|status| hold_of(status.as_str()))
            .ok_or_else(malformed_xml)?;
        let version = named(version_id.as_deref())?;
        let store = std::sync::Arc::clone(&self.store);
        let outcome =
            super::intake::blocking(move || store.set_hold(&bucket, &key, version, hold)).await?;
        self.found(outcome, version.is_none())?;
        Ok(PutObjectLegalHoldOutput::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_has_a_mode_and_an_end_and_a_default_one_period() {
        let until = convert::timestamp(1_700_000_000_000);
        let lock = given(Some("COMPLIANCE"), Some(&until), Some("OFF")).unwrap();
        assert_eq!(
            lock.retention,
            Some(Retention {
                mode: RetentionMode::Compliance,
                until_ms: 1_700_000_000_000
            })
        );
        assert_eq!(lock.hold, Some(false));
        assert!(given(None, None, None).unwrap().is_empty());
        for (mode, until, hold) in [
            (Some("GOVERNANCE"), None, None),
            (None, Some(&until), None),
            (Some("governance"), Some(&until), None),
            (None, None, Some("on")),
        ] {
            assert_eq!(
                given(mode, until, hold).unwrap_err().code().as_str(),
                "InvalidArgument"
            );
        }
        let rule = |days, years, mode: &'static str| {
            let mode = Some(ObjectLockRetentionMode::from_static(mode));
            default_of(Some(ObjectLockRule {
                default_retention: Some(dto::DefaultRetention { days, mode, years }),
            }))
        };
        for (days, years, mode, code) in [
            (None, None, "GOVERNANCE", "MalformedXML"),
            (Some(1), Some(1), "GOVERNANCE", "MalformedXML"),
            (Some(1), None, "other", "MalformedXML"),
            (Some(0), None, "COMPLIANCE", "InvalidArgument"),
            (Some(36_501), None, "COMPLIANCE", "InvalidArgument"),
            (None, Some(-1), "COMPLIANCE", "InvalidArgument"),
            (None, Some(101), "COMPLIANCE", "InvalidArgument"),
        ] {
            assert_eq!(
                rule(days, years, mode).unwrap_err().code().as_str(),
                code,
                "{days:?} {years:?} {mode}"
            );
        }
        let kept = rule(None, Some(2), "COMPLIANCE").unwrap().unwrap();
        assert_eq!(default_of(Some(rule_of(kept))).unwrap(), Some(kept));
    }
}
