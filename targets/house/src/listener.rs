//! Sockets, TLS and the end of a server, whatever is spoken over its connections.

use crate::metrics::Metrics;
use crate::patience::Patient;
use crate::tls::{TlsFiles, server_tls};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long requests under way have when the server is told to end.
const GRACE: Duration = Duration::from_secs(10);

/// Where a server can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Port 0 takes one that is free.
    Tcp(SocketAddr),
    /// A socket that is made, and removed at the end.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// How a server listens.
#[derive(Debug, Clone)]
pub struct Listening {
    pub address: Address,
    pub tls: Option<TlsFiles>,
    /// Threads that serve; `None` takes one for each CPU.
    pub threads: Option<usize>,
    /// The most threads that wait for the disk.
    pub waiting_threads: usize,
    /// What the threads are called.
    pub name: &'static str,
    /// How long a handshake may take.
    pub idle: Duration,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("{address} cannot be listened on")]
    Listen {
        address: Address,
        #[source]
        source: io::Error,
    },
    #[error("{path}: {why}")]
    Tls { path: PathBuf, why: String },
    #[error("the threads of the server cannot be started")]
    Runtime(#[source] io::Error),
}

/// From where a connection comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Over a socket of the file system the loopback address.
    pub address: IpAddr,
    pub tls: bool,
}

/// Somebody's connection.
pub enum Connection {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// Patience is below TLS, so that a handshake or a farewell that is not taken ends as well.
    Tls(Box<TlsStream<Patient<TcpStream>>>),
}

/// Tells a connection that the server ends.
#[derive(Debug, Clone)]
pub struct Ending(watch::Receiver<bool>);

impl Ending {
    /// An end that comes with `true` from the sender, or when that goes.
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Waits for the end: what is under way may be completed, and nothing new begun.
    pub async fn begins(&mut self) {
        // A sender that is gone ends as well.
        let _ = self.0.wait_for(|ends| *ends).await;
    }
}

/// Who speaks with those that come.
pub trait Host: Send + Sync + 'static {
    /// Where its connections are counted.
    fn metrics(&self) -> &Arc<Metrics>;

    /// Speaks with one client until it or the server ends. A panic ends this connection alone.
    fn receive(
        self: Arc<Self>,
        connection: Connection,
        peer: Peer,
        ending: Ending,
    ) -> impl Future<Output = ()> + Send;
}

/// Serves until SIGINT or SIGTERM, then lets connections end what is under way. Calls `ready` with
/// the address once connections are taken; does `beside` meanwhile, which ends where it stands.
///
/// # Errors
/// The server cannot be started.
pub fn serve<H: Host>(
    listening: &Listening,
    host: Arc<H>,
    beside: impl Future<Output = ()> + Send + 'static,
    ready: impl FnOnce(Address),
) -> Result<(), ListenError> {
    let threads = listening
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.max(1))
        .max_blocking_threads(listening.waiting_threads)
        .thread_name(listening.name)
        .enable_all()
        .build()
        .map_err(ListenError::Runtime)?;
    let outcome = runtime.block_on(run(listening, host, beside, ready));
    runtime.shutdown_timeout(GRACE);
    outcome
}

/// Whether a server can listen there with these certificates: asked before anything that it serves
/// is touched, so that a start that fails on its address changes nothing.
///
/// # Errors
/// The address is taken or not this machine's, or a file of the certificate cannot be used.
pub fn check_listening(address: SocketAddr, files: Option<&TlsFiles>) -> Result<(), ListenError> {
    files.map(|files| server_tls(files, &HTTP)).transpose()?;
    let tried = std::net::TcpListener::bind(address);
    tried.map(drop).map_err(|source| ListenError::Listen {
        address: Address::Tcp(address),
        source,
    })
}

/// The protocols that are spoken over TLS by those who listen here (RFC 9113, 3.2).
const HTTP: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Gives connections that cross no network a congestion control without pacing: BBR, which some
/// machines have for all, controls nothing there and costs timers and wake-ups. A connection has
/// its listener's; one that BBR has begun stays paced whatever it is given.
fn unpace(listener: &TcpListener, address: SocketAddr) {
    if address.ip().is_loopback() {
        // Where the kernel refuses, connections have the machine's.
        let _ = rustix::net::sockopt::set_tcp_congestion(listener, "reno");
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens, and says where.
    async fn open(address: &Address) -> io::Result<(Self, Address)> {
        match address {
            Address::Tcp(wanted) => {
                let listener = TcpListener::bind(wanted).await?;
                let address = listener.local_addr()?;
                unpace(&listener, address);
                Ok((Self::Tcp(listener), Address::Tcp(address)))
            }
            Address::Unix(path) => Ok((Self::Unix(UnixListener::bind(path)?), address.clone())),
        }
    }

    async fn accept(&self) -> io::Result<(Connection, IpAddr)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                // Without it answers in two writes wait for the peer's delayed acknowledgement; a
                // socket that refuses it still works.
                let _ = stream.set_nodelay(true);
                Ok((Connection::Tcp(stream), from.ip()))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Connection::Unix(stream), Ipv4Addr::LOCALHOST.into()))
            }
        }
    }
}

async fn run<H: Host>(
    listening: &Listening,
    host: Arc<H>,
    beside: impl Future<Output = ()> + Send + 'static,
    ready: impl FnOnce(Address),
) -> Result<(), ListenError> {
    let tls = listening.tls.as_ref();
    let tls = tls.map(|files| server_tls(files, &HTTP)).transpose()?;
    let acceptor = tls.map(TlsAcceptor::from);
    let (listener, address) =
        Listener::open(&listening.address)
            .await
            .map_err(|source| ListenError::Listen {
                address: listening.address.clone(),
                source,
            })?;
    let beside = tokio::spawn(beside);
    let mut ends = [
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ]
    .into_iter();
    let (Some(Ok(mut interrupt)), Some(Ok(mut terminate))) = (ends.next(), ends.next()) else {
        return Err(ListenError::Runtime(io::Error::other(
            "signals cannot be waited for",
        )));
    };
    ready(address);
    let (stop, ending) = Ending::new();
    let metrics = Arc::clone(host.metrics());
    let reception = Reception {
        host,
        acceptor,
        ending,
        idle: listening.idle,
    };
    tokio::select! {
        () = reception.accept(&listener) => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    drop(listener);
    if let Address::Unix(path) = &listening.address {
        // Whoever has removed it already has done no harm.
        let _ = std::fs::remove_file(path);
    }
    beside.abort();
    // Where no connection is open, nobody is told.
    let _ = stop.send(true);
    let idle = async {
        while metrics.connections_open.load(Ordering::Relaxed) > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = timeout(GRACE, idle).await;
    Ok(())
}

/// Takes connections.
struct Reception<H> {
    host: Arc<H>,
    acceptor: Option<TlsAcceptor>,
    ending: Ending,
    idle: Duration,
}

/// A connection as long as it is counted.
struct Open(Arc<Metrics>);

impl Open {
    fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.connections.fetch_add(1, Ordering::Relaxed);
        metrics.connections_open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(metrics))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<H: Host> Reception<H> {
    async fn accept(&self, listener: &Listener) {
        loop {
            // Out of file descriptors, or a peer that was gone before it was taken: others may
            // come.
            let Ok((connection, address)) = listener.accept().await else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            self.take(connection, address);
        }
    }

    fn take(&self, connection: Connection, address: IpAddr) {
        let open = Open::new(self.host.metrics());
        let (host, ending) = (Arc::clone(&self.host), self.ending.clone());
        let (acceptor, idle) = (self.acceptor.clone(), self.idle);
        drop(tokio::spawn(async move {
            match (acceptor, connection) {
                (Some(acceptor), Connection::Tcp(stream)) => {
                    let peer = Peer { address, tls: true };
                    let shaken = acceptor.accept(Patient::new(stream, idle));
                    if let Ok(Ok(stream)) = timeout(idle, shaken).await {
                        let connection = Connection::Tls(Box::new(stream));
                        host.receive(connection, peer, ending).await;
                    }
                }
                // Whoever can open a file of this machine needs no TLS.
                (Some(_) | None, connection) => {
                    let peer = Peer {
                        address,
                        tls: false,
                    };
                    host.receive(connection, peer, ending).await;
                }
            }
            drop(open);
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_crosses_no_network_has_another_congestion_control() {
        for (at, other) in [
            ("127.0.0.1:0", true),
            ("[::1]:0", true),
            ("0.0.0.0:0", false),
        ] {
            let Ok(listener) = TcpListener::bind(at).await else {
                continue;
            };
            let of_machine = rustix::net::sockopt::tcp_congestion(&listener).unwrap();
            unpace(&listener, listener.local_addr().unwrap());
            let congestion = rustix::net::sockopt::tcp_congestion(&listener).unwrap();
            assert_eq!(
                congestion,
                if other { "reno".to_owned() } else { of_machine },
                "{at}"
            );
        }
    }

    /// Gives back what it hears, in no protocol at all.
    struct Parrot(Arc<Metrics>);

    impl Host for Parrot {
        fn metrics(&self) -> &Arc<Metrics> {
            &self.0
        }

        async fn receive(self: Arc<Self>, connection: Connection, _: Peer, mut ending: Ending) {
            let Connection::Unix(mut stream) = connection else {
                return;
            };
            let (mut from, mut to) = stream.split();
            tokio::select! {
                _ = tokio::io::copy(&mut from, &mut to) => {}
                () = ending.begins() => {}
            }
        }
    }

    #[tokio::test]
    async fn anything_is_spoken_over_a_socket_of_the_file_system_and_ends_when_told() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let dir = tempfile::tempdir().unwrap();
        let wanted = Address::Unix(dir.path().join("s"));
        let (listener, address) = Listener::open(&wanted).await.unwrap();
        assert_eq!(address, wanted);
        let (stop, ending) = Ending::new();
        let metrics = Arc::new(Metrics::new("parrot", []));
        let reception = Reception {
            host: Arc::new(Parrot(Arc::clone(&metrics))),
            acceptor: None,
            ending,
            idle: Duration::from_secs(60),
        };
        let taking = tokio::spawn(async move { reception.accept(&listener).await });
        let mut near = UnixStream::connect(dir.path().join("s")).await.unwrap();
        near.write_all(b"again").await.unwrap();
        let mut heard = [0; 5];
        near.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"again");
        assert_eq!(metrics.connections_open.load(Ordering::Relaxed), 1);
        stop.send(true).unwrap();
        assert_eq!(near.read(&mut heard).await.unwrap(), 0);
        taking.abort();
    }
}
