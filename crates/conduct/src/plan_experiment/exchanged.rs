//! Programs that are exchanged while an experiment runs: what is measured from then on is another
//! thing than the plan says, and would stand under the same name.

use crate::build::{identity_of, program_at};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A program of an arm, as it was when the plan was made.
#[derive(Clone, Debug)]
pub(super) struct KnownProgram {
    what: &'static str,
    path: PathBuf,
    stamp: Option<Stamp>,
    identity: String,
    /// Whether every slot may make it anew.
    is_made: bool,
}

/// What the file system says of a file; as long as it stays, nobody has written to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    file: [u64; 3],
    changed: [i64; 4],
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        Some(Self {
            file: [facts.dev(), facts.ino(), facts.len()],
            changed: [
                facts.mtime(),
                facts.mtime_nsec(),
                facts.ctime(),
                facts.ctime_nsec(),
            ],
        })
    }
}

impl KnownProgram {
    /// `None` where it is not there yet.
    pub(super) fn of(
        what: &'static str,
        words: &[String],
        dir: &Path,
        is_made: bool,
    ) -> Option<Self> {
        let path = program_at(&words[0], dir)?;
        // Before it is read, so that whatever is written meanwhile is seen.
        let stamp = Stamp::of(&path);
        let identity = identity_of(&path)?;
        Some(Self {
            what,
            path,
            stamp,
            identity,
            is_made,
        })
    }

    /// Its name and hash, for the plan.
    pub(super) fn stated(&self) -> (String, String) {
        (self.what.to_owned(), self.identity.clone())
    }

    /// Errors: another program lies there, or none.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.is_made || Stamp::of(&self.path) == self.stamp {
            return Ok(());
        }
        let found = identity_of(&self.path);
        if found.as_ref() == Some(&self.identity) {
            return Ok(());
        }
        Err(format!(
            "its {} {} was exchanged after the plan was made: it was {} and is {}",
            self.what,
            self.path.display(),
            self.identity,
            found.as_deref().unwrap_or("gone")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_exchanged_is_told_with_both_hashes_and_one_that_is_touched_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::write(&path, "first").unwrap();
        let of = |is_made| {
            let words = ["./program".to_owned()];
            KnownProgram::of("command", &words, dir.path(), is_made).unwrap()
        };
        let (known, made) = (of(false), of(true));
        assert_eq!(known.check(), Ok(()));
        // The same again, as a build that changes nothing leaves it.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "first").unwrap();
        assert_eq!(known.check(), Ok(()));
        fs::write(&path, "other").unwrap();
        let told = known.check().unwrap_err();
        assert!(told.contains("was exchanged"), "{told}");
        assert_eq!(told.matches("sha256:").count(), 2, "{told}");
        assert_eq!(made.check(), Ok(()), "each slot makes it");
        fs::remove_file(&path).unwrap();
        assert!(known.check().unwrap_err().ends_with("is gone"));
        assert!(
            KnownProgram::of("command", &["./program".to_owned()], dir.path(), false).is_none()
        );
    }
}
