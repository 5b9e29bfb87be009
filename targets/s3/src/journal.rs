//! One line for each request, for those who want to see what their clients do and why they are
//! refused.

use crate::access::OPERATIONS;
use crate::messages::{self, About};
use crate::question::pairs;
use crate::storage::WallClock;
use house::{Answered, LogLine, Peer};
use http::{HeaderValue, Request, Uri, header};

/// Where lines go, and by which clock they are dated.
#[derive(Clone)]
pub(crate) struct Journal {
    pub(crate) log: LogLine,
    pub(crate) clock: WallClock,
}

/// What is known of a request when it comes.
pub(crate) struct Entry {
    journal: Journal,
    peer: Peer,
    key: Option<String>,
    line: String,
    code: Option<String>,
}

/// The access key that a request says is its own, whether or not that is true; only what a key can
/// be made of.
pub(crate) fn claimed_key(uri: &Uri, authorization: Option<&HeaderValue>) -> Option<String> {
    let value = authorization.and_then(|value| value.to_str().ok());
    let of_header = value
        .and_then(|value| value.split_once("Credential="))
        .map(|(_, rest)| rest.to_owned());
    let of_query = || {
        let signed = uri
            .query()
            .is_some_and(|query| query.contains("X-Amz-Credential="));
        let found = signed.then(|| pairs(uri)).into_iter().flatten();
        found
            .into_iter()
            .find(|(name, _)| name == "X-Amz-Credential")
            .map(|(_, value)| value.into_owned())
    };
    let credential = of_header.or_else(of_query)?;
    let key: String = credential
        .split('/')
        .next()?
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
        .take(128)
        .collect();
    (!key.is_empty()).then_some(key)
}

/// What an error tells of its request, which is cheap to keep and seldom told.
pub(crate) struct Said {
    uri: Uri,
    authorization: Option<HeaderValue>,
}

impl Said {
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        Self {
            uri: request.uri().clone(),
            authorization: request.headers().get(header::AUTHORIZATION).cloned(),
        }
    }

    pub(crate) fn about(&self, now_ms: u64, request_id: &str) -> About {
        let key = claimed_key(&self.uri, self.authorization.as_ref());
        About {
            key,
            path: self.uri.path().to_owned(),
            now_ms,
            request_id: request_id.to_owned(),
        }
    }
}

impl Entry {
    pub(crate) fn new<B>(journal: &Journal, request: &Request<B>, peer: Peer) -> Self {
        // Never the query, which may hold a signature.
        let line = format!("{} {}", request.method(), request.uri().path());
        Self {
            journal: journal.clone(),
            peer,
            key: claimed_key(request.uri(), request.headers().get(header::AUTHORIZATION)),
            line,
            code: None,
        }
    }

    /// The code of an error, where the answer is one.
    pub(crate) fn answered(&mut self, document: Option<&str>) {
        self.code = document.and_then(messages::code).map(str::to_owned);
    }

    /// Writes the line.
    pub(crate) fn end(&self, answered: &Answered) {
        let (time, peer) = (messages::time((self.journal.clock)()), self.peer.address);
        let key = self.key.as_deref().unwrap_or("-");
        let Answered { status, bytes, .. } = answered;
        let operation = OPERATIONS
            .get(answered.operation)
            .map_or("-", |operation| operation.name);
        let code = self.code.as_deref().unwrap_or("-");
        let ms = answered.took.as_secs_f64() * 1e3;
        (self.journal.log)(&format!(
            "{time} {peer} {key} {operation} {status} {code} {bytes} B {ms:.3} ms {}",
            self.line
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_what_a_request_says_without_what_no_key_holds() {
        let of = |uri: &'static str, authorization| {
            claimed_key(
                &Uri::from_static(uri),
                Some(&HeaderValue::from_static(authorization)),
            )
        };
        assert_eq!(
            of(
                "/",
                "AWS4-HMAC-SHA256 Credential=AKIA/2020/r/s3/aws4_request, SignedHeaders=host"
            ),
            Some("AKIA".into())
        );
        assert_eq!(
            of("/?X-Amz-Credential=AK%0AIA%2F2020", ""),
            Some("AKIA".into())
        );
        assert_eq!(of("/", "Bearer secret"), None);
    }
}
