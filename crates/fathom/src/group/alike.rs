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
    let Some(own) = SeenProcess::of(Path::new("/proc/self")).and_then(Call::of) else {
        return false;
    };
    let clock = MachineClock::monotonic();
    let until = clock.now() + MOST_NS;
    loop {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let places = entries.map(|entry| entry.path());
        let processes = places.filter(|place| is_of_process(place));
        let seen = processes.filter_map(|place| SeenProcess::of(&place));
        let mut before = seen.filter(|other| other.is_rank_before(&launched));
        if before.any(|other| Call::of(other).as_ref() == Some(&own)) {
            return true;
        }
        if clock.now() >= until {
            return false;
        }
        clock.sleep_until(clock.now() + LOOK_NS);
    }
}

/// Whether this is the place of a process, and not one of the kernel's other files.
fn is_of_process(place: &Path) -> bool {
    let name = place.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A process with its variables: the kernel copies them out of its memory for each reader.
struct SeenProcess {
    place: PathBuf,
    environment: Vec<u8>,
}

impl SeenProcess {
    /// `None` where it has ended, or is somebody else's.
    fn of(place: &Path) -> Option<Self> {
        Some(Self {
            place: place.to_owned(),
            environment: fs::read(place.join("environ")).ok()?,
        })
    }

    fn pairs(&self) -> impl Iterator<Item = &[u8]> {
        self.environment.split(|byte| *byte == 0)
    }

    /// Whether it is a rank before this one, by the variables that its launcher gave it.
    fn is_rank_before(&self, own: &Launched) -> bool {
        let value = |name: &str| {
            self.pairs().find_map(|pair| {
                let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
                String::from_utf8(value.to_vec()).ok()
            })
        };
        let other = Launched::read(&value);
        other.is_some_and(|other| {
            (other.variable, other.size) == (own.variable, own.size) && other.rank < own.rank
        })
    }
}

/// How a process was called, and by whom, and what decides which files it finds by the same words, and which
/// rank it is by them.
#[derive(PartialEq, Eq)]
struct Call {
    parent: String,
    program: PathBuf,
    words: Vec<u8>,
    directory: PathBuf,
    mounts: PathBuf,
    variables: Vec<Vec<u8>>,
}

/// Variables that say where the loader finds libraries, and Open MPI's its parts, and which rank is meant by
/// `--rank auto`.
const DECIDING: [&[u8]; 5] = [
    b"LD_",
    b"OPAL_PREFIX=",
    b"OMPI_VERSION=",
    b"PMIX_PREFIX=",
    b"JOB_COMPLETION_INDEX=",
];

impl Call {
    /// `None` where it has ended meanwhile.
    fn of(seen: SeenProcess) -> Option<Self> {
        let place = &seen.place;
        let after = stat_after_name(place)?;
        let decides = |pair: &&[u8]| DECIDING.iter().any(|name| pair.starts_with(name));
        Some(Self {
            mounts: fs::read_link(place.join("ns/mnt")).ok()?,
            variables: seen.pairs().filter(decides).map(<[u8]>::to_vec).collect(),
            parent: after.split(' ').nth(1)?.to_owned(),
            program: fs::read_link(place.join("exe")).ok()?,
            words: fs::read(place.join("cmdline")).ok()?,
            directory: fs::read_link(place.join("cwd")).ok()?,
        })
    }
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
            begun(
                Command::new("sleep").env("JOB_COMPLETION_INDEX", "7"),
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
        let is_before = |own: &Launched| {
            let seen = SeenProcess::of(&first).expect("it runs");
            seen.is_rank_before(own)
        };
        assert!(is_before(&launched(1)));
        assert!(!is_before(&launched(0)), "it is itself");
        let of_four = Launched {
            size: 4,
            ..launched(1)
        };
        assert!(!is_before(&of_four), "of another launcher");
        assert!(is_of_process(&first) && !is_of_process(Path::new("/proc/self")));
        let call = |place: &Path| SeenProcess::of(place).and_then(Call::of);
        let is_alike = |other: &Child| call(&first) == call(&place(other));
        let alike: Vec<bool> = all.iter().map(is_alike).collect();
        assert_eq!(alike, [true, true, false, false, false, false]);
        assert!(call(&first).is_some() && call(dir.path()).is_none());
        for child in &mut all {
            child.kill().expect("it runs");
            child.wait().expect("it is ours");
        }
    }
}
