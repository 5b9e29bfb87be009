//! Times as policies write them.

use crate::protocol::milliseconds;
use s3s::dto::{Timestamp, TimestampFormat};
use std::borrow::Cow;

/// Milliseconds since 1970 of a date, one with a time of day, or seconds since 1970.
pub(super) fn time(text: &str) -> Option<u64> {
    if let Ok(seconds) = text.parse::<u64>() {
        return seconds.checked_mul(1000);
    }
    let whole = if text.contains('T') {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{text}T00:00:00Z"))
    };
    let parsed = Timestamp::parse(TimestampFormat::DateTime, &whole).ok()?;
    Some(milliseconds(&parsed))
}
