//! Latency histograms in the layout of [`units::buckets`], lossless to store and to merge.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use units::buckets::{BUCKETS, LAYOUT, bucket_edges, bucket_of};

/// A finished histogram of nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Bucket and count, ascending, none of them zero: most histograms use few of the buckets, and
    /// a store may hold a hundred thousand.
    counts: Vec<(usize, u64)>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Histogram {
    /// The most values that a stored histogram may hold: beyond any measurement (two years of a
    /// thousand million a second), and 256 of them can be merged.
    pub const MOST_VALUES: u64 = u64::MAX >> 8;

    /// Adds one value in nanoseconds.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Adds `n` equal values in nanoseconds.
    pub fn record_many(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.add(bucket_of(value), n);
        self.count += n;
        self.sum += u128::from(value) * u128::from(n);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn add(&mut self, bucket: usize, n: u64) {
        match self.counts.binary_search_by_key(&bucket, |(at, _)| *at) {
            Ok(place) => self.counts[place].1 += n,
            Err(place) => self.counts.insert(place, (bucket, n)),
        }
    }

    /// Adds all of `other`; associative and commutative, with the default as identity.
    pub fn merge(&mut self, other: &Self) {
        let mut missing = Vec::new();
        // Both ascend: what was passed is not looked at again.
        let mut from = 0;
        for &(bucket, n) in &other.counts {
            // Histograms of one workload have mostly the same buckets.
            let place = match self.counts.get(from) {
                Some((at, _)) if *at == bucket => Ok(0),
                Some(_) | None => self.counts[from..].binary_search_by_key(&bucket, |(at, _)| *at),
            };
            match place {
                Ok(place) => {
                    from += place;
                    let mine = &mut self.counts[from].1;
                    *mine = mine.saturating_add(n);
                    from += 1;
                }
                Err(place) => {
                    from += place;
                    missing.push((bucket, n));
                }
            }
        }
        if !missing.is_empty() {
            self.counts.append(&mut missing);
            self.counts.sort_by_key(|(at, _)| *at);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Moves the minimum and the maximum into the first and the last bucket that hold a value.
    fn settle_extremes(&mut self) {
        let edges = |bucket: Option<usize>| {
            bucket
                .map(bucket_edges)
                .map(|(low, width)| (low, low + (width - 1)))
        };
        let first = edges(self.counts.first().map(|(bucket, _)| *bucket));
        let last = edges(self.counts.last().map(|(bucket, _)| *bucket));
        let (Some((lowest, low_end)), Some((high_start, highest))) = (first, last) else {
            return;
        };
        (self.min, self.max) = (
            self.min.clamp(lowest, low_end),
            self.max.clamp(high_start, highest),
        );
        if self.min > self.max {
            (self.min, self.max) = (lowest, highest);
        }
    }

    /// What was added since `earlier`, a former state of the same histogram. The minimum and
    /// maximum of the difference are bucket edges, clamped to what the whole histogram has
    /// seen.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut out = Self::default();
        let mut former = earlier.counts.iter().copied().peekable();
        for &(bucket, count) in &self.counts {
            while former.next_if(|(at, _)| *at < bucket).is_some() {}
            let added = count.saturating_sub(
                former
                    .next_if(|(at, _)| *at == bucket)
                    .map_or(0, |(_, n)| n),
            );
            if added > 0 {
                let (low, width) = bucket_edges(bucket);
                out.counts.push((bucket, added));
                out.count += added;
                out.min = out.min.min(low.max(self.min));
                out.max = out.max.max((low + (width - 1)).min(self.max));
            }
        }
        out.sum = self.sum.saturating_sub(earlier.sum);
        out
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Exact sum of all values, in nanoseconds.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Exact smallest value, `None` when empty.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Exact largest value, `None` when empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Exact arithmetic mean in nanoseconds, `None` when empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Standard deviation in nanoseconds from bucket midpoints, `None` when empty.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        let square_sum: f64 = self
            .buckets()
            .map(|(low, width, count)| {
                (low as f64 + (width - 1) as f64 / 2.0 - mean).powi(2) * count as f64
            })
            .sum();
        Some((square_sum / self.count as f64).sqrt())
    }

    /// The value below or at which the share `q` (0 to 1) of all values lies, in nanoseconds:
    /// linear inside the bucket, never outside [min, max]. `None` when empty.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = q.clamp(0.0, 1.0) * self.count as f64;
        let mut before = 0.0;
        for (low, width, count) in self.buckets() {
            let inside = count as f64;
            if before + inside >= rank {
                let position = ((rank - before) / inside).clamp(0.0, 1.0);
                let value = low as f64 + (width - 1) as f64 * position;
                return Some(value.clamp(self.min as f64, self.max as f64));
            }
            before += inside;
        }
        Some(self.max as f64)
    }

    /// The non-empty buckets in order: lowest value, number of values it covers, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().map(|&(bucket, count)| {
            let (low, width) = bucket_edges(bucket);
            (low, width, count)
        })
    }
}

/// Latencies, every one of them in a bucket, so that histograms can be added without a loss.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Histogram")]
struct Stored {
    /// `ns`.
    unit: String,
    /// `log-linear/7`: bucket B below 256 holds the value B; any other begins at
    /// (128 + B mod 128) · 2^g and is 2^g wide, where g is B / 128, rounded down, less 1.
    layout: String,
    count: u64,
    sum: u128,
    min: Option<u64>,
    max: Option<u64>,
    /// Number of a bucket and how many values it holds; buckets that hold none are left out.
    buckets: Vec<(usize, u64)>,
}

const MOST_VALUES: u64 = Histogram::MOST_VALUES;

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored {
            unit: "ns".into(),
            layout: LAYOUT.into(),
            count: self.count,
            sum: self.sum,
            min: self.min(),
            max: self.max(),
            buckets: self.counts.clone(),
        }
        .serialize(serializer)
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Stored::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Stored::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(deserializer)?;
        if stored.layout != LAYOUT || stored.unit != "ns" {
            return Err(D::Error::custom(format!(
                "histogram layout {:?} in {:?}, expected {LAYOUT} in ns",
                stored.layout, stored.unit
            )));
        }
        let mut total = 0_u64;
        let mut ascends = true;
        let mut last = None;
        for &(bucket, count) in &stored.buckets {
            if bucket >= BUCKETS {
                return Err(D::Error::custom(format!(
                    "histogram bucket {bucket} is beyond the last, {}",
                    BUCKETS - 1
                )));
            }
            total = total
                .checked_add(count)
                .filter(|n| *n <= MOST_VALUES)
                .ok_or_else(|| D::Error::custom("histogram counts overflow"))?;
            ascends &= count > 0 && last < Some(bucket);
            last = Some(bucket);
        }
        let mut out = Self::default();
        // As it was written, unless somebody else wrote it.
        match ascends {
            true => out.counts = stored.buckets,
            false => {
                let held = stored.buckets.into_iter().filter(|(_, count)| *count > 0);
                held.for_each(|(bucket, count)| out.add(bucket, count));
            }
        }
        if total != stored.count {
            return Err(D::Error::custom(format!(
                "histogram buckets hold {total} values, its count says {}",
                stored.count
            )));
        }
        if stored.sum > u128::from(MOST_VALUES) << u64::BITS {
            return Err(D::Error::custom("histogram sum overflows"));
        }
        if total == 0 {
            return Ok(Self {
                sum: stored.sum,
                ..Self::default()
            });
        }
        (out.count, out.sum) = (stored.count, stored.sum);
        let (Some(min), Some(max)) = (stored.min, stored.max) else {
            return Err(D::Error::custom("histogram has values but no min and max"));
        };
        (out.min, out.max) = (min, max);
        out.settle_extremes();
        if (out.min, out.max) != (min, max) {
            return Err(D::Error::custom(format!(
                "histogram min {min} and max {max} lie outside its buckets"
            )));
        }
        Ok(out)
    }
}

/// A histogram that one thread writes and others may read while it is written: no lock, no
/// read-modify-write instruction.
#[derive(Debug)]
pub struct LiveHistogram {
    cells: Box<[AtomicU64]>,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

impl Default for LiveHistogram {
    fn default() -> Self {
        Self {
            cells: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        }
    }
}

impl LiveHistogram {
    /// Adds one value in nanoseconds; only ever called by the one writing thread.
    #[inline]
    pub fn record(&self, value: u64) {
        let cell = &self.cells[bucket_of(value)];
        cell.store(cell.load(Relaxed) + 1, Relaxed);
        self.sum
            .store(self.sum.load(Relaxed).wrapping_add(value), Relaxed);
        if value < self.min.load(Relaxed) {
            self.min.store(value, Relaxed);
        }
        if value > self.max.load(Relaxed) {
            self.max.store(value, Relaxed);
        }
    }

    /// The state as of this moment; counts of a snapshot never exceed those of a later one.
    #[must_use]
    pub fn snapshot(&self) -> Histogram {
        let mut out = Histogram::default();
        out.counts = self
            .cells
            .iter()
            .map(|cell| cell.load(Relaxed))
            .enumerate()
            .filter(|(_, n)| *n > 0)
            .collect();
        out.count = out.counts.iter().map(|(_, n)| n).sum();
        if out.count > 0 {
            out.sum = u128::from(self.sum.load(Relaxed));
            out.min = self.min.load(Relaxed);
            out.max = self.max.load(Relaxed);
            // A value that is being recorded may be counted already and not yet be the minimum or
            // maximum.
            out.settle_extremes();
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut out = Histogram::default();
        for &value in values {
            out.record(value);
        }
        out
    }

    #[test]
    fn buckets_tile_the_whole_range_without_gap_or_overlap() {
        let mut next = 0_u64;
        for bucket in 0..BUCKETS {
            let (low, width) = bucket_edges(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            assert_eq!(bucket_of(low), bucket);
            assert_eq!(bucket_of(low + (width - 1)), bucket);
            next = low.wrapping_add(width);
        }
        assert_eq!(next, 0, "the last bucket ends at u64::MAX");
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        let empty = Histogram::default();
        assert_eq!(
            (empty.quantile(0.5), empty.mean(), empty.min()),
            (None, None, None)
        );
    }

    #[test]
    fn a_foreign_layout_is_refused() {
        let text = serde_json::to_string(&of(&[1, 2]))
            .unwrap()
            .replace("log-linear/7", "log-linear/9");
        assert!(
            serde_json::from_str::<Histogram>(&text)
                .unwrap_err()
                .to_string()
                .contains("log-linear/9")
        );
    }

    #[test]
    fn a_stored_histogram_that_contradicts_itself_is_refused() {
        let text = serde_json::to_string(&of(&[100, 5000])).unwrap();
        for (from, to, reason) in [
            ("\"min\":100", "\"min\":6000", "outside its buckets"),
            ("\"max\":5000", "\"max\":99", "outside its buckets"),
            ("\"max\":5000", "\"max\":null", "no min and max"),
            ("\"count\":2", "\"count\":3", "its count says 3"),
            (
                "\"sum\":5100",
                "\"sum\":340282366920938463463374607431768211455",
                "overflows",
            ),
            ("[[100,1]", "[[100,18446744073709551615]", "overflow"),
        ] {
            assert!(text.contains(from), "{text}");
            let error = serde_json::from_str::<Histogram>(&text.replace(from, to))
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{from} as {to}: {error}");
        }
    }

    #[test]
    fn a_snapshot_taken_amid_a_recording_has_its_extremes_in_order() {
        let live = LiveHistogram::default();
        live.cells[bucket_of(5000)].store(1, Relaxed);
        let first = live.snapshot();
        assert_eq!(
            [first.min(), first.max()].map(|value| value.map(bucket_of)),
            [Some(bucket_of(5000)); 2]
        );
        assert!(first.min() <= first.max() && first.quantile(0.5).is_some());
        live.record(5000);
        live.cells[bucket_of(90_000)].store(1, Relaxed);
        let added = live.snapshot().since(&first);
        assert_eq!(
            [added.min(), added.max()].map(|value| value.map(bucket_of)),
            [Some(bucket_of(5000)), Some(bucket_of(90_000))]
        );
        assert!(added.quantile(1.0).is_some());
    }

    proptest! {
        #[test]
        fn quantiles_stay_within_bucket_error_and_within_min_and_max(mut values in prop::collection::vec(0_u64..10_000_000_000, 1..300), q in 0.0..=1.0_f64) {
            let histogram = of(&values);
            values.sort_unstable();
            let got = histogram.quantile(q).unwrap();
            prop_assert!(got >= values[0] as f64 && got <= values[values.len() - 1] as f64);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank within the sample")]
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
            let truth = values[rank] as f64;
            prop_assert!((got - truth).abs() <= truth / 128.0 + 1.0, "q {} got {} truth {}", q, got, truth);
        }

        #[test]
        fn merge_is_associative_and_commutative_with_an_identity(a in prop::collection::vec(any::<u32>(), 0..50), b in prop::collection::vec(any::<u32>(), 0..50), c in prop::collection::vec(any::<u32>(), 0..50)) {
            let [a, b, c] = [a, b, c].map(|v| of(&v.into_iter().map(u64::from).collect::<Vec<_>>()));
            let sum = |x: &Histogram, y: &Histogram| { let mut out = x.clone(); out.merge(y); out };
            prop_assert_eq!(sum(&sum(&a, &b), &c), sum(&a, &sum(&b, &c)));
            prop_assert_eq!(sum(&a, &b), sum(&b, &a));
            prop_assert_eq!(sum(&a, &Histogram::default()), a);
        }

        #[test]
        fn what_hosts_measured_merges_to_the_histogram_of_all_values(parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..50), 0..6)) {
            let mut merged = Histogram::default();
            parts.iter().for_each(|part| merged.merge(&of(part)));
            prop_assert_eq!(merged, of(&parts.concat()));
        }

        #[test]
        fn storing_loses_nothing(values in prop::collection::vec(any::<u64>(), 0..100)) {
            let histogram = of(&values);
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        }

        #[test]
        fn a_live_histogram_reads_like_a_finished_one(values in prop::collection::vec(0_u64..1 << 50, 0..100), cut in 0_usize..100) {
            let live = LiveHistogram::default();
            let cut = cut.min(values.len());
            values[..cut].iter().for_each(|v| live.record(*v));
            let first = live.snapshot();
            values[cut..].iter().for_each(|v| live.record(*v));
            prop_assert_eq!(&live.snapshot(), &of(&values));
            let later = live.snapshot().since(&first);
            prop_assert_eq!(later.count(), (values.len() - cut) as u64);
            prop_assert_eq!(later.sum(), values[cut..].iter().map(|v| u128::from(*v)).sum::<u128>());
        }
    }
}
