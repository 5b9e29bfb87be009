//! Latency, rate and fault models with a known truth, shared by the targets.
//!
//! A [`Misbehaviour`] is read from one line of text. What it does to a request follows from its
//! seed and the number of the request alone, so that what a client measures can be compared with
//! what was done to it. Limits of rate and bandwidth depend on when requests arrive; a [`Shaper`]
//! keeps them, and is told the time. Nothing here reads a clock, waits, or touches bytes.
#![forbid(unsafe_code)]

mod model;
mod parse;
mod shaper;

pub use model::{BytePlace, Delay, Fault, Treatment};
pub use parse::MisbehaveError;
pub use shaper::Shaper;

use units::{ByteRate, Nanos, Rate};

/// What is done to the requests of one operation, or to all.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Models {
    pub(crate) latency: Option<Delay>,
    pub(crate) jitter: Option<Nanos>,
    pub(crate) rate: Option<Rate>,
    pub(crate) bandwidth: Option<ByteRate>,
    pub(crate) errors: Option<Fault>,
    pub(crate) stall: Option<Stall>,
    /// Shares of requests, 0 to 1.
    pub(crate) truncate: Option<f64>,
    pub(crate) corrupt: Option<f64>,
}

/// At the start of every span of `every`, requests wait until `lasts` of it have gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stall {
    pub(crate) lasts: Nanos,
    pub(crate) every: Nanos,
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
    /// separated by commas.
    ///
    /// | model | does |
    /// |---|---|
    /// | `latency=5ms`, `latency=lognormal:MEDIAN:SIGMA`, `latency=uniform:LOW:HIGH`, `latency=exponential:MEAN` | waits before answering |
    /// | `jitter=1ms` | waits up to this much more, evenly |
    /// | `rate=1000/s` | lets no more requests through |
    /// | `bandwidth=100MB/s` | lets no more bytes of bodies through, those of requests and of answers together |
    /// | `errors=1%:503` | answers this status, without doing anything |
    /// | `stall=2s/every:30s` | answers nothing for 2 s of every 30 s |
    /// | `truncate=0.1%` | ends a body early |
    /// | `corrupt=0.01%` | flips a bit of a body |
    /// | `seed=7` | draws other numbers |
    ///
    /// A model with an operation before it, such as `get.latency`, is of that operation alone.
    /// Errors name the part at fault.
    pub fn parse(text: &str, operations: &[&str]) -> Result<Self, MisbehaveError> {
        parse::parse(text, operations)
    }

    /// The value of a model for an operation.
    pub(crate) fn model<T: Copy>(
        &self,
        operation: &str,
        choose: impl Fn(&Models) -> Option<T>,
    ) -> Option<T> {
        let own = self
            .of
            .iter()
            .find(|(name, _)| name == operation)
            .and_then(|(_, models)| choose(models));
        own.or_else(|| choose(&self.all))
    }
}
