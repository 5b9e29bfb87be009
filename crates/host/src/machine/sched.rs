//! Where CPU time went: over the machine and in one thread.

use super::kernel_files::Reading;
use super::tree;

/// The times of one CPU or of all, in clock ticks (`ProcessFacts::ticks_per_second`), as
/// proc_stat(5) defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// Includes `guest`.
    pub user: u64,
    /// Includes `guest_nice`.
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    /// Idle with I/O outstanding; an estimate that the kernel itself calls unreliable.
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    /// Time that the hypervisor gave to somebody else.
    pub steal: u64,
    pub guest: u64,
    pub guest_nice: u64,
}

impl CpuTicks {
    /// The growth since `earlier`; a time that went backwards, which the kernel allows for
    /// `iowait`, counts as none.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
            guest: self.guest.saturating_sub(earlier.guest),
            guest_nice: self.guest_nice.saturating_sub(earlier.guest_nice),
        }
    }

    /// Ticks in which the CPU worked for somebody here.
    #[must_use]
    pub fn busy(&self) -> u64 {
        [self.nice, self.system, self.irq, self.softirq]
            .into_iter()
            .fold(self.user, u64::saturating_add)
    }

    /// All ticks: busy, idle and stolen.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        [self.idle, self.iowait, self.steal]
            .into_iter()
            .fold(self.busy(), u64::saturating_add)
    }

    /// The ten numbers after the CPU's name; the two guest times may be missing.
    fn parse<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut fields = [None; 10];
        for (field, word) in fields.iter_mut().zip(words) {
            *field = Some(word.parse().ok()?);
        }
        Some(Self {
            user: fields[0]?,
            nice: fields[1]?,
            system: fields[2]?,
            idle: fields[3]?,
            iowait: fields[4]?,
            irq: fields[5]?,
            softirq: fields[6]?,
            steal: fields[7]?,
            guest: fields[8].unwrap_or(0),
            guest_nice: fields[9].unwrap_or(0),
        })
    }
}

/// The CPU times of the machine and of each online CPU.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CpuTimes {
    pub total: CpuTicks,
    /// By CPU id, ascending.
    pub cpus: Vec<(u32, CpuTicks)>,
}

impl CpuTimes {
    /// The growth since `earlier`, of the CPUs that are in both.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |id| earlier.cpus.iter().find(|(other, _)| *other == id);
        let grown = |(id, ticks): &(u32, CpuTicks)| Some((*id, ticks.since(&before(*id)?.1)));
        Self {
            total: self.total.since(&earlier.total),
            cpus: self.cpus.iter().filter_map(grown).collect(),
        }
    }
}

impl Reading for CpuTimes {
    fn take(&mut self, _part: usize, text: &str) -> bool {
        let mut understood = false;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(cpu) = words.next().and_then(|name| name.strip_prefix("cpu")) else {
                break;
            };
            let Some(ticks) = CpuTicks::parse(words) else {
                continue;
            };
            if cpu.is_empty() {
                self.total = ticks;
                understood = true;
            } else if let Ok(id) = cpu.parse() {
                self.cpus.push((id, ticks));
            }
        }
        understood
    }

    fn clear(&mut self) {
        self.total = CpuTicks::default();
        self.cpus.clear();
    }
}

/// How one thread fared with the scheduler. The kernel settles the running thread's own time at its
/// next tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ThreadSched {
    /// Time on a CPU.
    pub run_ns: Option<u64>,
    /// Time runnable without a CPU.
    pub wait_ns: Option<u64>,
    /// Turns on a CPU.
    pub slices: Option<u64>,
    /// Clock ticks in user mode.
    pub user_ticks: Option<u64>,
    /// Clock ticks in the kernel.
    pub system_ticks: Option<u64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    /// Switches because the thread waited for something.
    pub voluntary_switches: Option<u64>,
    /// Switches because somebody else was given the CPU.
    pub nonvoluntary_switches: Option<u64>,
}

impl ThreadSched {
    /// The files of a thread, in the order of [`Reading::take`]'s parts.
    pub(super) fn paths(tid: u32) -> [String; 3] {
        ["schedstat", "stat", "status"].map(|name| format!("/proc/self/task/{tid}/{name}"))
    }

    /// The growth since `earlier`, of the facts that are in both and went forwards.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let grown = |later: Option<u64>, earlier: Option<u64>| later?.checked_sub(earlier?);
        Self {
            run_ns: grown(self.run_ns, earlier.run_ns),
            wait_ns: grown(self.wait_ns, earlier.wait_ns),
            slices: grown(self.slices, earlier.slices),
            user_ticks: grown(self.user_ticks, earlier.user_ticks),
            system_ticks: grown(self.system_ticks, earlier.system_ticks),
            minor_faults: grown(self.minor_faults, earlier.minor_faults),
            major_faults: grown(self.major_faults, earlier.major_faults),
            voluntary_switches: grown(self.voluntary_switches, earlier.voluntary_switches),
            nonvoluntary_switches: grown(self.nonvoluntary_switches, earlier.nonvoluntary_switches),
        }
    }

    fn take_schedstat(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace().map(|word| word.parse().ok());
        self.run_ns = words.next().flatten();
        self.wait_ns = words.next().flatten();
        self.slices = words.next().flatten();
    }

    fn take_stat(&mut self, text: &str) {
        let field = |number| stat_field(text, number)?.parse().ok();
        self.minor_faults = field(10);
        self.major_faults = field(12);
        self.user_ticks = field(14);
        self.system_ticks = field(15);
    }

    fn take_status(&mut self, text: &str) {
        let field = |key| tree::after(text, key, ':')?.parse().ok();
        self.voluntary_switches = field("voluntary_ctxt_switches");
        self.nonvoluntary_switches = field("nonvoluntary_ctxt_switches");
    }
}

impl Reading for ThreadSched {
    fn take(&mut self, part: usize, text: &str) -> bool {
        let before = *self;
        match part {
            0 => self.take_schedstat(text),
            1 => self.take_stat(text),
            _ => self.take_status(text),
        }
        *self != before
    }
}

/// The field with this number of a proc_pid_stat(5) line, from 3 on; the command before it may hold
/// anything.
pub(super) fn stat_field(text: &str, number: usize) -> Option<&str> {
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(number.checked_sub(3)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 1 20 800 9 2 3 65 10 1\n\
                        cpu0 60 1 10 400 9 2 3 15 10 1\n\
                        cpu3 40 0 10 400 0 0 0 50 0 0\n\
                        intr 5 cpu 7\nctxt 3\n";

    fn times(text: &str) -> Option<CpuTimes> {
        let mut times = CpuTimes::default();
        times.take(0, text).then_some(times)
    }

    #[test]
    fn the_total_and_each_online_cpu_are_read() {
        let times = times(STAT).unwrap();
        assert_eq!(
            (times.total.user, times.total.steal, times.total.guest_nice),
            (100, 65, 1)
        );
        assert_eq!(
            times.cpus.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            [0, 3]
        );
        assert_eq!(times.total.busy(), 126);
        assert_eq!(times.total.elapsed(), 1000);
    }

    #[test]
    fn a_shrinking_iowait_and_a_new_cpu_do_not_make_growth() {
        let earlier = times("cpu 100 0 0 0 9 0 0 0\ncpu0 100 0 0 0 9 0 0 0\n").unwrap();
        let later = times("cpu 130 0 0 0 7 0 0 0\ncpu0 110 0 0 0 7 0 0 0\ncpu1 20 0 0 0 0 0 0 0\n")
            .unwrap();
        let grown = later.since(&earlier);
        assert_eq!((grown.total.user, grown.total.iowait), (30, 0));
        assert_eq!(grown.cpus.len(), 1);
        assert_eq!(grown.cpus[0].1.user, 10);
    }

    #[test]
    fn a_torn_line_of_cpu_times_is_refused() {
        assert_eq!(times("cpu 1 2 3 4 5 6 7\n"), None);
        assert_eq!(times("cpu 1 2 3 4 x 6 7 8\n"), None);
        assert_eq!(times("cpu0 1 2 3 4 5 6 7 8\n"), None);
    }

    #[test]
    fn clearing_forgets_the_values_but_not_the_room() {
        let mut reading = times(STAT).unwrap();
        let room = reading.cpus.capacity();
        reading.clear();
        assert_eq!(reading, CpuTimes::default());
        assert_eq!(reading.cpus.capacity(), room);
    }

    #[test]
    fn a_thread_with_a_hostile_name_is_read_by_the_right_fields() {
        let mut sched = ThreadSched::default();
        assert!(sched.take(0, "1561751 17932 2\n"));
        assert!(sched.take(
            1,
            "7 (a) S 9 (b\u{fffd}) R 1 7 7 0 -1 4 11 0 22 0 33 44 0 0 20 -5 1 0\n"
        ));
        assert!(sched.take(
            2,
            "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n"
        ));
        let expected = ThreadSched {
            run_ns: Some(1_561_751),
            wait_ns: Some(17_932),
            slices: Some(2),
            user_ticks: Some(33),
            system_ticks: Some(44),
            minor_faults: Some(11),
            major_faults: Some(22),
            voluntary_switches: Some(5),
            nonvoluntary_switches: Some(6),
        };
        assert_eq!(sched, expected);
        let grown = sched.since(&ThreadSched {
            run_ns: Some(1_561_000),
            slices: Some(3),
            ..sched
        });
        assert_eq!(
            (grown.run_ns, grown.slices, grown.user_ticks),
            (Some(751), None, Some(0))
        );
    }

    #[test]
    fn a_thread_without_schedstat_keeps_the_rest() {
        let mut sched = ThreadSched::default();
        assert!(!sched.take(0, ""));
        assert!(sched.take(2, "voluntary_ctxt_switches:\t5\n"));
        assert_eq!(
            (
                sched.run_ns,
                sched.voluntary_switches,
                sched.nonvoluntary_switches
            ),
            (None, Some(5), None)
        );
    }
}
