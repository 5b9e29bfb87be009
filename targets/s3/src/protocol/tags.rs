//! Tags of objects and buckets.

use super::convert::query_decoded;
use super::errors::custom;
use crate::storage::Tags;
use s3s::dto::{Tag, Tagging};
use s3s::{S3Error, S3Result, s3_error};

const MOST_OF_OBJECT: usize = 10;
const MOST_OF_BUCKET: usize = 50;

/// What tags belong to, which decides how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tagged {
    Object,
    Bucket,
}

/// Tags of the header `x-amz-tagging`, which is a query. Errors: `InvalidArgument`, `InvalidTag`,
/// `BadRequest`.
pub(crate) fn from_header(header: Option<&str>) -> S3Result<Tags> {
    let Some(text) = header.filter(|text| !text.is_empty()) else {
        return Ok(Vec::new());
    };
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((query_decoded(key)?, query_decoded(value)?))
    };
    let tags: Option<Tags> = text
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(pair)
        .collect();
    let malformed = || {
        s3_error!(
            InvalidArgument,
            "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates."
        )
    };
    let tags = tags.ok_or_else(malformed)?;
    let twice = |index: usize| {
        tags[..index]
            .iter()
            .any(|(earlier, _)| *earlier == tags[index].0)
    };
    if tags.iter().any(|(key, _)| key.is_empty()) || (0..tags.len()).any(twice) {
        return Err(malformed());
    }
    checked(tags, Tagged::Object)
}

/// Tags of a document.
pub(crate) fn from_document(document: Tagging, tagged: Tagged) -> S3Result<Tags> {
    let pair = |tag: Tag| Some((tag.key?, tag.value.unwrap_or_default()));
    let tags: Option<Tags> = document.tag_set.into_iter().map(pair).collect();
    checked(
        tags.ok_or_else(|| s3_error!(MalformedXML, "A tag has no key"))?,
        tagged,
    )
}

/// As they are answered: in the order of their keys, whatever order they came in.
pub(crate) fn to_set(mut tags: Tags) -> Vec<Tag> {
    tags.sort();
    tags.into_iter()
        .map(|(key, value)| Tag {
            key: Some(key),
            value: Some(value),
        })
        .collect()
}

fn checked(tags: Tags, tagged: Tagged) -> S3Result<Tags> {
    let (most, what) = match tagged {
        Tagged::Object => (MOST_OF_OBJECT, "Object tags cannot be greater than 10"),
        Tagged::Bucket => (MOST_OF_BUCKET, "Bucket tag count cannot be greater than 50"),
    };
    if tags.len() > most {
        return Err(custom("BadRequest", http::StatusCode::BAD_REQUEST, what));
    }
    for (index, (key, value)) in tags.iter().enumerate() {
        if key.is_empty()
            || key.chars().count() > 128
            || key.starts_with("aws:")
            || !key.chars().all(is_plain)
        {
            return Err(invalid("The TagKey you have provided is invalid"));
        }
        if value.chars().count() > 256 || !value.chars().all(is_plain) {
            return Err(invalid("The TagValue you have provided is invalid"));
        }
        if tags[..index].iter().any(|(earlier, _)| earlier == key) {
            return Err(invalid("Cannot provide multiple Tags with the same key"));
        }
    }
    Ok(tags)
}

/// The characters that AWS lets tags have.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || " +-=._:/@".contains(c)
}

fn invalid(message: &'static str) -> S3Error {
    s3_error!(InvalidTag, "{message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_a_query() {
        let tags = from_header(Some("a=1&b%20c=d+e&f")).unwrap();
        assert_eq!(
            tags,
            [
                ("a".to_owned(), "1".to_owned()),
                ("b c".into(), "d e".into()),
                ("f".into(), String::new())
            ]
        );
        assert!(from_header(None).unwrap().is_empty() && from_header(Some("")).unwrap().is_empty());
    }

    #[test]
    fn tags_are_answered_in_the_order_of_their_keys() {
        let set = to_set(from_header(Some("foo=bar&bar")).unwrap());
        assert_eq!(
            set.iter()
                .filter_map(|tag| tag.key.as_deref())
                .collect::<Vec<_>>(),
            ["bar", "foo"]
        );
    }

    #[test]
    fn too_many_too_long_and_twice_are_refused() {
        let code = |text: &str| {
            from_header(Some(text))
                .unwrap_err()
                .code()
                .as_str()
                .to_owned()
        };
        let many: Vec<String> = (0..11).map(|n| format!("k{n}=v")).collect();
        assert_eq!(code(&many.join("&")), "BadRequest");
        assert_eq!(
            (code("a=1&a=2"), code("=1")),
            ("InvalidArgument".to_owned(), "InvalidArgument".to_owned())
        );
        assert_eq!(
            (code("a=1!"), code("a*=1")),
            ("InvalidTag".to_owned(), "InvalidTag".to_owned())
        );
        assert_eq!(code(&format!("{}=1", "k".repeat(129))), "InvalidTag");
        assert_eq!(code(&format!("k={}", "v".repeat(257))), "InvalidTag");
        assert_eq!(code("aws:x=1"), "InvalidTag");
        assert_eq!(code("a=%zz"), "InvalidArgument");
    }
}
