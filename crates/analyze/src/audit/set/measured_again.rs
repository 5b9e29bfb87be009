//! What was measured again, and is left out.

use super::Located;
use crate::Severity;
use record::{Record, Status, Trial};

/// A slot or a step whose ranks began too far apart, and that was measured again, counts nowhere: that is worth a note.
pub(super) fn lowered(mut of: Located, records: &[Record], index: usize) -> Located {
    let record = &records[index];
    let is_apart = record.outcome.status == Status::Apart;
    if of.finding.rule != super::super::start_skew::RULE.id || !is_apart {
        return of;
    }
    let later = &records[index + 1..];
    let again = match &record.trial {
        Some(slot) => later
            .iter()
            .position(|later| later.is_good_slot() && is_of(slot, later)),
        // A step is measured again at once.
        None => later
            .iter()
            .take_while(|later| is_same_step(record, later))
            .position(Record::is_good_slot),
    };
    if let Some(later) = again {
        of.finding.severity = Severity::Note;
        let later = index + later + 2;
        let text = &mut of.finding.message;
        text.push_str(&format!(
            "; it is left out, and record {later} stands in its place"
        ));
    }
    of
}

/// Whether a record is of the same place of an experiment.
fn is_of(slot: &Trial, later: &Record) -> bool {
    let place = |of: &Trial| (of.plan.clone(), of.row.clone(), of.block, of.arm.clone());
    let its = later.trial.as_ref();
    its.is_some_and(|its| place(its) == place(slot))
}

/// Whether both are steps at one rate of a search that was asked for in the same words.
fn is_same_step(one: &Record, other: &Record) -> bool {
    let step = |of: &Record| {
        let search = of.load.as_ref()?.search.as_ref()?;
        let rate = of.pace.as_ref()?.asked_per_second?;
        Some((search.threshold.clone(), rate))
    };
    let is_like = one.name == other.name && one.asked == other.asked;
    is_like && other.trial.is_none() && step(one).is_some() && step(one) == step(other)
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{group, placed};
    use super::*;

    #[test]
    fn what_was_measured_again_is_no_more_than_a_note_of_what_stands_in_its_place() {
        let skewed = |most: u64| {
            let mut record = group(2);
            record.group.as_mut().unwrap().skew_ns = Some(11_000_000);
            record.hold_to_start(units::Nanos(most));
            record
        };
        let (apart, good) = (|| skewed(10_000_000), || skewed(11_000_000));
        let slot = |record: Record, attempt: u32| {
            let mut record = placed(record, "baseline", 0, attempt);
            record.trial.as_mut().unwrap().attempt = attempt;
            record
        };
        let step = |mut record: Record, rate: f64| {
            record.load = Some(record::LoadAccount {
                search: Some(record::SearchAccount::default()),
                ..record::LoadAccount::default()
            });
            let pace = record.pace.get_or_insert_default();
            pace.asked_per_second = Some(rate);
            record
        };
        let asked = |mut record: Record, target: &str| {
            record.asked.insert("target".into(), target.into());
            record
        };
        let of_another = asked(step(good(), 5.0), "s3://b@other");
        for (records, wanted) in [
            ([slot(apart(), 0), slot(good(), 1)], Severity::Note),
            ([slot(apart(), 0), slot(apart(), 1)], Severity::Invalid),
            ([slot(good(), 0), slot(apart(), 1)], Severity::Invalid),
            ([step(apart(), 5.0), step(good(), 5.0)], Severity::Note),
            ([step(apart(), 5.0), step(good(), 6.0)], Severity::Invalid),
            ([step(apart(), 5.0), of_another], Severity::Invalid),
            ([apart(), good()], Severity::Invalid),
        ] {
            let found = super::super::audit(&records);
            let rule = super::super::super::start_skew::RULE.id;
            let mut of_rule = found.iter().filter(|of| of.finding.rule == rule);
            let first = of_rule.next().unwrap();
            assert_eq!(first.finding.severity, wanted, "{first:?}");
            let is_told = first
                .finding
                .message
                .ends_with("record 2 stands in its place");
            assert_eq!(is_told, wanted == Severity::Note, "{first:?}");
        }
    }
}
