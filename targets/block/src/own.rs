//! What a server makes in the file system and takes away again.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A name that goes with its owner, unless it is somebody else's by then.
pub struct OwnName {
    path: PathBuf,
    node: (u64, u64),
    stays: bool,
}

impl OwnName {
    /// Of what lies there and was made by whoever asks.
    pub fn new(path: &Path, made: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            node: (made.dev(), made.ino()),
            stays: false,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It stays.
    pub fn keep(mut self) {
        self.stays = true;
    }
}

impl Drop for OwnName {
    fn drop(&mut self) {
        let facts = std::fs::symlink_metadata(&self.path);
        let is_own = facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == self.node);
        if is_own && !self.stays {
            let _whoever_removed_it_has_done_no_harm = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes a file where nothing is and has it filled. Where that fails none is left.
pub(crate) fn fresh<T>(
    path: &Path,
    options: &mut OpenOptions,
    fill: impl FnOnce(File) -> io::Result<T>,
) -> io::Result<T> {
    let file = options.create_new(true).open(path)?;
    let own = OwnName::new(path, &file.metadata()?);
    let filled = fill(file)?;
    own.keep();
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_filled_is_not_left_and_one_of_somebody_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let filled =
            |fill: fn(File) -> io::Result<()>| fresh(&path, File::options().write(true), fill);
        assert!(filled(|_| Err(io::Error::other("full"))).is_err());
        assert!(!path.exists());
        filled(|_| Ok(())).unwrap();
        assert!(filled(|_| Ok(())).is_err(), "it is there");
        let own = OwnName::new(&path, &std::fs::metadata(&path).unwrap());
        std::fs::write(dir.path().join("other"), "theirs").unwrap();
        std::fs::rename(dir.path().join("other"), &path).unwrap();
        drop(own);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }
}
