//! Which writes of this run a block may hold: a word a block, shared by all workers.
//!
//! A write of a block has a number that the write before it had not, so that a rewrite is never the
//! bytes that are there already, and its loss is seen. A write that begins while another one of its
//! block is in flight has the number of that one: storage may carry out both in any order, or in
//! pieces, and nothing but that number can be there when both have ended. So a block holds one known
//! write whenever none is in flight, and a read is judged by the states at its start and at its end.
//!
//! | bits | field |
//! |---|---|
//! | 0 to 12 | number of the newest write, 1 to [`NUMBERS`] and round again; 0: none yet |
//! | 13 to 30 | writes in flight |
//! | 31 | nothing is known any more: a write failed, or there were too many to count |

use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Numbers of the writes of one block; a loss of exactly so many in a row is not seen.
pub(crate) const NUMBERS: u16 = (1 << IN_FLIGHT) - 1;

const IN_FLIGHT: u32 = 13;
const ONE_IN_FLIGHT: u32 = 1 << IN_FLIGHT;
const UNKNOWN: u32 = 1 << 31;

/// The state of each block.
#[derive(Debug)]
pub(crate) struct Rewrites(Vec<AtomicU32>);

/// The state of a block at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockState(u32);

/// What a read of a block may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MayHold {
    /// What was there before the run.
    Earlier,
    /// This write of the run, whole.
    One { number: u16 },
    /// These writes of the run, or a mixture of them.
    OneOf { oldest: u16, newest: u16 },
    /// What was there before the run, any write of the run, or a mixture.
    Anything,
}

impl BlockState {
    fn number(self) -> u16 {
        u16::try_from(self.0 & u32::from(NUMBERS)).expect("thirteen bits are fewer than sixteen")
    }

    fn is_in_flight(self) -> bool {
        self.0 & !UNKNOWN >= ONE_IN_FLIGHT
    }

    fn begun(self) -> Self {
        // A count that overflows becomes the bit that says so, and stays.
        if self.0 & UNKNOWN != 0 {
            self
        } else if self.is_in_flight() {
            Self(self.0 + ONE_IN_FLIGHT)
        } else {
            Self(u32::from(self.number() % NUMBERS + 1) + ONE_IN_FLIGHT)
        }
    }

    fn ended(self) -> Self {
        if self.0 & UNKNOWN != 0 {
            self
        } else {
            Self(self.0.saturating_sub(ONE_IN_FLIGHT))
        }
    }

    fn failed(self) -> Self {
        Self(self.0 | UNKNOWN)
    }

    /// What a read may find that began in this state and ended in the other.
    #[inline]
    pub(crate) fn until(self, end: Self) -> MayHold {
        let (first, last) = (self.number(), end.number());
        let is_quiet = self == end && !self.is_in_flight();
        match (first, last) {
            _ if (self.0 | end.0) & UNKNOWN != 0 => MayHold::Anything,
            (0, 0) if is_quiet => MayHold::Earlier,
            (number, _) if is_quiet => MayHold::One { number },
            (0, _) => MayHold::Anything,
            // The one before is what was there before the run, or the last of the numbers.
            (1, _) if self.is_in_flight() => MayHold::Anything,
            (first, last) if last < first => MayHold::OneOf {
                oldest: 1,
                newest: NUMBERS,
            },
            (first, newest) => MayHold::OneOf {
                oldest: first - u16::from(self.is_in_flight()),
                newest,
            },
        }
    }
}

impl Rewrites {
    #[must_use]
    pub(crate) fn new(blocks: u64) -> Self {
        Self((0..blocks).map(|_| AtomicU32::new(0)).collect())
    }

    /// A write of this block is about to begin; returns its number.
    #[inline]
    pub(crate) fn begin(&self, block: u64) -> u16 {
        self.change(block, BlockState::begun).number().max(1)
    }

    #[inline]
    pub(crate) fn end(&self, blocks: Range<u64>) {
        for block in blocks {
            self.change(block, BlockState::ended);
        }
    }

    /// A write failed, and nobody knows what of it was done.
    #[cold]
    pub(crate) fn fail(&self, blocks: Range<u64>) {
        for block in blocks {
            self.change(block, BlockState::failed);
        }
    }

    #[inline]
    pub(crate) fn state(&self, block: u64) -> BlockState {
        BlockState(self.word(block).load(Acquire))
    }

    fn word(&self, block: u64) -> &AtomicU32 {
        &self.0[units::lossless::to_usize(block)]
    }

    /// The state after the change.
    #[inline]
    fn change(&self, block: u64, to: impl Fn(BlockState) -> BlockState) -> BlockState {
        let word = self.word(block);
        let mut before = word.load(Acquire);
        loop {
            let after = to(BlockState(before));
            match word.compare_exchange_weak(before, after.0, AcqRel, Acquire) {
                Ok(_) => return after,
                Err(meanwhile) => before = meanwhile,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn permits(may: MayHold, found: Option<u16>) -> bool {
        match (may, found) {
            (MayHold::Earlier, None) | (MayHold::Anything, _) => true,
            (MayHold::One { number }, Some(found)) => found == number,
            (MayHold::OneOf { oldest, newest }, Some(found)) => (oldest..=newest).contains(&found),
            (MayHold::Earlier, Some(_)) | (MayHold::One { .. } | MayHold::OneOf { .. }, None) => {
                false
            }
        }
    }

    fn now(rewrites: &Rewrites) -> MayHold {
        let state = rewrites.state(0);
        state.until(state)
    }

    #[test]
    fn every_write_has_another_number_than_the_one_before_and_the_numbers_go_round() {
        let rewrites = Rewrites::new(1);
        assert_eq!(now(&rewrites), MayHold::Earlier);
        for round in 0..20_000_u16 {
            let number = rewrites.begin(0);
            assert_eq!(number, round % NUMBERS + 1);
            rewrites.end(0..1);
            assert_eq!(now(&rewrites), MayHold::One { number });
        }
    }

    #[test]
    fn a_lost_rewrite_is_not_what_a_later_read_may_find() {
        let rewrites = Rewrites::new(1);
        for _ in 0..3 {
            rewrites.begin(0);
            rewrites.end(0..1);
        }
        let before = rewrites.state(0);
        rewrites.begin(0);
        let either = MayHold::OneOf {
            oldest: 3,
            newest: 4,
        };
        assert_eq!(before.until(rewrites.state(0)), either);
        assert_eq!(now(&rewrites), either);
        rewrites.end(0..1);
        assert_eq!(before.until(rewrites.state(0)), either);
        assert_eq!(now(&rewrites), MayHold::One { number: 4 });
    }

    #[test]
    fn writes_of_one_block_that_overlap_have_one_number() {
        let rewrites = Rewrites::new(1);
        assert_eq!((rewrites.begin(0), rewrites.begin(0)), (1, 1));
        rewrites.end(0..1);
        assert_eq!(rewrites.begin(0), 1);
        rewrites.end(0..1);
        rewrites.end(0..1);
        assert_eq!(now(&rewrites), MayHold::One { number: 1 });
        assert_eq!(rewrites.begin(0), 2);
    }

    #[test]
    fn a_failed_write_leaves_everything_possible() {
        let rewrites = Rewrites::new(1);
        rewrites.begin(0);
        rewrites.fail(0..1);
        rewrites.begin(0);
        rewrites.end(0..1);
        assert_eq!(now(&rewrites), MayHold::Anything);
    }

    #[test]
    fn more_writes_in_flight_than_can_be_counted_invent_no_fault() {
        let rewrites = Rewrites::new(1);
        for _ in 0..(1 << 18) + 5 {
            assert!((1..=NUMBERS).contains(&rewrites.begin(0)));
        }
        rewrites.end(0..1);
        assert_eq!(now(&rewrites), MayHold::Anything);
    }

    /// A block of a storage that carries out each write at any moment between its start and its
    /// end, and reads likewise.
    #[derive(Default)]
    struct Model {
        holds: Option<u16>,
        in_flight: Vec<(u16, bool)>,
        reads: Vec<(BlockState, Option<Option<u16>>)>,
    }

    impl Model {
        fn step(&mut self, rewrites: &Rewrites, action: u8, pick: usize) {
            match action {
                0 => self.in_flight.push((rewrites.begin(0), false)),
                1 if !self.in_flight.is_empty() => {
                    let at = pick % self.in_flight.len();
                    let write = &mut self.in_flight[at];
                    if !write.1 {
                        *write = (write.0, true);
                        self.holds = Some(write.0);
                    }
                }
                2 if !self.in_flight.is_empty() => {
                    let at = pick % self.in_flight.len();
                    let (number, is_done) = self.in_flight.swap_remove(at);
                    if !is_done {
                        self.holds = Some(number);
                    }
                    rewrites.end(0..1);
                }
                3 => self.reads.push((rewrites.state(0), None)),
                4 if !self.reads.is_empty() => {
                    let at = pick % self.reads.len();
                    self.reads[at].1.get_or_insert(self.holds);
                }
                5 if !self.reads.is_empty() => {
                    let at = pick % self.reads.len();
                    let (start, found) = self.reads.swap_remove(at);
                    let found = found.unwrap_or(self.holds);
                    let may = start.until(rewrites.state(0));
                    assert!(permits(may, found), "{may:?} is not {found:?}");
                }
                _ => {}
            }
        }
    }

    proptest! {
        #[test]
        fn no_order_of_overlapping_writes_and_reads_is_called_a_fault(
            steps in proptest::collection::vec((0_u8..6, any::<usize>()), 0..400),
            before in prop_oneof![0_u16..3, NUMBERS - 3..NUMBERS + 3],
        ) {
            let rewrites = Rewrites::new(1);
            let mut model = Model::default();
            for _ in 0..before {
                model.step(&rewrites, 0, 0);
                model.step(&rewrites, 2, 0);
            }
            for (action, pick) in steps {
                model.step(&rewrites, action, pick);
            }
        }
    }
}
