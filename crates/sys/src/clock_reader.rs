//! Which processes read one clock: `CLOCK_MONOTONIC` is one for all of a kernel, and one in each of its
//! time namespaces.

use std::fmt;

/// A process, and the clock of its kernel that it reads. Machines that were copied while they ran have
/// one boot id and clocks of their own: what one says of itself counts where its process is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockReader {
    boot: String,
    /// Names of its time and process namespaces; none where the kernel knows none of the kind.
    time: String,
    processes: String,
    process: u32,
    /// Its start, in ticks since the kernel's own.
    started: u64,
}

impl ClockReader {
    /// This process; `None` where the kernel does not say what it takes.
    #[must_use]
    pub fn own() -> Option<Self> {
        let process = std::process::id();
        let boot = crate::text_at_most("/proc/sys/kernel/random/boot_id".as_ref(), 64).ok()?;
        let namespace = |of: &str| {
            let name = std::fs::read_link(format!("/proc/self/ns/{of}")).ok();
            name.map_or_else(|| "none".into(), |name| name.display().to_string())
        };
        Some(Self {
            boot: boot.trim().to_owned(),
            time: namespace("time"),
            processes: namespace("pid"),
            process,
            started: started(process)?,
        })
    }

    /// What another process says of itself; `None` where it says nothing of the kind.
    #[must_use]
    pub fn read(said: &[u8]) -> Option<Self> {
        let said = std::str::from_utf8(said).ok()?;
        let words: Vec<&str> = said.split(' ').collect();
        let [boot, time, processes, process, started] = words[..] else {
            return None;
        };
        Some(Self {
            boot: boot.to_owned(),
            time: time.to_owned(),
            processes: processes.to_owned(),
            process: process.parse().ok()?,
            started: started.parse().ok()?,
        })
    }

    /// Whether both read one clock, as far as this process can see.
    #[must_use]
    pub fn reads_that_of(&self, other: &Self) -> bool {
        let clock = |of: &Self| (of.boot.clone(), of.time.clone(), of.processes.clone());
        clock(self) == clock(other) && started(other.process) == Some(other.started)
    }
}

impl fmt::Display for ClockReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {} {}",
            self.boot, self.time, self.processes, self.process, self.started
        )
    }
}

/// The start of a process that is seen here, in ticks.
fn started(process: u32) -> Option<u64> {
    let path = format!("/proc/{process}/stat");
    let stat = crate::text_at_most(path.as_ref(), 4096).ok()?;
    // The name of the program may hold anything, also brackets and spaces.
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_is_seen_reads_the_same_clock_and_no_other_does() {
        let own = ClockReader::own().unwrap();
        assert_eq!(
            ClockReader::read(own.to_string().as_bytes()),
            Some(own.clone())
        );
        assert!(own.reads_that_of(&own));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let other = ClockReader {
            process: child.id(),
            started: started(child.id()).unwrap(),
            ..own.clone()
        };
        assert!(own.reads_that_of(&other));
        let elsewhere = [
            ClockReader {
                boot: "another".into(),
                ..other.clone()
            },
            ClockReader {
                time: "time:[1]".into(),
                ..other.clone()
            },
            ClockReader {
                processes: "pid:[1]".into(),
                ..other.clone()
            },
            ClockReader {
                started: other.started + 1,
                ..other.clone()
            },
        ];
        for elsewhere in elsewhere {
            assert!(!own.reads_that_of(&elsewhere), "{elsewhere}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!own.reads_that_of(&other), "it has ended");
    }

    #[test]
    fn what_says_nothing_is_no_reader() {
        let long = "x".repeat(100_000);
        for said in [
            "",
            "a b c d e",
            "a b c 1",
            "a b c 1 2 3",
            "a b c -1 2",
            &long,
        ] {
            assert_eq!(ClockReader::read(said.as_bytes()), None, "{said:.20}");
        }
        assert_eq!(ClockReader::read(&[0xff, 0x20]), None);
    }
}
