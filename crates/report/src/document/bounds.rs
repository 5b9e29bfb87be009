//! What stands around a level, and of which runs it speaks: an interval of six runs is no promise
//! of what the storage gives at another time.

use crate::words::counted;
use analyze::{Bounds, Cell, Figure, Study};
use record::Quantity;
use stats::Dependence;
use std::collections::BTreeSet;
use units::Nanos;

/// `[9.9K, 10.1K]`; bounds that rounding would blur by how far they reach: `±0.30 %`. A range says
/// that it is one.
pub(crate) fn bounds_text(metric: &Quantity, point: f64, bounds: &Bounds) -> String {
    const NARROW: f64 = 0.02;
    let (low, high) = bounds.ends();
    let reach = (high - point).max(point - low);
    let text = if reach < NARROW * point {
        format!("±{:.2} %", 100.0 * reach / point)
    } else {
        format!("[{}, {}]", metric.number(low), metric.number(high))
    };
    match bounds {
        Bounds::Interval(_) => text,
        Bounds::Range(_) => format!("range {text}"),
    }
}

/// The ends of the interval or range of a figure, where they are finite.
pub(crate) fn ends(figure: &Figure) -> Option<(f64, f64)> {
    let ends = figure.bounds.as_ref().map(Bounds::ends);
    ends.filter(|(low, high)| low.is_finite() && high.is_finite())
}

/// What a column of bounds is called: 95 % is said only of intervals.
pub(super) fn heading<'a>(figures: impl Iterator<Item = &'a Figure>) -> &'static str {
    let (mut intervals, mut ranges) = (false, false);
    for figure in figures {
        intervals |= figure.interval().is_some();
        ranges |= figure.range().is_some();
    }
    match (intervals, ranges) {
        (_, false) => "95 % interval",
        (false, true) => "Range",
        (true, true) => "95 % interval or range",
    }
}

/// Why runs have a range and no interval.
pub(crate) fn why(dependence: Dependence) -> &'static str {
    match dependence {
        Dependence::Neighbours => "runs that follow each other resemble each other",
        Dependence::Trend => "the level rose or fell from run to run",
    }
}

/// Of which runs the bounds of these cells speak; nothing where there are none.
pub(super) fn remarks<'a>(
    shown: impl Iterator<Item = (&'a Cell, &'a Figure)> + Clone,
) -> Vec<String> {
    let mut out = Vec::new();
    let intervals = shown
        .clone()
        .filter(|(_, figure)| figure.interval().is_some());
    if let Some(runs) = runs(intervals) {
        out.push(format!(
            "95 % interval: of these {runs}; at other times the level may lie outside"
        ));
    }
    let ranges = shown.filter(|(_, figure)| figure.range().is_some());
    let reasons: BTreeSet<&str> = ranges
        .clone()
        .filter_map(|(_, figure)| Some(why(figure.range()?.why)))
        .collect();
    if let Some(runs) = runs(ranges) {
        let reasons: Vec<&str> = reasons.into_iter().collect();
        out.push(format!(
            "range: the least and the greatest of these {runs}, and no interval: {}",
            reasons.join("; ")
        ));
    }
    out
}

/// `6 runs within 170 s`, `6 to 8 runs within 170 s`: the longest span of all.
fn runs<'a>(shown: impl Iterator<Item = (&'a Cell, &'a Figure)> + Clone) -> Option<String> {
    let counts = shown.clone().map(|(_, figure)| figure.values.len());
    let (fewest, most) = (counts.clone().min()?, counts.max()?);
    let most_runs = counted(most, "run");
    let count = if fewest == most {
        most_runs
    } else {
        format!("{fewest} to {most_runs}")
    };
    let spans: Option<Vec<Nanos>> = shown.map(|(cell, _)| cell.span).collect();
    let within =
        spans.and_then(|spans| Some(format!(" within {}", span_text(spans.into_iter().max()?))));
    Some(format!("{count}{}", within.unwrap_or_default()))
}

/// A span in whole seconds; below ten of them in tenths.
fn span_text(span: Nanos) -> String {
    const SECOND: u64 = 1_000_000_000;
    let unit = if span.0 < 10 * SECOND {
        SECOND / 10
    } else {
        SECOND
    };
    if span.0 < unit {
        return span.to_string();
    }
    let tenths = span.0.div_ceil(unit) * unit / (SECOND / 10);
    if tenths.is_multiple_of(10) {
        format!("{} s", tenths / 10)
    } else {
        format!("{}.{} s", tenths / 10, tenths % 10)
    }
}

/// What a reader of any form must know of bounds.
pub(super) fn method(study: &Study) -> Vec<String> {
    let mut out = Vec::new();
    if study.figures().any(|figure| figure.interval().is_some()) {
        out.push(
            "The interval of a level is of these runs in this time. A device that slows down for minutes, or a noisy neighbour, may give another level \
             outside it."
                .to_owned(),
        );
    }
    if study.figures().any(|figure| figure.range().is_some()) {
        out.push(format!(
            "A range stands where the runs of an arm depend on when they ran (lag-1 correlation or trend over all its rows, {:.0} % for both): no interval over \
             them has its level.",
            100.0 * stats::SERIAL_ALPHA
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::Range;
    use stats::{Estimate, Method};

    const INTERVAL: Estimate = Estimate {
        point: 20_000.0,
        low: 19_000.0,
        high: 21_000.0,
        level: 0.95,
        n: 6,
        method: Method::HodgesLehmann,
    };
    const RANGE: Range = Range {
        low: 18_000.0,
        high: 22_000.0,
        n: 6,
        why: Dependence::Neighbours,
        p: 0.002,
    };

    fn cell(bounds: Bounds, span: Option<Nanos>) -> Cell {
        let figure = Figure {
            kind: "read".into(),
            metric: Quantity::named("iops"),
            values: (0..6).map(|block| (block, 20_000.0)).collect(),
            point: Some(20_000.0),
            bounds: Some(bounds),
            note: None,
        };
        Cell {
            records: (0..6).collect(),
            blocks: 6,
            span,
            figures: vec![figure],
            ..Cell::default()
        }
    }

    fn remarks_of(cells: &[Cell]) -> Vec<String> {
        remarks(cells.iter().map(|cell| (cell, &cell.figures[0])))
    }

    #[test]
    fn bounds_that_rounding_would_blur_say_how_far_they_reach() {
        let rate = Quantity::named("iops");
        let narrow = Estimate {
            low: 19_999.0,
            high: 20_001.0,
            ..INTERVAL
        };
        assert_eq!(
            bounds_text(&rate, 20_000.0, &Bounds::Interval(narrow)),
            "±0.01 %"
        );
        assert_eq!(
            bounds_text(&rate, 20_000.0, &Bounds::Interval(INTERVAL)),
            "[19.0K, 21.0K]"
        );
        assert_eq!(
            bounds_text(&rate, 20_000.0, &Bounds::Range(RANGE)),
            "range [18.0K, 22.0K]"
        );
    }

    #[test]
    fn an_interval_says_of_how_many_runs_within_what_time_it_is() {
        let within = |s: u64| cell(Bounds::Interval(INTERVAL), Some(Nanos(s * 1_000_000_000)));
        assert_eq!(
            remarks_of(&[within(170)]),
            [
                "95 % interval: of these 6 runs within 170 s; at other times the level may lie outside"
            ]
        );
        assert!(remarks_of(&[within(150), within(170)])[0].contains("6 runs within 170 s;"));
        assert!(
            remarks_of(&[cell(Bounds::Interval(INTERVAL), None)])[0]
                .contains("of these 6 runs; at")
        );
        assert_eq!(remarks_of(&[]), [""; 0]);
    }

    #[test]
    fn a_range_is_never_labelled_95_percent() {
        let range = cell(Bounds::Range(RANGE), Some(Nanos(2_340_000_000)));
        assert_eq!(heading(range.figures.iter()), "Range");
        assert_eq!(
            remarks_of(&[range]),
            [
                "range: the least and the greatest of these 6 runs within 2.4 s, and no interval: runs that follow each other resemble each other"
            ]
        );
    }
}
