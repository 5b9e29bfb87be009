use crate::sample::mean;

/// How many independent values the seconds of one slot are worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveSize {
    /// Integrated autocorrelation time, in samples; may fall below 1 for alternating series.
    pub tau: f64,
    /// `n / max(tau, 1)`.
    pub ess: f64,
    /// Autocorrelation at lag 1.
    pub rho_1: f64,
}

/// Geyer's (1992) initial positive sequence: pairs `rho_2k + rho_{2k+1}` of autocorrelations are
/// added while positive, `tau = -1 + 2 sum`. `None` below three values or without variance.
///
/// For display and for "slot too short": the seconds of a slot are never replicates.
#[must_use]
pub fn effective_size(series: &[f64]) -> Option<EffectiveSize> {
    let n = series.len();
    let centre = mean(series);
    let deviations: Vec<f64> = series.iter().map(|x| x - centre).collect();
    let at_lag = |lag: usize| {
        deviations[lag..]
            .iter()
            .zip(&deviations)
            .map(|(a, b)| a * b)
            .sum::<f64>()
    };
    let variance = at_lag(0);
    if n < 3 || variance <= 0.0 {
        return None;
    }
    let mut tau = -1.0;
    for lag in (0..n - 1).step_by(2) {
        let pair = (at_lag(lag) + at_lag(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        tau += 2.0 * pair;
    }
    Some(EffectiveSize {
        tau,
        ess: n as f64 / tau.max(1.0),
        rho_1: at_lag(1) / variance,
    })
}

/// The best measured length of a slot in seconds, `sqrt(c s_w^2 tau / s_b^2)` clipped to [10, 300]
/// (Kalibera & Jones 2013): with `overhead` seconds of reset, start and warm-up per slot, `within`
/// the standard deviation of one-second samples, `tau` their autocorrelation time and `between` the
/// standard deviation between runs. Without variance between runs: 300.
#[must_use]
pub fn best_slot_seconds(overhead: f64, within: f64, tau: f64, between: f64) -> f64 {
    const LIMITS: (f64, f64) = (10.0, 300.0);
    if between <= 0.0 {
        return LIMITS.1;
    }
    (overhead * within * within * tau.max(1.0) / (between * between))
        .sqrt()
        .clamp(LIMITS.0, LIMITS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_reference_simulation() {
        // ess_ips of the reference simulation, whose FFT is replaced here by direct sums.
        let series = [
            0.3, 1.2, 0.8, 1.9, 0.4, -0.5, 0.2, -1.1, -0.7, 0.1, 0.9, 1.4, 0.6, -0.2, -0.9,
        ];
        let found = effective_size(&series).unwrap();
        assert!(
            (found.ess - 8.141_376_821_790_221).abs() < 1e-9
                && (found.tau - 1.842_440_207_392_540_8).abs() < 1e-9,
            "{found:?}"
        );
        assert!((found.rho_1 - 0.421_220_103_696_270_33).abs() < 1e-9);
    }

    #[test]
    fn an_alternating_series_is_worth_no_more_than_its_length() {
        let series: Vec<f64> = (0..60)
            .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        assert_eq!(effective_size(&series).map(|e| e.ess), Some(60.0));
    }

    #[test]
    fn nothing_is_said_about_constant_or_tiny_series() {
        assert_eq!(
            (
                effective_size(&[1.0; 50]),
                effective_size(&[1.0, 2.0]),
                effective_size(&[])
            ),
            (None, None, None)
        );
    }

    #[test]
    fn slots_grow_with_their_overhead_and_shrink_with_run_to_run_spread() {
        assert!(
            (best_slot_seconds(40.0, 0.1, 4.0, 0.02) - (40.0f64 * 0.01 * 4.0 / 0.0004).sqrt())
                .abs()
                < 1e-9
        );
        assert_eq!(
            (
                best_slot_seconds(40.0, 0.1, 4.0, 0.5),
                best_slot_seconds(40.0, 0.1, 4.0, 0.0)
            ),
            (10.0, 300.0)
        );
    }
}
