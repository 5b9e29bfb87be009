//! Rank tests between groups, by their large-sample laws with tie correction.

use crate::ranks::ranks;
use crate::special::{chi_square_upper, normal_two_sided};

/// The two-sided Mann-Whitney p of "both samples come from one distribution" (normal law with
/// continuity and tie correction). `None` if a sample is empty or all values are equal.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    let (m, n) = (a.len() as f64, b.len() as f64);
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let all = ranks(&[a, b].concat());
    let u = all.ranks[..a.len()].iter().sum::<f64>() - 0.5 * m * (m + 1.0);
    let total = m + n;
    let variance = m * n / 12.0 * (total + 1.0 - all.tie_sum / (total * (total - 1.0)));
    let distance = ((u - 0.5 * m * n).abs() - 0.5).max(0.0);
    (variance > 0.0).then(|| normal_two_sided(distance / variance.sqrt()))
}

/// The Kruskal-Wallis p of "all groups come from one distribution" (chi-square law, tie
/// correction): with block differences grouped by configuration it asks whether the effect depends
/// on the configuration. Empty groups are ignored; `None` with fewer than two others
/// or if all values are equal.
#[must_use]
pub fn kruskal_wallis(groups: &[Vec<f64>]) -> Option<f64> {
    let groups: Vec<&[f64]> = groups
        .iter()
        .map(Vec::as_slice)
        .filter(|g| !g.is_empty())
        .collect();
    let all = ranks(&groups.concat());
    let n = all.ranks.len() as f64;
    let correction = 1.0 - all.tie_sum / (n * n * n - n);
    if groups.len() < 2 || correction.is_nan() || correction <= 0.0 {
        return None;
    }
    let mut rest = all.ranks.as_slice();
    let mut sum = 0.0;
    for group in &groups {
        let (own, after) = rest.split_at(group.len());
        sum += own.iter().sum::<f64>().powi(2) / group.len() as f64;
        rest = after;
    }
    let h = (12.0 / (n * (n + 1.0)) * sum - 3.0 * (n + 1.0)) / correction;
    Some(chi_square_upper(h, groups.len() as f64 - 1.0))
}

/// Friedman's p of "the position within a row does not matter", for rows of equal length
/// (chi-square law, tie correction). `None` without rows, below two positions, with rows of
/// different lengths or if every row is constant.
#[must_use]
pub fn friedman(rows: &[Vec<f64>]) -> Option<f64> {
    let k = rows.first()?.len();
    if k < 2 || rows.iter().any(|r| r.len() != k) {
        return None;
    }
    let mut rank_sums = vec![0.0; k];
    let mut ties = 0.0;
    for row in rows {
        let row = ranks(row);
        ties += row.tie_sum;
        for (sum, rank) in rank_sums.iter_mut().zip(row.ranks) {
            *sum += rank;
        }
    }
    let (n, k) = (rows.len() as f64, k as f64);
    let correction = 1.0 - ties / (n * (k * k * k - k));
    let spread: f64 = rank_sums
        .iter()
        .map(|s| (s - 0.5 * n * (k + 1.0)).powi(2))
        .sum();
    let statistic = 12.0 / (n * k * (k + 1.0)) * spread / correction;
    (correction > 0.0).then(|| chi_square_upper(statistic, k - 1.0))
}

/// Expected values: scipy 1.17.1, `stats.mannwhitneyu(method="asymptotic")`, `stats.kruskal`,
/// `stats.friedmanchisquare`.
#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: Option<f64>, expected: f64) {
        assert!(
            found.is_some_and(|p| (p - expected).abs() < 1e-10),
            "{found:?} is not {expected}"
        );
    }

    #[test]
    fn mann_whitney_agrees_with_scipy() {
        let a = [1.1, 2.2, 3.1, 0.4, 9.0];
        assert_close(
            mann_whitney(&a, &[2.0, 2.2, 5.0, 8.0, 12.0, 14.0]),
            0.200_216_909_008_284_93,
        );
        assert_close(
            mann_whitney(&a, &[2.0, 2.3, 5.0, 8.0, 12.0, 14.0]),
            0.170_903_520_230_797_47,
        );
        assert_eq!(
            (mann_whitney(&a, &[]), mann_whitney(&[1.0; 3], &[1.0; 3])),
            (None, None)
        );
    }

    #[test]
    fn kruskal_wallis_agrees_with_scipy() {
        let groups = [
            vec![1.1, 2.2, 3.1, 0.4],
            vec![],
            vec![2.0, 2.2, 5.0],
            vec![4.0, 6.1, 7.0, 2.2],
        ];
        assert_close(kruskal_wallis(&groups), 0.121_196_812_381_817_77);
        assert_eq!(
            (
                kruskal_wallis(&groups[..2]),
                kruskal_wallis(&[vec![1.0; 4], vec![1.0; 4]]),
                kruskal_wallis(&[])
            ),
            (None, None, None)
        );
    }

    #[test]
    fn friedman_agrees_with_scipy() {
        let columns = |c: [[f64; 6]; 3]| {
            (0..6)
                .map(|i| c.iter().map(|column| column[i]).collect())
                .collect::<Vec<Vec<f64>>>()
        };
        let first = [1.0, 2.0, 3.0, 4.0, 5.0, 2.0];
        let third = [3.0, 1.0, 2.0, 6.0, 4.0, 9.0];
        assert_close(
            friedman(&columns([first, [2.0, 3.0, 1.0, 5.0, 6.0, 7.0], third])),
            0.606_530_659_712_633_4,
        );
        assert_close(
            friedman(&columns([first, [2.0, 2.0, 1.0, 5.0, 6.0, 7.0], third])),
            0.737_604_263_821_828_3,
        );
        assert_eq!(
            (
                friedman(&[]),
                friedman(&[vec![1.0, 1.0]]),
                friedman(&[vec![1.0], vec![2.0]])
            ),
            (None, None, None)
        );
    }
}
