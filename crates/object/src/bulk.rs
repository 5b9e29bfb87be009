//! Setup and teardown: the bucket, the objects that the load needs, and their removal. Counted
//! apart, never in the load's numbers.

mod left;
mod login;
mod requests;
mod uploads;

use crate::LoadError;
use crate::client::Client;
use crate::connection::{HttpVersion, NO_HTTP2, Peer, Stream};
use crate::failure::Failure;
use crate::http2;
use crate::ledger::{Ledger, live_counters};
use crate::payload::Object;
use crate::seen::ServerSaw;
use crate::settings::{Ledgers, LoadSettings, Thread};
use crate::verbs::{About, Call};
use record::{Measurements, ServerAccount};
use requests::{RequestFate, Requests};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;
use units::lossless::to_u64;

/// Requests at the same time.
const AT_ONCE: usize = 32;

/// The means of setup and teardown.
pub(crate) struct Bulk {
    runtime: Runtime,
    settings: Arc<LoadSettings>,
    peers: Arc<Vec<Peer>>,
    /// The servers that had no bucket before.
    made_buckets: Vec<Peer>,
    /// Other servers that had none before either: what they have of it is one of those.
    lacked: Vec<Peer>,
}

/// What became of many objects.
pub(crate) struct Done<T = Object> {
    pub(crate) measured: Measurements,
    /// Those that were not reached, or failed.
    pub(crate) undone: Vec<T>,
    /// How many of these were not reached, or were given up on the way.
    pub(crate) unreached: u64,
    /// Those of the undone that the server may have done, or may do: it did not say.
    pub(crate) in_doubt: Vec<T>,
    /// Those that it said no to.
    pub(crate) refused: Vec<T>,
    /// How many tries the server may have done.
    pub(crate) tries_in_doubt: u64,
    /// Those that were done, as the server names them.
    pub(crate) named: Vec<Object>,
    pub(crate) first: Option<Failure>,
}

impl Bulk {
    pub(crate) fn new(
        settings: &Arc<LoadSettings>,
        peers: &Arc<Vec<Peer>>,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            runtime,
            settings: Arc::clone(settings),
            peers: Arc::clone(peers),
            made_buckets: Vec::new(),
            lacked: Vec::new(),
        })
    }

    fn thread(&self, call: Call) -> Rc<Thread> {
        self.thread_to(call, Arc::clone(&self.peers))
    }

    fn thread_to(&self, call: Call, peers: Arc<Vec<Peer>>) -> Rc<Thread> {
        let ledger = |calls: &[Call]| Ledger::new(live_counters(calls, false), peers.len());
        let ledgers = Ledgers {
            measured: ledger(&[call]),
            warmup: ledger(&[]),
            measured_from: 0,
        };
        Thread::new(
            Arc::clone(&self.settings),
            Arc::clone(&peers),
            ledgers,
            (0, 1),
        )
    }

    /// Finds out which servers answer, and works with these alone; makes sure that the bucket is
    /// there. Those that do not answer are told.
    ///
    /// # Errors
    /// No server answers, or one that does has no such bucket and makes none: buckets that were made on
    /// others before are there to be removed.
    pub(crate) fn find_servers(
        &mut self,
        bucket: Option<&String>,
    ) -> Result<Vec<String>, LoadError> {
        let (mut alive, mut dead) = (Vec::new(), Vec::new());
        let peers = Arc::clone(&self.peers);
        // All are asked before one makes a bucket.
        let heads = match bucket {
            Some(_) => peers.iter().map(|peer| self.head_of(peer)).collect(),
            None => Ok(Vec::new()),
        };
        let mut heads = heads?.into_iter();
        let mut is_asked_for = false;
        for peer in peers.iter() {
            let head = heads.next();
            let lacked = matches!(head, Some(Ok(404)));
            let found = match (bucket, head) {
                // One that another was asked to make may be this one's, too.
                (Some(name), Some(_)) if lacked && is_asked_for => {
                    self.ensure_bucket(peer, name, self.head_of(peer)?)?
                }
                (Some(name), Some(head)) => self.ensure_bucket(peer, name, head)?,
                (_, _) => self.reach(peer).map(|()| false),
            };
            is_asked_for |= lacked;
            if matches!(found, Ok(true)) {
                self.made_buckets.push(peer.clone());
            } else if lacked {
                self.lacked.push(peer.clone());
            }
            match found {
                Ok(_) => alive.push(peer.clone()),
                Err(failure) => dead.push((peer.authority.clone(), failure)),
            }
        }
        if alive.is_empty() {
            let (address, failure) = &dead[0];
            return Err(unreachable_target(address, failure));
        }
        self.peers = Arc::new(alive);
        Ok(dead
            .into_iter()
            .map(|(address, failure)| {
                format!("{address} did not answer before the load: {}", failure.what)
            })
            .collect())
    }

    /// Whether a connection to a server can be opened, over which nothing is asked.
    fn reach(&self, peer: &Peer) -> Result<(), Failure> {
        let thread = self.thread_to(Call::Head, Arc::new(vec![peer.clone()]));
        LocalSet::new().block_on(&self.runtime, async {
            match self.settings.version {
                HttpVersion::One => Stream::connect(peer)
                    .await
                    .map(drop)
                    .map_err(|error| Failure::connect(&error)),
                HttpVersion::Two { .. } => http2::reach(peer, &thread).await,
            }
        })
    }

    /// The status with which one server answers whether it has the bucket.
    fn head_of(&self, peer: &Peer) -> Result<Result<u16, Failure>, LoadError> {
        let thread = self.thread_to(Call::Head, Arc::new(vec![peer.clone()]));
        let head = LocalSet::new().block_on(&self.runtime, async {
            patiently(Client::new(&thread, 0).bucket("HEAD")).await
        });
        let head = head.ok_or_else(interrupted)?;
        Ok(head.map(|(status, _)| status))
    }

    /// Makes sure that one server has the bucket, by what it has answered; whether it was made now.
    fn ensure_bucket(
        &self,
        peer: &Peer,
        name: &str,
        head: Result<u16, Failure>,
    ) -> Result<Result<bool, Failure>, LoadError> {
        let status = match head {
            Ok(status) => status,
            Err(failure) => return Ok(Err(failure)),
        };
        let address = &peer.authority;
        let thread = self.thread_to(Call::Head, Arc::new(vec![peer.clone()]));
        LocalSet::new().block_on(&self.runtime, async {
            let mut client = Client::new(&thread, 0);
            match status {
                200..=299 => return Ok(Ok(false)),
                404 => {}
                301 | 307 => return Err(LoadError::Target(format!("bucket {name} is in another region: set AWS_REGION to it"))),
                400 | 401 | 403 => {
                    // An answer to HEAD has no words.
                    let answer = patiently(client.bucket("GET")).await.ok_or_else(interrupted)?;
                    let code = answer.map(|(_, code)| code).unwrap_or_default();
                    let space = if code.is_empty() { "" } else { " " };
                    return Err(LoadError::Asked(format!(
                        "{address} refuses access to bucket {name} (HTTP {status}{space}{code}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the clock of this machine"
                    )));
                }
                // Others may be well.
                500.. => return Ok(Err(Failure::status(status, &[]))),
                other => return Err(LoadError::Target(format!("{address} answers HTTP {other} when asked for bucket {name}"))),
            }
            match patiently(client.bucket("PUT")).await.ok_or_else(interrupted)? {
                Ok((200..=299, _)) => Ok(Ok(true)),
                Ok((status, code)) => Err(LoadError::Target(format!("bucket {name} cannot be made: HTTP {status} {code}"))),
                Err(failure) => Ok(Err(failure)),
            }
        })
    }

    pub(crate) fn made_a_bucket(&self) -> bool {
        !self.made_buckets.is_empty()
    }

    /// Removes the bucket where this load made it; where it is still there. One that is not empty is
    /// asked for again, for so long, because others may be about to empty it.
    pub(crate) fn remove_bucket(&self, patience: Duration) -> Vec<String> {
        let bucket = self.settings.told_path(&self.settings.bucket_path());
        let is_removed = |peer: &Peer| self.remove_bucket_of(peer, patience);
        let is_left = |peer: &&Peer| !is_removed(peer) && !self.lacked.iter().any(is_removed);
        let left = self.made_buckets.iter().filter(is_left);
        left.map(|peer| format!("{}{bucket}", peer.authority))
            .collect()
    }

    fn remove_bucket_of(&self, peer: &Peer, patience: Duration) -> bool {
        let thread = self.thread_to(Call::Delete, Arc::new(vec![peer.clone()]));
        LocalSet::new().block_on(&self.runtime, async {
            let mut client = Client::new(&thread, 0);
            let mut tries = patience.as_millis() / BUCKET_PAUSE.as_millis();
            loop {
                let answer = patiently(client.bucket("DELETE")).await;
                if tries == 0 || !matches!(answer, Some(Ok((409, _)))) {
                    return match answer {
                        Some(Ok((200..=299, _))) => true,
                        // What stands before a store knows nothing of its buckets.
                        Some(Ok((404, code))) => code == "NoSuchBucket",
                        Some(_) | None => false,
                    };
                }
                tries -= 1;
                let _a_second_signal_ends_it = patiently(tokio::time::sleep(BUCKET_PAUSE)).await;
            }
        })
    }

    /// Does one thing to every object, several at once, until `stop` says so; `progress` is told
    /// how many are done.
    pub(crate) fn each(
        &self,
        call: Call,
        objects: &[Object],
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(u64),
    ) -> Done {
        self.each_of(
            call,
            objects,
            |object| About::object(*object),
            stop,
            progress,
        )
    }

    fn each_of<T: Clone + 'static>(
        &self,
        call: Call,
        items: &[T],
        about: for<'a> fn(&'a T) -> About<'a>,
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(u64),
    ) -> Done<T> {
        let thread = self.thread(call);
        let requests = Rc::new(Requests::of(items));
        let local = LocalSet::new();
        local.block_on(&self.runtime, async {
            let mut tasks = Vec::new();
            for index in 0..AT_ONCE.min(items.len()) {
                let client = Client::new(&thread, u32::try_from(index).unwrap_or(0));
                let requests = Rc::clone(&requests);
                tasks.push(tokio::task::spawn_local(async move {
                    requests.work(client, call, about).await;
                }));
            }
            if stop() {
                requests.next.set(items.len());
            }
            while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
                tokio::time::sleep(Duration::from_millis(5)).await;
                progress(requests.ended.get());
                if sys::is_told_twice() {
                    tasks.iter().for_each(tokio::task::JoinHandle::abort);
                }
                // A server that is gone, or that refuses all, is not asked a thousand times.
                if stop() || requests.failed.get() > 2 * to_u64(AT_ONCE) {
                    requests.next.set(items.len());
                }
            }
        });
        let with = |is_it: fn(RequestFate) -> bool| {
            let fates = requests.fates.borrow();
            let items = items.iter().zip(fates.iter());
            items
                .filter(|(_, fate)| is_it(**fate))
                .map(|(item, _)| item.clone())
                .collect()
        };
        Done {
            unreached: to_u64(items.len()).saturating_sub(requests.ended.get()),
            measured: thread.ledger.live.snapshot(),
            undone: with(|fate| fate != RequestFate::Done),
            in_doubt: with(|fate| fate == RequestFate::InDoubt),
            refused: with(|fate| fate == RequestFate::Refused),
            tries_in_doubt: thread.ledger.in_doubt(call),
            named: requests.named.take(),
            first: requests.first.take(),
        }
    }
}

/// Between two questions for a bucket that others empty.
const BUCKET_PAUSE: Duration = Duration::from_millis(100);

fn interrupted() -> LoadError {
    LoadError::Interrupted {
        left: String::new(),
    }
}

/// What comes of it, unless somebody has asked twice for the end before.
async fn patiently<T>(request: impl Future<Output = T>) -> Option<T> {
    let mut request = std::pin::pin!(request);
    while !sys::is_told_twice() {
        let answer = tokio::time::timeout(Duration::from_millis(20), &mut request).await;
        if let Ok(answer) = answer {
            return Some(answer);
        }
    }
    None
}

impl Bulk {
    /// What the server has seen, where it is one that shows it to this key; never a failure.
    pub(crate) fn seen(&self) -> Option<ServerSaw> {
        let [_only] = self.peers.as_slice() else {
            return None;
        };
        let thread = self.thread(Call::Get);
        let page = LocalSet::new().block_on(&self.runtime, async {
            patiently(Client::new(&thread, 0).page("/fathom/seen", "")).await
        });
        ServerSaw::parse(&page?.ok()?)
    }

    /// What the server has seen since, once it has counted all that it has answered: it counts an
    /// answer after its last byte.
    pub(crate) fn seen_since(&self, before: &ServerSaw) -> Option<ServerAccount> {
        let mut seen = self.seen()?;
        for _ in 0..SETTLE_TRIES {
            if seen.is_settled() {
                break;
            }
            LocalSet::new().block_on(&self.runtime, async {
                tokio::time::sleep(SETTLE_PAUSE).await
            });
            seen = self.seen()?;
        }
        Some(seen.since(before))
    }
}

/// How often, and with which pauses, a server is asked again that is not through with what it
/// answered.
const SETTLE_TRIES: usize = 100;
const SETTLE_PAUSE: Duration = Duration::from_millis(10);

/// The message when nobody answers.
pub(crate) fn unreachable_target(address: &str, failure: &Failure) -> LoadError {
    let what = &failure.what;
    if what.contains(NO_HTTP2) {
        return LoadError::Asked(format!(
            "{address}: {what}; leave --http2 out, or name an endpoint that speaks it"
        ));
    }
    if what.contains("certificate") {
        return LoadError::Asked(format!(
            "{address}: {what}; name the certificate of the server, or of its authority, with --cacert, or believe anybody with --insecure"
        ));
    }
    LoadError::Target(format!(
        "cannot reach {address}: {what}; is the server running, and is the target right?"
    ))
}
