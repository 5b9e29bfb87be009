use super::{Rows, Table, Tables, View, When, Write};
use crate::storage::{StorageError, StorageResult};
use bytes::Bytes;
use fjall::{
    Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode, Readable as _,
    Snapshot,
};
use std::ops::Bound;
use std::path::Path;

/// Memory of a table before it is written out; packed objects fill theirs by far the fastest.
const MEMTABLE: u64 = 4 << 20;
const PACKED_MEMTABLE: u64 = 24 << 20;

/// Tables in an embedded log-structured store: a batch is one record of its journal, and one sync
/// makes it durable.
pub(crate) struct DiskTables {
    database: Database,
    keyspaces: Vec<Keyspace>,
}

impl DiskTables {
    /// `cache` in bytes.
    pub(crate) fn open(dir: &Path, cache: u64) -> StorageResult<Self> {
        let unusable = |why: &str| StorageError::Unusable {
            path: dir.display().to_string(),
            why: why.to_owned(),
        };
        let database = match Database::builder(dir)
            .cache_size(cache)
            .max_journaling_size(256 << 20)
            .open()
        {
            Ok(database) => database,
            Err(fjall::Error::Locked) => return Err(unusable("another process has it open")),
            Err(other) => return Err(other.into()),
        };
        let open = |(table, name): (Table, &str)| database.keyspace(name, || options(table));
        let keyspaces = Table::ALL
            .into_iter()
            .map(open)
            .collect::<Result<Vec<_>, _>>()?;
        database.persist(PersistMode::SyncAll)?;
        Ok(Self {
            database,
            keyspaces,
        })
    }
}

/// Packed bytes lie apart from their keys, so that compaction does not write them again and again.
fn options(table: Table) -> KeyspaceCreateOptions {
    let usual = KeyspaceCreateOptions::default();
    if table == Table::Packed {
        usual
            .max_memtable_size(PACKED_MEMTABLE)
            .with_kv_separation(Some(KvSeparationOptions::default()))
    } else {
        usual.max_memtable_size(MEMTABLE)
    }
}

impl Tables for DiskTables {
    fn view(&self) -> Box<dyn View + '_> {
        Box::new(DiskView {
            snapshot: self.database.snapshot(),
            keyspaces: &self.keyspaces,
        })
    }

    fn commit(&self, batch: Vec<Write>, when: When) -> StorageResult<()> {
        let mode = match when {
            When::BeforeVisible => PersistMode::SyncData,
            When::Later => PersistMode::Buffer,
        };
        let mut out = self.database.batch().durability(Some(mode));
        for (table, key, value) in batch {
            let keyspace = &self.keyspaces[table.index()];
            match value {
                Some(value) => out.insert(keyspace, key, value),
                None => out.remove(keyspace, key),
            }
        }
        Ok(out.commit()?)
    }
}

struct DiskView<'a> {
    snapshot: Snapshot,
    keyspaces: &'a [Keyspace],
}

impl View for DiskView<'_> {
    fn read(&self, table: Table, key: &[u8]) -> StorageResult<Option<Bytes>> {
        Ok(self
            .snapshot
            .get(&self.keyspaces[table.index()], key)?
            .map(Bytes::from))
    }

    fn range<'a>(&'a self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'a> {
        if to.is_some_and(|to| to <= from) {
            return Box::new(std::iter::empty());
        }
        let bounds = (
            Bound::Included(from),
            to.map_or(Bound::Unbounded, Bound::Excluded),
        );
        let found = self
            .snapshot
            .range::<&[u8], _>(&self.keyspaces[table.index()], bounds);
        Box::new(found.map(|guard| {
            let (key, value) = guard.into_inner()?;
            Ok((Bytes::from(key), Bytes::from(value)))
        }))
    }
}
