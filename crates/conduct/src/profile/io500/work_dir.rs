//! The directory that an IO500-like run makes and removes.
//!
//! Its owner's file in it is marked as Fathom's and locked while the run lasts. A run that is killed
//! leaves both; the next one in the same place removes them, if everything agrees that it may.

use crate::profile::ProfileError;
use crate::profile::own_file::{FileOwner, OwnFile, abandoned};
use run::RunError;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const BEFORE: &str = ".fathom-io500-";

/// A directory of this process; dropped, it is removed with all that is in it.
#[derive(Debug)]
pub struct WorkDir {
    root: PathBuf,
    /// Of this process: what shows that it is in use.
    owner: Option<OwnFile>,
}

impl WorkDir {
    /// Makes one below `dir`, with the directories of the phases; `boot` is what names this machine
    /// until it starts anew.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(dir: &Path, process: u32, boot: &str) -> Result<Self, ProfileError> {
        let root = dir.join(format!("{BEFORE}{process}-{boot}"));
        make_dir(&root)?;
        let mut own = Self {
            root: root.clone(),
            owner: None,
        };
        own.owner = Some(OwnFile::make(&root, process)?);
        let data = own.data();
        make_dir(&data)?;
        for name in ["ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard"] {
            make_dir(&data.join(name))?;
        }
        Ok(own)
    }

    /// What the phases work in, and a walk goes over.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// The file than which a walk's files are to be newer.
    #[must_use]
    pub fn mark(&self) -> PathBuf {
        self.root.join("mark")
    }

    /// Makes the mark, unless it is there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn set_mark(&self) -> Result<(), ProfileError> {
        let mark = self.mark();
        match File::create_new(&mark) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(failed("cannot create", &mark)(error)),
        }
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        let _judged_by_what_is_left = fs::remove_dir_all(self.data());
        let _as_well = fs::remove_file(self.mark());
        let owner = self.owner.take();
        if self.data().exists() {
            // Without the owner's file the next run would not know whose the rest is.
            std::mem::forget(owner);
            return;
        }
        drop(owner);
        let _what_is_left_is_somebodys = fs::remove_dir(&self.root);
    }
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ProfileError + 'a {
    move |source| {
        ProfileError::Run(RunError::Io {
            what,
            path: path.to_path_buf(),
            source,
        })
    }
}

fn make_dir(path: &Path) -> Result<(), ProfileError> {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.map_err(failed("cannot create the directory", path))
}

/// Removes what killed runs left in a directory and says so; says also what is left alone that looks
/// like it.
#[must_use]
pub fn remove_stale_dirs(dir: &Path, process: u32, boot: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let judged = paths.iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_prefix(BEFORE)?;
        let (owner, on) = name.split_once('-')?;
        let owner: u32 = owner.parse().ok()?;
        let is_here = on == boot;
        Some(match judge(path, owner, process, is_here) {
            Ok(()) => format!(
                "removed {}, which a run that was killed had left behind",
                path.display()
            ),
            Err(why) => format!("{} is left alone: {why}", path.display()),
        })
    });
    judged.collect()
}

/// Removes it if its owner is gone.
fn judge(path: &Path, owner: u32, process: u32, is_here: bool) -> Result<(), String> {
    let facts = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if !facts.is_dir() {
        return Err("it has the name of a run's directory and is none".into());
    }
    let file = OwnFile::path_in(path, owner);
    let whose = FileOwner {
        process: owner,
        is_here,
    };
    let _locked = abandoned(&file, whose, process)?;
    fs::remove_dir_all(path).map_err(|error| format!("it cannot be removed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has this number: the kernel's largest is 2^22.
    const NOBODY: u32 = 4_194_305;

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().flatten();
        let mut out: Vec<String> = names
            .map(|e| e.file_name().into_string().unwrap())
            .collect();
        out.sort();
        out
    }

    /// What a killed run leaves.
    fn killed(dir: &Path, process: u32) -> PathBuf {
        let run = WorkDir::make(dir, process, "b").unwrap();
        fs::write(run.data().join("mdtest-easy/file.000001"), "x").unwrap();
        run.set_mark().unwrap();
        let (root, beside) = (run.root.clone(), dir.join("kept"));
        fs::rename(&root, &beside).unwrap();
        drop(run);
        fs::rename(&beside, &root).unwrap();
        root
    }

    #[test]
    fn the_directory_goes_with_its_owner_and_with_all_that_is_in_it() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("mine"), "x").unwrap();
        let run = WorkDir::make(place.path(), NOBODY, "b").unwrap();
        run.set_mark().unwrap();
        run.set_mark().unwrap();
        assert!(run.mark().exists() && run.data().join("ior-hard").is_dir());
        fs::write(run.data().join("ior-easy/file.worker0"), "x").unwrap();
        drop(run);
        assert_eq!(names(place.path()), ["mine"]);
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_said() {
        let place = tempfile::tempdir().unwrap();
        let left = killed(place.path(), NOBODY);
        let said = remove_stale_dirs(place.path(), std::process::id(), "b");
        assert!(
            said.len() == 1 && said[0].starts_with("removed "),
            "{said:?}"
        );
        assert!(!left.exists());
        assert_eq!(
            remove_stale_dirs(place.path(), std::process::id(), "b"),
            [""; 0]
        );
    }

    #[test]
    fn what_is_in_use_or_foreign_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let locked = WorkDir::make(place.path(), NOBODY, "b").unwrap();
        let alive = killed(place.path(), 1);
        let unmarked = place.path().join(".fathom-io500-4194306-b");
        fs::create_dir(&unmarked).unwrap();
        fs::write(unmarked.join("photo"), "mine").unwrap();
        let link = place.path().join(".fathom-io500-4194307-b");
        std::os::unix::fs::symlink(&unmarked, &link).unwrap();
        fs::create_dir(place.path().join(".fathom-io500-x")).unwrap();
        let said = remove_stale_dirs(place.path(), std::process::id(), "b");
        assert!(
            said.len() == 4 && said.iter().all(|text| text.contains("is left alone")),
            "{said:?}"
        );
        let all = [locked.root.as_path(), &alive, &unmarked, &link];
        assert!(all.iter().all(|path| path.exists()), "{said:?}");
        assert!(unmarked.join("photo").exists());
    }
}
