//! A study as Markdown.

use crate::differing::differing_items;
use crate::document::{
    Block, Breadth, Document, Findings, Section, Table, agreeing, differing, document, said_text,
    told,
};
use analyze::{Fact, Study};
use std::fmt::Write as _;

/// The study as a Markdown document. Text from records is escaped, so that a name cannot become
/// markup.
#[must_use]
pub fn study_markdown(study: &Study) -> String {
    let document = document(study, Breadth::Paper);
    let mark = super::MARKDOWN_MARK;
    let mut out = format!("{mark}\n# Storage study\n\n{}\n", escaped(&document.lead));
    for section in &document.sections {
        self::section(&mut out, &document, section, "##");
    }
    out
}

fn section(out: &mut String, document: &Document<'_>, section: &Section<'_>, level: &str) {
    let has_room = |block: &&Block<'_>| block.room() <= Breadth::Paper;
    let blocks: Vec<&Block<'_>> = section.blocks.iter().filter(has_room).collect();
    if blocks.is_empty() && section.parts.is_empty() {
        return;
    }
    let _infallible = write!(out, "\n{level} {}\n", escaped(&section.title));
    blocks.into_iter().for_each(|of| block(out, document, of));
    for part in &section.parts {
        self::section(out, document, part, "###");
    }
}

/// A block after an empty line.
fn block(out: &mut String, document: &Document<'_>, block: &Block<'_>) {
    let study = document.study;
    match block {
        Block::Text(text) => paragraph(out, text),
        Block::Belief => paragraph(out, &document.answer.belief.text),
        Block::Items(items) => list(out, items),
        Block::Verdicts(said) => {
            let said: Vec<String> = said.iter().map(|said| said_text(study, said)).collect();
            list(out, &said);
        }
        Block::Table(of) => {
            if !of.title.is_empty() {
                let _infallible = write!(out, "\n#### {}\n", escaped(&of.title));
            }
            table(out, study, of);
        }
        Block::Circumstances(facts) => circumstances(out, study, facts),
        Block::Options(row, _) => {
            let [same, differing] = told(study, *row);
            same.iter().for_each(|text| paragraph(out, text));
            if let Some(text) = differing {
                paragraph(out, &format!("The arms do not do the same: {text}"));
            }
        }
        Block::Findings => findings(out, &document.findings),
        Block::Explanation(_) | Block::Plot(_) | Block::Card(_) | Block::Keys | Block::Scale => {}
    }
}

fn paragraph(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "\n{}", escaped(text));
}

fn list(out: &mut String, items: &[String]) {
    out.push('\n');
    for text in items {
        let _infallible = writeln!(out, "- {}", escaped(text));
    }
}

fn circumstances(out: &mut String, study: &Study, facts: &[Fact]) {
    let several = study.arms.len() > 1;
    match differing(study, "") {
        Some(lines) => lines_of(out, 1 + study.arms.len(), &lines),
        None if several => paragraph(out, "No recorded fact differs between the arms."),
        None => {}
    }
    let same = agreeing(facts);
    if !same.is_empty() {
        let title = if several {
            "The same in all arms"
        } else {
            "Known"
        };
        paragraph(out, &format!("{title}: {same}."));
    }
}

fn findings(out: &mut String, found: &Findings<'_>) {
    if found.told().next().is_none() {
        return paragraph(out, &found.counts());
    }
    out.push('\n');
    for line in found.told() {
        let whose = line.whose.as_ref();
        let whose = whose.map_or_else(|| "the records together".to_owned(), |whose| escaped(whose));
        let told = line.finding.told();
        for (at, finding) in told.iter().enumerate() {
            let _infallible = writeln!(
                out,
                "- {} `{}` ({whose}): {}",
                finding.severity,
                finding.rule,
                escaped(&finding.message),
            );
            out.push_str(&differing_items(&finding.differing));
            // Advice stands once, below all that it is for.
            if (told.get(at + 1)).is_none_or(|next| next.advice != finding.advice) {
                let _infallible = writeln!(out, "  - {}", escaped(&finding.advice));
            }
        }
    }
}

fn table(out: &mut String, study: &Study, table: &Table<'_>) {
    let lines = table.as_text(study, Breadth::Paper);
    lines_of(out, table.labels.len(), &lines);
    for note in &table.notes {
        paragraph(out, note);
    }
}

/// A header and lines; the first columns are set to the left.
fn lines_of(out: &mut String, labels: usize, lines: &[Vec<String>]) {
    out.push('\n');
    let cells: Vec<Vec<String>> = lines
        .iter()
        .map(|line| line.iter().map(|cell| escaped(cell)).collect())
        .collect();
    let columns = cells.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let widths = cells.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0).max(4)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (number, line) in cells.iter().enumerate() {
        let shown = line.iter().zip(&widths).enumerate();
        let shown = shown.map(|(column, (cell, width))| {
            if column < labels {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        let _infallible = writeln!(out, "| {} |", shown.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            let rules = widths.iter().enumerate().map(|(column, width)| {
                if column < labels {
                    "-".repeat(*width)
                } else {
                    format!("{}:", "-".repeat(width - 1))
                }
            });
            let _infallible = writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "));
        }
    }
}

/// Text that Markdown shows as it is, on one line.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut is_in_word = false;
    while let Some(c) = rest.next() {
        let follows_word = std::mem::replace(&mut is_in_word, c.is_alphanumeric());
        let begins_word = rest.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            // Nobody is called because a device has their name.
            '@' if !follows_word && begins_word => out.push_str("@<!-- -->"),
            '\\' | '|' | '*' | '`' => out.extend(['\\', c]),
            // Brackets are plain unless they make a link.
            ']' if matches!(rest.peek(), Some('(' | '[' | ':')) => out.push_str("\\]"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if units::disturbs(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_become_markup() {
        assert_eq!(
            escaped("a|b\n<img src=x> [c](d) `e` *f*"),
            "a\\|b &lt;img src=x&gt; [c\\](d) \\`e\\` \\*f\\*"
        );
        assert_eq!(escaped("[1, 2]"), "[1, 2]");
        assert_eq!(escaped("@root a@b (@x"), "@<!-- -->root a@b (@<!-- -->x");
        assert_eq!(escaped("a\u{202e}b\u{1b}c"), "a b c");
    }
}
