//! Arrival rate against latency, and the knee: the highest rate at which everything asked for still
//! held.

use super::{LeftOut, StudyArm};
use record::{Histogram, Record, StepVerdict, percentile_has_support};
use std::collections::BTreeMap;

/// Fewer rates are no curve.
const FEWEST_RATES: usize = 3;
/// The tail is the highest of these that at least half of the steps have support for; slow rates
/// have few operations.
const TAILS: [f64; 2] = [99.0, 95.0];
const LAST_TAIL: f64 = 90.0;

/// One arm's steps of one scenario, by rate.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalCurve {
    pub scenario: String,
    pub arm: usize,
    pub points: Vec<ArrivalPoint>,
    /// The percentile that is shown of every step that has support for it.
    pub tail: f64,
    /// The highest rate that held, and the lowest that did not.
    pub knee: Option<f64>,
    pub least_broken: Option<f64>,
    /// Why the search that these steps are of found no knee, whatever they look like.
    pub no_answer: Option<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalPoint {
    pub rate: f64,
    pub achieved: f64,
    pub latency: Histogram,
    pub succeeded: u64,
    pub failed: u64,
    pub unsent: u64,
    pub holds: bool,
    /// It had no operation that a threshold applies to, and nothing else broke.
    pub undecided: bool,
    /// Thresholds and what was measured, or why it does not hold.
    pub said: String,
}

/// The scenario of a load at a rate; `None` of any other record.
pub(super) fn scenario_of_step(record: &Record) -> Option<&str> {
    record
        .pace
        .as_ref()?
        .asked_per_second
        .filter(|rate| *rate > 0.0)?;
    record.load.as_ref().map(|load| load.scenario.as_str())
}

/// All curves: of the records that count, and of those that were left out because they broke.
pub(super) fn arrivals(
    records: &[Record],
    arms: &[StudyArm],
    left_out: &[LeftOut],
) -> Vec<ArrivalCurve> {
    let mut found: BTreeMap<(&str, usize), Steps> = BTreeMap::new();
    let broken = left_out
        .iter()
        .map(|left| left.record)
        .filter(|_| arms.len() == 1);
    let counting = arms
        .iter()
        .enumerate()
        .flat_map(|(arm, of)| of.records.iter().map(move |record| (arm, *record)));
    for (arm, record) in counting.chain(broken.map(|record| (0, record))) {
        let (at, record) = (record, &records[record]);
        if let Some(scenario) = scenario_of_step(record) {
            let search = record.load.as_ref().and_then(|load| load.search.as_ref());
            let steps = found.entry((scenario, arm)).or_default();
            steps.points.extend(point(record));
            if let Some(search) = search.filter(|_| at >= steps.last) {
                (steps.last, steps.no_answer) = (at, search.no_answer.clone());
            }
        }
    }
    let curve = |((scenario, arm), steps): ((&str, usize), Steps)| {
        let Steps {
            mut points,
            no_answer,
            ..
        } = steps;
        points.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        let mut rates: Vec<f64> = points.iter().map(|point| point.rate).collect();
        rates.dedup();
        let shown = |percent: f64| {
            points
                .iter()
                .filter(|point| percentile_has_support(point.latency.count(), percent))
                .count()
        };
        let tail = TAILS
            .into_iter()
            .find(|percent| 2 * shown(*percent) >= points.len())
            .unwrap_or(LAST_TAIL);
        let least_broken = points
            .iter()
            .find(|point| !point.holds)
            .map(|point| point.rate);
        let below = |point: &&ArrivalPoint| {
            point.holds && least_broken.is_none_or(|broken| point.rate < broken)
        };
        let knee = points.iter().rev().find(below).map(|point| point.rate);
        let is_known = no_answer.is_none();
        (rates.len() >= FEWEST_RATES).then(|| ArrivalCurve {
            scenario: scenario.to_owned(),
            arm,
            points,
            tail,
            knee: knee.filter(|_| is_known),
            least_broken: least_broken.filter(|_| is_known),
            no_answer,
        })
    };
    found.into_iter().filter_map(curve).collect()
}

/// The steps of a curve, and what the last of all says of the search that they are of.
#[derive(Default)]
struct Steps {
    points: Vec<ArrivalPoint>,
    last: usize,
    no_answer: Option<String>,
}

fn point(record: &Record) -> Option<ArrivalPoint> {
    let pace = record.pace.as_ref()?;
    let rate = pace.asked_per_second?;
    let all = record.operations.together();
    let step = record.step_result()?;
    let mut said: Vec<String> = record
        .thresholds()
        .iter()
        .map(|t| format!("{}: {}", t.threshold, t.measured))
        .collect();
    said.extend(record.wrong_content());
    said.extend((!step.rate_kept).then(|| "the rate was not kept".to_owned()));
    said.extend(step.fails.then(|| format!("{} failed", all.errors)));
    Some(ArrivalPoint {
        rate,
        achieved: pace.achieved_per_second,
        succeeded: all.count,
        failed: all.errors,
        unsent: pace.unsent,
        holds: step.verdict == StepVerdict::Holds,
        undecided: step.verdict == StepVerdict::Undecided,
        said: said.join("; "),
        latency: all.latency,
    })
}
