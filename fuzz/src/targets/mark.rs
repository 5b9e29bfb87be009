//! The mark in a file's attribute or sidecar: what is read is written and read back as the same. The first byte chooses the place.

use run::safety::{FileId, Probe, read_mark, write_mark};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

struct Place {
    file: PathBuf,
    sidecar: PathBuf,
    _directory: TempDir,
}

static PLACE: LazyLock<Place> = LazyLock::new(|| {
    let directory = TempDir::new().expect("a temporary directory");
    let (file, sidecar) = (
        directory.path().join("data"),
        directory.path().join(".data.fathom"),
    );
    File::create(&file).expect("a temporary file");
    Place {
        file,
        sidecar,
        _directory: directory,
    }
});

/// A file system with the attribute, or (`None`) without attributes.
struct Attribute(Option<RefCell<Vec<u8>>>);

impl Probe for Attribute {
    fn read_xattr(&self, _file: &File, _name: &str) -> io::Result<Option<Vec<u8>>> {
        self.0
            .as_ref()
            .map(|value| Some(value.borrow().clone()))
            .ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    fn write_xattr(&self, _file: &File, _name: &str, value: &[u8]) -> io::Result<()> {
        let place = self.0.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        *place.borrow_mut() = value.to_vec();
        Ok(())
    }

    fn exclusive_open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
    }

    fn loop_backing(&self, _node: &Path) -> io::Result<Option<FileId>> {
        Ok(None)
    }
}

pub fn run(bytes: &[u8]) {
    let Some((place, value)) = bytes.split_first() else {
        return;
    };
    let attribute = Attribute((place % 2 == 0).then(|| RefCell::new(value.to_vec())));
    if attribute.0.is_none() {
        std::fs::write(&PLACE.sidecar, value).expect("a temporary file");
    }
    let file = File::open(&PLACE.file).expect("it was made");
    match read_mark(&file, &PLACE.file, &attribute) {
        Ok(Some(mark)) => {
            write_mark(&file, &PLACE.file, &mark, &attribute)
                .expect("a mark that was read can be written");
            assert_eq!(
                read_mark(&file, &PLACE.file, &attribute).expect("it reads its own form"),
                Some(mark)
            );
        }
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
