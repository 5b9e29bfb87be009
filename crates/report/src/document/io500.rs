//! What an IO500-like run says: its score, its phases, and what bounds the belief in them.

use super::{Block, Breadth, CellValue, Column, Label, Sentence, Table, TableLine};
use crate::words::counted;
use analyze::{Io500Line, Io500Result, Study};
use units::ValueUnit;
use workload::{Io500Mean, Io500Role};

/// The address of the table of phases.
const PHASES: &str = "io500";

/// The score of each run, or why there is none.
pub(super) fn said(study: &Study) -> impl Iterator<Item = Sentence> {
    study.io500.iter().map(|result| Sentence {
        arms: Vec::new(),
        scope: "",
        verdict: None,
        text: scored(result),
    })
}

fn scored(result: &Io500Result) -> String {
    let Some(score) = result.score else {
        return without_score(result);
    };
    format!(
        "IO500-like score {}: the geometric mean of {} GiB/s (that of four phases) and {} kIOPS (that of eight). It is no IO500 score.",
        three(score.score),
        three(score.gib_per_second),
        three(score.kiops)
    )
}

/// Neighbours that miss for the same reason, such as that the run had ended, are named together.
fn without_score(result: &Io500Result) -> String {
    let like = |a: &Io500Line, b: &Io500Line| a.why_not == b.why_not;
    let missing = result.phases.chunk_by(like).filter_map(|lines| {
        let why = lines.first()?.why_not.as_deref()?;
        let names: Vec<&str> = lines.iter().map(|line| line.phase.name).collect();
        let names = match names.as_slice() {
            [first, _, _, .., last] => format!("{first} to {last}"),
            names => names.join(", "),
        };
        Some(format!("{names} ({})", units::on_one_line(why)))
    });
    let missing: Vec<String> = missing.collect();
    format!("No IO500-like score: {} missing.", missing.join(", "))
}

/// Three digits that say something, as scores are read.
fn three(value: f64) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// The phases of each run, and what bounds it.
pub(super) fn blocks(study: &Study) -> Vec<Block<'_>> {
    let of_run = |result: &Io500Result| {
        let bounds = (!result.bounds.is_empty()).then(|| Block::Items(result.bounds.clone()));
        std::iter::once(Block::Table(table(result))).chain(bounds)
    };
    study.io500.iter().flat_map(of_run).collect()
}

fn table(result: &Io500Result) -> Table<'static> {
    Table {
        id: PHASES.to_owned(),
        room: Breadth::Screen,
        columns: ["Result", "Time", "Done"].map(Column::of).into(),
        lines: result.phases.iter().map(line).collect(),
        ..Table::new("Phases, as IO500 orders them", &["Phase"])
    }
}

fn line(of: &Io500Line) -> TableLine<'static> {
    let unit = match of.phase.mean {
        Io500Mean::Bandwidth => ValueUnit::BytesPerSecond,
        Io500Mean::Metadata => ValueUnit::PerSecond,
    };
    let rate = of.rate.map_or_else(
        || CellValue::Missed("missing".to_owned()),
        |rate| CellValue::Number(rate, unit),
    );
    let elapsed = of.elapsed.filter(|elapsed| elapsed.0 > 0);
    let done = match (of.phase.mean, of.phase.role) {
        _ if elapsed.is_none() => CellValue::Nothing,
        (Io500Mean::Bandwidth, _) => CellValue::Text(units::Bytes(of.bytes).to_string()),
        (Io500Mean::Metadata, Io500Role::Walks) => CellValue::Text(counted(of.count, "entry")),
        (Io500Mean::Metadata, _) => CellValue::Text(counted(of.count, "file")),
    };
    TableLine {
        labels: vec![Label::Text(of.phase.name.to_owned())],
        cells: vec![
            rate,
            elapsed.map_or(CellValue::Nothing, |time| CellValue::Text(time.to_string())),
            done,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::Io500Score;
    use units::Nanos;
    use workload::IO500_PHASES;

    fn result(has_all: bool) -> Io500Result {
        let line = |(at, phase)| Io500Line {
            phase,
            rate: (has_all || at != 4).then_some(2.5e9),
            elapsed: (has_all || at != 4).then_some(Nanos(2_000_000_000)),
            bytes: 5_000_000_000,
            count: 1234,
            why_not: (!has_all && at == 4).then(|| "it did not run".to_owned()),
        };
        Io500Result {
            phases: IO500_PHASES.iter().enumerate().map(line).collect(),
            score: has_all.then_some(Io500Score {
                gib_per_second: 2.0,
                kiops: 612.34,
                score: 34.9956,
            }),
            bounds: vec!["It is of a shortened run.".into()],
        }
    }

    #[test]
    fn whether_it_can_be_believed_stands_before_the_phases() {
        let mut study = analyze::study(&[], &analyze::StudyOptions::default());
        study.io500 = vec![result(true)];
        let document = super::super::document(&study, Breadth::Browser);
        let places = document.sections.iter().map(|section| section.id.as_str());
        assert_eq!(
            places.take(3).collect::<Vec<_>>(),
            ["answer", "belief", "phases"]
        );
    }

    #[test]
    fn a_score_is_called_what_it_is_and_never_stands_without_all_phases() {
        assert_eq!(
            scored(&result(true)),
            "IO500-like score 35.0: the geometric mean of 2.00 GiB/s (that of four phases) and 612 kIOPS (that of eight). It is no IO500 score."
        );
        assert_eq!(
            scored(&result(false)),
            "No IO500-like score: find (it did not run) missing."
        );
        let mut ended = result(false);
        for line in ended.phases.iter_mut().skip(8) {
            line.why_not = Some("it did not run".into());
        }
        assert_eq!(
            scored(&ended),
            "No IO500-like score: find (it did not run), mdtest-hard-stat to mdtest-hard-delete (it did not run) missing."
        );
    }

    #[test]
    fn every_phase_has_a_line_with_its_unit() {
        let study = analyze::study(&[], &analyze::StudyOptions::default());
        let lines = table(&result(false)).as_text(&study, Breadth::Screen);
        assert_eq!(lines.len(), 13);
        assert_eq!(
            lines[1],
            ["ior-easy-write", "2.33 GiB/s", "2 s", "4.66 GiB"]
        );
        assert_eq!(lines[5], ["find", "missing", "-", "-"]);
        assert_eq!(lines[7][3], "1,234 files");
    }
}
