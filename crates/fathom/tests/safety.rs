//! Attempts to have data destroyed: whatever happens to a file between two runs or during one, what somebody wrote is still there.
#![allow(clippy::unwrap_used, reason = "a test ends at the first thing that does not work")]

#[path = "ground/run.rs"]
mod ground;

use ground::Ground;
use insta::assert_snapshot;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

const WRITE: [&str; 5] = ["run", "own", "--write-percent", "100", "--total-bytes"];
const LONG: &str = "60s";

/// Writes into a file without making it anew, as `cp` does.
fn overwrite(file: &std::path::Path, content: &[u8]) {
    File::options().write(true).open(file).unwrap().write_all(content).unwrap();
}

#[test]
fn what_lies_in_a_file_whose_run_was_killed_is_written_to_only_when_it_is_named_and_then_it_is_ours_again() {
    let ground = Ground::new();
    let long = ["run", "own", "--file-size", "1M", "--write-percent", "100", "--duration", LONG];
    let run = ground.start(&long);
    run.wait_until_busy();
    run.signal("KILL");
    run.end();
    overwrite(&ground.path("own"), b"important");
    let write = [&WRITE[..], &["1M"]].concat();
    assert_snapshot!(ground.refused(&write), @"own: the last run on it was killed, so what it holds cannot be told from what somebody wrote since; if it may be destroyed, add --allow-destroy own once");
    assert!(ground.refused(&[&write[..], &["--dry-run"]].concat()).contains("was killed"));
    assert!(ground.read("own").starts_with(b"important"));
    ground.fathom(&["run", "own", "--total-bytes", "64k"]).expect(0);
    ground.fathom(&[&write[..], &["--allow-destroy", "own"]].concat()).expect(0);
    ground.fathom(&write).expect(0);
}

#[test]
fn a_file_that_somebody_wrote_to_is_foreign_even_if_its_time_was_set_back() {
    let ground = Ground::new();
    let write = [&WRITE[..], &["64k"]].concat();
    ground.fathom(&[&write[..], &["--file-size", "64k"]].concat()).expect(0);
    ground.fathom(&write).expect(0);
    let path = ground.path("own");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    overwrite(&path, b"important");
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert!(ground.refused(&write).contains("its inode was changed since Fathom made it"));
    assert!(ground.read("own").starts_with(b"important"));
}

#[test]
fn a_run_that_fails_before_it_starts_does_not_make_its_own_file_foreign() {
    let ground = Ground::new();
    let write = [&WRITE[..], &["64k"]].concat();
    ground.fathom(&[&write[..], &["--file-size", "64k"]].concat()).expect(0);
    // The limit is met while the file is made longer, when the mark is open.
    let mut grown = ground.within("ulimit -f 64", &[&write[..], &["--file-size", "1M"]].concat());
    assert!(!grown.status().unwrap().success());
    ground.fathom(&write).expect(0);
}

#[test]
fn a_second_writer_is_refused_by_name_and_a_reader_beside_a_writer_is_told() {
    let ground = Ground::new();
    let run = ground.start(&["run", "own", "--file-size", "1M", "--write-percent", "100", "--duration", LONG]);
    run.wait_until_busy();
    for more in [&["--dry-run"][..], &[], &["--allow-destroy", "own"]] {
        let ended = ground.fathom(&[&WRITE[..], &["64k"], more].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        let message = ended.error();
        assert!(message.starts_with("own is being written to by process ") && message.contains("(fathom)"), "{message}");
    }
    ground.fathom(&["run", "own", "--total-bytes", "64k", "--records", "r.jsonl"]).expect(0);
    let notices = ground.record("r.jsonl").notices;
    assert!(notices.iter().any(|notice| notice.contains(" writes to own at the same time")), "{notices:?}");
    run.signal("TERM");
    run.end().expect(143);
    ground.fathom(&[&WRITE[..], &["64k"]].concat()).expect(0);
}

#[test]
fn phases_that_run_together_write_to_one_file() {
    let ground = Ground::new();
    let job = ["--name=a", "--filename=own", "--size=256k", "--rw=write", "--name=b", "--filename=own", "--size=256k", "--rw=randwrite"];
    ground.fathom(&[&["run", "--"], &job[..]].concat()).expect(0);
    ground.fathom(&[&["run", "--"], &job[..]].concat()).expect(0);
    ground.fathom(&[&WRITE[..], &["64k", "--threads", "4", "--lock-mode", "full"]].concat()).expect(0);
}

#[test]
fn what_is_no_storage_is_refused_by_its_kind_and_never_waited_for() {
    let ground = Ground::new();
    assert!(Command::new("mkfifo").arg(ground.path("fifo")).status().unwrap().success());
    let _listener = UnixListener::bind(ground.path("socket")).unwrap();
    symlink("two", ground.path("one")).unwrap();
    symlink("one", ground.path("two")).unwrap();
    let mut commands = Vec::new();
    for target in ["fifo", "socket", "one", "/dev/null", "/dev/zero", "/dev/full"] {
        for more in ["", " --write-percent 100", " --dry-run"] {
            commands.push(format!("run {target}{more}"));
        }
    }
    commands.push("run -- --name=x --filename=fifo --rw=read --runtime=1".into());
    let messages: Vec<String> = commands.iter().map(|line| ground.refused(&line.split(' ').collect::<Vec<_>>())).collect();
    let mut different = messages.clone();
    different.dedup();
    assert_snapshot!(different.join("\n"), @r"
    fifo is a FIFO, not storage; name a regular file or a block device (`lsblk` lists them)
    socket is a socket, not storage; name a regular file or a block device (`lsblk` lists them)
    one leads nowhere: its symlinks go in a circle; name the file itself
    /dev/null is a character device, not storage; name a regular file or a block device (`lsblk` lists them)
    /dev/zero is a character device, not storage; name a regular file or a block device (`lsblk` lists them)
    /dev/full is a character device, not storage; name a regular file or a block device (`lsblk` lists them)
    fifo is a FIFO, not storage; name a regular file or a block device (`lsblk` lists them)
    ");
}
