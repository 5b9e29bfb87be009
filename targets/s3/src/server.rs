//! Sockets, TLS, limits and the end of a server.

use crate::access::Access;
use crate::forms::Forms;
use crate::front::{Front, Mischief};
use crate::journal::Journal;
use crate::keyring::{Keyring, Secrets};
use crate::lifecycle;
use crate::metrics::Metrics;
use crate::pages::OwnPages;
use crate::policy::Peer;
use crate::protocol::{Finished, Log, Protocol, described};
use crate::storage::{ObjectStore, WallClock};
use house::Patient;
use house::Wakes;
use house::{Direct, Handoff};
use http::{Request, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use misbehave::{Misbehaviour, Shaper};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// The most bytes of an XML body: the list of 10,000 parts with checksums takes about 3 MiB.
const MOST_XML: usize = 8 << 20;
/// How long requests under way have when the server is told to end.
const GRACE: Duration = Duration::from_secs(10);

/// Certificate chain and key, as PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// How a server is run.
pub struct ServerOptions {
    /// Port 0 takes one that is free.
    pub listen: SocketAddr,
    pub keyring: Keyring,
    pub region: String,
    pub tls: Option<TlsFiles>,
    pub misbehaviour: Option<Misbehaviour>,
    /// Threads that serve; `None` takes one for each CPU.
    pub threads: Option<usize>,
    pub clock: WallClock,
    /// Told of internal errors; never of secrets.
    pub log: Log,
    /// Told a line of each request, if anybody is.
    pub requests: Option<Log>,
    /// How long a head or a handshake may take, and each 16 KiB of a body or an answer.
    pub idle: Duration,
    /// What lifecycle rules mean by a day.
    pub lifecycle_day: Duration,
}

/// Why a server did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("{address} cannot be listened on")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("{path}: {why}")]
    Tls { path: PathBuf, why: String },
    #[error("the threads of the server cannot be started")]
    Runtime(#[source] io::Error),
    #[error("the store cannot be made durable at the end")]
    Sync(#[source] crate::storage::StorageError),
}

/// Serves until SIGINT or SIGTERM, then lets requests under way end. Calls `ready` with the address
/// once requests are taken.
pub fn serve(
    options: ServerOptions,
    store: Arc<dyn ObjectStore>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServerError> {
    let threads = options
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.max(1))
        .thread_name("s3-serve")
        .enable_all()
        .build()
        .map_err(ServerError::Runtime)?;
    let kept = Arc::clone(&store);
    let outcome = runtime.block_on(run(options, store, ready));
    runtime.shutdown_timeout(GRACE);
    kept.sync().map_err(ServerError::Sync)?;
    outcome
}

fn tls(files: &TlsFiles) -> Result<TlsAcceptor, ServerError> {
    let wrong = |path: &PathBuf, why: String| ServerError::Tls {
        path: path.clone(),
        why,
    };
    let read = |e: rustls::pki_types::pem::Error| wrong(&files.certificate, e.to_string());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .map_err(read)?
        .collect::<Result<_, _>>()
        .map_err(read)?;
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|e| wrong(&files.key, e.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config
        .map_err(|e| wrong(&files.certificate, e.to_string()))?
        .with_no_client_auth();
    let mut config = config
        .with_single_cert(chain, key)
        .map_err(|e| wrong(&files.certificate, e.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The protocol over the store, as one service.
fn service(
    options: &ServerOptions,
    keyring: &Arc<Keyring>,
    store: &Arc<dyn ObjectStore>,
    metrics: &Arc<Metrics>,
) -> S3Service {
    let access = |store: &Arc<dyn ObjectStore>| Access {
        keyring: Arc::clone(keyring),
        store: Arc::clone(store),
    };
    let protocol = Protocol {
        store: Arc::clone(store),
        access: Arc::new(access(store)),
        region: options.region.clone(),
        log: Arc::clone(&options.log),
        lost: AtomicBool::new(false),
        finished: Finished::default(),
    };
    let mut builder = S3ServiceBuilder::new(protocol);
    builder.set_auth(Secrets(Arc::clone(keyring)));
    builder.set_access(access(store));
    builder.set_route(OwnPages {
        keyring: Arc::clone(keyring),
        metrics: Arc::clone(metrics),
        store: Arc::clone(store),
    });
    let mut config = S3Config::default();
    config.xml_max_body_size = MOST_XML;
    // Forms do not come so far: the library would hold their files in memory.
    (config.form_max_parts, config.post_object_max_file_size) = (0, 0);
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    builder.build()
}

/// What answers requests.
pub(crate) fn front(
    options: &mut ServerOptions,
    store: &Arc<dyn ObjectStore>,
    metrics: &Arc<Metrics>,
    wakes: Wakes,
) -> Front {
    let keyring = Arc::new(std::mem::replace(&mut options.keyring, Keyring::none()));
    let mischief = options.misbehaviour.take().map(|models| {
        Arc::new(Mischief {
            models,
            shaper: Mutex::new(Shaper::default()),
            wakes,
        })
    });
    let forms = Forms {
        keyring: Arc::clone(&keyring),
        clock: Arc::clone(&options.clock),
        region: options.region.clone(),
    };
    Front {
        forms,
        service: service(options, &keyring, store, metrics),
        store: Arc::clone(store),
        keyring,
        metrics: Arc::clone(metrics),
        mischief,
        region: options.region.clone(),
        journal: options.requests.take().map(|log| Journal {
            log,
            clock: Arc::clone(&options.clock),
        }),
        clock: Arc::clone(&options.clock),
        started: Instant::now(),
        idle: options.idle,
        run: (options.clock)() << 20,
        numbers: AtomicU64::new(0),
    }
}

/// Gives connections that cross no network a congestion control without pacing: BBR, which some
/// machines have for all, controls nothing there and costs timers and wake-ups. A connection has
/// its listener's; one that BBR has begun stays paced whatever it is given.
fn unpace(listener: &TcpListener, address: SocketAddr) {
    if address.ip().is_loopback() {
        // Where the kernel refuses, connections have the machine's.
        let _ = rustix::net::sockopt::set_tcp_congestion(listener, "reno");
    }
}

async fn run(
    mut options: ServerOptions,
    store: Arc<dyn ObjectStore>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServerError> {
    let acceptor = options.tls.as_ref().map(tls).transpose()?;
    let listening = |source| ServerError::Listen {
        address: options.listen,
        source,
    };
    let listener = TcpListener::bind(options.listen).await.map_err(listening)?;
    let address = listener.local_addr().map_err(listening)?;
    unpace(&listener, address);
    let metrics = Arc::new(Metrics::new());
    let front = Arc::new(front(&mut options, &store, &metrics, Wakes::of_kernel()));
    let (stop, stopped) = watch::channel(false);
    let sweeper = tokio::spawn(sweep(
        store,
        Arc::clone(&metrics),
        Arc::clone(&options.clock),
        Arc::clone(&options.log),
        options.lifecycle_day,
    ));
    let mut ends = [
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ]
    .into_iter();
    let (Some(Ok(mut interrupt)), Some(Ok(mut terminate))) = (ends.next(), ends.next()) else {
        return Err(ServerError::Runtime(io::Error::other(
            "signals cannot be waited for",
        )));
    };
    ready(address);
    let connections = Connections {
        front,
        acceptor,
        stopped,
        metrics: Arc::clone(&metrics),
    };
    tokio::select! {
        () = connections.accept(listener) => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    sweeper.abort();
    // Nobody listens where no connection is open.
    let _ = stop.send(true);
    let idle = async {
        while metrics.connections_open.load(Ordering::Relaxed) > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = timeout(GRACE, idle).await;
    Ok(())
}

/// Applies lifecycle rules again and again: 24 times a day of theirs, but not more often than each
/// second.
async fn sweep(
    store: Arc<dyn ObjectStore>,
    metrics: Arc<Metrics>,
    clock: WallClock,
    log: Log,
    day: Duration,
) {
    let pause = (day / 24).max(Duration::from_secs(1));
    let day_ms = u64::try_from(day.as_millis())
        .unwrap_or(lifecycle::DAY_MS)
        .max(1);
    loop {
        sleep(pause).await;
        let (store, now_ms) = (Arc::clone(&store), clock());
        let work = tokio::task::spawn_blocking(move || lifecycle::sweep(&*store, now_ms, day_ms));
        let Ok((swept, outcome)) = work.await else {
            return;
        };
        metrics.swept.fetch_add(
            swept.expired + swept.versions + swept.uploads,
            Ordering::Relaxed,
        );
        if let Err(error) = outcome {
            log(&format!("lifecycle: {}", described(&error)));
        }
    }
}

struct Connections {
    front: Arc<Front>,
    acceptor: Option<TlsAcceptor>,
    stopped: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
}

/// A connection as long as it is counted.
struct Counted(Arc<Metrics>);

impl Counted {
    fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.connections.fetch_add(1, Ordering::Relaxed);
        metrics.connections_open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(metrics))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connections {
    async fn accept(&self, listener: TcpListener) {
        loop {
            // Out of file descriptors, or a peer that was gone before it was taken: others may
            // come.
            let Ok((stream, from)) = listener.accept().await else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            // Without it answers in two writes wait for the peer's delayed acknowledgement; a
            // socket that refuses it still works.
            let _ = stream.set_nodelay(true);
            self.take(
                stream,
                Peer {
                    address: from.ip(),
                    tls: self.acceptor.is_some(),
                },
            );
        }
    }

    fn take(&self, stream: TcpStream, peer: Peer) {
        let counted = Counted::new(&self.metrics);
        let (front, stopped, acceptor) = (
            Arc::clone(&self.front),
            self.stopped.clone(),
            self.acceptor.clone(),
        );
        // Below TLS, so that a handshake or a farewell that is not taken ends as well.
        let idle = front.idle;
        drop(tokio::spawn(async move {
            match acceptor {
                None => {
                    let handoff = Arc::<Handoff>::default();
                    let stream = Patient::new(Direct::new(stream, Arc::clone(&handoff)), idle);
                    converse(stream, peer, front, stopped, Some(handoff)).await;
                }
                Some(acceptor) => {
                    if let Ok(Ok(stream)) =
                        timeout(idle, acceptor.accept(Patient::new(stream, idle))).await
                    {
                        converse(stream, peer, front, stopped, None).await;
                    }
                }
            }
            drop(counted);
        }));
    }
}

/// Answers all requests of one connection. With a handoff, `stream` is the `Direct` of it.
pub(crate) async fn converse<S>(
    stream: S,
    peer: Peer,
    front: Arc<Front>,
    mut stopped: watch::Receiver<bool>,
    handoff: Option<Arc<Handoff>>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let idle = front.idle;
    let spoken = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&spoken);
    // What is to be slowed or damaged goes through our hands, and so does what the protocol cuts
    // into frames.
    let handoff = handoff.filter(|_| front.mischief.is_none());
    let answer = service_fn(move |mut request: Request<Incoming>| {
        heard.store(true, Ordering::Relaxed);
        if let Some(handoff) = handoff
            .as_ref()
            .filter(|_| request.version() <= Version::HTTP_11)
        {
            request.extensions_mut().insert(Arc::clone(handoff));
        }
        let front = Arc::clone(&front);
        async move { Ok::<_, Infallible>(front.answer(request, peer).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(128)
        .keep_alive_interval(idle)
        .keep_alive_timeout(idle);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answer));
    // A client that breaks off is its own matter. The library waits without end for the first
    // bytes, from which it tells the version.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => {}
        () = silence(&spoken, idle) => return,
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Ends where nothing was asked for this long after the connection was made.
async fn silence(spoken: &AtomicBool, idle: Duration) {
    sleep(idle).await;
    if spoken.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{BucketDocument, NewBucket, PutFinish, StorageOptions, open_memory};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    const IDLE: Duration = Duration::from_secs(60);
    /// What lies between the two ends of a connection.
    const BETWEEN: usize = 32 << 10;
    const LARGE: usize = 4 << 20;

    /// A server in memory, in whose bucket everybody may do everything with objects.
    fn server(misbehave: Option<&str>) -> Arc<Front> {
        let store = open_memory(StorageOptions::new(Arc::new(|| 0))).unwrap();
        store.create_bucket("bucket", NewBucket::default()).unwrap();
        let open = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::bucket","arn:aws:s3:::bucket/*"]}}"#;
        store
            .set_document("bucket", BucketDocument::Policy, Some(open.into()))
            .unwrap();
        let mut put = store.begin_put("bucket", "large").unwrap();
        put.write(&vec![7; LARGE]).unwrap();
        put.finish(PutFinish::default()).unwrap();
        let mut options = ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            keyring: Keyring::single("access", "secret-key").unwrap(),
            region: "us-east-1".into(),
            tls: None,
            misbehaviour: misbehave
                .map(|spec| Misbehaviour::parse(spec, &crate::OPERATION_KINDS).unwrap()),
            threads: None,
            clock: Arc::new(|| 0),
            log: Arc::new(|_| ()),
            requests: None,
            idle: IDLE,
            lifecycle_day: IDLE,
        };
        Arc::new(front(
            &mut options,
            &store,
            &Arc::new(Metrics::new()),
            Wakes::of_runtime(),
        ))
    }

    /// A connection to it, and what ends when the server is done with it.
    fn connect(front: &Arc<Front>) -> (DuplexStream, tokio::task::JoinHandle<()>) {
        let (near, far) = duplex(BETWEEN);
        let peer = Peer {
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            tls: false,
        };
        let (stop, stopped) = watch::channel(false);
        let (front, far) = (Arc::clone(front), Patient::new(far, front.idle));
        let served = tokio::spawn(async move {
            converse(far, peer, front, stopped, None).await;
            drop(stop);
        });
        (near, served)
    }

    /// Says the head, then a byte each ten seconds until the server is gone. What was answered, and
    /// how many seconds it took.
    async fn trickle(front: &Arc<Front>, head: &str) -> (String, u64) {
        let (near, served) = connect(front);
        let begun = Instant::now();
        let (mut from, mut to) = tokio::io::split(near);
        to.write_all(head.as_bytes()).await.unwrap();
        let saying = tokio::spawn(async move {
            while to.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(10)).await;
            }
        });
        let mut heard = Vec::new();
        let _broken_off_or_ended = from.read_to_end(&mut heard).await;
        served.await.unwrap();
        saying.abort();
        (
            String::from_utf8_lossy(&heard).into_owned(),
            begun.elapsed().as_secs(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_is_not_waited_for() {
        let front = server(None);
        for head in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: x\r\nx-long: "] {
            let (heard, seconds) = trickle(&front, head).await;
            assert!(
                heard.is_empty() && (60..=70).contains(&seconds),
                "{head:?} {seconds} {heard}"
            );
        }
        let again = "GET /bucket/none HTTP/1.1\r\nhost: x\r\n\r\nGET /bucket/none HTTP/1.1\r\nx: ";
        let (heard, seconds) = trickle(&front, again).await;
        assert!(
            heard.matches("NoSuchKey").count() == 1 && (60..=70).contains(&seconds),
            "{seconds} {heard}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_given_up_and_leaves_nothing() {
        let front = server(None);
        let form = "content-type: multipart/form-data; boundary=b\r\n";
        for (method, target, kind) in [
            ("PUT", "/bucket/slow", ""),
            ("POST", "/bucket?delete", ""),
            ("POST", "/bucket", form),
        ] {
            let field = if kind.is_empty() {
                ""
            } else {
                "--b\r\ncontent-disposition: form-data; name=\"key\"\r\n\r\n"
            };
            let head = format!(
                "{method} {target} HTTP/1.1\r\nhost: x\r\n{kind}content-length: 1000\r\n\r\n{field}"
            );
            let (heard, seconds) = trickle(&front, &head).await;
            assert!(
                heard.starts_with("HTTP/1.1 400 ") && heard.contains("<Code>RequestTimeout</Code>"),
                "{target} {heard}"
            );
            assert!((60..=70).contains(&seconds), "{target} {seconds}");
        }
        assert!(front.store.head("bucket", "slow", None).is_err());
        assert_eq!(front.metrics.in_flight.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_take_an_answer_is_given_up() {
        let front = server(None);
        let (mut near, served) = connect(&front);
        let begun = Instant::now();
        near.write_all(b"GET /bucket/large HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        served.await.unwrap();
        assert!(
            (60..=70).contains(&begun.elapsed().as_secs()),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(front.metrics.in_flight.load(Ordering::Relaxed), 0);
        let mut taken = Vec::new();
        let _it_is_cut = near.read_to_end(&mut taken).await;
        assert!(
            !taken.is_empty() && taken.len() <= BETWEEN,
            "{} bytes",
            taken.len()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_an_answer_slowly_gets_all_of_it() {
        let front = server(None);
        let (mut near, _served) = connect(&front);
        near.write_all(b"GET /bucket/large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let (mut taken, mut piece) = (0, vec![0; BETWEEN]);
        loop {
            match near.read(&mut piece).await.unwrap() {
                0 => break,
                bytes => taken += bytes,
            }
            sleep(IDLE / 3).await;
        }
        assert!(taken > LARGE, "{taken}");
    }

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

    /// How many seconds a body of a megabyte takes to go in.
    async fn upload(misbehave: Option<&str>) -> u64 {
        let front = server(misbehave);
        let (mut near, _served) = connect(&front);
        near.write_all(b"PUT /bucket/k HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\nconnection: close\r\n\r\n").await.unwrap();
        let begun = Instant::now();
        near.write_all(&vec![1; 1_000_000]).await.unwrap();
        let taken = begun.elapsed().as_secs();
        let mut heard = Vec::new();
        near.read_to_end(&mut heard).await.unwrap();
        assert!(
            heard.starts_with(b"HTTP/1.1 200 "),
            "{}",
            String::from_utf8_lossy(&heard)
        );
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn a_limited_bandwidth_holds_for_bodies_of_requests() {
        assert_eq!(upload(None).await, 0);
        assert_eq!(upload(Some("get.bandwidth=10kB/s")).await, 0);
        // What was read ahead and lies in the connection has not yet waited.
        let slow = upload(Some("put.bandwidth=1kB/s")).await;
        assert!((500..=1000).contains(&slow), "{slow}");
        let all = upload(Some("bandwidth=10kB/s")).await;
        assert!((50..=100).contains(&all), "{all}");
    }
}
