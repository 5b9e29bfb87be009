//! One line an arm: a point and its interval, against a reference.

use super::axis::{Axis, ValueUnit, range, with_room};
use super::frame::{open, write_x_ticks};
use super::svg::{At, escape, look, marker, shortened, width_of};
use std::fmt::Write as _;

const WIDTH: f64 = 440.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = 432.0;
const TOP: f64 = 6.0;
const LINE: f64 = 36.0;
const BOTTOM: f64 = 40.0;
/// Of a line, where names and numbers stand.
const NAMES: f64 = 17.0;
/// Changes above this are drawn by ratio, as they are told.
const FAR: f64 = 2.0;
/// Values further apart than this factor are drawn by ratio.
const WIDE: f64 = 20.0;

/// One arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IntervalLine {
    pub(crate) arm: usize,
    pub(crate) name: String,
    pub(crate) point: f64,
    /// `None` for a single observation and wherever there are too few for an interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Point and interval in words.
    pub(crate) text: String,
}

/// What the arms are held against.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reference {
    /// The level of the baseline; on an axis of changes, zero.
    pub(crate) at: Option<f64>,
    /// Between these, differences do not matter.
    pub(crate) band: Option<(f64, f64)>,
}

/// Points and intervals of arms under a title of the axis; `None` if no arm has a point.
pub(crate) fn intervals(
    label: &str,
    title: &str,
    unit: ValueUnit,
    lines: &[IntervalLine],
    reference: &Reference,
) -> Option<String> {
    let lines: Vec<&IntervalLine> = lines.iter().filter(|line| line.point.is_finite()).collect();
    let axis = axis(title, unit, &lines, reference)?;
    let bottom = TOP + LINE * lines.len() as f64;
    let place = match is_far(unit, &lines) {
        true => ratio,
        false => |value| value,
    };
    let at_place = |place: f64| LEFT + 6.0 + axis.share(place) * (RIGHT - LEFT - 12.0);
    let at = |value: f64| at_place(place(value));
    let mut out = open(WIDTH, bottom + BOTTOM, label);
    if let Some((low, high)) = reference.band {
        let (from, to) = (at(low), at(high));
        let _infallible = write!(
            out,
            r#"<path class="band" d="M{} {}H{}V{}H{}z"/>"#,
            At(from),
            At(TOP),
            At(to),
            At(bottom),
            At(from)
        );
    }
    if let Some(level) = reference.at.filter(|level| level.is_finite()) {
        write_reference(&mut out, at(level), lines.len());
    }
    for (index, line) in lines.iter().enumerate() {
        write_line(&mut out, line, TOP + LINE * index as f64, &at);
    }
    let _infallible = write!(
        out,
        r#"<path class="axis" d="M{} {}H{}"/>"#,
        At(LEFT),
        At(bottom),
        At(RIGHT)
    );
    write_x_ticks(&mut out, &axis, at_place, bottom, (0.0, WIDTH));
    let _infallible = write!(
        out,
        r#"<text class="title" x="{}" y="{}" text-anchor="end">{}</text></svg>"#,
        At(RIGHT),
        At(bottom + 35.0),
        escape(title)
    );
    Some(out)
}

/// The line of the reference beside the marks of each arm: names and numbers stand above those, and
/// a line through them cannot be read past.
fn write_reference(out: &mut String, x: f64, lines: usize) {
    let marks: String = (0..lines)
        .map(|index| TOP + LINE * index as f64)
        .map(|top| format!("M{} {}V{}", At(x), At(top + NAMES), At(top + LINE)))
        .collect();
    let _infallible = write!(out, r#"<path class="base" d="{marks}"/>"#);
}

/// Whether changes reach so far above the other side that they are drawn by ratio.
fn is_far(unit: ValueUnit, lines: &[&IntervalLine]) -> bool {
    let is_far = |line: &&IntervalLine| {
        line.point > FAR || line.interval.is_some_and(|(_, high)| high > FAR)
    };
    unit == ValueUnit::Change && lines.iter().any(is_far)
}

/// Of a change, the logarithm of its ratio; a loss of everything is far away and no end of the axis.
fn ratio(change: f64) -> f64 {
    change.max(-0.999).ln_1p()
}

fn axis(
    title: &str,
    unit: ValueUnit,
    lines: &[&IntervalLine],
    reference: &Reference,
) -> Option<Axis> {
    let ends = lines.iter().flat_map(|line| {
        line.interval
            .map_or([line.point; 2], |(low, high)| [low, high])
            .into_iter()
            .chain([line.point])
    });
    let shown = ends.chain(reference.at).chain(
        reference
            .band
            .into_iter()
            .flat_map(|(low, high)| [low, high]),
    );
    let least = range(lines.iter().map(|line| line.point))?.0;
    let (low, high) = range(shown)?;
    if is_far(unit, lines) {
        return Some(Axis::ratios(title, ratio(low), ratio(high)));
    }
    if unit == ValueUnit::Change {
        let edge = 0.08 * (high - low).max(0.01);
        return Some(Axis::linear(title, unit, low - edge, high + edge));
    }
    Some(if least > 0.0 && high / least > WIDE {
        Axis::log(title, unit, low.max(least / 10.0), high)
    } else if low < 0.6 * high {
        Axis::from_zero(title, unit, high)
    } else {
        let (low, high) = with_room(low, high);
        Axis::linear(title, unit, low, high)
    })
}

fn write_line(out: &mut String, line: &IntervalLine, top: f64, at: &impl Fn(f64) -> f64) {
    let room = RIGHT - LEFT - width_of(&line.text) - 14.0;
    let letters = (10..80_u32)
        .take_while(|n| f64::from(*n) * 6.4 <= room)
        .count()
        + 9;
    let title = if line.name.chars().count() > letters {
        format!("<title>{}</title>", escape(&line.name))
    } else {
        String::new()
    };
    let (text_y, y) = (At(top + 13.0), top + 25.0);
    let _infallible = write!(
        out,
        r#"<g class="arm {}" data-arm="{}">{title}<text x="{}" y="{text_y}">{}</text><text class="value" x="{}" y="{text_y}" text-anchor="end">{}</text>"#,
        look(line.arm),
        line.arm,
        At(LEFT),
        shortened(&line.name, letters),
        At(RIGHT),
        escape(&line.text)
    );
    if let Some((low, high)) = line.interval {
        let (from, to) = (at(low), at(high));
        let _infallible = write!(
            out,
            r#"<path class="whisker" d="M{} {}H{}M{} {}v8M{} {}v8"/>"#,
            At(from),
            At(y),
            At(to),
            At(from),
            At(y - 4.0),
            At(to),
            At(y - 4.0)
        );
    }
    let class = if line.interval.is_some() {
        "dot"
    } else {
        "dot hollow"
    };
    let _infallible = write!(
        out,
        r#"<path class="{class}" d="{}"/></g>"#,
        marker(line.arm, at(line.point), y, 4.5)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arm: usize, point: f64, interval: Option<(f64, f64)>) -> IntervalLine {
        IntervalLine {
            arm,
            name: format!("arm {arm}"),
            point,
            interval,
            text: ValueUnit::PerSecond.text(point),
        }
    }

    #[test]
    fn a_single_observation_is_hollow_and_has_no_interval() {
        let svg = intervals(
            "l",
            "t",
            ValueUnit::PerSecond,
            &[line(0, 100.0, Some((90.0, 110.0))), line(1, 105.0, None)],
            &Reference::default(),
        );
        let svg = svg.unwrap();
        assert_eq!(
            (
                svg.matches("whisker").count(),
                svg.matches("dot hollow").count()
            ),
            (1, 1)
        );
    }

    #[test]
    fn the_baseline_and_the_margin_are_marked() {
        let reference = Reference {
            at: Some(0.0),
            band: Some((-0.05, 0.05)),
        };
        let svg = intervals(
            "l",
            "t",
            ValueUnit::Change,
            &[line(1, 0.1, Some((0.08, 0.12)))],
            &reference,
        )
        .unwrap();
        assert!(
            svg.contains(r#"class="base""#) && svg.contains(r#"class="band""#),
            "{svg}"
        );
    }

    #[test]
    fn the_line_of_the_reference_crosses_no_name() {
        let reference = Reference {
            at: Some(0.0),
            band: None,
        };
        let lines = [line(1, -0.1, None), line(2, 0.3, None)];
        let svg = intervals("l", "t", ValueUnit::Change, &lines, &reference).unwrap();
        let base = svg.split(r#"class="base" d=""#).nth(1).unwrap();
        let base = base.split('"').next().unwrap();
        let stretches: Vec<(f64, f64)> = base
            .split('M')
            .skip(1)
            .map(|part| {
                let (from, to) = part.split_once('V').unwrap();
                let from = from.split_once(' ').unwrap().1;
                (from.parse().unwrap(), to.parse().unwrap())
            })
            .collect();
        let names: Vec<f64> = svg
            .split("<text x=\"8\" y=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!((stretches.len(), names.len()), (2, 2), "{svg}");
        for y in names {
            let crosses = |(from, to): &(f64, f64)| *from < y + 2.0 && y - 10.0 < *to;
            assert!(!stretches.iter().any(crosses), "{y} in {stretches:?}");
        }
    }

    #[test]
    fn far_changes_are_drawn_by_ratio_with_room_for_the_near_ones() {
        let reference = Reference {
            at: Some(0.0),
            band: Some((-0.05, 0.05)),
        };
        let lines = [
            line(1, 12.6, Some((11.0, 14.0))),
            line(2, -0.5, Some((-0.6, -0.4))),
        ];
        let svg = intervals("l", "t", ValueUnit::Change, &lines, &reference).unwrap();
        assert!(
            svg.contains(">10 times<") && svg.contains(">0 %<") && !svg.contains(">+500 %<"),
            "{svg}"
        );
    }

    #[test]
    fn arms_that_differ_by_orders_of_magnitude_are_told_apart() {
        let svg = intervals(
            "l",
            "t",
            ValueUnit::Time,
            &[
                line(0, 430.0, None),
                line(1, 1300.0, None),
                line(2, 1e8, None),
            ],
            &Reference::default(),
        )
        .unwrap();
        let places: Vec<&str> = svg
            .split("dot hollow\" d=\"M")
            .skip(1)
            .map(|rest| rest.split(['L', 'a']).next().unwrap())
            .collect();
        assert_eq!(
            places
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
            3,
            "{places:?}"
        );
    }

    #[test]
    fn no_number_no_plot() {
        assert_eq!(
            intervals(
                "l",
                "t",
                ValueUnit::PerSecond,
                &[line(0, f64::NAN, None)],
                &Reference::default()
            ),
            None
        );
        assert_eq!(
            intervals(
                "l",
                "t",
                ValueUnit::Change,
                &[],
                &Reference {
                    at: Some(0.0),
                    band: Some((-0.05, 0.05))
                }
            ),
            None
        );
    }
}
