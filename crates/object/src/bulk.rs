//! Setup and teardown: the bucket, the objects that the load needs, and their removal. Counted apart, never in the load's numbers.

use crate::LoadError;
use crate::calls::Call;
use crate::connection::Peer;
use crate::failure::{Failure, FailureKind};
use crate::habits::{About, Habits, Thread};
use crate::ledger::{Ledger, live_counters};
use crate::payload::Object;
use crate::session::Session;
use record::Measurements;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

/// Requests at the same time.
const AT_ONCE: usize = 32;

/// The means of setup and teardown.
pub(crate) struct Bulk {
    runtime: Runtime,
    habits: Arc<Habits>,
    peers: Arc<Vec<Peer>>,
}

/// What became of many objects.
pub(crate) struct Done {
    pub(crate) measured: Measurements,
    /// Objects that were not reached, or failed.
    pub(crate) undone: Vec<Object>,
    pub(crate) first: Option<Failure>,
}

impl Bulk {
    pub(crate) fn new(habits: &Arc<Habits>, peers: &Arc<Vec<Peer>>) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, habits: Arc::clone(habits), peers: Arc::clone(peers) })
    }

    fn thread(&self, call: Call) -> Rc<Thread> {
        let ledger = Ledger::new(live_counters(&[call], false));
        Thread::new(Arc::clone(&self.habits), Arc::clone(&self.peers), ledger)
    }

    /// Makes sure that the bucket is there; whether it was made now.
    pub(crate) fn ensure_bucket(&self, name: &str) -> Result<bool, LoadError> {
        let address = self.peers[0].authority.clone();
        let thread = self.thread(Call::Head);
        self.runtime.block_on(async {
            let mut session = Session::new(&thread, 0);
            let (status, _) = session.bucket("HEAD").await.map_err(|failure| unreachable_target(&address, &failure))?;
            match status {
                200..=299 => return Ok(false),
                404 => {}
                301 | 307 => return Err(LoadError::Target(format!("bucket {name} is in another region: set AWS_REGION to it"))),
                401 | 403 => {
                    return Err(LoadError::Target(format!(
                        "{address} refuses access to bucket {name} (HTTP {status}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the clock of this machine"
                    )));
                }
                other => return Err(LoadError::Target(format!("{address} answers HTTP {other} when asked for bucket {name}"))),
            }
            match session.bucket("PUT").await.map_err(|failure| unreachable_target(&address, &failure))? {
                (200..=299, _) => Ok(true),
                (status, code) => Err(LoadError::Target(format!("bucket {name} cannot be made: HTTP {status} {code}"))),
            }
        })
    }

    /// Removes the bucket; whether it is gone.
    pub(crate) fn remove_bucket(&self) -> bool {
        let thread = self.thread(Call::Delete);
        self.runtime.block_on(async {
            let mut session = Session::new(&thread, 0);
            matches!(session.bucket("DELETE").await, Ok((200..=299 | 404, _)))
        })
    }

    /// Does one thing to every object, several at once, until `stop` says so; `progress` is told how many are done.
    pub(crate) fn each(&self, call: Call, objects: &[Object], stop: &dyn Fn() -> bool, progress: &mut dyn FnMut(u64)) -> Done {
        let thread = self.thread(call);
        let next = Rc::new(Cell::new(0_usize));
        let done = Rc::new(Cell::new(0_u64));
        let undone: Rc<RefCell<Vec<Object>>> = Rc::default();
        let first: Rc<RefCell<Option<Failure>>> = Rc::default();
        let objects: Rc<[Object]> = objects.into();
        let local = LocalSet::new();
        local.block_on(&self.runtime, async {
            let mut tasks = Vec::new();
            for index in 0..AT_ONCE.min(objects.len()) {
                let (thread, next, done, undone) = (Rc::clone(&thread), Rc::clone(&next), Rc::clone(&done), Rc::clone(&undone));
                let (first, objects) = (Rc::clone(&first), Rc::clone(&objects));
                tasks.push(tokio::task::spawn_local(async move {
                    let mut session = Session::new(&thread, u32::try_from(index).unwrap_or(0));
                    while let Some(object) = objects.get(next.replace(next.get() + 1)).copied() {
                        let result = session.call(call, About::Object(object), false, None).await;
                        done.set(done.get() + 1);
                        let Err(failure) = result else { continue };
                        let is_gone = call == Call::Delete && failure.kind == FailureKind::Status(404);
                        if !is_gone {
                            undone.borrow_mut().push(object);
                            first.borrow_mut().get_or_insert(failure);
                            session.back_off().await;
                        }
                    }
                }));
            }
            while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                progress(done.get());
                // A server that is gone, or that refuses all, is not asked a thousand times.
                if stop() || undone.borrow().len() > 2 * AT_ONCE {
                    next.set(objects.len());
                }
            }
        });
        let mut undone = undone.take();
        let reached = units::lossless::to_usize(done.get());
        undone.extend_from_slice(objects.get(reached..).unwrap_or_default());
        Done { measured: thread.ledger.live.snapshot(), undone, first: first.take() }
    }
}

/// The message when nobody answers.
pub(crate) fn unreachable_target(address: &str, failure: &Failure) -> LoadError {
    LoadError::Target(format!("cannot reach {address}: {}; is the server running, and is the target right?", failure.what))
}
