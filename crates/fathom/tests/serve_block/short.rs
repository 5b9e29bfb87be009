//! A device in memory on a machine, or in a control group, that has not so much.

use crate::limited::Limited;
use crate::served::{Served, command};
use crate::tell;
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
fn a_device_larger_than_the_machine_is_served_and_takes_what_is_written() {
    let served = Served::start(&["--size", "512g"]);
    let mut client = served.client();
    assert_eq!(client.write(511 << 30, &[7; 4096]), 0);
    assert_eq!(client.read(511 << 30, 4096), Ok(vec![7; 4096]));
    assert_eq!(client.read(300 << 30, 4096), Ok(vec![0; 4096]));
    assert_eq!(served.end(), Some(0));
}
