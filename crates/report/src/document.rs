//! A study as a document: sections of blocks, built once, which each form for readers renders in its
//! own way.
//!
//! A block is data as far as its forms differ (facts, tables, findings), and a text where they do
//! not. What a form has no room for it leaves out; none adds anything.

use crate::load::{self, Titled};
use crate::study::{
    Table, comparison_head, counted, drift_text, method, one_arm_table, only_verdict, overall,
    row_table, some, verdicts, work,
};
use analyze::{Fact, Study, StudyRow};

/// What is said of some records together.
pub(crate) struct Document {
    /// Stands before all sections.
    pub(crate) lead: String,
    pub(crate) sections: Vec<Section>,
}

/// Blocks under a heading.
pub(crate) struct Section {
    pub(crate) heading: Heading,
    pub(crate) blocks: Vec<Block>,
}

/// Over what a section stands.
pub(crate) enum Heading {
    /// A part of the document.
    Part(&'static str),
    /// A row of the study.
    Row(String),
    /// More than a screen has room for.
    Detail(String),
}

/// What stands in a section.
pub(crate) enum Block {
    /// The circumstances of the arms.
    Facts,
    Table(Table),
    /// A table with a title of its own.
    Titled(Titled),
    /// The verdict that every comparison has.
    OnlyVerdict(String),
    Findings,
    Text(String),
    /// What drift means for a row.
    Drift(String),
    /// Sentences of one kind, each with what it is on a screen.
    Items(Vec<(&'static str, String)>),
}

/// Puts a study into its document.
pub(crate) fn document(study: &Study) -> Document {
    let part = |title, blocks| Section {
        heading: Heading::Part(title),
        blocks,
    };
    let mut sections = vec![part("Environments", vec![Block::Facts])];
    sections.push(part("Results", results(study)));
    sections.extend(details_of_rows(study));
    sections.push(part("Findings", vec![Block::Findings]));
    let left_out = |left: &analyze::LeftOut| {
        let text = format!("record {}, {}: {}", left.record + 1, left.name, left.reason);
        ("left out: ", text)
    };
    if !study.left_out.is_empty() {
        let items = study.left_out.iter().map(left_out).collect();
        sections.push(part("Left out", vec![Block::Items(items)]));
    }
    let notes = study.notes.iter().map(|note| ("note: ", note.clone()));
    let said = notes.chain(method(study).into_iter().map(|text| ("", text)));
    sections.push(part(
        "Method and limits",
        vec![Block::Items(said.collect())],
    ));
    Document {
        lead: format!("{}.", counted(study)),
        sections,
    }
}

/// What is said of all rows together; of one arm its table.
fn results(study: &Study) -> Vec<Block> {
    let mut out = Vec::new();
    if let Some(head) = comparison_head(study) {
        out.push(Block::Text(head));
        let overall = overall(study);
        match only_verdict(study) {
            Some(text) => out.push(Block::OnlyVerdict(text)),
            None if overall.is_empty() => {}
            None => out.push(Block::Items(plain(overall))),
        }
    }
    if study.rows.is_empty() {
        out.push(Block::Text("No record counts.".to_owned()));
    } else if study.arms.len() == 1 {
        out.push(Block::Table(one_arm_table(study)));
        let drift = |row: &StudyRow| Some(format!("{}: {}", row.name, drift_text(row)?));
        out.extend(study.rows.iter().filter_map(drift).map(Block::Drift));
    }
    out
}

fn plain(texts: Vec<String>) -> Vec<(&'static str, String)> {
    texts.into_iter().map(|text| ("", text)).collect()
}

/// The rows of several arms, and what only loads have.
fn details_of_rows(study: &Study) -> Vec<Section> {
    let detail = |title: String, blocks: Vec<Block>| Section {
        heading: Heading::Detail(title),
        blocks,
    };
    let mut out = Vec::new();
    if study.arms.len() == 1 {
        let tables = |row: &StudyRow| (row.name.clone(), load_tables(study, row));
        let found = study.rows.iter().map(tables);
        let found = found.filter(|(_, tables)| !tables.is_empty());
        out.extend(found.map(|(name, tables)| detail(name, tables)));
    } else {
        let overall = load::overall_tables(study);
        if !overall.is_empty() {
            let tables = overall.into_iter().map(Block::Titled).collect();
            out.push(detail("All scenarios".to_owned(), tables));
        }
        let with_verdicts = only_verdict(study).is_none();
        let rows = study.rows.iter();
        out.extend(rows.map(|row| row_section(study, row, with_verdicts)));
    }
    out.extend(study.arrivals.iter().map(|curve| {
        let Titled { title, table } = load::curve_table(study, curve);
        detail(title, vec![Block::Table(table)])
    }));
    out
}

fn load_tables(study: &Study, row: &StudyRow) -> Vec<Block> {
    let tables = (!row.is_step).then(|| load::tables(study, row));
    let tables = tables.into_iter().flatten();
    tables.map(Block::Titled).collect()
}

fn row_section(study: &Study, row: &StudyRow, with_verdicts: bool) -> Section {
    let [same, differing] = work(study, row);
    let mut blocks: Vec<Block> = same.map(Block::Text).into_iter().collect();
    blocks.push(Block::Table(row_table(study, row)));
    let mut said = Vec::new();
    said.extend(differing.map(|text| format!("the arms do not do the same: {text}")));
    if with_verdicts {
        let verdicts = verdicts(study, row).into_iter();
        said.extend(verdicts.map(|(arms, text)| format!("{}: {text}", some(&arms))));
    }
    said.extend(drift_text(row));
    if !said.is_empty() {
        blocks.push(Block::Items(plain(said)));
    }
    blocks.extend(load_tables(study, row));
    Section {
        heading: Heading::Row(row.name.clone()),
        blocks,
    }
}

/// Facts in which arms differ, a column an arm, under `corner`; `None` where there are none.
pub(crate) fn facts_by_arm(study: &Study, corner: &str) -> Option<Vec<Vec<String>>> {
    let arms = study.arms.iter().map(|arm| arm.name.clone());
    let mut lines: Vec<Vec<String>> =
        vec![std::iter::once(corner.to_owned()).chain(arms).collect()];
    for fact in study.environments.iter().filter(|fact| fact.differs) {
        let values = fact.values.iter();
        let values = values.map(|value| value.clone().unwrap_or_else(|| "unknown".into()));
        lines.push(std::iter::once(fact.key.clone()).chain(values).collect());
    }
    (lines.len() > 1).then_some(lines)
}

/// Facts on which the arms agree, in one sentence.
pub(crate) fn agreeing(facts: &[Fact]) -> String {
    let same = facts.iter().filter(|fact| !fact.differs);
    same.filter_map(|fact| {
        Some(format!(
            "{} {}",
            fact.key,
            fact.values.iter().flatten().next()?
        ))
    })
    .collect::<Vec<_>>()
    .join("; ")
}
