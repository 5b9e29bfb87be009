use super::{Row, Rows, Table, Tables, View, When, Write};
use crate::storage::StorageResult;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

type Maps = Vec<BTreeMap<Bytes, Bytes>>;

/// Tables that end with the process.
pub(crate) struct MemoryTables {
    maps: RwLock<Maps>,
}

impl MemoryTables {
    pub(crate) fn new() -> Self {
        Self {
            maps: RwLock::new(Table::ALL.iter().map(|_| BTreeMap::new()).collect()),
        }
    }
}

impl Tables for MemoryTables {
    fn view(&self) -> Box<dyn View + '_> {
        Box::new(MemoryView(
            self.maps.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    fn commit(&self, batch: Vec<Write>, _: When) -> StorageResult<()> {
        let mut maps = self.maps.write().unwrap_or_else(PoisonError::into_inner);
        for (table, key, value) in batch {
            match value {
                Some(value) => maps[table.index()].insert(key, value),
                None => maps[table.index()].remove(&key),
            };
        }
        Ok(())
    }
}

/// Holds writers off while it lives.
struct MemoryView<'a>(RwLockReadGuard<'a, Maps>);

impl View for MemoryView<'_> {
    fn read(&self, table: Table, key: &[u8]) -> StorageResult<Option<Bytes>> {
        Ok(self.0[table.index()].get(key).cloned())
    }

    fn range<'a>(&'a self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'a> {
        rows(&self.0[table.index()], from, to)
    }
}

fn rows<'a>(map: &'a BTreeMap<Bytes, Bytes>, from: &[u8], to: Option<&[u8]>) -> Rows<'a> {
    if to.is_some_and(|to| to <= from) {
        return Box::new(std::iter::empty());
    }
    let bounds = (
        Bound::Included(from),
        to.map_or(Bound::Unbounded, Bound::Excluded),
    );
    let found = map.range::<[u8], _>(bounds);
    Box::new(found.map(|(key, value)| -> StorageResult<Row> { Ok((key.clone(), value.clone())) }))
}
