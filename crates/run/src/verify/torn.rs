//! Whether a unit that is no write's is what several have left: requests in flight, or writes that were
//! cut short by a kill or an error.
//!
//! Who can have left it is known in part: from the header of the unit, from the units beside it, and
//! from what is expected. A block need not be as long as the read, nor one write's as long as
//! another's.

use super::header::{HEADER_UNIT, Header, Unit, Writes};
use super::judge::ReadBlock;
use super::mixture::{Mixture, Suspects};
use super::searches::Searches;
use super::{BlockAddress, ExpectedRun, NUMBERS, Tearing};

/// Where more generations than this may be in a block, a mixture is looked for among so many of the
/// newest, the oldest and those beside it: 128 runs that wrote no block but at random.
const MOST_GENERATIONS: u64 = 1 << 20;
/// So many writes are believed by each byte that is theirs, and of more those only that have left a word.
const FEW: u64 = 3;
/// So far from a write of a block is another one looked for first: the writes of a run have no more
/// numbers.
const NEAR: u64 = NUMBERS as u64;
/// The same where nothing tells how long the other's blocks were.
const NEAR_OF_ANY_LENGTH: u64 = 512;
/// The same when too much was looked for in vain.
const NEAREST: u64 = 8;
/// Block lengths that a write may have had of which no header is left: 512 bytes to 64 MiB.
const USUAL_LENGTHS: std::ops::RangeInclusive<u32> = 9..=26;

/// Writes near a unit: of its own header, where its fields are whole or at least plausible, and of the
/// units beside it.
#[derive(Clone, Copy)]
struct Near {
    own: Option<Header>,
    plausible: Option<Header>,
    beside: [Option<Header>; 2],
}

impl Near {
    /// Those that are of the block at this place, or of one as long and in a row with it; the most
    /// certain first.
    fn in_row(self, place: BlockAddress) -> [Option<Header>; 3] {
        let [before, after] = self.beside;
        [self.own.or(self.plausible), after, before].map(|header| header?.in_row(place))
    }

    /// The same of those whose fields are whole: what a unit says of its block is no evidence without.
    fn certain_in_row(self, place: BlockAddress) -> Option<Header> {
        let plausible = None;
        let certain = Self { plausible, ..self };
        certain.in_row(place).into_iter().flatten().next()
    }

    fn run_id(self) -> Option<u64> {
        let [before, after] = self.beside;
        let header = self.own.or(before).or(after).or(self.plausible)?;
        Some(header.version.run_id)
    }
}

impl ReadBlock<'_> {
    /// Whether requests in flight can have left this unit: each of its bytes is that of a write
    /// that may be there. Memory is copied in pieces smaller than a unit, and nothing keeps a
    /// reader of the page cache from seeing half a copy.
    #[cold]
    pub(super) fn is_lawful_mixture(&self, index: usize, searches: &mut Searches) -> bool {
        if self.expected.tearing == Tearing::Fault {
            return false;
        }
        let place = self.place(index);
        let near = self.near(index);
        let mut mixture = Mixture::of(&self.units[index]);
        let [before, after] = near.beside;
        let known = [near.own, before, after].into_iter().flatten();
        let of_block = known.filter(|header| header.covers(place));
        let of_unit = of_block.map(|header| header.moved_to(place));
        for header in of_unit.filter(|header| self.fault(header, place).is_none()) {
            mixture.explain(&header);
        }
        let run_id = match self.expected.run {
            ExpectedRun::This(run_id) => Some(run_id),
            ExpectedRun::Any => near.run_id(),
        };
        let Some(run_id) = run_id.filter(|_| !mixture.is_explained()) else {
            return mixture.is_explained();
        };
        let likely = self.likely(near, place, run_id);
        for header in self.few_permitted(near, place, run_id) {
            mixture.explain(&header);
        }
        let tried = match searches.may_be_long() {
            true => mixture.explain_by_any(self.suspects(likely)),
            false => mixture.explain_by_any(self.nearest(likely, NEAREST)),
        };
        if mixture.is_explained() {
            return true;
        }
        let is_rest =
            searches.may_believe() && self.is_cut_at_an_end(index, &mixture, (near, likely));
        if is_rest {
            searches.believed();
        } else {
            searches.failed(tried);
        }
        is_rest
    }

    /// All writes that may be there, where they are so few that hardly one has a damaged byte by chance.
    fn few_permitted(
        &self,
        near: Near,
        place: BlockAddress,
        run_id: u64,
    ) -> impl Iterator<Item = Header> {
        let (oldest, newest) = (self.expected.oldest, self.expected.newest);
        let mut header = self.expected_header(place, run_id, oldest);
        if let Some(block) = near.certain_in_row(place) {
            (header.block_start, header.block_len) = (block.block_start, block.block_len);
        }
        let few = Some(oldest..=newest).filter(|_| newest.saturating_sub(oldest) < FEW);
        let generations = few.into_iter().flatten();
        generations.map(move |generation| Writes::like(header).header(generation))
    }

    fn near(&self, index: usize) -> Near {
        let (place, unit) = (self.place(index), &self.units[index]);
        let own = Header::of_sound_fields(unit).filter(|own| own.place == place);
        let is_plausible = |found: &Header| {
            found.place == place && found.covers(place) && found.in_row(place) == Some(*found)
        };
        let plausible = Some(Header::as_found(unit)).filter(is_plausible);
        let in_file =
            |unit: &Unit| Header::of_intact(unit).filter(|header| header.place.file == place.file);
        Near {
            own,
            plausible,
            beside: [
                self.units[..index].iter().rev().find_map(in_file),
                self.units[index + 1..].iter().find_map(in_file),
            ],
        }
    }

    /// Blocks of which the unit may be, with a generation near which its writes are: the most certain
    /// first, and last the block that is read.
    fn likely(&self, near: Near, place: BlockAddress, run_id: u64) -> [Option<Header>; 4] {
        let [first, second, third] = near.in_row(place);
        let newest = match self.expected.newest {
            u64::MAX => self.expected.oldest,
            newest => newest,
        };
        let known = [first, second, third].into_iter().flatten().next();
        let generation = known.map_or(newest, |header| header.version.generation);
        let read = self.expected_header(place, run_id, generation);
        let mut likely = [first, second, third, Some(read)];
        likely.sort_by_key(Option::is_none);
        for header in likely.iter_mut().flatten() {
            header.version.run_id = run_id;
        }
        for index in 1..likely.len() {
            let is_known = likely[..index].contains(&likely[index]);
            likely[index] = likely[index].filter(|_| !is_known);
        }
        likely
    }

    /// All that may have left some of a unit, the likeliest first.
    fn suspects(&self, likely: [Option<Header>; 4]) -> impl Iterator<Item = Suspects> + Clone {
        let (oldest, newest) = (self.expected.oldest, self.expected.newest);
        let most = match newest {
            // Where nothing is known of the newest the oldest are the likelier.
            u64::MAX => oldest..=oldest.saturating_add(MOST_GENERATIONS - 1),
            _ => oldest.max(newest.saturating_sub(MOST_GENERATIONS - 1))..=newest,
        };
        let first = likely.into_iter().flatten().next();
        let read = likely.into_iter().flatten().last();
        let is_other = |read: &Header| first.is_none_or(|first| !first.same_block(read));
        let of_all = move |block: Header| Suspects {
            writes: Writes::like(block),
            generations: most.clone(),
        };
        let blocks = first.into_iter().chain(read.filter(is_other));
        self.nearest(likely, NEAR)
            .chain(self.of_usual_lengths(first))
            .chain(blocks.map(of_all))
    }

    /// Those of the likely blocks that are nearest in time.
    fn nearest(
        &self,
        likely: [Option<Header>; 4],
        reach: u64,
    ) -> impl Iterator<Item = Suspects> + Clone {
        let likely = likely.into_iter().flatten();
        let (oldest, newest) = (self.expected.oldest, self.expected.newest);
        likely.map(move |block| around(block, block.version.generation, reach, (oldest, newest)))
    }

    /// Writes whose blocks were of some usual length: nothing is left of their headers.
    fn of_usual_lengths(&self, like: Option<Header>) -> impl Iterator<Item = Suspects> + Clone {
        let range = (self.expected.oldest, self.expected.newest);
        let of_length = |like: Header, len: u64| Header {
            block_start: like.place.offset - like.place.offset % len,
            block_len: len,
            ..like
        };
        let blocks = like
            .into_iter()
            .flat_map(move |like| USUAL_LENGTHS.map(move |power| of_length(like, 1 << power)));
        blocks.flat_map(move |block| {
            let newest = Some(range.1).filter(|newest| *newest != u64::MAX);
            [Some(range.0), Some(block.version.generation), newest]
                .into_iter()
                .flatten()
                .map(move |generation| around(block, generation, NEAR_OF_ANY_LENGTH, range))
        })
    }

    /// Whether all that is missing is so short a piece at an end of a block, or of what was read of it,
    /// that one write can have left it, and no unit beside it would tell.
    fn is_cut_at_an_end(
        &self,
        index: usize,
        mixture: &Mixture<'_>,
        (near, likely): (Near, [Option<Header>; 4]),
    ) -> bool {
        let place = self.place(index);
        let is_last = |own: Header| {
            let end = own.block_start.saturating_add(own.block_len);
            place.offset.saturating_add(HEADER_UNIT as u64) == end
        };
        let is_first = |begun: &Header| index == 0 || begun.block_start == place.offset;
        let is_end = index + 1 == self.units.len() || near.own.is_some_and(is_last);
        if is_end && mixture.ends_with_rest(self.nearest(likely, NEAR)) {
            return true;
        }
        let begun = near.plausible.filter(is_first);
        let (Some(begun), Some(remainder)) = (begun, mixture.behind_header()) else {
            return false;
        };
        let generation = remainder.version.generation;
        let begun = Writes::like(begun).header(generation);
        let range = (self.expected.oldest, self.expected.newest);
        self.fault(&begun, place).is_none()
            && mixture.begins_with_rest(&around(begun, generation, NEAR, range), generation)
    }
}

/// The writes of a block with generations near this one, of those that may be there.
fn around(block: Header, generation: u64, reach: u64, (oldest, newest): (u64, u64)) -> Suspects {
    let generation = generation.clamp(oldest, newest);
    let from = generation.saturating_sub(reach).max(oldest);
    let to = generation.saturating_add(reach).min(newest);
    Suspects {
        writes: Writes::like(block),
        generations: from..=to,
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge::check_headers;
    use super::super::{Expected, MismatchKind, fill_header};
    use super::*;

    const RUN: u64 = 0xabc;
    const FILE: u32 = 1;
    const START: u64 = 1 << 20;
    const BLOCK: usize = 4096;
    /// The block that is torn, of the sixteen of a file.
    const TORN: usize = 10;

    fn write(buf: &mut [u8], offset: u64, block: usize, generation: u64) {
        for (part, index) in buf.chunks_mut(block).zip(0_u64..) {
            let offset = offset + index * block as u64;
            fill_header(part, BlockAddress { file: FILE, offset }, generation, RUN);
        }
    }

    /// Sixteen blocks of one write each, in which another write, of blocks of another length, ended
    /// after so many bytes of one of them.
    fn torn(old: (usize, u64), new: (usize, u64), bytes: usize) -> Vec<u8> {
        let mut content = vec![0; 16 * BLOCK];
        let mut over = content.clone();
        write(&mut content, START, old.0, old.1);
        write(&mut over, START, new.0, new.1);
        content[..TORN * BLOCK + bytes].copy_from_slice(&over[..TORN * BLOCK + bytes]);
        content
    }

    fn expectations() -> [Expected; 2] {
        [Expected::between(1, 9000, RUN), Expected::any_write()].map(Expected::overlapping)
    }

    fn first_fault(
        content: &[u8],
        block: usize,
        expected: Expected,
        searches: &mut Searches,
    ) -> Option<super::super::Mismatch> {
        content
            .chunks(block)
            .zip(0_u64..)
            .find_map(|(part, index)| {
                let offset = START + index * block as u64;
                check_headers(
                    part,
                    BlockAddress { file: FILE, offset },
                    expected,
                    searches,
                )
                .err()
            })
    }

    fn is_right(content: &[u8], block: usize, expected: Expected) -> Result<(), String> {
        match first_fault(content, block, expected, &mut Searches::default()) {
            Some(mismatch) => Err(mismatch.to_string()),
            None => Ok(()),
        }
    }

    #[test]
    fn a_write_may_end_at_any_byte_and_be_read_in_blocks_of_any_length() {
        let inside = (0..=BLOCK).step_by(331);
        let at_an_end = [40, 41, 42, 47, 48, 49, 57, 61, 64, 65].into_iter();
        let edges = at_an_end.chain(500..=512).map(|at| at + BLOCK - 512);
        let first = (40..=64).step_by(4);
        for bytes in inside.chain(edges).chain(first) {
            for (old, new) in [(1, 2), (6000, 300), (512, 511)] {
                let content = torn((BLOCK, old), (BLOCK, new), bytes);
                for block in [512, 4096, 8192, 65536] {
                    for expected in expectations() {
                        let told = is_right(&content, block, expected);
                        assert_eq!(told, Ok(()), "{bytes} {old} {new} {block} {expected:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn writes_need_not_have_been_of_one_length() {
        for bytes in [100, 700, BLOCK - 200, BLOCK - 512 + 64, BLOCK - 8] {
            for (old, new) in [(4096, 65536), (65536, 4096), (8192, 512), (512, 8192)] {
                let content = torn((old, 3), (new, 5), bytes);
                for block in [512, 4096, 65536] {
                    for expected in expectations() {
                        let told = is_right(&content, block, expected);
                        assert_eq!(told, Ok(()), "{bytes} {old} {new} {block} {expected:?}");
                    }
                }
            }
        }
    }

    /// A torn file with one more changed byte.
    fn damaged(at: usize) -> Vec<u8> {
        let mut content = torn((BLOCK, 3), (BLOCK, 4), BLOCK - 200);
        content[at] ^= 0x55;
        content
    }

    #[test]
    fn a_torn_file_hides_no_damage() {
        for at in (0..16 * BLOCK).step_by(331) {
            let (of_block, of_unit) = (at % BLOCK, at % HEADER_UNIT);
            for block in [512, 4096, 65536] {
                let at_end = match block {
                    512 => of_unit >= 509 || (40..42).contains(&of_unit),
                    _ => of_block >= BLOCK - 3 || (40..42).contains(&of_block),
                };
                for expected in expectations() {
                    let told = first_fault(&damaged(at), block, expected, &mut Searches::default());
                    let kind = told.map(|mismatch| mismatch.kind);
                    assert!(
                        at_end || kind == Some(MismatchKind::Corrupt),
                        "byte {at} in blocks of {block}: {kind:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn few_short_pieces_are_believed() {
        let mut content = vec![0; 512 * BLOCK];
        write(&mut content, START, BLOCK, 3);
        let mut other = content.clone();
        write(&mut other, START, BLOCK, 4);
        for (block, other) in content.chunks_mut(BLOCK).zip(other.chunks(BLOCK)) {
            block[BLOCK - 3..].copy_from_slice(&other[BLOCK - 3..]);
        }
        let expected = Expected::between(3, 90, RUN).overlapping();
        let first = |blocks: usize| {
            let content = &content[..blocks * BLOCK];
            first_fault(content, BLOCK, expected, &mut Searches::default())
        };
        assert_eq!(first(1), None);
        assert!(first(512).is_some(), "no kill cuts so many writes there");
    }

    #[test]
    fn damage_costs_an_end_of_looking_and_a_cut_none() {
        let content = torn((BLOCK, 3), (BLOCK, 20_000), BLOCK - 200);
        let [_, unknown] = expectations();
        let mut searches = Searches::in_vain(1 << 20);
        for _ in 0..8 {
            let told = first_fault(&content, BLOCK, unknown, &mut searches);
            assert_eq!(told, None);
        }
        assert!(searches.may_be_long(), "what was found was not in vain");
        let mut damaged = content.clone();
        damaged[200..264].fill(0x5a);
        assert!(first_fault(&damaged, BLOCK, unknown, &mut searches).is_some());
        assert!(!searches.may_be_long());
        let told = first_fault(&content, BLOCK, unknown, &mut searches);
        assert!(told.is_some(), "far away, and not looked for");
    }
}
