//! What a launcher says of its version.

use crate::tell::say;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use sys::{Clock as _, MachineClock};

/// A launcher on a slow file system may take seconds to be read.
const PATIENCE_NS: u64 = 60_000_000_000;
/// After so long it is said what is waited for.
const SAID_NS: u64 = 3_000_000_000;
/// More than any launcher says of its version.
const MOST_SAID: u64 = 64 << 10;
const LOOK_NS: u64 = 5_000_000;
/// What it has said comes at once when it has ended.
const LEFT: Duration = Duration::from_millis(200);
const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

/// What it prints on both streams. A script may leave something behind that holds them open: that is not waited for,
/// and asked to end.
///
/// # Errors
/// It cannot be started, or does not end, or a signal came.
pub(super) fn said(program: &Path) -> Result<String, String> {
    let mut asked = Command::new(program);
    asked.arg("--version").stdin(Stdio::null());
    asked.stdout(Stdio::piped()).stderr(Stdio::piped());
    asked.process_group(0);
    let cannot = |e: std::io::Error| format!("cannot start {}: {e}", program.display());
    // Nobody but this process ends what it starts in a group of its own.
    sys::catch_signals();
    let mut child = asked.spawn().map_err(cannot)?;
    let (stdout, stderr) = (heard(child.stdout.take()), heard(child.stderr.take()));
    let clock = MachineClock::monotonic();
    let began = clock.now();
    let (until, mut says) = (
        began.saturating_add(PATIENCE_NS),
        began.saturating_add(SAID_NS),
    );
    let has_ended = loop {
        let is_wanted = clock.now() < until && sys::caught_signal().is_none();
        match child.try_wait() {
            Ok(None) if is_wanted => clock.sleep_until(clock.now() + LOOK_NS),
            ended => break matches!(ended, Ok(Some(_))),
        }
        if clock.now() >= says {
            say(&format!("waiting for `{} --version`", program.display()));
            says = u64::MAX;
        }
    };
    let said = [stdout, stderr].map(all).concat();
    let signal = if has_ended { SIGTERM } else { SIGKILL };
    let _nobody_may_be_left = sys::signal_group(child.id(), signal);
    if !has_ended {
        let _it_is_killed = child.wait();
        if let Some(caught) = sys::caught_signal() {
            return Err(format!("stopped by signal {}", caught.signal));
        }
        let seconds = PATIENCE_NS / 1_000_000_000;
        return Err(format!(
            "`{} --version` has not ended in {seconds} s; it is started before the ranks are, to know its words",
            program.display()
        ));
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// What comes through a pipe, as much as is of use: who says more writes to nobody.
fn heard(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (tell, told) = channel();
    if let Some(pipe) = pipe {
        let thread = std::thread::Builder::new().name("fathom-version".into());
        let pipe = pipe.take(MOST_SAID);
        let _without_a_thread_nothing_is_heard = thread.spawn(move || hear(pipe, &tell));
    }
    told
}

fn hear(mut pipe: impl Read, tell: &Sender<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(bytes @ 1..) = pipe.read(&mut buffer) {
        if tell.send(buffer[..bytes].to_vec()).is_err() {
            return;
        }
    }
}

fn all(told: Receiver<Vec<u8>>) -> Vec<u8> {
    std::iter::from_fn(|| told.recv_timeout(LEFT).ok())
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(dir: &Path, lines: &str) -> std::path::PathBuf {
        let path = dir.join("mpirun");
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        let own = |text: &str| Command::new("sh").args(["-c", text]).arg(&path).status();
        assert!(own("chmod +x \"$0\"").unwrap().success());
        path
    }

    #[test]
    fn who_says_without_end_is_heard_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let flood = script(dir.path(), "while :; do echo yes || exit; done");
        let said = said(&flood).unwrap();
        assert!(said.starts_with("yes\nyes\n"), "{}", said.len());
        assert!(said.len() <= 2 * usize::try_from(MOST_SAID).unwrap());
    }

    #[test]
    fn what_a_script_leaves_behind_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let lines = "sleep 300 &\necho $! >\"$0.left\"\necho one; echo two >&2";
        let path = script(dir.path(), lines);
        assert_eq!(said(&path).unwrap(), "one\ntwo\n");
        let left = std::fs::read_to_string(path.with_extension("left")).unwrap();
        let there = format!("/proc/{}/stat", left.trim());
        let clock = MachineClock::monotonic();
        let is_there = || {
            let stat = std::fs::read_to_string(&there).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z")
        };
        for _ in 0..500 {
            if !is_there() {
                return;
            }
            clock.sleep_until(clock.now() + 10_000_000);
        }
        panic!("it is left");
    }
}
