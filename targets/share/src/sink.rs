//! Where the bytes of an upload go as they come.
//!
//! Writing to the store takes memory: rows, pages, a connection. So much of it is there for a few
//! uploads at once, whatever their number, as desks. Who has one writes straight to the store. Who
//! has none puts bytes into a file aside, and waits for a desk when there are many of them or no
//! more come. Who has one and waits for the network leaves it when another wants it.

use crate::answer::Denial;
use crate::content::Draft;
use crate::error::{ShareError, ShareResult};
use bytes::Bytes;
use http::StatusCode;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;

/// Memory of all desks.
const ALL_DESKS: u64 = 12 << 20;
/// Memory up to which a desk has several rows, alone if it must: with one the disk waits for the network.
const SEVERAL_ROWS: u64 = 16 << 20;
/// Rows that a desk has where there is memory for them: one comes, one is written, and one lies
/// between them, so that neither side waits until the other wakes up.
const ROWS: [u64; 2] = [3, 2];
/// The most desks.
const MOST_DESKS: u64 = 16;
/// What a desk has besides rows and pages: a connection.
const CONNECTION: u64 = 192 << 10;
/// Bytes that are put aside before a desk is waited for.
const MOST_ASIDE: u64 = 1 << 20;
/// Rows that are written at a desk while others wait for it.
const TURN: u32 = 64;

/// How the memory of desks is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Furnishing {
    desks: usize,
    /// Rows that a desk holds.
    rows: u64,
}

impl Furnishing {
    /// For rows of a length, and connections that hold so many bytes of pages.
    fn new(chunk: u64, pages: u64) -> Self {
        let fits = |rows: &u64| Self::desk(*rows, chunk, pages) <= SEVERAL_ROWS;
        let rows = ROWS.into_iter().find(fits).unwrap_or(1);
        let desks = (ALL_DESKS / Self::desk(rows, chunk, pages)).clamp(1, MOST_DESKS);
        Self {
            desks: usize::try_from(desks).unwrap_or(1),
            rows,
        }
    }

    /// Bytes of one desk.
    fn desk(rows: u64, chunk: u64, pages: u64) -> u64 {
        rows * chunk + pages + CONNECTION
    }
}

/// The places where uploads are written.
pub(crate) struct Desks {
    /// Rows that a desk holds.
    rows: u64,
    free: Arc<Semaphore>,
    /// Told when somebody waits.
    wanted: Notify,
    waiting: AtomicUsize,
    /// Where bytes are put aside.
    aside: PathBuf,
}

/// A place, until it is dropped.
pub(crate) type Desk = OwnedSemaphorePermit;

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Desks {
    /// As many as there is memory for with rows of this length, and connections that hold so many
    /// bytes of pages.
    pub(crate) fn new(chunk: u64, pages: u64, aside: PathBuf) -> Self {
        let furnishing = Furnishing::new(chunk, pages);
        Self {
            rows: furnishing.rows,
            free: Arc::new(Semaphore::new(furnishing.desks)),
            wanted: Notify::new(),
            waiting: AtomicUsize::new(0),
            aside,
        }
    }

    fn try_take(&self) -> Option<Desk> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    async fn take(&self) -> Result<Desk, Denial> {
        if let Some(desk) = self.try_take() {
            return Ok(desk);
        }
        self.waiting.fetch_add(1, Relaxed);
        let _waiting = Waiting(&self.waiting);
        self.wanted.notify_one();
        let desk = Arc::clone(&self.free).acquire_owned().await;
        desk.map_err(|closed| failed(&closed))
    }
}

fn failed(error: &dyn std::error::Error) -> Denial {
    Denial {
        cause: Some(error.to_string()),
        ..Denial::new(StatusCode::INTERNAL_SERVER_ERROR, "this server failed")
    }
}

/// Bytes in a file without a name, which goes with whatever happens.
struct Aside {
    file: Arc<File>,
    length: u64,
}

/// A thread that writes rows to a draft, in the order in which they come.
struct Writer {
    rows: mpsc::Sender<Vec<u8>>,
    /// The memory of those that are written.
    written: mpsc::Receiver<Vec<u8>>,
    ends: JoinHandle<(Box<dyn Draft>, ShareResult<()>)>,
}

impl Writer {
    fn begin(mut draft: Box<dyn Draft>) -> Self {
        let most = usize::try_from(ROWS[0]).unwrap_or(1);
        let (rows, mut coming) = mpsc::channel::<Vec<u8>>(most);
        let (done, written) = mpsc::channel(most);
        let ends = tokio::task::spawn_blocking(move || {
            while let Some(mut row) = coming.blocking_recv() {
                if let Err(error) = draft.append(&row) {
                    return (draft, Err(error));
                }
                row.clear();
                // There are no more rows than have room, and who has gone needs none.
                let _ = done.try_send(row);
            }
            (draft, Ok(()))
        });
        Self {
            rows,
            written,
            ends,
        }
    }
}

/// A draft that is written while its next chunk comes.
pub(crate) struct Sink {
    desks: Arc<Desks>,
    desk: Option<Desk>,
    /// Rows that were written since the desk was taken.
    turn: u32,
    aside: Option<Aside>,
    /// Where nothing writes to it.
    draft: Option<Box<dyn Draft>>,
    writer: Option<Writer>,
    /// The row that comes.
    buffer: Vec<u8>,
    /// Rows that there are, with that one.
    rows: u64,
    chunk: usize,
    pub(crate) size: u64,
}

impl Sink {
    pub(crate) fn new(draft: Box<dyn Draft>, desks: Arc<Desks>) -> Self {
        Self {
            desks,
            desk: None,
            turn: 0,
            aside: None,
            chunk: usize::try_from(draft.place().chunk).unwrap_or(usize::MAX),
            draft: Some(draft),
            writer: None,
            buffer: Vec::new(),
            rows: 1,
            size: 0,
        }
    }

    pub(crate) async fn push(&mut self, bytes: Bytes) -> Result<(), Denial> {
        self.size += bytes.len() as u64;
        if self.desk.is_none() {
            self.desk = self.desks.try_take();
        }
        if self.desk.is_some() {
            self.take_back().await?;
            return self.fill(bytes).await;
        }
        self.put_aside(bytes).await?;
        if self
            .aside
            .as_ref()
            .is_some_and(|aside| aside.length >= MOST_ASIDE)
        {
            self.sit_down().await?;
        }
        Ok(())
    }

    /// Ends when somebody wants the desk that this upload has.
    pub(crate) async fn is_wanted(&mut self) {
        match self.desk {
            Some(_) => self.desks.wanted.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Gives the desk to others, and goes on without.
    pub(crate) async fn leave(&mut self) -> Result<(), Denial> {
        self.settle().await?;
        let buffer = std::mem::take(&mut self.buffer);
        if !buffer.is_empty() {
            self.put_aside(buffer.into()).await?;
        }
        let mut draft = self.draft.take().expect("what was written came back");
        let (draft, outcome) = tokio::task::spawn_blocking(move || {
            let outcome = draft.rest();
            (draft, outcome)
        })
        .await
        .map_err(|error| failed(&error))?;
        self.draft = Some(draft);
        (self.desk, self.turn) = (None, 0);
        Ok(outcome?)
    }

    /// Waits for a desk, and brings there what was put aside.
    async fn sit_down(&mut self) -> Result<(), Denial> {
        if self.desk.is_none() {
            self.desk = Some(self.desks.take().await?);
        }
        self.take_back().await
    }

    async fn put_aside(&mut self, bytes: Bytes) -> Result<(), Denial> {
        let (file, at) = match &self.aside {
            Some(aside) => (Some(Arc::clone(&aside.file)), aside.length),
            None => (None, 0),
        };
        let (place, length) = (self.desks.aside.clone(), bytes.len() as u64);
        let file = crate::blocking(move || {
            let wrong = |e| ShareError::io("putting bytes of an upload aside", e);
            let file = match file {
                Some(file) => file,
                None => Arc::new(tempfile::tempfile_in(place).map_err(wrong)?),
            };
            file.write_all_at(&bytes, at).map_err(wrong)?;
            Ok(file)
        })
        .await?;
        self.aside = Some(Aside {
            file,
            length: at + length,
        });
        Ok(())
    }

    /// Takes what was put aside to the store.
    async fn take_back(&mut self) -> Result<(), Denial> {
        let Some(aside) = self.aside.take() else {
            return Ok(());
        };
        let mut at = 0;
        while at < aside.length {
            let room = (self.chunk - self.buffer.len()) as u64;
            let more = usize::try_from(room.min(aside.length - at)).unwrap_or(usize::MAX);
            self.make_room();
            let (file, mut buffer) = (Arc::clone(&aside.file), std::mem::take(&mut self.buffer));
            self.buffer = crate::blocking(move || {
                let before = buffer.len();
                buffer.resize(before + more, 0);
                file.read_exact_at(&mut buffer[before..], at)
                    .map_err(|e| ShareError::io("reading bytes that were put aside", e))?;
                Ok(buffer)
            })
            .await?;
            at += more as u64;
            if self.buffer.len() == self.chunk {
                self.write().await?;
            }
        }
        Ok(())
    }

    /// A row's memory at once: growing by itself a buffer would come to have up to twice as much.
    fn make_room(&mut self) {
        if self.buffer.capacity() < self.chunk {
            self.buffer.reserve_exact(self.chunk - self.buffer.len());
        }
    }

    async fn fill(&mut self, mut bytes: Bytes) -> Result<(), Denial> {
        while !bytes.is_empty() {
            let taken = bytes.len().min(self.chunk - self.buffer.len());
            self.make_room();
            self.buffer.extend_from_slice(&bytes.split_to(taken));
            if self.buffer.len() == self.chunk {
                self.write().await?;
                if self.turn >= TURN && self.desks.waiting.load(Relaxed) > 0 {
                    self.leave().await?;
                    return match bytes.is_empty() {
                        true => Ok(()),
                        false => self.put_aside(bytes).await,
                    };
                }
            }
        }
        Ok(())
    }

    /// Waits until all that was given is written.
    async fn settle(&mut self) -> Result<(), Denial> {
        if let Some(Writer { rows, ends, .. }) = self.writer.take() {
            drop(rows);
            let (draft, outcome) = ends.await.map_err(|error| failed(&error))?;
            (self.draft, self.rows) = (Some(draft), 1);
            outcome?;
        }
        Ok(())
    }

    /// Gives what has come to be written, and goes on with the memory of another row.
    async fn write(&mut self) -> Result<(), Denial> {
        self.turn += 1;
        let row = std::mem::take(&mut self.buffer);
        let draft = &mut self.draft;
        let writer = self.writer.get_or_insert_with(|| {
            let draft = draft.take().expect("what was written came back");
            Writer::begin(draft)
        });
        let is_taken = writer.rows.send(row).await.is_ok();
        let next = match writer.written.try_recv() {
            Ok(row) => Some(row),
            Err(_) if self.rows < self.desks.rows => {
                self.rows += 1;
                Some(Vec::new())
            }
            Err(_) => writer.written.recv().await,
        };
        match next.filter(|_| is_taken) {
            Some(row) => self.buffer = row,
            // Why the writer has ended is with its draft.
            None => self.settle().await?,
        }
        Ok(())
    }

    /// The draft with all its bytes, at a desk that is kept until it is linked in.
    pub(crate) async fn finish(mut self) -> Result<(Box<dyn Draft>, Option<Desk>), Denial> {
        self.sit_down().await?;
        // An upload of no bytes is one empty chunk.
        if !self.buffer.is_empty() || self.size == 0 {
            self.write().await?;
        }
        self.settle().await?;
        let draft = self.draft.take().expect("what was written came back");
        Ok((draft, self.desk.take()))
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Removing a large file takes its time, which is not this thread's.
        if let Some(draft) = self.draft.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let desk = self.desk.take();
            runtime.spawn_blocking(move || drop((draft, desk)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::BodyPlace;
    use rusqlite::Connection;
    use std::sync::Mutex;

    /// Keeps what it is given where a test finds it.
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Draft for Kept {
        fn place(&self) -> BodyPlace {
            BodyPlace {
                number: 1,
                chunk: 1000,
            }
        }
        fn append(&mut self, chunk: &[u8]) -> ShareResult<()> {
            self.0.lock().unwrap().extend_from_slice(chunk);
            Ok(())
        }
        fn finish(&mut self) -> ShareResult<()> {
            Ok(())
        }
        fn check(&self, _: &Connection, _: u64) -> ShareResult<()> {
            Ok(())
        }
        fn kept(self: Box<Self>) {}
    }

    #[test]
    fn desks_never_have_more_memory_than_there_is_for_all_of_them() {
        for chunk in (16..25).map(|power| 1u64 << power) {
            let pages = chunk + (256 << 10);
            let Furnishing { desks, rows } = Furnishing::new(chunk, pages);
            let all = desks as u64 * Furnishing::desk(rows, chunk, pages);
            assert!(all <= ALL_DESKS || desks == 1, "{chunk}");
            assert!(all <= SEVERAL_ROWS || rows == 1, "{chunk}");
            // The longest row that there may be, and its pages.
            assert!(all <= 2 * (16 << 20) + (1 << 20), "{chunk}");
        }
        let usual = Furnishing::new(270_321, 532_465);
        assert_eq!(usual, Furnishing { desks: 8, rows: 3 });
        let of_4mib = Furnishing::new(4 << 20, (4 << 20) + (256 << 10));
        assert_eq!(of_4mib, Furnishing { desks: 1, rows: 2 });
    }

    #[tokio::test]
    async fn a_desk_for_one_row_gives_every_byte_to_the_store() {
        let dir = tempfile::tempdir().unwrap();
        let desks = Arc::new(Desks::new(16 << 20, 16 << 20, dir.path().to_owned()));
        assert_eq!(desks.rows, 1);
        let kept = Arc::new(Mutex::new(Vec::new()));
        let mut sink = Sink::new(Box::new(Kept(Arc::clone(&kept))), Arc::clone(&desks));
        let sent: Vec<u8> = (0..5500u32).map(|at| at.to_le_bytes()[0]).collect();
        for bytes in sent.chunks(700) {
            sink.push(bytes.to_vec().into()).await.unwrap();
        }
        sink.finish().await.unwrap();
        assert_eq!(*kept.lock().unwrap(), sent);
    }

    #[tokio::test]
    async fn who_waits_for_the_network_leaves_the_desk_and_every_byte_arrives_in_order() {
        let dir = tempfile::tempdir().unwrap();
        // Two desks, for more uploads than that.
        let desks = Arc::new(Desks::new(1 << 20, 2 << 20, dir.path().to_owned()));
        assert_eq!(desks.free.available_permits(), 2);
        let mut uploads = Vec::new();
        for _ in 0..7 {
            let kept = Arc::new(Mutex::new(Vec::new()));
            let sink = Sink::new(Box::new(Kept(Arc::clone(&kept))), Arc::clone(&desks));
            uploads.push((sink, kept, Vec::new()));
        }
        for round in 0..40u8 {
            for (at, (sink, _, sent)) in uploads.iter_mut().enumerate() {
                let bytes = vec![round ^ u8::try_from(at).unwrap(); 37 * (at + 1)];
                sent.extend_from_slice(&bytes);
                sink.push(bytes.into()).await.unwrap();
                if usize::from(round) % 7 == at && sink.desk.is_some() {
                    sink.leave().await.unwrap();
                }
            }
        }
        let has_desk = uploads.iter().filter(|(sink, ..)| sink.desk.is_some());
        assert!(has_desk.count() <= 2);
        let mut waiting = Vec::new();
        for (mut sink, kept, sent) in uploads {
            // Each waits for the network, and ends after another has its turn.
            waiting.push(tokio::spawn(async move {
                if sink.desk.is_some() {
                    sink.is_wanted().await;
                    sink.leave().await.unwrap();
                }
                assert_eq!(sink.size, sent.len() as u64);
                let (_draft, desk) = sink.finish().await.unwrap();
                assert!(desk.is_some() && *kept.lock().unwrap() == sent);
            }));
        }
        for ended in waiting {
            ended.await.unwrap();
        }
        assert_eq!(desks.free.available_permits(), 2);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
