//! A study as Markdown: one table a row, or one line a row where there is one arm.

use super::{
    Table, agreeing, comparison_head, counted, drift_text, method, one_arm_table, only_verdict,
    overall, row_table, some, verdicts, whose, work,
};
use crate::load::{self, Titled};
use analyze::{Fact, Study, StudyRow};
use std::fmt::Write as _;

/// The study as a Markdown document. Text from records is escaped, so that a name cannot become markup.
#[must_use]
pub fn study_markdown(study: &Study) -> String {
    let mut out = format!(
        "{}\n# Storage study\n\n{}.\n",
        super::MARKDOWN_MARK,
        counted(study)
    );
    environments(&mut out, study);
    results(&mut out, study);
    findings(&mut out, study);
    if !study.left_out.is_empty() {
        heading(&mut out, "Left out");
        for left in &study.left_out {
            item(
                &mut out,
                &format!("record {}, {}: {}", left.record + 1, left.name, left.reason),
            );
        }
    }
    heading(&mut out, "Method and limits");
    study.notes.iter().for_each(|note| item(&mut out, note));
    method(study).iter().for_each(|text| item(&mut out, text));
    out
}

fn heading(out: &mut String, text: &str) {
    let _infallible = write!(out, "\n## {}\n\n", escaped(text));
}

fn item(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "- {}", escaped(text));
}

fn paragraph(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "\n{}", escaped(text));
}

fn environments(out: &mut String, study: &Study) {
    heading(out, "Environments");
    let differing: Vec<&Fact> = study
        .environments
        .iter()
        .filter(|fact| fact.differs)
        .collect();
    if differing.is_empty() {
        out.push_str(if study.arms.len() > 1 {
            "No recorded fact differs between the arms.\n"
        } else {
            ""
        });
    } else {
        let mut lines = vec![
            std::iter::once(String::new())
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
        let labels = 1 + study.arms.len();
        table(
            out,
            &Table {
                labels,
                lines,
                notes: Vec::new(),
            },
        );
    }
    let same = agreeing(&study.environments);
    if !same.is_empty() {
        let title = if study.arms.len() > 1 {
            "The same in all arms"
        } else {
            "Known"
        };
        let _infallible = write!(out, "\n{title}: {}.\n", escaped(&same));
    }
}

fn results(out: &mut String, study: &Study) {
    heading(out, "Results");
    let only = only_verdict(study);
    if let Some(head) = comparison_head(study) {
        let _infallible = writeln!(out, "{}", escaped(&head));
        if let Some(text) = &only {
            let _infallible = writeln!(out, "\nOf every comparison: {}", escaped(text));
        } else if !overall(study).is_empty() {
            out.push('\n');
            overall(study).iter().for_each(|text| item(out, text));
        }
    }
    if study.rows.is_empty() {
        out.push_str("No record counts.\n");
    } else if study.arms.len() == 1 {
        one_arm(out, study);
    } else {
        let overall = load::overall_tables(study);
        if !overall.is_empty() {
            out.push_str("\n### All scenarios\n");
            overall.iter().for_each(|titled| write_titled(out, titled));
        }
        study
            .rows
            .iter()
            .for_each(|row| several_arms(out, study, row, only.is_none()));
    }
    for curve in &study.arrivals {
        let Titled { title, table } = load::curve_table(study, curve);
        let _infallible = write!(out, "\n### {}\n\n", escaped(&title));
        self::table(out, &table);
    }
}

fn one_arm(out: &mut String, study: &Study) {
    table(out, &one_arm_table(study));
    for row in &study.rows {
        if let Some(text) = drift_text(row) {
            paragraph(out, &format!("{}: {text}.", row.name));
        }
    }
    for row in study.rows.iter().filter(|row| !row.is_step) {
        let tables = load::tables(study, row);
        if !tables.is_empty() {
            let _infallible = write!(out, "\n### {}\n", escaped(&row.name));
            tables.iter().for_each(|titled| write_titled(out, titled));
        }
    }
}

fn several_arms(out: &mut String, study: &Study, row: &StudyRow, with_verdicts: bool) {
    let _infallible = write!(out, "\n### {}\n\n", escaped(&row.name));
    let [same, differing] = work(study, row);
    if let Some(text) = same {
        let _infallible = write!(out, "{}\n\n", escaped(&text));
    }
    table(out, &row_table(study, row));
    let mut said = Vec::new();
    said.extend(differing.map(|text| format!("the arms do not do the same: {text}")));
    if with_verdicts {
        said.extend(
            verdicts(study, row)
                .into_iter()
                .map(|(arms, text)| format!("{}: {text}", some(&arms))),
        );
    }
    said.extend(drift_text(row));
    if !said.is_empty() {
        out.push('\n');
    }
    said.iter().for_each(|text| item(out, text));
    if !row.is_step {
        load::tables(study, row)
            .iter()
            .for_each(|titled| write_titled(out, titled));
    }
}

fn write_titled(out: &mut String, titled: &Titled) {
    let _infallible = write!(out, "\n#### {}\n\n", escaped(&titled.title));
    table(out, &titled.table);
}

fn findings(out: &mut String, study: &Study) {
    heading(out, "Findings");
    if study.findings.is_empty() {
        out.push_str("The audit found nothing.\n");
    }
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
