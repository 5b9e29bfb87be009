//! `--find-knee`: the highest arrival rate at which a threshold holds, and the curve that leads
//! there.

use super::Load;
use crate::exit::Usage;
use crate::live;
use crate::tell::{layout, say};
use anyhow::Result;
use conduct::Conductor;
use lab::{Kept, KneeSearch, LabError, LimitFound, LimitSearch, find_limit};
use object::{AskedLoad, LoadPlan, Spacing};
use record::{Record, SearchAccount};

const PRECISION: f64 = 0.05;

/// What is searched, and how its arrivals are spaced.
pub(super) struct Search {
    limit: LimitSearch,
    first: f64,
    spacing: Option<Spacing>,
}

/// The search that was asked for.
pub(super) fn search(asked: &AskedLoad) -> Result<Option<Search>> {
    let (knee, changes) = (&asked.knee, &asked.changes);
    let Some(threshold) = knee.threshold.clone() else {
        for (name, is_given) in [
            ("step-duration", knee.step_ns.is_some()),
            ("most-rate", knee.most.is_some()),
        ] {
            if is_given {
                return Err(Usage(format!("--{name} belongs to --find-knee")).into());
            }
        }
        return Ok(None);
    };
    for (name, is_given) in [
        ("duration", changes.duration_ns.is_some()),
        ("stages", changes.stages.is_some()),
        ("scale", changes.scale.is_some()),
    ] {
        if is_given {
            return Err(Usage(format!(
                "--find-knee has steps of --step-duration, so --{name} cannot be given with it"
            ))
            .into());
        }
    }
    let (first, most) = (changes.rate.unwrap_or(100.0), knee.most.unwrap_or(1e6));
    let step_ns = knee.step_ns.unwrap_or(10_000_000_000);
    if !(first > 0.0 && most >= first && most <= 1e7) || step_ns == 0 {
        return Err(Usage(
            "--find-knee: rates are above 0 and at most 10M/s, --most-rate is not below --rate, and a step has a length".into(),
        )
        .into());
    }
    Ok(Some(Search {
        limit: LimitSearch {
            threshold,
            step_ns,
            rates: KneeSearch::new(first, most, PRECISION),
        },
        first,
        spacing: changes.spacing,
    }))
}

impl Search {
    pub(super) fn limit(self) -> LimitSearch {
        self.limit
    }

    /// The load at the rate that the search begins with, held against what is searched beside what it is held against
    /// anyway: a rate holds where all of that does.
    pub(super) fn first_step(&self, mut plan: LoadPlan) -> LoadPlan {
        plan.scenario.thresholds.push(self.limit.threshold.clone());
        plan.at_rate(self.first, self.limit.step_ns, self.spacing)
    }
}

/// 0 where a rate holds, 3 where none does, 1 where the target ended it, or gave other bytes than were written at any.
pub(crate) fn exit_code(found: &SearchAccount, records: &[Record]) -> i32 {
    if records.iter().any(|record| record.wrong_objects() > 0) {
        return 1;
    }
    match (found.holds_at, &found.no_answer) {
        (_, Some(_)) => 1,
        (Some(_), None) => 0,
        (None, None) => 3,
    }
}

impl Load<'_> {
    /// Runs steps until the knee is known.
    pub(super) fn find_knee(&self, first: LoadPlan, search: Search) -> Result<i32> {
        let limit = search.limit;
        self.watched(&first);
        let rows = self.rows(first);
        let mut live = self.live.clone();
        let mut conductor = Conductor::new(&rows, &self.context, &mut live);
        let mut keep = |record: &Record| {
            self.live.keep(Kept::Record(record));
            Ok(self.output.save(record)?)
        };
        let found = match find_limit(limit, &mut conductor, &mut keep) {
            Ok(found) => found,
            Err(error) => return self.ended_by(error),
        };
        self.live.end(&live::ended(live::records(self.matches)));
        let LimitFound {
            records,
            account,
            no_point,
            ended_by,
        } = found;
        let knee = report::knee_text(&account, no_point, layout(self.matches));
        self.output.finish(&records, &knee)?;
        if let Some(error) = ended_by {
            return self.ended_by(error);
        }
        let stopped = sys::caught_signal().map(sys::CaughtSignal::exit_code);
        Ok(stopped.unwrap_or_else(|| exit_code(&account, &records)))
    }

    fn ended_by(&self, error: LabError) -> Result<i32> {
        match error {
            LabError::Step(refused) => {
                for note in refused.record.notes() {
                    say(&format!("note: {note}"));
                }
                self.refused(refused)
            }
            LabError::Keep(error) => Err(anyhow::Error::from_boxed(error)),
            error @ (LabError::Slot { .. } | LabError::Plan(_)) => Err(error.into()),
        }
    }
}
