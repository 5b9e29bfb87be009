//! One or several works that run together.

use super::{LiveState, NowTable, about};
use analyze::SLOW_HOST;
use record::{Interval, Measurements, Operations};
use units::lossless::{f64_to_u64_saturating, u64_to_f64};
use units::{ByteRate, Nanos, Rate};

/// A rank among others that do one work.
#[derive(Clone, Debug)]
pub struct RankNow {
    pub name: String,
    /// What was new in its last word.
    pub last: Interval,
}

/// What is known of works while they run.
#[derive(Clone, Copy, Debug)]
pub struct WorkNow<'a> {
    pub name: &'a str,
    /// Of each work, by its number, what it did last.
    pub last: &'a [(usize, Interval)],
    /// Where ranks do it together, what each of them did last; `last` is then of all of them.
    pub ranks: &'a [RankNow],
    /// From the beginning of the warm-up to the planned end; `None` where that is no matter of time.
    pub planned_ns: Option<u64>,
    /// Of the planned time, that before the measured one.
    pub warmup_ns: u64,
}

impl WorkNow<'_> {
    /// What is shown of it.
    #[must_use]
    pub fn now(&self) -> LiveState {
        let elapsed_ns = self.last.iter().map(|(_, of)| of.end_ns).max().unwrap_or(0);
        let is_warming = elapsed_ns < self.warmup_ns;
        let of = match self.planned_ns {
            Some(planned) => format!("{} of {}", time(elapsed_ns), time(planned)),
            None => format!("{} so far", time(elapsed_ns)),
        };
        let left = self
            .planned_ns
            .map(|planned| planned.saturating_sub(elapsed_ns));
        let left = left.map_or_else(String::new, |left| format!(", {} left", about(left)));
        let warming = if is_warming { ", warming up" } else { "" };
        let share = self
            .planned_ns
            .map(|planned| u64_to_f64(elapsed_ns) / u64_to_f64(planned.max(1)));
        LiveState {
            running: format!("{}: {of}{left}{warming}", self.name),
            share: share.map(|share| share.min(1.0)),
            table: self.table(),
            ..LiveState::default()
        }
    }

    fn table(&self) -> NowTable {
        if !self.ranks.is_empty() {
            return ranks_table(self.ranks);
        }
        let several = self.last.len() > 1;
        let head = |text: &str, priority| (text.to_owned(), priority);
        let mut heads = vec![
            head("Operation", 9),
            head("Rate", 8),
            head("Bandwidth", 6),
            head("p99", 7),
            head("Errors", 5),
        ];
        if several {
            heads.insert(0, head("Job", 9));
        }
        let mut lines = Vec::new();
        for (part, interval) in self.last {
            for (kind, operations) in interval.operations.kinds() {
                let mut cells = line(kind, operations, interval.end_ns - interval.start_ns);
                if several {
                    cells.insert(0, (part + 1).to_string());
                }
                lines.push(cells);
            }
            if interval.operations.is_empty() {
                let mut cells = vec!["no operation ended".to_owned()];
                if several {
                    cells.insert(0, (part + 1).to_string());
                }
                cells.resize(heads.len(), String::new());
                lines.push(cells);
            }
        }
        NowTable {
            heads,
            lines,
            current: None,
        }
    }
}

/// All ranks together, then each beside the median, the slowest first.
fn ranks_table(ranks: &[RankNow]) -> NowTable {
    let heads = [
        ("Rank", 9),
        ("Operation", 5),
        ("Rate", 8),
        ("Of median", 7),
        ("Bandwidth", 6),
        ("p99", 4),
        ("Errors", 3),
    ];
    let mut all = Measurements::default();
    ranks.iter().for_each(|of| all.merge(&of.last.operations));
    let spans = ranks.iter().map(|of| of.last.end_ns - of.last.start_ns);
    let mean_ns = spans.sum::<u64>() / ranks.len() as u64;
    let named = |name: &str, of_median: String, mut cells: Vec<String>| {
        cells.insert(2, of_median);
        cells.insert(0, name.to_owned());
        cells
    };
    let kinds = all.kinds();
    let together = kinds.map(|(kind, of)| named("all", String::new(), line(kind, of, mean_ns)));
    let mut lines: Vec<Vec<String>> = together.collect();
    let rate = |of: &RankNow| {
        let ns = of.last.end_ns - of.last.start_ns;
        u64_to_f64(of.last.operations.count()) / u64_to_f64(ns.max(1))
    };
    let mut sorted: Vec<(f64, &RankNow)> = ranks.iter().map(|of| (rate(of), of)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Of two the faster one, as for the hosts of a record.
    let median = sorted.get(sorted.len() / 2).map_or(0.0, |of| of.0);
    for (rate, of) in sorted {
        let share = rate / median;
        let mut of_median = format!("{:.0} %", share * 100.0);
        if share < SLOW_HOST {
            of_median.push_str(" SLOW");
        }
        if !share.is_finite() {
            of_median = String::new();
        }
        let operations = of.last.operations.together();
        let kind = match of.last.operations.kinds().collect::<Vec<_>>().as_slice() {
            [(kind, _)] => (*kind).to_owned(),
            [] => "none ended".to_owned(),
            _ => "all kinds".to_owned(),
        };
        let ns = of.last.end_ns - of.last.start_ns;
        lines.push(named(&of.name, of_median, line(&kind, &operations, ns)));
    }
    NowTable {
        heads: heads.map(|(head, of)| (head.to_owned(), of)).into(),
        lines,
        current: None,
    }
}

fn line(kind: &str, of: &Operations, ns: u64) -> Vec<String> {
    let seconds = u64_to_f64(ns.max(1)) / 1e9;
    let p99 = of.latency.quantile(0.99).map_or_else(
        || "-".to_owned(),
        |p99| Nanos(f64_to_u64_saturating(p99)).to_string(),
    );
    vec![
        kind.to_owned(),
        Rate(u64_to_f64(of.count) / seconds).to_string(),
        ByteRate(u64_to_f64(of.bytes) / seconds).to_string(),
        p99,
        of.errors.to_string(),
    ]
}

/// To the tenth of a second, as far as that is seen passing.
fn time(ns: u64) -> String {
    if ns < 120_000_000_000 {
        format!("{:.1} s", u64_to_f64(ns) / 1e9)
    } else {
        about(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(count: u64) -> Interval {
        let mut operations = Measurements::default();
        if count > 0 {
            let mut read = Operations {
                count,
                bytes: count * 4096,
                ..Operations::default()
            };
            (0..count).for_each(|_| read.latency.record(2_000_000));
            operations.insert("read", read);
        }
        Interval {
            start_ns: 3_000_000_000,
            end_ns: 4_000_000_000,
            operations,
            ..Interval::default()
        }
    }

    fn text(last: &[(usize, Interval)], planned_ns: Option<u64>) -> String {
        let now = WorkNow {
            name: "oltp",
            last,
            ranks: &[],
            planned_ns,
            warmup_ns: 0,
        };
        now.now().text(80, 24)
    }

    #[test]
    fn a_run_says_how_far_it_is_and_what_it_does() {
        insta::assert_snapshot!(text(&[(0, interval(1000))], Some(10_000_000_000)), @r#"
        █████████░░░░░░░░░░░░░░░ oltp: 4.0 s of 10.0 s, 6 s left
        Operation      Rate   Bandwidth   p99  Errors
        read       1.00 K/s  3.91 MiB/s  2 ms       0
        "#);
        insta::assert_snapshot!(text(&[(0, interval(0)), (1, interval(10))], None), @r#"
        oltp: 4.0 s so far
        Job           Operation   Rate   Bandwidth   p99  Errors
        1    no operation ended
        2                  read  10 /s  40.0 KiB/s  2 ms       0
        "#);
    }

    #[test]
    fn of_ranks_the_sum_stands_first_and_then_each_beside_the_median() {
        let rank = |name: &str, count| RankNow {
            name: name.into(),
            last: interval(count),
        };
        let ranks = [
            rank("a (rank 0)", 100),
            rank("b (rank 1)", 104),
            rank("c (rank 2)", 40),
        ];
        let now = WorkNow {
            name: "oltp",
            last: &[(0, interval(244))],
            ranks: &ranks,
            planned_ns: None,
            warmup_ns: 0,
        };
        insta::assert_snapshot!(now.now().text(80, 24), @r#"
        oltp: 4.0 s so far
        Rank        Operation    Rate  Of median  Bandwidth   p99  Errors
        all              read  244 /s             976 KiB/s  2 ms       0
        c (rank 2)       read   40 /s  40 % SLOW  160 KiB/s  2 ms       0
        a (rank 0)       read  100 /s      100 %  400 KiB/s  2 ms       0
        b (rank 1)       read  104 /s      104 %  416 KiB/s  2 ms       0
        "#);
    }
}
