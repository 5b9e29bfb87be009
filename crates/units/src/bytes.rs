use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Expected, UnitError, excerpt};
use crate::lossless::u64_to_f64;
use crate::number::{Decimal, scaled, split};

/// A number of bytes; serialised as a plain number.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// The prefixes in ascending order: the n-th stands for 1024 to the n or, in its SI form, 1000 to
/// the n.
const PREFIXES: [char; 6] = ['k', 'm', 'g', 't', 'p', 'e'];

/// The names of the powers of 1024 in ascending order.
pub(crate) const BINARY_NAMES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl Bytes {
    /// 1024 bytes.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// 1024 KiB.
    pub const MIB: Bytes = Bytes(1 << 20);

    /// Reads a size such as `4k`, `4KiB`, `1.5G`, `4 kB` or `1_048_576`.
    ///
    /// A bare number is bytes. A prefix `k m g t p e` in any case, alone or with `i`, `ib`, `iB` or
    /// `b`, counts in powers of 1024. The SI forms `kB MB GB TB PB EB`, so spelled, count in
    /// powers of 1000; `KB` and `mB` and their like are refused, since they are written for
    /// both. A fraction must come out at a whole number of bytes.
    pub fn parse(text: &str) -> Result<Bytes, UnitError> {
        let (number, unit) = split(text, Expected::Size)?;
        in_bytes(&number, unit, text.trim(), Expected::Size).map(Bytes)
    }

    /// A text that [`Bytes::parse`] reads back as the same value: a whole number of the largest
    /// prefix that divides it (`4k`), or of bytes (`1536`).
    pub fn exact(self) -> String {
        let largest = largest_whole_unit(self.0);
        match largest.checked_sub(1) {
            Some(prefix) => format!("{}{}", self.0 >> (10 * largest), PREFIXES[prefix]),
            None => self.0.to_string(),
        }
    }
}

/// A whole number of a binary unit in that unit (`4 KiB`), below five digits; else three or four
/// significant digits.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_READABLE: u64 = 9999;
        let largest = largest_whole_unit(self.0);
        let count = self.0 >> (10 * largest);
        if self.0 < Bytes::KIB.0 || (largest > 0 && count <= MOST_READABLE) {
            f.pad(&format!("{count} {}", BINARY_NAMES[largest]))
        } else {
            let (number, name) = scaled(u64_to_f64(self.0), 1024, &BINARY_NAMES);
            f.pad(&format!("{number} {name}"))
        }
    }
}

/// The largest n for which 1024 to the n divides `bytes`; 0 for no bytes.
fn largest_whole_unit(bytes: u64) -> usize {
    if bytes == 0 {
        return 0;
    }
    (1..=PREFIXES.len())
        .rev()
        .find(|n| bytes.is_multiple_of(1 << (10 * n)))
        .unwrap_or(0)
}

/// `number` of `unit` in bytes by the rules of [`Bytes::parse`], with errors in the words of `what`
/// about `text`.
pub(crate) fn in_bytes(
    number: &Decimal<'_>,
    unit: &str,
    text: &str,
    what: Expected,
) -> Result<u64, UnitError> {
    match multiplier(unit) {
        Multiplier::Known(scale) => number.times_exactly(scale, text, what),
        Multiplier::Unknown => Err(what.unknown_unit(text, unit)),
        Multiplier::Either { decimal, binary } => Err(UnitError::Ambiguous {
            read: excerpt(text),
            decimal: excerpt(&text.replacen(unit, &decimal, 1)),
            binary: excerpt(&text.replacen(unit, binary, 1)),
        }),
    }
}

enum Multiplier {
    Known(u64),
    Either {
        decimal: String,
        binary: &'static str,
    },
    Unknown,
}

fn multiplier(unit: &str) -> Multiplier {
    let mut rest = unit.chars();
    let Some(first) = rest.next() else {
        return Multiplier::Known(1);
    };
    let rest = rest.as_str();
    if first.eq_ignore_ascii_case(&'b') && rest.is_empty() {
        return Multiplier::Known(1);
    }
    let Some(index) = PREFIXES.iter().position(|p| first.eq_ignore_ascii_case(p)) else {
        return Multiplier::Unknown;
    };
    let power = index + 1;
    // SI writes kilo in lower case and every larger prefix in upper case.
    let si_prefix = if power == 1 {
        'k'
    } else {
        PREFIXES[index].to_ascii_uppercase()
    };
    match rest {
        "" | "b" => Multiplier::Known(1 << (10 * power)),
        "B" if first == si_prefix => Multiplier::Known((0..power).fold(1, |scale, _| scale * 1000)),
        "B" => Multiplier::Either {
            decimal: format!("{si_prefix}B"),
            binary: BINARY_NAMES[power],
        },
        _ if rest.eq_ignore_ascii_case("i") || rest.eq_ignore_ascii_case("ib") => {
            Multiplier::Known(1 << (10 * power))
        }
        _ => Multiplier::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, U64Deserializer};

    use super::*;
    use crate::error::kind_of;

    fn read(text: &str) -> u64 {
        Bytes::parse(text)
            .unwrap_or_else(|error| panic!("{error}"))
            .0
    }

    #[test]
    fn bare_letters_and_iec_forms_count_in_powers_of_1024() {
        for text in [
            "4k", "4K", "4Ki", "4ki", "4KiB", "4kib", "4KIB", "4kb", "4Kb", "4 KiB", " 4k ",
        ] {
            assert_eq!(read(text), 4096, "{text}");
        }
        for (index, prefix) in PREFIXES.iter().enumerate() {
            let expected = 1u64 << (10 * (index + 1));
            let upper = prefix.to_ascii_uppercase();
            for text in [
                format!("1{prefix}"),
                format!("1{upper}"),
                format!("1{upper}iB"),
                format!("1{prefix}b"),
            ] {
                assert_eq!(read(&text), expected, "{text}");
            }
        }
    }

    #[test]
    fn si_forms_with_a_capital_b_count_in_powers_of_1000() {
        let forms = ["kB", "MB", "GB", "TB", "PB", "EB"];
        let mut expected = 1;
        for form in forms {
            expected *= 1000;
            assert_eq!(read(&format!("1{form}")), expected, "{form}");
        }
        assert_eq!(read("4kB"), 4_000);
        assert_eq!(read("1.5 MB"), 1_500_000);
    }

    #[test]
    fn a_spelling_that_the_field_uses_for_both_is_refused_with_both_choices() {
        let error = Bytes::parse("4KB").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`4KB` is used for powers of 1000 and of 1024; write 4kB for the first or 4KiB for the second"
        );
        for text in ["1mB", "1gB", "1tB", "1pB", "1eB"] {
            let error = Bytes::parse(text).unwrap_err();
            let UnitError::Ambiguous {
                decimal, binary, ..
            } = error
            else {
                panic!("{error}")
            };
            assert_eq!(read(&decimal).to_string().trim_end_matches('0'), "1");
            assert!(read(&binary).is_power_of_two());
        }
    }

    #[test]
    fn bare_numbers_are_bytes_and_underscores_group_digits() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("512 b", 512),
            ("1_048_576", 1 << 20),
            ("007", 7),
        ] {
            assert_eq!(read(text), bytes, "{text}");
        }
        assert_eq!(read("18446744073709551615"), u64::MAX);
    }

    #[test]
    fn fractions_are_exact_or_refused() {
        assert_eq!(read("1.5G"), 3 << 29);
        assert_eq!(read(".5k"), 512);
        assert_eq!(read("0.000_000_000_931_322_574_615_478_515_625g"), 1);
        assert_eq!(
            read("1.50000000000000000000000000000000000000000000000000k"),
            1536
        );
        for text in ["1.1k", "0.5", "1.0000000000000000000000000000000000000001G"] {
            let error = Bytes::parse(text).unwrap_err();
            assert!(
                matches!(error, UnitError::NotWhole { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn what_is_no_size_is_refused_by_its_kind() {
        let table: [(&str, &str); 20] = [
            ("", "Empty"),
            (" ", "Empty"),
            ("k", "Malformed"),
            ("4.", "Malformed"),
            (".", "Malformed"),
            ("1.2.3", "Malformed"),
            ("_1", "Malformed"),
            ("1_k", "Malformed"),
            ("1._5k", "Malformed"),
            ("+4k", "Malformed"),
            ("-", "Malformed"),
            ("-4k", "Negative"),
            ("4x", "UnknownUnit"),
            ("4kibi", "UnknownUnit"),
            ("1e3", "UnknownUnit"),
            ("0x10", "UnknownUnit"),
            ("50%", "UnknownUnit"),
            ("4 k b", "UnknownUnit"),
            ("16e", "OutOfRange"),
            ("18446744073709551616", "OutOfRange"),
        ];
        for (text, kind) in table {
            let error = Bytes::parse(text).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
        assert_eq!(
            Bytes::parse("4x").unwrap_err().to_string(),
            "`4x` ends in `x`, which is no unit of a size (k m g t p e or KiB MiB … for powers of 1024, kB MB GB … for \
             powers of 1000); write for example 4k, 4KiB or 1.5G"
        );
    }

    #[test]
    fn display_is_exact_for_short_multiples_and_has_three_or_four_digits_else() {
        let table = [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1025, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (4000, "3.91 KiB"),
            (4096, "4 KiB"),
            (1 << 30, "1 GiB"),
            (3 << 29, "1536 MiB"),
            (9_999 << 10, "9999 KiB"),
            (10_001 << 10, "9.77 MiB"),
            (1_535_000_000, "1.43 GiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            ((1023 << 10) + 1, "1023 KiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, shown) in table {
            assert_eq!(Bytes(bytes).to_string(), shown, "{bytes}");
        }
        assert_eq!(format!("{:>8}", Bytes::KIB), "   1 KiB");
    }

    #[test]
    fn exact_prefers_the_largest_unit_that_divides() {
        let table = [
            (0, "0"),
            (1, "1"),
            (1536, "1536"),
            (4096, "4k"),
            (3 << 29, "1536m"),
            (1 << 60, "1e"),
        ];
        for (bytes, text) in table {
            assert_eq!(Bytes(bytes).exact(), text);
        }
    }

    #[test]
    fn the_constants_are_what_they_are_called() {
        assert_eq!(Bytes::KIB.to_string(), "1 KiB");
        assert_eq!(Bytes::MIB.to_string(), "1 MiB");
    }

    #[test]
    fn a_plain_number_deserialises() {
        let number: U64Deserializer<Error> = 4096u64.into_deserializer();
        assert_eq!(Bytes::deserialize(number), Ok(Bytes(4096)));
    }

    proptest! {
        #[test]
        fn exact_reads_back(count in any::<u64>(), shift in 0u32..64) {
            let bytes = Bytes(count << shift);
            prop_assert_eq!(Bytes::parse(&bytes.exact()), Ok(bytes));
        }

        #[test]
        fn display_is_near_the_truth(count in any::<u64>(), shift in 0u32..64) {
            let bytes = Bytes(count >> shift);
            let shown = bytes.to_string();
            let (number, unit) = shown.split_once(' ').unwrap();
            let power = BINARY_NAMES.iter().position(|name| *name == unit).unwrap();
            let scale = u64_to_f64(1 << (10 * power));
            let told = number.parse::<f64>().unwrap() * scale;
            prop_assert!((told - u64_to_f64(bytes.0)).abs() <= 0.005 * told, "{} for {}", shown, bytes.0);
        }

        #[test]
        fn a_quarter_of_any_prefix_is_exact(quarters in 0u64..1 << 20, prefix in 0usize..4) {
            let text = format!("{}.{:02}{}", quarters / 4, quarters % 4 * 25, PREFIXES[prefix]);
            prop_assert_eq!(Bytes::parse(&text), Ok(Bytes(quarters << (10 * (prefix + 1) - 2))));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = Bytes::parse(&text);
        }

        #[test]
        fn no_text_that_looks_like_a_size_makes_it_panic(text in "[-+ ]?[0-9_.]{0,40} ?[kKmMgGtTpPeEiIbBµ/%]{0,4}") {
            match Bytes::parse(&text) {
                Ok(bytes) => prop_assert_eq!(Bytes::parse(&bytes.exact()), Ok(bytes)),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
