//! `get`: reads an object.

use super::{Call, CountedBytes, RequestKind, TakenBody, Task, Uses, Verb, has_length_of};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb::of(Uses::Present, &[Call::Get]);

pub(super) const GET: RequestKind = RequestKind {
    takes: TakenBody::Object,
    counts: CountedBytes::Received,
    proof: |about, answer| has_length_of(about, Some(answer.received)),
    ..RequestKind::of("get", "GET")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Get, task).await
}
