//! Arms that are the same thing, and arms that differ by more than was declared.

use super::{Experiment, Located};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use crate::same_arms;
use record::{PlannedArm, Role, Status};
use std::collections::BTreeSet;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "arms_identical",
    catalogue_number: None,
    severity: Severity::Warning,
    title: "Arms are the same thing, or differ by more than they say",
    text: "\
What the plan of an experiment knows of its arms: commits, hashes of executables and of
lock files, what they say of themselves (plan.arms[].identity), and every option. Two arms
in which all of it is equal are an A/A test: what differs between them is error. Arms
whose dependencies or own words differ, beside the commit that was asked for, differ by
those too: a difference may be another version of SQLite, or another compiler.
A matrix of seven branches was judged against a baseline whose SQLite driver had been
exchanged by a clean-up four hours before; nothing said so, and \"-73 %\" was of the other.
What to do: keep the A/A as a control; of dependencies that differ, pin them, or make
their difference an arm of its own.",
    checks: &[Check::Together(check)],
};

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let trials = experiment
        .slots
        .iter()
        .filter_map(|(_, record)| record.trial.as_ref());
    let mut plans = trials.filter_map(|trial| trial.written_plan.as_deref());
    let Some(plan) = plans.next().map(|line| &line.plan) else {
        return Vec::new();
    };
    let advice = "take one of them out, or keep it as a control: what differs is error";
    let mut out: Vec<Located> = same_arms(plan)
        .into_iter()
        .map(|message| RULE.about(None, Severity::Warning, message, advice))
        .collect();
    let arms = &plan.arms;
    if let Some(base) = arms.iter().find(|arm| arm.role == Role::Baseline) {
        // Of an arm that cannot be built nothing is known that its build makes.
        let has_run = |arm: &&PlannedArm| {
            experiment.slots.iter().any(|(_, record)| {
                let is_its = |trial: &record::Trial| trial.arm == arm.name;
                record.outcome.status == Status::Ok && record.trial.as_ref().is_some_and(is_its)
            })
        };
        let others = arms.iter().filter(|arm| arm.role == Role::Candidate);
        let others = others.filter(|arm| has_run(arm) && has_run(&base));
        out.extend(others.filter_map(|arm| beside(base, arm)));
    }
    out
}

/// What differs beside the commit and what was built of it.
fn beside(base: &PlannedArm, arm: &PlannedArm) -> Option<Located> {
    const DECLARED: [&str; 3] = ["commit", "server", "command"];
    // Of a program that a factor chooses, the row follows.
    let is_declared = |key: &&String| {
        let what = key
            .split_once(" in ")
            .map_or(key.as_str(), |(what, _)| what);
        DECLARED.contains(&what)
    };
    let keys: BTreeSet<&String> = base.identity.keys().chain(arm.identity.keys()).collect();
    let differing: Vec<&str> = keys
        .into_iter()
        .filter(|key| !is_declared(key) && arm.identity.get(*key) != base.identity.get(*key))
        .map(String::as_str)
        .collect();
    if differing.is_empty() {
        return None;
    }
    let words = |of: &PlannedArm| of.identity.get("identity").cloned().unwrap_or_default();
    let [before, after] = [words(base), words(arm)];
    let own = |text: &str, other: &str| {
        let lines = text
            .lines()
            .filter(|line| !other.lines().any(|known| known == *line));
        lines.map(str::trim).take(3).collect::<Vec<_>>().join(", ")
    };
    let lines = [own(&before, &after), own(&after, &before)];
    let told = if lines.iter().all(String::is_empty) {
        String::new()
    } else {
        format!(": {} | {}", lines[0], lines[1])
    };
    let message = format!(
        "{} differs from {} also in {}{told}",
        arm.name,
        base.name,
        differing.join(", ")
    );
    let advice =
        "a difference may be that of the dependencies: pin them, or make them an arm of their own";
    Some(RULE.about(None, Severity::Warning, message, advice))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{placed, sound};
    use super::super::run_on;
    use super::*;
    use record::{PlanFacts, PlannedRow, PlannedWorkload, Record};
    use std::sync::Arc;

    /// Two arms with these identities and options.
    fn experiment(arms: [(&[(&str, &str)], &str); 2]) -> Vec<Record> {
        let arm = |(name, role, of): (&str, Role, &[(&str, &str)])| PlannedArm {
            name: name.into(),
            role,
            identity: of
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..PlannedArm::default()
        };
        let workload = |option: &str| PlannedWorkload {
            options: [("command".to_owned(), option.to_owned())].into(),
            ..PlannedWorkload::default()
        };
        let plan = PlanFacts {
            arms: vec![
                arm(("base", Role::Baseline, arms[0].0)),
                arm(("candidate", Role::Candidate, arms[1].0)),
            ],
            rows: vec![PlannedRow {
                name: "r".into(),
                workloads: arms.map(|(_, option)| workload(option)).into(),
            }],
            ..PlanFacts::default()
        };
        let line = Arc::new(plan.line());
        let mut records = vec![
            placed(sound(), "base", 0, 0),
            placed(sound(), "candidate", 0, 1),
        ];
        for record in &mut records {
            record.trial.as_mut().unwrap().written_plan = Some(Arc::clone(&line));
        }
        records
    }

    #[test]
    fn two_arms_of_one_hash_that_do_the_same_are_named() {
        let one: &[(&str, &str)] = &[("command", "sha256:1")];
        let found = run_on(check, &experiment([(one, "x"), (one, "x")]));
        assert!(
            found[0].message.contains("base and candidate are the same"),
            "{}",
            found[0].message
        );
        assert_eq!(
            run_on(check, &experiment([(one, "x"), (one, "x --other")])),
            [],
            "they do other things"
        );
        assert_eq!(
            run_on(
                check,
                &experiment([(one, "x"), (&[("command", "sha256:2")], "x")])
            ),
            []
        );
        assert_eq!(
            run_on(check, &experiment([(&[], "x"), (&[], "x")])),
            [],
            "nothing is known of them"
        );
    }

    #[test]
    fn one_program_at_two_places_or_one_commit_by_two_refs_is_named() {
        let one: &[(&str, &str)] = &[("command", "sha256:1")];
        let at = |a: &'static str, b: &'static str| {
            let found = run_on(check, &experiment([(one, a), (one, b)]));
            found.first().map(|of| of.message.clone())
        };
        let same = at("/old/server --fast 1", "/new/server --fast 1").unwrap();
        assert!(same.contains("are the same in everything"), "{same}");
        let named = at("./one --fast 1", "./two --fast 1").unwrap();
        assert!(named.contains("one program by two names"), "{named}");
        assert_eq!(at("./one --fast 1", "./one --fast 2"), None);
        assert_eq!(at("sh one.sh", "sh two.sh"), None, "a shell's script");

        let of_commit = |commits: [&'static str; 2]| {
            let identities = commits.map(|commit| [("commit", commit)]);
            let mut records = experiment([(&identities[0], "x"), (&identities[1], "x")]);
            let written = records[0].trial.as_ref().unwrap().written_plan.clone();
            let mut plan = written.unwrap().plan.clone();
            for (planned, git_ref) in plan.rows[0].workloads.iter_mut().zip(["main", "HEAD"]) {
                planned.options.insert("build.ref".into(), git_ref.into());
            }
            let line = Arc::new(plan.line());
            for record in &mut records {
                record.trial.as_mut().unwrap().written_plan = Some(Arc::clone(&line));
            }
            run_on(check, &records).len()
        };
        assert_eq!(of_commit(["1", "1"]), 1);
        assert_eq!(of_commit(["1", "2"]), 0);
    }

    #[test]
    fn a_dependency_that_nobody_declared_is_named() {
        let old: &[(&str, &str)] = &[("commit", "1"), ("identity", "a 1\nsqlite 3.40")];
        let new: &[(&str, &str)] = &[("commit", "2"), ("identity", "a 1\nsqlite 3.45")];
        let found = run_on(check, &experiment([(old, "x"), (new, "x")]));
        assert_eq!(
            found[0].message,
            "candidate differs from base also in identity: sqlite 3.40 | sqlite 3.45"
        );
        let locked: &[(&str, &str)] = &[("commit", "2"), ("go.sum", "sha256:1")];
        let mut records = experiment([(&[("commit", "1")], "x"), (locked, "x")]);
        assert_eq!(
            run_on(check, &records)[0].message,
            "candidate differs from base also in go.sum"
        );
        records[0].outcome.status = Status::Failed;
        assert_eq!(run_on(check, &records), [], "its build may have failed");
        let commits = [("commit", "1")];
        let others = [("commit", "2")];
        assert_eq!(
            run_on(check, &experiment([(&commits, "x"), (&others, "x")])),
            []
        );
    }
}
