//! Object lock: what keeps a version from being deleted, and when that may be changed. Pure: time
//! is an argument.

use super::{StorageError, StorageResult};

/// How strict a retention is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetentionMode {
    /// Who may bypass it may shorten it, lift it, and delete what it keeps.
    Governance,
    /// Nobody may, until it has passed.
    Compliance,
}

/// Until when a version is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Retention {
    pub mode: RetentionMode,
    /// Milliseconds since 1970 UTC.
    pub until_ms: u64,
}

/// What protects one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectLock {
    pub retention: Option<Retention>,
    /// Whether it is kept until this is turned off; `None` where nobody ever said.
    pub hold: Option<bool>,
}

/// How long, as whoever set it said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetentionPeriod {
    Days(u32),
    /// Of 365 days.
    Years(u32),
}

impl RetentionPeriod {
    fn ms(self) -> u64 {
        const DAY_MS: u64 = 86_400_000;
        match self {
            Self::Days(days) => u64::from(days) * DAY_MS,
            Self::Years(years) => u64::from(years) * 365 * DAY_MS,
        }
    }
}

/// The retention of objects that are put without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefaultRetention {
    pub mode: RetentionMode,
    pub period: RetentionPeriod,
}

impl DefaultRetention {
    fn beginning(self, now_ms: u64) -> Retention {
        Retention {
            mode: self.mode,
            until_ms: now_ms.saturating_add(self.period.ms()),
        }
    }
}

/// The lock of a bucket that has one. It is never taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BucketLock {
    pub default: Option<DefaultRetention>,
}

/// Whether a request may disregard governance. That the asker may ask for it is the protocol's
/// matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bypass {
    #[default]
    Nothing,
    Governance,
}

impl ObjectLock {
    /// Whether nothing was ever said of it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a version may not be deleted.
    pub(crate) fn keeps(&self, now_ms: u64, bypass: Bypass) -> bool {
        let retained = self
            .retention
            .is_some_and(|retention| retention.until_ms > now_ms && !retention.yields(bypass));
        self.hold == Some(true) || retained
    }
}

impl Retention {
    fn yields(self, bypass: Bypass) -> bool {
        self.mode == RetentionMode::Governance && bypass == Bypass::Governance
    }
}

/// Refuses what an object cannot begin with. Errors: `NoObjectLock`, `RetentionPassed`.
pub(crate) fn check_new(
    bucket: Option<BucketLock>,
    lock: &ObjectLock,
    now_ms: u64,
) -> StorageResult<()> {
    if lock.is_empty() {
        return Ok(());
    }
    check_future(lock.retention, now_ms)?;
    if bucket.is_some() {
        Ok(())
    } else {
        Err(StorageError::NoObjectLock)
    }
}

/// What a new version of a bucket has: what was said of it, else the bucket's default.
pub(crate) fn begun(bucket: Option<BucketLock>, lock: ObjectLock, now_ms: u64) -> ObjectLock {
    let default = bucket
        .and_then(|bucket| bucket.default)
        .map(|default| default.beginning(now_ms));
    ObjectLock {
        retention: lock.retention.or(default),
        hold: lock.hold,
    }
}

/// Refuses a change of retention that would keep a version less, or otherwise. Errors: `Locked`.
pub(crate) fn check_change(
    old: Option<Retention>,
    new: Option<Retention>,
    now_ms: u64,
    bypass: Bypass,
) -> StorageResult<()> {
    let Some(old) = old.filter(|old| old.until_ms > now_ms && !old.yields(bypass)) else {
        return Ok(());
    };
    let stronger = new.is_some_and(|new| new.until_ms >= old.until_ms && new.mode == old.mode);
    if stronger {
        Ok(())
    } else {
        Err(StorageError::Locked)
    }
}

/// Errors: `RetentionPassed`.
pub(crate) fn check_future(retention: Option<Retention>, now_ms: u64) -> StorageResult<()> {
    match retention {
        Some(retention) if retention.until_ms <= now_ms => Err(StorageError::RetentionPassed),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RetentionMode::{Compliance, Governance};

    fn until(mode: RetentionMode, until_ms: u64) -> Option<Retention> {
        Some(Retention { mode, until_ms })
    }

    #[test]
    fn a_version_is_kept_until_its_time_and_as_long_as_it_is_held() {
        let keeps =
            |retention, hold, now_ms, bypass| ObjectLock { retention, hold }.keeps(now_ms, bypass);
        for (mode, bypass, kept) in [
            (Governance, Bypass::Nothing, true),
            (Governance, Bypass::Governance, false),
            (Compliance, Bypass::Nothing, true),
            (Compliance, Bypass::Governance, true),
        ] {
            assert_eq!(keeps(until(mode, 100), None, 99, bypass), kept);
            assert!(!keeps(until(mode, 100), Some(false), 100, bypass));
            assert!(keeps(until(mode, 100), Some(true), 100, bypass));
        }
        assert!(
            keeps(None, Some(true), u64::MAX, Bypass::Governance)
                && !keeps(None, None, 0, Bypass::Nothing)
        );
    }

    #[test]
    fn a_retention_is_shortened_weakened_or_lifted_only_where_it_may_be_bypassed() {
        let allowed = |old, new, bypass| check_change(old, new, 50, bypass).is_ok();
        for (old, new, plain, bypassing) in [
            (None, until(Governance, 60), true, true),
            (until(Governance, 100), until(Governance, 100), true, true),
            (until(Governance, 100), until(Governance, 101), true, true),
            (until(Governance, 100), until(Compliance, 101), false, true),
            (until(Governance, 100), until(Governance, 99), false, true),
            (until(Governance, 100), until(Compliance, 99), false, true),
            (until(Governance, 100), None, false, true),
            (until(Compliance, 100), until(Compliance, 101), true, true),
            (until(Compliance, 100), until(Compliance, 99), false, false),
            (until(Compliance, 100), until(Governance, 101), false, false),
            (until(Compliance, 100), None, false, false),
            (until(Compliance, 50), None, true, true),
        ] {
            assert_eq!(allowed(old, new, Bypass::Nothing), plain, "{old:?} {new:?}");
            assert_eq!(
                allowed(old, new, Bypass::Governance),
                bypassing,
                "{old:?} {new:?} bypassing"
            );
        }
    }

    #[test]
    fn a_new_version_has_the_default_of_its_bucket_unless_it_said_otherwise() {
        let bucket = Some(BucketLock {
            default: Some(DefaultRetention {
                mode: Governance,
                period: RetentionPeriod::Days(2),
            }),
        });
        assert_eq!(
            begun(bucket, ObjectLock::default(), 1).retention,
            until(Governance, 172_800_001)
        );
        let said = ObjectLock {
            retention: until(Compliance, 9),
            hold: Some(true),
        };
        assert_eq!(begun(bucket, said, 1), said);
        assert_eq!(begun(None, ObjectLock::default(), 1), ObjectLock::default());
        assert!(
            check_new(None, &said, 1).is_err()
                && check_new(bucket, &said, 1).is_ok()
                && check_new(bucket, &said, 9).is_err()
        );
    }
}
