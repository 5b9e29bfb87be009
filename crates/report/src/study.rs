//! A study as text: what Markdown and the terminal share.
//!
//! Circumstances stand before results, results in the order of the records, findings and limits
//! after them. No arm is marked as the best: a verdict is a sentence with its interval.

use crate::sentence;
use analyze::{Cell, Fact, Figure, GroupedFinding, Study, StudyRow, is_told_apart};
use record::Quantity;
use stats::Method;
use std::collections::BTreeSet;

mod bounds;
mod csv;
mod json;
mod markdown;

pub(crate) use bounds::{bounds_text, method as bounds_method, span_text, why as why_range};
pub use csv::study_csv;
pub use json::study_json;
pub(crate) use markdown::escaped;
pub use markdown::study_markdown;

pub(crate) const UNITS: &str = "Sizes and bandwidths are in powers of 1024 (1 MiB = 1,048,576 bytes), counts in powers of 1000, IOPS are operations a second; \
     a source's own units are converted.";
/// Shown where nothing is known.
pub(crate) const NOTHING: &str = "-";

/// First line of a report in Markdown.
const MARKDOWN_MARK: &str = "<!-- fathom report -->";
/// Stands at the end of every page.
const HTML_MARK: &str = "<footer>Written by Fathom from records alone.</footer>";

/// Whether a text is a study in one of its forms, which may be written anew without asking.
#[must_use]
pub fn is_study(text: &str) -> bool {
    text.starts_with(MARKDOWN_MARK)
        || text.contains(HTML_MARK)
        || csv::is_study_csv(text)
        || json::is_study_json(text)
}

/// A table: a header and lines of as many cells.
pub(crate) struct Table {
    /// How many columns name the line.
    pub(crate) labels: usize,
    pub(crate) lines: Vec<Vec<String>>,
    /// What is said below it.
    pub(crate) notes: Vec<String>,
}

/// One line of a table before its figures.
struct Line<'a> {
    labels: Vec<String>,
    cell: Option<&'a Cell>,
    kind: &'a str,
    is_load: bool,
}

/// The arms side by side in one row.
pub(crate) fn row_table(study: &Study, row: &StudyRow) -> Table {
    let mut lines = Vec::new();
    for kind in row.operations.iter().filter(|kind| !is_told_apart(kind)) {
        for (arm, cell) in study.arms.iter().zip(&row.cells) {
            if cell
                .as_ref()
                .is_some_and(|cell| cell.figures.iter().any(|figure| figure.kind == *kind))
            {
                lines.push(Line {
                    labels: vec![kind.clone(), arm.name.clone()],
                    cell: cell.as_ref(),
                    kind,
                    is_load: is_load(row),
                });
            }
        }
    }
    let absent: Vec<String> = study
        .arms
        .iter()
        .zip(&row.cells)
        .filter(|(_, cell)| cell.is_none())
        .map(|(arm, _)| arm.name.clone())
        .collect();
    if row.operations.len() == 1 {
        lines
            .iter_mut()
            .for_each(|line| drop(line.labels.remove(0)));
    }
    let headings: &[&str] = if row.operations.len() == 1 {
        &["Arm"]
    } else {
        &["Operation", "Arm"]
    };
    let mut out = table(study, headings, &lines);
    out.notes.extend(
        (!absent.is_empty())
            .then(|| format!("without a record that counts here: {}", some(&absent))),
    );
    out
}

/// All rows of the one arm.
pub(crate) fn one_arm_table(study: &Study) -> Table {
    let mut lines = Vec::new();
    for row in &study.rows {
        for kind in row.operations.iter().filter(|kind| !is_told_apart(kind)) {
            let cell = row.cells.iter().flatten().next();
            lines.push(Line {
                labels: vec![row.name.clone(), kind.clone()],
                cell,
                kind,
                is_load: is_load(row),
            });
        }
    }
    let first = lines.first().map(|line| line.kind);
    if lines.iter().all(|line| Some(line.kind) == first) {
        lines.iter_mut().for_each(|line| line.labels.truncate(1));
        return table(study, &["Row"], &lines);
    }
    table(study, &["Row", "Operation"], &lines)
}

#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn table(study: &Study, headings: &[&str], lines: &[Line<'_>]) -> Table {
    let figure = |line: &Line<'_>, metric: &Quantity| {
        line.cell
            .and_then(|cell| cell.figure(line.kind, metric))
            .cloned()
    };
    let is_known = |metric: &Quantity| {
        lines
            .iter()
            .any(|line| figure(line, metric).is_some_and(|figure| figure.point.is_some()))
    };
    let columns = columns(is_known, lines.iter().any(|line| line.is_load));
    let measure = interval_metric(study, is_known);
    let measured = || {
        lines.iter().filter_map(|line| {
            line.cell
                .and_then(|cell| Some((cell, cell.figure(line.kind, &measure)?)))
        })
    };
    let mut header: Vec<String> = headings
        .iter()
        .map(|heading| (*heading).to_owned())
        .collect();
    for metric in &columns {
        header.push(metric.title());
        if *metric == measure {
            header.push(format!(
                "{} ({})",
                bounds::heading(measured().map(|(_, figure)| figure)),
                metric.title()
            ));
        }
    }
    header.push("n".to_owned());
    let mut out = vec![header];
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        let mut cells = line.labels.clone();
        for metric in &columns {
            let figure = figure(line, metric);
            cells.push(
                figure
                    .as_ref()
                    .and_then(|figure| figure.point)
                    .map_or_else(|| NOTHING.into(), |point| metric.unit().number(point)),
            );
            if *metric == measure {
                cells.push(
                    figure
                        .as_ref()
                        .map_or_else(|| NOTHING.into(), interval_cell),
                );
            }
            if let Some(note) = figure
                .filter(|figure| figure.point.is_none())
                .and_then(|figure| figure.note)
            {
                match missing.iter_mut().find(|(known, _)| *known == note) {
                    Some((_, whose)) => whose.push(line.labels.join(" ")),
                    None => missing.push((note, vec![line.labels.join(" ")])),
                }
            }
        }
        cells.push(
            line.cell
                .map_or_else(|| "0".to_owned(), |cell| cell.blocks.to_string()),
        );
        out.push(cells);
    }
    let mut notes = bounds::remarks(measured());
    notes.extend(
        missing
            .into_iter()
            .map(|(note, whose)| format!("{note}: {}", some(&whose))),
    );
    Table {
        labels: headings.len(),
        lines: out,
        notes,
    }
}

/// Whether a row is a load of users or arrivals, whose readers ask for percentiles.
fn is_load(row: &StudyRow) -> bool {
    row.workload.iter().any(|fact| fact.key == "scenario")
}

/// The columns of a table: always those of the usual comparison table; percentiles instead of a
/// mean that nobody knows, and of loads.
fn columns(is_known: impl Fn(&Quantity) -> bool, is_load: bool) -> Vec<Quantity> {
    let mut out: Vec<Quantity> = ["throughput", "iops", "mean"].map(Quantity::named).into();
    let tails: &[&str] = match (is_load, is_known(&Quantity::named("mean"))) {
        (true, _) => &["p50", "p95", "p99", "max"],
        (false, true) => &["p99"],
        (false, false) => &["p50", "p95", "p99", "p99.9", "max"],
    };
    let percentiles: Vec<Quantity> = tails
        .iter()
        .map(|name| Quantity::named(name))
        .filter(&is_known)
        .collect();
    if !percentiles.is_empty() && !is_known(&Quantity::named("mean")) {
        out.pop();
    }
    out.extend(percentiles);
    out.extend(Some(Quantity::named("cpu/op")).filter(is_known));
    out
}

/// The metric whose interval is shown: what is compared, else the first that is known.
fn interval_metric(study: &Study, is_known: impl Fn(&Quantity) -> bool) -> Quantity {
    let others = ["iops", "throughput", "mean", "p50"].map(Quantity::named);
    let candidates = std::iter::once(study.metric.clone()).chain(others);
    candidates
        .into_iter()
        .find(is_known)
        .unwrap_or(Quantity::named("iops"))
}

fn interval_cell(figure: &Figure) -> String {
    let bounds = figure
        .point
        .zip(figure.bounds.as_ref())
        .map(|(point, bounds)| bounds_text(&figure.metric, point, bounds));
    match (bounds, &figure.note) {
        (Some(text), None) => text,
        (Some(text), Some(note)) => format!("{text} ({note})"),
        (None, Some(note)) => note.clone(),
        (None, None) => NOTHING.to_owned(),
    }
}

/// Up to four names, and how many more.
pub(crate) fn some(names: &[String]) -> String {
    const MOST: usize = 4;
    let shown = names
        .iter()
        .take(MOST)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MOST {
        format!("{shown} and {} more", names.len() - MOST)
    } else {
        shown
    }
}

/// The verdicts of a row against the baseline, arms with one verdict together.
pub(crate) fn verdicts(study: &Study, row: &StudyRow) -> Vec<(Vec<String>, String)> {
    let mut out: Vec<(Vec<String>, String)> = Vec::new();
    for (arm, comparison) in study.arms.iter().zip(&row.comparisons) {
        let Some(comparison) = comparison else {
            continue;
        };
        let text = sentence(comparison, study.metric.unit(), study.margin);
        match out.iter_mut().find(|(_, known)| *known == text) {
            Some((arms, _)) => arms.push(arm.name.clone()),
            None => out.push((vec![arm.name.clone()], text)),
        }
    }
    out
}

/// The verdicts over all rows together, by arm.
pub(crate) fn overall(study: &Study) -> Vec<String> {
    let arms = study.arms.iter().zip(&study.overall);
    arms.filter_map(|(arm, found)| {
        Some(format!(
            "{} over all rows: {}",
            arm.name,
            sentence(found.as_ref()?, study.metric.unit(), study.margin)
        ))
    })
    .collect()
}

/// Which records a finding is about.
pub(crate) fn whose(study: &Study, finding: &GroupedFinding) -> Option<String> {
    let example = finding.example?;
    let row = study.rows.iter().find_map(|row| {
        let arm = row.cells.iter().position(|cell| {
            cell.as_ref()
                .is_some_and(|cell| cell.records.contains(&example))
        })?;
        let arm = Some(&study.arms[arm].name).filter(|_| study.arms.len() > 1);
        Some(arm.map_or_else(|| row.name.clone(), |arm| format!("{} of {arm}", row.name)))
    });
    let name = row.unwrap_or_else(|| format!("record {}", example + 1));
    Some(match finding.records.len() {
        0 | 1 => name,
        n => format!("{n} of {} records, such as {name}", finding.of),
    })
}

/// The one verdict of all comparisons, where they have only one.
pub(crate) fn only_verdict(study: &Study) -> Option<String> {
    let all: Vec<String> = study
        .rows
        .iter()
        .flat_map(|row| row.comparisons.iter().flatten())
        .map(|comparison| sentence(comparison, study.metric.unit(), study.margin))
        .collect();
    let first = all.first()?;
    (all.len() > 1 && all.iter().all(|text| text == first)).then(|| first.clone())
}

/// What is compared with what; `None` with fewer than two arms.
pub(crate) fn comparison_head(study: &Study) -> Option<String> {
    let baseline = study.baseline?;
    Some(format!(
        "Compared: {}, each arm with {}; differences below {:.1} % do not matter.",
        study.metric.name(),
        study.arms[baseline].name,
        100.0 * study.margin
    ))
}

/// The options that say what a row does.
const TELLING: [&str; 14] = [
    "engine",
    "block-size",
    "object-size",
    "random",
    "distribution",
    "read-percent",
    "mix",
    "queue-depth",
    "threads",
    "users",
    "direct",
    "fsync",
    "file-size",
    "duration",
];

/// With more arms than this, values are listed without saying whose they are.
const MOST_BY_ARM: usize = 4;

/// What a row does, where the arms agree; and in what they do not.
pub(crate) fn work(study: &Study, row: &StudyRow) -> [Option<String>; 2] {
    let same: Vec<String> = TELLING
        .iter()
        .filter_map(|key| {
            row.workload
                .iter()
                .find(|fact| fact.key == **key && !fact.differs)
        })
        .filter_map(|fact| {
            Some(format!(
                "{} {}",
                fact.key,
                fact.values.iter().flatten().next()?
            ))
        })
        .collect();
    let present = |fact: &Fact| -> String {
        let arms = study
            .arms
            .iter()
            .zip(&row.cells)
            .zip(&fact.values)
            .filter(|((_, cell), _)| cell.is_some());
        let values: Vec<(&str, &str)> = arms
            .map(|((arm, _), text)| (arm.name.as_str(), text.as_deref().unwrap_or("unknown")))
            .collect();
        if values.len() <= MOST_BY_ARM {
            return values
                .iter()
                .map(|(arm, value)| format!("{arm}: {value}"))
                .collect::<Vec<_>>()
                .join(", ");
        }
        values
            .iter()
            .map(|(_, value)| *value)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let differing: Vec<String> = row
        .workload
        .iter()
        .filter(|fact| fact.differs)
        .map(|fact| format!("{} ({})", fact.key, present(fact)))
        .collect();
    [same, differing].map(|parts| Some(parts.join(", ")).filter(|text| !text.is_empty()))
}

/// What drift over the blocks of a row means for its levels; `None` where nothing was seen.
pub(crate) fn drift_text(row: &StudyRow) -> Option<String> {
    const SEEN: f64 = 0.01;
    let drift = row.drift.as_ref()?;
    let is_seen = |p: Option<f64>| p.is_some_and(|p| p < SEEN);
    let mut seen = Vec::new();
    if let Some(change) = drift.change.filter(|_| is_seen(drift.trend_p)) {
        seen.push(format!(
            "the level changed by {:+.1} % over the blocks",
            100.0 * change.exp_m1()
        ));
    }
    let others = [
        (drift.runs_p, "blocks resemble their neighbours"),
        (drift.position_p, "the place within a block matters"),
        (drift.spread_p, "the spread changed"),
        (drift.predecessor_p, "what ran before matters"),
    ];
    seen.extend(
        others
            .into_iter()
            .filter(|(p, _)| is_seen(*p))
            .map(|(_, text)| text.to_owned()),
    );
    (!seen.is_empty()).then(|| {
        format!(
            "drift: {}; comparisons within blocks stand, levels are of this session",
            seen.join(", ")
        )
    })
}

/// How the numbers came about, and what they cannot show.
pub(crate) fn method(study: &Study) -> Vec<String> {
    let methods: BTreeSet<String> = study
        .figures()
        .filter_map(|figure| figure.interval().copied())
        .map(|estimate| level_method(estimate.method))
        .collect();
    let mut out = vec![UNITS.to_owned()];
    out.push(
        "n is the number of blocks (fresh runs in an order drawn by lot), or of repeated records where there is no plan. Operations within a run are not \
         independent and are never counted as n."
            .to_owned(),
    );
    if methods.is_empty() && !study.figures().any(|figure| figure.bounds.is_some()) {
        out.push("No figure has an interval: a distribution-free one needs six blocks, a parametric one five.".to_owned());
    } else if !methods.is_empty() {
        let methods: Vec<String> = methods.into_iter().collect();
        out.push(format!(
            "Levels are estimated on logarithms over blocks ({}); intervals are of 95 % for one look at one figure.",
            methods.join("; ")
        ));
    }
    out.extend(bounds::method(study));
    if study.baseline.is_some() {
        out.push(
            "A verdict rests on the differences within blocks; where an experiment may stop at a look, its interval is as wide as looking requires."
                .to_owned(),
        );
    }
    out.push("Percentiles are of one run each and never averaged over operations of several; one with fewer than ten operations above it is not shown. A maximum is the largest of all blocks.".to_owned());
    out.push("All this is of these machines in these sessions: another device, fill, temperature or kernel may differ by more than any interval here.".to_owned());
    out
}

fn level_method(method: Method) -> String {
    match method {
        Method::HodgesLehmann => "Hodges-Lehmann with the exact signed-rank interval".to_owned(),
        Method::OfKinds | Method::PairedT | Method::PooledT => {
            "mean with Student's t interval at five blocks".to_owned()
        }
        Method::OrderStatistics => method.to_string(),
    }
}

/// What a report says of the number of its records.
pub(crate) fn counted(study: &Study) -> String {
    let plural = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let of = [
        plural(study.records, "record"),
        plural(study.arms.len(), "arm"),
        plural(study.rows.len(), "row"),
    ]
    .join(", ");
    if study.left_out.is_empty() {
        of
    } else {
        format!("{of}; {} left out", study.left_out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_text;
    use analyze::{StudyOptions, study};
    use record::{Histogram, Operations, Record, Role, SCHEMA, Trial};

    fn operations(count: u64, latency_ns: u64) -> Operations {
        let mut latency = Histogram::default();
        latency.record_many(latency_ns, count - count / 100);
        latency.record_many(latency_ns * 20, count / 100);
        Operations {
            count,
            bytes: count * 4096,
            smallest_bytes: Some(4096),
            largest_bytes: Some(4096),
            latency,
            ..Operations::default()
        }
    }

    /// One slot: the candidate does a tenth more, and everything wanders a little.
    fn slot(arm: usize, row: usize, block: u32, slot: u32) -> Record {
        let wander = u64::from(block * 7 % 5) * 20 + u64::from(slot * 13 % 7) * 10;
        let count = [10_000, 11_000][arm] + wander;
        let mut record = Record {
            schema: SCHEMA,
            id: format!("r-{slot}"),
            kind: "run".into(),
            started_at: format!("2026-01-01T00:{:02}:{:02}.000Z", slot / 60, slot % 60),
            elapsed_ns: 1_000_000_000,
            trial: Some(Trial {
                plan: "plan".into(),
                arm: ["before", "after"][arm].into(),
                row: ["RND4K Q1T1 read", "MIX 70/30"][row].into(),
                block,
                slot,
                role: [Role::Baseline, Role::Candidate][arm],
                lead_in_ns: Some(500_000_000),
                ..Trial::default()
            }),
            ..Record::default()
        };
        record.operations.insert("read", operations(count, 90_000));
        if row == 1 {
            record
                .operations
                .insert("write", operations(count / 2, 30_000));
        }
        record.generator_mut().process.user_ns = 3_000 * count;
        for (key, value) in [
            ("engine", "io_uring"),
            ("block-size", "4k"),
            ("random", "true"),
            ("direct", "true"),
            ("threads", "1"),
        ] {
            record.effective.insert(key.into(), value.into());
        }
        let depth = [1_u64, 16][row];
        record
            .effective
            .insert("queue-depth".into(), depth.to_string());
        (record.loops.worker_ns, record.loops.in_flight_ns) = (
            u128::from(record.elapsed_ns),
            u128::from(depth * record.elapsed_ns),
        );
        record.generator_mut().machine.steal_share = (row == 1).then_some(0.03);
        record.generator_mut().environment.system.kernel_release =
            Some(["6.1.0", "6.12.0"][arm].into());
        record.generator_mut().environment.cpu.model = Some("Some CPU".into());
        record
    }

    /// Two arms, two rows and eight blocks.
    fn experiment() -> Vec<Record> {
        const ORDER: [[usize; 2]; 8] = [
            [0, 1],
            [1, 0],
            [1, 0],
            [0, 1],
            [1, 0],
            [0, 1],
            [0, 1],
            [1, 0],
        ];
        let mut out = Vec::new();
        for (block, order) in (0_u32..).zip(ORDER) {
            for row in [0, 1] {
                for arm in order {
                    let number = u32::try_from(out.len()).unwrap();
                    out.push(slot(arm, row, block, number));
                }
            }
        }
        out
    }

    /// The study of the experiment with one of its findings, as rules have tests of their own.
    fn golden() -> Study {
        let mut out = study(&experiment(), &StudyOptions::default());
        out.findings.retain(|finding| finding.rule == "starved");
        out
    }

    #[test]
    fn an_experiment_as_markdown() {
        insta::assert_snapshot!(study_markdown(&golden()), @r##"
        <!-- fathom report -->
        # Storage study

        32 records, 2 arms, 2 rows.

        ## Environments

        |        | before | after  |
        | ------ | ------ | ------ |
        | kernel | 6.1.0  | 6.12.0 |

        The same in all arms: CPU Some CPU; measured with fathom.

        ## Results

        Compared: operations a second, each arm with before; differences below 5.0 % do not matter.

        - after over all rows: Faster by 9.9 % [9.9 to 10.1], 16 blocks.

        ### RND4K Q1T1 read

        engine io_uring, block-size 4k, random true, queue-depth 1, threads 1, direct true

        | Arm    |  Bandwidth |  IOPS | 95 % interval (IOPS) | Mean latency | p99 latency | CPU/op |    n |
        | ------ | ---------: | ----: | -------------------: | -----------: | ----------: | -----: | ---: |
        | before | 39.3 MiB/s | 10.1K |              ±0.50 % |       107 µs |    90.11 µs |   3 µs |    8 |
        | after  | 43.2 MiB/s | 11.1K |              ±0.36 % |       107 µs |    90.11 µs |   3 µs |    8 |

        95 % interval: of these 8 runs within 30 s; at other times the level may lie outside

        - after: Faster by 9.9 % [9.6 to 10.3], 8 blocks.

        ### MIX 70/30

        engine io_uring, block-size 4k, random true, queue-depth 16, threads 1, direct true

        | Operation | Arm    |  Bandwidth |  IOPS | 95 % interval (IOPS) | Mean latency | p99 latency | CPU/op |    n |
        | --------- | ------ | ---------: | ----: | -------------------: | -----------: | ----------: | -----: | ---: |
        | read      | before | 39.3 MiB/s | 10.1K |              ±0.35 % |       107 µs |    90.11 µs |      - |    8 |
        | read      | after  | 43.3 MiB/s | 11.1K |              ±0.32 % |       107 µs |    90.11 µs |      - |    8 |
        | write     | before | 19.7 MiB/s | 5.03K |              ±0.35 % |     35.66 µs |    30.08 µs |      - |    8 |
        | write     | after  | 21.6 MiB/s | 5.54K |              ±0.32 % |     35.66 µs |    30.08 µs |      - |    8 |
        | all       | before | 59.0 MiB/s | 15.1K |              ±0.35 % |     83.24 µs |    90.11 µs |   2 µs |    8 |
        | all       | after  | 64.9 MiB/s | 16.6K |              ±0.32 % |     83.24 µs |    90.11 µs |   2 µs |    8 |

        95 % interval: of these 8 runs within 30 s; at other times the level may lie outside

        - after: Faster by 10.0 % [9.8 to 10.3], 8 blocks.

        ## Findings

        - warning `starved` (16 of 32 records, such as MIX 70/30 of before): the hypervisor took 3% of this machine's CPU time
          - repeat when the host is quiet, or on a machine with CPUs of its own

        ## Method and limits

        - Sizes and bandwidths are in powers of 1024 (1 MiB = 1,048,576 bytes), counts in powers of 1000, IOPS are operations a second; a source's own units are converted.
        - n is the number of blocks (fresh runs in an order drawn by lot), or of repeated records where there is no plan. Operations within a run are not independent and are never counted as n.
        - Levels are estimated on logarithms over blocks (Hodges-Lehmann with the exact signed-rank interval); intervals are of 95 % for one look at one figure.
        - The interval of a level is of these runs in this time. A device that slows down for minutes, or a noisy neighbour, may give another level outside it.
        - A verdict rests on the differences within blocks; where an experiment may stop at a look, its interval is as wide as looking requires.
        - Percentiles are of one run each and never averaged over operations of several; one with fewer than ten operations above it is not shown. A maximum is the largest of all blocks.
        - All this is of these machines in these sessions: another device, fill, temperature or kernel may differ by more than any interval here.
        "##);
    }

    #[test]
    fn an_experiment_in_the_terminal() {
        let text = study_text(&golden());
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        insta::assert_snapshot!(text, @r##"
        32 records, 2 arms, 2 rows.

        differs  before   after
        kernel    6.1.0  6.12.0
        the same      CPU Some CPU; measured with fathom

        Compared: operations a second, each arm with before; differences below 5.0 % do not matter.
        after over all rows: Faster by 9.9 % [9.9 to 10.1], 16 blocks.

        RND4K Q1T1 read
          engine io_uring, block-size 4k, random true, queue-depth 1, threads 1, direct true
        Arm      Bandwidth   IOPS  95 % interval (IOPS)  Mean latency  p99 latency  CPU/op  n
        before  39.3 MiB/s  10.1K               ±0.50 %        107 µs     90.11 µs    3 µs  8
        after   43.2 MiB/s  11.1K               ±0.36 %        107 µs     90.11 µs    3 µs  8
          95 % interval: of these 8 runs within 30 s; at other times the level may lie outside
          after: Faster by 9.9 % [9.6 to 10.3], 8 blocks.

        MIX 70/30
          engine io_uring, block-size 4k, random true, queue-depth 16, threads 1, direct true
        Operation     Arm   Bandwidth   IOPS  95 % interval (IOPS)  Mean latency  p99 latency  CPU/op  n
        read       before  39.3 MiB/s  10.1K               ±0.35 %        107 µs     90.11 µs       -  8
        read        after  43.3 MiB/s  11.1K               ±0.32 %        107 µs     90.11 µs       -  8
        write      before  19.7 MiB/s  5.03K               ±0.35 %      35.66 µs     30.08 µs       -  8
        write       after  21.6 MiB/s  5.54K               ±0.32 %      35.66 µs     30.08 µs       -  8
        all        before  59.0 MiB/s  15.1K               ±0.35 %      83.24 µs     90.11 µs    2 µs  8
        all         after  64.9 MiB/s  16.6K               ±0.32 %      83.24 µs     90.11 µs    2 µs  8
          95 % interval: of these 8 runs within 30 s; at other times the level may lie outside
          after: Faster by 10.0 % [9.8 to 10.3], 8 blocks.

        warning[starved] (16 of 32 records, such as MIX 70/30 of before): the hypervisor took 3% of this
          machine's CPU time
          help: repeat when the host is quiet, or on a machine with CPUs of its own

        Sizes and bandwidths are in powers of 1024 (1 MiB = 1,048,576 bytes), counts in powers of 1000, IOPS
          are operations a second; a source's own units are converted.
        n is the number of blocks (fresh runs in an order drawn by lot), or of repeated records where there
          is no plan. Operations within a run are not independent and are never counted as n.
        Levels are estimated on logarithms over blocks (Hodges-Lehmann with the exact signed-rank interval);
          intervals are of 95 % for one look at one figure.
        The interval of a level is of these runs in this time. A device that slows down for minutes, or a
          noisy neighbour, may give another level outside it.
        A verdict rests on the differences within blocks; where an experiment may stop at a look, its
          interval is as wide as looking requires.
        Percentiles are of one run each and never averaged over operations of several; one with fewer than
          ten operations above it is not shown. A maximum is the largest of all blocks.
        All this is of these machines in these sessions: another device, fill, temperature or kernel may
          differ by more than any interval here.
        "##);
    }

    #[test]
    fn one_arm_has_one_table_with_a_line_a_row() {
        let one: Vec<Record> = experiment()
            .into_iter()
            .filter(|record| record.trial.as_ref().is_some_and(|t| t.arm == "after"))
            .collect();
        let study = study(&one, &StudyOptions::default());
        let table = one_arm_table(&study);
        let names: Vec<[&str; 2]> = table
            .lines
            .iter()
            .map(|line| [line[0].as_str(), line[1].as_str()])
            .collect();
        assert_eq!(
            names,
            [
                ["Row", "Operation"],
                ["RND4K Q1T1 read", "read"],
                ["MIX 70/30", "read"],
                ["MIX 70/30", "write"],
                ["MIX 70/30", "all"]
            ]
        );
        assert_eq!(
            study_markdown(&study)
                .lines()
                .filter(|line| line.starts_with("| ---"))
                .count(),
            1
        );
    }

    #[test]
    fn machine_forms_hold_what_the_text_says_and_are_known_again() {
        let records = experiment();
        let study = study(&records, &StudyOptions::default());
        let value: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
        let read = &value["rows"][0]["cells"][1]["figures"][1];
        assert_eq!(
            (
                read["metric"].as_str(),
                read["unit"].as_str(),
                read["by_block"].as_array().map(Vec::len)
            ),
            (Some("operations"), Some("1/s"), Some(8))
        );
        assert!(read["estimate"]["low"].as_f64().unwrap() < read["value"].as_f64().unwrap());
        let judged = &value["rows"][0]["cells"][1]["comparison"]["judged"];
        let percent = judged["estimate"]["percent"].as_f64().unwrap();
        assert_eq!(
            (judged["verdict"].as_str(), judged["row"].as_str()),
            (Some("faster"), Some("RND4K Q1T1 read"))
        );
        assert!((percent - 10.0).abs() < 1.0, "{percent}");
        let csv = study_csv(&study);
        let columns = csv.lines().next().unwrap().split(',').count();
        assert_eq!(columns, 20);
        assert!(
            csv.lines().any(
                |line| line.contains("RND4K Q1T1 read,after,read,operations")
                    && line.contains("Faster")
            ),
            "{csv}"
        );
        for text in [csv, study_json(&study), study_markdown(&study)] {
            assert!(is_study(&text), "{}", &text[..60]);
        }
        assert!(!is_study("# My notes") && !is_study(&crate::json(&experiment()[..1])));
    }

    #[test]
    fn where_runs_depend_on_when_they_ran_every_form_shows_a_range_and_none_says_95_percent_of_it()
    {
        let mut records = experiment();
        records
            .iter_mut()
            .zip(0..)
            .for_each(|(record, number)| record.elapsed_ns += number * 20_000_000);
        let study = study(&records, &StudyOptions::default());
        let at = study_markdown(&study);
        let texts = [at, study_text(&study), crate::html(&study)];
        for text in texts {
            assert!(
                text.contains("range [") && text.contains("A range stands where the runs"),
                "{text}"
            );
            assert!(
                !text.contains("95 % interval:") && !text.contains("95 % interval ("),
                "{text}"
            );
        }
        let value: serde_json::Value = serde_json::from_str(&study_json(&study)).unwrap();
        let cell = &value["rows"][0]["cells"][1];
        let rate = &cell["figures"][1];
        assert!(
            rate["estimate"].is_null() && rate["range"]["n"] == 8,
            "{rate}"
        );
        assert_eq!(
            rate["range"]["why"],
            "the level rose or fell from run to run"
        );
        assert!(cell["span_ns"].as_u64().unwrap() > 28_000_000_000, "{cell}");
        let csv = study_csv(&study);
        let line = csv
            .lines()
            .find(|line| line.contains("RND4K Q1T1 read,after,read,operations"))
            .unwrap();
        assert!(
            line.contains(",,least and greatest: the level rose") && line.contains(",range,"),
            "{line}"
        );
    }
}
