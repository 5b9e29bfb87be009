//! What the record of a slot says to who decides what runs next.

use record::{Record, Status};

/// Operations that leave nothing behind.
const HARMLESS: [&str; 8] = [
    "read", "stat", "open", "readdir", "walk", "get", "head", "list",
];

/// Time that a slot took, as far as its record says.
pub(crate) fn spent_ns(record: &Record) -> u64 {
    let lead_in_ns = record.trial.as_ref().and_then(|trial| trial.lead_in_ns);
    record.elapsed_ns + lead_in_ns.unwrap_or(0)
}

/// Why a slot is no part of a pair; `None` if it is.
pub(crate) fn fault(record: &Record) -> Option<String> {
    let stopped_ns = record.longest_stop_ns();
    match record.outcome.status {
        Status::Ok if stopped_ns == 0 => None,
        Status::Ok => Some(format!(
            "the generator itself stood still for {}",
            units::Nanos(stopped_ns)
        )),
        Status::Apart | Status::Failed | Status::Interrupted | Status::Incomplete => Some(
            record
                .outcome
                .message
                .clone()
                .unwrap_or_else(|| "its run did not end well".into()),
        ),
    }
}

/// Whether a slot left anything to write: its operations, those before the measured time, or the
/// making and removing of what it needed.
#[must_use]
pub fn wrote(record: &Record) -> bool {
    let around = record
        .load
        .iter()
        .flat_map(|load| [&load.setup, &load.teardown]);
    let all = [&record.operations, &record.warmup]
        .into_iter()
        .chain(around);
    let operations = all
        .flat_map(|measured| measured.kinds())
        .any(|(kind, counted)| !HARMLESS.contains(&kind) && counted.count > 0);
    operations || record.fill.as_ref().is_some_and(|fill| fill.bytes > 0)
}
