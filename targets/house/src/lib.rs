//! What every served target needs, so that none writes it again.
//!
//! Two floors. The lower one serves whatever is spoken over connections: [`serve`] opens sockets,
//! does TLS, counts connections, gives each to a [`Host`], and ends them all; [`Patient`] gives up
//! who does not take what is written; [`Orders`] say how it misbehaves, as exactly as [`Wakes`]
//! can; [`Metrics`] counts. The upper one is HTTP: [`Http`] is a [`Host`] that numbers, delays,
//! fails, throttles, cuts and counts requests, gives bodies patience and files to the kernel, tells
//! operators what broke off ([`Mishaps`]), and leaves the answers to a [`Site`]; [`Pages`] are those under `/fathom/`.
//!
//! A target says which operations it has ([`OperationName`]), marks what a request was ([`Sighting`]),
//! and gets the metrics and the page that says what it saw, in the form of a record's measurements.
//! Absent on purpose: who may do what, the words of any protocol, storage, anything of the
//! measuring side.
#![forbid(unsafe_code)]

mod buffers;
mod handoff;
mod http;
mod inbound;
mod injector;
mod listener;
mod metrics;
mod mishaps;
mod orders;
mod outbound;
mod pages;
mod patience;
mod process;
mod seen;
mod tls;
mod wake;

pub use self::http::{Asked, Http, Site};
pub use handoff::{FileFault, FileSpan, Handoff, SPAN};
pub use inbound::Inbound;
pub use listener::{
    Address, Connection, Ending, Host, ListenError, Listening, Peer, check_listening, serve,
};
pub use metrics::{Answered, Counter, Metrics, OperationName, Sighting};
pub use mishaps::{LogLine, Mishaps, UnderWay, described};
pub use orders::Orders;
pub use outbound::{Outbound, Told};
pub use pages::{About, NoPage, ORDERS, OwnPage, PAGES, Pages};
pub use patience::Patient;
pub use seen::{Seen, SeenOperations, Tally};
pub use tls::{TlsFiles, server_tls};
pub use wake::Wakes;

/// An error of a body.
pub type StdError = Box<dyn std::error::Error + Send + Sync>;
