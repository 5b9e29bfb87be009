//! Fewer hosts are another experiment.

use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;
use units::counted;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "hosts_lost",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "Ranks are missing from a record of a group",
    text: "\
The ranks of which no part was joined, whose part measured nothing, or that were lost on
the way (group.lost), and why. What was kept of one until then is in the record.
A rate of 6 ranks is not that of 8 less a quarter: the target had less to do, and each of
those that were there got more of it. A client that died may also be what the target did
to it. Tools that report the rest as the result hide both.
What to do: find why they are missing, and repeat with all of them, or with as many as
there are and their number as the group's.",
    checks: &[Check::Alone(check)],
};

/// So many are named.
const NAMED: usize = 4;

fn check(record: &Record) -> Vec<Finding> {
    let Some(group) = record.group.as_ref().filter(|group| !group.lost.is_empty()) else {
        return Vec::new();
    };
    let named = group.lost.iter().take(NAMED).map(|lost| {
        let host = lost
            .host
            .as_ref()
            .map_or_else(String::new, |host| format!(" on {host}"));
        format!("rank {}{host}: {}", lost.rank, lost.told())
    });
    let lost = record.lost_ranks();
    let more = lost.saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    let named: Vec<String> = named.chain(more).collect();
    let message = format!(
        "{} of {} took no part, or none to the end ({})",
        counted(lost, "rank"),
        group.size,
        named.join("; ")
    );
    vec![RULE.finding(
        Severity::Invalid,
        message,
        "find why they are missing, and repeat with all of them",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::example::{group, only};
    use super::*;
    use record::LostRank;

    #[test]
    fn each_lost_rank_is_named_with_the_reason() {
        let mut record = group(2);
        assert_eq!(check(&record), []);
        let lost = |rank: u32| LostRank {
            rank,
            host: (rank == 2).then(|| "c".to_owned()),
            why: "gone".into(),
            last_heard_ns: (rank == 2).then_some(3_200_000_000),
        };
        let told = record.group.as_mut().unwrap();
        (told.size, told.lost) = (8, (2..8).map(lost).collect());
        assert_eq!(
            only(&check(&record)),
            "6 ranks of 8 took no part, or none to the end (rank 2 on c: gone, last heard of 3.2 s after the start; rank 3: gone; rank 4: gone; rank 5: gone; 2 more)"
        );
    }
}
