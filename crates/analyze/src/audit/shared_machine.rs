//! Two ranks on one machine are no two hosts.

use super::{MOST_NAMED, few_told};
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Record, by_machine};
use units::few;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "shared_machine",
    catalogue_number: None,
    severity: Severity::Note,
    title: "Several ranks ran on one machine",
    text: "\
The boots (environment.system.boot_id) of the hosts of a group: 2 ranks of one boot have
one set of CPUs, one page cache, one network link and one kernel.
Ranks that are counted as hosts but share a machine say nothing of how the target serves
several clients, and each takes CPU time from the others. Reads of what a rank beside
wrote may come from the page cache that they share.
What to do: start one rank a machine, with more --threads where one is not enough.",
    checks: &[Check::Alone(check)],
};

fn check(record: &Record) -> Vec<Finding> {
    if record.group.is_none() {
        return Vec::new();
    }
    let machines = by_machine(record.generators(), |host| host).into_iter();
    let shared = machines.filter(|ranks| ranks.len() > 1);
    let names = shared.map(|ranks| {
        let names = ranks.iter().map(|host| host.called().into_owned());
        few(&names.collect::<Vec<_>>(), MOST_NAMED)
    });
    let shared: Vec<String> = names.collect();
    if shared.is_empty() {
        return Vec::new();
    }
    let message = format!("ranks share a machine: {}", few_told(shared));
    vec![RULE.finding(
        Severity::Note,
        message,
        "start one rank a machine, with more --threads where one is not enough",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::example::{group, only};
    use super::*;

    #[test]
    fn ranks_of_one_boot_are_named_together() {
        let mut record = group(3);
        assert_eq!(check(&record), []);
        for host in record.hosts.iter_mut().take(2) {
            host.environment.system.boot_id = Some("one".into());
        }
        assert_eq!(
            only(&check(&record)),
            "ranks share a machine: node0 (rank 0), node1 (rank 1)"
        );
    }
}
