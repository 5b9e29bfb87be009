use crate::NbdFault;
use std::io;

/// An engine that cannot be set up or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot reserve {bytes} bytes of buffers: {source}")]
    Memory { bytes: usize, source: io::Error },
    #[error("io_uring is not available: {source}. {hint}")]
    RingUnavailable {
        source: io::Error,
        hint: &'static str,
    },
    #[error("io_uring refuses {what}: {source}")]
    RingOption {
        what: &'static str,
        source: io::Error,
    },
    #[error(
        "libaio is not available: {source}; fs.aio-max-nr limits the requests of all processes together"
    )]
    AioUnavailable { source: io::Error },
    #[error("cannot map file {file} of {bytes} bytes: {source}")]
    Map {
        file: usize,
        bytes: u64,
        source: io::Error,
    },
    #[error("{call} failed: {source}")]
    Call {
        call: &'static str,
        source: io::Error,
    },
    #[error(
        "sim model {model:?}: {reason}; example: latency=100us,jitter=exponential,servers=4,stall=3s+2s"
    )]
    SimModel { model: String, reason: String },
    #[error(
        "{url:?} is no NBD address: {reason}; examples: nbd://HOST:10809/EXPORT, nbd+unix:///EXPORT?socket=PATH, nbd:unix:PATH"
    )]
    NbdAddress { url: String, reason: &'static str },
    #[error("cannot connect to {server}: {source}")]
    NbdConnect { server: String, source: io::Error },
    #[error("the server of {server} {reason}")]
    NbdRefused { server: String, reason: String },
    #[error("the server of {server} broke the NBD protocol: {fault}")]
    NbdProtocol {
        server: String,
        #[source]
        fault: NbdFault,
    },
    #[error("the connection to {server} broke with {unanswered} operations unanswered: {source}")]
    NbdLost {
        server: String,
        unanswered: usize,
        source: io::Error,
    },
}
