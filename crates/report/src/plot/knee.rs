//! What a rate of arrivals does to latency, and the rate from which on it does not hold.

use super::axis::{Axis, ValueUnit, range};
use super::frame::Frame;
use super::svg::{At, escape, look, marker, width_of};
use std::fmt::Write as _;

/// One rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KneePoint {
    pub(crate) rate: f64,
    /// Nanoseconds.
    pub(crate) latency: f64,
    pub(crate) holds: bool,
    pub(crate) undecided: bool,
}

/// One arm and percentile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KneeLine {
    pub(crate) arm: usize,
    pub(crate) name: String,
    /// Drawn lighter: a second percentile of the same arm.
    pub(crate) secondary: bool,
    /// In order of rate.
    pub(crate) points: Vec<KneePoint>,
    /// The highest rate that held.
    pub(crate) knee: Option<f64>,
    /// Whether a higher one was tried and did not hold: else that is no knee.
    pub(crate) is_reached: bool,
}

/// How much of the height the name of a knee takes above all points, and for how many there is room.
const ABOVE: f64 = 0.12;
const MOST_ABOVE: usize = 4;

/// Latency against the rate of arrivals, both by ratio; rates that did not hold are hollow, and the
/// highest that did is marked. `None` without a point.
pub(crate) fn knee(label: &str, lines: &[KneeLine]) -> Option<String> {
    let is_drawn = |point: &&KneePoint| {
        point.rate > 0.0
            && point.rate.is_finite()
            && point.latency > 0.0
            && point.latency.is_finite()
    };
    let all = || lines.iter().flat_map(|line| &line.points).filter(is_drawn);
    let (slow, fast) = range(
        all()
            .map(|point| point.rate)
            .chain(lines.iter().filter_map(|line| line.knee)),
    )?;
    let (low, high) = range(all().map(|point| point.latency))?;
    let named = lines
        .iter()
        .filter(|line| line.knee.is_some() && !line.secondary);
    let high = high * (high / low).powf(ABOVE * named.count().min(MOST_ABOVE) as f64);
    let mut frame = Frame::new(
        Axis::log("arrivals a second", ValueUnit::PerSecond, slow, fast),
        Axis::log("latency", ValueUnit::Time, low, high),
    );
    let mut written = frame.top + 10.0;
    for line in lines {
        let points: Vec<&KneePoint> = line.points.iter().filter(is_drawn).collect();
        write_line(&mut frame, line, &points);
        if let Some(rate) = line.knee.filter(|_| !line.secondary) {
            write_knee(&mut frame, line, rate, written);
            written += 13.0;
        }
    }
    Some(frame.finish(label))
}

fn write_line(frame: &mut Frame, line: &KneeLine, points: &[&KneePoint]) {
    let place = |point: &KneePoint| (frame.at_x(point.rate), frame.at_y(point.latency));
    let places = points.iter().map(|point| place(point));
    let mut out = Frame::line_of_arm(line.arm, line.secondary, places);
    for point in points {
        let (x, y) = place(point);
        let (class, word) = match (point.undecided, point.holds) {
            (true, _) => (" hollow", "undecided"),
            (false, true) => ("", "holds"),
            (false, false) => (" hollow", "breaks"),
        };
        let _infallible = write!(
            out,
            r#"<path class="dot{class}" d="{}"><title>{} at {}: {}, {word}</title></path>"#,
            marker(line.arm, x, y, 4.0),
            escape(&line.name),
            ValueUnit::PerSecond.text(point.rate),
            ValueUnit::Time.text(point.latency)
        );
    }
    frame.body.push_str(&out);
    frame.body.push_str("</g>");
}

/// A line down at the knee, and its rate beside it, on the side that has room.
fn write_knee(frame: &mut Frame, line: &KneeLine, rate: f64, y: f64) {
    let x = frame.at_x(rate);
    let name = if line.is_reached { "knee" } else { "holds" };
    let text = format!("{name}: {}", ValueUnit::PerSecond.text(rate));
    let (at, anchor) = if x - frame.left > width_of(&text) + 8.0 {
        (x - 5.0, "end")
    } else {
        (x + 5.0, "start")
    };
    let _infallible = write!(
        frame.body,
        r#"<g class="arm {}" data-arm="{}"><path class="regime" d="M{} {}V{}"/><text class="note tint" x="{}" y="{}" text-anchor="{anchor}">{}</text></g>"#,
        look(line.arm),
        line.arm,
        At(x),
        At(frame.top),
        At(frame.bottom),
        At(at),
        At(y),
        escape(&text)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(knee: Option<f64>) -> KneeLine {
        let point = |rate: f64| KneePoint {
            rate,
            latency: 1e6 + rate * rate,
            holds: knee.is_some_and(|knee| rate <= knee),
            undecided: false,
        };
        KneeLine {
            arm: 0,
            name: "p99".into(),
            secondary: false,
            points: [100.0, 200.0, 400.0, 800.0].map(point).into(),
            knee,
            is_reached: true,
        }
    }

    #[test]
    fn the_knee_is_marked_and_what_broke_is_hollow() {
        let svg = knee("l", &[line(Some(400.0))]).unwrap();
        assert!(
            svg.contains(">knee: 400 /s<") || svg.contains(">knee: 400/s<"),
            "{svg}"
        );
        assert_eq!(
            (
                svg.matches("dot hollow").count(),
                svg.matches(r#"class="dot""#).count(),
                svg.matches("regime").count()
            ),
            (1, 3, 1)
        );
        let none = knee("l", &[line(None)]).unwrap();
        assert_eq!(
            (
                none.matches("dot hollow").count(),
                none.matches("regime").count()
            ),
            (4, 0)
        );
    }

    #[test]
    fn a_knee_at_the_left_edge_is_named_to_its_right() {
        let svg = knee("l", &[line(Some(100.0))]).unwrap();
        assert!(svg.contains(r#"text-anchor="start">knee"#), "{svg}");
        assert!(
            knee("l", &[line(Some(800.0))])
                .unwrap()
                .contains(r#"text-anchor="end">knee"#)
        );
    }

    #[test]
    fn the_highest_rate_tried_is_no_knee_where_it_holds() {
        let open = KneeLine {
            is_reached: false,
            ..line(Some(800.0))
        };
        let svg = knee("l", &[open]).unwrap();
        assert!(
            svg.contains(">holds: 800") && !svg.contains(">knee"),
            "{svg}"
        );
    }

    #[test]
    fn no_point_stands_where_a_knee_is_named() {
        let svg = knee("l", &[line(Some(800.0))]).unwrap();
        let dots = svg.split(r#"class="dot"#).skip(1);
        let tops = dots.filter_map(|dot| dot.split_once(" d=\"M")?.1.split_once('a'));
        let tops = tops.filter_map(|(at, _)| at.split_once(' ')?.1.parse::<f64>().ok());
        let highest = tops.fold(f64::INFINITY, f64::min);
        assert!((40.0..200.0).contains(&highest), "{highest} in {svg}");
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        let odd = [f64::NAN, f64::INFINITY, 0.0].map(|latency| KneePoint {
            rate: 1.0,
            latency,
            holds: true,
            undecided: false,
        });
        assert_eq!(
            knee(
                "l",
                &[KneeLine {
                    arm: 0,
                    name: "a".into(),
                    secondary: false,
                    points: odd.into(),
                    knee: None,
                    is_reached: false,
                }]
            ),
            None
        );
    }
}
