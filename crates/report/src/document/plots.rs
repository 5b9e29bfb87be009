//! What is shown as plots over all rows, a section a kind of plot.

use super::bounds::ends;
use super::rows::leading_kind;
use super::{Block, Plot, Section, arrivals as curves, distributions};
use crate::comparison::drift_lines;
use crate::plot::{self, DepthLine, DepthPoint, DriftLine, Regime, SeriesLine, ValueUnit};
use crate::words::{counted, share};
use analyze::{Cell, Curve, Settling, Study, StudyRow};
use record::Quantity;
use std::collections::BTreeMap;

const LATENCY: &str = "The axis gives each further nine of the percentile the same room. A curve ends at the last percentile that ten operations lie \
    beyond. All blocks of an arm together.";
const SERIES: &str = "Each slot from its own start. The line is the median of an arm's slots, the shade runs from the least to the greatest. \
    A cross on the axis marks a stretch in which some slot completed nothing; a dashed edge where the warm-up ends (MSER-5, one cut for all arms); \
    a dashed line with × where the level jumps.";
const DEPTH: &str = "Bars are intervals or ranges; a hollow mark is a single observation or has too few blocks for one. Fainter: p99.";
const DRIFT: &str = "Arms of one block ran close together, so that what moves all arms alike is the machine. It does not disturb the comparison of arms, \
    but absolute numbers are not portable where the level moves.";
const DIFFERENCES: &str = "How the changes against the baseline of the same block lie (a kernel density by Silverman's rule): what an interval is made of. Each \
    stroke on the axis is a block. Shaded: differences that do not matter.";
const HEAT: &str = "Each column is a stretch of time, darker where more of its operations lie. All operations and blocks of an arm together; \
    the fastest thousandth is in the lowest row.";
const PLACES: &str = "How often each part of the target was used: dark is the most used part.";
const ARRIVALS: &str = "Operations arrive at a rate, whatever the answers do; latency counts from the intended start. Filled marks held what was \
    asked, hollow ones did not; the dashed line is at the highest rate below the first that broke. Where there are two lines the fainter is the p50.";

/// All sections in their order; those without a plot are not there.
pub(super) fn sections(study: &Study) -> Vec<Section<'_>> {
    let plots =
        |id: &str, title: &str, explanation, keys: Option<Block<'static>>, plots: Vec<Plot>| {
            let plots = plots.into_iter().map(Block::Plot).collect::<Vec<_>>();
            if plots.is_empty() {
                return None;
            }
            let mut blocks = vec![Block::Explanation(explanation)];
            blocks.extend(keys);
            blocks.extend(plots);
            Some(Section::new(id, title, blocks))
        };
    let keys = || Some(Block::Keys);
    let found = [
        plots(
            "latency",
            "Latency distributions",
            LATENCY,
            keys(),
            match study.arms.len() {
                1 => distributions::latencies_of_rows(study),
                _ => by_row(study, distributions::latencies),
            },
        ),
        plots(
            "series",
            "Rates over time",
            SERIES,
            keys(),
            by_row(study, rates),
        ),
        plots("depth", "Queue depth", DEPTH, keys(), depths(study)),
        arrival_rates(study),
        plots(
            "differences",
            "Differences of blocks",
            DIFFERENCES,
            keys(),
            by_row(study, distributions::differences),
        ),
        plots(
            "drift",
            "Drift over blocks",
            DRIFT,
            keys(),
            by_row(study, drifts),
        ),
        plots(
            "heat",
            "Latency over time",
            HEAT,
            Some(Block::Scale),
            by_row(study, heat),
        ),
        plots(
            "places",
            "Accesses by place",
            PLACES,
            None,
            by_row(study, places),
        ),
    ];
    found.into_iter().flatten().collect()
}

/// The curves of arrival rates; of several arms with their steps as tables, which of one stand
/// among the rows.
fn arrival_rates(study: &Study) -> Option<Section<'_>> {
    if study.arrivals.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Explanation(ARRIVALS), Block::Keys];
    blocks.extend(arrivals(study).into_iter().map(Block::Plot));
    if study.arms.len() > 1 {
        let of_arms = study.arrivals.iter();
        blocks.extend(of_arms.map(|curve| Block::Table(curves::steps(study, curve))));
    }
    Some(Section::new("arrivals", "Arrival rates", blocks))
}

fn by_row<F: IntoIterator<Item = Plot>>(
    study: &Study,
    plots: impl Fn(&Study, usize) -> F,
) -> Vec<Plot> {
    (0..study.rows.len())
        .flat_map(|row| plots(study, row))
        .collect()
}

/// A plot about a row, or about one arm of it.
pub(super) fn framed(study: &Study, row: usize, arm: Option<usize>, svg: String) -> Plot {
    let name = &study.rows[row].name;
    let of = arm.filter(|_| study.arms.len() > 1);
    Plot {
        caption: of.map_or_else(
            || name.clone(),
            |arm| format!("{name}, {}", study.arms[arm].name),
        ),
        svg,
        row: Some(row),
        arm,
        ..Plot::default()
    }
}

/// The cells of a row with the names of their arms.
pub(super) fn cells<'s>(
    study: &'s Study,
    row: &'s StudyRow,
) -> impl Iterator<Item = (usize, &'s str, &'s Cell)> {
    let cells = study.arms.iter().zip(&row.cells).enumerate();
    cells.filter_map(|(arm, (of, cell))| Some((arm, of.name.as_str(), cell.as_ref()?)))
}

fn rates(study: &Study, index: usize) -> Option<Plot> {
    let row = &study.rows[index];
    let metric = &row.rate;
    let mut lines = Vec::new();
    let mut cuts = Vec::new();
    let mut notes = Vec::new();
    for (arm, name, cell) in cells(study, row) {
        let found = &cell.course.settling;
        lines.push(SeriesLine {
            arm,
            name: name.to_owned(),
            columns: cell.course.rate.clone(),
            regime: found.jump.map(|jump| Regime {
                time_ns: jump.second as f64 * 1e9,
                ratio: jump.ratio,
            }),
            regime_slots: (found.jumped, found.slots),
        });
        notes.extend(settling(found).map(|text| (Some(arm), text)));
        cuts.push(found.cuts.clone());
    }
    // A series of one value has no course.
    if lines.iter().all(|line| line.columns.len() < 2) {
        return None;
    }
    let cut = stats::warm_up::frozen_cut(&cuts);
    let title = super::heading(study, metric);
    let label = format!("{title} over time in {}", row.name);
    let cut = Some(cut as f64 * 1e9);
    let svg = plot::series(&label, metric.unit(), &title, &lines, cut)?;
    Some(Plot {
        notes,
        ..framed(study, index, None, svg)
    })
}

/// What an arm's slots say of their warm-up and steadiness.
fn settling(found: &Settling) -> Option<String> {
    let mut said = Vec::new();
    if found.at_limit > 0 {
        said.push(format!(
            "no steady part in {} of {}",
            found.at_limit,
            counted(found.slots, "slot")
        ));
    }
    if let Some(steadiness) = found.unsteady {
        said.push(format!(
            "not steady after the cut: range {}, slope {} (limits 20% and 10%)",
            share(steadiness.range),
            share(steadiness.excursion)
        ));
    }
    (!said.is_empty()).then(|| format!("{}.", said.join("; ")))
}

fn depths(study: &Study) -> Vec<Plot> {
    let mut by_name: BTreeMap<&str, Vec<&Curve>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for curve in &study.curves {
        if !by_name.contains_key(curve.name.as_str()) {
            order.push(&curve.name);
        }
        by_name.entry(&curve.name).or_default().push(curve);
    }
    let pair = |name: &str| {
        let of = |metric: &str, secondary| {
            let found = depth_lines(study, &by_name[name], &Quantity::named(metric));
            found
                .into_iter()
                .map(move |line| DepthLine { secondary, ..line })
        };
        let plot = |unit, what: &str, axis: &str, lines: Vec<DepthLine>| {
            let svg = plot::depth(
                &format!("{what} by queue depth of {name}"),
                unit,
                axis,
                &lines,
            )?;
            Some(Plot {
                caption: format!("{name}: {what}"),
                svg,
                ..Plot::default()
            })
        };
        let times = of("mean", false).chain(of("p99", true)).collect();
        let rate = plot(
            ValueUnit::PerSecond,
            "IOPS",
            "IOPS",
            of("iops", false).collect(),
        );
        [
            rate,
            plot(ValueUnit::Time, "latency", "latency, mean and p99", times),
        ]
    };
    order.into_iter().flat_map(pair).flatten().collect()
}

fn depth_lines(study: &Study, curves: &[&Curve], metric: &Quantity) -> Vec<DepthLine> {
    let point = |arm: usize, depth: u64, row: usize| {
        let row = study.rows.get(row)?;
        let kind = leading_kind(row, metric)?;
        let figure = row.cells.get(arm)?.as_ref()?.figure(kind, metric)?;
        Some(DepthPoint {
            depth: depth as f64,
            value: figure.point?,
            interval: ends(figure),
        })
    };
    let line = |curve: &&Curve| DepthLine {
        arm: curve.arm,
        name: format!("{}, {}", study.arms[curve.arm].name, metric.title()),
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

/// Latency by arrival rate, a plot a scenario.
pub(super) fn arrivals(study: &Study) -> Vec<Plot> {
    let mut scenarios: Vec<&str> = study
        .arrivals
        .iter()
        .map(|curve| curve.scenario.as_str())
        .collect();
    scenarios.dedup();
    let plot = |scenario: &str| {
        let of = || {
            study
                .arrivals
                .iter()
                .filter(|curve| curve.scenario == scenario)
        };
        let lines: Vec<plot::KneeLine> =
            of().flat_map(|curve| curves::lines(study, curve)).collect();
        let label = format!("Latency of {scenario} by arrivals a second");
        let with_tail = of().filter(|curve| curves::has_tail(curve));
        let mut tails: Vec<String> = with_tail.map(|curve| format!("p{}", curve.tail)).collect();
        tails.dedup();
        Some(Plot {
            caption: match tails.is_empty() {
                true => format!("{scenario}: p50, of too few requests for a p90"),
                false => format!("{scenario}: p50 and {}", tails.join(", ")),
            },
            svg: plot::knee(&label, &lines)?,
            notes: of()
                .map(|curve| (Some(curve.arm), curves::knee_text(curve)))
                .collect(),
            ..Plot::default()
        })
    };
    scenarios.into_iter().filter_map(plot).collect()
}

fn drifts(study: &Study, index: usize) -> Option<Plot> {
    let row = &study.rows[index];
    let kind = leading_kind(row, &study.metric)?;
    let line = |(arm, name, cell): (usize, &str, &Cell)| {
        let values = cell.figure(kind, &study.metric)?.values.iter();
        let levels = values.map(|(block, level)| (f64::from(*block) + 1.0, *level));
        Some(DriftLine {
            arm,
            name: name.to_owned(),
            levels: levels.collect(),
        })
    };
    let lines: Vec<DriftLine> = cells(study, row).filter_map(line).collect();
    let (unit, title) = (study.metric.unit(), super::heading(study, &study.metric));
    let label = format!("{title} block by block in {}", row.name);
    let svg = plot::drift(&label, unit, &title, &lines)?;
    let notes = row.drift.iter().flat_map(drift_lines);
    Some(Plot {
        notes: notes.map(|line| (None, format!("{line}."))).collect(),
        ..framed(study, index, None, svg)
    })
}

fn heat(study: &Study, index: usize) -> Vec<Plot> {
    let row = &study.rows[index];
    let of = |(arm, name, cell): (usize, &str, &Cell)| {
        let label = format!("Latency over time in {} of {name}", row.name);
        let svg = plot::latency_map(&label, cell.course.end_ns, &cell.course.latencies)?;
        Some(framed(study, index, Some(arm), svg))
    };
    cells(study, row).filter_map(of).collect()
}

fn places(study: &Study, index: usize) -> Vec<Plot> {
    let row = &study.rows[index];
    let of = |(arm, name, cell): (usize, &str, &Cell)| {
        let (bytes, buckets) = cell.accesses.as_ref()?;
        let label = format!("Accesses by place in {} of {name}", row.name);
        Some(framed(
            study,
            index,
            Some(arm),
            plot::access_map(&label, *bytes, buckets)?,
        ))
    };
    cells(study, row).filter_map(of).collect()
}
