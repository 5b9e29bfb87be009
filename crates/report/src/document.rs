//! A study as a document: sections of blocks, built once, which each form renders in its own way.
//!
//! The order is the same in every form: what was asked and the answer, whether it can be believed,
//! the rows, the plots, the findings, the method, the environment. A block is data as far as forms
//! differ, and a text where they do not. What a form has no room for it leaves out; none adds
//! anything.

use crate::verdicts::{sign, told as told_verdict};
use crate::words::{MOST_NAMED, counted};
use analyze::{Fact, Severity, Study, StudyRow};
use record::Quantity;
use stats::Verdict;
use std::collections::BTreeSet;
use units::few;

mod answer;
mod arrivals;
mod belief;
mod bounds;
mod card;
mod distributions;
#[cfg(test)]
pub(crate) mod example;
mod facts;
mod findings;
mod hosts;
mod intervals;
mod io500;
mod loads;
mod matrix;
mod method;
mod missed;
mod numbers;
mod opening;
mod plots;
mod rows;
mod sides;
mod table;

pub(crate) use answer::said_text;
pub(crate) use bounds::{bounds_text, ends, why as why_range};
pub(crate) use card::{Card, CardCell};
pub(crate) use facts::{agreeing, differing, told};
pub(crate) use findings::{FindingLine, Findings};
pub(crate) use hosts::HOSTS;
pub(crate) use intervals::{forest_lines, plotted};
pub(crate) use method::level_method;
pub(crate) use missed::missed_in;
pub(crate) use numbers::{LEVELS, RUNS};
pub(crate) use table::{CellValue, Column, Label, Table, TableLine};

/// What is said of some records together.
pub(crate) struct Document<'s> {
    pub(crate) study: &'s Study,
    pub(crate) title: String,
    /// From how many records it is.
    pub(crate) lead: String,
    pub(crate) answer: Conclusion,
    pub(crate) findings: Findings<'s>,
    pub(crate) sections: Vec<Section<'s>>,
}

/// The heading of a quantity in a study. What loads count are operations on objects and pages, which
/// nobody calls I/O; beside runs in one study the word that holds for both stands.
pub(crate) fn heading(study: &Study, quantity: &Quantity) -> String {
    if study.rows.iter().any(|row| row.is_load) {
        return quantity.title().replacen("IOPS", "Ops/s", 1);
    }
    quantity.title()
}

/// What operations a second are called in a sentence.
fn operations_word(is_of_loads: bool) -> &'static str {
    if is_of_loads { "ops/s" } else { "IOPS" }
}

/// What was asked, what came out, and whether it can be believed.
pub(crate) struct Conclusion {
    pub(crate) question: String,
    pub(crate) said: Vec<Sentence>,
    pub(crate) belief: Belief,
}

/// A sentence about some arms; about none, about everything.
#[derive(Clone, Debug)]
pub(crate) struct Sentence {
    pub(crate) arms: Vec<usize>,
    /// Stands after their names.
    pub(crate) scope: &'static str,
    pub(crate) verdict: Option<VerdictMark>,
    pub(crate) text: String,
}

/// How a verdict is told at a glance: a sign and a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VerdictMark {
    pub(crate) sign: &'static str,
    pub(crate) word: &'static str,
}

impl VerdictMark {
    pub(crate) fn of(verdict: &Verdict) -> Self {
        Self {
            sign: sign(verdict),
            word: told_verdict(verdict),
        }
    }
}

/// Whether numbers can be believed, and the most important reason why not.
pub(crate) struct Belief {
    /// Of the reason.
    pub(crate) severity: Option<Severity>,
    pub(crate) text: String,
}

/// Blocks under a heading.
pub(crate) struct Section<'s> {
    /// Its address in the document.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The row that it is about.
    pub(crate) row: Option<usize>,
    /// Whether it opens folded where a form can fold.
    pub(crate) is_folded: bool,
    pub(crate) blocks: Vec<Block<'s>>,
    pub(crate) parts: Vec<Section<'s>>,
}

/// The forms that have room for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Breadth {
    /// All of them.
    Screen,
    /// Those that can be scrolled for long.
    Paper,
    Browser,
    /// Those that programs read: every number, and no picture.
    Program,
}

/// What stands in a section.
pub(crate) enum Block<'s> {
    Text(String),
    /// How plots are read.
    Explanation(&'static str),
    Items(Vec<String>),
    Verdicts(Vec<Sentence>),
    Belief,
    Table(Table<'s>),
    Plot(Plot),
    Card(Card),
    /// The signs of the arms in plots.
    Keys,
    /// The shades of a map.
    Scale,
    /// The circumstances of the arms.
    Circumstances(&'s [Fact]),
    /// The options of a row.
    Options(usize, Breadth),
    Findings,
}

/// A plot with what is said below it.
#[derive(Default)]
pub(crate) struct Plot {
    pub(crate) caption: String,
    pub(crate) svg: String,
    pub(crate) row: Option<usize>,
    pub(crate) arm: Option<usize>,
    pub(crate) quantity: Option<Quantity>,
    /// What is drawn with the sign of an arm and is none: rows over each other.
    pub(crate) legend: Vec<(usize, String)>,
    /// Each of an arm, or of all.
    pub(crate) notes: Vec<(Option<usize>, String)>,
}

impl<'s> Section<'s> {
    pub(crate) fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        blocks: Vec<Block<'s>>,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            row: None,
            is_folded: false,
            blocks,
            parts: Vec::new(),
        }
    }

    /// The lines of the table at this address that are of an arm.
    pub(crate) fn lines(&self, id: &str, arm: usize) -> impl Iterator<Item = &TableLine<'s>> {
        let tables = self.blocks.iter().filter_map(Block::table);
        let tables = tables.filter(move |table| table.id == id);
        let lines = tables.flat_map(|table| &table.lines);
        lines.filter(move |line| line.arm() == Some(arm))
    }

    fn folded(self) -> Self {
        Self {
            is_folded: true,
            ..self
        }
    }
}

impl<'s> Block<'s> {
    /// The table that it is.
    fn table(&self) -> Option<&Table<'s>> {
        if let Self::Table(table) = self {
            Some(table)
        } else {
            None
        }
    }

    /// The forms that have room for it.
    pub(crate) fn room(&self) -> Breadth {
        match self {
            Self::Text(_)
            | Self::Items(_)
            | Self::Verdicts(_)
            | Self::Belief
            | Self::Circumstances(_)
            | Self::Findings => Breadth::Screen,
            Self::Table(table) => table.room,
            Self::Options(_, room) => *room,
            Self::Explanation(_) | Self::Plot(_) | Self::Card(_) | Self::Keys | Self::Scale => {
                Breadth::Browser
            }
        }
    }
}

impl Document<'_> {
    /// The rows in the order in which it tells them, each with what stands in it.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&StudyRow, &Section<'_>)> {
        let parts = self.sections.iter().flat_map(|section| &section.parts);
        parts.filter_map(|part| Some((&self.study.rows[part.row?], part)))
    }
}

/// Puts a study into its document, for a form that has so much room: pictures are drawn for those
/// that show them.
pub(crate) fn document(study: &Study, room: Breadth) -> Document<'_> {
    let found = Findings::of(study);
    let (answer, mut sections) = answer::answer(study, &found, room);
    sections.extend(rows::section(study, room));
    if room == Breadth::Browser {
        sections.extend(plots::sections(study));
    }
    sections.push(Section::new("findings", "Findings", vec![Block::Findings]));
    sections.push(method::section(study));
    if !study.environments.is_empty() {
        let blocks = vec![Block::Circumstances(&study.environments)];
        sections.push(Section::new("environments", "Environments", blocks).folded());
    }
    Document {
        study,
        title: title(study),
        lead: format!("{}.{}", from(study), measured(study)),
        answer,
        findings: found,
        sections,
    }
}

/// Names of arms, as far as a title has room.
fn title(study: &Study) -> String {
    let names: Vec<String> = study.arms.iter().map(|arm| arm.name.clone()).collect();
    match names.as_slice() {
        [] => "Storage report".to_owned(),
        _ => format!("Storage report: {}", few(&names, MOST_NAMED)),
    }
}

/// How many rows there are; the steps of a search are one together.
pub(super) fn rows_text(study: &Study) -> String {
    let steps = study.rows.iter().filter(|row| row.is_step).count();
    let others = study.rows.len() - steps;
    let others = (others > 0 || steps == 0).then(|| counted(others, "row"));
    let steps = (steps > 0).then(|| {
        let curves = study.arrivals.iter();
        let mut searches: Vec<String> = curves.map(|curve| curve.scenario.clone()).collect();
        searches.dedup();
        format!(
            "{} at {}",
            few(&searches, MOST_NAMED),
            counted(steps, "rate")
        )
    });
    let told: Vec<String> = others.into_iter().chain(steps).collect();
    told.join(" and ")
}

/// From how many records it is.
fn from(study: &Study) -> String {
    let cells = study.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let sizes: BTreeSet<Option<&String>> = cells
        .flat_map(|cell| cell.ranks.iter().map(Option::as_ref))
        .collect();
    let ranks = match sizes.first() {
        Some(Some(only)) if sizes.len() == 1 => format!(" of {only}"),
        Some(_) | None => String::new(),
    };
    let of = [
        format!("{}{ranks}", counted(study.records, "record")),
        counted(study.arms.len(), "arm"),
        rows_text(study),
    ]
    .join(", ");
    if study.left_out.is_empty() {
        of
    } else {
        format!("{of}; {} left out", study.left_out.len())
    }
}

/// Between which days the records were measured.
fn measured(study: &Study) -> String {
    let day = |time: &str| {
        let day = time.split('T').next().unwrap_or_default();
        (!day.is_empty()).then(|| day.to_owned())
    };
    let days = study.measured.as_ref();
    match days.map(|(first, last)| (day(first), day(last))) {
        Some((Some(first), Some(last))) if first == last => format!(" Measured on {first}."),
        Some((Some(first), Some(last))) => format!(" Measured from {first} to {last}."),
        _ => String::new(),
    }
}

/// The names of arms.
pub(crate) fn names(study: &Study, arms: &[usize]) -> String {
    let names: Vec<String> = arms
        .iter()
        .map(|arm| study.arms[*arm].name.clone())
        .collect();
    few(&names, MOST_NAMED)
}
