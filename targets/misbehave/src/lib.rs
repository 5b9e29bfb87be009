//! Latency, rate and fault models with a known truth, shared by the targets.
//!
//! A [`Misbehaviour`] is read from one line of text, in the words that its target has
//! ([`Vocabulary`]). What it does to a request follows from its seed and from what the target says
//! of the request ([`Ask`]), so that what a client measures can be compared with what was done to
//! it. What depends on when requests come, or on what came before, is kept beside the model and is
//! told the time: limits by a [`Shaper`], places that writing cures by [`Cured`]. Nothing here
//! reads a clock, waits, or touches bytes.
#![forbid(unsafe_code)]

mod law;
mod model;
mod parse;
mod place;
mod shaper;
mod vocabulary;

pub use law::{Delay, LawPiece};
pub use model::{Ask, BytePlace, Fate, Fault, Treatment, Which};
pub use parse::MisbehaveError;
pub use place::{Cured, FaultPlace};
pub use shaper::Shaper;
pub use vocabulary::{Buckets, Codes, Histograms, Vocabulary};

use units::{ByteRate, Bytes, Nanos, Rate};

/// What is done to the requests of one operation, or to all.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Models {
    pub(crate) latency: Option<Delay>,
    pub(crate) jitter: Option<Nanos>,
    pub(crate) rate: Option<Rate>,
    pub(crate) bandwidth: Option<ByteRate>,
    pub(crate) channels: Option<u32>,
    pub(crate) errors: Option<Fault>,
    pub(crate) stall: Option<Stall>,
    pub(crate) truncate: Option<Which>,
    pub(crate) corrupt: Option<Which>,
    pub(crate) stale: Option<Which>,
    pub(crate) lost: Option<Which>,
    pub(crate) torn: Option<Which>,
    pub(crate) misdirected: Option<Which>,
    pub(crate) hang: Option<Which>,
}

/// When nothing is answered for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stall {
    /// At the start of every span of `every`, requests wait until `lasts` of it have gone.
    Every { lasts: Nanos, every: Nanos },
    /// Each time that so many bytes more were written.
    After { lasts: Nanos, bytes: Bytes },
}

/// How a target misbehaves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Misbehaviour {
    pub(crate) seed: u64,
    pub(crate) all: Models,
    /// What is said of one operation goes before what is said of all.
    pub(crate) of: Vec<(String, Models)>,
}

impl Misbehaviour {
    /// Reads models such as `latency=5ms,errors=1%:503,get.latency=lognormal:5ms:0.5,seed=7`,
    /// separated by commas. A target has some of them.
    ///
    /// | model | does |
    /// |---|---|
    /// | `latency=5ms`, `latency=normal:MEAN:DEVIATION`, `latency=lognormal:MEDIAN:SIGMA`, `latency=uniform:LOW:HIGH`, `latency=exponential:MEAN`, `latency=mix:99%:100us:1%:20ms`, `latency=empirical:FILE#KIND` | waits before answering |
    /// | `jitter=1ms` | waits up to this much more, evenly |
    /// | `rate=1000/s` | lets no more requests through |
    /// | `bandwidth=100MB/s` | lets no more bytes of bodies through, those of requests and of answers together |
    /// | `channels=8` | serves so many at once for as long as they wait, first come first served |
    /// | `errors=1%:503` | answers this error, without doing anything |
    /// | `errors=EIO@1MiB+64KiB` | answers it to whatever touches the place; with `:until-written`, until that was written |
    /// | `stall=2s/every:30s` | answers nothing for 2 s of every 30 s |
    /// | `stall=2s/after:1GiB` | answers nothing for 2 s after each GiB that was written |
    /// | `truncate=0.1%` | ends a body early |
    /// | `corrupt=0.01%` | flips a bit of what is sent or written |
    /// | `stale=0.1%` | gives to read what was there before |
    /// | `lost=0.1%`, `torn=0.1%`, `misdirected=0.1%` | acknowledges a write and keeps nothing of it, its first part alone, or all of it in another place |
    /// | `hang=1ppm` | answers nothing until told |
    /// | `seed=7` | draws other numbers |
    ///
    /// A share is `1%` or `10ppm`; in its place `nth:1000` is every thousandth request and `once:17`
    /// the seventeenth, counted over all of the target's. A model with an operation before it,
    /// such as `get.latency`, is of that operation alone. Errors name the part at fault.
    pub fn parse(text: &str, vocabulary: &Vocabulary<'_>) -> Result<Self, MisbehaveError> {
        parse::parse(text, vocabulary)
    }

    /// The value of a model for an operation.
    pub(crate) fn model<'a, T>(
        &'a self,
        operation: &str,
        choose: impl Fn(&'a Models) -> Option<T>,
    ) -> Option<T> {
        let own = self
            .of
            .iter()
            .find(|(name, _)| name == operation)
            .and_then(|(_, models)| choose(models));
        own.or_else(|| choose(&self.all))
    }

    /// Whether some operation has this model of its own.
    pub(crate) fn has_own(&self, operation: &str, has: impl Fn(&Models) -> bool) -> bool {
        self.of
            .iter()
            .any(|(name, models)| name == operation && has(models))
    }

    /// Whether what was there before a write has to be kept.
    pub fn reads_stale(&self) -> bool {
        self.all.stale.is_some() || self.of.iter().any(|(_, models)| models.stale.is_some())
    }

    /// A place of errors that begins behind the last byte of a device of this size.
    pub fn beyond(&self, bytes: u64) -> Option<FaultPlace> {
        let of = std::iter::once(&self.all).chain(self.of.iter().map(|(_, models)| models));
        of.filter_map(|models| match models.errors?.which {
            Which::At(place) => Some(place),
            Which::Share(_) | Which::Nth(_) | Which::Once(_) => None,
        })
        .find(|place| place.start >= bytes)
    }

    /// The law of the waits of an operation, without jitter.
    pub fn latency(&self, operation: &str) -> Option<&Delay> {
        self.model(operation, |models| models.latency.as_ref())
    }
}
