//! What fits into a cache measures the cache.

use crate::audit::rule::{Check, Rule};
use crate::figures::{sum_of_transfers, transfers};
use crate::{Effective, Finding, Severity};
use record::Record;
use units::Bytes;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "working_set",
    catalogue_number: Some(2),
    severity: Severity::Warning,
    title: "The data fits into a cache",
    text: "\
The bytes of all targets, or file-size times files, against the CPU's L2 and L3 caches,
against 64 MiB if they were passed over more than 100 times, and, for buffered runs
without an account of the kernel, against twice the memory; where the memory is unknown,
512 MiB that were passed over more than 1.5 times are found.
4 MiB read for 10 s at 1.97 GB/s are read 4,710 times: after the first pass any cache of
4 MiB has them. 11 objects of 502 KB on a host of 125 GB are never read from a disk
twice.
What to do: use a --file-size of at least twice the memory and larger than every cache
below, or say that this is the cache.",
    checks: &[Check::OfMachine(check)],
};

/// Disks and controllers have write and read caches of 64 MiB and more.
const DEVICE_CACHE: u64 = 64 << 20;
const MANY_PASSES: f64 = 100.0;
/// Half the memory of the smallest machine on which anybody measures storage.
const ANY_MEMORY: u64 = 512 << 20;
/// From here on blocks were met again.
pub(super) const MORE_THAN_ONE_PASS: f64 = 1.5;
const ADVICE: &str = "use a --file-size of at least twice the memory and larger than every cache below, or say that this is the cache";
const ADVICE_FOR_OBJECTS: &str = "make more objects, --seeds times --object-size at least twice the server's memory, or say that its cache was measured";

/// Files of their own that ranks of one machine use lie side by side in its caches; a file that all use is one, and each
/// rank of a load says what all of them have made.
fn check(ranks: &[&Record]) -> Vec<Finding> {
    let [record, ..] = ranks else {
        return Vec::new();
    };
    let has_own = Effective::of(record).text("file-distribution") == Some("per-worker");
    let used = ranks.iter().filter_map(|rank| bytes_used(rank));
    let size = match has_own {
        true => used.reduce(u64::saturating_add),
        false => used.max(),
    };
    let moved_nothing = ranks.iter().all(|rank| moved_nothing(rank));
    let Some(size) = size.filter(|_| Effective::of(record).uses_local_storage() && !moved_nothing)
    else {
        return Vec::new();
    };
    if Effective::of(record).text("cache") == Some("warm") {
        return Vec::new();
    }
    let advice = if record.load.is_some() {
        ADVICE_FOR_OBJECTS
    } else {
        ADVICE
    };
    why_small(ranks, size)
        .map(|message| RULE.finding(Severity::Warning, message, advice))
        .into_iter()
        .collect()
}

/// Whether it is known that no data were moved: names were made, looked up and removed, which no
/// cache of data answers.
fn moved_nothing(record: &Record) -> bool {
    !record.operations.is_empty() && record.operations.bytes() == 0 && record.summaries.is_empty()
}

fn why_small(ranks: &[&Record], size: u64) -> Option<String> {
    let record = ranks.first()?;
    let shown = Bytes(size);
    let cpu = &record.generator().environment.cpu;
    let is_direct = Effective::of(record).is_on("direct");
    let in_memory = super::in_memory(record);
    // A direct transfer from a device does not go through the caches of the CPU.
    let caches = [("L2", cpu.l2_bytes), ("L3", cpu.l3_bytes)]
        .into_iter()
        .filter(|_| in_memory || !is_direct);
    if let Some((name, cache)) = caches
        .filter_map(|(name, bytes)| Some((name, bytes?)))
        .find(|(_, bytes)| size <= *bytes)
    {
        return Some(format!(
            "the data of {shown} fit into the {name} cache of {} of the CPU",
            Bytes(cache)
        ));
    }
    let moved = ranks
        .iter()
        .filter_map(|rank| moved(rank))
        .reduce(|a, b| a + b);
    let passes = moved.unwrap_or_default() / size as f64;
    if size <= DEVICE_CACHE && passes >= MANY_PASSES {
        return Some(format!(
            "the data of {shown} were passed over {passes:.0} times: the smallest cache of a disk or controller holds them"
        ));
    }
    // The kernel's own account of the reads says it better than their size.
    let accounted = in_memory
        || !record.generator().devices.is_empty()
        || record.generator().process.storage_read_bytes.is_some();
    let buffered = !is_direct && !accounted;
    let Some(memory) = record.generator().environment.memory.total_bytes else {
        let is_known = Effective::of(record).text("direct").is_some();
        return (buffered && is_known && size <= ANY_MEMORY && passes >= MORE_THAN_ONE_PASS)
            .then(|| format!("the data of {shown} were passed over {passes:.1} times without --direct: the page cache holds them"));
    };
    let fits = buffered && size <= memory.saturating_mul(2);
    fits.then(|| {
        format!("the data of {shown} are less than twice the memory of {}: the page cache can hold much or all of them", Bytes(memory))
    })
}

/// Bytes that were read and written, as counted or as rate and time give them.
fn moved(record: &Record) -> Option<f64> {
    transfers(record).next()?;
    let amount = sum_of_transfers(record, |f| Some(f.bytes()? as f64));
    let by_rate = || {
        let rate = sum_of_transfers(record, |f| f.bytes_per_second())?;
        Some(rate * Effective::of(record).measured_ns()? as f64 / 1e9)
    };
    amount.or_else(by_rate)
}

/// Bytes of all targets, as the run found them or as it was asked.
pub(super) fn bytes_used(record: &Record) -> Option<u64> {
    let found: u64 = record.targets.iter().map(|target| target.bytes).sum();
    let effective = Effective::of(record);
    let asked = || {
        let size = Bytes::parse(effective.text("file-size")?).ok()?.0;
        let files = effective.number("num-files").unwrap_or(1).max(1);
        let files = if effective.text("file-distribution") == Some("per-worker") {
            files.max(effective.number("threads").unwrap_or(1))
        } else {
            files
        };
        size.checked_mul(files)
    };
    // Of a KB that may be 1000 or 1024 bytes the larger: an upper bound.
    let object = || {
        Bytes::parse(
            &effective
                .text("object-size")?
                .replace("KB", "KiB")
                .replace("MB", "MiB"),
        )
        .ok()
    };
    let objects = || object()?.0.checked_mul(effective.number("seed-objects")?);
    Some(found)
        .filter(|bytes| *bytes > 0)
        .or_else(asked)
        .or_else(objects)
        .filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, set, sound};
    use super::*;
    use record::{Summary, TargetFact};

    fn ublk() -> Record {
        let mut record = quoted(
            "read",
            Summary {
                bytes: Some(19_756_849_562),
                ..Summary::default()
            },
        );
        set(&mut record, "file-size", "4M");
        set(&mut record, "direct", "true");
        record
    }

    #[test]
    fn data_that_nobody_moved_fit_into_no_cache() {
        let mut record = Record {
            operations: record::Measurements::default(),
            ..sound()
        };
        record.generator_mut().environment.cpu.l2_bytes = Some(1 << 30);
        record.targets = vec![TargetFact {
            files: 1000,
            bytes: 4_096_000,
            ..TargetFact::default()
        }];
        set(&mut record, "direct", "false");
        for (kind, bytes, findings) in [("create", 0, 0), ("read", 4096, 1)] {
            record.operations.insert(
                kind,
                record::Operations {
                    count: 1,
                    bytes,
                    ..record::Operations::default()
                },
            );
            assert_eq!(check(&[&record]).len(), findings, "{kind}");
        }
    }

    #[test]
    fn many_passes_over_little_are_found() {
        assert!(
            only(&check(&[&ublk()])).starts_with("the data of 4 MiB were passed over 4710 times")
        );
        let mut large = ublk();
        set(&mut large, "file-size", "1G");
        assert_eq!(check(&[&large]), []);
    }

    #[test]
    fn ranks_of_a_machine_pass_over_one_file_together_and_over_their_own_side_by_side() {
        let mut rank = ublk();
        let said = |rank: &Record| only(&check(&[rank, rank])).to_owned();
        assert!(said(&rank).starts_with("the data of 4 MiB were passed over 9421 times"));
        set(&mut rank, "file-distribution", "per-worker");
        assert!(said(&rank).starts_with("the data of 8 MiB were passed over 4710 times"));
    }

    #[test]
    fn objects_of_a_load_are_those_of_all_its_ranks() {
        let mut rank = ublk();
        rank.load = Some(record::LoadAccount::default());
        let whole = TargetFact {
            bytes: 4 << 20,
            ..TargetFact::default()
        };
        rank.targets = vec![whole];
        let found = check(&[&rank, &rank]);
        assert!(
            only(&found).starts_with("the data of 4 MiB were"),
            "{found:?}"
        );
    }

    #[test]
    fn a_known_cache_of_the_cpu_is_named() {
        let mut record = ublk();
        record.generator_mut().environment.cpu.l3_bytes = Some(32 << 20);
        assert!(
            only(&check(&[&record])).contains("passed over"),
            "direct transfers do not use it"
        );
        record
            .generator_mut()
            .environment
            .storage
            .get_or_insert_default()
            .is_memory = Some(true);
        assert_eq!(
            only(&check(&[&record])),
            "the data of 4 MiB fit into the L3 cache of 32 MiB of the CPU"
        );
    }

    #[test]
    fn buffered_data_are_held_against_the_memory_unless_the_kernel_counted() {
        let mut record = quoted(
            "get",
            Summary {
                count: Some(71_730),
                ..Summary::default()
            },
        );
        record.targets = vec![TargetFact {
            files: 11,
            bytes: 5_500_000,
            ..TargetFact::default()
        }];
        assert_eq!(check(&[&record]), []);
        record.generator_mut().environment.memory.total_bytes = Some(125 << 30);
        assert!(only(&check(&[&record])).contains("less than twice the memory of 125 GiB"));
        record.generator_mut().process.storage_read_bytes = Some(1);
        assert_eq!(check(&[&record]), []);
    }

    #[test]
    fn a_small_file_that_was_passed_over_more_than_once_is_cached_whatever_the_memory() {
        let mut record = quoted(
            "read",
            Summary {
                bytes: Some(128 << 20),
                ..Summary::default()
            },
        );
        set(&mut record, "file-size", "16M");
        assert_eq!(
            check(&[&record]),
            [],
            "nobody says whether the page cache was used"
        );
        set(&mut record, "direct", "false");
        assert_eq!(
            only(&check(&[&record])),
            "the data of 16 MiB were passed over 8.0 times without --direct: the page cache holds them"
        );
        set(&mut record, "file-size", "100M");
        assert_eq!(check(&[&record]), []);
        set(&mut record, "file-size", "16M");
        set(&mut record, "direct", "true");
        assert_eq!(check(&[&record]), []);
    }

    #[test]
    fn a_warm_cache_says_so_itself() {
        let mut record = ublk();
        set(&mut record, "cache", "warm");
        assert_eq!(check(&[&record]), []);
        assert_eq!(check(&[&sound()]), []);
    }

    #[test]
    fn objects_that_a_load_test_reads_again_are_counted() {
        let mut record = quoted(
            "get",
            Summary {
                count: Some(71_730),
                ..Summary::default()
            },
        );
        record.generator_mut().environment.memory.total_bytes = Some(125 << 30);
        set(&mut record, "object-size", "502 KB");
        assert_eq!(check(&[&record]), []);
        set(&mut record, "seed-objects", "11");
        assert!(only(&check(&[&record])).starts_with("the data of 5522 KiB"));
    }
}
