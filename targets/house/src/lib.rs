//! What every served target needs, so that none writes it again.
#![forbid(unsafe_code)]

mod handoff;
mod patience;
mod wake;

pub use handoff::{Direct, FileSpan, Handoff, SPAN};
pub use patience::{Patience, Patient};
pub use wake::{Wait, Wakes};
