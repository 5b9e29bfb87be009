//! Two arms in randomised blocks on machines where the order of slots matters; shared by the test
//! and by the table of results.

use stats::simulate::{Disturbance, levels, sigma};
use stats::{
    Better, BlockRun, OrderedPair, PairArm, Reason, Thresholds, Verdict, effect, judge,
    place_in_block, predecessor_test, unless_carry_over, without_place,
};
use units::random::Random;

const MARGIN: f64 = 0.05;
/// The last of the looks.
const MOST_BLOCKS: usize = 90;

/// What the machine does besides noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Machine {
    Of(Disturbance),
    /// The second slot of a block is 30 % faster.
    SecondWarm,
    /// The first slot of a block is 25 % slower, with a spread of its own of 10 %.
    ColdFirst,
    /// One slot in five, drawn by lot, at half the rate.
    Bimodal,
    /// Half the rate for about nine slots at a time.
    Sticky,
    /// Noise by Student's t with 3 degrees of freedom.
    HeavyTails,
}

/// All machines on which no slot leaves anything to the next.
pub(crate) fn machines() -> Vec<Machine> {
    use Machine::{Bimodal, ColdFirst, HeavyTails, Of, SecondWarm, Sticky};
    Disturbance::harmless()
        .map(Of)
        .chain([SecondWarm, ColdFirst, Bimodal, Sticky, HeavyTails])
        .collect()
}

/// Logarithms by which an arm gains right after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CarryOver {
    pub(crate) to_candidate: f64,
    pub(crate) to_base: f64,
}

pub(crate) const NONE: CarryOver = CarryOver {
    to_candidate: 0.0,
    to_base: 0.0,
};

/// How an experiment is made and judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// Slot after slot; the verdict is that of the differences alone.
    Differences,
    /// Slot after slot; a difference stands only if carry-over cannot be all of it.
    WithoutLeadIns,
    /// Before each slot its own arm runs unmeasured; so much of a carry-over outlasts that.
    LeadIns { left: f64 },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Experiment {
    pub(crate) machine: Machine,
    pub(crate) cv: f64,
    pub(crate) carry: CarryOver,
    /// The true logarithm of candidate / base.
    pub(crate) truth: f64,
    pub(crate) rule: Rule,
}

/// Shares of experiments by how they ended, and their mean number of blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends {
    pub(crate) faster: f64,
    pub(crate) slower: f64,
    pub(crate) equivalent: f64,
    pub(crate) withheld: f64,
    pub(crate) mean_blocks: f64,
}

impl Experiment {
    /// So many experiments, each judged at the looks of the open rule until one decides.
    pub(crate) fn ends(&self, runs: u32, seed: u64) -> Ends {
        let mut ends = Ends::default();
        let each = 1.0 / f64::from(runs);
        for run in 0..runs {
            let (verdict, blocks) = self.once(&mut Random::of(&[seed, u64::from(run)]));
            ends.mean_blocks += each * blocks as f64;
            match verdict {
                Verdict::Faster { .. } => ends.faster += each,
                Verdict::Slower { .. } => ends.slower += each,
                Verdict::Equivalent { .. } => ends.equivalent += each,
                Verdict::Invalid(_) => ends.withheld += each,
                Verdict::Inconclusive { .. } => {}
            }
        }
        ends
    }

    fn once(&self, rng: &mut Random) -> (Verdict, usize) {
        let (blocks, pairs) = self.measured(rng);
        let thresholds = Thresholds::open();
        let mut last = None;
        for look in thresholds.looks().iter().map(|look| *look as usize) {
            let Some(threshold) = thresholds.at(look, 1).filter(|_| look <= MOST_BLOCKS) else {
                break;
            };
            let verdict = self.verdict(&blocks[..look], &pairs[..look], 1.0 - threshold);
            let is_decided = !matches!(
                verdict,
                Verdict::Inconclusive { .. }
                    | Verdict::Invalid(
                        Reason::CarryOver { .. } | Reason::MayBeCarryOver | Reason::PlaceOrArm
                    )
            );
            last = Some((verdict, look));
            if is_decided {
                break;
            }
        }
        last.expect("there is a first look")
    }

    fn verdict(&self, blocks: &[BlockRun], pairs: &[OrderedPair], level: f64) -> Verdict {
        let place = match self.rule {
            Rule::Differences => None,
            Rule::WithoutLeadIns | Rule::LeadIns { .. } => place_in_block(pairs),
        };
        let found = effect(&without_place(pairs, place), level).expect("there are eight blocks");
        let aliased = place.filter(|place| !place.is_separable);
        let aliased = aliased.map(|_| Reason::PlaceOrArm);
        let verdict = judge(Some(&found), aliased, MARGIN, Better::Higher);
        if self.rule == Rule::Differences {
            return verdict;
        }
        if let Some(p) = predecessor_test(blocks).filter(|p| *p < 0.01) {
            return Verdict::Invalid(Reason::CarryOver { p });
        }
        if self.rule == Rule::WithoutLeadIns {
            unless_carry_over(verdict, pairs, &found)
        } else {
            verdict
        }
    }

    fn measured(&self, rng: &mut Random) -> (Vec<BlockRun>, Vec<OrderedPair>) {
        let left = match self.rule {
            Rule::Differences | Rule::WithoutLeadIns => 1.0,
            Rule::LeadIns { left } => left,
        };
        let machine = self.levels(rng);
        let (mut blocks, mut pairs) = (Vec::new(), Vec::new());
        let mut before = None;
        for block in 0..MOST_BLOCKS {
            let after = before;
            let base_first = rng.coin();
            let mut values = [0.0; 2];
            for place in 0..2 {
                let is_candidate = base_first == (place == 1);
                let arm = if is_candidate {
                    PairArm::Candidate
                } else {
                    PairArm::Base
                };
                let gained = match (before, arm) {
                    (Some(PairArm::Base), PairArm::Candidate) => self.carry.to_candidate,
                    (Some(PairArm::Candidate), PairArm::Base) => self.carry.to_base,
                    (None, _) | (Some(_), _) => 0.0,
                };
                let truth = if is_candidate { self.truth } else { 0.0 };
                values[usize::from(is_candidate)] =
                    machine[2 * block + place] + truth + left * gained;
                before = Some(arm);
            }
            let [base, candidate] = values;
            let mut slots = vec![(0, base), (1, candidate)];
            if !base_first {
                slots.swap(0, 1);
            }
            blocks.push(BlockRun { config: 0, slots });
            pairs.push(OrderedPair {
                difference: candidate - base,
                base_first,
                after,
            });
        }
        (blocks, pairs)
    }

    /// What the machine gives in each slot.
    fn levels(&self, rng: &mut Random) -> Vec<f64> {
        let n = 2 * MOST_BLOCKS;
        let what = match self.machine {
            Machine::Of(what) => what,
            Machine::SecondWarm
            | Machine::ColdFirst
            | Machine::Bimodal
            | Machine::Sticky
            | Machine::HeavyTails => Disturbance::Quiet,
        };
        let mut out = levels(what, n, 2, self.cv, rng);
        let half = 0.5f64.ln();
        let mut is_slow = false;
        for (slot, level) in out.iter_mut().enumerate() {
            let is_first = slot.is_multiple_of(2);
            match self.machine {
                Machine::Of(Disturbance::Sawtooth) if is_first => *level += 0.2,
                Machine::SecondWarm if !is_first => *level += 1.3f64.ln(),
                Machine::ColdFirst if is_first => {
                    *level += 0.75f64.ln() + sigma(0.1) * rng.normal();
                }
                Machine::Bimodal if rng.unit() < 0.2 => *level += half,
                Machine::Sticky => {
                    is_slow ^= rng.unit() < 1.0 / 9.0;
                    *level += if is_slow { half } else { 0.0 };
                }
                Machine::HeavyTails => {
                    let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
                    *level *= (squares / 3.0).sqrt().recip();
                }
                Machine::Of(_) | Machine::SecondWarm | Machine::ColdFirst | Machine::Bimodal => {}
            }
        }
        out
    }
}
