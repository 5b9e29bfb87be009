//! Plots over all rows, one section a kind of plot.

use super::{ALL, leading_kind, legend, load, traces, words};
use crate::plot::{
    self, DepthLine, DepthPoint, DriftLine, LEVELS, LatencyLine, SeriesLine, ValueUnit, escape,
};
use analyze::{Curve, Effective, Study, StudyRow};
use record::{Quantity, Record};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// From this block size on bytes are what people compare, below it operations.
const LARGE_BLOCK: u64 = 128 << 10;
/// Columns of a thinned series.
const SERIES_COLUMNS: u32 = 110;

/// One section; without text there is nothing to show.
pub(super) struct Part {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) text: Option<String>,
}

/// All sections in their order.
pub(super) fn all(study: &Study, records: &[Record]) -> [Part; 7] {
    let part = |id, name, explanation: &str, keys: &str, figures: String| {
        Part {
        id,
        name,
        text: (!figures.is_empty()).then(|| {
            format!(
                "<section id=\"{id}\" class=\"plots\">\n<details open><summary><h2>{name}</h2></summary>\n<p>{explanation}</p>\n{keys}<div class=\"figures\">\n{figures}</div>\n</details>\n</section>\n"
            )
        }),
    }
    };
    let keys = legend(study);
    let (curves, steps) = load::arrivals(study, records);
    let mut arrivals = part("arrivals", "Arrival rates", load::ARRIVALS, &keys, curves);
    arrivals.text = arrivals.text.map(|text| {
        text.replacen(
            "</details>\n</section>\n",
            &format!("{steps}</details>\n</section>\n"),
            1,
        )
    });
    [
        part(
            "latency",
            "Latency distributions",
            LATENCY,
            &keys,
            by_row(study, |row, index| latencies(study, records, row, index)),
        ),
        part(
            "series",
            "Rates over time",
            SERIES,
            &keys,
            by_row(study, |row, index| rates(study, records, row, index)),
        ),
        part("depth", "Queue depth", DEPTH, &keys, depths(study)),
        arrivals,
        part(
            "drift",
            "Drift over blocks",
            DRIFT,
            &keys,
            by_row(study, |row, index| drifts(study, row, index)),
        ),
        part(
            "heat",
            "Latency over time",
            HEAT,
            &heat_scale(),
            by_row(study, |row, index| heat(study, records, row, index)),
        ),
        part(
            "places",
            "Accesses by place",
            PLACES,
            "",
            by_row(study, |row, index| places(study, records, row, index)),
        ),
    ]
}

const LATENCY: &str = "The axis gives each further nine of the percentile the same room. A curve ends at the last percentile that ten operations lie \
    beyond. All blocks of an arm together.";
const SERIES: &str = "Each slot from its own start. The line is the median of an arm's slots, the shade runs from the least to the greatest. \
    A cross on the axis marks a stretch in which some slot completed nothing; a dashed edge where the warm-up ends (MSER-5, one cut for all arms); \
    a dashed line with × where the level jumps.";
const DEPTH: &str = "Bars are intervals or ranges; a hollow mark is a single observation or has too few blocks for one. Fainter: p99.";
const DRIFT: &str = "Arms of one block ran close together, so that what moves all arms alike is the machine. It does not disturb the comparison of arms, \
    but absolute numbers are not portable where the level moves.";
const HEAT: &str = "Each column is a stretch of time, darker where more of its operations lie. All operations and blocks of an arm together; \
    the fastest thousandth is in the lowest row.";
const PLACES: &str = "How often each part of the target was used: dark is the most used part.";

fn by_row(study: &Study, figure: impl Fn(&StudyRow, usize) -> String) -> String {
    study
        .rows
        .iter()
        .enumerate()
        .map(|(index, row)| figure(row, index))
        .collect()
}

/// A figure about a row.
fn framed(row: usize, arm: Option<usize>, caption: &str, plot: &str, notes: &str) -> String {
    let arm = arm
        .map(|arm| format!(" data-arm=\"{arm}\""))
        .unwrap_or_default();
    format!(
        "<figure data-row=\"{row}\"{arm}><figcaption>{caption}</figcaption>{plot}{notes}</figure>\n"
    )
}

fn arm_name(study: &Study, arm: usize) -> String {
    study
        .arms
        .get(arm)
        .map_or_else(String::new, |arm| arm.name.clone())
}

fn latencies(study: &Study, records: &[Record], row: &StudyRow, index: usize) -> String {
    let mut out = String::new();
    for kind in row.operations.iter().filter(|kind| *kind != ALL) {
        let cells = row
            .cells
            .iter()
            .enumerate()
            .filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)));
        let merged: Vec<_> = cells
            .map(|(arm, cell)| (arm, traces::latencies(&traces::of(cell, records), kind)))
            .collect();
        let lines: Vec<LatencyLine<'_>> = merged
            .iter()
            .map(|(arm, latency)| LatencyLine {
                arm: *arm,
                name: arm_name(study, *arm),
                latency,
            })
            .collect();
        let label = format!("Latency by percentile of {kind} operations in {}", row.name);
        if let Some(plot) = plot::latency(&label, &lines) {
            let kind = if row.operations.len() > 1 {
                format!(" ({})", escape(kind))
            } else {
                String::new()
            };
            out.push_str(&framed(
                index,
                None,
                &format!("{}{kind}", words::name(&row.name)),
                &plot,
                "",
            ));
        }
    }
    out
}

/// Bytes for large blocks and where bytes are compared, operations otherwise.
fn rate_of(study: &Study, row: &StudyRow, records: &[Record]) -> Quantity {
    let sizes = row
        .cells
        .iter()
        .flatten()
        .flat_map(|cell| traces::of(cell, records));
    let large = sizes
        .filter_map(|record| Effective::of(record).block_bytes())
        .all(|bytes| bytes >= LARGE_BLOCK);
    let known = row
        .cells
        .iter()
        .flatten()
        .flat_map(|cell| traces::of(cell, records))
        .any(|record| Effective::of(record).block_bytes().is_some());
    if study.metric == Quantity::named("throughput") || (large && known) {
        Quantity::named("throughput")
    } else {
        Quantity::named("iops")
    }
}

fn rates(study: &Study, records: &[Record], row: &StudyRow, index: usize) -> String {
    let metric = rate_of(study, row, records);
    let mut lines = Vec::new();
    let mut cuts = Vec::new();
    let mut notes = Vec::new();
    for (arm, cell) in row
        .cells
        .iter()
        .enumerate()
        .filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)))
    {
        let of_cell = traces::of(cell, records);
        let found = traces::settling(&of_cell);
        lines.push(SeriesLine {
            arm,
            name: arm_name(study, arm),
            columns: plot::columns(&traces::samples(&of_cell, &metric), SERIES_COLUMNS),
            regime: found.regime,
            regime_slots: (found.jumped, found.slots),
        });
        notes.extend(settling_note(study, arm, &found));
        cuts.push(found.cuts);
    }
    // A series of one value has no course.
    if lines.iter().all(|line| line.columns.len() < 2) {
        return String::new();
    }
    let cut = stats::warm_up::frozen_cut(&cuts);
    let label = format!("{} over time in {}", metric.title(), row.name);
    let plot = plot::series(
        &label,
        metric.unit(),
        &metric.title(),
        &lines,
        Some(cut as f64 * 1e9),
    );
    plot.map_or_else(String::new, |plot| {
        framed(index, None, &words::name(&row.name), &plot, &folded(&notes))
    })
}

/// What an arm's slots say of their warm-up and steadiness.
fn settling_note(study: &Study, arm: usize, found: &traces::Settling) -> Option<String> {
    let mut said = Vec::new();
    if found.at_limit > 0 {
        said.push(format!(
            "no steady part in {} of {}",
            found.at_limit,
            words::counted(found.slots, "slot")
        ));
    }
    if let Some(steadiness) = found.unsteady {
        said.push(format!(
            "not steady after the cut: range {}, slope {} (limits 20% and 10%)",
            words::percent(steadiness.range),
            words::percent(steadiness.excursion)
        ));
    }
    let name = if study.arms.len() > 1 {
        format!("{}: ", words::name(&arm_name(study, arm)))
    } else {
        String::new()
    };
    (!said.is_empty()).then(|| format!("<p data-arm=\"{arm}\">{name}{}.</p>", said.join("; ")))
}

/// Notes under a plot; more than two are folded.
fn folded(notes: &[String]) -> String {
    let text = notes.concat();
    if notes.len() > 2 {
        format!(
            "<details><summary>{} arms do not settle</summary>{text}</details>",
            notes.len()
        )
    } else {
        text
    }
}

fn depths(study: &Study) -> String {
    let mut by_name: BTreeMap<&str, Vec<&Curve>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for curve in &study.curves {
        if !by_name.contains_key(curve.name.as_str()) {
            order.push(&curve.name);
        }
        by_name.entry(&curve.name).or_default().push(curve);
    }
    let mut out = String::new();
    for name in order {
        let curves = &by_name[name];
        let throughput = lines(study, curves, &Quantity::named("iops"));
        let latency: Vec<DepthLine> = [
            (Quantity::named("mean"), false),
            (Quantity::named("p99"), true),
        ]
        .into_iter()
        .flat_map(|(metric, secondary)| {
            lines(study, curves, &metric)
                .into_iter()
                .map(move |line| DepthLine { secondary, ..line })
        })
        .collect();
        let plots = [
            (
                plot::depth(
                    &format!("IOPS by queue depth of {name}"),
                    ValueUnit::PerSecond,
                    "IOPS",
                    &throughput,
                ),
                "IOPS",
            ),
            (
                plot::depth(
                    &format!("Latency by queue depth of {name}"),
                    ValueUnit::Time,
                    "latency, mean and p99",
                    &latency,
                ),
                "latency",
            ),
        ];
        for (plot, what) in plots
            .into_iter()
            .filter_map(|(plot, what)| Some((plot?, what)))
        {
            let _infallible = writeln!(
                out,
                "<figure><figcaption>{}: {what}</figcaption>{plot}</figure>",
                words::name(name)
            );
        }
    }
    out
}

fn lines(study: &Study, curves: &[&Curve], metric: &Quantity) -> Vec<DepthLine> {
    let point = |arm: usize, depth: u64, row: usize| {
        let row = study.rows.get(row)?;
        let kind = leading_kind(row, metric)?;
        let figure = row.cells.get(arm)?.as_ref()?.figure(kind, metric)?;
        Some(DepthPoint {
            depth: depth as f64,
            value: figure.point?,
            interval: words::ends(figure),
        })
    };
    let line = |curve: &&Curve| DepthLine {
        arm: curve.arm,
        name: format!("{}, {}", arm_name(study, curve.arm), metric.title()),
        secondary: false,
        points: curve
            .points
            .iter()
            .filter_map(|(depth, row)| point(curve.arm, *depth, *row))
            .collect(),
    };
    curves
        .iter()
        .map(line)
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn drifts(study: &Study, row: &StudyRow, index: usize) -> String {
    let Some(kind) = leading_kind(row, &study.metric) else {
        return String::new();
    };
    let line = |(arm, cell): (usize, &Option<analyze::Cell>)| {
        let figure = cell.as_ref()?.figure(kind, &study.metric)?;
        let levels = figure
            .values
            .iter()
            .map(|(block, level)| (f64::from(*block) + 1.0, *level))
            .collect();
        Some(DriftLine {
            arm,
            name: arm_name(study, arm),
            levels,
        })
    };
    let lines: Vec<DriftLine> = row.cells.iter().enumerate().filter_map(line).collect();
    let label = format!("{} block by block in {}", study.metric.title(), row.name);
    let Some(plot) = plot::drift(&label, study.metric.unit(), &study.metric.title(), &lines) else {
        return String::new();
    };
    let notes = row.drift.as_ref().map(drift_note).unwrap_or_default();
    framed(index, None, &words::name(&row.name), &plot, &notes)
}

/// What the diagnostics say of the machine, each test at 1 %.
fn drift_note(drift: &stats::Drift) -> String {
    const ALPHA: f64 = 0.01;
    let mut said = Vec::new();
    if let Some(change) = drift.change {
        let portable = if change.exp_m1().abs() > stats::PORTABLE_CHANGE {
            ": ratios are valid, absolute numbers are not portable"
        } else {
            ""
        };
        said.push(format!(
            "{} over the run (Theil–Sen){portable}",
            ValueUnit::Change.text(change.exp_m1())
        ));
    }
    let tests = [
        (
            drift.variance_p,
            "blocks differ more than slots within them",
        ),
        (drift.trend_p, "there is a trend"),
        (drift.runs_p, "levels come in runs"),
        (drift.position_p, "the position in the block matters"),
        (drift.spread_p, "the spread changes over the run"),
        (drift.predecessor_p, "it matters which arm ran before"),
    ];
    let found = tests.into_iter().filter_map(|(p, text)| {
        p.filter(|p| *p < ALPHA)
            .map(|p| format!("{text} ({})", words::probability(p)))
    });
    said.extend(found);
    if said.is_empty() {
        String::new()
    } else {
        format!("<p>{}.</p>", said.join("; "))
    }
}

fn heat(study: &Study, records: &[Record], row: &StudyRow, index: usize) -> String {
    // The more maps, the coarser: a page of a whole matrix stays small.
    let cells: usize = study
        .rows
        .iter()
        .map(|row| row.cells.iter().flatten().count())
        .sum();
    let columns = match cells {
        0..=12 => 60,
        13..=40 => 36,
        _ => 18,
    };
    let mut out = String::new();
    for (arm, cell) in row
        .cells
        .iter()
        .enumerate()
        .filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)))
    {
        let (end, found) = traces::time_columns(&traces::of(cell, records), columns);
        let label = format!(
            "Latency over time in {} of {}",
            row.name,
            arm_name(study, arm)
        );
        if let Some(plot) = plot::latency_map(&label, end, &found) {
            out.push_str(&framed(
                index,
                Some(arm),
                &caption(study, row, arm),
                &plot,
                "",
            ));
        }
    }
    out
}

fn places(study: &Study, records: &[Record], row: &StudyRow, index: usize) -> String {
    let mut out = String::new();
    for (arm, cell) in row
        .cells
        .iter()
        .enumerate()
        .filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)))
    {
        let Some((bytes, buckets)) = traces::accesses(&traces::of(cell, records)) else {
            continue;
        };
        let label = format!(
            "Accesses by place in {} of {}",
            row.name,
            arm_name(study, arm)
        );
        if let Some(plot) = plot::access_map(&label, bytes, &buckets) {
            out.push_str(&framed(
                index,
                Some(arm),
                &caption(study, row, arm),
                &plot,
                "",
            ));
        }
    }
    out
}

fn caption(study: &Study, row: &StudyRow, arm: usize) -> String {
    if study.arms.len() > 1 {
        format!(
            "{}, {}",
            words::name(&row.name),
            words::name(&arm_name(study, arm))
        )
    } else {
        words::name(&row.name)
    }
}

fn heat_scale() -> String {
    let mut out = String::from("<p class=\"scales\">Share of the operations of a column: ");
    for (level, least) in LEVELS.iter().enumerate() {
        let text = if level == 0 {
            "some".to_owned()
        } else {
            format!("over {}", words::percent(*least))
        };
        let _infallible = write!(
            out,
            "<span class=\"scale\"><svg viewBox=\"0 0 1 1\"><g class=\"heat\"><path class=\"h{level}\" d=\"M.5 0V1\"/></g></svg>{text}</span>"
        );
    }
    out.push_str("</p>\n");
    out
}
