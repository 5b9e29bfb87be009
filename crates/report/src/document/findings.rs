//! Findings as their reader meets them: what is always so in one line, the others a line each with
//! what stands behind it.

use crate::words::counted;
use analyze::{Finding, GroupedFinding, Severity, Study, StudyRow, title};

/// What an audit found.
pub(crate) struct Findings<'s> {
    /// The gravest first; what is always so last.
    pub(crate) lines: Vec<FindingLine<'s>>,
}

/// One finding.
pub(crate) struct FindingLine<'s> {
    pub(crate) finding: &'s GroupedFinding,
    /// What is the case, in the words of its rule.
    pub(crate) headline: &'static str,
    /// Indices of the rows whose records it is about; none where it is about several records
    /// together.
    pub(crate) rows: Vec<usize>,
    /// Which of the records that is, in words.
    pub(crate) whose: Option<String>,
}

impl<'s> Findings<'s> {
    pub(super) fn of(study: &'s Study) -> Self {
        let is_always = |finding: &&GroupedFinding| finding.is_always;
        let (always, told): (Vec<&GroupedFinding>, Vec<_>) =
            study.findings.iter().partition(is_always);
        let lines = told.into_iter().chain(always);
        Self {
            lines: lines.map(|finding| line(study, finding)).collect(),
        }
    }

    /// What speaks of these records and not of all that are measured so.
    pub(crate) fn told(&self) -> impl Iterator<Item = &FindingLine<'s>> {
        self.lines.iter().filter(|line| !line.finding.is_always)
    }

    /// What is always so, in one line.
    pub(crate) fn as_always(&self) -> Option<String> {
        let always = self.lines.iter().filter(|line| line.finding.is_always);
        // Which of the records a message names stands with the findings.
        let told = always.flat_map(|line| line.finding.told());
        let messages: Vec<String> = told.map(|of| without_asides(&of.message)).collect();
        (!messages.is_empty()).then(|| format!("As always: {}.", messages.join("; ")))
    }

    /// How many there are of each severity; whether there is nothing but what is always so.
    pub(crate) fn counts(&self) -> String {
        if self.told().next().is_none() {
            let is_all = self.lines.is_empty();
            let found = ["The audit found nothing else.", "The audit found nothing."];
            return found[usize::from(is_all)].to_owned();
        }
        let told: Vec<Finding> = self.told().flat_map(|line| line.finding.told()).collect();
        let count = |severity: Severity| {
            let of = told.iter().filter(|finding| finding.severity == severity);
            of.count()
        };
        format!(
            "{} invalid, {}, {}.",
            count(Severity::Invalid),
            counted(count(Severity::Warning), "warning"),
            counted(count(Severity::Note), "note")
        )
    }

    /// The gravest that a number of this row must not be quoted without.
    pub(crate) fn mark(&self, row: usize) -> Option<Severity> {
        let about = self.told().filter(|line| line.rows.contains(&row));
        let severities = about.map(|line| line.finding.severity);
        severities
            .min()
            .filter(|gravest| *gravest != Severity::Note)
    }
}

fn line<'s>(study: &'s Study, finding: &'s GroupedFinding) -> FindingLine<'s> {
    let rows = study.rows.iter().enumerate();
    let concerned = rows.filter(|(_, row)| concerns(finding, row));
    FindingLine {
        finding,
        headline: title(finding.rule).unwrap_or(finding.rule),
        rows: concerned.map(|(index, _)| index).collect(),
        whose: whose(study, finding),
    }
}

fn concerns(finding: &GroupedFinding, row: &StudyRow) -> bool {
    let mut records = row.cells.iter().flatten().flat_map(|cell| &cell.records);
    records.any(|record| finding.records.binary_search(record).is_ok())
}

/// Which records a finding is about.
fn whose(study: &Study, finding: &GroupedFinding) -> Option<String> {
    let example = finding.example?;
    let row = study.rows.iter().find_map(|row| {
        let arm = row.cells.iter().position(|cell| {
            cell.as_ref()
                .is_some_and(|cell| cell.records.contains(&example))
        })?;
        let arm = Some(&study.arms[arm].name).filter(|_| study.arms.len() > 1);
        Some(arm.map_or_else(|| row.name.clone(), |arm| format!("{} of {arm}", row.name)))
    });
    let name = row.unwrap_or_else(|| format!("record {}", example + 1));
    Some(match finding.records.len() {
        0 | 1 => name,
        n => format!("{n} of {} records, such as {name}", finding.of),
    })
}

/// The text without what stands in parentheses, but for the ranks that a host is called by.
fn without_asides(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" (") {
        let Some(behind) = behind_aside(after) else {
            break;
        };
        kept.push_str(before);
        let aside = after
            .strip_suffix(behind)
            .and_then(|aside| aside.strip_suffix(')'));
        if let Some(ranks) = aside.filter(|aside| names_ranks(aside)) {
            kept.push_str(&format!(" ({ranks})"));
        }
        rest = behind;
    }
    kept + rest
}

/// `rank 3` and `4 ranks`.
fn names_ranks(aside: &str) -> bool {
    let number = aside
        .strip_prefix("rank ")
        .or_else(|| aside.strip_suffix(" ranks"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// What stands behind an aside that has begun, and that may hold others.
fn behind_aside(text: &str) -> Option<&str> {
    let mut open = 1_u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return text.get(at + 1..);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_what_stands_behind_its_asides() {
        let text = "0.93 of 100 users (median) were waiting at a time (2 of 3 records): they pause";
        let expected = "0.93 of 100 users were waiting at a time: they pause";
        assert_eq!(without_asides(text), expected);
        assert_eq!(without_asides("an end (without"), "an end (without");
        let nested = "as its plan has it (the shortest: run of depth=1 (control)); more";
        assert_eq!(without_asides(nested), "as its plan has it; more");
    }

    #[test]
    fn ranks_of_one_machine_are_told_from_each_other() {
        let ranks = |boot: Option<&str>| {
            let parts = (0..3).map(|rank| {
                let mut part = example::oltp();
                part.id = rank.to_string();
                let host = part.generator_mut();
                host.rank = Some(rank);
                host.environment.system.hostname = Some("vm".into());
                host.environment.system.boot_id = boot.map(str::to_owned);
                let storage = host.environment.storage.get_or_insert_default();
                let device = storage.device.get_or_insert_default();
                device.transport = Some(record::Transport::Loop);
                part
            });
            let records = [record::Record::merge_all(parts).unwrap()];
            let study = study(&records, &StudyOptions::default());
            Findings::of(&study).as_always().unwrap()
        };
        let one = ranks(Some("one"));
        assert!(one.starts_with("As always: on vm (3 ranks): "), "{one}");
        let alike = ranks(None);
        assert!(
            alike.starts_with("As always: on vm (rank 0), vm (rank 1), vm (rank 2): "),
            "{alike}"
        );
    }
    use crate::document::example::profile;
    use crate::example;
    use analyze::{StudyOptions, study};

    fn of_two_runs() -> Study {
        let mut second = example::oltp();
        second.name = "other".into();
        second.errors.clear();
        study(&[example::oltp(), second], &StudyOptions::default())
    }

    #[test]
    fn what_is_always_so_is_one_line_and_no_finding() {
        let study = of_two_runs();
        let found = Findings::of(&study);
        let line = found.as_always().unwrap();
        assert_eq!(line, "As always: single observation: no interval.");
        assert!(
            found
                .told()
                .all(|line| line.finding.rule != "single_observation")
        );
        assert_eq!(
            found.lines.last().map(|line| line.finding.rule),
            Some("single_observation"),
            "it is listed behind what was found"
        );
    }

    #[test]
    fn a_row_bears_the_mark_of_the_gravest_that_is_found_of_it() {
        let rows = [("RND4K Q1T1", "read", true), ("RND4K Q1T1", "write", true)];
        let mut study = study(&profile(&rows), &StudyOptions::default());
        study.findings = vec![GroupedFinding {
            rule: "little_law",
            severity: Severity::Warning,
            message: "m".into(),
            advice: "a".into(),
            differing: Vec::new(),
            others: Vec::new(),
            records: study.rows[1].cells[0].as_ref().unwrap().records.clone(),
            names: std::collections::BTreeSet::new(),
            example: None,
            of: 12,
            is_always: false,
        }];
        let found = Findings::of(&study);
        assert_eq!(found.lines[0].rows, [1]);
        assert_eq!(
            (found.mark(0), found.mark(1)),
            (None, Some(Severity::Warning))
        );
    }
}
