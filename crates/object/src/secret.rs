//! What records keep of texts that may let somebody in: only what is known to be harmless. Everything else
//! is left out, for nobody can list the names that secrets have.

use crate::drawn::{is_drawn, is_of_words_and_numbers, is_short_number};
use crate::{LoadError, LoadOption};

/// Headers whose values are recorded and may stand in arguments, unless the value itself looks like a
/// secret.
const HARMLESS_HEADERS: [&str; 32] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-type",
    "date",
    "dnt",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "origin",
    "pragma",
    "priority",
    "range",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "upgrade-insecure-requests",
    "user-agent",
    "x-amz-acl",
    "x-amz-request-payer",
    "x-amz-server-side-encryption",
    "x-amz-storage-class",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// Headers by which one request is told from others; what they hold is often drawn.
const TRACES: [&str; 3] = ["traceparent", "x-correlation-id", "x-request-id"];

/// Headers that hold what a server calls a version of an object.
const ETAGS: [&str; 3] = ["if-match", "if-none-match", "if-range"];

/// The same of what a query asks with: of the pages of lists, of S3's subresources, and of what an answer
/// looks like. Nothing of a presigned request is among them.
const HARMLESS_QUERIES: [&str; 27] = [
    "acl",
    "count",
    "delimiter",
    "encoding-type",
    "format",
    "height",
    "lang",
    "limit",
    "list-type",
    "location",
    "max-keys",
    "offset",
    "order",
    "page",
    "page_size",
    "partnumber",
    "per_page",
    "pretty",
    "size",
    "sort",
    "tagging",
    "uploads",
    "version",
    "versioning",
    "versions",
    "view",
    "width",
];

/// Names of a query that are anybody's: what they hold is recorded where it is short words and numbers.
const PLAIN_QUERIES: [&str; 4] = ["prefix", "q", "search", "suffix"];

/// Parts of names whose values let somebody in, where they stand within a value.
const SECRET_NAMES: [&str; 18] = [
    "auth",
    "cookie",
    "token",
    "secret",
    "key",
    "session",
    "pass",
    "pwd",
    "psk",
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

/// Words before what lets somebody in (RFC 9110, section 11).
const SCHEMES: [&str; 6] = ["bearer", "digest", "hmac", "negotiate", "ntlm", "token"];

/// What a record has in the place of a secret.
pub(crate) const NOT_KEPT: &str = "(not recorded)";

impl LoadOption {
    /// What a record keeps of a text that was given for it.
    #[must_use]
    pub fn recorded(&self, text: &str) -> String {
        let Some(keep) = self.keep else {
            return text.to_owned();
        };
        match self.is_repeated {
            // Of an arm all stand in one text, a line each.
            true => text.lines().map(keep).collect::<Vec<_>>().join(", "),
            false => keep(text),
        }
    }

    /// Whether its text may be a secret, and may name a variable of the environment that holds it.
    #[must_use]
    pub fn may_be_secret(&self) -> bool {
        self.keep.is_some()
    }

    /// Whether a text that was given for it may let somebody in, so that it has no place where others read
    /// it.
    #[must_use]
    pub fn hides(&self, text: &str) -> bool {
        self.recorded(text).contains(NOT_KEPT)
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
/// No variable has such a name, or it is not set or empty.
pub(crate) fn given(option: &str, text: &str) -> Result<String, LoadError> {
    // What follows may be the secret itself.
    let Some(name) = variable_of(text) else {
        return match text.trim().starts_with('@') {
            true => Err(LoadError::Asked(format!(
                "--{option} @…: behind the @ stands the name of a variable of the environment, of letters, digits and underscores; example: --{option} @VARIABLE"
            ))),
            false => Ok(text.to_owned()),
        };
    };
    let wrong = match std::env::var(name) {
        Ok(held) if held.trim().is_empty() => "empty",
        Ok(held) => return Ok(held),
        Err(std::env::VarError::NotPresent) => "not set",
        Err(std::env::VarError::NotUnicode(_)) => "no text",
    };
    Err(LoadError::Asked(format!(
        "--{option} @{name}: the variable {name} of the environment, which is to hold it, is {wrong}"
    )))
}

/// Whether the value of a header may stand where others read it.
pub(crate) fn is_harmless_header(name: &str, value: &str) -> bool {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    if TRACES.iter().any(is) {
        let is_of_trace = |c: char| c.is_ascii_hexdigit() || c == '-';
        return value.chars().all(is_of_trace) || !looks_secret(value);
    }
    if ETAGS.iter().any(is) && value.split(',').all(|one| is_etag(one.trim())) {
        return true;
    }
    let value = match name.eq_ignore_ascii_case("user-agent") {
        true => without_addresses(value),
        false => value.to_owned(),
    };
    HARMLESS_HEADERS.iter().any(is) && !looks_secret(&value)
}

/// A text in quotes without anything that parts words (RFC 9110, section 8.8.3).
fn is_etag(text: &str) -> bool {
    let text = text.strip_prefix("W/").unwrap_or(text);
    let inner = text.strip_prefix('"').and_then(|of| of.strip_suffix('"'));
    let may = |c: char| c.is_ascii_alphanumeric() || "-_.+/".contains(c);
    inner.is_some_and(|inner| inner.chars().all(may))
}

/// A value without the addresses of mail in it, as a user agent has that of who runs it.
fn without_addresses(value: &str) -> String {
    let is_address = |word: &&str| {
        let may = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        word.split_once('@').is_some_and(|(user, host)| {
            [user, host].iter().all(|of| of.chars().all(may))
                && host.contains('.')
                && !is_drawn(user)
        })
    };
    let words = value.split([' ', '(', ')', '<', '>', ';', ',']);
    let kept: Vec<&str> = words.filter(|word| !is_address(word)).collect();
    kept.join(" ")
}

/// Nothing of a text that lets somebody in as it is: the variable that holds it may be told.
pub(crate) fn recorded_variable(text: &str) -> String {
    match variable_of(text) {
        Some(_) => text.to_owned(),
        None => NOT_KEPT.to_owned(),
    }
}

/// What records keep of what was given as a target: the variable that holds it, or [`recorded_url`].
pub(crate) fn recorded_target(text: &str) -> String {
    match variable_of(text) {
        Some(_) => text.trim().to_owned(),
        None => recorded_url(text),
    }
}

/// What records and errors keep of the text of a target, which may be none: nothing that lets
/// somebody in, before its hosts, in its paths and in its query.
#[must_use]
pub fn recorded_url(text: &str) -> String {
    let urls: Vec<String> = urls(text).into_iter().map(recorded_one).collect();
    urls.join(",")
}

/// The URLs of a list: a comma parts them only where another begins.
fn urls(text: &str) -> Vec<&str> {
    let begins = |at: &usize| {
        let rest = &text[at + 1..];
        rest.starts_with("http://") || rest.starts_with("https://")
    };
    let commas = text.match_indices(',').map(|(at, _)| at).filter(begins);
    let (mut urls, mut from) = (Vec::new(), 0);
    for comma in commas {
        urls.push(&text[from..comma]);
        from = comma + 1;
    }
    urls.push(&text[from..]);
    urls
}

fn recorded_one(url: &str) -> String {
    let url = without_login(url);
    let (url, fragment) = match url.split_once('#') {
        Some((url, _)) => (url, format!("#{NOT_KEPT}")),
        None => (url.as_str(), String::new()),
    };
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, format!("?{}", recorded_query(query))),
        None => (url, String::new()),
    };
    format!("{}{query}{fragment}", recorded_path(before))
}

fn recorded_query(query: &str) -> String {
    let part = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        let is_known = HARMLESS_QUERIES.iter().any(is)
            || PLAIN_QUERIES.iter().any(is) && is_of_words_and_numbers(value)
            || name.eq_ignore_ascii_case("id") && is_short_number(value);
        match (is_known && !looks_secret(value), pair.contains('=')) {
            (true, _) => pair.to_owned(),
            (false, _) if pair.is_empty() => String::new(),
            (false, true) if is_plain_name(name) => format!("{name}={NOT_KEPT}"),
            (false, _) => NOT_KEPT.to_owned(),
        }
    };
    let parts: Vec<String> = query.split('&').map(part).collect();
    parts.join("&")
}

/// Whether it may be told what a value is called.
fn is_plain_name(name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
    name.chars().all(is_of_name) && !is_drawn(name)
}

/// An address whose path has no part that is long and means nothing, or a pair with a secret name.
fn recorded_path(address: &str) -> String {
    let scheme = authority_begin(address);
    let Some(begin) = address[scheme..].find('/').map(|at| scheme + at) else {
        return address.to_owned();
    };
    let has_login = |part: &str| {
        let login = part.rsplit_once('@');
        login.is_some_and(|(before, _)| before.contains(':'))
    };
    // Somebody meant another server, with a key before its colon.
    let has_server = |part: &str| part.split(',').skip(1).any(|of| of.contains(':'));
    // A share has no path, but its guest links do.
    let is_share = address.starts_with("share+");
    let hides = |part: &str| {
        let hides = [has_secret_pair, is_drawn, has_login, has_server];
        hides.iter().any(|hides| hides(part)) || is_share && !part.is_empty()
    };
    let part = |part: &str| match hides(part) {
        true => NOT_KEPT.to_owned(),
        false => part.to_owned(),
    };
    let parts: Vec<String> = address[begin..].split('/').map(part).collect();
    format!("{}{}", &address[..begin], parts.join("/"))
}

/// Where a URL names its server.
fn authority_begin(url: &str) -> usize {
    // A bucket stands before its endpoint as a name before a host.
    let bucket = url
        .strip_prefix("s3://")
        .and_then(|rest| Some(rest.split_once('@')?.0))
        .filter(|bucket| !bucket.contains([':', '/']));
    let before = bucket.map_or(0, |bucket| "s3://@".len() + bucket.len());
    let scheme = url[before..].find("://").map_or(0, |at| at + "://".len());
    before + scheme
}

/// A URL without the name and the password before its host.
fn without_login(url: &str) -> String {
    let (kept, rest) = url.split_at(authority_begin(url));
    let authority = rest.find(['/', '?']).map_or(rest, |end| &rest[..end]);
    // Of a plan file the port may not be known yet.
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) || port.starts_with('{');
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
        None if !has_port => {
            let host = authority
                .rsplit_once(':')
                .map_or(authority, |(host, _)| host);
            format!("{kept}{host}:{NOT_KEPT}{}", &rest[authority.len()..])
        }
        None => url.to_owned(),
    }
}

/// Whether a value looks as if it let somebody in, whatever its name is. It is better to leave out too
/// much.
fn looks_secret(value: &str) -> bool {
    let words = value.split(|c: char| !c.is_ascii_alphanumeric() && !"+/_-=%.".contains(c));
    let has_long = words.into_iter().any(is_drawn);
    let has_scheme = has_scheme(value);
    let has_login = value.contains('@');
    let has_url = value.contains("://") && recorded_url(value) != value;
    has_long || has_scheme || has_login || has_url || has_secret_pair(value)
}

/// Whether a part of it says a secret by name: `token=…`.
fn has_secret_pair(value: &str) -> bool {
    let mut parts = value.split([';', ',', '&', '?', ' ', '\t']);
    parts.any(|part| {
        let pair = part.split_once(['=', ':']);
        pair.is_some_and(|(name, _)| {
            let name = name.to_ascii_lowercase();
            SECRET_NAMES.iter().any(|part| name.contains(part))
        })
    })
}

/// Whether one of its words is that before what lets somebody in. "Basic" is also said of what is simple:
/// no name and password in base64 look like the word behind it.
fn has_scheme(value: &str) -> bool {
    let words = value.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_scheme = |word: &&str| SCHEMES.iter().any(|of| of.eq_ignore_ascii_case(word));
    let is_simple = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let has_basic = words
        .windows(2)
        .any(|two| two[0].eq_ignore_ascii_case("basic") && !is_simple(two[1]));
    words.iter().any(is_scheme) || has_basic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_to_be_harmless_is_recorded() {
        for (name, value) in [
            ("Accept", "text/html;q=0.9, */*"),
            ("accept-ENCODING", "gzip"),
            ("Cache-Control", "max-age=0"),
            ("Origin", "https://example.org"),
            ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"),
            ("If-None-Match", "\"33a64df5\""),
            ("x-amz-storage-class", "STANDARD_IA"),
            ("x-amz-acl", "bucket-owner-full-control"),
            ("Range", "bytes=0-99"),
            ("Accept", "application/vnd.github.v3+json"),
            ("User-Agent", "fathom (ops@example.com)"),
            ("User-Agent", "basic check"),
            ("If-None-Match", "\"etag\""),
            (
                "If-Match",
                "W/\"d41d8cd98f00b204e9800998ecf8427e-12\", \"a\"",
            ),
            ("Sec-Fetch-Mode", "cors"),
            ("X-Forwarded-For", "203.0.113.7, 2001:db8::1"),
            ("X-Request-Id", "check-7"),
            ("X-Request-Id", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        ] {
            assert!(is_harmless_header(name, value), "{name}: {value}");
        }
    }

    #[test]
    fn no_header_of_another_name_and_no_value_that_looks_secret_is_recorded() {
        for (name, value) in [
            ("X-Custom", "Bearer x"),
            ("X-PSK", "a"),
            ("X-Pass", "a"),
            ("X-Tenant", "blue"),
            ("Referer", "https://h/?token=x"),
            ("Authorization", "Basic x"),
            ("x-amz-meta-owner", "me"),
            ("User-Agent", "x Bearer abc"),
            ("User-Agent", "me; token=abc"),
            ("User-Agent", "0123456789abcdef0123"),
            ("Origin", "https://user:pw@h"),
            ("Origin", "https://h/?pin=5"),
            ("User-Agent", "basic aHVudGVyMg"),
            ("User-Agent", "x (u:hunter2@example.com)"),
            ("User-Agent", "x 0f8fad5b-d9cb-469f-a165-70867728950e"),
            ("User-Agent", "hunter2@h"),
            ("If-None-Match", "\"Bearer x\""),
            ("Accept", "0f8fad5b-d9cb-469f-a165-70867728950e"),
            ("Content-Type", "x?password=hunter2"),
        ] {
            assert!(!is_harmless_header(name, value), "{name}: {value}");
        }
    }

    #[test]
    fn a_target_is_recorded_without_what_lets_somebody_in() {
        for (text, kept) in [
            (
                "http://h/x?page=2&X-Amz-Signature=abc&view=list&flag",
                "http://h/x?page=2&X-Amz-Signature=(not recorded)&view=list&(not recorded)",
            ),
            (
                "http://h/x?X-Amz-Credential=AKIA&X-Amz-Security-Token=t&X-Amz-Date=d&AWSAccessKeyId=a&Signature=s&Expires=1",
                "http://h/x?X-Amz-Credential=(not recorded)&X-Amz-Security-Token=(not recorded)&X-Amz-Date=(not recorded)&AWSAccessKeyId=(not recorded)&Signature=(not recorded)&Expires=(not recorded)",
            ),
            (
                "http://h/x?0123456789abcdef0123",
                "http://h/x?(not recorded)",
            ),
            ("http://h/x?hunter2=", "http://h/x?hunter2=(not recorded)"),
            (
                "http://h/x?0123456789abcdef0123=1",
                "http://h/x?(not recorded)",
            ),
            (
                "http://h/x?page=1,http://i/x?pin=a,b",
                "http://h/x?page=1,http://i/x?pin=(not recorded)",
            ),
            ("http://u:pa,ss@h/x", "http://(not recorded)@h/x"),
            ("http://h/x?page=u:p@i", "http://h/x?page=(not recorded)"),
            (
                "http://h/hooks/T000/0a1b2c3d4e5f6a7b8c9d/x",
                "http://h/hooks/T000/(not recorded)/x",
            ),
            ("http://h/a;jsessionid=5/b", "http://h/(not recorded)/b"),
            ("http://h/x#access=5", "http://h/x#(not recorded)"),
            (
                "http://h/by/http://u:hunter2@i/x",
                "http://h/by/http://(not recorded)/x",
            ),
            ("http://h/u:hunter2@i", "http://h/(not recorded)"),
        ] {
            assert_eq!(recorded_url(text), kept);
        }
    }

    #[test]
    fn a_part_that_was_drawn_or_names_a_key_is_not_recorded_and_names_of_objects_are() {
        for (text, kept) in [
            (
                "http://h/hook/0f8fad5b-d9cb-469f-a165-70867728950e",
                "http://h/hook/(not recorded)",
            ),
            (
                "http://h/bot110201543:AAHdqTcvCH1vGWJx-eSeofSAs0K5PALDsaw/sendMessage",
                "http://h/(not recorded)/sendMessage",
            ),
            (
                "http://h/s/ABC_DEF1234ghIkl_zyx57W2v1u12_3ew1",
                "http://h/s/(not recorded)",
            ),
            (
                "http://h/d/qzjwkxhvbnmtrplkdsgfycaeio",
                "http://h/d/(not recorded)",
            ),
            (
                "http://h/d/01234567890123456789",
                "http://h/d/(not recorded)",
            ),
            ("http://h/x,AKIA:hunter2", "http://h/(not recorded)"),
            (
                "share+http://h/g/hunter2",
                "share+http://h/(not recorded)/(not recorded)",
            ),
            ("AKIA:hunter2", "AKIA:(not recorded)"),
            (
                "http://h/x?q=hunter2&id=a1",
                "http://h/x?q=(not recorded)&id=(not recorded)",
            ),
        ] {
            assert_eq!(recorded_url(text), kept);
        }
        for text in [
            "http://[::1]:80/a@b",
            "http://h/@scope/x",
            "s3://bucket@http://h:{port}/a@b",
            "{url}/x",
            "http://h/report_final_v2/build-artifacts",
            "http://h/my-bucket-2026-11-27/x",
            "http://h/x?q=two+words&id=5&prefix=logs/2026",
            "s3://my-bucket@https://a:9000,https://b:9000",
            "http://h:1/benchmark-2026-11-27-objects/x",
            "http://h?",
            "http://h/?list-type=2&max-keys=10",
        ] {
            assert_eq!(recorded_url(text), text);
        }
    }

    #[test]
    fn a_variable_that_holds_nothing_is_told_by_its_name_and_what_is_no_name_is_not_told() {
        let told = |text: &str| given("header", text).unwrap_err().to_string();
        assert!(told("@FATHOM_NOT_THERE").contains("FATHOM_NOT_THERE of the environment"));
        assert!(told("@FATHOM_NOT_THERE").contains("is not set"));
        for text in ["@", " @ ", "@hunter-2"] {
            let told = told(text);
            assert!(told.contains("--header @VARIABLE"), "{told}");
            assert!(!told.contains("hunter"), "{told}");
        }
        assert_eq!(given("header", "A: b").unwrap(), "A: b");
        assert_eq!(recorded_variable("@A"), "@A");
        assert_eq!(recorded_variable("link"), NOT_KEPT);
        assert_eq!(recorded_target(" @A "), "@A");
        assert_eq!(recorded_target("http://u:p@h"), "http://(not recorded)@h");
    }
}
