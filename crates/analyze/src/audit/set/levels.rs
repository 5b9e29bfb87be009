//! Results of records as one number.

use super::Slot;
use crate::figures::{Figures, figures};
use record::{Quantity, Record};

/// The result of a record, by what it counts: operations a second, else bytes a second. Of a slot
/// that states a number of its own about which its experiment asks, that number: how fast the
/// program ran that stated it is another matter.
pub(super) fn level(record: &Record) -> Option<(&'static str, f64)> {
    if let Some(stated) = stated(record) {
        return Some(("stated", stated));
    }
    let sum = |figure: fn(&Figures<'_>) -> Option<f64>| {
        let values: Vec<f64> = figures(record)
            .filter(|f| !f.kind.starts_with("iteration"))
            .filter_map(|f| figure(&f))
            .collect();
        Some(values.iter().sum()).filter(|sum: &f64| !values.is_empty() && *sum > 0.0)
    };
    let operations = sum(|f| f.per_second()).map(|rate| ("operations", rate));
    operations.or_else(|| sum(|f| f.bytes_per_second()).map(|rate| ("bytes", rate)))
}

fn stated(record: &Record) -> Option<f64> {
    let trial = record.trial.as_ref()?;
    let plan = trial.written_plan.as_ref().map(|line| &line.plan);
    let of_plan = plan.and_then(|plan| plan.question.as_ref());
    let metric = of_plan
        .map(|asked| &asked.metric)
        .or(trial.question.as_ref().map(|asked| &asked.metric))?;
    let metric = Quantity::parse(metric).ok()?;
    metric.stated()?;
    metric.of(record).known().filter(|value| *value > 0.0)
}

/// The middle result of slots that count the same.
pub(super) fn typical(slots: &[Slot<'_>]) -> Option<(&'static str, f64)> {
    let levels: Vec<(&'static str, f64)> = slots
        .iter()
        .filter_map(|(_, record)| level(record))
        .collect();
    let unit = levels.first()?.0;
    levels
        .iter()
        .all(|(other, _)| *other == unit)
        .then(|| (unit, median(levels.iter().map(|(_, rate)| *rate).collect())))
}

/// The middle value; the mean of two; not a number for nothing.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n.is_multiple_of(2) => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}
