//! `head`: asks for an object's head.

use super::{Call, RequestKind, Task, Uses, Verb, has_length_of};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb::of(Uses::Present, &[Call::Head]);

pub(super) const HEAD: RequestKind = RequestKind {
    proof: |about, answer| has_length_of(about, answer.length),
    ..RequestKind::of("head", "HEAD")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Head, task).await
}
