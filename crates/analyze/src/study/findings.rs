//! What the audit finds, one entry a rule.

use super::GroupedFinding;
use crate::{Finding, Located, is_always};
use record::Record;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The findings of an audit by rule, the gravest first, and of one severity what is about several
/// records together first.
pub(super) fn grouped(found: Vec<Located>, records: &[Record]) -> Vec<GroupedFinding> {
    let mut order: Vec<&'static str> = Vec::new();
    let mut by_rule: BTreeMap<&'static str, GroupedFinding> = BTreeMap::new();
    // An audit lists the gravest first, so the first of a rule speaks for it.
    for Located { record, finding } in found {
        let is_always = is_always(&finding, record);
        match by_rule.entry(finding.rule) {
            Entry::Vacant(place) => {
                order.push(finding.rule);
                place.insert(GroupedFinding {
                    rule: finding.rule,
                    severity: finding.severity,
                    message: finding.message,
                    advice: finding.advice,
                    differing: finding.differing,
                    others: Vec::new(),
                    records: record.into_iter().collect(),
                    names: BTreeSet::new(),
                    example: record,
                    of: records.len(),
                    is_always,
                });
            }
            Entry::Occupied(mut place) => {
                let group = place.get_mut();
                if record.is_some() && record == group.example {
                    group.others.push(finding);
                }
                group.records.extend(record);
            }
        }
    }
    let mut out: Vec<GroupedFinding> = order
        .into_iter()
        .filter_map(|rule| by_rule.remove(rule))
        .collect();
    for group in &mut out {
        group.records.sort_unstable();
        group.records.dedup();
        let found = group.records.iter().filter_map(|index| records.get(*index));
        group.names = found.map(named).collect();
    }
    out
}

impl GroupedFinding {
    /// What it says of the record that the message is about, the gravest first: what an audit tells of it.
    #[must_use]
    pub fn told(&self) -> Vec<Finding> {
        let first = Finding {
            rule: self.rule,
            severity: self.severity,
            message: self.message.clone(),
            advice: self.advice.clone(),
            differing: self.differing.clone(),
        };
        let others = self.others.iter().cloned();
        std::iter::once(first).chain(others).collect()
    }
}

fn named(record: &Record) -> String {
    match &record.trial {
        Some(trial) => format!("{}, {}", trial.row, trial.arm),
        None => record.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    #[test]
    fn the_gravest_of_a_rule_speaks_for_it() {
        let found = |record, rule, severity, message: &str| Located {
            record,
            finding: Finding {
                rule,
                severity,
                message: message.into(),
                advice: String::new(),
                differing: Vec::new(),
            },
        };
        let groups = grouped(
            vec![
                found(None, "b", Severity::Invalid, "together"),
                found(Some(4), "a", Severity::Invalid, "grave"),
                found(Some(2), "a", Severity::Note, "light"),
                found(Some(2), "a", Severity::Note, "light again"),
                found(Some(4), "a", Severity::Note, "of the same"),
            ],
            &vec![Record::default(); 5],
        );
        assert_eq!(
            groups
                .iter()
                .map(|g| (g.rule, g.message.as_str(), g.records.as_slice()))
                .collect::<Vec<_>>(),
            [
                ("b", "together", [].as_slice()),
                ("a", "grave", [2, 4].as_slice())
            ]
        );
        let told = groups[1].told().into_iter();
        let told: Vec<_> = told.map(|of| (of.severity, of.message)).collect();
        assert_eq!(
            told,
            [
                (Severity::Invalid, "grave".to_owned()),
                (Severity::Note, "of the same".to_owned())
            ]
        );
    }
}
