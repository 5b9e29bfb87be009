//! Pages about uploads.

use super::{Sheet, end, time};
use crate::error::{ShareError, ShareResult};
use crate::index::{HistoryPage, KeptUpload, UploadsPage};
use crate::names::in_address;
use crate::owner::Lifetime;
use crate::store::ShareStore;
use crate::times::{DAY, counted, told_moment, told_span};
use maud::{Markup, html};
use units::Bytes;

/// Rows of a page.
const SHOWN: u64 = 100;

/// What becomes of what is sent from a page.
pub(super) enum Sending<'a> {
    /// Uploads of the owner, who chooses when they end.
    AsOwner(Lifetime),
    AsGuest,
    /// Other bytes of one upload, whose page comes afterwards.
    Instead(&'a str),
}

/// Where files are dropped; `url` is what takes them.
pub(super) fn drop_zone(url: &str, sending: Sending<'_>) -> Markup {
    let then = match sending {
        Sending::Instead(id) => Some(format!("/files/{id}/info")),
        Sending::AsOwner(_) | Sending::AsGuest => None,
    };
    let one = then.is_some();
    let note = if one {
        "the one that it has, if empty"
    } else {
        "shown to the owner alone"
    };
    html! {
        section id="upload" data-url=(url) data-then=[then] {
            label class="drop" for="files" {
                strong { @if one { "Choose a file" } @else { "Choose files" } }
                @if one { ", drop it here" } @else { ", drop them here" }
                ", or paste a text or an image"
                input type="file" id="files" multiple[!one];
            }
            div class="row" {
                @if let Sending::AsOwner(lifetime) = sending { (choice_of_end(lifetime)) }
                label class="wide" { "Note" input id="note" maxlength="500" placeholder=(note); }
            }
            p class="said" role="alert" {}
            ul id="progress" {}
        }
    }
}

/// When an upload is to end; `date` is asked for in the field beside it.
fn choice_of_end(lifetime: Lifetime) -> Markup {
    let mut all = vec![1, 7, 30, 365];
    if !lifetime.never_ends && !all.contains(&lifetime.days) {
        all.push(lifetime.days);
    }
    html! {
        label { "Expires"
            select id="expires" {
                @for days in all {
                    option value=(days) selected[!lifetime.never_ends && lifetime.days == days] { "in " (told_span(days * DAY)) }
                }
                option value="never" selected[lifetime.never_ends] { "never" }
                option value="date" { "at a time…" }
            }
        }
        label hidden { "Time" input type="datetime-local" step="1" id="end"; }
    }
}

pub(super) fn start(store: &ShareStore) -> ShareResult<Sheet> {
    let lifetime = Lifetime::of(store)?;
    Ok(Sheet::new(
        "Upload",
        drop_zone("/api/entry", Sending::AsOwner(lifetime)),
    ))
}

fn address(upload: &KeptUpload) -> String {
    format!("/-{}/{}", upload.id, in_address(&upload.name))
}

pub(super) fn list(store: &ShareStore, page: Option<&str>) -> ShareResult<Sheet> {
    let page: u64 = page.and_then(|page| page.parse().ok()).unwrap_or(1).max(1);
    let UploadsPage { uploads, count } = store
        .index
        .uploads((page - 1).saturating_mul(SHOWN), SHOWN)?;
    let ids: Vec<&str> = uploads.iter().map(|upload| upload.id.as_str()).collect();
    let downloads = store.index.download_counts(&ids)?;
    let sizes = uploads
        .iter()
        .map(|upload| store.size(upload))
        .collect::<ShareResult<Vec<_>>>()?;
    let rows = uploads.iter().zip(sizes).zip(downloads);
    let pages = count.div_ceil(SHOWN).max(1);
    Ok(Sheet::new(
        "Files",
        html! {
            @if uploads.is_empty() { p { "There is nothing here. " a href="/" { "Upload a file." } } }
            @else {
                table {
                    thead { tr { th { "Name" } th { "Note" } th { "Size" } th { "Uploaded" } th { "Expires" } th { "Downloads" } th {} } }
                    tbody { @for ((upload, size), downloads) in rows { (row(upload, size, downloads)) } }
                }
            }
            @if pages > 1 {
                nav class="pages" {
                    @if page > 1 { a href={ "/files?page=" (page - 1) } { "later" } }
                    span { "page " (page) " of " (pages) }
                    @if page < pages { a href={ "/files?page=" (page + 1) } { "earlier" } }
                }
            }
        },
    ))
}

fn row(upload: &KeptUpload, size: u64, downloads: u64) -> Markup {
    let id = &upload.id;
    html! {
        tr {
            td { a href=(address(upload)) { (upload.name) } }
            td class="note" data-of="Note" { (upload.note) @if upload.guest_link.is_some() { " (guest)" } }
            td data-of="Size" { (Bytes(size)) }
            td data-of="Uploaded" { (time(upload.uploaded)) }
            td data-of="Expires" { (end(upload.expires)) }
            td data-of="Downloads" { a href={ "/files/" (id) "/downloads" } { (downloads) } }
            td class="actions" {
                button data-copy=(address(upload)) { "Copy link" }
                a href={ "/files/" (id) "/info" } { "Info" }
                a href={ "/files/" (id) "/edit" } { "Edit" }
                a href={ "/files/" (id) "/confirm-delete" } { "Delete" }
            }
        }
    }
}

fn found(store: &ShareStore, id: &str, now: u64) -> ShareResult<KeptUpload> {
    store.index.find(id, now)?.ok_or(ShareError::Missing)
}

pub(super) fn about(store: &ShareStore, id: &str, now: u64, base: &str) -> ShareResult<Sheet> {
    let upload = found(store, id, now)?;
    let size = store.size(&upload)?;
    let history = store.index.history(id, true)?;
    let link = format!("{base}{}", address(&upload));
    Ok(Sheet::new(
        "File",
        html! {
            table class="facts" {
                tr { th { "Name" } td { (upload.name) } }
                tr { th { "Link" } td { a href=(link) { (link) } " " button data-copy=(link) { "Copy" } } }
                tr { th { "Type" } td { (upload.media) } }
                tr { th { "Size" } td { (Bytes(size)) " (" (size) " bytes)" } }
                tr { th { "Note" } td { (upload.note) } }
                tr { th { "Uploaded" } td { (time(upload.uploaded)) } }
                @if upload.changed != upload.uploaded { tr { th { "Replaced" } td { (time(upload.changed)) } } }
                tr { th { "Expires" } td { (end(upload.expires)) } }
                @if let Some(guest) = &upload.guest_link { tr { th { "Guest link" } td { (guest) } } }
                tr { th { "Downloads" } td { a href={ "/files/" (id) "/downloads" } { (history.count) " by " (counted(history.visitors, "visitor")) } } }
            }
            p class="actions" {
                a href={ "/files/" (id) "/edit" } { "Edit" }
                a href={ "/files/" (id) "/confirm-delete" } { "Delete" }
            }
        },
    ))
}

pub(super) fn edit(store: &ShareStore, id: &str, now: u64) -> ShareResult<Sheet> {
    let upload = found(store, id, now)?;
    let expires = upload.expires.map(|ms| told_moment(Some(ms)));
    Ok(Sheet::new(
        "Edit",
        html! {
            form data-json data-method="PUT" data-url={ "/api/entry/" (id) } data-then={ "/files/" (id) "/info" } {
                label { "Name" input name="filename" value=(upload.name) maxlength="255" required; }
                label { "Note" input name="note" value=(upload.note) maxlength="500"; }
                label { "Expires (empty is never)"
                    input type="datetime-local" step="1" name="expiration" data-at=[expires];
                }
                button { "Save" }
                p class="said" role="alert" {}
            }
            h2 { "Replace the file and keep its link" }
            (drop_zone(&format!("/api/entry/{id}"), Sending::Instead(id)))
        },
    ))
}

pub(super) fn downloads(
    store: &ShareStore,
    id: &str,
    now: u64,
    unique: bool,
) -> ShareResult<Sheet> {
    let upload = found(store, id, now)?;
    let HistoryPage {
        downloads,
        count,
        visitors,
    } = store.index.history(id, unique)?;
    let other = if unique { "false" } else { "true" };
    Ok(Sheet::new(
        "Downloads",
        html! {
            p { a href={ "/files/" (id) "/info" } { (upload.name) } ": " (counted(count, "download")) " by " (counted(visitors, "visitor")) }
            p { a href={ "/files/" (id) "/downloads?unique=" (other) } { @if unique { "Show all" } @else { "Show the latest of each visitor" } } }
            table {
                thead { tr { th { "Time" } th { "Address" } th { "Browser" } } }
                tbody { @for row in downloads { tr { td { (time(row.at)) } td data-of="Address" { (row.address) } td data-of="Browser" { (row.agent) } } } }
            }
        },
    ))
}

pub(super) fn confirm_delete(store: &ShareStore, id: &str, now: u64) -> ShareResult<Sheet> {
    let upload = found(store, id, now)?;
    Ok(Sheet::new(
        "Delete",
        html! {
            p { "Delete " strong { (upload.name) } " for ever?" }
            button class="danger" data-method="DELETE" data-url={ "/api/entry/" (id) } data-then="/files" { "Delete" }
            " " a href="/files" { "Keep it" }
            p class="said" role="alert" {}
        },
    ))
}
