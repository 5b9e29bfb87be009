//! Quantities of storage work: the only parsers and formatters of Fathom.
//!
//! A size that is read one way by the flag parser and another way by a job file is a benchmark of
//! something else, and nobody notices. Every text that stands for a quantity is therefore read here
//! and every quantity is written here: [`Bytes`], [`Nanos`], [`Rate`], [`ByteRate`], [`Percent`]
//! and [`IdList`]; and numbers of which only the [`ValueUnit`] is known.
//!
//! # What holds
//! * One text has one meaning. `4k`, `4K`, `4Ki`, `4kb` and `4KiB` are 4096 bytes; `4kB` and `4MB`,
//!   the forms that the SI prescribes, are decimal; `4KB`, which the field uses for both, is
//!   refused with the two spellings to choose from.
//! * Parsing is exact. `1.5G` is a whole number of bytes and is accepted; `1.1k` is not and is an
//!   error, never rounded.
//! * `exact()` of [`Bytes`] and [`Nanos`] parses back to the same value. `Display` is for people
//!   and may round, never in the unit system: sizes and byte rates are shown in powers of 1024
//!   only, counts in powers of 1000 only.
//! * An error says what was read, why it is refused and an example that works.
//! * Nothing here panics on any text. The only panics are of programmer errors, and each is
//!   documented.
//!
//! # The fio dialect
//! fio's units differ from everybody's (`4KiB` is 4000 bytes by default), so they live apart in
//! [`fio`] and are used for fio job files alone.
//!
//! # Buckets
//! The layout of latency histograms stands in [`buckets`].
//!
//! # Chance
//! Seeded random numbers stand in [`random`], because engines, loads, orders of experiments and
//! servers that misbehave all need the same ones.
//!
//! # Moments
//! Times of day are read and written in [`time`].
//!
//! # Text of others
//! What is shown to people goes through [`visible`] or [`on_one_line`]: names in records are
//! anybody's. What they are to type into a shell goes through [`shell_word`].
//!
//! # Deliberately absent
//! No locale, no bits per second, no compound durations (`1m30s`), no arithmetic expressions, and
//! no serialised units: a record holds bytes, nanoseconds and operations per second as plain
//! numbers. Estimates and intervals are not quantities but statistics; they live with the
//! statistics.
#![forbid(unsafe_code)]

pub mod buckets;
mod bytes;
mod counted;
mod error;
mod fingerprint;
pub mod fio;
mod list;
pub mod lossless;
mod nanos;
mod nearest;
mod number;
mod percent;
pub mod random;
mod rate;
mod shown;
pub mod time;
mod unit;

pub use bytes::Bytes;
pub use counted::{counted, few, grouped};
pub use error::{Expected, UnitError};
pub use fingerprint::fnv1a;
pub use list::IdList;
pub use nanos::Nanos;
pub use nearest::nearest;
pub use percent::Percent;
pub use rate::{ByteRate, Rate, format_count};
pub use shown::{disturbs, on_one_line, shell_word, visible, visible_json};
pub use unit::{ValueUnit, factor};
