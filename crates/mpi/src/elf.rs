//! Whether a file is a whole library, asked before the loader maps it: of one that was cut short the loader
//! reads beyond the end, for which the kernel ends the process.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _};
use std::path::Path;

const MAGIC: &[u8] = b"\x7fELF";
/// What stands in the fifth byte for machines of 64 bits, and in the sixth for the order of bytes.
const OF_64_BITS: u8 = 2;
const LITTLE: u8 = 1;
const BIG: u8 = 2;
const ORDER: u8 = if cfg!(target_endian = "little") {
    LITTLE
} else {
    BIG
};
/// The length of the header, and of a row of each of its two tables.
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
/// A segment that is mapped.
const LOAD: u64 = 1;

/// Machines of 64 bits by their numbers, with the names that Rust has for them.
const MACHINES: [(u64, &str); 6] = [
    (21, "powerpc64"),
    (22, "s390x"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
    (258, "loongarch64"),
];

/// Checks that the loader can map a file to its end. On a machine that is not in the table nothing is
/// checked.
///
/// # Errors
/// It is no library, of another machine, or not all there.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    let own = MACHINES
        .iter()
        .find(|(_, name)| *name == std::env::consts::ARCH);
    let Some((own, _)) = own else {
        return Ok(());
    };
    let facts = std::fs::metadata(path).map_err(|error| error.to_string())?;
    // Whoever opens a pipe waits for its other end.
    if !facts.is_file() {
        let of = facts.file_type();
        return Err(match (of.is_dir(), of.is_fifo()) {
            (true, _) => "it is a directory".into(),
            (_, true) => "it is a pipe".into(),
            _ => "it is no file".into(),
        });
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length < in_u64(HEADER) {
        return Err(format!("it has {length} bytes, fewer than any library"));
    }
    let header = read(&file, length, 0, HEADER)?;
    check_kind(&header, *own)?;
    let (segments, sections) = (number(&header, 32, 8), number(&header, 40, 8));
    let rows = |at: usize, row: usize| match number(&header, at, 2) {
        row_length if row_length == in_u64(row) => Ok(number(&header, at + 2, 2)),
        other => Err(format!(
            "its header has rows of {other} bytes, where there are {row}"
        )),
    };
    let table = rows(54, SEGMENT)? * in_u64(SEGMENT);
    let table = read(&file, length, segments, usize::try_from(table).unwrap_or(0))?;
    for row in table.chunks_exact(SEGMENT) {
        if number(row, 0, 4) == LOAD {
            is_there(length, number(row, 8, 8), number(row, 32, 8))?;
        }
    }
    match sections {
        0 => Ok(()),
        at => is_there(length, at, rows(58, SECTION)? * in_u64(SECTION)),
    }
}

/// Checks that it is a library for this machine.
fn check_kind(header: &[u8], own: u64) -> Result<(), String> {
    const SHARED: u64 = 3;
    if !header.starts_with(MAGIC) {
        return Err("it is no library: it does not begin as one".into());
    }
    if header[4..6] != [OF_64_BITS, ORDER] || number(header, 18, 2) != own {
        return Err(format!(
            "it is for another machine ({}), and this one is {} (64 bits, {})",
            machine_of(header),
            std::env::consts::ARCH,
            order_of(ORDER)
        ));
    }
    match number(header, 16, 2) {
        SHARED => Ok(()),
        _ => Err("it is no library, but a program or a part of one".into()),
    }
}

/// The machine that a library is for, in words.
fn machine_of(header: &[u8]) -> String {
    let mut machine = [header[18], header[19]];
    // A number of a library stands there in the library's own order.
    if header[5] != ORDER {
        machine.reverse();
    }
    let machine = number(&machine, 0, 2);
    let known = MACHINES.iter().find(|(number, _)| *number == machine);
    let name = known.map_or_else(|| format!("number {machine}"), |(_, name)| (*name).into());
    let bits = if header[4] == OF_64_BITS { 64 } else { 32 };
    format!("{name}, {bits} bits, {}", order_of(header[5]))
}

fn order_of(byte: u8) -> &'static str {
    match byte {
        LITTLE => "little-endian",
        BIG => "big-endian",
        _ => "in no known order of bytes",
    }
}

/// Checks that a file has these bytes.
fn is_there(length: u64, at: u64, bytes: u64) -> Result<(), String> {
    let end = at.saturating_add(bytes);
    if end <= length {
        return Ok(());
    }
    Err(format!(
        "it is cut short or broken: it has {length} bytes, and by what it says of itself {end} at least"
    ))
}

fn read(file: &File, length: u64, at: u64, bytes: usize) -> Result<Vec<u8>, String> {
    is_there(length, at, in_u64(bytes))?;
    let mut out = vec![0; bytes];
    let read = file.read_exact_at(&mut out, at);
    read.map_err(|error| error.to_string())?;
    Ok(out)
}

/// A number of so many bytes, in the order of this machine.
fn number(from: &[u8], at: usize, bytes: usize) -> u64 {
    let part = from.get(at..at + bytes).unwrap_or_default();
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    match ORDER {
        1 => part.iter().rev().fold(0, add),
        _ => part.iter().fold(0, add),
    }
}

fn in_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// A library that is on every machine with this loader, whole.
    fn library() -> Vec<u8> {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let of_c = maps.lines().find(|line| line.contains("libc.so"));
        let path = of_c.unwrap().split_whitespace().last().unwrap();
        fs::read(path).unwrap()
    }

    fn said_of(bytes: &[u8]) -> Result<(), String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        check(file.path())
    }

    #[test]
    fn a_library_is_whole_only_with_its_last_byte() {
        let whole = library();
        assert_eq!(said_of(&whole), Ok(()));
        let halves = (1..16).map(|part| whole.len() * part / 16);
        for length in halves.chain([0, 3, 4, 63, 64, 65, whole.len() - 1]) {
            let why = said_of(&whole[..length]).unwrap_err();
            assert!(why.contains(&format!("{length} bytes")), "{length}: {why}");
        }
    }

    #[test]
    fn what_is_no_library_of_this_machine_is_told_apart() {
        let whole = library();
        let with = |at: usize, byte: u8| {
            let mut other = whole.clone();
            other[at] = byte;
            said_of(&other).unwrap_err()
        };
        assert!(with(0, b'#').contains("does not begin as one"));
        assert!(with(4, 1).contains("another machine"), "of 32 bits");
        assert!(with(18, 40).contains("another machine (number 40"));
        let other = if ORDER == LITTLE { BIG } else { LITTLE };
        let mut of_other_order = whole.clone();
        of_other_order[5] = other;
        of_other_order.swap(18, 19);
        let own = std::env::consts::ARCH;
        assert_eq!(
            said_of(&of_other_order).unwrap_err(),
            format!(
                "it is for another machine ({own}, 64 bits, {}), and this one is {own} (64 bits, {})",
                order_of(other),
                order_of(ORDER)
            )
        );
        assert!(with(16, 1).contains("no library"));
        assert!(with(54, 57).contains("rows of 57"));
        // Where the table of segments is said to be.
        assert!(with(39, 0xff).contains("broken"));
        let script = said_of(&[b"#!/bin/sh\n".as_slice(), &[b' '; 64]].concat());
        assert!(script.unwrap_err().contains("does not begin as one"));
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check(dir.path()).unwrap_err().contains("a directory"));
        let pipe = dir.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(check(&pipe).unwrap_err().contains("a pipe"));
        assert!(
            check(Path::new("/dev/null"))
                .unwrap_err()
                .contains("no file")
        );
        assert!(
            check(Path::new("/nonexistent/x"))
                .unwrap_err()
                .contains("No such file")
        );
    }
}
