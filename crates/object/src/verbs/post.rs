//! `post`: sends a form with a file to the target's URL.

use super::{
    Call, Carries, CountedBytes, OwnOption, RequestKind, Services, Task, Uses, Verb, path_of_target,
};
use crate::failure::Failure;
use crate::user::User;

pub(super) const VERB: Verb = Verb {
    services: Services::Http,
    options: &[OwnOption {
        name: "field",
        text: |step| step.field.clone(),
    }],
    ..Verb::of(Uses::Posted, &[Call::Post])
};

pub(super) const POST: RequestKind = RequestKind {
    path: path_of_target,
    carries: Carries::Form,
    counts: CountedBytes::Sent,
    ..RequestKind::of("post", "POST")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Post, task).await
}
