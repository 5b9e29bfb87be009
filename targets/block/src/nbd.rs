//! The NBD front: fixed newstyle over a socket of the file system or of the loopback.
//!
//! One thread a connection. It reads as much as there is, does all of it, and sends the answers
//! together; while requests are held it waits for the socket and the earliest of them at once.
//! Whoever reads nothing is asked nothing more and holds up nobody else. What all of them may keep
//! in memory together has a limit ([`ClientMemory`]).

mod client_memory;
mod connection;
mod conversation;
mod incoming;
mod negotiation;
mod pipe;
mod reply_queue;
mod server;
mod stay;
#[cfg(test)]
mod tests;
mod wire;

pub use client_memory::ClientMemory;
pub use conversation::Conversation;
pub use server::{NbdAddress, NbdError, NbdServing, serve};

/// What is needed before the next message can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// The message has so many bytes.
    Bytes(usize),
    /// Answers have to go out, or held requests to end, first.
    Room,
    /// Others have to take their answers or go first.
    Memory,
}

/// Why a conversation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// The client took its leave.
    Leave,
    /// The client does not speak the protocol.
    Broken,
}
