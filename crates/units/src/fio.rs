//! The units of fio job files, which are nobody else's.
//!
//! By default (`kb_base=1024`) fio reads `4k`, `4kb` and `4ki` as 4096 bytes but `4kib` as 4000;
//! with `kb_base=1000` the two exchange their meaning. The manual groups `ki` with `kib`; what was
//! measured counts. Case never matters.
//!
//! What the manual does not define (a fraction, a space before the unit, an unknown unit, a unit
//! after `0x…`) is an error here, since a job must be read as fio reads it or not at all.
//! Arithmetic in parentheses is absent.

use crate::error::{Expected, UnitError};

/// A size in a fio job: absolute, or relative to the file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FioSize {
    /// So many bytes.
    Bytes(u64),
    /// So many hundredths of the whole, 0 to 100.
    Percent(u8),
}

/// The unit of a bare number, which in fio depends on the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FioTimeUnit {
    /// As for `runtime` and `ramp_time`.
    Seconds,
    /// As for `log_avg_msec`.
    Millis,
    /// As for `thinktime` and `latency_target`.
    Micros,
}

/// An inclusive range of sizes, `low` never above `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FioRange {
    /// The smaller end in bytes.
    pub low: u64,
    /// The larger end in bytes.
    pub high: u64,
}

/// Reads one size as fio does under `kb_base`, which is 1024 or 1000; the space around it is
/// ignored.
pub fn size(text: &str, kb_base: u32) -> Result<FioSize, UnitError> {
    size_of(text.trim(), kb_base, Expected::FioSize)
}

fn size_of(text: &str, kb_base: u32, what: Expected) -> Result<FioSize, UnitError> {
    let units = Units::of(kb_base)?;
    let (number, unit) = whole(text, what)?;
    if unit == "%" {
        let percent = u8::try_from(number).ok().filter(|percent| *percent <= 100);
        return percent
            .map(FioSize::Percent)
            .ok_or_else(|| what.out_of_range(text));
    }
    let scale = units
        .scale(unit)
        .ok_or_else(|| what.unknown_unit(text, unit))?;
    number
        .checked_mul(scale)
        .map(FioSize::Bytes)
        .ok_or_else(|| what.out_of_range(text))
}

/// What a kilo is, with and without `ib`.
struct Units {
    plain: u64,
    ib: u64,
}

impl Units {
    fn of(kb_base: u32) -> Result<Units, UnitError> {
        match kb_base {
            1024 => Ok(Units {
                plain: 1024,
                ib: 1000,
            }),
            1000 => Ok(Units {
                plain: 1000,
                ib: 1024,
            }),
            _ => Err(Expected::FioKbBase.out_of_range(&kb_base.to_string())),
        }
    }

    fn scale(&self, unit: &str) -> Option<u64> {
        let unit = unit.to_ascii_lowercase();
        if unit.is_empty() || unit == "b" {
            return Some(1);
        }
        let (index, prefix) = ["k", "m", "g", "t", "p"]
            .into_iter()
            .enumerate()
            .find(|(_, p)| unit.starts_with(p))?;
        let base = match unit.strip_prefix(prefix)? {
            "" | "b" | "i" => self.plain,
            "ib" => self.ib,
            _ => return None,
        };
        Some((0..=index).fold(1, |scale, _| scale * base))
    }
}

/// Reads a time as fio does, in microseconds; a bare number is in `default_unit`, the space around
/// it is ignored.
pub fn time(text: &str, default_unit: FioTimeUnit) -> Result<u64, UnitError> {
    let what = Expected::FioTime;
    let text = text.trim();
    let (number, unit) = whole(text, what)?;
    let micros: u64 = match unit.to_ascii_lowercase().as_str() {
        "" => match default_unit {
            FioTimeUnit::Seconds => 1_000_000,
            FioTimeUnit::Millis => 1_000,
            FioTimeUnit::Micros => 1,
        },
        "d" => 86_400_000_000,
        "h" => 3_600_000_000,
        "m" => 60_000_000,
        "s" | "sec" => 1_000_000,
        "ms" | "msec" => 1_000,
        "us" | "usec" => 1,
        _ => return Err(what.unknown_unit(text, unit)),
    };
    number
        .checked_mul(micros)
        .ok_or_else(|| what.out_of_range(text))
}

/// Reads ranges of sizes as fio does: `1k-64k` or `1k:64k`, several separated by `,` or `/` (reads,
/// writes, trims).
///
/// The ends of a descending range are exchanged, as fio's manual says.
pub fn ranges(text: &str, kb_base: u32) -> Result<Vec<FioRange>, UnitError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(UnitError::Empty {
            what: Expected::FioRange,
        });
    }
    text.split([',', '/'])
        .map(|part| range(part.trim(), text, kb_base))
        .collect()
}

fn range(part: &str, text: &str, kb_base: u32) -> Result<FioRange, UnitError> {
    let malformed = || Expected::FioRange.malformed(text);
    let (low_text, high_text) = part
        .split_once('-')
        .or_else(|| part.split_once(':'))
        .ok_or_else(malformed)?;
    let (low_text, high_text) = (low_text.trim(), high_text.trim());
    let end = |end: &str| match size_of(end, kb_base, Expected::FioRange)? {
        FioSize::Bytes(bytes) => Ok(bytes),
        FioSize::Percent(_) => Err(malformed()),
    };
    if low_text.is_empty() || high_text.is_empty() {
        return Err(malformed());
    }
    let (low, high) = (end(low_text)?, end(high_text)?);
    Ok(FioRange {
        low: low.min(high),
        high: low.max(high),
    })
}

/// The whole number that `text` starts with, decimal or `0x`, and what follows it.
fn whole(text: &str, what: Expected) -> Result<(u64, &str), UnitError> {
    if text.is_empty() {
        return Err(UnitError::Empty { what });
    }
    if text
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err(what.negative(text));
    }
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (radix, body) = match hex {
        Some(body) => (16, body),
        None => (10, text),
    };
    let end = body
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(body.len());
    let (digits, unit) = body.split_at(end);
    if digits.is_empty() || unit.starts_with(|c: char| c == '.' || c.is_whitespace()) {
        return Err(what.malformed(text));
    }
    // `0x10b` would be a number and `0x10k` a number with a unit: no unit is taken after
    // hexadecimal digits.
    if hex.is_some() && !unit.is_empty() {
        return Err(what.unknown_unit(text, unit));
    }
    // Digits alone fail to parse only by being too large.
    let number = u64::from_str_radix(digits, radix)
        .ok()
        .ok_or_else(|| what.out_of_range(text))?;
    Ok((number, unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::kind_of;

    #[test]
    fn a_kilo_is_kb_base_and_a_kib_is_the_other_one() {
        for (kb_base, plain, ib) in [(1024, 1024u64, 1000u64), (1000, 1000, 1024)] {
            for (power, prefix) in (1u32..).zip(["k", "m", "g", "t", "p"]) {
                let upper = prefix.to_uppercase();
                for unit in [
                    prefix.to_owned(),
                    upper.clone(),
                    format!("{prefix}b"),
                    format!("{prefix}B"),
                    format!("{upper}i"),
                ] {
                    assert_eq!(
                        size(&format!("4{unit}"), kb_base),
                        Ok(FioSize::Bytes(4 * plain.pow(power))),
                        "4{unit}"
                    );
                }
                for unit in [format!("{prefix}ib"), format!("{upper}iB")] {
                    assert_eq!(
                        size(&format!("4{unit}"), kb_base),
                        Ok(FioSize::Bytes(4 * ib.pow(power))),
                        "4{unit}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_sizes_that_were_measured_with_fio_come_out_the_same() {
        let table = [
            ("4k", 1024, 4096),
            ("4kB", 1024, 4096),
            ("4Ki", 1024, 4096),
            ("4KiB", 1024, 4000),
            ("4KiB", 1000, 4096),
            ("4k", 1000, 4000),
            ("4Ki", 1000, 4000),
        ];
        for (text, kb_base, bytes) in table {
            assert_eq!(
                size(text, kb_base),
                Ok(FioSize::Bytes(bytes)),
                "{text} at {kb_base}"
            );
        }
    }

    #[test]
    fn bare_numbers_hexadecimal_and_percentages_are_sizes() {
        let table = [
            ("4096", FioSize::Bytes(4096)),
            ("4096b", FioSize::Bytes(4096)),
            ("4096B", FioSize::Bytes(4096)),
            (" 0 ", FioSize::Bytes(0)),
            ("0x1000", FioSize::Bytes(4096)),
            ("0XfF", FioSize::Bytes(255)),
            ("0x10b", FioSize::Bytes(267)),
            ("18446744073709551615", FioSize::Bytes(u64::MAX)),
            ("0%", FioSize::Percent(0)),
            ("50%", FioSize::Percent(50)),
            ("100%", FioSize::Percent(100)),
        ];
        for (text, expected) in table {
            assert_eq!(size(text, 1024), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_for_fio_is_refused_by_its_kind() {
        let table = [
            ("", "Empty"),
            (" ", "Empty"),
            ("k", "Malformed"),
            ("0x", "Malformed"),
            ("1.5g", "Malformed"),
            ("4 k", "Malformed"),
            ("+4k", "Malformed"),
            ("-4k", "Negative"),
            ("4x", "UnknownUnit"),
            ("4kibi", "UnknownUnit"),
            ("1e", "UnknownUnit"),
            ("1_000", "UnknownUnit"),
            ("0x10k", "UnknownUnit"),
            ("101%", "OutOfRange"),
            ("300%", "OutOfRange"),
            ("18446744073709551616", "OutOfRange"),
            ("16384p", "OutOfRange"),
        ];
        for (text, kind) in table {
            let error = size(text, 1024).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
        assert_eq!(
            size("4k", 512).unwrap_err().to_string(),
            "`512` is outside the limits of a kb_base (1000 or 1024); write for example kb_base=1024"
        );
    }

    #[test]
    fn times_have_their_units_and_bare_numbers_the_default() {
        let table = [
            ("2d", 172_800_000_000),
            ("1h", 3_600_000_000),
            ("2m", 120_000_000),
            ("2M", 120_000_000),
            ("30s", 30_000_000),
            ("30sec", 30_000_000),
            ("500ms", 500_000),
            ("500msec", 500_000),
            ("500us", 500),
            ("500USEC", 500),
        ];
        for (text, micros) in table {
            for unit in [
                FioTimeUnit::Seconds,
                FioTimeUnit::Millis,
                FioTimeUnit::Micros,
            ] {
                assert_eq!(time(text, unit), Ok(micros), "{text}");
            }
        }
        assert_eq!(time("30", FioTimeUnit::Seconds), Ok(30_000_000));
        assert_eq!(time("30", FioTimeUnit::Millis), Ok(30_000));
        assert_eq!(time(" 30 ", FioTimeUnit::Micros), Ok(30));
    }

    #[test]
    fn what_is_no_time_for_fio_is_refused_by_its_kind() {
        let table = [
            ("", "Empty"),
            ("s", "Malformed"),
            ("1.5s", "Malformed"),
            ("-1", "Negative"),
            ("10ns", "UnknownUnit"),
            ("10min", "UnknownUnit"),
            ("213503983d", "OutOfRange"),
        ];
        for (text, kind) in table {
            let error = time(text, FioTimeUnit::Seconds).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
    }

    #[test]
    fn ranges_take_both_separators_of_ends_and_of_ranges() {
        let small = FioRange {
            low: 1024,
            high: 4096,
        };
        let large = FioRange {
            low: 8192,
            high: 32_768,
        };
        let table: [(&str, &[FioRange]); 6] = [
            ("1k-4k", &[small]),
            ("1k:4k", &[small]),
            ("4k-1k", &[small]),
            ("1k-4k,8k-32k", &[small, large]),
            ("1k-4k/8k-32k", &[small, large]),
            (" 1k - 4k , 8k:32k ", &[small, large]),
        ];
        for (text, expected) in table {
            assert_eq!(ranges(text, 1024).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(
            ranges("1k-4kib", 1000),
            Ok(vec![FioRange {
                low: 1000,
                high: 4096
            }])
        );
    }

    #[test]
    fn what_is_no_range_for_fio_is_refused_by_its_kind() {
        let table = [
            ("", "Empty"),
            ("4k", "Malformed"),
            ("4k-", "Malformed"),
            ("-4k", "Malformed"),
            ("1k-4k,", "Malformed"),
            ("10%-20%", "Malformed"),
            ("1k-4x", "UnknownUnit"),
        ];
        for (text, kind) in table {
            let error = ranges(text, 1024).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*", kb_base in any::<u32>()) {
            let _ = (size(&text, kb_base), time(&text, FioTimeUnit::Seconds), ranges(&text, kb_base));
        }

        #[test]
        fn no_text_that_looks_like_a_size_makes_it_panic(text in "(0x)?[0-9a-f]{0,22}[kKmMgGtTpPiIbB%:,-]{0,4}[0-9k]{0,3}") {
            let _ = (size(&text, 1024), size(&text, 1000), ranges(&text, 1024), time(&text, FioTimeUnit::Micros));
        }

        #[test]
        fn decimal_and_hexadecimal_agree(n in any::<u64>()) {
            prop_assert_eq!(size(&format!("{n:#x}"), 1024), Ok(FioSize::Bytes(n)));
            prop_assert_eq!(size(&n.to_string(), 1024), Ok(FioSize::Bytes(n)));
        }
    }
}
