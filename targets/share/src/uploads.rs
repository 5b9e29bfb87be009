//! Putting files up, changing and removing them.

use crate::answer::{Denial, ShareReply, json, nothing, plain};
use crate::error::ShareError;
use crate::index::Amended;
use crate::intake::{ReceivedFile, receive};
use crate::names::{MOST_NOTE, check_name};
use crate::owner::Lifetime;
use crate::site::ShareSite;
use crate::store::NewUpload;
use crate::times::parse_end;
use crate::visitor::Visitor;
use http::{StatusCode, header};
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AmendBody {
    filename: Option<String>,
    expiration: Option<String>,
    note: Option<String>,
}

impl ShareSite {
    /// When an upload is to end: as its address says, or else as is usual.
    async fn end_asked(&self, visitor: &Visitor) -> Result<Option<u64>, Denial> {
        match visitor.asked_alone("expiration")? {
            Some(text) => parse_end(&text, visitor.now).map_err(Denial::bad),
            None => {
                let store = Arc::clone(&self.store);
                let lifetime = crate::blocking(move || Lifetime::of(&store)).await?;
                Ok(lifetime.end(visitor.now))
            }
        }
    }

    /// Makes an upload of what was received, durably; its id.
    async fn keep(
        &self,
        received: ReceivedFile,
        expires: Option<u64>,
        guest_link: Option<String>,
    ) -> Result<String, Denial> {
        let (store, now) = (Arc::clone(&self.store), (self.now)());
        let new = NewUpload {
            name: received.name,
            media: received.media,
            note: received.note.unwrap_or_default(),
            expires,
            guest_link,
        };
        let kept =
            crate::blocking(move || store.keep(received.draft, received.size, new, now)).await;
        drop(received.desk);
        Ok(kept?)
    }

    pub(crate) async fn upload(&self, visitor: Visitor) -> Result<ShareReply, Denial> {
        let expires = self.end_asked(&visitor).await?;
        let received = receive(&self.store, &visitor.parts, visitor.body, None).await?;
        let id = self.keep(received, expires, None).await?;
        Ok(json(&serde_json::json!({ "id": id })))
    }

    pub(crate) async fn guest_upload(
        &self,
        link: &str,
        visitor: Visitor,
    ) -> Result<ShareReply, Denial> {
        let (store, name, now) = (Arc::clone(&self.store), link.to_owned(), visitor.now);
        // The place is taken before the bytes come, so that none come for nothing.
        let (link, place) = crate::blocking(move || store.take_place(&name, now)).await?;
        let last = link.with.lifetime.map(|lifetime| visitor.now + lifetime);
        let expires = guest_end(&visitor, last)?;
        let wants_json = visitor.header(header::ACCEPT).contains("application/json");
        let base = base_of(&visitor);
        let most = link.with.most_bytes;
        let received = receive(&self.store, &visitor.parts, visitor.body, most).await?;
        let id = self.keep(received, expires, Some(link.id)).await?;
        drop(place);
        Ok(if wants_json {
            json(&serde_json::json!({ "id": id }))
        } else {
            plain(StatusCode::OK, &format!("{base}/-{id}"))
        })
    }

    /// Gives an upload other bytes under the same address.
    pub(crate) async fn replace(&self, id: &str, visitor: Visitor) -> Result<ShareReply, Denial> {
        let (store, name, now) = (Arc::clone(&self.store), id.to_owned(), visitor.now);
        let before = crate::blocking(move || store.index.find(&name, now)).await?;
        let before = before.ok_or_else(Denial::missing)?;
        visitor.asked_nothing()?;
        let received = receive(&self.store, &visitor.parts, visitor.body, None).await?;
        let (store, now) = (Arc::clone(&self.store), (self.now)());
        let told = serde_json::json!({ "id": before.id });
        let ReceivedFile {
            draft, size, note, ..
        } = received;
        let with = crate::index::KeptUpload {
            name: received.name,
            media: received.media,
            ..before
        };
        let replaced = crate::blocking(move || store.replace(draft, size, with, note, now)).await;
        drop(received.desk);
        replaced?;
        Ok(json(&told))
    }

    /// Changes what is said of an upload; what is not said stays, and an empty expiration is never.
    pub(crate) async fn amend(&self, id: &str, mut visitor: Visitor) -> Result<ShareReply, Denial> {
        let body: AmendBody = visitor.json().await?;
        if let Some(name) = &body.filename {
            check_name(name).map_err(|error| Denial::bad(error.to_string()))?;
        }
        if body
            .note
            .as_ref()
            .is_some_and(|note| note.len() > MOST_NOTE)
        {
            return Err(Denial::bad("a note has at most 500 bytes"));
        }
        let to = Amended {
            name: body.filename,
            note: body.note,
            expires: match body.expiration.as_deref() {
                Some("") => Some(None),
                Some(text) => Some(parse_end(text, visitor.now).map_err(Denial::bad)?),
                None => None,
            },
        };
        let (id, now) = (id.to_owned(), visitor.now);
        self.change(move |store| store.index.amend(&id, &to, now))
            .await?;
        Ok(nothing(StatusCode::OK))
    }

    pub(crate) async fn delete(&self, id: &str, visitor: Visitor) -> Result<ShareReply, Denial> {
        let (id, now) = (id.to_owned(), visitor.now);
        self.change(move |store| {
            store.index.remove(&id, now)?;
            match store.sweep(now) {
                // It is gone; its bytes go as soon as there is space to write that down.
                Ok(_) | Err(ShareError::NoSpace) => Ok(()),
                Err(other) => Err(other),
            }
        })
        .await?;
        Ok(nothing(StatusCode::OK))
    }
}

/// When an upload by a guest link is to end: as asked, and no later than `last`.
fn guest_end(visitor: &Visitor, last: Option<u64>) -> Result<Option<u64>, Denial> {
    let asked = visitor.asked_alone("expiration")?;
    let Some(asked) = asked.filter(|text| !text.is_empty()) else {
        return Ok(last);
    };
    let asked = parse_end(&asked, visitor.now).map_err(Denial::bad)?;
    match (asked, last) {
        (None, Some(_)) => Err(Denial::bad("files of this guest link do not stay for ever")),
        (Some(asked), Some(last)) if asked > last => Err(Denial::bad(
            "files of this guest link do not stay as long as expiration says",
        )),
        (asked, _) => Ok(asked),
    }
}

/// How the client has called this server.
pub(crate) fn base_of(visitor: &Visitor) -> String {
    let scheme = if visitor.tls { "https" } else { "http" };
    let authority = visitor
        .parts
        .uri
        .authority()
        .map(|authority| authority.as_str());
    let host = authority.unwrap_or_else(|| visitor.header(header::HOST));
    format!("{scheme}://{host}")
}
