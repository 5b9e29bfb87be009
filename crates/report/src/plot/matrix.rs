//! A line a row, a column an arm: what each changes, and what was judged, at a glance.

use super::frame::open;
use super::svg::{At, escape, shortened, width_of};
use std::fmt::Write as _;

const LINE: f64 = 20.0;
const COLUMN: f64 = 62.0;
/// Letters of the names of arms, and of rows.
const LETTERS: (usize, usize) = (22, 30);
/// Names of arms stand aslant: so much of their length goes up, and to the right.
const ASLANT: (f64, f64) = (0.5, 0.87);
/// Changes by more than this, as logarithms, are drawn darker.
const STEPS: [f64; 4] = [0.025, 0.07, 0.2, 0.5];

/// What is known of an arm in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MatrixCell {
    pub(crate) tone: Tone,
    /// By how much it differs, as a logarithm; its sign is not looked at.
    pub(crate) size: f64,
    pub(crate) text: String,
}

/// How a cell is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Better,
    Worse,
    Same,
    /// Not judged, and better or worse by its number alone.
    PerhapsBetter,
    PerhapsWorse,
    Nothing,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MatrixLine {
    pub(crate) name: String,
    /// In the order of the columns.
    pub(crate) cells: Vec<Option<MatrixCell>>,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Better => "better sure",
            Self::Worse => "worse sure",
            Self::Same => "same sure",
            Self::PerhapsBetter => "better",
            Self::PerhapsWorse => "worse",
            Self::Nothing => "none",
        }
    }
}

/// All rows under the names of the arms; `whole` is what is said of all rows together. `None` where
/// no cell is known.
pub(crate) fn matrix(
    label: &str,
    arms: &[String],
    whole: Option<&MatrixLine>,
    lines: &[MatrixLine],
) -> Option<String> {
    lines
        .iter()
        .flat_map(|line| &line.cells)
        .find(|cell| cell.is_some())?;
    let names = whole.into_iter().chain(lines);
    let left = names
        .map(|line| width_of(&cut(&line.name, LETTERS.1)))
        .fold(40.0, f64::max)
        + 10.0;
    let longest = arms
        .iter()
        .map(|arm| width_of(&cut(arm, LETTERS.0)))
        .fold(0.0, f64::max);
    let top = longest * ASLANT.0 + 14.0;
    let width = left + COLUMN * arms.len() as f64 + (longest * ASLANT.1 - COLUMN / 2.0).max(4.0);
    let apart = if whole.is_some() { LINE + 5.0 } else { 0.0 };
    let height = top + apart + LINE * lines.len() as f64 + 4.0;
    let mut out = open(width, height, label);
    for (column, arm) in arms.iter().enumerate() {
        let x = left + COLUMN * (column as f64 + 0.4);
        let _infallible = write!(
            out,
            r#"<text transform="translate({} {}) rotate(-30)">{}</text>"#,
            At(x),
            At(top - 6.0),
            shortened(arm, LETTERS.0)
        );
    }
    out.push_str(r#"<g class="matrix">"#);
    if let Some(whole) = whole {
        write_line(&mut out, whole, left, top);
    }
    for (row, line) in lines.iter().enumerate() {
        write_line(&mut out, line, left, top + apart + LINE * row as f64);
    }
    out.push_str("</g></svg>");
    Some(out)
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn write_line(out: &mut String, line: &MatrixLine, left: f64, top: f64) {
    let y = At(top + LINE - 6.0);
    let _infallible = write!(
        out,
        r#"<text x="{}" y="{y}" text-anchor="end">{}</text>"#,
        At(left - 6.0),
        shortened(&line.name, LETTERS.1)
    );
    for (column, cell) in line.cells.iter().enumerate() {
        let Some(cell) = cell else { continue };
        let x = left + COLUMN * column as f64;
        let step = STEPS.iter().filter(|least| cell.size.abs() > **least);
        let _infallible = write!(
            out,
            r#"<path class="{} m{}" d="M{} {}h{}v{}h{}z"/><text x="{}" y="{y}" text-anchor="middle">{}</text>"#,
            cell.tone.class(),
            step.count(),
            At(x + 1.0),
            At(top + 1.0),
            COLUMN - 2.0,
            LINE - 2.0,
            2.0 - COLUMN,
            At(x + COLUMN / 2.0),
            escape(&cell.text)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(tone: Tone, size: f64) -> Option<MatrixCell> {
        Some(MatrixCell {
            tone,
            size,
            text: "▼ -54 %".into(),
        })
    }

    fn line(name: &str, cells: Vec<Option<MatrixCell>>) -> MatrixLine {
        MatrixLine {
            name: name.into(),
            cells,
        }
    }

    #[test]
    fn what_was_judged_is_told_from_what_was_not_and_more_is_darker() {
        let arms = ["plain", "<b>other</b>"].map(str::to_owned);
        let lines = [
            line(
                "size=1",
                vec![cell(Tone::Worse, -0.6), cell(Tone::PerhapsWorse, 0.05)],
            ),
            line("size=2", vec![None, cell(Tone::Same, 0.001)]),
        ];
        let whole = line("all rows", vec![cell(Tone::Worse, -0.3), None]);
        let svg = matrix("l", &arms, Some(&whole), &lines).unwrap();
        for class in ["worse sure m4", "worse m1", "same sure m0", "worse sure m3"] {
            assert_eq!(svg.matches(&format!("\"{class}\"")).count(), 1, "{class}");
        }
        assert!(svg.contains("&lt;b&gt;other") && svg.contains("all rows"));
    }

    #[test]
    fn nothing_known_is_no_picture() {
        let lines = [line("size=1", vec![None])];
        assert_eq!(matrix("l", &["a".into()], None, &lines), None);
    }
}
