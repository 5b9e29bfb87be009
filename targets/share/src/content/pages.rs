//! Where in a SQLite file the bytes of a row lie, so that the kernel can send them from there.
//!
//! By SQLite's file format (sqlite.org/fileformat2.html, 1.5 and 1.6): a page of a table is a leaf
//! (13) or leads to others (5); a cell of a leaf is the length of its record, its number, as much
//! of the record as stays in the leaf, and where the rest does not, the first of a chain of pages
//! that each begin with the number of the next. The files that this reads are never changed.

use crate::error::{ShareError, ShareResult};
use bytes::{Bytes, BytesMut};
use house::FileSpan;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

const LEAF: u8 = 13;
const INTERIOR: u8 = 5;
/// The deepest tree that a file of SQLite can have.
const MOST_LEVELS: usize = 20;
/// The longest integer of variable length.
const MOST_VARINT: usize = 9;

/// The pages of one table.
pub(super) struct TablePages {
    file: Arc<File>,
    page_size: u64,
    root: u64,
    /// The cells of the leaf that was read last: rows are asked for one after another.
    leaf: Vec<Cell>,
}

fn damaged(what: &str) -> ShareError {
    ShareError::Damaged(format!("the file of an upload ({what})"))
}

/// An integer of variable length, and how many bytes it takes.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().take(MOST_VARINT).enumerate() {
        if at == MOST_VARINT - 1 {
            return Some((value << 8 | u64::from(*byte), MOST_VARINT));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// A row as its cell begins.
#[derive(Clone, Copy)]
struct Cell {
    number: u64,
    /// The length of the record.
    length: u64,
    /// Where in the file the record begins.
    at: u64,
}

impl TablePages {
    pub(super) fn new(file: File, page_size: u64, root: u64) -> Self {
        Self {
            file: Arc::new(file),
            page_size,
            root,
            leaf: Vec::new(),
        }
    }

    fn read<const N: usize>(&self, at: u64) -> ShareResult<[u8; N]> {
        let mut bytes = [0; N];
        self.file
            .read_exact_at(&mut bytes, at)
            .map_err(|e| ShareError::io("reading an upload", e))?;
        Ok(bytes)
    }

    /// As many bytes as there are, at most `N`, and zeros.
    fn peek<const N: usize>(&self, at: u64) -> ShareResult<[u8; N]> {
        let mut bytes = [0; N];
        self.file
            .read_at(&mut bytes, at)
            .map_err(|e| ShareError::io("reading an upload", e))?;
        Ok(bytes)
    }

    fn begin(&self, page: u64) -> ShareResult<u64> {
        match page.checked_sub(1) {
            Some(before) => Ok(before * self.page_size),
            None => Err(damaged("a page that is none")),
        }
    }

    /// The kind of a page, how many cells it has, and where their places stand.
    fn head(&self, page: u64) -> ShareResult<(u8, u64, u64)> {
        // The first page begins with the head of the file.
        let at = self.begin(page)? + if page == 1 { 100 } else { 0 };
        let [kind, _, _, high, low, ..] = self.read::<8>(at)?;
        let places = at + if kind == INTERIOR { 12 } else { 8 };
        Ok((kind, u64::from(u16::from_be_bytes([high, low])), places))
    }

    fn cell_at(&self, page: u64, places: u64, index: u64) -> ShareResult<u64> {
        let place = self.read::<2>(places + 2 * index)?;
        Ok(self.begin(page)? + u64::from(u16::from_be_bytes(place)))
    }

    fn child(&self, page: u64, number: u64, cells: u64, places: u64) -> ShareResult<u64> {
        // The first child whose greatest number is not less than the one that is looked for.
        let (mut low, mut high) = (0, cells);
        while low < high {
            let middle = u64::midpoint(low, high);
            let bytes = self.peek::<13>(self.cell_at(page, places, middle)?)?;
            let (key, _) = varint(&bytes[4..]).ok_or_else(|| damaged("a number"))?;
            if key < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let bytes = if low == cells {
            self.read::<4>(places - 4)?
        } else {
            self.read::<4>(self.cell_at(page, places, low)?)?
        };
        Ok(u64::from(u32::from_be_bytes(bytes)))
    }

    /// The row of this number, if there is one.
    fn find(&mut self, number: u64) -> ShareResult<Option<Cell>> {
        let known = |leaf: &[Cell]| leaf.iter().find(|cell| cell.number == number).copied();
        if let Some(cell) = known(&self.leaf) {
            return Ok(Some(cell));
        }
        let mut page = self.root;
        for _ in 0..MOST_LEVELS {
            let (kind, cells, places) = self.head(page)?;
            match kind {
                INTERIOR => page = self.child(page, number, cells, places)?,
                LEAF => {
                    let cell = |index| self.cell(self.cell_at(page, places, index)?);
                    self.leaf = (0..cells).map(cell).collect::<ShareResult<_>>()?;
                    return Ok(known(&self.leaf));
                }
                _ => return Err(damaged("a page of another kind")),
            }
        }
        Err(damaged("a tree without leaves"))
    }

    fn cell(&self, at: u64) -> ShareResult<Cell> {
        let bytes = self.peek::<18>(at)?;
        let two = varint(&bytes).and_then(|(length, first)| {
            let (number, second) = varint(&bytes[first..])?;
            Some((length, number, (first + second) as u64))
        });
        let (length, number, head) = two.ok_or_else(|| damaged("a cell"))?;
        Ok(Cell {
            number,
            length,
            at: at + head,
        })
    }

    /// How much of a record stays in its leaf.
    fn local(&self, length: u64) -> u64 {
        let (usable, most) = (self.page_size, self.page_size - 35);
        if length <= most {
            return length;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let kept = least + (length - least) % (usable - 4);
        if kept <= most { kept } else { least }
    }

    /// Where the blob of a row lies, piece after piece; `None` where there is no such row.
    pub(super) fn blob(&mut self, number: u64) -> ShareResult<Option<Vec<FileSpan>>> {
        let Some(cell) = self.find(number)? else {
            return Ok(None);
        };
        // A record begins with the length of its own head: the number is none of it, the blob is
        // all that follows.
        let bytes = self.peek::<MOST_VARINT>(cell.at)?;
        let (head, _) = varint(&bytes).ok_or_else(|| damaged("a record"))?;
        let local = self.local(cell.length);
        let mut left = cell
            .length
            .checked_sub(local)
            .filter(|_| head <= local)
            .ok_or_else(|| damaged("a record"))?;
        let mut spans = Vec::new();
        self.span(cell.at + head, local - head, &mut spans);
        let mut next = if left > 0 {
            self.read::<4>(cell.at + local)?
        } else {
            [0; 4]
        };
        while left > 0 {
            let begin = self.begin(u64::from(u32::from_be_bytes(next)))?;
            let length = left.min(self.page_size - 4);
            next = self.read::<4>(begin)?;
            self.span(begin + 4, length, &mut spans);
            left -= length;
        }
        Ok(Some(spans))
    }

    /// Some bytes of the blob of a row, or as many as it has.
    pub(super) fn part(&mut self, number: u64, range: Range<u64>) -> ShareResult<Bytes> {
        let mut out = BytesMut::new();
        let mut begin = 0;
        for span in self.blob(number)?.unwrap_or_default() {
            let end = begin + span.len as u64;
            let (from, to) = (range.start.max(begin), range.end.min(end));
            if from < to {
                let before = out.len();
                out.resize(before + usize::try_from(to - from).unwrap_or(usize::MAX), 0);
                self.file
                    .read_exact_at(&mut out[before..], span.offset + (from - begin))
                    .map_err(|e| ShareError::io("reading an upload", e))?;
            }
            begin = end;
        }
        Ok(out.freeze())
    }

    fn span(&self, offset: u64, length: u64, out: &mut Vec<FileSpan>) {
        let len = usize::try_from(length).unwrap_or(usize::MAX);
        if len > 0 {
            out.push(FileSpan {
                file: Arc::clone(&self.file),
                offset,
                len,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::Connection;

    /// A table of these blobs in pages of this size, and what is read of it here.
    fn written(page_size: u64, lengths: &[usize]) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "page_size", page_size)
            .unwrap();
        let table = "CREATE TABLE chunk (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)";
        connection.execute_batch(table).unwrap();
        let blob = |number: usize, length: usize| -> Vec<u8> {
            (0..length)
                .map(|at| (at * 31 + number).to_le_bytes()[0])
                .collect()
        };
        for (number, length) in lengths.iter().enumerate() {
            let insert = "INSERT INTO chunk VALUES (?1, ?2)";
            connection
                .execute(insert, (number, blob(number, *length)))
                .unwrap();
        }
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'chunk'";
        let root = connection.query_row(root, [], |row| row.get(0)).unwrap();
        let mut pages = TablePages::new(File::open(&path).unwrap(), page_size, root);
        for (number, length) in lengths.iter().enumerate() {
            let mut found = Vec::new();
            for span in pages.blob(number as u64).unwrap().unwrap() {
                let mut bytes = vec![0; span.len];
                span.file.read_exact_at(&mut bytes, span.offset).unwrap();
                found.extend(bytes);
            }
            assert!(
                found == blob(number, *length),
                "{page_size} {number} {length}"
            );
            let (from, to) = (length / 3, length / 2 + 1);
            let part = pages.part(number as u64, from as u64..to as u64).unwrap();
            assert!(part == found[from..to.min(found.len())]);
        }
        assert!(pages.blob(lengths.len() as u64).unwrap().is_none());
    }

    #[test]
    fn the_edges_of_what_stays_in_a_leaf_are_sqlites() {
        for page in [512usize, 4096, 65_536] {
            let least = (page - 12) * 32 / 255 - 23;
            let mut lengths = vec![0, 1];
            for edge in [
                least,
                page - 35,
                page - 4,
                least + page - 4,
                3 * (page - 4) + least,
            ] {
                lengths.extend(edge.saturating_sub(12)..edge + 12);
            }
            written(page as u64, &lengths);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_blob_lies_where_sqlite_put_it(lengths in proptest::collection::vec(0usize..9000, 1..200)) {
            written(512, &lengths);
            written(4096, &lengths);
        }
    }

    #[test]
    fn a_file_of_any_bytes_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        for byte in [0u8, 5, 13, 255] {
            std::fs::write(&path, vec![byte; 20_000]).unwrap();
            let mut pages = TablePages::new(File::open(&path).unwrap(), 4096, 2);
            assert!(
                !matches!(pages.blob(3), Ok(Some(spans)) if !spans.is_empty()),
                "{byte}"
            );
        }
    }
}
