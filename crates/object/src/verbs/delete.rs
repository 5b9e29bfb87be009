//! `delete`: removes the user's oldest object, or a seed.

use super::{Call, Request, Task, Uses, Verb};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb::of(Uses::Removed, &[Call::Delete]);

pub(super) const DELETE: Request = Request {
    removes: true,
    ..Request::of("delete", "DELETE")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Delete, task).await
}
