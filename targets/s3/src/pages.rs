//! What this target says of itself on the pages that every target has.

use crate::front::{OWN_PAGES, bucket, page_response};
use crate::keyring::Keyring;
use crate::server::ServerOptions;
use crate::storage::ObjectStore;
use house::{About, Counter, PAGES, Pages};
use http::{HeaderMap, Method, Uri};
use s3s::{Body, S3Error, S3Request, S3Response, S3Result, s3_error};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whom this target serves, what it keeps, and what it did besides answering.
pub(crate) struct Account {
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) store: Arc<dyn ObjectStore>,
    /// What lifecycle rules have removed.
    pub(crate) swept: AtomicU64,
}

impl Account {
    /// Takes the keys out of the options.
    pub(crate) fn new(options: &mut ServerOptions, store: &Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self {
            keyring: Arc::new(std::mem::replace(&mut options.keyring, Keyring::none())),
            store: Arc::clone(store),
            swept: AtomicU64::new(0),
        })
    }
}

impl About for Account {
    fn check(&self) -> Result<(), String> {
        self.store.check().map_err(|error| error.to_string())
    }

    fn counters(&self) -> Vec<Counter> {
        let storage = self.store.counters();
        vec![
            (
                "lifecycle_removed_total",
                self.swept.load(Ordering::Relaxed),
            ),
            ("storage_writes_total", storage.writes),
            ("storage_commits_total", storage.commits),
            ("storage_syncs_total", storage.syncs),
            ("storage_bytes_in_total", storage.bytes_in),
            ("storage_bytes_out_total", storage.bytes_out),
            ("storage_bytes_handed_total", storage.bytes_handed),
            ("storage_files_removed_total", storage.files_removed),
            ("storage_corrupt_reads_total", storage.corrupt_reads),
        ]
    }

    fn is_admin_secret(&self, secret: &str) -> bool {
        self.keyring.is_admin_secret(secret)
    }
}

pub(crate) fn unknown_page() -> S3Error {
    s3_error!(NoSuchKey, "{}", PAGES)
}

/// The pages for requests that are signed.
pub(crate) struct SignedPages {
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) pages: Arc<Pages>,
}

#[async_trait::async_trait]
impl s3s::route::S3Route for SignedPages {
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
        let name = request.uri.path().strip_prefix("/fathom/");
        let page = self.pages.page(name.unwrap_or_default());
        let (parts, body) = page_response(page.ok_or_else(unknown_page)?).into_parts();
        let mut response = S3Response::new(body);
        response.headers = parts.headers;
        Ok(response)
    }
}
