//! Headers that every request has besides the load's own, and what records keep of them.

use crate::LoadError;
use crate::drawn::is_drawn;
use crate::secret::{NOT_KEPT, given, is_harmless_header, variable_of};

/// More than these, with those of the load itself, are more than requests are read with.
pub(crate) const MOST_HEADERS: usize = 24;
const MOST_BYTES: usize = 8 << 10;

/// Headers that decide where a request ends and who is asked; a load writes them itself.
const OWN: [&str; 11] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "expect",
    "te",
    "trailer",
    "upgrade",
    "http2-settings",
];

/// A header of every request.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestHeader {
    name: String,
    value: String,
    /// It was taken from the environment, where secrets are put.
    is_hidden: bool,
}

/// Why a text is no header to send, in words that tell nothing of it.
struct WrongHeader {
    name: Option<String>,
    why: String,
}

impl WrongHeader {
    fn of_argument(&self) -> String {
        match &self.name {
            Some(name) if !is_drawn(name) => format!("--header {name}: {}", self.why),
            Some(_) | None => format!("--header: {}", self.why),
        }
    }
}

impl std::fmt::Debug for RequestHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RequestHeader({})", self.recorded())
    }
}

impl RequestHeader {
    /// Reads `Name: value`.
    ///
    /// # Errors
    /// It is no header, or one that the load writes itself.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        Self::read(text).map_err(|wrong| LoadError::Asked(wrong.of_argument()))
    }

    /// As [`RequestHeader::parse`], or `@VARIABLE`: the variable of the environment that holds it.
    ///
    /// # Errors
    /// As there, or the variable is not set or empty.
    pub fn given(text: &str) -> Result<Self, LoadError> {
        let Some(variable) = variable_of(text) else {
            return Self::parse(&given("header", text)?);
        };
        let header = Self::read(&given("header", text)?).map_err(|wrong| {
            LoadError::Asked(format!(
                "--header @{variable}: what the variable {variable} of the environment holds is no header to send: {}",
                wrong.why
            ))
        })?;
        Ok(Self {
            is_hidden: true,
            ..header
        })
    }

    fn read(text: &str) -> Result<Self, WrongHeader> {
        let wrong = |name: Option<&str>, why: String| {
            let name = name.map(str::to_owned);
            Err(WrongHeader { name, why })
        };
        let Some((name, value)) = text.split_once(':') else {
            let why = "it has no colon; example: --header 'Authorization: Bearer TOKEN'";
            return wrong(None, why.into());
        };
        let (name, value) = (name.trim(), value.trim());
        let may = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(may) {
            // What stands there may be the secret itself.
            return wrong(
                None,
                "what stands before its colon is no name of a header".into(),
            );
        }
        let has_control = |byte: u8| byte < b' ' && byte != b'\t' || byte == 127;
        let why = if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            "the load writes it itself".to_owned()
        } else if value.bytes().any(has_control) {
            "its value holds a control character".to_owned()
        } else if name.len() + value.len() > MOST_BYTES {
            format!("longer than {MOST_BYTES} bytes, which few servers take")
        } else {
            return Ok(Self {
                name: name.to_owned(),
                value: value.to_owned(),
                is_hidden: false,
            });
        };
        wrong(Some(name), why)
    }

    /// Whether it may let somebody in, or was taken from where such things are.
    fn is_secret(&self) -> bool {
        self.is_hidden || !is_harmless_header(&self.name, &self.value)
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What a record keeps of it.
    pub(crate) fn recorded(&self) -> String {
        let value = match self.is_secret() {
            true => NOT_KEPT,
            false => &self.value,
        };
        // Who forgot the name has put the secret in its place.
        let name = match is_drawn(&self.name) {
            true => NOT_KEPT,
            false => &self.name,
        };
        format!("{name}: {value}")
    }

    /// The line of a request.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for part in [&self.name, ": ", &self.value, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// What a record keeps of the text of a header.
pub(crate) fn recorded_header(text: &str) -> String {
    if variable_of(text).is_some() {
        return text.trim().to_owned();
    }
    RequestHeader::parse(text).map_or_else(|_no_header| NOT_KEPT.to_owned(), |of| of.recorded())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_and_one_that_the_load_writes_or_that_ends_the_line_is_refused() {
        let header = RequestHeader::parse("X-Trace:  a b ").unwrap();
        let mut line = Vec::new();
        header.write(&mut line);
        assert_eq!(line, b"X-Trace: a b\r\n");
        for (text, told) in [
            ("no colon", "no colon"),
            (": x", "is no name"),
            ("hunter2 b: x", "is no name"),
            ("Bearer hunter2: x", "is no name"),
            ("Host: x", "writes it itself"),
            ("content-LENGTH: 5", "writes it itself"),
            ("X: a\r\nY: b", "control character"),
            ("X: a\u{0}", "control character"),
        ] {
            let error = RequestHeader::parse(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text:?}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_record_keeps_no_value_that_lets_somebody_in() {
        for (text, kept) in [
            ("Accept: text/html", "Accept: text/html"),
            ("Authorization: Bearer x", "Authorization: (not recorded)"),
            ("X-Custom: Bearer x", "X-Custom: (not recorded)"),
            ("X-Tenant: blue", "X-Tenant: (not recorded)"),
            ("0123456789abcdef0123: x", "(not recorded): (not recorded)"),
            (
                "User-Agent: 0123456789abcdef0123",
                "User-Agent: (not recorded)",
            ),
        ] {
            let header = RequestHeader::parse(text).unwrap();
            assert_eq!(header.recorded(), kept);
            assert!(format!("{header:?}").contains(kept));
        }
        assert_eq!(recorded_header("hunter2"), "(not recorded)");
    }
}
