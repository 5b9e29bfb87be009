//! Load on object stores and HTTP services: virtual users or an arrival rate, with latency from the
//! intended start.
//!
//! [`execute`] takes a [`LoadPlan`] (a [`Scenario`] against a [`LoadTarget`]) and returns a record.
//! Each load thread has a runtime, users and connections of its own; nothing is shared but
//! counters, and no user moves to another thread. The client is ours, over TCP or TLS: a pool would
//! hide connecting, waiting and retries, which are what is measured.
//!
//! What holds:
//! * Latency counts from the intended start. In a closed loop that is the issue, in an open loop
//!   the schedule's due time.
//! * Errors are in no histogram. An answer that is too short, too long, or of other bytes than were
//!   written is an error.
//! * Requests of setup and teardown are counted apart, and only what a load made is removed.
//! * Keys are neither shown nor recorded.
//! * Everything that decides (ramps, schedules, choices, thresholds, the response parser) is pure.
//!
//! Deliberately absent: redirects, cookies, and virtual-host addressing of buckets.
#![forbid(unsafe_code)]

mod account;
mod bulk;
mod client;
mod connection;
mod drawn;
mod due;
mod error;
mod exchange;
mod execute;
mod failure;
mod header;
mod http2;
mod ledger;
mod options;
mod payload;
mod plan;
mod ramp;
mod scenario;
mod secret;
mod seen;
mod settings;
mod share;
mod sign;
mod target;
mod threshold;
mod user;
mod verbs;
mod weighted;
mod wire;
mod worker;

pub use connection::HttpVersion;
pub use error::LoadError;
pub use execute::{Setup, execute, not_removed};
pub use header::RequestHeader;
pub use options::{AskedKnee, AskedLoad, LOAD_OPTIONS, LoadKeys, LoadOption, LoadSwitch};
pub use payload::ObjectData;
pub use plan::{LoadPlan, ShareSecret, WholeLoad};
pub use ramp::{Leg, Ramp, Spacing};
pub use scenario::{
    Adjustments, Arrivals, Follow, KeyChoice, ObjectSet, ObjectSizes, ObjectSource, PayloadMode,
    Scenario, Seed, Sleep, UserStep, parse_stages,
};
pub use secret::{recorded_url, variable_of};
pub use share::LoadShare;
pub use sign::Credentials;
pub use target::LoadTarget;
pub use threshold::{kinds, threshold};
pub use trust::Trust;
pub use verbs::StepKind;
