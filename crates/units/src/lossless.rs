//! Conversions between number types that lose nothing, or say in their name how they do.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("Fathom maps files and counts bytes in usize: it is built for 64-bit targets only");

/// A size in memory as a `u64`; the two are equally wide on every supported target.
pub const fn to_u64(n: usize) -> u64 {
    n as u64
}

/// A `u64` as a size in memory; the two are equally wide on every supported target, others are
/// refused at compile time.
#[allow(
    clippy::cast_possible_truncation,
    reason = "usize has 64 bits wherever this compiles"
)]
pub const fn to_usize(n: u64) -> usize {
    n as usize
}

/// The whole part of `x`; 0 for what is negative or not a number, `u64::MAX` for what is too large.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturation is the purpose"
)]
pub const fn f64_to_u64_saturating(x: f64) -> u64 {
    x as u64
}

/// The nearest floating point number: exact up to 2^53, else within one part in 2^53.
pub const fn u64_to_f64(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_memory_round_trip_at_the_limits() {
        for n in [0, 1, u64::from(u32::MAX) + 1, u64::MAX] {
            assert_eq!(to_u64(to_usize(n)), n);
        }
    }

    #[test]
    fn floating_point_saturates_and_loses_its_fraction() {
        let table = [
            (0.0, 0),
            (1.9, 1),
            (-1.0, 0),
            (f64::NAN, 0),
            (f64::INFINITY, u64::MAX),
            (f64::NEG_INFINITY, 0),
            (1e30, u64::MAX),
        ];
        for (x, n) in table {
            assert_eq!(f64_to_u64_saturating(x), n, "{x}");
        }
    }

    #[test]
    fn whole_numbers_are_exact_up_to_two_to_the_53() {
        let limit = 1u64 << 53;
        for n in [0, 1, limit - 1, limit] {
            assert_eq!(f64_to_u64_saturating(u64_to_f64(n)), n);
        }
        assert_eq!(u64_to_f64(limit + 1), u64_to_f64(limit));
    }
}
