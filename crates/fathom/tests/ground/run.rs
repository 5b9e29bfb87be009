//! The ground that tests of the program stand on: a directory on a disk, the program run in it, and
//! what it left there.
#![allow(dead_code, reason = "each test binary uses its own part")]

use record::{Record, read_records};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How often [`until`] looks, and how long it waits between two looks: a minute in all.
const LOOKS: u32 = 6000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// A user without rights, by the number that every Linux gives it.
pub(crate) const NOBODY: u32 = 65_534;

/// A directory of one test.
pub(crate) struct Ground(TempDir);

/// What lies at a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Directory {
        mode: u32,
    },
    /// Also a FIFO or a socket; `bytes` of a file that this user may read.
    File {
        mode: u32,
        modified: (i64, i64),
        bytes: Option<Vec<u8>>,
    },
    Link(PathBuf),
}

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None`: a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ground {
    /// Beside the build, because that lies on a disk; the system's directory for temporary files
    /// often lies in memory.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self(dir)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The program in this directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn fathom(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().unwrap())
    }

    /// The program in this directory, after words to the shell that starts it.
    pub(crate) fn within(&self, words: &str, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                &format!("{words}; exec \"$0\" \"$@\""),
                env!("CARGO_BIN_EXE_fathom"),
            ])
            .args(args);
        command
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env_remove("RUST_BACKTRACE");
        command
    }

    /// As [`Ground::start`], with a signal ignored from the beginning.
    pub(crate) fn start_ignoring(&self, signal: &str, args: &[&str]) -> Running {
        let mut command = self.within(&format!("trap '' {signal}"), args);
        Running {
            child: command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        }
    }

    /// Starts the program; it is killed when the test gives up.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running {
            child: self
                .command(args)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        }
    }

    /// The records of a file, all of them whole.
    pub(crate) fn records(&self, name: &str) -> Vec<Record> {
        let read = read_records(&self.path(name)).unwrap();
        assert_eq!(read.damaged, []);
        read.records
    }

    /// The one record of a file.
    pub(crate) fn record(&self, name: &str) -> Record {
        let [record] = <[Record; 1]>::try_from(self.records(name)).unwrap();
        record
    }

    /// Everything below the directory.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Found> {
        let mut out = BTreeMap::new();
        list(self.0.path(), &mut out);
        out
    }

    /// Runs what must be refused and returns the one message: exit code 2, no result, and nothing
    /// on disk is other than before.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        self.refused_by(&mut self.command(args))
    }

    /// As [`Ground::refused`], for a command that was made otherwise.
    pub(crate) fn refused_by(&self, command: &mut Command) -> String {
        let before = self.tree();
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, Some(2), "{command:?}\n{}", ended.stderr);
        assert_eq!(ended.stdout, "", "{command:?}");
        assert_eq!(self.tree(), before, "{command:?} changed something");
        self.shown(&ended.error())
    }

    /// A text with the directory's path as a word that is the same everywhere.
    pub(crate) fn shown(&self, text: &str) -> String {
        text.replace(&*self.0.path().to_string_lossy(), "[DIR]")
    }

    /// Command lines, words apart by spaces, and the message by which each is refused.
    pub(crate) fn refusals(&self, commands: &[&str]) -> String {
        let refused = |line: &str| self.refused(&line.split(' ').collect::<Vec<_>>());
        commands
            .iter()
            .map(|line| format!("$ fathom {line}\n{}\n", refused(line)))
            .collect()
    }
}

fn list(dir: &Path, out: &mut BTreeMap<PathBuf, Found>) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        let facts = fs::symlink_metadata(&path).unwrap();
        let found = if facts.is_symlink() {
            Found::Link(fs::read_link(&path).unwrap())
        } else if facts.is_dir() {
            list(&path, out);
            Found::Directory { mode: facts.mode() }
        } else {
            Found::File {
                mode: facts.mode(),
                modified: (facts.mtime(), facts.mtime_nsec()),
                bytes: facts.is_file().then(|| fs::read(&path).ok()).flatten(),
            }
        };
        out.insert(path, found);
    }
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The only message on standard error, without what clap says of usage.
    pub(crate) fn error(&self) -> String {
        assert_eq!(self.stderr.matches("error: ").count(), 1, "{}", self.stderr);
        let message = self
            .stderr
            .strip_prefix("error: ")
            .unwrap_or_else(|| panic!("not an error: {}", self.stderr));
        let said = ["\n\nUsage: ", "\n\nFor more information"]
            .iter()
            .fold(message, |said, end| {
                said.split(end).next().unwrap_or_default()
            });
        said.trim_end().to_owned()
    }

    /// The program ended by itself with this code and said nothing on standard error.
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (Some(code), ""),
            "{}",
            self.stdout
        );
        self
    }
}

/// A program that runs.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Waits until a worker is in the midst of its operations: setting up takes neither so much CPU
    /// time nor so many calls.
    pub(crate) fn wait_until_busy(&self) {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        until("a worker is busy", || {
            fs::read_dir(&tasks)
                .ok()?
                .flatten()
                .map(|task| task.path())
                .find(|task| is_worker(task) && (ticks(task) >= 3 || calls(task) >= 100))
        });
    }

    /// Waits until something has been written into a file.
    pub(crate) fn wait_until_filling(&self, file: &Path) {
        until("the file is being filled", || {
            fs::metadata(file)
                .ok()
                .filter(|facts| facts.blocks() * 512 >= 1 << 20)
        });
    }

    /// Waits until the program has read so many bytes.
    pub(crate) fn wait_until_read(&self, bytes: u64) {
        let account = format!("/proc/{}/io", self.child.id());
        until("the program has read enough", || {
            let text = fs::read_to_string(&account).ok()?;
            let read = text
                .lines()
                .find_map(|line| line.strip_prefix("rchar: "))?
                .parse::<u64>()
                .ok()?;
            (read >= bytes).then_some(())
        });
    }

    /// Sends `INT`, `TERM`, `KILL`, ….
    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Stops the process for at least so long, and lets it go on.
    pub(crate) fn stand_still(&self, time: Duration) {
        self.signal("STOP");
        let stat = format!("/proc/{}/stat", self.child.id());
        // The state is the first field after the name (proc_pid_stat(5)).
        until("the process is stopped", || {
            let text = fs::read_to_string(&stat).ok()?;
            text.rsplit(')')
                .next()?
                .trim_start()
                .starts_with('T')
                .then_some(())
        });
        tries()
            .take(usize::try_from(time.as_millis() / BETWEEN_LOOKS.as_millis()).unwrap() + 2)
            .for_each(drop);
        self.signal("CONT");
    }

    /// Sends several signals, one right after the other.
    pub(crate) fn signals(&self, names: &[&str]) {
        let process = self.child.id();
        let kills: Vec<String> = names
            .iter()
            .map(|name| format!("kill -{name} {process}"))
            .collect();
        let sent = Command::new("sh")
            .args(["-c", &kills.join("; ")])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        let mut texts = [String::new(), String::new()];
        let [out, err] = &mut texts;
        std::thread::scope(|scope| {
            let (mut stdout, mut stderr) = (
                self.child.stdout.take().unwrap(),
                self.child.stderr.take().unwrap(),
            );
            scope.spawn(move || stdout.read_to_string(out).unwrap());
            scope.spawn(move || stderr.read_to_string(err).unwrap());
        });
        let [stdout, stderr] = texts;
        Ended {
            code: self.child.wait().unwrap().code(),
            stdout,
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _it_may_have_been_waited_for = self.child.wait();
    }
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{name} {process}")])
        .status()
        .unwrap();
    assert!(sent.success());
}

fn is_worker(task: &Path) -> bool {
    fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("fathom-"))
}

/// CPU time of a thread in clock ticks (proc(5): fields 14 and 15, the second one in parentheses
/// may hold spaces).
fn ticks(task: &Path) -> u64 {
    let stat = fs::read_to_string(task.join("stat")).unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Calls of a thread that read or wrote.
fn calls(task: &Path) -> u64 {
    let text = fs::read_to_string(task.join("io")).unwrap_or_default();
    let count = |line: &str| {
        line.strip_prefix("syscr: ")
            .or_else(|| line.strip_prefix("syscw: "))?
            .parse::<u64>()
            .ok()
    };
    text.lines().filter_map(count).sum()
}

/// Looks until there is something to see, and fails after a minute.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    tries()
        .find_map(|()| look())
        .unwrap_or_else(|| panic!("waited in vain until {what}"))
}

/// As many tries as [`until`] makes, with a pause between two.
pub(crate) fn tries() -> impl Iterator<Item = ()> {
    (0..LOOKS).map(|number| {
        if number > 0 {
            std::thread::park_timeout(BETWEEN_LOOKS);
        }
    })
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Says that a test did nothing, and why.
#[allow(clippy::print_stdout, reason = "a test that did nothing must say so")]
pub(crate) fn skipped(needs: &str) {
    println!("SKIPPED: needs {needs}");
}

/// Says what somebody has to clear away by hand; a panic here could hide the one that led here.
#[allow(
    clippy::print_stderr,
    reason = "a destructor has no other way to say it"
)]
pub(crate) fn complain(text: &str) {
    eprintln!("{text}");
}
