//! What is refused or made of a request before the protocol reads it.

use crate::protocol::{BucketConfiguration, custom, malformed_xml};
use crate::question::Question;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body::Body as _;
use s3s::{Body, S3Result, s3_error};
use std::future::poll_fn;
use std::pin::Pin;

/// The most bytes of all headers of a request together.
const MOST_HEADERS: usize = 16 << 10;
/// The most bytes of the document with which a bucket is made: a location and 50 tags.
const MOST_CONFIGURATION: usize = 128 << 10;

/// Refuses what the protocol library would take: too many bytes of headers, digests of nothing, and
/// signatures of version 2.
pub(crate) fn check_head<B>(request: &Request<B>) -> S3Result<()> {
    let bytes: usize = request
        .headers()
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if bytes > MOST_HEADERS {
        let message = "Your request header section exceeds the maximum allowed size";
        return Err(custom(
            "RequestHeaderSectionTooLarge",
            StatusCode::BAD_REQUEST,
            message,
        ));
    }
    // The protocol library takes an empty one for none, and the bytes would go unchecked.
    if request
        .headers()
        .get("content-md5")
        .is_some_and(HeaderValue::is_empty)
    {
        return Err(s3_error!(
            InvalidDigest,
            "The Content-MD5 you specified is not valid."
        ));
    }
    let second = request
        .headers()
        .get(header::AUTHORIZATION)
        .is_some_and(|value| value.as_bytes().starts_with(b"AWS "));
    let presigned = request.uri().query().is_some_and(|query| {
        query
            .split('&')
            .any(|pair| pair.starts_with("AWSAccessKeyId="))
    });
    if second || presigned {
        return Err(s3_error!(
            InvalidRequest,
            "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
        ));
    }
    check_route(request)
}

/// Refuses what AWS refuses in other words than that it is not implemented. Errors:
/// `MethodNotAllowed`, `InvalidRequest`.
fn check_route<B>(request: &Request<B>) -> S3Result<()> {
    let (path, query) = (
        request.uri().path().trim_start_matches('/'),
        request.uri().query().unwrap_or_default(),
    );
    let object = path.split_once('/').is_some_and(|(_, key)| !key.is_empty());
    if *request.method() == Method::POST && query.is_empty() && (path.is_empty() || object) {
        return Err(s3_error!(
            MethodNotAllowed,
            "The specified method is not allowed against this resource."
        ));
    }
    let names = || {
        query
            .split('&')
            .map(|pair| pair.split('=').next().unwrap_or_default())
    };
    match names().find(|name| matches!(*name, "versions" | "uploads")) {
        Some(name) if object && *request.method() == Method::GET => Err(s3_error!(
            InvalidRequest,
            "There is no such thing as the ?{} sub-resource for a key",
            name
        )),
        Some(_) | None => Ok(()),
    }
}

/// Keeps what makes a bucket for the operation besides, as the protocol library reads only half of
/// it.
pub(crate) async fn configured(
    parts: &mut Parts,
    question: Question,
    body: Body,
) -> S3Result<Body> {
    if question.operation != Some("CreateBucket") {
        return Ok(body);
    }
    let text = configuration(body).await?;
    parts.extensions.insert(BucketConfiguration(text.clone()));
    Ok(Body::from(text))
}

/// The document with which a bucket is made. Errors: `MalformedXML` for one that is too long or no
/// text.
async fn configuration(mut body: Body) -> S3Result<String> {
    let mut text = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.or(Err(s3_error!(
            IncompleteBody,
            "The request body terminated unexpectedly"
        )))?;
        text.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        if text.len() > MOST_CONFIGURATION {
            return Err(malformed_xml());
        }
    }
    String::from_utf8(text).or(Err(malformed_xml()))
}

/// Makes one of user metadata that comes under one name several times, as AWS does; the signature
/// is the same.
pub(crate) fn join_metadata(headers: &mut HeaderMap) {
    if headers.len() == headers.keys_len() {
        return;
    }
    let several = |name: &&HeaderName| {
        name.as_str().starts_with("x-amz-meta-") && headers.get_all(*name).iter().nth(1).is_some()
    };
    let names: Vec<HeaderName> = headers.keys().filter(several).cloned().collect();
    for name in names {
        let values: Vec<&[u8]> = headers
            .get_all(&name)
            .iter()
            .map(|value| value.as_bytes().trim_ascii())
            .collect();
        if let Ok(joined) = HeaderValue::from_bytes(&values.join(&b","[..])) {
            headers.insert(name, joined);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_key_has_is_said_in_the_words_of_aws() {
        let code = |method: &str, uri: &str| {
            let request = Request::builder().method(method).uri(uri).body(()).unwrap();
            check_head(&request).map_err(|error| error.code().as_str().to_owned())
        };
        for (method, uri) in [("POST", "/"), ("POST", "/b/k")] {
            assert_eq!(
                code(method, uri),
                Err("MethodNotAllowed".to_owned()),
                "{method} {uri}"
            );
        }
        for uri in ["/b/k?uploads", "/b/k?versions=&x=1"] {
            assert_eq!(code("GET", uri), Err("InvalidRequest".to_owned()), "{uri}");
        }
        for (method, uri) in [
            ("POST", "/b"),
            ("POST", "/b/k?uploads"),
            ("GET", "/b?versions"),
            ("GET", "/b/?uploads"),
        ] {
            assert_eq!(code(method, uri), Ok(()), "{method} {uri}");
        }
    }

    #[test]
    fn user_metadata_of_one_name_is_one_with_commas() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-amz-meta-a", "1"),
            ("x-amz-meta-a", " 2 "),
            ("x-amz-meta-b", "3"),
            ("accept", "x"),
            ("accept", "y"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        join_metadata(&mut headers);
        assert_eq!(
            (&headers["x-amz-meta-a"], &headers["x-amz-meta-b"]),
            (
                &HeaderValue::from_static("1,2"),
                &HeaderValue::from_static("3")
            )
        );
        assert_eq!(headers.get_all("accept").iter().count(), 2);
    }
}
