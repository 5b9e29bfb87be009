//! Options that are meant to differ: each must exist and differ.

use super::subject::TARGET;
use crate::exit::Usage;
use conduct::{Experiment, Ready};
use record::Record;
use std::collections::BTreeSet;
use workload::settings::{self, SETTINGS, nearest};

/// Refuses factors that no option is called, or that `differing` does not have.
///
/// # Errors
/// A factor that would have no effect.
pub(crate) fn check(
    asked: &BTreeSet<String>,
    differing: &BTreeSet<String>,
    records: &[&Record],
) -> Result<(), Usage> {
    let Some(key) = asked.iter().find(|key| !differing.contains(*key)) else {
        return Ok(());
    };
    let is_recorded = records
        .iter()
        .any(|record| record.effective.contains_key(key));
    if is_recorded || key == TARGET || settings::find(key).is_some() {
        return Err(Usage(format!(
            "--factor {key} has no effect: {key} is the same on all sides; leave it out"
        )));
    }
    let known = SETTINGS.iter().map(|setting| setting.key).chain([TARGET]);
    let meant =
        nearest(key, known).map_or(String::new(), |known| format!(", did you mean {known:?}?"));
    Err(Usage(format!(
        "--factor {key:?} is no option of a workload{meant}; factors are options such as engine, or target"
    )))
}

/// What the sides will do and the question does not expect to differ, told before anything is
/// measured. Returns the options that differ.
///
/// # Errors
/// Sides differ in effect by an option that nobody declared.
pub(super) fn undeclared(
    experiment: &Experiment,
    ready: &[Vec<Ready>],
    declared: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Usage> {
    let mut differing = BTreeSet::new();
    let arms = &experiment.plan.arms;
    for (row, of_row) in experiment.rows().iter().zip(ready) {
        let Some(base) = of_row.first() else { continue };
        for (arm, other) in arms.iter().zip(of_row).skip(1) {
            let [a, b] = [base, other].map(|ready| Record {
                effective: ready.effective.clone(),
                ..Record::default()
            });
            for d in analyze::workload_differences(&[&a], &[&b]) {
                if !declared.contains(&d.key) {
                    let changes = base.differences.iter().chain(&other.differences);
                    let why = changes
                        .filter(|change| change.key == d.key)
                        .map(|change| format!(" ({})", change.reason))
                        .next();
                    let of_row = if row.name == "run" {
                        String::new()
                    } else {
                        format!(" in {}", row.name)
                    };
                    return Err(Usage(format!(
                        "the sides would not do the same{of_row}: {key} is {} for {} and {} for {}{}; give all sides one value with --set {key}=…, or add --factor {key} if it belongs to what is compared",
                        d.base,
                        arms[0].name,
                        d.candidate,
                        arm.name,
                        why.unwrap_or_default(),
                        key = d.key
                    )));
                }
                differing.insert(d.key);
            }
        }
    }
    Ok(differing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_must_exist_and_differ() {
        let set = |keys: &[&str]| {
            keys.iter()
                .map(|key| (*key).to_owned())
                .collect::<BTreeSet<String>>()
        };
        let refused = |key: &str, records: &[&Record]| {
            check(&set(&[key]), &set(&["engine"]), records)
                .unwrap_err()
                .0
        };
        assert!(check(&set(&["engine"]), &set(&["engine"]), &[]).is_ok());
        assert_eq!(
            refused("enginee", &[]),
            "--factor \"enginee\" is no option of a workload, did you mean \"engine\"?; factors are options such as engine, or target"
        );
        assert_eq!(
            refused("queue-depth", &[]),
            "--factor queue-depth has no effect: queue-depth is the same on all sides; leave it out"
        );
        assert!(
            refused("storage.file_system.kind", &[])
                .contains("is no option of a workload; factors")
        );
        // A load has options of its own.
        let load = Record {
            effective: [("users".to_owned(), "3".to_owned())].into(),
            ..Record::default()
        };
        assert!(refused("users", &[&load]).contains("is the same on all sides"));
    }
}
