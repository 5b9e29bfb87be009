//! MB and MiB differ by 5 %, and a column that has both differs from itself.

use super::{Experiment, Located, about, arm, place};
use crate::figures::transfers;
use crate::{Effective, Severity};

/// How much a stated rate is too small, or too great, by the unit that was meant.
const MIXES: [(f64, &str); 4] = [
    (1e6 / 1_048_576.0, "MiB/s called MB/s"),
    (1_048_576.0 / 1e6, "MB/s called MiB/s"),
    (1e9 / 1_073_741_824.0, "GiB/s called GB/s"),
    (1_073_741_824.0 / 1e9, "GB/s called GiB/s"),
];
/// Rates are published with three digits.
const TOLERANCE: f64 = 0.006;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    experiment.slots.iter().flat_map(|(index, record)| {
        let block = Effective::of(record).block_bytes();
        transfers(record).filter_map(move |figures| {
            let (bytes, rate) = (figures.stated_bytes_per_second()?, figures.stated_per_second()?);
            let share = bytes / (rate * block? as f64);
            let (_, mix) = MIXES.into_iter().find(|(factor, _)| (share / factor - 1.0).abs() < TOLERANCE)?;
            let name = if place(record).is_some() { arm(record) } else { figures.kind };
            let message = format!("{name}: the stated bytes a second are {share:.3} of operations times their size: {mix}");
            let advice = "state one unit for all rows, and divide bytes by the same thousand everywhere; a difference of 5 % or 7 % may be the unit's";
            Some(about(Some(*index), "unit_mix", Severity::Warning, message, advice))
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set, sound};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn row(per_second: f64, bytes_per_second: f64) -> Record {
        let summary = Summary { per_second: Some(per_second), bytes_per_second: Some(bytes_per_second), ..Summary::default() };
        let mut record = quoted("read", summary);
        set(&mut record, "block-size", "1M");
        record
    }

    #[test]
    fn a_row_in_another_unit_is_found() {
        let found = run_on(check, &[row(7831.0, 7831e6), row(3216.0, 3372e6)]);
        assert_eq!(only(&found), "read: the stated bytes a second are 0.954 of operations times their size: MiB/s called MB/s");
    }

    #[test]
    fn rounding_and_our_own_counts_are_silent() {
        assert_eq!(run_on(check, &[row(24_900.0, 26.1e9), row(5407.0, 5.67e9), sound()]), []);
        let mut unknown = row(7831.0, 7831e6);
        unknown.effective.clear();
        assert_eq!(run_on(check, &[unknown]), []);
    }
}
