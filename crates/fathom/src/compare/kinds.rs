//! The kinds of operations that a metric may be about.

use crate::exit::Usage;
use conduct::{Experiment, Task};
use record::{Quantity, Record};
use std::collections::BTreeSet;

/// Refuses a metric of a kind of operation that no record has.
///
/// # Errors
/// The kinds that there are.
pub(super) fn check_records(metric: &Quantity, records: &[&Record]) -> Result<(), Usage> {
    let counted = records
        .iter()
        .flat_map(|record| record.operations.kinds().map(|(kind, _)| kind));
    let stated = records
        .iter()
        .flat_map(|record| record.summaries.keys().map(String::as_str));
    let kinds: BTreeSet<&str> = counted.chain(stated).collect();
    check(metric, &kinds, "the records have")
}

/// Refuses a metric of a kind of operation that no row will do, or only some arms of a row. Rows
/// that no arm does it in are measured and left out of the verdict.
///
/// # Errors
/// The kinds that there will be.
pub(super) fn check_plan(metric: &Quantity, experiment: &Experiment) -> Result<(), Usage> {
    let everything: BTreeSet<&str> = experiment.tasks().flat_map(Task::kinds).collect();
    check(metric, &everything, "the sides have")?;
    for row in experiment.rows() {
        let of_row: BTreeSet<&str> = row.tasks.iter().flat_map(Task::kinds).collect();
        if metric.operation().is_none_or(|kind| !of_row.contains(kind)) {
            continue;
        }
        for (arm, task) in experiment.plan.arms.iter().zip(&row.tasks) {
            let place = if row.name == "run" {
                String::new()
            } else {
                format!(" in {}", row.name)
            };
            check(metric, &task.kinds(), &format!("{}{place} has", arm.name))?;
        }
    }
    Ok(())
}

fn check(metric: &Quantity, kinds: &BTreeSet<&str>, who: &str) -> Result<(), Usage> {
    let Some(kind) = metric.operation().filter(|kind| !kinds.contains(kind)) else {
        return Ok(());
    };
    let known = kinds.iter().copied().collect::<Vec<_>>().join(", ");
    Err(Usage(format!(
        "--metric {}: {who} no operations of the kind {kind:?}; the kinds there are {known}",
        metric.key()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Operations;

    #[test]
    fn a_kind_that_nobody_counts_is_refused_with_those_that_there_are() {
        let metric = Quantity::parse("put.p99").unwrap();
        let mut record = Record::default();
        record.operations.insert("get", Operations::default());
        assert_eq!(
            check_records(&metric, &[&record]).unwrap_err().0,
            "--metric put.p99: the records have no operations of the kind \"put\"; the kinds there are get"
        );
        record.operations.insert("put", Operations::default());
        assert!(check_records(&metric, &[&record]).is_ok());
        assert!(check_records(&Quantity::named("mean"), &[]).is_ok());
    }
}
