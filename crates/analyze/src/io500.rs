//! The score of an IO500-like run, and what bounds the belief in it.
//!
//! The bandwidth is the geometric mean of four phases in GiB a second, the metadata rate that of
//! eight in thousands a second, and the score the geometric mean of the two. It is IO500's formula
//! over phases that are like IO500's; it is no IO500 score.

use record::{PlanFacts, PlannedRow, Record, Status};
use std::collections::BTreeSet;
use units::Nanos;
use units::lossless::u64_to_f64;
use workload::{IO500_LIKE, IO500_PHASES, IO500_STONEWALL, Io500Mean, Io500Phase, Io500Role};

mod bounds;

/// What came of the phases of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Io500Result {
    /// As IO500 orders them.
    pub phases: Vec<Io500Line>,
    /// Of all phases: nothing is a score that leaves one out.
    pub score: Option<Io500Score>,
    /// What keeps the reader from taking the score for more than it is, a sentence each.
    pub bounds: Vec<String>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Io500Line {
    pub phase: &'static Io500Phase,
    /// Bytes or things a second; `None` where the phase did not end well.
    pub rate: Option<f64>,
    pub elapsed: Option<Nanos>,
    pub bytes: u64,
    /// Operations; of a walk what it looked at.
    pub count: u64,
    /// Why there is no rate.
    pub why_not: Option<String>,
}

/// The two means and what they make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Io500Score {
    pub gib_per_second: f64,
    pub kiops: f64,
    pub score: f64,
}

/// The runs of IO500's phases among these records, each by its plan.
pub(crate) fn io500(records: &[Record]) -> Vec<Io500Result> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let trials = records.iter().filter_map(|record| record.trial.as_ref());
    let lines = trials.filter_map(|trial| trial.written_plan.as_deref());
    let plans = lines.filter(|line| line.plan.name == IO500_LIKE && seen.insert(&line.hash));
    plans
        .map(|line| {
            let is_of = |record: &&Record| {
                let trial = record.trial.as_ref();
                trial.is_some_and(|trial| trial.plan == line.hash)
            };
            let own: Vec<&Record> = records.iter().filter(is_of).collect();
            result(&line.plan, &own)
        })
        .collect()
}

fn result(plan: &PlanFacts, records: &[&Record]) -> Io500Result {
    let placed: Vec<Placed<'_>> = IO500_PHASES
        .iter()
        .map(|phase| Placed {
            phase,
            planned: plan.rows.iter().find(|row| row.name == phase.name),
            record: records
                .iter()
                .copied()
                .find(|record| record.name == phase.name),
        })
        .collect();
    let phases: Vec<Io500Line> = placed.iter().map(Placed::line).collect();
    Io500Result {
        score: score(&phases),
        bounds: bounds::bounds(&placed),
        phases,
    }
}

/// A phase with what was planned and what came of it.
struct Placed<'a> {
    phase: &'static Io500Phase,
    planned: Option<&'a PlannedRow>,
    record: Option<&'a Record>,
}

impl<'a> Placed<'a> {
    fn writes(&self) -> bool {
        self.phase.role == Io500Role::Writes
    }

    /// An option as it was planned.
    fn option(&self, key: &str) -> Option<&'a str> {
        let options = &self.planned?.workloads.first()?.options;
        options.get(key).map(String::as_str)
    }

    fn line(&self) -> Io500Line {
        let phase = self.phase;
        let ended = self
            .record
            .filter(|record| record.outcome.status == Status::Ok);
        let rate = ended.and_then(|record| rate(phase, record));
        let why_not = match (self.record, rate) {
            (_, Some(_)) => None,
            (None, None) if self.planned.is_none() => Some("it is not in the plan".to_owned()),
            (None, None) => Some("it did not run".to_owned()),
            (Some(record), None) => {
                let outcome = &record.outcome;
                let message = outcome.message.clone();
                Some(message.unwrap_or_else(|| match outcome.status {
                    Status::Ok => "it has no number".to_owned(),
                    status @ (Status::Apart
                    | Status::Failed
                    | Status::Interrupted
                    | Status::Incomplete) => status.word().to_owned(),
                }))
            }
        };
        let record = self.record;
        let walked = record.and_then(|record| record.walk);
        Io500Line {
            phase,
            rate,
            elapsed: record.map(|record| Nanos(record.elapsed_ns)),
            bytes: record.map_or(0, |record| record.operations.bytes()),
            count: match (walked, record) {
                (Some(walk), _) => walk.entries,
                (None, Some(record)) => record.operations.count(),
                (None, None) => 0,
            },
            why_not,
        }
    }
}

/// The number of a phase: what it did over the time from the start of all ranks to the end of the last,
/// as IO500 counts it. The span of a kind is each rank's own, and leaves out that one was late.
fn rate(phase: &Io500Phase, record: &Record) -> Option<f64> {
    let done = record.operations.kind(phase.kind)?;
    let amount = match (phase.mean, phase.role) {
        (Io500Mean::Bandwidth, _) => done.bytes,
        (Io500Mean::Metadata, Io500Role::Walks) => record.walk?.entries,
        (Io500Mean::Metadata, _) => done.count,
    };
    let has_done = amount > 0 && record.elapsed_ns > 0;
    has_done.then(|| u64_to_f64(amount) * 1e9 / u64_to_f64(record.elapsed_ns))
}

fn score(phases: &[Io500Line]) -> Option<Io500Score> {
    let mean = |of: Io500Mean, scale: f64| {
        let of_mean = phases.iter().filter(|line| line.phase.mean == of);
        let rates: Option<Vec<f64>> = of_mean.map(|line| Some(line.rate? / scale)).collect();
        geometric_mean(&rates?)
    };
    let gib_per_second = mean(Io500Mean::Bandwidth, u64_to_f64(1 << 30))?;
    let kiops = mean(Io500Mean::Metadata, 1000.0)?;
    Some(Io500Score {
        gib_per_second,
        kiops,
        score: (gib_per_second * kiops).sqrt(),
    })
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / u64_to_f64(values.len() as u64)).exp())
}

#[cfg(test)]
mod tests;
