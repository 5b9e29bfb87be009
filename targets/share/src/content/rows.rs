//! All bodies as rows of the one database.
//!
//! Each chunk is a short transaction of its own, so that the write lock is never held while the
//! network is slow. Those transactions need not be durable by themselves: the one that adds the
//! upload to the index is, and what was written to the same log before it with it.

use super::files::rows;
use super::{
    Bodies, BodyPlace, BodyReader, Draft, Effect, Footing, Settled, TABLE, not_whole, row_of,
    write_row,
};
use crate::database::Pool;
use crate::error::{ShareError, ShareResult};
use crate::index::{Pair, Writers};
use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, MAIN_DB, Transaction, TransactionBehavior};
use rustix::fs::{FallocateFlags, fallocate};
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A row's number is that of its body, and in the lowest bits which chunk of it.
const CHUNK_BITS: u32 = 24;
/// Rows that one transaction removes: as many as keep the write lock for a moment.
const REMOVED_AT_ONCE: u64 = 32;
/// Bytes that one transaction gives back: each may be moved, and then is in the log as well.
const GIVEN_BACK_AT_ONCE: u64 = 4 << 20;
/// Bytes that the database gets beyond what it needs for what is in its log.
const AHEAD: u64 = 4 << 20;

const CHUNKS: &str =
    "CREATE TABLE IF NOT EXISTS chunk (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)";

/// Rows of one table.
pub(crate) struct BodyRows {
    shared: Arc<Rows>,
    next: AtomicU64,
}

struct Rows {
    ground: Arc<Footing>,
    // They are closed in this order: see the index.
    readers: Arc<Pool>,
    writers: Arc<Writers>,
    chunk: u64,
    file: Arc<File>,
    /// Whether its file system sets space aside.
    can_allocate: AtomicBool,
}

fn first_of(body: u64) -> u64 {
    body << CHUNK_BITS
}

impl BodyRows {
    /// `first` is the lowest number that no body of the index ever had.
    pub(crate) fn open(
        ground: Arc<Footing>,
        writers: Arc<Writers>,
        readers: Arc<Pool>,
        chunk: u64,
        first: u64,
        file: Arc<File>,
    ) -> ShareResult<Self> {
        let last: Option<u64> = writers.with(|writers| {
            writers.staging.execute_batch(CHUNKS)?;
            let query = "SELECT max(number) FROM chunk";
            Ok(writers.staging.query_row(query, [], |row| row.get(0))?)
        })?;
        let after = last.map_or(0, |last| (last >> CHUNK_BITS) + 1);
        Ok(Self {
            shared: Arc::new(Rows {
                ground,
                writers,
                readers,
                chunk,
                file,
                can_allocate: AtomicBool::new(true),
            }),
            next: AtomicU64::new(first.max(after)),
        })
    }
}

impl Rows {
    fn remove(&self, body: u64) -> ShareResult<()> {
        loop {
            self.ground.reach(Effect::RemoveBody)?;
            let removed = self.writers.in_need(&self.ground, |writers| {
                let mut delete = writers.staging.prepare_cached(
                    "DELETE FROM chunk WHERE number IN (SELECT number FROM chunk
                     WHERE number >= ?1 AND number < ?2 ORDER BY number LIMIT ?3)",
                )?;
                Ok(delete.execute([first_of(body), first_of(body + 1), REMOVED_AT_ONCE])?)
            })?;
            self.ground.count(|ground| &ground.commits, 1);
            if removed == 0 {
                return Ok(());
            }
        }
    }

    /// Sets space aside for what a row adds to the database, so that what is in the log can always
    /// be moved there: a log that cannot be emptied grows with all that is written, deletions too.
    fn allocate(&self, pair: &Pair, more: u64) -> ShareResult<()> {
        let number = |pragma| -> ShareResult<u64> {
            Ok(pair
                .staging
                .pragma_query_value(None, pragma, |row| row.get(0))?)
        };
        let page = number("page_size")?;
        // Besides its own pages a row may need some of the tree above it.
        let needed = number("page_count")? * page + more + 8 * page;
        let wrong = |e: std::io::Error| ShareError::io("setting space aside", e);
        let found = self.file.metadata().map_err(wrong)?;
        // Moving all of the log gives back what was set aside beyond the end.
        let has = found.blocks() * 512;
        if needed <= has || !self.can_allocate.load(Ordering::Relaxed) {
            return Ok(());
        }
        let to = needed + AHEAD;
        self.ground.room_for(to - has)?;
        let from = found.len();
        match fallocate(&*self.file, FallocateFlags::KEEP_SIZE, from, to - from) {
            Ok(()) => {}
            // Where that cannot be done, space is as it comes.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                self.can_allocate.store(false, Ordering::Relaxed);
            }
            Err(e) => return Err(wrong(e.into())),
        }
        Ok(())
    }

    /// The body whose number is next after one, if any.
    fn next_body(connection: &Connection, after: Option<u64>) -> ShareResult<Option<u64>> {
        let from = after.map_or(0, |body| first_of(body + 1));
        let query = "SELECT min(number) FROM chunk WHERE number >= ?1";
        let found: Option<u64> = connection
            .prepare_cached(query)?
            .query_row([from], |row| row.get(0))?;
        Ok(found.map(|number| number >> CHUNK_BITS))
    }
}

struct RowDraft {
    shared: Arc<Rows>,
    number: u64,
    chunks: u64,
    bytes: u64,
    kept: bool,
}

impl Draft for RowDraft {
    fn place(&self) -> BodyPlace {
        BodyPlace {
            number: self.number,
            chunk: self.shared.chunk,
        }
    }

    fn append(&mut self, chunk: &[u8]) -> ShareResult<()> {
        let ground = &self.shared.ground;
        ground.reach(Effect::WriteChunk)?;
        // The log may have to hold all of it until it is moved into the database.
        ground.room_for(2 * chunk.len() as u64)?;
        self.shared.writers.with(|writers| {
            self.shared.allocate(writers, chunk.len() as u64)?;
            let immediate = TransactionBehavior::Immediate;
            let row = Transaction::new_unchecked(&writers.staging, immediate)?;
            write_row(&row, first_of(self.number) + self.chunks, chunk)?;
            Ok(row.commit()?)
        })?;
        self.chunks += 1;
        self.bytes += chunk.len() as u64;
        ground.count(|ground| &ground.commits, 1);
        ground.count(|ground| &ground.bytes_in, chunk.len() as u64);
        Ok(())
    }

    fn finish(&mut self) -> ShareResult<()> {
        self.shared.ground.reach(Effect::FinishBody)
    }

    fn check(&self, index: &Connection, size: u64) -> ShareResult<()> {
        // The length of a row is in its head: no overflow page is read for it.
        let query = "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM chunk
                     WHERE number >= ?1 AND number < ?2";
        let range = [first_of(self.number), first_of(self.number + 1)];
        let (chunks, found): (u64, u64) = index
            .prepare_cached(query)?
            .query_row(range, |row| Ok((row.get(0)?, row.get(1)?)))?;
        if (chunks, found) == (self.chunks, self.bytes) && found == size {
            return Ok(());
        }
        Err(not_whole(self.number, found, size))
    }

    fn kept(mut self: Box<Self>) {
        self.kept = true;
    }
}

impl Drop for RowDraft {
    fn drop(&mut self) {
        if !self.kept && self.chunks > 0 {
            // What cannot be removed here is removed at the next start.
            let _ = self.shared.remove(self.number);
        }
    }
}

struct RowReader {
    shared: Arc<Rows>,
    number: u64,
}

impl BodyReader for RowReader {
    fn read(&mut self, first: u64, count: u64) -> ShareResult<Vec<Bytes>> {
        let from = first_of(self.number) + first;
        let to = from.saturating_add(count).min(first_of(self.number + 1));
        let chunks = self.shared.readers.with(|connection| {
            rows(
                connection,
                "SELECT bytes FROM chunk WHERE number >= ?1 AND number < ?2 ORDER BY number",
                [from, to],
            )
        })?;
        let bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        self.shared.ground.count(|ground| &ground.bytes_out, bytes);
        Ok(chunks)
    }

    fn part(&mut self, number: u64, range: Range<u64>) -> ShareResult<Bytes> {
        let row = first_of(self.number) + number;
        let part = self
            .shared
            .readers
            .with(|connection| part(connection, row, range))?;
        let bytes = part.len() as u64;
        self.shared.ground.count(|ground| &ground.bytes_out, bytes);
        Ok(part)
    }
}

/// Some bytes of a row, or as many as it has, without reading all of it.
fn part(connection: &Connection, number: u64, range: Range<u64>) -> ShareResult<Bytes> {
    let ((table, column), row) = (TABLE, row_of(number)?);
    let open = || connection.blob_open(MAIN_DB, table, column, row, true);
    let blob = match open() {
        // There is no such row; or another connection made the table after this one had looked,
        // which a statement finds out and the opening of a blob does not.
        Err(rusqlite::Error::SqliteFailure(failure, _)) if failure.code == ErrorCode::Unknown => {
            let mut is_there =
                connection.prepare_cached("SELECT 1 FROM chunk WHERE number = ?1")?;
            if !is_there.exists([row])? {
                return Ok(Bytes::new());
            }
            open()?
        }
        other => other?,
    };
    let within = |at: u64| usize::try_from(at).map_or(blob.len(), |at| at.min(blob.len()));
    let (from, to) = (within(range.start), within(range.end));
    let mut out = vec![0; to.saturating_sub(from)];
    blob.read_at_exact(&mut out, from)?;
    Ok(out.into())
}

impl Bodies for BodyRows {
    fn begin(&self) -> ShareResult<Box<dyn Draft>> {
        self.shared.ground.reach(Effect::CreateBody)?;
        Ok(Box::new(RowDraft {
            shared: Arc::clone(&self.shared),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            chunks: 0,
            bytes: 0,
            kept: false,
        }))
    }

    fn open(&self, number: u64) -> ShareResult<Box<dyn BodyReader>> {
        Ok(Box::new(RowReader {
            shared: Arc::clone(&self.shared),
            number,
        }))
    }

    fn size(&self, number: u64) -> ShareResult<u64> {
        self.shared.readers.with(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT coalesce(sum(length(bytes)), 0) FROM chunk WHERE number >= ?1 AND number < ?2",
            )?;
            Ok(query.query_row([first_of(number), first_of(number + 1)], |row| row.get(0))?)
        })
    }

    fn remove(&self, number: u64) -> ShareResult<()> {
        self.shared.remove(number)?;
        self.shared.ground.count(|ground| &ground.removed, 1);
        Ok(())
    }

    fn settle(&self, kept: &BTreeSet<u64>) -> ShareResult<Settled> {
        let mut settled = Settled {
            missing: kept.clone(),
            ..Settled::default()
        };
        let mut after = None;
        loop {
            let next = |writers: &Pair| Rows::next_body(&writers.staging, after);
            let Some(body) = self.shared.writers.with(next)? else {
                return Ok(settled);
            };
            if !settled.missing.remove(&body) {
                match self.shared.remove(body) {
                    Ok(()) => settled.removed += 1,
                    // They cost no more than space, and the next start finds them again.
                    Err(ShareError::NoSpace) => {}
                    Err(other) => return Err(other),
                }
            }
            after = Some(body);
        }
    }

    fn on_disk(&self) -> ShareResult<u64> {
        Ok(0)
    }

    fn give_back(&self) -> ShareResult<()> {
        let shared = &self.shared;
        let number = |pair: &Pair, pragma: &str| -> ShareResult<u64> {
            Ok(pair
                .staging
                .pragma_query_value(None, pragma, |row| row.get(0))?)
        };
        let free = |pair: &Pair| number(pair, "freelist_count");
        if shared.writers.with(free)? == 0 {
            return Ok(());
        }
        let page = shared.writers.with(|pair| number(pair, "page_size"))?;
        let mut most = (GIVEN_BACK_AT_ONCE / page).max(1);
        loop {
            let given = shared.writers.in_need(&shared.ground, |pair| {
                let mut vacuum = pair
                    .staging
                    .prepare(&format!("PRAGMA incremental_vacuum({most})"))?;
                let mut rows = vacuum.query([])?;
                while rows.next()?.is_some() {}
                drop(rows);
                free(pair)
            });
            match given {
                Ok(0) => break,
                Ok(_) => {}
                // Fewer pages need less of the log.
                Err(ShareError::NoSpace) if most > 1 => most /= 2,
                Err(other) => return Err(other),
            }
        }
        shared.writers.with(|pair| {
            // Whether the log could be emptied is no matter: it is as soon as nobody reads.
            pair.staging
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_table_that_is_younger_than_the_connection_is_found_and_one_that_is_not_there_is_not()
     {
        let dir = tempfile::tempdir().unwrap();
        let connect = || Connection::open(dir.path().join("x.db")).unwrap();
        let (reader, writer) = (connect(), connect());
        let tables = || -> u64 {
            let query = "SELECT count(*) FROM sqlite_schema";
            reader.query_row(query, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(tables(), 0);
        writer.execute_batch(CHUNKS).unwrap();
        write_row(&writer, 7, b"bytes of a row").unwrap();
        assert_eq!(part(&reader, 7, 9..99).unwrap(), "a row");
        assert!(part(&reader, 8, 0..9).unwrap().is_empty());
    }
}
