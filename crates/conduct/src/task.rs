//! What an arm does right before its slot, so that the slot inherits from its own arm and from no
//! other: what every measured time finds is then what that arm itself leaves behind.

use units::Nanos;
use workload::Workload;

/// Far from the seeds of the blocks: a lead-in must not bring into the cache just what its slot
/// will ask for.
const SEEDS_AWAY: u64 = 1 << 40;

/// Longest lead-in that nobody asked for: caches and queues turn over within seconds.
const USUAL_MOST_NS: u64 = 10_000_000_000;

/// The lead-in of slots of this time where several arms are compared: half a slot, no more than
/// 10 s.
#[must_use]
pub fn usual_lead_in_ns(slot_ns: u64) -> u64 {
    (slot_ns / 2).clamp(1, USUAL_MOST_NS)
}

/// The lead-in of a slot: its own work, for no longer than `longest_ns` and than the slot itself.
/// Work that has no time is done once whole. `None` if `longest_ns` is 0.
pub(crate) fn of(slot: &Workload, longest_ns: u64) -> Option<Workload> {
    if longest_ns == 0 {
        return None;
    }
    let mut out = slot.clone();
    if let (false, Some(Nanos(measured))) = (slot.runs_to_completion(), slot.stop.duration) {
        let whole = measured.saturating_add(slot.stop.warmup.0);
        out.stop.duration = Some(Nanos(longest_ns.min(whole)));
        out.stop.warmup = Nanos(0);
    }
    if !out.verify.on {
        out.seed = out.seed.wrapping_add(SEEDS_AWAY);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::settings;

    fn workload(options: &[(&str, &str)]) -> Workload {
        let mut out = Workload::default();
        for (key, value) in options {
            settings::apply(&mut out, key, value).unwrap();
        }
        out
    }

    #[test]
    fn a_lead_in_is_the_work_of_its_own_slot_and_no_longer() {
        let slot = workload(&[("duration", "10s"), ("warmup", "2s"), ("random", "true")]);
        let times = |longest: u64| of(&slot, longest).map(|led| led.stop);
        assert_eq!(times(0), None);
        for (longest, expected) in [(3_000_000_000, 3_000_000_000), (u64::MAX, 12_000_000_000)] {
            let stop = times(longest).unwrap();
            assert_eq!(
                (stop.duration, stop.warmup),
                (Some(Nanos(expected)), Nanos(0))
            );
        }
        let led = of(&slot, 1).unwrap();
        let alike = Workload {
            stop: slot.stop,
            seed: slot.seed,
            ..led.clone()
        };
        assert_eq!(alike, slot);
        assert_ne!(led.seed, slot.seed, "it reads other blocks");
    }

    #[test]
    fn work_without_a_time_is_done_once_whole() {
        let slot = workload(&[("total-bytes", "64K")]);
        assert_eq!(of(&slot, 1).unwrap().stop, slot.stop);
        let complete = workload(&[("duration", "0s")]);
        assert_eq!(of(&complete, 1).unwrap().stop, complete.stop);
    }
}
