//! What stands before the protocol: the server's own pages, questions of browsers, misbehaviour on
//! command, counting.

use crate::access::Passed;
use crate::amend::{
    as_of_get, decorated, document, is_unread_body, no_content, too_slow, unquote_etag, unread_body,
};
use crate::arrival::{check_head, configured, join_metadata};
use crate::cors::{self, Preflight};
use crate::forms::{self, Forms, Sender};
use crate::guard::{Found, Guard};
use crate::journal::{Entry, Journal, Said};
use crate::messages;
use crate::pages::unknown_page;
use crate::protocol::custom;
use crate::question::{Question, hoisted};
use crate::range;
use crate::signed::{self, Refused};
use crate::storage::{ObjectStore, StorageError, WallClock};
use house::{Answered, Asked, Inbound, LogLine, NoPage, ORDERS, OwnPage, Pages, Site, Told};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use s3s::service::S3Service;
use s3s::{Body, S3Error, S3ErrorCode, S3Result, s3_error};
use std::sync::Arc;

/// The bucket name that the server's own pages take.
pub(crate) const OWN_PAGES: &str = "fathom";

/// The operations that can be made to misbehave apart from each other.
pub const OPERATION_KINDS: [&str; 6] = ["get", "head", "put", "post", "delete", "list"];

/// One server's state before the protocol.
pub(crate) struct Front {
    pub(crate) forms: Forms,
    pub(crate) service: S3Service,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) pages: Arc<Pages>,
    /// Told of each change of misbehaviour.
    pub(crate) log: LogLine,
    /// Where this server's buckets are, as signatures name it.
    pub(crate) region: String,
    /// Where a line of each request goes, if anywhere.
    pub(crate) journal: Option<Journal>,
    pub(crate) clock: WallClock,
    /// Distinguishes the request ids of one run from those of another.
    pub(crate) run: u64,
}

/// Which kind of operation a request is, from its line alone.
fn kind(method: &Method, uri: &Uri) -> &'static str {
    let path = uri.path().trim_start_matches('/');
    let object = path.split_once('/').is_some_and(|(_, key)| !key.is_empty());
    match *method {
        Method::GET if object => "get",
        Method::GET => "list",
        Method::HEAD => "head",
        Method::PUT => "put",
        Method::DELETE => "delete",
        _ => "post",
    }
}

impl Site for Front {
    type Body = Body;

    fn kind(&self, method: &Method, uri: &Uri) -> &'static str {
        kind(method, uri)
    }

    async fn answer(
        &self,
        request: Request<Option<Inbound>>,
        asked: Asked,
    ) -> (Response<Body>, Option<Told>) {
        let is_head = request.method() == Method::HEAD;
        let mut entry = self
            .journal
            .as_ref()
            .map(|journal| Entry::new(journal, &request, asked.peer));
        let said = Said::of(&request);
        let response = match asked.failure {
            Some(status) => failure(status),
            None => self.serve(request, asked.number).await,
        };
        let (mut parts, body) = response.into_parts();
        let id = format!("{:016X}", self.run ^ asked.number);
        if let Some(entry) = &mut entry {
            entry.answered(document(parts.status, &body).as_deref());
        }
        let body = decorated(&mut parts.headers, parts.status, body, || {
            said.about((self.clock)(), &id)
        });
        // HTTP/1.1 leaves the content of such an answer out by itself; over HTTP/2 it would break
        // the stream (RFC 9110, 9.3.2).
        let body = if is_head { Body::empty() } else { body };
        if let Ok(value) = HeaderValue::from_str(&id) {
            parts.headers.insert("x-amz-request-id", value);
        }
        let told = entry.map(|entry| Box::new(move |answered: &Answered| entry.end(answered)) as _);
        (Response::from_parts(parts, body), told)
    }
}

/// The answer to a request that is to fail.
fn failure(status: u16) -> Response<Body> {
    let code = if status == 503 {
        S3ErrorCode::SlowDown
    } else {
        S3ErrorCode::InternalError
    };
    let mut error = S3Error::with_message(code, "This server was told to misbehave.");
    error
        .set_status_code(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    refusal(error)
}

impl Front {
    async fn serve(&self, request: Request<Option<Inbound>>, number: u64) -> Response<Body> {
        let request = match self.ordered(request, number).await {
            Ok(page) => return page,
            Err(request) => *request,
        };
        if let Some(page) = self.own_page(&request) {
            return page;
        }
        if let Err(refused) = check_head(&request)
            .map_err(Refused::from)
            .and_then(|()| signed::check(&request, &self.region))
        {
            return refusal_with(refused);
        }
        if request.method() == Method::OPTIONS {
            return self.preflight(&request);
        }
        let question = match Question::of(&request)
            .and_then(|question| forms::check_enclosure(&request).map(|()| question))
        {
            Ok(question) => question,
            Err(error) => return refusal(error),
        };
        let is_form = forms::is_form(&request);
        let origin = request
            .headers()
            .get(header::ORIGIN)
            .and_then(|value| value.to_str().ok());
        let cross = origin.map(|origin| {
            cors::of_request(
                &*self.store,
                bucket(request.uri()),
                origin,
                request.method().as_str(),
            )
        });
        let (mut parts, inbound) = request.into_parts();
        parts.extensions.insert(question);
        if question.operation == Some("CompleteMultipartUpload") {
            parts.extensions.insert(forms::base(&parts));
        }
        join_metadata(&mut parts.headers);
        for (name, value) in hoisted(&parts.uri) {
            parts.headers.entry(name).or_insert(value);
        }
        let found = Found::default();
        let heads = (parts.method == Method::HEAD).then(|| parts.uri.clone());
        let response = if is_form {
            self.form(&parts, inbound.clone()).await
        } else {
            match self.object(parts, inbound.clone(), question, &found).await {
                Ok(response) => response,
                Err(error) => return refusal(found.take().unwrap_or(error)),
            }
        };
        let mut response = amended(response, question, heads, found);
        if !response.status().is_success() && inbound.is_some_and(|body| body.was_given_up()) {
            response = too_slow();
        }
        response.headers_mut().extend(cross.unwrap_or_default());
        response
    }

    /// Answers what is no form. Errors: of a body that is refused before the protocol sees it.
    async fn object(
        &self,
        mut parts: Parts,
        inbound: Option<Inbound>,
        question: Question,
        found: &Found,
    ) -> S3Result<Response<Body>> {
        let body = guarded(inbound, &parts.headers, question, found)?;
        let body = configured(&mut parts, question, body).await?;
        Ok(if range::is_ignored(&parts) {
            self.call_without_range(parts, body).await
        } else {
            self.call(Request::from_parts(parts, body)).await
        })
    }

    async fn call(&self, request: Request<Body>) -> Response<Body> {
        match self.service.call(request).await {
            Ok(response) => response,
            Err(_) => refusal(s3_error!(
                InternalError,
                "We encountered an internal error. Please try again."
            )),
        }
    }

    /// Makes the object of a form.
    async fn form(&self, parts: &Parts, body: Option<Inbound>) -> Response<Body> {
        match self.forms.open(parts, body).await {
            Ok((put, answer)) => answer.finish(self.call(put).await).unwrap_or_else(refusal),
            Err(error) => refusal(error),
        }
    }

    /// Answers as if the range were not there, which is refused by the protocol library and may be
    /// signed: once it has found that the request is signed and permitted, the same is asked
    /// again without, in the name of who asked.
    async fn call_without_range(&self, mut parts: Parts, body: Body) -> Response<Body> {
        let passed = Passed::default();
        parts.extensions.insert(passed.clone());
        let mut again = parts.clone();
        let response = self.call(Request::from_parts(parts, body)).await;
        let Some(asker) = passed
            .asker()
            .filter(|_| response.status() == StatusCode::BAD_REQUEST)
        else {
            return response;
        };
        range::forget(&mut again);
        again.extensions.insert(Sender(asker));
        self.call(Request::from_parts(again, Body::empty())).await
    }

    /// Changes what is done to requests, for who shows the secret of an admin. Other requests are
    /// given back; an order without a secret is refused as such, whatever else it shows.
    async fn ordered(
        &self,
        request: Request<Option<Inbound>>,
        number: u64,
    ) -> Result<Response<Body>, Box<Request<Option<Inbound>>>> {
        let shown = request.headers().get(header::AUTHORIZATION);
        let secret = shown.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let is_order = request.method() == Method::POST && request.uri().path() == ORDERS;
        if !is_order {
            return Err(Box::new(request));
        }
        if !secret.is_some_and(|secret| self.pages.about.is_admin_secret(secret)) {
            return Ok(refusal(s3_error!(AccessDenied, "Access Denied")));
        }
        let page = self.pages.ordered(request.into_body(), number).await;
        (self.log)(&format!("misbehave: {}", page.text.trim_end()));
        Ok(page_response(page))
    }

    /// The pages that need no signature.
    fn own_page<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let page = self
            .pages
            .asked(request.method(), request.uri(), request.headers())?;
        Some(match page {
            Ok(page) => page_response(page),
            Err(NoPage::Denied) => refusal(s3_error!(AccessDenied, "Access Denied")),
            Err(NoPage::Unknown) => refusal(unknown_page()),
        })
    }

    fn preflight<B>(&self, request: &Request<B>) -> Response<Body> {
        let asked = match Preflight::asked(request.headers()) {
            Ok(asked) => asked,
            Err(error) => return refusal(error),
        };
        if let Err(StorageError::NoSuchBucket) = self.store.bucket(bucket(request.uri())) {
            return refusal(s3_error!(
                NoSuchBucket,
                "The specified bucket does not exist"
            ));
        }
        match cors::preflight(&*self.store, bucket(request.uri()), &asked) {
            Some(headers) => {
                let mut response = Response::new(Body::empty());
                response.headers_mut().extend(headers);
                response
            }
            None => refusal(custom(
                "AccessForbidden",
                StatusCode::FORBIDDEN,
                "CORSResponse: This CORS request is not allowed.",
            )),
        }
    }
}

/// An answer of the protocol library as AWS would give it.
fn amended(
    mut response: Response<Body>,
    question: Question,
    heads: Option<Uri>,
    found: Found,
) -> Response<Body> {
    no_content(&mut response, question);
    if let Some(uri) = heads {
        as_of_get(&mut response, &uri);
    }
    if is_unread_body(&response) {
        response = unread_body();
    }
    if let Some(error) = found.take() {
        response = refusal(error);
    }
    if question.operation == Some("GetObjectAttributes") && response.status().is_success() {
        unquote_etag(&mut response);
    }
    response
}

/// The body of a request as the protocol library reads it. Errors: `IncompleteBody` for chunks of
/// which not even the last came.
fn guarded(
    inbound: Option<Inbound>,
    headers: &HeaderMap,
    question: Question,
    found: &Found,
) -> S3Result<Body> {
    let Some(inbound) = inbound else {
        return match Guard::new(|| (), headers, question, found)? {
            Some(guard) => guard.of_nothing().map(|()| Body::empty()),
            None => Ok(Body::empty()),
        };
    };
    Ok(Guard::new(|| inbound.clone(), headers, question, found)?
        .map_or_else(|| Body::http_body(inbound), Body::http_body))
}

pub(crate) fn bucket(uri: &Uri) -> &str {
    uri.path()
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default()
}

pub(crate) fn page_response(page: OwnPage) -> Response<Body> {
    let mut response = Response::new(Body::from(page.text));
    *response.status_mut() = page.status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(page.media_type),
    );
    response
}

/// An error as the protocol writes it.
pub(crate) fn refusal(error: S3Error) -> Response<Body> {
    error.to_http_response().unwrap_or_else(|_| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

/// As `refusal`, with what else AWS tells of it.
fn refusal_with(refused: Refused) -> Response<Body> {
    let mut response = refusal(refused.error);
    let extras = refused
        .extras
        .iter()
        .map(|(name, value)| format!("<{name}>{}</{name}>", messages::escaped(value)))
        .collect::<String>();
    let text = response
        .body()
        .bytes()
        .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    if let Some(head) = text
        .as_deref()
        .and_then(|text| text.strip_suffix("</Error>"))
    {
        *response.body_mut() = Body::from(format!("{head}{extras}</Error>"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, uri: &str, authorization: &str) -> Request<()> {
        Request::builder()
            .method(method)
            .uri(uri)
            .header("authorization", authorization)
            .body(())
            .unwrap()
    }

    #[test]
    fn the_kind_of_an_operation_is_seen_in_the_line() {
        let of = |method: Method, uri: &str| kind(&method, &uri.parse().unwrap());
        assert_eq!(
            [
                of(Method::GET, "/b/k"),
                of(Method::GET, "/b/?list-type=2"),
                of(Method::GET, "/"),
                of(Method::GET, "/b")
            ],
            ["get", "list", "list", "list"]
        );
        assert_eq!(
            [
                of(Method::PUT, "/b/k"),
                of(Method::DELETE, "/b"),
                of(Method::POST, "/b?delete"),
                of(Method::HEAD, "/b/k")
            ],
            ["put", "delete", "post", "head"]
        );
    }

    #[test]
    fn signatures_of_version_2_are_refused() {
        assert!(check_head(&request("GET", "/b/k", "AWS AKIA:sig")).is_err());
        assert!(
            check_head(&request(
                "GET",
                "/b/k?AWSAccessKeyId=A&Expires=1&Signature=s",
                ""
            ))
            .is_err()
        );
        assert!(check_head(&request("GET", "/b/k", "AWS4-HMAC-SHA256 Credential=…")).is_ok());
        assert!(check_head(&request("GET", "/b/k", &"x".repeat(20_000))).is_err());
    }

    #[test]
    fn an_empty_digest_is_not_taken_for_none() {
        let with = |digest: &str| {
            Request::builder()
                .uri("/b/k")
                .header("content-md5", digest)
                .body(())
                .unwrap()
        };
        assert_eq!(
            check_head(&with("")).unwrap_err().code().as_str(),
            "InvalidDigest"
        );
        assert!(check_head(&with("1B2M2Y8AsgTpgAmY7PhCfg==")).is_ok());
    }
}
