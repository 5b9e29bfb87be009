//! How far two sides are apart, in words: as a percentage, and as a factor where a percentage says
//! little.

use analyze::RowComparison;
use stats::Estimate;
use units::ValueUnit;

/// A change above this is told as a factor: 1264 % more is hard to see as 13.6 times as much.
const FAR: f64 = 2.0;

/// `by 24.4 % [23.7 to 25.0]`, or `13.6 times as long [12.1 to 15.0]`: how far apart, with the end
/// of the interval that is nearer to no difference first.
pub(super) fn apart(word: &str, row: &RowComparison, unit: ValueUnit) -> String {
    let Some(effect) = &row.effect else {
        return word.to_owned();
    };
    if is_far(effect) {
        let than = if unit == ValueUnit::Time {
            "as long"
        } else {
            "as much"
        };
        let [point, low, high] = factors(effect);
        return format!("{word}: {point} times {than} [{low} to {high}]");
    }
    let far = |log: f64| 100.0 * log.exp_m1().abs();
    let (low, high) = (far(effect.low), far(effect.high));
    format!(
        "{word} by {:.1} % [{:.1} to {:.1}]",
        far(effect.point),
        low.min(high),
        low.max(high)
    )
}

/// `+8.3 % [+5.6, +11.2]` or `13.6 times [12.1, 15.0]`: a ratio effect from its logarithm.
pub(crate) fn shown(effect: &Estimate) -> String {
    if !effect.high.is_finite() {
        return format!("{} [no interval yet]", signed(effect.point));
    }
    if is_far(effect) {
        let [point, low, high] = factors(effect);
        return format!("{point} times [{low}, {high}]");
    }
    let [point, low, high] = [effect.point, effect.low, effect.high].map(in_percent);
    format!("{point} % [{low}, {high}]")
}

/// What rounds to nothing has no minus.
fn in_percent(log: f64) -> String {
    let change = format!("{:+.1}", 100.0 * log.exp_m1());
    if change == "-0.0" {
        "+0.0".to_owned()
    } else {
        change
    }
}

/// Change and interval apart, as two cells of a table.
pub(crate) fn in_cells(effect: &Estimate) -> [String; 2] {
    let point = signed(effect.point);
    let interval = match (
        effect.low.is_finite() && effect.high.is_finite(),
        is_far(effect),
    ) {
        (false, _) => "-".to_owned(),
        (true, true) => {
            let [_, low, high] = factors(effect);
            format!("{low} to {high} times")
        }
        (true, false) => {
            let [low, high] = [effect.low, effect.high].map(in_percent);
            format!("{low} % to {high} %")
        }
    };
    [point, interval]
}

/// `+8.3 %` or `13.6 times` from the logarithm of a ratio.
pub(crate) fn signed(log: f64) -> String {
    ValueUnit::Change.text(log.exp_m1())
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn is_far(effect: &Estimate) -> bool {
    effect.point.exp_m1() > FAR
}

fn factors(effect: &Estimate) -> [String; 3] {
    [effect.point, effect.low, effect.high].map(|log| units::factor(log.exp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Method;

    fn effect(ratios: [f64; 3]) -> Estimate {
        let [low, point, high] = ratios.map(f64::ln);
        Estimate {
            point,
            low,
            high,
            level: 0.95,
            n: 8,
            method: Method::HodgesLehmann,
        }
    }

    #[test]
    fn far_above_the_other_side_is_a_factor_in_every_form() {
        let far = effect([12.1, 13.64, 15.02]);
        assert_eq!(shown(&far), "13.6 times [12.1, 15.0]");
        assert_eq!(in_cells(&far), ["13.6 times", "12.1 to 15.0 times"]);
        assert_eq!(signed(far.point), "13.6 times");
        let unknown = effect([f64::NEG_INFINITY, 13.64, f64::INFINITY]);
        assert_eq!(in_cells(&unknown), ["13.6 times", "-"]);
    }

    #[test]
    fn up_to_three_times_and_below_it_is_a_percentage() {
        assert_eq!(shown(&effect([2.5, 2.9, 3.3])), "+190.0 % [+150.0, +230.0]");
        assert_eq!(shown(&effect([0.05, 0.1, 0.2])), "-90.0 % [-95.0, -80.0]");
        assert_eq!(
            in_cells(&effect([1.02, 1.08, 1.1])),
            ["+8.0 %", "+2.0 % to +10.0 %"]
        );
    }

    #[test]
    fn what_rounds_to_nothing_has_no_minus() {
        let nothing = effect([0.9997, 0.9999, 1.01]);
        assert_eq!(shown(&nothing), "+0.0 % [+0.0, +1.0]");
        assert_eq!(in_cells(&nothing), ["+0.0 %", "+0.0 % to +1.0 %"]);
    }

    #[test]
    fn an_interval_that_reaches_below_no_change_stays_readable_as_a_factor() {
        assert_eq!(shown(&effect([0.9, 4.0, 120.0])), "4.00 times [0.90, 120]");
    }
}
