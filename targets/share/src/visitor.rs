//! A request as its routes see it: who asks, for what, and what came with it.

use crate::answer::Denial;
use house::Inbound;
use http::request::Parts;
use http::{StatusCode, header};
use http_body::Body as _;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;

/// The most bytes of a body that is no form.
const MOST_JSON: usize = 64 << 10;

/// A request, and who asks.
pub(crate) struct Visitor {
    pub(crate) parts: Parts,
    pub(crate) body: Option<Inbound>,
    pub(crate) from: IpAddr,
    pub(crate) tls: bool,
    pub(crate) now: u64,
    /// How many requests came before it.
    pub(crate) number: u64,
    /// The session that the request shows, if it lasts.
    pub(crate) session: Option<[u8; 32]>,
}

impl Visitor {
    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        let value = self.parts.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// A parameter of the query.
    pub(crate) fn asked(&self, name: &str) -> Option<String> {
        let query = self.parts.uri.query().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes())
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned())
    }

    /// The one parameter that a query may have. Errors: it has others, or this one twice.
    pub(crate) fn asked_alone(&self, name: &str) -> Result<Option<String>, Denial> {
        let query = self.parts.uri.query().unwrap_or_default();
        let mut found = None;
        for (known, value) in form_urlencoded::parse(query.as_bytes()) {
            if known != name {
                let known: String = known.chars().take(100).collect();
                return Err(Denial::bad(format!(
                    "there is no parameter {known:?} here, but {name}"
                )));
            }
            if found.replace(value.into_owned()).is_some() {
                return Err(Denial::bad(format!("{name} is given twice")));
            }
        }
        Ok(found)
    }

    /// Errors: the query has a parameter.
    pub(crate) fn asked_nothing(&self) -> Result<(), Denial> {
        match self.parts.uri.query() {
            None | Some("") => Ok(()),
            Some(_) => Err(Denial::bad("this address takes no parameters")),
        }
    }

    /// A body as JSON.
    pub(crate) async fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Denial> {
        let mut bytes = Vec::new();
        if let Some(body) = &mut self.body {
            while let Some(frame) =
                poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
            {
                let frame = frame.map_err(|error| Denial::bad(error.to_string()))?;
                bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..]));
                if bytes.len() > MOST_JSON {
                    return Err(Denial::new(
                        StatusCode::PAYLOAD_TOO_LARGE,
                        "the body is longer than 64 KiB",
                    ));
                }
            }
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| Denial::bad(format!("the body is not the JSON it should be: {error}")))
    }
}
