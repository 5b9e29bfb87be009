//! Files that are this process's alone.

use super::OWN;
use clap::ArgMatches;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

/// What a rank says goes where this process says it.
const PASSED_ON: [&str; 2] = ["1", "2"];
/// Arguments that name a file which each rank reads to its end.
const READ: [&str; 9] = [
    "config",
    "fio",
    "fio-arguments",
    "layout-manifest",
    "scenario",
    "cacert",
    "rows",
    "base",
    "candidate",
];
const WHAT_TO_DO: &str = "put what it holds into a file that all hosts have, and name that";

/// Refuses what this process alone has open, and what only one process can read: a rank would wait for
/// ever for what nobody writes, or find nothing.
pub(super) fn refuse_own_files(matches: &ArgMatches) -> Result<(), String> {
    for id in matches.ids().map(clap::Id::as_str) {
        let given = matches.try_get_raw(id).ok().flatten();
        if !is_front_s(id) {
            let mut given = given.into_iter().flatten();
            given.try_for_each(|value| check(id, value))?;
        }
    }
    Ok(())
}

/// Whether ranks are not told of it.
fn is_front_s(id: &str) -> bool {
    OWN.iter().any(|own| own.strip_prefix("--") == Some(id))
}

fn check(id: &str, value: &OsStr) -> Result<(), String> {
    let (told, is_read) = (value.display(), READ.contains(&id));
    // An option of fio may name what it writes (`--output=/dev/stdout`).
    let is_read_alone = is_read && !value.as_bytes().starts_with(b"-");
    // A value may be `newer=FILE` among others, or an option of fio.
    let parts = value.as_bytes().split(|byte| b"=,".contains(byte));
    let mut paths = parts.chain([value.as_bytes()]).map(OsStr::from_bytes);
    let is_own = |number: &String| is_read_alone || !PASSED_ON.contains(&number.as_str());
    if paths.any(|path| descriptor(Path::new(path)).as_ref().is_some_and(is_own)) {
        return Err(format!(
            "{told} is what a process of this machine has open, and no rank on a host of --hosts reads it: {WHAT_TO_DO}"
        ));
    }
    let facts = std::fs::metadata(value).ok().filter(|_| is_read);
    match facts.and_then(|facts| of_one_reader(&facts)) {
        Some(what) => Err(format!(
            "{told} is {what} and no regular file: what one process reads of it no rank on a host of --hosts finds there; {WHAT_TO_DO}"
        )),
        None => Ok(()),
    }
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
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// What is said of a command of `run`.
    fn said(words: &[&str]) -> Result<(), String> {
        let words = ["fathom", "run"].iter().chain(words);
        let matches = crate::verbs().try_get_matches_from(words).unwrap();
        refuse_own_files(matches.subcommand().unwrap().1)
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
        let pipe = dir.path().join("pipe").display().to_string();
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
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
    fn every_file_that_ranks_read_is_looked_at() {
        let verbs = crate::verbs();
        let of_hosts =
            |verb: &&clap::Command| verb.get_arguments().any(|arg| arg.get_id() == "hosts");
        let mut read = 0;
        for arg in verbs
            .get_subcommands()
            .filter(of_hosts)
            .flat_map(clap::Command::get_arguments)
        {
            let id = arg.get_id().as_str();
            let names = arg.get_value_names().unwrap_or_default();
            let is_file = names.iter().any(|name| name.contains("FILE"));
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let is_written = ["rite", "ppend"].iter().any(|word| help.contains(word));
            if is_file && !is_written && !is_front_s(id) {
                assert!(READ.contains(&id), "{id}: {help}");
                read += 1;
            }
        }
        assert!(read >= 5, "{read}");
    }
}
