//! Counts, rates and times that a source states must fit each other.

use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use crate::{Effective, Finding, Severity};
use record::Record;
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "counts_inconsistent",
    catalogue_number: Some(59),
    severity: Severity::Invalid,
    title: "Stated counts, rates and sizes do not fit each other",
    text: "\
What a source states: operations (those that succeeded, or all that were tried) against
rate times time, bytes against bytes a second times time, bytes against operations times
the one block size, each within 10 %; and objects against requests. A time in whole
milliseconds that are rounded down may be one longer.
An object costs at least one request, so 3,014 objects from 2,605 requests cannot be:
one of the two is of another test, another time or another definition. Until it is known
which, every ratio that uses either is open.
What to do: take the figures from the raw output of the tool, and ask which of them is
not what it is called.",
    checks: &[Check::Each(check)],
};

/// Published figures have two or three digits, and their time is rounded.
const TOLERANCE: f64 = 0.1;
const ADVICE: &str = "at least one of these figures is not what it is called: take them from the raw output of the tool, and ask which";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let block = Effective::of(record).transfer_bytes();
    let messages = figures(record)
        .flat_map(|figures| contradictions(record, &figures, block))
        .chain(objects(record));
    messages
        .map(|message| RULE.finding(Severity::Invalid, message, ADVICE))
        .collect()
}

fn contradictions(record: &Record, figures: &Figures<'_>, block: Option<u64>) -> Vec<String> {
    let seconds = record.elapsed_ns as f64 / 1e9;
    let kind = figures.kind;
    let mut out = Vec::new();
    // A time that is rounded down is up to one step longer.
    let step = record
        .source
        .as_ref()
        .and_then(|source| source.elapsed_step_ns)
        .map_or(0.0, |ns| ns as f64 / 1e9);
    let fits = |amount: u64, rate: f64| {
        let [least, most] = [seconds, seconds + step].map(|seconds| rate * seconds);
        // One operation more or less at the ends.
        let slack = |product: f64| (product * TOLERANCE).max(2.0);
        (least - slack(least)..=most + slack(most)).contains(&(amount as f64))
    };
    let mut compare = |amounts: [Option<u64>; 2], rate: Option<f64>, what: &str| {
        let (Some(amount), Some(rate)) = (amounts[0].filter(|_| seconds > 0.0 || step > 0.0), rate)
        else {
            return;
        };
        if !amounts.iter().flatten().any(|amount| fits(*amount, rate)) {
            let (time, product) = (Nanos(record.elapsed_ns), rate * seconds);
            out.push(format!("{kind}: {amount} {what} in {time} are not the stated {rate:.4} a second, which give {product:.0}"));
        }
    };
    // A rate may be that of all that was tried, or that of what succeeded.
    let tried = figures
        .count()
        .zip(figures.errors())
        .map(|(count, errors)| count.saturating_add(errors));
    compare(
        [figures.count(), tried],
        figures.stated_per_second(),
        "operations",
    );
    compare(
        [figures.bytes(), None],
        figures.stated_bytes_per_second(),
        "bytes",
    );
    let sized = block
        .zip(figures.bytes())
        .zip(figures.count())
        .filter(|_| matches!(kind, "read" | "write"));
    if let Some(((block, bytes), count)) = sized {
        let product = count as f64 * block as f64;
        if figures.both().is_none() && (bytes as f64 - product).abs() > product * TOLERANCE {
            out.push(format!(
                "{kind}: {bytes} bytes are not {count} operations of {block} bytes"
            ));
        }
    }
    out
}

/// An object costs at least one request.
fn objects(record: &Record) -> Vec<String> {
    let tried = |f: &Figures<'_>| {
        f.count()
            .map(|count| count.saturating_add(f.errors().unwrap_or(0)))
    };
    let most = figures(record).filter_map(|f| tried(&f)).max();
    let named = figures(record)
        .flat_map(|f| f.others().collect::<Vec<_>>())
        .chain(figureless(record));
    let objects: Vec<f64> = named
        .filter(|(name, _)| name.to_ascii_lowercase().contains("objects"))
        .map(|(_, value)| value)
        .collect();
    let too_many = most.into_iter().flat_map(|most| {
        objects
            .iter()
            .filter(move |objects| **objects > most as f64)
            .map(move |o| (most, *o))
    });
    too_many
        .take(1)
        .map(|(most, objects)| format!("{objects} objects from {most} requests"))
        .collect()
}

/// The figures of summaries that are of no kind of operation.
fn figureless(record: &Record) -> impl Iterator<Item = (&str, f64)> {
    let operations: Vec<&str> = figures(record).map(|f| f.kind).collect();
    let others = record
        .summaries
        .iter()
        .filter(move |(kind, _)| !operations.contains(&kind.as_str()));
    others.flat_map(|(_, summary)| {
        summary
            .figures
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted, set, sound};
    use super::*;
    use record::Summary;

    #[test]
    fn more_objects_than_requests_are_found() {
        let summary = Summary {
            count: Some(2604),
            errors: Some(1),
            figures: [("objects_created".to_owned(), 3014.0)].into(),
            ..Summary::default()
        };
        assert_eq!(
            only(&check(&quoted("request", summary.clone()))),
            "3014 objects from 2605 requests"
        );
        let fewer = Summary {
            figures: [("objects_created".to_owned(), 2600.0)].into(),
            ..summary
        };
        assert_eq!(check(&quoted("request", fewer)), []);
    }

    #[test]
    fn a_rate_of_all_that_was_tried_fits_and_one_of_neither_does_not() {
        let of = |per_second| Summary {
            count: Some(580_302),
            errors: Some(171_890),
            per_second: Some(per_second),
            ..Summary::default()
        };
        assert_eq!(check(&quoted("request", of(75_219.2))), []);
        assert_eq!(check(&quoted("request", of(58_030.2))), []);
        assert_eq!(check(&quoted("request", of(120_000.0))).len(), 1);
    }

    #[test]
    fn a_time_in_whole_milliseconds_may_be_nearly_one_longer() {
        let mut record = quoted(
            "mkdirs",
            Summary {
                count: Some(128),
                per_second: Some(16_382.0),
                ..Summary::default()
            },
        );
        record.elapsed_ns = 7_000_000;
        assert_eq!(check(&record).len(), 1, "a time that is exact");
        record.source.as_mut().unwrap().elapsed_step_ns = Some(1_000_000);
        assert_eq!(check(&record), []);
        record.summaries.get_mut("mkdirs").unwrap().count = Some(160);
        assert_eq!(check(&record).len(), 1);
    }

    #[test]
    fn a_count_that_is_not_the_rate_times_the_time_is_found() {
        let summary = Summary {
            count: Some(7000),
            per_second: Some(1000.0),
            ..Summary::default()
        };
        assert_eq!(
            only(&check(&quoted("read", summary))),
            "read: 7000 operations in 10 s are not the stated 1000.0000 a second, which give 10000"
        );
    }

    #[test]
    fn bytes_that_are_not_operations_times_their_size_are_found() {
        let mut record = quoted(
            "read",
            Summary {
                count: Some(1000),
                bytes: Some(1 << 20),
                ..Summary::default()
            },
        );
        assert_eq!(check(&record), []);
        set(&mut record, "block-size", "4k");
        assert_eq!(
            only(&check(&record)),
            "read: 1048576 bytes are not 1000 operations of 4096 bytes"
        );
    }

    #[test]
    fn rounded_figures_and_our_own_are_silent() {
        let summary = Summary {
            count: Some(4_820_100),
            per_second: Some(482_000.0),
            bytes_per_second: Some(1.974e9),
            bytes: Some(19_756_849_562),
            ..Summary::default()
        };
        assert_eq!(check(&quoted("read", summary)), []);
        assert_eq!(check(&sound()), []);
    }
}
