//! The page of settings, and who is logged in.

use super::{Sheet, time};
use crate::error::ShareResult;
use crate::index::SessionRow;
use crate::owner::Lifetime;
use crate::store::ShareStore;
use crate::token::hex;
use maud::html;

pub(super) fn settings(
    store: &ShareStore,
    sessions: &[SessionRow],
    mine: Option<[u8; 32]>,
) -> ShareResult<Sheet> {
    let lifetime = Lifetime::of(store)?;
    Ok(Sheet::new(
        "Settings",
        html! {
            form data-json data-method="PUT" data-url="/api/settings" data-then="/settings" {
                label { "Files expire after so many days unless said otherwise"
                    input type="number" name="defaultExpirationDays" min="1" max="3650" value=(lifetime.days) data-number required;
                }
                label class="check" { input type="checkbox" name="defaultNeverExpire" checked[lifetime.never_ends]; "or never" }
                button { "Save" }
                p class="said" role="alert" {}
            }
            h2 { "Sessions" }
            table {
                thead { tr { th { "Since" } th { "Until" } th { "Address" } th { "Browser" } th {} } }
                tbody {
                    @for session in sessions {
                        tr {
                            td data-of="Since" { (time(session.made)) }
                            td data-of="Until" { (time(session.expires)) }
                            td data-of="Address" { (session.address) }
                            td data-of="Browser" { (session.agent) }
                            td {
                                @if Some(session.token) == mine { "this one" }
                                @else {
                                    button class="danger" data-method="DELETE" data-url={ "/api/sessions/" (hex(&session.token)) } data-then="/settings" { "End" }
                                }
                            }
                        }
                    }
                }
            }
            @if sessions.len() > 1 {
                p { button class="danger" data-method="DELETE" data-url="/api/sessions" data-then="/settings" { "End all others" } }
            }
        },
    ))
}
