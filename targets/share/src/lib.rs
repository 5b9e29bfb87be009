//! A file share whose storage is stated, tested by crash, and able to misbehave on command.
//!
//! Two halves meet at [`ShareStore`]: `site` decides what a request means and who may make it, the
//! store decides what is true. The store has an `index` of what was put up by whom, and bodies in
//! one of two layouts (`content`); both are SQLite. Forms are read as they come (`form`, `intake`),
//! so that memory does not grow with files. Sockets, patience, misbehaviour and counters are
//! `house`'s.
//!
//! Absent on purpose: several owners, encryption at rest, thumbnails, links to directories.
#![forbid(unsafe_code)]

mod account;
mod answer;
mod content;
mod database;
mod downloads;
mod error;
mod flow;
mod form;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod history;
mod index;
mod intake;
mod login;
mod names;
mod options;
mod owner;
mod pieces;
mod ranges;
mod routes;
mod server;
mod sink;
mod site;
mod store;
mod times;
mod token;
mod uploads;
mod views;
mod visitor;

pub use content::Settled;
pub use error::{ShareError, ShareResult};
pub use house::{LogLine, TlsFiles, check_listening};
pub use misbehave::{MisbehaveError, Misbehaviour, Vocabulary};
pub use options::{JournalMode, ShareLayout, ShareOptions, Switch, Synchronous};
pub use routes::OPERATION_KINDS;
pub use server::{Now, Serving, ServingError, serve};
pub use store::ShareStore;

/// Does what waits for the disk where nobody else waits for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> ShareResult<T> + Send + 'static,
) -> ShareResult<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(ShareError::panicked)?
}
