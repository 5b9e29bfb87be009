//! `list`: lists the keys of one of the load's prefixes.

use super::{
    About, Call, CountedBytes, RequestKind, Services, TakenBody, Task, Uses, Verb, path_of_target,
    wrong,
};
use crate::failure::Failure;
use crate::user::User;
use std::io::Write as _;

pub(super) const VERB: Verb = Verb {
    services: Services::S3,
    ..Verb::of(Uses::Names, &[Call::List])
};

pub(super) const LIST: RequestKind = RequestKind {
    path: path_of_target,
    query: |settings, about, out| {
        let root = settings.root.replace('/', "%2F");
        let _infallible = write!(out, "list-type=2&prefix={root}p{}%2F", about.prefix);
    },
    takes: TakenBody::Text,
    counts: CountedBytes::Received,
    proof: |_, answer| match answer.body.trim_ascii_end() {
        whole if whole.ends_with(b"</ListBucketResult>") => Ok(()),
        _ => Err(wrong("the answer is no listing")),
    },
    ..RequestKind::of("list", "GET")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    let about = About {
        prefix: user.draw_prefix(),
        ..task.about
    };
    user.request(Call::List, &Task { about, ..*task }).await
}
