use super::{Files, KeptFile, NewFile, Wait};
use crate::storage::{Space, StorageError, StorageResult};
use bytes::{Bytes, BytesMut};
use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Kept = Arc<Mutex<HashMap<u64, Arc<MemoryFile>>>>;

/// Files that end with the process.
#[derive(Default)]
pub(crate) struct MemoryFiles {
    kept: Kept,
}

fn lock(kept: &Kept) -> MutexGuard<'_, HashMap<u64, Arc<MemoryFile>>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pieces as they were appended, each with the offset at which it begins.
#[derive(Default)]
struct MemoryFile {
    pieces: Vec<(u64, Bytes)>,
    len: u64,
}

struct NewMemoryFile {
    kept: Kept,
    file: MemoryFile,
}

impl NewFile for NewMemoryFile {
    fn append(&mut self, bytes: Bytes) -> StorageResult<()> {
        let len = bytes.len() as u64;
        self.file.pieces.push((self.file.len, bytes));
        self.file.len += len;
        Ok(())
    }

    fn keep(self: Box<Self>, id: u64) -> StorageResult<()> {
        lock(&self.kept).insert(id, Arc::new(self.file));
        Ok(())
    }
}

impl KeptFile for MemoryFile {
    fn len(&self) -> StorageResult<u64> {
        Ok(self.len)
    }

    fn read_at(&self, offset: u64, len: usize, _: Wait) -> StorageResult<Bytes> {
        let end = offset
            .checked_add(len as u64)
            .filter(|end| *end <= self.len);
        if end.is_none() {
            return Err(StorageError::corrupt(
                "a file in memory is shorter than its object",
            ));
        }
        let first = self
            .pieces
            .partition_point(|(start, _)| *start <= offset)
            .saturating_sub(1);
        let mut out = BytesMut::new();
        for (start, piece) in &self.pieces[first..] {
            let skip = usize::try_from(offset.saturating_sub(*start))
                .expect("an offset within a piece in memory");
            let rest = piece.slice(skip.min(piece.len())..);
            if out.is_empty() && rest.len() >= len {
                return Ok(rest.slice(..len));
            }
            out.extend_from_slice(&rest[..rest.len().min(len - out.len())]);
            if out.len() == len {
                break;
            }
        }
        Ok(out.freeze())
    }

    fn of_system(&self) -> Option<&Arc<File>> {
        None
    }
}

impl Files for MemoryFiles {
    fn create(&self) -> StorageResult<Box<dyn NewFile>> {
        Ok(Box::new(NewMemoryFile {
            kept: Arc::clone(&self.kept),
            file: MemoryFile::default(),
        }))
    }

    fn open(&self, id: u64) -> StorageResult<Arc<dyn KeptFile>> {
        match lock(&self.kept).get(&id) {
            Some(file) => Ok(Arc::<MemoryFile>::clone(file)),
            None => Err(StorageError::corrupt(format!("file {id} is missing"))),
        }
    }

    fn link(&self, from: u64, to: u64) -> StorageResult<()> {
        let mut kept = lock(&self.kept);
        let file = kept
            .get(&from)
            .cloned()
            .ok_or_else(|| StorageError::corrupt(format!("file {from} is missing")))?;
        kept.insert(to, file);
        Ok(())
    }

    fn remove(&self, id: u64) -> StorageResult<()> {
        lock(&self.kept).remove(&id);
        Ok(())
    }

    fn sync_directories(&self, _: &[u64]) -> StorageResult<()> {
        Ok(())
    }

    fn sync_all(&self) -> StorageResult<()> {
        Ok(())
    }

    fn space(&self) -> StorageResult<Option<Space>> {
        Ok(None)
    }

    fn is_present(&self) -> bool {
        true
    }

    fn has_space(&self) -> StorageResult<bool> {
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_appended_is_read_at_any_offset(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..9), 1..6), from in 0usize..20, len in 0usize..20) {
            let files = MemoryFiles::default();
            let mut new = files.create().unwrap();
            pieces.iter().for_each(|piece| new.append(Bytes::from(piece.clone())).unwrap());
            new.keep(1).unwrap();
            let all = pieces.concat();
            let read = files.open(1).unwrap().read_at(from as u64, len, Wait::ForDevice);
            match all.get(from..from + len) {
                Some(wanted) => prop_assert_eq!(read.unwrap(), Bytes::copy_from_slice(wanted)),
                None => prop_assert!(read.is_err()),
            }
        }
    }
}
