//! How a server misbehaves, which whoever runs it may change while it serves.

use crate::injector::Injector;
use crate::wake::Wakes;
use misbehave::{Misbehaviour, Vocabulary};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// What is done to requests from one change to the next. Each change is a generation, from 1 on.
pub struct Orders {
    kinds: &'static [&'static str],
    wakes: Wakes,
    generation: AtomicU64,
    /// Whether anything is done at all, which a request can see without a lock.
    misbehaves: AtomicBool,
    standing: RwLock<Option<Arc<Injector>>>,
}

impl Orders {
    /// `kinds`: the operations that can be made to misbehave. What is done from the start on is a
    /// change like others.
    pub fn new(kinds: &'static [&'static str], models: Option<Misbehaviour>, wakes: Wakes) -> Self {
        let orders = Self {
            kinds,
            wakes,
            generation: AtomicU64::new(0),
            misbehaves: AtomicBool::new(false),
            standing: RwLock::default(),
        };
        if models.is_some() {
            orders.stand(models);
        }
        orders
    }

    fn stand(&self, models: Option<Misbehaviour>) -> u64 {
        let mut standing = self
            .standing
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *standing = models.map(|models| Arc::new(Injector::new(models, self.wakes.clone())));
        self.misbehaves.store(standing.is_some(), Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Does what the text says to requests that come from now on, and `none` to none; which
    /// generation that is.
    ///
    /// # Errors
    /// What is wrong with the text. Files of histograms are not read for who asks from elsewhere.
    pub fn change(&self, text: &str) -> Result<u64, String> {
        let models = match text.trim() {
            "none" => None,
            text => Some(
                Misbehaviour::parse(text, &Vocabulary::http(self.kinds))
                    .map_err(|error| error.to_string())?,
            ),
        };
        Ok(self.stand(models))
    }

    /// How often it was told what to do.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn misbehaves(&self) -> bool {
        self.misbehaves.load(Ordering::Acquire)
    }

    /// What is done to a request that comes now.
    pub(crate) fn standing(&self) -> Option<Arc<Injector>> {
        if !self.misbehaves() {
            return None;
        }
        let standing = self.standing.read().unwrap_or_else(PoisonError::into_inner);
        standing.clone()
    }
}
