//! A conduct that measures nothing: time is a number, and each of its steps can be the last.

use crate::order::slots_per_pass;
use crate::{Conduct, Ended, Kept, LabError, Turn, Unstarted, Work, run};
use record::{
    Measurements, Operations, PlanFacts, PlannedArm, PlannedRow, PlannedWorkload, Record, Role,
    SlotPlace, Status, Stopping,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Time of each measured slot.
pub(crate) const SLOT_NS: u64 = 1_000;

/// A plan of slots of one unit of time; the first arm is the baseline.
pub(crate) fn plan(
    arms: &[&str],
    rows: &[&str],
    stopping: Stopping,
    passes: [u32; 2],
) -> PlanFacts {
    let arm = |(number, name): (usize, &&str)| PlannedArm {
        name: (*name).to_owned(),
        role: if number == 0 {
            Role::Baseline
        } else {
            Role::Candidate
        },
        ..PlannedArm::default()
    };
    let row = |name: &&str| PlannedRow {
        name: (*name).to_owned(),
        workloads: vec![PlannedWorkload::default(); arms.len()],
    };
    PlanFacts {
        name: "test".into(),
        stopping,
        least_passes: passes[0],
        most_passes: passes[1],
        budget_ns: u64::MAX,
        seed: 3,
        arms: arms.iter().enumerate().map(arm).collect(),
        rows: rows.iter().map(row).collect(),
        ..PlanFacts::default()
    }
}

/// The same of ranks that began too far apart.
pub(crate) fn apart(mut record: Record) -> Record {
    record.group = Some(record::GroupAccount {
        skew_ns: Some(2),
        ..record::GroupAccount::default()
    });
    record.hold_to_start(units::Nanos(1));
    record
}

/// A record of so many reads.
pub(crate) fn reads(count: u64) -> Record {
    let mut operations = Measurements::default();
    operations.insert(
        "read",
        Operations {
            count,
            ..Operations::default()
        },
    );
    Record {
        operations,
        elapsed_ns: SLOT_NS,
        ..Record::default()
    }
}

/// A record of a slot that went wrong.
pub(crate) fn failed(status: Status, exit_code: i32) -> Record {
    let mut out = reads(1);
    out.outcome.status = status;
    out.outcome.exit_code = exit_code;
    out.outcome.message = Some("it broke".into());
    out
}

pub(crate) fn unstarted(record: Record) -> Unstarted {
    Unstarted {
        source: "not here".into(),
        record: Box::new(record),
    }
}

/// What a measurement comes to, by the steps before it.
type Behaviour<'a> = dyn FnMut(Turn, Work, u32) -> Result<Record, Unstarted> + 'a;

pub(crate) struct Mock<'a> {
    behaviour: Box<Behaviour<'a>>,
    now_ns: u64,
    /// Steps so far: everything that another process could be killed before or after.
    pub(crate) steps: u32,
    /// At this step the process is gone.
    pub(crate) killed_at: Option<u32>,
    /// At this step a signal arrives.
    pub(crate) stopped_at: Option<u32>,
    /// What was done, in order.
    pub(crate) log: Vec<String>,
    pub(crate) places: Vec<(u32, u32, u32)>,
    pub(crate) left: Option<String>,
}

impl<'a> Mock<'a> {
    pub(crate) fn new(
        behaviour: impl FnMut(Turn, Work, u32) -> Result<Record, Unstarted> + 'a,
    ) -> Self {
        Self {
            behaviour: Box::new(behaviour),
            now_ns: 0,
            steps: 0,
            killed_at: None,
            stopped_at: None,
            log: Vec::new(),
            places: Vec::new(),
            left: None,
        }
    }

    fn step(&mut self, what: &str, turn: Turn) {
        if self.killed_at == Some(self.steps) {
            // Without the panic hook: nobody has to read of it.
            resume_unwind(Box::new("killed"));
        }
        self.steps += 1;
        self.log
            .push(format!("{what} {}{}{}", turn.pass, turn.row, turn.arm));
    }
}

impl Conduct for Mock<'_> {
    fn tell(&mut self, place: &SlotPlace<'_>) {
        self.places
            .push((place.slot, place.pass, place.planned_slots));
    }

    fn elapsed_ns(&self) -> u64 {
        self.now_ns
    }

    fn is_stopped(&self) -> bool {
        self.stopped_at.is_some_and(|step| self.steps >= step)
    }

    fn prepare(&mut self, turn: Turn) -> Result<(), Unstarted> {
        self.step("prepare", turn);
        Ok(())
    }

    fn measure(&mut self, turn: Turn, work: Work) -> Result<Record, Unstarted> {
        self.step(
            if work == Work::Slot {
                "measure"
            } else {
                "lead"
            },
            turn,
        );
        self.now_ns += SLOT_NS;
        (self.behaviour)(turn, work, self.steps)
    }

    fn release(&mut self, turn: Turn, _record: &mut Record) {
        self.step("release", turn);
    }

    fn settle(&mut self, turn: Turn, _longest_ns: u64) -> Option<String> {
        self.step("settle", turn);
        self.left.take()
    }
}

/// What is left of an experiment: all that was kept, and how it ended if nobody killed it.
pub(crate) struct Outcome {
    pub(crate) plans: usize,
    pub(crate) kept: Vec<Record>,
    pub(crate) ended: Option<Result<Ended, LabError>>,
}

/// Runs a plan on a mock until it ends or is killed.
pub(crate) fn carry_out(
    plan: &PlanFacts,
    done: Vec<Record>,
    mock: &mut Mock<'_>,
    decided: &mut dyn FnMut(&[Record]) -> bool,
) -> Outcome {
    let (mut plans, mut kept) = (0, Vec::new());
    let mut keep = |line: Kept<'_>| {
        match line {
            Kept::Plan(_) => plans += 1,
            Kept::Record(record) => kept.push(record.clone()),
        }
        Ok(())
    };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        run(plan, done, mock, &mut keep, decided)
    }))
    .ok();
    Outcome { plans, kept, ended }
}

/// The most steps that a plan takes in which nothing fails and everything settles.
pub(crate) fn most_steps(plan: &PlanFacts) -> u32 {
    plan.most_passes * slots_per_pass(plan) * 6
}
