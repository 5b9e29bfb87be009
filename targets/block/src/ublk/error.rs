//! Why there is no ublk device, and what to do about it.

use std::io;
use thiserror::Error;

/// What went wrong with a ublk device.
#[derive(Debug, Error)]
pub enum UblkError {
    #[error("{0}; --front nbd works without a driver")]
    NoDriver(String),
    #[error(
        "{what} needs the capability CAP_SYS_ADMIN (run as root), or --unprivileged where /dev/ublk-control is open to this user"
    )]
    NotPermitted { what: &'static str },
    #[error(
        "the queues may not run before other threads: --real-time needs the capability CAP_SYS_NICE or a limit of real-time priorities (ulimit -r)"
    )]
    NoRealTime(#[source] io::Error),
    #[error(
        "the kernel refuses a ring (containers often forbid io_uring, as does the sysctl kernel.io_uring_disabled)"
    )]
    NoRing(#[source] io::Error),
    #[error(
        "there is a device /dev/ublkb{0} already; `fathom serve block list` shows who serves it"
    )]
    Exists(u32),
    #[error("there is no device /dev/ublkb{0}")]
    NoDevice(u32),
    #[error("the kernel refuses {command}: {source}")]
    Refused {
        command: &'static str,
        source: io::Error,
    },
    #[error(
        "{command} was not answered within {seconds} s: a request hangs in the kernel, or its driver is broken"
    )]
    NoAnswer { command: &'static str, seconds: u64 },
    #[error("{needs} needs Linux {version}; this is {running}")]
    TooOld {
        needs: &'static str,
        version: &'static str,
        running: String,
    },
    #[error("{node} is not the block device that was made: {why}")]
    WrongNode { node: String, why: String },
    #[error("queue {queue} failed: {source}")]
    Queue { queue: u16, source: io::Error },
    #[error("the server ended before the device was there: {0}")]
    ServerEnded(String),
    #[error("cannot {what}")]
    System {
        what: &'static str,
        #[source]
        source: io::Error,
    },
}

impl UblkError {
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
