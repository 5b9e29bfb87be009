//! What differs with the subject of an experiment.
//!
//! Under one plan, on one machine and in one boot, the targets or engines that arms were given
//! bring their storage with them: file system, device, mount options. That is what is compared and
//! no other cause, so it is listed and stands against no verdict. Where arms have the same target
//! and engine, a storage that differs was changed by somebody else and bars the verdict as any
//! other circumstance does.

use super::Disagreement;
use record::Record;
use std::collections::BTreeSet;

/// The fact by which a user declares that targets are what is compared.
pub(crate) const TARGET: &str = "target";
/// Facts of the environment that lie below a target.
const STORAGE: &str = "storage.";

/// Divides differences of the environment into those that come with the subject and those that do
/// not.
pub(super) fn divided(
    found: Vec<Disagreement>,
    sides: &[Vec<&Record>; 2],
    factors: &BTreeSet<String>,
) -> [Vec<Disagreement>; 2] {
    if !(is_storage_compared(sides) || factors.contains(TARGET) && on_one_boot(sides)) {
        return [Vec::new(), found];
    }
    let (below, beside) = found.into_iter().partition(|d| d.key.starts_with(STORAGE));
    [below, beside]
}

/// Whether arms of one plan, measured on one machine and in one boot, were given different targets
/// or engines.
pub(crate) fn is_storage_compared(arms: &[Vec<&Record>]) -> bool {
    let plans: BTreeSet<Option<&str>> = arms
        .iter()
        .flatten()
        .map(|record| record.trial.as_ref().map(|trial| trial.plan.as_str()))
        .collect();
    let is_planned = plans.len() == 1 && !plans.contains(&None);
    is_planned && on_one_boot(arms) && (differ(arms, targets) || differ(arms, engine))
}

/// Whether targets differ between arms.
pub(crate) fn targets_differ(arms: &[Vec<&Record>]) -> bool {
    differ(arms, targets)
}

fn differ<T: Ord>(arms: &[Vec<&Record>], fact: fn(&Record) -> T) -> bool {
    let of_arm = |records: &Vec<&Record>| {
        records
            .iter()
            .map(|record| fact(record))
            .collect::<BTreeSet<T>>()
    };
    let all: Vec<BTreeSet<T>> = arms.iter().map(of_arm).collect();
    all.windows(2).any(|pair| pair[0] != pair[1])
}

fn targets(record: &Record) -> Vec<String> {
    record
        .targets
        .iter()
        .map(|target| target.path.clone())
        .collect()
}

fn engine(record: &Record) -> Option<String> {
    record.effective.get("engine").cloned()
}

/// The boot is known and the same in all records.
fn on_one_boot(arms: &[Vec<&Record>]) -> bool {
    let boots: BTreeSet<_> = arms
        .iter()
        .flatten()
        .map(|record| &record.generator().environment.system)
        .map(|system| {
            (
                &system.machine_fingerprint,
                &system.hostname,
                &system.boot_id,
            )
        })
        .collect();
    boots.len() == 1 && boots.first().is_some_and(|(_, _, boot)| boot.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{TargetFact, Trial};

    fn on(target: &str, engine: &str, boot: &str, plan: Option<&str>) -> Record {
        let mut record = Record {
            targets: vec![TargetFact {
                path: target.into(),
                ..TargetFact::default()
            }],
            trial: plan.map(|plan| Trial {
                plan: plan.into(),
                ..Trial::default()
            }),
            ..Record::default()
        };
        record.effective.insert("engine".into(), engine.into());
        record.generator_mut().environment.system.boot_id = Some(boot.into());
        record
    }

    fn compared(a: &Record, b: &Record) -> bool {
        is_storage_compared(&[vec![a], vec![b]])
    }

    #[test]
    fn storage_belongs_to_a_target_or_engine_that_differs_under_one_plan_in_one_boot() {
        let base = on("/a", "sync", "1", Some("p"));
        assert!(compared(&base, &on("/b", "sync", "1", Some("p"))));
        assert!(compared(&base, &on("/a", "null", "1", Some("p"))));
        assert!(!compared(&base, &base), "the same target and engine");
        assert!(
            !compared(&base, &on("/b", "sync", "2", Some("p"))),
            "another boot"
        );
        assert!(
            !compared(&base, &on("/b", "sync", "1", Some("q"))),
            "another plan"
        );
        let unplanned = on("/b", "sync", "1", None);
        assert!(
            !compared(&base, &unplanned) && !compared(&on("/a", "sync", "1", None), &unplanned)
        );
        let mut unknown = [base.clone(), on("/b", "sync", "1", Some("p"))];
        unknown
            .iter_mut()
            .for_each(|record| record.generator_mut().environment.system.boot_id = None);
        assert!(
            !compared(&unknown[0], &unknown[1]),
            "nobody knows that it was one boot"
        );
    }

    #[test]
    fn only_storage_lies_below_a_target() {
        let difference = |key: &str| Disagreement {
            key: key.into(),
            base: "1".into(),
            candidate: "2".into(),
        };
        let found = || {
            vec![
                difference("storage.file_system.kind"),
                difference("cpu.model"),
            ]
        };
        let (a, b) = (
            on("/a", "sync", "1", Some("p")),
            on("/b", "sync", "1", Some("p")),
        );
        let [below, beside] = divided(found(), &[vec![&a], vec![&b]], &BTreeSet::new());
        assert_eq!(
            (below[0].key.as_str(), beside[0].key.as_str()),
            ("storage.file_system.kind", "cpu.model")
        );
        let [below, beside] = divided(found(), &[vec![&a], vec![&a]], &BTreeSet::new());
        assert_eq!((below.len(), beside.len()), (0, 2));
        let (a, b) = (on("/a", "sync", "1", None), on("/b", "sync", "1", None));
        assert_eq!(
            divided(found(), &[vec![&a], vec![&b]], &BTreeSet::new())[0].len(),
            0
        );
        assert_eq!(
            divided(
                found(),
                &[vec![&a], vec![&b]],
                &BTreeSet::from([TARGET.to_owned()])
            )[0]
            .len(),
            1
        );
    }
}
