//! Pages for people: plain HTML that a browser makes comfortable with one script.
//!
//! Nothing that somebody put up can run in them: every text is escaped, scripts and styles have a
//! nonce, and all else is forbidden by the policy.

mod files;
mod guests;
mod settings;

use crate::answer::{Denial, ShareBody, ShareReply, with};
use crate::error::ShareResult;
use crate::routes::Screen;
use crate::site::ShareSite;
use crate::store::ShareStore;
use crate::times::told_moment;
use crate::token;
use crate::visitor::Visitor;
use http::{Response, StatusCode, header};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::sync::Arc;
use units::Bytes;

const STYLE: &str = include_str!("views/style.css");
const SCRIPT: &str = include_str!("views/share.js");

/// A page before it has its frame.
pub(crate) struct Sheet {
    status: StatusCode,
    title: &'static str,
    content: Markup,
}

impl Sheet {
    fn new(title: &'static str, content: Markup) -> Self {
        Self {
            status: StatusCode::OK,
            title,
            content,
        }
    }
}

/// Where a page's links lead.
const PLACES: [(&str, &str); 5] = [
    ("/", "Upload"),
    ("/files", "Files"),
    ("/guest-links", "Guest links"),
    ("/settings", "Settings"),
    ("/information", "Information"),
];

fn framed(sheet: Sheet, is_owner: bool) -> ShareReply {
    let nonce = token::secret();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (sheet.title) " – file share" }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    strong { "file share" }
                    @if is_owner {
                        nav {
                            @for (place, name) in PLACES { a href=(place) { (name) } }
                            button class="link" data-method="DELETE" data-url="/api/auth" data-then="/login" { "Log out" }
                        }
                    }
                }
                main { h1 { (sheet.title) } (sheet.content) }
                script nonce=(nonce) { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let mut reply = Response::new(ShareBody::from(page.into_string()));
    *reply.status_mut() = sheet.status;
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    let reply = with(reply, header::CONTENT_TYPE, "text/html; charset=utf-8");
    with(reply, header::CONTENT_SECURITY_POLICY, &policy)
}

impl ShareSite {
    pub(crate) async fn view(&self, view: Screen, visitor: Visitor) -> Result<ShareReply, Denial> {
        let (store, history) = (Arc::clone(&self.store), Arc::clone(&self.history));
        let sessions = self.logins.sessions(visitor.now);
        let is_owner = visitor.session.is_some();
        let sheet = crate::blocking(move || {
            if matches!(view, Screen::Downloads(_) | Screen::File(_) | Screen::Files) {
                history.write();
            }
            let now = visitor.now;
            match view {
                Screen::Start => files::start(&store),
                Screen::LogIn => Ok(log_in()),
                Screen::Guest(link) => guests::guest(&store, &link, now),
                Screen::Files => files::list(&store, visitor.asked("page").as_deref()),
                Screen::File(id) => {
                    files::about(&store, &id, now, &crate::uploads::base_of(&visitor))
                }
                Screen::Edit(id) => files::edit(&store, &id, now),
                Screen::Downloads(id) => {
                    let unique = visitor.asked("unique").as_deref() == Some("true");
                    files::downloads(&store, &id, now, unique)
                }
                Screen::ConfirmDelete(id) => files::confirm_delete(&store, &id, now),
                Screen::GuestLinks => guests::list(&store, now, &crate::uploads::base_of(&visitor)),
                Screen::NewGuestLink => Ok(guests::new()),
                Screen::Settings => settings::settings(&store, &sessions, visitor.session),
                Screen::Information => information(&store),
            }
        })
        .await?;
        Ok(framed(sheet, is_owner))
    }
}

fn log_in() -> Sheet {
    Sheet::new(
        "Log in",
        html! {
            form data-json data-method="POST" data-url="/api/auth" data-then="/" {
                label { "Secret" input type="password" name="sharedSecretKey" autocomplete="current-password" required autofocus; }
                button { "Log in" }
                p class="said" role="alert" {}
            }
        },
    )
}

/// What is effective here, and how much is kept.
fn information(store: &ShareStore) -> ShareResult<Sheet> {
    let totals = store.totals()?;
    let (free, reserve) = store.space()?;
    let rows = [
        ("uploads", totals.uploads.to_string()),
        ("bytes of uploads", Bytes(totals.bytes).to_string()),
        ("bytes on the disk", Bytes(totals.on_disk).to_string()),
        ("free", Bytes(free).to_string()),
        ("left free", Bytes(reserve).to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("SQLite", rusqlite::version().to_owned()),
    ];
    let rows = rows.into_iter().chain(store.options.described());
    Ok(Sheet::new(
        "Information",
        html! { table class="facts" { @for (name, value) in rows { tr { th { (name) } td { (value) } } } } },
    ))
}

/// A moment as the script turns into the reader's own time.
fn time(ms: u64) -> Markup {
    let told = told_moment(Some(ms));
    html! { time datetime=(told) { (told) } }
}

fn end(ms: Option<u64>) -> Markup {
    ms.map_or_else(|| html! { "never" }, time)
}
