//! Multipart uploads that were begun and have not ended: of no use to anybody.

use super::{Bulk, patiently};
use crate::client::Client;
use crate::failure::{Failure, FailureKind, element};
use crate::payload::Object;
use crate::settings::{LoadSettings, encoded, read_key};
use crate::verbs::{About, Call};
use record::Measurements;
use std::collections::{BTreeMap, BTreeSet};
use tokio::task::LocalSet;
use units::lossless::to_u64;

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
            is_given_up: self.is_given_up || sys::is_told_twice(),
            first: self.first.or(refused),
            ..self
        }
    }
}

/// A page of what the server lists as open.
struct OpenPage {
    uploads: Vec<(Object, String)>,
    /// Whether it is a list of uploads of which each was understood: else nothing follows from what is not on it.
    is_list: bool,
    /// The same, and there is no other page.
    is_whole: bool,
}

/// The server's names of uploads.
fn names(uploads: &[(Object, String)]) -> BTreeSet<String> {
    uploads.iter().map(|(_, upload)| upload.clone()).collect()
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
        let (mut left, refused) = (names(&done.undone), names(&done.refused));
        let known = names(known);
        // A list may lag behind: what has ended by the server's word is not asked for again.
        let mut gone = &known - &left;
        let mut found = 0;
        loop {
            let page = match self.open_uploads() {
                Some(Ok(page)) => page,
                refused => return out.unlisted(hidden, refused.and_then(Result::err)),
            };
            let is_gone = |(_, upload): &(Object, String)| gone.contains(upload);
            let (lagging, open): (Vec<_>, Vec<_>) = page.uploads.into_iter().partition(is_gone);
            let done = self.each_of(Call::MultipartAbort, &open, about, stop, &mut |_| ());
            out.measured.merge(&done.measured);
            out.first = out.first.or(done.first);
            let undone = names(&done.undone);
            let ended = &names(&open) - &undone;
            left = &left - &ended;
            out.left = to_u64(left.len());
            found += to_u64(ended.difference(&known).count());
            if found > hidden {
                // No more can have been open: a list that names others each time has no end, and it may be true
                // that what was aborted is.
                return out.unlisted(hidden.max(to_u64(open.len())), None);
            }
            if !ended.is_empty() {
                // Another page may follow, shorter by these.
                gone.extend(ended);
                continue;
            }
            // What the server had not refused and does not list has ended; a list without one that it had is no list
            // of all.
            left.retain(|upload| refused.contains(upload));
            if !page.is_whole || !left.is_subset(&undone) {
                let no_list = || Failure::new(FailureKind::Content, NO_LIST);
                return out.unlisted(hidden, (!page.is_list).then(no_list));
            }
            left.extend(undone);
            out.left = to_u64(left.len() + lagging.len());
            out.is_at_most = !(done.in_doubt.is_empty() && lagging.is_empty());
            out.is_given_up = done.unreached > 0 && sys::is_told_twice();
            return out;
        }
    }

    /// The first page of what the server lists as open under the keys of this run, the next where one does not answer;
    /// `None` where nobody waits for it any more.
    fn open_uploads(&self) -> Option<Result<OpenPage, Failure>> {
        let thread = self.thread(Call::List);
        let body = LocalSet::new().block_on(&self.runtime, async {
            let mut client = Client::new(&thread, 0);
            let query = format!("prefix={}&uploads=", encoded(&self.settings.root));
            let path = self.settings.bucket_path();
            let mut others = self.peers.len().saturating_sub(1);
            loop {
                let page = patiently(client.page(&path, &query)).await;
                let is_for_another =
                    matches!(&page, Some(Err(failure)) if failure.is_for_another());
                if others == 0 || !is_for_another {
                    return page;
                }
                others -= 1;
                client.turn_to_next();
            }
        });
        let body = match body? {
            Ok(body) => body,
            Err(failure) => return Some(Err(failure)),
        };
        Some(Ok(OpenPage::read(&body, &self.settings)))
    }
}

impl OpenPage {
    fn read(body: &[u8], settings: &LoadSettings) -> Self {
        let truncated = element(body, "IsTruncated").map(str::trim);
        let is = |word: &str| truncated.is_some_and(|of| of.eq_ignore_ascii_case(word));
        let ends = body.trim_ascii_end().ends_with(ROOT_END);
        let mut is_list = ends && (is("true") || is("false"));
        // Each once, as a list may name it twice.
        let mut uploads = BTreeMap::new();
        let mut rest = body;
        while let Some(at) = rest.windows(START.len()).position(|window| window == START) {
            rest = &rest[at + START.len()..];
            // Not those that only begin with that, such as `<UploadId>`.
            if rest.first().is_some_and(u8::is_ascii_alphanumeric) {
                continue;
            }
            let end = rest.windows(END.len()).position(|window| window == END);
            let told = &rest[..end.unwrap_or(0)];
            let key = element(told, "Key").map(str::trim);
            let object = key.and_then(|key| read_key(settings, key));
            match (object, element(told, "UploadId").map(str::trim)) {
                (Some(object), Some(upload)) => {
                    uploads.insert(upload.to_owned(), object);
                }
                // Somebody else's, if it is written as it is.
                (None, Some(_)) => is_list &= key.is_some_and(|key| is_foreign(key, settings)),
                (_, None) => is_list = false,
            }
        }
        let uploads = uploads.into_iter().map(|(upload, object)| (object, upload));
        Self {
            uploads: uploads.collect(),
            is_list,
            is_whole: is_list && is("false"),
        }
    }
}

/// Whether a key is another's, and not one of this run in a way of writing that is not understood.
fn is_foreign(key: &str, settings: &LoadSettings) -> bool {
    let is_plain = !key.contains(['&', '%', '<']);
    is_plain && !key.contains(settings.root.trim_end_matches(settings.separator))
}

const START: &[u8] = b"<Upload";
const END: &[u8] = b"</Upload>";
const ROOT_END: &[u8] = b"</ListMultipartUploadsResult>";
const NO_LIST: &str = "the answer is no list of uploads that is understood";
