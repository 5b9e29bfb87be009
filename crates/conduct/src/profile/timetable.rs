//! How the time of a profile is dealt out: so much to the file, so much to each slot.

use units::lossless::{f64_to_u64_saturating, u64_to_f64};

/// Share of the whole time that making the file may take.
const FILL_SHARE: f64 = 0.12;
/// Share of the time left that slots may plan with; the rest is for what nobody foresees.
const PLANNED_SHARE: f64 = 0.9;
/// Times of a slot. Profiles of different targets can be compared only where their slots are of the
/// same time, hence few and far apart; one shorter than the first measures its own start.
const SLOTS_NS: [u64; 9] = [
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
];
/// From here on a slot has a warm-up. What the kernel counts is read up to 20 ms after a warm-up
/// has ended, which in a shorter slot would be a difference between its counters and ours.
const SLOT_WITH_WARM_UP_NS: u64 = 2_000_000_000;
const WARM_UP_PART: u64 = 10;
/// Part of a slot that the machine may take, after a slot that wrote, to come to rest.
const SETTLE_PART: u64 = 4;
const LEAST_SETTLE_NS: u64 = 50_000_000;
const MOST_SETTLE_NS: u64 = 1_000_000_000;
/// Passes begin until the time is overdrawn by so much: the last passes are those that make an
/// interval.
const OVERDRAFT: f64 = 1.25;

/// The times of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotTimes {
    pub(super) warm_up_ns: u64,
    pub(super) measured_ns: u64,
    /// Longest wait for what the slot before wrote.
    pub(super) settle_ns: u64,
}

/// Time that making the file may take.
pub(super) fn fill_ns(budget_ns: u64) -> u64 {
    f64_to_u64_saturating(u64_to_f64(budget_ns) * FILL_SHARE)
}

/// Deals the time that is left to `passes` of all rows; `around_ns` is what a slot of each row
/// costs besides its own time. `usual_ns` is the slot of an undisturbed machine: kept, for the sake
/// of comparisons, as long as the overdraft covers it.
pub(super) fn slot_times(
    left_ns: u64,
    passes: u32,
    around_ns: &[u64],
    usual_ns: Option<u64>,
) -> SlotTimes {
    let rows = around_ns.len().max(1) as u64;
    let pass_ns =
        f64_to_u64_saturating(u64_to_f64(left_ns) * PLANNED_SHARE) / u64::from(passes.max(1));
    let fitting_ns = pass_ns.saturating_sub(around_ns.iter().sum()) / rows;
    let whole_ns = |slot_ns: u64| {
        u64::from(passes)
            .saturating_mul(around_ns.iter().sum::<u64>() + slot_ns.saturating_mul(rows))
    };
    let fitting = || {
        SLOTS_NS
            .into_iter()
            .rfind(|slot| *slot <= fitting_ns)
            .unwrap_or(SLOTS_NS[0])
    };
    let slot_ns = usual_ns
        .filter(|slot| whole_ns(*slot) <= last_pass_ns(left_ns))
        .unwrap_or_else(fitting);
    let warm_up_ns = if slot_ns < SLOT_WITH_WARM_UP_NS {
        0
    } else {
        slot_ns / WARM_UP_PART
    };
    SlotTimes {
        warm_up_ns,
        measured_ns: slot_ns - warm_up_ns,
        settle_ns: (slot_ns / SETTLE_PART).clamp(LEAST_SETTLE_NS, MOST_SETTLE_NS),
    }
}

/// No pass begins after this time.
pub(super) fn last_pass_ns(left_ns: u64) -> u64 {
    f64_to_u64_saturating(u64_to_f64(left_ns) * OVERDRAFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standard_profile_of_a_slow_disk_has_slots_of_half_a_second_and_more() {
        // 100 MB/s: 0.64 s to bring 64 MiB into the cache, half a second to drain a deep queue at
        // 250 operations a second.
        let around: Vec<u64> = (0..24)
            .map(|row| if row < 6 { 640_000_000 } else { 150_000_000 })
            .collect();
        let times = slot_times(140_000_000_000, 6, &around, None);
        assert!(
            times.measured_ns + times.warm_up_ns >= 500_000_000,
            "{times:?}"
        );
    }

    #[test]
    fn the_slots_and_what_is_around_them_fit_into_the_time_unless_it_is_too_short_for_any() {
        for left in [0, 1_000_000_000, 27_000_000_000, 900_000_000_000] {
            for passes in [1, 6, 20] {
                for around in [&[0][..], &[5_000_000; 24], &[900_000_000, 1, 50_000_000]] {
                    let times = slot_times(left, passes, around, None);
                    let slot = times.measured_ns + times.warm_up_ns;
                    assert!(slot >= SLOTS_NS[0] && times.measured_ns > 0);
                    let whole = u64::from(passes)
                        * (around.iter().sum::<u64>() + slot * around.len() as u64);
                    assert!(
                        slot == SLOTS_NS[0] || whole <= left,
                        "{left} {passes} {around:?}: {times:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_usual_slot_is_kept_while_the_overdraft_covers_it() {
        let slot = |around: u64| {
            slot_times(24_000_000_000, 6, &[around; 9], Some(200_000_000)).measured_ns
        };
        assert_eq!(
            [slot(20_000_000), slot(300_000_000), slot(450_000_000)],
            [200_000_000, 200_000_000, 50_000_000]
        );
    }
}
