//! Which directory is a store.

use super::{StorageError, StorageResult};
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// What the file `FORMAT` of a store holds.
const FORMAT: &str = "fathom s3 store 1\n";

/// Marks an empty directory as a store, or finds that it is one.
pub(super) fn claim(dir: &Path) -> StorageResult<()> {
    let unusable = |why: &str| StorageError::Unusable {
        path: dir.display().to_string(),
        why: why.to_owned(),
    };
    let wrap = |e| StorageError::io("opening the store's directory", e);
    fs::create_dir_all(dir).map_err(wrap)?;
    let path = dir.join("FORMAT");
    let found = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let foreign = |entry: &fs::DirEntry| entry.file_name() != "lost+found";
            if fs::read_dir(dir)
                .map_err(wrap)?
                .flatten()
                .any(|entry| foreign(&entry))
            {
                return Err(unusable("it holds other things; name an empty directory"));
            }
            String::new()
        }
        Err(e) => return Err(wrap(e)),
    };
    match found.as_str() {
        FORMAT => Ok(()),
        // A crash while it was made leaves less of it.
        torn if FORMAT.starts_with(torn) => {
            let mut file = fs::File::create(&path).map_err(wrap)?;
            file.write_all(FORMAT.as_bytes())
                .and_then(|()| file.sync_all())
                .map_err(wrap)
        }
        _ => Err(unusable("its FORMAT is not one that this version reads")),
    }
}
