//! What uploads have become lately: a client whose answer was lost asks again, perhaps after the
//! object was written over.

use crate::storage::ObjectVersion;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How many are known; those that were finished first are forgotten first. At 10 uploads a second
/// that is a minute and a half.
const MOST: usize = 1024;

/// By bucket and upload, in the order in which they were finished. An upload's id is never given
/// again.
#[derive(Default)]
pub(crate) struct Finished(Mutex<VecDeque<(String, String, ObjectVersion)>>);

impl Finished {
    pub(super) fn keep(&self, (bucket, upload): (&str, &str), made: &ObjectVersion) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back((bucket.to_owned(), upload.to_owned(), made.clone()));
    }

    pub(super) fn get(&self, (bucket, upload): (&str, &str)) -> Option<ObjectVersion> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .iter()
            .rev()
            .find(|(place, id, _)| place == bucket && id == upload)
            .map(|(_, _, made)| made.clone())
    }
}
