//! The first seconds of a run are of another kind than the rest, and move its mean.

use super::ramp_in_percentile::asked_to_change;
use super::series::seconds;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;
use stats::sample::mean;
use stats::warm_up::mser5;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "warm_up_in_data",
    catalogue_number: Some(34),
    severity: Severity::Warning,
    title: "The warm-up is part of the result",
    text: "\
The rate of each second, from 30 s on: found if the seconds that MSER-5 would cut are off
by 10 % and move the mean by 1 %. In an experiment: the first block beside the later ones,
beyond 5 deviations and 10 %. In a document: the scatter of a first iteration that is
shown apart and kept.
Caches fill, connections open, code is compiled. 10 slow seconds at half the rate take
8 % from a minute, and from each arm another 8 %.
What to do: --warmup, the same for every arm. A first block that is not counted must be
in the plan; it must not be dropped when the results are known.",
    checks: &[
        Check::Alone(check),
        Check::Together(super::set::first_block_cold::check),
    ],
};

/// How far the level of the first seconds must be off.
const LEAST_STEP: f64 = 0.1;
/// And how far they must move the result.
const LEAST_BIAS: f64 = 0.01;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let Some(series) = seconds(record).filter(|_| asked_to_change(record).is_none()) else {
        return Vec::new();
    };
    let cut = mser5(&series);
    if cut.seconds == 0 || cut.at_limit {
        return Vec::new();
    }
    let (before, after) = series.split_at(cut.seconds);
    let [step, bias] = [mean(before), mean(&series)].map(|level| level / mean(after) - 1.0);
    if step.abs() < LEAST_STEP || bias.abs() < LEAST_BIAS {
        return Vec::new();
    }
    let message = format!(
        "the first {} s ran at {:.2} times the rate of the rest and are counted: they move the result by {:+.1}%",
        cut.seconds,
        1.0 + step,
        bias * 100.0
    );
    let advice = format!(
        "leave them out with --warmup {}s, the same for every arm",
        cut.seconds + cut.seconds / 5
    );
    vec![RULE.finding(Severity::Warning, message, &advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, with_rates};
    use super::*;

    #[test]
    fn a_slow_start_is_found_with_what_it_costs() {
        let rates: Vec<u64> = (0..60)
            .map(|second| if second < 10 { 1000 } else { 2000 + second % 3 })
            .collect();
        let found = check(&with_rates(&rates));
        assert_eq!(
            only(&found),
            "the first 10 s ran at 0.50 times the rate of the rest and are counted: they move the result by -8.3%"
        );
        assert!(found[0].advice.contains("--warmup 12s"));
    }

    #[test]
    fn an_even_start_is_silent() {
        assert_eq!(
            check(&with_rates(
                &(0..60).map(|second| 2000 + second % 7).collect::<Vec<_>>()
            )),
            []
        );
    }
}
