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

/// Bytes that wait in memory before the disk begins with them, so that the sync at the end has
/// little left to write.
const WRITE_BEHIND: u64 = 8 << 20;
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
    /// The file, and up to which byte the disk has begun to write it.
    behind: Option<(File, u64)>,
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
            behind: None,
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
        self.write_behind()
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
        // What went wrong while the disk wrote is told to who had the file open then.
        let file = match self.behind.take() {
            Some((file, _)) => file,
            None => File::open(&self.path).map_err(wrong)?,
        };
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
    /// Has the disk begin with what was written, where enough was.
    fn write_behind(&mut self) -> ShareResult<()> {
        let begun = self.behind.as_ref().map_or(0, |(_, begun)| *begun);
        if !self.place.synced() || self.bytes < begun + WRITE_BEHIND {
            return Ok(());
        }
        let wrong = |e| ShareError::io("writing an upload", e);
        let file = match self.behind.take() {
            Some((file, _)) => file,
            None => File::open(&self.path).map_err(wrong)?,
        };
        let length = file.metadata().map_err(wrong)?.len();
        if length > begun {
            // Where the kernel cannot, the sync at the end writes all of it.
            let _ = sys::begin_write_back(&file, begun, length - begun);
        }
        self.behind = Some((file, length.max(begun)));
        Ok(())
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::files::BodyFiles;
    use crate::content::{Footing, Spare, Unobstructed};
    use crate::database::Vacuum;

    #[test]
    fn the_disk_begins_with_a_long_upload_before_it_is_whole_and_not_with_a_short_one() {
        let dir = tempfile::tempdir().unwrap();
        let spare = Spare::new(dir.path().join("x.spare"), 4096);
        let places = vec![dir.path().to_owned()];
        let ground = Footing::new(Arc::new(Unobstructed), places, Some(0), spare).unwrap();
        let tuning = |synchronous| Tuning {
            page_size: 65_536,
            journal: JournalMode::Off,
            synchronous,
            checkpoint: 1 << 20,
            cache: 1 << 20,
            row: 1 << 20,
            vacuum: Vacuum::Never,
        };
        let ground = Arc::new(ground);
        let begun = |name: &str, synchronous, rows: u64| {
            let (root, tuning) = (dir.path().join(name), tuning(synchronous));
            let mark = "mark".to_owned();
            let bodies = BodyFiles::open(root, Arc::clone(&ground), tuning, 1 << 20, 1, mark);
            let mut draft = FileDraft::new(Arc::clone(&bodies.unwrap().place), 1);
            for _ in 0..rows {
                draft.append(&vec![7; 1 << 20]).unwrap();
            }
            let begun = draft.behind.as_ref().map(|(_, begun)| *begun);
            draft.finish().unwrap();
            let index = Connection::open_in_memory().unwrap();
            draft.check(&index, rows << 20).unwrap();
            begun
        };
        assert_eq!(begun("short", Synchronous::Full, 7), None);
        let long = begun("long", Synchronous::Full, 21).unwrap();
        assert!((15 << 20..22 << 20).contains(&long), "{long}");
        assert_eq!(begun("never synced", Synchronous::Off, 21), None);
    }
}
