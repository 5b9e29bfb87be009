//! Multipart uploads that were begun and have not ended: of no use to anybody.

use super::{Bulk, patiently};
use crate::client::Client;
use crate::failure::{Failure, element};
use crate::payload::Object;
use crate::settings::{encoded, read_key};
use crate::verbs::{About, Call};
use record::Measurements;
use tokio::task::LocalSet;
use units::lossless::to_u64;

type OpenUploads = (Vec<(Object, String)>, bool);

/// What became of multipart uploads.
pub(crate) struct Aborted {
    pub(crate) measured: Measurements,
    pub(crate) left: u64,
    /// Whether some of these may not be open: the server did not say.
    pub(crate) is_at_most: bool,
    /// Nobody waited for the rest any more.
    pub(crate) is_given_up: bool,
    pub(crate) first: Option<Failure>,
}

impl Aborted {
    /// Where the server did not list what else is open, at most so many: it refused, or nobody waited for it.
    fn unlisted(self, hidden: u64, refused: Option<Failure>) -> Self {
        Self {
            left: self.left + hidden,
            is_at_most: true,
            is_given_up: self.is_given_up || refused.is_none(),
            first: self.first.or(refused),
            ..self
        }
    }
}

impl Bulk {
    /// Aborts these uploads and, where so many more may be hidden, those that the server lists under
    /// the keys of this run.
    pub(crate) fn abort(
        &self,
        known: &[(Object, String)],
        hidden: u64,
        stop: &dyn Fn() -> bool,
    ) -> Aborted {
        let about: fn(&(Object, String)) -> About<'_> =
            |(object, upload)| About::upload(*object, upload);
        let done = self.each_of(Call::MultipartAbort, known, about, stop, &mut |_| ());
        let mut out = Aborted {
            measured: done.measured,
            left: to_u64(done.undone.len()),
            is_at_most: !done.in_doubt.is_empty(),
            is_given_up: done.unreached > 0 && sys::is_told_twice(),
            first: done.first,
        };
        if hidden == 0 {
            return out;
        }
        // A page may be followed by others; each is shorter by what was aborted.
        loop {
            let (open, is_whole) = match self.open_uploads() {
                Some(Ok((open, _))) if open.is_empty() => {
                    return Aborted {
                        left: 0,
                        is_given_up: false,
                        ..out
                    };
                }
                Some(Ok(page)) => page,
                Some(Err(failure)) => return out.unlisted(hidden, Some(failure)),
                None => return out.unlisted(hidden, None),
            };
            let done = self.each_of(Call::MultipartAbort, &open, about, stop, &mut |_| ());
            out.measured.merge(&done.measured);
            if done.undone.len() == open.len() {
                if !is_whole {
                    return out.unlisted(hidden, done.first);
                }
                return Aborted {
                    left: to_u64(open.len()),
                    is_at_most: !done.in_doubt.is_empty(),
                    is_given_up: done.unreached > 0 && sys::is_told_twice(),
                    first: out.first.or(done.first),
                    ..out
                };
            }
        }
    }

    /// The first page of what the server lists as open under the keys of this run, and whether it is all; `None`
    /// where nobody waits for it any more.
    fn open_uploads(&self) -> Option<Result<OpenUploads, Failure>> {
        let thread = self.thread(Call::List);
        let body = LocalSet::new().block_on(&self.runtime, async {
            let mut client = Client::new(&thread, 0);
            let query = format!("prefix={}&uploads=", encoded(&self.settings.root));
            let path = self.settings.bucket_path();
            patiently(client.page(&path, &query)).await
        });
        let body = match body? {
            Ok(body) => body,
            Err(failure) => return Some(Err(failure)),
        };
        let is_whole = element(&body, "IsTruncated") != Some("true");
        let mut rest = body.as_slice();
        let mut out = Vec::new();
        while let Some(at) = rest.windows(8).position(|window| window == b"<Upload>") {
            rest = &rest[at + 8..];
            let key = element(rest, "Key").and_then(|key| read_key(&self.settings, key));
            if let (Some(object), Some(upload)) = (key, element(rest, "UploadId")) {
                out.push((object, upload.to_owned()));
            }
        }
        Some(Ok((out, is_whole)))
    }
}
