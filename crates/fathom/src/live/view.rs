//! What is known of the thing that is measured, as far as it is shown.

use analyze::{ArmsComparison, LevelsSoFar, Standing, TriedRows};
use host::{Context, Event};
use object::{Arrivals, LoadPlan};
use record::{Interval, Measurements, PlanFacts, Quantity, Record, SlotPlace};
use report::{ExperimentNow, LiveState, Looked, ProfileNow, RankNow, WorkNow};
use std::cell::Cell;
use units::{ByteRate, Bytes, Nanos};
use workload::{Phase, Stage};

/// Passes that are shorter share a line of a log, unless there is a verdict to tell.
const SOON_NS: u64 = 1_000_000_000;

/// What is measured.
pub(crate) enum LiveView {
    Experiment(Box<ExperimentView>),
    Profile(Box<ProfileView>),
    Work(Box<WorkView>),
}

/// An experiment of several arms.
pub(crate) struct ExperimentView {
    standing: Standing,
    margin: f64,
    place: Option<RunningSlot>,
    looked: Option<Looked>,
    /// Passes that a line of the log has told, and when that was.
    told: Cell<u32>,
    told_at_ns: Cell<u64>,
}

/// A profile of one arm.
pub(crate) struct ProfileView {
    /// What every row gave when it was tried, until the row has been measured.
    tried_rows: TriedRows,
    levels: LevelsSoFar,
    place: Option<RunningSlot>,
}

/// Works that run together.
pub(crate) struct WorkView {
    name: String,
    /// Of the measured time.
    planned_ns: Option<u64>,
    /// A schedule says what is done.
    is_limited: bool,
    /// What a record of them says beyond what was counted.
    record: Record,
    last: Vec<(usize, Interval)>,
    series: Vec<Interval>,
    /// Where ranks do it together, what each of them did last, and what all have told.
    ranks: Option<Vec<RankNow>>,
    told: Measurements,
}

/// [`SlotPlace`] with names of its own.
#[derive(Clone)]
struct RunningSlot {
    row: String,
    arm: String,
    numbers: SlotPlace<'static>,
}

impl RunningSlot {
    fn of(place: &SlotPlace<'_>) -> Self {
        Self {
            row: place.row.to_owned(),
            arm: place.arm.to_owned(),
            numbers: SlotPlace {
                row: "",
                arm: "",
                ..*place
            },
        }
    }

    fn shown(&self) -> SlotPlace<'_> {
        SlotPlace {
            row: &self.row,
            arm: &self.arm,
            ..self.numbers
        }
    }
}

impl LiveView {
    /// What is shown after an event; `None` where it changes nothing.
    pub(super) fn on(&mut self, event: &Event<'_>) -> Option<LiveState> {
        match event {
            Event::Preparing {
                done,
                to_do,
                bytes_per_second,
            } => {
                let rate = bytes_per_second.map(|rate| format!(", {}", ByteRate(rate)));
                let rate = rate.unwrap_or_default();
                let (done_text, all) = (Bytes(*done), Bytes(*to_do));
                let text = format!("preparing: {done_text} of {all} written{rate}");
                return Some(LiveState::done(text, *done, *to_do));
            }
            Event::WarmingUp { for_ns } => {
                return match self {
                    Self::Work(view) => Some(view.warming(*for_ns)),
                    Self::Profile(_) | Self::Experiment(_) => None,
                };
            }
            Event::Rehearsing { row, number, of } => {
                let text = format!("trying every row once, {number} of {of}: {row}");
                let now = LiveState::done(text, *number as u64, *of as u64);
                return Some(match self {
                    Self::Profile(view) => view.tried(now),
                    Self::Experiment(_) | Self::Work(_) => now,
                });
            }
            Event::Rehearsed { row, record } => {
                if let Self::Profile(view) = self {
                    view.tried_rows.add(row, record);
                }
                return None;
            }
            Event::Slot(place) => match self {
                Self::Experiment(view) => view.place = Some(RunningSlot::of(place)),
                Self::Profile(view) => view.place = Some(RunningSlot::of(place)),
                Self::Work(_) => return None,
            },
            Event::Interval { part, interval } => match self {
                Self::Work(view) => view.add(*part, interval),
                Self::Experiment(_) | Self::Profile(_) => return None,
            },
        }
        Some(self.now())
    }

    /// The plan of what is measured is known.
    pub(super) fn plan(&mut self, plan: &PlanFacts) {
        if let Self::Profile(view) = self {
            let rows = plan.rows.iter().map(|row| row.name.clone());
            view.levels = LevelsSoFar::new(rows.collect());
        }
    }

    /// A slot has ended.
    pub(super) fn add(&mut self, record: &Record) {
        match self {
            Self::Experiment(view) => view.standing.add(record),
            Self::Profile(view) => view.levels.add(record),
            Self::Work(view) => {
                view.series.clear();
                view.last.clear();
                view.ranks.iter_mut().for_each(Vec::clear);
                view.told = Measurements::default();
            }
        }
    }

    fn now(&self) -> LiveState {
        match self {
            Self::Experiment(view) => view.shown(|of| of.now()),
            Self::Profile(view) => view.shown(|of| of.now()),
            Self::Work(view) => view.now(),
        }
    }

    /// What is shown when nothing runs any more.
    pub(super) fn ended(&mut self) -> LiveState {
        match self {
            Self::Experiment(view) => view.place = None,
            Self::Profile(view) => view.place = None,
            Self::Work(view) => return LiveState::waiting(format!("{}: measured", view.name)),
        }
        self.now()
    }

    /// Whether it is shown what is done while it is done. In the slots of a profile or an experiment
    /// nothing is told before the slot has ended; what comes before them has no measured time.
    pub(super) fn wants_intervals(&self) -> bool {
        match self {
            Self::Work(_) => true,
            Self::Profile(view) => view.place.is_none(),
            Self::Experiment(view) => view.place.is_none(),
        }
    }

    /// A line for a log where a pass has ended since the last.
    pub(super) fn log_line(&self) -> Option<String> {
        match self {
            Self::Experiment(view) => {
                let passes = view.standing.passes();
                let at_ns = view.place.as_ref().map(|place| place.numbers.elapsed_ns);
                let is_soon = at_ns.is_some_and(|at| at < view.told_at_ns.get() + SOON_NS);
                let has_looked = view
                    .looked
                    .as_ref()
                    .is_some_and(|looked| looked.passes == passes);
                if passes <= view.told.get() || is_soon && !has_looked {
                    return None;
                }
                view.told.set(passes);
                view.told_at_ns.set(at_ns.unwrap_or(0));
                Some(view.shown(|of| of.line()))
            }
            // Its result is the text that it ends with.
            Self::Profile(_) | Self::Work(_) => None,
        }
    }

    /// What of a record has not been counted while it was measured.
    pub(super) fn uncounted(&self, record: &Record) -> Option<Measurements> {
        match self {
            Self::Work(view) if view.ranks.is_none() => None,
            Self::Work(view) => Some(record.operations.since(&view.told)),
            Self::Experiment(_) | Self::Profile(_) => Some(record.operations.clone()),
        }
    }

    /// All that is known of works, as one record.
    pub(super) fn record(&self) -> Option<Record> {
        match self {
            Self::Work(view) => Some(view.record()),
            Self::Experiment(_) | Self::Profile(_) => None,
        }
    }
}

impl ExperimentView {
    pub(crate) fn new(plan: &PlanFacts, metric: &Quantity, margin: f64) -> Self {
        Self {
            standing: Standing::new(plan, metric),
            margin,
            place: None,
            looked: None,
            told: Cell::new(0),
            told_at_ns: Cell::new(0),
        }
    }

    pub(super) fn looked(&mut self, found: &ArmsComparison) {
        self.looked = Some(Looked::of(found, self.standing.passes()));
    }

    fn shown<T>(&self, show: impl Fn(&ExperimentNow<'_>) -> T) -> T {
        let place = self.place.as_ref().map(RunningSlot::shown);
        show(&ExperimentNow {
            standing: &self.standing,
            place: place.as_ref(),
            looked: self.looked.as_ref(),
            margin: self.margin,
        })
    }
}

impl ProfileView {
    pub(crate) fn new() -> Self {
        Self {
            tried_rows: TriedRows::default(),
            levels: LevelsSoFar::default(),
            place: None,
        }
    }

    /// The state of the rehearsal with what it gave so far.
    fn tried(&self, now: LiveState) -> LiveState {
        now.above(self.shown(|of| of.now()))
    }

    fn shown<T>(&self, show: impl Fn(&ProfileNow<'_>) -> T) -> T {
        let place = self.place.as_ref().map(RunningSlot::shown);
        show(&ProfileNow {
            tried_rows: &self.tried_rows,
            levels: &self.levels,
            place: place.as_ref(),
        })
    }
}

/// What a page of stages is called.
pub(crate) fn page_title(stages: &[Stage]) -> String {
    let phases = stages.iter().flat_map(|stage| &stage.0);
    let names: Vec<&str> = phases.map(|phase| phase.name.as_str()).collect();
    format!("fathom run: {}", names.join(", "))
}

impl WorkView {
    /// The phases of a stage.
    pub(crate) fn of_stage(stage: &Stage, context: &Context) -> Self {
        let names: Vec<&str> = stage.0.iter().map(|phase| phase.name.as_str()).collect();
        // Until complete, or until so many bytes, is no matter of time.
        let planned = |phase: &Phase| {
            let stop = &phase.workload.stop;
            let is_of_time = !stop.complete && stop.total_bytes.is_none();
            let time = stop.duration.filter(|time| is_of_time && time.0 > 0)?;
            Some(time.0)
        };
        let times: Option<Vec<u64>> = stage.0.iter().map(planned).collect();
        let is_limited = |phase: &Phase| {
            let pace = &phase.workload.pace;
            pace.rate_iops.is_some() || pace.rate_bytes.is_some()
        };
        Self {
            name: names.join(", "),
            planned_ns: times.and_then(|times| times.into_iter().max()),
            is_limited: stage.0.iter().any(is_limited),
            record: context.record("run", names.first().unwrap_or(&"run"), None),
            last: Vec::new(),
            series: Vec::new(),
            ranks: None,
            told: Measurements::default(),
        }
    }

    /// A load.
    pub(crate) fn of_load(plan: &LoadPlan, context: &Context) -> Self {
        let (course, is_limited) = match &plan.scenario.arrivals {
            Arrivals::Closed { users } => (users, false),
            Arrivals::Open { rate, .. } => (rate, true),
        };
        let planned_ns = course.total_ns();
        let name = plan.name();
        Self {
            planned_ns: Some(planned_ns).filter(|_| plan.iterations.is_none()),
            is_limited,
            record: context.record("load", &name, None),
            name,
            last: Vec::new(),
            series: Vec::new(),
            ranks: None,
            told: Measurements::default(),
        }
    }

    /// The same work of several ranks.
    #[must_use]
    pub(crate) fn of_ranks(self) -> Self {
        Self {
            ranks: Some(Vec::new()),
            ..self
        }
    }

    fn warming(&self, for_ns: u64) -> LiveState {
        LiveState::waiting(format!("{}: warming up for {}", self.name, Nanos(for_ns)))
    }

    fn add(&mut self, part: usize, interval: &Interval) {
        match self.last.iter_mut().find(|(known, _)| *known == part) {
            Some((_, last)) => *last = interval.clone(),
            None => self.last.push((part, interval.clone())),
        }
        self.last.sort_by_key(|(part, _)| *part);
        if part == 0 {
            self.series.push(interval.clone());
        }
    }

    /// What all ranks have done since the last time, and what each of them did last.
    pub(super) fn add_ranks(&mut self, all: &Interval, each: Vec<RankNow>) {
        self.told.merge(&all.operations);
        self.ranks = Some(each);
        self.add(0, all);
    }

    pub(super) fn now(&self) -> LiveState {
        let now = WorkNow {
            name: &self.name,
            last: &self.last,
            ranks: self.ranks.as_deref().unwrap_or_default(),
            planned_ns: self.planned_ns,
            is_limited: self.is_limited,
        };
        now.now()
    }

    /// What the first of them has done since its warm-up.
    fn record(&self) -> Record {
        let mut out = self.record.clone();
        for interval in &self.series {
            out.operations.merge(&interval.operations);
            out.elapsed_ns += interval.end_ns - interval.start_ns;
        }
        out.series.clone_from(&self.series);
        out
    }
}
