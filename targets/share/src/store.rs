//! The store: bodies and the index that names them.
//!
//! The order of effects is what a crash leaves whole: a body is durable under its number before a
//! row names it, and a row is gone before its body is. What no row names is removed at the next
//! start.

#[cfg(test)]
mod backup;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod damaged;
mod hold;
#[cfg(test)]
mod log;
#[cfg(test)]
mod model;
mod opening;
mod pins;
mod remains;
#[cfg(test)]
mod testing;

use self::hold::{Hold, beside};
use self::opening::{bodies, footing, tunings};
use self::pins::{Pin, Pinned, guarded, less};
use crate::content::{Bodies, BodyReader, Draft, Footing, Obstacle, Settled, Unobstructed};
use crate::error::{ShareError, ShareResult};
use crate::index::{Index, KeptUpload, check_head};
use crate::options::{ShareLayout, ShareOptions, Switch};
use crate::sink::Desks;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// What a store has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StoreCounts {
    pub(crate) commits: u64,
    pub(crate) syncs: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) removed: u64,
}

/// How much a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreTotals {
    pub(crate) uploads: u64,
    pub(crate) bytes: u64,
    pub(crate) on_disk: u64,
}

/// A store that one server has.
pub struct ShareStore {
    pub(crate) index: Index,
    pub(crate) options: ShareOptions,
    pub(crate) desks: Arc<Desks>,
    /// Downloads that may hold whole rows.
    pub(crate) ahead: Arc<Semaphore>,
    bodies: Box<dyn Bodies>,
    ground: Arc<Footing>,
    /// Bodies that are being read, and by how many.
    open: Arc<Mutex<BTreeMap<u64, u64>>>,
    /// What else needs to be known of an upload before it has ended: places of guest links.
    places: Mutex<BTreeMap<String, u64>>,
    /// Whether the last change that was asked for could not be made, and not for want of space.
    failing: AtomicBool,
    _hold: Hold,
}

/// What an upload is to be once its bytes are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewUpload {
    pub(crate) name: String,
    pub(crate) media: String,
    pub(crate) note: String,
    pub(crate) expires: Option<u64>,
    pub(crate) guest_link: Option<String>,
}

impl ShareStore {
    /// Opens a store, and makes it where there is none; what was found.
    ///
    /// # Errors
    /// `InUse` where another server has it, `Setting` where an option did not take effect.
    pub fn attach(path: &Path, options: ShareOptions) -> ShareResult<(Self, Settled)> {
        Self::attach_with(path, options, Arc::new(Unobstructed))
    }

    pub(crate) fn attach_with(
        path: &Path,
        options: ShareOptions,
        obstacle: Arc<dyn Obstacle>,
    ) -> ShareResult<(Self, Settled)> {
        let mut hold = Hold::take(path)?;
        check_head(&hold.path, &options)?;
        let ground = Arc::new(footing(&hold, &options, obstacle)?);
        ground.open_up()?;
        let (tuning, body_tuning) = tunings(&options);
        let index = Index::open(
            &hold.path,
            tuning,
            options.connections,
            options.downloads_index,
            Arc::clone(&ground),
        )?;
        let bodies = bodies(&hold, &options, &index, &ground)?;
        let mut settled = bodies.settle(&index.bodies()?)?;
        // Of what was deleted nothing is missed.
        let missed = index.of_bodies(&settled.missing)?;
        settled.missing = missed.iter().map(|upload| upload.body.number).collect();
        ground.set_aside();
        hold.keep();
        let aside = match options.layout {
            ShareLayout::FilePerShare => beside(&hold.path, ".shares/incoming"),
            ShareLayout::OneDatabase => hold.directory(),
        };
        let store = Self {
            index,
            desks: Arc::new(Desks::new(
                options.chunk(),
                body_tuning.writing_cache(),
                aside,
            )),
            ahead: Arc::new(Semaphore::new(opening::reading_ahead(&options))),
            options,
            bodies,
            ground,
            open: Arc::default(),
            places: Mutex::default(),
            failing: AtomicBool::new(false),
            _hold: hold,
        };
        Ok((store, settled))
    }

    /// Errors: `NoSpace` where so many bytes have no room.
    pub(crate) fn room_for(&self, bytes: u64) -> ShareResult<()> {
        match self.ground.room_for(bytes) {
            Err(ShareError::NoSpace) => {
                self.purge(u64::MAX)?;
                self.ground.room_for(bytes)
            }
            other => other,
        }
    }

    pub(crate) fn begin(&self) -> ShareResult<Box<dyn Draft>> {
        self.bodies.begin()
    }

    /// Makes an upload of what was written: afterwards it is durable and can be found.
    pub(crate) fn keep(
        &self,
        mut draft: Box<dyn Draft>,
        size: u64,
        new: NewUpload,
        now: u64,
    ) -> ShareResult<String> {
        draft.finish()?;
        let upload = KeptUpload {
            id: crate::token::file_id(),
            body: draft.place(),
            size: self.stored(size),
            name: new.name,
            media: new.media,
            note: new.note,
            uploaded: now,
            changed: now,
            expires: new.expires,
            guest_link: new.guest_link,
        };
        let check = |index: &_| draft.check(index, size);
        let outcome = self.index.add(&upload, now, &check);
        self.linked(draft, &upload, outcome)?;
        Ok(upload.id)
    }

    /// Gives an upload other bytes, and another note where there is one.
    pub(crate) fn replace(
        &self,
        mut draft: Box<dyn Draft>,
        size: u64,
        with: KeptUpload,
        note: Option<String>,
        now: u64,
    ) -> ShareResult<()> {
        draft.finish()?;
        let upload = KeptUpload {
            body: draft.place(),
            size: self.stored(size),
            changed: now,
            ..with
        };
        let check = |index: &_| draft.check(index, size);
        let outcome = self.index.replace(&upload, note.as_deref(), now, &check);
        self.linked(draft, &upload, outcome)
    }

    /// Keeps a body whose row was written, or may have been. What is kept in vain goes at the next
    /// start; a row whose body was removed would be an upload that is lost.
    fn linked(
        &self,
        draft: Box<dyn Draft>,
        upload: &KeptUpload,
        outcome: ShareResult<()>,
    ) -> ShareResult<()> {
        let is_not_there = || {
            let found = self.index.find(&upload.id, 0);
            found.is_ok_and(|found| found.is_none_or(|found| found.body != upload.body))
        };
        if outcome.is_err() && is_not_there() {
            drop(draft);
        } else {
            draft.kept();
        }
        outcome
    }

    fn stored(&self, size: u64) -> Option<u64> {
        (self.options.stored_size == Switch::On).then_some(size)
    }

    /// The bytes of an upload.
    pub(crate) fn size(&self, upload: &KeptUpload) -> ShareResult<u64> {
        match upload.size {
            Some(size) if self.options.stored_size == Switch::On => Ok(size),
            Some(_) | None => self.bodies.size(upload.body.number),
        }
    }

    /// Reads a body, which stays as long as it is read.
    pub(crate) fn read(&self, upload: &KeptUpload) -> ShareResult<Box<dyn BodyReader>> {
        let number = upload.body.number;
        *guarded(&self.open).entry(number).or_default() += 1;
        let pin = Pin {
            open: Arc::clone(&self.open),
            number,
        };
        let reader = self.bodies.open(number)?;
        Ok(Box::new(Pinned { reader, _pin: pin }))
    }

    /// Takes a place of a guest link as long as an upload by it is under way. Errors: `Missing`, `LinkClosed`.
    pub(crate) fn take_place(
        self: &Arc<Self>,
        link: &str,
        now: u64,
    ) -> ShareResult<(crate::index::GuestLink, GuestPlace)> {
        // Nobody gives a place back between the look at the row and the count of those under way.
        let mut places = guarded(&self.places);
        let found = self.index.guest_link(link)?.ok_or(ShareError::Missing)?;
        let under_way = places.get(link).copied().unwrap_or(0);
        if !found.is_open(under_way, now) {
            return Err(ShareError::LinkClosed);
        }
        *places.entry(link.to_owned()).or_default() += 1;
        let place = GuestPlace {
            store: Arc::clone(self),
            link: link.to_owned(),
        };
        Ok((found, place))
    }

    /// Removes uploads whose time is over, and bytes that have no upload any more.
    pub fn sweep(&self, now: u64) -> ShareResult<u64> {
        let mut expired = 0;
        loop {
            match self.index.expire(now)? {
                0 => break,
                some => expired += some,
            }
        }
        let kept = u64::try_from(self.options.keep_deleted.as_millis()).unwrap_or(u64::MAX);
        // What is kept only for copies makes room where there is none.
        let moment = match self.ground.room_for(0) {
            Err(ShareError::NoSpace) => Some(u64::MAX),
            _ => now.checked_sub(kept),
        };
        if let Some(moment) = moment {
            self.purge(moment)?;
        }
        self.ground.set_aside();
        Ok(expired)
    }

    /// Removes bodies that lost their upload until a moment, but those that are being read.
    fn purge(&self, moment: u64) -> ShareResult<()> {
        loop {
            let mut bodies = self.index.deleted_until(moment.min(i64::MAX as u64))?;
            bodies.retain(|body| !guarded(&self.open).contains_key(body));
            if bodies.is_empty() {
                break;
            }
            for body in &bodies {
                self.bodies.remove(*body)?;
            }
            self.index.forget(&bodies)?;
        }
        // Also what could not be given back before.
        self.bodies.give_back()
    }

    pub(crate) fn counts(&self) -> StoreCounts {
        let ground = &self.ground;
        StoreCounts {
            commits: ground.commits.load(Relaxed),
            syncs: ground.syncs.load(Relaxed),
            bytes_in: ground.bytes_in.load(Relaxed),
            bytes_out: ground.bytes_out.load(Relaxed),
            removed: ground.removed.load(Relaxed),
        }
    }

    /// Free bytes, and those of them that are left free.
    pub fn space(&self) -> ShareResult<(u64, u64)> {
        Ok((self.ground.free()?, self.ground.reserve))
    }

    /// Remembers how a change ended that was asked for.
    pub(crate) fn note_change(&self, failed: bool) {
        self.failing.store(failed, Relaxed);
    }

    /// Whether it takes what is sent to it. Errors: why not, in words for anybody.
    pub(crate) fn check(&self) -> ShareResult<Result<(), &'static str>> {
        let (free, reserve) = self.space()?;
        Ok(if self.ground.read_only().is_some() {
            Err("the file system is read-only")
        } else if self.failing.load(Relaxed) {
            Err("the last change could not be made: the log says why")
        } else if free <= reserve {
            Err("there is no space for uploads")
        } else {
            Ok(())
        })
    }

    /// Tries whether changes can be made again where the last could not. Whoever is told by it that
    /// this server is ill may ask it for no change any more.
    pub(crate) fn recover(&self) {
        if self.failing.load(Relaxed) && self.probe().is_ok() {
            self.note_change(false);
        }
    }

    /// Does what an upload does, and keeps nothing of it.
    fn probe(&self) -> ShareResult<()> {
        let mut draft = self.begin()?;
        draft.append(&[0])?;
        draft.finish()?;
        drop(draft);
        self.index.probe()
    }

    /// Why something failed, for who runs the server: with what its file system says of itself.
    pub(crate) fn told(&self, cause: &str) -> String {
        match self.ground.read_only() {
            Some(place) => format!(
                "{cause}; the file system of {} is read-only: its kernel's log says since when and why",
                place.display()
            ),
            None => cause.to_owned(),
        }
    }

    /// How much is kept. Sizes that are not kept are not added up for this.
    pub(crate) fn totals(&self) -> ShareResult<StoreTotals> {
        let (uploads, bytes) = self.index.totals()?;
        Ok(StoreTotals {
            uploads,
            bytes,
            on_disk: self.bodies.on_disk()? + self.index.on_disk()?,
        })
    }

    /// Uploads whose bytes are missing.
    pub fn damaged(&self, settled: &Settled) -> ShareResult<Vec<String>> {
        let uploads = self.index.of_bodies(&settled.missing)?;
        let told = |upload: KeptUpload| format!("{} ({})", upload.id, upload.name);
        Ok(uploads.into_iter().map(told).collect())
    }
}

/// One of the places of a guest link, until it is dropped or a row has taken it.
pub(crate) struct GuestPlace {
    store: Arc<ShareStore>,
    link: String,
}

impl Drop for GuestPlace {
    fn drop(&mut self) {
        less(&self.store.places, &self.link);
    }
}
