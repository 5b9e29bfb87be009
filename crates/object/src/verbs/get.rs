//! `get`: reads an object, or a part of one.

use super::{Call, CountedBytes, RequestKind, TakenBody, Task, Uses, Verb, is_what_was_asked};
use crate::failure::Failure;
use crate::user::User;
use std::io::Write as _;

pub(super) const VERB: Verb = Verb::of(Uses::Present, &[Call::Get]);

pub(super) const GET: RequestKind = RequestKind {
    takes: TakenBody::Object,
    counts: CountedBytes::Received,
    header: Some(("range", |_, about, out| {
        if about.is_range {
            let last = about.from + about.length - 1;
            let _infallible = write!(out, "bytes={}-{last}", about.from);
        }
    })),
    proof: is_what_was_asked,
    ..RequestKind::of("get", "GET")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Get, task).await
}
