//! The plan that a plan file is.

use crate::Task;
use lab::{Builtins, Passes, PlanCell, PlanFile, WorkSpec, usual_lead_in_ns};
use object::LoadOption;
use record::{
    PlanFacts, PlannedArm, PlannedQuestion, PlannedRow, PlannedWorkload, Preference, Quantity,
    Role, Stopping,
};
use units::Nanos;

/// The key of a workload that is a load.
const LOAD: &str = "load";

/// For each arm of the plan the arm of the file.
pub(super) fn arms(file: &PlanFile) -> Vec<usize> {
    let mut out: Vec<usize> = (0..file.arms.len()).collect();
    if file.has_control() {
        out.extend(file.arms.iter().position(|arm| arm.role == Role::Baseline));
    }
    out
}

pub(super) fn kind(file: &PlanFile) -> &'static str {
    let first = file.cells.first().and_then(|cells| cells.first());
    let work = first.and_then(|cell| cell.work(&Builtins::sample("fathom")).ok());
    match work {
        Some(WorkSpec::Load { .. }) => LOAD,
        Some(WorkSpec::Run { .. } | WorkSpec::Command(_)) | None => "run",
    }
}

/// What is asked: as the file says, else what such a workload is usually asked.
pub(super) fn metric(file: &PlanFile) -> Result<Quantity, String> {
    let first = file.cells.first().and_then(|cells| cells.first());
    let work = first.and_then(|cell| cell.work(&Builtins::sample("fathom")).ok());
    let usual = match work {
        Some(WorkSpec::Command(spec)) => {
            match spec.read.iter().find(|value| !value.name.is_empty()) {
                Some(value) => format!("value:{}", value.name),
                None => "time".into(),
            }
        }
        Some(WorkSpec::Run { .. } | WorkSpec::Load { .. }) | None => "iops".into(),
    };
    let text = file.metric.as_deref().unwrap_or(&usual);
    let metric = Quantity::parse(text).map_err(|e| format!("metric {text:?}: {e}"))?;
    let better = match file.better.as_deref() {
        Some("higher") => Preference::Higher,
        Some(_) => Preference::Lower,
        None if metric.better() == Preference::Unsaid => {
            return Err(format!(
                "nobody says whether more or less of {metric} is better; add better = \"higher\" or better = \"lower\""
            ));
        }
        None => return Ok(metric),
    };
    if ![Preference::Unsaid, better].contains(&metric.better()) {
        return Err(format!("better: of {metric} the other is better"));
    }
    Ok(metric.preferring(better))
}

pub(super) fn facts(
    file: &PlanFile,
    arms: &[usize],
    works: &[Vec<Task>],
    metric: &Quantity,
) -> PlanFacts {
    let arm = |(number, index): (usize, &usize)| {
        let of_file = &file.arms[*index];
        let is_control = arms[..number].contains(index);
        PlannedArm {
            name: if is_control {
                format!("{} (control)", of_file.name)
            } else {
                of_file.name.clone()
            },
            role: if is_control {
                Role::Control
            } else {
                of_file.role
            },
            expects: of_file.expects.clone(),
            ..PlannedArm::default()
        }
    };
    let row = |(row, cells): (&lab::FileRow, &Vec<PlanCell>)| PlannedRow {
        name: row.name.clone(),
        workloads: arms
            .iter()
            .map(|index| surrounded(without_secrets(cells[*index].planned()), file))
            .collect(),
    };
    let (stopping, [least_passes, most_passes]) = passes(file);
    PlanFacts {
        name: file.name.clone(),
        stopping,
        least_passes,
        most_passes,
        budget_ns: file.budget_ns,
        settle_ns: file.settle_ns,
        lead_in_ns: lead_in_ns(works),
        seed: file.seed,
        question: Some(PlannedQuestion {
            metric: metric.key(),
            margin: file.margin,
            better: file.better.clone(),
            text: file.question.clone(),
        }),
        arms: arms.iter().enumerate().map(arm).collect(),
        rows: file.rows.iter().zip(&file.cells).map(row).collect(),
    }
}

/// What a plan keeps of a load: as its records do, nothing that lets somebody in. What a variable of the
/// environment holds is read when it runs and stands nowhere.
fn without_secrets(mut planned: PlannedWorkload) -> PlannedWorkload {
    if !planned.options.contains_key(LOAD) {
        return planned;
    }
    let recorded = |name: &str, text: &str| {
        let option = LoadOption::named(name);
        option.map_or_else(|| text.to_owned(), |option| option.recorded(text))
    };
    for target in &mut planned.targets {
        *target = recorded("target", target);
    }
    for (key, text) in &mut planned.options {
        if let Some(name) = key.strip_prefix("set.") {
            *text = recorded(name, text);
        }
    }
    planned
}

/// What a slot is beside its own: what is done to the machine before it, and how long it may take.
/// Slots before and after a change of these would not be of one experiment.
fn surrounded(mut planned: PlannedWorkload, file: &PlanFile) -> PlannedWorkload {
    let around = &file.surroundings;
    let idle = (around.wait_idle_ns > 0).then(|| Nanos(around.wait_idle_ns).to_string());
    let limit = file.slot_limit_ns;
    let limit = (limit != PlanFile::USUAL_SLOT_LIMIT_NS).then(|| Nanos(limit).to_string());
    let all = [
        (
            "environment.drop-caches",
            around.drop_caches.then(|| "true".to_owned()),
        ),
        ("environment.wait-idle", idle),
        ("environment.governor", around.governor.clone()),
        ("slot-limit", limit),
    ];
    let said = all
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    planned.options.extend(said);
    planned
}

/// When it may end, and between how many passes.
fn passes(file: &PlanFile) -> (Stopping, [u32; 2]) {
    let rows = u32::try_from(file.rows.len()).unwrap_or(u32::MAX);
    let stopping = match file.passes {
        Passes::Fixed(_) => Stopping::Fixed,
        Passes::ByLooks(_) | Passes::UntilKnown if rows > 1 => Stopping::EachPass,
        Passes::ByLooks(_) | Passes::UntilKnown => Stopping::Open,
    };
    (stopping, file.passes.ends(rows))
}

/// Half of the longest slot; the lead-in of a command is its warm-up.
fn lead_in_ns(works: &[Vec<Task>]) -> u64 {
    let of = |task: &Task| match task {
        Task::Command(command) if command.spec.warmup == 0 => 0,
        Task::Run(_) | Task::Load(_) | Task::Command(_) => {
            usual_lead_in_ns(task.slot_ns().unwrap_or(u64::MAX))
        }
    };
    works.iter().flatten().map(of).max().unwrap_or(0)
}
