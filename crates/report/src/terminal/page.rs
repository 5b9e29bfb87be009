//! Lines, labelled facts and tables as wide as the terminal, and the small formats that they share.

use super::TextLayout;
use super::width::{beginning, end, to_the_left, to_the_right, width};
use units::Nanos;
use units::lossless::f64_to_u64_saturating;

pub(super) use crate::words::{counted, grouped, share};

/// Where nobody says how wide a line may be.
pub(super) const WIDTH: usize = 100;
/// Where the text of a labelled fact begins.
const INDENT: usize = 14;
const GAP: &str = "  ";
/// Text in longer lines is hard to read, however wide the terminal is.
const LONGEST_LINE: usize = 120;

/// A text for people under construction, of lines of a given width; control characters of what it
/// is given do not reach the reader.
pub struct Page {
    text: String,
    width: usize,
    layout: TextLayout,
}

impl Default for Page {
    fn default() -> Self {
        Self::new(TextLayout::default())
    }
}

impl Page {
    /// An empty one.
    #[must_use]
    pub fn new(layout: TextLayout) -> Self {
        Self {
            text: String::new(),
            width: layout.columns.unwrap_or(WIDTH).max(20),
            layout,
        }
    }

    /// An empty one of so many columns.
    #[must_use]
    pub fn of_width(width: usize) -> Self {
        Self::new(TextLayout {
            columns: Some(width),
            ..TextLayout::default()
        })
    }

    pub(super) fn layout(&self) -> TextLayout {
        self.layout
    }

    /// The columns that it has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// One line as it is.
    pub fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// An empty line, unless nothing or an empty line is before it.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A label and its text, broken between words.
    pub fn fact(&mut self, label: &str, text: &str) {
        self.wrapped(&format!("{label:<INDENT$}"), INDENT, text);
    }

    /// `text` after `start`, further lines indented.
    pub fn wrapped(&mut self, start: &str, indent: usize, text: &str) {
        let most = self.width.min(LONGEST_LINE);
        let mut line = start.to_owned();
        let mut is_bare = true;
        for word in text.split_whitespace() {
            let space = usize::from(!is_bare);
            if !is_bare && width(&line) + space + width(word) > most {
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

    /// The rows with their columns aligned: the first to the left, the others to the right. On a
    /// terminal that has no room for all columns, those to the right give way.
    pub fn table(&mut self, rows: &[Vec<String>]) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let ranks: Vec<u8> = (0..=u8::MAX).rev().take(columns).collect();
        self.ranked_table(rows, &ranks);
    }

    /// As [`Page::table`], but the columns that matter least give way: one number a column says
    /// how much it does. What has no room is named below.
    fn ranked_table(&mut self, rows: &[Vec<String>], priorities: &[u8]) {
        if self.layout.columns.is_none() || total(rows) <= self.width {
            return self.aligned(rows);
        }
        let gone = self.narrowed_table(rows, priorities);
        let head = |column: &usize| rows.first().and_then(|row| row.get(*column)).cloned();
        let gone: Vec<String> = gone.iter().filter_map(head).collect();
        if !gone.is_empty() {
            self.wrapped("  ", 4, &format!("no room here for: {}", gone.join(", ")));
        }
    }

    fn aligned(&mut self, rows: &[Vec<String>]) {
        let widths = widths(rows);
        for row in rows {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, wanted))| match column {
                    0 => to_the_left(cell, *wanted),
                    _ => to_the_right(cell, *wanted),
                });
            self.line(&cells.collect::<Vec<_>>().join(GAP));
        }
    }

    /// [`Page::table`], with rows and columns exchanged if that makes it fit. On a terminal where
    /// neither does, the columns that matter least give way; without `priorities` those to the
    /// right.
    pub(super) fn fitting_table(&mut self, rows: &[Vec<String>], priorities: &[u8]) {
        let turned: Vec<Vec<String>> = (0..rows.first().map_or(0, Vec::len))
            .map(|column| {
                rows.iter()
                    .map(|row| row.get(column).cloned().unwrap_or_default())
                    .collect()
            })
            .collect();
        let with_gaps = |rows: &[Vec<String>]| {
            let widths = widths(rows).into_iter();
            widths.map(|width| width + GAP.len()).sum::<usize>()
        };
        let is_narrow = self.layout.columns.is_some() && total(&turned) > self.width;
        if is_narrow && !priorities.is_empty() {
            return self.ranked_table(rows, priorities);
        }
        let turn = with_gaps(rows) > self.width + GAP.len() && with_gaps(&turned) < with_gaps(rows);
        self.table(if turn && !is_narrow { &turned } else { rows });
    }

    /// [`Page::table`] without the columns that matter least, as far as that makes it fit: one
    /// number a column says how much, and the first always stays. Names that are still too long
    /// are cut. Gives the columns that are left out.
    pub(crate) fn narrowed_table(&mut self, rows: &[Vec<String>], priorities: &[u8]) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..priorities.len()).collect();
        let of = |kept: &[usize]| -> Vec<Vec<String>> {
            let cells = |row: &Vec<String>| {
                let cells = kept.iter().map(|column| row.get(*column).cloned());
                cells.map(Option::unwrap_or_default).collect()
            };
            rows.iter().map(cells).collect()
        };
        let mut gone = Vec::new();
        while total(&of(&kept)) > self.width && kept.len() > 2 {
            let Some(least) = kept
                .iter()
                .skip(1)
                .min_by_key(|column| priorities[**column])
            else {
                break;
            };
            let least = *least;
            kept.retain(|column| *column != least);
            gone.push(least);
        }
        // What is narrow may have room where something wide had none.
        for column in gone.into_iter().rev() {
            let at = kept.partition_point(|other| *other < column);
            let mut with = kept.clone();
            with.insert(at, column);
            if total(&of(&with)) <= self.width {
                kept = with;
            }
        }
        let mut rows = of(&kept);
        let over = total(&rows).saturating_sub(self.width);
        let longest = widths(&rows).first().copied().unwrap_or(0);
        for cell in rows
            .iter_mut()
            .filter_map(|row| row.first_mut())
            .filter(|_| over > 0)
        {
            *cell = cut(cell, longest.saturating_sub(over).max(4));
        }
        self.aligned(&rows);
        (0..priorities.len())
            .filter(|column| !kept.contains(column))
            .collect()
    }

    /// The text, without characters that change the look of other text.
    #[must_use]
    pub fn finish(self) -> String {
        units::visible(&self.text)
    }
}

/// The columns of a table with what stands between them.
fn total(rows: &[Vec<String>]) -> usize {
    let widths = widths(rows);
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// A name of at most so many columns; where it is longer, its beginning and its end.
fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let head = most.saturating_sub(1).div_ceil(2);
    let tail = most.saturating_sub(1) - head;
    format!("{}…{}", beginning(text, head), end(text, tail))
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| width(cell));
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
    fn no_line_of_a_narrow_terminal_is_longer_where_letters_are_wide() {
        let rows = ["名前", "日本語の長い名前", "short"].map(|name| {
            let cells = [name, "12.3 K", "4.5 MiB/s", "注釈"];
            cells.map(str::to_owned).to_vec()
        });
        for columns in [20, 24, 30, 36, 60] {
            let mut page = Page::of_width(columns);
            page.table(&rows);
            page.wrapped("", 2, "長い 文章 が ここ に あり ます から 折り 返し ます");
            let text = page.finish();
            let longest = text.lines().map(width).max().unwrap();
            assert!(longest <= columns, "{columns}:\n{text}");
        }
        let mut page = Page::of_width(60);
        page.table(&rows);
        let ends: Vec<usize> = page.finish().lines().map(width).collect();
        assert_eq!(ends, [ends[0]; 3], "columns are below each other");
    }

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
        page.fitting_table(
            &[
                (0..30).map(|i| format!("head{i}")).collect(),
                vec!["cell".into(); 30],
            ],
            &[],
        );
        assert_eq!(page.finish().lines().count(), 30);
    }

    #[test]
    fn on_a_terminal_the_columns_that_matter_least_give_way_and_are_named() {
        let line = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let rows: Vec<Vec<String>> = std::iter::once(line("row mean note p99"))
            .chain((0..8).map(|n| line(&format!("sequential-{n} 12345678 abcdefgh 87654321"))))
            .collect();
        let text = |columns, priorities: &[u8]| {
            let mut page = Page::of_width(columns);
            page.fitting_table(&rows, priorities);
            page.finish()
        };
        assert!(
            text(80, &[9, 5, 1, 7]).starts_with("row               mean      note       p99\n")
        );
        let narrow = text(36, &[9, 5, 1, 7]);
        assert!(
            narrow.starts_with("row               mean       p99\n"),
            "{narrow}"
        );
        assert!(narrow.ends_with("\n  no room here for: note\n"), "{narrow}");
        assert!(text(36, &[]).ends_with("\n  no room here for: p99\n"));
        // What is narrow and matters least is there where it fits beside the rest.
        let beside: Vec<Vec<String>> = ["row mean interval n", "run 5 [1234567,12345678] 6"]
            .map(line)
            .into();
        let mut page = Page::of_width(20);
        page.fitting_table(&beside, &[9, 8, 5, 1]);
        let page = page.finish();
        assert!(page.starts_with("row  mean  n\n"), "{page}");
        assert!(
            page.ends_with("no room here for:\n    interval\n"),
            "{page}"
        );
        assert!(
            text(20, &[9, 5, 1, 7])
                .lines()
                .all(|line| line.chars().count() <= 20)
        );
    }
}
