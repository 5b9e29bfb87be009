//! Judging: from records alone to findings.
//!
//! A number is believed only after the record it stands in was checked against itself: its counters
//! against each other, against the kernel's, and against what was asked. [`self_check`] does that
//! for one record, [`audit`] for several, which are also held against each other; one rule a file
//! under `audit`. A rule that lacks the facts it needs stays silent; it never guesses. [`explain`]
//! has the long text of every rule.
//!
//! Nothing here reads a clock, a file or the environment: the same record gives the same findings.
#![forbid(unsafe_code)]

mod audit;
mod circumstances;
mod compare;
mod effective;
mod finding;
mod identity;
mod io500;
mod levels;
mod slow_hosts;
mod study;
mod underway;

use record::figures;

pub use audit::{
    Located, Rule, SHOWN_PERCENTILES, audit, explain, is_always, rules, self_check, title,
};
pub use compare::{
    ArmComparison, ArmStanding, ArmsComparison, Comparison, ControlCheck, Disagreement,
    HeldThreshold, Interrupted, LoneRow, NoExperiment, Question, RowComparison, Sensitivity,
    Standing, compare, compare_arms, compare_audited, environment_differences, factors_between,
    hold_against, same_arms, workload_differences,
};
pub use effective::Effective;
pub use finding::{DifferingFact, Finding, Severity};
pub use io500::{Io500Line, Io500Result, Io500Score};
pub use levels::{LevelLine, LevelsSoFar, TriedRows};
pub use slow_hosts::{SLOW_HOST, SlowHost, SlowLatency, slow_hosts};
pub use study::{
    ArrivalCurve, ArrivalPoint, Bounds, Cell, Course, Curve, Fact, Figure, GroupedFinding,
    HostFigures, LeftOut, PART_PERCENTILES, REQUEST_PARTS, REQUESTS, Range, RateColumn,
    RecordDetails, Settling, Study, StudyArm, StudyOptions, StudyRow, ended_badly, is_aside,
    is_told_apart, study,
};
