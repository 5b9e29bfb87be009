//! Space that is given up when the disk is full, so that what is kept can still be deleted.

use rustix::fs::{FallocateFlags, fallocate};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// How such a file begins: none of another beginning is ever touched.
const MARK: &[u8] = b"Space that `fathom serve share` gives up when the disk is full.\n";
/// What SQLite needs to open a database that nobody has open.
const OPENING: u64 = 256 << 10;
/// Pages that a deletion writes to a log that is empty.
const DELETION_PAGES: u64 = 32;

/// A file of nothing.
pub(crate) struct Spare {
    path: PathBuf,
    pub(super) bytes: u64,
}

impl Spare {
    /// That of a database with pages of this size.
    pub(crate) fn new(path: PathBuf, page_size: u64) -> Self {
        Self {
            path,
            bytes: OPENING + DELETION_PAGES * page_size,
        }
    }

    /// Makes it where it is not there. A file system that cannot set space aside has none.
    pub(super) fn keep(&self) -> io::Result<()> {
        let mut options = File::options();
        let made = options.write(true).create_new(true).open(&self.path);
        let mut file = match made {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            other => other?,
        };
        let kept = fallocate(&file, FallocateFlags::empty(), 0, self.bytes);
        let kept = kept.map_err(Into::into).and_then(|()| file.write_all(MARK));
        if kept.is_err() {
            fs::remove_file(&self.path)?;
        }
        kept
    }

    /// Gives the space up; whether there was any.
    pub(crate) fn release(&self) -> bool {
        is_ours(&self.path) && fs::remove_file(&self.path).is_ok()
    }
}

fn is_ours(path: &Path) -> bool {
    let mut start = [0; MARK.len()];
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut start))
            .is_ok_and(|()| start == MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_set_aside_and_given_up_and_a_file_of_others_is_neither() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db.spare");
        let spare = Spare::new(path.clone(), 4096);
        spare.keep().unwrap();
        spare.keep().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), spare.bytes);
        assert!(spare.release() && !path.exists() && !spare.release());
        fs::write(&path, [b'x'; 100]).unwrap();
        spare.keep().unwrap();
        assert!(!spare.release() && fs::read(&path).unwrap() == [b'x'; 100]);
    }
}
