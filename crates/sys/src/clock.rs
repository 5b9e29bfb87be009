//! The only clocks of Fathom: the machine's, and a virtual one for the `sim` engine.
//!
//! The machine clock reads the time stamp counter where the kernel says it is constant and never
//! stops, because a reading costs half of `clock_gettime`; it is calibrated against
//! `CLOCK_MONOTONIC` and checked against it again when a run ends.

use crate::process;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// A source of nanoseconds since an arbitrary start.
pub trait Clock: Clone {
    fn now(&self) -> u64;
    /// A reading right after a system call, whose return orders it behind what the call did;
    /// cheaper where fences cost.
    #[inline]
    fn now_after_call(&self) -> u64 {
        self.now()
    }
    /// Gives the CPU away until `deadline`; the machine may wake up later, and a signal ends it
    /// earlier.
    fn sleep_until(&self, deadline: u64);
    /// Whether time passes by itself.
    fn is_virtual(&self) -> bool {
        false
    }
}

/// A clock and one of the kernel's at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedReading {
    pub kernel_ns: u64,
    /// The clock's reading minus the kernel's.
    pub ahead_ns: i64,
    /// By how much that may be wrong.
    pub wrong_ns: u64,
}

/// How a machine clock reads time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineClock {
    scale: Option<TscScale>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct TscScale {
    base_tsc: u64,
    base_ns: u64,
    /// Nanoseconds a tick in 32.32 fixed point.
    ns_per_tick_q32: u64,
}

impl MachineClock {
    /// `CLOCK_MONOTONIC` alone.
    #[must_use]
    pub fn monotonic() -> Self {
        Self { scale: None }
    }

    /// The time stamp counter, calibrated for `window` (a few milliseconds bound the rate error to
    /// tens of ppm), or `CLOCK_MONOTONIC` where `invariant_tsc` is false or the architecture
    /// has none.
    #[must_use]
    pub fn calibrated(invariant_tsc: bool, window: Duration) -> Self {
        if !invariant_tsc || !cfg!(target_arch = "x86_64") {
            return Self::monotonic();
        }
        const AWAKE_NS: u64 = 1_000_000;
        let (tsc0, ns0) = paired_reading();
        let end = ns0 + u64::try_from(window.as_nanos()).unwrap_or(u64::MAX >> 1);
        // Asleep at first, for many processes of one machine may calibrate at once; then awake, so that
        // the CPU is as fast as it is at work.
        while let left @ AWAKE_NS.. = end.saturating_sub(process::monotonic_ns()) {
            process::sleep_ns(left - AWAKE_NS + 1);
        }
        while process::monotonic_ns() < end {
            std::hint::spin_loop();
        }
        let (tsc1, ns1) = paired_reading();
        let ticks = tsc1.saturating_sub(tsc0);
        if ticks == 0 {
            return Self::monotonic();
        }
        let q32 = (u128::from(ns1 - ns0) << 32) / u128::from(ticks);
        Self {
            scale: u64::try_from(q32).ok().map(|ns_per_tick_q32| TscScale {
                base_tsc: tsc1,
                base_ns: ns1,
                ns_per_tick_q32,
            }),
        }
    }

    /// When this clock will show the moment at which the clock of the day shows `moment`; in the
    /// past as well, as far as this clock reaches back.
    #[must_use]
    pub fn at(&self, moment: SystemTime) -> u64 {
        let before = self.now();
        let wall = wall_time();
        let now = before + (self.now() - before) / 2;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        match moment.duration_since(wall) {
            Ok(ahead) => now.saturating_add(ns(ahead)),
            Err(past) => now.saturating_sub(ns(past.duration())),
        }
    }

    /// Comes back a millisecond before `deadline`, on a CPU: awake for as long before as a scheduler may
    /// need to move a thread to a CPU that is idle, and giving way meanwhile to whoever else wants this one.
    pub fn come_near(&self, deadline: u64) {
        const NEAR_NS: u64 = 1_000_000;
        const AWAKE_NS: u64 = 20_000_000;
        while self.now().saturating_add(AWAKE_NS) < deadline {
            self.sleep_until(deadline - AWAKE_NS);
        }
        while self.now().saturating_add(NEAR_NS) < deadline {
            std::thread::yield_now();
        }
    }

    /// Comes back at `deadline`, as exactly as the CPU allows: sleeps to shortly before, for sleeps
    /// end late, and then looks at the clock until it is time.
    pub fn arrive_at(&self, deadline: u64) {
        self.come_near(deadline);
        while self.now() < deadline {
            std::hint::spin_loop();
        }
    }

    /// Name of the source in records.
    #[must_use]
    pub fn source(&self) -> &'static str {
        if self.scale.is_some() {
            "tsc"
        } else {
            "clock_monotonic"
        }
    }

    /// This clock's reading minus `CLOCK_MONOTONIC`'s at the same moment, in nanoseconds: the drift
    /// since calibration.
    #[must_use]
    pub fn drift_ns(&self) -> i64 {
        self.beside(process::monotonic_ns).ahead_ns
    }

    /// This clock beside `CLOCK_MONOTONIC_RAW`, which nobody sets or hurries.
    #[must_use]
    pub fn beside_kernel(&self) -> PairedReading {
        self.beside(process::monotonic_raw_ns)
    }

    fn beside(&self, kernel: impl Fn() -> u64) -> PairedReading {
        let (own, kernel_ns, width) = tightest_pair(|| self.now(), kernel);
        let ahead_ns = i64::try_from(i128::from(own) - i128::from(kernel_ns));
        PairedReading {
            kernel_ns,
            ahead_ns: ahead_ns.unwrap_or(i64::MAX),
            wrong_ns: width.div_ceil(2),
        }
    }
}

impl Clock for MachineClock {
    #[inline]
    fn now(&self) -> u64 {
        self.scale
            .map_or_else(process::monotonic_ns, |scale| scale.ns(ordered_tsc()))
    }

    #[inline]
    fn now_after_call(&self) -> u64 {
        self.scale
            .map_or_else(process::monotonic_ns, |scale| scale.ns(unordered_tsc()))
    }

    fn sleep_until(&self, deadline: u64) {
        let now = self.now();
        if deadline > now {
            process::sleep_ns(deadline - now);
        }
    }
}

impl TscScale {
    #[inline]
    fn ns(self, tsc: u64) -> u64 {
        let ticks = tsc.wrapping_sub(self.base_tsc);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "584 years of nanoseconds fit"
        )]
        let ns = ((u128::from(ticks) * u128::from(self.ns_per_tick_q32)) >> 32) as u64;
        self.base_ns + ns
    }
}

/// The counter and `CLOCK_MONOTONIC` at nearly the same moment.
fn paired_reading() -> (u64, u64) {
    let (tsc, ns, _) = tightest_pair(ordered_tsc, process::monotonic_ns);
    (tsc, ns)
}

/// Two clocks at nearly the same moment, and within how much of the first: the tightest of several
/// tries.
fn tightest_pair(own: impl Fn() -> u64, kernel: impl Fn() -> u64) -> (u64, u64, u64) {
    let mut best = (0, 0, u64::MAX);
    for _ in 0..16 {
        let before = own();
        let ns = kernel();
        let width = own() - before;
        if width < best.2 {
            best = (before + width / 2, ns, width);
        }
    }
    best
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ordered_tsc() -> u64 {
    // SAFETY: both instructions exist on every x86-64 CPU; the fence keeps the reading after all
    // earlier loads, so that a copy from a mapping is over when its end is stamped.
    unsafe {
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn unordered_tsc() -> u64 {
    // SAFETY: the instruction exists on every x86-64 CPU.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn unordered_tsc() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn ordered_tsc() -> u64 {
    0
}

/// Seconds and nanoseconds since 1970, for stamping records; never for measuring.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "this module owns the wall clock")]
pub fn wall_time() -> SystemTime {
    SystemTime::now()
}

/// The reading of the clock that stamps files; it stands still between the ticks of the kernel, so
/// that no file that is changed from now on gets an earlier time.
#[must_use]
pub fn file_time() -> SystemTime {
    SystemTime::UNIX_EPOCH + process::file_clock()
}

/// Waits until whatever is written from now on gets a later time than `modified`: kernels before
/// 6.13 give all writes within one tick (1 to 10 ms) the same time. Returns whether it did; a time
/// beyond the next ticks, of another machine's clock, is not waited for.
pub fn outwait_file_time(modified: SystemTime) -> bool {
    let modified = modified
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    // One tick ends the present moment; the others are for sleeps that a signal ended early.
    for _ in 0..4 {
        if process::file_clock() > modified {
            return true;
        }
        process::sleep_ns(
            u64::try_from(process::file_clock_tick().as_nanos())
                .unwrap_or(0)
                .min(10_000_000),
        );
    }
    process::file_clock() > modified
}

/// Time that passes only when somebody advances it; shared by a worker and its `sim` engine.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Rc<Cell<u64>>);

impl VirtualClock {
    /// Moves to `to` unless the clock is already later.
    pub fn advance_to(&self, to: u64) {
        self.0.set(self.0.get().max(to));
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> u64 {
        self.0.get()
    }

    fn sleep_until(&self, deadline: u64) {
        self.advance_to(deadline);
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tsc_clock_agrees_with_the_monotonic_clock_and_never_runs_backwards() {
        let clock = MachineClock::calibrated(true, Duration::from_millis(5));
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(
            clock.drift_ns().unsigned_abs() < 10_000_000,
            "drift {} ns",
            clock.drift_ns()
        );
    }

    #[test]
    fn after_the_wait_the_clock_of_files_has_passed_the_time_that_was_given() {
        for _ in 0..3 {
            let present = SystemTime::UNIX_EPOCH + process::file_clock();
            assert!(outwait_file_time(present));
            assert!(SystemTime::UNIX_EPOCH + process::file_clock() > present);
        }
        assert!(
            outwait_file_time(SystemTime::UNIX_EPOCH),
            "the past needs no waiting"
        );
        assert!(
            !outwait_file_time(wall_time() + Duration::from_secs(3600)),
            "the future is not waited for"
        );
    }

    #[test]
    fn a_moment_of_the_day_is_found_on_this_clock_and_nobody_arrives_before_it() {
        let clock = MachineClock::monotonic();
        let ahead = clock.at(wall_time() + Duration::from_millis(5));
        assert!(ahead > clock.now());
        clock.arrive_at(ahead);
        assert!(clock.now() >= ahead);
        clock.arrive_at(0);
        let past = clock.at(wall_time() - Duration::from_millis(5));
        assert!(past < clock.now());
        assert_eq!(clock.at(SystemTime::UNIX_EPOCH), 0, "long before it began");
    }

    #[test]
    fn the_kernel_bounds_the_error_of_the_clock_of_the_day() {
        let state = process::wall_clock_state().unwrap();
        assert!(!state.is_synchronised || state.most_error_ns < 60_000_000_000);
    }

    #[test]
    fn virtual_time_moves_only_forward_and_for_every_holder() {
        let clock = VirtualClock::default();
        let other = clock.clone();
        clock.advance_to(50);
        other.advance_to(20);
        assert_eq!((clock.now(), other.now()), (50, 50));
        other.sleep_until(70);
        assert_eq!(clock.now(), 70);
    }
}
