//! Bytes on their way in, and what they have become once they are kept.

use super::core::{Core, add};
use super::extent::{ExtentWriter, crc32c};
use super::records::{Piece, Stored};
use super::tables::Table;
use super::txn::Txn;
use super::{ETag, StorageError, StorageResult, keys};
use bytes::Bytes;
use md5::{Digest as _, Md5};
use std::sync::Arc;

/// Bytes of a packed row before those of the object: their CRC-32C.
const CRC: usize = 4;

/// A packed row of these bytes.
pub(crate) fn packed_row(bytes: &[u8]) -> Bytes {
    let mut row = Vec::with_capacity(CRC + bytes.len());
    row.extend_from_slice(&crc32c(bytes).to_le_bytes());
    row.extend_from_slice(bytes);
    Bytes::from(row)
}

/// The bytes of a packed row. Errors: `Corrupt`.
pub(crate) fn unpack(row: &Bytes) -> StorageResult<Bytes> {
    let bytes = row.clone().split_off(CRC.min(row.len()));
    if row.len() < CRC || row[..CRC] != crc32c(&bytes).to_le_bytes() {
        return Err(StorageError::corrupt(
            "a packed object does not match its checksum",
        ));
    }
    Ok(bytes)
}

/// Pieces that nothing owns yet: a transaction takes them, or their files are removed.
#[derive(Default)]
pub(crate) struct Parcel {
    pub(crate) pieces: Vec<Piece>,
    rows: Vec<(u64, Bytes)>,
    files: Vec<u64>,
}

impl Parcel {
    pub(crate) fn add_row(&mut self, id: u64, row: Bytes) {
        let len = (row.len() - CRC) as u64;
        self.pieces.push(Piece {
            stored: Stored::Packed(id),
            start: 0,
            len,
        });
        self.rows.push((id, row));
    }

    pub(crate) fn add_file(&mut self, id: u64, start: u64, len: u64) {
        self.pieces.push(Piece {
            stored: Stored::File(id),
            start,
            len,
        });
        self.files.push(id);
    }

    /// The files that go again where the write fails.
    pub(crate) fn files(&self) -> Vec<u64> {
        self.files.clone()
    }

    /// Gives the pieces to whoever the transaction writes them to.
    pub(crate) fn own(self, txn: &mut Txn<'_>) -> Vec<Piece> {
        for (id, row) in self.rows {
            txn.put(Table::Packed, keys::id(id), row);
        }
        for id in self.files {
            txn.put(Table::Files, keys::id(id), Bytes::new());
        }
        self.pieces
    }
}

/// What was taken in.
pub(crate) struct Sealed {
    pub(crate) parcel: Parcel,
    pub(crate) size: u64,
    pub(crate) etag: ETag,
}

/// Takes bytes in: up to the packing limit in memory, from there on into a file.
pub(crate) struct Intake {
    core: Arc<Core>,
    md5: Md5,
    size: u64,
    /// The packed row so far, beginning with room for its checksum.
    packed: Vec<u8>,
    extent: Option<ExtentWriter>,
}

impl Intake {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
            md5: Md5::new(),
            size: 0,
            packed: vec![0; CRC],
            extent: None,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> StorageResult<()> {
        let core = Arc::clone(&self.core);
        self.take(bytes).map_err(|error| core.blame(error))
    }

    fn take(&mut self, bytes: &[u8]) -> StorageResult<()> {
        self.md5.update(bytes);
        self.size += bytes.len() as u64;
        add(&self.core.counts.bytes_in, bytes.len() as u64);
        if let Some(extent) = &mut self.extent {
            return extent.write(bytes);
        }
        if self.size <= self.core.options.packed_limit {
            self.packed.extend_from_slice(bytes);
            return Ok(());
        }
        let mut extent = ExtentWriter::new(self.core.with_a_file(|| self.core.files.create())?);
        extent.write(&std::mem::take(&mut self.packed)[CRC..])?;
        extent.write(bytes)?;
        self.extent = Some(extent);
        Ok(())
    }

    /// Ends the bytes; those in a file are then as durable as the policy says. Errors: `BadDigest`,
    /// `NoSpace`, `Io`.
    pub(crate) fn seal(self, expected_md5: Option<[u8; 16]>) -> StorageResult<Sealed> {
        let md5: [u8; 16] = self.md5.finalize().into();
        if expected_md5.is_some_and(|expected| expected != md5) {
            return Err(StorageError::BadDigest);
        }
        let mut parcel = Parcel::default();
        match self.extent {
            Some(extent) => {
                let id = self.core.ids.next();
                extent.keep(id).map_err(|error| self.core.blame(error))?;
                parcel.add_file(id, 0, self.size);
            }
            None if self.size > 0 => {
                let mut row = self.packed;
                let crc = crc32c(&row[CRC..]);
                row[..CRC].copy_from_slice(&crc.to_le_bytes());
                parcel.add_row(self.core.ids.next(), Bytes::from(row));
            }
            None => {}
        }
        Ok(Sealed {
            parcel,
            size: self.size,
            etag: ETag { md5, parts: 0 },
        })
    }
}
