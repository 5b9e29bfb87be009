//! What single records say beyond the figures of their cells.

use super::loads::is_load;
use record::{ErrorCount, Record, ThresholdResult};

/// What one record says beyond the figures of its cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordDetails {
    pub id: String,
    pub is_load: bool,
    pub thresholds: Vec<ThresholdResult>,
    pub errors: Vec<ErrorCount>,
}

pub(super) fn of(record: &Record) -> RecordDetails {
    RecordDetails {
        id: record.id.clone(),
        is_load: is_load(record),
        thresholds: record.thresholds(),
        errors: record.errors.clone(),
    }
}
