use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Expected, UnitError};
use crate::lossless::{f64_to_u64_saturating, u64_to_f64};
use crate::number::{significant_trimmed, split};

/// A span of time in nanoseconds, up to about 584 years; serialised as a plain number.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000 * MICRO;
const SECOND: u64 = 1_000 * MILLI;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The units that `exact` writes, the largest first.
const EXACT_UNITS: [(u64, &str); 7] = [
    (DAY, "d"),
    (HOUR, "h"),
    (MINUTE, "m"),
    (SECOND, "s"),
    (MILLI, "ms"),
    (MICRO, "us"),
    (1, "ns"),
];

impl Nanos {
    /// The longest span.
    pub const MAX: Nanos = Nanos(u64::MAX);
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// Reads a duration such as `10s`, `1.5ms`, `50 µs` or `2m`; a bare number is seconds.
    ///
    /// Units are `ns`, `us` or `µs`, `ms`, `s`, `m` or `min`, `h` and `d`, in lower case. A
    /// fraction must come out at a whole number of nanoseconds.
    pub fn parse(text: &str) -> Result<Nanos, UnitError> {
        let what = Expected::Duration;
        let (number, unit) = split(text, what)?;
        let scale = match unit {
            "ns" => 1,
            // The micro sign U+00B5 and the Greek letter mu U+03BC look alike and are both typed.
            "us" | "\u{b5}s" | "\u{3bc}s" => MICRO,
            "ms" => MILLI,
            "" | "s" => SECOND,
            "m" | "min" => MINUTE,
            "h" => HOUR,
            "d" => DAY,
            _ => return Err(what.unknown_unit(text.trim(), unit)),
        };
        number.times_exactly(scale, text, what).map(Nanos)
    }

    /// A text that [`Nanos::parse`] reads back as the same value: a whole number of the largest
    /// unit that fits.
    pub fn exact(self) -> String {
        if self.0 == 0 {
            return "0s".to_owned();
        }
        let (scale, unit) = EXACT_UNITS
            .into_iter()
            .find(|(scale, _)| self.0.is_multiple_of(*scale))
            .expect("the last unit is 1, which divides everything");
        format!("{}{unit}", self.0 / scale)
    }

    /// `secs` seconds to the nearest nanosecond; what is below 0 or above the longest span becomes
    /// that limit.
    ///
    /// # Panics
    /// If `secs` is not a number.
    pub fn from_secs_f64(secs: f64) -> Nanos {
        assert!(!secs.is_nan(), "a duration is never NaN");
        Nanos(f64_to_u64_saturating((secs * u64_to_f64(SECOND)).round()))
    }

    /// The span in seconds, to the precision of an `f64`.
    pub fn as_secs_f64(self) -> f64 {
        u64_to_f64(self.0) / u64_to_f64(SECOND)
    }

    /// The sum, or `None` if it is longer than the longest span.
    pub const fn checked_add(self, other: Nanos) -> Option<Nanos> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Nanos(sum)),
            None => None,
        }
    }

    /// The difference, or `None` if `other` is longer.
    pub const fn checked_sub(self, other: Nanos) -> Option<Nanos> {
        match self.0.checked_sub(other.0) {
            Some(difference) => Some(Nanos(difference)),
            None => None,
        }
    }

    /// The sum, at most the longest span.
    pub const fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// The difference, at least zero.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

/// Saturates at [`Nanos::MAX`], since a [`Duration`] can be longer.
impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Nanos {
        u64::try_from(duration.as_nanos()).map_or(Nanos::MAX, Nanos)
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}

/// Four significant digits in ns, µs, ms or s; from a minute on whole days, hours or minutes where
/// it is one of these.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let long = [(DAY, "d"), (HOUR, "h"), (MINUTE, "min")];
        let whole = long
            .into_iter()
            .find(|(scale, _)| self.0 != 0 && self.0.is_multiple_of(*scale));
        let text = match whole {
            Some((scale, unit)) => format!("{} {unit}", self.0 / scale),
            None => short(self.0),
        };
        f.pad(&text)
    }
}

fn short(nanos: u64) -> String {
    if nanos == 0 {
        return "0 s".to_owned();
    }
    let units = [(1, "ns"), (MICRO, "µs"), (MILLI, "ms")];
    for (scale, unit) in units {
        let number = significant_trimmed(u64_to_f64(nanos) / u64_to_f64(scale), 4);
        // What rounds up to a thousand belongs to the next unit.
        if nanos < scale * 1000 && number != "1000" {
            return format!("{number} {unit}");
        }
    }
    format!(
        "{} s",
        significant_trimmed(u64_to_f64(nanos) / u64_to_f64(SECOND), 4)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, U64Deserializer};

    use super::*;
    use crate::error::kind_of;

    fn read(text: &str) -> u64 {
        Nanos::parse(text)
            .unwrap_or_else(|error| panic!("{error}"))
            .0
    }

    #[test]
    fn every_unit_has_its_length() {
        let table = [
            ("0", 0),
            ("0s", 0),
            ("30", 30_000_000_000),
            ("1.5", 1_500_000_000),
            ("82ns", 82),
            ("50us", 50_000),
            ("50 \u{b5}s", 50_000),
            ("50\u{3bc}s", 50_000),
            ("1.234ms", 1_234_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("0.5d", 43_200_000_000_000),
            ("1_000 ms", 1_000_000_000),
        ];
        for (text, nanos) in table {
            assert_eq!(read(text), nanos, "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_by_its_kind() {
        let table: [(&str, &str); 10] = [
            ("", "Empty"),
            ("s", "Malformed"),
            ("NaN", "Malformed"),
            ("-1s", "Negative"),
            ("1M", "UnknownUnit"),
            ("1m30s", "UnknownUnit"),
            ("1k", "UnknownUnit"),
            ("0.5ns", "NotWhole"),
            ("0.0000000001", "NotWhole"),
            ("213504d", "OutOfRange"),
        ];
        for (text, kind) in table {
            let error = Nanos::parse(text).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
        assert_eq!(
            Nanos::parse("1w").unwrap_err().to_string(),
            "`1w` ends in `w`, which is no unit of a duration (ns us ms s, m or min, h d; without a unit seconds); \
             write for example 10s, 1.5ms or 2m"
        );
    }

    #[test]
    fn display_has_four_significant_digits_and_whole_long_units() {
        let table = [
            (0, "0 s"),
            (82, "82 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (50_000, "50 µs"),
            (1_234_000, "1.234 ms"),
            (1_234_567, "1.235 ms"),
            (999_949, "999.9 µs"),
            (999_999, "1 ms"),
            (999_999_999, "1 s"),
            (10_000_000_000, "10 s"),
            (90_000_000_000, "90 s"),
            (60_000_000_000, "1 min"),
            (7_200_000_000_000, "2 h"),
            (86_400_000_000_000, "1 d"),
            (86_399_000_000_000, "86399 s"),
        ];
        for (nanos, shown) in table {
            assert_eq!(Nanos(nanos).to_string(), shown, "{nanos}");
        }
        assert_eq!(format!("{:>7}", Nanos(82)), "  82 ns");
    }

    #[test]
    fn exact_prefers_the_largest_unit_that_divides() {
        let table = [
            (0, "0s"),
            (1, "1ns"),
            (50_000, "50us"),
            (1_500_000_000, "1500ms"),
            (90_000_000_000, "90s"),
            (120_000_000_000, "2m"),
            (3_600_000_000_000, "1h"),
            (172_800_000_000_000, "2d"),
        ];
        for (nanos, text) in table {
            assert_eq!(Nanos(nanos).exact(), text);
        }
    }

    #[test]
    fn seconds_convert_and_saturate_at_both_ends() {
        assert_eq!(Nanos::from_secs_f64(1.5), Nanos(1_500_000_000));
        assert_eq!(Nanos::from_secs_f64(0.3e-9), Nanos(0));
        assert_eq!(Nanos::from_secs_f64(0.7e-9), Nanos(1));
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::NEG_INFINITY), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::INFINITY), Nanos::MAX);
        assert_eq!(Nanos(1_500_000_000).as_secs_f64(), 1.5);
    }

    #[test]
    #[should_panic(expected = "a duration is never NaN")]
    fn a_duration_that_is_not_a_number_is_a_programmer_error() {
        let _ = Nanos::from_secs_f64(f64::NAN);
    }

    #[test]
    fn sums_and_differences_stop_at_the_limits() {
        assert_eq!(Nanos(2).checked_add(Nanos(3)), Some(Nanos(5)));
        assert_eq!(Nanos::MAX.checked_add(Nanos(1)), None);
        assert_eq!(Nanos(3).checked_sub(Nanos(2)), Some(Nanos(1)));
        assert_eq!(Nanos(2).checked_sub(Nanos(3)), None);
        assert_eq!(Nanos::MAX.saturating_add(Nanos(1)), Nanos::MAX);
        assert_eq!(Nanos(2).saturating_sub(Nanos(3)), Nanos::ZERO);
    }

    #[test]
    fn a_longer_standard_duration_saturates() {
        assert_eq!(Nanos::from(Duration::MAX), Nanos::MAX);
    }

    #[test]
    fn a_plain_number_deserialises() {
        let number: U64Deserializer<Error> = 50u64.into_deserializer();
        assert_eq!(Nanos::deserialize(number), Ok(Nanos(50)));
    }

    proptest! {
        #[test]
        fn exact_reads_back(
            count in any::<u64>(),
            unit in prop::sample::select(vec![1, MICRO, MILLI, SECOND, MINUTE, HOUR, DAY]),
        ) {
            let nanos = Nanos(count / unit * unit);
            prop_assert_eq!(Nanos::parse(&nanos.exact()), Ok(nanos));
        }

        #[test]
        fn display_reads_back_to_four_digits(count in any::<u64>(), shift in 0u32..64) {
            let nanos = u64_to_f64(count >> shift);
            let shown = Nanos(count >> shift).to_string();
            let told = u64_to_f64(read(&shown));
            prop_assert!((told - nanos).abs() <= 0.000_501 * nanos, "{} for {}", shown, nanos);
        }

        #[test]
        fn the_standard_duration_round_trips(nanos in any::<u64>()) {
            prop_assert_eq!(Nanos::from(Duration::from(Nanos(nanos))), Nanos(nanos));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = Nanos::parse(&text);
        }

        #[test]
        fn no_text_that_looks_like_a_duration_makes_it_panic(text in "-?[0-9_.]{0,30} ?[nuµmshdi]{0,3}") {
            match Nanos::parse(&text) {
                Ok(nanos) => prop_assert_eq!(Nanos::parse(&nanos.exact()), Ok(nanos)),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
