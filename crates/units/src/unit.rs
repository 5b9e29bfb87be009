//! What a number counts, which decides how it is read and how it is written.

use crate::lossless::{f64_to_u64_saturating, u64_to_f64};
use crate::{ByteRate, Bytes, Nanos, Percent, Rate, format_count};

/// The unit of a number that is kept as a plain floating point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueUnit {
    /// Operations a second.
    PerSecond,
    BytesPerSecond,
    /// Nanoseconds.
    Time,
    Bytes,
    /// A share in percent, 0 to 100.
    Percent,
    /// A ratio minus one, with its sign.
    Change,
    /// A number of things.
    Whole,
    /// One number over another of the same unit.
    Ratio,
}

impl ValueUnit {
    /// The value for people.
    #[must_use]
    pub fn text(self, value: f64) -> String {
        match self {
            Self::PerSecond => Rate(value).to_string(),
            Self::BytesPerSecond => ByteRate(value).to_string(),
            Self::Time if value < 100.0 => {
                let tenths = format!("{value:.1}");
                format!("{} ns", tenths.strip_suffix(".0").unwrap_or(&tenths))
            }
            Self::Time => Nanos(f64_to_u64_saturating(value.round())).to_string(),
            Self::Bytes => Bytes(f64_to_u64_saturating(value.round())).to_string(),
            Self::Percent => share(value),
            // 1264 % more is hard to see as 13.6 times as much.
            Self::Change if value > 2.0 => format!("{} times", factor(1.0 + value)),
            Self::Change => format!("{:+.1} %", 100.0 * value).replace("-0.0 %", "+0.0 %"),
            Self::Whole | Self::Ratio => format_count(value),
        }
    }

    /// The value for people where its name says already that it is of a second, as IOPS does.
    #[must_use]
    pub fn number(self, value: f64) -> String {
        if self == Self::PerSecond {
            format_count(value)
        } else {
            self.text(value)
        }
    }

    /// The name of the unit for machines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "1/s",
            Self::BytesPerSecond => "bytes/s",
            Self::Time => "ns",
            Self::Bytes => "bytes",
            Self::Percent => "percent",
            Self::Change | Self::Whole | Self::Ratio => "1",
        }
    }

    /// Reads a value that a person wrote.
    ///
    /// # Errors
    /// What is wrong with the text, as a sentence.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let whole = |text: &str| -> Result<f64, String> {
            let number: Result<u64, _> = text.parse();
            number
                .map(u64_to_f64)
                .map_err(|_not_a_number| format!("{text:?} is no whole number"))
        };
        match self {
            Self::Time if text.chars().all(|c| c.is_ascii_digit() || c == '.') => {
                Err(format!("{text:?} has no unit; write 50ms or 0.05s"))
            }
            Self::Time => Nanos::parse(text)
                .map(|time| u64_to_f64(time.0))
                .map_err(|error| error.to_string()),
            Self::Percent | Self::Change => Percent::parse(text)
                .map(|percent| percent.0)
                .map_err(|error| error.to_string()),
            Self::Bytes => Bytes::parse(text)
                .map(|bytes| u64_to_f64(bytes.0))
                .map_err(|error| error.to_string()),
            Self::PerSecond => Rate::parse(text)
                .map(|rate| rate.0)
                .map_err(|error| error.to_string()),
            Self::BytesPerSecond => ByteRate::parse(text)
                .map(|rate| rate.0)
                .map_err(|error| error.to_string()),
            Self::Whole => whole(text),
            Self::Ratio => text
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .ok_or_else(|| format!("{text:?} is no number")),
        }
    }
}

/// How many times something is there: `13.6`, `0.90`.
#[must_use]
pub fn factor(ratio: f64) -> String {
    match ratio {
        small if small < 10.0 => format!("{small:.2}"),
        middle if middle < 100.0 => format!("{middle:.1}"),
        great => format!("{great:.0}"),
    }
}

/// A percentage; only nothing is 0 % and only everything is 100 %.
fn share(percent: f64) -> String {
    match (percent * 100.0).round() / 100.0 {
        0.0 if percent > 0.0 => "under 0.01%".to_owned(),
        100.0 if percent < 100.0 => "over 99.99%".to_owned(),
        rounded => Percent(rounded).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_with_its_unit() {
        for (unit, value, text) in [
            (ValueUnit::PerSecond, 363_000.0, "363 K/s"),
            (ValueUnit::BytesPerSecond, 1_048_576.0, "1.00 MiB/s"),
            (ValueUnit::Time, 57.31, "57.3 ns"),
            (ValueUnit::Time, 90.0, "90 ns"),
            (ValueUnit::Time, 110_000.4, "110 µs"),
            (ValueUnit::Bytes, 4096.0, "4 KiB"),
            (ValueUnit::Percent, 99.999, "over 99.99%"),
            (ValueUnit::Percent, 0.001, "under 0.01%"),
            (ValueUnit::Change, 0.083, "+8.3 %"),
            (ValueUnit::Change, 12.64, "13.6 times"),
            (ValueUnit::Whole, 3014.0, "3.01K"),
            (ValueUnit::Ratio, 1.5, "1.50"),
        ] {
            assert_eq!(unit.text(value), text);
        }
        assert_eq!(ValueUnit::PerSecond.number(363_000.0), "363K");
        assert_eq!(ValueUnit::Time.number(90.0), "90 ns");
    }

    #[test]
    fn a_value_is_read_in_its_unit_alone() {
        for (unit, text, value) in [
            (ValueUnit::PerSecond, "10k/s", Ok(10_000.0)),
            (ValueUnit::Time, "50ms", Ok(50_000_000.0)),
            (
                ValueUnit::Time,
                "50",
                Err("\"50\" has no unit; write 50ms or 0.05s".to_owned()),
            ),
            (ValueUnit::Bytes, " 4KiB", Ok(4096.0)),
            (ValueUnit::Percent, "1%", Ok(1.0)),
            (ValueUnit::Whole, "7", Ok(7.0)),
            (
                ValueUnit::Whole,
                "7%",
                Err("\"7%\" is no whole number".to_owned()),
            ),
            (ValueUnit::Ratio, "1.5", Ok(1.5)),
        ] {
            assert_eq!(unit.parse(text), value, "{text}");
        }
    }
}
