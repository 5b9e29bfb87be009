//! A study in the terminal.

use super::page::Page;
use crate::document::{Block, Document, Heading, Section, agreeing, document, facts_by_arm};
use crate::study::whose;
use analyze::{Severity, Study};

/// The study as text; lines of at most 100 columns unless a word or a table is wider.
#[must_use]
pub fn study_text(study: &Study) -> String {
    let Document { lead, sections } = document(study);
    let mut page = Page::default();
    page.wrapped("", 0, &lead);
    for Section { heading, blocks } in &sections {
        let margin = match heading {
            Heading::Detail(_) => continue,
            Heading::Part(_) => "",
            Heading::Row(_) => "  ",
        };
        page.gap();
        if let Heading::Row(name) = heading {
            page.line(name);
        }
        for block in blocks {
            write(&mut page, study, block, margin);
        }
    }
    page.finish()
}

fn write(page: &mut Page, study: &Study, block: &Block, margin: &str) {
    match block {
        Block::Facts => facts(page, study),
        Block::Table(table) => {
            page.fitting_table(&table.lines);
            let notes = table.notes.iter();
            notes.for_each(|note| page.wrapped("  ", 4, note));
        }
        // Loads have more tables than a screen has room for.
        Block::Titled(_) => {}
        Block::OnlyVerdict(text) => page.wrapped("of every comparison: ", 2, text),
        Block::Findings => findings(page, study),
        Block::Text(text) | Block::Drift(text) => page.wrapped(margin, 2, text),
        Block::Items(items) => {
            for (mark, text) in items {
                page.wrapped(&format!("{margin}{mark}"), margin.len() + 2, text);
            }
        }
    }
}

fn facts(page: &mut Page, study: &Study) {
    if let Some(lines) = facts_by_arm(study, "differs") {
        page.fitting_table(&lines);
    }
    let same = agreeing(&study.environments);
    if !same.is_empty() {
        let several = study.arms.len() > 1;
        page.fact(if several { "the same" } else { "environment" }, &same);
    }
}

fn findings(page: &mut Page, study: &Study) {
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
