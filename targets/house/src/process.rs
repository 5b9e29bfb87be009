//! What the kernel says of a server's process.

/// What the kernel says of this process; zeros where it says nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Process {
    pub(crate) cpu_seconds: f64,
    pub(crate) resident_bytes: u64,
    /// Names and CPU seconds.
    threads: Vec<(String, f64)>,
}

/// The kernel counts CPU time for user space in hundredths of a second (`USER_HZ`) on every
/// architecture.
const TICKS: f64 = 100.0;

impl Process {
    pub(crate) fn now() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (_, cpu_seconds) = stat(&read("/proc/self/stat")).unwrap_or_default();
        let mut threads = Vec::new();
        for task in std::fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten()
        {
            threads.extend(stat(
                &std::fs::read_to_string(task.path().join("stat")).unwrap_or_default(),
            ));
        }
        Self {
            cpu_seconds,
            resident_bytes: resident(&read("/proc/self/status")).unwrap_or(0),
            threads,
        }
    }

    /// CPU by thread, the busiest first, and memory, as text; `gauges` stand between them.
    pub(crate) fn profile(mut self, gauges: &[(&str, u64)]) -> String {
        let mut out = format!(
            "cpu_seconds {:.2}\nresident_bytes {}\n",
            self.cpu_seconds, self.resident_bytes
        );
        for (name, value) in gauges {
            out += &format!("{name} {value}\n");
        }
        self.threads.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (name, seconds) in self.threads {
            out += &format!("thread_cpu_seconds {seconds:.2} {name}\n");
        }
        out
    }
}

/// Name and CPU seconds of a line of `stat` (proc_pid_stat(5)): the name stands in the last
/// parentheses, user and system ticks are 14 and 15.
fn stat(text: &str) -> Option<(String, f64)> {
    let (head, rest) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    Some((name, (ticks(11)? + ticks(12)?) / TICKS))
}

fn resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let line = "1 (a) b) S 0 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0";
        assert_eq!(stat(line), Some(("a) b".to_owned(), 2.0)));
        assert_eq!(stat(""), None);
        assert_eq!(
            resident("VmPeak:\t 9 kB\nVmRSS:\t  12 kB\n"),
            Some(12 << 10)
        );
    }
}
