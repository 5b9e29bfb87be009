//! A SQLite file for each body.
//!
//! The file is written in a directory of its own for what is under way, without a journal, since
//! nobody sees it before it is whole; then it is made durable, gets its name, and is never changed.

mod draft;

use self::draft::FileDraft;
use super::pages::TablePages;
use super::{Bodies, BodyReader, Draft, Effect, Footing, Settled};
use crate::database::{Purpose, Tuning, connect};
use crate::error::{ShareError, ShareResult};
use crate::options::Synchronous;
use bytes::Bytes;
use house::FileSpan;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files below one directory.
pub(crate) struct BodyFiles {
    place: Arc<Place>,
    next: AtomicU64,
}

struct Place {
    ground: Arc<Footing>,
    root: PathBuf,
    tuning: Tuning,
    chunk: u64,
    /// What the names of drafts have that nobody else's have.
    mark: String,
    /// Keeps away who has another database with the same directory.
    _lock: File,
}

impl BodyFiles {
    /// `first` is the lowest number that no body of the index ever had, `mark` the index's own.
    pub(crate) fn open(
        root: PathBuf,
        ground: Arc<Footing>,
        tuning: Tuning,
        chunk: u64,
        first: u64,
        mark: String,
    ) -> ShareResult<Self> {
        fs::create_dir_all(root.join("incoming"))
            .map_err(|e| ShareError::io("making the directory of uploads", e))?;
        // A file that has the name of a later body is never written over.
        let found = files_in(&root)?;
        let last = found.iter().filter_map(|path| number_of(path)).max();
        let place = Place {
            _lock: lock(&root)?,
            ground,
            root,
            tuning,
            chunk,
            mark,
        };
        sync_directory(&place.root)?;
        if let Some(above) = place
            .root
            .parent()
            .filter(|above| !above.as_os_str().is_empty())
        {
            sync_directory(above)?;
        }
        Ok(Self {
            place: Arc::new(place),
            next: AtomicU64::new(first.max(last.map_or(0, |last| last + 1))),
        })
    }

    /// Whether there are uploads in a directory, or none yet.
    pub(crate) fn has_some(root: &Path) -> bool {
        let found = files_in(root).unwrap_or_default();
        found.iter().any(|path| number_of(path).is_some())
    }
}

fn lock(root: &Path) -> ShareResult<File> {
    let wrong = |e| ShareError::io("locking the directory of uploads", e);
    let directory = File::open(root).map_err(wrong)?;
    match directory.try_lock() {
        Ok(()) => Ok(directory),
        Err(fs::TryLockError::WouldBlock) => Err(ShareError::InUse(root.to_owned())),
        Err(fs::TryLockError::Error(e)) => Err(wrong(e)),
    }
}

fn sync_directory(path: &Path) -> ShareResult<()> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|e| ShareError::io("syncing the directory of uploads", e))
}

/// Removes a file that may be gone already.
fn unlink(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn files_in(directory: &Path) -> ShareResult<Vec<PathBuf>> {
    let wrong = |e| ShareError::io("reading the directory of uploads", e);
    let mut out = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if !path.is_dir() {
            out.push(path);
        }
    }
    Ok(out)
}

impl Place {
    fn incoming(&self) -> PathBuf {
        self.root.join("incoming")
    }

    fn path(&self, number: u64) -> PathBuf {
        self.root.join(name_of(number))
    }

    fn draft(&self, number: u64) -> PathBuf {
        self.incoming().join(format!("{number:016x}.{}", self.mark))
    }

    /// Whether a file is of an upload that was under way.
    fn is_draft(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut journals = JOURNALS.iter();
        let plain = journals.find_map(|journal| name.strip_suffix(journal));
        let number = plain.unwrap_or(&name).split_once('.');
        let number = number.filter(|(_, mark)| *mark == self.mark);
        number.is_some_and(|(digits, _)| digits.len() == 16)
    }

    fn connect(&self, number: u64) -> ShareResult<Connection> {
        let path = self.path(number);
        if !path.exists() {
            return Err(missing(&path));
        }
        // Each file has the pages that it was made with.
        let tuning = Tuning {
            page_size: page_size_of(&path)?,
            ..self.tuning
        };
        connect(&path, Purpose::ReadKept, &tuning)
    }

    fn synced(&self) -> bool {
        self.tuning.synchronous != Synchronous::Off
    }
}

fn missing(path: &Path) -> ShareError {
    ShareError::Damaged(format!("{} is missing", path.display()))
}

/// The size of a file's pages, which its header has at byte 16: big endian, and 1 for 65536.
fn page_size_of(path: &Path) -> ShareResult<u64> {
    use std::os::unix::fs::FileExt as _;
    let mut bytes = [0; 2];
    File::open(path)
        .and_then(|file| file.read_exact_at(&mut bytes, 16))
        .map_err(|e| ShareError::io("reading the header of an upload", e))?;
    Ok(match u16::from_be_bytes(bytes) {
        1 => 65_536,
        size => u64::from(size),
    })
}

/// Which body a file is, by its name; any other name is somebody else's.
fn number_of(path: &Path) -> Option<u64> {
    let digits = path.file_name()?.to_str()?.strip_suffix(".share")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (name_of(number).strip_suffix(".share") == Some(digits)).then_some(number)
}

fn name_of(number: u64) -> String {
    format!("{number:016x}.share")
}

/// What SQLite puts beside a file that it writes.
const JOURNALS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Whether a file is a body by what it says of itself: one by its name alone is somebody else's.
fn is_body(path: &Path) -> ShareResult<bool> {
    let mut head = [0; 72];
    let wrong = |e| ShareError::io("reading the header of an upload", e);
    if !fs::symlink_metadata(path).map_err(wrong)?.is_file() {
        return Ok(false);
    }
    match File::open(path).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => Ok(head[68..] == draft::MARK.to_be_bytes()),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(wrong(e)),
    }
}

struct FileReader {
    path: PathBuf,
    place: Arc<Place>,
    number: u64,
    /// Opened when rows are read: the pages that it has read are much for a reader whose bytes the
    /// kernel sends.
    connection: Option<Connection>,
    /// Looked for when they are asked for.
    pages: Option<TablePages>,
}

impl FileReader {
    fn connection(&mut self) -> ShareResult<&Connection> {
        if self.connection.is_none() {
            self.connection = Some(self.place.connect(self.number)?);
        }
        Ok(self.connection.as_ref().expect("it was just opened"))
    }

    fn pages(&mut self) -> ShareResult<&mut TablePages> {
        if self.pages.is_none() {
            let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'chunk'";
            let connection = self.place.connect(self.number)?;
            let root = connection.query_row(root, [], |row| row.get(0))?;
            let file =
                File::open(&self.path).map_err(|e| ShareError::io("opening an upload", e))?;
            self.pages = Some(TablePages::new(file, page_size_of(&self.path)?, root));
        }
        Ok(self.pages.as_mut().expect("it was just found"))
    }
}

impl BodyReader for FileReader {
    fn read(&mut self, first: u64, count: u64) -> ShareResult<Vec<Bytes>> {
        let chunks = rows(
            self.connection()?,
            "SELECT bytes FROM chunk WHERE number >= ?1 AND number < ?2 ORDER BY number",
            [first, first.saturating_add(count)],
        )?;
        let bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        self.place.ground.count(|ground| &ground.bytes_out, bytes);
        Ok(chunks)
    }

    fn part(&mut self, number: u64, range: Range<u64>) -> ShareResult<Bytes> {
        // Not by SQLite, which would take a connection and its pages for each of many readers.
        let part = self.pages()?.part(number, range)?;
        self.place
            .ground
            .count(|ground| &ground.bytes_out, part.len() as u64);
        Ok(part)
    }

    fn has_places(&self) -> bool {
        true
    }

    fn place(&mut self, number: u64) -> ShareResult<Option<Vec<FileSpan>>> {
        let spans = self.pages()?.blob(number)?;
        let bytes = spans.iter().flatten().map(|span| span.len as u64).sum();
        self.place.ground.count(|ground| &ground.bytes_out, bytes);
        Ok(spans)
    }
}

/// The blobs that a query gives for two numbers.
pub(super) fn rows(
    connection: &Connection,
    query: &str,
    numbers: [u64; 2],
) -> ShareResult<Vec<Bytes>> {
    let mut query = connection.prepare_cached(query)?;
    let mut rows = query.query(numbers)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next()? {
        let blob = row.get_ref(0)?.as_blob();
        out.push(Bytes::copy_from_slice(blob.map_err(|e| {
            ShareError::Damaged(format!("a row of an upload ({e})"))
        })?));
    }
    Ok(out)
}

impl Bodies for BodyFiles {
    fn begin(&self) -> ShareResult<Box<dyn Draft>> {
        let ground = &self.place.ground;
        ground.reach(Effect::CreateBody)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(FileDraft::new(Arc::clone(&self.place), number)))
    }

    fn open(&self, number: u64) -> ShareResult<Box<dyn BodyReader>> {
        let path = self.place.path(number);
        if !path.exists() {
            return Err(missing(&path));
        }
        Ok(Box::new(FileReader {
            place: Arc::clone(&self.place),
            number,
            path,
            connection: None,
            pages: None,
        }))
    }

    fn size(&self, number: u64) -> ShareResult<u64> {
        let connection = self.place.connect(number)?;
        let query = "SELECT coalesce(sum(length(bytes)), 0) FROM chunk";
        Ok(connection.query_row(query, [], |row| row.get(0))?)
    }

    fn remove(&self, number: u64) -> ShareResult<()> {
        self.place.ground.reach(Effect::RemoveBody)?;
        let removed = unlink(&self.place.path(number))
            .map_err(|e| ShareError::io("removing an upload", e))?;
        self.place
            .ground
            .count(|ground| &ground.removed, u64::from(removed));
        Ok(())
    }

    fn settle(&self, kept: &BTreeSet<u64>) -> ShareResult<Settled> {
        let mut settled = Settled {
            missing: kept.clone(),
            ..Settled::default()
        };
        let mut unowned = files_in(&self.place.incoming())?;
        unowned.retain(|path| self.place.is_draft(path));
        for path in files_in(&self.place.root)? {
            match number_of(&path) {
                Some(number) if settled.missing.remove(&number) => {}
                Some(_) if is_body(&path)? => unowned.push(path),
                Some(_) | None => {}
            }
        }
        for path in unowned {
            unlink(&path).map_err(|e| ShareError::io("removing an unfinished upload", e))?;
            settled.removed += 1;
        }
        Ok(settled)
    }

    fn on_disk(&self) -> ShareResult<u64> {
        let wrong = |e| ShareError::io("reading the directory of uploads", e);
        let files = files_in(&self.place.root)?;
        files
            .iter()
            .try_fold(0, |sum, path| match fs::metadata(path) {
                Ok(found) => Ok(sum + found.len()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(sum),
                Err(e) => Err(wrong(e)),
            })
    }

    fn give_back(&self) -> ShareResult<()> {
        Ok(())
    }
}
