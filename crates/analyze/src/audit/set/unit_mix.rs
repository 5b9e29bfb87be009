//! MB and MiB differ by 5 %, and a column that has both differs from itself.

use super::{Experiment, Located, arm, place};
use crate::audit::rule::{Check, Rule};
use crate::figures::transfers;
use crate::{Effective, Severity};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "unit_mix",
    catalogue_number: Some(49),
    severity: Severity::Warning,
    title: "Bytes a second are in another unit than they say",
    text: "\
The stated bytes a second over stated operations a second times the block size. 0.954 or
1.049 is MiB against MB, 0.931 or 1.074 is GiB against GB, within the rounding of three
digits, from 1 MB/s and 0.1 GB/s on, and unless the digits of the source explain it.
7,831 \"MB/s\" beside 7,831 operations of 1 MiB are MiB/s; in the same column 3,372 MB/s
beside 3,216 operations are MB/s. The rows are 4.9 % apart by their unit alone, more
than many an improvement that is celebrated.
What to do: state one unit for all rows and divide by the same thousand everywhere.
Fathom computes in bytes and shows powers of 1024.",
    checks: &[Check::Together(check)],
};

/// How much a stated rate is too small, or too great, by the unit that was meant, and the least
/// rate that anybody states in that unit.
const MIXES: [(f64, f64, &str); 4] = [
    (1e6 / 1_048_576.0, 1e6, "MiB/s called MB/s"),
    (1_048_576.0 / 1e6, 1e6, "MB/s called MiB/s"),
    (1e9 / 1_073_741_824.0, 1e8, "GiB/s called GB/s"),
    (1_073_741_824.0 / 1e9, 1e8, "GB/s called GiB/s"),
];
/// Rates are published with three digits.
const TOLERANCE: f64 = 0.006;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    experiment.slots.iter().flat_map(|(index, record)| {
        let block = Effective::of(record).block_bytes();
        transfers(record).filter_map(move |figures| {
            let (bytes, rate) = (figures.stated_bytes_per_second()?, figures.stated_per_second()?);
            let share = bytes / (rate * block? as f64);
            if figures.as_written().any(|(figure, text)| matches!(figure, "bytes_per_second" | "per_second") && step(text) > TOLERANCE) {
                return None;
            }
            let is_mix = |(factor, least, _): &(f64, f64, &str)| bytes >= *least && (share / factor - 1.0).abs() < TOLERANCE;
            let (_, _, mix) = MIXES.into_iter().find(is_mix)?;
            let name = if place(record).is_some() { arm(record) } else { figures.kind };
            let message = format!("{name}: the stated bytes a second are {share:.3} of operations times their size: {mix}");
            let advice = "state one unit for all rows, and divide bytes by the same thousand everywhere; a difference of 5 % or 7 % may be the unit's";
            Some(RULE.about(Some(*index), Severity::Warning, message, advice))
        })
    })
    .collect()
}

/// One unit of the last digit of a number as it was written, as a share of the number.
fn step(text: &str) -> f64 {
    let number = text.split_whitespace().next().unwrap_or_default();
    let decimals = number
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let unit = 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
    number
        .parse::<f64>()
        .map_or(0.0, |value| unit / value.abs())
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set, sound};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn row(per_second: f64, bytes_per_second: f64) -> Record {
        let summary = Summary {
            per_second: Some(per_second),
            bytes_per_second: Some(bytes_per_second),
            ..Summary::default()
        };
        let mut record = quoted("read", summary);
        set(&mut record, "block-size", "1M");
        record
    }

    #[test]
    fn a_row_in_another_unit_is_found() {
        let found = run_on(check, &[row(7831.0, 7831e6), row(3216.0, 3372e6)]);
        assert_eq!(
            only(&found),
            "read: the stated bytes a second are 0.954 of operations times their size: MiB/s called MB/s"
        );
    }

    #[test]
    fn what_its_own_digits_explain_is_no_other_unit() {
        // A floppy: 2.69 operations of 4 KiB a second, which an old fio calls 10 KiB/s.
        let mut floppy = row(2.69, 10.0 * 1024.0);
        set(&mut floppy, "block-size", "4k");
        assert_eq!(run_on(check, &[floppy]), []);
        let mut whole = row(22.0, 21.0 * 1_048_576.0);
        assert_eq!(run_on(check, &[whole.clone()]).len(), 1);
        whole
            .summaries
            .get_mut("read")
            .unwrap()
            .as_written
            .insert("bytes_per_second".into(), "21 MiB/s".into());
        assert_eq!(
            run_on(check, &[whole]),
            [],
            "21.9 MiB/s would be written so too"
        );
        assert_eq!(
            (step("21 MiB/s"), step("7.83 GB/s"), step("")),
            (1.0 / 21.0, 0.01 / 7.83, 0.0)
        );
    }

    #[test]
    fn rounding_and_our_own_counts_are_silent() {
        assert_eq!(
            run_on(
                check,
                &[row(24_900.0, 26.1e9), row(5407.0, 5.67e9), sound()]
            ),
            []
        );
        let mut unknown = row(7831.0, 7831e6);
        unknown.effective.clear();
        assert_eq!(run_on(check, &[unknown]), []);
    }
}
