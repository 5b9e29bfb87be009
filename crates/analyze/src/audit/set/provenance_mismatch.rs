//! A result belongs to one version of what was measured, and to one of what measured it.

use super::{Experiment, Located};
use crate::audit::rule::{Check, Rule};
use crate::{Effective, Severity};
use record::Record;
use std::collections::BTreeSet;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "provenance_mismatch",
    catalogue_number: Some(52),
    severity: Severity::Invalid,
    title: "It is not clear which version was measured",
    text: "\
The options `subject` with `subject-version` or `subject-commit`: two of them in one arm,
or another one in what is said of the results. A warning if the slots of one experiment
were measured with different versions of the tool.
A report with 0.9.0-beta and January in its head, 0.8.0-beta and December at its foot is
of one of them, or of both. Nobody can repeat it, and nobody can compare with it.
What to do: write the commit or the hash of the binary into every record, and discard
what cannot be assigned to one.",
    checks: &[Check::Together(check)],
};

const ADVICE: &str = "find out which build it was, by its commit or hash, and discard what cannot be assigned to one";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut out = of_the_subject(experiment);
    let versions: BTreeSet<String> = experiment
        .slots
        .iter()
        .flat_map(|(_, record)| instruments(record))
        .collect();
    if experiment.is_placed && versions.len() > 1 {
        let message = format!("the experiment was measured with {}", list(&versions));
        let advice = "measure all slots of an experiment with one build of the tool: what a tool costs and counts changes between versions";
        out.push(RULE.about(None, Severity::Warning, message, advice));
    }
    out
}

/// Versions of the subject within an arm, and of the same subject in what is said of all arms.
fn of_the_subject(experiment: &Experiment<'_>) -> Vec<Located> {
    let versions = |records: &mut dyn Iterator<Item = &Record>| -> BTreeSet<String> {
        records.filter_map(version).collect()
    };
    let arms = experiment.arms();
    let within = arms.iter().find_map(|(arm, slots)| {
        let found = versions(&mut slots.iter().map(|(_, record)| *record));
        (found.len() > 1).then(|| (None, format!("{arm}: {}", list(&found))))
    });
    let measured = versions(&mut experiment.slots.iter().map(|(_, record)| *record));
    let stated = || {
        let (index, said) = experiment
            .claims
            .iter()
            .filter_map(|(index, claim)| Some((*index, version(claim)?)))
            .find(|(_, said)| !measured.contains(said))?;
        (!measured.is_empty()).then(|| {
            (
                Some(index),
                format!("{} is measured, and {said} is said", list(&measured)),
            )
        })
    };
    let found = within.or_else(stated);
    found
        .map(|(record, message)| RULE.about(record, experiment.severity(), message, ADVICE))
        .into_iter()
        .collect()
}

/// Name and version, or commit, of what was measured.
fn version(record: &Record) -> Option<String> {
    let effective = Effective::of(record);
    let version = effective
        .text("subject-version")
        .or_else(|| effective.text("subject-commit"))?;
    Some(format!(
        "{} {version}",
        effective.text("subject").unwrap_or("the subject")
    ))
}

/// The tool that measured, in each version that one of its hosts had.
fn instruments(record: &Record) -> Vec<String> {
    if let Some(source) = &record.source {
        let version = source.version.iter();
        return version
            .map(|version| format!("{} {version}", source.tool))
            .collect();
    }
    let of_hosts = record.environments().map(|environment| &environment.fathom);
    let known = of_hosts.filter(|fathom| !fathom.version.is_empty());
    known
        .map(|fathom| {
            let commit = fathom.commit.iter();
            let commit: String = commit.map(|commit| format!(" ({commit})")).collect();
            format!("fathom {}{commit}", fathom.version)
        })
        .collect()
}

fn list(texts: &BTreeSet<String>) -> String {
    texts.iter().cloned().collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, set, sound};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn of(version: &str, arm: &str, block: u32) -> Record {
        let mut record = sound();
        set(&mut record, "subject", "MaxIOFS");
        set(&mut record, "subject-version", version);
        placed(record, arm, block, block)
    }

    #[test]
    fn one_arm_of_two_versions_is_invalid() {
        let found = run_on(check, &[of("0.9.0", "a", 0), of("0.8.0", "a", 1)]);
        assert_eq!(only(&found), "a: MaxIOFS 0.8.0 and MaxIOFS 0.9.0");
        assert_eq!(found[0].severity, Severity::Invalid);
        assert_eq!(
            run_on(check, &[of("0.9.0", "a", 0), of("0.8.0", "b", 0)]),
            [],
            "versions may be what is compared"
        );
    }

    #[test]
    fn a_version_that_nothing_was_measured_with_is_found_in_what_is_said() {
        let mut said = quoted("claim", Summary::default());
        said.kind = super::super::super::CLAIM.into();
        set(&mut said, "subject", "MaxIOFS");
        set(&mut said, "subject-version", "0.8.0");
        let mut measured = quoted("put", Summary::default());
        set(&mut measured, "subject", "MaxIOFS");
        set(&mut measured, "subject-version", "0.9.0");
        assert_eq!(
            only(&run_on(check, &[measured, said.clone()])),
            "MaxIOFS 0.9.0 is measured, and MaxIOFS 0.8.0 is said"
        );
        assert_eq!(run_on(check, &[said]), []);
    }

    #[test]
    fn another_build_of_the_tool_is_a_warning() {
        let mut records = [placed(sound(), "a", 0, 0), placed(sound(), "b", 0, 1)];
        records[0].generator_mut().environment.fathom.version = "0.1.0".into();
        assert_eq!(run_on(check, &records), []);
        records[1].generator_mut().environment.fathom.version = "0.2.0".into();
        assert_eq!(
            only(&run_on(check, &records)),
            "the experiment was measured with fathom 0.1.0 and fathom 0.2.0"
        );
    }
}
