//! Records that measure nothing that can be put beside other numbers.

use crate::audit::CLAIM;
use crate::figures::figures;
use record::{Record, Status, Summary};

/// Why a record cannot count; `None` if it can.
pub(super) fn unusable(record: &Record) -> Option<String> {
    if record.outcome.status != Status::Ok {
        let why = record
            .outcome
            .message
            .as_deref()
            .unwrap_or("it does not say why");
        if record.outcome.status == Status::Apart {
            return Some(why.to_owned());
        }
        let trial = record.trial.as_ref();
        let is_last = trial.is_some_and(|trial| trial.left_out_after > 0);
        let after = if is_last {
            "; its arm is left out of the row from here on"
        } else {
            ""
        };
        return Some(format!("it did not end well: {why}{after}"));
    }
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
