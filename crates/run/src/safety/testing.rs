//! A file system for tests.

use super::{FileId, Probe};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// By inode and name.
type Attributes = RefCell<HashMap<(u64, String), Vec<u8>>>;

/// Attributes, or an error for every attribute call; an exclusive open that is busy or plainly
/// opens.
pub(crate) struct FakeProbe {
    xattrs: Result<Attributes, io::ErrorKind>,
    pub(crate) busy: Option<io::ErrorKind>,
}

impl FakeProbe {
    pub(crate) fn with_xattrs() -> Self {
        FakeProbe {
            xattrs: Ok(RefCell::default()),
            busy: None,
        }
    }

    pub(crate) fn without_xattrs() -> Self {
        Self::failing(io::ErrorKind::Unsupported)
    }

    pub(crate) fn failing(kind: io::ErrorKind) -> Self {
        FakeProbe {
            xattrs: Err(kind),
            busy: None,
        }
    }

    fn store(&self) -> io::Result<&Attributes> {
        self.xattrs.as_ref().map_err(|kind| io::Error::from(*kind))
    }
}

impl Probe for FakeProbe {
    fn read_xattr(&self, file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
        let key = (FileId::of(&file.metadata()?).ino, name.to_owned());
        Ok(self.store()?.borrow().get(&key).cloned())
    }

    fn write_xattr(&self, file: &File, name: &str, value: &[u8]) -> io::Result<()> {
        let key = (FileId::of(&file.metadata()?).ino, name.to_owned());
        self.store()?.borrow_mut().insert(key, value.to_owned());
        Ok(())
    }

    fn exclusive_open(&self, path: &Path) -> io::Result<File> {
        self.busy
            .map_or_else(|| File::open(path), |kind| Err(kind.into()))
    }

    fn loop_backing(&self, _node: &Path) -> io::Result<Option<FileId>> {
        Ok(None)
    }
}
