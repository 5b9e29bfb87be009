//! The rectangle that holds a plot, its two axes, and the SVG around it.

use super::axis::Axis;
use super::svg::{At, escape, look, width_of};
use std::fmt::Write as _;

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 250.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 38.0;
const RIGHT: f64 = 16.0;

/// A plot in the making.
pub(super) struct Frame {
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Edges of the rectangle in pixels.
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// What is drawn inside.
    pub(super) body: String,
}

impl Frame {
    /// A rectangle between two axes, wide enough for the labels of `y`.
    pub(super) fn new(x: Axis, y: Axis) -> Self {
        let labels = y
            .ticks
            .iter()
            .map(|(_, text)| width_of(text))
            .fold(20.0, f64::max);
        Self {
            x,
            y,
            left: labels + 12.0,
            right: WIDTH - RIGHT,
            top: TOP,
            bottom: HEIGHT - BOTTOM,
            body: String::new(),
        }
    }

    /// Pixels of a value on the horizontal axis.
    pub(super) fn at_x(&self, value: f64) -> f64 {
        self.left + self.x.share(value) * (self.right - self.left)
    }

    /// Pixels of a value on the vertical axis.
    pub(super) fn at_y(&self, value: f64) -> f64 {
        self.bottom - self.y.share(value) * (self.bottom - self.top)
    }

    /// The path through points of the plot, in pixels.
    pub(super) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut out = String::new();
        for (index, (x, y)) in points.into_iter().enumerate() {
            let _infallible = write!(
                out,
                "{}{} {}",
                if index == 0 { 'M' } else { 'L' },
                At(x),
                At(y)
            );
        }
        out
    }

    /// The line of an arm, in a group to which what belongs to it may be added; a secondary one is
    /// faint.
    pub(super) fn line_of_arm(
        arm: usize,
        is_secondary: bool,
        points: impl Iterator<Item = (f64, f64)>,
    ) -> String {
        let faint = if is_secondary { " faint" } else { "" };
        let path = Self::path(points);
        format!(
            r#"<g class="arm {}{faint}" data-arm="{arm}"><path class="line" d="{path}"/>"#,
            look(arm)
        )
    }

    /// The whole plot as SVG under a label for those who cannot see it.
    pub(super) fn finish(self, label: &str) -> String {
        let mut out = open(WIDTH, HEIGHT, label);
        self.write_axes(&mut out);
        out.push_str(&self.body);
        out.push_str("</svg>");
        out
    }

    fn write_axes(&self, out: &mut String) {
        let (left, right, top, bottom) =
            (At(self.left), At(self.right), At(self.top), At(self.bottom));
        out.push_str(r#"<g class="grid"><path d=""#);
        for (value, _) in &self.y.ticks {
            let _infallible = write!(out, "M{left} {}H{right}", At(self.at_y(*value)));
        }
        let _infallible = write!(
            out,
            r#""/></g><path class="axis" d="M{left} {top}V{bottom}H{right}"/><g class="ticks" text-anchor="end" transform="translate({} 4)">"#,
            At(self.left - 6.0)
        );
        for (value, text) in &self.y.ticks {
            let _infallible = write!(
                out,
                r#"<text y="{}">{}</text>"#,
                At(self.at_y(*value)),
                escape(text)
            );
        }
        out.push_str("</g>");
        write_x_ticks(
            out,
            &self.x,
            |value| self.at_x(value),
            self.bottom,
            (0.0, WIDTH),
        );
        let _infallible = write!(
            out,
            r#"<text class="title" x="4" y="13">{}</text><text class="title" x="{right}" y="{}" text-anchor="end">{}</text>"#,
            escape(&self.y.title),
            At(HEIGHT - 4.0),
            escape(&self.x.title)
        );
    }
}

/// The opening tag of a plot.
pub(super) fn open(width: f64, height: f64, label: &str) -> String {
    format!(
        r#"<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">"#,
        At(width),
        At(height),
        escape(label)
    )
}

/// Writes the labels below a horizontal axis, leaving out those that would touch their neighbour,
/// and a stroke for each.
pub(super) fn write_x_ticks(
    out: &mut String,
    axis: &Axis,
    place: impl Fn(f64) -> f64,
    y: f64,
    within: (f64, f64),
) {
    out.push_str(r#"<path class="axis" d=""#);
    for (value, _) in &axis.ticks {
        let _infallible = write!(out, "M{} {}v4", At(place(*value)), At(y));
    }
    let _infallible = write!(
        out,
        r#""/><g class="ticks" text-anchor="middle" transform="translate(0 {})">"#,
        At(y + 17.0)
    );
    let mut taken = f64::NEG_INFINITY;
    for (value, text) in &axis.ticks {
        let (at, half) = (place(*value), width_of(text) / 2.0);
        // The labels of the ends stay inside the picture.
        let centre = at.clamp(within.0 + half, (within.1 - half).max(within.0 + half));
        if text.is_empty() || centre - half < taken + 8.0 {
            continue;
        }
        taken = centre + half;
        let _infallible = write!(out, r#"<text x="{}">{}</text>"#, At(centre), escape(text));
    }
    out.push_str("</g>");
}

#[cfg(test)]
mod tests {
    use super::super::axis::ValueUnit;
    use super::*;

    #[test]
    fn labels_of_a_crowded_axis_do_not_touch() {
        let ticks = (0..40)
            .map(|i| (f64::from(i), format!("label {i}")))
            .collect();
        let axis = Axis::with_ticks("", 0.0, 39.0, ticks);
        let mut out = String::new();
        write_x_ticks(&mut out, &axis, |value| value * 10.0, 0.0, (0.0, 390.0));
        let shown: Vec<f64> = out
            .split("<text x=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!(
            shown.len() > 3 && shown.windows(2).all(|pair| pair[1] - pair[0] > 7.0 * 6.4),
            "{shown:?}"
        );
    }

    #[test]
    fn a_value_outside_its_axis_is_drawn_at_its_edge() {
        let frame = Frame::new(
            Axis::from_zero("x", ValueUnit::Whole, 10.0),
            Axis::from_zero("y", ValueUnit::PerSecond, 10.0),
        );
        assert!(
            (frame.at_y(1e9) - frame.top).abs() < 1e-9
                && (frame.at_x(-5.0) - frame.left).abs() < 1e-9
        );
        assert!(
            frame
                .finish("a \"label\"")
                .contains("aria-label=\"a &quot;label&quot;\"")
        );
    }
}
