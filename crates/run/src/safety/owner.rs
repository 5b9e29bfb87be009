//! The mark by which Fathom knows a file that it made, so that a second run may overwrite it
//! without asking.
//!
//! The mark is the extended attribute `user.fathom`. It is read from and put on an open file, never
//! a name: a name can lead to another file by the time of the next call, and a mark on somebody's
//! file is permission to destroy it. Where the file system has no attributes, a sidecar
//! file `.NAME.fathom` beside the file says the same and which inode it speaks of.
//!
//! A mark is evidence, not proof: `cp other ours` keeps the inode and its attributes. Hence a mark
//! counts only once it is sealed with the size, the time of the last write and the time of the last
//! change of the inode, and [`Mark::still_describes`] compares them. A mark without a seal
//! says that a run is writing, or was killed while it wrote.

mod held;
mod stamp;

pub use held::HeldRange;
pub use stamp::Stamp;

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::Probe;
use super::block_device::{DeviceNumber, FileId};

/// The extended attribute's name.
pub const XATTR: &str = "user.fathom";
const VERSION: u32 = 1;
/// A mark is a few hundred bytes; a sidecar beyond this is somebody else's file.
const LARGEST_MARK_BYTES: u64 = 64 * 1024;
/// Putting the seal on a file is itself a change of its inode, whose time only the kernel chooses:
/// it lies within this of the moment before.
const SEALING: Duration = Duration::from_millis(12);

/// What Fathom wrote into a file, as JSON `{"v":1,"made_by":"fathom 0.1.0","size":N,…}`; unknown
/// keys are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    v: u32,
    /// Program and version.
    pub made_by: String,
    /// The largest size in bytes that Fathom gave or is about to give the file.
    #[serde(rename = "size")]
    pub size_bytes: u64,
    /// The data pattern, as it is spelt on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Where every block holds it.
    #[serde(default, skip_serializing_if = "HeldRange::is_all")]
    pub held: HeldRange,
    /// What the file is called in verified content, with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<u32>,
    /// The run that wrote last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The newest generation of verified writes in the file.
    #[serde(default)]
    pub generation: u64,
    /// The oldest generation that a block of the file may still hold.
    #[serde(default)]
    pub oldest: u64,
    /// A write failed: its block may hold a part of it.
    #[serde(default, rename = "torn", skip_serializing_if = "std::ops::Not::not")]
    pub may_be_torn: bool,
    /// While several ranks write: what they know the file by, drawn for this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writers: Option<String>,
    /// The file's modification time after Fathom's last write; absent while a run writes, and
    /// after a run that died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<Stamp>,
    /// The moment of sealing: the inode was not changed later than a few ticks after it. Absent in
    /// marks of versions before, and where another machine's clock stamps files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Stamp>,
}

impl Mark {
    /// A mark for a file that is about to be written.
    pub fn new(made_by: impl Into<String>, size_bytes: u64) -> Self {
        Mark {
            v: VERSION,
            made_by: made_by.into(),
            size_bytes,
            pattern: None,
            held: HeldRange::default(),
            file: None,
            run: None,
            generation: 0,
            oldest: 0,
            may_be_torn: false,
            writers: None,
            modified: None,
            changed: None,
        }
    }

    /// Checks that the mark is sealed, and that nobody grew, wrote or changed the file since.
    pub fn still_describes(&self, metadata: &Metadata) -> Result<(), Stale> {
        if metadata.len() > self.size_bytes {
            return Err(Stale::Grown {
                marked_bytes: self.size_bytes,
                actual_bytes: metadata.len(),
            });
        }
        let Some(modified) = self.modified else {
            return Err(Stale::Unsealed);
        };
        if modified != modification(metadata) {
            return Err(Stale::Written);
        }
        let change = Stamp {
            seconds: metadata.ctime(),
            nanoseconds: metadata.ctime_nsec(),
        };
        match self.changed {
            Some(sealing) if !(sealing..=sealing.after(SEALING)).contains(&change) => {
                Err(Stale::Changed)
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn modification(metadata: &Metadata) -> Stamp {
    Stamp {
        seconds: metadata.mtime(),
        nanoseconds: metadata.mtime_nsec(),
    }
}

/// Why a mark no longer speaks for the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    #[error("it grew from {marked_bytes} to {actual_bytes} bytes since Fathom made it")]
    Grown {
        marked_bytes: u64,
        actual_bytes: u64,
    },
    #[error("somebody wrote to it since Fathom made it")]
    Written,
    #[error(
        "its inode was changed since Fathom made it: somebody wrote to it and set its time back, renamed or linked it, or changed its attributes"
    )]
    Changed,
    #[error("the last run on it was killed before it ended")]
    Unsealed,
}

/// Where a mark was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkPlace {
    Xattr,
    Sidecar(PathBuf),
}

/// Why a mark could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    #[error("{}: cannot read or write Fathom's mark: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: Fathom's mark is not readable ({source}); delete the file if it may go", path.display())]
    Garbled {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{}: the mark is of version {found}, made by a newer Fathom; use that one, or delete the file if it may go", path.display())]
    Newer { path: PathBuf, found: u32 },
    #[error("{}: Fathom would keep its mark for the neighbouring file here, but this is somebody's file; rename it or choose another target", path.display())]
    SidecarTaken { path: PathBuf },
    #[error("{}: another file took its place, so no mark is put beside it", path.display())]
    Elsewhere { path: PathBuf },
    #[error("{}: no file name to mark", path.display())]
    NoName { path: PathBuf },
}

impl MarkError {
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> Self + Copy + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Sidecar {
    #[serde(flatten)]
    pub(super) mark: Mark,
    dev: u64,
    ino: u64,
    /// Inode numbers are reused: the file's birth time, where the file system keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<Stamp>,
}

/// Reads the mark of an open regular file; `None` for a file that Fathom did not make. Beside
/// `path` a sidecar may lie.
pub fn read_mark(file: &File, path: &Path, probe: &dyn Probe) -> Result<Option<Mark>, MarkError> {
    let io_error = MarkError::io(path);
    match probe.read_xattr(file, XATTR) {
        Ok(Some(value)) => return decode_mark(path, &value).map(Some),
        Ok(None) => {}
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(source) => return Err(io_error(source)),
    }
    let metadata = file.metadata().map_err(io_error)?;
    let sidecar = read_sidecar(&sidecar_path(&resolve(path)?)?)?;
    Ok(sidecar
        .filter(|sidecar| sidecar.speaks_of(&metadata))
        .map(|sidecar| sidecar.mark))
}

/// Marks an open regular file; call it before the first write to a new file and before growing one.
/// A sidecar is put beside `path`, if that still leads to the file.
pub fn write_mark(
    file: &File,
    path: &Path,
    mark: &Mark,
    probe: &dyn Probe,
) -> Result<MarkPlace, MarkError> {
    let io_error = MarkError::io(path);
    match probe.write_xattr(file, XATTR, &encode(mark)) {
        Ok(()) => return Ok(MarkPlace::Xattr),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(source) => return Err(io_error(source)),
    }
    let metadata = file.metadata().map_err(io_error)?;
    let path = &resolve(path)?;
    if FileId::of(&fs::metadata(path).map_err(io_error)?) != FileId::of(&metadata) {
        return Err(MarkError::Elsewhere { path: path.clone() });
    }
    let FileId { dev, ino } = FileId::of(&metadata);
    let sidecar = Sidecar {
        mark: mark.clone(),
        dev,
        ino,
        born: birth(&metadata),
    };
    let place = sidecar_path(path)?;
    if !is_free_or_ours(&place)? {
        return Err(MarkError::SidecarTaken { path: place });
    }
    replace(&place, &encode(&sidecar)).map_err(MarkError::io(&place))?;
    Ok(MarkPlace::Sidecar(place))
}

/// Marks an open regular file that Fathom has finished writing, with its times.
pub fn seal_mark(
    file: &File,
    path: &Path,
    mark: &Mark,
    probe: &dyn Probe,
) -> Result<MarkPlace, MarkError> {
    let facts = || file.metadata().map_err(MarkError::io(path));
    let before = facts()?;
    let sealed = |changed| Mark {
        size_bytes: mark.size_bytes.min(before.len()),
        modified: Some(modification(&before)),
        changed,
        writers: None,
        ..mark.clone()
    };
    // A thread that is descheduled between the two may take longer than the seal allows for.
    for _ in 0..5 {
        let mark = sealed(Some(Stamp::present()));
        let place = write_mark(file, path, &mark, probe)?;
        if place != MarkPlace::Xattr {
            let untouched = Stamp {
                seconds: before.ctime(),
                nanoseconds: before.ctime_nsec(),
            };
            return write_mark(file, path, &sealed(Some(untouched)), probe);
        }
        if mark.still_describes(&facts()?) != Err(Stale::Changed) {
            return Ok(place);
        }
    }
    write_mark(file, path, &sealed(None), probe)
}

/// Waits until a change of any sealed file shows; its time may be a tick (10 ms) ahead of the clock.
pub fn outwait_seals() {
    let end = sys::clock::file_time() + SEALING + Duration::from_millis(10);
    // Each look waits for some ticks; a clock that is set back meanwhile is not waited for.
    let _in_vain_if_the_clock_was_set_back = (0..16).any(|_| sys::clock::outwait_file_time(end));
}

/// Removes the sidecar of a file that is about to be deleted; an attribute goes with its file.
pub(super) fn remove_sidecar(path: &Path, of: FileId) -> Result<(), MarkError> {
    let place = sidecar_path(path)?;
    if read_sidecar(&place)?.is_some_and(|found| found.is_beside(of)) {
        fs::remove_file(&place).map_err(MarkError::io(&place))?;
    }
    Ok(())
}

impl Sidecar {
    fn speaks_of(&self, metadata: &Metadata) -> bool {
        let same_birth = match (self.born, birth(metadata)) {
            (Some(then), Some(now)) => then == now,
            (Some(_) | None, _) => true,
        };
        self.is_beside(FileId::of(metadata)) && same_birth
    }

    /// Whether it is of this file, which lies in the same directory. A file system that is on no device
    /// of its own, as that of a server, has another number on every host and after every mount.
    fn is_beside(&self, of: FileId) -> bool {
        let is_on_a_device = |dev: u64| DeviceNumber::from_dev(dev).major != 0;
        let (one, other) = (self.dev, of.dev);
        self.ino == of.ino && (one == other || !is_on_a_device(one) && !is_on_a_device(other))
    }
}

fn birth(metadata: &Metadata) -> Option<Stamp> {
    let since = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Stamp {
        seconds: i64::try_from(since.as_secs()).ok()?,
        nanoseconds: i64::from(since.subsec_nanos()),
    })
}

pub(super) fn resolve(path: &Path) -> Result<PathBuf, MarkError> {
    fs::canonicalize(path).map_err(MarkError::io(path))
}

pub(super) fn sidecar_path(path: &Path) -> Result<PathBuf, MarkError> {
    let name = path.file_name().ok_or_else(|| MarkError::NoName {
        path: path.to_owned(),
    })?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".fathom");
    Ok(path.with_file_name(hidden))
}

/// `None` where there is no sidecar; anything else there than a small regular file is an error.
pub(super) fn read_sidecar(place: &Path) -> Result<Option<Sidecar>, MarkError> {
    let io_error = MarkError::io(place);
    match fs::symlink_metadata(place) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= LARGEST_MARK_BYTES => {
            let bytes = fs::read(place).map_err(io_error)?;
            check_version(place, &bytes)?;
            let garbled = |source| MarkError::Garbled {
                path: place.to_owned(),
                source,
            };
            serde_json::from_slice(&bytes).map(Some).map_err(garbled)
        }
        Ok(_) => Err(MarkError::SidecarTaken {
            path: place.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io_error(source)),
    }
}

fn is_free_or_ours(place: &Path) -> Result<bool, MarkError> {
    match read_sidecar(place) {
        Ok(_) => Ok(true),
        Err(MarkError::Garbled { .. } | MarkError::SidecarTaken { .. }) => Ok(false),
        Err(
            error @ (MarkError::Io { .. }
            | MarkError::Newer { .. }
            | MarkError::NoName { .. }
            | MarkError::Elsewhere { .. }),
        ) => Err(error),
    }
}

/// Writes beside and renames, so that a crash leaves the old sidecar or the new one.
fn replace(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = place.as_os_str().to_owned();
    // The number of a process comes again, and what a killed one has left lies there.
    name.push(format!(".{:016x}", sys::random_bits()));
    let beside = PathBuf::from(name);
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&beside, place));
    if renamed
        .as_ref()
        .is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists)
    {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    renamed
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a struct of strings and numbers is always JSON")
}

pub(super) fn decode_mark(path: &Path, bytes: &[u8]) -> Result<Mark, MarkError> {
    check_version(path, bytes)?;
    serde_json::from_slice(bytes).map_err(|source| MarkError::Garbled {
        path: path.to_owned(),
        source,
    })
}

/// The version is read alone first: a newer mark need not have today's other keys.
fn check_version(path: &Path, bytes: &[u8]) -> Result<(), MarkError> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let versioned: Versioned =
        serde_json::from_slice(bytes).map_err(|source| MarkError::Garbled {
            path: path.to_owned(),
            source,
        })?;
    if versioned.v > VERSION {
        return Err(MarkError::Newer {
            path: path.to_owned(),
            found: versioned.v,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeProbe;
    use super::*;
    use crate::RealProbe;
    use std::os::unix::fs::symlink;

    fn file_with(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("data");
        fs::write(&path, bytes).unwrap();
        (directory, path)
    }

    fn open(path: &Path) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    fn read(path: &Path, probe: &dyn Probe) -> Result<Option<Mark>, MarkError> {
        read_mark(&open(path), path, probe)
    }

    fn write(path: &Path, mark: &Mark, probe: &dyn Probe) -> Result<MarkPlace, MarkError> {
        write_mark(&open(path), path, mark, probe)
    }

    fn example() -> Mark {
        Mark {
            pattern: Some("random".to_owned()),
            run: Some("r-1".to_owned()),
            generation: 7,
            ..Mark::new("fathom 0.1.0", 4096)
        }
    }

    #[test]
    fn a_mark_is_read_back_from_the_attribute() {
        let (_directory, path) = file_with(b"x");
        let probe = FakeProbe::with_xattrs();
        assert_eq!(read(&path, &probe).unwrap(), None);
        assert_eq!(write(&path, &example(), &probe).unwrap(), MarkPlace::Xattr);
        assert_eq!(read(&path, &probe).unwrap(), Some(example()));
        assert!(!sidecar_path(&path).unwrap().exists());
    }

    #[test]
    fn the_attribute_is_the_documented_json() {
        let (_directory, path) = file_with(b"x");
        let probe = FakeProbe::with_xattrs();
        write(&path, &example(), &probe).unwrap();
        let value = probe.read_xattr(&open(&path), XATTR).unwrap().unwrap();
        assert_eq!(
            String::from_utf8(value).unwrap(),
            r#"{"v":1,"made_by":"fathom 0.1.0","size":4096,"pattern":"random","run":"r-1","generation":7,"oldest":0}"#
        );
    }

    #[test]
    fn a_mark_is_read_back_from_the_sidecar_and_through_a_symlink_and_can_be_renewed() {
        let (_directory, path) = file_with(b"x");
        let link = path.with_file_name("link");
        symlink("data", &link).unwrap();
        let probe = FakeProbe::without_xattrs();
        let place = MarkPlace::Sidecar(path.with_file_name(".data.fathom"));
        assert_eq!(write(&link, &example(), &probe).unwrap(), place);
        assert_eq!(read(&path, &probe).unwrap(), Some(example()));
        assert_eq!(read(&link, &probe).unwrap(), Some(example()));
        let renewed = Mark {
            generation: 8,
            ..example()
        };
        assert_eq!(write(&path, &renewed, &probe).unwrap(), place);
        assert_eq!(read(&path, &probe).unwrap(), Some(renewed));
        remove_sidecar(&path, FileId { dev: 0, ino: 0 }).unwrap();
        assert!(
            read(&path, &probe).unwrap().is_some(),
            "it speaks of another file"
        );
        remove_sidecar(&path, FileId::of(&fs::metadata(&path).unwrap())).unwrap();
        assert_eq!(read(&path, &probe).unwrap(), None);
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            2,
            "the file and the link"
        );
    }

    #[test]
    fn a_replaced_file_is_not_taken_for_ours_by_its_sidecar() {
        let (_directory, path) = file_with(b"x");
        let probe = FakeProbe::without_xattrs();
        write(&path, &example(), &probe).unwrap();
        let other = path.with_file_name("other");
        fs::write(&other, b"precious").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(read(&path, &probe).unwrap(), None);
    }

    #[test]
    fn a_reused_inode_is_told_by_its_birth_time() {
        let (_directory, path) = file_with(b"x");
        let metadata = fs::metadata(&path).unwrap();
        let FileId { dev, ino } = FileId::of(&metadata);
        let born = Some(Stamp {
            seconds: 1,
            nanoseconds: 0,
        });
        let old = Sidecar {
            mark: example(),
            dev,
            ino,
            born,
        };
        assert_eq!(old.speaks_of(&metadata), metadata.created().is_err());
        assert!(Sidecar { born: None, ..old }.speaks_of(&metadata));
    }

    #[test]
    fn a_server_s_file_is_the_same_whatever_number_its_mount_has() {
        let of = |dev: (u64, u64), ino| FileId {
            dev: dev.0 << 8 | dev.1,
            ino,
        };
        let sidecar = |id: FileId| Sidecar {
            mark: example(),
            dev: id.dev,
            ino: id.ino,
            born: None,
        };
        assert!(sidecar(of((0, 51), 7)).is_beside(of((0, 60), 7)));
        assert!(!sidecar(of((0, 51), 7)).is_beside(of((0, 60), 8)));
        assert!(sidecar(of((8, 1), 7)).is_beside(of((8, 1), 7)));
        assert!(!sidecar(of((8, 1), 7)).is_beside(of((8, 2), 7)));
        assert!(!sidecar(of((8, 1), 7)).is_beside(of((0, 60), 7)));
    }

    #[test]
    fn somebodys_file_at_the_sidecars_place_is_neither_overwritten_nor_removed() {
        let (_directory, path) = file_with(b"x");
        let probe = FakeProbe::without_xattrs();
        let place = sidecar_path(&path).unwrap();
        fs::write(&place, b"my notes").unwrap();
        assert!(matches!(
            write(&path, &example(), &probe),
            Err(MarkError::SidecarTaken { .. })
        ));
        assert!(matches!(
            read(&path, &probe),
            Err(MarkError::Garbled { .. })
        ));
        assert!(remove_sidecar(&path, FileId { dev: 0, ino: 0 }).is_err());
        assert_eq!(fs::read(&place).unwrap(), b"my notes");
        fs::remove_file(&place).unwrap();
        symlink("data", &place).unwrap();
        assert!(matches!(
            write(&path, &example(), &probe),
            Err(MarkError::SidecarTaken { .. })
        ));
    }

    #[test]
    fn garbled_and_newer_marks_are_errors_and_unknown_keys_are_ignored() {
        let (_directory, path) = file_with(b"x");
        let probe = FakeProbe::with_xattrs();
        let read = |text: &str| {
            probe
                .write_xattr(&open(&path), XATTR, text.as_bytes())
                .unwrap();
            super::read_mark(&open(&path), &path, &probe)
        };
        assert!(matches!(read("{"), Err(MarkError::Garbled { .. })));
        assert!(matches!(read(r#"{"v":1}"#), Err(MarkError::Garbled { .. })));
        assert!(matches!(
            read(r#"{"v":2,"new":1}"#),
            Err(MarkError::Newer { found: 2, .. })
        ));
        let found = read(r#"{"v":1,"made_by":"fathom 9","size":5,"colour":"red"}"#)
            .unwrap()
            .unwrap();
        assert_eq!(found, Mark::new("fathom 9", 5));
    }

    #[test]
    fn an_error_other_than_lack_of_support_does_not_fall_back_to_a_sidecar() {
        let (_directory, path) = file_with(b"x");
        let probe = FakeProbe::failing(io::ErrorKind::PermissionDenied);
        assert!(matches!(
            write(&path, &example(), &probe),
            Err(MarkError::Io { .. })
        ));
        assert!(matches!(read(&path, &probe), Err(MarkError::Io { .. })));
        assert!(!sidecar_path(&path).unwrap().exists());
    }

    #[test]
    fn a_mark_goes_to_the_file_that_is_open_whatever_its_name_leads_to_meanwhile() {
        for probe in [FakeProbe::with_xattrs(), FakeProbe::without_xattrs()] {
            let (_directory, path) = file_with(b"ours");
            let (foreign, aside) = (path.with_file_name("foreign"), path.with_file_name("aside"));
            fs::write(&foreign, b"precious").unwrap();
            let file = open(&path);
            fs::rename(&path, &aside).unwrap();
            fs::rename(&foreign, &path).unwrap();
            let marked = write_mark(&file, &path, &example(), &probe);
            assert_eq!(read(&path, &probe).unwrap(), None, "{marked:?}");
            let sealed = seal_mark(&file, &path, &example(), &probe);
            assert_eq!(read(&path, &probe).unwrap(), None, "{sealed:?}");
            assert_eq!(
                read_mark(&file, &path, &probe).unwrap().is_some(),
                sealed.is_ok()
            );
        }
    }

    #[test]
    fn only_a_sealed_mark_speaks_for_the_content_and_it_notices_writes_and_growth() {
        let (_directory, path) = file_with(b"four");
        let metadata = fs::metadata(&path).unwrap();
        let sealed = Mark {
            modified: Some(modification(&metadata)),
            ..Mark::new("fathom", 4)
        };
        assert_eq!(sealed.still_describes(&metadata), Ok(()));
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        let later = fs::metadata(&path).unwrap();
        assert_eq!(sealed.still_describes(&later), Err(Stale::Written));
        assert_eq!(
            Mark::new("fathom", 4).still_describes(&later),
            Err(Stale::Unsealed)
        );
        assert_eq!(
            Mark::new("fathom", 3).still_describes(&later),
            Err(Stale::Grown {
                marked_bytes: 3,
                actual_bytes: 4
            })
        );
    }

    #[test]
    fn a_seal_holds_until_the_inode_changes_and_outlives_no_time_that_is_set_back() {
        for probe in [&RealProbe as &dyn Probe, &FakeProbe::without_xattrs()] {
            let (_directory, path) = file_with(b"four");
            let file = open(&path);
            seal_mark(&file, &path, &Mark::new("fathom", 4), probe).unwrap();
            let sealed = read_mark(&file, &path, probe).unwrap().unwrap();
            assert_eq!(sealed.still_describes(&file.metadata().unwrap()), Ok(()));
            assert!(sealed.changed.is_some(), "one clock stamps both");
            let modified = file.metadata().unwrap().modified().unwrap();
            outwait_seals();
            fs::write(&path, b"them").unwrap();
            file.set_modified(modified).unwrap();
            assert_eq!(
                sealed.still_describes(&file.metadata().unwrap()),
                Err(Stale::Changed)
            );
        }
    }

    #[test]
    fn the_moment_after_a_wait_carries_into_the_next_second() {
        let late = Stamp {
            seconds: 7,
            nanoseconds: 990_000_000,
        };
        assert_eq!(
            late.after(SEALING),
            Stamp {
                seconds: 8,
                nanoseconds: 2_000_000
            }
        );
    }
}
