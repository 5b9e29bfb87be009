//! A host that reads what it wrote itself may read its own memory.

use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::{HostPart, Record};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "own_cache",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "A host read what lay in its own cache",
    text: "\
Of a group of hosts, without --direct and without a shift (effective.shift): whether a part
of what a host was to read lay in its page cache before the first read
(residency.before_bytes), above 1 % of it.
Who wrote a file has its last blocks in memory. A parallel file system that is read by the
hosts that wrote to it answers from as many memories as there are hosts, at a rate that no
network carries: IOR turns ranks by one host for that reason (-C).
What to do: --shift 1 (or random) after a phase that writes, which ranks do by themselves
within one command; --cache cold, --direct, or more data than memory.",
    checks: &[Check::Alone(check)],
};

const MOST: f64 = 0.01;

fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let is_group = record.group.as_ref().is_some_and(|group| group.size > 1);
    let is_shifted = effective.text("shift").is_some_and(|shift| shift != "0");
    let is_asked = effective.text("cache") == Some("warm");
    if !is_group || is_shifted || is_asked || effective.is_on("direct") {
        return Vec::new();
    }
    let told = record.host_parts().into_iter().filter_map(|own| {
        let share = resident(own).filter(|share| *share > MOST)?;
        Some(format!("{} of it on {}", percent(share), own.host.called()))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "what was read lay in the readers' own page cache before: {}",
        told.join(", ")
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "give --shift 1 where others wrote it too, --cache cold, or --direct",
    )]
}

/// The share of what a host read that its memory held before.
fn resident(own: HostPart<'_>) -> Option<f64> {
    let reads = own
        .part
        .operations
        .kind("read")
        .map_or(0, |read| read.bytes);
    let residency = own.part.residency.as_ref().filter(|_| reads > 0)?;
    let total = residency.total_bytes;
    (total > 0).then(|| ratio(residency.before_bytes.unwrap_or(0), total))
}

#[cfg(test)]
mod tests {
    use super::super::example::{group_of, only, set, sound};
    use super::*;
    use record::Residency;

    fn read(shift: Option<&str>, before_bytes: u64) -> Record {
        group_of(2, |rank, part| {
            set(part, "direct", "false");
            if let Some(shift) = shift {
                set(part, "shift", shift);
            }
            part.residency = Some(Residency {
                total_bytes: 1000,
                before_bytes: Some(if rank == 1 { before_bytes } else { 0 }),
                after_bytes: None,
            });
        })
    }

    #[test]
    fn what_lay_in_the_memory_of_its_reader_is_found_where_nobody_shifted() {
        assert_eq!(
            only(&check(&read(None, 400))),
            "what was read lay in the readers' own page cache before: 40% of it on node1 (rank 1)"
        );
        assert_eq!(check(&read(Some("0"), 400)).len(), 1);
        assert_eq!(check(&read(Some("1"), 400)), []);
        assert_eq!(check(&read(Some("random"), 400)), []);
        assert_eq!(check(&read(None, 10)), []);
        let mut warm = read(None, 400);
        set(&mut warm, "cache", "warm");
        assert_eq!(check(&warm), []);
        assert_eq!(check(&sound()), []);
    }
}
