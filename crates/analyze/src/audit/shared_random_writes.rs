//! Several workers that write the same blocks in random order leave content that depends on timing.

use super::{counted, finding};
use crate::{Effective, Finding, Severity};
use record::Record;

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
    vec![finding(
        "shared_random_writes",
        Severity::Note,
        message,
        advice,
    )]
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
