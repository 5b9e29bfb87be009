//! The record: one trial, whatever was measured and whoever measured it. The narrow waist between
//! measuring and judging.
//!
//! A record is one JSON line, schema versioned. It holds what was asked and what was effective, the
//! environment, the instrument's own cost, mergeable counters and histograms, an interval series,
//! errors, and the outcome; a failed trial is a record too. Nothing in this crate reads a clock or
//! the machine.
#![forbid(unsafe_code)]

mod accounts;
mod bounded;
mod course;
mod environment;
pub mod figures;
mod file_system;
mod group;
mod histogram;
mod host;
mod host_series;
mod idle;
mod join;
mod left;
mod live;
mod load;
mod lost;
mod machine;
mod measurements;
mod merge;
mod pace;
mod plan;
mod quantity;
mod record;
mod schedule;
mod schema_one;
mod stonewall;
mod store;
mod stored;
mod summary;
mod superseded;
mod threshold;
mod trial;
mod walk;

pub use accounts::{WorkerAccount, WorkerMeasured};
pub use course::{Span, Stoppage};
pub use environment::{
    BlockDevice, CgroupVersion, ControlGroup, CpuFacts, CpuList, CpuListError, Environment,
    FathomVersion, IoLimit, Limit, MemoryFacts, Moment, NumaNode, ProcessFacts, StorageLayer,
    SystemFacts, Transport,
};
pub use file_system::FileSystem;
pub use group::{GroupAccount, LostRank, TargetReach, USUAL_MAX_SKEW};
pub use histogram::{Histogram, LiveHistogram};
pub use host::{
    Calibration, DeviceAccount, HostAccount, HostPart, HostRole, LinkAccount, MachineAccount,
    ProcessAccount,
};
pub use host_series::HostSeries;
use idle::UNMEASURED;
pub use idle::{GIVEN_UP, stopped_words};
pub use join::{ChosenTrial, Joined, NOTHING_CHECKED, PartFault, join};
pub use left::{LeftKind, LeftOver, Removed};
pub use live::{LiveCounters, LiveOperations};
pub use load::{
    EndpointAccount, LoadAccount, RequestPhases, SearchAccount, SearchPoint, ServerAccount,
    SigningCost, StepResult, StepVerdict,
};
pub use lost::{LostCell, LostCells};
pub use machine::{by_machine, by_nearest_device, devices_of_machine, nearest_of_all};
pub use measurements::{Measurements, Operations};
pub use merge::NotOneWorkload;
pub use pace::{JudgedRate, PaceAccount};
pub use plan::hash_of;
pub use plan::{PlanFacts, PlanLine, PlannedArm, PlannedQuestion, PlannedRow, PlannedWorkload};
pub use quantity::{
    Measurable, NeverMeasured, NoQuantity, NotMeasurable, Preference, Quantity, QuantityValue,
    RequestPart, Shown, Times, forms, percentile_has_support,
};
pub use record::{
    Coverage, Difference, ErrorClass, ErrorCount, Fill, Interval, LockAccount, LoopAccount,
    Outcome, Record, Repeat, Residency, SCHEMA, Status, TargetFact, Verification,
    VerificationFailure,
};
pub use schedule::{KeptSchedule, ScheduleEnd, WorkerSchedule};
pub use stonewall::StonewallAccount;
pub use store::{
    Damage, ReadRecords, Store, StoreError, are_records, parse_lines, parse_records, read_records,
};
pub use stored::{ALL, KindFigures, OptionValue, StoredRecord, Typing, schema, summary};
pub use summary::{LatencyRange, Source, Summary};
pub use superseded::{Superseded, superseded};
pub use threshold::{Comparator, NoThreshold, Threshold, ThresholdResult};
pub use trial::{Role, SlotPlace, Stopping, Trial, UnsaidPlace};
pub use walk::{WalkAccount, WalkLevels};

/// Whether a field says no more than its absence.
fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
