//! How the differences of blocks lie: what an interval is made of.

use super::axis::{Axis, ValueUnit, range};
use super::frame::Frame;
use super::svg::{At, escape, look};
use crate::words::counted;
use stats::sample::{quantile_of_sorted, sorted, variance};
use std::fmt::Write as _;

/// Points of a curve.
const POINTS: u32 = 40;
/// Fewer differences have no shape.
pub(crate) const FEWEST_TO_SMOOTH: usize = 8;

/// One arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DensityLine {
    pub(crate) arm: usize,
    pub(crate) name: String,
    /// Changes against the baseline, one a block.
    pub(crate) changes: Vec<f64>,
}

/// Changes of blocks as smoothed curves over marks of each; `None` where no arm has enough of them.
pub(crate) fn density(label: &str, lines: &[DensityLine], margin: f64) -> Option<String> {
    let curves: Vec<(&DensityLine, f64)> = lines
        .iter()
        .filter_map(|line| Some((line, bandwidth(&line.changes)?)))
        .collect();
    let reach = curves.iter().flat_map(|(line, width)| {
        let (low, high) = range(line.changes.iter().copied()).unwrap_or_default();
        [low - 2.5 * width, high + 2.5 * width]
    });
    let (low, high) = range(reach.chain([0.0]))?;
    let at = |index: u32| low + (high - low) * f64::from(index) / f64::from(POINTS);
    let heights: Vec<Vec<f64>> = curves
        .iter()
        .map(|(line, width)| {
            (0..=POINTS)
                .map(|x| height(&line.changes, *width, at(x)))
                .collect()
        })
        .collect();
    let most = heights.iter().flatten().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let mut frame = Frame::new(
        Axis::linear(
            "change against the baseline, block by block",
            ValueUnit::Change,
            low,
            high,
        ),
        Axis::with_ticks("density", 0.0, most * 1.05, Vec::new()),
    );
    write_margin(&mut frame, margin);
    for ((line, _), heights) in curves.iter().zip(&heights) {
        let points = (0..=POINTS).zip(heights);
        let points = points.map(|(x, height)| (frame.at_x(at(x)), frame.at_y(*height)));
        let path = Frame::path(points);
        let ticks: String = line
            .changes
            .iter()
            .map(|change| format!("M{} {}v6", At(frame.at_x(*change)), At(frame.bottom - 6.0)))
            .collect();
        let _infallible = write!(
            frame.body,
            r#"<g class="arm {}" data-arm="{}"><title>{}: {}</title><path class="line" d="{path}"/><path class="line thin" d="{ticks}"/></g>"#,
            look(line.arm),
            line.arm,
            escape(&line.name),
            counted(line.changes.len(), "block")
        );
    }
    Some(frame.finish(label))
}

/// No difference, and where differences do not matter.
fn write_margin(frame: &mut Frame, margin: f64) {
    let (from, to) = (frame.at_x(1.0 / (1.0 + margin) - 1.0), frame.at_x(margin));
    let (top, bottom, zero) = (At(frame.top), At(frame.bottom), At(frame.at_x(0.0)));
    let _infallible = write!(
        frame.body,
        r#"<path class="band" d="M{} {top}H{}V{bottom}H{}z"/><path class="base" d="M{zero} {top}V{bottom}"/>"#,
        At(from),
        At(to),
        At(from)
    );
}

/// Silverman's rule of thumb (Density Estimation, 1986, equation 3.31); `None` of too few or of
/// values that are all the same.
fn bandwidth(values: &[f64]) -> Option<f64> {
    if values.len() < FEWEST_TO_SMOOTH || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let ascending = sorted(values);
    if ascending.first() == ascending.last() {
        return None;
    }
    let quartiles = quantile_of_sorted(&ascending, 0.75) - quantile_of_sorted(&ascending, 0.25);
    let deviation = variance(values).sqrt();
    let spread = match quartiles / 1.34 {
        of_quartiles if of_quartiles > 0.0 => deviation.min(of_quartiles),
        _ => deviation,
    };
    let width = 0.9 * spread * (values.len() as f64).powf(-0.2);
    (width > 0.0).then_some(width)
}

/// A sum of bells, one a value.
fn height(values: &[f64], width: f64, at: f64) -> f64 {
    let bell = |value: &f64| (-0.5 * ((at - value) / width).powi(2)).exp();
    let area = values.len() as f64 * width * (2.0 * std::f64::consts::PI).sqrt();
    values.iter().map(bell).sum::<f64>() / area
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: [f64; 8] = [0.09, 0.1, 0.11, 0.1, 0.12, 0.08, 0.1, 0.105];

    fn line(changes: &[f64]) -> DensityLine {
        DensityLine {
            arm: 1,
            name: "<b>".into(),
            changes: changes.to_vec(),
        }
    }

    #[test]
    fn every_block_has_a_mark_below_the_curve_and_the_area_is_one() {
        let svg = density("l", &[line(&CHANGES)], 0.05).unwrap();
        assert_eq!(svg.matches("v6").count(), 8);
        assert!(svg.contains("&lt;b&gt;: 8 blocks") && svg.contains(r#"class="band""#));
        let width = bandwidth(&CHANGES).unwrap();
        let area: f64 = (0..4000)
            .map(|i| height(&CHANGES, width, -0.1 + 0.0001 * f64::from(i)) * 0.0001)
            .sum();
        assert!((area - 1.0).abs() < 1e-3, "{area}");
    }

    #[test]
    fn few_blocks_and_equal_ones_have_no_shape() {
        assert_eq!(density("l", &[line(&CHANGES[..7])], 0.05), None);
        assert_eq!(density("l", &[line(&[0.1; 9])], 0.05), None);
        assert_eq!(density("l", &[], 0.05), None);
    }
}
