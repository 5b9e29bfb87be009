//! `--find-knee`: the highest arrival rate at which a threshold holds, and the curve that leads
//! there.

use super::{Load, options, usage};
use crate::exit::Usage;
use anyhow::Result;
use clap::ArgMatches;
use object::{KneeSearch, LoadError, LoadPlan, Setup, Spacing};
use record::{Record, SearchAccount, SearchPoint, Threshold};

const PRECISION: f64 = 0.05;

/// What is searched.
pub(super) struct Search {
    threshold: Threshold,
    step_ns: u64,
    spacing: Option<Spacing>,
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
    for name in ["duration", "stages", "scale"] {
        if matches.get_one::<String>(name).is_some() {
            return Err(Usage(format!(
                "--find-knee has steps of --step-duration, so --{name} cannot be given with it"
            ))
            .into());
        }
    }
    let threshold = object::threshold(text).map_err(usage)?;
    let first = options::rate(matches, "rate")
        .map_err(usage)?
        .unwrap_or(100.0);
    let most = options::rate(matches, "most-rate")
        .map_err(usage)?
        .unwrap_or(1e6);
    let step_ns = options::time(matches, "step-duration")
        .map_err(usage)?
        .unwrap_or(10_000_000_000);
    if !(first > 0.0 && most >= first && most <= 1e7) || step_ns == 0 {
        return Err(Usage(
            "--find-knee: rates are above 0 and at most 10M/s, --most-rate is not below --rate, and a step has a length".into(),
        )
        .into());
    }
    let spacing = options::spacing(matches).map_err(usage)?;
    Ok(Some(Search {
        threshold,
        step_ns,
        spacing,
        rates: KneeSearch::new(first, most, PRECISION),
    }))
}

impl Load<'_> {
    /// Runs steps until the knee is known; each is a record that holds the curve so far. What the
    /// load needs is made once.
    pub(super) fn find_knee(&self, plan: &LoadPlan, mut search: Search) -> Result<i32> {
        let mut plan = plan.clone();
        plan.scenario.thresholds = vec![search.threshold.clone()];
        let first = search.rates.next_rate().map_or_else(
            || plan.clone(),
            |rate| plan.at_rate(rate, search.step_ns, search.spacing),
        );
        let mut setup = match Setup::make(&first, self.context.clock, &mut self.live()) {
            Ok(setup) => Some(setup),
            Err(error) => return self.refused(&first, error),
        };
        let (mut points, mut records): (Vec<SearchPoint>, Vec<Record>) = (Vec::new(), Vec::new());
        while let Some((rate, mut standing)) = search.rates.next_rate().zip(setup.take()) {
            let step = plan.at_rate(rate, search.step_ns, search.spacing);
            let mut record = match standing.run(&step, &self.context, &mut self.live()) {
                Ok(record) => record,
                Err(error) => {
                    standing.remove(&mut Record::default());
                    match error {
                        LoadError::Interrupted if !records.is_empty() => break,
                        error @ (LoadError::Asked(_)
                        | LoadError::Target(_)
                        | LoadError::Interrupted) => return self.refused(&step, error),
                    }
                }
            };
            record.asked = self.asked.clone();
            record.name = format!("{}@{rate:.0}/s", plan.scenario.name);
            let point = point(rate, &record, &search.threshold);
            search.rates.saw(rate, point.holds);
            points.push(point);
            let goes_on = record.outcome.exit_code <= 5 && search.rates.next_rate().is_some();
            if goes_on {
                setup = Some(standing);
            } else {
                standing.remove(&mut record);
            }
            if let Some(load) = &mut record.load {
                load.search = Some(search.account(&points));
            }
            self.output.save(&record)?;
            records.push(record);
        }
        points.sort_by(|a, b| a.asked_per_second.total_cmp(&b.asked_per_second));
        let curve = report::knee_text(
            &points,
            search.threshold.text(),
            search.rates.best(),
            search.rates.least_broken(),
        );
        self.output.finish(&records, &curve)?;
        let stopped = sys::caught_signal().map(sys::CaughtSignal::exit_code);
        Ok(stopped.unwrap_or(if search.rates.best().is_some() { 0 } else { 3 }))
    }
}

impl Search {
    fn account(&self, points: &[SearchPoint]) -> SearchAccount {
        SearchAccount {
            threshold: self.threshold.text().to_owned(),
            points: points.to_vec(),
            holds_at: self.rates.best(),
            breaks_at: self.rates.least_broken(),
        }
    }
}

fn point(rate: f64, record: &Record, threshold: &Threshold) -> SearchPoint {
    let all = record.operations.together();
    let result = threshold.judge(record);
    let pace = record.pace.clone().unwrap_or_default();
    let step = record.step_result();
    let measured = if step.is_some_and(|step| step.fails) {
        format!("{}; {} failed", result.measured, all.errors)
    } else if step.is_some_and(|step| !step.rate_kept) {
        format!("{}; the rate was not kept", result.measured)
    } else {
        result.measured
    };
    SearchPoint {
        asked_per_second: rate,
        achieved_per_second: pace.achieved_per_second,
        unsent: pace.unsent,
        errors: all.errors,
        latency_p50_ns: all.latency.quantile(0.5),
        latency_p99_ns: all.latency.quantile(0.99),
        holds: step.is_some_and(|step| step.holds),
        measured,
    }
}
