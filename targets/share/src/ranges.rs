//! Which bytes of an upload a request asks for (RFC 9110, 13 and 14).

use http::{HeaderMap, StatusCode, header};
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The most ranges that one answer has; whoever asks for more gets all.
const MOST_RANGES: usize = 32;

/// What identifies the bytes of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Validators {
    /// With its quotes.
    pub(crate) etag: String,
    /// Milliseconds since 1970.
    pub(crate) changed: u64,
}

/// What is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WantedBytes {
    All,
    /// At least one, each within the bytes.
    Some(Vec<Range<u64>>),
    /// None of those that were asked for are there.
    Outside,
    /// No bytes: what the client has is right, or wrong.
    Nothing(StatusCode),
}

/// Milliseconds as what HTTP writes in dates.
pub(crate) fn moment(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms)
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether a list of tags has this one. `weak` lets a tag that says so of itself count.
fn lists(list: &str, etag: &str, weak: bool) -> bool {
    list.trim() == "*"
        || list.split(',').map(str::trim).any(|tag| {
            tag == etag || (weak && tag.strip_prefix("W/").is_some_and(|tag| tag == etag))
        })
}

impl Validators {
    /// Whether the bytes are older than a date, to the second, as dates have it; `None` where it is no date.
    fn changed_after(&self, date: &str) -> Option<bool> {
        let date = httpdate::parse_http_date(date).ok()?;
        Some(moment(self.changed / 1000 * 1000) > date)
    }

    fn is_date(&self, date: &str) -> bool {
        let date = httpdate::parse_http_date(date);
        date.is_ok_and(|date| moment(self.changed / 1000 * 1000) == date)
    }

    /// Why no bytes are sent, in the order that RFC 9110 (13.2.2) gives.
    fn refused(&self, headers: &HeaderMap) -> Option<StatusCode> {
        let failed = match text(headers, header::IF_MATCH) {
            Some(list) => !lists(list, &self.etag, false),
            None => text(headers, header::IF_UNMODIFIED_SINCE)
                .and_then(|date| self.changed_after(date))
                .unwrap_or(false),
        };
        if failed {
            return Some(StatusCode::PRECONDITION_FAILED);
        }
        let known = match text(headers, header::IF_NONE_MATCH) {
            Some(list) => lists(list, &self.etag, true),
            None => text(headers, header::IF_MODIFIED_SINCE)
                .and_then(|date| self.changed_after(date))
                .is_some_and(|changed| !changed),
        };
        known.then_some(StatusCode::NOT_MODIFIED)
    }

    /// What of `size` bytes is asked for.
    pub(crate) fn wanted(&self, headers: &HeaderMap, size: u64) -> WantedBytes {
        if let Some(status) = self.refused(headers) {
            return WantedBytes::Nothing(status);
        }
        let holds = match text(headers, header::IF_RANGE) {
            Some(tag) if tag.contains('"') => tag == self.etag,
            Some(date) => self.is_date(date),
            None => true,
        };
        match text(headers, header::RANGE).filter(|_| holds) {
            Some(range) => ranges(range, size),
            None => WantedBytes::All,
        }
    }
}

/// What a `Range` asks for of `size` bytes. One that is not understood counts as none.
fn ranges(text: &str, size: u64) -> WantedBytes {
    let Some(list) = text.trim().strip_prefix("bytes=") else {
        return WantedBytes::All;
    };
    let mut found: Vec<Range<u64>> = Vec::new();
    for range in list
        .split(',')
        .map(str::trim)
        .filter(|range| !range.is_empty())
    {
        let Some(range) = one(range, size) else {
            return WantedBytes::All;
        };
        found.extend(range);
    }
    let bytes = found.iter().fold(0u64, |sum, range| {
        sum.saturating_add(range.end - range.start)
    });
    if list.trim_matches([',', ' ']).is_empty() || found.len() > MOST_RANGES || bytes > size {
        return WantedBytes::All;
    }
    if found.is_empty() {
        return WantedBytes::Outside;
    }
    WantedBytes::Some(found)
}

/// One range; `Some(None)` where it lies outside, `None` where it is not understood.
fn one(text: &str, size: u64) -> Option<Option<Range<u64>>> {
    let (first, last) = text.split_once('-')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that is too large lies beyond everything.
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let range = if first.is_empty() {
        let length = number(last)?.min(size);
        size - length..size
    } else {
        let first = number(first)?;
        let end = if last.is_empty() {
            size
        } else {
            let last = number(last)?;
            if last < first {
                return None;
            }
            last.saturating_add(1).min(size)
        };
        first.min(end)..end
    };
    Some((!range.is_empty()).then_some(range))
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::single_range_in_vec_init,
        reason = "one range is what most requests have"
    )]
    use super::*;
    use WantedBytes::{All, Nothing, Outside, Some as Parts};

    const DATE: &str = "Thu, 01 Jan 1970 00:01:40 GMT";

    fn asked(headers: &[(&'static str, &str)]) -> WantedBytes {
        let validators = Validators {
            etag: "\"e\"".into(),
            changed: 100_900,
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        validators.wanted(&map, 100)
    }

    #[test]
    fn ranges_are_within_the_bytes() {
        let range = |text: &str| asked(&[("range", text)]);
        for (text, expected) in [
            ("bytes=0-0", vec![0..1]),
            ("bytes=5-", vec![5..100]),
            ("bytes=-3", vec![97..100]),
            ("bytes=-300", vec![0..100]),
            ("bytes=90-1000", vec![90..100]),
            ("bytes=90-99999999999999999999999", vec![90..100]),
            ("bytes=0-1, 5-6,,300-", vec![0..2, 5..7]),
        ] {
            assert_eq!(range(text), Parts(expected), "{text}");
        }
        for text in ["bytes=100-", "bytes=-0", "bytes=200-300,400-"] {
            assert_eq!(range(text), Outside, "{text}");
        }
        let many = format!("bytes={}", "0-0,".repeat(40));
        for text in [
            "bytes=",
            "bytes=,",
            "bytes=5-2",
            "bytes=a-b",
            "items=0-1",
            "bytes=--1",
            "bytes=0-99,0-1",
            "bytes=1",
            &many,
        ] {
            assert_eq!(range(text), All, "{text}");
        }
    }

    #[test]
    fn an_empty_upload_has_no_range() {
        assert_eq!(ranges("bytes=0-", 0), Outside);
        assert_eq!(ranges("bytes=-5", 0), Outside);
    }

    #[test]
    fn conditions_are_held_to_the_second_and_the_tag() {
        use StatusCode as S;
        for (headers, expected) in [
            (
                &[("if-none-match", "\"x\", W/\"e\"")][..],
                Nothing(S::NOT_MODIFIED),
            ),
            (&[("if-none-match", "*")], Nothing(S::NOT_MODIFIED)),
            (
                &[("if-none-match", "\"x\""), ("if-modified-since", DATE)],
                All,
            ),
            (&[("if-modified-since", DATE)], Nothing(S::NOT_MODIFIED)),
            (
                &[("if-modified-since", "Thu, 01 Jan 1970 00:01:39 GMT")],
                All,
            ),
            (&[("if-modified-since", "yesterday")], All),
            (&[("if-match", "\"x\"")], Nothing(S::PRECONDITION_FAILED)),
            (&[("if-match", "W/\"e\"")], Nothing(S::PRECONDITION_FAILED)),
            (&[("if-match", "\"e\"")], All),
            (&[("if-unmodified-since", DATE)], All),
            (
                &[("if-unmodified-since", "Thu, 01 Jan 1970 00:01:39 GMT")],
                Nothing(S::PRECONDITION_FAILED),
            ),
            (
                &[("range", "bytes=0-1"), ("if-range", "\"e\"")],
                Parts(vec![0..2]),
            ),
            (
                &[("range", "bytes=0-1"), ("if-range", DATE)],
                Parts(vec![0..2]),
            ),
            (&[("range", "bytes=0-1"), ("if-range", "W/\"e\"")], All),
            (&[("range", "bytes=0-1"), ("if-range", "\"x\"")], All),
        ] {
            assert_eq!(asked(headers), expected, "{headers:?}");
        }
    }
}
