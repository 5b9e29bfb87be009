//! Which records count in a study, and why the others do not.

use crate::audit::CLAIM;
use crate::figures::figures;
use record::{Record, Status, Summary};
use std::collections::BTreeMap;

/// A record that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub record: usize,
    /// Its name, and when it was measured.
    pub name: String,
    pub reason: String,
}

/// Records, by whether they count.
#[derive(Default)]
pub(super) struct Sorted {
    /// Their indices.
    pub(super) counting: Vec<usize>,
    pub(super) left_out: Vec<LeftOut>,
    /// How the only record ended, if that alone would keep it from counting: whoever asks for a run that
    /// was stopped wants to see what it measured.
    pub(super) ended_badly: Option<String>,
}

impl Sorted {
    pub(super) fn of(records: &[Record]) -> Self {
        if let Some(ended) = all_that_there_is(records) {
            return Self {
                counting: vec![0],
                ended_badly: Some(ended),
                ..Self::default()
            };
        }
        let mut out = Self::default();
        let mut seen: BTreeMap<(&str, &str, &str), Vec<usize>> = BTreeMap::new();
        for (index, record) in records.iter().enumerate() {
            let same = seen
                .entry((&record.id, &record.started_at, &record.name))
                .or_default();
            let twin = same
                .iter()
                .find(|other| !record.id.is_empty() && records[**other] == *record);
            let reason = twin
                .map(|other| format!("it is record {} a second time", other + 1))
                .or_else(|| unusable(record));
            match reason {
                Some(reason) => out.left_out.push(LeftOut {
                    record: index,
                    name: named(record),
                    reason,
                }),
                None => {
                    out.counting.push(index);
                    same.push(index);
                }
            }
        }
        out
    }

    /// Those that do not count and did not end well.
    pub(super) fn failed(&self, records: &[Record]) -> Vec<usize> {
        let left_out = self.left_out.iter().map(|left| left.record);
        let is_failed = |index: &usize| records[*index].outcome.status != Status::Ok;
        left_out.filter(is_failed).collect()
    }
}

fn all_that_there_is(records: &[Record]) -> Option<String> {
    let [only] = records else { return None };
    let ended = ended_badly(only)?;
    let is_shown = only.trial.is_none() && measured_nothing(only).is_none();
    is_shown.then_some(ended)
}

fn named(record: &Record) -> String {
    let name = match &record.trial {
        Some(trial) => format!("{} of {}, block {}", trial.row, trial.arm, trial.block),
        None => record.name.clone(),
    };
    if record.started_at.is_empty() {
        name
    } else {
        format!("{name} ({})", record.started_at)
    }
}

/// Why a record cannot count; `None` if it can.
fn unusable(record: &Record) -> Option<String> {
    ended_badly(record).or_else(|| measured_nothing(record))
}

/// How a record ended whose run did not end well.
#[must_use]
pub fn ended_badly(record: &Record) -> Option<String> {
    let why = record.outcome.message.as_deref();
    let why = why.unwrap_or("it does not say why");
    match record.outcome.status {
        Status::Ok => return None,
        Status::Apart => return Some(why.to_owned()),
        Status::Failed | Status::Interrupted | Status::Incomplete => {}
    }
    let trial = record.trial.as_ref();
    let is_last = trial.is_some_and(|trial| trial.left_out_after > 0);
    let after = if is_last {
        "; its arm is left out of the row from here on"
    } else {
        ""
    };
    Some(format!("it did not end well: {why}{after}"))
}

/// Why what a record holds is no measurement, however it ended.
fn measured_nothing(record: &Record) -> Option<String> {
    if record.kind == CLAIM {
        return Some(
            "it is what a document concludes, which is audited and not measured".to_owned(),
        );
    }
    if let Some((kind, figure)) = record
        .summaries
        .iter()
        .find_map(|(kind, summary)| Some((kind, impossible(summary)?)))
    {
        return Some(format!("{kind}: {figure}"));
    }
    if !record.operations.is_empty() && record.elapsed_ns == 0 {
        return Some("operations are counted, and no time passed".to_owned());
    }
    figures(record)
        .next()
        .is_none()
        .then(|| "nothing was measured".to_owned())
}

/// A figure that is no measurement.
fn impossible(summary: &Summary) -> Option<String> {
    let single = [
        ("operations a second", summary.per_second),
        ("bytes a second", summary.bytes_per_second),
        ("mean latency", summary.mean_ns),
        ("shortest latency", summary.min_ns),
        ("longest latency", summary.max_ns),
    ];
    let percentiles = summary
        .percentiles_ns
        .iter()
        .map(|(percent, ns)| (format!("p{percent}"), *ns));
    let all = single
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .chain(percentiles);
    all.filter(|(_, value)| !value.is_finite() || *value < 0.0)
        .map(|(name, value)| format!("{name} is {value}"))
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::example::{quoted, sound};

    #[test]
    fn a_sound_record_counts() {
        assert_eq!(unusable(&sound()), None);
    }

    #[test]
    fn numbers_that_are_no_measurements_are_named() {
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            let rate = quoted(
                "read",
                Summary {
                    per_second: Some(bad),
                    mean_ns: Some(5.0),
                    ..Summary::default()
                },
            );
            assert_eq!(
                unusable(&rate),
                Some(format!("read: operations a second is {bad}"))
            );
            let tail = quoted(
                "read",
                Summary {
                    percentiles_ns: [("99".to_owned(), bad)].into(),
                    ..Summary::default()
                },
            );
            assert_eq!(unusable(&tail), Some(format!("read: p99 is {bad}")));
        }
    }

    #[test]
    fn ranks_that_began_too_far_apart_are_a_reason() {
        let mut record = sound();
        record.group = Some(record::GroupAccount {
            skew_ns: Some(2),
            ..record::GroupAccount::default()
        });
        record.hold_to_start(units::Nanos(2));
        assert_eq!(unusable(&record), None);
        record.hold_to_start(units::Nanos(1));
        assert_eq!(
            unusable(&record).as_deref(),
            Some("ranks began 2 ns apart, more than --max-skew 1 ns")
        );
    }

    #[test]
    fn no_time_no_operation_and_a_bad_end_are_reasons() {
        let mut record = sound();
        record.elapsed_ns = 0;
        assert!(unusable(&record).is_some_and(|why| why.contains("no time passed")));
        assert_eq!(
            unusable(&Record::default()).as_deref(),
            Some("nothing was measured")
        );
        record.outcome.status = Status::Failed;
        record.outcome.message = Some("EIO".into());
        assert_eq!(
            unusable(&record).as_deref(),
            Some("it did not end well: EIO")
        );
        assert!(
            unusable(&Record {
                kind: CLAIM.into(),
                ..sound()
            })
            .is_some_and(|why| why.contains("concludes"))
        );
    }
}
