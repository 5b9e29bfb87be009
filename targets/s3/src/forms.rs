//! Objects by POST, as pages in browsers send them.
//!
//! A form becomes the PUT that it stands for: its fields are read and its policy and signature
//! checked before the first byte of its file is taken, then the file streams into the store as any
//! other body does. Fields that are no headers of a PUT are never made one.

mod parser;
mod policy;
mod signature;

#[cfg(feature = "fuzzing")]
pub(crate) use parser::{Event, Parser};

use crate::documents;
use crate::keyring::Keyring;
use crate::protocol::{Base, Tagged, custom, malformed_xml, tags_of, url_encoded};
use crate::storage::WallClock;
use bytes::Bytes;
use house::{Inbound, Peer};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::{Body as _, Frame};
use parser::FormError;
#[cfg(not(feature = "fuzzing"))]
use parser::{Event, Parser};
use policy::{FormPolicy, Sizes};
use s3s::dto::Tagging;
use s3s::{Body, S3Error, S3ErrorCode, S3Result, StdError, s3_error};
use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

/// The most bytes of a form's file, as AWS has it for one upload.
const MOST_FILE: u64 = 5 << 30;
/// Fields that are headers of the PUT under their own names.
const HEADERS: [&str; 8] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-storage-class",
    "x-amz-website-redirect-location",
];
/// Beginnings of such names.
const HEADER_PREFIXES: [&str; 5] = [
    "x-amz-meta-",
    "x-amz-checksum-",
    "x-amz-sdk-checksum-",
    "x-amz-object-lock-",
    "x-amz-server-side-encryption",
];
/// Fields that are about the form itself.
const OWN: [&str; 6] = [
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-signature",
    "x-amz-security-token",
    "x-amz-content-sha256",
];

/// Who sent a form, as it proved: an access key, or nobody known.
#[derive(Clone)]
pub(crate) struct Sender(pub(crate) Option<String>);

/// What checks forms.
pub(crate) struct Forms {
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) clock: WallClock,
    pub(crate) region: String,
}

/// Whether a request is a form, which nothing else may read: its content would be held in memory.
pub(crate) fn is_form<B>(request: &Request<B>) -> bool {
    let form =
        |value: &HeaderValue| parser::is_form_data(&String::from_utf8_lossy(value.as_bytes()));
    request.method() == Method::POST
        && request
            .headers()
            .get_all(header::CONTENT_TYPE)
            .iter()
            .any(form)
}

/// Refuses a POST to a bucket that asks for nothing but what a form would, and is none. Errors:
/// `PreconditionFailed`.
pub(crate) fn check_enclosure<B>(request: &Request<B>) -> S3Result<()> {
    let path = request.uri().path().trim_matches('/');
    let plain = request.method() == Method::POST && request.uri().query().is_none_or(str::is_empty);
    if plain && !path.is_empty() && !path.contains('/') && !is_form(request) {
        return Err(s3_error!(
            PreconditionFailed,
            "Bucket POST must be of the enclosure-type multipart/form-data"
        ));
    }
    Ok(())
}

/// The body of a form as its parser reads it.
struct Reading {
    body: Inbound,
    parser: Parser,
}

impl Reading {
    /// `Starving` never comes out.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, FormError>> {
        loop {
            match self.parser.next()? {
                Event::Starving => {}
                event @ (Event::Field { .. }
                | Event::FileBegins { .. }
                | Event::FileData(_)
                | Event::FileEnds) => {
                    return Poll::Ready(Ok(event));
                }
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => self.parser.feed(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(_)) | None => return Poll::Ready(Err(FormError::Incomplete)),
            }
        }
    }
}

/// The file of a form as a body of its own.
struct FormFile {
    reading: Reading,
    sizes: Sizes,
    taken: u64,
    ended: bool,
    /// Why the file is not taken, for the answer.
    wrong: Arc<OnceLock<FormError>>,
}

impl FormFile {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, FormError>> {
        if self.ended {
            return Poll::Ready(Ok(None));
        }
        match ready!(self.reading.poll_next(context))? {
            Event::FileData(bytes) => {
                self.taken += bytes.len() as u64;
                self.sizes.check_so_far(self.taken)?;
                Poll::Ready(Ok(Some(bytes)))
            }
            Event::FileEnds => {
                self.ended = true;
                self.sizes.check_whole(self.taken)?;
                Poll::Ready(Ok(None))
            }
            Event::Field { .. } | Event::FileBegins { .. } | Event::Starving => {
                Poll::Ready(Err(FormError::Malformed))
            }
        }
    }
}

impl http_body::Body for FormFile {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        match ready!(self.poll(context)) {
            Ok(bytes) => Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes)))),
            Err(error) => {
                self.ended = true;
                let _ = self.wrong.set(error);
                Poll::Ready(Some(Err(error.into())))
            }
        }
    }
}

/// A form up to its file.
struct Form {
    bucket: String,
    key: String,
    /// By their names in lower case, each once.
    fields: Vec<(String, String)>,
    reading: Reading,
}

impl Form {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What is answered once the object is made.
pub(crate) struct FormAnswer {
    bucket: String,
    key: String,
    /// Where the object is.
    location: String,
    redirect: Option<String>,
    status: StatusCode,
    wrong: Arc<OnceLock<FormError>>,
}

impl Forms {
    /// Reads a form up to its file, and makes the PUT that it stands for. Errors: what is wrong
    /// with it, of which nothing was taken.
    pub(crate) async fn open(
        &self,
        parts: &Parts,
        body: Option<Inbound>,
    ) -> S3Result<(Request<Body>, FormAnswer)> {
        let mut form = read(parts, body).await?;
        let now_ms = (self.clock)();
        let access_key =
            signature::signer(|name| form.field(name), &self.keyring, &self.region, now_ms)?;
        if form.key.is_empty() {
            return Err(signature::missing("key"));
        }
        let mut sizes = Sizes::any(MOST_FILE);
        if let Some(policy) = form.field("policy") {
            let policy = FormPolicy::parse(policy)?;
            policy.check(&form.bucket, &form.fields, now_ms)?;
            sizes = policy.sizes().at_most(MOST_FILE);
        }
        let mut headers = headers(&mut form)?;
        for name in [header::HOST.as_str(), "x-amz-expected-bucket-owner"] {
            if let (Ok(name), Some(value)) = (HeaderName::try_from(name), parts.headers.get(name)) {
                headers.insert(name, value.clone());
            }
        }
        let answer = FormAnswer::new(parts, &form);
        let Form {
            bucket,
            key,
            reading,
            ..
        } = form;
        let uri = format!("/{bucket}/{}", url_encoded(&key));
        let wrong = Arc::clone(&answer.wrong);
        let mut request = Request::new(Body::http_body(FormFile {
            reading,
            sizes,
            taken: 0,
            ended: false,
            wrong,
        }));
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = uri.parse().or(Err(malformed()))?;
        *request.headers_mut() = headers;
        *request.extensions_mut() = parts.extensions.clone();
        request.extensions_mut().insert(Sender(access_key));
        Ok((request, answer))
    }
}

/// All fields before the file.
async fn read(parts: &Parts, body: Option<Inbound>) -> S3Result<Form> {
    let mut path = parts.uri.path().trim_start_matches('/').splitn(2, '/');
    let bucket = path.next().unwrap_or_default().to_owned();
    if bucket.is_empty() || path.next().is_some_and(|key| !key.is_empty()) {
        return Err(s3_error!(
            MethodNotAllowed,
            "The specified method is not allowed against this resource."
        ));
    }
    let mut types = parts.headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(content_type), None) = (types.next(), types.next()) else {
        return Err(malformed());
    };
    let boundary = content_type
        .to_str()
        .ok()
        .and_then(parser::boundary)
        .ok_or_else(malformed)?;
    let body = body.ok_or_else(malformed)?;
    let mut reading = Reading {
        body,
        parser: Parser::new(&boundary),
    };
    let mut fields: Vec<(String, String)> = Vec::new();
    loop {
        match poll_fn(|context| reading.poll_next(context))
            .await
            .map_err(refusal)?
        {
            Event::Field { name, .. } if fields.iter().any(|(field, _)| *field == name) => {
                return Err(s3_error!(
                    InvalidArgument,
                    "POST has the field '{name}' twice."
                ));
            }
            Event::Field { name, value } => fields.push((name, value)),
            Event::FileBegins { name } => {
                // Some browsers send the whole path.
                let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
                let key = fields.iter_mut().find(|(field, _)| field == "key");
                let key = key.map(|(_, key)| {
                    *key = key.replace("${filename}", name);
                    key.clone()
                });
                return Ok(Form {
                    bucket,
                    key: key.unwrap_or_default(),
                    fields,
                    reading,
                });
            }
            Event::FileData(_) | Event::FileEnds | Event::Starving => return Err(malformed()),
        }
    }
}

fn malformed() -> S3Error {
    refusal(FormError::Malformed)
}

fn refusal(error: FormError) -> S3Error {
    match error {
        FormError::Malformed => {
            s3_error!(
                MalformedPOSTRequest,
                "The body of your POST request is not well-formed multipart/form-data."
            )
        }
        FormError::FieldsTooLong => custom(
            "MaxPostPreDataLengthExceeded",
            StatusCode::BAD_REQUEST,
            "Your POST request fields preceding the upload file was too large.",
        ),
        FormError::NoFile => s3_error!(
            InvalidArgument,
            "POST requires exactly one file upload per request."
        ),
        FormError::Incomplete => {
            s3_error!(IncompleteBody, "The request body terminated unexpectedly")
        }
        FormError::TooLong { most } => {
            s3_error!(
                EntityTooLarge,
                "Your proposed upload exceeds the maximum allowed size of {most} bytes"
            )
        }
        FormError::TooShort { size, least } => {
            s3_error!(
                EntityTooSmall,
                "Your proposed upload of {size} bytes is smaller than the minimum allowed size of {least} bytes"
            )
        }
    }
}

/// The headers of the PUT that a form stands for. Errors: `NotImplemented` for what would have to
/// be ignored.
fn headers(form: &mut Form) -> S3Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in std::mem::take(&mut form.fields) {
        let header = match name.as_str() {
            "acl" => Some(("x-amz-acl", value.clone())),
            "tagging" => Some(("x-amz-tagging", tagging(&value)?)),
            name if HEADERS.contains(&name)
                || HEADER_PREFIXES
                    .iter()
                    .any(|prefix| name.starts_with(prefix)) =>
            {
                Some((name, value.clone()))
            }
            name if name.starts_with("x-amz-") && !OWN.contains(&name) => {
                return Err(s3_error!(
                    NotImplemented,
                    "The field {name} of a form is not implemented"
                ));
            }
            _ => None,
        };
        if let Some((header, value)) = header.filter(|(_, value)| !value.is_empty()) {
            let invalid = || {
                s3_error!(
                    InvalidArgument,
                    "The field {name} of the form cannot be a header"
                )
            };
            let header = HeaderName::try_from(header).or(Err(invalid()))?;
            headers.insert(
                header,
                HeaderValue::from_bytes(value.as_bytes()).or(Err(invalid()))?,
            );
        }
        form.fields.push((name, value));
    }
    Ok(headers)
}

/// The document of a form's tags as the header of a PUT. Errors: `MalformedXML`, `InvalidTag`.
fn tagging(document: &str) -> S3Result<String> {
    let tagging: Tagging = documents::read(document.trim().as_bytes()).ok_or_else(malformed_xml)?;
    let mut header = String::new();
    for (key, value) in tags_of(tagging, Tagged::Object)? {
        let join = if header.is_empty() { "" } else { "&" };
        let _ = write!(
            header,
            "{join}{}={}",
            url_encoded(&key),
            url_encoded(&value)
        );
    }
    Ok(header)
}

/// Scheme and host as the client has them.
pub(crate) fn base(parts: &Parts) -> Base {
    let tls = parts.extensions.get::<Peer>().is_some_and(|peer| peer.tls);
    let host = parts.uri.authority().map(|authority| authority.as_str());
    let host = host
        .or_else(|| {
            parts
                .headers
                .get(header::HOST)
                .and_then(|host| host.to_str().ok())
        })
        .unwrap_or_default();
    Base(format!("{}://{host}", if tls { "https" } else { "http" }))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl FormAnswer {
    fn new(parts: &Parts, form: &Form) -> Self {
        let Base(base) = base(parts);
        let location = format!("{base}/{}/{}", form.bucket, url_encoded(&form.key));
        let redirect = form
            .field("success_action_redirect")
            .or_else(|| form.field("redirect"));
        // What is no address is ignored, as AWS does.
        let redirect = redirect.filter(|text| {
            (text.starts_with("http://") || text.starts_with("https://"))
                && text.parse::<http::Uri>().is_ok()
        });
        let status = match form.field("success_action_status") {
            Some("200") => StatusCode::OK,
            Some("201") => StatusCode::CREATED,
            Some(_) | None => StatusCode::NO_CONTENT,
        };
        let (bucket, key, redirect) = (
            form.bucket.clone(),
            form.key.clone(),
            redirect.map(str::to_owned),
        );
        Self {
            bucket,
            key,
            location,
            redirect,
            status,
            wrong: Arc::default(),
        }
    }

    /// The answer to the form from that to its PUT.
    pub(crate) fn finish(self, put: Response<Body>) -> Result<Response<Body>, S3Error> {
        if let Some(wrong) = self.wrong.get() {
            return Err(refusal(*wrong));
        }
        if !put.status().is_success() {
            return Ok(put);
        }
        let (mut parts, _) = put.into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::CONTENT_TYPE);
        let etag = parts
            .headers
            .get(header::ETAG)
            .and_then(|etag| etag.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let mut body = Body::empty();
        let mut location = self.location;
        parts.status = self.status;
        if let Some(redirect) = self.redirect {
            let join = if redirect.contains('?') { '&' } else { '?' };
            let (bucket, key, etag) = (
                url_encoded(&self.bucket),
                url_encoded(&self.key),
                url_encoded(&etag),
            );
            location = format!("{redirect}{join}bucket={bucket}&key={key}&etag={etag}");
            parts.status = StatusCode::SEE_OTHER;
        } else if self.status == StatusCode::CREATED {
            body = Body::from(format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PostResponse xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Location>{}</Location><Bucket>{}</Bucket><Key>{}</Key><ETag>{}</ETag></PostResponse>",
                escaped(&location),
                escaped(&self.bucket),
                escaped(&self.key),
                escaped(&etag)
            ));
            parts.headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/xml"),
            );
        }
        let unnamed = |_| S3Error::new(S3ErrorCode::InternalError);
        parts.headers.insert(
            header::LOCATION,
            HeaderValue::try_from(location).map_err(unnamed)?,
        );
        Ok(Response::from_parts(parts, body))
    }
}
