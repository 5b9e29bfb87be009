//! Distributions as plots: latencies over each other, the parts of requests, and what blocks differ
//! by.

use super::Plot;
use super::missed::{MISSED, missed_in};
use super::plots::{cells, framed};
use super::rows::ALL;
use crate::plot::{self, DensityLine, LatencyLine, ValueUnit};
use analyze::{Study, StudyRow};
use record::{Histogram, Quantity};

/// The arms over each other in one row, a plot a kind of operation.
pub(super) fn latencies(study: &Study, index: usize) -> Vec<Plot> {
    let row = &study.rows[index];
    let plot = |kind: &String| {
        let lines = cells(study, row).filter_map(|(arm, name, cell)| {
            Some(LatencyLine {
                arm,
                name: name.to_owned(),
                latency: cell.latencies.get(kind)?,
            })
        });
        let lines: Vec<LatencyLine<'_>> = lines.collect();
        let label = format!("Latency by percentile of {kind} operations in {}", row.name);
        let mut out = framed(study, index, None, plot::latency(&label, &lines)?);
        if row.operations.len() > 1 {
            out.caption = format!("{} ({kind})", row.name);
        }
        Some(out)
    };
    let kinds = row.operations.iter().filter(|kind| *kind != ALL);
    kinds.filter_map(plot).collect()
}

/// Of one arm the rows over each other, a plot a kind of operation.
pub(super) fn latencies_of_rows(study: &Study) -> Vec<Plot> {
    const MOST: usize = 8;
    let mut kinds: Vec<&String> = Vec::new();
    for kind in study.rows.iter().flat_map(|row| &row.operations) {
        if kind != ALL && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let of_kind = |kind: &String| {
        let lines = study.rows.iter().filter_map(|row| {
            let latency = row.cells.first()?.as_ref()?.latencies.get(kind)?;
            Some((row.name.clone(), latency))
        });
        let lines: Vec<_> = lines.collect();
        let plot = |lines: &[(String, &Histogram)]| over_each_other(kind, lines);
        lines.chunks(MOST).filter_map(plot).collect::<Vec<Plot>>()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

fn over_each_other(kind: &str, rows: &[(String, &Histogram)]) -> Option<Plot> {
    let mut lines: Vec<LatencyLine<'_>> = Vec::new();
    for (sign, (name, latency)) in rows.iter().enumerate() {
        lines.push(LatencyLine {
            arm: sign,
            name: name.clone(),
            latency,
        });
    }
    let names = lines.iter().map(|line| (line.arm, line.name.clone()));
    let label = format!("Latency by percentile of {kind} operations, row by row");
    Some(Plot {
        caption: kind.to_owned(),
        svg: plot::latency(&label, &lines)?,
        row: None,
        arm: None,
        quantity: None,
        legend: names.collect(),
        notes: Vec::new(),
    })
}

/// The first of them, where nothing tells more: of one row under a caption that says what it is.
pub(super) fn latencies_first(study: &Study) -> Option<Plot> {
    let first = latencies_of_rows(study).into_iter().next()?;
    let is_one = study.rows.len() == 1;
    Some(Plot {
        caption: format!("Latency by percentile: {}", first.caption),
        legend: first.legend.into_iter().filter(|_| !is_one).collect(),
        ..first
    })
}

/// What the blocks of a row say, arm by arm.
pub(super) fn differences(study: &Study, index: usize) -> Option<Plot> {
    let row = &study.rows[index];
    let compared = row.comparisons.iter().enumerate();
    let line = |(arm, found): (usize, &Option<analyze::RowComparison>)| {
        let found = found.as_ref()?;
        let is_enough = found.differences.len() >= plot::FEWEST_TO_SMOOTH;
        is_enough.then(|| DensityLine {
            arm,
            name: study.arms[arm].name.clone(),
            changes: found.differences.iter().map(|log| log.exp_m1()).collect(),
        })
    };
    let lines: Vec<DensityLine> = compared.filter_map(line).collect();
    let label = format!(
        "Changes of {} block by block in {}",
        super::heading(study, &study.metric),
        row.name
    );
    let svg = plot::density(&label, &lines, study.margin)?;
    Some(framed(study, index, None, svg))
}

/// Where the time of a request goes, of the only arm of a load.
pub(super) fn parts_of_requests(study: &Study) -> Option<Plot> {
    const MOST: usize = 9;
    let is_told = |row: &&StudyRow| row.is_load && !row.is_step;
    let row = study.rows.iter().find(is_told)?;
    let cell = row.cells.first()?.as_ref()?;
    let times = |kind: &str, part: &str| {
        let of = |name: &str| cell.of_load(kind, &Quantity::named(&format!("{part}.{name}")));
        let [p50, p95] = ["p50", "p95"].map(|name| of(name).and_then(|figure| figure.point));
        Some((p50?, p95))
    };
    let mut lines: Vec<plot::IntervalLine> = Vec::new();
    let mut notes = Vec::new();
    for kind in row.operations.iter().filter(|kind| *kind != ALL) {
        let missed = missed_in(row, Some(kind));
        let sign = match missed.is_empty() {
            true => String::new(),
            false => format!("{MISSED} "),
        };
        let before = lines.len();
        for part in ["sending", "waiting", "receiving"] {
            let Some((p50, p95)) = times(kind, part) else {
                continue;
            };
            if p95.unwrap_or(p50) <= 0.0 || lines.len() == MOST {
                continue;
            }
            let middle = format!("p50 {}", ValueUnit::Time.text(p50));
            // Of a short load the p95 is not known, and the median alone is a picture too.
            let text = match p95 {
                Some(tail) => format!("{middle}, p95 {}", ValueUnit::Time.text(tail)),
                None => middle,
            };
            lines.push(plot::IntervalLine {
                arm: 0,
                name: format!("{sign}{kind}: {part}"),
                point: p50,
                interval: p95.map(|tail| (p50, tail)),
                text,
            });
        }
        if lines.len() > before && !missed.is_empty() {
            notes.push((None, format!("{MISSED} missed {}.", missed.join(", "))));
        }
    }
    let label = format!("Where the time of a request of {} goes", row.name);
    let reference = plot::Reference::default();
    let svg = plot::intervals(&label, "", ValueUnit::Time, &lines, &reference)?;
    let has_tail = lines.iter().any(|line| line.interval.is_some());
    let from_where_to = match has_tail {
        true => ", from the median to the p95",
        false => ": medians, of too few requests for a p95",
    };
    let of = match study.rows.len() {
        1 => String::new(),
        _ => format!(" ({})", row.name),
    };
    Some(Plot {
        caption: format!("Where the time of a request goes{from_where_to}{of}"),
        svg,
        notes,
        ..Plot::default()
    })
}
