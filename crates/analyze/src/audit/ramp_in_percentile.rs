//! A percentile over a time in which the load changed is of no load.

use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "ramp_in_percentile",
    catalogue_number: Some(26),
    severity: Severity::Warning,
    title: "One percentile over a load that changed",
    text: "\
The options `ramp` and `stages`: found if the number of users changes by more than 10 %
within the time over which percentiles are taken.
Latency follows load. A p95 over 25, 100 and again 25 users is no p95 of 25 users and
none of 100: how much of the time was spent at each decides it, which the plan of the ramp
chose and the target did not.
What to do: measure each level on its own, with the ramp as its warm-up, and give one
percentile a level.",
    checks: &[Check::Alone(check)],
};

const MOST_CHANGE: f64 = 1.1;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let has_percentiles = |f: &Figures<'_>| f.is_counted() || !f.stated_percentiles().is_empty();
    let Some((least, most)) =
        asked_to_change(record).filter(|_| figures(record).any(|f| has_percentiles(&f)))
    else {
        return Vec::new();
    };
    let message = format!(
        "latencies of {least} and of {most} users are in one percentile: the load was ramped within the measured time"
    );
    let advice =
        "measure each level on its own, with the ramp as warm-up, and give one percentile a level";
    vec![RULE.finding(Severity::Warning, message, advice)]
}

/// The least and the most of a load that was asked to change within the measured time; its rate is
/// not expected to be steady.
pub(super) fn asked_to_change(record: &Record) -> Option<(f64, f64)> {
    let effective = Effective::of(record);
    let (least, most) = ["ramp", "stages"]
        .iter()
        .find_map(|key| levels(effective.text(key)?))?;
    (most > least * MOST_CHANGE).then_some((least, most))
}

/// The least and the most of the bare numbers of a ramp, `1 to 50 over 90s` or `90s:50,180s:50`: a
/// number with a unit is a time.
fn levels(text: &str) -> Option<(f64, f64)> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';'));
    let numbers = || {
        words
            .clone()
            .filter_map(|word| word.parse::<f64>().ok())
            .filter(|number| number.is_finite())
    };
    let most = numbers().fold(f64::NEG_INFINITY, f64::max);
    (numbers().count() > 1).then(|| (numbers().fold(f64::INFINITY, f64::min), most))
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;

    #[test]
    fn a_ramp_in_the_window_is_found() {
        for (ramp, levels) in [
            ("25 to 100 to 25", "of 25 and of 100 users"),
            ("1 to 50 over 90s, 50 for 180s", "of 1 and of 50 users"),
        ] {
            let mut record = sound();
            set(&mut record, "ramp", ramp);
            assert!(only(&check(&record)).contains(levels), "{ramp}");
        }
    }

    #[test]
    fn a_constant_load_is_silent() {
        let mut record = sound();
        assert_eq!(check(&record), []);
        set(&mut record, "stages", "30s:50, 60s:50");
        assert_eq!(check(&record), []);
    }
}
