//! A rule of the audit: its text, and what finds it.

use super::RULES;
use super::set::{Experiment, Located};
use crate::{Finding, Severity};
use record::Record;

/// A rule as its reader must know it, and what looks for it.
pub struct Rule {
    /// The name that findings carry.
    pub id: &'static str,
    /// Its number in the catalogue of known errors; `None` for one that the catalogue lacks.
    pub catalogue_number: Option<u8>,
    /// The gravest that it finds.
    pub severity: Severity,
    pub title: &'static str,
    /// What it checks, from which fields, why that matters, and what to do: lines of at most 100
    /// columns.
    pub text: &'static str,
    pub(super) checks: &'static [Check],
}

/// A way in which a rule looks at records.
pub(super) enum Check {
    /// At each record alone.
    Alone(fn(&Record) -> Vec<Finding>),
    /// At the records that may be compared.
    Together(fn(&Experiment<'_>) -> Vec<Located>),
}

impl Rule {
    pub(super) fn finding(&self, severity: Severity, message: String, advice: &str) -> Finding {
        Finding {
            rule: self.id,
            severity,
            message,
            advice: advice.to_owned(),
        }
    }

    /// A finding about the record with this index, or about several together.
    pub(super) fn about(
        &self,
        record: Option<usize>,
        severity: Severity,
        message: String,
        advice: &str,
    ) -> Located {
        Located {
            record,
            finding: self.finding(severity, message, advice),
        }
    }
}

/// What the rules find in a record alone.
pub(super) fn alone(record: &Record) -> impl Iterator<Item = Finding> {
    let checks = RULES.iter().flat_map(|rule| rule.checks);
    checks.flat_map(move |check| match check {
        Check::Alone(check) => check(record),
        Check::Together(_) => Vec::new(),
    })
}

/// What the rules find in records that may be compared.
pub(super) fn together(experiment: &Experiment<'_>) -> impl Iterator<Item = Located> {
    let checks = RULES.iter().flat_map(|rule| rule.checks);
    checks.flat_map(move |check| match check {
        Check::Alone(_) => Vec::new(),
        Check::Together(check) => check(experiment),
    })
}

/// Every rule.
#[must_use]
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// The long text of the rule with this name.
#[must_use]
pub fn explain(rule: &str) -> Option<&'static str> {
    rules()
        .iter()
        .find(|known| known.id == rule)
        .map(|known| known.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    #[test]
    fn every_rule_has_a_name_of_its_own_and_the_one_of_its_file() {
        let known: BTreeSet<&str> = rules().iter().map(|rule| rule.id).collect();
        assert_eq!(known.len(), rules().len(), "a name is used twice");
        for file in files() {
            let source = std::fs::read_to_string(&file).unwrap();
            let name = file.file_stem().unwrap().to_str().unwrap();
            if source.contains("\npub(in crate::audit) const RULE: Rule =") {
                assert!(known.contains(name), "{name} is not in RULES");
            }
        }
        assert!(rules().iter().all(|rule| !rule.checks.is_empty()));
    }

    fn files() -> Vec<PathBuf> {
        let audit = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit");
        [audit.clone(), audit.join("set")]
            .into_iter()
            .flat_map(|directory| std::fs::read_dir(directory).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .collect()
    }

    #[test]
    fn a_text_has_a_page_and_fits_the_terminal() {
        for rule in rules() {
            let lines: Vec<&str> = rule.text.lines().collect();
            assert!(
                (6..=14).contains(&lines.len()),
                "{}: {} lines",
                rule.id,
                lines.len()
            );
            assert!(
                lines.iter().all(|line| line.chars().count() <= 100),
                "{}",
                rule.id
            );
            assert!(
                rule.text.contains("What to do: ") && rule.text.chars().any(|c| c.is_ascii_digit()),
                "{}",
                rule.id
            );
            assert!(
                !rule.title.ends_with('.') && rule.title.len() < 80,
                "{}",
                rule.id
            );
        }
    }

    #[test]
    fn a_rule_is_found_by_its_name_alone() {
        assert!(explain("order_aliased").is_some_and(|text| text.contains("time")));
        assert_eq!(explain("order"), None);
    }
}
