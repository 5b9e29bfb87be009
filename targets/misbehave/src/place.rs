//! Faults that are in a place.

use std::ops::Range;

/// Where a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultPlace {
    pub start: u64,
    pub bytes: u64,
    /// What was written since does not have it any more, and writing succeeds.
    pub until_written: bool,
}

impl FaultPlace {
    /// What an extent and the place have in common.
    fn shared(&self, extent: &Range<u64>) -> Range<u64> {
        let end = self.start.saturating_add(self.bytes);
        extent.start.max(self.start)..extent.end.min(end)
    }

    /// Whether an extent touches the place.
    pub fn touches(&self, extent: &Range<u64>) -> bool {
        !self.shared(extent).is_empty()
    }
}

/// What was written of the place of a fault that writing cures.
#[derive(Debug, Clone, Default)]
pub struct Cured {
    /// Apart from each other and in order.
    pieces: Vec<Range<u64>>,
}

impl Cured {
    /// An extent was written.
    pub fn wrote(&mut self, place: &FaultPlace, extent: &Range<u64>) {
        let new = place.shared(extent);
        if new.is_empty() {
            return;
        }
        let from = self.pieces.partition_point(|piece| piece.end < new.start);
        let to = self.pieces.partition_point(|piece| piece.start <= new.end);
        let start = self.pieces[from..to]
            .first()
            .map_or(new.start, |first| first.start.min(new.start));
        let end = self.pieces[from..to]
            .last()
            .map_or(new.end, |last| last.end.max(new.end));
        self.pieces.splice(from..to, std::iter::once(start..end));
    }

    /// Whether all of what an extent has of the place was written.
    pub fn covers(&self, place: &FaultPlace, extent: &Range<u64>) -> bool {
        let asked = place.shared(extent);
        asked.is_empty()
            || self
                .pieces
                .iter()
                .any(|piece| piece.start <= asked.start && asked.end <= piece.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: FaultPlace = FaultPlace {
        start: 10,
        bytes: 20,
        until_written: true,
    };

    proptest! {
        #[test]
        fn a_place_is_cured_byte_by_byte(writes in proptest::collection::vec((0_u64..40, 0_u64..12), 0..12), asked in (0_u64..40, 1_u64..12)) {
            let mut cured = Cured::default();
            let mut bytes = [false; 64];
            for (start, length) in writes {
                cured.wrote(&PLACE, &(start..start + length));
                (start..start + length).for_each(|at| bytes[usize::try_from(at).unwrap()] = true);
            }
            let extent = asked.0..asked.0 + asked.1;
            let whole = extent.clone().filter(|at| (10..30).contains(at)).all(|at| bytes[usize::try_from(at).unwrap()]);
            prop_assert_eq!(cured.covers(&PLACE, &extent), whole);
        }
    }

    #[test]
    fn a_place_is_touched_where_it_is() {
        let touched = [0..10, 0..11, 29..30, 30..40, 12..12].map(|extent| PLACE.touches(&extent));
        assert_eq!(touched, [false, true, true, false, false]);
    }
}
