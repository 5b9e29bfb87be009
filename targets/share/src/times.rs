//! Moments and spans as clients write them.

use std::time::{Duration, UNIX_EPOCH};

/// A day in milliseconds.
pub(crate) const DAY: u64 = 86_400_000;

/// What clients of PicoShare read as never.
pub(crate) const NEVER: &str = "2999-12-31T00:00:00Z";

/// Milliseconds since 1970 of a moment of RFC 3339, with any offset; `None` where it is none or
/// before 1970.
pub(crate) fn parse_moment(text: &str) -> Option<u64> {
    let text = text.trim();
    let at_end = text
        .len()
        .checked_sub(6)
        .filter(|at| text.is_char_boundary(*at));
    let (plain, offset) = match at_end.map(|at| text.split_at(at)) {
        Some((plain, offset)) if offset.starts_with(['+', '-', ' ']) => {
            (format!("{plain}Z"), offset_ms(offset)?)
        }
        Some(_) | None => (text.to_owned(), 0),
    };
    // The library reads up to the first Z, whatever comes after it.
    let fraction = plain.get(19..)?.strip_suffix('Z')?;
    let is_fraction = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !fraction.is_empty() && !fraction.strip_prefix('.').is_some_and(is_fraction) {
        return None;
    }
    let moment = humantime::parse_rfc3339(&plain).ok()?;
    let ms = moment.duration_since(UNIX_EPOCH).ok()?.as_millis();
    u64::try_from(i64::try_from(ms).ok()?.checked_sub(offset)?).ok()
}

/// `+02:00` in milliseconds. A plus that was not escaped in an address is a space.
fn offset_ms(text: &str) -> Option<i64> {
    let (sign, rest) = text.split_at(1);
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let ms = (hours * 60 + minutes) * 60_000;
    Some(if sign == "-" { -ms } else { ms })
}

/// The moment for clients; `None` is never.
pub(crate) fn told_moment(ms: Option<u64>) -> String {
    // The calendar of the library ends with the year 9999.
    const LAST: u64 = 253_402_300_799_000;
    match ms {
        Some(ms) => {
            humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(ms.min(LAST)))
                .to_string()
        }
        None => NEVER.to_owned(),
    }
}

/// What counts as an end: a moment that comes, or never.
///
/// # Errors
/// In words for whoever asked.
pub(crate) fn parse_end(text: &str, now: u64) -> Result<Option<u64>, &'static str> {
    let moment =
        parse_moment(text).ok_or("the expiration is not a moment such as 2040-01-01T00:00:00Z")?;
    if moment >= parse_moment(NEVER).unwrap_or(u64::MAX) {
        return Ok(None);
    }
    if moment <= now {
        return Err("the expiration is in the past");
    }
    Ok(Some(moment))
}

/// Milliseconds of a span such as `24h0m0s` or `7d`; `None` where it is none.
pub(crate) fn parse_span(text: &str) -> Option<u64> {
    let mut sum = 0u64;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].chars().next()?;
        let ms = match unit {
            'd' => DAY,
            'h' => 3_600_000,
            'm' => 60_000,
            's' => 1000,
            _ => return None,
        };
        sum = sum.checked_add(number.checked_mul(ms)?)?;
        rest = &rest[digits + 1..];
    }
    Some(sum)
}

/// A span in words for people, such as `7 days` or `1 hour 30 minutes`, to the second.
pub(crate) fn told_span(ms: u64) -> String {
    let units = [
        (DAY, "day"),
        (3_600_000, "hour"),
        (60_000, "minute"),
        (1000, "second"),
    ];
    let mut rest = ms;
    let mut parts = Vec::new();
    for (unit, word) in units {
        let count = rest / unit;
        rest %= unit;
        if count > 0 {
            parts.push(counted(count, word));
        }
    }
    if parts.is_empty() {
        parts.push(counted(0, "second"));
    }
    parts.join(" ")
}

/// So many of something, in words.
pub(crate) fn counted(count: u64, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_offsets_and_fractions() {
        let noon = Some(946_728_000_000);
        for text in [
            "2000-01-01T12:00:00Z",
            "2000-01-01T12:00:00.000Z",
            "2000-01-01T14:00:00+02:00",
            "2000-01-01T14:00:00 02:00",
            "2000-01-01T04:30:00-07:30",
        ] {
            assert_eq!(parse_moment(text), noon, "{text}");
        }
        for text in [
            "",
            "2000-01-01",
            "2000-13-01T00:00:00Z",
            "1960-01-01T00:00:00Z",
            "2000-01-01T12:00:00+2:00",
            "2000-01-01T12:00:00+24:00",
            "2000-01-01T12:00:00-00:60",
            "2000-01-01T12:00:00Z+02:00",
            "2000-01-01T12:00:00ZZ",
            "2000-01-01T12:00:00Z tomorrow",
            "2000-01-01T12:00:00.Z5Z",
            "\u{e4}\u{e4}\u{e4}\u{e4}",
        ] {
            assert_eq!(parse_moment(text), None, "{text}");
        }
        assert_eq!(told_moment(noon), "2000-01-01T12:00:00Z");
    }

    #[test]
    fn an_end_is_to_come_or_never() {
        assert_eq!(parse_end(NEVER, 0), Ok(None));
        assert_eq!(parse_end("2999-12-31T00:00:00.000Z", 0), Ok(None));
        assert_eq!(
            parse_end("2000-01-01T12:00:00Z", 5),
            Ok(Some(946_728_000_000))
        );
        assert!(parse_end("2000-01-01T12:00:00Z", 946_728_000_000).is_err());
        assert!(parse_end("soon", 0).is_err());
    }

    #[test]
    fn spans_are_sums() {
        assert_eq!(parse_span("24h0m0s"), Some(DAY));
        assert_eq!(parse_span("1d12h"), Some(DAY + DAY / 2));
        for text in ["", "5", "h", "1y", "-1h", "99999999999999999999h"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }

    #[test]
    fn spans_are_told_as_they_are() {
        for (span, told) in [
            ("7d", "7 days"),
            ("1d", "1 day"),
            ("1h", "1 hour"),
            ("36h", "1 day 12 hours"),
            ("90m", "1 hour 30 minutes"),
            ("2s", "2 seconds"),
        ] {
            assert_eq!(told_span(parse_span(span).unwrap()), told);
        }
        assert_eq!(told_span(0), "0 seconds");
    }
}
