//! The bytes of a file with their checksums.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | `len` | the object's bytes |
//! | `len` | 4 a block | CRC-32C of each block of 128 KiB, little-endian; the last block may be shorter |
//! | | 4 | CRC-32C of those checksums and of the 12 bytes that follow |
//! | | 8 | `len` |
//! | | 4 | `FXT1` |

use super::files::{KeptFile, NewFile, Wait};
use super::{FileSpan, SPAN, StorageError, StorageResult};
use bytes::{Bytes, BytesMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that have one checksum, and that a reader gives at once.
pub(crate) const BLOCK: usize = 128 << 10;
const BLOCK_LEN: u64 = BLOCK as u64;
const MAGIC: &[u8; 4] = b"FXT1";
const FOOTER: usize = 16;
/// Read at once from the end of a file: enough for the checksums of 32 MiB.
const TAIL: u64 = 1024 + FOOTER as u64;

/// CRC-32C.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes);
    u32::try_from(crc).expect("a CRC of 32 bits")
}

/// Writes an extent; a block is all that it holds in memory.
pub(crate) struct ExtentWriter {
    file: Box<dyn NewFile>,
    block: BytesMut,
    crcs: Vec<u8>,
    len: u64,
}

impl ExtentWriter {
    pub(crate) fn new(file: Box<dyn NewFile>) -> Self {
        Self {
            file,
            block: BytesMut::with_capacity(BLOCK),
            crcs: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> StorageResult<()> {
        while !bytes.is_empty() {
            let (taken, rest) = bytes.split_at(bytes.len().min(BLOCK - self.block.len()));
            self.block.extend_from_slice(taken);
            bytes = rest;
            if self.block.len() == BLOCK {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> StorageResult<()> {
        self.crcs
            .extend_from_slice(&crc32c(&self.block).to_le_bytes());
        self.len += self.block.len() as u64;
        let block = self.block.split().freeze();
        self.file.append(block)?;
        // Where the file kept nothing of the block, this takes its memory again.
        self.block.reserve(BLOCK);
        Ok(())
    }

    /// Ends the extent and gives its file a number.
    pub(crate) fn keep(mut self, id: u64) -> StorageResult<()> {
        if !self.block.is_empty() {
            self.flush()?;
        }
        let mut tail = std::mem::take(&mut self.crcs);
        tail.extend_from_slice(&footer(&tail, self.len));
        self.file.append(Bytes::from(tail))?;
        self.file.keep(id)
    }
}

fn footer(crcs: &[u8], len: u64) -> [u8; FOOTER] {
    let mut out = [0; FOOTER];
    out[4..12].copy_from_slice(&len.to_le_bytes());
    out[12..].copy_from_slice(MAGIC);
    let crc = crc32c(&[crcs, &out[4..]].concat());
    out[..4].copy_from_slice(&crc.to_le_bytes());
    out
}

/// An extent that is read.
pub(crate) struct ExtentFile {
    file: Arc<dyn KeptFile>,
    crcs: Bytes,
    len: u64,
    /// When each block was compared with its checksum, 0 for never; empty where the file does not
    /// stay open.
    compared: Box<[AtomicU64]>,
}

/// Files up to this many blocks stay open: what is kept of them is bounded.
const MOST_BLOCKS: u64 = 4096;

impl ExtentFile {
    /// Errors: `Corrupt` where its end is not what `ExtentWriter` wrote.
    pub(crate) fn open(file: Arc<dyn KeptFile>, wait: Wait) -> StorageResult<Self> {
        let wrong = || StorageError::corrupt("the end of a file is not that of an object");
        let total = file.len()?;
        let tail = file.read_at(total.saturating_sub(TAIL), size(total.min(TAIL))?, wait)?;
        let at = tail.len().checked_sub(FOOTER).ok_or_else(wrong)?;
        let len = u64::from_le_bytes(
            tail[at + 4..at + 12]
                .try_into()
                .expect("8 bytes of the footer"),
        );
        let table = len.div_ceil(BLOCK_LEN).saturating_mul(4);
        if &tail[at + 12..] != MAGIC
            || len
                .checked_add(table)
                .and_then(|end| end.checked_add(FOOTER as u64))
                != Some(total)
        {
            return Err(wrong());
        }
        let table = size(table)?;
        let crcs = if table <= at {
            tail.slice(at - table..at)
        } else {
            file.read_at(len, table, wait)?
        };
        if footer(&crcs, len)[..] != tail[at..] {
            return Err(wrong());
        }
        let blocks = Some(len.div_ceil(BLOCK_LEN))
            .filter(|blocks| *blocks <= MOST_BLOCKS)
            .unwrap_or(0);
        Ok(Self {
            file,
            crcs,
            len,
            compared: (0..blocks).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    pub(crate) fn can_stay_open(&self) -> bool {
        !self.compared.is_empty()
    }

    /// The bytes from `offset` to the end of its block, at most `most` of them; the whole block is
    /// compared with its checksum, `now`.
    pub(crate) fn read(
        &self,
        offset: u64,
        most: u64,
        wait: Wait,
        now: u64,
    ) -> StorageResult<Bytes> {
        let start = offset / BLOCK_LEN * BLOCK_LEN;
        let whole = self.len.saturating_sub(start).min(BLOCK_LEN);
        let within = offset - start;
        let wanted = whole.saturating_sub(within).min(most);
        if wanted == 0 {
            return Err(StorageError::corrupt("an object is longer than its file"));
        }
        let block = self.file.read_at(start, size(whole)?, wait)?;
        let at = size(start / BLOCK_LEN * 4)?;
        let matches = self.crcs[at..at + 4] == crc32c(&block).to_le_bytes();
        if let Some(compared) = self.compared.get(at / 4) {
            compared.store(if matches { now } else { 0 }, Ordering::Relaxed);
        }
        if !matches {
            return Err(StorageError::corrupt(format!(
                "the bytes from {start} on do not match their checksum"
            )));
        }
        Ok(block.slice(size(within)?..size(within + wanted)?))
    }
}

impl ExtentFile {
    /// Where the bytes from `offset` on lie, at most `most` and as far as their blocks were
    /// compared at `since` or later.
    pub(crate) fn span(&self, offset: u64, most: u64, since: u64) -> Option<FileSpan> {
        let file = self.file.of_system()?;
        let limit = offset.saturating_add(most.min(SPAN as u64)).min(self.len);
        let counts = |at: &u64| {
            let block = usize::try_from(at / BLOCK_LEN)
                .ok()
                .and_then(|block| self.compared.get(block));
            block.is_some_and(|compared| compared.load(Ordering::Relaxed) >= since.max(1))
        };
        let mut end = offset;
        while end < limit && counts(&end) {
            end = ((end / BLOCK_LEN + 1) * BLOCK_LEN).min(limit);
        }
        let len = usize::try_from(end - offset).ok().filter(|len| *len > 0)?;
        Some(FileSpan {
            file: Arc::clone(file),
            offset,
            len,
        })
    }
}

fn size(len: u64) -> StorageResult<usize> {
    usize::try_from(len).or(Err(StorageError::corrupt("a length that no memory holds")))
}

#[cfg(test)]
mod tests {
    use super::super::files::{Files, MemoryFiles};
    use super::*;
    use proptest::prelude::*;

    fn written(bytes: &[u8], step: usize) -> MemoryFiles {
        let files = MemoryFiles::default();
        let mut writer = ExtentWriter::new(files.create().unwrap());
        bytes
            .chunks(step)
            .for_each(|piece| writer.write(piece).unwrap());
        writer.keep(1).unwrap();
        files
    }

    fn pattern(len: usize) -> Vec<u8> {
        (0..len)
            .map(|at| u8::try_from(at * 7 % 251).unwrap())
            .collect()
    }

    /// The file again with one byte changed, or cut.
    fn damaged(
        files: &MemoryFiles,
        change: impl FnOnce(&mut Vec<u8>),
    ) -> StorageResult<ExtentFile> {
        let kept = files.open(1).unwrap();
        let mut bytes = kept
            .read_at(
                0,
                usize::try_from(kept.len().unwrap()).unwrap(),
                Wait::ForDevice,
            )
            .unwrap()
            .to_vec();
        change(&mut bytes);
        let mut new = files.create().unwrap();
        new.append(Bytes::from(bytes)).unwrap();
        new.keep(2).unwrap();
        ExtentFile::open(files.open(2).unwrap(), Wait::ForDevice)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_range_reads_what_was_written(len in 1usize..600_000, step in 1usize..300_000, from in 0.0f64..1.0) {
            let bytes = pattern(len);
            let extent = ExtentFile::open(written(&bytes, step).open(1).unwrap(), Wait::ForDevice).unwrap();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of a length")]
            let mut at = (from * len as f64) as usize;
            while at < len {
                let piece = extent.read(at as u64, 90_000, Wait::ForDevice, 1).unwrap();
                prop_assert_eq!(&bytes[at..at + piece.len()], piece.as_ref());
                at += piece.len();
            }
            prop_assert!(extent.read(len as u64, 1, Wait::ForDevice, 1).is_err());
        }
    }

    #[test]
    fn more_checksums_than_are_read_with_the_end_are_read_too() {
        let bytes = pattern(300 * BLOCK + 5);
        let extent =
            ExtentFile::open(written(&bytes, 1 << 20).open(1).unwrap(), Wait::ForDevice).unwrap();
        assert_eq!(
            extent
                .read(299 * BLOCK_LEN + 3, 10, Wait::ForDevice, 1)
                .unwrap(),
            bytes[299 * BLOCK + 3..299 * BLOCK + 13]
        );
        assert_eq!(
            extent
                .read(300 * BLOCK_LEN, 10, Wait::ForDevice, 1)
                .unwrap(),
            bytes[300 * BLOCK..]
        );
    }

    #[test]
    fn a_changed_byte_is_found_wherever_it_lies() {
        let files = written(&pattern(BLOCK + 10), 4096);
        let total = BLOCK + 10 + 8 + FOOTER;
        for at in [0, BLOCK - 1] {
            let extent = damaged(&files, |bytes| bytes[at] ^= 1).unwrap();
            assert!(
                matches!(
                    extent.read(9, 1, Wait::ForDevice, 1),
                    Err(StorageError::Corrupt { .. })
                ),
                "byte {at}"
            );
            assert!(
                extent.read(BLOCK_LEN, 10, Wait::ForDevice, 1).is_ok(),
                "the other block is whole"
            );
        }
        for at in BLOCK + 10..total {
            assert!(
                damaged(&files, |bytes| bytes[at] ^= 1).is_err(),
                "byte {at}"
            );
        }
        for cut in [0, 5, BLOCK, total - 1] {
            assert!(
                damaged(&files, |bytes| bytes.truncate(cut)).is_err(),
                "cut at {cut}"
            );
        }
    }
}
