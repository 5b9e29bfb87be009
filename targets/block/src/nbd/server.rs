//! Where clients come in, and how all of it ends.

use super::client_memory::ClientMemory;
use super::connection::{ClosingTime, Exchange};
use super::conversation::Conversation;
use crate::device::ServedDevice;
use crate::own::OwnName;
use crate::setting::held;
use crate::socket::{SocketError, bind};
use house::{ListenError, TlsFiles, server_tls};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ServerConfig;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How long clients may take to go at the end, beyond which theirs is a backing that hangs: each has
/// a second for its last answers.
const PATIENCE_NS: u64 = 5_000_000_000;
const MOMENT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 5_000_000,
};

/// Where a device is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NbdAddress {
    /// A socket that is made, and removed at the end.
    Unix(PathBuf),
    /// Of the loopback; port 0 takes one that is free.
    Tcp(SocketAddr),
}

impl fmt::Display for NbdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// How a device is served.
#[derive(Clone, Debug)]
pub struct NbdServing {
    pub addresses: Vec<NbdAddress>,
    /// The name by which it can be asked for besides the empty one.
    pub export: String,
    /// Whoever comes has to speak TLS.
    pub tls: Option<TlsFiles>,
}

/// Why a server did not start, or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum NbdError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("{0} is not of the loopback; what is served has no owner who could be asked")]
    Network(SocketAddr),
    #[error("{address} cannot be listened on")]
    Listen {
        address: NbdAddress,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Tls(#[from] ListenError),
    #[error(
        "requests of {clients} clients wait for a backing that does not answer; the server ends without them"
    )]
    Stuck { clients: usize },
    #[error("connections cannot be waited for")]
    Wait(#[source] io::Error),
}

enum Client {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Client {
    /// Nothing more is read from it.
    fn stop_reading(&self) {
        let _it_may_have_gone = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Read),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Read),
        };
    }
}

enum Door {
    Unix(UnixListener, OwnName),
    Tcp(TcpListener, SocketAddr),
}

impl Door {
    fn open(address: &NbdAddress) -> Result<Self, NbdError> {
        let wrong = |source| NbdError::Listen {
            address: address.clone(),
            source,
        };
        match address {
            NbdAddress::Unix(path) => {
                let (listener, socket) = bind(path)?;
                listener.set_nonblocking(true).map_err(wrong)?;
                Ok(Self::Unix(listener, socket))
            }
            NbdAddress::Tcp(wanted) if !wanted.ip().is_loopback() => {
                Err(NbdError::Network(*wanted))
            }
            NbdAddress::Tcp(wanted) => {
                let listener = TcpListener::bind(wanted).map_err(wrong)?;
                listener.set_nonblocking(true).map_err(wrong)?;
                let address = listener.local_addr().map_err(wrong)?;
                Ok(Self::Tcp(listener, address))
            }
        }
    }

    fn address(&self) -> NbdAddress {
        match self {
            Self::Unix(_, socket) => NbdAddress::Unix(socket.path().to_owned()),
            Self::Tcp(_, address) => NbdAddress::Tcp(*address),
        }
    }

    fn accept(&self) -> io::Result<Client> {
        match self {
            Self::Unix(listener, _) => Ok(Client::Unix(listener.accept()?.0)),
            Self::Tcp(listener, _) => {
                let (stream, _) = listener.accept()?;
                // Without it a reply in two pieces waits for the peer's delayed acknowledgement.
                stream.set_nodelay(true)?;
                Ok(Client::Tcp(stream))
            }
        }
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener, _) => listener.as_fd(),
        }
    }
}

/// Those who are spoken with.
struct Clients {
    ending: ClosingTime,
    open: Mutex<HashMap<u64, Arc<Client>>>,
}

impl Clients {
    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Client>>> {
        held(&self.open)
    }

    /// Waits until all have gone, but not for ever; how many are left.
    fn left_after(&self, end: u64) -> usize {
        loop {
            let left = self.open().len();
            if left == 0 || sys::monotonic_ns() >= end {
                return left;
            }
            let _time_is_waited_for = poll(&mut [], Some(&MOMENT));
        }
    }
}

/// A client as long as it is spoken with.
struct Spoken(Arc<Clients>, u64);

impl Drop for Spoken {
    fn drop(&mut self) {
        self.0.open().remove(&self.1);
    }
}

/// Serves until `end` can be read, and calls `ready` with the addresses once clients may come. A
/// client for which there is no memory is hung up on.
///
/// # Errors
/// The server cannot be started.
pub fn serve(
    device: &Arc<ServedDevice>,
    serving: &NbdServing,
    memory: &Arc<ClientMemory>,
    end: impl AsFd,
    ready: impl FnOnce(&[NbdAddress]),
) -> Result<(), NbdError> {
    let tls = serving.tls.as_ref();
    let tls = tls.map(|files| server_tls(files, &[])).transpose()?;
    let ending = ClosingTime::new().map_err(|error| NbdError::Wait(error.into()))?;
    let clients = Arc::new(Clients {
        ending,
        open: Mutex::default(),
    });
    let doors: Vec<Door> = serving
        .addresses
        .iter()
        .map(Door::open)
        .collect::<Result<_, _>>()?;
    let addresses: Vec<NbdAddress> = doors.iter().map(Door::address).collect();
    ready(&addresses);
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut number = 0;
    while wait(&doors, &end).map_err(NbdError::Wait)? {
        for door in &doors {
            match door.accept() {
                Ok(client) => {
                    threads.retain(|thread| !thread.is_finished());
                    let Some(share) = memory.admit() else {
                        continue;
                    };
                    number += 1;
                    let conversation = Conversation::new(device, &serving.export).sharing(share);
                    let tls = tls.clone();
                    threads.extend(speak(conversation, tls, &clients, client, number));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Out of descriptors: somebody has to go before the next can come.
                Err(_) => rest(&end),
            }
        }
    }
    drop(doors);
    clients.ending.tell();
    clients
        .open()
        .values()
        .for_each(|client| client.stop_reading());
    let stuck = clients.left_after(sys::monotonic_ns() + PATIENCE_NS);
    if stuck > 0 {
        return Err(NbdError::Stuck { clients: stuck });
    }
    for thread in threads {
        let _a_panic_was_told_by_its_thread = thread.join();
    }
    Ok(())
}

/// Waits for a client; `false` at the end.
fn wait(doors: &[Door], end: &impl AsFd) -> io::Result<bool> {
    let mut entries: Vec<PollFd<'_>> = doors
        .iter()
        .map(|door| PollFd::new(door, PollFlags::IN))
        .collect();
    entries.push(PollFd::new(end, PollFlags::IN));
    match poll(&mut entries, None) {
        Ok(_) => Ok(entries
            .last()
            .is_none_or(|entry| entry.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Waits a moment, unless the end comes first.
fn rest(end: &impl AsFd) {
    let _the_end_is_seen_by_the_next_wait =
        poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&MOMENT));
}

/// Speaks with a client in a thread of its own; one that cannot be had is a client that is refused.
fn speak(
    conversation: Conversation,
    tls: Option<Arc<ServerConfig>>,
    clients: &Arc<Clients>,
    client: Client,
    number: u64,
) -> Option<JoinHandle<()>> {
    let client = Arc::new(client);
    clients.open().insert(number, Arc::clone(&client));
    let spoken = Spoken(Arc::clone(clients), number);
    let thread = std::thread::Builder::new().name("nbd-client".to_owned());
    thread
        .spawn(move || {
            let exchange = Exchange::new(&*client, conversation, &spoken.0.ending);
            match tls {
                Some(tls) => exchange.with_tls(tls).run(),
                None => exchange.run(),
            }
        })
        .ok()
}
