//! What was said to be one target was not seen by all.

use super::MOST_NAMED;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Record, WalkLevels};
use units::few;

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
Ranks that walk one tree (--meta walk) deal out what lies below a level that each of them
finds by itself. Where these levels differ (walk.levels) they saw different directories, and
entries of the walk may have been counted twice or by nobody: the finding is invalid then.
What to do: look whether the path is mounted on each of these hosts; leave --target-is away,
which refuses what is not the same.",
    checks: &[Check::Alone(check), Check::Alone(walked_apart)],
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
        few(&names, MOST_NAMED)
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "look whether the path is mounted on each of these hosts; leave --target-is away, which refuses what is not the same",
    )]
}

/// Ranks dealt the tree out below different levels.
fn walked_apart(record: &Record) -> Vec<Finding> {
    let levels = record.walk.and_then(|walk| walk.levels);
    let Some(WalkLevels { fewest, most }) = levels.filter(|levels| !levels.agree()) else {
        return Vec::new();
    };
    let message = format!(
        "ranks saw different directories and dealt the walk out below level {fewest} and below level {most}: entries may be counted twice or not at all"
    );
    vec![RULE.finding(
        Severity::Invalid,
        message,
        "walk when nothing changes the tree and no host remembers other names",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::example::{group, group_of, only};
    use super::*;
    use record::TargetReach;

    #[test]
    fn a_walk_that_was_dealt_out_below_different_levels_is_invalid() {
        let mut record = group(3);
        let mut found = |fewest, most| {
            record.walk = Some(record::WalkAccount {
                levels: Some(WalkLevels { fewest, most }),
                ..record::WalkAccount::default()
            });
            walked_apart(&record)
        };
        assert_eq!(found(2, 2), []);
        let told = found(2, 3);
        assert_eq!(told[0].severity, Severity::Invalid);
        assert!(only(&told).contains("below level 2 and below level 3"));
    }

    #[test]
    fn a_walk_over_targets_that_each_machine_has_for_itself_is_judged_by_target() {
        let found = |levels: [u32; 4]| {
            walked_apart(&group_of(4, |rank, part| {
                let own = levels[rank as usize];
                let levels = WalkLevels {
                    fewest: own,
                    most: own,
                };
                part.walk = Some(record::WalkAccount {
                    levels: Some(levels),
                    ..record::WalkAccount::default()
                });
                part.group.as_mut().unwrap().target_is = Some(TargetReach::Local);
                part.generator_mut().target_set = Some(rank / 2);
            }))
        };
        assert_eq!(found([1, 1, 2, 2]), []);
        let told = found([1, 1, 2, 4]);
        assert!(only(&told).contains("below level 2 and below level 4"));
    }

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
