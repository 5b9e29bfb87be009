//! The long text of every rule: what it checks, from which fields, why that matters, and what to
//! do.

use crate::Severity;

mod alone;
mod conduct;
mod experiment;
mod stated;
mod together;

/// A rule as its reader must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The name that findings carry.
    pub id: &'static str,
    /// Its number in the catalogue of known errors; `None` for one that the catalogue lacks.
    pub catalogue_number: Option<u8>,
    /// The gravest that it finds.
    pub severity: Severity,
    pub title: &'static str,
    /// Lines of at most 100 columns.
    pub text: &'static str,
}

/// Of one record's own accounts, of how it went, of stated figures, of several records together,
/// and of experiments.
const PARTS: [&[RuleText]; 5] = [
    &alone::RULES,
    &conduct::RULES,
    &stated::RULES,
    &together::RULES,
    &experiment::RULES,
];
const RULES: [RuleText; COUNT] = joined();
const COUNT: usize =
    PARTS[0].len() + PARTS[1].len() + PARTS[2].len() + PARTS[3].len() + PARTS[4].len();

const fn joined() -> [RuleText; COUNT] {
    let mut out = [PARTS[0][0]; COUNT];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut index = 0;
        while index < PARTS[part].len() {
            out[at] = PARTS[part][index];
            at += 1;
            index += 1;
        }
        part += 1;
    }
    out
}

/// Every rule.
#[must_use]
pub fn rules() -> &'static [RuleText] {
    &RULES
}

/// The long text of the rule with this name.
#[must_use]
pub fn explain(rule: &str) -> Option<&'static str> {
    RULES
        .iter()
        .find(|known| known.id == rule)
        .map(|known| known.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The names that the rules give to their findings: a constant, or the first argument.
    fn emitted() -> BTreeSet<String> {
        let mut out = BTreeSet::new();
        let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit")];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory)
                .unwrap()
                .map(|entry| entry.unwrap().path())
            {
                if entry.is_dir() {
                    directories.push(entry);
                    continue;
                }
                let source = std::fs::read_to_string(entry).unwrap();
                let code: String = source
                    .split("#[cfg(test)]\nmod tests")
                    .next()
                    .unwrap_or_default()
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ");
                for start in ["const RULE: &str = \"", "finding(\"", "finding( \"", ", \""] {
                    let candidates = code
                        .match_indices(start)
                        .map(|(at, _)| &code[at + start.len()..]);
                    let severity = [", Severity", ", severity", ", experiment.severity"];
                    let names =
                        candidates
                            .filter_map(|rest| rest.split_once('"'))
                            .filter(|(_, after)| {
                                start.starts_with("const")
                                    || severity.iter().any(|next| after.starts_with(next))
                            });
                    out.extend(names.map(|(name, _)| name.to_owned()));
                }
            }
        }
        out
    }

    #[test]
    fn every_rule_that_can_find_something_has_a_text_and_every_text_a_rule() {
        let known: BTreeSet<String> = rules().iter().map(|rule| rule.id.to_owned()).collect();
        assert_eq!(known.len(), rules().len(), "a name is used twice");
        assert_eq!(emitted(), known);
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
