//! What a metric may be about: what records have, or what the sides of an experiment will give.

use crate::exit::Usage;
use conduct::{Experiment, Task};
use record::{Measurable, Quantity, Record};

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
    let known = Measurable {
        stated: None,
        ..Measurable::of_kinds(counted.chain(stated))
    };
    check(metric, &known, "the records have")
}

/// Refuses a metric that no row will give, or only some arms of a row. Rows of which no arm gives it
/// are measured and left out of the verdict.
///
/// # Errors
/// What there will be.
pub(super) fn check_plan(metric: &Quantity, experiment: &Experiment) -> Result<(), Usage> {
    let of_any = |tasks: &[Task]| Measurable::of_any(tasks.iter().map(Task::measurable));
    let everything = Measurable::of_any(experiment.tasks().map(Task::measurable));
    check(metric, &everything, "the sides have")?;
    for row in experiment.rows() {
        if metric.check_given(&of_any(&row.tasks)).is_err() {
            continue;
        }
        for (arm, task) in experiment.plan.arms.iter().zip(&row.tasks) {
            let place = if row.name == "run" {
                String::new()
            } else {
                format!(" in {}", row.name)
            };
            check(
                metric,
                &task.measurable(),
                &format!("{}{place} has", arm.name),
            )?;
        }
    }
    Ok(())
}

fn check(metric: &Quantity, given: &Measurable, who: &str) -> Result<(), Usage> {
    let checked = metric.check_given(given);
    checked.map_err(|why| Usage(format!("--metric {}: {who} {why}", metric.key())))
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
