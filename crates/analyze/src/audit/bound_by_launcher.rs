//! A launcher that binds ranks leaves their workers fewer CPUs than the machine has.

use super::few_told;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{CpuFacts, GroupAccount, Record};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "bound_by_launcher",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "The launcher left a rank fewer CPUs than it has workers",
    text: "\
The CPUs that a rank was allowed (environment.process.allowed_cpus) beside its workers and
the CPUs of its machine: fewer than both, in a group that a launcher started; 1 CPU for
4 workers is a quarter of what they could do.
Open MPI binds each rank to one core, and Slurm gives each task one CPU, unless they are
told otherwise: all workers of a rank then wait for one CPU while the others idle, and
what was measured is that CPU.
What to do: --bind-to none (Open MPI), -bind-to none (MPICH), --cpu-bind=none and
--cpus-per-task (Slurm); `fathom run --hosts` says so by itself.",
    checks: &[Check::Alone(check)],
};

fn check(record: &Record) -> Vec<Finding> {
    let launched = record.group.as_ref();
    if !launched.is_some_and(GroupAccount::is_connected) {
        return Vec::new();
    }
    let hosts = record.generators().zip(0_u32..);
    let bound = hosts.filter_map(|(host, number)| {
        let environment = &host.environment;
        let allowed = environment.process.allowed_cpus.as_ref()?.ids().len();
        let own = record.workers.iter().filter(|own| own.host == number);
        let (workers, there) = (own.count(), cpus(&environment.cpu)?);
        (allowed < workers && allowed < there).then(|| {
            format!(
                "{} had {allowed} of {there} CPUs for {workers} workers",
                host.called()
            )
        })
    });
    let bound: Vec<String> = bound.collect();
    if bound.is_empty() {
        return Vec::new();
    }
    vec![RULE.finding(
        Severity::Warning,
        few_told(bound),
        "tell the launcher not to bind: --bind-to none (Open MPI), -bind-to none (MPICH), --cpu-bind=none with --cpus-per-task (Slurm)",
    )]
}

/// The CPUs that a machine has for whoever is allowed all of them.
fn cpus(cpu: &CpuFacts) -> Option<usize> {
    let online = cpu.online.as_ref().map(|online| online.ids().len());
    online.or(cpu.logical.and_then(|cpus| usize::try_from(cpus).ok()))
}

#[cfg(test)]
mod tests {
    use super::super::example::{group_of, only};
    use super::*;
    use record::WorkerAccount;

    /// Two ranks of four workers on machines of eight CPUs, the second with so many for itself.
    fn with_allowed(allowed: u32) -> Record {
        let mut record = group_of(2, |rank, part| {
            part.workers = vec![WorkerAccount::default(); 4];
            let environment = &mut part.generator_mut().environment;
            environment.cpu.online = Some((0..8).collect());
            let own = if rank == 1 { allowed } else { 8 };
            environment.process.allowed_cpus = Some((0..own).collect());
        });
        record.group.as_mut().unwrap().launcher = "Open MPI".into();
        record
    }

    #[test]
    fn a_rank_with_fewer_cpus_than_workers_is_named() {
        assert_eq!(
            only(&check(&with_allowed(1))),
            "node1 (rank 1) had 1 of 8 CPUs for 4 workers"
        );
        assert_eq!(check(&with_allowed(4)), [], "a CPU for each worker");
        let mut alone = with_allowed(1);
        alone.group.as_mut().unwrap().launcher = "none".into();
        assert_eq!(check(&alone), [], "nobody bound it");
    }
}
