//! Compares a block with its expectation, fast where it is met, and names the fault where it is
//! not.

use super::header::{HEADER_UNIT, Header, Unit};
use super::searches::Searches;
use super::{BlockAddress, Expected, ExpectedRun, Mismatch, MismatchClass, MismatchKind, Tearing};
use crate::data::{Fill, first_difference, is_all, matches_addressed, within};

/// Zeros in a shorter piece of a sector are changed bytes, no hole.
pub(super) const SHORTEST_HOLE: usize = 16;

pub(super) fn check_addressed(
    buf: &[u8],
    fill: Fill,
    seed: u64,
    at: BlockAddress,
) -> Result<(), Mismatch> {
    if matches_addressed(buf, fill, seed, at.offset) {
        return Ok(());
    }
    let (index, expected) = first_difference(buf, fill, seed, at.offset)
        .expect("a block that does not match has a byte that differs");
    let sector_start =
        index.saturating_sub(within(at.offset.wrapping_add(index as u64), HEADER_UNIT));
    let sector_len = HEADER_UNIT - within(at.offset.wrapping_add(sector_start as u64), HEADER_UNIT);
    let sector = &buf[sector_start..buf.len().min(sector_start + sector_len)];
    let hole = sector.len() >= SHORTEST_HOLE && is_all(sector, 0);
    let kind = if hole {
        MismatchKind::Holes
    } else {
        MismatchKind::Corrupt
    };
    Err(Mismatch::at(at, index, kind, expected, buf[index]))
}

pub(super) fn check_headers(
    buf: &[u8],
    at: BlockAddress,
    expected: Expected,
    searches: &mut Searches,
) -> Result<(), Mismatch> {
    let (units, tail) = buf.as_chunks::<HEADER_UNIT>();
    let block = ReadBlock {
        units,
        at,
        expected,
        len: buf.len() as u64,
    };
    if !block.is_plainly_right() {
        block.judge(searches)?;
    }
    match tail.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(index) => {
            let index = buf.len() - tail.len() + index;
            Err(Mismatch::at(
                at,
                index,
                MismatchKind::Corrupt,
                0,
                buf[index],
            ))
        }
    }
}

pub(super) struct ReadBlock<'a> {
    pub(super) units: &'a [Unit],
    pub(super) at: BlockAddress,
    pub(super) expected: Expected,
    /// Bytes, with a tail.
    pub(super) len: u64,
}

impl ReadBlock<'_> {
    /// Whether each unit is right and the writes that they name follow each other without overlap.
    fn is_plainly_right(&self) -> bool {
        let mut before: Option<Header> = None;
        for (index, unit) in self.units.iter().enumerate() {
            let Some(header) = Header::of_intact(unit) else {
                return false;
            };
            if self.fault(&header, self.place(index)).is_some() {
                return false;
            }
            if let Some(before) = before
                && !(header.same_block(&before) && header.version == before.version)
                && header.block_start < before.block_start.saturating_add(before.block_len)
            {
                return false;
            }
            before = Some(header);
        }
        true
    }

    fn judge(&self, searches: &mut Searches) -> Result<(), Mismatch> {
        for (index, unit) in self.units.iter().enumerate() {
            let Some(header) = Header::of_intact(unit) else {
                if self.is_lawful_mixture(index, searches) {
                    continue;
                }
                let kind = match is_all(unit, 0) {
                    true => MismatchKind::Holes,
                    false if self.is_nobodys() => MismatchKind::NotOurs,
                    false => MismatchKind::Corrupt,
                };
                return Err(self.mismatch(index, kind, &self.nearest_permitted(index)));
            };
            let Some(fault) = self.fault(&header, self.place(index)) else {
                continue;
            };
            let in_place = fault.0.class() != MismatchClass::Misdirected;
            let tear = in_place
                .then(|| self.tear(&header, self.units.len()))
                .flatten();
            let (kind, right) = tear.unwrap_or(fault);
            return Err(self.mismatch(index, kind, &right));
        }
        let earlier_tear = |(index, unit)| {
            let (kind, right) = self.tear(&Header::as_found(unit), index)?;
            Some(self.mismatch(index, kind, &right))
        };
        self.units
            .iter()
            .enumerate()
            .find_map(earlier_tear)
            .map_or(Ok(()), Err)
    }

    /// Whether no write is known to have been here, and nothing of the block is of one.
    fn is_nobodys(&self) -> bool {
        let unknown = self.expected.run == ExpectedRun::Any
            && (self.expected.oldest, self.expected.newest) == (0, u64::MAX);
        let foreign = |(index, unit): (usize, &Unit)| {
            is_all(unit, 0) || Header::is_foreign(unit, self.place(index))
        };
        unknown && self.units.iter().enumerate().all(foreign)
    }

    /// What is wrong with an intact unit by itself, and the header that would be right.
    pub(super) fn fault(
        &self,
        header: &Header,
        place: BlockAddress,
    ) -> Option<(MismatchKind, Header)> {
        if header.place != place {
            let kind = MismatchKind::Misdirected {
                found_file: header.place.file,
                found_offset: header.place.offset,
            };
            let shift = place.offset.wrapping_sub(header.place.offset);
            let right = Header {
                block_start: header.block_start.wrapping_add(shift),
                ..header.moved_to(place)
            };
            return Some((kind, right));
        }
        let mut right = *header;
        let Expected {
            oldest,
            newest,
            run,
            tearing: _,
        } = self.expected;
        if let ExpectedRun::This(expected_run) = run
            && header.version.run_id != expected_run
        {
            right.version.run_id = expected_run;
            right.version.generation = newest;
            return Some((
                MismatchKind::ForeignRun {
                    found_run: header.version.run_id,
                    expected_run,
                },
                right,
            ));
        }
        let found_generation = header.version.generation;
        if found_generation < oldest {
            right.version.generation = oldest;
            return Some((
                MismatchKind::Stale {
                    found_generation,
                    oldest,
                    newest,
                },
                right,
            ));
        }
        if found_generation > newest {
            right.version.generation = newest;
            return Some((
                MismatchKind::Unissued {
                    found_generation,
                    newest,
                },
                right,
            ));
        }
        None
    }

    /// The tear between the unit of `header` and a unit before `end` that names the same block and
    /// another write of it.
    fn tear(&self, header: &Header, end: usize) -> Option<(MismatchKind, Header)> {
        if self.expected.tearing == Tearing::Allowed {
            return None;
        }
        let unit_len = HEADER_UNIT as u64;
        let first = header.block_start.saturating_sub(self.at.offset) / unit_len;
        let last = header
            .block_start
            .saturating_add(header.block_len)
            .saturating_sub(self.at.offset)
            / unit_len;
        let first = usize::try_from(first).unwrap_or(end).min(end);
        let last = usize::try_from(last).unwrap_or(end).clamp(first, end);
        let beside = (first..last).find_map(|other| {
            let found = Header::as_found(&self.units[other]);
            let torn = found.same_block(header)
                && found.place == self.place(other)
                && found.version != header.version
                && Header::of_intact(&self.units[other]).is_some();
            torn.then_some(found.version)
        })?;
        let right = Header {
            version: beside,
            ..*header
        };
        Some((
            MismatchKind::Torn {
                found: header.version,
                beside,
            },
            right,
        ))
    }

    /// The permitted header of a unit without a readable one: the candidate with the fewest
    /// differing bytes.
    fn nearest_permitted(&self, index: usize) -> Header {
        let place = self.place(index);
        let unit = &self.units[index];
        let found = Header::as_found(unit).moved_to(place);
        let intact = |unit: &Unit| Header::of_intact(unit).map(|header| header.moved_to(place));
        let before = self.units[..index].iter().rev().find_map(intact);
        let after = self.units[index + 1..].iter().find_map(intact);
        let newest = self.expected_header(place, found.version.run_id, self.expected.newest);
        let oldest = self.expected_header(place, found.version.run_id, self.expected.oldest);
        let damage = |candidate: &Header| {
            let mut wanted = [0; HEADER_UNIT];
            candidate.write(&mut wanted);
            wanted
                .iter()
                .zip(unit)
                .filter(|(wanted, found)| wanted != found)
                .count()
        };
        let permitted = [Some(found), before, after, Some(newest), Some(oldest)]
            .into_iter()
            .flatten();
        permitted.min_by_key(damage).unwrap_or(newest)
    }

    pub(super) fn expected_header(
        &self,
        place: BlockAddress,
        any_run: u64,
        generation: u64,
    ) -> Header {
        let run_id = match self.expected.run {
            ExpectedRun::This(run_id) => run_id,
            ExpectedRun::Any => any_run,
        };
        let version = super::Version { run_id, generation };
        Header {
            place,
            block_start: self.at.offset,
            block_len: self.len,
            version,
        }
    }

    fn mismatch(&self, index: usize, kind: MismatchKind, right: &Header) -> Mismatch {
        let mut wanted = [0; HEADER_UNIT];
        right.write(&mut wanted);
        let unit = &self.units[index];
        let first = wanted
            .iter()
            .zip(unit)
            .position(|(wanted, found)| wanted != found)
            .unwrap_or(0);
        Mismatch::at(self.place(index), first, kind, wanted[first], unit[first])
    }

    pub(super) fn place(&self, index: usize) -> BlockAddress {
        let offset = self
            .at
            .offset
            .wrapping_add((index as u64).wrapping_mul(HEADER_UNIT as u64));
        BlockAddress { offset, ..self.at }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Version, fill_header};
    use super::*;

    const RUN: u64 = 0xabc;
    const AT: BlockAddress = BlockAddress {
        file: 1,
        offset: 16 * 4096,
    };

    fn check_headers(buf: &[u8], at: BlockAddress, expected: Expected) -> Result<(), Mismatch> {
        super::check_headers(buf, at, expected, &mut Searches::default())
    }

    fn version(generation: u64) -> Version {
        Version {
            run_id: RUN,
            generation,
        }
    }

    fn block(generation: u64) -> Vec<u8> {
        write(AT, 4096, generation, RUN)
    }

    fn write(at: BlockAddress, len: usize, generation: u64, run_id: u64) -> Vec<u8> {
        let mut buf = vec![0; len];
        fill_header(&mut buf, at, generation, run_id);
        buf
    }

    /// The units from `from` on are of `second`.
    fn spliced(first: &[u8], second: &[u8], from: usize) -> Vec<u8> {
        [&first[..from * 512], &second[from * 512..]].concat()
    }

    fn kind(buf: &[u8], expected: Expected) -> MismatchKind {
        check_headers(buf, AT, expected).unwrap_err().kind
    }

    #[test]
    fn an_older_write_is_stale_and_a_later_one_was_not_issued() {
        let stale = check_headers(&block(4), AT, Expected::between(5, 6, RUN)).unwrap_err();
        assert_eq!(
            stale.kind,
            MismatchKind::Stale {
                found_generation: 4,
                oldest: 5,
                newest: 6
            }
        );
        assert_eq!(
            (stale.first_bad_byte, stale.expected, stale.found),
            (AT.offset + 40, 5, 4)
        );
        for generation in [5, 6] {
            assert_eq!(
                check_headers(&block(generation), AT, Expected::between(5, 6, RUN)),
                Ok(())
            );
        }
        let unissued = MismatchKind::Unissued {
            found_generation: 7,
            newest: 6,
        };
        assert_eq!(kind(&block(7), Expected::between(5, 6, RUN)), unissued);
    }

    #[test]
    fn a_write_of_another_run_is_foreign_unless_any_run_will_do() {
        let buf = write(AT, 4096, 5, 0xdef);
        let foreign = MismatchKind::ForeignRun {
            found_run: 0xdef,
            expected_run: RUN,
        };
        assert_eq!(kind(&buf, Expected::exactly(5, RUN)), foreign);
        assert_eq!(check_headers(&buf, AT, Expected::any_write()), Ok(()));
    }

    #[test]
    fn a_whole_write_at_the_wrong_place_is_misdirected() {
        for wrong in [
            BlockAddress { offset: 4096, ..AT },
            BlockAddress { file: 7, ..AT },
        ] {
            let buf = write(wrong, 4096, 5, RUN);
            let misdirected = MismatchKind::Misdirected {
                found_file: wrong.file,
                found_offset: wrong.offset,
            };
            for expected in [
                Expected::exactly(5, RUN),
                Expected::any_write(),
                Expected::exactly(9, 1),
            ] {
                assert_eq!(kind(&buf, expected), misdirected);
            }
        }
    }

    #[test]
    fn a_misdirected_part_is_reported_where_it_lies() {
        let mut buf = block(5);
        buf.copy_within(512..1024, 2048);
        let mismatch = check_headers(&buf, AT, Expected::exactly(5, RUN)).unwrap_err();
        let found_offset = AT.offset + 512;
        assert_eq!(
            mismatch.kind,
            MismatchKind::Misdirected {
                found_file: 1,
                found_offset
            }
        );
        assert_eq!(
            mismatch.first_bad_byte,
            AT.offset + 2048 + 9,
            "0x10200 and 0x10800 differ in their second byte"
        );
    }

    #[test]
    fn a_part_of_an_older_write_is_torn_whichever_part_it_is() {
        let exactly = Expected::exactly(5, RUN);
        let new_first = check_headers(&spliced(&block(5), &block(4), 3), AT, exactly).unwrap_err();
        assert_eq!(
            new_first.kind,
            MismatchKind::Torn {
                found: version(4),
                beside: version(5)
            }
        );
        assert_eq!(new_first.first_bad_byte, AT.offset + 3 * 512 + 40);
        let old_first = check_headers(&spliced(&block(4), &block(5), 3), AT, exactly).unwrap_err();
        assert_eq!(
            old_first.kind,
            MismatchKind::Torn {
                found: version(4),
                beside: version(5)
            }
        );
        assert_eq!(old_first.first_bad_byte, AT.offset + 40);
    }

    #[test]
    fn a_misdirected_unit_of_a_newer_write_makes_an_old_block_no_torn_one() {
        let mut buf = block(4);
        buf[512..1024].copy_from_slice(&block(5)[1024..1536]);
        let stale = MismatchKind::Stale {
            found_generation: 4,
            oldest: 5,
            newest: 5,
        };
        assert_eq!(kind(&buf, Expected::exactly(5, RUN)), stale);
    }

    #[test]
    fn zeros_in_a_piece_shorter_than_the_shortest_hole_are_changed_bytes() {
        for (len, kind) in [
            (SHORTEST_HOLE - 1, MismatchKind::Corrupt),
            (SHORTEST_HOLE, MismatchKind::Holes),
        ] {
            assert_eq!(
                check_addressed(&vec![0; len], Fill::Ones, 0, AT)
                    .unwrap_err()
                    .kind,
                kind
            );
        }
    }

    #[test]
    fn a_mixture_of_runs_is_torn_even_if_any_run_will_do() {
        let buf = spliced(&block(5), &write(AT, 4096, 5, 0xdef), 7);
        for expected in [Expected::exactly(5, RUN), Expected::any_write()] {
            let found = Version {
                run_id: 0xdef,
                generation: 5,
            };
            assert_eq!(
                kind(&buf, expected),
                MismatchKind::Torn {
                    found,
                    beside: version(5)
                }
            );
        }
    }

    #[test]
    fn a_mixture_of_permitted_writes_is_torn_unless_they_overlapped() {
        let buf = spliced(&block(5), &block(4), 4);
        let both = Expected::between(4, 5, RUN);
        assert_eq!(
            kind(&buf, both),
            MismatchKind::Torn {
                found: version(4),
                beside: version(5)
            }
        );
        assert_eq!(check_headers(&buf, AT, both.overlapping()), Ok(()));
    }

    #[test]
    fn overlapping_copies_may_meet_at_any_byte() {
        let both = Expected::between(4, 5, RUN);
        for (first, second) in [(block(4), block(5)), (block(5), block(4))] {
            for cut in (0..=4096).step_by(5) {
                let buf = [&first[..cut], &second[cut..]].concat();
                assert_eq!(
                    check_headers(&buf, AT, both.overlapping()),
                    Ok(()),
                    "cut at {cut}"
                );
                let unknown = Expected {
                    oldest: 0,
                    newest: u64::MAX,
                    run: ExpectedRun::Any,
                    tearing: Tearing::Allowed,
                };
                let between_units = (512..4096 - 512).contains(&cut);
                assert!(
                    !between_units || check_headers(&buf, AT, unknown).is_ok(),
                    "the units beside it tell both writes, cut at {cut}"
                );
            }
            let inside = [&first[..700], &second[700..]].concat();
            assert_eq!(
                kind(&inside, both),
                MismatchKind::Corrupt,
                "without overlap it is a fault"
            );
        }
    }

    #[test]
    fn overlap_excuses_no_damaged_byte() {
        let (old, new) = (block(4), block(5));
        let both = Expected::between(4, 5, RUN).overlapping();
        for at in (0..4096).step_by(5) {
            let mut buf = [&new[..700], &old[700..]].concat();
            // A byte that neither of the two writes has at this place.
            buf[at] = (1..=3)
                .map(|step| new[at].wrapping_add(step))
                .find(|byte| *byte != old[at])
                .unwrap();
            assert!(check_headers(&buf, AT, both).is_err(), "byte {at}");
        }
    }

    #[test]
    fn overlap_excuses_no_write_that_is_not_permitted() {
        let buf = spliced(&block(5), &block(3), 4);
        let stale = MismatchKind::Stale {
            found_generation: 3,
            oldest: 4,
            newest: 5,
        };
        assert_eq!(
            kind(&buf, Expected::between(4, 5, RUN).overlapping()),
            stale
        );
    }

    #[test]
    fn a_smaller_write_over_a_larger_one_is_no_tear() {
        let mut buf = block(1);
        let inner = write(
            BlockAddress {
                offset: AT.offset + 1024,
                ..AT
            },
            1024,
            2,
            RUN,
        );
        buf[1024..2048].copy_from_slice(&inner);
        assert_eq!(
            check_headers(&buf, AT, Expected::between(1, 2, RUN)),
            Ok(())
        );
        let torn = MismatchKind::Torn {
            found: version(2),
            beside: version(1),
        };
        let mut behind = spliced(&buf, &block(2), 6);
        assert_eq!(kind(&behind, Expected::between(1, 2, RUN)), torn);
        behind[..4096].copy_from_slice(&block(2));
        assert_eq!(
            check_headers(&behind, AT, Expected::between(1, 2, RUN)),
            Ok(())
        );
    }

    #[test]
    fn a_part_of_a_larger_block_shows_the_tears_it_contains() {
        let at = BlockAddress {
            offset: AT.offset - 2048,
            ..AT
        };
        let large = spliced(&write(at, 8192, 5, RUN), &write(at, 8192, 4, RUN), 6);
        let torn = MismatchKind::Torn {
            found: version(4),
            beside: version(5),
        };
        assert_eq!(kind(&large[2048..6144], Expected::between(4, 5, RUN)), torn);
        assert_eq!(
            check_headers(&large[..2048], at, Expected::between(4, 5, RUN)),
            Ok(())
        );
    }

    #[test]
    fn zero_units_are_holes_and_damaged_ones_corrupt() {
        let mut buf = block(5);
        buf[512..1024].fill(0);
        let hole = check_headers(&buf, AT, Expected::exactly(5, RUN)).unwrap_err();
        assert_eq!(
            (hole.kind, hole.first_bad_byte),
            (MismatchKind::Holes, AT.offset + 512)
        );
        assert_eq!((hole.expected, hole.found), (b'F', 0));
        buf[512] = 1;
        assert_eq!(kind(&buf, Expected::exactly(5, RUN)), MismatchKind::Corrupt);
    }

    #[test]
    fn damage_is_located_by_the_neighbours_if_nothing_is_expected() {
        let at = BlockAddress {
            offset: AT.offset - 512,
            ..AT
        };
        let mut buf = write(at, 8192, 5, RUN)[512..4608].to_vec();
        buf[1024 + 41] ^= 0x10;
        let mismatch = check_headers(&buf, AT, Expected::any_write()).unwrap_err();
        assert_eq!(
            (mismatch.kind, mismatch.first_bad_byte),
            (MismatchKind::Corrupt, AT.offset + 1065)
        );
        assert_eq!((mismatch.expected, mismatch.found), (0, 0x10));
    }

    #[test]
    fn a_tail_shorter_than_a_unit_must_be_zeros() {
        let mut buf = write(AT, 700, 5, RUN);
        assert_eq!(check_headers(&buf, AT, Expected::exactly(5, RUN)), Ok(()));
        buf[600] = 9;
        let mismatch = check_headers(&buf, AT, Expected::exactly(5, RUN)).unwrap_err();
        assert_eq!(
            (mismatch.first_bad_byte, mismatch.found),
            (AT.offset + 600, 9)
        );
    }

    #[test]
    fn foreign_content_is_corrupt_where_a_write_is_known_and_somebody_else_s_where_none_is() {
        for content in [[0x5a; 4096], [0xff; 4096]] {
            assert_eq!(
                kind(&content, Expected::exactly(5, RUN)),
                MismatchKind::Corrupt
            );
            assert_eq!(kind(&content, Expected::any_write()), MismatchKind::NotOurs);
        }
        let mut mostly_zeros = [0; 4096];
        mostly_zeros[700] = 1;
        assert_eq!(
            kind(&mostly_zeros, Expected::any_write()),
            MismatchKind::Holes,
            "its first unit is one"
        );
    }

    #[test]
    fn no_damage_to_a_block_of_ours_makes_it_somebody_else_s() {
        for len in [512, 4096] {
            let sound = write(AT, len, 5, RUN);
            let told = |buf: &[u8]| {
                check_headers(buf, AT, Expected::any_write())
                    .unwrap_err()
                    .kind
            };
            for (from, to) in [
                (0, 4),
                (0, 8),
                (0, 16),
                (8, 16),
                (16, 56),
                (0, 56),
                (56, 64),
                (64, len),
                (1, 511.min(len)),
            ] {
                let mut buf = sound.clone();
                buf[from..to].iter_mut().for_each(|byte| *byte = !*byte);
                let kind = told(&buf);
                // A single unit of which nothing is left cannot be told from others' data.
                assert!(
                    kind == MismatchKind::Corrupt
                        || (len == 512 && to == 511)
                        || (len == 512 && (from, to) == (0, 56)),
                    "{len} {from}..{to}: {kind}"
                );
            }
            for byte in 0..512 {
                let mut buf = sound.clone();
                buf[byte] ^= 0x10;
                assert_eq!(told(&buf), MismatchKind::Corrupt, "byte {byte} of {len}");
            }
        }
    }
}
