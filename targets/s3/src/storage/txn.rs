//! Writes of one group, each seeing those before it, none visible outside before the group is
//! committed.

use super::records::{Piece, Stored};
use super::tables::{Row, Rows, Table, View, Write};
use super::{StorageResult, keys};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that are never given twice, across restarts.
pub(crate) struct Ids {
    next: AtomicU64,
}

/// How many numbers one row of the store's table reserves.
const RESERVED: u64 = 1 << 32;
const CEILING: &[u8] = b"ids";

impl Ids {
    /// Goes on behind all numbers that may have been given before.
    pub(crate) fn open(view: &dyn View) -> StorageResult<Self> {
        let ceiling = view
            .read(Table::Store, CEILING)?
            .map_or(Ok(1), |row| keys::read_id(&row))?;
        Ok(Self {
            next: AtomicU64::new(ceiling),
        })
    }

    pub(crate) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The row that must be durable before numbers beyond it are given, or `None` while enough are
    /// reserved.
    pub(crate) fn reserve(&self, view: &dyn View) -> StorageResult<Option<Write>> {
        let ceiling = view
            .read(Table::Store, CEILING)?
            .map_or(Ok(0), |row| keys::read_id(&row))?;
        let next = self.next.load(Ordering::Relaxed);
        let due = next.saturating_add(RESERVED / 2) > ceiling;
        Ok(due.then(|| {
            (
                Table::Store,
                Bytes::from_static(CEILING),
                Some(keys::id(next.saturating_add(RESERVED))),
            )
        }))
    }
}

type Pending = BTreeMap<Bytes, Option<Bytes>>;

/// The writes of a group so far, over the tables as they were before it.
pub(crate) struct Txn<'v> {
    base: &'v dyn View,
    ids: &'v Ids,
    pending: Vec<Pending>,
    undo: Vec<(Table, Bytes, Option<Option<Bytes>>)>,
    freed: Vec<u64>,
    freed_before: usize,
    now_ms: u64,
}

impl<'v> Txn<'v> {
    pub(crate) fn new(base: &'v dyn View, ids: &'v Ids, now_ms: u64) -> Self {
        let pending = Table::ALL.iter().map(|_| Pending::new()).collect();
        Self {
            base,
            ids,
            pending,
            undo: Vec::new(),
            freed: Vec::new(),
            freed_before: 0,
            now_ms,
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.ids.next()
    }

    pub(crate) fn put(&mut self, table: Table, key: Bytes, value: Bytes) {
        self.write(table, key, Some(value));
    }

    pub(crate) fn remove(&mut self, table: Table, key: Bytes) {
        self.write(table, key, None);
    }

    fn write(&mut self, table: Table, key: Bytes, value: Option<Bytes>) {
        let before = self.pending[table.index()].insert(key.clone(), value);
        self.undo.push((table, key, before));
    }

    /// Frees what a piece owns; its file goes once the group is committed.
    pub(crate) fn free(&mut self, piece: &Piece) {
        match piece.stored {
            Stored::Packed(id) => self.remove(Table::Packed, keys::id(id)),
            Stored::File(id) => {
                self.remove(Table::Files, keys::id(id));
                self.freed.push(id);
            }
        }
    }

    /// Ends one write of the group: what follows is the next one's.
    pub(crate) fn keep(&mut self) {
        self.undo.clear();
        self.freed_before = self.freed.len();
    }

    /// Takes back what was written since the last `keep`.
    pub(crate) fn take_back(&mut self) {
        for (table, key, before) in self.undo.drain(..).rev() {
            let pending = &mut self.pending[table.index()];
            match before {
                Some(value) => pending.insert(key, value),
                None => pending.remove(&key),
            };
        }
        self.freed.truncate(self.freed_before);
    }

    /// The writes to commit, and the files that are then free.
    pub(crate) fn finish(self) -> (Vec<Write>, Vec<u64>) {
        let tables = Table::ALL.into_iter().map(|(table, _)| table);
        let writes = tables.zip(self.pending).flat_map(|(table, rows)| {
            rows.into_iter()
                .map(move |(key, value)| (table, key, value))
        });
        (writes.collect(), self.freed)
    }
}

impl View for Txn<'_> {
    fn read(&self, table: Table, key: &[u8]) -> StorageResult<Option<Bytes>> {
        match self.pending[table.index()].get(key) {
            Some(value) => Ok(value.clone()),
            None => self.base.read(table, key),
        }
    }

    fn range<'a>(&'a self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'a> {
        let base = self.base.range(table, from, to);
        let pending = &self.pending[table.index()];
        if pending.is_empty() || to.is_some_and(|to| to <= from) {
            return base;
        }
        let bounds = (
            Bound::Included(from),
            to.map_or(Bound::Unbounded, Bound::Excluded),
        );
        Box::new(Merged {
            base: base.peekable(),
            pending: pending.range::<[u8], _>(bounds).peekable(),
        })
    }
}

/// Rows of two sources in one order; those pending win.
struct Merged<'a, P: Iterator<Item = (&'a Bytes, &'a Option<Bytes>)>> {
    base: Peekable<Rows<'a>>,
    pending: Peekable<P>,
}

impl<'a, P: Iterator<Item = (&'a Bytes, &'a Option<Bytes>)>> Iterator for Merged<'a, P> {
    type Item = StorageResult<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match (self.base.peek(), self.pending.peek()) {
                (Some(Err(_)), _) | (_, None) => return self.base.next(),
                (Some(Ok((row, _))), Some((key, _))) if row < *key => return self.base.next(),
                (base, Some((key, _))) => {
                    let both = matches!(base, Some(Ok((row, _))) if row == *key);
                    if both {
                        self.base.next();
                    }
                    if let Some((key, Some(value))) = self.pending.next() {
                        return Some(Ok((key.clone(), value.clone())));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::{MemoryTables, Tables as _, When};
    use super::*;
    use proptest::prelude::*;

    fn at(key: u8) -> Bytes {
        Bytes::from(vec![key])
    }

    proptest! {
        #[test]
        fn a_transaction_sees_its_own_writes_as_if_they_were_committed(
            base in proptest::collection::vec((0u8..12, any::<u8>()), 0..12),
            kept in proptest::collection::vec((0u8..12, proptest::option::of(any::<u8>())), 0..12),
            dropped in proptest::collection::vec((0u8..12, proptest::option::of(any::<u8>())), 0..12),
            from in 0u8..12,
            to in 0u8..13,
        ) {
            let tables = MemoryTables::new();
            let write = |(key, value): &(u8, Option<u8>)| (Table::Live, at(*key), value.map(at));
            tables.commit(base.iter().map(|(key, value)| (Table::Live, at(*key), Some(at(*value)))).collect(), When::Later).unwrap();
            let seen = {
                let view = tables.view();
                let ids = Ids::open(&*view).unwrap();
                let mut txn = Txn::new(&*view, &ids, 0);
                kept.iter().for_each(|one| { let (table, key, value) = write(one); txn.write(table, key, value); });
                txn.keep();
                dropped.iter().for_each(|one| { let (table, key, value) = write(one); txn.write(table, key, value); });
                txn.take_back();
                txn.range(Table::Live, &[from], Some(&[to])).collect::<StorageResult<Vec<_>>>().unwrap()
            };
            tables.commit(kept.iter().map(write).collect(), When::Later).unwrap();
            let view = tables.view();
            prop_assert_eq!(seen, view.range(Table::Live, &[from], Some(&[to])).collect::<StorageResult<Vec<_>>>().unwrap());
        }
    }

    #[test]
    fn numbers_go_on_behind_the_reserve_after_a_restart() {
        let tables = MemoryTables::new();
        let first = {
            let ids = Ids::open(&*tables.view()).unwrap();
            let reserve = ids
                .reserve(&*tables.view())
                .unwrap()
                .expect("nothing is reserved yet");
            tables.commit(vec![reserve], When::Later).unwrap();
            assert!(ids.reserve(&*tables.view()).unwrap().is_none());
            ids.next()
        };
        assert!(Ids::open(&*tables.view()).unwrap().next() >= first + RESERVED - 1);
    }
}
