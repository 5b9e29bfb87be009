//! What a preparation made, so that a run that cannot start leaves nothing behind.

use crate::error::RunError;
use crate::safety::{FileId, remove_own};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Files and directories that this run made; dropped before [`Undo::keep`], it removes them.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    files: Vec<(PathBuf, FileId)>,
    dirs: Vec<PathBuf>,
}

impl Undo {
    /// Makes directories and those above them, as far as they are missing.
    ///
    /// # Errors
    /// The file system refuses.
    pub(crate) fn make_dirs(&mut self, dirs: &[PathBuf]) -> Result<(), RunError> {
        for dir in dirs {
            let missing: Vec<&Path> = dir
                .ancestors()
                .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
                .collect();
            for dir in missing.into_iter().rev() {
                match std::fs::create_dir(dir) {
                    Ok(()) => self.dirs.push(dir.to_path_buf()),
                    // Another rank makes the same ones.
                    Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => {}
                    Err(error) => {
                        return Err(RunError::io("cannot create the directory", dir)(error));
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes a file that this run has just made.
    pub(crate) fn made(&mut self, path: &Path, id: FileId) {
        self.files.push((path.to_path_buf(), id));
    }

    /// The run has started: what was made stays.
    pub(crate) fn keep(&mut self) {
        self.files.clear();
        self.dirs.clear();
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for (path, id) in &self.files {
            let _nothing_to_lose = remove_own(path, *id);
        }
        for dir in self.dirs.iter().rev() {
            let _somebody_else_uses_it = std::fs::remove_dir(dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn made(undo: &mut Undo, path: &Path) {
        fs::write(path, "x").unwrap();
        undo.made(path, FileId::of(&fs::metadata(path).unwrap()));
    }

    #[test]
    fn what_was_made_goes_and_what_was_there_or_came_from_others_stays() {
        let place = tempfile::tempdir().unwrap();
        let (ours, theirs) = (place.path().join("a/b"), place.path().join("a/c"));
        let mut undo = Undo::default();
        undo.make_dirs(&[place.path().join("a"), ours.clone(), theirs.clone()])
            .unwrap();
        made(&mut undo, &ours.join("made"));
        made(&mut undo, &theirs.join("replaced"));
        fs::rename(theirs.join("replaced"), theirs.join("moved")).unwrap();
        fs::write(theirs.join("replaced"), "foreign").unwrap();
        drop(undo);
        assert!(!ours.exists());
        assert_eq!(
            fs::read_to_string(theirs.join("replaced")).unwrap(),
            "foreign"
        );
    }

    #[test]
    fn what_is_kept_stays() {
        let place = tempfile::tempdir().unwrap();
        let mut undo = Undo::default();
        undo.make_dirs(&[place.path().join("a")]).unwrap();
        made(&mut undo, &place.path().join("a/f"));
        undo.keep();
        drop(undo);
        assert!(place.path().join("a/f").exists());
    }
}
