//! Inside one slot: where the warm-up ends, and whether what follows is steady.

use crate::sample::mean;

/// Seconds in one batch of MSER-5.
const BATCH: usize = 5;

/// The cut of MSER-5 on a series of one value a second: how many leading seconds to drop (a
/// multiple of 5), and whether the search ended at its limit of half the series, which says that no
/// steady part was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub seconds: usize,
    pub at_limit: bool,
}

/// MSER-5: with z_j the means of 5 seconds and m of them, the d in 0..=m/2 that minimises
/// `sum_{j>d} (z_j - mean_{j>d})^2 / (m - d)^2`, the squared standard error of what remains (White
/// 1997; Hoad, Robinson & Davies 2008). The first minimum wins.
///
/// Blind to a late change: pair it with [`steady`] and [`regime_change`].
#[must_use]
pub fn mser5(series: &[f64]) -> Cut {
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    let m = batches.len();
    let error = |d: usize| {
        let rest = &batches[d..];
        let centre = mean(rest);
        rest.iter().map(|z| (z - centre).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    let mut best = (f64::INFINITY, 0);
    for d in (0..=m / 2).filter(|d| *d < m) {
        let error = error(d);
        if error < best.0 {
            best = (error, d);
        }
    }
    Cut {
        seconds: best.1 * BATCH,
        at_limit: m > 1 && best.1 == m / 2,
    }
}

/// One cut for all arms of a configuration, so that none is favoured: the largest over the arms of
/// the median of their cuts, plus 20 %, rounded up to whole seconds. 0 without cuts.
#[must_use]
pub fn frozen_cut(cuts_by_arm: &[Vec<usize>]) -> usize {
    let largest = cuts_by_arm
        .iter()
        .filter(|cuts| !cuts.is_empty())
        .map(|cuts| crate::sample::median(&cuts.iter().map(|s| *s as f64).collect::<Vec<_>>()))
        .fold(0.0, f64::max);
    crate::sample::floor_index((1.2 * largest - 1e-9).ceil())
}

/// The steadiness of a series in five windows of nearly equal length, relative to the mean of the
/// window means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// Largest minus smallest window mean.
    pub range: f64,
    /// Least-squares slope over the windows times their four steps, with its sign.
    pub excursion: f64,
}

impl Steadiness {
    /// Range at most 20 % and fitted slope at most 10 %, the limits of SNIA's Performance Test
    /// Specification. The slope alone misses a V.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.range <= 0.20 && self.excursion.abs() <= 0.10
    }
}

/// Measures the steadiness of a series; `None` below five values or at a mean of 0.
#[must_use]
pub fn steady(series: &[f64]) -> Option<Steadiness> {
    const WINDOWS: usize = 5;
    if series.len() < WINDOWS {
        return None;
    }
    let (base, longer) = (series.len() / WINDOWS, series.len() % WINDOWS);
    let mut rest = series;
    let windows: [f64; WINDOWS] = std::array::from_fn(|i| {
        let (window, after) = rest.split_at(base + usize::from(i < longer));
        rest = after;
        mean(window)
    });
    let centre = mean(&windows);
    if centre == 0.0 {
        return None;
    }
    let (least, most) = windows
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), w| {
            (a.min(*w), b.max(*w))
        });
    let slope = windows
        .iter()
        .zip([-2.0, -1.0, 0.0, 1.0, 2.0])
        .map(|(w, x)| w * x)
        .sum::<f64>()
        / 10.0;
    Some(Steadiness {
        range: (most - least) / centre,
        excursion: 4.0 * slope / centre,
    })
}

/// A jump of the level within a slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegimeChange {
    /// Index of the first second of the new level.
    pub second: usize,
    /// New level divided by old.
    pub ratio: f64,
}

/// The best split of the last two thirds of a series into two levels (largest sum of squares
/// between them, each at least 10 s long), if the levels differ by more than a factor of 1.25.
#[must_use]
pub fn regime_change(series: &[f64]) -> Option<RegimeChange> {
    const SHORTEST: usize = 10;
    let first = series.len() / 3;
    let part = &series[first..];
    let total: f64 = part.iter().sum();
    let mut before = 0.0;
    let mut best: Option<(f64, usize, f64)> = None;
    for (index, x) in part.iter().enumerate() {
        let (left, right) = (index as f64, (part.len() - index) as f64);
        if index >= SHORTEST && part.len() - index >= SHORTEST {
            let (old, new) = (before / left, (total - before) / right);
            let between = left * right * (new - old).powi(2);
            if best.is_none_or(|(most, ..)| between > most) {
                best = Some((between, index, new / old));
            }
        }
        before += x;
    }
    let (_, index, ratio) = best?;
    (ratio.ln().abs() > 1.25f64.ln()).then_some(RegimeChange {
        second: first + index,
        ratio,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: usize, level: f64) -> Vec<f64> {
        (0..120)
            .map(|t| if t < at { level } else { 1.0 } + if t % 2 == 0 { 0.01 } else { -0.01 })
            .collect()
    }

    #[test]
    fn a_burst_of_15_seconds_is_cut_exactly() {
        assert_eq!(
            mser5(&step(15, 2.0)),
            Cut {
                seconds: 15,
                at_limit: false
            }
        );
    }

    #[test]
    fn a_constant_or_tiny_series_is_not_cut() {
        assert_eq!(
            mser5(&[3.0; 60]),
            Cut {
                seconds: 0,
                at_limit: false
            }
        );
        assert_eq!(
            mser5(&[1.0, 2.0]),
            Cut {
                seconds: 0,
                at_limit: false
            }
        );
        assert_eq!(
            mser5(&[]),
            Cut {
                seconds: 0,
                at_limit: false
            }
        );
    }

    #[test]
    fn a_series_that_never_settles_ends_at_the_limit() {
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(
            mser5(&rising),
            Cut {
                seconds: 50,
                at_limit: true
            }
        );
    }

    #[test]
    fn the_frozen_cut_is_the_slowest_arms_median_plus_a_fifth() {
        assert_eq!(frozen_cut(&[vec![5, 10, 15], vec![20, 20, 60], vec![]]), 24);
        assert_eq!(frozen_cut(&[vec![5]]), 6);
        assert_eq!(frozen_cut(&[]), 0);
    }

    #[test]
    fn range_and_slope_are_as_by_hand() {
        let found = steady(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!(
            (found.range - 4.0 / 3.0).abs() < 1e-12
                && (found.excursion - 4.0 / 3.0).abs() < 1e-12
                && !found.passes()
        );
        let v: Vec<f64> = (0..120i32)
            .map(|t| 1.0 - 0.3 * (1.0 - (f64::from(2 * t) / 120.0 - 1.0).abs()))
            .collect();
        let found = steady(&v).unwrap();
        assert!(
            found.excursion.abs() < 0.02 && !found.passes(),
            "a V has no slope but a range: {found:?}"
        );
        assert!(steady(&[5.0; 17]).unwrap().passes());
        assert_eq!(steady(&[1.0; 4]), None);
    }

    #[test]
    fn a_cliff_is_located_and_a_small_step_is_not_one() {
        let found = regime_change(&step(80, 1.5)).unwrap();
        assert!(
            found.second == 80 && (found.ratio - 1.0 / 1.5).abs() < 0.01,
            "{found:?}"
        );
        assert_eq!(regime_change(&step(80, 1.2)), None);
        assert_eq!(
            regime_change(&step(115, 3.0)).map(|c| c.second),
            Some(110),
            "the shorter side keeps ten seconds"
        );
        assert_eq!(regime_change(&[1.0; 15]), None);
    }
}
