use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bytes::{BINARY_NAMES, in_bytes};
use crate::error::{Expected, UnitError};
use crate::lossless::u64_to_f64;
use crate::number::{scaled, split};

/// Operations per second; serialised as a plain number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub f64);

impl Rate {
    /// Reads a rate such as `500`, `10k`, `1.5M` or `0.5`, with or without `/s`.
    ///
    /// `k`, `m` and `g`, in either case, are powers of 1000: a rate counts operations, not bytes.
    pub fn parse(text: &str) -> Result<Rate, UnitError> {
        let what = Expected::Rate;
        let (number, unit) = split(text, what)?;
        let power = match without_per_second(unit) {
            "" => 0,
            "k" | "K" => 3,
            "m" | "M" => 6,
            "g" | "G" => 9,
            _ => return Err(what.unknown_unit(text.trim(), unit)),
        };
        let rate = number.to_f64(power);
        if rate.is_finite() {
            Ok(Rate(rate))
        } else {
            Err(what.out_of_range(text.trim()))
        }
    }
}

/// Three significant digits in powers of 1000: `363 K/s`, `482 /s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, prefix) = count(self.0);
        f.pad(&format!("{number} {prefix}/s"))
    }
}

/// Bytes per second; serialised as a plain number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteRate(pub f64);

impl ByteRate {
    /// Reads a size as [`Bytes::parse`](crate::Bytes::parse) does, with or without `/s`.
    pub fn parse(text: &str) -> Result<ByteRate, UnitError> {
        let (number, unit) = split(text, Expected::ByteRate)?;
        let bytes = in_bytes(
            &number,
            without_per_second(unit),
            text.trim(),
            Expected::ByteRate,
        )?;
        Ok(ByteRate(u64_to_f64(bytes)))
    }
}

/// Three significant digits, or the four of `1000` to `1023`, in powers of 1024: `1.42 GiB/s`.
impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, name) = shown(self.0, 1024, &BINARY_NAMES);
        f.pad(&format!("{number} {name}/s"))
    }
}

fn without_per_second(text: &str) -> &str {
    text.strip_suffix("/s").map_or(text, str::trim_end)
}

/// A count with three significant digits and a prefix that stands for a power of 1000: `5.96K`,
/// `1.26M`, `482`.
pub fn format_count(count_of_things: f64) -> String {
    let (number, prefix) = count(count_of_things);
    format!("{number}{prefix}")
}

fn count(value: f64) -> (String, &'static str) {
    shown(value, 1000, &["", "K", "M", "G", "T", "P", "E"])
}

/// [`scaled`] for any floating point number: whole numbers below the first unit are exact, signs
/// are kept, and what no prefix serves is written in powers of ten.
fn shown<'n>(value: f64, base: u64, names: &[&'n str]) -> (String, &'n str) {
    let plain = names.first().copied().unwrap_or_default();
    let size = value.abs();
    let (number, name) = if size < u64_to_f64(base) && value.fract() == 0.0 {
        (format!("{size:.0}"), plain)
    } else if !value.is_finite() {
        (size.to_string(), plain)
    } else if (1e-3..1e21).contains(&size) {
        scaled(size, base, names)
    } else {
        (format!("{size:.2e}"), plain)
    };
    let sign = if value < 0.0 { "-" } else { "" };
    (format!("{sign}{number}"), name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, F64Deserializer};

    use super::*;
    use crate::error::kind_of;

    #[test]
    fn a_rate_counts_in_powers_of_1000() {
        let table = [
            ("0", 0.0),
            ("0.5", 0.5),
            ("500", 500.0),
            ("10k", 10_000.0),
            ("10K", 10_000.0),
            ("10 k/s", 10_000.0),
            ("500/s", 500.0),
            ("1.1M", 1_100_000.0),
            ("2g", 2e9),
            ("1_000", 1_000.0),
        ];
        for (text, rate) in table {
            assert_eq!(Rate::parse(text), Ok(Rate(rate)), "{text}");
        }
    }

    #[test]
    fn a_decimal_rate_is_the_nearest_floating_point_number() {
        // 1.001 * 1e3 is not 1001 in floating point.
        assert_eq!(Rate::parse("1.001k"), Ok(Rate(1001.0)));
    }

    #[test]
    fn what_is_no_rate_is_refused_by_its_kind() {
        let endless = "9".repeat(400);
        let table: [(&str, &str); 8] = [
            ("", "Empty"),
            ("inf", "Malformed"),
            ("NaN", "Malformed"),
            ("-5", "Negative"),
            ("10Ki", "UnknownUnit"),
            ("10iops", "UnknownUnit"),
            ("10/m", "UnknownUnit"),
            (&endless, "OutOfRange"),
        ];
        for (text, kind) in table {
            let error = Rate::parse(text).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
    }

    #[test]
    fn counts_have_three_significant_digits() {
        let table = [
            (0.0, "0"),
            (482.0, "482"),
            (48.25, "48.2"),
            (0.5, "0.500"),
            (999.0, "999"),
            (999.7, "1.00K"),
            (1_000.0, "1.00K"),
            (5_960.0, "5.96K"),
            (10_000.0, "10.0K"),
            (363_000.0, "363K"),
            (999_499.0, "999K"),
            (999_500.0, "1.00M"),
            (1_260_000.0, "1.26M"),
            (2.5e9, "2.50G"),
            (1e30, "1.00e30"),
            (1e-5, "1.00e-5"),
            (-5_960.0, "-5.96K"),
            (-3.0, "-3"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ];
        for (count, shown) in table {
            assert_eq!(format_count(count), shown, "{count}");
        }
    }

    #[test]
    fn a_rate_is_shown_per_second() {
        assert_eq!(Rate(363_000.0).to_string(), "363 K/s");
        assert_eq!(Rate(482.0).to_string(), "482 /s");
        assert_eq!(format!("{:>9}", Rate(363_000.0)), "  363 K/s");
    }

    #[test]
    fn a_byte_rate_reads_as_a_size_with_or_without_per_second() {
        let table = [
            ("100M", 104_857_600.0),
            ("100MiB/s", 104_857_600.0),
            ("100 MiB /s", 104_857_600.0),
            ("100MB/s", 100_000_000.0),
            ("1.5G", 1_610_612_736.0),
            ("512/s", 512.0),
        ];
        for (text, rate) in table {
            assert_eq!(ByteRate::parse(text), Ok(ByteRate(rate)), "{text}");
        }
    }

    #[test]
    fn a_refused_byte_rate_is_shown_as_it_was_written() {
        let table = [
            (
                "5q/s",
                "`5q/s` ends in `q`, which is no unit of a rate in bytes per second (",
            ),
            (
                "5KB/s",
                "`5KB/s` is used for powers of 1000 and of 1024; write 5kB/s for the first or 5KiB/s for the",
            ),
            (
                "-5k/s",
                "`-5k/s` is negative and a rate in bytes per second cannot be",
            ),
            ("1.1k/s", "`1.1k/s` is not a whole number of bytes"),
            ("16e/s", "`16e/s` is outside the limits"),
        ];
        for (text, start) in table {
            let message = ByteRate::parse(text).unwrap_err().to_string();
            assert!(message.starts_with(start), "{message}");
        }
    }

    #[test]
    fn a_byte_rate_is_shown_in_powers_of_1024_only() {
        let table = [
            (0.0, "0 B/s"),
            (0.5, "0.500 B/s"),
            (1_000.0, "1000 B/s"),
            (1_048_576.0, "1.00 MiB/s"),
            (1_048_000.0, "1023 KiB/s"),
            (1_525_000_000.0, "1.42 GiB/s"),
            (f64::NAN, "NaN B/s"),
        ];
        for (rate, shown) in table {
            assert_eq!(ByteRate(rate).to_string(), shown, "{rate}");
        }
    }

    #[test]
    fn plain_numbers_deserialise() {
        let number = || -> F64Deserializer<Error> { 0.5f64.into_deserializer() };
        assert_eq!(Rate::deserialize(number()), Ok(Rate(0.5)));
        assert_eq!(ByteRate::deserialize(number()), Ok(ByteRate(0.5)));
    }

    proptest! {
        #[test]
        fn display_is_never_empty_and_never_panics(value in any::<f64>()) {
            prop_assert!(!format_count(value).is_empty());
            prop_assert!(Rate(value).to_string().ends_with("/s"));
            prop_assert!(ByteRate(value).to_string().ends_with("B/s"));
        }

        #[test]
        fn a_shown_rate_reads_back_to_three_digits(value in 1e-3f64..9.99e11) {
            let told = Rate::parse(&Rate(value).to_string()).unwrap().0;
            prop_assert!((told - value).abs() <= 0.005_01 * value, "{} for {}", Rate(value), value);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = (Rate::parse(&text), ByteRate::parse(&text));
        }

        #[test]
        fn no_text_that_looks_like_a_rate_makes_it_panic(text in "-?[0-9_.]{0,30} ?[kKmMgGiB]{0,3} ?(/s)?") {
            if let Ok(Rate(rate)) = Rate::parse(&text) {
                prop_assert!(rate.is_finite() && rate >= 0.0);
            }
            if let Ok(ByteRate(rate)) = ByteRate::parse(&text) {
                prop_assert!(rate.is_finite() && rate >= 0.0);
            }
        }
    }
}
