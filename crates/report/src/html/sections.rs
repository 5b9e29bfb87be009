//! Plots over all rows, one section a kind of plot.

use super::{ALL, leading_kind, legend, load, words};
use crate::plot::{
    self, DepthLine, DepthPoint, DriftLine, LEVELS, LatencyLine, Regime, SeriesLine, ValueUnit,
};
use analyze::{Cell, Curve, Settling, Study, StudyRow};
use maud::{Markup, PreEscaped, html};
use record::Quantity;
use std::collections::BTreeMap;

/// One section; without text there is nothing to show.
pub(super) struct Part {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) text: Option<Markup>,
}

impl Part {
    /// Figures under their explanation and the keys to read them by, and what stands below them.
    fn new(
        (id, name): (&'static str, &'static str),
        explanation: &str,
        keys: &Markup,
        figures: &[Markup],
        below: &Markup,
    ) -> Self {
        let text = (!figures.is_empty()).then(|| {
            html! {
                section id=(id) class="plots" {
                    details open {
                        summary { h2 { (name) } }
                        p { (explanation) }
                        (keys)
                        div class="figures" { @for figure in figures { (figure) } }
                        (below)
                    }
                }
            }
        });
        Self { id, name, text }
    }
}

/// All sections in their order.
pub(super) fn all(study: &Study) -> [Part; 7] {
    let keys = legend(study);
    let no = Markup::default();
    let (curves, steps) = load::arrivals(study);
    let plots = |name, explanation, figures: Vec<Markup>| {
        Part::new(name, explanation, &keys, &figures, &no)
    };
    let maps = |name, explanation, keys: &Markup, figures: Vec<Markup>| {
        Part::new(name, explanation, keys, &figures, &no)
    };
    [
        plots(
            ("latency", "Latency distributions"),
            LATENCY,
            by_row(study, |row, index| latencies(study, row, index)),
        ),
        plots(
            ("series", "Rates over time"),
            SERIES,
            by_row(study, |row, index| rates(study, row, index)),
        ),
        plots(("depth", "Queue depth"), DEPTH, depths(study)),
        Part::new(
            ("arrivals", "Arrival rates"),
            load::ARRIVALS,
            &keys,
            &curves,
            &steps,
        ),
        plots(
            ("drift", "Drift over blocks"),
            DRIFT,
            by_row(study, |row, index| drifts(study, row, index)),
        ),
        maps(
            ("heat", "Latency over time"),
            HEAT,
            &heat_scale(),
            by_row(study, |row, index| heat(study, row, index)),
        ),
        maps(
            ("places", "Accesses by place"),
            PLACES,
            &no,
            by_row(study, |row, index| places(study, row, index)),
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

fn by_row<F: IntoIterator<Item = Markup>>(
    study: &Study,
    figures: impl Fn(&StudyRow, usize) -> F,
) -> Vec<Markup> {
    let rows = study.rows.iter().enumerate();
    rows.flat_map(|(index, row)| figures(row, index)).collect()
}

/// A figure about a row, or about one arm of it.
fn framed(
    row: usize,
    arm: Option<usize>,
    caption: &Markup,
    plot: String,
    notes: &Markup,
) -> Markup {
    html! {
        figure data-row=(row) data-arm=[arm] {
            figcaption { (caption) }
            (PreEscaped(plot))
            (notes)
        }
    }
}

fn arm_name(study: &Study, arm: usize) -> String {
    study
        .arms
        .get(arm)
        .map_or_else(String::new, |arm| arm.name.clone())
}

/// The cells of a row with the indices of their arms.
fn cells(row: &StudyRow) -> impl Iterator<Item = (usize, &Cell)> {
    let cells = row.cells.iter().enumerate();
    cells.filter_map(|(arm, cell)| Some((arm, cell.as_ref()?)))
}

fn latencies<'s>(study: &Study, row: &'s StudyRow, index: usize) -> Vec<Markup> {
    let figure = |kind: &String| {
        let line = |(arm, cell): (usize, &'s Cell)| {
            Some(LatencyLine {
                arm,
                name: arm_name(study, arm),
                latency: cell.latencies.get(kind)?,
            })
        };
        let lines: Vec<LatencyLine<'_>> = cells(row).filter_map(line).collect();
        let label = format!("Latency by percentile of {kind} operations in {}", row.name);
        let plot = plot::latency(&label, &lines)?;
        let caption = html! {
            (words::name(&row.name))
            @if row.operations.len() > 1 { " (" (kind) ")" }
        };
        Some(framed(index, None, &caption, plot, &Markup::default()))
    };
    let kinds = row.operations.iter().filter(|kind| *kind != ALL);
    kinds.filter_map(figure).collect()
}

fn rates(study: &Study, row: &StudyRow, index: usize) -> Option<Markup> {
    let metric = &row.rate;
    let mut lines = Vec::new();
    let mut cuts = Vec::new();
    let mut notes = Vec::new();
    for (arm, cell) in cells(row) {
        let found = &cell.course.settling;
        lines.push(SeriesLine {
            arm,
            name: arm_name(study, arm),
            columns: cell.course.rate.clone(),
            regime: found.jump.map(|jump| Regime {
                time_ns: jump.second as f64 * 1e9,
                ratio: jump.ratio,
            }),
            regime_slots: (found.jumped, found.slots),
        });
        notes.extend(settling_note(study, arm, found));
        cuts.push(found.cuts.clone());
    }
    // A series of one value has no course.
    if lines.iter().all(|line| line.columns.len() < 2) {
        return None;
    }
    let cut = stats::warm_up::frozen_cut(&cuts);
    let label = format!("{} over time in {}", metric.title(), row.name);
    let plot = plot::series(
        &label,
        metric.unit(),
        &metric.title(),
        &lines,
        Some(cut as f64 * 1e9),
    )?;
    Some(framed(
        index,
        None,
        &words::name(&row.name),
        plot,
        &folded(&notes),
    ))
}

/// What an arm's slots say of their warm-up and steadiness.
fn settling_note(study: &Study, arm: usize, found: &Settling) -> Option<Markup> {
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
    (!said.is_empty()).then(|| {
        html! {
            p data-arm=(arm) {
                @if study.arms.len() > 1 { (words::name(&arm_name(study, arm))) ": " }
                (said.join("; ")) "."
            }
        }
    })
}

/// Notes under a plot; more than two are folded.
fn folded(notes: &[Markup]) -> Markup {
    let all = html! { @for note in notes { (note) } };
    if notes.len() <= 2 {
        return all;
    }
    html! {
        details { summary { (notes.len()) " arms do not settle" } (all) }
    }
}

fn depths(study: &Study) -> Vec<Markup> {
    let mut by_name: BTreeMap<&str, Vec<&Curve>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for curve in &study.curves {
        if !by_name.contains_key(curve.name.as_str()) {
            order.push(&curve.name);
        }
        by_name.entry(&curve.name).or_default().push(curve);
    }
    let pair = |name: &str| {
        let curves = &by_name[name];
        let of = |metric: &str, secondary| {
            let found = lines(study, curves, &Quantity::named(metric));
            found
                .into_iter()
                .map(move |line| DepthLine { secondary, ..line })
        };
        let rate = plot::depth(
            &format!("IOPS by queue depth of {name}"),
            ValueUnit::PerSecond,
            "IOPS",
            &of("iops", false).collect::<Vec<_>>(),
        );
        let latency = plot::depth(
            &format!("Latency by queue depth of {name}"),
            ValueUnit::Time,
            "latency, mean and p99",
            &of("mean", false).chain(of("p99", true)).collect::<Vec<_>>(),
        );
        let figure = |plot: Option<String>, what: &str| {
            let plot = plot?;
            Some(html! {
                figure { figcaption { (words::name(name)) ": " (what) } (PreEscaped(plot)) }
            })
        };
        [figure(rate, "IOPS"), figure(latency, "latency")]
    };
    order.into_iter().flat_map(pair).flatten().collect()
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

fn drifts(study: &Study, row: &StudyRow, index: usize) -> Option<Markup> {
    let kind = leading_kind(row, &study.metric)?;
    let line = |(arm, cell): (usize, &Cell)| {
        let figure = cell.figure(kind, &study.metric)?;
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
    let lines: Vec<DriftLine> = cells(row).filter_map(line).collect();
    let label = format!("{} block by block in {}", study.metric.title(), row.name);
    let plot = plot::drift(&label, study.metric.unit(), &study.metric.title(), &lines)?;
    let notes = html! { @if let Some(drift) = &row.drift { (drift_note(drift)) } };
    Some(framed(index, None, &words::name(&row.name), plot, &notes))
}

/// What the diagnostics say of the machine, each test at 1 %.
fn drift_note(drift: &stats::Drift) -> Markup {
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
    html! { @if !said.is_empty() { p { (said.join("; ")) "." } } }
}

fn heat(study: &Study, row: &StudyRow, index: usize) -> Vec<Markup> {
    let of = |(arm, cell): (usize, &Cell)| {
        let arm_name = arm_name(study, arm);
        let label = format!("Latency over time in {} of {arm_name}", row.name);
        let plot = plot::latency_map(&label, cell.course.end_ns, &cell.course.latencies)?;
        Some(map(study, row, index, arm, plot))
    };
    cells(row).filter_map(of).collect()
}

fn places(study: &Study, row: &StudyRow, index: usize) -> Vec<Markup> {
    let of = |(arm, cell): (usize, &Cell)| {
        let (bytes, buckets) = cell.accesses.as_ref()?;
        let arm_name = arm_name(study, arm);
        let label = format!("Accesses by place in {} of {arm_name}", row.name);
        let plot = plot::access_map(&label, *bytes, buckets)?;
        Some(map(study, row, index, arm, plot))
    };
    cells(row).filter_map(of).collect()
}

/// A map of one arm in one row.
fn map(study: &Study, row: &StudyRow, index: usize, arm: usize, plot: String) -> Markup {
    let caption = html! {
        (words::name(&row.name))
        @if study.arms.len() > 1 { ", " (words::name(&arm_name(study, arm))) }
    };
    framed(index, Some(arm), &caption, plot, &Markup::default())
}

fn heat_scale() -> Markup {
    html! {
        p class="scales" {
            "Share of the operations of a column: "
            @for (level, least) in LEVELS.iter().enumerate() {
                span class="scale" {
                    svg viewBox="0 0 1 1" { g class="heat" { path class={ "h" (level) } d="M.5 0V1" {} } }
                    @if level == 0 { "some" } @else { "over " (words::percent(*least)) }
                }
            }
        }
    }
}
