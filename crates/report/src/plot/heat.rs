//! Heat maps: latency over time, and accesses by place.

use super::axis::{Axis, ValueUnit, range};
use super::frame::{Frame, open, write_x_ticks};
use super::svg::At;
use record::Histogram;
use std::fmt::Write as _;
use units::lossless::{f64_to_u64_saturating, u64_to_f64};

/// Shares of the operations of a column above which a cell has the next darker level, so that a
/// rare slow operation is still seen.
pub(crate) const LEVELS: [f64; 5] = [0.0, 0.001, 0.01, 0.1, 0.3];
/// Rows for each power of two of latency at most.
const PER_OCTAVE: f64 = 2.0;
const MOST_ROWS: f64 = 32.0;
const STEPS: u64 = 9;
/// The share of fast operations that lie in the lowest row, however fast they are: they would take
/// half of the picture.
const FASTEST: f64 = 0.001;

/// Latency over time, darker where more of the operations of a column lie; the columns are equal
/// parts of the time from 0 to `end_ns`. `None` if fewer than two columns have operations.
pub(crate) fn latency_map(label: &str, end_ns: f64, columns: &[Histogram]) -> Option<String> {
    let full = || columns.iter().filter(|latency| !latency.is_empty());
    if full().count() < 2 {
        return None;
    }
    let ends = full().flat_map(|latency| {
        latency
            .quantile(FASTEST)
            .into_iter()
            .chain(latency.max().map(u64_to_f64))
    });
    let (low, high) = range(ends.map(|ns| ns.max(1.0)))?;
    let mut frame = Frame::new(
        Axis::linear("time", ValueUnit::Time, 0.0, end_ns),
        Axis::log("latency", ValueUnit::Time, low, high),
    );
    let rows = ((high / low).log2() * PER_OCTAVE)
        .clamp(6.0, MOST_ROWS)
        .ceil();
    let mut paths: [String; LEVELS.len()] = Default::default();
    for (index, latency) in columns
        .iter()
        .enumerate()
        .filter(|(_, latency)| !latency.is_empty())
    {
        write_column(&mut paths, &frame.y, index, latency, rows);
    }
    // One unit is one cell, and a column's cells are pieces of one vertical stroke: a whole matrix
    // of maps stays small.
    let (wide, tall) = (
        (frame.right - frame.left) / columns.len() as f64,
        (frame.bottom - frame.top) / rows,
    );
    let _infallible = write!(
        frame.body,
        r#"<g class="heat" transform="translate({} {}) scale({wide:.4} {:.4})">"#,
        At(frame.left + wide / 2.0),
        At(frame.bottom),
        -tall
    );
    for (level, path) in paths
        .iter()
        .enumerate()
        .filter(|(_, path)| !path.is_empty())
    {
        let _infallible = write!(frame.body, r#"<path class="h{level}" d="{path}"/>"#);
    }
    frame.body.push_str("</g>");
    Some(frame.finish(label))
}

fn write_column(
    paths: &mut [String; LEVELS.len()],
    axis: &Axis,
    column: usize,
    latency: &Histogram,
    rows: f64,
) {
    let mut counts = vec![0_u64; usize::try_from(f64_to_u64_saturating(rows)).unwrap_or(1)];
    for (low, width, count) in latency.buckets() {
        let middle = u64_to_f64(low) + u64_to_f64(width) / 2.0;
        let index = usize::try_from(f64_to_u64_saturating(axis.share(middle) * rows))
            .unwrap_or(0)
            .min(counts.len() - 1);
        counts[index] += count;
    }
    let all = u64_to_f64(latency.count());
    let level = |count: u64| {
        LEVELS
            .iter()
            .rposition(|least| u64_to_f64(count) / all > *least)
    };
    let mut row = 0;
    while row < counts.len() {
        let here = level(counts[row]);
        let run = counts[row..]
            .iter()
            .take_while(|count| level(**count) == here)
            .count();
        if let Some(path) = here.and_then(|level| paths.get_mut(level)) {
            let _infallible = write!(path, "M{column} {row}v{run}");
        }
        row += run;
    }
}

/// Accesses by place as one strip, darker where there were more; `None` without an access.
pub(crate) fn access_map(label: &str, bytes: u64, buckets: &[u64]) -> Option<String> {
    const WIDTH: f64 = 440.0;
    const EDGE: f64 = 6.0;
    let most = *buckets.iter().max()?;
    if most == 0 {
        return None;
    }
    let axis = Axis::linear("place", ValueUnit::Bytes, 0.0, u64_to_f64(bytes));
    let at = |share: f64| EDGE + share * (WIDTH - 2.0 * EDGE);
    let mut out = open(WIDTH, 66.0, label);
    let step = |uses: u64| {
        if uses == 0 {
            0
        } else {
            (u128::from(uses) * u128::from(STEPS)).div_ceil(u128::from(most))
        }
    };
    out.push_str(r#"<g class="strip">"#);
    let mut first = 0;
    while first < buckets.len() {
        let here = step(buckets[first]);
        let run = buckets[first..]
            .iter()
            .take_while(|uses| step(**uses) == here)
            .count();
        if here > 0 {
            let share = |index: usize| index as f64 / buckets.len() as f64;
            let (from, to) = (at(share(first)), at(share(first + run)));
            let _infallible = write!(
                out,
                r#"<path class="s{here}" d="M{} 20H{}"/>"#,
                At(from),
                At(to)
            );
        }
        first += run;
    }
    let _infallible = write!(
        out,
        r#"</g><path class="axis" d="M{} 6H{}V34H{}z"/>"#,
        At(EDGE),
        At(WIDTH - EDGE),
        At(EDGE)
    );
    write_x_ticks(
        &mut out,
        &axis,
        |value| at(axis.share(value)),
        34.0,
        (0.0, WIDTH),
    );
    out.push_str("</svg>");
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(u64, u64)]) -> Histogram {
        let mut out = Histogram::default();
        pairs
            .iter()
            .for_each(|(ns, count)| out.record_many(*ns, *count));
        out
    }

    #[test]
    fn one_slow_operation_in_a_million_is_seen() {
        let svg = latency_map(
            "l",
            2e9,
            &[
                of(&[(100_000, 1_000_000)]),
                of(&[(100_000, 1_000_000), (50_000_000, 1)]),
            ],
        )
        .unwrap();
        let pieces = |level: &str| {
            svg.split(&format!("\"h{level}\" d=\""))
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .matches('M')
                .count()
        };
        assert_eq!((pieces("0"), pieces("4")), (1, 2), "{svg}");
    }

    #[test]
    fn columns_without_an_operation_stay_empty_and_one_column_is_no_map() {
        let some = of(&[(1, 1)]);
        assert!(
            latency_map(
                "l",
                3.0,
                &[some.clone(), Histogram::default(), some.clone()]
            )
            .is_some()
        );
        assert!(latency_map("l", 3.0, &[some, Histogram::default()]).is_none());
    }

    #[test]
    fn equal_neighbours_are_one_shape() {
        let svg = access_map("l", 1 << 30, &[5, 5, 5, 0, 0, 1]).unwrap();
        assert_eq!(svg.matches("<path class=\"s").count(), 2, "{svg}");
        assert_eq!(access_map("l", 1, &[0, 0]), None);
        assert_eq!(access_map("l", 1, &[]), None);
    }
}
