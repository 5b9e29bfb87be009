//! A generator without CPU measures the scheduler.

use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "starved",
    catalogue_number: Some(54),
    severity: Severity::Warning,
    title: "The generator did not get the CPU that it needed",
    text: "\
The time that workers were runnable without a CPU (workers[].run_queue_wait_ns, above 5
%), the share taken by the hypervisor (machine.steal_share, above 1 %), and the time
stopped by a CPU quota (machine.throttled_ns, summed over its CPUs, above 1 %).
An operation that is finished but not yet seen counts as in flight. A worker that waits
10 % of its time for a CPU adds that wait to its latencies and takes it from its rate:
the storage seems slower than it is, most of all in the tail.
What to do: use no more --threads than idle CPUs, stop other work, raise the container's
CPU limit, or repeat when the host is quiet.",
    checks: &[
        Check::OfHost(check),
        Check::Together(super::set::steal_unrecorded::check),
    ],
};

const MOST_WAIT: f64 = 0.05;
const MOST_STEAL: f64 = 0.01;
const MOST_THROTTLED: f64 = 0.01;
/// A megabyte of pages of 4 KiB.
const MOST_SWAPPED: u64 = 256;

pub(super) fn check(record: &Record) -> Vec<Finding> {
    // A rank that had nothing to do needed none.
    if record.generator().rank.is_some() && !record.had_work() {
        return Vec::new();
    }
    // Virtual time stands still while the CPU is away.
    if record.elapsed_ns == 0 || Effective::of(record).has_virtual_time() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let waits = record
        .workers
        .iter()
        .filter_map(|worker| Some((worker.run_queue_wait_ns?, worker.index)));
    if let Some((wait, index)) = waits
        .max()
        .filter(|(wait, _)| ratio(*wait, record.elapsed_ns) > MOST_WAIT)
    {
        let message = format!(
            "worker {index} was runnable without a CPU for {} of the time",
            percent(ratio(wait, record.elapsed_ns))
        );
        out.push(RULE.finding(
            Severity::Warning,
            message,
            "use no more --threads than idle CPUs, and stop other work on this machine",
        ));
    }
    if let Some(steal) = record
        .generator()
        .machine
        .steal_share
        .filter(|steal| *steal > MOST_STEAL)
    {
        let message = format!(
            "the hypervisor took {} of this machine's CPU time",
            percent(steal)
        );
        out.push(RULE.finding(
            Severity::Warning,
            message,
            "repeat when the host is quiet, or on a machine with CPUs of its own",
        ));
    }
    let over_ns = record.counted_over_ns();
    let throttled = record.generator().machine.throttled_ns;
    if let Some(throttled) = throttled.filter(|ns| ratio(*ns, over_ns) > MOST_THROTTLED) {
        let message = format!(
            "the control group's CPU quota stopped this process for {}",
            stopped_for(throttled, over_ns)
        );
        out.push(RULE.finding(
            Severity::Warning,
            message,
            "raise the CPU limit of the container",
        ));
    }
    if let Some(pages) = record
        .generator()
        .machine
        .swapped_pages
        .filter(|pages| *pages > MOST_SWAPPED)
    {
        let message = format!("{pages} pages were swapped in or out during the run");
        out.push(RULE.finding(
            Severity::Warning,
            message,
            "free memory first: a machine that swaps does I/O of its own and stops for it",
        ));
    }
    out
}

/// How long a quota stopped a process, which kernels say as a sum over CPUs.
pub(super) fn stopped_for(throttled_ns: u64, over_ns: u64) -> String {
    let share = ratio(throttled_ns, over_ns);
    if share <= 1.0 {
        return format!("{} of the time", percent(share));
    }
    let [throttled, over] = [Nanos(throttled_ns), Nanos(over_ns)];
    format!("{throttled}, summed over its CPUs, in {over}")
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, only, sound};
    use super::*;

    #[test]
    fn a_worker_that_waited_for_a_cpu_is_found() {
        let mut record = sound();
        record.workers[0].run_queue_wait_ns = Some(SECOND);
        assert_eq!(
            only(&check(&record)),
            "worker 0 was runnable without a CPU for 10% of the time"
        );
    }

    #[test]
    fn stolen_and_throttled_time_is_found() {
        let mut record = sound();
        record.generator_mut().machine.steal_share = Some(0.07);
        assert_eq!(
            only(&check(&record)),
            "the hypervisor took 7% of this machine's CPU time"
        );
        let mut modelled = record.clone();
        super::super::example::set(&mut modelled, "engine", "sim");
        assert_eq!(check(&modelled), []);
        record.generator_mut().machine.steal_share = Some(0.009);
        record.generator_mut().machine.throttled_ns = Some(SECOND / 2);
        assert!(only(&check(&record)).ends_with("stopped this process for 5% of the time"));
        record.generator_mut().machine.throttled_ns = Some(12 * SECOND);
        assert!(
            only(&check(&record))
                .ends_with("stopped this process for 12 s, summed over its CPUs, in 10 s")
        );
    }

    #[test]
    fn a_machine_that_swaps_is_found() {
        let mut record = sound();
        record.generator_mut().machine.swapped_pages = Some(256);
        assert_eq!(check(&record), []);
        record.generator_mut().machine.swapped_pages = Some(4000);
        assert_eq!(
            only(&check(&record)),
            "4000 pages were swapped in or out during the run"
        );
    }

    #[test]
    fn a_rank_that_had_nothing_to_do_needed_no_cpu() {
        let mut record = sound();
        record.generator_mut().rank = Some(1);
        record.generator_mut().machine.throttled_ns = Some(12 * SECOND);
        assert_eq!(check(&record).len(), 1);
        record.operations = record::Measurements::default();
        record.loops = record::LoopAccount::default();
        assert_eq!(check(&record), []);
    }

    #[test]
    fn unknown_times_are_not_found() {
        let mut record = sound();
        record.workers[0].run_queue_wait_ns = None;
        assert_eq!(check(&record), []);
    }
}
