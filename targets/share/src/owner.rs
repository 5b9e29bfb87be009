//! What the owner of a share does besides putting files up: logging in, links for guests, settings.

use crate::answer::{Denial, ShareReply, json, nothing, with};
use crate::index::NewGuestLink;
use crate::login::{LoginOutcome, SESSION};
use crate::site::{COOKIE, ShareSite, wait};
use crate::store::ShareStore;
use crate::times::{DAY, parse_end, parse_span};
use crate::token;
use crate::visitor::Visitor;
use http::{StatusCode, header};
use serde::Deserialize;
use std::sync::Arc;

/// The longest label.
const MOST_LABEL: usize = 200;
/// The default lifetimes that may be chosen, in days.
const LIFETIMES: std::ops::RangeInclusive<u64> = 1..=3650;
const USUAL_LIFETIME: u64 = 30;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SecretBody {
    shared_secret_key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GuestLinkBody {
    #[serde(default)]
    label: String,
    url_expiration_time: Option<String>,
    file_lifetime: Option<String>,
    max_file_bytes: Option<u64>,
    max_file_uploads: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SettingsBody {
    default_expiration_days: u64,
    #[serde(default)]
    default_never_expire: bool,
}

/// How long an upload lives whose sender does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime {
    pub(crate) days: u64,
    pub(crate) never_ends: bool,
}

impl Lifetime {
    pub(crate) fn of(store: &ShareStore) -> crate::ShareResult<Self> {
        let number = |name: &str| store.index.setting::<u64>(name);
        Ok(Self {
            days: number("default_days")?.unwrap_or(USUAL_LIFETIME),
            never_ends: number("default_never")?.unwrap_or(0) != 0,
        })
    }

    /// When an upload of this moment ends.
    pub(crate) fn end(self, now: u64) -> Option<u64> {
        (!self.never_ends).then(|| now + self.days * DAY)
    }
}

/// The largest number that is kept.
const MOST_NUMBER: u64 = i64::MAX as u64;

/// PicoShare's word for files that live for ever is a hundred years.
const FOR_EVER: u64 = 100 * 365 * DAY;

impl GuestLinkBody {
    fn checked(self, now: u64) -> Result<NewGuestLink, Denial> {
        if self.label.len() > MOST_LABEL {
            return Err(Denial::bad("a label has at most 200 bytes"));
        }
        if self.max_file_bytes == Some(0) || self.max_file_uploads == Some(0) {
            return Err(Denial::bad("a limit of 0 permits nothing"));
        }
        let limits = [self.max_file_bytes, self.max_file_uploads];
        if limits
            .into_iter()
            .flatten()
            .any(|limit| limit > MOST_NUMBER)
        {
            return Err(Denial::bad(format!(
                "a limit is at most {MOST_NUMBER}; leave it out for none"
            )));
        }
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        let expires = match text(self.url_expiration_time) {
            Some(text) => parse_end(&text, now).map_err(Denial::bad)?,
            None => None,
        };
        let lifetime = match text(self.file_lifetime) {
            Some(text) => {
                let span = parse_span(&text).filter(|span| *span > 0);
                let span = span
                    .ok_or_else(|| Denial::bad("fileLifetime is not a span such as 24h or 7d"))?;
                Some(span).filter(|span| *span < FOR_EVER)
            }
            None => None,
        };
        Ok(NewGuestLink {
            label: self.label,
            expires,
            lifetime,
            most_bytes: self.max_file_bytes,
            most_uploads: self.max_file_uploads,
        })
    }
}

impl ShareSite {
    pub(crate) async fn log_in(&self, mut visitor: Visitor) -> Result<ShareReply, Denial> {
        // A page elsewhere can make a browser send a form, but not JSON.
        let kind = visitor.header(header::CONTENT_TYPE).to_ascii_lowercase();
        if !kind.starts_with("application/json") {
            return Err(Denial::bad(
                "the Content-Type of a login is application/json",
            ));
        }
        let body: SecretBody = visitor.json().await?;
        let agent = visitor.header(header::USER_AGENT).to_owned();
        let outcome = self
            .logins
            .log_in(&body.shared_secret_key, visitor.from, &agent, visitor.now)
            .await?;
        match outcome {
            LoginOutcome::In(token) => {
                let cookie = cookie(&token, SESSION / 1000, visitor.tls);
                Ok(with(nothing(StatusCode::OK), header::SET_COOKIE, &cookie))
            }
            LoginOutcome::Wrong => Err(Denial::new(
                StatusCode::UNAUTHORIZED,
                "this is not the secret",
            )),
            LoginOutcome::Wait(ms) => Err(wait(ms)),
        }
    }

    pub(crate) async fn log_out(&self, visitor: Visitor) -> Result<ShareReply, Denial> {
        if let Some(token) = visitor.session {
            self.logins.end(token).await?;
        }
        let cookie = cookie("", 0, visitor.tls);
        Ok(with(nothing(StatusCode::OK), header::SET_COOKIE, &cookie))
    }

    /// Ends the session whose name on the page of settings begins so.
    pub(crate) async fn end_session(
        &self,
        name: &str,
        visitor: Visitor,
    ) -> Result<ShareReply, Denial> {
        let sessions = self.logins.sessions(visitor.now);
        let found = sessions
            .iter()
            .find(|session| token::hex(&session.token) == name)
            .ok_or_else(Denial::missing)?;
        self.logins.end(found.token).await?;
        Ok(nothing(StatusCode::NO_CONTENT))
    }

    pub(crate) async fn new_guest_link(&self, mut visitor: Visitor) -> Result<ShareReply, Denial> {
        let body: GuestLinkBody = visitor.json().await?;
        let new = body.checked(visitor.now)?;
        let (store, id, now) = (Arc::clone(&self.store), token::link_id(), visitor.now);
        let told = serde_json::json!({ "id": id });
        crate::blocking(move || store.index.add_guest_link(&id, &new, now)).await?;
        Ok(json(&told))
    }

    pub(crate) async fn set(&self, mut visitor: Visitor) -> Result<ShareReply, Denial> {
        let body: SettingsBody = visitor.json().await?;
        if !LIFETIMES.contains(&body.default_expiration_days) {
            return Err(Denial::bad("defaultExpirationDays is 1 to 3650"));
        }
        let values = [
            ("default_days", body.default_expiration_days),
            ("default_never", u64::from(body.default_never_expire)),
        ];
        self.change(move |store| store.index.set(&values)).await
    }
}

fn cookie(token: &str, seconds: u64, tls: bool) -> String {
    let secure = if tls { "; Secure" } else { "" };
    format!("{COOKIE}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}
