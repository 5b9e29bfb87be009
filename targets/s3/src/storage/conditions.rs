//! Conditions of a request, decided where writes take their order.

use super::{ETag, StorageError, StorageResult};

/// What `If-Match` and `If-None-Match` can say. A list of ETags holds when one of them does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EtagCondition {
    /// `*`
    Any,
    /// The ETags without quotes.
    OneOf(Vec<String>),
}

impl EtagCondition {
    /// Whether the condition names this ETag.
    pub fn names(&self, etag: ETag) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(list) => list.contains(&etag.to_string()),
        }
    }
}

/// What must hold of the latest version of a key for a write to take effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditions {
    /// The key exists with this ETag.
    pub if_match: Option<EtagCondition>,
    /// The key does not exist, or has none of these ETags.
    pub if_none_match: Option<EtagCondition>,
    /// The version that is written over was made at this time, in milliseconds since 1970: what an
    /// expiration decided on is still there.
    pub if_modified_at_ms: Option<u64>,
}

impl Conditions {
    /// Decides against the latest version, `None` where the key does not exist or ends in a delete
    /// marker.
    pub(crate) fn check(&self, latest: Option<(ETag, u64)>) -> StorageResult<()> {
        match (&self.if_match, latest) {
            (Some(_), None) => return Err(StorageError::NoSuchKey),
            (Some(condition), Some((etag, _))) if !condition.names(etag) => {
                return Err(StorageError::PreconditionFailed);
            }
            _ => {}
        }
        if let (Some(condition), Some((etag, _))) = (&self.if_none_match, latest)
            && condition.names(etag)
        {
            return Err(StorageError::PreconditionFailed);
        }
        match (self.if_modified_at_ms, latest) {
            (Some(at), Some((_, modified_ms))) if at == modified_ms => Ok(()),
            (Some(_), _) => Err(StorageError::PreconditionFailed),
            (None, _) => Ok(()),
        }
    }
}

/// What must hold of the source of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceConditions {
    pub if_match: Option<EtagCondition>,
    pub if_none_match: Option<EtagCondition>,
    /// Milliseconds since 1970 UTC, as the two below HTTP's whole seconds allow: the source is
    /// newer than the end of that second.
    pub if_modified_since_ms: Option<u64>,
    pub if_unmodified_since_ms: Option<u64>,
}

impl SourceConditions {
    /// As RFC 9110 13.2.2 orders them: an ETag that matches makes the date beside it void.
    pub(crate) fn check(&self, etag: ETag, modified_ms: u64) -> StorageResult<()> {
        let newer = |than_ms: u64| modified_ms / 1000 > than_ms / 1000;
        let holds = match (&self.if_match, self.if_unmodified_since_ms) {
            (Some(condition), _) => condition.names(etag),
            (None, Some(since_ms)) => !newer(since_ms),
            (None, None) => true,
        } && match (&self.if_none_match, self.if_modified_since_ms) {
            (Some(condition), _) => !condition.names(etag),
            (None, Some(since_ms)) => newer(since_ms),
            (None, None) => true,
        };
        if holds {
            Ok(())
        } else {
            Err(StorageError::PreconditionFailed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETAG: ETag = ETag {
        md5: [7; 16],
        parts: 0,
    };

    fn one(etag: ETag) -> Option<EtagCondition> {
        Some(EtagCondition::OneOf(vec![etag.to_string()]))
    }

    #[test]
    fn if_none_match_any_holds_only_where_nothing_is() {
        let only_new = Conditions {
            if_none_match: Some(EtagCondition::Any),
            ..Default::default()
        };
        assert!(only_new.check(None).is_ok());
        assert!(matches!(
            only_new.check(Some((ETAG, 1))),
            Err(StorageError::PreconditionFailed)
        ));
    }

    #[test]
    fn if_match_on_nothing_is_no_such_key_and_on_another_etag_a_failed_condition() {
        let same = Conditions {
            if_match: one(ETAG),
            ..Default::default()
        };
        assert!(same.check(Some((ETAG, 1))).is_ok());
        assert!(matches!(same.check(None), Err(StorageError::NoSuchKey)));
        assert!(matches!(
            same.check(Some((
                ETag {
                    md5: [8; 16],
                    parts: 0
                },
                1
            ))),
            Err(StorageError::PreconditionFailed)
        ));
    }

    #[test]
    fn a_matching_etag_of_a_copy_makes_the_date_void() {
        let both = SourceConditions {
            if_match: one(ETAG),
            if_unmodified_since_ms: Some(0),
            ..Default::default()
        };
        assert!(both.check(ETAG, 5_000).is_ok());
        let date = SourceConditions {
            if_unmodified_since_ms: Some(0),
            ..Default::default()
        };
        assert!(date.check(ETAG, 5_000).is_err());
        assert!(
            date.check(ETAG, 999).is_ok(),
            "HTTP dates have whole seconds"
        );
    }
}
