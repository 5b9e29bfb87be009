//! Lines, labelled facts and tables of at most a hundred columns, and the small formats that they
//! share.

use units::Nanos;
use units::lossless::f64_to_u64_saturating;

pub(super) use crate::words::{counted, grouped, share};

pub(super) const WIDTH: usize = 100;
/// Where the text of a labelled fact begins.
const INDENT: usize = 14;
const GAP: &str = "  ";

/// A text for people under construction, at most a hundred columns wide; control characters of what
/// it is given do not reach the reader.
#[derive(Default)]
pub struct Page(String);

impl Page {
    /// One line as it is.
    pub fn line(&mut self, text: &str) {
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    /// An empty line, unless nothing or an empty line is before it.
    pub fn gap(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    /// A label and its text, broken between words.
    pub fn fact(&mut self, label: &str, text: &str) {
        self.wrapped(&format!("{label:<INDENT$}"), INDENT, text);
    }

    /// `text` after `start`, further lines indented.
    pub fn wrapped(&mut self, start: &str, indent: usize, text: &str) {
        let mut line = start.to_owned();
        let mut is_bare = true;
        for word in text.split_whitespace() {
            let space = usize::from(!is_bare);
            if !is_bare && line.chars().count() + space + word.chars().count() > WIDTH {
                self.line(&line);
                line = " ".repeat(indent);
                is_bare = true;
            }
            if !is_bare {
                line.push(' ');
            }
            line.push_str(word);
            is_bare = false;
        }
        self.line(&line);
    }

    /// The rows with their columns aligned: the first to the left, the others to the right.
    pub fn table(&mut self, rows: &[Vec<String>]) {
        let widths = widths(rows);
        for row in rows {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    if column == 0 {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                });
            self.line(&cells.collect::<Vec<_>>().join(GAP));
        }
    }

    /// [`Page::table`], with rows and columns exchanged if that makes it fit.
    pub(super) fn fitting_table(&mut self, rows: &[Vec<String>]) {
        let turned: Vec<Vec<String>> = (0..rows.first().map_or(0, Vec::len))
            .map(|column| {
                rows.iter()
                    .map(|row| row.get(column).cloned().unwrap_or_default())
                    .collect()
            })
            .collect();
        let width = |rows: &[Vec<String>]| {
            widths(rows)
                .iter()
                .map(|width| width + GAP.len())
                .sum::<usize>()
        };
        let turn = width(rows) > WIDTH + GAP.len() && width(&turned) < width(rows);
        self.table(if turn { &turned } else { rows });
    }

    /// The text, without characters that change the look of other text.
    #[must_use]
    pub fn finish(self) -> String {
        units::visible(&self.0)
    }
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell =
        |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    (0..columns)
        .map(|column| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0))
        .collect()
}

/// Nanoseconds as a time; `-` where there is none.
pub(super) fn time(ns: Option<f64>) -> String {
    ns.map_or_else(
        || "-".to_owned(),
        |ns| Nanos(f64_to_u64_saturating(ns.round())).to_string(),
    )
}

/// `part` of `whole` as a percentage; `None` of nothing.
pub(super) fn share_of(part: u64, whole: u64) -> Option<String> {
    (whole > 0).then(|| share(part as f64 / whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_breaks_between_words_and_a_long_word_does_not_break() {
        let mut page = Page::default();
        page.fact(
            "label",
            &format!("{} {} end", "x".repeat(80), "y".repeat(120)),
        );
        let text = page.finish();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(
            lines[0].starts_with("label         xxx")
                && lines[1].ends_with('y')
                && lines[2] == "              end"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_is_turned() {
        let mut page = Page::default();
        page.fitting_table(&[
            (0..30).map(|i| format!("head{i}")).collect(),
            vec!["cell".into(); 30],
        ]);
        assert_eq!(page.finish().lines().count(), 30);
    }
}
