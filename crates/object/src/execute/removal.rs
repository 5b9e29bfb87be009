//! What a load made is removed from the server, and what of it is left is told.

use super::Setup;
use super::course::Remains;
use crate::bulk::Bulk;
use crate::payload::Object;
use crate::verbs::Call;
use record::{LeftKind, LeftOver, Measurements, Record};
use std::time::Duration;
use units::lossless::to_u64;

impl Setup {
    /// Removes what users made, and only that; uploads that are still open are of no use to
    /// anybody.
    pub(super) fn clear(&self, remains: &Remains, record: &mut Record) {
        let mut aborted = self.bulk.abort(
            &remains.uploads,
            remains.hidden_uploads,
            &sys::is_told_twice,
        );
        aborted.is_at_most |= remains.has_ended_uploads;
        if let Some(load) = &mut record.load {
            load.uploads_left_behind += aborted.left;
            load.teardown.merge(&aborted.measured);
        }
        if aborted.left > 0 {
            self.bulk.tell_of_open(&aborted, record);
        }
        if aborted.is_given_up {
            give_up(record);
        }
        self.delete(&remains.objects, remains.is_in_doubt, record);
    }

    /// Removes what the setup made, unless it shall stay, and tells the record.
    pub fn remove(self, record: &mut Record) {
        let patience = match self.has_others {
            true => BucketPatience::WithOthers,
            false => BucketPatience::None,
        };
        self.remove_objects(record).remove(record, patience);
    }

    /// Removes the objects of the setup; the bucket is left.
    pub(super) fn remove_objects(self, record: &mut Record) -> LeftBucket {
        self.delete(self.seeds.left(), self.seeds.is_in_doubt, record);
        if self.unnamed > 0 {
            record.leave(LeftOver::posted(self.unnamed, true));
            if let Some(load) = &mut record.load {
                load.left_behind += self.unnamed;
            }
        }
        self.bucket()
    }

    pub(super) fn bucket(self) -> LeftBucket {
        LeftBucket(Some(self.bulk).filter(|_| !self.keep))
    }

    /// Removes objects, unless they shall stay; where they are in doubt some may not be there.
    fn delete(&self, objects: &[Object], is_in_doubt: bool, record: &mut Record) {
        let (mut left, mut teardown) = (to_u64(objects.len()), Measurements::default());
        if self.keep {
            self.bulk.tell_of_kept(left, is_in_doubt, record);
        } else {
            let done = self
                .bulk
                .each(Call::Delete, objects, &sys::is_told_twice, &mut |_| ());
            left = self.bulk.tell_of_left(&done, is_in_doubt, record);
            if done.unreached > 0 {
                give_up(record);
            }
            teardown = done.measured;
        }
        if let Some(load) = &mut record.load {
            load.left_behind += left;
            load.teardown.merge(&teardown);
        }
    }
}

/// How long a bucket is asked for that is not empty.
#[derive(Clone, Copy)]
pub(super) enum BucketPatience {
    /// All that may be in it is removed, as far as it can be.
    None,
    /// Other ranks may still remove what they made, and nobody has met them since.
    WithOthers,
}

impl BucketPatience {
    fn time(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::WithOthers => Duration::from_secs(10),
        }
    }
}

/// The bucket that a load made, unless it shall stay.
pub(super) struct LeftBucket(Option<Bulk>);

impl LeftBucket {
    pub(super) fn remove(self, record: &mut Record, patience: BucketPatience) {
        let Some(bulk) = self.0 else {
            return;
        };
        let left = bulk.remove_bucket(patience.time());
        if left.is_empty() {
            // Uploads end with the bucket in which they are open.
            let in_it = record.left_over.iter_mut();
            let in_it = in_it.filter(|left| bulk.made_a_bucket() && left.kind == LeftKind::Uploads);
            in_it.for_each(|uploads| uploads.is_at_most = true);
            return;
        }
        record.notices.extend(left.into_iter().map(|(why, places)| {
            let places = places.join(", ");
            format!(
                "the bucket that this load made could not be removed: {why}; it is left at {places}"
            )
        }));
        give_up(record);
    }
}

/// What was left because somebody asked twice for the end did not end well, though all was measured. A load
/// that had failed has failed.
fn give_up(record: &mut Record) {
    let Some(caught) = sys::caught_signal().filter(|caught| caught.impatient) else {
        return;
    };
    let (signal, code) = (caught.signal, caught.exit_code());
    let outcome = &mut record.outcome;
    outcome.stopped_in_removal(signal, code, "the removal was given up");
}
