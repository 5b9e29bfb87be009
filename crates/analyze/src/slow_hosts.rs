//! Which of several hosts did much less than the others.

use crate::Effective;
use record::{HostPart, Record, StonewallAccount};
use units::Nanos;
use units::lossless::{f64_to_u64_saturating, u64_to_f64};

/// Below this share of what the median host did, a host is slow.
pub const SLOW_HOST: f64 = 0.8;

/// So many times the mean latency of the others, and so much more, is that of a slow host.
const SLOW_LATENCY: f64 = 10.0;
const LEAST_MORE_NS: f64 = 1e6;

/// Of fewer operations the rate is chance.
const FEWEST: u64 = 100;

/// A host that did much less than its like.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowHost {
    /// Its place among the hosts of the record.
    pub number: usize,
    pub name: String,
    /// Its rate over that of the median host; where a schedule says the rate, the median of the others' mean
    /// latency over its own.
    pub share: f64,
    /// Where a schedule says the rate.
    pub latency: Option<SlowLatency>,
}

/// The mean latency of a host, and the median of those of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowLatency {
    pub own: Nanos,
    pub others: Nanos,
}

impl SlowHost {
    /// What people read beside its name.
    #[must_use]
    pub fn text(&self) -> String {
        match self.latency {
            None => format!("SLOW, {:.0}% of the median host", self.share * 100.0),
            Some(SlowLatency { own, others }) => {
                format!("SLOW, mean latency {own} where the others have {others}")
            }
        }
    }
}

/// Hosts whose rate, until the stonewall where there is one, is below 80 % of the median of all, or, where a schedule
/// says what each does, whose mean latency is more than ten times that of the others and 1 ms more: none where there is
/// one host, none where directories of any size are what an operation is, none where nobody did more than some
/// operations, and none that had nothing to do.
#[must_use]
pub fn slow_hosts(record: &Record) -> Vec<SlowHost> {
    let hosts = record.host_parts();
    if hosts.len() < 2 || record.walk.is_some() {
        return Vec::new();
    }
    if Effective::of(record).is_limited() {
        return slow_at_a_rate(&hosts);
    }
    let rate = |own: &Record| {
        // What comes after the stonewall is work that others left.
        let until = own.stonewall.as_ref();
        let until = until.and_then(StonewallAccount::per_second);
        until
            .or_else(|| own.operations_per_second())
            .or_else(|| over_kinds(own))
    };
    let worked = hosts.iter().enumerate();
    let worked = worked.filter(|(_, own)| own.part.had_work());
    let rates: Vec<_> = worked
        .map(|(at, own)| (at, own.host, rate(own.part).unwrap_or_default()))
        .collect();
    let most = hosts.iter().map(|own| own.part.operations.count()).max();
    if rates.is_empty() || most.unwrap_or(0) < FEWEST {
        return Vec::new();
    }
    let all: Vec<f64> = rates.iter().map(|(_, _, rate)| *rate).collect();
    let median = stats::sample::median(&all);
    let slow = rates
        .iter()
        .filter(|(_, _, rate)| *rate < SLOW_HOST * median);
    slow.map(|(number, host, rate)| SlowHost {
        number: *number,
        name: host.called().into_owned(),
        share: rate / median,
        latency: None,
    })
    .collect()
}

/// All are asked for the same, and who cannot keep up shows in what waits there: a stall of seconds as well as a
/// host on which all takes long.
fn slow_at_a_rate(hosts: &[HostPart<'_>]) -> Vec<SlowHost> {
    let means = hosts.iter().map(|own| {
        let all = own.part.operations.together();
        let mean = all.latency.mean();
        mean.filter(|_| all.latency.count() >= FEWEST)
    });
    let means: Vec<Option<f64>> = means.collect();
    let others = |number: usize| {
        let others = means.iter().enumerate();
        let others = others.filter(|(at, _)| *at != number);
        let others: Vec<f64> = others.filter_map(|(_, mean)| *mean).collect();
        (!others.is_empty()).then(|| stats::sample::median(&others))
    };
    let slow = hosts.iter().enumerate().filter_map(|(number, own)| {
        let (mean, others) = (means[number]?, others(number)?);
        let is_slow = mean > SLOW_LATENCY * others && mean - others > LEAST_MORE_NS;
        is_slow.then(|| SlowHost {
            number,
            name: own.host.called().into_owned(),
            share: others / mean,
            latency: Some(SlowLatency {
                own: Nanos(f64_to_u64_saturating(mean)),
                others: Nanos(f64_to_u64_saturating(others)),
            }),
        })
    });
    slow.collect()
}

/// The rate of kinds that follow each other, over the time that they took here: alike hosts do as much of each. The time
/// in which one waits for others belongs to no kind.
fn over_kinds(own: &Record) -> Option<f64> {
    let spans = own.spans.values().map(|span| span.elapsed_ns);
    let took = spans.sum::<u64>();
    (took > 0).then(|| u64_to_f64(own.operations.count()) * 1e9 / u64_to_f64(took))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Operations, Span};

    fn group(counts: &[u64]) -> Record {
        changed(counts, 0, |_| ())
    }

    /// Hosts that did so many operations in a second, one of them changed.
    fn changed(counts: &[u64], number: u32, change: fn(&mut Record)) -> Record {
        let parts = counts.iter().zip(0_u32..).map(|(count, rank)| {
            let mut part = Record {
                id: rank.to_string(),
                elapsed_ns: 1_000_000_000,
                ..Record::default()
            };
            let read = Operations {
                count: *count,
                ..Operations::default()
            };
            part.operations.insert("read", read);
            part.loops.worker_ns = part.elapsed_ns.into();
            let host = part.generator_mut();
            host.environment.system.hostname = Some(format!("node{rank}"));
            host.rank = Some(rank);
            if rank == number {
                change(&mut part);
            }
            part
        });
        Record::merge_all(parts).unwrap()
    }

    #[test]
    fn the_host_that_did_half_of_what_the_others_did_is_slow() {
        let slow = slow_hosts(&group(&[1000, 1000, 500, 1010]));
        assert_eq!(slow.len(), 1);
        assert_eq!(
            (slow[0].number, slow[0].name.as_str()),
            (2, "node2 (rank 2)")
        );
        assert_eq!(slow[0].text(), "SLOW, 50% of the median host");
        assert_eq!(slow_hosts(&group(&[1000, 600]))[0].number, 1);
        assert_eq!(slow_hosts(&group(&[0, 700]))[0].share, 0.0);
    }

    #[test]
    fn of_an_even_number_the_median_is_the_mean_of_the_two_in_the_middle() {
        assert_eq!(slow_hosts(&group(&[1000, 700])), [], "82% of 850");
        let slow = slow_hosts(&group(&[1400, 1000, 600, 500]));
        let shares: Vec<f64> = slow.iter().map(|slow| slow.share).collect();
        assert_eq!(shares, [0.75, 0.625]);
    }

    #[test]
    fn of_work_with_a_stonewall_the_rates_until_then_are_compared() {
        // In the wear-out all do as much as the fastest, host 2 with the time that it takes.
        let worn_out = |part: &mut Record| {
            part.elapsed_ns *= 3;
            part.stonewall = Some(StonewallAccount {
                at_ns: 500_000_000,
                operations: 490,
                ..StonewallAccount::default()
            });
        };
        assert_eq!(slow_hosts(&changed(&[1000, 1000, 1000], 2, worn_out)), []);
        let slow = |part: &mut Record| {
            part.stonewall = Some(StonewallAccount {
                at_ns: 500_000_000,
                operations: 250,
                ..StonewallAccount::default()
            });
        };
        let slow = slow_hosts(&changed(&[1000, 1000, 1000], 2, slow));
        assert_eq!((slow.len(), slow[0].share), (1, 0.5));
        // Who had done all before it has the rate of the time that it took.
        let early = |part: &mut Record| part.stonewall = Some(StonewallAccount::default());
        assert_eq!(slow_hosts(&changed(&[1000, 1000, 1000], 2, early)), []);
    }

    #[test]
    fn of_kinds_that_follow_each_other_the_time_that_they_took_is_compared() {
        // The others waited for it between the two.
        let kinds = |part: &mut Record, created_ns: u64| {
            let stat = Operations {
                count: 1000,
                ..Operations::default()
            };
            part.operations.insert("stat", stat);
            let span = |start_ns: u64, elapsed_ns: u64| Span {
                start_ns,
                end_ns: start_ns + elapsed_ns,
                elapsed_ns,
            };
            part.spans = [
                ("read".to_owned(), span(0, created_ns)),
                ("stat".to_owned(), span(900_000_000, 100_000_000)),
            ]
            .into();
        };
        let parts = (0..3).map(|rank| {
            let mut part = changed(&[1000, 1000, 1000], 9, |_| ()).by_host()[rank]
                .clone()
                .into_owned();
            kinds(&mut part, if rank == 1 { 900_000_000 } else { 300_000_000 });
            part
        });
        let slow = slow_hosts(&Record::merge_all(parts).unwrap());
        assert_eq!((slow.len(), slow[0].number, slow[0].share), (1, 1, 0.4));
    }

    #[test]
    fn hosts_that_are_alike_or_alone_or_do_as_a_schedule_says_are_not_slow() {
        assert!(slow_hosts(&group(&[1000, 900, 801])).is_empty());
        assert!(slow_hosts(&group(&[1000])).is_empty());
        assert!(slow_hosts(&group(&[0, 0])).is_empty());
        let never_began = |part: &mut Record| (part.elapsed_ns, part.operations) = <_>::default();
        assert!(slow_hosts(&changed(&[1000, 0, 990], 1, never_began)).is_empty());
        let idle = |part: &mut Record| {
            (part.operations, part.loops) = <_>::default();
            part.elapsed_ns = 300_000;
        };
        assert!(slow_hosts(&changed(&[1000, 0, 990], 1, idle)).is_empty());
        let stuck = |part: &mut Record| {
            part.operations = record::Measurements::default();
            part.loops.abandoned = 1;
        };
        let slow = slow_hosts(&changed(&[1000, 0, 990], 1, stuck));
        assert_eq!(slow.len(), 1, "it had work");
        let mut paced = group(&[1000, 500]);
        paced.effective.insert("rate-iops".into(), "1500".into());
        assert!(slow_hosts(&paced).is_empty());
        let waits = |counts: &[u64], ns: u64| {
            let mut parts: Vec<Record> = group(counts)
                .by_host()
                .iter()
                .map(|part| part.clone().into_owned())
                .collect();
            for (part, rank) in parts.iter_mut().zip(0..) {
                part.effective.insert("rate-iops".into(), "1500".into());
                let mut read = part.operations.kind("read").cloned().unwrap();
                let latency = if rank == 2 { ns } else { 100_000 };
                read.latency.record_many(latency, read.count);
                part.operations = record::Measurements::default();
                part.operations.insert("read", read);
            }
            slow_hosts(&Record::merge_all(parts).unwrap())
        };
        let slow = waits(&[1000, 1000, 1000], 60_000_000);
        assert_eq!((slow.len(), slow[0].number), (1, 2));
        assert!(slow[0].text().contains("where the others have"));
        assert_eq!(waits(&[1000, 1000, 1000], 900_000), [], "9 times");
        assert_eq!(waits(&[1000, 1000, 10], 60_000_000), [], "too few");
        let mut walked = group(&[1000, 500]);
        walked.walk = Some(record::WalkAccount::default());
        assert!(slow_hosts(&walked).is_empty());
    }
}
