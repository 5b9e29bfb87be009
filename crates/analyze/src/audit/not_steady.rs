//! A rate that moves within a run is not one number.

use super::percent;
use super::ramp_in_percentile::asked_to_change;
use super::series::seconds;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;
use stats::warm_up::{mser5, regime_change, steady};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "not_steady",
    catalogue_number: Some(11),
    severity: Severity::Invalid,
    title: "The rate moved within the run",
    text: "\
The rate of each second, from 30 s on, after the warm-up that MSER-5 finds: a jump by
more than 1.25 times with 10 s on both sides; or five windows that differ by more than
20 %, or slope by more than 10 % (the limits of SNIA). A jump is invalid in a run of its
own; of an arm more than a fifth of the slots must fail. Figures from elsewhere of less
than 30 s without a series are a warning: they cannot show it.
A disk with a fast part writes 3 GB/s for 80 s and 1 GB/s after that. The mean of 120 s,
2.3 GB/s, is a speed that it never had.
What to do: write until the rate has settled (--warmup), then measure. If the burst is
what is meant, quote how long it lasts.",
    checks: &[
        Check::Alone(check),
        Check::Together(super::set::steady_state_not_shown::check),
    ],
};

const ADVICE: &str = "write until the rate has settled before measuring (--warmup), and run longer; if the burst is what is meant, quote its length with it";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let Some(message) = why_not(record) else {
        return Vec::new();
    };
    // In an experiment one slot of many may fail; how many do is judged there.
    let severity = if message.is_jump && record.trial.is_none() {
        Severity::Invalid
    } else {
        Severity::Warning
    };
    vec![RULE.finding(severity, message.text, ADVICE)]
}

pub(super) struct Unsteady {
    text: String,
    is_jump: bool,
}

/// What keeps the series from being steady, after the warm-up is cut; `None` also where the series
/// cannot say, or the load was to change.
pub(super) fn why_not(record: &Record) -> Option<Unsteady> {
    let series = seconds(record).filter(|_| asked_to_change(record).is_none())?;
    if let Some(jump) = regime_change(&series) {
        let (second, of) = (jump.second, series.len());
        let text = match jump.ratio {
            ratio if ratio.is_infinite() => format!("nothing was done before {second} s of {of}"),
            0.0 => format!("nothing was done after {second} s of {of}"),
            ratio => format!("the rate went to {ratio:.2} times its level at {second} s of {of}"),
        };
        return Some(Unsteady {
            text,
            is_jump: true,
        });
    }
    let cut = mser5(&series);
    // A cut at its limit found no steady part to keep.
    let rest = steady(series.get(if cut.at_limit { 0 } else { cut.seconds }..)?)?;
    (!rest.passes()).then(|| {
        let [range, slope] = [rest.range, rest.excursion.abs()].map(percent);
        let text = format!("five windows of the run differ by {range} of their mean, with a slope of {slope} over the run");
        Unsteady { text, is_jump: false }
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, placed, set, with_rates};
    use super::*;

    #[test]
    fn a_cache_that_fills_is_found_where_it_fills() {
        let rates: Vec<u64> = (0..120)
            .map(|second| if second < 80 { 3000 } else { 1000 })
            .collect();
        let found = check(&with_rates(&rates));
        assert_eq!(
            only(&found),
            "the rate went to 0.33 times its level at 80 s of 120"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(
            check(&placed(with_rates(&rates), "a", 0, 0))[0].severity,
            Severity::Warning,
            "one slot of many"
        );
    }

    #[test]
    fn a_rate_from_nothing_or_to_nothing_has_no_ratio() {
        let rates = |idle: std::ops::Range<u64>| {
            (0..60)
                .map(|second| if idle.contains(&second) { 0 } else { 3000 })
                .collect::<Vec<u64>>()
        };
        assert_eq!(
            only(&check(&with_rates(&rates(0..45)))),
            "nothing was done before 45 s of 60"
        );
        assert_eq!(
            only(&check(&with_rates(&rates(45..60)))),
            "nothing was done after 45 s of 60"
        );
    }

    #[test]
    fn a_load_that_was_to_change_is_not_expected_to_be_steady() {
        let rates: Vec<u64> = (0..120)
            .map(|second| if second < 80 { 3000 } else { 1000 })
            .collect();
        let mut record = with_rates(&rates);
        set(&mut record, "stages", "25, 25 in 80s, 8 in 40s");
        assert_eq!(check(&record), []);
        set(&mut record, "stages", "25, 25 in 120s");
        assert_eq!(check(&record).len(), 1);
    }

    #[test]
    fn a_rate_that_creeps_is_a_warning() {
        let rates: Vec<u64> = (0..60).map(|second| 2000 + second * 10).collect();
        let found = check(&with_rates(&rates));
        assert!(
            only(&found).starts_with("five windows of the run differ by 2"),
            "{found:?}"
        );
        assert_eq!(found[0].severity, Severity::Warning);
    }

    #[test]
    fn a_steady_rate_and_a_warm_up_are_silent() {
        assert_eq!(
            check(&with_rates(
                &(0..60).map(|second| 2000 + second % 7).collect::<Vec<_>>()
            )),
            []
        );
        assert_eq!(
            check(&with_rates(
                &(0..60)
                    .map(|second| if second < 5 { 500 } else { 2000 + second % 3 })
                    .collect::<Vec<_>>()
            )),
            []
        );
    }
}
