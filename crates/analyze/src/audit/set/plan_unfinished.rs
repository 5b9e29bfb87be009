//! An experiment that ended before its plan did has fewer repetitions than were meant.

use super::{Experiment, Located};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::{PlanFacts, Record, Status, Stopping, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "plan_unfinished",
    catalogue_number: None,
    severity: Severity::Note,
    title: "The experiment ended before its plan did",
    text: "\
The plan at the beginning of a file says how many passes there were to be: all of a fixed
number, or the fewest after which an open one may end. Found where fewer are whole, which
is a block of every row with every arm that could run.
Nothing in a file says why no further line follows: the time was up, somebody stopped it,
its process was killed, or it still goes on. What is there is as good as ever, but 2 of 6
blocks have no interval, and what comes late in a pass was measured less often.
What to do: go on where it can be resumed, or give more time and repeat it.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str = "resume it where that is possible, or give it more time and repeat it";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut records: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for (_, record) in &experiment.slots {
        if let Some(trial) = &record.trial {
            records.entry(&trial.plan).or_default().push(record);
        }
    }
    let found = records.values().filter_map(|own| unfinished(own));
    found
        .map(|message| RULE.about(None, Severity::Note, message, ADVICE))
        .collect()
}

fn unfinished(own: &[&Record]) -> Option<String> {
    let trial = |record: &&Record| {
        record
            .trial
            .as_ref()
            .map(|trial| trial.written_plan.clone())
    };
    let plan = &own.iter().find_map(trial)??.plan;
    let planned = match plan.stopping {
        Stopping::Fixed => plan.most_passes,
        Stopping::Open | Stopping::EachPass => plan.least_passes,
    };
    let whole = whole_passes(plan, own);
    (whole < planned).then(|| {
        let slots = match own.len() {
            1 => "1 slot".to_owned(),
            slots => format!("{slots} slots"),
        };
        format!(
            "{whole} of {planned} planned passes are whole ({slots}): the time was up, or it was stopped or killed, or still goes on"
        )
    })
}

/// Passes of which every row was measured with every arm that could run there.
fn whole_passes(plan: &PlanFacts, own: &[&Record]) -> u32 {
    let mut blocks: BTreeMap<(&str, &str), BTreeSet<u32>> = BTreeMap::new();
    let is_ok = |record: &&&Record| record.outcome.status == Status::Ok;
    let trials = own.iter().filter(is_ok).filter_map(|r| r.trial.as_ref());
    for Trial {
        row, arm, block, ..
    } in trials
    {
        blocks.entry((row, arm)).or_default().insert(*block);
    }
    let able = blocks.values().map(BTreeSet::len);
    let rows: BTreeSet<&str> = blocks.keys().map(|(row, _)| *row).collect();
    let fewest = match rows.len() < plan.rows.len() {
        true => 0,
        false => able.min().unwrap_or(0),
    };
    u32::try_from(fewest).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, sound};
    use super::super::run_on;
    use super::*;
    use record::PlannedRow;
    use std::sync::Arc;

    /// Blocks of one row, of as many as were planned.
    fn measured(blocks: u32, change: impl Fn(&mut PlanFacts)) -> Vec<Record> {
        let mut plan = PlanFacts {
            stopping: Stopping::Fixed,
            least_passes: 1,
            most_passes: 6,
            rows: vec![PlannedRow::default()],
            ..PlanFacts::default()
        };
        change(&mut plan);
        let line = Arc::new(plan.line());
        let place = |n| {
            let mut record = placed(sound(), "a", n, n);
            let trial = record.trial.as_mut().unwrap();
            trial.plan.clone_from(&line.hash);
            trial.written_plan = Some(Arc::clone(&line));
            record
        };
        (0..blocks).map(place).collect()
    }

    #[test]
    fn fewer_passes_than_were_planned_are_found() {
        assert_eq!(
            only(&run_on(check, &measured(2, |_| {}))),
            "2 of 6 planned passes are whole (2 slots): the time was up, or it was stopped or killed, or still goes on"
        );
        assert_eq!(run_on(check, &measured(6, |_| {})), []);
        let mut failed = measured(6, |_| {});
        failed[5].outcome.status = Status::Failed;
        assert_eq!(run_on(check, &failed).len(), 1);
        // A row that was never begun.
        let another = |plan: &mut PlanFacts| plan.rows.push(PlannedRow::default());
        assert!(only(&run_on(check, &measured(6, another))).starts_with("0 of 6"));
    }

    #[test]
    fn an_open_one_may_end_after_its_fewest() {
        let open = |plan: &mut PlanFacts| {
            (plan.stopping, plan.least_passes) = (Stopping::Open, 4);
        };
        assert_eq!(run_on(check, &measured(4, open)), []);
        assert_eq!(run_on(check, &measured(3, open)).len(), 1);
    }
}
