//! A file that is being written.

use super::{JOURNALS, Place, sync_directory, unlink};
use crate::content::{BodyPlace, Draft, Effect, not_whole, write_row};
use crate::database::{Purpose, Tuning, connect};
use crate::error::{ShareError, ShareResult};
use crate::options::{JournalMode, Synchronous};
use rusqlite::Connection;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes between two looks at the free space.
const SPACE_STEP: u64 = 16 << 20;
/// What such a file says that it is (`PRAGMA application_id`): "fshr".
pub(super) const MARK: u32 = 0x6673_6872;

const CHUNKS: &str = "CREATE TABLE chunk (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)";

/// A file that has no name of its own yet.
pub(super) struct FileDraft {
    place: Arc<Place>,
    number: u64,
    path: PathBuf,
    connection: Option<Connection>,
    is_made: bool,
    chunks: u64,
    bytes: u64,
    until_space_check: u64,
    /// The file and its length, once it is durable.
    finished: Option<(u64, u64)>,
}

impl FileDraft {
    pub(super) fn new(place: Arc<Place>, number: u64) -> Self {
        Self {
            path: place.draft(number),
            place,
            number,
            connection: None,
            is_made: false,
            chunks: 0,
            bytes: 0,
            until_space_check: 0,
            finished: None,
        }
    }
}

impl Draft for FileDraft {
    fn place(&self) -> BodyPlace {
        BodyPlace {
            number: self.number,
            chunk: self.place.chunk,
        }
    }

    fn append(&mut self, chunk: &[u8]) -> ShareResult<()> {
        self.place.ground.reach(Effect::WriteChunk)?;
        let length = chunk.len() as u64;
        self.until_space_check = match self.until_space_check.checked_sub(length) {
            Some(left) => left,
            None => {
                self.place.ground.room_for(length)?;
                SPACE_STEP
            }
        };
        let number = self.chunks;
        write_row(self.open()?, number, chunk)?;
        self.chunks += 1;
        self.bytes += length;
        self.place.ground.count(|ground| &ground.bytes_in, length);
        Ok(())
    }

    fn rest(&mut self) -> ShareResult<()> {
        let Some(connection) = self.connection.take() else {
            return Ok(());
        };
        connection.execute_batch("COMMIT")?;
        self.place.ground.count(|ground| &ground.commits, 1);
        if self.place.tuning.journal == JournalMode::Wal {
            connection.pragma_update(None, "wal_checkpoint", "TRUNCATE")?;
        }
        connection
            .close()
            .map_err(|(_, error)| ShareError::from(error))
    }

    fn finish(&mut self) -> ShareResult<()> {
        let ground = Arc::clone(&self.place.ground);
        self.open()?;
        ground.reach(Effect::FinishBody)?;
        self.rest()?;
        let wrong = |e| ShareError::io("syncing an upload", e);
        let file = File::open(&self.path).map_err(wrong)?;
        if self.place.synced() {
            ground.reach(Effect::SyncBody)?;
            file.sync_all().map_err(wrong)?;
            ground.count(|ground| &ground.syncs, 1);
        }
        let found = file.metadata().map_err(wrong)?;
        self.finished = Some((found.ino(), found.len()));
        ground.reach(Effect::NameBody)?;
        let name = self.place.path(self.number);
        fs::rename(&self.path, &name).map_err(|e| ShareError::io("naming an upload", e))?;
        self.path = name;
        if self.place.synced() {
            ground.reach(Effect::SyncDirectory)?;
            sync_directory(&self.place.root)?;
            ground.count(|ground| &ground.syncs, 1);
        }
        Ok(())
    }

    fn check(&self, _: &Connection, size: u64) -> ShareResult<()> {
        let found = fs::metadata(&self.path).map_err(|e| ShareError::io("linking an upload", e))?;
        let is_same = self.finished == Some((found.ino(), found.len()));
        if is_same && self.bytes == size && found.len() >= size {
            return Ok(());
        }
        Err(not_whole(self.number, found.len().min(self.bytes), size))
    }

    fn kept(mut self: Box<Self>) {
        self.path = PathBuf::new();
    }
}

impl FileDraft {
    /// The connection, in a transaction; the file is made by the first.
    fn open(&mut self) -> ShareResult<&Connection> {
        if self.connection.is_none() {
            // The file is synced as a whole before it gets its name.
            let tuning = Tuning {
                synchronous: Synchronous::Off,
                ..self.place.tuning
            };
            let connection = connect(&self.path, Purpose::Write, &tuning)?;
            if !self.is_made {
                connection.pragma_update(None, "application_id", MARK)?;
                connection.execute_batch(CHUNKS)?;
                self.is_made = true;
            }
            connection.execute_batch("BEGIN")?;
            self.connection = Some(connection);
        }
        Ok(self.connection.as_ref().expect("it was just opened"))
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() || self.place.ground.reach(Effect::RemoveBody).is_err()
        {
            return;
        }
        drop(self.connection.take());
        // What cannot be removed here is removed at the next start.
        let _ = unlink(&self.path);
        for journal in JOURNALS {
            let mut path = self.path.clone().into_os_string();
            path.push(journal);
            let _ = unlink(Path::new(&path));
        }
    }
}
