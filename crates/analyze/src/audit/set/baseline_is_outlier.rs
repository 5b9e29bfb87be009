//! If all arms moved together, it was the baseline that moved.

use super::{Experiment, Located, is_baseline, median, typical};
use crate::Severity;
use crate::audit::rule::{Check, Rule};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "baseline_is_outlier",
    catalogue_number: Some(40),
    severity: Severity::Warning,
    title: "All arms moved together: the baseline is the odd one",
    text: "\
Rows with a baseline and at least four other arms: found if the baseline lies outside
all of them and more than 3 scaled median absolute deviations from their middle.
128 MB/s for the baseline and 73 to 88 for five unrelated changes was read as \"all
changes hurt\". Five changes that each cost a third are less likely than one baseline
that ran in a good hour.
What to do: repeat the baseline first, in blocks with the others, before reading any
single arm.",
    checks: &[Check::Together(check)],
};

/// Scale of the median absolute deviation to a standard deviation of a normal law.
const NORMAL: f64 = 1.4826;
const MOST_DEVIATIONS: f64 = 3.0;
const FEWEST_OTHERS: usize = 4;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let rows = experiment.rows().into_iter();
    rows.filter_map(|(row, arms)| {
        let (base, others): (Vec<_>, Vec<_>) = arms.iter().partition(|(arm, _)| is_baseline(arm));
        let base = typical(&base.first()?.1)?.1;
        let others: Vec<f64> = others.iter().filter_map(|(_, slots)| Some(typical(slots)?.1)).collect();
        if others.len() < FEWEST_OTHERS {
            return None;
        }
        let one_side = others.iter().all(|rate| *rate < base) || others.iter().all(|rate| *rate > base);
        let middle = median(others.clone());
        let spread = NORMAL * median(others.iter().map(|rate| (rate - middle).abs()).collect());
        let off = (base - middle).abs();
        (one_side && spread > 0.0 && off > MOST_DEVIATIONS * spread).then(|| {
            let message = format!(
                "{row}: the baseline is {:+.0}% beside the middle of {} arms, {:.0} of their deviations: all arms moved together",
                (base / middle - 1.0) * 100.0,
                others.len(),
                off / spread
            );
            let advice = "look at the baseline first: one odd baseline makes every arm look better, or worse, at once";
            RULE.about(None, Severity::Warning, message, advice)
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn row(rates: &[f64]) -> Vec<Record> {
        let arms = ["baseline", "a", "b", "c", "d", "e", "f"];
        let of = |rate| {
            quoted(
                "put",
                Summary {
                    bytes_per_second: Some(rate),
                    ..Summary::default()
                },
            )
        };
        arms.into_iter()
            .zip(rates)
            .zip(0..)
            .map(|((arm, rate), slot)| placed(of(*rate), arm, 0, slot))
            .collect()
    }

    #[test]
    fn a_baseline_above_everything_is_found() {
        let found = run_on(
            check,
            &row(&[128.28, 83.09, 87.59, 80.98, 88.14, 73.5, 34.5]),
        );
        assert!(
            only(&found).starts_with(
                "row: the baseline is +56% beside the middle of 6 arms, 5 of their deviations"
            ),
            "{found:?}"
        );
    }

    #[test]
    fn a_baseline_among_its_arms_is_silent() {
        assert_eq!(
            run_on(
                check,
                &row(&[138.89, 138.89, 141.86, 135.16, 137.09, 144.93, 128.22])
            ),
            []
        );
        assert_eq!(run_on(check, &row(&[128.0, 80.0, 81.0])), []);
    }
}
