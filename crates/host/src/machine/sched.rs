//! Where CPU time went.

use super::kernel_files::Reading;

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
    fn a_command_with_a_hostile_name_is_read_by_the_right_fields() {
        let stat = "7 (a) S 9 (b\u{fffd}) R 1 7 7 0 -1 4 11 0 22 0 33 44 0 0 20 -5 1 0\n";
        let fields = [3, 10, 14, 15, 99].map(|number| stat_field(stat, number));
        assert_eq!(
            fields,
            [Some("R"), Some("11"), Some("33"), Some("44"), None]
        );
    }
}
