//! The level of each arm, block by block in the order of time: what the machine did besides.

use super::axis::{Axis, ValueUnit, range, with_room};
use super::frame::Frame;
use super::svg::{escape, look, marker};
use std::fmt::Write as _;

/// One arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DriftLine {
    pub(crate) arm: usize,
    pub(crate) name: String,
    /// Number of the block in the order of time, from 1, and the level there.
    pub(crate) levels: Vec<(f64, f64)>,
}

/// Levels by block; `None` below two blocks.
pub(crate) fn drift(
    label: &str,
    unit: ValueUnit,
    title: &str,
    lines: &[DriftLine],
) -> Option<String> {
    let all = || {
        lines
            .iter()
            .flat_map(|line| &line.levels)
            .filter(|(_, level)| level.is_finite())
    };
    let (first, last) = range(all().map(|(block, _)| *block))?;
    let (low, high) = range(all().map(|(_, level)| *level))?;
    if last <= first {
        return None;
    }
    let y = if low > 0.0 && low > 0.6 * high {
        let (low, high) = with_room(low, high);
        Axis::linear(title, unit, low, high)
    } else {
        Axis::from_zero(title, unit, high)
    };
    let mut frame = Frame::new(
        Axis::linear("block", ValueUnit::Whole, first - 0.3, last + 0.3),
        y,
    );
    for line in lines {
        write_line(&mut frame, line, unit);
    }
    Some(frame.finish(label))
}

fn write_line(frame: &mut Frame, line: &DriftLine, unit: ValueUnit) {
    let levels: Vec<&(f64, f64)> = line
        .levels
        .iter()
        .filter(|(_, level)| level.is_finite())
        .collect();
    let places: Vec<(f64, f64)> = levels
        .iter()
        .map(|(block, level)| (frame.at_x(*block), frame.at_y(*level)))
        .collect();
    let marks: String = places
        .iter()
        .map(|(x, y)| marker(line.arm, *x, *y, 3.0))
        .collect();
    let names: Vec<String> = levels
        .iter()
        .map(|(block, _)| format!("block {block}"))
        .collect();
    let texts: Vec<String> = levels.iter().map(|(_, level)| unit.text(*level)).collect();
    let _infallible = write!(
        frame.body,
        r#"<g class="arm {}" data-arm="{}"><title>{}</title><path class="line thin" d="{}" data-x="{}" data-v="{}"/><path class="dot" d="{marks}"/></g>"#,
        look(line.arm),
        line.arm,
        escape(&line.name),
        Frame::path(places.iter().copied()),
        names.join("|"),
        texts.join("|")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_its_mark_and_one_block_is_no_course_of_time() {
        let line = |blocks: u32| DriftLine {
            arm: 1,
            name: "a".into(),
            levels: (1..=blocks)
                .map(|b| (f64::from(b), 100.0 + f64::from(b)))
                .collect(),
        };
        let svg = drift("l", ValueUnit::PerSecond, "t", &[line(10)]).unwrap();
        let marks = svg
            .split("class=\"dot\" d=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        assert_eq!(marks.matches('z').count(), 10);
        assert!(svg.contains(">10<") || svg.contains(">8<"), "{svg}");
        assert_eq!(drift("l", ValueUnit::PerSecond, "t", &[line(1)]), None);
    }
}
