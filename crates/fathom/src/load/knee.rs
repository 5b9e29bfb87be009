//! `--find-knee`: the highest arrival rate at which a threshold holds, and the curve that leads there.

use super::{Load, options, usage};
use crate::exit::Usage;
use anyhow::Result;
use clap::ArgMatches;
use object::{KneeSearch, LoadError, LoadPlan, Threshold};
use record::{Operations, Record};
use units::{Nanos, Rate, lossless};

/// A rate is kept if so much of it was achieved and no more than this was unsent.
const LEAST_KEPT: f64 = 0.95;
const MOST_UNSENT: f64 = 0.01;
const PRECISION: f64 = 0.05;

/// What is searched.
pub(super) struct Search {
    threshold: Threshold,
    step_ns: u64,
    rates: KneeSearch,
}

/// The search that was asked for.
pub(super) fn asked(matches: &ArgMatches) -> Result<Option<Search>> {
    let Some(text) = matches.get_one::<String>("find-knee") else {
        for name in ["step-duration", "most-rate"] {
            if matches.get_one::<String>(name).is_some() {
                return Err(Usage(format!("--{name} belongs to --find-knee")).into());
            }
        }
        return Ok(None);
    };
    let threshold = Threshold::parse(text).map_err(usage)?;
    let first = options::rate(matches, "rate").map_err(usage)?.unwrap_or(100.0);
    let most = options::rate(matches, "most-rate").map_err(usage)?.unwrap_or(1e6);
    let step_ns = options::time(matches, "step-duration").map_err(usage)?.unwrap_or(10_000_000_000);
    if !(first > 0.0 && most >= first && most <= 1e7) || step_ns == 0 {
        return Err(Usage(
            "--find-knee: rates are above 0 and at most 10M/s, --most-rate is not below --rate, and a step has a length".into(),
        )
        .into());
    }
    Ok(Some(Search { threshold, step_ns, rates: KneeSearch::new(first, most, PRECISION) }))
}

/// One step, as the curve shows it.
struct Point {
    rate: f64,
    achieved: f64,
    all: Operations,
    unsent: u64,
    measured: String,
    holds: bool,
}

impl Load<'_> {
    /// Runs steps until the knee is known; each is a record.
    pub(super) fn find_knee(&self, plan: &LoadPlan, mut search: Search) -> Result<i32> {
        let mut plan = plan.clone();
        plan.scenario.thresholds = vec![search.threshold.clone()];
        let (mut points, mut records): (Vec<Point>, Vec<Record>) = (Vec::new(), Vec::new());
        while let Some(rate) = search.rates.next_rate() {
            let mut record = match self.once(&plan.at_rate(rate, search.step_ns)) {
                Ok(record) => record,
                Err(error @ LoadError::Interrupted) if records.is_empty() => return self.refused(&plan, error),
                Err(LoadError::Interrupted) => break,
                Err(error) => return self.refused(&plan, error),
            };
            record.name = format!("{}@{rate:.0}/s", plan.scenario.name);
            self.output.save(&record)?;
            let point = point(rate, &record, &search.threshold);
            search.rates.saw(rate, point.holds);
            points.push(point);
            let code = record.outcome.exit_code;
            records.push(record);
            if code > 5 {
                break;
            }
        }
        let curve = curve(&mut points, &search);
        self.finish(&records, &curve)?;
        let stopped = engine::sys::caught_signal().map(|(signal, _)| 128 + signal);
        Ok(stopped.unwrap_or(if search.rates.best().is_some() { 0 } else { 3 }))
    }
}

fn point(rate: f64, record: &Record, threshold: &Threshold) -> Point {
    let mut all = Operations::default();
    record.operations.kinds().for_each(|(_, operations)| all.merge(operations));
    let result = threshold.judge(record);
    let pace = record.pace.clone().unwrap_or_default();
    let due = lossless::u64_to_f64(all.count + all.errors + pace.unsent).max(1.0);
    let is_kept = pace.achieved_per_second >= LEAST_KEPT * rate && lossless::u64_to_f64(pace.unsent) <= MOST_UNSENT * due;
    let fails = all.errors > 0 && !threshold.judges_errors();
    let measured = if fails {
        format!("{}; {} failed", result.measured, all.errors)
    } else if !is_kept {
        format!("{}; the rate was not kept", result.measured)
    } else {
        result.measured
    };
    Point { rate, achieved: pace.achieved_per_second, unsent: pace.unsent, holds: result.holds && is_kept && !fails, all, measured }
}

fn curve(points: &mut [Point], search: &Search) -> String {
    points.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let time = |q: f64, all: &Operations| {
        all.latency.quantile(q).map_or_else(|| "-".into(), |ns| Nanos(lossless::f64_to_u64_saturating(ns)).to_string())
    };
    let mut rows: Vec<Vec<String>> =
        vec![["rate", "achieved", "p50", "p99", "unsent", "errors", "", search.threshold.text()].map(str::to_owned).to_vec()];
    for point in points.iter() {
        let verdict = if point.holds { "holds" } else { "breaks" };
        rows.push(vec![
            Rate(point.rate).to_string(),
            Rate(point.achieved).to_string(),
            time(0.5, &point.all),
            time(0.99, &point.all),
            point.unsent.to_string(),
            point.all.errors.to_string(),
            verdict.into(),
            point.measured.clone(),
        ]);
    }
    let mut out = super::summary::table(&rows);
    let text = search.threshold.text();
    out.push_str(&match (search.rates.best(), search.rates.least_broken()) {
        (Some(best), Some(least)) => {
            format!("knee: {text} holds at {} and breaks at {}; single observations, one a rate\n", Rate(best), Rate(least))
        }
        (Some(best), None) => format!("no knee: {text} still holds at {}, the highest rate tried\n", Rate(best)),
        (None, Some(least)) => format!("no knee: {text} breaks at {}, the lowest rate tried\n", Rate(least)),
        (None, None) => "no knee: no step was completed\n".to_owned(),
    });
    out
}
