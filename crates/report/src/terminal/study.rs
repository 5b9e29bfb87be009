//! A study in the terminal.

use super::page::Page;
use crate::study::{
    Table, agreeing, comparison_head, counted, drift_text, method, one_arm_table, only_verdict,
    overall, row_table, some, verdicts, whose, work,
};
use analyze::{Severity, Study};

/// The study as text; lines of at most 100 columns unless a word or a table is wider.
#[must_use]
pub fn study_text(study: &Study) -> String {
    let mut page = Page::default();
    page.wrapped("", 0, &format!("{}.", counted(study)));
    environments(&mut page, study);
    results(&mut page, study);
    findings(&mut page, study);
    if !study.left_out.is_empty() {
        page.gap();
        for left in &study.left_out {
            page.wrapped(
                "left out: ",
                2,
                &format!("record {}, {}: {}", left.record + 1, left.name, left.reason),
            );
        }
    }
    page.gap();
    study
        .notes
        .iter()
        .for_each(|note| page.wrapped("note: ", 2, note));
    method(study)
        .iter()
        .for_each(|text| page.wrapped("", 2, text));
    page.finish()
}

fn environments(page: &mut Page, study: &Study) {
    page.gap();
    let differing: Vec<_> = study
        .environments
        .iter()
        .filter(|fact| fact.differs)
        .collect();
    if !differing.is_empty() {
        let mut lines = vec![
            std::iter::once("differs".to_owned())
                .chain(study.arms.iter().map(|arm| arm.name.clone()))
                .collect::<Vec<_>>(),
        ];
        for fact in differing {
            let values = fact
                .values
                .iter()
                .map(|value| value.clone().unwrap_or_else(|| "unknown".into()));
            lines.push(std::iter::once(fact.key.clone()).chain(values).collect());
        }
        page.fitting_table(&lines);
    }
    let same = agreeing(&study.environments);
    if !same.is_empty() {
        page.fact(
            if study.arms.len() > 1 {
                "the same"
            } else {
                "environment"
            },
            &same,
        );
    }
}

fn results(page: &mut Page, study: &Study) {
    let only = only_verdict(study);
    if let Some(head) = comparison_head(study) {
        page.gap();
        page.wrapped("", 2, &head);
        only.iter()
            .for_each(|text| page.wrapped("of every comparison: ", 2, text));
        if only.is_none() {
            overall(study)
                .iter()
                .for_each(|text| page.wrapped("", 2, text));
        }
    }
    if study.rows.is_empty() {
        page.gap();
        page.line("No record counts.");
    } else if study.arms.len() == 1 {
        page.gap();
        table(page, &one_arm_table(study));
        for row in &study.rows {
            drift_text(row)
                .iter()
                .for_each(|text| page.wrapped(&format!("{}: ", row.name), 2, text));
        }
    } else {
        for row in &study.rows {
            page.gap();
            page.line(&row.name);
            let [same, differing] = work(study, row);
            same.iter().for_each(|text| page.wrapped("  ", 2, text));
            table(page, &row_table(study, row));
            differing
                .iter()
                .for_each(|text| page.wrapped("  the arms do not do the same: ", 4, text));
            if only.is_none() {
                verdicts(study, row).iter().for_each(|(arms, text)| {
                    page.wrapped("  ", 4, &format!("{}: {text}", some(arms)))
                });
            }
            drift_text(row)
                .iter()
                .for_each(|text| page.wrapped("  ", 4, text));
        }
    }
}

fn table(page: &mut Page, table: &Table) {
    page.fitting_table(&table.lines);
    table
        .notes
        .iter()
        .for_each(|note| page.wrapped("  ", 4, note));
}

fn findings(page: &mut Page, study: &Study) {
    page.gap();
    if study.findings.is_empty() {
        page.line("The audit found nothing.");
    }
    for finding in &study.findings {
        let whose = whose(study, finding)
            .map(|whose| format!(" ({whose})"))
            .unwrap_or_default();
        page.wrapped(
            "",
            2,
            &format!(
                "{}[{}]{whose}: {}",
                finding.severity, finding.rule, finding.message
            ),
        );
        if finding.severity != Severity::Note {
            page.wrapped("  ", 8, &format!("help: {}", finding.advice));
        }
    }
}
