//! Reading of one option's value.

use crate::SpecError;
use units::fio::{FioSize, FioTimeUnit, size, time};

/// The text of a value, and what a kilo is in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    /// Empty where an option stood alone.
    pub(super) text: &'a str,
    pub(super) kb_base: u32,
}

/// A value for reads and one for writes; `None` where the list left one out.
pub(super) type PerDirection<T> = [Option<T>; 2];

impl<'a> Value<'a> {
    pub(super) fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, SpecError> {
        Err(SpecError::Foreign(reason.into()))
    }

    /// Any text that is not empty.
    pub(super) fn word(&self) -> Result<&'a str, SpecError> {
        if self.text.is_empty() {
            self.refuse("needs a value")
        } else {
            Ok(self.text)
        }
    }

    /// A whole number, with fio's units, from `low` to `high`.
    pub(super) fn number(&self, low: u64, high: u64) -> Result<u64, SpecError> {
        match size(self.text, self.kb_base)? {
            FioSize::Bytes(n) if (low..=high).contains(&n) => Ok(n),
            FioSize::Bytes(_) | FioSize::Percent(_) => {
                self.refuse(format!("is not a whole number from {low} to {high}"))
            }
        }
    }

    pub(super) fn count(&self) -> Result<u32, SpecError> {
        let number = self.number(0, u64::from(u32::MAX))?;
        Ok(u32::try_from(number).expect("the range was asked for"))
    }

    /// 0 to 100.
    pub(super) fn percent(&self) -> Result<f64, SpecError> {
        let number = self.number(0, 100)?;
        Ok(units::lossless::u64_to_f64(number))
    }

    /// On or off: 1 or 0, or nothing for an option that can stand alone.
    pub(super) fn switch(&self) -> Result<bool, SpecError> {
        match self.text {
            "" | "1" => Ok(true),
            "0" => Ok(false),
            _ => self.refuse("is neither 0 nor 1"),
        }
    }

    pub(super) fn size(&self) -> Result<FioSize, SpecError> {
        Ok(size(self.text, self.kb_base)?)
    }

    /// A size that is no percentage.
    pub(super) fn bytes(&self) -> Result<u64, SpecError> {
        match self.size()? {
            FioSize::Bytes(bytes) => Ok(bytes),
            FioSize::Percent(_) => self.refuse(
                "is a share of a size that is known only when the target is opened; write bytes",
            ),
        }
    }

    /// Nanoseconds; a bare number is in `unit`.
    pub(super) fn nanos(&self, unit: FioTimeUnit) -> Result<u64, SpecError> {
        let micros = time(self.text, unit)?;
        micros
            .checked_mul(1000)
            .map_or_else(|| self.refuse("is longer than 584 years"), Ok)
    }

    /// A number such as 1.2.
    pub(super) fn real(&self) -> Result<f64, SpecError> {
        match self.text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) | Err(_) => self.refuse(format!("{:?} is not a number", self.text)),
        }
    }

    /// The meaning of one of a few words.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, SpecError> {
        match words.iter().find(|(word, _)| *word == self.text) {
            Some((_, meaning)) => Ok(*meaning),
            None => self.refuse(format!(
                "is not one of {}",
                words
                    .iter()
                    .map(|(word, _)| *word)
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        }
    }

    /// `reads,writes,trims`: one value is for all, and what is left out at the end goes by the one
    /// before it.
    ///
    /// `4k,` and `,4k` leave a direction to its default.
    pub(super) fn directions<T: Clone>(
        &self,
        read: impl Fn(Value<'a>) -> Result<T, SpecError>,
    ) -> Result<PerDirection<T>, SpecError> {
        let mut parts = self.text.split(',').map(|text| {
            Value {
                text: text.trim(),
                ..*self
            }
            .or_absent(&read)
        });
        let reads = parts.next().transpose()?.flatten();
        let writes = parts.next().transpose()?.unwrap_or_else(|| reads.clone());
        // Trims are never asked for; their value must be readable all the same.
        parts.next().transpose()?;
        if parts.next().is_some() {
            return self.refuse("has more than three parts: reads, writes, trims");
        }
        Ok([reads, writes])
    }

    fn or_absent<T>(
        self,
        read: impl Fn(Value<'a>) -> Result<T, SpecError>,
    ) -> Result<Option<T>, SpecError> {
        if self.text.is_empty() {
            Ok(None)
        } else {
            read(self).map(Some)
        }
    }

    /// A list separated by `:`, in which `\:` is a colon.
    pub(super) fn paths(&self) -> Result<Vec<String>, SpecError> {
        let mut paths = vec![String::new()];
        let mut rest = self.word()?.chars().peekable();
        while let Some(c) = rest.next() {
            let last = paths.last_mut().expect("it starts with one");
            match c {
                '\\' if rest.peek() == Some(&':') => last.extend(rest.next()),
                ':' => paths.push(String::new()),
                other => last.push(other),
            }
        }
        paths.retain(|path| !path.is_empty());
        if paths.is_empty() {
            self.refuse("names nothing")
        } else {
            Ok(paths)
        }
    }

    /// `0x00` and `0` to 0, `0xff`, `0xffff` and so on to 0xff; a byte that Fathom can fill whole
    /// blocks with.
    pub(super) fn pattern_byte(&self) -> Option<u8> {
        let digits = self.text.strip_prefix("0x").unwrap_or(self.text);
        let all = |wanted: char| {
            !digits.is_empty() && digits.chars().all(|c| c.eq_ignore_ascii_case(&wanted))
        };
        let hexadecimal = digits.len() != self.text.len();
        match (
            all('0'),
            all('f') && hexadecimal && digits.len().is_multiple_of(2),
        ) {
            (true, _) => Some(0),
            (_, true) => Some(0xff),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value<'_> {
        Value {
            text,
            kb_base: 1024,
        }
    }

    fn text<T: std::fmt::Debug>(result: Result<T, SpecError>) -> String {
        result.map_or_else(|e| e.to_string(), |v| format!("{v:?}"))
    }

    #[test]
    fn lists_of_directions_follow_the_manual() {
        for (list, expected) in [
            ("4k", "[Some(4096), Some(4096)]"),
            ("4k,8k", "[Some(4096), Some(8192)]"),
            ("4k,8k,16k", "[Some(4096), Some(8192)]"),
            ("4k,", "[Some(4096), None]"),
            (",8k", "[None, Some(8192)]"),
            ("4k,,16k", "[Some(4096), None]"),
            (
                "4k,8k,16k,32k",
                "has more than three parts: reads, writes, trims",
            ),
            (
                "4k,8x",
                "`8x` ends in `x`, which is no unit of a size as fio writes it (k kb ki kib and the same for m g t p, or %); write for example 4k, 0x1000 or 50%",
            ),
        ] {
            assert_eq!(
                text(value(list).directions(|v| v.bytes())),
                expected,
                "{list}"
            );
        }
    }

    #[test]
    fn paths_are_separated_by_colons_that_are_not_escaped() {
        for (list, expected) in [
            ("/a", "[\"/a\"]"),
            ("/a:/b", "[\"/a\", \"/b\"]"),
            ("/a\\:1:/b\\x", "[\"/a:1\", \"/b\\\\x\"]"),
            (":", "names nothing"),
            ("", "needs a value"),
        ] {
            assert_eq!(text(value(list).paths()), expected, "{list}");
        }
    }

    #[test]
    fn patterns_of_one_byte_are_recognised() {
        for (pattern, byte) in [
            ("0", Some(0)),
            ("0x00", Some(0)),
            ("0xff", Some(0xff)),
            ("0xFFFF", Some(0xff)),
            ("0xfff", None),
        ] {
            assert_eq!(value(pattern).pattern_byte(), byte, "{pattern}");
        }
        for pattern in ["", "0x", "ff", "0xdeadface", "\"0\""] {
            assert_eq!(value(pattern).pattern_byte(), None, "{pattern}");
        }
    }

    #[test]
    fn numbers_take_units_and_keep_their_limits() {
        assert_eq!(text(value("2k").number(1, 4096)), "2048");
        assert_eq!(text(value("0x10").number(1, 4096)), "16");
        assert_eq!(
            text(value("0").number(1, 4096)),
            "is not a whole number from 1 to 4096"
        );
        assert_eq!(
            text(value("5%").number(1, 4096)),
            "is not a whole number from 1 to 4096"
        );
        assert_eq!(text(value("true").switch()), "is neither 0 nor 1");
        assert_eq!(
            text(value("2m").nanos(FioTimeUnit::Seconds)),
            "120000000000"
        );
        assert_eq!(text(value("inf").real()), "\"inf\" is not a number");
    }
}
