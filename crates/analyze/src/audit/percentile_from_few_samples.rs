//! A percentile is only as good as the number of samples above it.

use super::finding;
use crate::{Finding, Severity};
use record::Record;

/// The percentiles that reports show unless told otherwise.
pub const SHOWN_PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];
/// With fewer samples above a percentile the next outlier moves it.
const LEAST_ABOVE: f64 = 10.0;

/// Whether at least ten of `count` samples lie above the percentile `percent` (0 to 100).
#[must_use]
pub fn percentile_has_support(count: u64, percent: f64) -> bool {
    // 100 - 99.9 is not exact in binary.
    count as f64 * (100.0 - percent) / 100.0 >= LEAST_ABOVE - 1e-6
}

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let poor: Vec<String> = record
        .operations
        .kinds()
        .filter(|(_, operations)| operations.count > 0)
        .filter_map(|(kind, operations)| {
            let lowest = SHOWN_PERCENTILES.into_iter().find(|percent| !percentile_has_support(operations.count, *percent))?;
            Some(format!("{kind} from p{lowest} on ({} operations)", operations.count))
        })
        .collect();
    if poor.is_empty() {
        return Vec::new();
    }
    let message = format!("fewer than 10 samples lie above these percentiles: {}", poor.join(", "));
    vec![finding("percentile_from_few_samples", Severity::Warning, message, "run longer, or quote a lower percentile")]
}

#[cfg(test)]
mod tests {
    use super::super::example::{blocks, only, sound};
    use super::*;

    #[test]
    fn a_tail_of_two_samples_is_found() {
        let mut record = sound();
        record.operations.insert("unlink", blocks(234, 1000));
        assert_eq!(only(&check(&record)), "fewer than 10 samples lie above these percentiles: unlink from p99 on (234 operations)");
    }

    #[test]
    fn ten_samples_above_are_enough() {
        assert_eq!(check(&sound()), []);
        for (count, percent, enough) in
            [(10_000, 99.9, true), (9_999, 99.9, false), (100, 90.0, true), (1000, 100.0, false), (20, 50.0, true)]
        {
            assert_eq!(percentile_has_support(count, percent), enough, "{count} {percent}");
        }
    }
}
