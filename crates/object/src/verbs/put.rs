//! `put`: writes an object of the user's own.

use super::{Call, Carries, CountedBytes, RequestKind, Task, Uses, Verb};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb::of(Uses::New, &[Call::Put]);

pub(super) const PUT: RequestKind = RequestKind {
    carries: Carries::Object,
    counts: CountedBytes::Sent,
    ..RequestKind::of("put", "PUT")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Put, task).await
}
