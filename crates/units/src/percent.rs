use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Expected, UnitError};
use crate::number::split;

/// A share in percent, 0 to 100 when parsed; serialised as a plain number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Percent(pub f64);

impl Percent {
    /// Reads a percentage from 0 to 100, such as `70`, `70%` or `12.5 %`.
    pub fn parse(text: &str) -> Result<Percent, UnitError> {
        let what = Expected::Percent;
        let (number, unit) = split(text, what)?;
        if !matches!(unit, "" | "%") {
            return Err(what.unknown_unit(text.trim(), unit));
        }
        let percent = number.to_f64(0);
        if percent <= 100.0 {
            Ok(Percent(percent))
        } else {
            Err(what.out_of_range(text.trim()))
        }
    }
}

/// The shortest text that parses back to the same value: `70%`, `12.5%`; 99.999 is never shown as
/// 100.
impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", self.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, F64Deserializer};

    use super::*;
    use crate::error::kind_of;

    #[test]
    fn the_sign_is_optional_and_both_ends_belong() {
        let table = [
            ("70", 70.0),
            ("70%", 70.0),
            (" 12.5 % ", 12.5),
            ("0", 0.0),
            ("100%", 100.0),
            ("0.1", 0.1),
        ];
        for (text, percent) in table {
            assert_eq!(Percent::parse(text), Ok(Percent(percent)), "{text}");
        }
    }

    #[test]
    fn what_is_no_percentage_is_refused_by_its_kind() {
        let table: [(&str, &str); 7] = [
            ("", "Empty"),
            ("%", "Malformed"),
            ("NaN", "Malformed"),
            ("-1", "Negative"),
            ("70%%", "UnknownUnit"),
            ("100.1", "OutOfRange"),
            ("70k", "UnknownUnit"),
        ];
        for (text, kind) in table {
            let error = Percent::parse(text).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{text}");
        }
        assert_eq!(
            Percent::parse("101%").unwrap_err().to_string(),
            "`101%` is outside the limits of a percentage (0 to 100); write for example 70 or 70%"
        );
    }

    #[test]
    fn almost_all_is_not_shown_as_all() {
        assert_eq!(Percent(99.999).to_string(), "99.999%");
        assert_eq!(Percent(70.0).to_string(), "70%");
        assert_eq!(Percent(12.5).to_string(), "12.5%");
    }

    #[test]
    fn a_plain_number_deserialises() {
        let number: F64Deserializer<Error> = 70f64.into_deserializer();
        assert_eq!(Percent::deserialize(number), Ok(Percent(70.0)));
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(percent in 0f64..=100.0) {
            prop_assert_eq!(Percent::parse(&Percent(percent).to_string()), Ok(Percent(percent)));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = Percent::parse(&text);
        }

        #[test]
        fn what_is_read_lies_between_0_and_100(text in "[0-9.]{0,6}%?") {
            if let Ok(Percent(percent)) = Percent::parse(&text) {
                prop_assert!((0.0..=100.0).contains(&percent));
            }
        }
    }
}
