//! Writing files before a run, so that reads meet data.

use super::fill_plan::FillPlan;
use super::patterns::{data_fill, verify_pattern};
use super::written::{FillPart, whole_units};
use super::{FileContent, FilePlan};
use crate::data::{DataSpec, Filler};
use crate::error::RunError;
use crate::verify::{BlockAddress, Verifier};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use workload::{VerifyPattern, Workload};

const CHUNK: usize = 1 << 20;

/// Fills a chunk of a file given its absolute offset.
pub(crate) type FillChunk<'a> = Box<dyn FnMut(&mut [u8], u64) + 'a>;

/// Writes the given byte ranges in chunks to the end of the way to storage, and returns how many bytes
/// were written.
///
/// # Errors
/// The disk refuses, or a signal came.
pub(super) fn fill_file(
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
    file.sync_all().map_err(RunError::io("cannot sync", path))?;
    Ok(written)
}

fn go_on() -> Result<(), RunError> {
    sys::caught_signal().map_or(Ok(()), |caught| {
        Err(RunError::Interrupted {
            signal: caught.signal,
        })
    })
}

/// Parts of a file that are to be written.
pub(super) type Ranges = Vec<(u64, u64)>;

pub(super) fn bytes_of(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(start, end)| end - start).sum()
}

impl FileContent {
    /// Content of a fill before the run.
    pub(crate) fn filler<'a>(
        &self,
        workload: &Workload,
        file: u32,
        fresh_run: u64,
        FillPart { is_whole, number }: FillPart,
    ) -> Result<FillChunk<'a>, RunError> {
        if workload.verify.on {
            let generation = self.fill_generation(is_whole);
            let id = self.lineage_for(fresh_run).writing_run;
            let verifier =
                Verifier::new(verify_pattern(workload.verify.pattern), workload.seed, id);
            let block = units::lossless::to_usize(workload.blocks.smallest().0);
            return Ok(Box::new(move |chunk, offset| {
                let mut at = offset;
                for part in chunk.chunks_mut(block) {
                    verifier.fill(part, BlockAddress { file, offset: at }, generation);
                    at += part.len() as u64;
                }
            }));
        }
        let spec = DataSpec {
            fill: data_fill(workload.files.fill.pattern),
            compress_percent: None,
            dedupe_percent: None,
            seed: workload.seed,
            stream: u32::MAX - number,
        };
        let mut filler = Filler::new(spec).map_err(|e| RunError::Unsuitable(e.to_string()))?;
        Ok(Box::new(move |chunk, _| filler.fill_fresh(chunk)))
    }
}

/// What is to be written of a file that had so many bytes before it was sized, and has others now.
pub(super) fn lacking(
    plan: &FilePlan,
    workload: &Workload,
    file: &File,
    (had, has): (u64, u64),
) -> Ranges {
    match plan.fill {
        FillPlan::Nothing => Vec::new(),
        // What is behind keeps its pattern, which begins with a whole unit.
        FillPlan::Whole if has_headers(workload) && plan.bytes < has => {
            vec![(0, whole_units(plan.bytes))]
        }
        FillPlan::Whole => vec![(0, plan.bytes)],
        FillPlan::Holes => {
            let grown = plan.content.grown(workload, had, plan.bytes);
            // A hole in what holds the pattern is for its reader to find.
            let within = match plan.content.is_of(workload) && workload.verify.on {
                true => Vec::new(),
                false => holes(file, plan.bytes.min(had)),
            };
            joined(within, grown.map(|grown| (grown.from, plan.bytes)))
        }
    }
}

/// Whether what is verified is written in whole units.
fn has_headers(workload: &Workload) -> bool {
    workload.verify.on && workload.verify.pattern == VerifyPattern::Header
}

/// Whether these are all of a file of so many bytes, but for the last part of a unit.
pub(super) fn is_whole(lacks: &[(u64, u64)], bytes: u64) -> bool {
    matches!(lacks, [(0, end)] if *end == bytes || *end > 0 && *end == whole_units(bytes))
}

/// Ranges in their order and another one behind them all, which may begin in the last.
fn joined(mut ranges: Ranges, behind: Option<(u64, u64)>) -> Ranges {
    let Some((start, end)) = behind else {
        return ranges;
    };
    match ranges.last_mut() {
        Some(last) if last.1 >= start => last.1 = last.1.max(end),
        Some(_) | None => ranges.push((start, end)),
    }
    ranges
}

/// One of equal parts of what several files lack, as whole chunks in a row.
pub(super) fn part_of(lacks: &[Ranges], number: u32, of: u32) -> Vec<Ranges> {
    let all: u64 = lacks.iter().map(|ranges| bytes_of(ranges)).sum();
    let edge = |number: u32| {
        let at = u128::from(all) * u128::from(number) / u128::from(of.max(1));
        u64::try_from(at).unwrap_or(all)
    };
    let (low, high) = (edge(number), edge(number + 1));
    let mut before = 0;
    let mut own = |&(start, end): &(u64, u64)| {
        let cut = |edge: u64| match edge.checked_sub(before) {
            None | Some(0) => start,
            Some(within) => start
                .saturating_add(within)
                .checked_next_multiple_of(CHUNK as u64)
                .map_or(end, |at| at.min(end)),
        };
        let part = (cut(low), cut(high));
        before += end - start;
        (part.0 < part.1).then_some(part)
    };
    let of_file = |ranges: &Ranges| ranges.iter().filter_map(&mut own).collect();
    lacks.iter().map(of_file).collect()
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
    use proptest::prelude::*;

    fn any_ranges() -> impl Strategy<Value = Ranges> {
        proptest::collection::vec((0_u64..5 << 20, 1_u64..5 << 20), 0..6).prop_map(|steps| {
            let mut at = 0;
            let range = |(gap, length): (u64, u64)| {
                let start = at + gap;
                at = start + length;
                (start, at)
            };
            steps.into_iter().map(range).collect()
        })
    }

    proptest! {
        #[test]
        fn parts_are_disjoint_in_order_and_together_the_whole(
            lacks in proptest::collection::vec(any_ranges(), 0..5), of in 1_u32..9,
        ) {
            let parts: Vec<Vec<Ranges>> = (0..of).map(|number| part_of(&lacks, number, of)).collect();
            for (file, whole) in lacks.iter().enumerate() {
                let mut joined: Ranges = Vec::new();
                for (start, end) in parts.iter().flat_map(|part| part[file].clone()) {
                    let within = whole.iter().any(|(low, high)| *low <= start && end <= *high);
                    prop_assert!(within && start < end);
                    let is_cut = joined.last().is_some_and(|last| last.1 == start)
                        && !whole.iter().any(|range| range.0 == start);
                    if is_cut {
                        prop_assert_eq!(start % CHUNK as u64, 0, "content is made in whole blocks");
                        joined.last_mut().unwrap().1 = end;
                    } else {
                        joined.push((start, end));
                    }
                }
                prop_assert_eq!(&joined, whole);
            }
            let even = lacks.iter().map(|ranges| bytes_of(ranges)).sum::<u64>() / u64::from(of);
            for part in &parts {
                let own: u64 = part.iter().map(|ranges| bytes_of(ranges)).sum();
                prop_assert!(own.abs_diff(even) <= 2 * CHUNK as u64, "{own} of {even}");
            }
        }
    }

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
