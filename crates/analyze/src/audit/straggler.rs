//! One slow host is the rate of all where they wait for each other, and a doubt where not.

use super::{few_told, percent};
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity, SlowLatency, slow_hosts};
use record::{DeviceAccount, HostAccount, HostPart, MachineAccount, Record};
use units::Nanos;
use units::lossless::{f64_to_u64_saturating, u64_to_f64};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "straggler",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "A host did much less than the others",
    text: "\
The rate of each host of a joined record, in a closed loop, and with --stonewall that until
then: below 80 % of that of the median host; at a rate that was asked, a mean latency of
more than ten times the others' and 1 ms more; and what was busiest on it (CPUs, stolen time,
a device, a link, or what its tasks waited for), as far as its account knows; and for how
long it stood still (hosts[].series).
Hosts that were asked for the same and are built alike do the same. One that does half of
it has a slow link, a throttled CPU, a mount with other options or a neighbour, and the
sum of all says neither what the target can do nor what the host cannot.
What to do: run on that host alone and on another alone; mend it or leave it out, and
repeat.",
    checks: &[Check::Alone(check)],
};

const BUSY: f64 = 0.9;
const MOST_STEAL: f64 = 0.01;
const LEAST_THROTTLED: f64 = 0.01;
const HIGH_PRESSURE: f64 = 0.5;
/// So many times what is usual on the others is a host's own.
const BEYOND: f64 = 1.25;
/// An interval with less than this share of a host's usual one is one in which it stood still.
const STILL: f64 = 0.1;
const MOST_STILL: f64 = 0.1;

fn check(record: &Record) -> Vec<Finding> {
    // What was merged of hosts that nobody started together says nothing of them beside each other.
    if record.group.is_none() {
        return Vec::new();
    }
    let mut slow = slow_hosts(record);
    slow.sort_by(|a, b| a.share.total_cmp(&b.share));
    if slow.is_empty() {
        return Vec::new();
    }
    let hosts = record.host_parts();
    let told = slow.iter().filter_map(|slow| {
        let host = *hosts.get(slow.number)?;
        let did = match slow.latency {
            None => format!("did {} of what the median host did", percent(slow.share)),
            Some(SlowLatency { own, others }) => {
                format!("had a mean latency of {own}, the others {others}")
            }
        };
        let why = stopped(host.part).unwrap_or_else(|| {
            let busiest = busiest(host, &hosts);
            let busiest = busiest.as_deref();
            let busiest = busiest.unwrap_or("nothing on it is known to have been busy");
            format!("{busiest}{}", stood_still(host.host).unwrap_or_default())
        });
        Some(format!("{} {did}; {why}", slow.name))
    });
    let told: Vec<String> = told.collect();
    vec![RULE.finding(
        Severity::Warning,
        few_told(told),
        "run on that host alone and on another alone; mend it or leave it out, and repeat",
    )]
}

/// For how long its own generator stood still at the longest: that explains more than what was busy.
fn stopped(part: &Record) -> Option<String> {
    let longest = part.longest_stop_ns();
    (longest > 0).then(|| format!("its generator stood still for {}", Nanos(longest)))
}

/// For how long a host did next to nothing of what it did else, where that was a large part of the time.
fn stood_still(host: &HostAccount) -> Option<String> {
    let series = host.series.as_ref()?;
    // The last interval may be a short one.
    let (_, whole) = series.operations.split_last()?;
    let busy: Vec<f64> = whole.iter().copied().map(u64_to_f64).collect();
    let usual = busy.iter().copied().filter(|done| *done > 0.0);
    let usual = stats::sample::median(&usual.collect::<Vec<_>>());
    let still = busy.iter().filter(|done| **done < STILL * usual).count();
    let is_much = u64_to_f64(still as u64) > MOST_STILL * u64_to_f64(busy.len() as u64);
    let all = |count: usize| Nanos(series.interval_ns.saturating_mul(count as u64));
    is_much.then(|| format!("; it stood still for {} of {}", all(still), all(busy.len())))
}

/// What of a host was nearly all in use, and not as much on the others: what holds for all explains nobody's
/// difference.
fn busiest(own: HostPart<'_>, hosts: &[HostPart<'_>]) -> Option<String> {
    let others = hosts.iter().copied();
    let others: Vec<HostPart<'_>> = others
        .filter(|other| !std::ptr::eq(other.host, own.host))
        .collect();
    let is_own = |figure: &dyn Fn(HostPart<'_>) -> Option<f64>, least: f64| {
        let theirs = others
            .iter()
            .map(|other| figure(*other).unwrap_or_default());
        let theirs: Vec<f64> = theirs.collect();
        let usual = match theirs.is_empty() {
            true => 0.0,
            false => stats::sample::median(&theirs),
        };
        figure(own).filter(|figure| *figure > least && *figure > BEYOND * usual)
    };
    if let Some(steal) = is_own(&|of| of.host.machine.steal_share, MOST_STEAL) {
        return Some(format!(
            "the hypervisor took {} of its CPU time",
            percent(steal)
        ));
    }
    if let Some(share) = is_own(&throttled, LEAST_THROTTLED) {
        let over_ns = own.counted_over_ns();
        let stopped = f64_to_u64_saturating(share * u64_to_f64(over_ns));
        let long = super::starved::stopped_for(stopped, over_ns);
        return Some(format!("a CPU quota stopped it for {long}"));
    }
    if let Some(busy) = is_own(&|of| of.host.machine.busy_share, BUSY) {
        return Some(format!(
            "its CPUs were busy for {} of the time",
            percent(busy)
        ));
    }
    let link = |of: HostPart<'_>| Some(super::client_link::fullest(of)?.1);
    if let Some(share) = is_own(&link, BUSY) {
        let link = super::client_link::fullest(own);
        let name = link.map_or("link", |(link, _)| link.name.as_str());
        return Some(format!("its {name} was full to {}", percent(share)));
    }
    if let Some(share) = is_own(&|of| Some(busiest_device(of)?.1), BUSY) {
        let name = busiest_device(own).map_or("device", |(device, _)| device.name.as_str());
        let share = percent(share.min(1.0));
        return Some(format!("its {name} was busy for {share} of the time"));
    }
    let waits = WAITS.iter().filter_map(|(what, ns)| {
        let share = |of: HostPart<'_>| {
            let waited = ns(&of.host.machine)?;
            Some((u64_to_f64(waited) / u64_to_f64(of.counted_over_ns().max(1))).min(1.0))
        };
        Some((*what, is_own(&share, HIGH_PRESSURE)?))
    });
    let (what, share) = waits.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = percent(share);
    Some(format!(
        "some task on it waited for {what} for {share} of the time"
    ))
}

fn throttled(of: HostPart<'_>) -> Option<f64> {
    let ns = of.host.machine.throttled_ns?;
    Some(u64_to_f64(ns) / u64_to_f64(of.counted_over_ns().max(1)))
}

fn busiest_device(of: HostPart<'_>) -> Option<(&DeviceAccount, f64)> {
    let device = of.host.devices.iter().max_by_key(|device| device.busy_ns)?;
    let share = u64_to_f64(device.busy_ns) / u64_to_f64(of.counted_over_ns().max(1));
    Some((device, share))
}

type Waited = fn(&MachineAccount) -> Option<u64>;
/// What tasks of a machine wait for.
const WAITS: [(&str, Waited); 3] = [
    ("a CPU", |machine| machine.pressure_cpu_ns),
    ("memory", |machine| machine.pressure_memory_ns),
    ("storage", |machine| machine.pressure_io_ns),
];

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, blocks, group_of, only, sound};
    use super::*;

    #[test]
    fn the_slow_host_is_named_with_what_was_busy_on_it() {
        let slow = |change: fn(&mut Record)| {
            let record = group_of(3, |rank, part| {
                if rank == 1 {
                    part.elapsed_ns *= 2;
                    change(part);
                }
            });
            only(&check(&record)).to_owned()
        };
        let did = "node1 (rank 1) did 50% of what the median host did; ";
        let text = slow(|part| part.generator_mut().machine.steal_share = Some(0.4));
        assert_eq!(
            text,
            format!("{did}the hypervisor took 40% of its CPU time")
        );
        let text = slow(|part| part.generator_mut().machine.busy_share = Some(0.97));
        assert_eq!(text, format!("{did}its CPUs were busy for 97% of the time"));
        let text = slow(|part| {
            let machine = &mut part.generator_mut().machine;
            machine.pressure_cpu_ns = Some(1_000_000);
            machine.pressure_memory_ns = Some(12_000_000_000);
        });
        let waited = "some task on it waited for memory for 60% of the time";
        assert_eq!(text, format!("{did}{waited}"));
    }

    #[test]
    fn a_generator_that_stood_still_needs_no_other_reason() {
        let record = group_of(3, |rank, part| {
            if rank == 1 {
                part.elapsed_ns *= 2;
                part.generator_mut().machine.steal_share = Some(0.4);
                part.stops = vec![record::Stoppage {
                    start_ns: SECOND,
                    end_ns: 3 * SECOND,
                    suspended_ns: 0,
                }];
            }
        });
        let text = only(&check(&record)).to_owned();
        let why =
            "node1 (rank 1) did 50% of what the median host did; its generator stood still for 2 s";
        assert_eq!(text, why);
    }

    #[test]
    fn what_holds_for_all_hosts_is_no_reason_of_one() {
        let record = group_of(3, |rank, part| {
            part.generator_mut().machine.steal_share = Some(0.056);
            part.generator_mut().machine.busy_share = Some(0.98);
            if rank == 1 {
                part.elapsed_ns *= 2;
                part.generator_mut().machine.pressure_io_ns = Some(12_000_000_000);
            }
        });
        let text = only(&check(&record)).to_owned();
        assert!(text.contains("waited for storage for 60%"), "{text}");
    }

    #[test]
    fn of_a_host_that_stood_still_it_is_said_for_how_long() {
        let with = |idle: std::ops::Range<u64>| {
            let record = group_of(3, |rank, part| {
                part.interval_ns = SECOND;
                let intervals = (0..20).map(|second| {
                    let mut interval = record::Interval {
                        start_ns: second * SECOND,
                        ..record::Interval::default()
                    };
                    if rank != 1 || !idle.contains(&second) {
                        interval.operations.insert("read", blocks(5_000, 1));
                    }
                    interval
                });
                part.series = intervals.collect();
                part.elapsed_ns *= if rank == 1 { 2 } else { 1 };
            });
            only(&check(&record)).to_owned()
        };
        assert!(with(3..13).ends_with("; it stood still for 10 s of 19 s"));
        assert!(with(3..4).ends_with("is known to have been busy"));
    }

    #[test]
    fn a_host_at_which_nobody_looked_in_time_did_not_stand_still() {
        let record = group_of(3, |rank, part| {
            part.interval_ns = SECOND;
            // Nobody looked for nine of ten seconds.
            let intervals = [(0, 9), (9, 10)].map(|(start, end)| {
                let mut interval = record::Interval {
                    start_ns: start * SECOND,
                    end_ns: end * SECOND,
                    ..record::Interval::default()
                };
                let count = 10_000 * (end - start);
                interval.operations.insert("read", blocks(count, 1));
                interval
            });
            part.series = intervals.into();
            part.elapsed_ns *= if rank == 1 { 2 } else { 1 };
        });
        assert!(only(&check(&record)).ends_with("is known to have been busy"));
    }

    #[test]
    fn of_many_slow_hosts_the_slowest_are_named() {
        let record = group_of(100, |rank, part| {
            if rank < 20 {
                part.elapsed_ns *= 4 - u64::from(rank == 19 || rank < 2);
            }
        });
        let text = only(&check(&record)).to_owned();
        assert!(text.starts_with("node2 (rank 2) did 25% of"), "{text}");
        assert!(text.ends_with("; and so 16 more"), "{text}");
    }

    #[test]
    fn hosts_that_are_alike_and_one_host_are_no_stragglers() {
        assert_eq!(check(&group_of(3, |_, _| ())), []);
        assert_eq!(check(&sound()), []);
    }
}
