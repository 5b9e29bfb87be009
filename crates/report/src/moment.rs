//! Points in time of a record, as other formats want them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use units::lossless::to_usize;

const DAY_S: u64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// The last second of the year 9999, beyond which RFC 3339 has no form.
const LAST_SECOND: u64 = 253_402_300_799;

/// The point that an RFC 3339 text in UTC names; `None` for any other text and before 1970.
pub(crate) fn system_time(rfc3339: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(rfc3339).ok()
}

/// Milliseconds since 1970 of an RFC 3339 text in UTC.
pub(crate) fn unix_ms(rfc3339: &str) -> Option<u64> {
    let since = system_time(rfc3339)?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// As asctime(3) writes it, in UTC: `Fri Nov 20 11:07:03 2026`.
pub(crate) fn asctime(unix_ms: u64) -> String {
    let seconds = (unix_ms / 1000).min(LAST_SECOND);
    let text =
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string();
    // The first of January 1970 was a Thursday.
    let weekday = WEEKDAYS[to_usize((seconds / DAY_S + 4) % 7)];
    let (date, time) = text
        .split_once('T')
        .expect("RFC 3339 divides date and time by T");
    let (year, rest) = date
        .split_once('-')
        .expect("RFC 3339 has a year and a month");
    let (month, day) = rest
        .split_once('-')
        .expect("RFC 3339 has a month and a day");
    let month = month
        .parse::<usize>()
        .ok()
        .and_then(|n| MONTHS.get(n.wrapping_sub(1)))
        .expect("a month is 01 to 12");
    let day = day.trim_start_matches('0');
    format!(
        "{weekday} {month} {day:>2} {} {year}",
        time.trim_end_matches('Z')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_time_reads_as_asctime_writes_it() {
        assert_eq!(
            asctime(unix_ms("2026-11-20T11:07:03.736Z").unwrap()),
            "Fri Nov 20 11:07:03 2026"
        );
        assert_eq!(asctime(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(
            asctime(unix_ms("2024-02-29T23:59:59Z").unwrap()),
            "Thu Feb 29 23:59:59 2024"
        );
    }

    #[test]
    fn no_number_is_too_large_and_no_text_too_strange() {
        assert!(asctime(u64::MAX).ends_with("9999"));
        assert_eq!(
            (
                unix_ms(""),
                unix_ms("yesterday"),
                unix_ms("2026-13-01T00:00:00Z")
            ),
            (None, None, None)
        );
    }
}
