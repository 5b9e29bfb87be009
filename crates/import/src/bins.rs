//! Counts and latencies into histograms, without overflow whatever the input says.

use record::Histogram;

/// A histogram that refuses what would overflow it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bins(Histogram);

impl Bins {
    /// Adds `n` latencies of `ns`; `false` if all counts together would exceed what a record holds.
    #[must_use]
    pub(crate) fn add(&mut self, ns: u64, n: u64) -> bool {
        let fits = self
            .0
            .count()
            .checked_add(n)
            .is_some_and(|all| all <= Histogram::MOST_VALUES);
        if fits {
            self.0.record_many(ns, n);
        }
        fits
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.count()
    }

    /// Both together; `None` if the counts would exceed what a record holds.
    pub(crate) fn merged(mut self, other: &Self) -> Option<Self> {
        self.count()
            .checked_add(other.count())
            .filter(|all| *all <= Histogram::MOST_VALUES)?;
        self.0.merge(&other.0);
        Some(self)
    }

    pub(crate) fn into_histogram(self) -> Histogram {
        self.0
    }
}

/// The shortest decimal text of a percentage that a tool wrote as `text`: `99.900000` is `99.9`.
/// `None` for what is no percentage.
pub(crate) fn percentile_key(text: &str) -> Option<String> {
    let text = text.trim();
    let percent: f64 = text.parse().ok()?;
    if !(0.0..=100.0).contains(&percent)
        || !text.starts_with(|c: char| c.is_ascii_digit())
        || text.contains(['e', 'E'])
    {
        return None;
    }
    let trimmed = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    };
    Some(trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_does_not_fit_is_refused() {
        let mut bins = Bins::default();
        assert!(bins.add(5, Histogram::MOST_VALUES - 1));
        assert!(!bins.add(u64::MAX, 2));
        assert!(bins.add(u64::MAX, 1));
        assert_eq!(bins.count(), Histogram::MOST_VALUES);
        assert!(bins.clone().merged(&bins).is_none());
    }

    #[test]
    fn percentages_lose_only_their_zeros() {
        for (text, key) in [
            ("99.000000", Some("99")),
            ("99.990000", Some("99.99")),
            ("100", Some("100")),
            ("0.00", Some("0")),
            ("101", None),
            ("p95", None),
            ("1e1", None),
        ] {
            assert_eq!(percentile_key(text).as_deref(), key, "{text}");
        }
    }
}
