//! What is under way, for those who watch: said once, and shown by the terminal, by a line of a log
//! and by a page alike.
//!
//! Times come in as numbers. Of an experiment nothing is called different but what a look has
//! judged.

mod experiment;
mod profile;
mod work;

pub use experiment::{ExperimentNow, Looked};
pub use profile::ProfileNow;
pub use work::{RankNow, WorkNow};

use crate::document::{Block, Breadth, CellValue, Column, Label, Plot, Section, Table, TableLine};
use crate::terminal::Page;
use crate::words::counted;

/// What is under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveState {
    /// What runs at this moment.
    pub running: String,
    /// How far it is, and what is left.
    pub course: String,
    /// How much of it is done, from 0 to 1; `None` where nobody knows.
    pub share: Option<f64>,
    /// What could not run and is left out, each with its reason.
    pub left_out: Vec<String>,
    pub table: NowTable,
    /// How the table is read.
    pub note: String,
    /// A picture of the table, as SVG.
    pub(crate) picture: Option<String>,
}

/// Results so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NowTable {
    /// Each with how much its column matters: where there is no room, those with less give way;
    /// the first always stays.
    pub heads: Vec<(String, u8)>,
    pub lines: Vec<Vec<String>>,
    /// The line that is measured at this moment.
    pub current: Option<usize>,
    /// The lines that somebody must see who sees no more than a few.
    pub urgent: Vec<usize>,
}

const BAR: usize = 24;
/// What is left out has one line of so many.
const LEFT_OUT_PART: usize = 6;

impl LiveState {
    /// What comes before the measured time and is over when it is over.
    #[must_use]
    pub fn waiting(text: String) -> Self {
        Self {
            running: text,
            ..Self::default()
        }
    }

    /// So much of something that comes before the measured time.
    #[must_use]
    pub fn done(text: String, done: u64, of: u64) -> Self {
        Self {
            running: text,
            share: Some(done as f64 / of.max(1) as f64),
            ..Self::default()
        }
    }

    /// The same above the table of another state.
    #[must_use]
    pub fn above(self, table_of: Self) -> Self {
        Self {
            table: table_of.table,
            note: table_of.note,
            ..self
        }
    }

    /// At most so many lines of at most so many columns.
    #[must_use]
    pub fn text(&self, columns: usize, lines: usize) -> String {
        let mut page = Page::of_width(columns);
        let bar = self.share.filter(|_| columns > 2 * BAR).map(bar);
        let start = bar.map_or_else(String::new, |bar| format!("{bar} "));
        page.wrapped(&start, 2, &self.running);
        if !self.course.is_empty() {
            page.wrapped("", 2, &self.course);
        }
        for line in self.left_out_within(columns, lines) {
            page.wrapped("", 2, &line);
        }
        let used = page.lines() + 2 + usize::from(!self.note.is_empty());
        let table = self.table.within(lines.saturating_sub(used).max(3));
        if !table.lines.is_empty() {
            let priorities: Vec<u8> = table.heads.iter().map(|(_, of)| *of).collect();
            let heads = table.heads.iter().map(|(head, _)| head.clone()).collect();
            let rows: Vec<Vec<String>> = std::iter::once(heads).chain(table.lines).collect();
            page.narrowed_table(&rows, &priorities);
        }
        let mut out = page.finish();
        let room = lines.saturating_sub(out.lines().count());
        let mut note = Page::of_width(columns);
        note.wrapped("", 0, &self.note);
        let note = note.finish();
        if !self.note.is_empty() && note.lines().count() <= room {
            out.push_str(&note);
        }
        out
    }

    /// All of it in one line: how far it is, the first line of the table, and those that must be seen.
    #[must_use]
    pub fn line(&self) -> String {
        let said = [&self.running, &self.course];
        let said = said.into_iter().filter(|text| !text.is_empty()).cloned();
        let lines = self.table.lines.iter().enumerate();
        let lines = lines.filter(|(at, _)| *at == 0 || self.table.urgent.contains(at));
        let lines = lines.map(|(_, cells)| {
            let named = cells.iter().zip(&self.table.heads);
            let told = named.filter_map(|(cell, (head, _))| match (head.as_str(), cell.as_str()) {
                (_, "" | "-") | ("Errors", "0") => None,
                ("Errors", "1") => Some("1 error".to_owned()),
                ("Errors", count) => Some(format!("{count} errors")),
                ("p99", time) => Some(format!("p99 {time}")),
                (_, cell) => Some(cell.to_owned()),
            });
            told.collect::<Vec<_>>().join(" ")
        });
        said.chain(lines).collect::<Vec<_>>().join("; ")
    }

    /// What is left out, a line each, in no more than a part of so many lines.
    fn left_out_within(&self, columns: usize, lines: usize) -> Vec<String> {
        let most = (lines / LEFT_OUT_PART).max(1);
        let shown = if self.left_out.len() > most {
            most - 1
        } else {
            self.left_out.len()
        };
        let cells = self.left_out[..shown].iter();
        let mut out: Vec<String> = cells.map(|cell| format!("left out: {cell}")).collect();
        match (self.left_out.len() - shown, shown) {
            (0, _) => {}
            (rest, 0) => out.push(format!("left out: {}, each of a row", counted(rest, "arm"))),
            (rest, _) => out.push(format!("left out: {rest} more")),
        }
        for line in &mut out {
            if line.chars().count() > columns {
                *line = line
                    .chars()
                    .take(columns.saturating_sub(1))
                    .chain(['…'])
                    .collect();
            }
        }
        out
    }

    /// The section that a page begins with.
    pub(crate) fn section(&self) -> Section<'static> {
        let mut blocks = vec![Block::Text(self.running.clone())];
        if !self.course.is_empty() {
            blocks.push(Block::Text(self.course.clone()));
        }
        let left_out = self.left_out.iter();
        blocks.extend(left_out.map(|cell| Block::Text(format!("Left out: {cell}"))));
        if !self.table.lines.is_empty() {
            blocks.push(Block::Table(self.table.for_page(&self.note)));
        }
        blocks.extend(self.picture.clone().map(|svg| {
            Block::Plot(Plot {
                caption: "So far, against the baseline".into(),
                svg,
                ..Plot::default()
            })
        }));
        Section::new("now", "Now", blocks)
    }
}

impl NowTable {
    /// So many lines around the one that is measured.
    fn within(&self, most: usize) -> Self {
        let of = self.lines.len();
        if of <= most {
            return self.clone();
        }
        let middle = self.current.unwrap_or(0);
        let from = middle.saturating_sub(most / 2).min(of - most);
        Self {
            heads: self.heads.clone(),
            lines: self.lines[from..from + most].to_vec(),
            current: self.current.map(|line| line - from),
            urgent: Vec::new(),
        }
    }

    fn for_page(&self, note: &str) -> Table<'static> {
        let mut table = Table::new("", &[]);
        table.room = Breadth::Screen;
        let mut heads = self.heads.iter().map(|(head, _)| head.clone());
        table.labels.extend(heads.next());
        table.columns = heads.map(Column::of).collect();
        let line = |cells: &Vec<String>| {
            let mut cells = cells.iter();
            TableLine {
                labels: cells.next().cloned().map(Label::Text).into_iter().collect(),
                cells: cells.map(|text| cell(text)).collect(),
            }
        };
        table.lines = self.lines.iter().map(line).collect();
        table.notes = Some(note.to_owned())
            .filter(|note| !note.is_empty())
            .into_iter()
            .collect();
        table
    }
}

/// What is not known yet is no text of nobody's.
fn cell(text: &str) -> CellValue<'static> {
    match text {
        "" => CellValue::Nothing,
        text => CellValue::Text(text.to_owned()),
    }
}

fn bar(share: f64) -> String {
    let full = units::lossless::f64_to_u64_saturating(share.clamp(0.0, 1.0) * BAR as f64);
    let full = usize::try_from(full).unwrap_or(BAR).min(BAR);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}

/// A time as people say it: to the second, and to the minute where it is long.
pub(crate) fn about(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> LiveState {
        let line = |number: usize| {
            vec![
                format!("arm-{number}"),
                "+10.0 % [+8, +12]".into(),
                "8".into(),
            ]
        };
        LiveState {
            running: "pass 3: a".into(),
            course: "14 s so far".into(),
            share: Some(0.5),
            left_out: (1..4)
                .map(|row| format!("b in row {row}: could not run: killed for memory"))
                .collect(),
            table: NowTable {
                heads: vec![
                    ("Arm".into(), 9),
                    ("Change so far".into(), 5),
                    ("Blocks".into(), 1),
                ],
                lines: (0..10).map(line).collect(),
                current: Some(7),
                urgent: Vec::new(),
            },
            note: "how it is read".into(),
            picture: None,
        }
    }

    #[test]
    fn a_terminal_of_any_size_holds_it_and_the_least_column_gives_way_first() {
        for (columns, lines) in [(200, 50), (80, 24), (60, 10), (30, 8)] {
            let text = now().text(columns, lines);
            assert!(text.lines().count() <= lines, "{columns}x{lines}:\n{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= columns),
                "{columns}x{lines}:\n{text}"
            );
            assert!(text.contains("arm-7"), "{text}");
        }
        let narrow = now().text(29, 30);
        assert!(
            narrow.contains("Change so far") && !narrow.contains("Blocks"),
            "{narrow}"
        );
    }

    #[test]
    fn on_a_page_what_is_not_known_yet_is_nothing_and_no_name() {
        let mut state = now();
        state.table.lines[0][1].clear();
        let section = state.section();
        let tables = section.blocks.iter().filter_map(|block| {
            if let Block::Table(table) = block {
                Some(table)
            } else {
                None
            }
        });
        let cells: Vec<_> = tables.flat_map(|table| &table.lines[0].cells).collect();
        assert_eq!(
            cells
                .iter()
                .filter(|cell| matches!(cell, CellValue::Nothing))
                .count(),
            1,
            "{cells:?}"
        );
    }

    #[test]
    fn what_is_left_out_is_named_as_far_as_there_are_lines_and_all_of_it_on_the_page() {
        let left_out = |columns, lines| -> Vec<String> {
            let text = now().text(columns, lines);
            let named = text.lines().filter(|line| line.starts_with("left out"));
            named.map(str::to_owned).collect()
        };
        let all = left_out(200, 50);
        assert_eq!(all.len(), 3);
        assert_eq!(
            all[1],
            "left out: b in row 2: could not run: killed for memory"
        );
        assert_eq!(
            left_out(30, 14),
            ["left out: b in row 1: could n…", "left out: 2 more"]
        );
        assert_eq!(left_out(80, 10), ["left out: 3 arms, each of a row"]);
        let section = now().section();
        let named = section.blocks.iter().filter(
            |block| matches!(block, Block::Text(text) if text.starts_with("Left out: b in row")),
        );
        assert_eq!(named.count(), 3);
    }

    #[test]
    fn times_are_said_to_the_second_and_long_ones_to_the_minute() {
        let texts = [
            0,
            900_000_000,
            119_000_000_000,
            125_000_000_000,
            7_500_000_000_000,
        ]
        .map(about);
        assert_eq!(texts, ["0 s", "1 s", "119 s", "2 min 05 s", "2 h 05 min"]);
    }
}
