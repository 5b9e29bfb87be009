//! Slots may be short if there are enough of them.

use super::super::short_run::{ADVICE, least};
use super::{Experiment, Located, grouped};
use crate::audit::short_run::RULE;
use crate::{Effective, Severity};
use units::Nanos;
use units::counted;

pub(in crate::audit) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let slots = experiment.planned();
    let cells = grouped(&slots, |record| (super::arm(record), super::row(record)));
    let short = cells.iter().filter_map(|((arm, row), slots)| {
        let (least, severity) = slots
            .iter()
            .map(|(_, record)| least(record))
            .max_by_key(|(least, _)| *least)?;
        let times: Option<Vec<u64>> = slots
            .iter()
            .map(|(_, record)| Effective::of(record).measured_ns())
            .collect();
        let all: u64 = times?.iter().sum();
        (all < least).then_some((all, severity, *arm, *row))
    });
    let short: Vec<(u64, Severity, &str, &str)> = short.collect();
    let Some((all, severity, arm, row)) = short.iter().min_by_key(|(all, ..)| *all).copied() else {
        return Vec::new();
    };
    let message = match severity {
        // The plan that made them so short is not accused of it.
        Severity::Note => format!(
            "measured for {} or longer a result, as its plan has it (the shortest: {row} of {arm})",
            Nanos(all)
        ),
        Severity::Invalid | Severity::Warning => format!(
            "{} of {} {} measured for too short a time, the shortest, {row} of {arm}, for {} in all",
            short.len(),
            counted(cells.len(), "result"),
            if cells.len() == 1 { "was" } else { "were" },
            Nanos(all)
        ),
    };
    vec![RULE.about(None, severity, message, ADVICE)]
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{SECOND, only, placed, sound};
    use super::super::run_on;
    use super::*;
    use record::Record;

    #[test]
    fn short_slots_count_by_what_they_add_to() {
        let slots = |blocks: u32| -> Vec<Record> {
            (0..blocks)
                .map(|block| {
                    placed(
                        Record {
                            elapsed_ns: SECOND,
                            ..sound()
                        },
                        "a",
                        block,
                        block,
                    )
                })
                .collect()
        };
        assert_eq!(run_on(check, &slots(10)), []);
        assert_eq!(
            only(&run_on(check, &slots(3))),
            "measured for 3 s or longer a result, as its plan has it (the shortest: row of a)"
        );
    }
}
