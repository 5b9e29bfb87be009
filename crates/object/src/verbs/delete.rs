//! `delete`: removes the user's oldest object, or a seed.

use super::{Call, RequestKind, Task, Uses, Verb};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb::of(Uses::Removed, &[Call::Delete]);

pub(super) const DELETE: RequestKind = RequestKind {
    removes: true,
    ..RequestKind::of("delete", "DELETE")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Delete, task).await
}
