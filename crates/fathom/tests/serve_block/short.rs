//! A device in memory on a machine, or in a control group, that has not so much.

use crate::limited::Limited;
use crate::raw::{READ, Raw, WRITE};
use crate::served::{Served, command};
use crate::tell;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

impl Served {
    /// Serves in a control group; what it says beside its results goes to the file.
    pub(crate) fn start_in(group: &Path, said: &str, args: &[&str]) -> Self {
        let plain = command(args);
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(group)
            .arg(plain.get_program())
            .args(plain.get_args())
            .stderr(std::fs::File::create(said).unwrap());
        Self::begun(command, args)
    }
}

#[test]
#[ignore = "needs root: makes a control group"]
fn privileged_a_device_that_outgrows_its_memory_refuses_writes_and_goes_on() {
    const ENOSPC: u32 = 28;
    const PIECE: u64 = 1 << 20;
    let Some(group) = Limited::new(96 << 20) else {
        println!("SKIPPED: needs control groups of version 1 with memory");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (control, said) = (path("control"), path("said"));
    let served = Served::start_in(&group.0, &said, &["--size", "1g", "--control", &control]);
    let (mut writes, mut other) = (served.client(), served.client());
    let piece = vec![5; 1 << 20];
    assert_eq!(other.write(0, &piece), 0);
    let refused = (1..1024).find(|at| match writes.write(at * PIECE, &piece) {
        0 => false,
        error => {
            assert_eq!(error, ENOSPC, "MiB {at}");
            true
        }
    });
    let full = refused.expect("96 MiB do not hold a GiB");
    assert!(full > 8, "{full} MiB were all that it took");
    // Whoever else is there goes on, and so does whoever was refused.
    assert!(other.read(0, 1 << 20).unwrap() == piece);
    assert_eq!(other.write(0, &[6; 4096]), 0, "its pages are there");
    assert!(other.read(512 * PIECE, 1 << 20).unwrap() == [0; 1 << 20]);
    assert!(writes.read((full - 1) * PIECE, 1 << 20).unwrap() == piece);
    assert_eq!(writes.write(900 * PIECE, &piece), ENOSPC);
    // Looking at all of it takes no memory.
    (0..1024).for_each(|at| assert_eq!(other.read(at * PIECE, 4096).unwrap().len(), 4096));
    assert!(tell(&control, "seen").contains("\"errors\":2"));
    // What is given back can be written elsewhere.
    writes.trim(PIECE, 4 * (1 << 20));
    assert_eq!(writes.write(900 * PIECE, &piece), 0);
    assert!(writes.read(900 * PIECE, 1 << 20).unwrap() == piece);
    assert_eq!(group.kills(), "oom_kill 0");
    assert_eq!(served.end(), Some(0));
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("no memory: "), "{said}");
    assert!(said.matches("no memory: ").count() <= 2, "{said}");
}

#[test]
#[ignore = "needs root: makes a control group"]
fn privileged_clients_that_fill_the_memory_wait_for_each_other_and_end_no_server() {
    const ENOMEM: u32 = 12;
    const LONG: u32 = 8 << 20;
    const CLIENTS: usize = 16;
    let Some(group) = Limited::new(96 << 20) else {
        println!("SKIPPED: needs control groups of version 1 with memory");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (control, said) = (path("control"), path("said"));
    let served = Served::start_in(&group.0, &said, &["--size", "1g", "--control", &control]);
    let mut first = served.client();
    assert_eq!(first.write(0, &[6; 64 << 12]), 0);
    let asked = || {
        let mut client = served.client();
        client.ask(READ, 0, LONG);
        client
    };
    let asking: Vec<Raw> = (0..CLIENTS / 2).map(|_| asked()).collect();
    // As many take no answer; they are hung up on when others have waited long for what they keep.
    let idle: Vec<Raw> = (0..CLIENTS / 2).map(|_| asked()).collect();
    let writes = || {
        let mut client = served.client();
        client.ask(WRITE, 1 << 29, LONG);
        client
    };
    let mut writing: Vec<Raw> = (0..CLIENTS).map(|_| writes()).collect();
    let whole = std::thread::scope(|scope| {
        let taking = asking.into_iter();
        let taking = taking.map(|mut client| scope.spawn(move || client.answered(LONG)));
        let taking: Vec<_> = taking.collect();
        // Whoever asks for little is answered meanwhile, and the device still grows.
        for at in 0..64 {
            assert_eq!(first.write((1 << 28) + (at << 12), &[6; 4096]), 0);
            assert!(first.read(at << 12, 4096).unwrap() == [6; 4096]);
        }
        let mut whole = 0;
        for answer in taking.into_iter().map(|client| client.join().unwrap()) {
            match answer {
                Ok(bytes) => {
                    assert!(bytes[..64 << 12].iter().all(|byte| *byte == 6));
                    whole += 1;
                }
                Err(error) => assert_eq!(error, ENOMEM),
            }
        }
        whole
    });
    assert!(whole > 0, "one had room");
    drop(idle);
    let piece = vec![7; LONG as usize];
    for client in &mut writing {
        client.0.write_all(&piece).unwrap();
        let error = client.error();
        assert!(error == 0 || error == ENOMEM, "{error}");
    }
    assert_eq!(group.kills(), "oom_kill 0");
    assert_eq!(served.end(), Some(0));
}

#[test]
#[ignore = "needs root: makes a control group"]
fn privileged_what_clients_had_and_gave_back_is_there_for_others() {
    const LONG: usize = 12 << 20;
    const REFUSED: [u32; 3] = [0, 12, 28];
    let Some(group) = Limited::new(96 << 20) else {
        println!("SKIPPED: needs control groups of version 1 with memory");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said").to_str().unwrap().to_owned();
    let served = Served::start_in(&group.0, &said, &["--size", "1g"]);
    std::thread::scope(|scope| {
        for number in 0..8_u8 {
            let served = &served;
            scope.spawn(move || {
                let mut client = served.client();
                let offset = u64::from(number % 4) << 24;
                let piece = vec![number % 4 + 1; LONG];
                for _ in 0..6 {
                    let wrote = client.write(offset, &piece);
                    assert!(REFUSED.contains(&wrote), "{wrote}");
                    match client.read(offset, u32::try_from(LONG).unwrap()) {
                        Ok(bytes) => {
                            let own = |byte: &u8| [0, number % 4 + 1].contains(byte);
                            assert!(bytes.iter().all(own), "another's bytes");
                        }
                        Err(error) => assert!(REFUSED.contains(&error), "{error}"),
                    }
                    assert_eq!(client.read(offset, 512).unwrap().len(), 512);
                }
            });
        }
    });
    assert_eq!(group.kills(), "oom_kill 0");
    assert_eq!(served.end(), Some(0));
}

/// Gives a process that runs so many bytes of addresses more than it has taken; `None` where that
/// cannot be.
fn limit(served: &Served, more: u64) -> Option<()> {
    let pid = served.pid().to_string();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let taken = status.lines().find(|line| line.starts_with("VmSize:"))?;
    let taken: u64 = taken.split_whitespace().nth(1)?.parse().ok()?;
    let limit = format!("--as={}", taken * 1024 + more);
    let told = Command::new("prlimit")
        .args(["--pid", &pid, &limit])
        .status();
    told.is_ok_and(|told| told.success()).then_some(())
}

const ENOMEM: u32 = 12;

#[test]
fn clients_who_ask_for_more_than_there_is_memory_are_refused_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let control = dir.path().join("control").to_str().unwrap().to_owned();
    let served = Served::start(&["--size", "64m", "--control", &control]);
    let mut first = served.client();
    assert_eq!(first.write(0, &[7; 4096]), 0);
    let mut clients: Vec<_> = (0..8).map(|_| served.client()).collect();
    for client in &mut clients {
        assert_eq!(client.read(0, 1), Ok(vec![7]));
    }
    // What is found is kept until it may be told: 64 MiB of each, beside room for the answer.
    tell(&control, "misbehave read.latency=1s");
    if limit(&served, 32 << 20).is_none() {
        println!("SKIPPED: needs prlimit");
        return;
    }
    for client in &mut clients {
        client.ask(READ, 0, 32 << 20);
        client.ask(READ, 0, 32 << 20);
    }
    let mut refused = 0;
    for client in &mut clients {
        for _ in 0..2 {
            match client.answered(32 << 20) {
                Ok(found) => assert_eq!((found[0], found.len()), (7, 32 << 20)),
                Err(error) => {
                    assert_eq!(error, ENOMEM);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused >= 4, "{refused} of 16 were refused");
    assert_eq!(first.read(0, 4096), Ok(vec![7; 4096]));
    drop(clients);
    assert_eq!(served.end(), Some(0));
}

#[test]
fn a_cache_that_may_lose_what_it_has_refuses_what_there_is_no_memory_for() {
    let served = Served::start(&["--size", "256m", "--volatile"]);
    let mut client = served.client();
    let piece = vec![5; 8 << 20];
    assert_eq!(client.write(0, &piece), 0);
    assert_eq!(client.flush(), 0);
    if limit(&served, 96 << 20).is_none() {
        println!("SKIPPED: needs prlimit");
        return;
    }
    let refused = (1..30).find(|at| match client.write(at * (8 << 20), &piece) {
        0 => false,
        error => {
            assert_eq!(error, ENOMEM);
            true
        }
    });
    let full = refused.expect("96 MiB do not hold 464 MiB");
    assert!(client.read((full - 1) * (8 << 20), 1 << 20).unwrap() == piece[..1 << 20]);
    // What is stable needs no room beside it.
    assert_eq!(client.flush(), 0);
    assert_eq!(client.write(full * (8 << 20), &piece), 0);
    assert_eq!(served.end(), Some(0));
}

#[test]
fn a_device_larger_than_the_machine_is_served_and_takes_what_is_written() {
    let served = Served::start(&["--size", "512g"]);
    let mut client = served.client();
    assert_eq!(client.write(511 << 30, &[7; 4096]), 0);
    assert_eq!(client.read(511 << 30, 4096), Ok(vec![7; 4096]));
    assert_eq!(client.read(300 << 30, 4096), Ok(vec![0; 4096]));
    assert_eq!(served.end(), Some(0));
}
