//! Programs that are exchanged while an experiment runs: what is measured from then on is another
//! thing than the plan says, and would stand under the same name.

use crate::build::{identity_of, program_at};
use lab::{Builtins, FileRow, PlanCell, WorkSpec};
use std::collections::BTreeMap;
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
    /// The rows in which it is started.
    rows: Vec<usize>,
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

/// A program as a cell of the plan names it.
struct NamedProgram<'a> {
    what: &'static str,
    words: &'a [String],
    env: &'a BTreeMap<String, String>,
    is_made: bool,
}

/// The programs that an arm starts, whatever the row: a factor may choose among them.
pub(super) fn programs_of<'a>(
    cells: impl Iterator<Item = &'a PlanCell>,
    with: &Builtins,
    dir: &Path,
) -> Vec<KnownProgram> {
    let mut out = Vec::new();
    for (row, cell) in cells.enumerate() {
        if let Ok(Some(server)) = cell.server(with) {
            let named = NamedProgram {
                what: "server",
                words: &server.command,
                env: &server.env,
                is_made: server.prepare.is_some(),
            };
            note(&mut out, &named, row, dir);
        }
        if let Ok(WorkSpec::Command(work)) = cell.work(with) {
            let named = NamedProgram {
                what: "command",
                words: &work.command,
                env: &work.env,
                is_made: work.prepare.is_some(),
            };
            note(&mut out, &named, row, dir);
        }
    }
    out
}

/// Each is read once, in however many rows it is started.
fn note(out: &mut Vec<KnownProgram>, named: &NamedProgram<'_>, row: usize, dir: &Path) {
    let searched = named.env.get("PATH").map(String::as_str);
    let Some(path) = program_at(&named.words[0], dir, searched) else {
        return;
    };
    let is_same = |known: &&mut KnownProgram| {
        known.path == path && known.what == named.what && known.is_made == named.is_made
    };
    if let Some(known) = out.iter_mut().find(is_same) {
        known.rows.push(row);
        return;
    }
    out.extend(KnownProgram::of(named.what, path, named.is_made, row));
}

/// Their names and hashes, for the plan: of each row by itself where a factor chooses the program.
pub(super) fn stated(programs: &[KnownProgram], rows: &[FileRow]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for what in ["server", "command"] {
        let of: Vec<&KnownProgram> = programs.iter().filter(|known| known.what == what).collect();
        let Some(first) = of.first() else { continue };
        let known_rows: usize = of.iter().map(|known| known.rows.len()).sum();
        if known_rows == rows.len() && of.iter().all(|known| known.identity == first.identity) {
            out.insert(what.to_owned(), first.identity.clone());
            continue;
        }
        for known in of {
            let names = known.rows.iter().map(|row| &rows[*row].name);
            out.extend(names.map(|name| (format!("{what} in {name}"), known.identity.clone())));
        }
    }
    out
}

/// Errors: what the arm starts in this row is another program than it was, or gone.
pub(super) fn check_unexchanged(programs: &[KnownProgram], row: usize) -> Result<(), String> {
    let mut of_row = programs.iter().filter(|known| known.rows.contains(&row));
    of_row.try_for_each(KnownProgram::check)
}

impl KnownProgram {
    /// `None` where it is not there yet.
    fn of(what: &'static str, path: PathBuf, is_made: bool, row: usize) -> Option<Self> {
        // Before it is read, so that whatever is written meanwhile is seen.
        let stamp = Stamp::of(&path);
        let identity = identity_of(&path)?;
        Some(Self {
            what,
            path,
            stamp,
            identity,
            is_made,
            rows: vec![row],
        })
    }

    /// Errors: another program lies there, or none.
    fn check(&self) -> Result<(), String> {
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
        let of = |is_made| KnownProgram::of("command", path.clone(), is_made, 0).unwrap();
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
        assert!(KnownProgram::of("command", path, false, 0).is_none());
    }
}
