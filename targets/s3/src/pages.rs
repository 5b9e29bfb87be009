//! The server's own pages.

use crate::front::{OWN_PAGES, bucket};
use crate::keyring::Keyring;
use crate::metrics::{Metrics, Process};
use crate::storage::ObjectStore;
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use s3s::{Body, S3Request, S3Response, S3Result, s3_error};
use std::sync::Arc;

/// The server's own pages for requests that are signed.
pub(crate) struct OwnPages {
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) store: Arc<dyn ObjectStore>,
}

impl OwnPages {
    pub(crate) fn page(&self, name: &str) -> S3Result<String> {
        match name {
            "metrics" => Ok(self.metrics.text(&self.store.counters(), &Process::now())),
            "profile" => Ok(Process::now().profile(&self.metrics)),
            _ => Err(s3_error!(
                NoSuchKey,
                "There is /fathom/health, /fathom/metrics and /fathom/profile"
            )),
        }
    }
}

#[async_trait::async_trait]
impl s3s::route::S3Route for OwnPages {
    fn is_match(&self, _: &Method, uri: &Uri, _: &HeaderMap, _: &mut http::Extensions) -> bool {
        bucket(uri) == OWN_PAGES
    }

    async fn check_access(&self, request: &mut S3Request<Body>) -> S3Result<()> {
        let admin = request
            .credentials
            .as_ref()
            .is_some_and(|credentials| self.keyring.is_admin(&credentials.access_key));
        if admin {
            Ok(())
        } else {
            Err(s3_error!(AccessDenied, "Access Denied"))
        }
    }

    async fn call(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        if request.method != Method::GET {
            return Err(s3_error!(
                MethodNotAllowed,
                "The specified method is not allowed against this resource."
            ));
        }
        let page = request
            .uri
            .path()
            .strip_prefix("/fathom/")
            .unwrap_or_default();
        let mut response = S3Response::new(Body::from(self.page(page)?));
        response.headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; version=0.0.4"),
        );
        Ok(response)
    }
}
