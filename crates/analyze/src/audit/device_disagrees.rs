//! Double entry: bytes of direct I/O are also counted by the block device.

use super::set::{Experiment, Located};
use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::figures::of_kind;
use crate::{Effective, Finding, Severity};
use record::{DeviceAccount, Record, by_nearest_device, nearest_of_all};
use units::Bytes;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "device_disagrees",
    catalogue_number: Some(6),
    severity: Severity::Invalid,
    title: "The block device counted other bytes than the run",
    text: "\
Direct I/O is counted twice: by the run, and by the kernel for the block device under
the target (devices[0].read_bytes and written_bytes). A ratio outside 0.9 to 1.1 is
found beyond 1 MiB of slack; jobs that ran together, and ranks of one machine, are
compared as their sum. Invalid if the device saw less, a warning if it saw more. If the
application says 324 MiB/s and the device 32, a layer between them answered: a cache, a
compressing file system, a hole in a sparse file. If the device saw more, another process
used it, or a layer amplifies.
What to do: for less, name the layer that you want to measure and measure it directly.
For more, stop other work on the device, or report the amplification as the result.",
    checks: &[Check::OfMachine(check), Check::OnHost(of_sessions)],
};

const BOUNDS: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// File system metadata and other processes move this much in any run.
const SLACK: u64 = 1 << 20;

fn check(ranks: &[&Record]) -> Vec<Finding> {
    // The device goes on to count what a rank did after the last that is kept of it.
    if ranks.iter().any(|rank| rank.was_cut_off()) {
        return Vec::new();
    }
    let shared = by_nearest_device(ranks.iter().copied(), |rank| rank.generator());
    let found = shared.into_iter().flat_map(|sharing| {
        let hosts: Vec<_> = sharing.iter().map(|rank| rank.generator()).collect();
        let is_alone = sharing.iter().all(|rank| rank.companions.is_empty());
        // The device counted for all companions; which share is whose, nobody knows.
        let device = nearest_of_all(&hosts).filter(|_| is_alone);
        device.map_or_else(Vec::new, |device| disagreements(&sharing, device))
    });
    found.collect()
}

/// Records of one session, each under its first record: what they did together on one device.
fn of_sessions(experiment: &Experiment<'_>) -> Vec<Located> {
    let slots = &experiment.slots;
    let of_id = |id: &String| slots.iter().find(|(_, record)| record.id == *id);
    let located = slots.iter().filter_map(|(index, record)| {
        let others: Option<Vec<_>> = record.companions.iter().map(of_id).collect();
        let others = others.filter(|others| !others.is_empty())?;
        let on_one_device: Vec<&(usize, &Record)> = others
            .into_iter()
            .filter(|(_, other)| name(other) == name(record))
            .collect();
        let is_first = on_one_device.iter().all(|(other, _)| other > index);
        let all = on_one_device.iter().map(|(_, other)| *other);
        let all: Vec<&Record> = std::iter::once(*record).chain(all).collect();
        let device = record.generator().nearest_device().filter(|_| is_first);
        device.map(|device| disagreements(&all, device))
    });
    let finding = |finding| Located {
        record: None,
        finding,
    };
    located.flatten().map(finding).collect()
}

/// The first device below a record's target.
fn name(record: &Record) -> Option<&str> {
    record
        .generator()
        .devices
        .first()
        .map(|device| device.name.as_str())
}

/// What records that shared a device did, beside what it counted for all of them. Nothing can be
/// said where one of them left bytes in the page cache or warmed up longer than the others.
fn disagreements(session: &[&Record], device: &DeviceAccount) -> Vec<Finding> {
    let warmup = |record: &&Record| record.effective.get("warmup").cloned();
    let comparable = session.iter().all(|record| {
        let effective = Effective::of(record);
        effective.is_on("direct")
            && effective.uses_local_storage()
            && warmup(record) == warmup(&session[0])
    });
    if !comparable {
        return Vec::new();
    }
    let ours = |kind| {
        let bytes = |record: &&Record| of_kind(record, kind).and_then(|figures| figures.bytes());
        session.iter().filter_map(bytes).sum()
    };
    [
        ("read", "reads", device.read_bytes),
        ("write", "writes", device.written_bytes),
    ]
    .into_iter()
    .filter_map(|(kind, what, theirs)| compare(what, ours(kind), theirs, &device.name))
    .collect()
}

fn compare(name: &str, ours: u64, theirs: u64, device: &str) -> Option<Finding> {
    if ours == 0 || ours.abs_diff(theirs) <= SLACK || BOUNDS.contains(&ratio(theirs, ours)) {
        return None;
    }
    let share = percent(ratio(theirs, ours));
    let message = format!(
        "direct {name}: {} here, {} at {device} ({share})",
        Bytes(ours),
        Bytes(theirs)
    );
    Some(if theirs < ours {
        let advice = "a layer above the device answered or merged: name the layer that you want to measure, and look for caches, compression and holes";
        RULE.finding(Severity::Invalid, message, advice)
    } else {
        let advice = "something else used the device, or a layer amplifies: stop other work, or measure the device alone";
        RULE.finding(Severity::Warning, message, advice)
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{group_of, only, set, sound};
    use super::*;

    fn check(record: &Record) -> Vec<Finding> {
        super::check(&[record])
    }

    #[test]
    fn ranks_of_one_machine_are_compared_as_their_sum() {
        let found = |boot: fn(u32) -> String| -> Vec<String> {
            let all = group_of(4, |rank, part| {
                let host = part.generator_mut();
                host.environment.system.boot_id = Some(boot(rank));
                host.devices[0].read_bytes *= 4;
            });
            let found = crate::self_check(&all).into_iter();
            let device = found.filter(|f| f.rule == RULE.id || f.rule == "foreign_io");
            device.map(|finding| finding.message).collect()
        };
        assert_eq!(found(|_| "one".into()), [""; 0]);
        assert_eq!(
            found(|rank| rank.to_string()),
            [
                "on node0 (rank 0), node1 (rank 1), node2 (rank 2), node3 (rank 3): direct reads: 391 MiB here, 1.53 GiB at nvme0n1 (400%)"
            ]
        );
        assert_eq!(
            found(|rank| (rank / 2).to_string()),
            ["on node0, node2: direct reads: 781 MiB here, 1.53 GiB at nvme0n1 (200%)"]
        );
    }

    #[test]
    fn what_a_lost_rank_read_after_the_last_that_is_kept_of_it_is_nobody_else_s() {
        let mut record = sound();
        record.generator_mut().devices[0].read_bytes *= 4;
        assert_eq!(check(&record).len(), 1);
        record.outcome.status = record::Status::Incomplete;
        assert_eq!(check(&record), []);
    }

    #[test]
    fn reads_that_the_device_did_not_see_invalidate() {
        let mut record = sound();
        record.generator_mut().devices[0].read_bytes /= 10;
        let found = check(&record);
        assert_eq!(
            only(&found),
            "direct reads: 391 MiB here, 39.1 MiB at nvme0n1 (10%)"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn foreign_reads_are_a_warning() {
        let mut record = sound();
        record.generator_mut().devices[0].read_bytes *= 2;
        assert_eq!(check(&record)[0].severity, Severity::Warning);
    }

    #[test]
    fn what_another_tool_counted_is_held_against_what_it_saw_of_the_device() {
        let summary = record::Summary {
            bytes: Some(100 << 20),
            ..record::Summary::default()
        };
        let mut record = super::super::example::quoted("read", summary);
        set(&mut record, "direct", "true");
        record.generator_mut().devices = vec![record::DeviceAccount {
            name: "sda".into(),
            read_bytes: 10 << 20,
            ..record::DeviceAccount::default()
        }];
        assert_eq!(
            only(&check(&record)),
            "direct reads: 100 MiB here, 10 MiB at sda (10%)"
        );
        record.generator_mut().devices[0].read_bytes = 100 << 20;
        assert_eq!(check(&record), []);
    }

    #[test]
    fn agreement_and_buffered_runs_are_silent() {
        let mut record = sound();
        record.generator_mut().devices[0].read_bytes +=
            record.generator().devices[0].read_bytes / 20;
        assert_eq!(check(&record), []);
        record.generator_mut().devices[0].read_bytes = 0;
        set(&mut record, "direct", "false");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn jobs_that_ran_together_are_compared_as_their_sum() {
        let job = |id: &str, other: &str| {
            let mut record = sound();
            record.id = id.into();
            record.companions = vec![other.into()];
            record.generator_mut().devices[0].read_bytes *= 2;
            record
        };
        let mut records = vec![job("a", "b"), job("b", "a")];
        let found = |records: &[Record]| -> Vec<Finding> {
            crate::audit(records)
                .into_iter()
                .map(|located| located.finding)
                .filter(|finding| finding.rule == RULE.id)
                .collect()
        };
        assert_eq!(found(&records), []);
        assert_eq!(found(&records[..1]), [], "the other's part is not known");
        for record in &mut records {
            record.generator_mut().devices[0].read_bytes *= 2;
        }
        assert_eq!(
            only(&found(&records)),
            "direct reads: 781 MiB here, 1.53 GiB at nvme0n1 (200%)"
        );
        set(&mut records[1], "direct", "false");
        assert_eq!(found(&records), [], "some of its bytes went to the cache");
    }
}
