//! Requests that belong to no operation of the load: its bucket, and pages of the server's own.

use super::Client;
use crate::exchange::Take;
use crate::failure::{Failure, FailureKind, element};
use crate::payload::ObjectRange;
use std::rc::Rc;
use sys::Clock;

impl Client {
    /// A request on the bucket itself, in setup and teardown: the status, and what its body says.
    pub(crate) async fn bucket(&mut self, method: &str) -> Result<(u16, String), Failure> {
        let path = self.thread.settings.bucket_path();
        self.plain(method, (&path, ""), Take::Discard).await?;
        let code = element(&self.body.collected, "Code")
            .unwrap_or_default()
            .to_owned();
        Ok((self.response.status, code))
    }

    /// Shows a share its secret; the cookie that it gives for it. Errors: also where it gives none.
    pub(crate) async fn log_in(&mut self, secret: &str) -> Result<Vec<u8>, Failure> {
        let said = serde_json::json!({ "sharedSecretKey": secret }).to_string();
        self.tail.clear();
        self.tail.extend_from_slice(said.as_bytes());
        self.say("POST", ("/api/auth", ""), Take::Collect).await?;
        match (self.response.status, self.response.cookie.is_empty()) {
            (200..=299, false) => Ok(self.response.cookie.clone()),
            (200..=299, true) => Err(Failure::new(FailureKind::Content, "no cookie was set")),
            (status, _) => Err(Failure::status(status, &self.body.collected)),
        }
    }

    /// The body of a page that is no object of the load, in setup and teardown.
    pub(crate) async fn page(&mut self, path: &str, query: &str) -> Result<Vec<u8>, Failure> {
        self.plain("GET", (path, query), Take::Collect).await?;
        match self.response.status {
            200..=299 => Ok(std::mem::take(&mut self.body.collected)),
            status => Err(Failure::status(status, &self.body.collected)),
        }
    }

    async fn plain(
        &mut self,
        method: &str,
        address: (&str, &str),
        take: Take,
    ) -> Result<(), Failure> {
        self.tail.clear();
        self.say(method, address, take).await
    }

    /// A request that is not counted, with what is in the tail as JSON; the query is encoded, and
    /// its names are in order.
    async fn say(
        &mut self,
        method: &str,
        (path, query): (&str, &str),
        take: Take,
    ) -> Result<(), Failure> {
        let thread = Rc::clone(&self.thread);
        let settings = &thread.settings;
        self.path.clear();
        self.path.extend_from_slice(path.as_bytes());
        self.query.clear();
        self.query.extend_from_slice(query.as_bytes());
        let now = settings.clock.now();
        let nothing = ObjectRange::empty();
        let header = (!self.tail.is_empty()).then_some("content-type");
        self.header.clear();
        self.header.extend_from_slice(b"application/json");
        let length = units::lossless::to_u64(self.tail.len());
        self.write_head(method, length, nothing, header, now);
        let result = tokio::time::timeout(
            settings.timeout,
            self.exchange(&thread.ledger, method, nothing, take, now),
        )
        .await;
        if self.response.closes || !matches!(result, Ok(Ok(_))) {
            self.stream = None;
        }
        result
            .unwrap_or_else(|_elapsed| Err(Failure::new(FailureKind::Timeout, "timeout")))
            .map(drop)
    }
}
