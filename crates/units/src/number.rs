use crate::UnitError;
use crate::error::Expected;
use crate::lossless::{to_usize, u64_to_f64};

/// A decimal number as it was written: never converted to binary floating point unless the caller
/// asks for that.
pub(crate) struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
}

/// Splits `read` into a number and whatever follows it, the space around both removed.
pub(crate) fn split(read: &str, what: Expected) -> Result<(Decimal<'_>, &str), UnitError> {
    let text = read.trim();
    if text.is_empty() {
        return Err(UnitError::Empty { what });
    }
    if let Some(rest) = text.strip_prefix('-') {
        let number = rest
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit() || c == '.');
        return Err(if number {
            what.negative(text)
        } else {
            what.malformed(text)
        });
    }
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => digits(after),
        None => ("", rest),
    };
    let point_without_digits = fraction.is_empty() && text[whole.len()..].starts_with('.');
    let stray = rest.starts_with(['.', '_']);
    let well_grouped = [whole, fraction]
        .iter()
        .all(|d| !d.starts_with('_') && !d.ends_with('_'));
    if (whole.is_empty() && fraction.is_empty()) || point_without_digits || stray || !well_grouped {
        return Err(what.malformed(text));
    }
    Ok((Decimal { whole, fraction }, rest.trim_start()))
}

/// The leading digits of `text`, underscores among them, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '_')
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Why a decimal number times a unit is no `u64`.
pub(crate) enum Inexact {
    NotWhole,
    TooLarge,
}

impl Decimal<'_> {
    /// The number times `unit`, exact or refused.
    pub(crate) fn times(&self, unit: u64) -> Result<u64, Inexact> {
        let whole = values(self.whole)
            .try_fold(0u64, |sum, digit| sum.checked_mul(10)?.checked_add(digit))
            .and_then(|whole| whole.checked_mul(unit))
            .ok_or(Inexact::TooLarge)?;
        // From the last digit to the first, tail := (digit * unit + tail) / 10. If fraction * unit
        // is whole, each of these divisions is exact, since the last digit alone decides
        // divisibility by ten; if one leaves a remainder, it is not whole. The tail stays
        // below the unit, so that nothing overflows at any length.
        let mut tail: u128 = 0;
        for digit in values(self.fraction).rev() {
            let scaled = u128::from(digit) * u128::from(unit) + tail;
            if !scaled.is_multiple_of(10) {
                return Err(Inexact::NotWhole);
            }
            tail = scaled / 10;
        }
        let tail = u64::try_from(tail)
            .expect("the fractional part is smaller than the unit, which is a u64");
        whole.checked_add(tail).ok_or(Inexact::TooLarge)
    }

    /// [`Decimal::times`] with the failure told in the words of `what`.
    pub(crate) fn times_exactly(
        &self,
        unit: u64,
        read: &str,
        what: Expected,
    ) -> Result<u64, UnitError> {
        self.times(unit).map_err(|inexact| match inexact {
            Inexact::NotWhole => what.not_whole(read.trim()),
            Inexact::TooLarge => what.out_of_range(read.trim()),
        })
    }

    /// The floating point number nearest to the number times ten to the `power`; infinite if it is
    /// too large for all.
    pub(crate) fn to_f64(&self, power: u32) -> f64 {
        let written = format!("{}.{}e{power}", self.whole, self.fraction).replace('_', "");
        written
            .parse()
            .expect("digits around a point and an exponent are a floating point number")
    }
}

/// The values of the digits of `text`, without the underscores.
fn values(text: &str) -> impl DoubleEndedIterator<Item = u64> + '_ {
    text.bytes()
        .filter(|&b| b != b'_')
        .map(|b| u64::from(b - b'0'))
}

/// `value` with `digits` significant digits; digits before the point are never replaced by zeros.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    format!("{value:.*}", decimals(value, digits))
}

/// How many decimals `value` needs to show `digits` significant digits after rounding.
fn decimals(value: f64, digits: usize) -> usize {
    let rounded = format!("{value:.*e}", digits - 1);
    let exponent: i64 = match rounded.split_once('e') {
        Some((_, exponent)) => exponent
            .parse()
            .expect("the exponent that the standard library wrote"),
        None => 0,
    };
    let wanted = i64::try_from(digits).expect("a handful of digits") - 1 - exponent;
    u64::try_from(wanted).map_or(0, to_usize)
}

/// [`significant`] without zeros at the end of the fraction.
pub(crate) fn significant_trimmed(value: f64, digits: usize) -> String {
    let text = significant(value, digits);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A value at or above zero in the largest of `names` that keeps it at or above 1, each `base`
/// times the one before.
///
/// Three significant digits, four where the whole part has four; a value that would round up to
/// `base` is shown in the next unit.
pub(crate) fn scaled<'n>(value: f64, base: u64, names: &[&'n str]) -> (String, &'n str) {
    let base = u64_to_f64(base);
    let mut value = value;
    let mut names = names.iter().copied().peekable();
    let mut name = names.next().unwrap_or_default();
    while names.peek().is_some() && rounds_to(value) >= base {
        value /= base;
        name = names.next().unwrap_or_default();
    }
    (significant(value, 3), name)
}

fn rounds_to(value: f64) -> f64 {
    significant(value, 3).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn significant_digits_survive_rounding_into_the_next_power() {
        let table = [
            (9.996, 3, "10.0"),
            (9.994, 3, "9.99"),
            (0.099_96, 3, "0.100"),
            (123_456.0, 3, "123456"),
            (0.0, 3, "0.00"),
        ];
        for (value, digits, text) in table {
            assert_eq!(significant(value, digits), text, "{value}");
        }
    }

    proptest! {
        #[test]
        fn a_number_times_a_unit_is_what_integer_arithmetic_says(
            whole in 0u64..1 << 40,
            fraction in 0u64..1_000_000_000_000,
            zeros in 0u32..12,
            unit in prop::sample::select(vec![1, 1000, 1024, 1 << 20, 1 << 30, 60_000_000_000]),
        ) {
            let digits = 10u64.pow(12);
            let fraction = fraction / 10u64.pow(zeros) * 10u64.pow(zeros);
            let text = format!("{whole}.{fraction:012}");
            let scaled = (u128::from(whole) * u128::from(digits) + u128::from(fraction)) * u128::from(unit);
            let (number, rest) = split(&text, Expected::Size).unwrap();
            prop_assert_eq!(rest, "");
            match number.times(unit) {
                Ok(product) => prop_assert_eq!(u128::from(product) * u128::from(digits), scaled),
                Err(Inexact::NotWhole) => prop_assert!(!scaled.is_multiple_of(u128::from(digits))),
                Err(Inexact::TooLarge) => prop_assert!(scaled > u128::from(u64::MAX) * u128::from(digits)),
            }
        }
    }
}
