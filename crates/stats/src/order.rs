//! What the order of a pair does beside the arms: the place in the block, and what the arm before
//! leaves behind.

use crate::estimate::{Estimate, Method};
use crate::hodges_lehmann::hodges_lehmann;
use crate::sample::mean;
use crate::signed_rank::signed_rank;
use crate::special::student_quantile;

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

/// What the second slot of a block gains over the first whatever arm runs there, as a logarithm of
/// a ratio, if that can be told from nothing at [`PLACE_ALPHA`].
///
/// It is found, and judged to be there, from the second slot less the first alone. Between equal
/// arms these know nothing of the coin that dealt the arms to the slots, so whatever is made of
/// them leaves that coin fair: differences without it, [`without_place`], have the exact law of the
/// signed ranks, as those with it have.
#[must_use]
pub fn place_in_block(pairs: &[OrderedPair]) -> Option<f64> {
    let gains: Vec<f64> = pairs
        .iter()
        .map(|pair| pair.sign() * pair.difference)
        .collect();
    (!gains.is_empty() && signed_rank(&gains).p < PLACE_ALPHA)
        .then(|| hodges_lehmann(&gains, 0.95).point)
}

/// The differences without what the second slot of a block gains.
#[must_use]
pub fn without_place(pairs: &[OrderedPair], gain: Option<f64>) -> Vec<f64> {
    let gain = gain.unwrap_or(0.0);
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

impl OrderedPair {
    /// +1 where B is the second slot, else -1.
    fn sign(&self) -> f64 {
        if self.base_first { 1.0 } else { -1.0 }
    }
}
