//! What a worker writes into blocks and expects to read from them.

use crate::access::Space;
use crate::data::Filler;
use crate::heat::{Bitmap, Heat};
use crate::source::Drawn;
use crate::verify::{
    BlockAddress, BlockState, Expected, ExpectedRun, MayHold, Mismatch, NUMBERS, Rewrites,
    Searches, Tearing, Verifier,
};
use engine::{Op, Slot};

/// Verified content of one worker.
pub(crate) struct Verified<'a> {
    /// By the worker's file index.
    pub(crate) files: Vec<VerifiedFile>,
    pub(crate) own: OwnWrites<'a>,
    /// What each slot's read must find, decided when it was issued.
    pub(crate) expected: Vec<Expected>,
    /// What each block of each slot's read was when it was issued, where rewrites are numbered.
    pub(crate) found: Vec<BlockState>,
    /// Passes of writes before the present one: each pass writes a generation of its own.
    pub(crate) passes: u64,
}

/// What is known of the writes of this run, of all workers.
#[derive(Clone, Copy)]
pub(crate) enum OwnWrites<'a> {
    /// The run does not read what it writes, or its pattern knows no writes.
    Unknown,
    /// Each pass writes each block once; a bit says that it did, and behind the bits of all blocks
    /// another one that a write failed, after which nobody knows what is there.
    ByPass(&'a Bitmap),
    /// Each write of a block has a number of its own.
    Numbered(&'a Rewrites),
    /// Others of the same run write the same blocks, and nobody here knows when: all writes are alike,
    /// so that a mixture of them is none, and a block may hold what was there before.
    AmongOthers,
}

/// One file of a verified run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VerifiedFile {
    pub(crate) verifier: Verifier,
    /// Index in the layout: the file's name in its own content.
    pub(crate) id: u32,
    pub(crate) lineage: Lineage,
}

/// Whose writes a file holds: all blocks are at least of generation `oldest` and at most of
/// `newest`, of run `holding` where that is known; this run writes generation `writing` as run
/// `writing_run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lineage {
    pub(crate) holding: Option<u64>,
    pub(crate) oldest: u64,
    pub(crate) newest: u64,
    pub(crate) writing_run: u64,
    pub(crate) writing: u64,
    /// Whether what was there before may be what a write was killed in.
    pub(crate) tearing: Tearing,
}

impl Lineage {
    /// The lineage in a later pass of the same run.
    fn after(self, passes: u64) -> Self {
        Self {
            writing: self.writing + passes,
            ..self
        }
    }

    /// The generations of the writes of this run with these numbers.
    fn numbered(&self, number: u16) -> u64 {
        self.writing.saturating_add(u64::from(number) - 1)
    }

    fn expected_of(&self, may: MayHold) -> Expected {
        let own = |oldest, newest, tearing| Expected {
            oldest: self.numbered(oldest),
            newest: self.numbered(newest),
            run: ExpectedRun::This(self.writing_run),
            tearing,
        };
        match may {
            MayHold::Earlier => self.expected(&Overlap::ReadOnly),
            MayHold::Anything => Expected {
                newest: self.newest.max(self.numbered(NUMBERS)),
                ..self.expected(&Overlap::MayBeInFlight)
            },
            MayHold::One { number } => own(number, number, Tearing::Fault),
            MayHold::OneOf { oldest, newest } => own(oldest, newest, Tearing::Allowed),
        }
    }

    fn expected(&self, overlap: &Overlap) -> Expected {
        let run = self.holding.map_or(ExpectedRun::Any, ExpectedRun::This);
        match overlap {
            Overlap::WrittenHere => Expected {
                oldest: self.writing,
                newest: self.writing,
                run: ExpectedRun::This(self.writing_run),
                tearing: Tearing::Fault,
            },
            Overlap::MayBeInFlight => Expected {
                oldest: self.oldest,
                newest: self.newest.max(self.writing),
                run,
                tearing: Tearing::Allowed,
            },
            Overlap::ReadOnly => Expected {
                oldest: self.oldest,
                newest: self.newest,
                run,
                tearing: self.tearing,
            },
        }
    }
}

enum Overlap {
    WrittenHere,
    MayBeInFlight,
    ReadOnly,
}

/// The role of data in one worker.
pub(crate) struct Content<'a> {
    unit_bytes: u32,
    space: &'a Space,
    fresh: Option<Filler>,
    verified: Option<Verified<'a>>,
    heat: Option<&'a Heat>,
    searches: Searches,
}

impl<'a> Content<'a> {
    /// `fresh` fills unverified writes.
    #[must_use]
    pub(crate) fn new(
        space: &'a Space,
        unit_bytes: u32,
        fresh: Option<Filler>,
        verified: Option<Verified<'a>>,
        heat: Option<&'a Heat>,
    ) -> Self {
        Self {
            unit_bytes,
            space,
            fresh,
            verified,
            heat,
            searches: Searches::default(),
        }
    }

    /// Bytes of the smallest operation.
    #[must_use]
    pub(crate) fn unit_bytes(&self) -> u32 {
        self.unit_bytes
    }

    /// Whether preparing or checking a block takes time of its own.
    #[must_use]
    pub(crate) fn takes_time(&self) -> bool {
        self.fresh.is_some() || self.verified.is_some()
    }

    /// Whether completions need no attention.
    #[inline]
    #[must_use]
    pub(crate) fn is_trivial(&self) -> bool {
        self.verified.is_none() && self.heat.is_none()
    }

    /// A further pass of writes begins; all that the passes before it wrote has ended.
    pub(crate) fn begin_pass(&mut self, passes_before: u64) {
        if let Some(verified) = &mut self.verified {
            verified.passes = passes_before;
        }
    }

    /// Fills the buffer of a write.
    #[inline]
    pub(crate) fn prepare(&mut self, buffer: &mut [u8], drawn: &Drawn) {
        if let Some(verified) = &self.verified {
            verified.fill(buffer, self.space, self.unit_bytes, drawn);
        } else if let Some(filler) = &mut self.fresh {
            filler.fill_fresh(buffer);
        }
    }

    /// Decides what a read must find, from what is certain when it is issued.
    #[inline]
    pub(crate) fn expect(&mut self, slot: Slot, drawn: &Drawn) {
        if self.verified.is_some() {
            self.expect_verified(slot, drawn);
        }
    }

    fn expect_verified(&mut self, slot: Slot, drawn: &Drawn) {
        let Some(verified) = &mut self.verified else {
            return;
        };
        let blocks = blocks_of(self.space, drawn);
        let overlap = match verified.own {
            OwnWrites::Unknown => Overlap::ReadOnly,
            OwnWrites::Numbered(rewrites) => {
                let most = verified.found.len() / verified.expected.len();
                let states = &mut verified.found[slot as usize * most..][..most];
                for (state, block) in states.iter_mut().zip(blocks) {
                    *state = rewrites.state(block);
                }
                return;
            }
            OwnWrites::ByPass(written)
                if blocks
                    .clone()
                    .all(|block| is_known(written, self.space, block)) =>
            {
                Overlap::WrittenHere
            }
            OwnWrites::ByPass(_) | OwnWrites::AmongOthers => Overlap::MayBeInFlight,
        };
        verified.expected[slot as usize] = verified.files[drawn.file as usize]
            .lineage
            .after(verified.passes)
            .expected(&overlap);
    }

    /// An operation succeeded; of a verified read, what the check found.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        buffer: &[u8],
        slot: Slot,
        drawn: &Drawn,
    ) -> Option<Result<(), Mismatch>> {
        if let Some(heat) = self.heat
            && drawn.op.transfers()
        {
            let blocks = blocks_of(self.space, drawn);
            heat.used(blocks.start, blocks.end - blocks.start);
        }
        let verified = self.verified.as_ref()?;
        if drawn.op == Op::Read {
            return Some(verified.check(
                &buffer[..drawn.len as usize],
                slot,
                drawn,
                blocks_of(self.space, drawn),
                self.unit_bytes,
                &mut self.searches,
            ));
        }
        if drawn.op == Op::Write {
            let blocks = blocks_of(self.space, drawn);
            match verified.own {
                OwnWrites::Unknown | OwnWrites::AmongOthers => {}
                OwnWrites::ByPass(written) => blocks.for_each(|block| written.set(block)),
                OwnWrites::Numbered(rewrites) => rewrites.end(blocks),
            }
        }
        None
    }

    /// An operation failed.
    #[cold]
    pub(crate) fn failed(&mut self, drawn: &Drawn) {
        let Some(verified) = self.verified.as_ref().filter(|_| drawn.op == Op::Write) else {
            return;
        };
        let blocks = blocks_of(self.space, drawn);
        match verified.own {
            OwnWrites::Unknown | OwnWrites::AmongOthers => {}
            OwnWrites::ByPass(written) => {
                blocks.for_each(|block| written.set(self.space.blocks() + block));
            }
            OwnWrites::Numbered(rewrites) => rewrites.fail(blocks),
        }
    }
}

/// Whether passes have written a block, and none of their writes of it failed.
fn is_known(written: &Bitmap, space: &Space, block: u64) -> bool {
    written.is_set(block) && !written.is_set(space.blocks() + block)
}

impl Verified<'_> {
    /// What of an operation of so many bytes has a header of its own, and is judged by itself.
    fn part_bytes(&self, len: usize, unit_bytes: u32) -> usize {
        match self.own {
            OwnWrites::Numbered(_) | OwnWrites::AmongOthers => unit_bytes as usize,
            OwnWrites::Unknown | OwnWrites::ByPass(_) => len.max(1),
        }
    }

    /// Fills a write. Where rewrites are numbered, each block of the space has a number and a
    /// header of its own, whatever the length of the write; and where others write the same blocks,
    /// so that all writes of a block are the same.
    fn fill(&self, buffer: &mut [u8], space: &Space, unit_bytes: u32, drawn: &Drawn) {
        let file = &self.files[drawn.file as usize];
        let at = |offset| BlockAddress {
            file: file.id,
            offset,
        };
        let parts = buffer.chunks_mut(self.part_bytes(buffer.len(), unit_bytes));
        let mut offset = drawn.offset;
        for (part, block) in parts.zip(blocks_of(space, drawn)) {
            let generation = match self.own {
                OwnWrites::Numbered(rewrites) => file.lineage.numbered(rewrites.begin(block)),
                OwnWrites::AmongOthers | OwnWrites::Unknown | OwnWrites::ByPass(_) => {
                    file.lineage.after(self.passes).writing
                }
            };
            file.verifier.fill(part, at(offset), generation);
            offset += part.len() as u64;
        }
    }

    fn check(
        &self,
        content: &[u8],
        slot: Slot,
        drawn: &Drawn,
        blocks: std::ops::Range<u64>,
        unit_bytes: u32,
        searches: &mut Searches,
    ) -> Result<(), Mismatch> {
        let file = &self.files[drawn.file as usize];
        let at = |offset| BlockAddress {
            file: file.id,
            offset,
        };
        let most = self.found.len() / self.expected.len();
        let begun = self.found.iter().skip(slot as usize * most);
        let parts = content.chunks(self.part_bytes(content.len(), unit_bytes));
        let mut offset = drawn.offset;
        let mut begun = begun.take(most);
        for (part, block) in parts.zip(blocks) {
            let expected = match self.own {
                OwnWrites::Numbered(rewrites) => {
                    let Some(begun) = begun.next() else { break };
                    file.lineage.expected_of(begun.until(rewrites.state(block)))
                }
                OwnWrites::AmongOthers | OwnWrites::Unknown | OwnWrites::ByPass(_) => {
                    self.expected[slot as usize]
                }
            };
            // The name in the content may be that of other files, too.
            file.verifier
                .check_among(part, at(offset), expected, searches)
                .map_err(|mismatch| Mismatch {
                    file: drawn.file,
                    ..mismatch
                })?;
            offset += part.len() as u64;
        }
        Ok(())
    }
}

fn blocks_of(space: &Space, drawn: &Drawn) -> std::ops::Range<u64> {
    space.blocks_at(drawn.file, drawn.offset, u64::from(drawn.len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{MismatchClass, Pattern};

    const BLOCK: u32 = 4096;

    fn drawn(op: Op, block: u64) -> Drawn {
        Drawn {
            op,
            file: 0,
            offset: block * u64::from(BLOCK),
            len: BLOCK,
        }
    }

    /// The content of two blocks that passes write, of a file that an earlier run wrote.
    fn by_passes<'a>(space: &'a Space, written: &'a Bitmap) -> Content<'a> {
        let lineage = Lineage {
            holding: Some(7),
            oldest: 1,
            newest: 1,
            writing_run: 7,
            writing: 2,
            tearing: Tearing::Fault,
        };
        let verified = Verified {
            files: vec![VerifiedFile {
                verifier: Verifier::new(Pattern::Header, 0, 7),
                id: 0,
                lineage,
            }],
            own: OwnWrites::ByPass(written),
            expected: vec![Expected::any_write()],
            found: Vec::new(),
            passes: 0,
        };
        Content::new(space, BLOCK, None, Some(verified), None)
    }

    #[test]
    fn a_block_of_which_a_later_pass_failed_to_write_is_not_called_stale() {
        let space = Space::new(&[2 * u64::from(BLOCK)], 0, u64::from(BLOCK));
        let written = Bitmap::new(2 * space.blocks());
        let mut content = by_passes(&space, &written);
        let mut blocks = [0, 1].map(|block| {
            let mut buffer = vec![0; BLOCK as usize];
            let write = drawn(Op::Write, block);
            content.prepare(&mut buffer, &write);
            assert_eq!(content.ended(&buffer, 0, &write), None);
            buffer
        });
        let told = |content: &mut Content<'_>, block: u64, buffer: &[u8]| {
            let read = drawn(Op::Read, block);
            content.expect(0, &read);
            let outcome = content.ended(buffer, 0, &read).unwrap();
            outcome.map_err(|mismatch| mismatch.kind.class())
        };
        for (buffer, block) in blocks.iter().zip(0..) {
            assert_eq!(told(&mut content, block, buffer), Ok(()));
        }
        content.begin_pass(1);
        content.failed(&drawn(Op::Write, 0));
        let lost = drawn(Op::Write, 1);
        let mut new = vec![0; BLOCK as usize];
        content.prepare(&mut new, &lost);
        content.ended(&new, 0, &lost);
        assert_eq!(told(&mut content, 0, &blocks[0]), Ok(()), "nobody wrote it");
        let stale = Err(MismatchClass::Stale);
        assert_eq!(told(&mut content, 1, &blocks[1]), stale, "it was written");
        blocks[0][700] ^= 1;
        let corrupt = Err(MismatchClass::Corrupt);
        assert_eq!(told(&mut content, 0, &blocks[0]), corrupt);
    }
}
