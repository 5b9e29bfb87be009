//! A study as Markdown: one table a row, or one line a row where there is one arm.

use super::{Table, whose};
use crate::document::{Block, Document, Heading, agreeing, document, facts_by_arm};
use analyze::Study;
use std::fmt::Write as _;

/// The study as a Markdown document. Text from records is escaped, so that a name cannot become
/// markup.
#[must_use]
pub fn study_markdown(study: &Study) -> String {
    let Document { lead, sections } = document(study);
    let mut out = format!("{}\n# Storage study\n\n{lead}\n", super::MARKDOWN_MARK);
    for section in &sections {
        let (level, text) = match &section.heading {
            Heading::Part(title) => ("##", *title),
            Heading::Row(title) | Heading::Detail(title) => ("###", title.as_str()),
        };
        let _infallible = write!(out, "\n{level} {}\n", escaped(text));
        section
            .blocks
            .iter()
            .for_each(|of| block(&mut out, study, of));
    }
    out
}

/// A block after an empty line.
fn block(out: &mut String, study: &Study, block: &Block) {
    match block {
        Block::Facts => facts(out, study),
        Block::Table(table) => self::table(out, table),
        Block::Titled(titled) => {
            let _infallible = write!(out, "\n#### {}\n", escaped(&titled.title));
            self::table(out, &titled.table);
        }
        Block::OnlyVerdict(text) => paragraph(out, &format!("Of every comparison: {text}")),
        Block::Findings => findings(out, study),
        Block::Text(text) => paragraph(out, text),
        Block::Drift(text) => paragraph(out, &format!("{text}.")),
        Block::Items(items) => {
            out.push('\n');
            for (_, text) in items {
                let _infallible = writeln!(out, "- {}", escaped(text));
            }
        }
    }
}

fn paragraph(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "\n{}", escaped(text));
}

fn facts(out: &mut String, study: &Study) {
    match facts_by_arm(study, "") {
        Some(lines) => table(
            out,
            &Table {
                labels: 1 + study.arms.len(),
                lines,
                notes: Vec::new(),
            },
        ),
        None if study.arms.len() > 1 => {
            paragraph(out, "No recorded fact differs between the arms.");
        }
        None => {}
    }
    let same = agreeing(&study.environments);
    if !same.is_empty() {
        let several = study.arms.len() > 1;
        let title = if several {
            "The same in all arms"
        } else {
            "Known"
        };
        paragraph(out, &format!("{title}: {same}."));
    }
}

fn findings(out: &mut String, study: &Study) {
    if study.findings.is_empty() {
        return paragraph(out, "The audit found nothing.");
    }
    out.push('\n');
    for finding in &study.findings {
        let whose = whose(study, finding).map_or_else(
            || "the records together".to_owned(),
            |whose| escaped(&whose),
        );
        let _infallible = writeln!(
            out,
            "- {} `{}` ({whose}): {}\n  - {}",
            finding.severity,
            finding.rule,
            escaped(&finding.message),
            escaped(&finding.advice)
        );
    }
}

fn table(out: &mut String, table: &Table) {
    out.push('\n');
    let columns = table.lines.first().map_or(0, Vec::len);
    let cells: Vec<Vec<String>> = table
        .lines
        .iter()
        .map(|line| line.iter().map(|cell| escaped(cell)).collect())
        .collect();
    let width = |column: usize| {
        cells
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
            .max(4)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let is_left = |column: usize| column < table.labels;
    for (number, line) in cells.iter().enumerate() {
        let shown = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                if is_left(column) {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        let _infallible = writeln!(out, "| {} |", shown.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            let rules = widths.iter().enumerate().map(|(column, width)| {
                if is_left(column) {
                    "-".repeat(*width)
                } else {
                    format!("{}:", "-".repeat(width - 1))
                }
            });
            let _infallible = writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "));
        }
    }
    for note in &table.notes {
        paragraph(out, note);
    }
}

/// Text that Markdown shows as it is, on one line.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' | '|' | '*' | '`' => out.extend(['\\', c]),
            // Brackets are plain unless they make a link.
            ']' if matches!(rest.peek(), Some('(' | '[' | ':')) => out.push_str("\\]"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
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
    }
}
