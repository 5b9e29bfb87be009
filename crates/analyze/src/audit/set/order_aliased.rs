//! If each arm ran in a time of its own, time and arm cannot be told apart.

use super::{Experiment, Located, Slot, arm};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use crate::identity::Identity;
use record::{Record, UnsaidPlace};
use stats::{Aliased, aliased_with_order};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "order_aliased",
    catalogue_number: Some(32),
    severity: Severity::Invalid,
    title: "Time and arm cannot be separated",
    text: "\
The order of the slots (trial.slot, else started_at): found if each arm ran in one
window of time, or if one arm ran before another with a probability above 0.9; and of an
imported table if it does not say the order. Invalid in a plan or a document, a warning
for other records.
Machines drift: disks fill, caches warm, neighbours wake. If variant A ran from 20:00 to
23:00 and B from 13:00 to 19:00 next day, \"B is slower\" and \"the machine became slower\"
are one sentence. In simulation a drift to a third turns 98.7 % of identical pairs into
differences of more than 5 %.
What to do: run one slot of every arm in each block, in random order. More runs in the
same order, or leaving the first out, repair nothing.",
    checks: &[Check::Together(check)],
};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    // Without a plan the names are those of phases; what is one thing on one machine has no arms.
    let is_one_thing = |slots: &[Slot<'_>]| {
        slots
            .windows(2)
            .all(|pair| Identity::of(pair[0].1) == Identity::of(pair[1].1))
    };
    if !experiment.is_placed
        && experiment
            .slots
            .iter()
            .all(|(_, record)| record.source.is_some())
        && is_one_thing(&experiment.slots)
    {
        return Vec::new();
    }
    if is_unsaid(experiment, UnsaidPlace::Order) {
        let message =
            "the table does not say in which order its slots ran: time and arm cannot be separated";
        let advice = "import it with the column that says it (order=COLUMN, or start=COLUMN for the times of the starts); if nobody wrote it down, measure again in randomised blocks";
        return vec![RULE.about(None, experiment.severity(), message.into(), advice)];
    }
    let Some(slots) = in_time(experiment) else {
        return Vec::new();
    };
    let mut arms: Vec<&str> = Vec::new();
    slots.iter().for_each(|(_, arm)| {
        if !arms.contains(arm) {
            arms.push(arm)
        }
    });
    let order: Vec<usize> = slots
        .iter()
        .filter_map(|(_, arm)| arms.iter().position(|known| known == arm))
        .collect();
    let repeated = arms
        .iter()
        .enumerate()
        .filter(|(index, _)| order.iter().filter(|arm| *arm == index).count() >= 2)
        .count();
    if repeated < 2 {
        return Vec::new();
    }
    let windows = 1 + order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let message = if windows == arms.len() {
        format!(
            "each of {} arms ran in one window of time: time and arm cannot be separated",
            arms.len()
        )
    } else if let Some(Aliased {
        arms: (a, b),
        earlier,
    }) = aliased_with_order(&order)
    {
        let (a, b) = if earlier > 0.5 { (a, b) } else { (b, a) };
        format!(
            "nearly all runs of {:?} came before those of {:?}: time and arm cannot be separated",
            arms[a], arms[b]
        )
    } else {
        return Vec::new();
    };
    let advice = "run one slot of every arm in each block, in random order; neither more runs nor a discarded first one repairs this order";
    vec![RULE.about(None, experiment.severity(), message, advice)]
}

/// Whether nobody says this of the places of slots.
pub(super) fn is_unsaid(experiment: &Experiment<'_>, part: UnsaidPlace) -> bool {
    let mut trials = experiment
        .slots
        .iter()
        .filter_map(|(_, record)| record.trial.as_ref());
    trials.any(|trial| trial.lacks(part))
}

/// Slots in the order of time; `None` where that is not known of each.
fn in_time<'a>(experiment: &Experiment<'a>) -> Option<Vec<(Moment<'a>, &'a str)>> {
    let mut slots: Vec<(Moment<'_>, &str)> = experiment
        .slots
        .iter()
        .filter_map(|(_, r)| Some((moment(r)?, arm(r))))
        .collect();
    if slots.len() < experiment.slots.len() {
        return None;
    }
    slots.sort();
    let tied = slots
        .windows(2)
        .any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1);
    if tied {
        return None;
    }
    Some(slots)
}

/// Place in the order of the runs: as planned, else as begun.
type Moment<'a> = (u32, &'a str);

fn moment(record: &Record) -> Option<Moment<'_>> {
    let started = record.started_at.as_str();
    match &record.trial {
        Some(trial) => Some((trial.slot, "")),
        None => Some((0, started)).filter(|_| !started.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, sound};
    use super::super::run_on;
    use super::*;
    use crate::Severity;

    fn order(arms: &str) -> Vec<Record> {
        arms.chars()
            .zip(0_u32..)
            .map(|(arm, slot)| placed(sound(), &arm.to_string(), slot, slot))
            .collect()
    }

    #[test]
    fn arm_after_arm_is_found() {
        let found = run_on(check, &order("aaabbbccc"));
        assert_eq!(
            only(&found),
            "each of 3 arms ran in one window of time: time and arm cannot be separated"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn an_order_that_nobody_says_separates_nothing() {
        let mut records = order("abbabaab");
        for trial in records
            .iter_mut()
            .filter_map(|record| record.trial.as_mut())
        {
            trial.unsaid = vec![UnsaidPlace::Order];
        }
        let found = run_on(check, &records);
        assert!(only(&found).starts_with("the table does not say in which order"));
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn one_exchange_does_not_help() {
        assert!(
            only(&run_on(check, &order("aaabaabbbbb")))
                .starts_with("nearly all runs of \"a\" came before those of \"b\"")
        );
    }

    #[test]
    fn blocks_and_single_runs_are_silent() {
        for arms in ["abbabaab", "abab", "abc", "aaaa", "aab"] {
            assert_eq!(run_on(check, &order(arms)), [], "{arms}");
        }
    }

    #[test]
    fn without_a_plan_the_time_of_the_start_counts() {
        let mut records: Vec<Record> = ["x", "x", "y", "y"]
            .map(|name| Record {
                name: name.into(),
                ..sound()
            })
            .into();
        assert_eq!(run_on(check, &records), []);
        records
            .iter_mut()
            .zip(1..)
            .for_each(|(record, hour)| record.started_at = format!("2026-01-30T0{hour}:00:00Z"));
        assert_eq!(run_on(check, &records)[0].severity, Severity::Warning);
    }
}
