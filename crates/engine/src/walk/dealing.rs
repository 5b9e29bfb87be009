//! Whose the directories and entries of a walk are that ranks do together.
//!
//! Nobody asks anybody. All ranks read the uppermost levels of the tree, and of each entry there its
//! path says who looks at it. Once a level has directories enough, their paths say also who walks each
//! of them with all that is below it. What a rank takes does not depend on what else it sees, so that
//! an entry that comes or goes meanwhile moves no other to another rank, as long as all deal out below
//! the same level; below which one each did is in its account.

use std::path::PathBuf;
use units::{fnv1a, random::split_mix};

/// Directories a rank from which on their sizes even out.
const ENOUGH: u64 = 4;

/// One of so many that walk a tree together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkSeat {
    number: u64,
    of: u64,
}

impl WalkSeat {
    /// # Panics
    /// There is no such number among them.
    #[must_use]
    pub fn new(number: u32, of: u32) -> Self {
        assert!(number < of, "number {number} of {of}");
        Self {
            number: number.into(),
            of: of.into(),
        }
    }

    /// Whoever walks all of it.
    #[must_use]
    pub fn alone() -> Self {
        Self::new(0, 1)
    }

    pub(super) fn has_others(self) -> bool {
        self.of > 1
    }

    pub(super) fn counts(self, names: NamePath) -> bool {
        names.0 % self.of == self.number
    }

    pub(super) fn walks(self, dir: &Dir) -> bool {
        dir.turn % self.of == self.number
    }

    /// Whether what is below a level of directories is dealt out: each has enough of them, or at least
    /// one and no further level would bring more.
    pub(super) fn deals(self, dirs: &[Dir]) -> bool {
        let count = dirs.len() as u64;
        count >= ENOUGH * self.of || (count >= self.of && dirs.iter().all(Dir::has_no_dirs))
    }
}

/// The names from the root to an entry, as a number that is the same on every host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamePath(u64);

impl NamePath {
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn to(self, name: &[u8]) -> Self {
        Self(split_mix(self.0 ^ fnv1a(name)))
    }

    /// Names that differ by a number at their end take turns, whatever else is there: what
    /// programs make by the dozen is called so.
    fn turn(self, name: &[u8]) -> u64 {
        let digits = name.iter().rev().take(18);
        let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
        let (stem, number) = name.split_at(name.len() - digits);
        let number = number
            .iter()
            .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        self.to(stem).0.wrapping_add(number)
    }
}

/// A directory that nobody has read.
#[derive(Debug)]
pub(super) struct Dir {
    pub(super) path: PathBuf,
    pub(super) names: NamePath,
    /// Who walks it where this level is dealt out.
    turn: u64,
}

impl Dir {
    /// The first, or one that no other rank reads.
    pub(super) fn at(path: PathBuf) -> Self {
        Self {
            path,
            names: NamePath::ROOT,
            turn: 0,
        }
    }

    /// One in this, where all ranks read this one.
    pub(super) fn shared_below(&self, path: PathBuf, name: &[u8]) -> Self {
        Self {
            path,
            names: self.names.to(name),
            turn: self.names.turn(name),
        }
    }

    /// By its links, of which each directory in it is one; false where the file system does not
    /// count them.
    fn has_no_dirs(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::symlink_metadata(&self.path).is_ok_and(|facts| facts.nlink() == 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(names: impl Iterator<Item = String>) -> Vec<Dir> {
        let root = Dir::at("/nowhere".into());
        names
            .map(|name| root.shared_below(root.path.join(&name), name.as_bytes()))
            .collect()
    }

    #[test]
    fn directories_that_are_numbered_are_dealt_out_evenly() {
        for form in ["worker", "dir.00", "mdtest_tree.0.", ""] {
            let dirs = dirs((0..24).map(|number| format!("{form}{number}")));
            for of in [1, 2, 3, 4, 8, 12] {
                let walked = |seat: WalkSeat| dirs.iter().filter(|dir| seat.walks(dir)).count();
                let each: Vec<usize> = (0..of).map(|n| walked(WalkSeat::new(n, of))).collect();
                let fair = dirs.len() / usize::try_from(of).unwrap();
                assert!(each.iter().all(|count| *count == fair), "{form} {each:?}");
            }
        }
    }

    #[test]
    fn a_name_of_digits_alone_or_of_very_many_is_a_name_like_others() {
        for name in [
            "7",
            "00000000000000000000000000000000000001",
            "v1.2",
            "\u{664}",
        ] {
            let of_one = dirs(std::iter::once(name.to_owned()));
            let takers = (0..5).filter(|n| WalkSeat::new(*n, 5).walks(&of_one[0]));
            assert_eq!(takers.count(), 1, "{name}");
        }
    }

    #[test]
    #[allow(
        clippy::print_stdout,
        reason = "a test that is skipped says what it needs"
    )]
    fn a_level_is_dealt_out_once_it_has_directories_enough() {
        let seat = WalkSeat::new(1, 3);
        let named = |count: u32| dirs((0..count).map(|number| format!("d{number}")));
        assert!(!seat.deals(&named(11)), "nobody knows what is in them");
        assert!(seat.deals(&named(12)));
        let place = tempfile::tempdir().unwrap();
        let made = |count: u32| {
            let root = Dir::at(place.path().to_path_buf());
            let made = (0..count).map(|number| {
                let path = place.path().join(number.to_string());
                std::fs::create_dir_all(&path).unwrap();
                root.shared_below(path, number.to_string().as_bytes())
            });
            made.collect::<Vec<Dir>>()
        };
        use std::os::unix::fs::MetadataExt as _;
        if made(1)[0].path.metadata().unwrap().nlink() != 2 {
            println!("SKIPPED: needs a file system that counts the links of directories");
            return;
        }
        assert!(!seat.deals(&made(2)), "one of three would have nothing");
        assert!(seat.deals(&made(3)), "below them is none");
        std::fs::create_dir(place.path().join("2/below")).unwrap();
        assert!(!seat.deals(&made(3)));
    }
}
