//! Foreign bytes as text, and the JSON documents in a text.

use crate::error::{Fault, ImportError, Location, too_long};
use serde_json::Value;

/// The longest JSON document, in bytes; tables and point files are read line by line and may be
/// longer.
const MOST_DOCUMENT_BYTES: usize = 64 << 20;
/// The most values in JSON documents: each takes up to a hundred bytes of memory, whatever its
/// length in the file.
const MOST_VALUES: usize = 4 << 20;

/// A file that is text.
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    /// Without a byte order mark.
    pub(crate) text: &'a str,
}

impl<'a> Input<'a> {
    /// Refuses what is too long or no UTF-8.
    pub(crate) fn new(bytes: &'a [u8], name: &'a str) -> Result<Self, ImportError> {
        if bytes.len() > crate::MOST_BYTES {
            return Err(too_long(
                name,
                bytes.len(),
                crate::MOST_BYTES,
                "split the file, or import a summary of it",
            ));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
        let text = std::str::from_utf8(bytes).map_err(|error| ImportError::NotText {
            file: name.to_owned(),
            place: Location::Byte(error.valid_up_to()),
            advice: match wide {
                true => "it is UTF-16, which PowerShell's > writes: convert it with: iconv -f UTF-16 -t UTF-8",
                false => "the file is damaged, or not a result",
            },
        })?;
        Ok(Self { name, text })
    }

    /// The first line that is not blank, from its first character on.
    pub(crate) fn first_line(&self) -> &'a str {
        self.text.trim_start().lines().next().unwrap_or("")
    }

    /// The JSON documents, and what stands around them.
    pub(crate) fn documents(&self) -> Result<Documents<'a>, Fault> {
        let text = self.text;
        let start = start_of_json(text).ok_or_else(|| {
            Fault::whole("no line starts with { or [: there is no JSON document in it")
        })?;
        let json = &text[start..];
        if json.len() > MOST_DOCUMENT_BYTES {
            return Err(Fault::whole(format!(
                "{} bytes of JSON are more than the {MOST_DOCUMENT_BYTES} that are read",
                json.len()
            )));
        }
        let values = json
            .bytes()
            .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
            .count();
        if values > MOST_VALUES {
            return Err(Fault::whole(format!(
                "about {values} JSON values are more than the {MOST_VALUES} that are read"
            )));
        }
        let mut found = Documents {
            before: text[..start].trim(),
            ..Documents::default()
        };
        let mut at = 0;
        while json[at..].trim_start().starts_with(['{', '[']) {
            let mut stream = serde_json::Deserializer::from_str(&json[at..]).into_iter::<Value>();
            match stream.next() {
                Some(Ok(value)) => found.values.push(value),
                Some(Err(error)) => return Err(syntax(&error, line_of(text, start + at))),
                None => break,
            }
            at += stream.byte_offset();
        }
        found.after = json[at..].trim();
        Ok(found)
    }
}

/// JSON documents of one file.
#[derive(Default)]
pub(crate) struct Documents<'a> {
    pub(crate) values: Vec<Value>,
    /// Text before the first and after the last.
    pub(crate) before: &'a str,
    pub(crate) after: &'a str,
}

/// Where the first line starts that begins with a bracket: tools print notices before their JSON.
fn start_of_json(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let blank = line.len() - line.trim_start().len();
        if line[blank..].starts_with(['{', '[']) {
            return Some(at + blank);
        }
        at += line.len();
    }
    None
}

/// The number of the line in which byte `at` lies, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

/// An error of the JSON parser; `first_line` is the line of the file that it counts as 1.
pub(crate) fn syntax(error: &serde_json::Error, first_line: usize) -> Fault {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
    let place = Location::Line {
        line: error.line() + first_line - 1,
        column: Some(error.column()),
    };
    Fault {
        place,
        reason,
        cut: error.is_eof(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_powershell_is_refused_with_the_command() {
        let error = Input::new(b"\xff\xfe{\0}\0", "r.json")
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("byte 0") && error.contains("iconv"),
            "{error}"
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_content() {
        assert_eq!(Input::new(b"\xef\xbb\xbf{}", "r").unwrap().text, "{}");
    }

    #[test]
    fn documents_are_found_among_notices() {
        let input = Input::new(
            b"note: file exists\nmore\n {\"a\":1}\n{\"a\":2} the end\n",
            "r",
        )
        .unwrap();
        let found = input.documents().unwrap();
        assert_eq!(
            (found.before, found.values.len(), found.after),
            ("note: file exists\nmore", 2, "the end")
        );
    }

    #[test]
    fn an_error_names_the_line_of_the_file() {
        let input = Input::new(b"notice\n{\n\"a\": x}\n", "r").unwrap();
        let fault = input.documents().err().unwrap();
        assert_eq!(
            (fault.place, fault.cut),
            (
                Location::Line {
                    line: 3,
                    column: Some(6)
                },
                false
            )
        );
        let fault = Input::new(b"notice\n{\n\"a\": [1,", "r")
            .unwrap()
            .documents()
            .err()
            .unwrap();
        assert!(
            fault.cut && matches!(fault.place, Location::Line { line: 3, .. }),
            "{fault:?}"
        );
    }

    #[test]
    fn more_values_than_memory_should_hold_are_refused() {
        let many = format!("[{}", "0,".repeat(MOST_VALUES + 1));
        assert!(
            Input::new(many.as_bytes(), "r")
                .unwrap()
                .documents()
                .err()
                .unwrap()
                .reason
                .contains("values")
        );
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_crash() {
        let deep = "[".repeat(100_000);
        assert!(
            Input::new(deep.as_bytes(), "r")
                .unwrap()
                .documents()
                .is_err()
        );
    }
}
