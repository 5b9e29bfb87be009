//! One latency object of fio: moments, percentiles and, in `json+`, the bins.

use crate::bins::{Bins, percentile_key};
use crate::error::Fault;
use crate::node::Node;
use record::Summary;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Latency {
    present: bool,
    /// Whether it is in whole microseconds, where 0 stands for anything below one.
    coarse: bool,
    min_ns: Option<f64>,
    max_ns: Option<f64>,
    mean_ns: Option<f64>,
    stddev_ns: Option<f64>,
    /// Unknown in versions without `N`.
    samples: Option<u64>,
    percentiles_ns: BTreeMap<String, f64>,
    bins: Option<Bins>,
}

impl Latency {
    /// Reads `{name}_ns`, or `name` in microseconds of versions before it, without its bins.
    pub(super) fn read(parent: &Node<'_>, name: &str) -> Result<Self, Fault> {
        Self::parse(parent, name).map(|(latency, _)| latency)
    }

    /// Reads also the bins.
    pub(super) fn read_with_bins(parent: &Node<'_>, name: &str) -> Result<Self, Fault> {
        let (mut latency, place) = Self::parse(parent, name)?;
        if let Some((node, unit_ns)) = place
            && let Some(node) = node.get("bins").filter(Node::is_object)
        {
            latency.bins = Some(bins(&node, unit_ns)?).filter(|bins| bins.count() > 0);
        }
        Ok(latency)
    }

    fn parse<'a>(parent: &Node<'a>, name: &str) -> Result<(Self, Option<(Node<'a>, u32)>), Fault> {
        let (node, unit_ns) = match parent.get(&format!("{name}_ns")) {
            Some(node) => (node, 1_u32),
            None => match parent.get(name) {
                Some(node) => (node, 1000),
                None => return Ok((Self::default(), None)),
            },
        };
        let coarse = unit_ns > 1;
        let known = |value: f64| (!coarse || value > 0.0).then_some(value * f64::from(unit_ns));
        let number = |key| Ok(node.opt_number(key)?.and_then(known));
        let samples = node.opt_count("N")?;
        let mut latency = Self {
            coarse,
            min_ns: number("min")?,
            max_ns: number("max")?,
            mean_ns: number("mean")?,
            stddev_ns: number("stddev")?,
            samples,
            ..Self::default()
        };
        // fio prints zeros where there is no sample.
        latency.present = samples.map_or(latency.max_ns.is_some(), |samples| samples > 0);
        if let Some(percentiles) = node.get("percentile") {
            for (key, value) in percentiles.members()? {
                let percent = percentile_key(key)
                    .ok_or_else(|| value.fault("not named after a percentage"))?;
                // Old versions fill the list up with 0.00.
                if let Some(ns) = known(value.number()?).filter(|ns| percent != "0" || *ns > 0.0) {
                    latency.percentiles_ns.insert(percent, ns);
                }
            }
        }
        Ok((latency, Some((node, unit_ns))))
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.present
    }

    /// Whether it is of anything: fio prints zeros of what it did not do.
    pub(super) fn has_samples(&self) -> bool {
        self.bins.is_some()
            || self
                .samples
                .map_or(self.max_ns.is_some_and(|ns| ns > 0.0), |samples| {
                    samples > 0
                })
    }

    pub(super) fn is_coarse(&self) -> bool {
        self.present && self.coarse
    }

    pub(super) fn has_distribution(&self) -> bool {
        self.bins.is_some() || !self.percentiles_ns.is_empty()
    }

    pub(super) fn has_bins(&self) -> bool {
        self.bins.is_some()
    }

    pub(super) fn take_bins(&mut self) -> Option<Bins> {
        self.bins.take()
    }

    /// Enters moments and percentiles.
    pub(super) fn describe(&self, summary: &mut Summary) {
        if self.is_empty() {
            return;
        }
        summary.samples = self.samples;
        summary.min_ns = self.min_ns;
        summary.max_ns = self.max_ns;
        summary.mean_ns = self.mean_ns;
        summary.stddev_ns = self.stddev_ns;
        summary.percentiles_ns.clone_from(&self.percentiles_ns);
    }

    /// Enters percentiles alone, where moments of the whole latency stand already.
    pub(super) fn describe_percentiles(&self, summary: &mut Summary) {
        summary.percentiles_ns.clone_from(&self.percentiles_ns);
    }

    /// Adds the latencies of a clone; percentiles and deviations of parts say nothing of the whole.
    pub(super) fn merge(&mut self, other: Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other;
            return;
        }
        let both = self
            .samples
            .zip(other.samples)
            .map(|(mine, theirs)| (mine as f64, theirs as f64));
        self.mean_ns = both
            .zip(self.mean_ns.zip(other.mean_ns))
            .map(|((n, m), (a, b))| (a * n + b * m) / (n + m));
        self.min_ns = self.min_ns.zip(other.min_ns).map(|(a, b)| a.min(b));
        self.max_ns = self.max_ns.zip(other.max_ns).map(|(a, b)| a.max(b));
        self.samples = self
            .samples
            .zip(other.samples)
            .map(|(a, b)| a.saturating_add(b));
        self.stddev_ns = None;
        self.percentiles_ns.clear();
        self.bins = match (self.bins.take(), other.bins) {
            (Some(mine), Some(theirs)) => mine.merged(&theirs),
            _ => None,
        };
    }
}

/// `{"nanoseconds": count}`; the key is the middle of fio's bucket, which is at most 1/64 of its
/// value wide. Up to fio 2.19 (commit 129e4193) the key is the number of the bucket, and the layout
/// stands beside the counts.
fn bins(node: &Node<'_>, unit_ns: u32) -> Result<Bins, Fault> {
    const LAYOUT: &str = "FIO_IO_U_PLAT_";
    let bits = match node.get("FIO_IO_U_PLAT_BITS") {
        Some(bits) => Some(
            u32::try_from(bits.count()?)
                .ok()
                .filter(|bits| *bits < 32)
                .ok_or_else(|| bits.fault("beyond any layout"))?,
        ),
        None => None,
    };
    let mut out = Bins::default();
    for (key, value) in node.members()?.filter(|(key, _)| !key.starts_with(LAYOUT)) {
        let number = key.parse::<u64>().ok();
        let middle = bits.map_or(number, |bits| {
            number.and_then(|index| middle_of(index, bits))
        });
        let ns = middle.and_then(|middle| middle.checked_mul(u64::from(unit_ns)));
        let ns = ns.ok_or_else(|| value.fault("not named after a latency"))?;
        if !out.add(ns, value.count()?) {
            return Err(value.fault("the counts add up to more than 64 bits hold"));
        }
    }
    Ok(out)
}

/// The middle of bucket `index` where each power of two has `2^bits` buckets and values below twice
/// that many are exact.
fn middle_of(index: u64, bits: u32) -> Option<u64> {
    let buckets = 1_u64 << bits;
    if index < buckets * 2 {
        return Some(index);
    }
    let shift = u32::try_from((index >> bits) - 1)
        .ok()
        .filter(|shift| *shift < 63 && shift + bits < 63)?;
    let low = (buckets + (index & (buckets - 1))) << shift;
    Some(low + (1 << shift) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_the_middle_that_fio_prints() {
        // Bucket numbers and 99th and 99.5th percentile of one output of fio 2.19.
        for (index, middle) in [
            (63, Some(63)),
            (127, Some(127)),
            (128, Some(129)),
            (204, Some(306)),
            (457, Some(4704)),
            (u64::MAX, None),
        ] {
            assert_eq!(middle_of(index, 6), middle, "{index}");
        }
    }
}
