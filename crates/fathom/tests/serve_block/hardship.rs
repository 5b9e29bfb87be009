//! Clients that die, sizes that cannot be, memory and room that run out, and an end while requests
//! are under way.

use crate::owners::Attached;
use crate::raw::{READ, WRITE};
use crate::served::Served;
use crate::tell;
use std::io::Write as _;
use std::process::Command;

/// Waits until the device says such a thing of itself.
fn until_seen(control: &str, wanted: impl Fn(&serde_json::Value) -> bool) {
    for _ in 0..2000 {
        let seen = serde_json::from_str(&tell(control, "seen")).unwrap();
        if wanted(&seen) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{}", tell(control, "seen"));
}

#[test]
fn a_client_that_dies_in_the_middle_of_a_request_is_missed_by_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let control = dir.path().join("control").to_str().unwrap().to_owned();
    let served = Served::start(&["--size", "1m", "--control", &control]);
    let mut lives = served.client();
    assert_eq!(lives.write(4096, &[7; 4096]), 0);
    // Within a head, within the data of a write, and before the data of a read is taken.
    let mut within_head = served.client();
    within_head
        .0
        .write_all(&0x2560_9513_u32.to_be_bytes())
        .unwrap();
    let mut within_data = served.client();
    within_data.ask(WRITE, 4096, 4096);
    within_data.0.write_all(&[9; 2048]).unwrap();
    let mut without_its_answer = served.client();
    (0..32).for_each(|_| without_its_answer.ask(READ, 0, 1 << 20));
    drop((within_head, within_data, without_its_answer));
    // And while what it asked for is held.
    tell(&control, "misbehave hang=100%");
    let mut held = served.client();
    held.ask(READ, 0, 512);
    until_seen(&control, |seen| seen["requests_in_flight"] == 1);
    drop(held);
    until_seen(&control, |seen| seen["requests_in_flight"] == 0);
    tell(&control, "misbehave none");
    let found = lives.read(4096, 4096).unwrap();
    assert!(found == [7; 4096], "half a write was done");
    assert_eq!(served.end(), Some(0));
}

#[test]
fn the_end_does_not_wait_for_requests_that_hang_and_they_are_told() {
    const ESHUTDOWN: u32 = 108;
    let served = Served::start(&["--size", "1m", "--misbehave", "write.hang=100%"]);
    let socket = served.uri().split_once("socket=").unwrap().1.to_owned();
    let mut client = served.client();
    client.ask(WRITE, 0, 512);
    client.0.write_all(&[1; 512]).unwrap();
    // What came before it has been answered, so that it has come.
    assert_eq!(client.read(0, 512).map(|bytes| bytes.len()), Ok(512));
    assert_eq!(served.end(), Some(0));
    assert_eq!(client.error(), ESHUTDOWN);
    assert!(
        !std::path::Path::new(&socket).exists(),
        "the socket is left"
    );
}

#[test]
fn sizes_that_cannot_be_are_refused_before_anything_is_made() {
    for (words, why) in [
        (&["--size", "1000", "--block-size", "512"][..], "1000"),
        (&["--size", "0"], "above 0"),
        (&["--size", "1m", "--block-size", "513"], "power of two"),
        (&["--size", "1m", "--block-size", "128k"], "power of two"),
        (&["--size", "8e"], "more than a device can have"),
        (&["--size", "7000000t"], "--size"),
        (&["--size", "99999999t"], "--size"),
        (&["--size=-1"], "--size"),
        (&[], "--size"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let said = Served::refused(&[words, &["--unix", socket.to_str().unwrap()]].concat());
        assert!(said.contains(why), "{words:?}: {said}");
        assert!(!socket.exists(), "{words:?}");
    }
}

#[test]
fn a_file_whose_end_no_block_reaches_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("disk");
    std::fs::write(&file, [7; 1000]).unwrap();
    let file = file.to_str().unwrap();
    let socket = dir.path().join("s");
    let words = ["--file", file, "--unix", socket.to_str().unwrap()];
    let said = Served::refused(&[&words[..], &["--block-size", "512"]].concat());
    assert!(said.contains("no multiple of blocks of 512"), "{said}");
    let served = Served::start(&["--file", file]);
    assert_eq!(served.client().read(999, 1), Ok(vec![7]));
    assert_eq!(served.end(), Some(0));
}

#[test]
fn a_request_that_is_no_multiple_of_the_block_is_refused_and_the_client_goes_on() {
    const EINVAL: u32 = 22;
    let served = Served::start(&["--size", "1m", "--block-size", "4k"]);
    let mut client = served.client();
    assert_eq!(client.write(0, &[1; 512]), EINVAL);
    assert_eq!(client.read(512, 4096), Err(EINVAL));
    assert_eq!(client.read((1 << 20) - 4096, 8192), Err(EINVAL));
    assert_eq!(client.write(4096, &[2; 4096]), 0);
    assert_eq!(client.read(4096, 4096), Ok(vec![2; 4096]));
    assert_eq!(served.end(), Some(0));
}

#[test]
#[ignore = "needs root and mount(8) of tmpfs"]
fn privileged_where_room_runs_out_writes_are_refused_and_nothing_else() {
    const ENOSPC: u32 = 28;
    let dir = tempfile::tempdir().unwrap();
    let Some(_unmounted) = small(dir.path()) else {
        return;
    };
    let file = dir.path().join("disk");
    let served = Served::start(&["--size", "16m", "--file", file.to_str().unwrap()]);
    let mut client = served.client();
    let piece = vec![5; 1 << 20];
    assert_eq!(client.write(0, &piece), 0);
    let later: Vec<u32> = (1..4).map(|at| client.write(at << 20, &piece)).collect();
    assert_eq!(later[1..], [ENOSPC; 2]);
    assert!(client.read(0, 1 << 20).unwrap() == piece);
    // What is given back can be written.
    assert_eq!(client.trim(0, 1 << 20), 0);
    assert_eq!(client.write(8 << 20, &piece), 0);
    assert!(client.read(8 << 20, 1 << 20).unwrap() == piece);
    assert_eq!(served.end(), Some(0));
}

/// The kernel takes the writes, finds no room for them when it is asked to flush, says so once, and
/// forgets them.
#[test]
#[ignore = "needs root, mount(8) of tmpfs and a loop device"]
fn privileged_after_a_flush_that_failed_no_client_is_told_that_anything_is_stable() {
    const EIO: u32 = 5;
    let dir = tempfile::tempdir().unwrap();
    let Some(_unmounted) = small(dir.path()) else {
        return;
    };
    let image = dir.path().join("image");
    std::fs::File::create(&image)
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    let device = Attached::new(&image);
    let served = Served::start(&["--file", &device.0]);
    let (mut one, mut other) = (served.client(), served.client());
    let piece = vec![5; 1 << 20];
    let taken: Vec<u32> = (0..4).map(|at| one.write(at << 20, &piece)).collect();
    assert_eq!((taken, other.write(5 << 20, &piece)), (vec![0; 4], 0));
    assert_ne!(one.flush(), 0, "the first is told");
    assert_eq!([other.flush(), one.flush(), other.flush()], [EIO; 3]);
    assert!(
        one.read(0, 512).is_ok(),
        "what can be read still can be saved"
    );
    assert_eq!(served.end(), Some(1), "it has failed");
}

/// Mounts a small file system there until what is returned is dropped; `None`, said, where this
/// cannot be.
fn small(at: &std::path::Path) -> Option<Unmount> {
    let at = at.to_str().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmp", at])
        .status();
    if mounted.is_ok_and(|status| status.success()) {
        return Some(Unmount(at.to_owned()));
    }
    println!("SKIPPED: needs mount(8) of tmpfs");
    None
}

/// A file behind which is a device whose reads hang, so that a server of that file hangs in its
/// backing.
#[test]
#[ignore = "needs root and nbdfuse"]
fn privileged_a_backing_that_hangs_does_not_hold_up_the_end() {
    if Command::new("nbdfuse").arg("--version").output().is_err() {
        println!("SKIPPED: needs nbdfuse");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (below, control, disk) = (path("below"), path("control"), path("disk"));
    let hangs = Served::start(&["--size", "1m", "--unix", &below, "--control", &control]);
    std::fs::write(&disk, "").unwrap();
    let fuse = Command::new("nbdfuse")
        .args([&disk, "--unix", &below])
        .spawn();
    let mut fuse = fuse.unwrap();
    let unmounted = Unmount(disk.clone());
    while std::fs::metadata(&disk).unwrap().len() == 0 {
        std::thread::yield_now();
    }
    let served = Served::start(&["--file", &disk, "--read-only"]);
    let mut client = served.client();
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
    tell(&control, "misbehave read.hang=100%");
    client.ask(READ, 512 << 10, 4096);
    until_seen(&control, |seen| seen["requests_in_flight"] == 1);
    let pid = served.pid().to_string();
    let told = Command::new("kill").arg(&pid).status();
    assert!(told.unwrap().success());
    // The kernel keeps the thread that hangs, and the number of the process with it, until the
    // backing answers: what has ended is its first thread.
    let ended = || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .unwrap()
            .contains(") Z ")
    };
    while !ended() {
        std::thread::yield_now();
    }
    tell(&control, "release");
    assert_eq!(served.end(), Some(1));
    drop(unmounted);
    fuse.wait().unwrap();
    assert_eq!(hangs.end(), Some(0));
}

/// Whatever came of the test, nothing stays mounted.
struct Unmount(String);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _it_goes_with_its_last_user = Command::new("umount").args(["-l", &self.0]).status();
    }
}
