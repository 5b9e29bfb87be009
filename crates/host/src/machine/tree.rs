//! Kernel text under a root: `/` for this machine, a directory of fixtures in tests.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// No file that is read here is this long on a healthy machine; a hostile one must not fill the
/// memory.
const LONGEST: u64 = 16 << 20;

#[derive(Clone, Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(super) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Where `at` lies under the root; steps upwards are ignored, so no text read can lead out of
    /// it.
    pub(super) fn path(&self, at: impl AsRef<Path>) -> PathBuf {
        let mut path = self.root.clone();
        path.extend(
            at.as_ref()
                .components()
                .filter(|part| matches!(part, Component::Normal(_))),
        );
        path
    }

    /// The path that `at` is a link to, as seen from the root.
    pub(super) fn resolve(&self, at: impl AsRef<Path>) -> Option<PathBuf> {
        let root = fs::canonicalize(&self.root).ok()?;
        let path = fs::canonicalize(self.path(at)).ok()?;
        Some(Path::new("/").join(path.strip_prefix(root).ok()?))
    }

    pub(super) fn exists(&self, at: impl AsRef<Path>) -> bool {
        self.path(at).exists()
    }

    /// The first `limit` bytes of a file; absent and unreadable are the same.
    pub(super) fn head(&self, at: impl AsRef<Path>, limit: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(at))
            .ok()?
            .take(limit)
            .read_to_end(&mut bytes)
            .ok()?;
        Some(bytes)
    }

    /// The whole file without white space around it; bytes that are not UTF-8 are replaced.
    pub(super) fn text(&self, at: impl AsRef<Path>) -> Option<String> {
        let bytes = self.head(at, LONGEST)?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The text of a file that holds one value; an empty file holds none.
    pub(super) fn value(&self, at: impl AsRef<Path>) -> Option<String> {
        self.text(at).filter(|text| !text.is_empty())
    }

    pub(super) fn number<T: FromStr>(&self, at: impl AsRef<Path>) -> Option<T> {
        self.text(at)?.parse().ok()
    }

    /// What tells a directory from a later one of the same name.
    pub(super) fn inode(&self, at: impl AsRef<Path>) -> Option<u64> {
        Some(fs::metadata(self.path(at)).ok()?.ino())
    }

    /// A file that holds 0 or 1.
    pub(super) fn switch(&self, at: impl AsRef<Path>) -> Option<bool> {
        match self.text(at)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// The choice in force of a file such as `none [mq-deadline] kyber`; a lone word is its own
    /// choice.
    pub(super) fn choice(&self, at: impl AsRef<Path>) -> Option<String> {
        let text = self.value(at)?;
        let bracketed = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        match bracketed {
            Some((chosen, _)) => Some(chosen.to_owned()),
            None => Some(text).filter(|text| !text.contains(char::is_whitespace)),
        }
    }

    /// The names in a directory, sorted; none where it is absent.
    pub(super) fn names(&self, at: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(at)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }
}

/// The rest of the line that starts with `key` and a separator, as in meminfo, status and cpuinfo.
pub(super) fn after<'a>(text: &'a str, key: &str, separator: char) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// Bytes of a value such as `24684092 kB` or, without a unit, a plain count.
pub(super) fn kilobytes(value: &str) -> Option<u64> {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "kB" => number.checked_mul(1024),
        "" => Some(number),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod fixture {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Component, Path, PathBuf};

    use tempfile::TempDir;

    use super::Tree;

    /// A root directory that holds what a test puts there.
    pub(in crate::machine) struct Fixture {
        directory: TempDir,
    }

    impl Fixture {
        pub(in crate::machine) fn new() -> Self {
            Self {
                directory: tempfile::tempdir().unwrap(),
            }
        }

        pub(in crate::machine) fn file(&self, at: &str, bytes: impl AsRef<[u8]>) -> &Self {
            let path = self.place(at);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
            self
        }

        pub(in crate::machine) fn files(&self, under: &str, files: &[(&str, &str)]) -> &Self {
            for (name, text) in files {
                self.file(&format!("{under}/{name}"), text);
            }
            self
        }

        pub(in crate::machine) fn directory(&self, at: &str) -> &Self {
            fs::create_dir_all(self.place(at)).unwrap();
            self
        }

        /// A link at `at` to `to`, both from the root.
        pub(in crate::machine) fn link(&self, at: &str, to: &str) -> &Self {
            let path = self.place(at);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let up = "../".repeat(Path::new(at).components().count() - 1);
            symlink(format!("{up}{to}"), path).unwrap();
            self
        }

        /// Joining an absolute path would replace the root, and a test would write to the real
        /// machine.
        fn place(&self, at: &str) -> PathBuf {
            let normal = |part| matches!(part, Component::Normal(_));
            assert!(
                !at.is_empty() && Path::new(at).components().all(normal),
                "'{at}' is not below the root"
            );
            self.root().join(at)
        }

        pub(in crate::machine) fn root(&self) -> &Path {
            self.directory.path()
        }

        pub(in crate::machine) fn tree(&self) -> Tree {
            Tree::at(self.root())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::Fixture;
    use super::*;

    #[test]
    fn a_path_never_leaves_the_root() {
        let tree = Tree::at(Path::new("/fixture"));
        assert_eq!(tree.path("/proc/stat"), Path::new("/fixture/proc/stat"));
        assert_eq!(
            tree.path("../../etc/../passwd"),
            Path::new("/fixture/etc/passwd")
        );
    }

    #[test]
    fn a_fixture_refuses_to_write_outside_its_root() {
        for outside in ["/sys/x", "", "../x", "a/../../x", "./x"] {
            let written = std::panic::catch_unwind(|| {
                Fixture::new().file(outside, "");
            });
            assert!(written.is_err(), "{outside}");
        }
    }

    #[test]
    fn the_choice_is_the_bracketed_word() {
        let fixture = Fixture::new();
        fixture.files(
            "q",
            &[
                ("many", "none [kyber] bfq\n"),
                ("one", "none\n"),
                ("odd", "a b"),
                ("open", "a [b"),
            ],
        );
        let tree = fixture.tree();
        assert_eq!(tree.choice("q/many").unwrap(), "kyber");
        assert_eq!(tree.choice("q/one").unwrap(), "none");
        assert_eq!(tree.choice("q/odd"), None);
        assert_eq!(tree.choice("q/open"), None);
        assert_eq!(tree.choice("q/absent"), None);
    }

    #[test]
    fn a_link_is_resolved_from_the_root() {
        let fixture = Fixture::new();
        fixture
            .file("sys/devices/a/x", "1")
            .link("sys/dev/b", "sys/devices/a");
        assert_eq!(
            fixture.tree().resolve("/sys/dev/b").unwrap(),
            Path::new("/sys/devices/a")
        );
    }

    #[test]
    fn values_are_found_by_their_whole_key() {
        let text = "MemTotal:  10 kB\nDirty: 3 kB\nWritebackTmp: 9 kB\nHugePages_Total:       5\n";
        assert_eq!(
            after(text, "MemTotal", ':').and_then(kilobytes),
            Some(10 * 1024)
        );
        assert_eq!(
            after(text, "HugePages_Total", ':').and_then(kilobytes),
            Some(5)
        );
        assert_eq!(after(text, "Writeback", ':'), None);
        assert_eq!(kilobytes("7 MB"), None);
        assert_eq!(kilobytes("18446744073709551615 kB"), None);
    }
}
