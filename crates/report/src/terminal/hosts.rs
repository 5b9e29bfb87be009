//! What each of several hosts did, and how their ranks began.

use super::accounts::shares;
use super::page::{Page, counted, grouped, time};
use crate::ends::{MOST_TOLD, both_ends};
use analyze::SlowHost;
use record::{GroupAccount, HostPart, Record, TargetReach, by_machine};
use units::{Nanos, Rate};

/// What each of several hosts did.
pub(super) fn hosts(page: &mut Page, record: &Record) {
    if let Some(group) = &record.group {
        let own = record.generator().rank;
        let part = own.filter(|_| group.launcher == "none" && record.generators().count() == 1);
        match part.filter(|_| group.size > 1 && group.lost.is_empty()) {
            Some(number) => page.fact("rank", &part_of(group, number)),
            None => page.fact("ranks", &ranks(group, record.lost_ranks())),
        }
    }
    let hosts = record.host_parts();
    let machines = by_machine(&hosts, |own| own.host);
    let lines = Lines {
        slow: analyze::slow_hosts(record),
        shared: machines
            .iter()
            .filter(|ranks| ranks.len() > 1)
            .filter_map(|ranks| ranks[0].host.boot())
            .collect(),
    };
    let mut numbered: Vec<(usize, &HostPart<'_>)> = hosts.iter().enumerate().collect();
    match hosts.len() {
        0 | 1 => {}
        2..=MOST_TOLD => {
            numbered.sort_by_key(|(at, _)| lines.slow(*at).is_none());
            let told = numbered.into_iter();
            told.for_each(|(at, own)| page.fact("host", &lines.of(at, own)));
        }
        _ => ends(page, &lines, numbered),
    }
    let shared: Vec<_> = machines.iter().filter(|ranks| ranks.len() > 1).collect();
    for ranks in shared.iter().take(MOST_TOLD) {
        let longest = ranks.iter().max_by_key(|own| own.counted_over_ns());
        let Some(host) = longest.map(|own| own.host) else {
            continue;
        };
        let name = host.machine_called();
        let shares = shares(&host.machine);
        page.fact("machine", &format!("{name}: {} ranks{shares}", ranks.len()));
    }
    let more = shared.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        let text = format!("{} with several ranks", counted(more, "more machine"));
        page.fact("machines", &text);
    }
}

/// The slowest, the median and the fastest of many hosts, and how many lie between.
fn ends(page: &mut Page, lines: &Lines<'_>, hosts: Vec<(usize, &HostPart<'_>)>) {
    let (begun, idle): (Vec<_>, Vec<_>) =
        hosts.into_iter().partition(|(_, own)| own.part.had_work());
    let count = begun.len();
    let told = both_ends(begun, |(_, own)| own.rate().unwrap_or_default());
    let hidden = count - told.len();
    for (standing, (at, own)) in told {
        page.fact(standing.word(), &lines.of(at, own));
    }
    let slow = lines.slow.len();
    let mut text = match slow {
        0 => format!("{hidden} of {count} are not shown"),
        _ if lines.slow.iter().any(|slow| slow.latency.is_some()) => {
            format!("{slow} of {count} are slow beside the others; {hidden} are not shown")
        }
        _ => format!(
            "{slow} of {count} did less than {:.0}% of what the median host did; {hidden} are not shown",
            analyze::SLOW_HOST * 100.0
        ),
    };
    if !idle.is_empty() {
        text += &format!("; {} measured nothing", counted(idle.len(), "host"));
    }
    page.fact("hosts", &text);
}

/// What a line about a host depends on.
struct Lines<'r> {
    slow: Vec<SlowHost>,
    /// The boots of machines that several of them ran on.
    shared: Vec<&'r str>,
}

impl Lines<'_> {
    fn slow(&self, at: usize) -> Option<&SlowHost> {
        self.slow.iter().find(|slow| slow.number == at)
    }

    fn of(&self, at: usize, own: &HostPart<'_>) -> String {
        let (host, all) = (own.host, own.part.operations.together());
        if !own.part.had_work() {
            // What it used while it waited for the others, which a warm-up may have hidden, is no measurement.
            return format!("{}: measured nothing", host.called());
        }
        let rate = own.rate();
        let rate = rate.map_or_else(String::new, |rate| format!(", {}", Rate(rate)));
        let [p50, p99] = [0.5, 0.99].map(|q| time(all.latency.quantile(q)));
        let did = match own.walked() {
            Some(walk) => {
                let (entries, dirs) = (counted(walk.entries, "entry"), grouped(all.count));
                format!("{entries} looked at{rate}; directories: {dirs}, p50 {p50}, p99 {p99}")
            }
            None => {
                let operations = counted(all.count, "operation");
                format!("{operations}{rate}, p50 {p50}, p99 {p99}")
            }
        };
        // What is kept of one that was lost does not say it.
        let used = Some(host.process.cpu_ns()).filter(|ns| *ns > 0);
        let cpus = used.map_or_else(String::new, |used| {
            let cpus = used as f64 / own.counted_over_ns().max(1) as f64;
            format!("; {cpus:.2} CPUs")
        });
        let slow = self.slow(at);
        let slow = slow.map_or_else(String::new, |slow| format!("{}; ", slow.text()));
        // What the whole machine did is told of it once.
        let is_shared = host.boot().is_some_and(|boot| self.shared.contains(&boot));
        let shares = match is_shared {
            true => String::new(),
            false => shares(&host.machine),
        };
        format!("{}: {slow}{did}{cpus}{shares}", host.called())
    }
}

/// How the ranks of a group began, and which of them are missing.
fn ranks(group: &GroupAccount, lost: usize) -> String {
    let there = (group.size as usize).saturating_sub(lost);
    let on = group.machines.map_or_else(String::new, |machines| {
        format!(" on {}", counted(machines, "machine"))
    });
    let skew = group.skew_ns.map_or_else(String::new, |skew| {
        let own = match group.unsynchronised {
            true => " by their own clocks",
            false => "",
        };
        format!(", begun within {} of each other{own}", Nanos(skew))
    });
    let bound = clocks(group, "; their clocks are", "; each clock within");
    let own = match group.target_is {
        Some(TargetReach::Local) => "; hosts use targets of their own",
        Some(TargetReach::Shared | TargetReach::Unknown) | None => "",
    };
    let lost = group.lost.iter().take(3);
    let lost = lost.map(|lost| format!("; rank {}: {}", lost.rank, lost.told()));
    let lost: String = lost.collect();
    let size = grouped(group.size);
    format!("{} of {size}{on}{skew}{bound}{own}{lost}", grouped(there))
}

/// How far a clock may be off by which ranks began.
fn clocks(group: &GroupAccount, are: &str, within: &str) -> String {
    match (group.unsynchronised, group.clock_bound_ns) {
        (true, _) => format!("{are} not kept in step"),
        (false, Some(bound)) => format!("{within} {}", Nanos(bound)),
        (false, None) => String::new(),
    }
}

/// Which rank's part a record is that was not joined yet.
fn part_of(group: &GroupAccount, number: u32) -> String {
    let clock = clocks(group, "; its clock is", "; its clock within");
    let size = grouped(group.size);
    format!("{number} of {size}, alone{clock}; `fathom merge` joins it with the others")
}

#[cfg(test)]
mod tests {
    use crate::terminal::{TerminalOptions, terminal};
    use record::{GroupAccount, Operations, Record};

    /// Ranks that did so many operations in a second, `each` of them on a machine.
    fn joined(counts: impl Iterator<Item = u64>, each: u32) -> String {
        let parts = (0_u32..).zip(counts).map(|(rank, count)| {
            let mut part = Record {
                id: rank.to_string(),
                kind: "run".into(),
                elapsed_ns: if count > 0 { 1_000_000_000 } else { 0 },
                group: Some(GroupAccount {
                    size: 1000,
                    ..GroupAccount::default()
                }),
                ..Record::default()
            };
            if count > 0 {
                let read = Operations {
                    count,
                    ..Operations::default()
                };
                part.operations.insert("read", read);
            }
            let host = part.generator_mut();
            host.rank = Some(rank);
            let machine = format!("n{}", rank / each);
            host.environment.system.boot_id = Some(machine.clone());
            host.environment.system.hostname = Some(machine);
            host.devices = vec![record::DeviceAccount {
                name: "vda".into(),
                read_bytes: 1,
                ..record::DeviceAccount::default()
            }];
            part
        });
        let record = Record::merge_all(parts).unwrap();
        terminal(&record, &[], &TerminalOptions::default())
    }

    fn labelled<'t>(text: &'t str, label: &str) -> Vec<&'t str> {
        let lines = text.lines();
        let lines = lines.filter_map(|line| line.strip_prefix(label));
        let lines = lines.filter(|rest| rest.starts_with(' '));
        lines.map(str::trim).collect()
    }

    #[test]
    fn few_hosts_are_told_one_by_one() {
        let text = joined((0..16).map(|n| 1000 + n), 1);
        assert_eq!(labelled(&text, "host").len(), 16);
        assert_eq!(labelled(&text, "device").len(), 16);
        let ranks = labelled(&text, "ranks");
        assert!(ranks[0].starts_with("1,000 of 1,000 on 16 machines, begun"));
    }

    #[test]
    fn a_slow_one_of_few_hosts_stands_first() {
        let text = joined([1000, 1010, 300, 1020].into_iter(), 1);
        let hosts = labelled(&text, "host");
        assert!(hosts[0].starts_with("n2 (rank 2): SLOW"), "{hosts:?}");
        assert!(hosts[1].starts_with("n0 (rank 0): 1,000"), "{hosts:?}");
    }

    #[test]
    fn of_a_host_to_which_nothing_fell_it_is_told_that_it_measured_nothing() {
        let text = joined([1000, 0].into_iter(), 1);
        let hosts = labelled(&text, "host");
        assert!(hosts[0].starts_with("n0 (rank 0): 1,000 operations, "));
        assert_eq!(hosts[1], "n1 (rank 1): measured nothing");
    }

    #[test]
    fn of_a_thousand_hosts_both_ends_and_the_middle_are_told() {
        let counts = (0..1000).map(|rank| match rank {
            700 => 0,
            rank => 100_000 + rank * 7 % 1000 * 100 - if rank == 13 { 60_000 } else { 0 },
        });
        let text = joined(counts, 1);
        assert!(text.lines().count() < 60, "{text}");
        assert_eq!(labelled(&text, "host"), [""; 0]);
        let slowest = labelled(&text, "slowest");
        assert_eq!(slowest.len(), 4);
        assert!(slowest[0].starts_with("n13 (rank 13): SLOW, 33% of the median host"));
        assert_eq!(labelled(&text, "median").len(), 1);
        let fastest = labelled(&text, "fastest");
        assert!(fastest[3].contains(": 199,900 operations"), "{fastest:?}");
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        assert!(
            words.contains("hosts 200 of 999 did less than 80% of"),
            "{text}"
        );
        assert!(words.contains("; 990 are not shown; 1 host measured nothing"));
    }

    /// A walk of which each rank looked at so many entries in a second, more the fewer directories.
    fn walked(count: u32) -> String {
        let parts = (0..count).map(|rank| {
            let mut part = Record {
                id: rank.to_string(),
                kind: "run".into(),
                elapsed_ns: 1_000_000_000,
                walk: Some(record::WalkAccount {
                    entries: 10_100 + u64::from(rank),
                    ..record::WalkAccount::default()
                }),
                ..Record::default()
            };
            let span = record::Span {
                start_ns: 0,
                end_ns: 1_000_000_000,
                elapsed_ns: 1_000_000_000,
            };
            part.spans.insert("walk".into(), span);
            let walk = Operations {
                count: u64::from(count - 1 - rank),
                ..Operations::default()
            };
            part.operations.insert("walk", walk);
            part.generator_mut().rank = Some(rank);
            part
        });
        let record = Record::merge_all(parts).unwrap();
        terminal(&record, &[], &TerminalOptions::default())
    }

    #[test]
    fn of_a_walk_each_host_is_told_by_the_entries_that_it_looked_at() {
        let few = walked(2);
        let hosts = labelled(&few, "host");
        assert!(
            hosts[1].contains(": 10,101 entries looked at, 10.1 K/s; directories: 0,"),
            "{few}"
        );
        assert!(!few.contains("0 operations"), "{few}");
        let many = walked(40);
        let slowest = labelled(&many, "slowest");
        assert!(slowest[0].contains("(rank 0): 10,100 entries"), "{many}");
        let fastest = labelled(&many, "fastest");
        assert!(fastest[3].contains("(rank 39): 10,139 entries"), "{many}");
    }

    #[test]
    fn of_a_lost_rank_is_said_when_it_was_heard_of_last() {
        let group = GroupAccount {
            size: 4,
            lost: vec![record::LostRank {
                rank: 3,
                why: "it was killed".into(),
                last_heard_ns: Some(3_200_000_000),
                ..record::LostRank::default()
            }],
            ..GroupAccount::default()
        };
        assert_eq!(
            super::ranks(&group, 1),
            "3 of 4; rank 3: it was killed, last heard of 3.2 s after the start"
        );
    }

    #[test]
    fn a_part_says_whose_it_is_and_not_that_all_are_there() {
        let mut part = Record {
            group: Some(GroupAccount {
                size: 8,
                launcher: "none".into(),
                clock_bound_ns: Some(2_000_000),
                ..GroupAccount::default()
            }),
            ..Record::default()
        };
        part.generator_mut().rank = Some(3);
        let text = terminal(&part, &[], &TerminalOptions::default());
        assert_eq!(
            labelled(&text, "rank"),
            ["3 of 8, alone; its clock within 2 ms; `fathom merge` joins it with the others"]
        );
        assert_eq!(labelled(&text, "ranks"), [""; 0]);
    }

    #[test]
    fn of_many_machines_some_are_told_and_the_rest_counted() {
        let text = joined((0..400).map(|_| 1000), 4);
        assert!(text.contains("of 1,000 on 100 machines"), "{text}");
        assert_eq!(labelled(&text, "machine").len(), 16);
        assert_eq!(
            labelled(&text, "machines"),
            ["84 more machines with several ranks"]
        );
        assert_eq!(labelled(&text, "device").len(), 4);
        assert_eq!(
            labelled(&text, "devices"),
            ["of 96 more machines were not busier"]
        );
    }
}
