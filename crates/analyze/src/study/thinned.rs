//! Rates of one or several slots thinned to columns, so that a page of them stays small: the middle of
//! a column is the median of what falls into it, and its ends are the least and the greatest, so that
//! no stall is thinned away.

use units::lossless::f64_to_u64_saturating;

/// A value that held from `start_ns` to `end_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) value: f64,
}

/// The rates of one stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateColumn {
    /// The middle of the stretch.
    pub time_ns: f64,
    pub low: f64,
    pub middle: f64,
    pub high: f64,
}

/// Thins samples of one or several slots, each from its own start, to at most `most` columns of
/// equal length.
pub(super) fn columns(samples: &[Sample], most: u32) -> Vec<RateColumn> {
    let end = samples
        .iter()
        .map(|sample| sample.end_ns)
        .max()
        .unwrap_or(0);
    let lengths: Vec<f64> = samples
        .iter()
        .map(|sample| sample.end_ns.saturating_sub(sample.start_ns) as f64)
        .filter(|ns| *ns > 0.0)
        .collect();
    if end == 0 || lengths.is_empty() {
        return Vec::new();
    }
    let usual = stats::sample::median(&lengths);
    let count = (end as f64 / usual).round().clamp(1.0, f64::from(most));
    let width = end as f64 / count;
    let mut cells: Vec<Vec<f64>> =
        vec![Vec::new(); usize::try_from(f64_to_u64_saturating(count)).unwrap_or(1)];
    for sample in samples
        .iter()
        .filter(|sample| sample.value.is_finite() && sample.end_ns > sample.start_ns)
    {
        let middle = sample.start_ns as f64 / 2.0 + sample.end_ns as f64 / 2.0;
        let last = cells.len() - 1;
        let index = usize::try_from(f64_to_u64_saturating(middle / width))
            .unwrap_or(last)
            .min(last);
        cells[index].push(sample.value);
    }
    let column = |(index, values): (usize, Vec<f64>)| {
        (!values.is_empty()).then(|| RateColumn {
            time_ns: (index as f64 + 0.5) * width,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            middle: stats::sample::median(&values),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    };
    cells.into_iter().enumerate().filter_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[f64]) -> Vec<Sample> {
        let at = |index: usize| index as u64 * 1_000_000_000;
        values
            .iter()
            .enumerate()
            .map(|(index, value)| Sample {
                start_ns: at(index),
                end_ns: at(index + 1),
                value: *value,
            })
            .collect()
    }

    #[test]
    fn a_short_series_keeps_every_value() {
        let thin = columns(&of(&[1.0, 2.0, 3.0]), 120);
        assert_eq!(
            thin.iter()
                .map(|column| (column.low, column.middle, column.high))
                .collect::<Vec<_>>(),
            [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (3.0, 3.0, 3.0)]
        );
    }

    #[test]
    fn what_has_no_length_or_no_value_is_not_drawn() {
        let nothing = Sample {
            start_ns: 5,
            end_ns: 5,
            value: 1.0,
        };
        assert_eq!(columns(&[nothing], 10), []);
        assert_eq!(
            columns(
                &[
                    Sample {
                        value: f64::NAN,
                        ..nothing
                    },
                    Sample {
                        start_ns: 0,
                        end_ns: 9,
                        value: f64::INFINITY
                    }
                ],
                10
            ),
            []
        );
    }

    #[test]
    fn a_stall_of_one_second_in_an_hour_is_kept() {
        let mut values = vec![1000.0; 3600];
        values[1800] = 0.0;
        let thin = columns(&of(&values), 120);
        let stalls = thin.iter().filter(|column| column.low == 0.0).count();
        assert_eq!((thin.len(), stalls), (120, 1));
    }

    proptest! {
        #[test]
        fn thinning_keeps_the_extremes(values in prop::collection::vec(0.0_f64..1e9, 1..400), parts in 1_u32..200) {
            let thin = columns(&of(&values), parts);
            prop_assert!(thin.len() <= parts as usize);
            let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
            let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
            prop_assert_eq!(least(&mut thin.iter().map(|column| column.low)), least(&mut values.iter().copied()));
            prop_assert_eq!(most(&mut thin.iter().map(|column| column.high)), most(&mut values.iter().copied()));
        }
    }
}
