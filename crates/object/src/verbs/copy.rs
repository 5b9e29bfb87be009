//! `copy`: the server makes an object of the user's own out of one that it has.

use super::{About, Call, RequestKind, Services, TakenBody, Task, Uses, Verb, path_of_object};
use crate::failure::{Failure, element};
use crate::user::User;

pub(super) const VERB: Verb = Verb {
    services: Services::S3,
    ..Verb::of(Uses::Copied, &[Call::Copy])
};

/// Its bytes cross no network, and are not counted.
pub(super) const COPY: RequestKind = RequestKind {
    header: Some(("x-amz-copy-source", |settings, about, out| {
        let source = About {
            object: about.source,
            ..About::TARGET
        };
        path_of_object(settings, &source, out);
    })),
    takes: TakenBody::Text,
    // S3 may find out after it has said 200.
    proof: |_, answer| match element(answer.body, "ETag") {
        Some(_) => Ok(()),
        None => Err(Failure::status(answer.status, answer.body)),
    },
    ..RequestKind::of("copy", "PUT")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    user.request(Call::Copy, task).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::GoodAnswer;

    #[test]
    fn a_success_that_tells_of_an_error_is_none() {
        let judged = |body: &[u8]| {
            let answer = GoodAnswer {
                status: 200,
                length: None,
                received: 0,
                etag: b"",
                range: b"",
                body,
            };
            (COPY.proof)(&About::TARGET, &answer).map_err(|failure| failure.what)
        };
        assert_eq!(
            judged(b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"),
            Ok(())
        );
        assert_eq!(
            judged(b"<Error><Code>InternalError</Code></Error>"),
            Err("HTTP 200 InternalError".to_owned())
        );
    }
}
