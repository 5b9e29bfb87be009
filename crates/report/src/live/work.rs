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
    /// For so long it has said nothing, which is longer than ranks take: it has ended, or stands
    /// still.
    pub silent_ns: Option<u64>,
}

/// A rank is called slow beside a median of so many operations at least: of fewer, chance makes one.
const FEWEST_BESIDE: u64 = 400;

/// What is known of works while they run.
#[derive(Clone, Copy, Debug)]
pub struct WorkNow<'a> {
    pub name: &'a str,
    /// Of each work, by its number, what it did last.
    pub last: &'a [(usize, Interval)],
    /// Where ranks do it together, what each of them did last; `last` is then of all of them.
    pub ranks: &'a [RankNow],
    /// Of the measured time; `None` where the end is no matter of time.
    pub planned_ns: Option<u64>,
    /// A schedule says what is done: who does less than others was asked for less.
    pub is_limited: bool,
}

impl WorkNow<'_> {
    /// What is shown of it.
    #[must_use]
    pub fn now(&self) -> LiveState {
        let elapsed_ns = self.last.iter().map(|(_, of)| of.end_ns).max().unwrap_or(0);
        let of = match self.planned_ns {
            Some(planned) => format!("{} of {}", time(elapsed_ns), time(planned)),
            None => format!("{} so far", time(elapsed_ns)),
        };
        let left = self
            .planned_ns
            .map(|planned| planned.saturating_sub(elapsed_ns));
        let left = left.map_or_else(String::new, |left| format!(", {} left", about(left)));
        let share = self
            .planned_ns
            .map(|planned| u64_to_f64(elapsed_ns) / u64_to_f64(planned.max(1)));
        LiveState {
            running: format!("{}: {of}{left}", self.name),
            share: share.map(|share| share.min(1.0)),
            table: self.table(),
            ..LiveState::default()
        }
    }

    fn table(&self) -> NowTable {
        if !self.ranks.is_empty() {
            return ranks_table(self.ranks, self.is_limited);
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
                let mut cells = line(kind, operations, rates(operations, interval));
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
            ..NowTable::default()
        }
    }
}

/// All ranks together, then each beside the median: who says nothing, and then the slowest first.
fn ranks_table(ranks: &[RankNow], is_limited: bool) -> NowTable {
    let heads = [
        ("Rank", 9),
        ("Operation", 5),
        ("Rate", 8),
        ("Of median", 7),
        ("Bandwidth", 6),
        ("p99", 4),
        ("Errors", 3),
    ];
    let named = |name: &str, of_median: String, mut cells: Vec<String>| {
        cells.insert(2, of_median);
        cells.insert(0, name.to_owned());
        cells
    };
    let speak = ranks.iter().filter(|of| of.silent_ns.is_none());
    let mut all = Measurements::default();
    speak.clone().for_each(|of| all.merge(&of.last.operations));
    let (mut lines, mut urgent): (Vec<Vec<String>>, Vec<usize>) = <_>::default();
    for (kind, of) in all.kinds() {
        // Each rank's own time: they speak at different moments.
        let each = speak.clone().filter_map(|rank| {
            let own = rank.last.operations.kind(kind)?;
            Some(rates(own, &rank.last))
        });
        let sum = each.fold([0.0; 2], |sum, own| [sum[0] + own[0], sum[1] + own[1]]);
        lines.push(named("all", String::new(), line(kind, of, sum)));
    }
    for (of, silent_ns) in ranks.iter().filter_map(|of| Some((of, of.silent_ns?))) {
        urgent.push(lines.len());
        let nothing = ["", "-", "-", "-", "-"].map(str::to_owned);
        let silent = format!("silent for {}", about(silent_ns));
        lines.push(named(&of.name, silent, nothing.into()));
    }
    let rate = |of: &RankNow| rates(&of.last.operations.together(), &of.last)[0];
    let mut sorted: Vec<(f64, &RankNow)> = speak.map(|of| (rate(of), of)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = sorted.get(sorted.len() / 2);
    let is_told = middle.is_some_and(|of| of.1.last.operations.count() >= FEWEST_BESIDE);
    let median = stats::sample::median(&sorted.iter().map(|of| of.0).collect::<Vec<_>>());
    for (rate, of) in sorted {
        let share = rate / median;
        let mut of_median = format!("{:.0} %", share * 100.0);
        if share < SLOW_HOST && is_told && !is_limited {
            urgent.push(lines.len());
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
        let cells = line(&kind, &operations, rates(&operations, &of.last));
        lines.push(named(&of.name, of_median, cells));
    }
    NowTable {
        heads: heads.map(|(head, of)| (head.to_owned(), of)).into(),
        lines,
        current: None,
        urgent,
    }
}

/// Operations and bytes a second.
fn rates(of: &Operations, during: &Interval) -> [f64; 2] {
    let ns = during.end_ns.saturating_sub(during.start_ns);
    let seconds = u64_to_f64(ns.max(1)) / 1e9;
    [of.count, of.bytes].map(|amount| u64_to_f64(amount) / seconds)
}

fn line(kind: &str, of: &Operations, [per_second, bytes_per_second]: [f64; 2]) -> Vec<String> {
    let p99 = of.latency.quantile(0.99).map_or_else(
        || "-".to_owned(),
        |p99| Nanos(f64_to_u64_saturating(p99)).to_string(),
    );
    vec![
        kind.to_owned(),
        Rate(per_second).to_string(),
        ByteRate(bytes_per_second).to_string(),
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
            is_limited: false,
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

    fn ranks_text(ranks: &[RankNow], is_limited: bool) -> String {
        ranks_now(ranks, is_limited).text(80, 24)
    }

    fn ranks_now(ranks: &[RankNow], is_limited: bool) -> LiveState {
        let now = WorkNow {
            name: "oltp",
            last: &[(0, interval(244))],
            ranks,
            planned_ns: None,
            is_limited,
        };
        now.now()
    }

    fn rank(name: &str, count: u64) -> RankNow {
        RankNow {
            name: name.into(),
            last: interval(count),
            silent_ns: None,
        }
    }

    #[test]
    fn of_ranks_the_sum_stands_first_and_then_each_beside_the_median() {
        let ranks = [
            rank("a (rank 0)", 1000),
            rank("b (rank 1)", 1040),
            rank("c (rank 2)", 400),
        ];
        insta::assert_snapshot!(ranks_text(&ranks, false), @r#"
        oltp: 4.0 s so far
        Rank        Operation      Rate  Of median   Bandwidth   p99  Errors
        all              read  2.44 K/s             9.53 MiB/s  2 ms       0
        c (rank 2)       read    400 /s  40 % SLOW  1.56 MiB/s  2 ms       0
        a (rank 0)       read  1.00 K/s      100 %  3.91 MiB/s  2 ms       0
        b (rank 1)       read  1.04 K/s      104 %  4.06 MiB/s  2 ms       0
        "#);
        let now = ranks_now(&ranks, false);
        insta::assert_snapshot!(now.line(), @"oltp: 4.0 s so far; all read 2.44 K/s 9.53 MiB/s p99 2 ms; c (rank 2) read 400 /s 40 % SLOW 1.56 MiB/s p99 2 ms");
        assert!(
            !ranks_text(&ranks, true).contains("SLOW"),
            "it was asked for less"
        );
        let few = [rank("a", 10), rank("b", 10), rank("c", 4)];
        assert!(!ranks_text(&few, false).contains("SLOW"), "that is chance");
    }

    /// Whoever speaks of five seconds beside one that speaks of one does a fifth of what it says.
    #[test]
    fn rates_are_summed_each_over_its_own_time_and_without_those_that_say_nothing() {
        let mut slow = rank("b", 500);
        slow.last.end_ns = slow.last.start_ns + 5_000_000_000;
        let gone = RankNow {
            silent_ns: Some(7_000_000_000),
            ..rank("c", 900)
        };
        let text = ranks_text(&[rank("a", 1000), slow, gone], false);
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("all").contains("1.10 K/s"), "{text}");
        assert!(line("c").contains("silent for 7 s"), "{text}");
        assert!(!line("c").contains("/s"), "{text}");
    }
}
