//! A target that fills up while it is measured is another one at the end.

use super::{Experiment, Located, claimed_like};
use crate::Severity;
use crate::audit::rule::{Check, Rule};
use record::Record;
use units::Bytes;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "ageing",
    catalogue_number: Some(14),
    severity: Severity::Warning,
    title: "The target filled up while it was measured",
    text: "\
Free space of the file system, first slot against last: a loss of more than 1 % of its
size and of 1 GiB. In a document: files that it says were left over.
A disk that fills is slower on its inner tracks, a file system that fills splits its
files, and flash without free blocks must erase before it writes: up to 80 % of the speed.
What runs last then looks slow.
What to do: bring the target into the same state before every slot, delete what is left
over, and write the free space into every record.",
    checks: &[Check::Together(check), Check::OnHost(measured)],
};

/// Of the file system, and at least a gibibyte.
const MOST_SHARE: u64 = 100;
const LEAST: u64 = 1 << 30;
const ADVICE: &str = "bring the target into the same state before every slot: delete what is left over, and check the free space";

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let said = experiment
        .claims
        .iter()
        .find(|(_, claim)| claimed_like(claim, "leftover").is_some_and(|(_, value)| value > 0.0));
    let said = said.map(|(index, _)| {
        RULE.about(
            Some(*index),
            Severity::Warning,
            "files were left over from slot to slot".to_owned(),
            ADVICE,
        )
    });
    said.into_iter().collect()
}

/// Free space of the one file system that all slots ran on, first against last.
fn measured(experiment: &Experiment<'_>) -> Vec<Located> {
    filled(experiment).into_iter().collect()
}

fn filled(experiment: &Experiment<'_>) -> Option<Located> {
    let slots = experiment.in_order();
    let space = |record: &Record| {
        let file_system = record
            .generator()
            .environment
            .storage
            .as_ref()?
            .file_system
            .clone()?;
        Some((
            file_system.source,
            file_system.mount_point,
            file_system.free_bytes?,
            file_system.total_bytes?,
        ))
    };
    let (first, last) = (space(slots.first()?)?, space(slots.last()?)?);
    let used = first.2.saturating_sub(last.2);
    ((&first.0, &first.1) == (&last.0, &last.1) && used > (first.3 / MOST_SHARE).max(LEAST)).then(
        || {
            let message = format!(
                "{} of free space went away over {} slots: something was left over",
                Bytes(used),
                slots.len()
            );
            RULE.about(None, Severity::Warning, message, ADVICE)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::{FileSystem, Summary};

    fn slot(number: u32, free: u64) -> Record {
        let mut record = sound();
        let file_system = FileSystem {
            free_bytes: Some(free << 30),
            total_bytes: Some(100 << 30),
            ..FileSystem::default()
        };
        record
            .generator_mut()
            .environment
            .storage
            .as_mut()
            .unwrap()
            .file_system = Some(file_system);
        placed(record, "a", number, number)
    }

    #[test]
    fn space_that_goes_away_is_found() {
        assert_eq!(
            only(&run_on(measured, &[slot(2, 29), slot(0, 40), slot(1, 35)])),
            "11 GiB of free space went away over 3 slots: something was left over"
        );
        assert_eq!(run_on(measured, &[slot(0, 40), slot(1, 39)]), []);
    }

    #[test]
    fn leftovers_that_a_document_admits_are_found() {
        let figures = [("leftover_files".to_owned(), 1.0)].into();
        let mut claim = quoted(
            "claim",
            Summary {
                figures,
                ..Summary::default()
            },
        );
        claim.kind = super::super::super::CLAIM.into();
        assert_eq!(run_on(check, &[claim]).len(), 1);
    }
}
