//! What was asked, what came out in words and one picture, and whether it can be believed.

use super::rows::{ALL, leading_kind};
use super::{
    Block, Breadth, Conclusion, Findings, Section, Sentence, VerdictMark, arrivals, belief::belief,
    io500, missed, names, opening, rows_text,
};
use crate::comparison::{percent, sentence, shown};
use crate::verdicts::told;
use crate::words::counted;
use analyze::{Cell, Fact, Figure, RowComparison, Study, StudyRow, is_aside, is_told_apart};
use record::Quantity;
use units::lossless::f64_to_u64_saturating;

/// Of so many kinds of operations the levels are all told.
const FEW: usize = 4;

/// The answer, and the sections that tell it.
pub(super) fn answer<'s>(
    study: &'s Study,
    found: &Findings<'s>,
    room: Breadth,
) -> (Conclusion, Vec<Section<'s>>) {
    let answer = Conclusion {
        question: question(study),
        said: said(study),
        belief: belief(study, found),
    };
    let mut blocks = vec![
        Block::Text(answer.question.clone()),
        Block::Verdicts(answer.said.clone()),
    ];
    if room == Breadth::Browser {
        blocks.extend(opening::picture(study, found));
    }
    let always = found.as_always().map(Block::Text);
    let believed = std::iter::once(Block::Belief).chain(always).collect();
    let sections = vec![
        Section::new("answer", "Answer", blocks),
        Section::new("belief", "Can it be believed?", believed),
    ];
    let phases =
        (!study.io500.is_empty()).then(|| Section::new("phases", "Phases", io500::blocks(study)));
    (answer, sections.into_iter().chain(phases).collect())
}

fn question(study: &Study) -> String {
    let how = match study.baseline {
        Some(baseline) => format!(
            "Compared: {}{}, each arm with {}; differences below {} do not matter.",
            study.metric.name(),
            study
                .metric
                .stated_unit()
                .map(|unit| format!(" in {unit}"))
                .unwrap_or_default(),
            study.arms[baseline].name,
            percent(study.margin)
        ),
        None => format!(
            "Measured: {} of {}.",
            rows_text(study),
            study.arms.first().map_or("nothing", |arm| &arm.name)
        ),
    };
    if study.question.is_empty() {
        return how;
    }
    format!("{} {how}", units::on_one_line(&study.question))
}

fn said(study: &Study) -> Vec<Sentence> {
    let plain = |text: String| Sentence {
        arms: Vec::new(),
        scope: "",
        verdict: None,
        text,
    };
    if study.rows.is_empty() && study.io500.is_empty() {
        return vec![plain("No record counts.".to_owned())];
    }
    let knees = study.arrivals.iter().map(|curve| Sentence {
        arms: Some(curve.arm)
            .filter(|_| study.arms.len() > 1)
            .into_iter()
            .collect(),
        scope: "",
        verdict: None,
        text: arrivals::knee_text(curve),
    });
    let mut out: Vec<Sentence> = match study.baseline {
        Some(_) => {
            let compared: Vec<Sentence> = over_all_rows(study)
                .into_iter()
                .chain(means(study))
                .collect();
            match compared.is_empty() {
                true => levels(study).into_iter().map(plain).collect(),
                false => compared,
            }
        }
        None if study.rows.iter().all(|row| row.is_step) => Vec::new(),
        None if !study.io500.is_empty() => Vec::new(),
        None => levels(study).into_iter().map(plain).collect(),
    };
    out.splice(0..0, io500::said(study));
    let ended = study.ended_badly.as_ref();
    let ended = ended.map(|ended| format!("What is here does not count: {ended}."));
    out.splice(0..0, ended.map(plain));
    out.extend(without_record(study).map(plain));
    out.extend(knees);
    out.extend(missed::sentences(study));
    out
}

/// Arms of which nothing counts in any row.
fn without_record(study: &Study) -> Option<String> {
    let arms = study.arms.iter().enumerate();
    let is_empty = |at: usize| {
        let mut rows = study.rows.iter();
        rows.all(|row| row.cells.get(at).is_none_or(Option::is_none))
    };
    let names = arms.filter(|(at, _)| is_empty(*at));
    let names: Vec<&str> = names.map(|(_, arm)| arm.name.as_str()).collect();
    let shown = !names.is_empty() && !study.left_out.is_empty() && study.io500.is_empty();
    shown.then(|| {
        format!(
            "No record of {} counts; why stands under Method and limits.",
            names.join(", ")
        )
    })
}

/// What is said of the arms: over all rows where they are judged as one family, of all comparisons
/// where they have one verdict, of the only row, or how many rows have which verdict.
fn over_all_rows(study: &Study) -> Vec<Sentence> {
    if study.overall.iter().any(Option::is_some) {
        return verdicts(study, &study.overall, " over all rows");
    }
    if let Some(only) = only_verdict(study) {
        let found = study
            .rows
            .iter()
            .flat_map(|row| row.comparisons.iter().flatten());
        return vec![Sentence {
            arms: Vec::new(),
            scope: "",
            verdict: found.map(|found| VerdictMark::of(&found.verdict)).next(),
            text: format!("Of every comparison: {only}"),
        }];
    }
    if let [row] = study.rows.as_slice() {
        return verdicts(study, &row.comparisons, "");
    }
    (0..study.arms.len())
        .filter_map(|arm| tally(study, arm))
        .collect()
}

/// What every arm changes in all rows together, each with the same weight.
fn means(study: &Study) -> impl Iterator<Item = Sentence> {
    (0..study.arms.len()).filter_map(|arm| {
        let mean = study.geometric_mean(arm)?;
        Some(Sentence {
            arms: vec![arm],
            scope: "",
            verdict: None,
            text: format!(
                "{} in the geometric mean of {}.",
                shown(&mean),
                counted(study.rows.len(), "row")
            ),
        })
    })
}

/// Verdicts against the baseline, arms with one verdict together.
pub(super) fn verdicts(
    study: &Study,
    found: &[Option<RowComparison>],
    scope: &'static str,
) -> Vec<Sentence> {
    let mut out: Vec<Sentence> = Vec::new();
    for (arm, comparison) in found.iter().enumerate() {
        let Some(comparison) = comparison else {
            continue;
        };
        let text = sentence(comparison, &study.metric, study.margin);
        match out.iter_mut().find(|said| said.text == text) {
            Some(said) => said.arms.push(arm),
            None => out.push(Sentence {
                arms: vec![arm],
                scope,
                verdict: Some(VerdictMark::of(&comparison.verdict)),
                text,
            }),
        }
    }
    out
}

/// The one verdict of all comparisons, where they have only one.
pub(super) fn only_verdict(study: &Study) -> Option<String> {
    let all: Vec<String> = study
        .rows
        .iter()
        .flat_map(|row| row.comparisons.iter().flatten())
        .map(|comparison| sentence(comparison, &study.metric, study.margin))
        .collect();
    let first = all.first()?;
    (all.len() > 1 && all.iter().all(|text| text == first)).then(|| first.clone())
}

/// In how many rows an arm has which verdict.
fn tally(study: &Study, arm: usize) -> Option<Sentence> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for found in study
        .rows
        .iter()
        .filter_map(|row| row.comparisons[arm].as_ref())
    {
        let word = told(&found.verdict);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, n)) => *n += 1,
            None => counts.push((word, 1)),
        }
    }
    let of: usize = counts.iter().map(|(_, n)| n).sum();
    let texts: Vec<String> = counts
        .iter()
        .map(|(word, n)| format!("{word} in {n}"))
        .collect();
    (of > 0).then(|| Sentence {
        arms: vec![arm],
        scope: "",
        verdict: None,
        text: format!("{} of {}.", texts.join(", "), counted(of, "row")),
    })
}

/// What is told of one kind of operation in one row.
type Shown<'s> = (&'s StudyRow, &'s Cell, &'s str);

/// The kinds of operations of every row of the only arm, or of each row the leading one; the steps
/// of a search are told by its knee.
fn kinds_of_rows(study: &Study, is_whole: bool) -> Vec<Shown<'_>> {
    // Where the device itself was asked, what memory answered is not told first.
    let is_direct = |row: &&StudyRow| {
        let is_said = |fact: &Fact| fact.key == "direct" && fact.values == [Some("true".into())];
        row.workload.iter().any(is_said)
    };
    let has_direct = study.rows.iter().any(|row| is_direct(&row));
    let rows = study.rows.iter().filter(|row| !row.is_step);
    let mut out = Vec::new();
    for row in rows.filter(|row| !has_direct || is_direct(row)) {
        let kinds = row.operations.iter().map(String::as_str);
        let kinds: Vec<&str> = kinds
            .filter(|kind| !is_told_apart(kind) && !is_aside(kind))
            .collect();
        let leading = leading_kind(row, &study.metric);
        let is_shown = |kind: &&&str| is_whole || leading == Some(**kind);
        for kind in kinds.iter().filter(is_shown) {
            let cells = row.cells.iter().flatten();
            out.extend(cells.map(|cell| (row, cell, *kind)));
        }
    }
    out
}

/// What the only arm gives: of a few kinds of operations each, of many the most.
fn levels(study: &Study) -> Vec<String> {
    let mut shown = kinds_of_rows(study, true);
    if shown.len() > FEW {
        shown = kinds_of_rows(study, false);
    }
    if shown.len() <= FEW {
        let text = |(row, cell, kind): &Shown<'_>| {
            let figures = ["throughput", "iops", "p99"].map(Quantity::named);
            let known = figures
                .iter()
                .filter_map(|quantity| level(row, cell.figure(kind, quantity)?));
            let known: Vec<String> = known.chain(failures(cell, kind)).collect();
            let name = match row.operations.len() {
                1 => row.name.clone(),
                _ if *kind == ALL => row.name.clone(),
                _ => format!("{} {kind}", row.name),
            };
            (!known.is_empty()).then(|| format!("{name}: {}.", known.join(", ")))
        };
        return shown.iter().filter_map(text).collect();
    }
    let mut kinds: Vec<&str> = Vec::new();
    shown = kinds_of_rows(study, true);
    for (.., kind) in &shown {
        if *kind != ALL && !kinds.contains(kind) {
            kinds.push(kind);
        }
    }
    let most = kinds.into_iter().filter_map(|kind| most(&shown, kind));
    most.take(FEW).collect()
}

/// The highest rates of a kind of operation, and in which rows.
fn most(shown: &[Shown<'_>], kind: &str) -> Option<String> {
    let most = ["throughput", "iops"].map(Quantity::named);
    let most = most.iter().filter_map(|quantity| {
        let of_kind = shown.iter().filter(|(.., of)| *of == kind);
        let figures = of_kind.filter_map(|(row, cell, _)| {
            let figure = cell.figure(kind, quantity)?;
            Some((figure.point?, row, figure))
        });
        let (_, row, figure) = figures.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!("{} ({})", level(row, figure)?, row.name))
    });
    let most: Vec<String> = most.collect();
    (!most.is_empty()).then(|| format!("{kind}: at most {}.", most.join(", ")))
}

/// `10.1K IOPS ±0.50 %`.
fn level(row: &StudyRow, figure: &Figure) -> Option<String> {
    let point = figure.metric.number(figure.point?);
    let text = match figure.metric.is("iops") {
        true => format!("{point} {}", super::operations_word(row.is_load)),
        false if figure.metric.is_of_times() => format!("{} {point}", figure.metric.title()),
        false => point,
    };
    let bounds = figure.bounds.as_ref().zip(figure.point);
    let bounds = bounds.map(|(bounds, point)| super::bounds_text(&figure.metric, point, bounds));
    Some(format!(
        "{text}{}",
        bounds.map_or_else(String::new, |bounds| format!(" {bounds}"))
    ))
}

fn failures(cell: &Cell, kind: &str) -> Option<String> {
    let failed = cell.of_load(kind, &Quantity::named("errors"))?;
    let sum: f64 = failed.values.iter().map(|(_, n)| n).sum();
    let failed = f64_to_u64_saturating(sum);
    Some(format!(
        "{} failed",
        counted(Some(failed).filter(|n| *n > 0)?, "request")
    ))
}

/// A sentence about arms as a line of text.
pub(crate) fn said_text(study: &Study, said: &Sentence) -> String {
    match said.arms.as_slice() {
        [] => said.text.clone(),
        arms => format!("{}{}: {}", names(study, arms), said.scope, said.text),
    }
}
