//! Files that results go to: nothing that somebody would miss, and never what is measured.
//!
//! A result goes into a new or empty file, over an earlier result of the same form, or into a pipe
//! or terminal. All of this is asked before the run, and once more of the open file before the
//! first byte, because a name can change hands in between.

use super::{Referent, is_kernel_interface, kernels_use};
use crate::error::RunError;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Seek};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a file of results looks like.
#[derive(Clone, Copy, Debug)]
pub struct OutputForm {
    /// In words, with an article: `a report`.
    pub name: &'static str,
    /// Whether what a file holds is of this form; the file is not empty.
    pub is_form_of: fn(&mut dyn BufRead) -> io::Result<bool>,
}

/// A file that a verb writes. It is opened when there is something to write.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    form: OutputForm,
    is_forced: bool,
    targets: Vec<PathBuf>,
    /// A named pipe is open from the check on, so that its reader does not see an end before the
    /// result.
    pipe: OnceLock<File>,
}

/// What is to happen to what the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Replaced,
    Kept,
}

impl OutputFile {
    /// A file at `path` that may replace, or go on with, what has the form.
    #[must_use]
    pub fn new(path: &Path, form: OutputForm) -> Self {
        Self {
            path: path.to_owned(),
            form,
            is_forced: false,
            targets: Vec::new(),
            pipe: OnceLock::new(),
        }
    }

    /// Also over files of other forms, if `is_forced`; never over a device or a target.
    #[must_use]
    pub fn forced(self, is_forced: bool) -> Self {
        Self { is_forced, ..self }
    }

    /// Never one of these, whatever its name.
    #[must_use]
    pub fn apart_from(self, targets: &[PathBuf]) -> Self {
        Self {
            targets: targets.to_vec(),
            ..self
        }
    }

    /// Where it lies, as the user typed it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails before the run if the result could not be written after it, or would destroy
    /// something.
    ///
    /// # Errors
    /// It is a directory, lies in none, may not be written, or holds something else.
    pub fn check(&self) -> Result<(), RunError> {
        check_place(&self.path)?;
        self.present().map(drop)
    }

    /// Opens the file, emptied.
    ///
    /// # Errors
    /// As [`OutputFile::check`], and of the open itself.
    pub fn open(&self) -> Result<File, RunError> {
        self.opened(Before::Replaced)
    }

    /// Opens the file for going on after what it holds.
    ///
    /// # Errors
    /// As [`OutputFile::check`], and of the open itself.
    pub fn open_to_append(&self) -> Result<File, RunError> {
        self.opened(Before::Kept)
    }

    fn opened(&self, before: Before) -> Result<File, RunError> {
        let failed = || RunError::io("cannot write", &self.path);
        // A file that is made or removed between the look and the open is looked at again.
        for _ in 0..8 {
            if let Some(file) = self.present()? {
                if before == Before::Replaced && file.metadata().map_err(failed())?.is_file() {
                    file.set_len(0).map_err(failed())?;
                }
                return Ok(file);
            }
            match File::options()
                .read(true)
                .append(true)
                .create_new(true)
                .open(&self.path)
            {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map_err(failed()),
            }
        }
        self.refused("its name leads to another file all the time")
    }

    fn refused<T>(&self, why: impl std::fmt::Display) -> Result<T, RunError> {
        Err(RunError::Unsuitable(format!(
            "cannot write {}: {why}",
            self.path.display()
        )))
    }

    /// The file that is there, open and judged; `None`: it is to be made.
    fn present(&self) -> Result<Option<File>, RunError> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(_) if fs::symlink_metadata(&self.path).is_ok() => {
                return self.refused("it is a symlink that leads nowhere; name the file itself");
            }
            Err(_) => return self.absent().map(|()| None),
        };
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return self.pipe().map(Some);
        }
        if kind.is_char_device() && is_sink(metadata.rdev()) {
            return self.open_there(File::options().write(true)).map(Some);
        }
        if !kind.is_file() {
            let what = match () {
                () if kind.is_dir() => "a directory; name a file in it",
                () if kind.is_block_device() => {
                    "a block device; results go to files, and --force does not change that"
                }
                () if kind.is_char_device() => "a device; name a file, or /dev/stdout",
                () => "a socket; name a file",
            };
            return self.refused(format!("it is {what}"));
        }
        let file = self.open_there(File::options().read(true).append(true))?;
        let opened = file
            .metadata()
            .map_err(RunError::io("cannot look at", &self.path))?;
        if Referent::of(&opened) != Referent::of(&metadata) {
            return self.refused("another file took its place");
        }
        self.judge(&file, &opened).map(|()| Some(file))
    }

    fn open_there(&self, options: &mut fs::OpenOptions) -> Result<File, RunError> {
        match sys::open_without_waiting(options, 0, &self.path) {
            Ok(file) => Ok(file),
            Err(error) => self.refused(format!("{error}; choose another place")),
        }
    }

    fn pipe(&self) -> Result<File, RunError> {
        if self.pipe.get().is_none() {
            let Ok(file) = sys::open_without_waiting(File::options().write(true), 0, &self.path)
            else {
                return self.refused("nobody reads from this pipe; start its reader first");
            };
            let _another_thread_was_faster = self.pipe.set(file);
        }
        let file = self.pipe.get().expect("it was set above");
        file.try_clone()
            .map_err(RunError::io("cannot write", &self.path))
    }

    fn absent(&self) -> Result<(), RunError> {
        let place = resolved(&self.path);
        if place.is_some() && self.targets.iter().any(|target| resolved(target) == place) {
            return self.refused("it is the target of this run; name another file");
        }
        match fs::metadata(parent(&self.path)) {
            Ok(directory) => self.not_the_kernels(&directory),
            Err(_) => Ok(()),
        }
    }

    fn judge(&self, file: &File, metadata: &Metadata) -> Result<(), RunError> {
        self.not_the_kernels(metadata)?;
        let is_same = |target: &PathBuf| {
            fs::metadata(target).is_ok_and(|target| Referent::of(&target) == Referent::of(metadata))
        };
        if self.targets.iter().any(is_same) {
            return self.refused("it is the target of this run; name another file");
        }
        if let Some(found) = kernels_use(&self.path) {
            return self.refused(found);
        }
        if metadata.len() == 0 || self.is_forced {
            return Ok(());
        }
        let mut reader = BufReader::new(file);
        reader
            .rewind()
            .map_err(RunError::io("cannot read", &self.path))?;
        match (self.form.is_form_of)(&mut reader) {
            Ok(true) => Ok(()),
            Ok(false) => self.refused(format!(
                "it exists and does not hold {}; name another file, or add --force if what it holds may go",
                self.form.name
            )),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.refused(format!("it exists and is not {}; name another file, or add --force if what it holds may go", self.form.name))
            }
            Err(error) => Err(RunError::io("cannot read", &self.path)(error)),
        }
    }

    fn not_the_kernels(&self, metadata: &Metadata) -> Result<(), RunError> {
        let system = super::block_device::file_system_of(Path::new("/"), metadata.dev());
        match system.filter(|(kind, at)| is_kernel_interface(kind, at)) {
            Some((kind, _)) => self.refused(format!(
                "it lies on {kind}, an interface of the kernel; name a file on a disk"
            )),
            None => Ok(()),
        }
    }
}

/// Refuses two results in one file.
///
/// # Errors
/// Two of the names lead to one file.
pub fn check_apart(outputs: &[&Path]) -> Result<(), RunError> {
    let place = |path: &Path| match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => None,
        Ok(_) => fs::canonicalize(path).ok(),
        Err(_) => resolved(path),
    };
    let id = |path: &Path| {
        fs::metadata(path)
            .ok()
            .filter(Metadata::is_file)
            .map(|metadata| Referent::of(&metadata))
    };
    for (index, one) in outputs.iter().enumerate() {
        for other in &outputs[index + 1..] {
            let same_place = place(one).is_some() && place(one) == place(other);
            if same_place || (id(one).is_some() && id(one) == id(other)) {
                let (one, other) = (one.display(), other.display());
                return Err(RunError::Unsuitable(format!(
                    "{one} and {other} are one file, and one result would destroy the other; name two"
                )));
            }
        }
    }
    Ok(())
}

/// `/dev/null`, `/dev/full` and terminals, which keep nothing. Numbers: Linux's devices.txt.
fn is_sink(number: u64) -> bool {
    let number = super::DeviceNumber::from_dev(number);
    match number.major {
        1 => matches!(number.minor, 3 | 7),
        4 => number.minor < 64,
        5 => number.minor < 2,
        136..=143 => true,
        _ => false,
    }
}

fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The one name of a file that is still to be made.
fn resolved(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(parent(path)).ok()?.join(path.file_name()?))
}

fn check_place(path: &Path) -> Result<(), RunError> {
    let directory = parent(path);
    let refused = |reason: String| {
        Err(RunError::Unsuitable(format!(
            "cannot write {}: {reason}",
            path.display()
        )))
    };
    if path.is_dir() {
        return refused("it is a directory; name a file in it".into());
    }
    if !directory.is_dir() {
        return refused(format!(
            "its directory does not exist; run `mkdir -p {}`",
            directory.display()
        ));
    }
    match sys::may_write(if path.exists() { path } else { directory }) {
        Ok(()) => Ok(()),
        Err(error) => refused(format!("{error}; choose another place")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    fn form() -> OutputForm {
        OutputForm {
            name: "a poem",
            is_form_of: |reader| Ok(reader.fill_buf()?.starts_with(b"roses")),
        }
    }

    fn refusal(output: &OutputFile) -> String {
        let text = output.check().unwrap_err().to_string();
        assert_eq!(output.open().map(drop).unwrap_err().to_string(), text);
        assert_eq!(
            output.open_to_append().map(drop).unwrap_err().to_string(),
            text
        );
        text
    }

    #[test]
    fn a_new_an_empty_and_an_own_file_are_written_and_any_other_is_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        let output = OutputFile::new(&path, form());
        output.check().unwrap();
        assert!(!path.exists(), "a check makes nothing");
        output.open().unwrap().write_all(b"roses are red").unwrap();
        output
            .open_to_append()
            .unwrap()
            .write_all(b", violets")
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"roses are red, violets");
        output.open().unwrap().write_all(b"roses").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"roses");
        fs::write(&path, "").unwrap();
        output.check().unwrap();
        fs::write(&path, "thesis").unwrap();
        assert!(refusal(&output).contains("does not hold a poem"));
        assert_eq!(fs::read(&path).unwrap(), b"thesis");
        OutputFile::new(&path, form()).forced(true).open().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_target_is_never_written_under_any_name_not_even_by_force() {
        let place = tempfile::tempdir().unwrap();
        let (target, hard, soft) = (
            place.path().join("t"),
            place.path().join("h"),
            place.path().join("s"),
        );
        let output = |path: &Path| {
            OutputFile::new(path, form())
                .forced(true)
                .apart_from(std::slice::from_ref(&target))
        };
        assert!(
            refusal(&output(&place.path().join("./t"))).contains("target of this run"),
            "it will be made"
        );
        fs::write(&target, "roses").unwrap();
        fs::hard_link(&target, &hard).unwrap();
        symlink("t", &soft).unwrap();
        for path in [&target, &hard, &soft] {
            assert!(refusal(&output(path)).contains("target of this run"));
        }
        output(&place.path().join("other")).open().unwrap();
    }

    #[test]
    fn devices_and_files_of_the_kernel_are_refused_and_what_keeps_nothing_is_written() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("nowhere");
        symlink("none", &link).unwrap();
        for (path, why) in [
            (Path::new("/dev/zero"), "it is a device"),
            (Path::new("/dev/mem"), "it is a device"),
            (Path::new("/proc/self/comm"), "an interface of the kernel"),
            (place.path(), "it is a directory"),
            (&link, "a symlink that leads nowhere"),
        ] {
            if path.symlink_metadata().is_ok() {
                let text = OutputFile::new(path, form())
                    .forced(true)
                    .check()
                    .unwrap_err()
                    .to_string();
                assert!(text.contains(why), "{text}");
            }
        }
        OutputFile::new(Path::new("/dev/null"), form())
            .open()
            .unwrap()
            .write_all(b"x")
            .unwrap();
    }

    #[test]
    fn a_file_that_took_the_place_since_the_check_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        for content in [&b""[..], b"roses"] {
            fs::write(&path, content).unwrap();
            let output = OutputFile::new(&path, form());
            output.check().unwrap();
            let foreign = place.path().join("foreign");
            fs::write(&foreign, "thesis").unwrap();
            fs::rename(&foreign, &path).unwrap();
            assert!(output.open().is_err() && output.open_to_append().is_err());
            assert_eq!(fs::read(&path).unwrap(), b"thesis");
        }
    }

    #[test]
    fn two_results_in_one_file_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let apart = |names: &[&str]| {
            let paths: Vec<PathBuf> = names.iter().map(|name| place.path().join(name)).collect();
            check_apart(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())
        };
        apart(&["a", "b"]).unwrap();
        assert!(apart(&["a", "./a"]).is_err());
        fs::write(place.path().join("a"), "").unwrap();
        fs::hard_link(place.path().join("a"), place.path().join("c")).unwrap();
        assert!(apart(&["a", "b", "c"]).is_err());
        apart(&["/dev/null", "/dev/null"]).unwrap();
    }
}
