//! Headers that every request has besides the load's own, and what records keep of them.

use crate::LoadError;

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

/// Parts of names whose values let somebody in.
const SECRET_NAMES: [&str; 17] = [
    "auth",
    "cookie",
    "token",
    "secret",
    "key",
    "session",
    "passw",
    "pwd",
    "credential",
    "signature",
    "sig",
    "jwt",
    "csrf",
    "xsrf",
    "bearer",
    "sid",
    "code",
];

/// A value with so many letters and digits without a space may be a key.
const LONG_WORD: usize = 20;
/// What a record has in the place of a secret.
const NOT_KEPT: &str = "(not recorded)";

/// A header of every request.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestHeader {
    name: String,
    value: String,
    /// It was taken from the environment, where secrets are put.
    is_hidden: bool,
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
        let Some((name, value)) = text.split_once(':') else {
            return Err(LoadError::asked(
                "--header has no colon; example: --header 'Authorization: Bearer TOKEN'",
            ));
        };
        let (name, value) = (name.trim(), value.trim());
        let may = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(may) {
            return Err(LoadError::Asked(format!(
                "--header: {name:?} is no name of a header"
            )));
        }
        if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(LoadError::Asked(format!(
                "--header {name}: the load writes it itself"
            )));
        }
        if value
            .bytes()
            .any(|byte| byte < b' ' && byte != b'\t' || byte == 127)
        {
            return Err(LoadError::Asked(format!(
                "--header {name}: its value holds a control character"
            )));
        }
        if name.len() + value.len() > MOST_BYTES {
            return Err(LoadError::Asked(format!(
                "--header {name}: longer than {MOST_BYTES} bytes, which few servers take"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
            is_hidden: false,
        })
    }

    /// As [`RequestHeader::parse`], or `@VARIABLE`: the variable of the environment that holds it.
    ///
    /// # Errors
    /// As there, or the variable is not set.
    pub fn given(text: &str) -> Result<Self, LoadError> {
        let is_hidden = variable_of(text).is_some();
        let header = Self::parse(&given("header", text)?)?;
        Ok(Self {
            is_hidden,
            ..header
        })
    }

    /// Whether it looks as if it let somebody in, or was taken from where such things are.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.is_hidden || is_secret(&self.name, &self.value)
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
        format!("{}: {value}", self.name)
    }

    /// The line of a request.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for part in [&self.name, ": ", &self.value, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// The variable that a text names which stands for what it holds.
#[must_use]
pub fn variable_of(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix('@')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// The text that is meant: this one, or what the variable holds that it names.
///
/// # Errors
/// The variable is not set.
pub(crate) fn given(option: &str, text: &str) -> Result<String, LoadError> {
    let Some(name) = variable_of(text) else {
        return Ok(text.to_owned());
    };
    std::env::var_os(name)
        .and_then(|held| held.into_string().ok())
        .ok_or_else(|| {
            LoadError::Asked(format!(
                "--{option} {text}: the environment has no text in {name}, which is to hold it"
            ))
        })
}

/// What a record keeps of the text of a header.
pub(crate) fn recorded_header(text: &str) -> String {
    if variable_of(text).is_some() {
        return text.to_owned();
    }
    RequestHeader::parse(text).map_or_else(|_no_header| NOT_KEPT.to_owned(), |of| of.recorded())
}

/// What records and errors keep of the text of a target, which may be none: nothing that lets
/// somebody in, before its hosts or in its query.
#[must_use]
pub fn recorded_url(text: &str) -> String {
    let urls: Vec<String> = text.split(',').map(without_login).collect();
    let text = urls.join(",");
    let Some((before, query)) = text.split_once('?') else {
        return text;
    };
    let part = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if is_secret(name, value) => format!("{name}={NOT_KEPT}"),
        None if is_secret("", pair) => NOT_KEPT.to_owned(),
        Some(_) | None => pair.to_owned(),
    };
    let parts: Vec<String> = query.split('&').map(part).collect();
    format!("{before}?{}", parts.join("&"))
}

/// A URL without the name and the password before its host.
fn without_login(url: &str) -> String {
    // A bucket stands before its endpoint as a name before a host.
    let bucket = url
        .strip_prefix("s3://")
        .and_then(|rest| Some(rest.split_once('@')?.0))
        .filter(|bucket| !bucket.contains([':', '/']));
    let before = bucket.map_or(0, |bucket| "s3://@".len() + bucket.len());
    let scheme = url[before..].find("://").map_or(0, |at| at + "://".len());
    let (kept, rest) = url.split_at(before + scheme);
    let authority = rest.find(['/', '?']).map_or(rest, |end| &rest[..end]);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = authority
        .rsplit_once(':')
        .is_none_or(|(_, port)| is_port(port) || port.contains(']'));
    let end = match authority.rfind('@') {
        // A password may hold what ends a host.
        None if !has_port => rest.rfind('@'),
        end => end,
    };
    match end {
        Some(end) => format!("{kept}{NOT_KEPT}{}", &rest[end..]),
        None => url.to_owned(),
    }
}

/// Whether a value looks as if it let somebody in: by the name that it has, or because it is long
/// and means nothing. It is better to leave out too much.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if SECRET_NAMES.iter().any(|part| name.contains(part)) {
        return true;
    }
    let words = value.split(|c: char| !c.is_ascii_alphanumeric() && !"+/_-=%.".contains(c));
    words.into_iter().any(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
        word.len() >= LONG_WORD && digits > 0 && letters > 0
    })
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
            (": x", "\"\" is no name"),
            ("a b: x", "\"a b\" is no name"),
            ("Host: x", "writes it itself"),
            ("content-LENGTH: 5", "writes it itself"),
            ("X: a\r\nY: b", "control character"),
            ("X: a\u{0}", "control character"),
        ] {
            let error = RequestHeader::parse(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_record_keeps_no_value_that_lets_somebody_in() {
        for (text, kept) in [
            ("Accept: text/html", "Accept: text/html"),
            ("X-Tenant: blue", "X-Tenant: blue"),
            ("Authorization: Bearer x", "Authorization: (not recorded)"),
            ("Cookie: a=b", "Cookie: (not recorded)"),
            ("X-Api-Key: 1", "X-Api-Key: (not recorded)"),
            ("X-Plain: 0123456789abcdef0123", "X-Plain: (not recorded)"),
        ] {
            let header = RequestHeader::parse(text).unwrap();
            assert_eq!(header.recorded(), kept);
            assert!(format!("{header:?}").contains(kept));
        }
        assert_eq!(recorded_header("hunter2"), "(not recorded)");
        assert_eq!(
            recorded_url("http://h/x?page=2&X-Amz-Signature=abc&flag"),
            "http://h/x?page=2&X-Amz-Signature=(not recorded)&flag"
        );
        assert_eq!(
            recorded_url("http://h/x?0123456789abcdef0123"),
            "http://h/x?(not recorded)"
        );
    }
}
