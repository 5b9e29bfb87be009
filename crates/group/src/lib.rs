//! Ranks that do one trial together: whose clock says what, when all begin, who is still there, and
//! how all end.
//!
//! A [`GroupMember`] is the part of one rank, as a machine without clock, threads or sockets: it is told
//! what arrived or that it is time, and says what to send and when to wake it. A [`drive`]r owns the
//! [`Carrier`] and polls it; a test drives a thousand members on virtual time. Nobody trusts a
//! clock of the day: [`OffsetRange`] holds where the root's clock can be, and is never narrower than
//! the truth.
//!
//! Whatever ranks decide together they decide in rounds: each says a word, the root hears all of them
//! and answers one to all. What words mean is their users' affair.
//!
//! A rank that is not heard of for too long is lost, and then the trial is lost for all: fewer
//! ranks are another experiment. What the others have is gathered all the same. Deliberately absent:
//! what is measured, records, and every decision about them.
#![forbid(unsafe_code)]

mod drift;
mod driver;
mod member;
mod message;
mod offset;
mod over_mpi;
mod root;
#[cfg(test)]
mod sim;
mod terms;
mod timing;

pub use drift::ClockDrift;
pub use driver::{Carrier, GroupEvent, drive};
pub use member::GroupMember;
pub use message::{Message, Word};
pub use offset::OffsetRange;
pub use over_mpi::{ConnectError, Connected, Left, connect};
pub use terms::{Act, AgreedStart, MemberEnd, MemberInput};
pub use timing::GroupTiming;
