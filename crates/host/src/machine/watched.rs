//! A target's process or control group from one moment to the next.

use super::observed::{CpuTime, Member, Observed, Used};
use super::tree::Tree;

/// What is watched, and what its parts used that are gone.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    observed: Observed,
    /// When it began; a later process of the same number is another one.
    began: Option<u64>,
    last: Vec<Member>,
    gone: Used,
}

impl Watched {
    pub(super) fn begin(observed: Observed, tree: &Tree) -> Self {
        let members = observed.members(tree).unwrap_or_default();
        Self {
            observed,
            began: members.first().map(|first| first.began),
            last: members,
            gone: Used::default(),
        }
    }

    /// What it has used until now, never less than before; `None` once it is gone.
    ///
    /// The kernel books what a process used with whoever waits for it. Where nobody does, its last
    /// reading counts, and what it used after that is lost.
    pub(super) fn used(&mut self, tree: &Tree) -> Option<Used> {
        let now = self.observed.members(tree)?;
        if now.first().map(|first| first.began) != self.began {
            self.began = None;
            return None;
        }
        let unbooked = unbooked(&self.last, &now);
        self.gone.user_ns += unbooked.user_ns;
        self.gone.system_ns += unbooked.system_ns;
        let (before, after) = (sum(&self.last), sum(&now));
        let lost = |before: Option<u64>, after: Option<u64>, gone: Option<u64>| {
            let fell = before
                .zip(after)
                .map(|(before, after)| before.saturating_sub(after));
            Some(gone.unwrap_or(0) + fell.unwrap_or(0))
        };
        self.gone.read_bytes = lost(before.read_bytes, after.read_bytes, self.gone.read_bytes);
        self.gone.written_bytes = lost(
            before.written_bytes,
            after.written_bytes,
            self.gone.written_bytes,
        );
        self.last = now;
        Some(Used {
            resident_bytes: after.resident_bytes,
            peak_bytes: after.peak_bytes,
            ..plus(after, &self.gone)
        })
    }
}

/// CPU time of those that ended meanwhile and that nobody waited for.
fn unbooked(before: &[Member], now: &[Member]) -> CpuTime {
    let same = |a: &Member, b: &Member| (a.pid, a.began) == (b.pid, b.began);
    let ended = before
        .iter()
        .filter(|member| !now.iter().any(|other| same(member, other)));
    let ended = ended.fold(CpuTime::default(), |sum, member| CpuTime {
        user_ns: sum.user_ns + member.used.user_ns,
        system_ns: sum.system_ns + member.used.system_ns,
    });
    let booked = now.iter().fold(CpuTime::default(), |sum, member| {
        let earlier = before.iter().find(|other| same(member, other));
        let earlier = earlier.map_or(CpuTime::default(), |other| other.waited_for_ns);
        let waited_for = member.waited_for_ns;
        CpuTime {
            user_ns: sum.user_ns + waited_for.user_ns.saturating_sub(earlier.user_ns),
            system_ns: sum.system_ns + waited_for.system_ns.saturating_sub(earlier.system_ns),
        }
    });
    CpuTime {
        user_ns: ended.user_ns.saturating_sub(booked.user_ns),
        system_ns: ended.system_ns.saturating_sub(booked.system_ns),
    }
}

fn sum(members: &[Member]) -> Used {
    let mut members = members.iter().map(|member| member.used);
    let first = members.next().unwrap_or_default();
    members.fold(first, |sum, used| plus(sum, &used))
}

/// Of several together the kernel keeps no high-water mark.
fn plus(a: Used, b: &Used) -> Used {
    let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
    Used {
        user_ns: a.user_ns + b.user_ns,
        system_ns: a.system_ns + b.system_ns,
        resident_bytes: both(a.resident_bytes, b.resident_bytes),
        peak_bytes: None,
        read_bytes: both(a.read_bytes, b.read_bytes),
        written_bytes: both(a.written_bytes, b.written_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::observed::TICK_NS;
    use super::super::observed::example::{child, server, stat};
    use super::super::tree::fixture::Fixture;
    use super::*;

    fn watched(fixture: &Fixture, observed: Observed) -> Watched {
        Watched::begin(observed, &fixture.tree())
    }

    #[test]
    fn a_process_is_counted_with_the_children_that_live_and_those_that_ended() {
        let fixture = server();
        let mut process = watched(&fixture, Observed::Process(7));
        let alone = Used {
            user_ns: 7 * TICK_NS,
            system_ns: 4 * TICK_NS,
            resident_bytes: Some(600 << 10),
            peak_bytes: Some(900 << 10),
            read_bytes: Some(10),
            written_bytes: Some(20),
        };
        assert_eq!(process.used(&fixture.tree()), Some(alone));
        child(&fixture);
        let both = Used {
            user_ns: 107 * TICK_NS,
            system_ns: 54 * TICK_NS,
            resident_bytes: Some(660 << 10),
            peak_bytes: None,
            read_bytes: Some(11),
            written_bytes: Some(22),
        };
        assert_eq!(process.used(&fixture.tree()), Some(both));
        assert_eq!(
            watched(&fixture, Observed::Process(8)).used(&fixture.tree()),
            None
        );
    }

    #[test]
    fn a_child_that_ended_is_counted_once_whether_it_was_waited_for_or_not() {
        for (waited_for, expected) in [([2 + 110, 1 + 50], [117, 54]), ([2, 1], [107, 54])] {
            let fixture = server();
            child(&fixture);
            let mut process = watched(&fixture, Observed::Process(7));
            process.used(&fixture.tree()).unwrap();
            fixture.file("proc/7/task/7/children", "");
            let [user, system] = waited_for;
            fixture.file("proc/7/stat", stat(7, [5, 3, user, system], 100));
            for _ in 0..2 {
                let used = process.used(&fixture.tree()).unwrap();
                assert_eq!(
                    [used.user_ns, used.system_ns],
                    expected.map(|ticks| ticks * TICK_NS)
                );
                assert_eq!((used.read_bytes, used.written_bytes), (Some(11), Some(22)));
            }
        }
    }

    #[test]
    fn a_process_that_took_the_number_of_the_watched_one_is_not_the_target() {
        let fixture = server();
        let mut process = watched(&fixture, Observed::Process(7));
        assert!(process.used(&fixture.tree()).is_some());
        fixture.file("proc/7/stat", stat(7, [50, 30, 0, 0], 101));
        assert_eq!(process.used(&fixture.tree()), None);
        fixture.file("proc/7/stat", stat(7, [5, 3, 2, 1], 100));
        assert_eq!(process.used(&fixture.tree()), None, "it stays gone");
    }

    fn group(cpu: &str) -> Fixture {
        let fixture = Fixture::new();
        fixture.file("sys/fs/cgroup/server/cpu.stat", cpu);
        fixture
    }

    #[test]
    fn a_control_group_is_counted_by_its_own_files() {
        let fixture = group("usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
        let at = "sys/fs/cgroup/server";
        let mut found = watched(&fixture, Observed::Group("/sys/fs/cgroup/server".into()));
        let without_controllers = Used {
            user_ns: 5000,
            system_ns: 4000,
            ..Used::default()
        };
        assert_eq!(found.used(&fixture.tree()), Some(without_controllers));
        fixture.file(&format!("{at}/memory.current"), "4096\n");
        fixture.file(&format!("{at}/memory.peak"), "8192\n");
        fixture.file(
            &format!("{at}/io.stat"),
            "8:0 rbytes=1 wbytes=2 rios=3\n8:16 rbytes=10 wbytes=20 rios=3\n",
        );
        assert_eq!(
            found.used(&fixture.tree()),
            Some(Used {
                resident_bytes: Some(4096),
                peak_bytes: Some(8192),
                read_bytes: Some(11),
                written_bytes: Some(22),
                ..without_controllers
            })
        );
    }

    #[test]
    fn a_control_group_of_version_1_tells_no_times_and_is_none() {
        let fixture = group("nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
        let group = Observed::Group("/sys/fs/cgroup/server".into());
        assert_eq!(watched(&fixture, group).used(&fixture.tree()), None);
    }
}
