//! What errors say besides their code: a message for each, and what AWS tells with some of them.

/// Who asked, for what and when, as far as a request says it of itself.
pub(crate) struct About {
    pub(crate) key: Option<String>,
    pub(crate) path: String,
    pub(crate) now_ms: u64,
    pub(crate) request_id: String,
}

/// What some errors tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    AccessKey,
    ServerTime,
    MostSkew,
    MostBytes,
}

/// Messages for codes that the protocol library answers without one.
const MESSAGES: [(&str, &str); 16] = [
    ("AccessDenied", "Access Denied"),
    (
        "EntityTooLarge",
        "Your proposed upload exceeds the maximum allowed size",
    ),
    (
        "IncompleteBody",
        "You did not provide the number of bytes specified by the Content-Length HTTP header",
    ),
    (
        "InternalError",
        "We encountered an internal error. Please try again.",
    ),
    ("InvalidBucketName", "The specified bucket is not valid."),
    (
        "InvalidDigest",
        "The Content-MD5 you specified is not valid.",
    ),
    ("InvalidURI", "Couldn't parse the specified URI."),
    ("KeyTooLongError", "Your key is too long"),
    (
        "MalformedPOSTRequest",
        "The body of your POST request is not well-formed multipart/form-data.",
    ),
    (
        "MalformedXML",
        "The XML you provided was not well-formed or did not validate against our published schema",
    ),
    ("MaxMessageLengthExceeded", "Your request was too big."),
    (
        "MethodNotAllowed",
        "The specified method is not allowed against this resource.",
    ),
    (
        "MissingContentLength",
        "You must provide the Content-Length HTTP header.",
    ),
    (
        "NotImplemented",
        "A header or query you provided implies functionality that is not implemented.",
    ),
    (
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
    ),
    (
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
    ),
];

const EXTRAS: [(&str, &[Extra]); 4] = [
    ("EntityTooLarge", &[Extra::MostBytes]),
    ("InvalidAccessKeyId", &[Extra::AccessKey]),
    (
        "RequestTimeTooSkewed",
        &[Extra::ServerTime, Extra::MostSkew],
    ),
    ("SignatureDoesNotMatch", &[Extra::AccessKey]),
];

fn among<T: Copy>(table: &[(&str, T)], code: &str) -> Option<T> {
    table
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, what)| *what)
}

/// The code of an error's document.
pub(crate) fn code(document: &str) -> Option<&str> {
    document
        .split_once("<Code>")?
        .1
        .split_once("</Code>")
        .map(|(code, _)| code)
}

/// Text as the content of an element of XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A document of an error with all that is told; `None` where it is none.
pub(crate) fn completed(document: &str, about: &About) -> Option<String> {
    let code = code(document)?;
    let mut out = document.strip_suffix("</Error>")?.to_owned();
    if !document.contains("<Message>") {
        let end = "</Code>";
        let message = among(&MESSAGES, code).map_or_else(
            || format!("The request was refused as {code}."),
            str::to_owned,
        );
        out = out.replacen(
            end,
            &format!("{end}<Message>{}</Message>", escaped(&message)),
            1,
        );
    }
    for extra in among(&EXTRAS, code).unwrap_or_default() {
        match (extra, about.key.as_deref()) {
            (Extra::AccessKey, Some(key)) => {
                out += &format!("<AWSAccessKeyId>{}</AWSAccessKeyId>", escaped(key))
            }
            (Extra::AccessKey, None) => {}
            (Extra::ServerTime, _) => {
                out += &format!("<ServerTime>{}</ServerTime>", time(about.now_ms))
            }
            (Extra::MostSkew, _) => {
                out += "<MaxAllowedSkewMilliseconds>900000</MaxAllowedSkewMilliseconds>"
            }
            (Extra::MostBytes, _) => out += "<MaxSizeAllowed>5368709120</MaxSizeAllowed>",
        }
    }
    Some(format!(
        "{out}<Resource>{}</Resource><RequestId>{}</RequestId></Error>",
        escaped(&about.path),
        about.request_id
    ))
}

/// A moment as the documents of S3 have it.
pub(crate) fn time(ms: u64) -> String {
    let mut text = Vec::new();
    match crate::protocol::timestamp(ms).format(s3s::dto::TimestampFormat::DateTime, &mut text) {
        Ok(()) => String::from_utf8(text).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_says_something_and_which_request_it_is_of() {
        let about = About {
            key: Some("AKIA".into()),
            path: "/b/<k>".into(),
            now_ms: 0,
            request_id: "ID7".into(),
        };
        let bare =
            |code: &str| completed(&format!("<Error><Code>{code}</Code></Error>"), &about).unwrap();
        for (code, message) in MESSAGES {
            let text = bare(code);
            assert!(
                text.contains(&format!(
                    "<Code>{code}</Code><Message>{}</Message>",
                    escaped(message)
                )),
                "{text}"
            );
        }
        assert!(
            bare("NobodyKnows")
                .contains("<Message>The request was refused as NobodyKnows.</Message>")
        );
        assert!(
            bare("X")
                .ends_with("<Resource>/b/&lt;k&gt;</Resource><RequestId>ID7</RequestId></Error>")
        );
        assert!(bare("SignatureDoesNotMatch").contains("<AWSAccessKeyId>AKIA</AWSAccessKeyId>"));
        assert!(bare("RequestTimeTooSkewed").contains("<ServerTime>1970-01-01T00:00:00"));
        let said = completed(
            "<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>",
            &about,
        )
        .unwrap();
        assert_eq!(said.matches("<Message>").count(), 1);
        assert_eq!(
            completed("<ListBucketResult></ListBucketResult>", &about),
            None
        );
    }
}
