//! Arms measured for different times are at different ages of caches, bursts and heat.

use super::{Arm, Experiment, Located, Slot, grouped, is_of_document, median, settings};
use crate::audit::rule::{Check, Rule};
use crate::identity::Identity;
use crate::{Effective, Severity};
use record::Record;
use units::{Nanos, lossless::f64_to_u64_saturating};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "unequal_durations",
    catalogue_number: Some(29),
    severity: Severity::Warning,
    title: "What is compared was measured for different times",
    text: "\
The measured time of the arms of a row; of imported results, of one job in several files
or on several targets; in a document also of tests that differ only in direction. More
than 2 % apart is found; runs for an amount of data are left out.
5 s and 10 s are at different ages of caches, burst credits and heat. If a buffer takes
the first 4 s, the short run is 80 % buffer and the long one 40 %: \"writes are slightly
faster\" may be just that.
What to do: measure every arm for the same time after the same warm-up.",
    checks: &[Check::Together(check)],
};

const TOLERANCE: f64 = 0.02;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut comparisons = experiment
        .rows()
        .into_iter()
        .map(|(_, arms)| arms)
        .collect::<Vec<_>>();
    // A document compares reads with writes of one workload; phases of one run of a tool take the
    // time that they need.
    let of = |wanted: fn(&Record) -> bool| {
        experiment
            .slots
            .iter()
            .filter(move |(_, record)| wanted(record))
            .copied()
            .collect::<Vec<_>>()
    };
    let alike = grouped(&of(is_of_document), work)
        .into_iter()
        .map(|(_, slots)| grouped(&slots, |record| record.name.as_str()));
    comparisons.extend(alike);
    let imported =
        of(|record| record.source.is_some() && record.trial.is_none() && !is_of_document(record));
    let rows = grouped(&imported, |record| (record.name.as_str(), work(record)));
    comparisons.extend(rows.iter().map(|((name, _), slots)| by_source(name, slots)));
    // A command takes the time that its work needs: that is what is compared.
    let is_command = |slot: &Slot<'_>| {
        let mut targets = slot.1.targets.iter();
        slot.1.trial.is_some() && targets.any(|target| target.kind == "command")
    };
    comparisons.retain(|arms| !arms.iter().any(|(_, slots)| slots.iter().any(is_command)));
    let differ = comparisons.iter().filter_map(|arms| {
        let times: Vec<(&str, f64)> = arms
            .iter()
            .filter_map(|(arm, slots)| Some((*arm, seconds(slots)?)))
            .collect();
        let least = times.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let most = times.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (most.1 > least.1 * (1.0 + TOLERANCE)).then_some((*least, *most))
    });
    differ
        .take(1)
        .map(|((short, least), (long, most))| {
            let [least, most] = [least, most].map(|ns| Nanos(f64_to_u64_saturating(ns)));
            let message = format!("{short} was measured for {least}, {long} for {most}");
            let advice = "measure every arm for the same time after the same warm-up";
            RULE.about(None, Severity::Warning, message, advice)
        })
        .collect()
}

/// The slots of one row by what they are of; all have the name of the row.
fn by_source<'a>(name: &'a str, slots: &[Slot<'a>]) -> Vec<Arm<'a>> {
    grouped(slots, Identity::of)
        .into_iter()
        .map(|(_, slots)| {
            (
                slots.first().map_or(name, |(_, record)| word(record)),
                slots,
            )
        })
        .collect()
}

fn word(record: &Record) -> &str {
    record
        .source
        .as_ref()
        .and_then(|source| source.file.as_deref())
        .unwrap_or(&record.name)
}

/// A record's settings apart from its direction and duration; one that says none is like no other.
fn work(record: &Record) -> impl Ord + Clone {
    let says_none = record.effective.is_empty();
    (
        settings(record, &["duration", "read-percent"]),
        says_none.then(|| std::ptr::from_ref(record).addr()),
    )
}

/// Measured nanoseconds of an arm that ran for a time rather than for an amount.
fn seconds(slots: &[Slot<'_>]) -> Option<f64> {
    let timed = slots.iter().filter(|(_, r)| {
        !Effective::of(r).is_on("run-until-complete")
            && Effective::of(r).text("total-bytes").is_none()
    });
    let times: Vec<f64> = timed
        .filter_map(|(_, record)| Some(Effective::of(record).measured_ns()? as f64))
        .collect();
    (!times.is_empty()).then(|| median(times))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::set;
    use super::super::super::example::{SECOND, only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    #[test]
    fn ten_seconds_beside_five_are_found() {
        let mut read = Record {
            name: "read".into(),
            ..quoted("read", Summary::default())
        };
        let mut write = Record {
            name: "write".into(),
            elapsed_ns: 5 * SECOND,
            ..quoted("write", Summary::default())
        };
        set(&mut read, "block-size", "4k");
        set(&mut write, "block-size", "4k");
        assert_eq!(
            only(&run_on(check, &[read, write])),
            "write was measured for 5 s, read for 10 s"
        );
    }

    #[test]
    fn phases_of_one_run_take_their_time_and_one_job_of_two_files_the_same() {
        let of = |name: &str, file: &str, seconds: u64| {
            let mut record = Record {
                name: name.into(),
                elapsed_ns: seconds * SECOND,
                ..quoted("write", Summary::default())
            };
            let source = record.source.as_mut().unwrap();
            (source.tool, source.file) = ("elbencho".into(), Some(file.into()));
            set(&mut record, "block-size", "4k");
            record
        };
        assert_eq!(
            run_on(check, &[of("SYNC", "a.csv", 1), of("WRITE", "a.csv", 95)]),
            []
        );
        let found = run_on(check, &[of("WRITE", "a.csv", 10), of("WRITE", "b.csv", 95)]);
        assert_eq!(only(&found), "a.csv was measured for 10 s, b.csv for 95 s");
    }

    #[test]
    fn equal_times_and_our_own_unrelated_runs_are_silent() {
        let short = || Record {
            elapsed_ns: 5 * SECOND,
            ..sound()
        };
        assert_eq!(run_on(check, &[sound(), short()]), []);
        assert_eq!(
            run_on(
                check,
                &[placed(sound(), "a", 0, 0), placed(sound(), "b", 0, 1)]
            ),
            []
        );
        assert_eq!(
            run_on(
                check,
                &[placed(sound(), "a", 0, 0), placed(short(), "b", 0, 1)]
            )
            .len(),
            1
        );
    }
}
