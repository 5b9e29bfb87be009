//! In which unit records state what is compared. Numbers of other tools and of commands are never
//! converted, so a ratio of two of them means something only where both have one unit.

use super::{MOST_NAMED, Question};
use record::{Quantity, Record};
use stats::Reason;
use units::few;

impl Question {
    /// The same with the unit in which the records state the metric.
    pub(super) fn in_units_of<'r>(&self, records: impl IntoIterator<Item = &'r Record>) -> Self {
        Self {
            metric: self.metric.clone().measured_in(records),
            ..self.clone()
        }
    }
}

/// Why records cannot be compared that state the metric in different units.
pub(super) fn unlike_units<'r>(
    metric: &Quantity,
    records: impl IntoIterator<Item = &'r Record>,
) -> Option<Reason> {
    let named: Vec<&str> = metric.units_in(records).into_iter().flatten().collect();
    (named.len() > 1).then(|| {
        Reason::Audit(format!(
            "{} is stated in different units: {}",
            metric.name(),
            few(&named, MOST_NAMED)
        ))
    })
}
