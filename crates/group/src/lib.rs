//! Ranks that do one trial together: whose clock says what, when all begin, who is still there, and
//! how all end.
//!
//! A [`GroupMember`] is the part of one rank, as a machine without clock, threads or sockets: it is told
//! what arrived or that it is time, and says what to send and when to wake it. Whoever drives it
//! owns the transport; a test drives a thousand of them on virtual time. Nobody trusts a clock of
//! the day: [`OffsetRange`] holds where the root's clock can be, and is never narrower than the truth.
//!
//! A rank that is not heard of for too long is lost, and then the trial is lost for all: fewer
//! ranks are another experiment. Deliberately absent: transports, bytes of messages, what is
//! measured.
#![forbid(unsafe_code)]

mod member;
mod offset;
mod root;
#[cfg(test)]
mod sim;

pub use member::{Act, GroupMember, GroupTiming, MemberEnd, MemberInput, Message};
pub use offset::OffsetRange;
