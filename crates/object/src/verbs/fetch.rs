//! `fetch`: GET of the target's own URL.

use super::{Call, Services, Task, Uses, Verb};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb {
    services: Services::Http,
    ..Verb::of(Uses::Target, &[Call::Get])
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Get, task).await
}
