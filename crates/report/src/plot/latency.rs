//! Latency by percentile: the tail gets as much room as the rest.

use super::axis::{Axis, ValueUnit, range};
use super::frame::Frame;
use super::svg::{escape, look, marker};
use record::Histogram;
use std::fmt::Write as _;
use units::lossless::{f64_to_u64_saturating, u64_to_f64};

/// Points drawn for each power of ten of 1/(1-q).
const PER_DECADE: u32 = 10;
/// No histogram has support beyond this many nines.
const MOST_NINES: u32 = 9;
/// Where curves begin, at p11: the single fastest operation says nothing and would take half of the
/// picture.
const FIRST_PLACE: f64 = 0.05;

/// One arm.
#[derive(Clone, Debug)]
pub(crate) struct LatencyLine<'a> {
    pub(crate) arm: usize,
    pub(crate) name: String,
    pub(crate) latency: &'a Histogram,
}

/// The share of operations at a place of the axis, which is `log10(1 / (1 - q))`.
fn share_at(place: f64) -> f64 {
    1.0 - 10_f64.powf(-place)
}

/// Places and latencies, up to the last percentile that has support.
fn points(latency: &Histogram) -> Vec<(f64, f64)> {
    let place = |index: u32| FIRST_PLACE.max(f64::from(index) / f64::from(PER_DECADE));
    let supported = |q: f64| stats::quantile_has_support(latency.count(), q);
    (0..=PER_DECADE * MOST_NINES)
        .map(place)
        .take_while(|at| supported(share_at(*at)))
        .filter_map(|at| Some((at, latency.quantile(share_at(at))?)))
        .filter(|(_, ns)| *ns > 0.0)
        .collect()
}

/// The name of the percentile at a place, with two digits of what lies beyond it: `p99.37`.
fn percentile(place: f64) -> String {
    let beyond = 100.0 * 10_f64.powf(-place);
    let digits = usize::try_from(f64_to_u64_saturating(
        (1.0 - beyond.log10().floor()).max(0.0),
    ))
    .unwrap_or(0);
    let text = format!("{:.*}", digits, 100.0 - beyond);
    format!(
        "p{}",
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        }
    )
}

/// Latency distributions; `None` if no arm has a percentile with support.
pub(crate) fn latency(label: &str, lines: &[LatencyLine<'_>]) -> Option<String> {
    let curves: Vec<(&LatencyLine<'_>, Vec<(f64, f64)>)> = lines
        .iter()
        .map(|line| (line, points(line.latency)))
        .filter(|(_, points)| points.len() > 1)
        .collect();
    let (low, high) = range(
        curves
            .iter()
            .flat_map(|(_, points)| points.iter().map(|point| point.1)),
    )?;
    let last = range(
        curves
            .iter()
            .flat_map(|(_, points)| points.iter().map(|point| point.0)),
    )?
    .1;
    let named = [
        (0.5_f64, "p50"),
        (0.9, "p90"),
        (0.99, "p99"),
        (0.999, "p99.9"),
        (0.9999, "p99.99"),
        (0.99999, "p99.999"),
        (0.999_999, "p99.9999"),
    ];
    let ticks = named
        .into_iter()
        .map(|(q, text)| (-(1.0 - q).log10() + 0.0, text.to_owned()))
        .filter(|(at, _)| *at <= last + 1e-6)
        .collect();
    let mut frame = Frame::new(
        Axis::with_ticks("percentile", FIRST_PLACE, last, ticks),
        Axis::log("latency", ValueUnit::Time, low, high),
    );
    // The same places for every curve, from the left: the longest has them all.
    let most = curves
        .iter()
        .map(|(_, points)| points.len())
        .max()
        .unwrap_or(0);
    let names = curves
        .iter()
        .find(|(_, points)| points.len() == most)
        .map(|(_, points)| points.iter().map(|(at, _)| percentile(*at)).collect());
    let names: Vec<String> = names.unwrap_or_default();
    let _infallible = write!(frame.body, r#"<g data-x="{}">"#, names.join("|"));
    for (line, points) in &curves {
        write_curve(&mut frame, line, points);
    }
    frame.body.push_str("</g>");
    Some(frame.finish(label))
}

fn write_curve(frame: &mut Frame, line: &LatencyLine<'_>, points: &[(f64, f64)]) {
    let place = |point: &(f64, f64)| (frame.at_x(point.0), frame.at_y(point.1));
    let path = Frame::path(points.iter().map(place));
    let texts: Vec<String> = points
        .iter()
        .map(|(_, ns)| ValueUnit::Time.text(*ns))
        .collect();
    let last = points.last().map(place).unwrap_or_default();
    let _infallible = write!(
        frame.body,
        r#"<g class="arm {}" data-arm="{}"><title>{}: {} operations</title><path class="line" d="{path}" data-v="{}"/><path class="dot" d="{}"/></g>"#,
        look(line.arm),
        line.arm,
        escape(&line.name),
        units::format_count(u64_to_f64(line.latency.count())),
        texts.join("|"),
        marker(line.arm, last.0, last.1, 4.0)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: u64) -> Histogram {
        let mut out = Histogram::default();
        (0..count).for_each(|i| out.record(100_000 + i * 1000));
        out
    }

    #[test]
    fn the_curve_ends_where_ten_operations_are_slower() {
        for (count, last) in [(1000, 0.99), (10_000, 0.999), (9_999, 0.998)] {
            let points = points(&of(count));
            let q = share_at(points.last().unwrap().0);
            assert!(
                q >= last - 2e-3 && count as f64 * (1.0 - q) >= 10.0 - 1e-6,
                "{count}: {q}"
            );
        }
        assert!(points(&of(5)).is_empty());
    }

    #[test]
    fn a_percentile_is_named_as_precisely_as_it_lies() {
        let names: Vec<String> = [0.0, 0.3, 1.0, 2.0, 2.2, 3.0, 4.1].map(percentile).into();
        assert_eq!(
            names,
            ["p0", "p50", "p90", "p99", "p99.37", "p99.9", "p99.9921"]
        );
    }

    #[test]
    fn ticks_are_percentiles_that_the_data_reach() {
        let histogram = of(20_000);
        let svg = latency(
            "l",
            &[LatencyLine {
                arm: 0,
                name: "a".into(),
                latency: &histogram,
            }],
        )
        .unwrap();
        assert!(
            svg.contains(">p99.9<") && !svg.contains(">p99.99<"),
            "{svg}"
        );
        assert!(
            latency(
                "l",
                &[LatencyLine {
                    arm: 0,
                    name: "a".into(),
                    latency: &of(3)
                }]
            )
            .is_none()
        );
    }
}
