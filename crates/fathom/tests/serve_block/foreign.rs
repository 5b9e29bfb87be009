//! Clients that others wrote, each where it is installed: the device is what each of them takes it
//! for, and none finds other bytes than another has left.

use super::served::Served;
use std::path::Path;
use std::process::{Command, Output};

const BYTES: u32 = 16 << 20;

/// Whether a program of others is installed; says so if not.
pub(crate) fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED: needs {tool}");
    }
    found
}

fn done(program: &str, words: &[&str]) -> Output {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
    output
}

/// A file of bytes of which no two sectors are alike, and the device that is to hold them.
fn beside_a_device(options: &[&str]) -> (tempfile::TempDir, String, Served) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("there");
    let bytes: Vec<u8> = (0..BYTES)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0])
        .collect();
    std::fs::write(&file, bytes).unwrap();
    let served = Served::start(&[&["--size", "16m"], options].concat());
    (dir, file.to_str().unwrap().to_owned(), served)
}

fn are_same(one: &str, other: &Path) {
    assert!(std::fs::read(one).unwrap() == std::fs::read(other).unwrap());
}

#[test]
fn nbdinfo_and_nbdcopy_find_what_is_there_over_several_connections() {
    if !has("nbdinfo") || !has("nbdcopy") {
        return;
    }
    let (dir, file, served) = beside_a_device(&["--tcp", "127.0.0.1:0"]);
    let [unix, tcp] = [0, 1].map(|at| served.uris()[at].clone());
    let empty = done("nbdinfo", &["--map", &unix]);
    let empty = String::from_utf8(empty.stdout).unwrap();
    assert!(empty.contains("16777216    3  hole,zero"), "{empty}");
    done("nbdcopy", &["--connections=4", &file, &unix]);
    let back = dir.path().join("back");
    done(
        "nbdcopy",
        &["--connections=4", &tcp, back.to_str().unwrap()],
    );
    are_same(&file, &back);
    let facts = done("nbdinfo", &[&tcp]);
    let facts = String::from_utf8(facts.stdout).unwrap();
    for fact in ["flush", "fua", "multi_conn", "trim", "zero"] {
        assert!(facts.contains(&format!("can_{fact}: true")), "{facts}");
    }
    assert_eq!(served.end(), Some(0));
}

#[test]
fn qemu_takes_the_device_for_a_disk() {
    if !has("qemu-img") || !has("qemu-io") {
        return;
    }
    let (_dir, file, served) = beside_a_device(&[]);
    let uri = served.uri();
    let raw = ["-f", "raw"];
    done(
        "qemu-img",
        &["convert", "-n", "-f", "raw", "-O", "raw", &file, &uri],
    );
    done(
        "qemu-img",
        &["compare", "-f", "raw", "-F", "raw", &file, &uri],
    );
    let steps = [
        "write -P 0x5a 1M 256k",
        "write -f -P 7 512 512",
        "discard 2M 1M",
        "write -z 4M 64k",
        "aio_write -P 9 8M 1M",
        "aio_flush",
        "flush",
        "read -P 0x5a 1M 256k",
        "read -P 7 512 512",
        "read -P 0 2M 1M",
        "read -P 0 4M 64k",
        "read -P 9 8M 1M",
    ];
    let steps: Vec<&str> = steps.iter().flat_map(|step| ["-c", step]).collect();
    let told = done("qemu-io", &[&raw[..], &steps, &[&uri]].concat());
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(!told.contains("failed"), "{told}");
    assert_eq!(served.end(), Some(0));
}

#[test]
fn fio_verifies_what_it_wrote_with_its_own_engine() {
    let engines = Command::new("fio").arg("--enghelp").output();
    if !engines.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("nbd")) {
        println!("SKIPPED: needs fio with its engine nbd");
        return;
    }
    let served = Served::start(&["--size", "16m"]);
    let uri = format!("--uri={}", served.uri());
    let load = ["--rw=randwrite", "--bs=16k", "--iodepth=8", "--size=16m"];
    let verify = ["--name=v", "--verify=crc32c", "--output-format=terse"];
    // What it would go on with after an end before its time, it writes beside whoever calls it.
    let engine = ["--ioengine=nbd", &uri, "--verify_state_save=0"];
    done("fio", &[&verify[..], &load, &engine].concat());
    assert_eq!(served.end(), Some(0));
}
