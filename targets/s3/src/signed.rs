//! What a signature must be of, and cover, before the protocol library verifies it.
//!
//! The library compares the signature with the headers that the request says are signed, and obeys
//! those that are not as well: who holds the URL of one upload could add `x-amz-copy-source` and
//! read what only the signer may. All headers by which S3 is told what to do must therefore be
//! signed, in each of the forms that a signature of version 4 has; of a body in chunks that is the
//! signature in its head.

use crate::protocol::custom;
use crate::question::pairs;
use http::{HeaderMap, HeaderName, Request, StatusCode, header};
use s3s::{S3Error, s3_error};
use std::borrow::Cow;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// Seconds of a week, the longest that AWS lets a URL be good for.
const LONGEST: u64 = 604_800;
/// The region whose endpoint answers for buckets of all others where they are: clients ask it
/// before they know.
const ANY_REGION: &str = "us-east-1";

/// An error with what AWS tells besides its code and message.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: S3Error,
    pub(crate) extras: Vec<(&'static str, String)>,
}

impl From<S3Error> for Refused {
    fn from(error: S3Error) -> Self {
        Self {
            error,
            extras: Vec::new(),
        }
    }
}

/// Where in a request its signature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Header,
    Query,
}

impl Form {
    fn malformed(self, why: String) -> Refused {
        let (code, what) = match self {
            Self::Header => (
                "AuthorizationHeaderMalformed",
                "The authorization header is malformed; ",
            ),
            Self::Query => ("AuthorizationQueryParametersError", ""),
        };
        let mut error = custom(code, StatusCode::BAD_REQUEST, "");
        error.set_message(format!("{what}{why}"));
        error.into()
    }
}

/// What a signature says of itself.
struct Said<'a> {
    form: Form,
    /// Access key, date, region, service and `aws4_request`.
    credential: Cow<'a, str>,
    /// Names separated by `;`.
    signed: Cow<'a, str>,
}

/// Checks a request that is signed; one that is not passes. Errors: as AWS names them.
pub(crate) fn check<B>(request: &Request<B>, region: &str) -> Result<(), Refused> {
    let pairs = pairs(request.uri());
    let in_query = pairs.iter().any(|(name, _)| {
        matches!(
            name.as_ref(),
            "X-Amz-Signature" | "X-Amz-Algorithm" | "X-Amz-Credential"
        )
    });
    let mut headers = request.headers().get_all(header::AUTHORIZATION).iter();
    let said = match (headers.next(), headers.next(), in_query) {
        (None, _, false) => return Ok(()),
        (Some(value), None, false) => of_header(value.to_str().unwrap_or_default())?,
        (None, _, true) => of_query(&pairs)?,
        (Some(_), _, _) => {
            let why = "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified";
            return Err(s3_error!(InvalidArgument, "{why}").into());
        }
    };
    let asks_where = pairs.iter().any(|(name, _)| name == "location");
    check_scope(&said, region, asks_where)?;
    check_signed(&said, request.headers())
}

fn of_header(value: &str) -> Result<Said<'_>, Refused> {
    let form = Form::Header;
    let (algorithm, fields) = value.split_once(' ').unwrap_or((value, ""));
    if algorithm != ALGORITHM {
        return Err(s3_error!(
            InvalidArgument,
            "Unsupported Authorization Type; this server knows {}",
            ALGORITHM
        )
        .into());
    }
    let (mut credential, mut signed) = (None, None);
    for field in fields.split(',').map(str::trim_ascii) {
        if let Some(value) = field.strip_prefix("Credential=") {
            credential = Some(value);
        } else if let Some(value) = field.strip_prefix("SignedHeaders=") {
            signed = Some(value);
        }
    }
    let missing = |what: &str| form.malformed(format!("it has no {what}."));
    let credential = Cow::Borrowed(credential.ok_or_else(|| missing("Credential"))?);
    Ok(Said {
        form,
        credential,
        signed: Cow::Borrowed(signed.ok_or_else(|| missing("SignedHeaders"))?),
    })
}

fn of_query<'a>(pairs: &'a [(Cow<'a, str>, Cow<'a, str>)]) -> Result<Said<'a>, Refused> {
    let form = Form::Query;
    let field = |wanted: &str| {
        let mut found = pairs.iter().filter(|(name, _)| name == wanted);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Ok(value.as_ref()),
            (None, _) | (Some(_), Some(_)) => Err(form.malformed(
                "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.".to_owned(),
            )),
        }
    };
    let (credential, signed, expires) = (
        field("X-Amz-Credential")?,
        field("X-Amz-SignedHeaders")?,
        field("X-Amz-Expires")?,
    );
    let (algorithm, _, _) = (
        field("X-Amz-Algorithm")?,
        field("X-Amz-Signature")?,
        field("X-Amz-Date")?,
    );
    if algorithm != ALGORITHM {
        return Err(form.malformed(format!("X-Amz-Algorithm only supports \"{ALGORITHM}\"")));
    }
    match expires.parse::<i64>().map(u64::try_from) {
        Err(_) => Err(form.malformed("X-Amz-Expires should be a number".to_owned())),
        Ok(Err(_)) => Err(form.malformed("X-Amz-Expires must be non-negative".to_owned())),
        Ok(Ok(seconds)) if seconds > LONGEST => Err(form.malformed(format!(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than {LONGEST} seconds"
        ))),
        Ok(Ok(_)) => Ok(Said { form, credential: Cow::Borrowed(credential), signed: Cow::Borrowed(signed) }),
    }
}

/// What lies between these bytes of a text. It is compared byte by byte: each piece is shorter than
/// what a search for a character costs, and every request pays for it.
fn pieces(text: &str, between: u8) -> impl Iterator<Item = &[u8]> {
    text.as_bytes().split(move |byte| *byte == between)
}

fn check_scope(said: &Said<'_>, region: &str, asks_where: bool) -> Result<(), Refused> {
    let mut fields = pieces(&said.credential, b'/');
    let five: [_; 5] = std::array::from_fn(|_| fields.next());
    let ([_, _, Some(named), Some(service), Some(terminal)], None) = (five, fields.next()) else {
        return Err(said
            .form
            .malformed("the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".".to_owned()));
    };
    let shown = String::from_utf8_lossy;
    if service != b"s3" {
        return Err(said.form.malformed(format!(
            "incorrect service \"{}\". This endpoint belongs to \"s3\".",
            shown(service)
        )));
    }
    if terminal != b"aws4_request" {
        return Err(said.form.malformed(format!(
            "incorrect terminal \"{}\". This endpoint uses \"aws4_request\".",
            shown(terminal)
        )));
    }
    if named != region.as_bytes() && !(asks_where && named == ANY_REGION.as_bytes()) {
        let named = shown(named);
        let mut refused = said.form.malformed(format!(
            "the region '{named}' is wrong; expecting '{region}'"
        ));
        refused.extras.push(("Region", region.to_owned()));
        return Err(refused);
    }
    Ok(())
}

/// Whether a header must be signed where it is there.
fn must_be_signed(form: Form, name: &HeaderName) -> bool {
    // Of a signed URL the hash of the body is not known to the signer; where it is sent, the body
    // is compared with it.
    name.as_str().starts_with("x-amz-") && !(form == Form::Query && name == "x-amz-content-sha256")
}

fn check_signed(said: &Said<'_>, headers: &HeaderMap) -> Result<(), Refused> {
    // As they are compared by the library: a name with capitals is of no header.
    let is_signed = |name: &str| pieces(&said.signed, b';').any(|signed| signed == name.as_bytes());
    let unsigned: Vec<&str> = std::iter::once(&header::HOST)
        .chain(
            headers
                .keys()
                .filter(|name| must_be_signed(said.form, name)),
        )
        .map(HeaderName::as_str)
        .filter(|name| !is_signed(name))
        .collect();
    if unsigned.is_empty() {
        return Ok(());
    }
    let error = s3_error!(
        AccessDenied,
        "There were headers present in the request which were not signed"
    );
    Err(Refused {
        error,
        extras: vec![("HeadersNotSigned", unsigned.join(", "))],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: &str = "AKIA/20200101/us-east-1/s3/aws4_request";

    fn by_header(authorization: &str, headers: &[(&str, &str)]) -> Request<()> {
        let request = Request::builder()
            .uri("/b/k")
            .header("host", "h")
            .header("authorization", authorization);
        headers
            .iter()
            .fold(request, |request, (name, value)| {
                request.header(*name, *value)
            })
            .body(())
            .unwrap()
    }

    fn by_query(changes: &[(&str, &str)], headers: &[(&str, &str)]) -> Request<()> {
        let mut fields = vec![
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", SCOPE),
            ("X-Amz-Date", "20200101T000000Z"),
            ("X-Amz-Expires", "60"),
            ("X-Amz-SignedHeaders", "host"),
            ("X-Amz-Signature", "s"),
        ];
        for (name, value) in changes {
            fields.retain(|(there, _)| there != name);
            fields.push((name, value));
        }
        let query: String = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = Request::builder()
            .uri(format!("/b/k?{query}"))
            .header("host", "h");
        headers
            .iter()
            .fold(request, |request, (name, value)| {
                request.header(*name, *value)
            })
            .body(())
            .unwrap()
    }

    fn code(request: &Request<()>) -> String {
        check(request, "us-east-1").map_or_else(
            |refused| refused.error.code().as_str().to_owned(),
            |()| "ok".to_owned(),
        )
    }

    fn authorization(signed: &str) -> String {
        format!("{ALGORITHM} Credential={SCOPE}, SignedHeaders={signed},Signature=s")
    }

    #[test]
    fn each_header_that_tells_s3_what_to_do_must_be_signed_in_each_form() {
        for name in [
            "x-amz-copy-source",
            "x-amz-meta-a",
            "x-amz-tagging",
            "x-amz-date",
            "x-amz-trailer",
            "x-amz-nobody-knows",
        ] {
            let added = [(name, "v")];
            assert_eq!(
                code(&by_header(&authorization("host"), &added)),
                "AccessDenied",
                "{name}"
            );
            assert_eq!(
                code(&by_header(&authorization(&format!("host;{name}")), &added)),
                "ok",
                "{name}"
            );
            assert_eq!(code(&by_query(&[], &added)), "AccessDenied", "{name}");
            assert_eq!(
                code(&by_query(
                    &[("X-Amz-SignedHeaders", &format!("host;{name}"))],
                    &added
                )),
                "ok",
                "{name}"
            );
        }
        let refused = check(
            &by_query(&[], &[("x-amz-acl", "v"), ("x-amz-tagging", "v")]),
            "us-east-1",
        )
        .unwrap_err();
        assert_eq!(
            refused.extras,
            [("HeadersNotSigned", "x-amz-acl, x-amz-tagging".to_owned())]
        );
    }

    #[test]
    fn the_host_must_be_signed_and_a_name_with_capitals_signs_nothing() {
        assert_eq!(
            code(&by_header(&authorization("x-amz-date"), &[])),
            "AccessDenied"
        );
        assert_eq!(
            code(&by_query(&[("X-Amz-SignedHeaders", "range")], &[])),
            "AccessDenied"
        );
        assert_eq!(
            code(&by_header(
                &authorization("host;X-Amz-Tagging"),
                &[("x-amz-tagging", "v")]
            )),
            "AccessDenied"
        );
    }

    #[test]
    fn the_hash_of_a_body_may_come_beside_a_signed_url_and_nowhere_else() {
        let hash = [("x-amz-content-sha256", "h")];
        assert_eq!(code(&by_query(&[], &hash)), "ok");
        assert_eq!(
            code(&by_header(&authorization("host"), &hash)),
            "AccessDenied"
        );
        assert_eq!(
            code(&by_header(
                &authorization("host"),
                &[("range", "bytes=0-1"), ("content-type", "a/b")]
            )),
            "ok"
        );
    }

    #[test]
    fn scope_algorithm_and_expiry_are_those_of_aws() {
        let header = |credential: &str| {
            code(&by_header(
                &format!("{ALGORITHM} Credential={credential}, SignedHeaders=host, Signature=s"),
                &[],
            ))
        };
        for credential in [
            "AKIA/20200101/eu-west-1/s3/aws4_request",
            "AKIA/20200101/us-east-1/sts/aws4_request",
            "AKIA",
            &SCOPE.replace("aws4_", ""),
        ] {
            assert_eq!(
                header(credential),
                "AuthorizationHeaderMalformed",
                "{credential}"
            );
            assert_eq!(
                code(&by_query(&[("X-Amz-Credential", credential)], &[])),
                "AuthorizationQueryParametersError",
                "{credential}"
            );
        }
        for expires in ["604801", "-1", "x", "", "99999999999999999999"] {
            assert_eq!(
                code(&by_query(&[("X-Amz-Expires", expires)], &[])),
                "AuthorizationQueryParametersError",
                "{expires}"
            );
        }
        assert_eq!(code(&by_query(&[("X-Amz-Expires", "604800")], &[])), "ok");
        assert_eq!(
            code(&by_query(&[("X-Amz-Algorithm", "AWS4-HMAC-SHA1")], &[])),
            "AuthorizationQueryParametersError"
        );
        for algorithm in ["FOO", "AWS4-HMAC-SHA1", "aws4-hmac-sha256", "Basic"] {
            assert_eq!(
                code(&by_header(
                    &authorization("host").replace(ALGORITHM, algorithm),
                    &[]
                )),
                "InvalidArgument",
                "{algorithm}"
            );
        }
    }

    #[test]
    fn a_request_has_one_signature_with_all_that_belongs_to_it_or_none() {
        assert_eq!(
            code(&by_query(&[], &[("authorization", &authorization("host"))])),
            "InvalidArgument"
        );
        assert_eq!(
            code(&by_header(
                &authorization("host"),
                &[("authorization", &authorization("host"))]
            )),
            "InvalidArgument"
        );
        let bare = |uri: &str| {
            code(
                &Request::builder()
                    .uri(uri)
                    .header("host", "h")
                    .header("x-amz-acl", "private")
                    .body(())
                    .unwrap(),
            )
        };
        assert_eq!(bare("/b/k"), "ok");
        assert_eq!(
            bare("/b/k?X-Amz-Credential=a"),
            "AuthorizationQueryParametersError"
        );
    }

    #[test]
    fn where_a_bucket_is_may_be_asked_as_from_the_first_region() {
        let request = |uri: &str| {
            Request::builder()
                .uri(uri)
                .header("authorization", authorization("host"))
                .body(())
                .unwrap()
        };
        assert!(check(&request("/b?location"), "eu-north-7").is_ok());
        let refused = check(&request("/b/k"), "eu-north-7").unwrap_err();
        assert_eq!(refused.extras, [("Region", "eu-north-7".to_owned())]);
    }
}
