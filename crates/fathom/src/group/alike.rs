//! Whether another rank says what this one would say: a mistake of the command line is of all ranks that
//! have this line, and people need it once.

use super::alive::stat_after_name;
use super::launched::launched;
use mpi::Launched;
use std::fs;
use std::path::{Path, PathBuf};
use sys::{Clock as _, MachineClock};

/// A launcher starts ranks one after another, and those before this one have so long to be there.
const MOST_NS: u64 = 200_000_000;
const LOOK_NS: u64 = 2_000_000;

/// Whether a rank before this one, on this machine and begun by the same process, is called by the same
/// words in the same directory: whatever it does by them alone it does as this one. Where nobody can tell
/// this one speaks as well.
pub(crate) fn is_said_by_another() -> bool {
    let Some(launched) = launched().filter(|launched| launched.rank > 0) else {
        return false;
    };
    let Some(own) = Call::of(Path::new("/proc/self")) else {
        return false;
    };
    let clock = MachineClock::monotonic();
    let until = clock.now() + MOST_NS;
    loop {
        let others = fs::read_dir("/proc").into_iter().flatten().flatten();
        let places = others.map(|entry| entry.path());
        let mut before = places.filter(|place| is_rank_before(place, &launched));
        if before.any(|place| Call::of(&place).as_ref() == Some(&own)) {
            return true;
        }
        if clock.now() >= until {
            return false;
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
}

/// How a process was called, and by whom, and what decides which files it finds by the same words.
#[derive(PartialEq, Eq)]
struct Call {
    parent: String,
    program: PathBuf,
    words: Vec<u8>,
    directory: PathBuf,
    mounts: PathBuf,
    /// Variables that say where the loader finds libraries, and Open MPI's its parts.
    loading: Vec<Vec<u8>>,
}

const LOADING: [&[u8]; 4] = [b"LD_", b"OPAL_PREFIX=", b"OMPI_VERSION=", b"PMIX_PREFIX="];

impl Call {
    /// `None` where it has ended, or is somebody else's.
    fn of(place: &Path) -> Option<Self> {
        let after = stat_after_name(place)?;
        let environment = fs::read(place.join("environ")).ok()?;
        let variables = environment.split(|byte| *byte == 0);
        let is_of_loading = |pair: &&[u8]| LOADING.iter().any(|name| pair.starts_with(name));
        Some(Self {
            mounts: fs::read_link(place.join("ns/mnt")).ok()?,
            loading: variables
                .filter(is_of_loading)
                .map(<[u8]>::to_vec)
                .collect(),
            parent: after.split(' ').nth(1)?.to_owned(),
            program: fs::read_link(place.join("exe")).ok()?,
            words: fs::read(place.join("cmdline")).ok()?,
            directory: fs::read_link(place.join("cwd")).ok()?,
        })
    }
}

/// Whether a process is a rank before this one, by the variables that its launcher gave it.
fn is_rank_before(place: &Path, own: &Launched) -> bool {
    let name = place.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let Ok(environment) = fs::read(place.join("environ")) else {
        return false;
    };
    let value = |name: &str| {
        let mut pairs = environment.split(|byte| *byte == 0);
        pairs.find_map(|pair| {
            let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            String::from_utf8(value.to_vec()).ok()
        })
    };
    let other = Launched::read(&value);
    other.is_some_and(|other| {
        (other.variable, other.size) == (own.variable, own.size) && other.rank < own.rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A process with the variables of a rank.
    fn rank(number: &str, words: &[&str], directory: &Path) -> Child {
        begun(&mut Command::new("sleep"), number, words, directory)
    }

    fn begun(command: &mut Command, number: &str, words: &[&str], directory: &Path) -> Child {
        let command = command.args(words).current_dir(directory);
        let command = command.env("PMI_SIZE", "3").env("PMI_RANK", number);
        command.stdin(Stdio::null()).spawn().expect("sleep starts")
    }

    #[test]
    fn a_rank_before_another_speaks_for_it_with_the_same_words_in_the_same_place() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let words: &[&str] = &["600"];
        let mut all = [
            rank("0", words, dir.path()),
            rank("1", words, dir.path()),
            rank("1", &["601"], dir.path()),
            rank("1", words, elsewhere.path()),
            begun(
                Command::new("sleep").env("LD_LIBRARY_PATH", "/other"),
                "1",
                words,
                dir.path(),
            ),
        ];
        let place = |child: &Child| PathBuf::from(format!("/proc/{}", child.id()));
        let launched = |rank| Launched {
            size: 3,
            rank,
            variable: "PMI_SIZE",
            by: "PMI",
        };
        let first = place(&all[0]);
        assert!(is_rank_before(&first, &launched(1)));
        assert!(!is_rank_before(&first, &launched(0)), "it is itself");
        let of_four = Launched {
            size: 4,
            ..launched(1)
        };
        assert!(!is_rank_before(&first, &of_four), "of another launcher");
        assert!(!is_rank_before(Path::new("/proc/self"), &launched(1)));
        let is_alike = |other: &Child| Call::of(&first) == Call::of(&place(other));
        let alike: Vec<bool> = all.iter().map(is_alike).collect();
        assert_eq!(alike, [true, true, false, false, false]);
        assert!(Call::of(&first).is_some() && Call::of(dir.path()).is_none());
        for child in &mut all {
            child.kill().expect("it runs");
            child.wait().expect("it is ours");
        }
    }
}
