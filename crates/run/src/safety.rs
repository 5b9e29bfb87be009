//! Never destroying data: whether a target may be written to is decided before it is opened for that.
//!
//! New files, empty files and files that bear Fathom's mark are written to without asking. All else needs
//! `--allow-destroy PATH` naming exactly that target, and what is in use is refused even then. Where
//! the kernel's view cannot be read, a device counts as in use.
//!
//! The order is: [`check`], open (with `create_new` where [`Approval::is_new`]), [`recheck`] the
//! open file, announce it to others, mark it, write; whoever opens the path again compares the
//! [`Referent`]. All that follows the open is done to the open file, because a name can change
//! hands at any moment. The [`Approval`] is kept until the end for its claim.

mod block_device;
mod elsewhere;
mod lock;
mod output;
mod owner;
mod referent;
mod refusal;
mod remove;
mod signature;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::RunError;

pub use block_device::{Device, DeviceNumber, FileId, How, Layer, Part, Use, file_in_use, in_use};
pub(crate) use elsewhere::{check_not_in_use, check_unused, check_unwritten, read_writers};
pub use lock::kernels_use;
pub(crate) use lock::{Announced, announce};
pub use output::{OutputFile, OutputForm, check_apart};
pub use owner::{
    HeldRange, Mark, MarkError, MarkPlace, Stale, Stamp, XATTR, outwait_seals, read_mark,
    seal_mark, write_mark,
};
pub use referent::Referent;
pub use refusal::Refusal;
pub use remove::{make_new, remove_own};
pub use signature::{HEAD_BYTES, Kind, Place, Signature, TAIL_BYTES, signature, signature_of};

/// The system calls that `std` lacks.
pub trait Probe {
    /// The value of an extended attribute; `Ok(None)` where the file has none of that name,
    /// `ErrorKind::Unsupported` where the file system has no such attributes (`EOPNOTSUPP`,
    /// `ENOSYS`).
    fn read_xattr(&self, file: &File, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Creates or replaces an extended attribute; errors as for [`Probe::read_xattr`].
    fn write_xattr(&self, file: &File, name: &str, value: &[u8]) -> io::Result<()>;

    /// Opens a block device with `O_RDONLY | O_EXCL | O_CLOEXEC`, which fails with `EBUSY` while
    /// anybody holds it and keeps others (mount, mkfs, swapon) away while the file is open.
    fn exclusive_open(&self, path: &Path) -> io::Result<File>;

    /// The file to which a loop device's node is attached (`LOOP_GET_STATUS64`: `lo_device`,
    /// `lo_inode`); `Ok(None)` for a detached one (`ENXIO`).
    fn loop_backing(&self, node: &Path) -> io::Result<Option<FileId>>;
}

/// What the run wants to do to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Any write, including filling, truncating, discarding.
    Write,
}

/// One target and the permission given for it.
#[derive(Debug, Clone, Copy)]
pub struct WriteRequest<'a> {
    /// As the user typed it.
    pub path: &'a Path,
    pub access: Access,
    /// The values of `--allow-destroy`.
    pub allow_destroy: &'a [PathBuf],
}

/// Permission for one target; keep it until the run ends.
#[derive(Debug)]
pub struct Approval {
    /// The target with all symlinks resolved: the path to open.
    pub path: PathBuf,
    /// What the reader of the result should know.
    pub notes: Vec<Note>,
    identity: Identity,
    /// Held, not read: while it is open nobody can mount or claim the device.
    _claim: Option<Arc<File>>,
}

impl Approval {
    /// True where the file must be created by the open itself.
    pub fn is_new(&self) -> bool {
        self.identity == Identity::New
    }
}

/// A remark that does not stand in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A target that is only read is in use, or a file whose use cannot be told.
    Used(Use),
    /// `--allow-destroy` is what permits this.
    Destroys(Option<Signature>),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Used(found) => write!(f, "the target is not this run's alone: {found}"),
            Note::Destroys(Some(found)) => {
                write!(f, "--allow-destroy: this run overwrites {found}")
            }
            Note::Destroys(None) => {
                f.write_str("--allow-destroy: this run overwrites what the target holds")
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity {
    New,
    File { is: Referent, state: State },
    Block(DeviceNumber),
}

/// What of a file must be as it was when it was permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was permitted because it was empty.
    MustBeZero,
    /// It was permitted by its mark, which speaks of the file as it was then.
    AsChangedAt {
        seconds: i64,
        nanoseconds: i64,
    },
    Any,
}

impl State {
    fn as_changed(metadata: &Metadata) -> Self {
        State::AsChangedAt {
            seconds: metadata.ctime(),
            nanoseconds: metadata.ctime_nsec(),
        }
    }
}

/// Decides on one target from what it is, who uses it, and what the user permitted; `root` is `/`
/// but for tests.
///
/// A read request never needs permission; it is refused only where there is nothing to measure.
pub fn check(
    request: &WriteRequest<'_>,
    root: &Path,
    probe: &dyn Probe,
) -> Result<Approval, Refusal> {
    let facts = Facts::gather(request, root, probe)?;
    let notes = decide(request, &facts)?;
    let claim = match (facts.subject, request.access) {
        (Subject::Block(number), Access::Write) => {
            Some(claim(request.path, &facts.path, number, probe)?)
        }
        _ => None,
    };
    Ok(Approval {
        identity: facts.identity(),
        path: facts.path,
        notes,
        _claim: claim,
    })
}

/// Compares an opened file with what was approved, because a name can change hands between the two.
pub fn recheck(file: &File, approval: &Approval) -> Result<(), Refusal> {
    let path = &approval.path;
    let metadata = file.metadata().map_err(|source| Refusal::Unreadable {
        path: path.clone(),
        source,
    })?;
    let kind = metadata.file_type();
    let device = || DeviceNumber::from_dev(metadata.rdev());
    let (same, what) = match approval.identity {
        Identity::New => (
            kind.is_file() && metadata.len() == 0,
            "it was new and is not any more",
        ),
        Identity::File { is, .. } if Referent::of(&metadata) != is => {
            (false, "another file took its place")
        }
        Identity::File { state, .. } => match state {
            State::MustBeZero => (metadata.len() == 0, "it was empty and is not any more"),
            // This process may have marked it meanwhile, under another name.
            State::AsChangedAt { .. } if lock::is_written_here(FileId::of(&metadata)) => (true, ""),
            State::AsChangedAt { .. } => (
                State::as_changed(&metadata) == state,
                "somebody wrote to it",
            ),
            State::Any => (true, ""),
        },
        Identity::Block(number) => (
            kind.is_block_device() && device() == number,
            "another device took its place",
        ),
    };
    if same {
        Ok(())
    } else {
        Err(Refusal::Changed {
            path: path.clone(),
            what,
        })
    }
}

/// All that the decision rests on.
#[derive(Debug, Clone)]
struct Facts {
    /// Resolved; for a new file its resolved directory and its name.
    path: PathBuf,
    subject: Subject,
    is: Option<Referent>,
    /// Type and mount point of the file system on which a file lies or would lie.
    file_system: Option<(String, PathBuf)>,
    uses: Vec<Use>,
    signature: Option<Signature>,
    permission: Permission,
    /// What must be as it is here when the file is opened.
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Absent,
    Regular { length: u64 },
    Directory,
    Fifo,
    Socket,
    Character(DeviceNumber),
    Block(DeviceNumber),
}

/// On what ground existing data may be overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Permission {
    /// The file bears Fathom's mark, and the mark still holds.
    Ours,
    /// `--allow-destroy` names it.
    Named,
    /// Neither; the reason says why a mark that is there does not count.
    None(Option<String>),
}

impl Facts {
    fn gather(request: &WriteRequest<'_>, root: &Path, probe: &dyn Probe) -> Result<Self, Refusal> {
        let unreadable = |source| Refusal::Unreadable {
            path: request.path.to_owned(),
            source,
        };
        let path = match fs::canonicalize(request.path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::of_absent(request, root);
            }
            Err(error) if sys::is_symlink_loop(&error) => {
                return Err(Refusal::SymlinkLoop {
                    path: request.path.to_owned(),
                });
            }
            Err(error) => return Err(unreadable(error)),
        };
        let metadata = fs::metadata(&path).map_err(unreadable)?;
        let mut facts = Facts {
            subject: Subject::of(&metadata),
            is: Some(Referent::of(&metadata)),
            file_system: block_device::file_system_of(root, metadata.dev()),
            uses: Vec::new(),
            signature: None,
            permission: Permission::None(None),
            state: State::Any,
            path,
        };
        match facts.subject {
            Subject::Block(number) => facts.uses = in_use(root, number.major, number.minor),
            Subject::Regular { .. } => {
                let ask = |node: &Path| probe.loop_backing(node);
                facts.uses = file_in_use(root, &facts.path, &ask);
            }
            Subject::Absent
            | Subject::Directory
            | Subject::Fifo
            | Subject::Socket
            | Subject::Character(_) => {}
        }
        // What is refused in any case is not opened.
        let wanted = request.access == Access::Write && !facts.is_in_use();
        if wanted && facts.subject.may_hold_data() && facts.kernel_interface().is_none() {
            let mut file = sys::open_without_waiting(File::options().read(true), 0, &facts.path)
                .map_err(unreadable)?;
            let opened = file.metadata().map_err(unreadable)?;
            if facts.is != Some(Referent::of(&opened)) {
                return Err(Refusal::Changed {
                    path: request.path.to_owned(),
                    what: "another file took its place",
                });
            }
            facts.subject = Subject::of(&opened);
            facts.signature = signature_of(&mut file).map_err(unreadable)?;
            facts.permission = facts.permission(request, &file, &opened, probe)?;
        }
        Ok(facts)
    }

    fn of_absent(request: &WriteRequest<'_>, root: &Path) -> Result<Self, Refusal> {
        let path = request.path.to_owned();
        if fs::symlink_metadata(&path).is_ok() {
            let destination = fs::read_link(&path).unwrap_or_default();
            return Err(Refusal::DanglingSymlink { path, destination });
        }
        if request.access == Access::Read {
            return Err(Refusal::Missing { path });
        }
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            Some(_) | None => Path::new("."),
        };
        let directory = fs::canonicalize(parent)
            .and_then(|directory| Ok((fs::metadata(&directory)?.dev(), directory)));
        let (name, (dev, directory)) = match (path.file_name(), directory) {
            (Some(name), Ok(directory)) => (name, directory),
            (None, _) => return Err(Refusal::Missing { path }),
            (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                let directory = parent.to_owned();
                return Err(Refusal::MissingDirectory { path, directory });
            }
            (_, Err(source)) => return Err(Refusal::Unreadable { path, source }),
        };
        Ok(Facts {
            path: directory.join(name),
            subject: Subject::Absent,
            is: None,
            file_system: block_device::file_system_of(root, dev),
            uses: Vec::new(),
            signature: None,
            permission: Permission::None(None),
            state: State::Any,
        })
    }

    fn permission(
        &mut self,
        request: &WriteRequest<'_>,
        file: &File,
        metadata: &Metadata,
        probe: &dyn Probe,
    ) -> Result<Permission, Refusal> {
        if let Some(by) = lock::other_writer(file).filter(|_| metadata.is_file()) {
            return Err(Refusal::Written {
                path: request.path.to_owned(),
                by,
            });
        }
        let names_it =
            |allowed: &PathBuf| fs::canonicalize(allowed).is_ok_and(|allowed| allowed == self.path);
        if request.allow_destroy.iter().any(names_it) {
            return Ok(Permission::Named);
        }
        if !metadata.is_file() {
            return Ok(Permission::None(None));
        }
        let mark = match read_mark(file, &self.path, probe) {
            Ok(Some(mark)) => mark,
            Ok(None) => return Ok(Permission::None(None)),
            Err(error) => return Ok(Permission::None(Some(error.to_string()))),
        };
        // mkfs, sqlite3 or qemu-img on our file keep its inode and its mark.
        let is_put_to_use = self.signature.is_some_and(|found| found.is_recognised());
        Ok(match mark.still_describes(metadata) {
            Ok(()) | Err(Stale::Unsealed) if is_put_to_use => Permission::None(Some(
                "it bears Fathom's mark, but was put to another use".to_owned(),
            )),
            Ok(()) => {
                self.state = State::as_changed(metadata);
                Permission::Ours
            }
            // The phase that writes to it was asked for by the same command.
            Err(Stale::Unsealed) if lock::is_written_here(FileId::of(metadata)) => Permission::Ours,
            Err(Stale::Unsealed) => {
                return Err(Refusal::Unfinished {
                    path: request.path.to_owned(),
                });
            }
            Err(stale) => Permission::None(Some(stale.to_string())),
        })
    }

    /// A device must be known idle; a file that Fathom made or the user named needs only the
    /// absence of known uses.
    fn is_in_use(&self) -> bool {
        let is_device = matches!(self.subject, Subject::Block(_));
        self.uses
            .iter()
            .any(|found| is_device || found.is_certain())
    }

    fn identity(&self) -> Identity {
        match (self.subject, self.is) {
            (Subject::Block(number), _) => Identity::Block(number),
            (Subject::Regular { length: 0 }, Some(is)) => Identity::File {
                is,
                state: State::MustBeZero,
            },
            // A file that a phase of this process writes to changes all the time.
            (_, Some(Referent::File { id, .. })) if lock::is_written_here(id) => Identity::File {
                is: self.is.expect("matched just now"),
                state: State::Any,
            },
            (_, Some(is)) => Identity::File {
                is,
                state: self.state,
            },
            (_, None) => Identity::New,
        }
    }

    /// Where a file would not be on storage at all: many such files are "empty" and writing to them
    /// commands the kernel.
    fn kernel_interface(&self) -> Option<&str> {
        if matches!(self.subject, Subject::Block(_) | Subject::Character(_)) {
            // A device's node lies on devtmpfs, its data does not.
            return None;
        }
        let (file_system, at) = self.file_system.as_ref()?;
        is_kernel_interface(file_system, at).then_some(file_system.as_str())
    }
}

impl Subject {
    fn of(metadata: &Metadata) -> Self {
        let kind = metadata.file_type();
        let number = DeviceNumber::from_dev(metadata.rdev());
        if kind.is_file() {
            Subject::Regular {
                length: metadata.len(),
            }
        } else if kind.is_dir() {
            Subject::Directory
        } else if kind.is_block_device() {
            Subject::Block(number)
        } else if kind.is_char_device() {
            Subject::Character(number)
        } else if kind.is_fifo() {
            Subject::Fifo
        } else {
            Subject::Socket
        }
    }

    /// Refuses what cannot be measured as storage.
    fn is_storage(self, path: &Path) -> Result<(), Refusal> {
        let path = path.to_owned();
        let what = match self {
            Subject::Absent | Subject::Regular { .. } | Subject::Block(_) => return Ok(()),
            Subject::Directory => return Err(Refusal::Directory { path }),
            Subject::Fifo => "a FIFO",
            Subject::Socket => "a socket",
            Subject::Character(_) => "a character device",
        };
        Err(Refusal::NotStorage { path, what })
    }

    fn may_hold_data(self) -> bool {
        match self {
            Subject::Regular { length } => length > 0,
            Subject::Block(_) => true,
            Subject::Absent
            | Subject::Directory
            | Subject::Fifo
            | Subject::Socket
            | Subject::Character(_) => false,
        }
    }
}

/// Whether files of a file system of this type, mounted there, are no storage but commands to the
/// kernel.
fn is_kernel_interface(file_system: &str, at: &Path) -> bool {
    const INTERFACES: [&str; 20] = [
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "debugfs",
        "tracefs",
        "configfs",
        "securityfs",
        "efivarfs",
        "pstore",
        "bpf",
        "selinuxfs",
        "fusectl",
        "binfmt_misc",
        "nfsd",
        "rpc_pipefs",
        "mqueue",
        "devpts",
        "autofs",
        "devtmpfs",
    ];
    // Containers have a tmpfs for /dev.
    at == Path::new("/dev") || INTERFACES.contains(&file_system)
}

/// The decision table.
fn decide(request: &WriteRequest<'_>, facts: &Facts) -> Result<Vec<Note>, Refusal> {
    let path = request.path.to_owned();
    match facts.subject {
        Subject::Directory | Subject::Fifo | Subject::Socket | Subject::Character(_) => {
            facts.subject.is_storage(&path)?
        }
        Subject::Absent | Subject::Regular { .. } => {
            if let Some(file_system) = facts.kernel_interface() {
                let in_memory = matches!(file_system, "devtmpfs" | "tmpfs");
                if facts.subject == Subject::Absent && in_memory {
                    return Err(Refusal::NoSuchDevice { path });
                }
                let file_system = file_system.to_owned();
                return Err(Refusal::KernelInterface { path, file_system });
            }
        }
        Subject::Block(_) => {}
    }
    let used = || {
        facts
            .uses
            .iter()
            .cloned()
            .map(Note::Used)
            .collect::<Vec<_>>()
    };
    if request.access == Access::Read {
        return Ok(used());
    }
    if facts.is_in_use() {
        return Err(Refusal::InUse {
            path,
            uses: facts.uses.clone(),
        });
    }
    let signature = facts.signature;
    match (facts.subject, &facts.permission) {
        (Subject::Absent | Subject::Regular { length: 0 }, _)
        | (Subject::Regular { .. }, Permission::Ours) => Ok(used()),
        (_, Permission::Named) => Ok([used(), vec![Note::Destroys(signature)]].concat()),
        (Subject::Regular { length }, Permission::None(reason)) => Err(Refusal::ForeignFile {
            path,
            length_bytes: length,
            signature,
            reason: reason.clone(),
        }),
        (Subject::Block(number), _) => Err(Refusal::ForeignDevice {
            path,
            number,
            signature,
        }),
        (Subject::Directory | Subject::Fifo | Subject::Socket | Subject::Character(_), _) => {
            Err(Refusal::NotStorage {
                path,
                what: "no file",
            })
        }
    }
}

fn claim(
    typed: &Path,
    path: &Path,
    number: DeviceNumber,
    probe: &dyn Probe,
) -> Result<Arc<File>, Refusal> {
    let claimed = |source| Refusal::Claimed {
        path: typed.to_owned(),
        source,
    };
    let file = lock::claim_once(number, || probe.exclusive_open(path)).map_err(claimed)?;
    let metadata = file.metadata().map_err(claimed)?;
    if metadata.file_type().is_block_device() && DeviceNumber::from_dev(metadata.rdev()) == number {
        return Ok(file);
    }
    Err(Refusal::Changed {
        path: typed.to_owned(),
        what: "another device took its place",
    })
}

/// Opens a target that is there for reading, without waiting for anybody; `None` where it is not
/// there.
///
/// # Errors
/// It is nothing that could be measured, or cannot be opened.
pub(crate) fn open_present(path: &Path) -> Result<Option<File>, RunError> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(None);
    };
    Subject::of(&metadata).is_storage(path)?;
    let file = sys::open_without_waiting(File::options().read(true), 0, path)
        .map_err(RunError::io("cannot open", path))?;
    // The name may lead elsewhere by now.
    Subject::of(
        &file
            .metadata()
            .map_err(RunError::io("cannot look at", path))?,
    )
    .is_storage(path)?;
    Ok(Some(file))
}

/// Refuses what cannot be measured as storage, by its kind alone.
///
/// # Errors
/// A directory, FIFO, socket or character device.
pub(crate) fn check_kind(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    Subject::of(metadata).is_storage(path)
}

#[cfg(test)]
mod tests {
    use super::testing::FakeProbe;
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    /// A directory with targets, and beside it a machine without mounts, swaps or loops.
    struct Place {
        directory: tempfile::TempDir,
        probe: FakeProbe,
    }

    impl Place {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            for sub in ["root/proc/self", "root/sys/block", "t"] {
                fs::create_dir_all(directory.path().join(sub)).unwrap();
            }
            fs::write(directory.path().join("root/proc/self/mountinfo"), "").unwrap();
            Place {
                directory,
                probe: FakeProbe::with_xattrs(),
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join("t").join(name)
        }

        fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
            fs::write(self.path(name), bytes).unwrap();
            self.path(name)
        }

        /// Tells the machine that the directory lies on this file system.
        fn lies_on(&self, file_system: &str, at: &str) {
            let number = DeviceNumber::from_dev(fs::metadata(self.directory.path()).unwrap().dev());
            let line = format!("1 1 {number} / {at} rw - {file_system} none rw\n");
            fs::write(self.directory.path().join("root/proc/self/mountinfo"), line).unwrap();
        }

        fn attach_loop(&self, backing: &Path) {
            let root = self.directory.path().join("root");
            let below_root = root.join(backing.strip_prefix("/").unwrap());
            fs::create_dir_all(below_root.parent().unwrap()).unwrap();
            fs::hard_link(backing, below_root).unwrap();
            let device = root.join("sys/block/loop0");
            fs::create_dir_all(device.join("loop")).unwrap();
            fs::write(device.join("dev"), "7:0\n").unwrap();
            fs::write(
                device.join("loop/backing_file"),
                format!("{}\n", backing.display()),
            )
            .unwrap();
        }

        fn check(
            &self,
            path: &Path,
            access: Access,
            allow: &[PathBuf],
        ) -> Result<Approval, Refusal> {
            let request = WriteRequest {
                path,
                access,
                allow_destroy: allow,
            };
            check(&request, &self.directory.path().join("root"), &self.probe)
        }

        fn write(&self, path: &Path) -> Result<Approval, Refusal> {
            self.check(path, Access::Write, &[])
        }
    }

    fn mark(path: &Path, size: u64, probe: &dyn Probe) {
        seal_mark(
            &File::open(path).unwrap(),
            path,
            &Mark::new("fathom", size),
            probe,
        )
        .unwrap();
    }

    fn mounted() -> Use {
        Use {
            part: Part::Target,
            how: How::Mounted {
                at: "/mnt".into(),
                file_system: "ext4".into(),
            },
        }
    }

    fn undetermined() -> Use {
        Use {
            part: Part::Target,
            how: How::Undetermined {
                path: "/sys".into(),
                reason: "no".into(),
            },
        }
    }

    fn facts(subject: Subject, uses: Vec<Use>, permission: Permission) -> Facts {
        let is = Some(Referent::File {
            id: FileId { dev: 1, ino: 1 },
            born: None,
        });
        Facts {
            path: "/t".into(),
            subject,
            is,
            file_system: None,
            uses,
            signature: None,
            permission,
            state: State::Any,
        }
    }

    /// One letter a verdict: `.` allowed, `n` allowed with a note, and the refusals.
    fn verdict(access: Access, facts: &Facts) -> char {
        let request = WriteRequest {
            path: Path::new("/t"),
            access,
            allow_destroy: &[],
        };
        match decide(&request, facts) {
            Ok(notes) if notes.is_empty() => '.',
            Ok(_) => 'n',
            Err(Refusal::InUse { .. }) => 'U',
            Err(Refusal::ForeignFile { .. } | Refusal::ForeignDevice { .. }) => 'F',
            Err(Refusal::NotStorage { .. }) => 'S',
            Err(Refusal::Directory { .. }) => 'D',
            Err(other) => panic!("{other}"),
        }
    }

    // An absent or empty file holds nothing, so that naming it is no destruction and gets no note.
    #[test]
    fn the_decision_table_holds_in_every_cell() {
        let character = |minor| Subject::Character(DeviceNumber { major: 1, minor });
        let block = Subject::Block(DeviceNumber { major: 8, minor: 0 });
        // Columns: idle, undetermined, in use; in each: neither named nor ours, ours, named. First
        // write, then read.
        let table = [
            (Subject::Absent, "... nnn UUU", "... nnn nnn"),
            (Subject::Regular { length: 0 }, "... nnn UUU", "... nnn nnn"),
            (Subject::Regular { length: 9 }, "F.n Fnn UUU", "... nnn nnn"),
            (block, "FFn UUU UUU", "... nnn nnn"),
            (Subject::Directory, "DDD DDD DDD", "DDD DDD DDD"),
            (Subject::Fifo, "SSS SSS SSS", "SSS SSS SSS"),
            (Subject::Socket, "SSS SSS SSS", "SSS SSS SSS"),
            (character(3), "SSS SSS SSS", "SSS SSS SSS"),
            (character(5), "SSS SSS SSS", "SSS SSS SSS"),
            (character(7), "SSS SSS SSS", "SSS SSS SSS"),
            (character(9), "SSS SSS SSS", "SSS SSS SSS"),
            (character(1), "SSS SSS SSS", "SSS SSS SSS"),
            (
                Subject::Character(DeviceNumber { major: 5, minor: 3 }),
                "SSS SSS SSS",
                "SSS SSS SSS",
            ),
        ];
        let permissions = [Permission::None(None), Permission::Ours, Permission::Named];
        for (subject, write, read) in table {
            for (access, expected) in [(Access::Write, write), (Access::Read, read)] {
                let row = [vec![], vec![undetermined()], vec![mounted()]].map(|uses| {
                    let cell = |permission: &Permission| {
                        verdict(access, &facts(subject, uses.clone(), permission.clone()))
                    };
                    permissions.iter().map(cell).collect::<String>()
                });
                assert_eq!(row.join(" "), expected, "{subject:?} {access:?}");
            }
        }
    }

    #[test]
    fn new_empty_and_own_files_are_written_to_and_foreign_ones_are_not() {
        let place = Place::new();
        assert!(place.write(&place.path("new")).unwrap().is_new());
        assert!(!place.write(&place.file("empty", b"")).unwrap().is_new());
        let ours = place.file("ours", b"data");
        assert!(matches!(
            place.write(&ours),
            Err(Refusal::ForeignFile {
                length_bytes: 4,
                ..
            })
        ));
        mark(&ours, 4, &place.probe);
        place.write(&ours).unwrap();
    }

    #[test]
    fn the_refusal_of_a_foreign_file_says_what_it_holds_and_the_flag_to_type() {
        let place = Place::new();
        let path = place.file("it's mine.db", b"SQLite format 3\0 and more");
        let text = place.write(&path).unwrap_err().to_string();
        let directory = path.parent().unwrap().display();
        assert_eq!(
            text,
            format!(
                "{0}/it's mine.db holds 25 bytes that Fathom did not write, an SQLite database (signature at offset 0); \
                 choose another file, or, if its content may be destroyed, add --allow-destroy '{0}/it'\\''s mine.db'",
                directory
            )
        );
    }

    #[test]
    fn permission_counts_by_destination_for_every_name_of_the_target_and_for_no_other() {
        let place = Place::new();
        let path = place.file("foreign", b"data");
        let other = place.file("other", b"data");
        let link = place.path("link");
        symlink("foreign", &link).unwrap();
        for target in [&path, &link] {
            for allowed in [&path, &link] {
                let approval = place
                    .check(target, Access::Write, std::slice::from_ref(allowed))
                    .unwrap();
                assert_eq!(approval.path, path.canonicalize().unwrap());
                assert!(matches!(approval.notes[..], [Note::Destroys(Some(_))]));
            }
            let directory = path.parent().unwrap().to_owned();
            for wrong in [other.clone(), directory, place.path("none"), PathBuf::new()] {
                assert!(place.check(target, Access::Write, &[wrong]).is_err());
            }
        }
    }

    #[test]
    fn an_attached_image_is_refused_whether_ours_empty_or_named() {
        let place = Place::new();
        let image = place.file("disk.img", b"data");
        place.attach_loop(&image);
        mark(&image, 4, &place.probe);
        let refused = place
            .check(&image, Access::Write, std::slice::from_ref(&image))
            .unwrap_err();
        assert!(
            refused.to_string().contains("losetup -d /dev/loop0"),
            "{refused}"
        );
        fs::write(&image, b"").unwrap();
        assert!(matches!(place.write(&image), Err(Refusal::InUse { .. })));
        assert_eq!(
            place.check(&image, Access::Read, &[]).unwrap().notes.len(),
            2,
            "attached; the loop is not in sysfs"
        );
    }

    #[test]
    fn a_marked_file_that_was_put_to_another_use_is_foreign_again() {
        let place = Place::new();
        let path = place.file("f", b"QFI\xfb\0\0\0\x03");
        mark(&path, 8, &place.probe);
        let text = place.write(&path).unwrap_err().to_string();
        assert!(
            text.contains("put to another use") && text.contains("qcow2"),
            "{text}"
        );

        let path = place.file("grown", b"data");
        mark(&path, 3, &place.probe);
        assert!(
            place
                .write(&path)
                .unwrap_err()
                .to_string()
                .contains("it grew from 3 to 4 bytes")
        );

        let path = place.file("overwritten", b"data");
        mark(&path, 4, &place.probe);
        place.write(&path).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        assert!(
            place
                .write(&path)
                .unwrap_err()
                .to_string()
                .contains("somebody wrote to it")
        );
    }

    #[test]
    fn a_mark_that_no_run_has_sealed_permits_nothing_but_to_the_process_that_writes() {
        let place = Place::new();
        let path = place.file("f", b"data");
        let file = Arc::new(File::options().read(true).write(true).open(&path).unwrap());
        write_mark(&file, &path, &Mark::new("fathom", 4), &place.probe).unwrap();
        assert_eq!(
            place.write(&path).unwrap_err().to_string(),
            format!(
                "{0}: the last run on it was killed, so what it holds cannot be told from what somebody wrote since; \
                 if it may be destroyed, add --allow-destroy {0} once",
                path.display()
            )
        );
        place
            .check(&path, Access::Write, std::slice::from_ref(&path))
            .unwrap();
        let _writing = announce(&file, &path, Access::Write).unwrap();
        place.write(&path).unwrap();
    }

    #[test]
    fn a_file_that_another_process_writes_to_is_refused_even_if_it_is_named() {
        let place = Place::new();
        let path = place.file("f", b"data");
        mark(&path, 4, &place.probe);
        let theirs = File::options().read(true).write(true).open(&path).unwrap();
        let whole = u64::MAX / 2;
        assert!(sys::ofd_try_lock(&theirs, sys::LockKind::Exclusive, 0, whole).unwrap());
        for allowed in [&[][..], std::slice::from_ref(&path)] {
            assert!(matches!(
                place.check(&path, Access::Write, allowed),
                Err(Refusal::Written { .. })
            ));
        }
        drop(theirs);
        place.write(&path).unwrap();
    }

    #[test]
    fn an_unreadable_mark_does_not_count_and_says_so() {
        let place = Place::new();
        let path = place.file("f", b"data");
        place
            .probe
            .write_xattr(&File::open(&path).unwrap(), XATTR, br#"{"v":99}"#)
            .unwrap();
        assert!(
            place
                .write(&path)
                .unwrap_err()
                .to_string()
                .contains("made by a newer Fathom")
        );
    }

    #[test]
    fn what_is_not_storage_is_refused_with_what_it_is() {
        let place = Place::new();
        let socket = place.path("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let texts = [
            (socket, "is a socket"),
            (place.path("."), "is a directory"),
            (place.path("none/file"), "run `mkdir -p"),
            (PathBuf::from("/dev/tty"), "is a character device"),
        ];
        for (path, expected) in texts {
            let text = place.write(&path).unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        }
        for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"] {
            for access in [Access::Read, Access::Write] {
                let text = place
                    .check(Path::new(device), access, &[])
                    .unwrap_err()
                    .to_string();
                assert!(text.contains("is a character device"), "{text}");
            }
        }
        symlink("circle", place.path("circle")).unwrap();
        assert!(matches!(
            place.write(&place.path("circle")),
            Err(Refusal::SymlinkLoop { .. })
        ));
        assert!(matches!(
            place.check(&place.path("none"), Access::Read, &[]),
            Err(Refusal::Missing { .. })
        ));
    }

    #[test]
    fn a_dangling_symlink_is_not_written_through() {
        let place = Place::new();
        let link = place.path("link");
        symlink("/dev/no-such-disk", &link).unwrap();
        let refused = place.write(&link).unwrap_err();
        assert!(
            matches!(refused, Refusal::DanglingSymlink { .. }),
            "{refused}"
        );
    }

    #[test]
    fn files_of_the_kernel_are_refused_and_a_mistyped_device_is_not_created_in_memory() {
        let place = Place::new();
        let empty = place.file("empty", b"");
        place.lies_on("sysfs", "/sys");
        for path in [&empty, &place.path("new")] {
            assert!(matches!(
                place.write(path),
                Err(Refusal::KernelInterface { .. })
            ));
        }
        for (file_system, at) in [("devtmpfs", "/dev"), ("tmpfs", "/dev")] {
            place.lies_on(file_system, at);
            assert!(matches!(
                place.write(&place.path("sdz")),
                Err(Refusal::NoSuchDevice { .. })
            ));
            assert!(matches!(
                place.write(&empty),
                Err(Refusal::KernelInterface { .. })
            ));
        }
        place.lies_on("tmpfs", "/dev/shm");
        place.write(&place.path("new")).unwrap();
    }

    #[test]
    fn a_device_node_on_devtmpfs_is_judged_as_the_device() {
        let number = DeviceNumber { major: 8, minor: 0 };
        let on_devtmpfs = |subject| Facts {
            file_system: Some(("devtmpfs".to_owned(), PathBuf::from("/dev"))),
            ..facts(subject, vec![], Permission::Named)
        };
        assert_eq!(on_devtmpfs(Subject::Block(number)).kernel_interface(), None);
        let file = on_devtmpfs(Subject::Regular { length: 9 });
        assert_eq!(file.kernel_interface(), Some("devtmpfs"));
    }

    #[test]
    fn a_device_that_somebody_claims_is_refused_and_so_is_one_that_was_swapped() {
        let number = DeviceNumber { major: 8, minor: 0 };
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut busy = FakeProbe::with_xattrs();
        busy.busy = Some(io::ErrorKind::ResourceBusy);
        let refused = claim(Path::new("/dev/x"), file.path(), number, &busy).unwrap_err();
        assert!(
            refused.to_string().contains("cannot be opened exclusively"),
            "{refused}"
        );
        let other = FakeProbe::with_xattrs();
        assert!(matches!(
            claim(file.path(), file.path(), number, &other),
            Err(Refusal::Changed { .. })
        ));
    }

    #[test]
    fn the_refusal_of_a_device_names_its_content_and_its_uses() {
        let number = DeviceNumber { major: 8, minor: 0 };
        let request = WriteRequest {
            path: Path::new("/dev/sda"),
            access: Access::Write,
            allow_destroy: &[],
        };
        let mut device = facts(Subject::Block(number), vec![], Permission::None(None));
        device.signature = Some(Signature {
            kind: Kind::Gpt,
            place: signature::Place::FromStart(512),
        });
        assert_eq!(
            decide(&request, &device).unwrap_err().to_string(),
            "/dev/sda is a block device (8:0) that holds a GPT partition table (signature at offset 512); \
             if its content may be destroyed, add --allow-destroy /dev/sda"
        );
        device.uses = vec![mounted()];
        assert_eq!(
            decide(&request, &device).unwrap_err().to_string(),
            "/dev/sda is in use and is not written to, with or without --allow-destroy:\n  it is mounted at /mnt (ext4): run `umount /mnt`"
        );
    }

    #[test]
    fn a_recheck_accepts_what_was_approved_and_refuses_what_took_its_place() {
        let place = Place::new();
        let path = place.file("f", b"");
        let approval = place.write(&path).unwrap();
        let mut file = File::options().write(true).open(&path).unwrap();
        recheck(&file, &approval).unwrap();
        file.write_all(b"x").unwrap();
        assert!(
            matches!(recheck(&file, &approval), Err(Refusal::Changed { .. })),
            "it was empty"
        );

        mark(&path, 1, &place.probe);
        let approval = place.write(&path).unwrap();
        recheck(&file, &approval).unwrap();
        file.write_all(b"")
            .and_then(|()| file.set_modified(std::time::UNIX_EPOCH))
            .unwrap();
        assert!(matches!(
            recheck(&file, &approval),
            Err(Refusal::Changed {
                what: "somebody wrote to it",
                ..
            })
        ));
        fs::rename(place.file("g", b"y"), &path).unwrap();
        assert!(matches!(
            recheck(&File::open(&path).unwrap(), &approval),
            Err(Refusal::Changed { .. })
        ));

        let new = place.write(&place.path("new")).unwrap();
        recheck(&File::create_new(&new.path).unwrap(), &new).unwrap();
        assert!(recheck(&file, &new).is_err());
    }
}
