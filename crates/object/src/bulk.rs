//! Setup and teardown: the bucket, the objects that the load needs, and their removal. Counted
//! apart, never in the load's numbers.

mod buckets;
mod left;
mod login;
mod requests;
mod uploads;

use crate::LoadError;
use crate::client::Client;
use crate::connection::Peer;
use crate::failure::Failure;
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
