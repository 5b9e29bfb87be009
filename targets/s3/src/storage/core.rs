//! What all parts of a store share, and the group commit.
//!
//! Writes are closures that run one after the other on one thread, over one transaction a group:
//! conditions are decided there, in the order in which the writes take effect. While one group is
//! being made durable the next one collects.

use super::files::{Faults, Files, Step};
use super::pins::Pins;
use super::recent::RecentlyRead;
use super::tables::{Tables, View, When};
use super::txn::{Ids, Txn};
use super::{Done, StorageCounters, StorageError, StorageOptions, StorageResult, SyncPolicy};
use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The most writes of one group: it bounds how much of a group's bytes memory holds at once.
const GROUP: usize = 256;

/// What a store has done since it was opened.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) writes: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) bytes_handed: AtomicU64,
    pub(crate) files_removed: AtomicU64,
    pub(crate) corrupt_reads: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Counts {
    pub(crate) fn now(&self) -> StorageCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StorageCounters {
            writes: read(&self.writes),
            commits: read(&self.commits),
            syncs: read(&self.syncs),
            bytes_in: read(&self.bytes_in),
            bytes_out: read(&self.bytes_out),
            bytes_handed: read(&self.bytes_handed),
            files_removed: read(&self.files_removed),
            corrupt_reads: read(&self.corrupt_reads),
        }
    }
}

/// The state of a store, without its threads.
pub(crate) struct Core {
    pub(crate) tables: Box<dyn Tables>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) faults: Arc<dyn Faults>,
    pub(crate) pins: Pins,
    pub(crate) recent: RecentlyRead,
    pub(crate) ids: Ids,
    pub(crate) options: StorageOptions,
    pub(crate) counts: Arc<Counts>,
    /// Whether something was committed since the last sync; only under policies other than
    /// `Always`.
    dirty: AtomicBool,
    /// To whom files go that are free; without it they are removed at once.
    reaper: RwLock<Option<Sender<u64>>>,
    /// Whether the directory was found to be gone.
    lost: AtomicBool,
    queue: Queue,
}

/// How writes reach the transaction.
enum Queue {
    /// One at a time, on the thread of the caller: what is kept in memory has nothing to wait for.
    Here(Mutex<()>),
    Thread(RwLock<Option<Sender<Job>>>),
}

/// Whether a write needs room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Takes,
    Frees,
}

type Work = Box<dyn FnOnce(StorageResult<()>, &mut Txn<'_>) -> Answer + Send>;

/// One write of a group.
pub(crate) struct Job {
    room: Room,
    /// Files that it brings: removed again where it fails.
    sealed: Vec<u64>,
    work: Work,
}

/// What a write answers once its group is committed.
struct Answer {
    ok: bool,
    reply: Box<dyn FnOnce(StorageResult<()>)>,
}

fn job<T: 'static>(
    room: Room,
    sealed: Vec<u64>,
    work: impl FnOnce(&mut Txn<'_>) -> StorageResult<T> + Send + 'static,
    done: Done<T>,
) -> Job {
    let work: Work = Box::new(move |gate, txn| {
        let outcome = gate.and_then(|()| work(txn));
        match &outcome {
            Ok(_) => txn.keep(),
            Err(_) => txn.take_back(),
        }
        let ok = outcome.is_ok();
        Answer {
            ok,
            reply: Box::new(move |committed| {
                done(outcome.and_then(|value| committed.map(|()| value)))
            }),
        }
    });
    Job { room, sealed, work }
}

/// One error for each write of a group that failed together.
fn again(error: &StorageError) -> StorageError {
    if let StorageError::NoSpace = error {
        return StorageError::NoSpace;
    }
    if let StorageError::Lost = error {
        return StorageError::Lost;
    }
    let source = error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string);
    StorageError::Io {
        what: "committing a group of writes",
        source: io::Error::other(source),
    }
}

impl Core {
    pub(crate) fn new(
        tables: Box<dyn Tables>,
        files: Arc<dyn Files>,
        faults: Arc<dyn Faults>,
        options: StorageOptions,
    ) -> StorageResult<Self> {
        let ids = Ids::open(&*tables.view())?;
        let reserve = ids.reserve(&*tables.view())?;
        tables.commit(reserve.into_iter().collect(), When::BeforeVisible)?;
        Ok(Self {
            tables,
            files,
            faults,
            pins: Pins::default(),
            recent: RecentlyRead::new(options.verify_every),
            ids,
            options,
            counts: Arc::default(),
            dirty: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            reaper: RwLock::new(None),
            queue: Queue::Here(Mutex::new(())),
        })
    }

    pub(crate) fn view(&self) -> Box<dyn View + '_> {
        self.tables.view()
    }

    /// Opens a file, or makes one; where too many are open, once more after those are closed that
    /// were only kept open.
    pub(crate) fn with_a_file<T>(&self, open: impl Fn() -> StorageResult<T>) -> StorageResult<T> {
        match open() {
            Err(error) if error.too_many_files() && self.recent.close() => open(),
            outcome => outcome,
        }
    }

    /// Whether the directory is still the one that was opened. Errors: `Lost`, from the first time
    /// on that it is not.
    pub(crate) fn present(&self) -> StorageResult<()> {
        if !self.lost.load(Ordering::Relaxed) && self.files.is_present() {
            return Ok(());
        }
        self.lost.store(true, Ordering::Relaxed);
        Err(StorageError::Lost)
    }

    /// What an error of a file is: of the directory, where that is gone.
    pub(crate) fn blame(&self, error: StorageError) -> StorageError {
        let of_files = matches!(error, StorageError::Io { .. });
        if of_files {
            self.present().err().unwrap_or(error)
        } else {
            error
        }
    }

    /// Whether a write may begin.
    fn open_to_writes(&self) -> StorageResult<()> {
        if self.lost.load(Ordering::Relaxed) {
            Err(StorageError::Lost)
        } else {
            Ok(())
        }
    }

    /// Hands in a write; `done` is called once its outcome is as durable as the policy says.
    pub(crate) fn submit<T: 'static>(
        &self,
        room: Room,
        sealed: Vec<u64>,
        work: impl FnOnce(&mut Txn<'_>) -> StorageResult<T> + Send + 'static,
        done: Done<T>,
    ) {
        let job = job(room, sealed, work, done);
        match &self.queue {
            Queue::Here(turn) => {
                let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let answers = self.group(vec![job]);
                drop(turn);
                answers();
            }
            Queue::Thread(sender) => {
                let sender = sender.read().unwrap_or_else(PoisonError::into_inner);
                // A queue that is closed drops the job and `done` with it: who waits is told so by
                // that.
                drop(sender.as_ref().map(|sender| sender.send(job)));
            }
        }
    }

    /// Hands in a write and waits for its outcome.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        room: Room,
        sealed: Vec<u64>,
        work: impl FnOnce(&mut Txn<'_>) -> StorageResult<T> + Send + 'static,
    ) -> StorageResult<T> {
        super::wait(|done| self.submit(room, sealed, work, done))
    }

    /// Runs a group of writes and commits it; what comes back tells each of them.
    fn group(&self, jobs: Vec<Job>) -> impl FnOnce() {
        let gate = self.open_to_writes().and_then(|()| self.gate(&jobs));
        let room = gate
            .as_ref()
            .map_or_else(|e| Err(again(e)), |()| self.files.has_space());
        // What failed for the directory's sake would fail again, and what did not may be lost with
        // it.
        let room = if room.is_err() {
            self.present().and(room)
        } else {
            room
        };
        let view = self.view();
        let mut txn = Txn::new(&*view, &self.ids, (self.options.clock)());
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            let gate = match (&room, job.room) {
                (Ok(false), Room::Takes) => Err(StorageError::NoSpace),
                (Ok(_), _) => Ok(()),
                (Err(error), _) => Err(again(error)),
            };
            answers.push(((job.work)(gate, &mut txn), job.sealed));
        }
        let (mut batch, freed) = txn.finish();
        if let Ok(Some(reserve)) = self.ids.reserve(&*view) {
            batch.push(reserve);
        }
        drop(view);
        let committed = if batch.is_empty() {
            Ok(())
        } else {
            self.commit(batch)
        };
        if committed.is_ok() {
            self.free(freed);
        }
        let done = answers
            .iter()
            .filter(|(answer, _)| answer.ok && committed.is_ok())
            .count();
        add(&self.counts.writes, done as u64);
        // A commit that failed may still be found in the journal at the next start: its files stay,
        // and go then if it is not.
        let lost = answers
            .iter()
            .filter(|(answer, _)| !answer.ok)
            .flat_map(|(_, sealed)| sealed)
            .copied()
            .collect();
        self.reap(lost);
        move || {
            for (answer, _) in answers {
                (answer.reply)(
                    committed
                        .as_ref()
                        .map_or_else(|e| Err(again(e)), |()| Ok(())),
                );
            }
        }
    }

    /// Makes the names of a group's files durable before any row points to them.
    fn gate(&self, jobs: &[Job]) -> StorageResult<()> {
        if self.options.sync != SyncPolicy::Always {
            return Ok(());
        }
        let sealed: Vec<u64> = jobs.iter().flat_map(|job| &job.sealed).copied().collect();
        self.files.sync_directories(&sealed)
    }

    fn commit(&self, batch: Vec<super::tables::Write>) -> StorageResult<()> {
        let reach = |step| {
            self.faults
                .reach(step)
                .map_err(|e| StorageError::io("committing", e))
        };
        reach(Step::Commit)?;
        if self.options.sync == SyncPolicy::Always {
            self.tables.commit(batch, When::BeforeVisible)?;
            add(&self.counts.syncs, 1);
        } else {
            self.tables.commit(batch, When::Later)?;
            self.dirty.store(true, Ordering::Release);
        }
        add(&self.counts.commits, 1);
        reach(Step::Committed)
    }

    /// Makes durable what was committed since the last sync.
    pub(crate) fn sync(&self) -> StorageResult<()> {
        if self.dirty.swap(false, Ordering::AcqRel) {
            // On an error nobody knows what is durable: the next sync tries again.
            self.files
                .sync_all()
                .inspect_err(|_| self.dirty.store(true, Ordering::Release))?;
            add(&self.counts.syncs, 1);
        }
        Ok(())
    }

    /// Removes files that nothing owns any more, once nobody reads them.
    fn free(&self, ids: Vec<u64>) {
        if !ids.is_empty() {
            self.reap(self.pins.free(ids));
        }
    }

    /// Ends one reader of these files.
    pub(crate) fn unpin(&self, ids: &[u64]) {
        self.reap(self.pins.unpin(ids));
    }

    /// Removes files. What cannot be removed is left to the next start.
    pub(crate) fn reap(&self, ids: Vec<u64>) {
        if ids.is_empty() {
            return;
        }
        self.recent.forget(&ids);
        let reaper = self.reaper.read().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            match reaper.as_ref() {
                Some(sender) => drop(sender.send(id)),
                None => remove(&*self.files, &self.counts, id),
            }
        }
    }
}

fn remove(files: &dyn Files, counts: &Counts, id: u64) {
    if files.remove(id).is_ok() {
        add(&counts.files_removed, 1);
    }
}

/// The threads of a store on disk: one commits, one removes files, and under `Interval` one syncs.
pub(crate) struct Threads {
    running: Vec<std::thread::JoinHandle<()>>,
    stop_sync: Option<Sender<()>>,
}

impl Threads {
    /// Gives a core its threads before it is shared.
    pub(crate) fn start(mut core: Core) -> StorageResult<(Arc<Core>, Self)> {
        let (jobs, queued) = mpsc::channel::<Job>();
        let (freed, to_remove) = mpsc::channel::<u64>();
        core.queue = Queue::Thread(RwLock::new(Some(jobs)));
        core.reaper = RwLock::new(Some(freed));
        let core = Arc::new(core);
        let mut threads = Self {
            running: Vec::new(),
            stop_sync: None,
        };
        let owned = Arc::clone(&core);
        threads.spawn("s3-commit", move || {
            while let Ok(first) = queued.recv() {
                let group = std::iter::once(first)
                    .chain(queued.try_iter().take(GROUP - 1))
                    .collect();
                owned.group(group)();
            }
        })?;
        let (files, counts) = (Arc::clone(&core.files), Arc::clone(&core.counts));
        threads.spawn("s3-reap", move || {
            to_remove.iter().for_each(|id| remove(&*files, &counts, id))
        })?;
        if let SyncPolicy::Interval(ms) = core.options.sync {
            let (stop, stopped) = mpsc::channel();
            let (owned, interval) = (
                Arc::clone(&core),
                std::time::Duration::from_millis(ms.max(1)),
            );
            threads.stop_sync = Some(stop);
            threads.spawn("s3-sync", move || {
                while stopped.recv_timeout(interval) == Err(mpsc::RecvTimeoutError::Timeout) {
                    // What could not be synced stays dirty, and is tried again.
                    drop(owned.sync());
                }
            })?;
        }
        Ok((core, threads))
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> StorageResult<()> {
        let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        self.running
            .push(spawned.map_err(|e| StorageError::io("starting a thread of the store", e))?);
        Ok(())
    }

    /// Ends the queue, then everything that it may still have sent to.
    pub(crate) fn stop(&mut self, core: &Core) {
        self.stop_sync = None;
        if let Queue::Thread(sender) = &core.queue {
            *sender.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        let mut running = std::mem::take(&mut self.running).into_iter();
        let join = |thread: std::thread::JoinHandle<()>| drop(thread.join());
        running.next().map(join);
        *core.reaper.write().unwrap_or_else(PoisonError::into_inner) = None;
        running.for_each(join);
    }
}
