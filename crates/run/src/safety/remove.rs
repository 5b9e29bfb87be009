//! Removing a file that is known by what it is, not by its name.

use super::FileId;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes an empty file that was not there.
///
/// # Errors
/// Something is there, or the file system refuses.
pub fn make_new(path: &Path) -> io::Result<FileId> {
    let file = fs::File::create_new(path)?;
    Ok(FileId::of(&file.metadata()?))
}

/// Removes the file at `path` and its sidecar if it is the one meant; says whether it was.
///
/// No call removes an open file. Hence the file is first given a name that nobody else uses, and is
/// then looked at once more: a file of somebody that took the place in the meantime goes back to
/// where it was.
///
/// # Errors
/// The file system refuses.
pub fn remove_own(path: &Path, id: FileId) -> io::Result<bool> {
    let is_own = |path: &Path| fs::symlink_metadata(path).map(|facts| FileId::of(&facts) == id);
    if !is_own(path)? {
        return Ok(false);
    }
    let _only_where_attributes_are_missing = super::owner::remove_sidecar(path, id);
    let aside = path.with_file_name(format!(".fathom-removed-{}-{}", std::process::id(), id.ino));
    let rename = |from: &Path, to: &Path| {
        let (from, to) = (
            CString::new(from.as_os_str().as_bytes())?,
            CString::new(to.as_os_str().as_bytes())?,
        );
        sys::rename_no_replace(&from, &to)
    };
    if rename(path, &aside).is_err() {
        // A file system without such a rename, or a directory that permits removing alone.
        return fs::remove_file(path).map(|()| true);
    }
    if is_own(&aside)? {
        return fs::remove_file(&aside).map(|()| true);
    }
    rename(&aside, path).map(|()| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_is_meant_goes_and_any_other_under_its_name_stays() {
        let place = tempfile::tempdir().unwrap();
        let (path, other) = (place.path().join("f"), place.path().join("g"));
        fs::write(&path, "ours").unwrap();
        let id = FileId::of(&fs::metadata(&path).unwrap());
        fs::rename(&path, &other).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(!remove_own(&path, id).unwrap());
        assert!(remove_own(&other, id).unwrap());
        let left: Vec<_> = fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["f"]);
        assert!(remove_own(&other, id).is_err());
    }
}
