//! Writing files before a run, so that reads meet data.

use super::FileContent;
use super::fill_plan::FillPlan;
use crate::error::RunError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use workload::Workload;

const CHUNK: usize = 1 << 20;

/// Fills a chunk of a file given its absolute offset.
pub(crate) type FillChunk<'a> = Box<dyn FnMut(&mut [u8], u64) + 'a>;

/// Writes the given byte ranges in chunks and returns how many bytes were written.
///
/// # Errors
/// The disk refuses, or a signal came.
fn fill_file(
    file: &File,
    path: &Path,
    ranges: &[(u64, u64)],
    mut content: FillChunk<'_>,
    tell: &mut dyn FnMut(u64),
) -> Result<u64, RunError> {
    let mut buffer = vec![0_u8; CHUNK];
    let mut written = 0;
    for &(start, end) in ranges {
        let mut at = start;
        while at < end {
            go_on()?;
            // Chunks end on multiples of their size, so that content keyed by block is made in
            // whole blocks.
            let stop = (at / CHUNK as u64 + 1) * CHUNK as u64;
            let len = units::lossless::to_usize(end.min(stop) - at);
            content(&mut buffer[..len], at);
            file.write_all_at(&buffer[..len], at)
                .map_err(RunError::io("cannot fill", path))?;
            at += len as u64;
            written += len as u64;
            tell(written);
        }
    }
    Ok(written)
}

fn go_on() -> Result<(), RunError> {
    sys::caught_signal().map_or(Ok(()), |caught| {
        Err(RunError::Interrupted {
            signal: caught.signal,
        })
    })
}

/// A file that lacks data.
pub(super) struct Lacking<'a> {
    pub(super) file: &'a File,
    pub(super) path: &'a Path,
    /// Index in the layout.
    pub(super) index: u32,
    pub(super) bytes: u64,
    /// Whose writes those are that go on with no others.
    pub(super) fresh_run: u64,
}

impl Lacking<'_> {
    /// Writes what is missing and returns how many bytes that were.
    pub(super) fn fill(
        &self,
        plan: FillPlan,
        workload: &Workload,
        content: &mut FileContent,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, RunError> {
        let ranges = if plan == FillPlan::Whole {
            vec![(0, self.bytes)]
        } else {
            holes(self.file, self.bytes)
        };
        // A file without data is filled as a whole, and all of it is one write.
        let is_whole = ranges.iter().map(|(start, end)| end - start).sum::<u64>() == self.bytes;
        let filler = content.filler(workload, self.index, self.fresh_run, is_whole)?;
        let written = fill_file(self.file, self.path, &ranges, filler, tell)?;
        self.file
            .sync_all()
            .map_err(RunError::io("cannot sync", self.path))?;
        content.filled(workload, self.fresh_run, is_whole);
        Ok(written)
    }
}

/// Parts of the first `bytes` bytes of a file that hold no data: holes, unwritten extents, and what
/// lies beyond its end. A file system that cannot tell has none.
#[must_use]
pub(crate) fn holes(file: &File, bytes: u64) -> Vec<(u64, u64)> {
    let len = file.metadata().map_or(0, |facts| facts.len());
    let mut out = Vec::new();
    let mut at = 0;
    while at < len.min(bytes) {
        let Ok(Some(hole)) = sys::next_hole(file, at) else {
            break;
        };
        if hole >= len.min(bytes) {
            break;
        }
        let end = match sys::next_data(file, hole) {
            Ok(Some(data)) => data.min(len),
            Ok(None) | Err(_) => len,
        };
        out.push((hole, end.min(bytes)));
        at = end;
    }
    if bytes > len {
        out.push((len, bytes));
    }
    out
}

/// Bytes in [`holes`].
pub(super) fn hole_bytes(file: &File, bytes: u64) -> u64 {
    holes(file, bytes)
        .iter()
        .map(|(start, end)| end - start)
        .sum()
}

/// Reads a file once, so that the page cache holds what it can.
///
/// # Errors
/// The disk refuses, or a signal came.
pub(crate) fn read_whole(file: &File, path: &Path, bytes: u64) -> Result<(), RunError> {
    let mut buffer = vec![0_u8; CHUNK];
    let mut at = 0;
    while at < bytes {
        go_on()?;
        match file
            .read_at(&mut buffer, at)
            .map_err(RunError::io("cannot read", path))?
        {
            0 => break,
            n => at += n as u64,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_the_missing_end_are_found_and_filled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        file.set_len(8 << 20).unwrap();
        file.write_all_at(&[1; 1 << 20], 2 << 20).unwrap();
        let found = holes(&file, 10 << 20);
        assert_eq!(found.last(), Some(&(8 << 20, 10 << 20)));
        assert_eq!(found.iter().map(|(a, b)| b - a).sum::<u64>(), 9 << 20);
        fill_file(
            &file,
            &path,
            &found,
            Box::new(|chunk, _| chunk.fill(7)),
            &mut |_| {},
        )
        .unwrap();
        assert!(holes(&file, 10 << 20).is_empty());
        let mut byte = [0];
        file.read_exact_at(&mut byte, 2 << 20).unwrap();
        assert_eq!(byte, [1], "data is left alone");
    }
}
