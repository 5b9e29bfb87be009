//! The pages that every target has under `/fathom/`: health for all, the others for who may see
//! them.

use crate::inbound::Inbound;
use crate::metrics::{Counter, Metrics};
use crate::orders::Orders;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use std::sync::Arc;

/// What a target knows of itself.
pub trait About: Send + Sync + 'static {
    /// Whether it can do what it is there for. Errors: why not, for operators.
    fn check(&self) -> Result<(), String>;
    /// What it counts besides requests.
    fn counters(&self) -> Vec<Counter>;
    /// Whether this secret is of somebody who may see all pages.
    fn is_admin_secret(&self, secret: &str) -> bool;
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPage {
    pub status: StatusCode,
    pub media_type: &'static str,
    pub text: String,
}

/// Why a page is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPage {
    Denied,
    Unknown,
}

/// The names of all pages, for who asked for another one.
pub const PAGES: &str =
    "There is /fathom/health, /fathom/metrics, /fathom/profile and /fathom/seen";

/// The address to which it is posted what a server does to requests from then on.
pub const ORDERS: &str = "/fathom/misbehave";
/// The longest of such texts.
const MOST_ORDERS: usize = 64 << 10;

/// Where they are.
pub(crate) const OWN_PAGES: &str = "/fathom/";

const TEXT: &str = "text/plain; version=0.0.4";

/// A target's own pages.
pub struct Pages {
    pub metrics: Arc<Metrics>,
    pub about: Arc<dyn About>,
    pub orders: Arc<Orders>,
}

impl Pages {
    /// The page that a request asks for which names it and shows a secret, where it needs one;
    /// `None` where it does neither, so that the target has its own ways to know who asks.
    pub fn asked(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<Result<OwnPage, NoPage>> {
        let name = uri.path().strip_prefix(OWN_PAGES)?;
        if method != Method::GET && method != Method::HEAD {
            return None;
        }
        if name == "health" {
            return Some(Ok(self.health()));
        }
        let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let secret = shown.strip_prefix("Bearer ")?;
        if self.about.is_admin_secret(secret) {
            Some(self.page(name).ok_or(NoPage::Unknown))
        } else {
            Some(Err(NoPage::Denied))
        }
    }

    fn health(&self) -> OwnPage {
        let (status, text) = match self.about.check() {
            Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
            Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
        };
        OwnPage {
            status,
            media_type: TEXT,
            text,
        }
    }

    /// Does what this body says to requests from now on; the request that brings it has this number.
    /// Whoever sends it may.
    pub async fn ordered(&self, body: Option<Inbound>, number: u64) -> OwnPage {
        let text = match body {
            Some(mut body) => body.text(MOST_ORDERS).await,
            None => Err("what to do is the body, such as get.latency=5ms, or none".to_owned()),
        };
        let (status, text) = match text.and_then(|text| self.orders.change(&text)) {
            Ok(generation) => (
                StatusCode::OK,
                format!("generation {generation} from request {number} on\n"),
            ),
            Err(why) => (StatusCode::BAD_REQUEST, format!("{why}\n")),
        };
        OwnPage {
            status,
            media_type: TEXT,
            text,
        }
    }

    /// What it counts besides requests, and how often it was told to misbehave.
    fn counters(&self) -> Vec<Counter> {
        let mut counters = self.about.counters();
        let generation = self.orders.generation();
        if generation > 0 {
            counters.push(("misbehave_generation", generation));
        }
        counters
    }

    /// A page by its name, for who may see it.
    pub fn page(&self, name: &str) -> Option<OwnPage> {
        let (media_type, text) = match name {
            "metrics" => (TEXT, self.metrics.text(&self.counters())),
            "profile" => (TEXT, self.metrics.profile()),
            "seen" => ("application/json", self.metrics.seen(&self.counters())),
            _ => return None,
        };
        Some(OwnPage {
            status: StatusCode::OK,
            media_type,
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;

    impl About for Full {
        fn check(&self) -> Result<(), String> {
            Err("it is full".into())
        }
        fn counters(&self) -> Vec<Counter> {
            Vec::new()
        }
        fn is_admin_secret(&self, secret: &str) -> bool {
            secret == "s"
        }
    }

    #[test]
    fn health_is_for_all_and_the_rest_for_who_shows_a_secret() {
        let pages = Pages {
            metrics: Arc::new(Metrics::new("echo", [])),
            about: Arc::new(Full),
            orders: Arc::new(Orders::new(&[], None, crate::wake::Wakes::of_runtime())),
        };
        let asked = |method: Method, path: &str, secret: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, secret.parse().unwrap());
            pages.asked(&method, &path.parse().unwrap(), &headers)
        };
        let health = asked(Method::HEAD, "/fathom/health", "").unwrap().unwrap();
        assert_eq!(
            (health.status.as_u16(), health.text.as_str()),
            (503, "it is full\n")
        );
        for name in ["metrics", "profile", "seen"] {
            let path = format!("/fathom/{name}");
            assert!(asked(Method::GET, &path, "Bearer s").unwrap().is_ok());
            assert_eq!(
                asked(Method::GET, &path, "Bearer x"),
                Some(Err(NoPage::Denied))
            );
            assert_eq!(asked(Method::GET, &path, "Basic s"), None);
            assert_eq!(asked(Method::POST, &path, "Bearer s"), None);
        }
        assert_eq!(
            asked(Method::GET, "/fathom/none", "Bearer s"),
            Some(Err(NoPage::Unknown))
        );
        assert_eq!(asked(Method::GET, "/else", "Bearer s"), None);
    }
}
