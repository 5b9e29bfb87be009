//! Numbers that a command states, in what it prints or writes.

use lab::{StatedValue, ValueSource};
use regex::Regex;
use std::path::Path;

/// The longest output that is read.
pub(crate) const MOST_BYTES: u64 = 64 << 20;

/// What a command left.
pub(crate) struct Printed<'a> {
    pub(crate) output: &'a Path,
    pub(crate) errors: &'a Path,
    /// Where relative names of files begin.
    pub(crate) dir: &'a Path,
}

impl Printed<'_> {
    /// The numbers of one `read`, by their names.
    ///
    /// # Errors
    /// There is none, or more than one thing could be meant, in words.
    pub(crate) fn values(&self, value: &StatedValue) -> Result<Vec<(String, f64)>, String> {
        let named = value.file.as_ref().map(|file| self.dir.join(file));
        let printed = if value.is_standard_error {
            self.errors
        } else {
            self.output
        };
        let path = named.as_deref().unwrap_or(printed);
        let bytes = sys::read_at_most(path, MOST_BYTES)
            .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let text = || String::from_utf8_lossy(&bytes);
        let found = match &value.source {
            ValueSource::Regex(pattern) => last_match(pattern, &text())?,
            ValueSource::Pointer(pointer) => at_pointer(pointer, &bytes)?,
            ValueSource::Import(format) => return imported(format, &bytes, path),
        };
        match found {
            Found::Number(number) => Ok(vec![(value.name.clone(), number)]),
            Found::Text(text) => Err(format!(
                "it states no {}: {} is {text:?}, which is no number{}",
                value.name,
                place(&value.source),
                if is_too_large(&text) {
                    " that can be held: it is too large"
                } else {
                    ""
                }
            )),
            Found::Nothing => Err(format!(
                "it states no {}: {}",
                value.name,
                why(&value.source)
            )),
        }
    }
}

/// What stands where a number should be.
#[derive(Debug, PartialEq)]
enum Found {
    /// A finite one.
    Number(f64),
    /// The beginning of what is there instead.
    Text(String),
    Nothing,
}

impl Found {
    /// A text of people, who write commas between thousands, and elsewhere for the point: what may
    /// be either is no number.
    fn of(text: &str) -> Self {
        const SHOWN: usize = 40;
        let trimmed = text.trim();
        let plain = without_thousands(trimmed).unwrap_or_else(|| trimmed.to_owned());
        match plain.parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Number(number),
            Ok(_) | Err(_) => Self::Text(text.chars().take(SHOWN).collect()),
        }
    }
}

/// Whether a text is digits of a number that is more than a float can be, in place of a word for
/// infinity.
fn is_too_large(text: &str) -> bool {
    let number = text.trim().parse::<f64>();
    number.is_ok_and(f64::is_infinite) && text.contains(|letter: char| letter.is_ascii_digit())
}

/// A number whose digits before the point stand in groups of three; `None` where they do not.
fn without_thousands(text: &str) -> Option<String> {
    let end = text.find('.').unwrap_or(text.len());
    let mut groups = text[..end].trim_start_matches(['+', '-']).split(',');
    let first = groups.next()?;
    let is_group =
        |group: &str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=3).contains(&first.len()) && first != "0" && groups.all(is_group);
    fits.then(|| text[..end].replace(',', "") + &text[end..])
}

fn place(source: &ValueSource) -> String {
    match source {
        ValueSource::Regex(pattern) => format!("what {pattern} matches last"),
        ValueSource::Pointer(pointer) => format!("what is at {pointer}"),
        ValueSource::Import(format) => format!("what {format} has"),
    }
}

fn why(source: &ValueSource) -> String {
    match source {
        ValueSource::Regex(pattern) => format!("nothing matches {pattern}"),
        ValueSource::Pointer(pointer) => format!("there is nothing at {pointer}"),
        ValueSource::Import(format) => format!("{format} has none"),
    }
}

/// A pattern with the one group that a value is in.
///
/// # Errors
/// It is no regular expression, or has not one group.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    let pattern = Regex::new(text).map_err(|e| format!("regex: {e}"))?;
    match pattern.captures_len() {
        2 => Ok(pattern),
        groups => Err(format!(
            "regex {text:?} has {} groups; the number is in one",
            groups - 1
        )),
    }
}

/// A pattern of a whole line.
///
/// # Errors
/// It is no regular expression.
pub(crate) fn line_pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|e| format!("line: {e}"))
}

fn last_match(text: &str, printed: &str) -> Result<Found, String> {
    let pattern = pattern(text)?;
    let last = pattern.captures_iter(printed).last();
    let group = last.and_then(|found| found.get(1));
    Ok(group.map_or(Found::Nothing, |group| Found::of(group.as_str())))
}

fn at_pointer(pointer: &str, bytes: &[u8]) -> Result<Found, String> {
    // Tools that print a line before their JSON are common; the last document counts.
    let whole = serde_json::from_slice(bytes);
    let value: serde_json::Value = match whole {
        Ok(value) => value,
        Err(error) => {
            let lines = bytes.split(|byte| *byte == b'\n').rev();
            let mut documents = lines.filter_map(|line| serde_json::from_slice(line).ok());
            documents
                .next()
                .ok_or_else(|| format!("it is no JSON: {error}"))?
        }
    };
    Ok(match value.pointer(pointer) {
        None => Found::Nothing,
        Some(found) => match (found.as_f64(), found.as_str()) {
            (Some(number), _) => Found::Number(number),
            (None, Some(text)) => Found::of(text),
            (None, None) => Found::of(&found.to_string()),
        },
    })
}

/// Figures of another tool's result: those that it names, and rates and times of its one kind of
/// operation.
fn imported(format: &str, bytes: &[u8], path: &Path) -> Result<Vec<(String, f64)>, String> {
    let format: import::Format = format.parse().map_err(|e| format!("import: {e}"))?;
    let records = import::import_as(format, bytes, &path.display().to_string());
    let records = records.map_err(|e| e.to_string())?;
    let [record] = &records[..] else {
        return Err(format!(
            "{} holds {} results; a slot is one",
            path.display(),
            records.len()
        ));
    };
    let figures = record
        .summaries
        .values()
        .flat_map(|summary| &summary.figures);
    let mut out: Vec<(String, f64)> = figures
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    for name in ["iops", "throughput", "mean", "p50", "p99"] {
        if let Some(value) = record::Quantity::named(name).of(record).known() {
            out.push((name.to_owned(), value));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(source: ValueSource) -> StatedValue {
        StatedValue {
            name: "speed".into(),
            unit: None,
            source,
            file: None,
            is_standard_error: false,
        }
    }

    fn of(source: ValueSource, printed: &str) -> Result<f64, String> {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("output");
        std::fs::write(&output, printed).unwrap();
        let files = Printed {
            output: &output,
            errors: &output,
            dir: dir.path(),
        };
        files.values(&value(source)).map(|values| values[0].1)
    }

    #[test]
    fn the_last_match_counts_and_none_is_a_failure() {
        let regex = || ValueSource::Regex(r"(?m)^\S+ +([0-9.]+)k$".into());
        assert_eq!(of(regex(), "a 1.5k\nb  2,5k\nAES 300.25k\n"), Ok(300.25));
        assert!(
            of(regex(), "nothing\n")
                .unwrap_err()
                .contains("states no speed")
        );
        let word = ValueSource::Regex("is (.*)".into());
        assert_eq!(
            of(word, "it is fast\n").unwrap_err(),
            "it states no speed: what is (.*) matches last is \"fast\", which is no number"
        );
        for (stated, told) in [
            (
                "1e400",
                "which is no number that can be held: it is too large",
            ),
            ("inf", "which is no number"),
            ("NaN", "which is no number"),
        ] {
            let word = ValueSource::Regex("is (.*)".into());
            assert_eq!(
                of(word, &format!("it is {stated}\n")).unwrap_err(),
                format!("it states no speed: what is (.*) matches last is \"{stated}\", {told}")
            );
        }
        let two = ValueSource::Regex("(a)(b)".into());
        assert!(of(two, "ab").unwrap_err().contains("has 2 groups"));
    }

    #[test]
    fn commas_stand_between_thousands_and_not_for_the_point() {
        let said = |text: &str| {
            of(
                ValueSource::Regex("speed (.*)".into()),
                &format!("speed {text}"),
            )
        };
        for (text, number) in [
            ("1,234", 1234.0),
            ("-12,345,678.25", -12_345_678.25),
            ("1e3", 1000.0),
            ("0.5", 0.5),
        ] {
            assert_eq!(said(text), Ok(number), "{text}");
        }
        for text in [
            "1,5", "12,25", "1234,567", "0,123", "1,23,456", "1.5,000", ",123",
        ] {
            let told = said(text).unwrap_err();
            assert!(told.contains("which is no number"), "{text}: {told}");
        }
    }

    #[test]
    fn a_number_in_json_is_found_by_its_pointer() {
        let pointer = |text: &str| ValueSource::Pointer(text.into());
        let json = r#"{"a": [{"b": 7.5}, {"b": "8"}]}"#;
        assert_eq!(of(pointer("/a/0/b"), json), Ok(7.5));
        assert_eq!(of(pointer("/a/1/b"), json), Ok(8.0));
        assert_eq!(of(pointer("/a/1/b"), &format!("begin\n{json}\n")), Ok(8.0));
        assert!(
            of(pointer("/c"), json)
                .unwrap_err()
                .contains("nothing at /c")
        );
        assert!(
            of(pointer("/a"), json)
                .unwrap_err()
                .contains("what is at /a is \"[{")
        );
        assert!(
            of(pointer("/c"), "no json")
                .unwrap_err()
                .contains("is no JSON")
        );
    }
}
