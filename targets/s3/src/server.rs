//! A server: its options, what it is made of, and what it does besides answering.

use crate::access::{Access, counted};
use crate::acl::Ownership;
use crate::forms::Forms;
use crate::front::{Front, OPERATION_KINDS};
use crate::journal::Journal;
use crate::keyring::{Keyring, Secrets};
use crate::lifecycle;
use crate::pages::{Account, SignedPages};
use crate::protocol::{Finished, Protocol};
use crate::storage::{ObjectStore, WallClock};
use house::{
    Address, Http, ListenError, Listening, LogLine, Metrics, Mishaps, Orders, Pages, TlsFiles,
    Wakes, described,
};
use misbehave::Misbehaviour;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// The most bytes of an XML body: the list of 10,000 parts with checksums takes about 3 MiB.
const MOST_XML: usize = 8 << 20;

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
    /// Told of internal errors, and of requests that break off; never of secrets.
    pub log: LogLine,
    /// Told a line of each request, if anybody is.
    pub requests: Option<LogLine>,
    /// How long a head or a handshake may take, and each 16 KiB of a body or an answer.
    pub idle: Duration,
    /// What lifecycle rules mean by a day.
    pub lifecycle_day: Duration,
    /// Whose the objects of a bucket are that says nothing of it, and so whether it has access
    /// control lists.
    pub ownership: Ownership,
}

/// Why a server did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("the store cannot be made durable at the end")]
    Sync(#[source] crate::storage::StorageError),
}

/// Serves until SIGINT or SIGTERM, then lets requests under way end. Calls `ready` with the address
/// once requests are taken.
pub fn serve(
    mut options: ServerOptions,
    store: Arc<dyn ObjectStore>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServerError> {
    let account = Account::new(&mut options, &store);
    let mishaps = Arc::new(Mishaps::new(Arc::clone(&options.log)));
    let front = front(&mut options, &account, Wakes::of_kernel()).telling(mishaps);
    let listening = Listening {
        waiting_threads: 512,
        address: Address::Tcp(options.listen),
        tls: options.tls.take(),
        threads: options.threads,
        name: "s3-serve",
        idle: options.idle,
    };
    let sweeping = sweep(account, options.clock, options.log, options.lifecycle_day);
    let outcome = house::serve(&listening, Arc::new(front), sweeping, |address| {
        if let Address::Tcp(address) = address {
            ready(address);
        }
    });
    store.sync().map_err(ServerError::Sync)?;
    Ok(outcome?)
}

/// The protocol over the store, as one service.
fn service(options: &ServerOptions, account: &Account, pages: &Arc<Pages>) -> S3Service {
    let access = || Access {
        keyring: Arc::clone(&account.keyring),
        store: Arc::clone(&account.store),
        ownership: options.ownership,
        clock: Arc::clone(&options.clock),
    };
    let protocol = Protocol {
        store: Arc::clone(&account.store),
        access: Arc::new(access()),
        region: options.region.clone(),
        log: Arc::clone(&options.log),
        lost: AtomicBool::new(false),
        finished: Finished::default(),
    };
    let mut builder = S3ServiceBuilder::new(protocol);
    builder.set_auth(Secrets(Arc::clone(&account.keyring)));
    builder.set_access(access());
    builder.set_route(SignedPages {
        keyring: Arc::clone(&account.keyring),
        pages: Arc::clone(pages),
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
    account: &Arc<Account>,
    wakes: Wakes,
) -> Http<Front> {
    let metrics = Arc::new(Metrics::new("s3", counted()));
    let models = options.misbehaviour.take();
    let orders = Arc::new(Orders::new(&OPERATION_KINDS, models, wakes));
    let pages = Arc::new(Pages {
        metrics: Arc::clone(&metrics),
        about: Arc::clone(account) as _,
        orders: Arc::clone(&orders),
    });
    let front = Front {
        forms: Forms {
            keyring: Arc::clone(&account.keyring),
            clock: Arc::clone(&options.clock),
            region: options.region.clone(),
        },
        service: service(options, account, &pages),
        store: Arc::clone(&account.store),
        pages,
        log: Arc::clone(&options.log),
        region: options.region.clone(),
        journal: options.requests.take().map(|log| Journal {
            log,
            clock: Arc::clone(&options.clock),
        }),
        clock: Arc::clone(&options.clock),
        run: (options.clock)() << 20,
    };
    Http::new(front, metrics, orders, options.idle)
}

/// Applies lifecycle rules again and again: 24 times a day of theirs, but not more often than each
/// second.
async fn sweep(account: Arc<Account>, clock: WallClock, log: LogLine, day: Duration) {
    let pause = (day / 24).max(Duration::from_secs(1));
    let day_ms = u64::try_from(day.as_millis())
        .unwrap_or(lifecycle::DAY_MS)
        .max(1);
    loop {
        sleep(pause).await;
        let (store, now_ms) = (Arc::clone(&account.store), clock());
        let work = tokio::task::spawn_blocking(move || lifecycle::sweep(&*store, now_ms, day_ms));
        let Ok((swept, outcome)) = work.await else {
            return;
        };
        account.swept.fetch_add(
            swept.expired + swept.versions + swept.uploads,
            Ordering::Relaxed,
        );
        if let Err(error) = outcome {
            log(&format!("lifecycle: {}", described(&error)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{BucketDocument, NewBucket, PutFinish, StorageOptions, open_memory};
    use house::{Ending, Host as _, Peer};
    use misbehave::Vocabulary;
    use std::sync::Mutex;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::Instant;

    const IDLE: Duration = Duration::from_secs(60);
    /// What lies between the two ends of a connection.
    const BETWEEN: usize = 32 << 10;
    const LARGE: usize = 4 << 20;

    /// A server in memory, in whose bucket everybody may do everything with objects.
    fn server(misbehave: Option<&str>) -> Arc<Http<Front>> {
        Arc::new(house(misbehave))
    }

    fn house(misbehave: Option<&str>) -> Http<Front> {
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
            misbehaviour: misbehave.map(|spec| {
                Misbehaviour::parse(spec, &Vocabulary::http(&crate::OPERATION_KINDS)).unwrap()
            }),
            threads: None,
            clock: Arc::new(|| 0),
            log: Arc::new(|_| ()),
            requests: None,
            idle: IDLE,
            lifecycle_day: IDLE,
            ownership: Ownership::default(),
        };
        let account = Account::new(&mut options, &store);
        front(&mut options, &account, Wakes::of_runtime())
    }

    /// A connection to it, and what ends when the server is done with it.
    fn connect(front: &Arc<Http<Front>>) -> (DuplexStream, tokio::task::JoinHandle<()>) {
        let (near, far) = duplex(BETWEEN);
        let peer = Peer {
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            tls: false,
        };
        let (stop, ending) = Ending::new();
        let front = Arc::clone(front);
        let served = tokio::spawn(async move {
            front.speak(far, peer, ending).await;
            drop(stop);
        });
        (near, served)
    }

    /// Says the head, then a byte each ten seconds until the server is gone. What was answered, and
    /// how many seconds it took.
    async fn trickle(front: &Arc<Http<Front>>, head: &str) -> (String, u64) {
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
        assert!(front.site.store.head("bucket", "slow", None).is_err());
        assert_eq!(front.metrics().in_flight(), 0);
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
        assert_eq!(front.metrics().in_flight(), 0);
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

    #[tokio::test(start_paused = true)]
    async fn what_breaks_off_in_the_middle_is_told_once_and_what_is_had_whole_is_not() {
        let lines = Arc::new(Mutex::new(Vec::<String>::new()));
        let kept = Arc::clone(&lines);
        let log = move |line: &str| kept.lock().unwrap().push(line.to_owned());
        let front = Arc::new(house(None).telling(Arc::new(Mishaps::new(Arc::new(log)))));
        let (mut near, served) = connect(&front);
        near.write_all(b"HEAD /bucket/large HTTP/1.1\r\nhost: x\r\n\r\nGET /bucket/large HTTP/1.1\r\nhost: x\r\nrange: bytes=5-9\r\n\r\nGET /bucket/none HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        near.read_to_end(&mut Vec::new()).await.unwrap();
        served.await.unwrap();
        assert_eq!(*lines.lock().unwrap(), [""; 0]);
        let (mut near, served) = connect(&front);
        near.write_all(b"GET /bucket/large?secret=1 HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        near.read_exact(&mut [0; 10_000]).await.unwrap();
        drop(near);
        served.await.unwrap();
        let (mut near, served) = connect(&front);
        near.write_all(b"PUT /bucket/k HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nabc")
            .await
            .unwrap();
        near.shutdown().await.unwrap();
        near.read_to_end(&mut Vec::new()).await.unwrap();
        served.await.unwrap();
        assert_eq!(
            *lines.lock().unwrap(),
            [
                "GET /bucket/large from 127.0.0.1: the client left before it had all of the answer",
                "PUT /bucket/k from 127.0.0.1: the body ended early after 3 bytes of it",
            ]
        );
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
