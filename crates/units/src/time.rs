//! Times of day and spans: RFC 3339 texts, and nanoseconds from the fractions that tools print.

use crate::lossless::f64_to_u64_saturating;

const DAY: i64 = 86_400;

/// Nanoseconds since 1970 UTC of a text such as `2026-11-20T12:01:42.507260362Z`; the offset may
/// lack its colon.
pub fn parse(text: &str) -> Option<i128> {
    let (date, rest) = text.trim().split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(|part| digits(part, 9));
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut whole = whole.splitn(3, ':').map(|part| digits(part, 2));
    let (hour, minute, second) = (whole.next()??, whole.next()??, whole.next()??);
    let ranges = [
        (month, 1, 12),
        (day, 1, 31),
        (hour, 0, 23),
        (minute, 0, 59),
        (second, 0, 60),
        (year, 1970, 9999),
    ];
    if ranges
        .iter()
        .any(|(value, low, high)| value < low || value > high)
    {
        return None;
    }
    let nanos = if fraction.is_empty() {
        0
    } else {
        digits(&format!("{fraction:0<9}"), 9)?
    };
    let seconds = days_from_civil(year, month, day) * DAY + hour * 3600 + minute * 60 + second
        - offset_seconds(zone)?;
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
}

fn digits(text: &str, most: usize) -> Option<i64> {
    let sound = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

fn offset_seconds(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next()? {
        'Z' | 'z' => return (zone.len() == 1).then_some(0),
        '+' => 1,
        _ => -1,
    };
    let zone = zone[1..].replace(':', "");
    let (hours, minutes) = zone.split_at_checked(2)?;
    Some(sign * (digits(hours, 2)? * 3600 + digits(minutes, 2)? * 60))
}

/// RFC 3339 in UTC; empty for times before 1970 or after 9999, which no result has.
pub fn format(nanos: i128) -> String {
    let (Ok(seconds), Ok(fraction)) = (
        i64::try_from(nanos.div_euclid(1_000_000_000)),
        u32::try_from(nanos.rem_euclid(1_000_000_000)),
    ) else {
        return String::new();
    };
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    if !(0..2_932_897).contains(&days) {
        return String::new();
    }
    let (year, month, day) = civil_from_days(days);
    let fraction = if fraction == 0 {
        String::new()
    } else {
        format!(".{fraction:09}").trim_end_matches('0').to_owned()
    };
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}{fraction}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Days since 1970-01-01 in the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date
/// algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = (shifted + 2) % 12 + 1;
    (
        era * 400 + year_of_era + i64::from(month <= 2),
        month,
        day_of_year - (153 * shifted + 2) / 5 + 1,
    )
}

/// The nearest whole nanosecond of `value` units of `unit_ns` each; `None` for what is negative, no
/// number or beyond 584 years.
pub fn nanos(value: f64, unit_ns: f64) -> Option<u64> {
    let ns = (value * unit_ns).round();
    (0.0..18_446_744_073_709_549_568.0)
        .contains(&ns)
        .then(|| f64_to_u64_saturating(ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments_are_read_and_written() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-20T12:01:42Z", 1_795_176_102),
        ] {
            assert_eq!(
                parse(text),
                Some(i128::from(seconds) * 1_000_000_000),
                "{text}"
            );
            assert_eq!(format(i128::from(seconds) * 1_000_000_000), text);
        }
    }

    #[test]
    fn offsets_and_fractions_count() {
        let utc = parse("2026-11-20T11:56:56.412Z").unwrap();
        for same in [
            "2026-11-20T11:56:56.412+0000",
            "2026-11-20T13:56:56.412+02:00",
            "2026-11-20T06:26:56.412000-0530",
        ] {
            assert_eq!(parse(same), Some(utc), "{same}");
        }
        assert_eq!(format(utc), "2026-11-20T11:56:56.412Z");
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "2026",
            "2026-11-20",
            "2026-13-20T00:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T00:00:00",
            "2026-11-20T00:00:00+1",
            "99999999999-1-1T0:0:0Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_span_that_fits_no_counter_is_none() {
        assert_eq!(nanos(1.5, 1e6), Some(1_500_000));
        for value in [-1.0, f64::NAN, f64::INFINITY, 1e20] {
            assert_eq!(nanos(value, 1.0), None);
        }
    }

    proptest! {
        #[test]
        fn every_moment_is_read_back(nanos in 0_i128..253_402_300_800_000_000_000) {
            prop_assert_eq!(parse(&format(nanos)), Some(nanos));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "\\PC*", near in "[-0-9T:.Z+]{0,30}") {
            let _moments = (parse(&text), parse(&near));
        }
    }
}
