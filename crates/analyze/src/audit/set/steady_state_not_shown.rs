//! Whether an experiment was in steady state, over its slots; and whether figures from elsewhere
//! can show that they were.

use super::super::not_steady::why_not;
use super::{Experiment, Located, Slot, grouped, names};
use crate::audit::not_steady::RULE;
use crate::{Effective, Severity};
use units::counted;

/// Slots of an arm that may fail the gate.
const MOST_SHARE: f64 = 0.2;
/// Five windows need about this long.
const LEAST_NS: u64 = 30_000_000_000;

pub(in crate::audit) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    failing_arms(experiment)
        .into_iter()
        .chain(unknown(experiment))
        .collect()
}

fn failing_arms(experiment: &Experiment<'_>) -> Option<Located> {
    let slots = experiment.planned();
    let cells = grouped(&slots, |record| (super::arm(record), super::row(record)));
    cells.into_iter().find_map(|((arm, row), slots)| {
        let failing = slots.iter().filter(|(_, record)| why_not(record).is_some()).count();
        (failing as f64 > MOST_SHARE * slots.len() as f64).then(|| {
            let message = format!(
                "{failing} of {} of {row} of {arm} {} not in steady state",
                counted(slots.len(), "slot"),
                if slots.len() == 1 { "was" } else { "were" }
            );
            let advice = "lengthen the warm-up or the slots until the rate has settled; a burst that is meant must be all that is measured";
            RULE.about(None, experiment.severity(), message, advice)
        })
    })
}

fn unknown(experiment: &Experiment<'_>) -> Option<Located> {
    let short = |slot: &&Slot<'_>| {
        let effective = Effective::of(slot.1);
        !effective.is_start_of_command()
            && effective
                .measured_ns()
                .is_some_and(|measured| measured < LEAST_NS)
    };
    let silent: Vec<Slot<'_>> = experiment
        .slots
        .iter()
        .filter(|(_, record)| record.source.is_some() && record.series.is_empty())
        .filter(short)
        .copied()
        .collect();
    (!silent.is_empty()).then(|| {
        let (have, their) = if silent.len() == 1 { ("has", "its") } else { ("have", "their") };
        let message = format!(
            "{} of less than 30 s {have} no series: nothing shows that {their} rate had settled ({})",
            counted(silent.len(), "result"),
            names(&silent)
        );
        let advice =
            "run until five windows agree within 20 %, with the rate of each second kept; writes until the device was written over once";
        RULE.about(if let [(index, _)] = silent[..] { Some(index) } else { None }, Severity::Warning, message, advice)
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{SECOND, only, placed, quoted, with_rates};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    #[test]
    fn an_arm_of_which_more_than_a_fifth_fails_is_invalid() {
        let falling: Vec<u64> = (0..60)
            .map(|second| if second < 40 { 3000 } else { 1000 })
            .collect();
        let arm = |failing: u32| -> Vec<Record> {
            (0..10)
                .map(|block| {
                    placed(
                        with_rates(if block < failing {
                            &falling
                        } else {
                            &[2000; 60]
                        }),
                        "a",
                        block,
                        block,
                    )
                })
                .collect()
        };
        let found = run_on(check, &arm(3));
        assert_eq!(
            only(&found),
            "3 of 10 slots of row of a were not in steady state"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(run_on(check, &arm(2)), []);
    }

    #[test]
    fn a_short_figure_from_elsewhere_cannot_show_it() {
        let record = quoted("read", Summary::default());
        assert!(
            only(&run_on(check, std::slice::from_ref(&record)))
                .starts_with("1 result of less than 30 s has no series")
        );
        assert_eq!(
            run_on(
                check,
                &[Record {
                    elapsed_ns: 60 * SECOND,
                    ..record
                }]
            ),
            []
        );
    }
}
