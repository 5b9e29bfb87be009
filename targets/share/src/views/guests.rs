//! Pages about guest links, and the one that guests see.

use super::files::{Sending, drop_zone};
use super::{Sheet, end};
use crate::error::{ShareError, ShareResult};
use crate::index::GuestLink;
use crate::store::ShareStore;
use crate::times::{counted, told_span};
use http::StatusCode;
use maud::{Markup, html};
use units::Bytes;

pub(super) fn guest(store: &ShareStore, id: &str, now: u64) -> ShareResult<Sheet> {
    let link = store.index.guest_link(id)?.ok_or(ShareError::Missing)?;
    if !link.is_open(0, now) {
        return Ok(Sheet {
            status: StatusCode::FORBIDDEN,
            title: "Guest upload",
            content: html! { p { "This link takes no more files: it is full, over or disabled." } },
        });
    }
    let left = link.with.most_uploads.map(|most| most - link.uploads);
    Ok(Sheet::new(
        "Guest upload",
        html! {
            @if !link.with.label.is_empty() { p { (link.with.label) } }
            p {
                @if let Some(most) = link.with.most_bytes { "Files may have up to " (Bytes(most)) ". " }
                @if let Some(left) = left { (counted(left, "more file")) " can be uploaded." }
            }
            (drop_zone(&format!("/api/guest/{id}"), Sending::AsGuest))
        },
    ))
}

fn limits(link: &GuestLink) -> Markup {
    let with = &link.with;
    html! {
        td data-of="Expires" { (end(with.expires)) }
        td data-of="Files live" { @if let Some(span) = with.lifetime { (told_span(span)) } @else { "as long as wanted" } }
        td data-of="Size" { @if let Some(most) = with.most_bytes { (Bytes(most)) } @else { "any" } }
        td data-of="Files" { (link.uploads) @if let Some(most) = with.most_uploads { " of " (most) } }
    }
}

pub(super) fn list(store: &ShareStore, now: u64, base: &str) -> ShareResult<Sheet> {
    let links = store.index.guest_links()?;
    Ok(Sheet::new(
        "Guest links",
        html! {
            p { a href="/guest-links/new" { "New guest link" } }
            @if !links.is_empty() {
                table {
                    thead { tr { th { "Label" } th { "Expires" } th { "Files live" } th { "Size" } th { "Files" } th { "State" } th {} } }
                    tbody {
                        @for link in &links {
                            @let api = format!("/api/guest-links/{}", link.id);
                            tr {
                                td { a href={ "/g/" (link.id) } { @if link.with.label.is_empty() { (link.id) } @else { (link.with.label) } } }
                                (limits(link))
                                td data-of="State" { @if link.disabled { "disabled" } @else if link.is_open(0, now) { "open" } @else { "closed" } }
                                td class="actions" {
                                    button data-copy={ (base) "/g/" (link.id) } { "Copy link" }
                                    @if link.disabled {
                                        button data-method="PUT" data-url={ (api) "/enable" } data-then="/guest-links" { "Enable" }
                                    } @else {
                                        button data-method="PUT" data-url={ (api) "/disable" } data-then="/guest-links" { "Disable" }
                                    }
                                    button class="danger" data-method="DELETE" data-url=(api) data-then="/guest-links" { "Delete" }
                                }
                            }
                        }
                    }
                }
            }
        },
    ))
}

pub(super) fn new() -> Sheet {
    Sheet::new(
        "New guest link",
        html! {
            form data-json data-method="POST" data-url="/api/guest-links" data-then="/guest-links" {
                label { "Label" input name="label" maxlength="200"; }
                label { "Link expires (empty is never)" input type="datetime-local" step="1" name="urlExpirationTime"; }
                label { "Files live for (empty is for ever)" input name="fileLifetime" placeholder="7d or 12h"; }
                label { "Largest file in bytes (empty is any)" input type="number" min="1" name="maxFileBytes" data-number; }
                label { "Number of files (empty is any)" input type="number" min="1" name="maxFileUploads" data-number; }
                button { "Create" }
                p class="said" role="alert" {}
            }
        },
    )
}
