/// Whether `n` requests support quantile `q`: at least ten of them lie beyond it.
#[must_use]
pub fn quantile_has_support(n: u64, q: f64) -> bool {
    n as f64 * (1.0 - q) >= 10.0 - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_requests_must_lie_beyond() {
        assert!(
            quantile_has_support(1000, 0.99)
                && !quantile_has_support(999, 0.99)
                && quantile_has_support(10_000, 0.999)
        );
    }
}
