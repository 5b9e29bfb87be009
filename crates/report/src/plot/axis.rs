//! One axis: a range of values, where they lie, and which of them are written.

pub(crate) use units::ValueUnit;

/// The value at a tick: without zeros that say nothing.
fn tick_text(unit: ValueUnit, value: f64) -> String {
    if value == 0.0 && unit != ValueUnit::Change {
        return "0".to_owned();
    }
    let text = unit.text(value);
    let (number, name) = text.split_once(' ').unwrap_or((&text, ""));
    let number = if unit == ValueUnit::Change && value == 0.0 {
        "0"
    } else {
        trimmed(number)
    };
    if name.is_empty() {
        number.to_owned()
    } else {
        format!("{number} {name}")
    }
}

/// Powers of this make round numbers of a unit.
fn base(unit: ValueUnit) -> f64 {
    match unit {
        ValueUnit::BytesPerSecond | ValueUnit::Bytes => 1024.0,
        ValueUnit::PerSecond
        | ValueUnit::Time
        | ValueUnit::Percent
        | ValueUnit::Change
        | ValueUnit::Whole
        | ValueUnit::Ratio => 1000.0,
    }
}

/// A decimal number without trailing zeros.
fn trimmed(number: &str) -> &str {
    if number.contains('.') && !number.contains('e') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spacing {
    Linear,
    Log,
}

/// An axis; the pixels it spans are the business of the frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) title: String,
    pub(super) ticks: Vec<(f64, String)>,
    low: f64,
    high: f64,
    spacing: Spacing,
}

/// The least and the greatest finite value.
pub(super) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold(None, |range, value| {
        range.map_or(Some((value, value)), |(low, high): (f64, f64)| {
            Some((low.min(value), high.max(value)))
        })
    })
}

/// The range with room at both ends, at least a twentieth of its values wide: a tick has three
/// digits, and closer ones would read alike.
pub(super) fn with_room(low: f64, high: f64) -> (f64, f64) {
    let edge = 0.1 * (high - low);
    let more = (0.05 * low.abs().max(high.abs()) - (high - low + 2.0 * edge)).max(0.0) / 2.0;
    (low - edge - more, high + edge + more)
}

impl Axis {
    /// From zero to a round number at or above `most`.
    pub(super) fn from_zero(title: &str, unit: ValueUnit, most: f64) -> Self {
        let most = if most > 0.0 && most.is_finite() {
            most
        } else {
            1.0
        };
        let step = round_step(unit, most / 4.0, most);
        Self::linear(title, unit, 0.0, (most / step - 1e-9).ceil() * step)
    }

    /// From `low` to `high`, evenly; an empty range is widened.
    pub(super) fn linear(title: &str, unit: ValueUnit, low: f64, high: f64) -> Self {
        let (low, high) = if high > low {
            (low, high)
        } else {
            (
                low - low.abs().max(1.0) * 0.1,
                low + low.abs().max(1.0) * 0.1,
            )
        };
        let step = round_step(unit, (high - low) / 6.0, low.abs().max(high.abs()));
        let first = (low / step - 1e-9).ceil();
        let ticks = (0..16_u32)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|tick| *tick <= high + 1e-9 * step)
            .map(|tick| (tick, tick_text(unit, tick)))
            .collect();
        Self {
            title: title.to_owned(),
            ticks,
            low,
            high,
            spacing: Spacing::Linear,
        }
    }

    /// By ratio, from and to round numbers around a range of positive values.
    pub(super) fn log(title: &str, unit: ValueUnit, low: f64, high: f64) -> Self {
        let low = low.max(1e-9);
        let high = high.max(low * 1.5);
        let decades = (high / low).log10();
        let steps: &[f64] = match decades {
            _ if decades > 2.5 => &[1.0],
            _ if decades > 1.2 => &[1.0, 3.0],
            _ if decades > 0.6 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        };
        let mut all = Vec::new();
        let mut decade = 10_f64.powf(low.log10().floor() - 1.0);
        while decade <= high * 10.0 {
            all.extend(steps.iter().map(|step| step * decade));
            decade *= 10.0;
        }
        let from = all
            .iter()
            .copied()
            .rfind(|tick| *tick <= low * 1.000_001)
            .unwrap_or(low);
        let to = all
            .iter()
            .copied()
            .find(|tick| *tick >= high * 0.999_999)
            .unwrap_or(high);
        let ticks = all
            .into_iter()
            .filter(|tick| (from..=to).contains(tick))
            .map(|tick| (tick, tick_text(unit, tick)))
            .collect();
        Self {
            title: title.to_owned(),
            ticks,
            low: from,
            high: to,
            spacing: Spacing::Log,
        }
    }

    /// Changes that reach far above the other side, by ratio: twice as much is as far from no
    /// change as half as much. Places are logarithms of ratios.
    pub(super) fn ratios(title: &str, low: f64, high: f64) -> Self {
        let scale = Self::log(title, ValueUnit::Ratio, low.exp(), high.exp());
        let tick = |(ratio, _): &(f64, String)| {
            let text = match *ratio {
                1.0 => "0 %".to_owned(),
                below if below < 1.0 => format!("{:.0} %", 100.0 * (below - 1.0)),
                above if above <= 3.0 => format!("+{:.0} %", 100.0 * (above - 1.0)),
                above => format!("{above} times"),
            };
            (ratio.ln(), text)
        };
        Self {
            ticks: scale.ticks.iter().map(tick).collect(),
            low: scale.low.ln(),
            high: scale.high.ln(),
            spacing: Spacing::Linear,
            title: title.to_owned(),
        }
    }

    /// Evenly from `low` to `high` with ticks of the caller's.
    pub(super) fn with_ticks(title: &str, low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        Self {
            title: title.to_owned(),
            ticks,
            low,
            high: if high > low { high } else { low + 1.0 },
            spacing: Spacing::Linear,
        }
    }

    /// Where a value lies, 0 at the low end and 1 at the high end; what lies outside is moved to
    /// the end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Log => {
                (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
            }
        };
        share.clamp(0.0, 1.0)
    }
}

/// A round step of at least about `rough`: 1, 2 or 5 of a power of ten of the prefix that serves
/// `most`, or of a clock's units.
fn round_step(unit: ValueUnit, rough: f64, most: f64) -> f64 {
    const SECOND: f64 = 1e9;
    if unit == ValueUnit::Time && rough >= 10.0 * SECOND {
        let clock = [
            15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 86_400.0,
        ];
        return clock
            .into_iter()
            .map(|seconds| seconds * SECOND)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
    }
    let base = base(unit);
    let prefix = if base > 1000.0 && most >= 1.0 {
        base.powf((most.ln() / base.ln()).floor())
    } else {
        1.0
    };
    let rough = (rough / prefix).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|step| *step >= rough * 0.999_999)
        .unwrap_or(10.0 * power);
    let step = if unit == ValueUnit::Whole {
        step.max(1.0)
    } else {
        step
    };
    step * prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_in_their_unit() {
        assert_eq!(
            labels(&Axis::from_zero("", ValueUnit::PerSecond, 38_400.0)),
            ["0", "10 K/s", "20 K/s", "30 K/s", "40 K/s"]
        );
        let gib = 1024.0_f64.powi(3);
        assert_eq!(
            labels(&Axis::from_zero("", ValueUnit::BytesPerSecond, 3.1 * gib)),
            ["0", "1 GiB/s", "2 GiB/s", "3 GiB/s", "4 GiB/s"]
        );
        assert_eq!(
            labels(&Axis::from_zero("", ValueUnit::Time, 60e9)),
            ["0", "15 s", "30 s", "45 s", "1 min"]
        );
        assert_eq!(
            labels(&Axis::log("", ValueUnit::Time, 90_000.0, 12_000_000.0)),
            [
                "30 µs", "100 µs", "300 µs", "1 ms", "3 ms", "10 ms", "30 ms"
            ]
        );
        assert_eq!(
            labels(&Axis::linear("", ValueUnit::Change, -0.1, 0.1)),
            ["-10 %", "-5 %", "0 %", "+5 %", "+10 %"]
        );
    }

    proptest! {
        #[test]
        fn every_value_of_the_range_lies_on_the_axis_and_ticks_are_few(low in 1e-3_f64..1e15, factor in 1.0_f64..1e9, share in 0.0_f64..1.0) {
            let high = low * factor;
            let value = low + (high - low) * share;
            for unit in [ValueUnit::PerSecond, ValueUnit::BytesPerSecond, ValueUnit::Time, ValueUnit::Whole] {
                for axis in [Axis::from_zero("", unit, high), Axis::linear("", unit, low, high), Axis::log("", unit, low, high)] {
                    prop_assert!((0.0..=1.0).contains(&axis.share(value)));
                    prop_assert!(axis.share(low) <= axis.share(value) + 1e-9 && axis.share(value) <= axis.share(high) + 1e-9);
                    prop_assert!(axis.ticks.len() <= 24, "{:?}", axis);
                    prop_assert!(axis.ticks.iter().all(|(at, _)| *at >= axis.low * 0.999 - 1e-9 && *at <= axis.high * 1.001 + 1e-9));
                }
                prop_assert!(Axis::from_zero("", unit, high).ticks.len() >= 2);
            }
        }
    }
}
