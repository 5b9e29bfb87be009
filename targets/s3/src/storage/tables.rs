//! Ordered tables of bytes that are written in atomic batches: all that the rules of versions,
//! listings and uploads need to know.

mod disk;
mod memory;

pub(crate) use disk::DiskTables;
pub(crate) use memory::MemoryTables;

use super::StorageResult;
use bytes::Bytes;

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    /// The format's own numbers.
    Store,
    /// Name of a bucket: its record.
    Buckets,
    /// Bucket, document: its bytes.
    Documents,
    /// Bucket, key: the latest version, where it is an object.
    Live,
    /// Bucket, key, version: all other versions, and all delete markers.
    History,
    /// Bucket, key: which row of the history is the version `null`.
    Nulls,
    /// Bucket, key, upload: an upload under way.
    Uploads,
    /// Upload, number: a part of an upload under way.
    Parts,
    /// Id: the parts of an assembled object.
    Layouts,
    /// Id: the checksum and bytes of a small object.
    Packed,
    /// Id of every file that an object or a part owns.
    Files,
}

impl Table {
    pub(crate) const ALL: [(Self, &'static str); 11] = [
        (Self::Store, "store"),
        (Self::Buckets, "buckets"),
        (Self::Documents, "documents"),
        (Self::Live, "live"),
        (Self::History, "history"),
        (Self::Nulls, "nulls"),
        (Self::Uploads, "uploads"),
        (Self::Parts, "parts"),
        (Self::Layouts, "layouts"),
        (Self::Packed, "packed"),
        (Self::Files, "files"),
    ];

    /// The place in `ALL`.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

pub(crate) type Row = (Bytes, Bytes);
pub(crate) type Rows<'a> = Box<dyn Iterator<Item = StorageResult<Row>> + 'a>;

/// All tables as they were at one moment.
pub(crate) trait View {
    fn read(&self, table: Table, key: &[u8]) -> StorageResult<Option<Bytes>>;

    /// Rows from `from` on, before `to`, in the order of their keys.
    fn range<'a>(&'a self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'a>;

    fn first(&self, table: Table, from: &[u8], to: Option<&[u8]>) -> StorageResult<Option<Row>> {
        self.range(table, from, to).next().transpose()
    }
}

/// What one batch does: a row's new value, or `None` for its removal.
pub(crate) type Write = (Table, Bytes, Option<Bytes>);

/// When a batch is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    BeforeVisible,
    Later,
}

/// The tables of a store. One thread writes at a time.
pub(crate) trait Tables: Send + Sync {
    fn view(&self) -> Box<dyn View + '_>;
    /// Makes all writes visible at once, or none. After `Ok` they survive the end of the process.
    fn commit(&self, batch: Vec<Write>, when: When) -> StorageResult<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_its_place() {
        for (place, (table, _)) in Table::ALL.iter().enumerate() {
            assert_eq!(table.index(), place);
        }
    }
}
