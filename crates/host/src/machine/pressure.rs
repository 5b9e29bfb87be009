//! Signs that the machine is short of something.

use super::kernel_files::Reading;
use super::tree;

/// A share of time in which work stalled for want of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Stall {
    /// Percent of the last ten seconds.
    pub avg10: f64,
    /// Stalled time since boot.
    pub total_us: u64,
}

/// The stalls of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Stalls {
    /// At least one task stalled.
    pub some: Option<Stall>,
    /// Every task that was not idle stalled; absent for the CPU before kernel 5.13.
    pub full: Option<Stall>,
}

/// Pressure stall information of the whole machine (Documentation/accounting/psi.rst).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Pressure {
    pub cpu: Option<Stalls>,
    pub io: Option<Stalls>,
    pub memory: Option<Stalls>,
}

impl Pressure {
    /// The files, in the order of [`Reading::take`]'s parts.
    pub(super) const PATHS: [&str; 3] = [
        "/proc/pressure/cpu",
        "/proc/pressure/io",
        "/proc/pressure/memory",
    ];

    /// The stalled time since `earlier`, with the present averages.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let stall = |later: Option<Stall>, earlier: Option<Stall>| {
            let later = later?;
            Some(Stall {
                total_us: later.total_us.checked_sub(earlier?.total_us)?,
                ..later
            })
        };
        let stalls = |later: Option<Stalls>, earlier: Option<Stalls>| {
            let (later, earlier) = (later?, earlier?);
            Some(Stalls {
                some: stall(later.some, earlier.some),
                full: stall(later.full, earlier.full),
            })
        };
        Self {
            cpu: stalls(self.cpu, earlier.cpu),
            io: stalls(self.io, earlier.io),
            memory: stalls(self.memory, earlier.memory),
        }
    }
}

impl Reading for Pressure {
    fn take(&mut self, part: usize, text: &str) -> bool {
        let stall = |kind: &str| {
            let line = text.lines().find(|line| line.starts_with(kind))?;
            let field = |key: &str| {
                line.split_ascii_whitespace()
                    .find_map(|word| word.strip_prefix(key))
            };
            let avg10: f64 = field("avg10=")?.parse().ok()?;
            Some(Stall {
                avg10,
                total_us: field("total=")?.parse().ok()?,
            })
            .filter(|_| avg10.is_finite())
        };
        let stalls = Stalls {
            some: stall("some "),
            full: stall("full "),
        };
        let known = stalls != Stalls::default();
        let slot = match part {
            0 => &mut self.cpu,
            1 => &mut self.io,
            _ => &mut self.memory,
        };
        *slot = known.then_some(stalls);
        known
    }
}

/// How often CPU bandwidth limits stopped this process's control group or one of its visible
/// ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CgroupThrottle {
    /// Periods in which something ran, summed over the levels.
    pub periods: u64,
    /// Periods that ended throttled, summed over the levels.
    pub throttled: u64,
    /// Stopped time of all CPUs, summed over the levels: an upper bound, since levels may be
    /// stopped at once.
    pub throttled_ns: u64,
}

impl CgroupThrottle {
    /// The growth since `earlier`; `None` where a counter went backwards.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            periods: self.periods.checked_sub(earlier.periods)?,
            throttled: self.throttled.checked_sub(earlier.throttled)?,
            throttled_ns: self.throttled_ns.checked_sub(earlier.throttled_ns)?,
        })
    }
}

impl Reading for CgroupThrottle {
    /// Version 1 states the time as `throttled_time` in ns, version 2 as `throttled_usec`.
    fn take(&mut self, _part: usize, text: &str) -> bool {
        let field = |key| tree::after(text, key, ' ')?.parse::<u64>().ok();
        let time = field("throttled_time").or_else(|| field("throttled_usec")?.checked_mul(1000));
        let (Some(periods), Some(throttled), Some(ns)) =
            (field("nr_periods"), field("nr_throttled"), time)
        else {
            return false;
        };
        self.periods = self.periods.saturating_add(periods);
        self.throttled = self.throttled.saturating_add(throttled);
        self.throttled_ns = self.throttled_ns.saturating_add(ns);
        true
    }
}

/// What the page cache holds and what memory shortage has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MemoryPressure {
    pub available_bytes: Option<u64>,
    pub cached_bytes: Option<u64>,
    pub dirty_bytes: Option<u64>,
    pub writeback_bytes: Option<u64>,
    /// Pages since boot.
    pub swapped_in_pages: Option<u64>,
    /// Pages since boot.
    pub swapped_out_pages: Option<u64>,
    /// Faults since boot that had to wait for a device.
    pub major_faults: Option<u64>,
}

impl MemoryPressure {
    /// The files, in the order of [`Reading::take`]'s parts.
    pub(super) const PATHS: [&str; 2] = ["/proc/meminfo", "/proc/vmstat"];

    /// The events since `earlier`, with the present sizes.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let grown = |later: Option<u64>, earlier: Option<u64>| later?.checked_sub(earlier?);
        Self {
            swapped_in_pages: grown(self.swapped_in_pages, earlier.swapped_in_pages),
            swapped_out_pages: grown(self.swapped_out_pages, earlier.swapped_out_pages),
            major_faults: grown(self.major_faults, earlier.major_faults),
            ..*self
        }
    }
}

impl Reading for MemoryPressure {
    fn take(&mut self, part: usize, text: &str) -> bool {
        let before = *self;
        if part == 0 {
            let size = |key| tree::after(text, key, ':').and_then(tree::kilobytes);
            self.available_bytes = size("MemAvailable");
            self.cached_bytes = size("Cached");
            self.dirty_bytes = size("Dirty");
            self.writeback_bytes = size("Writeback");
        } else {
            let count = |key| tree::after(text, key, ' ')?.parse().ok();
            self.swapped_in_pages = count("pswpin");
            self.swapped_out_pages = count("pswpout");
            self.major_faults = count("pgmajfault");
        }
        *self != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_read_and_subtracted_by_resource() {
        let mut earlier = Pressure::default();
        assert!(earlier.take(1, "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n"));
        let mut later = Pressure::default();
        assert!(later.take(1, "some avg10=12.50 avg60=1.1 avg300=0 total=340\nfull avg10=1.00 avg60=0 avg300=0 total=9"));
        assert_eq!(later.cpu, None);
        let grown = later.since(&earlier).io.unwrap();
        assert_eq!(
            grown.some,
            Some(Stall {
                avg10: 12.5,
                total_us: 240
            })
        );
        assert_eq!(grown.full, None);
    }

    #[test]
    fn a_pressure_file_without_numbers_is_unknown() {
        let mut pressure = Pressure::default();
        assert!(!pressure.take(0, "some avg10=NaN avg60=0 total=1\nfull avg10=1.0 tot"));
        assert_eq!(pressure, Pressure::default());
    }

    #[test]
    fn throttling_of_both_versions_is_summed_in_nanoseconds() {
        let mut throttle = CgroupThrottle::default();
        assert!(throttle.take(
            0,
            "usage_usec 9\nnr_periods 10\nnr_throttled 2\nthrottled_usec 7\nnr_bursts 0\n"
        ));
        assert!(throttle.take(1, "nr_periods 1\nnr_throttled 1\nthrottled_time 500\n"));
        assert!(!throttle.take(2, "usage_usec 9\n"));
        assert_eq!(
            throttle,
            CgroupThrottle {
                periods: 11,
                throttled: 3,
                throttled_ns: 7500
            }
        );
        assert_eq!(CgroupThrottle::default().since(&throttle), None);
        assert_eq!(throttle.since(&CgroupThrottle::default()), Some(throttle));
    }

    #[test]
    fn sizes_are_present_ones_and_events_are_growth() {
        let mut earlier = MemoryPressure::default();
        assert!(earlier.take(0, "Cached: 1 kB\nDirty: 8 kB\n"));
        assert!(earlier.take(1, "pswpin 4\npswpout 5\npgmajfault 6\n"));
        let mut later = earlier;
        assert!(later.take(0, "Cached: 2 kB\nDirty: 3 kB\nWriteback: 0 kB\n"));
        assert!(later.take(1, "pswpin 4\npswpout 9\n"));
        let grown = later.since(&earlier);
        assert_eq!(
            (grown.cached_bytes, grown.dirty_bytes, grown.writeback_bytes),
            (Some(2048), Some(3072), Some(0))
        );
        assert_eq!(
            (
                grown.swapped_in_pages,
                grown.swapped_out_pages,
                grown.major_faults
            ),
            (Some(0), Some(4), None)
        );
    }
}
