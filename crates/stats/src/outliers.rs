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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_block_is_flagged_and_only_it() {
        assert_eq!(outlying(&[0.01, -0.02, 0.03, 0.0, 1.6, 0.02, -0.01]), [4]);
        assert!(outlying(&[0.0, 0.0, 0.0, 9.0]).is_empty() && outlying(&[]).is_empty());
    }
}
