//! A rate over time, several arms overlaid.
//!
//! The line is the median of what falls into a column, the band behind it runs from the least to the
//! greatest.

use super::axis::{Axis, ValueUnit, range};
use super::frame::Frame;
use super::svg::{At, escape, look, marker};
use analyze::RateColumn;
use std::fmt::Write as _;

/// A jump of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Regime {
    pub(crate) time_ns: f64,
    /// New level divided by old.
    pub(crate) ratio: f64,
}

/// One arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeriesLine {
    pub(crate) arm: usize,
    pub(crate) name: String,
    pub(crate) columns: Vec<RateColumn>,
    pub(crate) regime: Option<Regime>,
    /// A number of slots in which the level jumped, of how many.
    pub(crate) regime_slots: (usize, usize),
}

/// Rates over time; `warm_up_ns` is the one cut of all arms. `None` if no arm has a value.
pub(crate) fn series(
    label: &str,
    unit: ValueUnit,
    title: &str,
    lines: &[SeriesLine],
    warm_up_ns: Option<f64>,
) -> Option<String> {
    let all = || lines.iter().flat_map(|line| &line.columns);
    let most = range(all().map(|column| column.high))?.1;
    let half_column = lines
        .iter()
        .filter_map(|line| line.columns.first())
        .map(|column| column.time_ns)
        .fold(0.0, f64::max);
    let end = range(all().map(|column| column.time_ns))?.1 + half_column;
    let mut frame = Frame::new(
        Axis::linear("time", ValueUnit::Time, 0.0, end),
        Axis::from_zero(title, unit, most),
    );
    if let Some(cut) = warm_up_ns.filter(|cut| *cut > 0.0) {
        write_warm_up(&mut frame, cut);
    }
    for line in lines {
        write_band(&mut frame, line);
    }
    for line in lines.iter().filter(|line| !line.columns.is_empty()) {
        write_line(&mut frame, line, unit);
    }
    Some(frame.finish(label))
}

fn write_warm_up(frame: &mut Frame, cut: f64) {
    let (left, right, top, bottom) = (frame.left, frame.at_x(cut), frame.top, frame.bottom);
    let _infallible = write!(
        frame.body,
        r#"<path class="warm" d="M{} {}H{}V{}H{}z"/><path class="cut" d="M{} {}V{}"/><text class="note" x="{}" y="{}">warm-up to {}</text>"#,
        At(left),
        At(top),
        At(right),
        At(bottom),
        At(left),
        At(right),
        At(top),
        At(bottom),
        At(right.min(frame.right - 110.0) + 4.0),
        At(bottom - 6.0),
        escape(&ValueUnit::Time.text(cut))
    );
}

fn write_band(frame: &mut Frame, line: &SeriesLine) {
    if line.columns.len() < 2 || line.columns.iter().all(|column| column.low >= column.high) {
        return;
    }
    let up = line
        .columns
        .iter()
        .map(|column| (frame.at_x(column.time_ns), frame.at_y(column.high)));
    let down = line
        .columns
        .iter()
        .rev()
        .map(|column| (frame.at_x(column.time_ns), frame.at_y(column.low)));
    let path = Frame::path(up.chain(down));
    let _infallible = write!(
        frame.body,
        r#"<path class="arm spread {}" data-arm="{}" d="{path}z"/>"#,
        look(line.arm),
        line.arm
    );
}

fn write_line(frame: &mut Frame, line: &SeriesLine, unit: ValueUnit) {
    let path = Frame::path(
        line.columns
            .iter()
            .map(|column| (frame.at_x(column.time_ns), frame.at_y(column.middle))),
    );
    let _infallible = write!(
        frame.body,
        r#"<g class="arm {}" data-arm="{}"><title>{}</title>"#,
        look(line.arm),
        line.arm,
        escape(&line.name)
    );
    match line.columns.as_slice() {
        [only] => {
            let dot = marker(
                line.arm,
                frame.at_x(only.time_ns),
                frame.at_y(only.middle),
                4.0,
            );
            let _infallible = write!(frame.body, r#"<path class="dot hollow" d="{dot}"/>"#);
        }
        _ => {
            let _infallible = write!(
                frame.body,
                r#"<path class="line" d="{path}" data-x="{}" data-v="{}"/>"#,
                times(&line.columns),
                values(&line.columns, unit)
            );
        }
    }
    if let Some(last) = line.columns.last().filter(|_| line.columns.len() > 1) {
        let end = marker(
            line.arm,
            frame.at_x(last.time_ns),
            frame.at_y(last.middle),
            3.0,
        );
        let _infallible = write!(frame.body, r#"<path class="dot" d="{end}"/>"#);
    }
    write_stalls(frame, line);
    write_regime(frame, line);
    frame.body.push_str("</g>");
}

/// First time, step between columns and texts of all times, for the pointer.
fn times(columns: &[RateColumn]) -> String {
    columns
        .iter()
        .map(|column| ValueUnit::Time.text(column.time_ns))
        .collect::<Vec<_>>()
        .join("|")
}

fn values(columns: &[RateColumn], unit: ValueUnit) -> String {
    let text = |column: &RateColumn| {
        let middle = unit.text(column.middle);
        if column.low < 0.98 * column.middle || column.high > 1.02 * column.middle {
            format!(
                "{middle} ({} to {})",
                unit.text(column.low),
                unit.text(column.high)
            )
        } else {
            middle
        }
    };
    columns.iter().map(text).collect::<Vec<_>>().join("|")
}

/// A stretch of columns in which some slot did nothing at all: a cross on the axis where it begins.
fn write_stalls(frame: &mut Frame, line: &SeriesLine) {
    let mut from: Option<f64> = None;
    let mut stalls = Vec::new();
    for column in &line.columns {
        match (column.low == 0.0, from) {
            (true, None) => from = Some(column.time_ns),
            (false, Some(start)) => {
                stalls.push((start, column.time_ns));
                from = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    stalls.extend(
        from.zip(line.columns.last())
            .map(|(start, last)| (start, last.time_ns)),
    );
    for (start, end) in stalls.into_iter().take(20) {
        let (x, y) = (frame.at_x(start), frame.bottom);
        let _infallible = write!(
            frame.body,
            r#"<path class="stall" d="M{} {}l8 8m0-8l-8 8"><title>{}: nothing at all for about {} from {}</title></path>"#,
            At(x - 4.0),
            At(y - 4.0),
            escape(&line.name),
            escape(&ValueUnit::Time.text(end - start)),
            escape(&ValueUnit::Time.text(start))
        );
    }
}

fn write_regime(frame: &mut Frame, line: &SeriesLine) {
    let Some(regime) = line.regime else { return };
    let x = frame.at_x(regime.time_ns);
    let (slots, all) = line.regime_slots;
    let often = if all > 1 {
        format!(" in {slots} of {all} slots")
    } else {
        String::new()
    };
    let _infallible = write!(
        frame.body,
        r#"<path class="regime" d="M{} {}V{}"/><text class="note tint" x="{}" y="{}" text-anchor="{}">level ×{:.2}<title>{}: from {} on the level is {:.2} times the one before{often}</title></text>"#,
        At(x),
        At(frame.top),
        At(frame.bottom),
        At(if x > 360.0 { x - 4.0 } else { x + 4.0 }),
        At(frame.top + 10.0 + 13.0 * (line.arm % 4) as f64),
        if x > 360.0 { "end" } else { "start" },
        regime.ratio,
        escape(&line.name),
        escape(&ValueUnit::Time.text(regime.time_ns)),
        regime.ratio
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column a second.
    fn line(values: &[f64]) -> SeriesLine {
        let column = |(index, value): (usize, &f64)| RateColumn {
            time_ns: (index as f64 + 0.5) * 1e9,
            low: *value,
            middle: *value,
            high: *value,
        };
        SeriesLine {
            arm: 0,
            name: "a".into(),
            columns: values.iter().enumerate().map(column).collect(),
            regime: None,
            regime_slots: (0, 1),
        }
    }

    #[test]
    fn a_stall_is_marked() {
        let stalled = line(&[9.0, 0.0, 9.0]);
        let svg = series("l", ValueUnit::PerSecond, "t", &[stalled], None).unwrap();
        assert_eq!(svg.matches(r#"class="stall""#).count(), 1);
    }

    #[test]
    fn warm_up_and_change_of_level_are_marked() {
        let with = SeriesLine {
            regime: Some(Regime {
                time_ns: 2e9,
                ratio: 0.5,
            }),
            ..line(&[4.0, 4.0, 2.0, 2.0])
        };
        let svg = series("l", ValueUnit::PerSecond, "t", &[with], Some(1e9)).unwrap();
        assert!(
            svg.contains("warm-up to 1 s") && svg.contains("level ×0.50"),
            "{svg}"
        );
    }

    #[test]
    fn no_value_is_no_plot() {
        assert_eq!(
            series("l", ValueUnit::PerSecond, "t", &[line(&[])], None),
            None
        );
    }
}
