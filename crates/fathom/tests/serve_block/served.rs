//! A served device that ends with its test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

pub(crate) struct Served {
    child: Child,
    uris: Vec<String>,
    says: BufReader<ChildStdout>,
    said: String,
    _dir: tempfile::TempDir,
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command
        .args(["serve", "block", "--front", "nbd"])
        .args(args);
    command
}

impl Served {
    /// Serves at a socket of its own unless the arguments name one.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::begun(command(args), args)
    }

    pub(crate) fn begun(mut command: Command, args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        if !args.contains(&"--unix") {
            command.arg("--unix").arg(dir.path().join("disk.sock"));
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut uris = Vec::new();
        let mut said = String::new();
        let mut says = BufReader::new(child.stdout.take().unwrap());
        for line in says.by_ref().lines() {
            let line = line.unwrap();
            match line.strip_prefix("listening on ") {
                Some(uri) => uris.push(uri.to_owned()),
                None if line.starts_with("device: ") => break,
                None => said = said + &line + "\n",
            }
        }
        assert!(!uris.is_empty(), "the server did not start");
        Self {
            child,
            uris,
            says,
            said,
            _dir: dir,
        }
    }

    /// What a server says that does not start.
    pub(crate) fn refused(args: &[&str]) -> String {
        let output = command(args).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    /// What it said before it listened.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// Where clients reach it.
    pub(crate) fn uri(&self) -> String {
        self.uris[0].clone()
    }

    /// The same, by every address that it has.
    pub(crate) fn uris(&self) -> &[String] {
        &self.uris
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and says with which code it did.
    pub(crate) fn end(self) -> Option<i32> {
        self.last_words().0
    }

    /// Asks it to end: with which code it did, and what it said meanwhile.
    pub(crate) fn last_words(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        assert!(kill.unwrap().success());
        let mut words = String::new();
        self.says.read_to_string(&mut words).unwrap();
        (self.child.wait().unwrap().code(), words)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _it_may_have_been_waited_for = self.child.wait();
    }
}
