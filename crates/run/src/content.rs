//! What a worker writes into blocks and expects to read from them.

use crate::access::Space;
use crate::data::Filler;
use crate::heat::{Bitmap, Heat};
use crate::source::Drawn;
use crate::verify::{BlockAddress, Expected, ExpectedRun, Mismatch, Tearing, Verifier};
use engine::{Op, Slot};

/// Verified content of one worker.
pub(crate) struct Verified<'a> {
    /// By the worker's file index.
    pub(crate) files: Vec<VerifiedFile>,
    /// Blocks that this run has written, of all workers; `None` if the run writes nothing.
    pub(crate) written: Option<&'a Bitmap>,
    /// What each slot's read must find, decided when it was issued.
    pub(crate) expected: Vec<Expected>,
    /// Passes of writes before the present one: each pass writes a generation of its own.
    pub(crate) passes: u64,
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
}

impl Lineage {
    /// The lineage in a later pass of the same run.
    fn after(self, passes: u64) -> Self {
        Self {
            writing: self.writing + passes,
            ..self
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
                tearing: Tearing::Fault,
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
    pub(crate) fn prepare(&mut self, buffer: &mut [u8], _slot: Slot, drawn: &Drawn) {
        if let Some(verified) = &self.verified {
            let file = &verified.files[drawn.file as usize];
            file.verifier.fill(
                buffer,
                BlockAddress {
                    file: file.id,
                    offset: drawn.offset,
                },
                file.lineage.after(verified.passes).writing,
            );
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
        let overlap = match verified.written {
            None => Overlap::ReadOnly,
            Some(written) if blocks_of(self.space, drawn).all(|block| written.is_set(block)) => {
                Overlap::WrittenHere
            }
            Some(_) => Overlap::MayBeInFlight,
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
            let file = &verified.files[drawn.file as usize];
            let at = BlockAddress {
                file: file.id,
                offset: drawn.offset,
            };
            return Some(file.verifier.check(
                &buffer[..drawn.len as usize],
                at,
                verified.expected[slot as usize],
            ));
        }
        if let Some(written) = verified.written.filter(|_| drawn.op == Op::Write) {
            blocks_of(self.space, drawn).for_each(|block| written.set(block));
        }
        None
    }
}

fn blocks_of(space: &Space, drawn: &Drawn) -> std::ops::Range<u64> {
    space.blocks_at(drawn.file, drawn.offset, u64::from(drawn.len))
}
