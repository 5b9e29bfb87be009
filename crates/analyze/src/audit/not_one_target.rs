//! What was said to be one target was not seen by all.

use super::{MOST_NAMED, few};
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "not_one_target",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "Not all ranks saw the target that was said to be one",
    text: "\
With --target-is shared, rank 0 puts a mark into the target all the same, and the others look
for it; those that do not see it (group.unseen_by) are told of. Without that option 1 blind
rank among others is refused before anything is written.
A file system that keeps names for a while (NFS) hides a new file for up to a minute, and
then all is well. Where a host has not mounted it, its ranks measure their own disk under the
same name, and the sum is of two things.
What to do: look whether the path is mounted on each of these hosts; leave --target-is away,
which refuses what is not the same.",
    checks: &[Check::Alone(check)],
};

fn check(record: &Record) -> Vec<Finding> {
    let blind = record
        .group
        .as_ref()
        .map(|group| group.unseen_by.as_slice());
    let Some(blind) = blind.filter(|blind| !blind.is_empty()) else {
        return Vec::new();
    };
    let called = |rank: &u32| {
        let mut hosts = record.generators();
        let host = hosts.find(|host| host.rank == Some(*rank));
        host.map_or_else(|| format!("rank {rank}"), |host| host.called().into_owned())
    };
    let names: Vec<String> = blind.iter().map(called).collect();
    let message = format!(
        "--target-is shared was given, and {} did not see the mark of rank 0 in the target: a cache of names, or another directory",
        few(names, MOST_NAMED)
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "look whether the path is mounted on each of these hosts; leave --target-is away, which refuses what is not the same",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::example::{group, only};
    use super::*;

    #[test]
    fn ranks_that_did_not_see_the_mark_are_named() {
        let mut record = group(3);
        assert_eq!(check(&record), []);
        record.group.as_mut().unwrap().unseen_by = vec![1, 9];
        assert_eq!(
            only(&check(&record)),
            "--target-is shared was given, and node1 (rank 1), rank 9 did not see the mark of rank 0 in the target: a cache of names, or another directory"
        );
    }
}
