//! What answers requests: who asks, what for, and whether it is permitted.

use crate::answer::{Denial, ShareBody, ShareReply, nothing, plain, with};
use crate::error::ShareError;
use crate::history::History;
use crate::login::{Logins, is_foreign};
use crate::routes::Route;
use crate::server::Now;
use crate::store::ShareStore;
use crate::visitor::Visitor;
use house::{
    Asked, Inbound, LogLine, NoPage, ORDERS, OwnPage, Pages, Peer, Sighting, Site, Told, UnderWay,
};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body::Body as _;
use std::net::IpAddr;
use std::sync::Arc;

/// The name of the cookie that holds the token of a session.
pub(crate) const COOKIE: &str = "share_session";

/// One server.
pub(crate) struct ShareSite {
    pub(crate) store: Arc<ShareStore>,
    pub(crate) logins: Logins,
    pub(crate) history: Arc<History>,
    pub(crate) pages: Arc<Pages>,
    pub(crate) now: Now,
    pub(crate) log: LogLine,
    pub(crate) proxied: bool,
}

/// The token that a request shows.
fn shown(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// From where a request comes: behind a proxy, as the proxy next to this server says.
fn sender(headers: &HeaderMap, peer: Peer, proxied: bool) -> (IpAddr, bool) {
    let last = |name: &str| {
        let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
        value.rsplit(',').next().map(str::trim)
    };
    if !proxied {
        return (peer.address, peer.tls);
    }
    let address = last("x-forwarded-for").and_then(|text| text.parse().ok());
    (
        address.unwrap_or(peer.address),
        peer.tls || last("x-forwarded-proto") == Some("https"),
    )
}

impl Site for ShareSite {
    type Body = ShareBody;

    fn kind(&self, method: &Method, uri: &Uri) -> &'static str {
        let operation = Route::of(method, uri).operation(method);
        operation.map_or("view", |at| crate::routes::OPERATIONS[at].1)
    }

    async fn answer(
        &self,
        request: Request<Option<Inbound>>,
        asked: Asked,
    ) -> (ShareReply, Option<Told>) {
        let (parts, body) = request.into_parts();
        let is_head = parts.method == Method::HEAD;
        let route = Route::of(&parts.method, &parts.uri);
        if let Some(sighting) = parts.extensions.get::<Sighting>()
            && let Some(operation) = route.operation(&parts.method)
        {
            sighting.is(operation);
        }
        let under_way = parts.extensions.get::<UnderWay>().cloned();
        let visitor = self.visitor(parts, body, asked);
        if let Some(under_way) = &under_way {
            under_way.comes_from(visitor.from);
        }
        let changes = route.changes();
        let outcome = match asked.failure {
            Some(status) => Err(told_to_fail(status)),
            None => self.dispatch(route, visitor).await,
        };
        if changes && asked.failure.is_none() {
            self.learn(&outcome);
        }
        let reply = outcome.unwrap_or_else(|refusal| {
            if let (Some(cause), Some(under_way)) = (&refusal.cause, &under_way) {
                under_way.broke(&self.store.told(cause));
            }
            refusal.reply()
        });
        (finished(reply, is_head), None)
    }
}

fn told_to_fail(status: u16) -> Denial {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Denial::new(status, "this server was told to misbehave")
}

/// What every answer has, and a look at the head alone has not.
fn finished(mut reply: ShareReply, is_head: bool) -> ShareReply {
    let headers = reply.headers_mut();
    let fixed = |text| header::HeaderValue::from_static(text);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(header::REFERRER_POLICY, fixed("no-referrer"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(fixed("default-src 'none'; frame-ancestors 'none'; sandbox"));
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(fixed("no-store"));
    if !is_head {
        return reply;
    }
    let (mut parts, body) = reply.into_parts();
    let length = body.size_hint().exact().unwrap_or(0);
    parts
        .headers
        .entry(header::CONTENT_LENGTH)
        .or_insert(length.into());
    Response::from_parts(parts, ShareBody::empty())
}

impl ShareSite {
    /// What the end of a change says of whether others can be made. One that was refused says nothing.
    fn learn(&self, outcome: &Result<ShareReply, Denial>) {
        match outcome {
            Ok(reply) if reply.status().is_success() => self.store.note_change(false),
            Err(denial) if denial.status == StatusCode::INTERNAL_SERVER_ERROR => {
                self.store.note_change(true);
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn visitor(&self, parts: Parts, body: Option<Inbound>, asked: Asked) -> Visitor {
        let (from, tls) = sender(&parts.headers, asked.peer, self.proxied);
        let now = (self.now)();
        let session = shown(&parts.headers).and_then(|token| self.logins.session(token, now));
        Visitor {
            parts,
            body,
            from,
            tls,
            now,
            number: asked.number,
            session,
        }
    }

    async fn dispatch(&self, route: Route, visitor: Visitor) -> Result<ShareReply, Denial> {
        let mut expected = visitor.parts.headers.get_all(header::EXPECT).iter();
        if !expected.all(|what| what.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
            return Err(Denial::new(
                StatusCode::EXPECTATION_FAILED,
                "Expect: there is 100-continue and nothing else",
            ));
        }
        let is_owner = visitor.session.is_some();
        match route {
            Route::Unknown => Err(Denial::missing()),
            Route::Method(allowed) => Ok(with(
                plain(StatusCode::METHOD_NOT_ALLOWED, "not with this method"),
                header::ALLOW,
                allowed,
            )),
            Route::Own => self.own_page(visitor).await,
            Route::Icon => Ok(nothing(StatusCode::NO_CONTENT)),
            Route::LogIn => self.log_in(visitor).await,
            Route::LogOut => self.log_out(visitor).await,
            Route::Download(id) => self.download(&id, visitor).await,
            Route::GuestUpload(link) => self.guest_upload(&link, visitor).await,
            Route::Screen(view) if is_owner || view.is_open() => self.view(view, visitor).await,
            Route::Screen(_) => {
                let reply = nothing(StatusCode::SEE_OTHER);
                Ok(with(reply, header::LOCATION, "/login"))
            }
            owned @ (Route::Upload
            | Route::Replace(_)
            | Route::Amend(_)
            | Route::Delete(_)
            | Route::NewGuestLink
            | Route::DeleteGuestLink(_)
            | Route::EnableGuestLink(_)
            | Route::DisableGuestLink(_)
            | Route::Settings
            | Route::EndSession(_)
            | Route::EndOtherSessions) => {
                if is_owner && is_foreign(&visitor.parts.headers) {
                    let why = "a page of somebody else asked for it, and not you";
                    Err(Denial::new(StatusCode::FORBIDDEN, why))
                } else if is_owner {
                    self.owned(owned, visitor).await
                } else {
                    Err(Denial::new(StatusCode::UNAUTHORIZED, "log in first"))
                }
            }
        }
    }

    /// What only the owner may do.
    async fn owned(&self, route: Route, visitor: Visitor) -> Result<ShareReply, Denial> {
        match route {
            Route::Upload => self.upload(visitor).await,
            Route::Replace(id) => self.replace(&id, visitor).await,
            Route::Amend(id) => self.amend(&id, visitor).await,
            Route::Delete(id) => self.delete(&id, visitor).await,
            Route::NewGuestLink => self.new_guest_link(visitor).await,
            Route::DeleteGuestLink(id) => {
                self.change(move |store| store.index.remove_guest_link(&id))
                    .await
            }
            Route::EnableGuestLink(id) => {
                self.change(move |store| store.index.disable_guest_link(&id, false))
                    .await
            }
            Route::DisableGuestLink(id) => {
                self.change(move |store| store.index.disable_guest_link(&id, true))
                    .await
            }
            Route::Settings => self.set(visitor).await,
            Route::EndSession(token) => self.end_session(&token, visitor).await,
            Route::EndOtherSessions => {
                if let Some(session) = visitor.session {
                    self.logins.end_others(session).await?;
                }
                Ok(nothing(StatusCode::NO_CONTENT))
            }
            Route::LogIn
            | Route::LogOut
            | Route::GuestUpload(_)
            | Route::Download(_)
            | Route::Screen(_)
            | Route::Own
            | Route::Icon
            | Route::Method(_)
            | Route::Unknown => Err(Denial::missing()),
        }
    }

    /// Changes the index, and says no more than that it is done.
    pub(crate) async fn change(
        &self,
        work: impl FnOnce(&ShareStore) -> Result<(), ShareError> + Send + 'static,
    ) -> Result<ShareReply, Denial> {
        let store = Arc::clone(&self.store);
        crate::blocking(move || work(&store)).await?;
        Ok(nothing(StatusCode::NO_CONTENT))
    }

    /// The pages that every target has: health for all, the others for the owner and for whoever
    /// shows the secret.
    async fn own_page(&self, visitor: Visitor) -> Result<ShareReply, Denial> {
        let parts = &visitor.parts;
        let name = parts
            .uri
            .path()
            .strip_prefix("/fathom/")
            .unwrap_or_default();
        let is_order = parts.method == Method::POST && parts.uri.path() == ORDERS;
        if parts.method != Method::GET && parts.method != Method::HEAD && !is_order {
            return Err(Denial::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "not with this method",
            ));
        }
        if name == "health" {
            let page = self.pages.asked(&parts.method, &parts.uri, &parts.headers);
            return page
                .and_then(Result::ok)
                .map(own)
                .ok_or_else(Denial::missing);
        }
        let secret = visitor
            .header(header::AUTHORIZATION)
            .strip_prefix("Bearer ");
        let may = match (visitor.session, secret) {
            // A page of somebody else may have a browser post with its cookies.
            (Some(_), _) if !is_order => true,
            (_, Some(secret)) => self
                .logins
                .is_secret(secret, visitor.from, visitor.now)
                .await
                .map_err(wait)?,
            (_, None) => false,
        };
        if !may {
            return Err(Denial::new(
                StatusCode::FORBIDDEN,
                format!("{:?}: show the secret", NoPage::Denied),
            ));
        }
        if is_order {
            let page = self.pages.ordered(visitor.body, visitor.number).await;
            (self.log)(&format!("misbehave: {}", page.text.trim_end()));
            return Ok(own(page));
        }
        self.pages
            .page(name)
            .map(own)
            .ok_or_else(|| Denial::new(StatusCode::NOT_FOUND, house::PAGES))
    }
}

fn own(page: OwnPage) -> ShareReply {
    with(
        plain(page.status, page.text.trim_end()),
        header::CONTENT_TYPE,
        page.media_type,
    )
}

/// The answer to who guessed too often.
pub(crate) fn wait(ms: u64) -> Denial {
    let seconds = ms.div_ceil(1000);
    Denial {
        retry_after: Some(seconds),
        ..Denial::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!("too many wrong secrets came from your address; wait {seconds} s"),
        )
    }
}
