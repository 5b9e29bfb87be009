//! A served device, those who use it, and what each side counted.

use crate::log::{self, Asked, Entry};
use record::{Measurements, Record};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A device that ends with its calibration.
pub(crate) struct Device<'a> {
    fathom: &'a Path,
    server: Child,
    directory: tempfile::TempDir,
    /// What its clients counted.
    claimed: Measurements,
}

/// What each side says of the same requests.
pub(crate) struct Sides {
    pub(crate) entries: Vec<Entry>,
    pub(crate) client: Measurements,
    /// The log as `fathom import` reads it.
    pub(crate) imported: Measurements,
    /// What the device told while it ran.
    pub(crate) seen: Measurements,
}

fn said(output: std::io::Result<std::process::Output>, what: &str) -> Result<Vec<u8>, String> {
    let output = output.map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{what}: {}: {why}", output.status))
}

/// The first record of a text.
fn record(text: &[u8]) -> Result<Record, String> {
    let told = |error: serde_json::Error| format!("a record: {error}");
    match serde_json::from_slice::<Vec<Record>>(text) {
        Ok(mut records) if !records.is_empty() => Ok(records.remove(0)),
        Ok(_) => Err("no record".to_owned()),
        Err(_) => serde_json::from_slice(text).map_err(told),
    }
}

impl<'a> Device<'a> {
    /// Serves a device of so many bytes that misbehaves so, and waits until it can be reached.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn serve(fathom: &'a Path, size: &str, spec: Option<&str>) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", fathom.display());
        let directory = tempfile::tempdir().map_err(told)?;
        let path = |name: &str| directory.path().join(name);
        let mut command = Command::new(fathom);
        command
            .args(["serve", "block", "--size", size, "--unix"])
            .arg(path("disk"));
        command
            .arg("--control")
            .arg(path("control"))
            .arg("--log")
            .arg(path("log"));
        command.args(spec.map(|spec| format!("--misbehave={spec}")));
        let mut server = command.stdout(Stdio::piped()).spawn().map_err(told)?;
        let says = server.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(says).lines().map_while(Result::ok);
        if !lines.any(|line| line.starts_with("device: ")) {
            let _it_has_ended_by_itself = server.wait();
            return Err(format!(
                "a device with {} does not start",
                spec.unwrap_or("no models")
            ));
        }
        Ok(Self {
            fathom,
            server,
            directory,
            claimed: Measurements::default(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Does one workload on the device; exit code 1 is that of failed operations and verifications,
    /// which are what is looked for.
    ///
    /// # Errors
    /// No record came of it.
    pub(crate) fn run(&mut self, words: &[&str]) -> Result<Record, String> {
        let uri = format!("nbd+unix:///?socket={}", self.path("disk").display());
        let written = self.path("record.json");
        let mut command = Command::new(self.fathom);
        command.args([
            "run",
            &uri,
            "--no-live",
            "--allow-destroy",
            &uri,
            "--force",
            "--json-output",
        ]);
        let output = command.arg(&written).args(words).output();
        let output = output.map_err(|error| format!("fathom run: {error}"))?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(format!(
                "fathom run {words:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        let text = std::fs::read(&written).map_err(|error| format!("fathom run: {error}"))?;
        let record = record(&text)?;
        self.claimed.merge(&record.warmup);
        self.claimed.merge(&record.operations);
        Ok(record)
    }

    /// Tells the device a line.
    ///
    /// # Errors
    /// It was refused.
    pub(crate) fn tell(&self, line: &str) -> Result<Vec<u8>, String> {
        let mut command = Command::new(self.fathom);
        command
            .args(["serve", "block", "--tell", line, "--control"])
            .arg(self.path("control"));
        said(command.output(), line)
    }

    /// Ends the device, and collects what each side says.
    ///
    /// # Errors
    /// One of them says nothing.
    pub(crate) fn end(mut self) -> Result<Sides, String> {
        let seen: serde_json::Value = serde_json::from_slice(&self.tell("seen")?)
            .map_err(|error| format!("seen: {error}"))?;
        let seen = serde_json::from_value(seen["operations"].clone());
        let pid = self.server.id().to_string();
        said(
            Command::new("kill").arg(pid).output(),
            "the end of the device",
        )?;
        let ended = self
            .server
            .wait()
            .map_err(|error| format!("the device: {error}"))?;
        if !ended.success() {
            return Err(format!("the device: {ended}"));
        }
        let log = self.path("log");
        let import = Command::new(self.fathom).arg("import").arg(&log).output();
        Ok(Sides {
            entries: log::read(&log)?,
            client: std::mem::take(&mut self.claimed),
            imported: record(&said(import, "fathom import")?)?.operations,
            seen: seen.map_err(|error| format!("seen: {error}"))?,
        })
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        let _it_may_have_ended = self.server.kill();
        let _it_may_have_been_waited_for = self.server.wait();
    }
}

impl Sides {
    /// Where the counts of client, device and log differ: nothing where all is well.
    pub(crate) fn disagreements(&self) -> Vec<String> {
        let counted = |asked: Asked| {
            let of = self.entries.iter().filter(|entry| entry.asked == asked);
            let (failed, good): (Vec<&Entry>, Vec<&Entry>) = of.partition(|entry| entry.failed);
            let bytes: u64 = good.iter().map(|entry| entry.length).sum();
            (good.len() as u64, bytes, failed.len() as u64)
        };
        let mut out = Vec::new();
        for (kind, asked) in [("read", Asked::Read), ("write", Asked::Write)] {
            let of = |side: &Measurements| {
                let side = side.kind(kind).cloned().unwrap_or_default();
                (side.count, side.bytes, side.errors)
            };
            let sides = [
                ("client", of(&self.client)),
                ("device", of(&self.seen)),
                ("import", of(&self.imported)),
            ];
            let log = counted(asked);
            for (name, side) in sides.into_iter().filter(|(_, side)| *side != log) {
                out.push(format!("{kind}: the {name} counted (operations, bytes, errors) {side:?}, the log {log:?}"));
            }
        }
        out
    }
}
