//! Ranks with ties, shared by every rank test.

/// Ranks 1..=n in the order of the sample, equal values sharing the mean of their ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranks {
    pub(crate) ranks: Vec<f64>,
    /// Sum of t^3 - t over groups of t equal values: 0 without ties, the correction of every rank
    /// variance with them.
    pub(crate) tie_sum: f64,
}

pub(crate) fn ranks(sample: &[f64]) -> Ranks {
    let mut order: Vec<usize> = (0..sample.len()).collect();
    order.sort_unstable_by(|a, b| sample[*a].total_cmp(&sample[*b]));
    let mut ranks = vec![0.0; sample.len()];
    let mut tie_sum = 0.0;
    let mut first = 0;
    for group in order.chunk_by(|a, b| sample[*a] == sample[*b]) {
        let t = group.len() as f64;
        let shared = first as f64 + 0.5 * (t + 1.0);
        for index in group {
            ranks[*index] = shared;
        }
        tie_sum += t * t * t - t;
        first += group.len();
    }
    Ranks { ranks, tie_sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_rank() {
        assert_eq!(
            ranks(&[2.0, 9.0, 2.0, 1.0, 2.0]),
            Ranks {
                ranks: vec![3.0, 5.0, 3.0, 1.0, 3.0],
                tie_sum: 24.0
            }
        );
    }

    #[test]
    fn negative_and_positive_zero_are_equal() {
        assert_eq!(ranks(&[0.0, -0.0]).ranks, [1.5, 1.5]);
    }
}
