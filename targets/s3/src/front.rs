//! What stands before the protocol: the server's own pages, questions of browsers, misbehaviour on
//! command, counting.

use crate::access::{OperationCell, Passed};
use crate::amend::{
    as_of_get, decorated, document, is_unread_body, no_content, too_slow, unquote_etag, unread_body,
};
use crate::arrival::{check_head, configured, join_metadata};
use crate::cors::{self, Preflight};
use crate::forms::{self, Forms, Sender};
use crate::guard::{Found, Guard};
use crate::inbound::{Inbound, Waits};
use crate::journal::{Entry, Journal, Said};
use crate::keyring::Keyring;
use crate::messages;
use crate::metrics::{Metrics, Misbehaved};
use crate::outbound::Outbound;
use crate::pages::OwnPages;
use crate::policy::Peer;
use crate::protocol::custom;
use crate::question::{Question, hoisted};
use crate::range;
use crate::signed::{self, Refused};
use crate::storage::{ObjectStore, StorageError, WallClock};
use crate::throttle::Throttle;
use house::Patience;
use house::Wakes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body::Body as _;
use hyper::body::Incoming;
use misbehave::{Misbehaviour, Shaper, Treatment};
use s3s::service::S3Service;
use s3s::{Body, S3Error, S3ErrorCode, S3Result, s3_error};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::{Duration, Instant};
use units::Nanos;

/// The bucket name that the server's own pages take.
pub(crate) const OWN_PAGES: &str = "fathom";

/// The operations that can be made to misbehave apart from each other.
pub const OPERATION_KINDS: [&str; 6] = ["get", "head", "put", "post", "delete", "list"];

/// What is done to requests besides answering them.
pub(crate) struct Mischief {
    pub(crate) models: Misbehaviour,
    pub(crate) shaper: Mutex<Shaper>,
    pub(crate) wakes: Wakes,
}

/// One server's state before the protocol.
pub(crate) struct Front {
    pub(crate) forms: Forms,
    pub(crate) service: S3Service,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) mischief: Option<Arc<Mischief>>,
    /// Where this server's buckets are, as signatures name it.
    pub(crate) region: String,
    /// Where a line of each request goes, if anywhere.
    pub(crate) journal: Option<Journal>,
    pub(crate) clock: WallClock,
    pub(crate) started: Instant,
    /// How long a client that is waited for has.
    pub(crate) idle: Duration,
    /// Distinguishes the request ids of one run from those of another.
    pub(crate) run: u64,
    pub(crate) numbers: std::sync::atomic::AtomicU64,
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

impl Front {
    /// Answers one request. Every request is answered and counted once.
    pub(crate) async fn answer(
        &self,
        mut request: Request<Incoming>,
        peer: Peer,
    ) -> Response<Outbound> {
        let begun = Instant::now();
        request.extensions_mut().insert(peer);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let kind = kind(request.method(), request.uri());
        let is_head = request.method() == Method::HEAD;
        let mut entry = self
            .journal
            .as_ref()
            .map(|journal| Entry::new(journal, &request, peer));
        let said = Said::of(&request);
        let decision = self
            .mischief
            .as_ref()
            .map(|mischief| mischief.models.decide(kind, number))
            .unwrap_or_default();
        self.wait(kind, &decision, begun).await;
        let cell = OperationCell::new();
        self.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        let response = match decision.error {
            Some(status) => self.fail(request, status).await,
            None => self.serve(request, kind, &cell).await,
        };
        let (mut parts, body) = response.into_parts();
        let id = format!("{:016X}", self.run ^ number);
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
        let operation = cell.0.load(Ordering::Relaxed);
        let outbound = Outbound::new(
            body,
            Arc::clone(&self.metrics),
            operation,
            parts.status,
            begun,
            entry,
        );
        Response::from_parts(parts, self.shaped(outbound, kind, &decision))
    }

    /// Waits until as long after the request came as was commanded.
    async fn wait(&self, kind: &'static str, decision: &Treatment, begun: Instant) {
        let Some(mischief) = &self.mischief else {
            return;
        };
        let since = Nanos(u64::try_from((begun - self.started).as_nanos()).unwrap_or(u64::MAX));
        let turn = mischief
            .shaper
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .admit(&mischief.models, kind, since);
        let stalled = mischief
            .models
            .stalled(kind, Nanos(since.0.saturating_add(turn.0)));
        let delay = turn
            .0
            .saturating_add(stalled.0)
            .saturating_add(decision.delay.0);
        if delay > 0 {
            let asked = Duration::from_nanos(delay);
            mischief.wakes.clone().until(begun + asked).await;
            self.metrics.delayed(asked, begun.elapsed());
        }
    }

    fn shaped(&self, outbound: Outbound, kind: &'static str, decision: &Treatment) -> Outbound {
        match &self.mischief {
            Some(mischief) => outbound.shaped(Arc::clone(mischief), kind, decision, self.started),
            None => outbound,
        }
    }

    async fn fail(&self, request: Request<Incoming>, status: u16) -> Response<Body> {
        self.metrics.misbehaved(Misbehaved::Failed);
        let waits = if request.headers().contains_key(header::EXPECT) {
            Waits::ToBeTold
        } else {
            Waits::No
        };
        Inbound::new(request.into_body(), Patience::new(self.idle), None)
            .drain(waits)
            .await;
        let code = if status == 503 {
            S3ErrorCode::SlowDown
        } else {
            S3ErrorCode::InternalError
        };
        let mut error = S3Error::with_message(code, "This server was told to misbehave.");
        error.set_status_code(
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        );
        refusal(error)
    }

    /// The body of a request as the protocol reads it: with patience, and as fast as was commanded.
    fn inbound(&self, body: Incoming, kind: &'static str) -> Option<Inbound> {
        let throttle = || {
            self.mischief
                .as_ref()
                .map(|mischief| Throttle::new(Arc::clone(mischief), kind, self.started))
        };
        (!body.is_end_stream()).then(|| Inbound::new(body, Patience::new(self.idle), throttle()))
    }

    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    async fn serve(
        &self,
        request: Request<Incoming>,
        kind: &'static str,
        cell: &OperationCell,
    ) -> Response<Body> {
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
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(cell.clone());
        parts.extensions.insert(question);
        if question.operation == Some("CompleteMultipartUpload") {
            parts.extensions.insert(forms::base(&parts));
        }
        join_metadata(&mut parts.headers);
        for (name, value) in hoisted(&parts.uri) {
            parts.headers.entry(name).or_insert(value);
        }
        let waits = if parts.headers.contains_key(header::EXPECT) {
            Waits::ToBeTold
        } else {
            Waits::No
        };
        let inbound = self.inbound(body, kind);
        let found = Found::default();
        let heads = (parts.method == Method::HEAD).then(|| parts.uri.clone());
        let mut response = if is_form {
            self.form(&parts, inbound.clone()).await
        } else {
            let body = match guarded(inbound.clone(), &parts.headers, question, &found) {
                Ok(body) => configured(&mut parts, question, body).await,
                Err(error) => Err(error),
            };
            let body = match body {
                Ok(body) => body,
                Err(error) => return refusal(found.take().unwrap_or(error)),
            };
            if range::is_ignored(&parts) {
                self.call_without_range(parts, body).await
            } else {
                self.call(Request::from_parts(parts, body)).await
            }
        };
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
        if let Some(inbound) = inbound.filter(|_| !response.status().is_success()) {
            if inbound.was_given_up() {
                response = too_slow();
            }
            inbound.drain(waits).await;
        }
        response.headers_mut().extend(cross.unwrap_or_default());
        response
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

    /// The pages that need no signature: health for all, the others for who shows an admin's
    /// secret.
    fn own_page(&self, request: &Request<Incoming>) -> Option<Response<Body>> {
        let page = request.uri().path().strip_prefix("/fathom/")?;
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return None;
        }
        if page == "health" {
            return Some(match self.store.check() {
                Ok(()) => text_page("ok\n".to_owned()),
                Err(error) => {
                    let mut page = text_page(format!("{error}\n"));
                    *page.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                    page
                }
            });
        }
        let shown = request
            .headers()
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let secret = shown.and_then(|shown| shown.strip_prefix("Bearer "))?;
        if !self.keyring.is_admin_secret(secret) {
            return Some(refusal(s3_error!(AccessDenied, "Access Denied")));
        }
        let own = OwnPages {
            keyring: Arc::clone(&self.keyring),
            metrics: Arc::clone(&self.metrics),
            store: Arc::clone(&self.store),
        };
        Some(own.page(page).map_or_else(refusal, text_page))
    }

    fn preflight(&self, request: &Request<Incoming>) -> Response<Body> {
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

fn text_page(text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4"),
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
