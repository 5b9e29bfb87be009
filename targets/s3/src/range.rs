//! Ranges that are ignored: RFC 9110 (14.2) lets a server take no notice of one that it does not
//! understand, and of several; AWS answers the whole object to both.

use http::request::Parts;
use http::{Method, Uri, header};

/// The most digits of a place in an object; the library knows no numbers with more.
const MOST_DIGITS: usize = 18;

/// Whether a `Range` is one range of bytes, which may lie outside the object.
fn is_understood(text: &str) -> bool {
    let Some((first, last)) = text
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
    else {
        return false;
    };
    let number = |text: &str| {
        (1..=MOST_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    match (number(first), number(last)) {
        (true, true) => {
            let plain = |text: &str| text.trim_start_matches('0').to_owned();
            let (first, last) = (plain(first), plain(last));
            (first.len(), &first) <= (last.len(), &last)
        }
        (true, false) => last.is_empty(),
        (false, true) => first.is_empty(),
        (false, false) => false,
    }
}

/// Whether a request has a range of which no notice is taken.
pub(crate) fn is_ignored(parts: &Parts) -> bool {
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let range = parts.headers.get(header::RANGE);
    reads && range.is_some_and(|range| !range.to_str().is_ok_and(is_understood))
}

/// Takes the range away, and the signature, which was of a request that had it.
pub(crate) fn forget(parts: &mut Parts) {
    parts.headers.remove(header::RANGE);
    parts.headers.remove(header::AUTHORIZATION);
    let kept = |pair: &&str| !pair.starts_with("X-Amz-");
    let query = parts
        .uri
        .query()
        .map(|query| query.split('&').filter(kept).collect::<Vec<_>>().join("&"));
    if let Some(query) = query {
        let path = parts.uri.path().to_owned();
        let mark = if query.is_empty() { "" } else { "?" };
        let mut uri = parts.uri.clone().into_parts();
        uri.path_and_query = format!("{path}{mark}{query}").parse().ok();
        // What was a part of an address before is one still.
        parts.uri = Uri::from_parts(uri).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_bytes_is_understood_and_nothing_else() {
        for text in [
            "bytes=0-1",
            "bytes=5-",
            "bytes=-3",
            "bytes=7-7",
            "bytes=0-999999999999999999",
            "bytes=007-8",
        ] {
            assert!(is_understood(text), "{text}");
        }
        for text in [
            "bytes=abc",
            "bytes=,",
            "items=0-1",
            "bytes=5-2",
            "bytes=0-1,3-4",
            "bytes=-",
            "bytes=",
            "",
            "0-1",
            "bytes=10-9",
            "bytes=+1-2",
            "bytes=0-18446744073709551615",
            "bytes=9999999999999999999-",
            "bytes= -1",
            "bytes=0 - 1",
            "bytes=1- ",
        ] {
            assert!(!is_understood(text), "{text}");
        }
    }

    #[test]
    fn what_is_left_of_a_request_has_no_signature() {
        let uri = "/b/k?versionId=x&X-Amz-Signature=s&X-Amz-Credential=c&response-expires=e";
        let request = http::Request::builder()
            .uri(uri)
            .header("range", "x")
            .header("authorization", "y")
            .body(())
            .unwrap();
        let mut parts = request.into_parts().0;
        assert!(is_ignored(&parts));
        forget(&mut parts);
        assert_eq!(parts.uri, "/b/k?versionId=x&response-expires=e");
        assert!(parts.headers.is_empty() && !is_ignored(&parts));
    }
}
