//! What a request asks for: its operation, from its line and the names in its query.
//!
//! The protocol library takes a request for the plain operation where it does not know the name of
//! a sub-resource: `PUT key?renameObject` would write over the key, and `DELETE
//! bucket?metadataConfiguration` would delete the bucket. The names that an operation knows are
//! therefore a closed table. A request that the library then takes for another operation than this
//! table is refused ([`crate::access`]).

use crate::operations::s3_operations;
use crate::protocol::{custom, invalid_argument};
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use s3s::{S3Error, S3Result, s3_error};
use std::borrow::Cow;

/// What the path of a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    Service,
    Bucket,
    Object,
}

/// The methods that operations have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Get,
    Head,
    Put,
    Post,
    Delete,
}

impl Verb {
    fn of(method: &Method) -> Option<Self> {
        [Self::Get, Self::Head, Self::Put, Self::Post, Self::Delete]
            .into_iter()
            .find(|verb| verb.name() == method.as_str())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// What selects an operation besides method, resource and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Query,
    /// The header `x-amz-copy-source`.
    CopySource,
    /// A body that is a form.
    Form,
}

/// One operation and the names of the queries by which it is asked for.
struct Known {
    operation: &'static str,
    place: (Verb, Resource),
    by: By,
    /// Names that must all be there: they are the sub-resource.
    selects: &'static [&'static str],
    /// Names that may be there as well.
    takes: &'static [&'static str],
}

impl Known {
    fn knows(&self, name: &str) -> bool {
        self.selects.contains(&name) || self.takes.contains(&name)
    }
}

const VERSION: [&str; 1] = ["versionId"];
/// What an answer with an object may be told.
const ANSWER: [&str; 8] = [
    "versionId",
    "partNumber",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
];
const GET_SERVICE: (Verb, Resource) = (Verb::Get, Resource::Service);
const HEAD_BUCKET: (Verb, Resource) = (Verb::Head, Resource::Bucket);
const HEAD_OBJECT: (Verb, Resource) = (Verb::Head, Resource::Object);
const GET_BUCKET: (Verb, Resource) = (Verb::Get, Resource::Bucket);
const PUT_BUCKET: (Verb, Resource) = (Verb::Put, Resource::Bucket);
const DELETE_BUCKET: (Verb, Resource) = (Verb::Delete, Resource::Bucket);
const POST_BUCKET: (Verb, Resource) = (Verb::Post, Resource::Bucket);
const GET_OBJECT: (Verb, Resource) = (Verb::Get, Resource::Object);
const PUT_OBJECT: (Verb, Resource) = (Verb::Put, Resource::Object);
const DELETE_OBJECT: (Verb, Resource) = (Verb::Delete, Resource::Object);
const POST_OBJECT: (Verb, Resource) = (Verb::Post, Resource::Object);
const PART: [&str; 2] = ["partNumber", "uploadId"];

macro_rules! table {
    ($($name:ident $(: $method:ident($input:ident) -> $output:ident)?,
        $place:ident $selects:tt $takes:tt $(by $by:ident)?, $need:ident $actions:tt $of_version:tt;)+) => {
        /// Every operation of this server, in the order in which they are tried.
        static KNOWN: &[Known] = &[$(Known {
            operation: stringify!($name),
            place: $place,
            by: table!(@by $($by)?),
            selects: &$selects,
            takes: &$takes,
        }),+];
    };
    (@by) => { By::Query };
    (@by $by:ident) => { By::$by };
}

s3_operations!(table);

/// The names by which the S3 model selects operations, those that this server lacks among them. A
/// request that only reads may have other names, which AWS ignores; one that writes may not.
const SUB_RESOURCES: [&str; 44] = [
    "abac",
    "accelerate",
    "acl",
    "analytics",
    "annotation",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "events",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataConfiguration",
    "metadataInventoryTable",
    "metadataJournalTable",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "partNumber",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "select-type",
    "session",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
];

/// Names without `x-` that clients of AWS put into signed queries of any operation and that select
/// nothing.
const ANYWHERE: [&str; 3] = ["Content-Type", "Content-MD5", "Content-Length"];

/// Headers that signers of URLs write into the query instead, where AWS takes them for headers. A
/// name that ends in `-` is of all that begin so.
const HOISTED: [&str; 10] = [
    "x-amz-acl",
    "x-amz-bypass-governance-retention",
    "x-amz-checksum-mode",
    "x-amz-expected-bucket-owner",
    "x-amz-meta-",
    "x-amz-object-lock-",
    "x-amz-request-payer",
    "x-amz-storage-class",
    "x-amz-tagging",
    "x-amz-website-redirect-location",
];

/// Names with `x-amz-` that AWS takes no notice of in a query, or that are of the signature itself.
const UNHEEDED: [&str; 11] = [
    "x-amz-algorithm",
    "x-amz-content-sha256",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-security-token",
    "x-amz-signature",
    "x-amz-signedheaders",
    "x-amz-sdk-checksum-algorithm",
    "x-amz-user-agent",
    "x-amz-checksum-",
];

fn among(table: &[&str], name: &str) -> bool {
    let is = |entry: &&str| *entry == name || (entry.ends_with('-') && name.starts_with(*entry));
    table.iter().any(is)
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Question {
    /// `None` where there is no such operation, which the protocol library then says.
    pub(crate) operation: Option<&'static str>,
    /// Whether a version is named.
    pub(crate) names_version: bool,
}

/// The pairs of a query as the protocol library decodes them.
pub(crate) fn pairs(uri: &Uri) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    uri.query().map_or_else(Vec::new, |query| {
        form_urlencoded::parse(query.as_bytes()).collect()
    })
}

fn resource(uri: &Uri) -> Resource {
    let path = uri.path();
    // A slash that is encoded is a slash to the protocol library.
    let decoded = if path.contains('%') {
        Cow::Owned(path.replace("%2F", "/").replace("%2f", "/"))
    } else {
        Cow::Borrowed(path)
    };
    match decoded
        .strip_prefix('/')
        .unwrap_or(&decoded)
        .split_once('/')
    {
        Some((_, key)) if !key.is_empty() => Resource::Object,
        None if decoded.len() <= 1 => Resource::Service,
        Some(_) | None => Resource::Bucket,
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    kind.trim_start()
        .get(.."multipart/form-data".len())
        .is_some_and(|start| start.eq_ignore_ascii_case("multipart/form-data"))
}

impl Question {
    /// Errors: `NotImplemented`, with its name, for a sub-resource that no operation of this server
    /// has for this method and resource; `InvalidRequest` for half of a part's names;
    /// `InvalidArgument` for names that exclude each other.
    pub(crate) fn of<B>(request: &Request<B>) -> S3Result<Self> {
        let pairs = pairs(request.uri());
        let has = |wanted: &str| match wanted.split_once('=') {
            Some((name, value)) => pairs.iter().any(|pair| pair.0 == name && pair.1 == value),
            None => pairs.iter().any(|(name, _)| name == wanted),
        };
        let (method, resource) = (Verb::of(request.method()), resource(request.uri()));
        let by = |by: By| match by {
            By::Query => true,
            By::CopySource => request.headers().contains_key("x-amz-copy-source"),
            By::Form => is_form(request.headers()),
        };
        let of_resource = || {
            KNOWN
                .iter()
                .filter(|row| method == Some(row.place.0) && row.place.1 == resource)
        };
        let row = of_resource().find(|row| by(row.by) && row.selects.iter().all(|name| has(name)));
        for (index, (name, value)) in pairs.iter().enumerate() {
            check_name(row, name, value, method, || {
                of_resource().any(|other| other.selects.contains(&name.as_ref()))
            })?;
            let again = pairs[..index].iter().any(|(earlier, _)| earlier == name);
            if again && row.is_some_and(|row| row.knows(name)) {
                return Err(custom_text(
                    "InvalidArgument",
                    format!("`{name}` is in the query more than once"),
                ));
            }
        }
        Ok(Self {
            operation: row.map(|row| row.operation),
            names_version: has("versionId"),
        })
    }
}

/// Whether a request of this kind may have this name in its query.
fn check_name(
    row: Option<&Known>,
    name: &str,
    value: &str,
    method: Option<Verb>,
    selects_another: impl Fn() -> bool,
) -> S3Result<()> {
    let reads = matches!(method, Some(Verb::Get | Verb::Head));
    if row.is_some_and(|row| {
        row.knows(name)
            || row
                .selects
                .iter()
                .any(|select| select.split('=').next() == Some(name))
    }) {
        return Ok(());
    }
    if name == "x-id" {
        // The SDKs name the operation; one that is told apart by nothing else must not be taken for
        // another.
        return match row {
            Some(row) if !reads && row.operation != value => {
                Err(not_implemented(&format!("{name}={value}")))
            }
            Some(_) | None if value == "ListDirectoryBuckets" => {
                Err(not_implemented(&format!("{name}={value}")))
            }
            Some(_) | None => Ok(()),
        };
    }
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("x-") {
        let ours =
            !lower.starts_with("x-amz-") || among(&HOISTED, &lower) || among(&UNHEEDED, &lower);
        return if ours || reads {
            Ok(())
        } else {
            Err(not_implemented(name))
        };
    }
    if ANYWHERE.contains(&name)
        || (reads && !SUB_RESOURCES.contains(&name))
        || (row.is_none() && !SUB_RESOURCES.contains(&name))
    {
        return Ok(());
    }
    match (name, row) {
        ("partNumber" | "uploadId", Some(row)) if !reads && row.selects.is_empty() => {
            Err(s3_error!(
                InvalidRequest,
                "A part is named by both partNumber and uploadId; this request has one of them alone."
            ))
        }
        ("versionId", Some(_)) if !reads => Err(invalid_argument(
            "This operation does not accept a version-id.",
        )),
        (_, Some(row)) if !row.selects.is_empty() && selects_another() => {
            let first = row.selects.first().copied().unwrap_or_default();
            Err(custom_text(
                "InvalidArgument",
                format!("Conflicting query string parameters: {first}, {name}"),
            ))
        }
        _ => Err(not_implemented(name)),
    }
}

fn custom_text(code: &'static str, message: String) -> S3Error {
    let mut error = custom(code, StatusCode::BAD_REQUEST, "");
    error.set_message(message);
    error
}

fn not_implemented(name: &str) -> S3Error {
    s3_error!(
        NotImplemented,
        "`{}` is not implemented for this method and resource; nothing was done.",
        name
    )
}

/// Headers that stand in the query of a signed URL instead.
pub(crate) fn hoisted(uri: &Uri) -> Vec<(http::HeaderName, http::HeaderValue)> {
    let signed = uri
        .query()
        .is_some_and(|query| query.contains("X-Amz-Signature="));
    if !signed {
        return Vec::new();
    }
    let header = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
        let name = name.to_ascii_lowercase();
        if !among(&HOISTED, &name) {
            return None;
        }
        Some((
            name.parse().ok()?,
            http::HeaderValue::from_str(&value).ok()?,
        ))
    };
    pairs(uri).into_iter().filter_map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str) -> Result<Option<&'static str>, String> {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        Question::of(&request)
            .map(|question| question.operation)
            .map_err(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn every_operation_is_reached() {
        for (index, row) in KNOWN.iter().enumerate() {
            let hidden = KNOWN[..index].iter().any(|earlier| {
                let same = earlier.place == row.place;
                same && (earlier.by == By::Query || earlier.by == row.by)
                    && earlier
                        .selects
                        .iter()
                        .all(|name| row.selects.contains(name))
            });
            assert!(!hidden, "{} is never reached", row.operation);
        }
    }

    #[test]
    fn a_sub_resource_is_taken_for_its_own_operation_or_for_none() {
        for (path, resource) in [
            ("/", Resource::Service),
            ("/bucket", Resource::Bucket),
            ("/bucket/key", Resource::Object),
        ] {
            for method in [Verb::Get, Verb::Head, Verb::Put, Verb::Post, Verb::Delete] {
                for name in SUB_RESOURCES {
                    let own = KNOWN
                        .iter()
                        .find(|row| row.place == (method, resource) && row.selects == [name]);
                    let taken = KNOWN
                        .iter()
                        .find(|row| {
                            row.place == (method, resource)
                                && row.by == By::Query
                                && row.selects.is_empty()
                        })
                        .filter(|row| row.takes.contains(&name));
                    let found = asked(method.name(), &format!("{path}?{name}=1"));
                    match own.or(taken) {
                        Some(row) => {
                            assert_eq!(found, Ok(Some(row.operation)), "{method:?} {path}?{name}")
                        }
                        None => {
                            let code = found.expect_err(name);
                            assert!(
                                ["NotImplemented", "InvalidRequest", "InvalidArgument"]
                                    .contains(&code.as_str()),
                                "{method:?} {name}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_request_that_writes_has_no_name_that_nobody_knows() {
        for (method, uri, code) in [
            (
                "PUT",
                "/b/k?renameObject&x-id=RenameObject",
                "NotImplemented",
            ),
            ("PUT", "/b/k?x-id=RenameObject", "NotImplemented"),
            ("PUT", "/b/k?%72enameObject", "NotImplemented"),
            ("PUT", "/b%2Fk?restore", "NotImplemented"),
            ("PUT", "/b/k?inventedTomorrow", "NotImplemented"),
            ("DELETE", "/b/k?versionid=x", "NotImplemented"),
            ("PUT", "/b/k?x-amz-copy-source=/secret/s", "NotImplemented"),
            ("PUT", "/b/k?partNumber=1", "InvalidRequest"),
            ("PUT", "/b/k?uploadId=x", "InvalidRequest"),
            ("DELETE", "/b/k?partNumber=1", "InvalidRequest"),
            ("PUT", "/b/k?versionId=x", "InvalidArgument"),
            ("DELETE", "/b/k?versionId=x&versionId=y", "InvalidArgument"),
            ("PUT", "/b?acl&policy", "InvalidArgument"),
        ] {
            assert_eq!(asked(method, uri), Err(code.to_owned()), "{method} {uri}");
        }
    }

    #[test]
    fn what_aws_lets_any_request_have_is_let_be() {
        for (method, uri, operation) in [
            (
                "PUT",
                "/b/k?x-id=PutObject&X-Amz-Signature=s&x-amz-checksum-crc32=AAAAAA%3D%3D&x-custom=1",
                "PutObject",
            ),
            (
                "PUT",
                "/b/k?partNumber=1&uploadId=x&x-id=UploadPart",
                "UploadPart",
            ),
            (
                "GET",
                "/b/k?response-content-type=text/plain&partNumber=1&cachebuster=7",
                "GetObject",
            ),
            ("GET", "/b?list-type=2&marker=a", "ListObjectsV2"),
            ("GET", "/b?list-type=1", "ListObjects"),
            ("GET", "/b/?prefix=a", "ListObjects"),
            ("GET", "/", "ListBuckets"),
            ("DELETE", "/b/k?versionId=x", "DeleteObject"),
            ("GET", "/b//k?uploadId=x&max-parts=1", "ListParts"),
        ] {
            assert_eq!(asked(method, uri), Ok(Some(operation)), "{method} {uri}");
        }
        assert_eq!(asked("POST", "/b/k"), Ok(None));
    }

    #[test]
    fn a_copy_and_a_form_are_told_by_their_headers() {
        let with = |method: &str, uri: &str, name: &str, value: &str| {
            let request = Request::builder()
                .method(method)
                .uri(uri)
                .header(name, value)
                .body(())
                .unwrap();
            Question::of(&request).unwrap().operation
        };
        assert_eq!(
            with("PUT", "/b/k", "x-amz-copy-source", "/b/s"),
            Some("CopyObject")
        );
        assert_eq!(
            with(
                "PUT",
                "/b/k?partNumber=1&uploadId=x",
                "x-amz-copy-source",
                "/b/s"
            ),
            Some("UploadPartCopy")
        );
        assert_eq!(
            with(
                "POST",
                "/b",
                "content-type",
                "Multipart/Form-Data; boundary=b"
            ),
            Some("PostObject")
        );
        assert_eq!(with("POST", "/b", "content-type", "text/plain"), None);
    }

    #[test]
    fn headers_in_a_signed_query_are_headers_and_checksums_there_are_not() {
        let uri: Uri = "/b/k?X-Amz-Signature=s&x-amz-meta-a=1&X-Amz-Tagging=a%3Db&x-amz-checksum-crc32=AAAAAA%3D%3D".parse().unwrap();
        let names: Vec<String> = hoisted(&uri)
            .into_iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(names, ["x-amz-meta-a: 1", "x-amz-tagging: a=b"]);
        assert!(hoisted(&"/b/k?x-amz-meta-a=1".parse().unwrap()).is_empty());
    }
}
