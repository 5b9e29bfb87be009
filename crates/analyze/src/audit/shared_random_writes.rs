//! Several workers that write the same blocks in random order leave content that depends on timing.

use super::counted;
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "shared_random_writes",
    catalogue_number: None,
    severity: Severity::Note,
    title: "Several workers wrote the same blocks in random order",
    text: "\
More than one thread, a shared file, random offsets and writes: two workers may write
one block at the same time (effective threads, file-distribution, random).
As a load that is fine, and databases do it. What a block holds afterwards depends on
timing, though: two runs with one seed leave different files, and 4 workers that verify
what they wrote would find each other's blocks.
What to do: for comparable content use --file-distribution partitioned, for exclusion
--lock-mode range; otherwise nothing.",
    checks: &[Check::Each(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let threads = effective.number("threads").unwrap_or(1);
    let shared = effective.text("file-distribution") == Some("shared");
    if threads < 2 || !shared || !effective.is_on("random") || counted(record, "write").count == 0 {
        return Vec::new();
    }
    let message = format!(
        "{threads} workers wrote the same blocks in random order: what a block holds at the end depends on timing"
    );
    let advice = "as a load this is fine; for comparable content use --file-distribution partitioned, for exclusion --lock-mode range";
    vec![RULE.finding(Severity::Note, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, writing};
    use super::*;

    #[test]
    fn four_workers_on_one_file_are_noted_and_partitions_are_not() {
        let mut record = writing();
        set(&mut record, "threads", "4");
        set(&mut record, "file-distribution", "shared");
        assert!(only(&check(&record)).starts_with("4 workers wrote the same blocks"));
        set(&mut record, "file-distribution", "partitioned");
        assert_eq!(check(&record), []);
    }
}
