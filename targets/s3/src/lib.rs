//! An S3 object server whose storage is stated, tested by crash, and able to misbehave on command.
//!
//! Two halves meet at [`ObjectStore`]: the protocol decides what a request means and who may make
//! it, the store decides what is true. The words of S3 (routes, XML, signatures) are the library
//! `s3s`; what they mean is `protocol`. Before it stands `front`, with the server's own pages and
//! browsers' questions, as a site of `house`, which has sockets, misbehaviour and counters.
//! With the feature `fuzzing` there are doors for `fuzz/`, which nothing else uses.
//! Absent on purpose: server-side encryption, several hosts.
#![forbid(unsafe_code)]

mod access;
mod acl;
mod amend;
mod arrival;
mod cors;
mod documents;
mod forms;
mod front;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guard;
mod journal;
mod keyring;
mod lifecycle;
mod messages;
mod operations;
mod pages;
mod policy;
mod protocol;
mod question;
mod range;
mod server;
mod signed;
mod storage;

pub use acl::Ownership;
pub use front::OPERATION_KINDS;
pub use house::{LogLine, TlsFiles, check_listening};
pub use keyring::{Keyring, KeyringError, Permission};
pub use misbehave::{Buckets, MisbehaveError, Misbehaviour, Vocabulary};
pub use server::{ServerError, ServerOptions, serve};
pub use storage::*;
