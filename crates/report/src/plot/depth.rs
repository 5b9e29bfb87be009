//! What a deeper queue brings: a figure against the queue depth.

use super::axis::{Axis, ValueUnit, range};
use super::frame::Frame;
use super::svg::{At, escape, marker};
use std::fmt::Write as _;

/// One depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DepthPoint {
    pub(crate) depth: f64,
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// One arm and figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DepthLine {
    pub(crate) arm: usize,
    pub(crate) name: String,
    /// Drawn lighter: a second figure of the same arm.
    pub(crate) secondary: bool,
    /// In order of depth.
    pub(crate) points: Vec<DepthPoint>,
}

/// A figure against the queue depth, depths by powers of two; latencies by ratio, throughput from
/// zero. `None` without a point.
pub(crate) fn depth(
    label: &str,
    unit: ValueUnit,
    title: &str,
    lines: &[DepthLine],
) -> Option<String> {
    let all = || {
        lines
            .iter()
            .flat_map(|line| &line.points)
            .filter(|point| point.depth > 0.0 && point.value.is_finite())
    };
    let (shallow, deep) = range(all().map(|point| point.depth))?;
    let ends = |point: &DepthPoint| {
        point.interval.map_or([point.value; 2], |(low, high)| {
            [low.min(point.value), high.max(point.value)]
        })
    };
    let (low, high) = range(all().flat_map(ends))?;
    let y = if unit == ValueUnit::Time && low > 0.0 {
        Axis::log(title, unit, low, high)
    } else {
        Axis::from_zero(title, unit, high)
    };
    let mut powers = Vec::new();
    let mut power = 1.0_f64;
    while power <= deep {
        powers.push((power.log2(), units::format_count(power)));
        power *= 2.0;
    }
    let edge = 0.25;
    let ticks = powers
        .into_iter()
        .filter(|(at, _)| *at >= shallow.log2() - 1e-9)
        .collect();
    let mut frame = Frame::new(
        Axis::with_ticks(
            "queue depth",
            shallow.log2() - edge,
            deep.log2() + edge,
            ticks,
        ),
        y,
    );
    for line in lines {
        write_line(&mut frame, line, unit);
    }
    Some(frame.finish(label))
}

fn write_line(frame: &mut Frame, line: &DepthLine, unit: ValueUnit) {
    let points: Vec<&DepthPoint> = line
        .points
        .iter()
        .filter(|point| point.depth > 0.0 && point.value.is_finite())
        .collect();
    let place = |point: &DepthPoint| (frame.at_x(point.depth.log2()), frame.at_y(point.value));
    let places = points.iter().map(|point| place(point));
    let mut out = Frame::line_of_arm(line.arm, line.secondary, places);
    for point in points {
        let (x, y) = place(point);
        if let Some((low, high)) = point.interval {
            let _infallible = write!(
                out,
                r#"<path class="whisker" d="M{} {}V{}"/>"#,
                At(x),
                At(frame.at_y(low)),
                At(frame.at_y(high))
            );
        }
        let between = point
            .interval
            .map(|(low, high)| format!(" [{}, {}]", unit.text(low), unit.text(high)))
            .unwrap_or_default();
        let _infallible = write!(
            out,
            r#"<path class="dot{}" d="{}"><title>{} at depth {}: {}{between}</title></path>"#,
            if point.interval.is_some() {
                ""
            } else {
                " hollow"
            },
            marker(line.arm, x, y, 4.0),
            escape(&line.name),
            point.depth,
            unit.text(point.value)
        );
    }
    frame.body.push_str(&out);
    frame.body.push_str("</g>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_spaced_by_powers_of_two() {
        let point = |depth: f64| DepthPoint {
            depth,
            value: depth * 1000.0,
            interval: None,
        };
        let line = DepthLine {
            arm: 0,
            name: "a".into(),
            secondary: false,
            points: [1.0, 2.0, 4.0, 8.0].map(point).into(),
        };
        let svg = depth("l", ValueUnit::PerSecond, "t", &[line]).unwrap();
        let strokes = svg.split("class=\"axis\" d=\"M").nth(2).unwrap();
        let at: Vec<f64> = strokes
            .split('"')
            .next()
            .unwrap()
            .split('M')
            .map(|stroke| stroke.split(' ').next().unwrap().parse().unwrap())
            .collect();
        let gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            gaps.len() == 3 && gaps.iter().all(|gap| (gap - gaps[0]).abs() < 0.2),
            "{at:?}"
        );
        assert_eq!(svg.matches("dot hollow").count(), 4);
    }

    #[test]
    fn no_depth_no_plot() {
        let line = DepthLine {
            arm: 0,
            name: "a".into(),
            secondary: false,
            points: vec![DepthPoint {
                depth: 0.0,
                value: 1.0,
                interval: None,
            }],
        };
        assert_eq!(depth("l", ValueUnit::PerSecond, "t", &[line]), None);
    }
}
