//! What the order of a pair does beside the arms: the place in the block, and what the arm before
//! leaves behind.

use crate::estimate::{Estimate, Method};
use crate::hodges_lehmann::hodges_lehmann;
use crate::sample::mean;
use crate::signed_rank::signed_rank;
use crate::special::student_quantile;
use crate::verdict::{Reason, Verdict};

/// The difference of one block of a baseline A and a candidate B, with what is known of its order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderedPair {
    /// ln(B / A).
    pub difference: f64,
    /// Whether A ran before B.
    pub base_first: bool,
    /// Which of the two ran right before the block; `None` where it was neither, or nobody knows.
    pub after: Option<PairArm>,
}

/// One of the two arms of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairArm {
    Base,
    Candidate,
}

/// Below this p the place in the block is taken out of the differences.
pub const PLACE_ALPHA: f64 = 0.01;

/// With fewer blocks in the rarer of the two orders nobody can tell the place from the arm.
const FEWEST_OF_AN_ORDER: usize = 2;

/// What the second slot of a block gains over the first whatever arm runs there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaceEffect {
    /// The logarithm of a ratio.
    pub gain: f64,
    /// Whether both orders came up often enough to tell it from what the arms do.
    pub is_separable: bool,
}

/// What the place in the block does, if it can be told from nothing at [`PLACE_ALPHA`].
///
/// The gain is found, and judged to be there, from the second slot less the first alone. Between
/// equal arms these know nothing of the coin that dealt the arms to the slots, so whatever is made
/// of them leaves that coin fair: differences without the gain, [`without_place`], have the exact
/// law of the signed ranks, as those with it have.
#[must_use]
pub fn place_in_block(pairs: &[OrderedPair]) -> Option<PlaceEffect> {
    let gains: Vec<f64> = pairs
        .iter()
        .map(|pair| pair.sign() * pair.difference)
        .collect();
    let base_first = pairs.iter().filter(|pair| pair.base_first).count();
    (!gains.is_empty() && signed_rank(&gains).p < PLACE_ALPHA).then(|| PlaceEffect {
        gain: hodges_lehmann(&gains, 0.95).point,
        is_separable: base_first.min(pairs.len() - base_first) >= FEWEST_OF_AN_ORDER,
    })
}

/// The differences without what the second slot of a block gains.
#[must_use]
pub fn without_place(pairs: &[OrderedPair], place: Option<PlaceEffect>) -> Vec<f64> {
    let gain = place.map_or(0.0, |place| place.gain);
    pairs
        .iter()
        .map(|pair| pair.difference - pair.sign() * gain)
        .collect()
}

/// The effect of B after B against A after A, which no carry-over from one slot into the next can
/// make: what B gains after A, and A after B, is in it no more.
///
/// With f(p, x) for arm x right after arm p, blocks A-B after A have f(A, B) - f(A, A), blocks B-A
/// after B have f(B, B) - f(B, A), and the others, in which both slots follow the other arm,
/// f(A, B) - f(B, A). The first two less the third is f(B, B) - f(A, A); the place in the block
/// cancels as well. Means of the four kinds of blocks with their common variance (Student's t).
///
/// It takes about ten times the blocks of [`crate::effect`], for it knows nothing of carry-over but
/// that it lasts one slot. `None` where a kind of block is missing, or nothing is left to tell the
/// variance from.
#[must_use]
pub fn free_of_carry_over(pairs: &[OrderedPair], level: f64) -> Option<Estimate> {
    let of = |base_first: bool, after: PairArm| -> Vec<f64> {
        pairs
            .iter()
            .filter(|pair| pair.base_first == base_first && pair.after == Some(after))
            .map(|pair| pair.difference)
            .collect()
    };
    let kinds = [
        (1.0, of(true, PairArm::Base)),
        (1.0, of(false, PairArm::Candidate)),
        (-0.5, of(true, PairArm::Candidate)),
        (-0.5, of(false, PairArm::Base)),
    ];
    let n: usize = kinds.iter().map(|(_, d)| d.len()).sum();
    if kinds.iter().any(|(_, d)| d.is_empty()) || n <= kinds.len() {
        return None;
    }
    let freedom = (n - kinds.len()) as f64;
    let (mut point, mut squares, mut share) = (0.0, 0.0, 0.0);
    for (weight, d) in &kinds {
        let middle = mean(d);
        point += weight * middle;
        squares += d.iter().map(|x| (x - middle).powi(2)).sum::<f64>();
        share += weight * weight / d.len() as f64;
    }
    let error = (squares / freedom * share).sqrt();
    let half_width = student_quantile(0.5 + 0.5 * level, freedom) * error;
    Some(Estimate {
        point,
        low: point - half_width,
        high: point + half_width,
        level,
        n,
        method: Method::OfKinds,
    })
}

/// The verdict on pairs whose slots followed other arms: one of difference stands only if carry-over
/// cannot be all of it, that is if [`free_of_carry_over`] at the same level differs from zero to the
/// same side.
#[must_use]
pub fn unless_carry_over(verdict: Verdict, pairs: &[OrderedPair], effect: &Estimate) -> Verdict {
    match verdict {
        Verdict::Faster { .. }
        | Verdict::Slower { .. }
        | Verdict::Equivalent { different: true } => {}
        Verdict::Invalid(_)
        | Verdict::Equivalent { different: false }
        | Verdict::Inconclusive { .. } => {
            return verdict;
        }
    }
    let stands = free_of_carry_over(pairs, effect.level)
        .is_some_and(|own| !own.contains(0.0) && own.point.signum() == effect.point.signum());
    if stands {
        verdict
    } else {
        Verdict::Invalid(Reason::MayBeCarryOver)
    }
}

impl OrderedPair {
    /// +1 where B is the second slot, else -1.
    fn sign(&self) -> f64 {
        if self.base_first { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PairArm::{Base, Candidate};
    use units::random::Random;

    fn pair(difference: f64, base_first: bool, after: Option<PairArm>) -> OrderedPair {
        OrderedPair {
            difference,
            base_first,
            after,
        }
    }

    #[test]
    fn the_effect_after_the_own_arm_is_what_remains_of_arbitrary_carry_over_and_place() {
        // f(A, A) = 0, f(B, B) = 0.3, f(A, B) = 1, f(B, A) = -2, and 5 for the second slot.
        let all: Vec<OrderedPair> = [
            pair(1.0 - 0.0 + 5.0, true, Some(Base)),
            pair(0.3 + 2.0 - 5.0, false, Some(Candidate)),
            pair(1.0 + 2.0 + 5.0, true, Some(Candidate)),
            pair(1.0 + 2.0 - 5.0, false, Some(Base)),
        ]
        .repeat(3);
        let found = free_of_carry_over(&all, 0.95).unwrap();
        assert!((found.point - 0.3).abs() < 1e-12 && found.n == 12);
        let effect = hodges_lehmann(&without_place(&all, place_in_block(&all)), 0.95);
        let faster = Verdict::Faster { by_margin: true };
        assert_eq!(unless_carry_over(faster.clone(), &all, &effect), faster);
        let lacking: Vec<OrderedPair> = all.into_iter().filter(|p| p.base_first).collect();
        assert_eq!(free_of_carry_over(&lacking, 0.95), None);
        assert_eq!(
            unless_carry_over(faster, &lacking, &effect),
            Verdict::Invalid(Reason::MayBeCarryOver)
        );
        let none = Verdict::Equivalent { different: false };
        assert_eq!(unless_carry_over(none.clone(), &lacking, &effect), none);
    }

    #[test]
    fn a_place_that_matters_leaves_the_law_of_the_signed_ranks_exact() {
        let mut rng = Random::new(83);
        let mut rejected = 0;
        for _ in 0..4000 {
            let pairs: Vec<OrderedPair> = (0..12)
                .map(|_| {
                    let base_first = rng.coin();
                    let gain = 0.5 + rng.normal().powi(3);
                    pair(if base_first { gain } else { -gain }, base_first, None)
                })
                .collect();
            let d = without_place(&pairs, place_in_block(&pairs));
            rejected += i32::from(signed_rank(&d).p <= 0.05);
        }
        // 5 % less what a discrete law leaves, and three deviations of 4,000 draws.
        assert!((140..=240).contains(&rejected), "{rejected}");
    }

    #[test]
    fn blocks_of_one_order_do_not_tell_the_place_from_the_arm() {
        let of = |rarer: usize| {
            let blocks: Vec<OrderedPair> = (0..10)
                .map(|block| pair(1.0 + 0.01 * f64::from(block), true, None))
                .collect();
            let other = (0..rarer).map(|_| pair(-1.0, false, None));
            place_in_block(&blocks.into_iter().chain(other).collect::<Vec<_>>())
        };
        let separable = |rarer| of(rarer).unwrap().is_separable;
        assert_eq!([0, 1, 2].map(separable), [false, false, true]);
    }

    #[test]
    fn nothing_is_taken_out_of_pairs_without_a_place_that_matters() {
        let mut rng = Random::new(89);
        let taken = (0..1000).filter(|_| {
            let pairs: Vec<OrderedPair> = (0..20)
                .map(|_| pair(0.3 + rng.normal(), rng.coin(), None))
                .collect();
            place_in_block(&pairs).is_some()
        });
        assert!(taken.count() <= 20);
        assert_eq!(place_in_block(&[]), None);
    }
}
