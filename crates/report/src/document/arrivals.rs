//! Arrival rate against latency, and the knee: the highest rate at which everything asked for still
//! held.

use super::loads::success_text;
use super::{Breadth, CellValue, Column, Label, Table, TableLine};
use crate::plot::{KneeLine, KneePoint};
use analyze::{ArrivalCurve, ArrivalPoint, Study};
use record::percentile_has_support;
use units::ValueUnit;
use units::lossless::u64_to_f64;

/// What the curve says of the knee, in one sentence.
pub(super) fn knee_text(curve: &ArrivalCurve) -> String {
    let scenario = &curve.scenario;
    // A rate with what was held against its limit there.
    let rate = |rate: f64, holds: bool| {
        let mut points = curve.points.iter();
        let is_it = |point: &&ArrivalPoint| point.rate == rate && point.holds == holds;
        let said = points.find(|point| is_it(point) && !point.said.is_empty());
        let said = said.map_or(String::new(), |point| format!(" ({})", point.said));
        (ValueUnit::PerSecond.text(rate), said)
    };
    if let Some(why) = &curve.no_answer {
        return format!("No knee of {scenario}: {why}.");
    }
    let knee = curve.knee.map(|knee| rate(knee, true));
    match (knee, curve.least_broken.map(|broken| rate(broken, false))) {
        (Some((knee, met)), Some((broken, missed))) => format!(
            "Knee of {scenario}: {knee} holds{met} and {broken} does not{missed}; single observations, one a rate."
        ),
        (Some((knee, met)), None) => format!(
            "No knee of {scenario} was reached: {knee}, the highest rate of a completed step, still holds{met}."
        ),
        (None, Some((broken, missed))) => format!(
            "No knee of {scenario}: {broken}, the lowest rate of a completed step, does not hold{missed}."
        ),
        (None, None) => format!("No knee of {scenario}: no step counts."),
    }
}

/// The steps of a curve, one line each.
pub(super) fn steps<'s>(study: &'s Study, curve: &'s ArrivalCurve) -> Table<'s> {
    let tail = format!("p{}", curve.tail);
    let shows_tail = has_tail(curve);
    let columns = [
        ("Achieved", 7),
        ("p50", 6),
        (tail.as_str(), 8),
        ("Max", 4),
        ("Never begun", 2),
        ("Failed", 5),
        ("Success", 3),
        ("Result", 9),
        ("Measured", 1),
    ];
    let is_shown = |at: &usize| shows_tail || *at != TAIL_COLUMN;
    let line = |point: &'s analyze::ArrivalPoint| {
        let at = |percent: f64| {
            let enough = percentile_has_support(point.latency.count(), percent);
            let value = point.latency.quantile(percent / 100.0).filter(|_| enough);
            CellValue::of(value, ValueUnit::Time)
        };
        let result = match (point.undecided, point.holds) {
            (true, _) => CellValue::Text("undecided".to_owned()),
            (false, true) => CellValue::Text("holds".to_owned()),
            (false, false) => CellValue::Missed("breaks".to_owned()),
        };
        let said = match point.said.as_str() {
            "" => CellValue::Nothing,
            said => CellValue::Text(said.to_owned()),
        };
        let cells = [
            CellValue::Number(point.achieved, ValueUnit::PerSecond),
            at(50.0),
            at(curve.tail),
            CellValue::of(point.latency.max().map(u64_to_f64), ValueUnit::Time),
            CellValue::Count(point.unsent),
            CellValue::Count(point.failed),
            CellValue::Text(success_text(point.succeeded, point.failed)),
            result,
            said,
        ];
        TableLine {
            labels: vec![Label::Text(ValueUnit::PerSecond.text(point.rate))],
            cells: shown(cells, is_shown),
        }
    };
    let arm = study
        .arms
        .get(curve.arm)
        .filter(|_| study.arms.len() > 1)
        .map_or_else(String::new, |arm| format!(", {}", arm.name));
    let title = format!("Arrival rates of {}{arm}", curve.scenario);
    Table {
        columns: shown(columns, is_shown)
            .into_iter()
            .map(|(head, weight)| Column::weighing(head, weight))
            .collect(),
        lines: curve.points.iter().map(line).collect(),
        room: Breadth::Screen,
        ..Table::new(&title, &["Arrivals"])
    }
}

/// The place of the tail among the columns of steps.
const TAIL_COLUMN: usize = 2;

fn shown<T, const N: usize>(of: [T; N], is_shown: impl Fn(&usize) -> bool) -> Vec<T> {
    let places = of.into_iter().enumerate();
    places
        .filter(|(at, _)| is_shown(at))
        .map(|(_, of)| of)
        .collect()
}

/// Whether some step had enough requests for the tail.
pub(super) fn has_tail(curve: &ArrivalCurve) -> bool {
    let mut points = curve.points.iter();
    points.any(|point| percentile_has_support(point.latency.count(), curve.tail))
}

/// The median and, where there is one, the tail of a curve.
pub(super) fn lines(study: &Study, curve: &ArrivalCurve) -> Vec<KneeLine> {
    let arm = study.arms.get(curve.arm).map_or("", |arm| &arm.name);
    let of = |percent: f64, secondary| KneeLine {
        arm: curve.arm,
        name: format!("{arm}, p{percent}"),
        secondary,
        knee: curve.knee,
        is_reached: curve.least_broken.is_some(),
        points: curve
            .points
            .iter()
            .filter(|point| percentile_has_support(point.latency.count(), percent))
            .filter_map(|point| {
                Some(KneePoint {
                    rate: point.rate,
                    latency: point.latency.quantile(percent / 100.0)?,
                    holds: point.holds,
                    undecided: point.undecided,
                })
            })
            .collect(),
    };
    match has_tail(curve) {
        true => vec![of(50.0, true), of(curve.tail, false)],
        false => vec![of(50.0, false)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example::{load, step};
    use analyze::{StudyOptions, study};
    use record::{Histogram, Operations, Record};

    fn curves(records: &[Record]) -> Vec<ArrivalCurve> {
        study(records, &StudyOptions::default()).arrivals
    }

    #[test]
    fn the_knee_is_the_highest_rate_below_the_first_that_breaks() {
        let records = [
            step(100.0, 9_000_000, true),
            step(400.0, 90_000_000, false),
            step(200.0, 9_000_000, true),
            step(800.0, 1, true),
        ];
        let found = curves(&records);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0]
                .points
                .iter()
                .map(|point| point.rate)
                .collect::<Vec<_>>(),
            [100.0, 200.0, 400.0, 800.0]
        );
        assert_eq!(
            (found[0].knee, found[0].least_broken),
            (Some(200.0), Some(400.0))
        );
        assert!(
            knee_text(&found[0]).contains("200"),
            "{}",
            knee_text(&found[0])
        );
    }

    #[test]
    fn a_search_that_found_none_has_none_in_its_report() {
        let mut records = [(100.0, true), (200.0, true), (400.0, false), (200.0, false)]
            .map(|(rate, holds)| step(rate, 9_000_000, holds));
        let why = "the target is not what it was";
        for (number, record) in records.iter_mut().enumerate() {
            let search = record::SearchAccount {
                no_answer: (number == 3).then(|| why.to_owned()),
                ..record::SearchAccount::default()
            };
            record.load.as_mut().unwrap().search = Some(search);
        }
        let found = curves(&records);
        assert_eq!((found[0].knee, found[0].least_broken), (None, None));
        assert!(knee_text(&found[0]).ends_with("the target is not what it was."));
    }

    #[test]
    fn a_tail_that_no_step_has_requests_for_has_no_column_and_no_line() {
        let of = |requests: u64| {
            let mut records = [(100.0, true), (150.0, true), (200.0, false)]
                .map(|(rate, holds)| step(rate, 9_000_000, holds));
            for record in &mut records {
                let mut gets = record.operations.kind("get").cloned().unwrap();
                gets.latency = Histogram::default();
                gets.latency.record_many(2_000_000, requests);
                gets.count = requests;
                record.operations = record::Measurements::default();
                record.operations.insert("get", gets);
            }
            let study = study(&records, &StudyOptions::default());
            let table = steps(&study, &study.arrivals[0]);
            let heads: Vec<String> = table.columns.iter().map(|of| of.head.clone()).collect();
            assert!(
                table
                    .lines
                    .iter()
                    .all(|line| line.cells.len() == heads.len())
            );
            let lines = lines(&study, &study.arrivals[0]).len();
            (heads[1..3].to_vec(), lines)
        };
        assert_eq!(of(40), (vec!["p50".to_owned(), "Max".to_owned()], 1));
        assert_eq!(of(150), (vec!["p50".to_owned(), "p90".to_owned()], 2));
    }

    #[test]
    fn a_rate_that_was_not_kept_or_failed_does_not_hold() {
        let mut slow = step(400.0, 9_000_000, true);
        slow.pace.as_mut().unwrap().achieved_per_second = 370.0;
        let found = curves(&[
            step(100.0, 9_000_000, true),
            step(200.0, 9_000_000, true),
            slow.clone(),
        ]);
        assert_eq!(
            (found[0].knee, found[0].points[2].holds),
            (Some(200.0), false)
        );
        assert!(found[0].points[2].said.contains("not kept"));
        slow.pace.as_mut().unwrap().achieved_per_second = 400.0;
        slow.pace.as_mut().unwrap().unsent = 20;
        let found = curves(&[
            step(100.0, 9_000_000, true),
            step(200.0, 9_000_000, true),
            slow,
        ]);
        assert!(!found[0].points[2].holds);
    }

    #[test]
    fn a_step_that_failed_is_left_out_of_the_rows_and_not_of_the_curve() {
        let mut failed = step(400.0, 9_000_000, true);
        failed.outcome.status = record::Status::Failed;
        let mut gets = failed.operations.kind("get").cloned().unwrap();
        gets.errors = 7;
        failed.operations = record::Measurements::default();
        failed.operations.insert("get", gets);
        let records = [
            step(100.0, 9_000_000, true),
            step(200.0, 9_000_000, true),
            failed,
        ];
        let found = curves(&records);
        assert_eq!(
            (
                found[0].points.len(),
                found[0].points[2].holds,
                found[0].points[2].failed
            ),
            (3, false, 7)
        );
        let study = study(&records, &StudyOptions::default());
        let lines = steps(&study, &found[0]).as_text(&study, Breadth::Paper);
        assert_eq!(lines[3][6..9], ["7", "99.3 %", "breaks"]);
    }

    #[test]
    fn the_tail_is_one_that_half_of_the_steps_can_show() {
        let few = |rate| {
            let mut record = step(rate, 9_000_000, true);
            let mut latency = Histogram::default();
            latency.record_many(2_000_000, 300);
            record.operations = record::Measurements::default();
            record.operations.insert(
                "get",
                Operations {
                    count: 300,
                    latency,
                    ..Operations::default()
                },
            );
            record
        };
        let of = |records: &[Record]| curves(records)[0].tail;
        assert_eq!(
            of(&[
                few(50.0),
                step(100.0, 9_000_000, true),
                step(200.0, 9_000_000, true)
            ]),
            99.0
        );
        assert_eq!(
            of(&[few(50.0), few(75.0), step(200.0, 9_000_000, true)]),
            95.0
        );
    }

    #[test]
    fn a_closed_loop_and_two_rates_are_no_curve() {
        assert_eq!(
            curves(&[
                load("get", 100, 1_000_000, 0),
                step(100.0, 1, true),
                step(200.0, 1, true)
            ]),
            []
        );
    }
}
