//! What is amended in answers of the protocol library before they go out.

use crate::front::refusal;
use crate::messages::{self, About};
use crate::protocol::content_sha256_mismatch;
use crate::question::{Question, pairs};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Uri, header};
use s3s::{Body, s3_error};

/// GetObjectAttributes alone has its ETag without quotes, which the protocol library always writes.
pub(crate) fn unquote_etag(response: &mut Response<Body>) {
    let Some(text) = response
        .body()
        .bytes()
        .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok())
    else {
        return;
    };
    let plain = ["\"", "&quot;"].into_iter().fold(text, |text, quote| {
        text.replace(&format!("<ETag>{quote}"), "<ETag>")
            .replace(&format!("{quote}</ETag>"), "</ETag>")
    });
    *response.body_mut() = Body::from(plain);
}

/// AWS answers to tags of a bucket with the status of nothing to say.
pub(crate) fn no_content(response: &mut Response<Body>, question: Question) {
    if question.operation == Some("PutBucketTagging") && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
}

/// What the protocol library does for GET and leaves out for HEAD: the status of a part of an
/// object, and headers that were asked for.
pub(crate) fn as_of_get(response: &mut Response<Body>, uri: &Uri) {
    if !response.status().is_success() {
        return;
    }
    if response.headers().contains_key(header::CONTENT_RANGE) {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    if uri.query().is_some_and(|query| query.contains("response-")) {
        let asked = pairs(uri).into_iter().filter_map(|(name, value)| {
            let name = name.strip_prefix("response-")?.parse::<HeaderName>().ok()?;
            Some((name, HeaderValue::from_str(&value).ok()?))
        });
        response.headers_mut().extend(asked);
    }
}

/// Whether an answer is the protocol library's to a body that it could not read: it reads bodies of
/// XML before the operations, and says no more of why that failed than that it did. Our own
/// internal errors have a message.
pub(crate) fn is_unread_body(response: &Response<Body>) -> bool {
    let silent = |bytes: &[u8]| !bytes.windows(9).any(|window| window == b"<Message>");
    response.status() == StatusCode::INTERNAL_SERVER_ERROR
        && response.body().bytes().is_some_and(|bytes| silent(&bytes))
}

/// As the protocol says that a body is not what was signed.
pub(crate) fn unread_body() -> Response<Body> {
    refusal(content_sha256_mismatch())
}

/// As the protocol says that a body did not come in time.
pub(crate) fn too_slow() -> Response<Body> {
    refusal(s3_error!(
        RequestTimeout,
        "Your socket connection to the server was not read from or written to within the timeout period."
    ))
}

/// The document of an error; `None` for any other answer.
pub(crate) fn document(status: StatusCode, body: &Body) -> Option<String> {
    let error = status.is_client_error() || status.is_server_error();
    String::from_utf8(error.then(|| body.bytes()).flatten()?.to_vec()).ok()
}

/// Errors say what they are, and of which request.
pub(crate) fn decorated(
    headers: &mut HeaderMap,
    status: StatusCode,
    body: Body,
    about: impl FnOnce() -> About,
) -> Body {
    let Some(text) = document(status, &body).and_then(|text| messages::completed(&text, &about()))
    else {
        return body;
    };
    if let Ok(length) = HeaderValue::from_str(&text.len().to_string())
        && headers.contains_key(header::CONTENT_LENGTH)
    {
        headers.insert(header::CONTENT_LENGTH, length);
    }
    Body::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use s3s::{S3Error, S3ErrorCode};

    #[test]
    fn errors_say_which_request_they_are_of() {
        let (mut parts, body) = refusal(s3_error!(NoSuchKey, "gone")).into_parts();
        let about = || About {
            key: None,
            path: "/b/k".into(),
            now_ms: 0,
            request_id: "ID7".into(),
        };
        let body = decorated(&mut parts.headers, parts.status, body, about)
            .bytes()
            .unwrap();
        let end =
            "<Message>gone</Message><Resource>/b/k</Resource><RequestId>ID7</RequestId></Error>";
        assert!(std::str::from_utf8(&body).unwrap().ends_with(end));
    }

    #[test]
    fn an_internal_error_without_a_message_is_a_body_that_was_not_as_signed() {
        assert!(is_unread_body(&refusal(S3Error::new(
            S3ErrorCode::InternalError
        ))));
        assert!(!is_unread_body(&refusal(s3_error!(InternalError, "ours"))));
        assert_eq!(unread_body().status(), StatusCode::BAD_REQUEST);
    }
}
