//! A host that reads what it wrote itself may read its own memory.

use super::{MOST_NAMED, percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::{HostPart, Record};
use std::collections::BTreeMap;
use units::few;
use workload::{Rank, Shift, Workload};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "own_cache",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "A host read what lay in its own cache",
    text: "\
Of a group of hosts, without --direct: whether a part of what a rank was to read lay in the
page cache of its machine before the first read (residency.before_bytes), above 1 % of it,
where itself or a rank beside it on that machine wrote it. Whose part it read is said by the
shift (effective.shift): that of the rank so many further on, 0 and their number its own.
Who wrote a file has its last blocks in memory. A parallel file system that is read by the
hosts that wrote to it answers from as many memories as there are hosts, at a rate that no
network carries: IOR turns ranks by one host for that reason (-C).
What to do: --shift by the ranks of a machine (1 where there is one) after a phase that
writes, which ranks do by themselves within one command; --cache cold, --direct, or more data
than memory.",
    checks: &[Check::Alone(check)],
};

const MOST: f64 = 0.01;

fn check(record: &Record) -> Vec<Finding> {
    let effective = Effective::of(record);
    let group = record.group.as_ref().filter(|group| group.size > 1);
    let is_asked = effective.text("cache") == Some("warm");
    let Some(group) = group.filter(|_| !is_asked && !effective.is_on("direct")) else {
        return Vec::new();
    };
    let machines: BTreeMap<u32, &str> = record
        .generators()
        .filter_map(|host| Some((host.rank?, host.boot()?)))
        .collect();
    let mut all = machines.values();
    let first = all.next();
    let is_one = machines.len() == group.size as usize && all.all(|other| Some(other) == first);
    let told = record.host_parts().into_iter().filter_map(|own| {
        let share = resident(own).filter(|share| *share > MOST)?;
        let beside = match written_by(effective, own.host.rank, group.size) {
            WrittenBy::Itself => String::new(),
            WrittenBy::Rank(writer) => {
                let machine = machines.get(&own.host.rank?)?;
                let is_beside = machines.get(&writer) == Some(machine);
                is_beside.then(|| format!(", written by rank {writer} beside it"))?
            }
            WrittenBy::Unknown => is_one.then(|| ", written by a rank beside it".to_owned())?,
        };
        let name = own.host.called();
        Some(format!("{} of it on {name}{beside}", percent(share)))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "what was read lay in the readers' own page cache before: {}",
        few(&told, MOST_NAMED)
    );
    vec![RULE.finding(
        Severity::Warning,
        message,
        "give --shift by the ranks of a machine where others wrote it too, --cache cold, or --direct",
    )]
}

/// Who wrote what a rank read, where each writes its own part.
enum WrittenBy {
    Itself,
    Rank(u32),
    Unknown,
}

/// The one whose part a rank used, by the shift and the seed that it is drawn from.
fn written_by(effective: Effective<'_>, rank: Option<u32>, size: u32) -> WrittenBy {
    let Some(shift) = effective.text("shift") else {
        return WrittenBy::Itself;
    };
    let used = || {
        let shift = Shift::parse("shift", shift).ok()?;
        let seed = match shift {
            Shift::By(0) => return rank,
            Shift::By(_) => 0,
            Shift::Random => effective.number("seed")?,
        };
        let whole = Workload {
            shift: Some(shift),
            seed,
            threads: 1,
            ..Workload::default()
        };
        let own = workload::share(&whole, Rank::new(rank?, size).ok()?).ok()?;
        Some(own.rank.number())
    };
    match used() {
        Some(used) if Some(used) == rank => WrittenBy::Itself,
        Some(used) => WrittenBy::Rank(used),
        None if shift == "0" => WrittenBy::Itself,
        None => WrittenBy::Unknown,
    }
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
    use record::{Residency, TargetReach};

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

    /// Ranks of which so many after each other are on one machine, all with data in its memory.
    fn on_machines(size: u32, each: u32, shift: &str) -> Vec<String> {
        let record = group_of(size, |rank, part| {
            set(part, "direct", "false");
            set(part, "shift", shift);
            set(part, "seed", "7");
            part.residency = Some(Residency {
                total_bytes: 1000,
                before_bytes: Some(400),
                after_bytes: None,
            });
            let system = &mut part.generator_mut().environment.system;
            system.boot_id = Some((rank / each).to_string());
        });
        check(&record).into_iter().map(|of| of.message).collect()
    }

    #[test]
    fn a_shift_that_does_not_leave_the_machine_reads_its_cache() {
        let found = on_machines(2, 2, "1");
        assert_eq!(
            found,
            [
                "what was read lay in the readers' own page cache before: 40% of it on node0 (rank 0), written by rank 1 beside it, 40% of it on node1 (rank 1), written by rank 0 beside it"
            ]
        );
        assert_eq!(on_machines(2, 2, "random"), found);
        assert_eq!(on_machines(2, 2, "whatever").len(), 1, "it was one of them");
        assert_eq!(on_machines(2, 1, "whatever"), Vec::<String>::new());
        // Of four ranks on two machines one of two reads what its neighbour wrote.
        let half = on_machines(4, 2, "1");
        assert!(half[0].contains("on node0 (rank 0), written by rank 1"));
        assert!(half[0].contains("on node2") && !half[0].contains("on node1"));
        assert_eq!(on_machines(4, 2, "2"), Vec::<String>::new());
        assert_eq!(on_machines(4, 1, "random"), Vec::<String>::new());
    }

    #[test]
    fn what_a_rank_beside_wrote_to_a_target_of_its_own_is_not_what_is_read() {
        // Where hosts have targets of their own no shift but that to itself is possible.
        let with = |shift: Option<&str>| {
            let record = group_of(2, |rank, part| {
                set(part, "direct", "false");
                if let Some(shift) = shift {
                    set(part, "shift", shift);
                }
                part.group.as_mut().unwrap().target_is = Some(TargetReach::Local);
                part.residency = Some(Residency {
                    total_bytes: 1000,
                    before_bytes: Some(400),
                    after_bytes: None,
                });
                let host = part.generator_mut();
                host.environment.system.boot_id = Some("one".into());
                host.target_set = Some(rank);
            });
            only(&check(&record)).to_owned()
        };
        for shift in [None, Some("0")] {
            let text = with(shift);
            assert!(
                text.ends_with(": 40% of it on node0 (rank 0), 40% of it on node1 (rank 1)"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_shift_by_all_ranks_is_none() {
        for shift in ["2", "4"] {
            let found = on_machines(2, 1, shift);
            assert!(
                found[0].ends_with("40% of it on node1 (rank 1)"),
                "{found:?}"
            );
        }
    }
}
