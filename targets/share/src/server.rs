//! A server: its options, what it is made of, and what it does besides answering.

use crate::account::ShareAccount;
use crate::error::ShareError;
use crate::history::History;
use crate::login::Logins;
use crate::routes::{OPERATION_KINDS, OPERATIONS};
use crate::site::ShareSite;
use crate::store::ShareStore;
use house::{
    Address, Http, ListenError, Listening, LogLine, Metrics, Mishaps, OperationName, Orders, Pages,
    TlsFiles, Wakes, described,
};
use misbehave::Misbehaviour;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Milliseconds since 1970.
pub type Now = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How often what has expired is removed.
const SWEEP: Duration = Duration::from_secs(15);
/// How often downloads are written into the history.
const HISTORY: Duration = Duration::from_secs(1);

/// Threads that wait for the disk. SQLite writes one at a time; more would only hold memory.
const WAITING_THREADS: usize = 32;

/// How a share is served.
pub struct Serving {
    /// Port 0 takes one that is free.
    pub listen: SocketAddr,
    pub secret: String,
    pub tls: Option<TlsFiles>,
    pub misbehaviour: Option<Misbehaviour>,
    /// Threads that serve; `None` takes one for each CPU.
    pub threads: Option<usize>,
    pub now: Now,
    /// Told of internal errors, and of requests that break off; never of secrets.
    pub log: LogLine,
    /// How long a head or a handshake may take, and each 16 KiB of a body or an answer.
    pub idle: Duration,
    /// Whether a proxy says from where requests come.
    pub proxied: bool,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Store(#[from] ShareError),
}

/// Serves until SIGINT or SIGTERM, then lets requests under way end. Calls `ready` with the address
/// once requests are taken.
///
/// # Errors
/// The server cannot be started.
pub fn serve(
    mut serving: Serving,
    store: ShareStore,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServingError> {
    sys::keep_little_free();
    let store = Arc::new(store);
    let history = Arc::new(History::new(Arc::clone(&store), Arc::clone(&serving.log)));
    let mishaps = Arc::new(Mishaps::new(Arc::clone(&serving.log)));
    let site = site(&mut serving, &store, &history)?.telling(mishaps);
    let listening = Listening {
        address: Address::Tcp(serving.listen),
        tls: serving.tls.take(),
        threads: serving.threads,
        waiting_threads: WAITING_THREADS,
        name: "share-serve",
        idle: serving.idle,
    };
    let beside = beside(store, Arc::clone(&history), serving);
    let outcome = house::serve(&listening, Arc::new(site), beside, |address| {
        if let Address::Tcp(address) = address {
            ready(address);
        }
    });
    history.write();
    Ok(outcome?)
}

fn site(
    serving: &mut Serving,
    store: &Arc<ShareStore>,
    history: &Arc<History>,
) -> Result<Http<ShareSite>, ShareError> {
    let operations = OPERATIONS.map(|(name, kind)| OperationName { name, kind });
    let metrics = Arc::new(Metrics::new("share", operations));
    let models = serving.misbehaviour.take();
    let orders = Arc::new(Orders::new(&OPERATION_KINDS, models, Wakes::of_kernel()));
    let account = ShareAccount {
        store: Arc::clone(store),
    };
    let site = ShareSite {
        store: Arc::clone(store),
        logins: Logins::open(Arc::clone(store), &std::mem::take(&mut serving.secret))?,
        history: Arc::clone(history),
        pages: Arc::new(Pages {
            metrics: Arc::clone(&metrics),
            about: Arc::new(account),
            orders: Arc::clone(&orders),
        }),
        now: Arc::clone(&serving.now),
        log: Arc::clone(&serving.log),
        proxied: serving.proxied,
    };
    Ok(Http::new(site, metrics, orders, serving.idle).holding_little())
}

/// Removes what has expired, and writes the history.
async fn beside(store: Arc<ShareStore>, history: Arc<History>, serving: Serving) {
    let Serving { now, log, .. } = serving;
    let sweeping = async {
        loop {
            let (store, moment) = (Arc::clone(&store), now());
            let outcome = crate::blocking(move || {
                store.recover();
                store.sweep(moment)
            });
            match outcome.await {
                Ok(_) => {}
                Err(error) => log(&format!("removing what has expired: {}", described(&error))),
            }
            sleep(SWEEP).await;
        }
    };
    let writing = async {
        loop {
            sleep(HISTORY).await;
            let history = Arc::clone(&history);
            // A panic in it is told by its thread.
            let _ = tokio::task::spawn_blocking(move || history.write()).await;
        }
    };
    tokio::join!(sweeping, writing);
}
