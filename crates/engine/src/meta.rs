//! Operations on names instead of data: one blocking call after the other, as the synchronous
//! engine does it.
//!
//! Nobody's files can be lost: only a file that an engine created itself (`O_EXCL` proves it), or
//! that was given up by name, is ever renamed or removed, and a rename never replaces. Anything else
//! ends with EPERM and no system call.
//!
//! Bytes that an operation carries are a part of it: `create` opens, writes and closes, `read`
//! opens, reads and closes.

use crate::{Blocking, BlockingEngine, EngineError, Op, Request, Slot, Walk};
use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A place in the list of paths and the name under which its file is found.
#[derive(Debug)]
struct Entry {
    name: CString,
    renamed: CString,
    is_renamed: bool,
    is_ours: bool,
}

impl Entry {
    fn current(&self) -> &Path {
        Path::new(OsStr::from_bytes(
            if self.is_renamed {
                &self.renamed
            } else {
                &self.name
            }
            .as_bytes(),
        ))
    }

    fn forget(&mut self) {
        (self.is_ours, self.is_renamed) = (false, false);
    }
}

/// Metadata operations on a list of paths; a request's `file` is the index. Every operation acts on
/// the current name: a rename goes to `NAME.renamed`, and the next one back. Engines that run
/// together need lists without common paths.
pub struct NameCalls {
    entries: Vec<Entry>,
    file_bytes: u64,
    /// What files are created with.
    payload: Vec<u8>,
    /// What was read.
    found: Vec<u8>,
    walk: Option<Arc<Walk>>,
}

pub type MetaEngine = BlockingEngine<NameCalls>;

impl MetaEngine {
    /// An engine over these paths; directories to be read are paths too. A created file holds the
    /// payload; without one it is `file_bytes` long and holds no data, and 0 leaves it empty and
    /// saves the call.
    ///
    /// # Errors
    /// A path with a NUL byte.
    pub fn new(
        paths: Vec<PathBuf>,
        file_bytes: u64,
        payload: Vec<u8>,
    ) -> Result<Self, EngineError> {
        let entries = paths
            .into_iter()
            .map(entry)
            .collect::<io::Result<_>>()
            .map_err(|source| EngineError::Call {
                call: "taking a path",
                source,
            })?;
        let calls = NameCalls {
            entries,
            file_bytes,
            found: vec![0; payload.len()],
            payload,
            walk: None,
        };
        Ok(Self::over(calls, 1))
    }

    /// The same where somebody gave up all files of these names, whoever made them.
    #[must_use]
    pub fn on_files_given_up(mut self) -> Self {
        let entries = self.calls.entries.iter_mut();
        entries.for_each(|entry| entry.is_ours = true);
        self
    }

    /// The same with a walk in which it takes part.
    #[must_use]
    pub fn walking(mut self, walk: Option<Arc<Walk>>) -> Self {
        self.calls.walk = walk;
        self
    }
}

impl NameCalls {
    /// The bytes that a read found; of a walk what [`Walk::read_next`] says, and 0 for every other
    /// operation.
    fn perform(&mut self, request: &Request) -> io::Result<i64> {
        let unknown = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        if request.op == Op::Walk {
            return self.walk.as_ref().ok_or_else(unknown)?.read_next();
        }
        let entry = &mut self.entries[request.file as usize];
        match request.op {
            Op::Read => {
                let bytes = read(entry, &mut self.found)?;
                return Ok(i64::try_from(bytes).unwrap_or(i64::MAX));
            }
            Op::Create => create(entry, self.file_bytes, &self.payload),
            Op::Stat => fs::symlink_metadata(entry.current()).map(drop),
            Op::Open => File::open(entry.current()).map(drop),
            Op::Readdir => fs::read_dir(entry.current())?.try_for_each(|found| found.map(drop)),
            Op::Rename => rename(entry),
            Op::Unlink => unlink(entry),
            Op::Write | Op::Fsync | Op::Fdatasync | Op::Walk => Err(unknown()),
        }?;
        Ok(0)
    }
}

fn entry(path: PathBuf) -> io::Result<Entry> {
    let name = path.into_os_string().into_vec();
    let renamed = [&name[..], b".renamed"].concat();
    Ok(Entry {
        name: CString::new(name)?,
        renamed: CString::new(renamed)?,
        is_renamed: false,
        is_ours: false,
    })
}

fn create(entry: &mut Entry, bytes: u64, payload: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(entry.current())?;
    entry.is_ours = true;
    if !payload.is_empty() {
        file.write_all(payload)
    } else if bytes > 0 {
        file.set_len(bytes)
    } else {
        Ok(())
    }
}

/// Fills `found` as far as the file reaches. Neither a pipe nor a device is waited for.
fn read(entry: &Entry, found: &mut [u8]) -> io::Result<usize> {
    let path = entry.current();
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    let mut filled = 0;
    while filled < found.len() {
        match file.read(&mut found[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn rename(entry: &mut Entry) -> io::Result<()> {
    if !entry.is_ours {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    let (from, to) = if entry.is_renamed {
        (&entry.renamed, &entry.name)
    } else {
        (&entry.name, &entry.renamed)
    };
    match sys::rename_no_replace(from, to) {
        Ok(()) => entry.is_renamed = !entry.is_renamed,
        Err(error) => {
            if error.kind() == io::ErrorKind::NotFound {
                entry.forget();
            }
            return Err(error);
        }
    }
    Ok(())
}

fn unlink(entry: &mut Entry) -> io::Result<()> {
    if !entry.is_ours {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    let outcome = fs::remove_file(entry.current());
    if outcome
        .as_ref()
        .err()
        .is_none_or(|error| error.kind() == io::ErrorKind::NotFound)
    {
        entry.forget();
    }
    outcome
}

impl Blocking for NameCalls {
    /// Empty: what operations carry is the same in all of them.
    fn buffer(&mut self, _slot: Slot) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn carry_out(&mut self, request: &Request) -> i64 {
        match self.perform(request) {
            Ok(result) => result,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn files_that_were_given_up_are_removed_and_what_is_no_file_is_not() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "x").unwrap();
        fs::create_dir(root.path().join("d")).unwrap();
        let mut foreign = engine(root.path(), &["a"]);
        assert_eq!(
            results(&mut foreign, 0, [Op::Unlink]),
            [-i64::from(libc::EPERM)]
        );
        let mut given_up = engine(root.path(), &["a", "d", "none"]).on_files_given_up();
        assert_eq!(results(&mut given_up, 0, [Op::Unlink]), [0]);
        let of_the_others = [1, 2].map(|file| results(&mut given_up, file, [Op::Unlink])[0]);
        assert!(
            of_the_others.iter().all(|result| *result < 0),
            "{of_the_others:?}"
        );
        assert!(!root.path().join("a").exists() && root.path().join("d").is_dir());
    }

    fn engine(root: &Path, names: &[&str]) -> MetaEngine {
        MetaEngine::new(
            names.iter().map(|name| root.join(name)).collect(),
            0,
            Vec::new(),
        )
        .unwrap()
    }

    /// Results of operations on one file, in order.
    fn results<const N: usize>(engine: &mut MetaEngine, file: u32, ops: [Op; N]) -> [i64; N] {
        ops.map(|op| {
            engine
                .submit(&[Request {
                    slot: 0,
                    file,
                    op,
                    offset: 0,
                    len: 0,
                }])
                .unwrap();
            let mut out = Vec::new();
            engine.reap(1, u64::MAX, &mut out).unwrap();
            assert_eq!((out.len(), out[0].slot), (1, 0));
            out[0].result
        })
    }

    fn errno(number: i32) -> i64 {
        -i64::from(number)
    }

    /// Names in a directory with the content of each.
    fn listing(root: &Path) -> BTreeMap<String, Vec<u8>> {
        fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (
                    entry.file_name().into_string().unwrap(),
                    fs::read(entry.path()).unwrap(),
                )
            })
            .collect()
    }

    fn names(root: &Path) -> Vec<String> {
        listing(root).into_keys().collect()
    }

    #[test]
    fn a_file_lives_from_create_to_unlink_under_its_current_name() {
        let root = tempfile::tempdir().unwrap();
        let mut engine = engine(root.path(), &["a"]);
        assert_eq!(
            results(&mut engine, 0, [Op::Create, Op::Stat, Op::Open]),
            [0; 3]
        );
        assert_eq!(names(root.path()), ["a"]);
        assert_eq!(
            results(&mut engine, 0, [Op::Rename, Op::Stat, Op::Open]),
            [0; 3]
        );
        assert_eq!(names(root.path()), ["a.renamed"]);
        assert_eq!(
            results(&mut engine, 0, [Op::Create]),
            [errno(libc::EEXIST)],
            "the file is there, under its other name"
        );
        assert_eq!(results(&mut engine, 0, [Op::Rename]), [0]);
        assert_eq!(names(root.path()), ["a"]);
        assert_eq!(results(&mut engine, 0, [Op::Rename, Op::Unlink]), [0; 2]);
        assert!(names(root.path()).is_empty());
        assert_eq!(
            results(
                &mut engine,
                0,
                [Op::Stat, Op::Unlink, Op::Create, Op::Unlink]
            ),
            [errno(libc::ENOENT), errno(libc::EPERM), 0, 0]
        );
    }

    #[test]
    fn files_of_others_are_neither_replaced_nor_renamed_nor_removed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("theirs"), "precious").unwrap();
        fs::write(root.path().join("mine.renamed"), "precious too").unwrap();
        let mut engine = engine(root.path(), &["theirs", "mine"]);
        let denied = errno(libc::EPERM);
        assert_eq!(
            results(
                &mut engine,
                0,
                [Op::Create, Op::Rename, Op::Unlink, Op::Open, Op::Stat]
            ),
            [errno(libc::EEXIST), denied, denied, 0, 0]
        );
        assert_eq!(
            results(&mut engine, 1, [Op::Create, Op::Rename, Op::Unlink]),
            [0, errno(libc::EEXIST), 0]
        );
        let left = listing(root.path());
        assert_eq!(
            (left.len(), &left["theirs"][..], &left["mine.renamed"][..]),
            (2, &b"precious"[..], &b"precious too"[..])
        );
    }

    #[test]
    fn a_file_that_somebody_removed_and_remade_is_not_ours_any_more() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        let mut engine = engine(root.path(), &["a"]);
        for op in [Op::Unlink, Op::Rename] {
            assert_eq!(results(&mut engine, 0, [Op::Create]), [0]);
            fs::remove_file(&path).unwrap();
            assert_eq!(results(&mut engine, 0, [op]), [errno(libc::ENOENT)]);
            fs::write(&path, "precious").unwrap();
            assert_eq!(
                results(&mut engine, 0, [Op::Unlink, Op::Rename]),
                [errno(libc::EPERM); 2]
            );
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn what_is_missing_or_of_the_wrong_kind_ends_with_the_errno_of_the_kernel() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let mut engine = engine(
            root.path(),
            &["missing", "missing/x", "file", "file/x", "."],
        );
        assert_eq!(
            results(&mut engine, 0, [Op::Stat, Op::Open, Op::Readdir]),
            [errno(libc::ENOENT); 3]
        );
        assert_eq!(results(&mut engine, 1, [Op::Create]), [errno(libc::ENOENT)]);
        assert_eq!(
            results(&mut engine, 2, [Op::Readdir]),
            [errno(libc::ENOTDIR)]
        );
        assert_eq!(
            results(&mut engine, 3, [Op::Create]),
            [errno(libc::ENOTDIR)]
        );
        assert_eq!(results(&mut engine, 4, [Op::Readdir, Op::Stat]), [0; 2]);
        assert_eq!(
            results(&mut engine, 0, [Op::Write, Op::Fsync]),
            [errno(libc::EOPNOTSUPP); 2]
        );
    }

    #[test]
    fn a_directory_that_forbids_it_takes_no_file() {
        let root = tempfile::tempdir().unwrap();
        let closed = root.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
        // A privileged user may do it all the same, so the kernel's word on a probe decides.
        let wanted = File::create_new(closed.join("probe"))
            .err()
            .map_or(0, |error| errno(error.raw_os_error().unwrap()));
        let mut engine = engine(&closed, &["a"]);
        assert_eq!(results(&mut engine, 0, [Op::Create]), [wanted]);
        let unlinked = if wanted == 0 { 0 } else { errno(libc::EPERM) };
        assert_eq!(results(&mut engine, 0, [Op::Unlink]), [unlinked]);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn a_created_file_has_the_length_and_no_data() {
        let root = tempfile::tempdir().unwrap();
        let mut engine = MetaEngine::new(vec![root.path().join("a")], 1 << 20, Vec::new()).unwrap();
        assert_eq!(results(&mut engine, 0, [Op::Create]), [0]);
        let found = fs::metadata(root.path().join("a")).unwrap();
        assert_eq!((found.len(), found.blocks()), (1 << 20, 0));
    }

    #[test]
    fn a_created_file_holds_the_payload_and_a_read_says_how_much_it_found() {
        let root = tempfile::tempdir().unwrap();
        let payload: Vec<u8> = (0..3901_u32)
            .map(|byte| u8::try_from(byte % 251).unwrap())
            .collect();
        let paths = ["a", "short", "long", "empty"].map(|name| root.path().join(name));
        let mut engine = MetaEngine::new(paths.to_vec(), 7, payload.clone()).unwrap();
        assert_eq!(
            results(&mut engine, 0, [Op::Create, Op::Read, Op::Rename, Op::Read]),
            [0, 3901, 0, 3901]
        );
        assert_eq!(listing(root.path())["a.renamed"], payload);
        assert_eq!(engine.calls.found, payload);
        for (file, bytes, found) in [(1, 100, 100), (2, 9000, 3901), (3, 0, 0)] {
            fs::write(&paths[file as usize], vec![1; bytes]).unwrap();
            assert_eq!(results(&mut engine, file, [Op::Read]), [found]);
        }
    }

    #[test]
    fn a_path_with_nul_is_refused() {
        assert!(MetaEngine::new(vec![PathBuf::from("a\0b")], 0, Vec::new()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_order_of_operations_harms_a_file_of_others_or_loses_sight_of_ours(
            foreign in proptest::collection::btree_set(prop_oneof![Just("a"), Just("b"), Just("a.renamed"), Just("c.renamed")], 0..4),
            steps in proptest::collection::vec((0..3_u32, prop_oneof![Just(Op::Create), Just(Op::Rename), Just(Op::Unlink), Just(Op::Open)]), 0..30),
        ) {
            let root = tempfile::tempdir().unwrap();
            for name in &foreign {
                fs::write(root.path().join(name), "precious").unwrap();
            }
            let mut engine = engine(root.path(), &["a", "b", "c"]);
            for (file, op) in steps {
                results(&mut engine, file, [op]);
                let mut seen: Vec<PathBuf> = foreign.iter().map(|name| root.path().join(name)).collect();
                seen.extend(engine.calls.entries.iter().filter(|entry| entry.is_ours).map(|entry| entry.current().to_path_buf()));
                seen.sort();
                prop_assert_eq!(names(root.path()), seen.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect::<Vec<_>>());
                let left = listing(root.path());
                prop_assert!(foreign.iter().all(|name| left[*name] == b"precious"));
            }
        }
    }
}
