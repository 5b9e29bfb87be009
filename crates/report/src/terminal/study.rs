//! A study in the terminal.

use super::layout::{TextLayout, UNFOLD};
use super::page::Page;
use super::verdict::write_finding;
use crate::document::{
    Block, Breadth, Document, FindingLine, Findings, Section, agreeing, differing, document,
    said_text, told,
};
use analyze::{Fact, Severity, Study};

/// The study as text, in lines as wide as the layout says unless a word or a table is wider.
#[must_use]
pub fn study_text(study: &Study, layout: TextLayout) -> String {
    let document = document(study, Breadth::Screen);
    let mut page = Page::new(layout);
    page.wrapped("", 0, &document.lead);
    for section in &document.sections {
        write_section(&mut page, &document, section, "");
    }
    page.finish()
}

/// The answer and whether it can be believed, a line each, for the end of a text whose beginning has
/// left the screen.
#[must_use]
pub fn closing_answer(study: &Study, layout: TextLayout) -> String {
    let answer = document(study, Breadth::Screen).answer;
    let mut page = Page::new(layout);
    let said: Vec<String> = answer.said.iter().map(|of| said_text(study, of)).collect();
    page.wrapped("", 2, &said.join(" "));
    // The findings left the screen before it.
    let belief = answer.belief.told_apart(" above");
    page.wrapped("", 2, &format!("Can it be believed? {belief}"));
    page.finish()
}

fn write_section(page: &mut Page, document: &Document<'_>, section: &Section<'_>, margin: &str) {
    let mut blocks = section.blocks.iter();
    if blocks.any(|block| block.room() == Breadth::Screen) {
        page.gap();
        if section.row.is_some() {
            page.line(&units::on_one_line(&section.title));
        }
    }
    for block in &section.blocks {
        write(page, document, block, margin);
    }
    for part in &section.parts {
        write_section(page, document, part, "  ");
    }
}

fn write(page: &mut Page, document: &Document<'_>, block: &Block<'_>, margin: &str) {
    let study = document.study;
    if block.room() > Breadth::Screen {
        return;
    }
    match block {
        Block::Table(table) => {
            let priorities = table.priorities(Breadth::Screen);
            lines_of(page, &table.as_text(study, Breadth::Screen), &priorities);
            let notes = table.notes.iter();
            notes.for_each(|note| page.wrapped("  ", 4, note));
        }
        Block::Text(text) => page.wrapped(margin, 2, text),
        Block::Belief => page.wrapped(
            "",
            2,
            &format!("Can it be believed? {}", document.answer.belief.text),
        ),
        Block::Items(items) => {
            let items = items.iter();
            items.for_each(|text| page.wrapped(margin, margin.len() + 2, text));
        }
        Block::Verdicts(said) => {
            for said in said {
                page.wrapped(margin, margin.len() + 2, &said_text(study, said));
            }
        }
        Block::Options(row, _) => {
            let [same, differing] = told(study, *row);
            same.iter().for_each(|text| page.wrapped(margin, 4, text));
            if let Some(text) = differing {
                let text = format!("the arms do not do the same: {text}");
                page.wrapped(margin, 4, &text);
            }
        }
        Block::Circumstances(of) => circumstances(page, study, of),
        Block::Findings => findings(page, &document.findings),
        Block::Explanation(_) | Block::Plot(_) | Block::Card(_) | Block::Keys | Block::Scale => {}
    }
}

/// A table, whatever the names in it are.
fn lines_of(page: &mut Page, lines: &[Vec<String>], priorities: &[u8]) {
    let plain = |line: &Vec<String>| line.iter().map(|cell| units::on_one_line(cell)).collect();
    let lines: Vec<Vec<String>> = lines.iter().map(plain).collect();
    page.fitting_table(&lines, priorities);
}

fn circumstances(page: &mut Page, study: &Study, facts: &[Fact]) {
    if let Some(lines) = differing(study, "differs") {
        lines_of(page, &lines, &[]);
    }
    let same = agreeing(facts);
    if !same.is_empty() {
        let several = study.arms.len() > 1;
        page.fact(if several { "the same" } else { "environment" }, &same);
    }
}

fn findings(page: &mut Page, found: &Findings<'_>) {
    if found.told().next().is_none() {
        page.line(&found.counts());
    }
    let is_folded = page.layout().folds_findings;
    let is_shown = |line: &&FindingLine<'_>| !is_folded || !line.finding.is_always;
    for line in found.lines.iter().filter(is_shown) {
        let whose = line.whose.as_ref();
        let whose = whose.map_or_else(String::new, |whose| format!(" ({whose})"));
        for finding in line.finding.told() {
            let rule = format!("{}[{}]", finding.severity, finding.rule);
            if is_folded {
                // What is wrong is told before where: it is what fits the line.
                let message = format!("{}{whose}", finding.message);
                write_finding(page, &rule, (message.as_str(), &[]), None);
                continue;
            }
            let head = format!("{rule}{whose}");
            let advice = (finding.severity != Severity::Note).then_some(finding.advice.as_str());
            let told = (finding.message.as_str(), finding.differing.as_slice());
            write_finding(page, &head, told, advice);
        }
    }
    if page.layout().folds_findings && !found.lines.is_empty() {
        page.wrapped("", 2, UNFOLD);
    }
}
