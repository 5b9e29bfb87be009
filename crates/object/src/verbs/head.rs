//! `head`: asks for an object's head.

use super::{Call, Request, Task, Uses, Verb, has_length_of};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb::of(Uses::Present, &[Call::Head]);

pub(super) const HEAD: Request = Request {
    proof: |about, answer| has_length_of(about, answer.length),
    ..Request::of("head", "HEAD")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Head, task).await
}
