//! A journal of a device with a volatile cache, whole and damaged: its states can be listed and put on a device, none is found beyond the last, and what the
//! device held at the end is one of them.
//!
//! Every four bytes are something that is done to the device; behind a byte of 255 follows what is done to the file.

use block::{
    BlockBackend, CrashJournal, CrashStates, Keep, MemoryBackend, VolatileBackend, ZeroRoom,
};
use std::path::Path;

const BYTES: u64 = 64 << 10;
const SECTOR: u64 = 512;

/// Does what the bytes say and returns what the device holds then, and the bytes that are left.
fn done<'a>(path: &Path, mut bytes: &'a [u8]) -> (Vec<u8>, &'a [u8]) {
    let journal = CrashJournal::create(path, BYTES).expect("a fresh file");
    let memory = MemoryBackend::new(BYTES).expect("memory");
    let device = VolatileBackend::new(Box::new(memory), 7).with_journal(journal);
    for step in 0..12_u8 {
        let Some(([what, place, sectors, keep], rest)) = bytes.split_first_chunk() else {
            break;
        };
        if *what == 255 {
            bytes = &bytes[1..];
            break;
        }
        bytes = rest;
        let from = u64::from(*place) % 120 * SECTOR;
        let extent = from..from + (1 + u64::from(*sectors) % 8) * SECTOR;
        let keep = if keep & 1 == 0 {
            Keep::Cached
        } else {
            Keep::Stable
        };
        let content = vec![step + 1; usize::try_from(extent.end - from).expect("short")];
        let outcome = match what % 8 {
            0..=3 => device.write(from, &content, keep),
            4 => device.zero(extent, ZeroRoom::Given, keep),
            5 => {
                let choices = ["drop", "keep", "random", "random:30%", "torn:512"];
                let choice = choices[usize::from(*place) % choices.len()];
                device
                    .crash(choice)
                    .map(drop)
                    .map_err(|_| block::Errno::EIO)
            }
            _ => device.flush(),
        };
        outcome.expect("there is room for all of it");
    }
    let mut held = vec![0; usize::try_from(BYTES).expect("short")];
    device.read(0, &mut held).expect("all of it");
    device.finish();
    (held, bytes)
}

fn state(states: &CrashStates, number: u64) -> Result<Vec<u8>, String> {
    let memory = MemoryBackend::new(states.size()).map_err(|error| error.to_string())?;
    states.apply(number, &memory)?;
    let mut held = vec![0; usize::try_from(BYTES).expect("short")];
    memory
        .read(0, &mut held)
        .map_err(|error| format!("{error:?}"))?;
    Ok(held)
}

pub fn run(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("journal");
    let (held, damage) = done(&path, bytes);
    let whole = CrashStates::open(&path).expect("a journal");
    assert!(whole.flaw().is_none());
    let count = whole.count();
    assert!(count > 0);
    let mut last = (count.saturating_sub(4200)..count).rev();
    assert!(last.any(|number| state(&whole, number).as_ref() == Ok(&held)));
    assert!(state(&whole, count).is_err() && state(&whole, u64::MAX).is_err());

    let mut file = std::fs::read(&path).expect("the journal");
    for change in damage.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        match change[3] % 3 {
            0 => file.truncate(at),
            1 => file.insert(at.min(file.len()), change[2]),
            _ => {
                if let Some(byte) = file.get_mut(at) {
                    *byte ^= change[2];
                }
            }
        }
    }
    std::fs::write(&path, &file).expect("a file");
    let Ok(damaged) = CrashStates::open(&path) else {
        return;
    };
    assert_eq!(damaged.size(), BYTES, "the head has a seal");
    assert_eq!(damaged.listed().is_empty(), damaged.count() == 0);
    for number in [0, damaged.count() / 2, damaged.count().saturating_sub(1)] {
        let found = state(&damaged, number);
        assert_eq!(found.is_ok(), number < damaged.count());
    }
}
