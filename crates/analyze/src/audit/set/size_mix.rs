//! Arms that move different sizes, or another mix of operations, do different work.

use super::{Experiment, Located, Slot, median};
use crate::Effective;
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use record::Record;
use std::collections::BTreeSet;
use units::Bytes;
use units::lossless::f64_to_u64_saturating;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "size_mix",
    catalogue_number: Some(27),
    severity: Severity::Invalid,
    title: "Arms moved other sizes or another mix",
    text: "\
Bytes of an operation of each kind, and the share of reads, of the arms of a row; more
than 2 % apart is found. A block size that was asked for is in plain sight and is left
alone. A listing is as long as there are objects to list, more where an arm wrote more:
that is noted.
2.23 MB/s at 71 downloads a second are 31 KB each; 107.5 MB/s at 36 are 2.98 MB each: 95
times the size. Neither \"48 times slower\" nor \"31 times lower latency\" of the two means
anything.
What to do: give every arm the same sizes and the same mix, from the same seed.",
    checks: &[Check::Together(check)],
};

const TOLERANCE: f64 = 0.02;
const ADVICE: &str = "give every arm the same sizes and the same mix; operations of different sizes have no common rate or latency";
/// What the server answers with as many names as it has.
const LISTING: &str = "list";
const OF_LISTINGS: &str = "compare the times of listings where every arm lists the same objects";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut out = Vec::new();
    for (row, arms) in experiment.rows() {
        let kinds: BTreeSet<&str> = arms
            .iter()
            .flat_map(|(_, slots)| slots.iter().flat_map(|(_, r)| figures(r).map(|f| f.kind)))
            .collect();
        for kind in kinds {
            let sizes = arms
                .iter()
                .filter_map(|(arm, slots)| Some((*arm, of_arm(slots, kind, size)?)));
            out.extend(apart(sizes).map(|[(a, least), (b, most)]| {
                let [least, most] = [least, most].map(|bytes| Bytes(f64_to_u64_saturating(bytes)));
                let message =
                    format!("{row}: {least} an operation of {kind} in {a}, {most} in {b}");
                if kind == LISTING {
                    return RULE.about(None, Severity::Note, message, OF_LISTINGS);
                }
                RULE.about(None, experiment.severity(), message, ADVICE)
            }));
        }
        let shares = arms
            .iter()
            .filter_map(|(arm, slots)| Some((*arm, 1.0 + of_arm(slots, "read", |r, _| reads(r))?)));
        out.extend(apart(shares).map(|[(a, least), (b, most)]| {
            let message = format!(
                "{row}: {:.0}% reads in {a}, {:.0}% in {b}",
                (least - 1.0) * 100.0,
                (most - 1.0) * 100.0
            );
            RULE.about(None, experiment.severity(), message, ADVICE)
        }));
    }
    out
}

fn of_arm(
    slots: &[Slot<'_>],
    kind: &str,
    value: impl Fn(&Record, &Figures<'_>) -> Option<f64>,
) -> Option<f64> {
    let values: Vec<f64> = slots
        .iter()
        .filter_map(|(_, record)| {
            figures(record)
                .find(|f| f.kind == kind)
                .and_then(|f| value(record, &f))
        })
        .collect();
    (!values.is_empty()).then(|| median(values))
}

/// Bytes of one operation where no setting names them: a block size that was asked for is in plain
/// sight.
fn size(record: &Record, figures: &Figures<'_>) -> Option<f64> {
    figures
        .bytes_each()
        .filter(|_| Effective::of(record).block_bytes().is_none())
}

/// Share of reads as counted, of reads and writes.
fn reads(record: &Record) -> Option<f64> {
    let count = |kind: &str| {
        figures(record)
            .find(|f| f.kind == kind)
            .and_then(|f| f.count())
    };
    let (reads, writes) = (count("read")? as f64, count("write")? as f64);
    Some(reads / (reads + writes)).filter(|share| share.is_finite())
}

/// The arms with the least and the most, if they are apart.
fn apart<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> Option<[(&'a str, f64); 2]> {
    let values: Vec<(&str, f64)> = values.collect();
    let least = *values.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = *values.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most.1 > least.1 * (1.0 + TOLERANCE)).then_some([least, most])
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{blocks, only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn download(arm: &str, bytes_per_second: f64, per_second: f64) -> Record {
        let summary = Summary {
            per_second: Some(per_second),
            bytes_per_second: Some(bytes_per_second),
            ..Summary::default()
        };
        placed(quoted("get", summary), arm, 0, 0)
    }

    #[test]
    fn other_objects_are_found() {
        let found = run_on(
            check,
            &[
                download("Windows", 107.5e6, 36.0),
                download("Linux", 2.23e6, 71.0),
            ],
        );
        assert_eq!(
            only(&found),
            "row: 30.7 KiB an operation of get in Linux, 2.85 MiB in Windows"
        );
    }

    #[test]
    fn longer_listings_of_who_wrote_more_are_noted() {
        let list = |arm, bytes| {
            let summary = Summary {
                per_second: Some(100.0),
                bytes_per_second: Some(bytes),
                ..Summary::default()
            };
            placed(quoted("list", summary), arm, 0, 0)
        };
        let found = run_on(check, &[list("fast", 4e6), list("slow", 1.5e6)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Note);
    }

    #[test]
    fn another_mix_is_found() {
        let mixed = |writes| {
            let mut record = sound();
            record.operations.insert("write", blocks(writes, 1000));
            record
        };
        assert_eq!(
            run_on(
                check,
                &[
                    placed(mixed(40_000), "a", 0, 0),
                    placed(mixed(40_100), "b", 0, 1)
                ]
            ),
            []
        );
        let found = run_on(
            check,
            &[
                placed(mixed(40_000), "a", 0, 0),
                placed(mixed(60_000), "b", 0, 1),
            ],
        );
        assert_eq!(only(&found), "row: 62% reads in b, 71% in a");
    }

    #[test]
    fn equal_work_and_records_without_a_common_row_are_silent() {
        assert_eq!(
            run_on(
                check,
                &[download("a", 10e6, 100.0), download("b", 10.1e6, 100.0)]
            ),
            []
        );
        let alone =
            [download("a", 107.5e6, 36.0), download("b", 2.23e6, 71.0)].map(|record| Record {
                trial: None,
                ..record
            });
        assert_eq!(run_on(check, &alone), []);
    }
}
