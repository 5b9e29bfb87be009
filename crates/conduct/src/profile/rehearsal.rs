//! Every row once, before anything counts.

use super::prepared::ProfileRow;
use super::{ProfileError, RowsLeftOut, leave_out};
use crate::{Generator, Task, drain};
use host::{Context, Event, NoWatch, Watch};
use record::{Record, Status};
use run::RunError;
use std::fs::File;
use sys::Clock;
use units::Nanos;
use workload::{Cache, Phase, Workload};

const REHEARSAL_NS: u64 = 20_000_000;
/// Longest wait for what a row wrote.
const SETTLE_NS: u64 = 200_000_000;
/// Errors by which a system says that it does not do such a thing: EINVAL and EOPNOTSUPP.
const NOT_HERE: [&str; 2] = ["(os error 22)", "(os error 95)"];

/// Runs every row for a moment on every arm's target and returns what each slot of a pass costs
/// besides its own time. Rows that turn out not to work are left out.
///
/// # Errors
/// The target failed, or a signal came.
pub(super) fn rehearse(
    rows: &mut Vec<ProfileRow>,
    left_out: &mut Vec<RowsLeftOut>,
    generator: &mut dyn Generator,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Vec<u64>, ProfileError> {
    let mut around = Vec::new();
    let mut kept = Vec::new();
    let of = rows.len();
    for (index, row) in std::mem::take(rows).into_iter().enumerate() {
        watch.on(&Event::Rehearsing {
            row: &row.name,
            number: index + 1,
            of,
        });
        let mut costs = Vec::new();
        for workload in &row.workloads {
            let phase = Phase {
                name: row.name.clone(),
                workload: workload.clone(),
            };
            costs.push(cost(&phase, generator, context, watch)?);
        }
        match costs.into_iter().collect::<Result<Vec<u64>, String>>() {
            Ok(of_row) => {
                around.extend(of_row);
                kept.push(row);
            }
            Err(reason) => leave_out(left_out, &row.name, reason),
        }
    }
    *rows = kept;
    Ok(around)
}

/// What a slot of a row costs besides its own time, or why the row does not work here.
fn cost(
    row: &Phase,
    generator: &mut dyn Generator,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Result<u64, String>, ProfileError> {
    let mut moment = row.clone();
    let own_ns = shorten(&mut moment.workload);
    if moment.workload.cache == Cache::Warm {
        // A slot in between may have evicted what this one warms.
        for target in &moment.workload.targets {
            let _only_the_plan_is_less_exact =
                File::open(target).and_then(|file| sys::fadvise(&file, sys::Advice::DontNeed));
        }
    }
    let begin = context.clock.now();
    let record = match generator.measure(&moment, context, &mut NoWatch) {
        Ok(record) => record,
        Err(
            error @ (RunError::Unsuitable(_)
            | RunError::Engine(_)
            | RunError::Spec(_)
            | RunError::Refused(_)),
        ) => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(caught) = sys::caught_signal() {
        return Err(RunError::Interrupted {
            signal: caught.signal,
        }
        .into());
    }
    if !record.outcome.status.has_done_all() && !was_too_short(&record) {
        let why = record.errors.first().map(|error| {
            let at = error.first_offset.map(|byte| format!(" at byte {byte}"));
            format!(
                "{}{}: {}",
                error.operation,
                at.unwrap_or_default(),
                error.error
            )
        });
        let why = why.or(record.outcome.message).unwrap_or_default();
        if NOT_HERE.iter().any(|refusal| why.contains(refusal)) {
            return Ok(Err(format!("the system refuses it: {why}")));
        }
        let place = row
            .workload
            .targets
            .first()
            .map(|target| target.display().to_string())
            .unwrap_or_default();
        return Err(ProfileError::Failed(format!(
            "{place} fails in row {:?}: {why}; look for the device's errors with `dmesg`, or profile another target",
            row.name
        )));
    }
    watch.on(&Event::Rehearsed {
        row: &row.name,
        record: &record,
    });
    if lab::wrote(&record) {
        let task = Task::from(row.workload.clone());
        let mut own = || drain::settle(&task, context, SETTLE_NS, 0);
        let _the_first_slot_would_tell = generator.settle(SETTLE_NS, &mut own);
    }
    Ok(Ok((context.clock.now() - begin).saturating_sub(own_ns)))
}

/// Whether nothing ended in so short a time, on one host or on some of several, as on a machine that
/// is busy with something else. Nothing failed; a slot is longer. A rank that has gone is missed by
/// whoever measures next.
fn was_too_short(record: &Record) -> bool {
    record.outcome.status == Status::Incomplete
        && record.errors.is_empty()
        && (record.operations.count() == 0 || record.lost_ranks() > 0)
}

/// Gives a row a short end and returns its time. A row with an end of its own keeps it: how long it
/// takes is then all cost.
fn shorten(workload: &mut Workload) -> u64 {
    let stop = &mut workload.stop;
    if stop.duration.is_none() && !stop.complete && stop.total_bytes.is_none() {
        stop.duration = Some(Nanos(REHEARSAL_NS));
        stop.warmup = Nanos(0);
        return REHEARSAL_NS;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{GroupAccount, LostRank, Operations};

    #[test]
    fn a_rehearsal_in_which_nothing_ended_is_no_failure_of_the_target() {
        let mut record = Record::default();
        record.outcome.status = Status::Incomplete;
        assert!(was_too_short(&record));
        record.operations.insert(
            "read",
            Operations {
                count: 1,
                ..Operations::default()
            },
        );
        assert!(!was_too_short(&record), "something else was incomplete");
        record.group = Some(GroupAccount {
            size: 2,
            lost: vec![LostRank {
                rank: 1,
                why: "no operation was measured".into(),
                ..LostRank::default()
            }],
            ..GroupAccount::default()
        });
        assert!(was_too_short(&record), "a rank had no time for any");
        record.outcome.status = Status::Failed;
        assert!(!was_too_short(&record));
    }
}
