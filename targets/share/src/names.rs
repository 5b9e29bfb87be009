//! Names and types of files: what is taken from strangers, and what is told to browsers.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The most bytes of a name: what file systems take.
const MOST_NAME: usize = 255;
/// The most bytes of a note.
pub(crate) const MOST_NOTE: usize = 500;

/// Why a name is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadName {
    #[error("a file needs a name")]
    Empty,
    #[error("a file's name has at most 255 bytes")]
    Long,
    #[error("a file's name has no directories: neither / nor \\, and is not . or ..")]
    Nested,
    #[error("a file's name has no control characters")]
    Control,
}

/// Characters that turn the direction of a text, with which a name can hide its end.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that take no place: a link whose name has no others cannot be seen.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Takes a name as it is, or not at all.
pub(crate) fn check_name(name: &str) -> Result<(), BadName> {
    if name.chars().all(|c| c.is_whitespace() || is_unseen(c)) {
        return Err(BadName::Empty);
    }
    if name.len() > MOST_NAME {
        return Err(BadName::Long);
    }
    if name.contains(['/', '\\']) || name == "." || name == ".." {
        return Err(BadName::Nested);
    }
    if name.chars().any(is_hidden) {
        return Err(BadName::Control);
    }
    Ok(())
}

/// The characters that RFC 8187 lets stand.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A name as a part of an address.
pub(crate) fn in_address(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

/// `Content-Disposition` (RFC 6266): the name for clients that read ASCII alone, and as it is.
pub(crate) fn disposition(name: &str, media: &str) -> String {
    let how = if is_shown(media) {
        "inline"
    } else {
        "attachment"
    };
    let plain = |c: char| {
        if c.is_ascii() && !c.is_ascii_control() && !matches!(c, '"' | '\\' | '%') {
            c
        } else {
            '_'
        }
    };
    let ascii: String = name.chars().map(plain).collect();
    format!(
        "{how}; filename=\"{ascii}\"; filename*=UTF-8''{}",
        in_address(name)
    )
}

/// Types that a browser shows and that cannot run anything in it.
const SHOWN: [&str; 13] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/mp4",
    "video/mp4",
    "video/webm",
    "text/plain",
];

/// The type without its parameters.
fn essence(media: &str) -> String {
    let end = media.find(';').unwrap_or(media.len());
    media[..end].trim().to_ascii_lowercase()
}

fn is_shown(media: &str) -> bool {
    SHOWN.contains(&essence(media).as_str())
}

/// Endings of names and their types, for clients that do not say.
const ENDINGS: [(&str, &str); 24] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("json", "application/json"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("m4a", "audio/mp4"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("mov", "video/quicktime"),
    ("tar", "application/x-tar"),
];

const UNKNOWN: &str = "application/octet-stream";

/// The type of a file as its sender says, or else as its name ends.
pub(crate) fn media_of(said: Option<&str>, name: &str) -> String {
    let said = said.map(str::trim).unwrap_or_default();
    let is_type = said.len() <= 255
        && said
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ')
        && essence(said).split_once('/').is_some_and(|(kind, sort)| {
            let is_word = |text: &str| {
                !text.is_empty()
                    && text
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
            };
            is_word(kind) && is_word(sort)
        });
    if is_type && essence(said) != UNKNOWN {
        return said.to_owned();
    }
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    ENDINGS
        .iter()
        .find(|(known, _)| Some(*known) == ending.as_deref())
        .map_or(UNKNOWN, |(_, media)| media)
        .to_owned()
}

/// The type as it is told: a text without a character set is UTF-8, as nearly all are.
pub(crate) fn told_media(media: &str) -> String {
    if essence(media) == "text/plain" && !media.to_ascii_lowercase().contains("charset") {
        "text/plain; charset=utf-8".to_owned()
    } else {
        media.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_refused_and_odd_ones_taken() {
        for (name, bad) in [
            ("", BadName::Empty),
            ("  ", BadName::Empty),
            ("\u{200b}\u{a0}\u{feff}", BadName::Empty),
            ("../x", BadName::Nested),
            ("a\\b", BadName::Nested),
            ("/etc/passwd", BadName::Nested),
            ("..", BadName::Nested),
            (".", BadName::Nested),
            ("a\r\nSet-Cookie: x", BadName::Control),
            ("a\0", BadName::Control),
            ("gpj\u{202e}exe", BadName::Control),
        ] {
            assert_eq!(check_name(name), Err(bad), "{name:?}");
        }
        assert_eq!(check_name(&"\u{e4}".repeat(128)), Err(BadName::Long));
        for name in [
            "a",
            "...",
            ".x",
            "a b\"c'<script>",
            "\u{1f600}.txt",
            "\u{1f469}\u{200d}\u{1f4bb}",
            "%2e%2e%2f",
            "-rf *",
            &"x".repeat(255),
        ] {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn a_disposition_holds_any_name() {
        insta(
            &disposition("a \"b\\%;\u{e4}.txt", "text/plain"),
            r#"inline; filename="a _b__;_.txt"; filename*=UTF-8''a%20%22b%5C%25%3B%C3%A4.txt"#,
        );
        insta(
            &disposition("x.html", "text/html"),
            r#"attachment; filename="x.html"; filename*=UTF-8''x.html"#,
        );
        assert!(disposition("x", "image/svg+xml").starts_with("attachment"));
        assert!(disposition("x", "IMAGE/PNG; a=b").starts_with("inline"));
    }

    fn insta(found: &str, expected: &str) {
        assert_eq!(found, expected);
    }

    #[test]
    fn types_are_what_is_said_or_what_the_name_ends_with() {
        for (said, name, expected) in [
            (Some("text/html"), "x.txt", "text/html"),
            (Some("application/octet-stream"), "x.PNG", "image/png"),
            (None, "x", UNKNOWN),
            (Some("text"), "x.pdf", "application/pdf"),
            (Some("a/b\r\nx: y"), "x", UNKNOWN),
            (
                Some("text/plain; charset=latin1"),
                "x",
                "text/plain; charset=latin1",
            ),
        ] {
            assert_eq!(media_of(said, name), expected, "{said:?}");
        }
        assert_eq!(told_media("text/plain"), "text/plain; charset=utf-8");
        assert_eq!(told_media("text/plain; charset=x"), "text/plain; charset=x");
    }
}
