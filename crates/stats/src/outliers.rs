use crate::sample::{median, median_absolute_deviation};

/// Standard deviations of a normal sample in one median absolute deviation.
const NORMAL_SCALE: f64 = 1.4826;

/// The indices of values further than 5 scaled median absolute deviations from the median; none if
/// more than half of the values are equal.
///
/// They are to be listed and to be left out of a sensitivity line, never out of the verdict.
#[must_use]
pub fn outlying(values: &[f64]) -> Vec<usize> {
    let centre = median(values);
    let limit = 5.0 * NORMAL_SCALE * median_absolute_deviation(values);
    (0..values.len())
        .filter(|i| limit > 0.0 && (values[*i] - centre).abs() > limit)
        .collect()
}

/// Each value less the median of up to two neighbours on either side: a series in time without its
/// drift, for [`outlying`].
#[must_use]
pub fn from_neighbours(series: &[f64]) -> Vec<f64> {
    let neighbours = |i: usize| {
        let near = i.saturating_sub(2)..(i + 3).min(series.len());
        near.filter(|j| *j != i)
            .map(|j| series[j])
            .collect::<Vec<_>>()
    };
    (0..series.len())
        .map(|i| {
            if series.len() < 2 {
                0.0
            } else {
                series[i] - median(&neighbours(i))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_block_is_flagged_and_only_it() {
        assert_eq!(outlying(&[0.01, -0.02, 0.03, 0.0, 1.6, 0.02, -0.01]), [4]);
        assert!(outlying(&[0.0, 0.0, 0.0, 9.0]).is_empty() && outlying(&[]).is_empty());
    }

    #[test]
    fn a_slow_slot_on_a_decline_stands_out_from_its_neighbours_but_not_the_decline() {
        let mut series: Vec<f64> = (0..40)
            .map(|i| -0.05 * f64::from(i) + if i % 2 == 0 { 0.01 } else { -0.01 })
            .collect();
        assert!(
            outlying(&from_neighbours(&series))
                .iter()
                .all(|i| *i < 2 || *i > 37),
            "only the ends lean on one side"
        );
        series[20] -= 1.6;
        assert!(outlying(&from_neighbours(&series)).contains(&20));
        assert!(
            !outlying(&series).contains(&20),
            "the raw series hides it in its drift"
        );
    }
}
