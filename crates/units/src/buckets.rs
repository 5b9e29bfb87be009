//! The layout of latency histograms: log-linear, 128 buckets an octave, exact below 256 ns.
//!
//! A bucket is at most 1/128 of its lower edge wide, so a bucket's midpoint is within 1/256 (0.4 %)
//! of every value in it. The layout is HdrHistogram's idea (G. Tene) with a fixed precision; any
//! `u64` of nanoseconds has a bucket. It stands here because records, and servers that say what
//! they saw, must mean the same by a bucket's number.

const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// What stored histograms call this layout.
pub const LAYOUT: &str = "log-linear/7";
/// Buckets of every histogram.
pub const BUCKETS: usize = SUB * (64 - SUB_BITS as usize + 1);

/// The bucket that holds `value`.
#[inline]
#[must_use]
pub fn bucket_of(value: u64) -> usize {
    let top = 63 - (value | SUB as u64).leading_zeros();
    let shift = top - SUB_BITS;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the shifted value is below 2 * SUB"
    )]
    let sub = (value >> shift) as usize;
    ((shift as usize) << SUB_BITS) + sub
}

/// Lowest value of a bucket, and the number of values in it.
#[must_use]
pub fn bucket_edges(bucket: usize) -> (u64, u64) {
    let group = bucket >> SUB_BITS;
    if group < 2 {
        return (bucket as u64, 1);
    }
    let shift = group - 1;
    (((SUB + (bucket & (SUB - 1))) as u64) << shift, 1 << shift)
}
