//! `multipart`: writes an object of the user's own in parts, and aborts where a part fails.

use super::{
    About, Call, Carries, CountedBytes, OwnOption, RequestKind, Services, TakenBody, Task, Uses,
    Verb, wrong,
};
use crate::failure::{Failure, element};
use crate::payload::Object;
use crate::settings::encoded;
use crate::user::User;
use std::fmt::Write as _;
use std::io::Write as _;
use units::Bytes;

pub(super) const VERB: Verb = Verb {
    services: Services::S3,
    options: &[OwnOption {
        name: "part-size",
        text: |step| Bytes(step.part_bytes).exact(),
    }],
    check: |step| {
        if step.sizes.mean() / step.part_bytes as f64 > 10_000.0 {
            return Err("an upload has at most 10,000 parts: raise part-size");
        }
        Ok(())
    },
    ..Verb::of(
        Uses::New,
        &[
            Call::MultipartCreate,
            Call::MultipartPart,
            Call::MultipartComplete,
            Call::MultipartAbort,
        ],
    )
};

pub(super) const CREATE: RequestKind = RequestKind {
    query: |_, _, out| out.extend_from_slice(b"uploads="),
    takes: TakenBody::Text,
    proof: |_, answer| match element(answer.body, "UploadId") {
        Some(_) => Ok(()),
        None => Err(wrong("the answer has no UploadId")),
    },
    ..RequestKind::of("multipart_create", "POST")
};

pub(super) const PART: RequestKind = RequestKind {
    query: |_, about, out| {
        let upload = encoded(about.upload);
        let _infallible = write!(out, "partNumber={}&uploadId={upload}", about.part);
    },
    carries: Carries::Object,
    counts: CountedBytes::Sent,
    proof: |_, answer| match answer.etag {
        [] => Err(wrong("the answer has no ETag")),
        _ => Ok(()),
    },
    ..RequestKind::of("multipart_part", "PUT")
};

pub(super) const COMPLETE: RequestKind = RequestKind {
    query: |_, about, out| {
        let _infallible = write!(out, "uploadId={}", encoded(about.upload));
    },
    takes: TakenBody::Text,
    // S3 may find out after it has said 200.
    proof: |_, answer| match element(answer.body, "ETag") {
        Some(_) => Ok(()),
        None => Err(Failure::status(answer.status, answer.body)),
    },
    ..RequestKind::of("multipart_complete", "POST")
};

pub(super) const ABORT: RequestKind = RequestKind {
    query: COMPLETE.query,
    removes: true,
    ..RequestKind::of("multipart_abort", "DELETE")
};

pub(super) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
    let object = task.about.object.expect("an upload is of an object");
    let upload = create(user, object, task.intended).await?;
    let result = parts(user, object, &upload, task.step.part_bytes).await;
    if result.is_err() {
        let aborted = user
            .client
            .call(
                Call::MultipartAbort,
                About::upload(object, &upload),
                false,
                None,
            )
            .await;
        if aborted.is_err_and(|failure| !failure.is_gone()) {
            return result;
        }
    }
    let mut owned = user.owned.borrow_mut();
    owned.uploads.retain(|(_, open)| *open != upload);
    result
}

/// Begins an upload; its name.
async fn create(user: &mut User, object: Object, intended: Option<u64>) -> Result<String, Failure> {
    let about = About::upload(object, "");
    user.client
        .call(Call::MultipartCreate, about, false, intended)
        .await?;
    let upload = element(user.client.collected(), "UploadId")
        .unwrap_or_default()
        .to_owned();
    let mut owned = user.owned.borrow_mut();
    owned.uploads.push((object, upload.clone()));
    Ok(upload)
}

/// Sends all parts and completes the upload.
async fn parts(
    user: &mut User,
    object: Object,
    upload: &str,
    part_bytes: u64,
) -> Result<(), Failure> {
    let mut list = String::from("<CompleteMultipartUpload>");
    let (mut from, mut part) = (0, 1);
    loop {
        let length = (object.size - from).min(part_bytes);
        let about = About {
            from,
            length,
            part,
            ..About::upload(object, upload)
        };
        user.client
            .call(Call::MultipartPart, about, false, None)
            .await?;
        let etag = String::from_utf8_lossy(user.client.etag()).replace('"', "&quot;");
        let _infallible = write!(
            list,
            "<Part><PartNumber>{part}</PartNumber><ETag>{etag}</ETag></Part>"
        );
        (from, part) = (from + length, part + 1);
        if from >= object.size {
            break;
        }
    }
    list.push_str("</CompleteMultipartUpload>");
    let complete = About {
        text: list.as_bytes(),
        ..About::upload(object, upload)
    };
    user.client
        .call(Call::MultipartComplete, complete, false, None)
        .await
        .map(drop)
}
