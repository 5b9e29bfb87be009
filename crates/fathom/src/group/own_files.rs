//! Files that one process alone can read, where all ranks would read them.

use super::front::{FrontMark, MARK, OWN, names_hosts};
use super::launched::is_launched;
use crate::exit::Usage;
use anyhow::Result;
use clap::ArgMatches;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use workload::{Phase, settings};

/// What a rank says goes where this process says it.
const PASSED_ON: [&str; 2] = ["1", "2"];
/// Job files of fio, and what they include.
const JOB: &str = "fio";
/// Arguments, and options in files that arguments name, that name a file which each rank reads to its end.
const READ: [&str; 9] = [
    "config",
    JOB,
    "fio-arguments",
    "layout-manifest",
    "scenario",
    "cacert",
    "rows",
    "base",
    "candidate",
];
const WHAT_TO_DO: &str = "put what it holds into a file that all hosts have, and name that";

/// Who reads the files that a command names, on its line and in files: of some each byte is there for one
/// process, and all others would wait for ever for what nobody writes, or find nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileReaders {
    /// This process alone.
    One,
    /// Ranks that this process starts on the hosts of `--hosts`.
    RanksOnHosts,
    /// This process, which one with `--hosts` started, and the other ranks.
    RanksOfFront,
    /// This process and the other ranks of a launcher that was started by hand.
    RanksOfLauncher,
}

impl FileReaders {
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        let mark = matches.try_get_one::<FrontMark>(MARK);
        match (is_launched(), mark.ok().flatten()) {
            (true, Some(_)) => Self::RanksOfFront,
            (true, None) => Self::RanksOfLauncher,
            (false, _) if names_hosts(matches) => Self::RanksOnHosts,
            (false, _) => Self::One,
        }
    }

    /// Those of a command, before any file is read that its line names.
    ///
    /// # Errors
    /// One of these files is one that only one process could read.
    pub(crate) fn checked(matches: &ArgMatches) -> Result<Self> {
        let readers = Self::of(matches);
        readers.check_line(matches).map_err(Usage)?;
        Ok(readers)
    }

    fn check_line(self, matches: &ArgMatches) -> Result<(), String> {
        for id in matches.ids().map(clap::Id::as_str) {
            let given = matches.try_get_raw(id).ok().flatten();
            let mut given = given.into_iter().flatten().filter(|_| !is_front_s(id));
            let refused = given.find_map(|value| Some((value.display(), self.refusal(id, value)?)));
            if let Some((told, why)) = refused {
                return Err(format!("{told} {why}"));
            }
        }
        Ok(())
    }

    /// Refuses such files as options of these phases, which may stand in a file.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn check_phases<'a>(self, phases: impl Iterator<Item = &'a Phase>) -> Result<()> {
        for Phase { name, workload } in phases.filter(|_| self != Self::One) {
            let targets = workload.targets.iter();
            let targets = targets.map(|target| ("target", target.display().to_string()));
            let mut options = targets.chain(settings::shown(workload));
            let refused = options
                .find_map(|(key, text)| Some((self.refusal(key, text.as_ref())?, key, text)));
            if let Some((why, key, text)) = refused {
                return Err(Usage(format!("{name}: {key} {text}: it {why}")).into());
            }
        }
        Ok(())
    }

    /// The text of a job file, or of one that it includes.
    ///
    /// # Errors
    /// As [`sys::text_at_most`], or only one process could read it.
    pub(crate) fn text_of_job(self, path: &str) -> io::Result<String> {
        match self.refusal(JOB, path.as_ref()) {
            Some(why) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("it {why}"),
            )),
            None => sys::text_at_most(path.as_ref(), sys::MOST_OF_A_TEXT),
        }
    }

    /// What is wrong with a value of an option as the name of a file.
    fn refusal(self, id: &str, value: &OsStr) -> Option<String> {
        let others = match self {
            Self::One => return None,
            Self::RanksOnHosts => "no rank on a host of --hosts",
            Self::RanksOfFront | Self::RanksOfLauncher => "no other rank",
        };
        let is_read = READ.contains(&id);
        // An option of fio may name what it writes (`--output=/dev/stdout`).
        let is_read_alone = is_read && !value.as_bytes().starts_with(b"-");
        // A value may be `newer=FILE` among others, or an option of fio.
        let parts = value.as_bytes().split(|byte| b"=,".contains(byte));
        let paths = parts.chain([value.as_bytes()]).map(OsStr::from_bytes);
        let mut open = paths.filter_map(|path| descriptor(Path::new(path)));
        if self == Self::RanksOfLauncher {
            // Each rank may have one of its own: input that its launcher gave it, or `<(command)` of a shell.
            if open.any(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
                return None;
            }
        } else if open.any(|number| is_read_alone || !PASSED_ON.contains(&number.as_str())) {
            return Some(format!(
                "is what a process of this machine has open, and {others} reads it: {WHAT_TO_DO}"
            ));
        }
        let facts = is_read.then(|| std::fs::metadata(value).ok())??;
        let what = of_one_reader(&facts)?;
        Some(format!(
            "is {what} and no regular file: what one process reads of it {others} finds there; {WHAT_TO_DO}"
        ))
    }
}

/// Whether ranks are not told of it.
fn is_front_s(id: &str) -> bool {
    OWN.iter().any(|own| own.strip_prefix("--") == Some(id))
}

/// What gives each byte to one of its readers.
fn of_one_reader(facts: &Metadata) -> Option<&'static str> {
    /// `/dev/null` by its number, which has none for anybody.
    const NULL: u64 = (1 << 8) | 3;
    let kind = facts.file_type();
    let is_device = kind.is_char_device() && facts.rdev() != NULL;
    [
        (kind.is_fifo(), "a pipe"),
        (kind.is_socket(), "a socket"),
        (is_device, "a terminal or another device"),
    ]
    .into_iter()
    .find_map(|(is_it, what)| is_it.then_some(what))
}

/// The number under which this process has open what lies at a path, if it is open by that alone: of
/// another process the whole path. What the path leads to in the end no longer shows that it is open here,
/// and so its links are followed one by one.
fn descriptor(path: &Path) -> Option<String> {
    const MOST_LINKS: u32 = 40;
    let own = PathBuf::from("/proc").join(std::process::id().to_string());
    let mut at = std::env::current_dir().ok()?;
    let mut left: Vec<PathBuf> = reversed(path);
    let mut links = 0;
    while let Some(part) = left.pop() {
        match part.components().next()? {
            Component::Prefix(_) | Component::CurDir => {}
            Component::RootDir => at = "/".into(),
            Component::ParentDir => {
                at.pop();
            }
            Component::Normal(name) => {
                if at.starts_with("/proc") && at.ends_with("fd") {
                    let number = name.to_string_lossy().into_owned();
                    let is_own = at.starts_with(&own);
                    return Some(if is_own {
                        number
                    } else {
                        at.join(name).display().to_string()
                    });
                }
                at.push(name);
                if let Ok(to) = std::fs::read_link(&at) {
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    at.pop();
                    left.extend(reversed(&to));
                }
            }
        }
    }
    None
}

/// The parts of a path, the first last.
fn reversed(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueHint;
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    const ALL: [FileReaders; 4] = [
        FileReaders::One,
        FileReaders::RanksOnHosts,
        FileReaders::RanksOfFront,
        FileReaders::RanksOfLauncher,
    ];

    /// What is said of a command of `run` with `--hosts`.
    fn said(words: &[&str]) -> Result<(), String> {
        said_by(FileReaders::RanksOnHosts, words)
    }

    fn said_by(readers: FileReaders, words: &[&str]) -> Result<(), String> {
        let words = ["fathom", "run"].iter().chain(words);
        let matches = crate::verbs().try_get_matches_from(words).unwrap();
        readers.check_line(matches.subcommand().unwrap().1)
    }

    /// What is said of a file of workloads.
    fn said_of_file(readers: FileReaders, text: &str) -> Result<(), String> {
        let stages = workload::parse_config(text, &workload::Workload::default(), &[]).unwrap();
        let checked = readers.check_phases(stages.iter().flat_map(|stage| &stage.0));
        checked.map_err(|why| why.to_string())
    }

    fn pipe_in(dir: &tempfile::TempDir) -> String {
        let pipe = dir.path().join("pipe").display().to_string();
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        pipe
    }

    #[test]
    fn what_only_this_process_has_open_is_refused_by_whatever_name() {
        let dir = tempfile::tempdir().unwrap();
        let link = |name: &str, to: &str| {
            let link = dir.path().join(name);
            symlink(to, &link).unwrap();
            link.display().to_string()
        };
        let (input, folder) = (link("a", "/dev/stdin"), link("b", "/proc/self"));
        let (of_folder, of_link) = (format!("{folder}/fd/0"), link("c", "a"));
        let up = "../".repeat(20);
        let of_other = format!("/proc/{}/fd/1", std::os::unix::process::parent_id());
        for name in [
            "/dev/stdin",
            "//dev/stdin",
            "/dev/./stdin",
            "/dev/../dev/stdin",
            &format!("{up}dev/stdin"),
            "/dev/fd/0",
            "/dev/fd/63",
            "/dev/fd//0",
            "/proc/self/fd/0",
            "/proc/thread-self/fd/0",
            "/dev/stdout",
            &of_other,
            &input,
            &of_folder,
            &of_link,
        ] {
            for words in [
                &["x", "-c", name][..],
                &[&format!("-c{name}")],
                &[&format!("--config={name}")],
                &["--fio", name],
                &["--", name],
            ] {
                let why = said(words).unwrap_err();
                assert!(why.starts_with(name) && why.contains("has open"), "{why}");
            }
        }
        let newer = said(&["x", "--where", "name=a,newer=/dev/stdin"]);
        assert!(newer.is_err(), "what is a part of a value");
        for words in [
            &["x", "--records", "/dev/stdout", "--csv-output", "/dev/fd/2"][..],
            &["/mnt/dev/stdin", "-c", "missing"],
            &["x", "--hostfile", "/dev/stdin"],
            &["--", "--name=j", "--output=/dev/stdout"],
            &["x", "-c", "/dev/null"],
        ] {
            assert_eq!(said(words), Ok(()), "{words:?}");
        }
        let written = said(&["x", "--records", "/dev/fd/63"]);
        assert!(written.is_err(), "what ranks say goes elsewhere");
    }

    #[test]
    fn what_ranks_read_is_a_file_that_each_finds_whole() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = pipe_in(&dir);
        let socket = dir.path().join("socket").display().to_string();
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (name, what) in [
            (pipe.as_str(), "a pipe"),
            (&socket, "a socket"),
            ("/dev/zero", "another device"),
        ] {
            for words in [
                &["x", "-c", name][..],
                &["--fio", name],
                &["x", "--layout-manifest", name],
                &["--", name],
            ] {
                let why = said(words).unwrap_err();
                assert!(why.starts_with(name) && why.contains(what), "{why}");
            }
            let others = ["x", "--records", name, "--hostfile", name];
            assert_eq!(said(&others), Ok(()), "{name}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(said(&["x", "-c", file.path().to_str().unwrap()]), Ok(()));
    }

    #[test]
    fn what_files_name_that_ranks_read_is_looked_at_as_what_the_line_names() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = pipe_in(&dir);
        let listed = format!("target = 'd'\nlayout-manifest = '{pipe}'");
        let second = format!("target = 'x'\n[[phase]]\n[[phase]]\nlayout-manifest = '{pipe}'");
        for readers in ALL {
            let is_refused = |said: Result<(), String>, words: &str| {
                let told = said.err();
                let is_told = told.as_ref().is_some_and(|why| why.contains(words));
                let is_as_wanted = is_told || (readers == FileReaders::One && told.is_none());
                assert!(is_as_wanted, "{readers:?}: {told:?}");
            };
            is_refused(said_of_file(readers, &listed), "is a pipe");
            is_refused(said_of_file(readers, &second), "is a pipe");
            is_refused(said_by(readers, &["x", "-c", &pipe]), "is a pipe");
            assert_eq!(said_of_file(readers, "target = 'x'\nthreads = 2"), Ok(()));
            if readers != FileReaders::One {
                let why = readers.text_of_job(&pipe).unwrap_err().to_string();
                assert!(why.contains("it is a pipe"), "{why}");
            }
            // By a launcher each rank may have been given an input of its own, or have made one.
            let has_input = matches!(readers, FileReaders::One | FileReaders::RanksOfLauncher);
            for own in ["/dev/stdin", "/dev/fd/63"] {
                let input = said_by(readers, &["x", "-c", own]);
                assert_eq!(input.is_ok(), has_input, "{readers:?} {own}: {input:?}");
            }
            let input = said_of_file(readers, "target = '/dev/stdin'");
            assert_eq!(input.is_ok(), has_input, "{readers:?}: {input:?}");
        }
    }

    /// Options that name something else than a file which ranks read to its end, and what it is.
    const NOT_READ: [(&str, &[&str]); 4] = [
        (
            "is written",
            &[
                "output",
                "records",
                "json-output",
                "csv-output",
                "json-histogram",
                "hdr-log",
                "report",
                "card",
                "export-layout-manifest",
            ],
        ),
        ("is measured", &["target", "path", "allow-destroy"]),
        ("is a directory of the kernel", &["server-cgroup"]),
        ("is looked at before it is opened", &["mpi"]),
    ];

    #[test]
    fn every_file_that_ranks_read_is_looked_at() {
        let verbs = crate::verbs();
        let of_hosts =
            |verb: &&clap::Command| verb.get_arguments().any(|arg| arg.get_id() == "hosts");
        let mut seen = BTreeSet::new();
        for arg in verbs
            .get_subcommands()
            .filter(of_hosts)
            .flat_map(clap::Command::get_arguments)
        {
            let id = arg.get_id().as_str();
            let is_place = matches!(
                arg.get_value_hint(),
                ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
            );
            let names = arg.get_value_names().unwrap_or_default();
            let is_named_so =
                |name: &str| ["FILE", "PATH", "DIR"].iter().any(|of| name.contains(of));
            if is_place || names.iter().any(|name| is_named_so(name)) || READ.contains(&id) {
                seen.insert(id);
                let reasons = NOT_READ.iter().filter(|(_, ids)| ids.contains(&id));
                let told = reasons.count() + usize::from(READ.contains(&id));
                assert_eq!(
                    told + usize::from(is_front_s(id)),
                    1,
                    "{id}: is it read by ranks?"
                );
            }
        }
        let listed = READ.iter().chain(NOT_READ.iter().flat_map(|(_, ids)| *ids));
        let gone: Vec<_> = listed.filter(|id| !seen.contains(*id)).collect();
        assert!(gone.is_empty(), "{gone:?}");
    }
}
