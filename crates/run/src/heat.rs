//! Operations by place, counted: a bit a block for coverage, a counter a bucket for heat.

use record::Coverage;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One bit a block, set by any worker.
#[derive(Debug)]
pub(crate) struct Bitmap(Vec<AtomicU64>);

impl Bitmap {
    #[must_use]
    pub(crate) fn new(blocks: u64) -> Self {
        Self(
            (0..blocks.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        )
    }

    #[inline]
    pub(crate) fn set(&self, block: u64) {
        let word = &self.0[units::lossless::to_usize(block / 64)];
        let bit = 1 << (block % 64);
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    #[inline]
    #[must_use]
    pub(crate) fn is_set(&self, block: u64) -> bool {
        self.0[units::lossless::to_usize(block / 64)].load(Relaxed) & (1 << (block % 64)) != 0
    }

    /// Blocks that are set.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        self.0
            .iter()
            .map(|word| u64::from(word.load(Relaxed).count_ones()))
            .sum()
    }
}

/// Where operations went, over all workers.
#[derive(Debug)]
pub(crate) struct Heat {
    blocks: u64,
    block_bytes: u64,
    touched: Bitmap,
    buckets: Vec<AtomicU64>,
}

impl Heat {
    #[must_use]
    pub(crate) fn new(blocks: u64, block_bytes: u64, buckets: u32) -> Self {
        let buckets = u64::from(buckets).min(blocks.max(1));
        Self {
            blocks,
            block_bytes,
            touched: Bitmap::new(blocks),
            buckets: (0..buckets).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// One use of each of `units` blocks from `block` on.
    pub(crate) fn used(&self, block: u64, units: u64) {
        for block in block..(block + units).min(self.blocks) {
            self.touched.set(block);
            let bucket =
                u128::from(block) * self.buckets.len() as u128 / u128::from(self.blocks.max(1));
            self.buckets[usize::try_from(bucket).unwrap_or(0)].fetch_add(1, Relaxed);
        }
    }

    /// The counts so far. The hottest fifth is that of the buckets, rounded up to whole buckets.
    #[must_use]
    pub(crate) fn coverage(&self) -> Coverage {
        let buckets: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| bucket.load(Relaxed))
            .collect();
        let uses: u64 = buckets.iter().sum();
        let mut sorted = buckets.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let hottest: u64 = sorted.iter().take(sorted.len().div_ceil(5)).sum();
        let share = if uses == 0 {
            0.0
        } else {
            hottest as f64 / uses as f64
        };
        Coverage {
            block_bytes: self.block_bytes,
            blocks: self.blocks,
            touched: self.touched.count(),
            uses,
            hottest_fifth_share: share,
            buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_rewrites_and_the_hottest_fifth_are_counted() {
        let heat = Heat::new(100, 4096, 10);
        for _ in 0..9 {
            heat.used(3, 1);
        }
        heat.used(50, 2);
        let coverage = heat.coverage();
        assert_eq!((coverage.uses, coverage.touched), (11, 3));
        assert_eq!(coverage.buckets, [9, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
        assert!((coverage.hottest_fifth_share - 1.0).abs() < 1e-12);
    }
}
