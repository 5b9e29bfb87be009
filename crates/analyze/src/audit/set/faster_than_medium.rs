//! A result far above the best direct one on the same target came from no medium.

use super::{Experiment, Located, is_direct, is_same_work, same_place};
use crate::audit::rule::{Check, Rule};
use crate::figures::sum_of_transfers;
use crate::{Effective, Severity};
use record::Record;
use units::ByteRate;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "faster_than_medium",
    catalogue_number: Some(4),
    severity: Severity::Invalid,
    title: "A result faster than the medium or its link",
    text: "\
On a known SATA device: more than 600 MB/s, or more than 2,000 random operations a
second on a rotating disk. Among records of one target: a buffered result more than 300
times the best direct one, or 10 times one with blocks as large, as much in flight and
random order too.
No path is faster than its narrowest part. 14.67 GB/s on a volume whose best direct
result is 23.3 MB/s is 630 times; larger blocks and sequential order explain a factor of
50 on flash and 200 on a disk, not that.
What to do: measure the same block size with --direct and compare with the device's own
counters before quoting it.",
    checks: &[
        Check::Together(check),
        Check::OfHost(super::super::medium_limit::check),
    ],
};

/// Larger blocks and sequential order make a disk up to two hundred times as fast, a flash device
/// up to fifty times; beyond is no medium.
const MOST_FACTOR: f64 = 300.0;
/// Where the direct result had every advantage, only the sorting of buffered writes is left to
/// explain a difference.
const MOST_FACTOR_ALIKE: f64 = 10.0;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let bytes = |record| sum_of_transfers(record, |f| f.bytes_per_second());
    let of = |direct| {
        experiment
            .slots
            .iter()
            .filter(move |(_, record)| is_direct(record) == Some(direct))
    };
    // An experiment has many slots and few places and kinds of work.
    let mut works: Vec<&Record> = Vec::new();
    let mut best: Vec<(f64, &Record)> = Vec::new();
    for (_, record) in of(true) {
        if !works.iter().any(|known| is_same_work(known, record)) {
            works.push(record);
        }
        let Some(rate) = bytes(record) else { continue };
        match best.iter_mut().find(|(_, known)| same_place(known, record)) {
            Some(known) if known.0 >= rate => {}
            Some(known) => *known = (rate, record),
            None => best.push((rate, record)),
        }
    }
    of(false)
        .filter(|(_, record)| Effective::of(record).text("cache") != Some("warm"))
        .filter_map(|(index, record)| {
            let ours = bytes(record)?;
            let (best, of) = best.iter().find(|(_, known)| same_place(known, record))?;
            let most = if has_every_advantage(of, record) { MOST_FACTOR_ALIKE } else { MOST_FACTOR };
            let factor = ours / best;
            // The same work is the matter of served_from_cache.
            let is_found = *best > 0.0 && factor > most && !works.iter().any(|known| is_same_work(known, record));
            is_found.then(|| {
                let message = format!("{} is {factor:.0} times the best direct result here, {}", ByteRate(ours), ByteRate(*best));
                let advice = "no medium did this: the page cache took the data; measure this block size with --direct before quoting it";
                RULE.about(Some(*index), Severity::Invalid, message, advice)
            })
        })
        .collect()
}

/// Whether a direct result had blocks at least as large, as much in flight, and the same random
/// order, in which nothing can be merged.
fn has_every_advantage(direct: &Record, buffered: &Record) -> bool {
    let [direct, buffered] = [direct, buffered].map(Effective::of);
    let in_flight = |of: Effective<'_>| {
        of.number("threads")
            .unwrap_or(1)
            .saturating_mul(of.number("queue-depth").unwrap_or(1))
    };
    let larger = direct
        .block_bytes()
        .zip(buffered.block_bytes())
        .is_some_and(|(direct, buffered)| direct >= buffered);
    larger
        && direct.is_on("random")
        && buffered.is_on("random")
        && in_flight(direct) >= in_flight(buffered)
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn write(direct: &str, block: &str, bytes_per_second: f64) -> Record {
        let mut record = quoted(
            "write",
            Summary {
                bytes_per_second: Some(bytes_per_second),
                ..Summary::default()
            },
        );
        set(&mut record, "block-size", block);
        set(&mut record, "direct", direct);
        set(
            &mut record,
            "engine",
            if direct == "true" { "io_uring" } else { "mmap" },
        );
        record
    }

    #[test]
    fn hundreds_of_times_the_direct_result_are_found() {
        let found = run_on(
            check,
            &[write("false", "10M", 14.67e9), write("true", "4k", 23.3e6)],
        );
        assert_eq!(
            only(&found),
            "13.7 GiB/s is 630 times the best direct result here, 22.2 MiB/s"
        );
    }

    #[test]
    fn what_larger_blocks_explain_is_silent() {
        assert_eq!(
            run_on(
                check,
                &[write("false", "1M", 200e6), write("true", "4k", 1e6)]
            ),
            []
        );
        assert_eq!(
            run_on(
                check,
                &[write("false", "4k", 200e6), write("true", "1M", 180e6)]
            ),
            []
        );
        assert_eq!(run_on(check, &[write("false", "1M", 200e6)]), []);
    }

    #[test]
    fn a_direct_result_with_every_advantage_is_near_the_medium() {
        let pair = |random: &str| {
            [write("false", "4k", 1.04e9), write("true", "4k", 23.3e6)].map(|mut record| {
                set(&mut record, "random", random);
                record
            })
        };
        assert!(only(&run_on(check, &pair("true"))).contains("45 times"));
        assert_eq!(
            run_on(check, &pair("false")),
            [],
            "what is sequential is merged"
        );
    }
}
