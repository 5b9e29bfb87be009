//! Which place in the experiment each line of a table has.
//!
//! What the table says is taken whatever number it begins with; what it does not say is found in
//! the order of the slots, or stays unsaid.

use record::UnsaidPlace;
use std::collections::{BTreeMap, BTreeSet};
use units::time;

/// What a line says of its place.
#[derive(Clone, Debug)]
pub(super) struct PlaceTexts<'a> {
    pub(super) line: usize,
    pub(super) arm: &'a str,
    pub(super) row: String,
    pub(super) has_failed: bool,
    pub(super) block: Option<&'a str>,
    pub(super) order: Option<&'a str>,
    pub(super) start: Option<&'a str>,
}

/// The place of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TrialPlace {
    pub(super) block: u32,
    pub(super) slot: u32,
    /// Empty where nobody says it.
    pub(super) started_at: String,
    pub(super) unsaid: Vec<UnsaidPlace>,
}

/// The places of all lines.
///
/// # Errors
/// A text that is no number or time, or two lines in one place, with the line.
pub(super) fn places(lines: &[PlaceTexts<'_>]) -> Result<Vec<TrialPlace>, String> {
    let starts = starts(lines)?;
    let blocks = column(lines, |line| line.block, "block")?;
    let order = order(lines, blocks.as_deref(), starts.as_deref())?;
    let is_ordered = order.is_some();
    let slots = order.unwrap_or_else(|| (0..).take(lines.len()).collect());
    if let Some(starts) = &starts {
        check_starts(lines, &slots, starts)?;
    }
    let found = match blocks {
        Some(blocks) => Some(from_zero(&blocks)),
        None if is_ordered => blocks_of_order(lines, &slots),
        None => None,
    };
    let mut unsaid = Vec::new();
    unsaid.extend((!is_ordered).then_some(UnsaidPlace::Order));
    unsaid.extend(found.is_none().then_some(UnsaidPlace::Block));
    let blocks = found.unwrap_or_else(|| repetitions(lines));
    check_blocks(lines, &blocks)?;
    let start = |at: usize| starts.as_ref().map(|starts| time::format(starts[at]));
    let place = |(at, (block, slot))| TrialPlace {
        block,
        slot,
        started_at: start(at).unwrap_or_default(),
        unsaid: unsaid.clone(),
    };
    Ok(blocks
        .into_iter()
        .zip(slots)
        .enumerate()
        .map(place)
        .collect())
}

/// A column of whole numbers, if the table has it.
fn column<'a>(
    lines: &[PlaceTexts<'a>],
    of: impl Fn(&PlaceTexts<'a>) -> Option<&'a str>,
    name: &str,
) -> Result<Option<Vec<u32>>, String> {
    let number = |line: &PlaceTexts<'a>| {
        of(line).map(|text| {
            text.parse::<u32>().map_err(|_no_number| {
                format!("line {}: {name}: {text:?} is no whole number", line.line)
            })
        })
    };
    lines
        .iter()
        .map(number)
        .map(Option::transpose)
        .collect::<Result<Option<Vec<_>>, _>>()
}

fn starts(lines: &[PlaceTexts<'_>]) -> Result<Option<Vec<i128>>, String> {
    let moment = |line: &PlaceTexts<'_>| {
        line.start.map(|text| {
            time::parse(text).ok_or_else(|| {
                format!(
                    "line {}: start: {text:?} is no time such as 2026-01-30T17:08:00Z",
                    line.line
                )
            })
        })
    };
    lines
        .iter()
        .map(moment)
        .map(Option::transpose)
        .collect::<Result<Option<Vec<_>>, _>>()
}

/// Positions in the order of all slots, where the table says it: by a number of the whole
/// experiment, by one within each block, or by the time at which slots began.
fn order(
    lines: &[PlaceTexts<'_>],
    blocks: Option<&[u32]>,
    starts: Option<&[i128]>,
) -> Result<Option<Vec<u32>>, String> {
    if let Some(numbers) = column(lines, |line| line.order, "order")? {
        let distinct: BTreeSet<u32> = numbers.iter().copied().collect();
        if distinct.len() == numbers.len() {
            return Ok(Some(from_zero(&numbers)));
        }
        let twice = |at: usize| {
            let text = lines[at].order.unwrap_or_default();
            format!("line {}: order {text} stands for two slots", lines[at].line)
        };
        let Some(blocks) = blocks else {
            let repeated = |at: &usize| numbers[..*at].contains(&numbers[*at]);
            return Err(twice((0..numbers.len()).find(repeated).unwrap_or(0)));
        };
        // Which row of a block ran first, nobody says; a comparison is within a row.
        let rows: Vec<usize> = lines
            .iter()
            .map(|line| {
                lines
                    .iter()
                    .position(|first| first.row == line.row)
                    .unwrap_or(0)
            })
            .collect();
        let keys: Vec<_> = (0..lines.len())
            .map(|at| (blocks[at], rows[at], numbers[at]))
            .collect();
        let mut seen = BTreeSet::new();
        if let Some(at) = (0..keys.len()).find(|at| !seen.insert(keys[*at])) {
            return Err(twice(at));
        }
        return Ok(Some(ranks(&keys)));
    }
    let Some(starts) = starts else {
        return Ok(None);
    };
    let mut arms: BTreeMap<i128, &str> = BTreeMap::new();
    let is_tied = lines
        .iter()
        .zip(starts)
        .any(|(line, start)| *arms.entry(*start).or_insert(line.arm) != line.arm);
    let keys: Vec<(i128, usize)> = starts.iter().copied().zip(0..).collect();
    Ok((!is_tied).then(|| ranks(&keys)))
}

/// Numbers that begin at 0; gaps among them stay.
fn from_zero(numbers: &[u32]) -> Vec<u32> {
    let least = numbers.iter().min().copied().unwrap_or(0);
    numbers.iter().map(|number| number - least).collect()
}

/// The position of each key among all.
fn ranks<K: Ord>(keys: &[K]) -> Vec<u32> {
    let mut sorted: Vec<usize> = (0..keys.len()).collect();
    sorted.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
    let mut out = vec![0; keys.len()];
    for (rank, at) in (0..).zip(sorted) {
        out[at] = rank;
    }
    out
}

/// Order and times must not contradict each other.
fn check_starts(lines: &[PlaceTexts<'_>], slots: &[u32], starts: &[i128]) -> Result<(), String> {
    if lines.iter().all(|line| line.order.is_none()) {
        return Ok(());
    }
    let mut in_order: Vec<usize> = (0..lines.len()).collect();
    in_order.sort_by_key(|at| slots[*at]);
    match in_order
        .windows(2)
        .find(|pair| starts[pair[1]] < starts[pair[0]])
    {
        None => Ok(()),
        Some(pair) => Err(format!(
            "line {}: order and start contradict each other: it began before line {}, which stands before it in the order",
            lines[pair[1]].line, lines[pair[0]].line
        )),
    }
}

/// Blocks as the order of the slots shows them: in each row, so many slots after each other as there
/// are arms hold each arm once. `None` where they do not.
fn blocks_of_order(lines: &[PlaceTexts<'_>], slots: &[u32]) -> Option<Vec<u32>> {
    let arms: BTreeSet<&str> = lines.iter().map(|line| line.arm).collect();
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        rows.entry(&line.row).or_default().push(at);
    }
    let mut out = vec![0; lines.len()];
    for of_row in rows.values_mut() {
        of_row.sort_by_key(|at| slots[*at]);
        for (block, slots) in (0..).zip(of_row.chunks(arms.len())) {
            let distinct: BTreeSet<&str> = slots.iter().map(|at| lines[*at].arm).collect();
            if distinct.len() < arms.len() {
                return None;
            }
            for at in slots {
                out[*at] = block;
            }
        }
    }
    Some(out)
}

/// How many lines of the same arm and row stand before each.
fn repetitions<'a>(lines: &[PlaceTexts<'a>]) -> Vec<u32> {
    let mut seen: BTreeMap<(&str, String), u32> = BTreeMap::new();
    let number = |line: &PlaceTexts<'a>| {
        let count = seen.entry((line.arm, line.row.clone())).or_default();
        *count += 1;
        *count - 1
    };
    lines.iter().map(number).collect()
}

/// A block holds one good slot of an arm.
fn check_blocks(lines: &[PlaceTexts<'_>], blocks: &[u32]) -> Result<(), String> {
    let mut seen: BTreeMap<(&str, &str, u32), usize> = BTreeMap::new();
    for (line, block) in lines
        .iter()
        .zip(blocks)
        .filter(|(line, _)| !line.has_failed)
    {
        let PlaceTexts { arm, row, .. } = line;
        if let Some(first) = seen.insert((*arm, row.as_str(), *block), line.line) {
            return Err(format!(
                "line {}: {arm} stands twice in block {} of {row}, first in line {first}; a block holds each arm once",
                line.line,
                line.block.unwrap_or_default()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line<'a>(arm: &'a str, texts: [&'a str; 3]) -> PlaceTexts<'a> {
        let [block, order, start] = texts.map(|text| (!text.is_empty()).then_some(text));
        PlaceTexts {
            line: 2,
            arm,
            row: "run".into(),
            has_failed: false,
            block,
            order,
            start,
        }
    }

    fn found(lines: &[(&str, [&str; 3])]) -> (Vec<(u32, u32)>, Vec<UnsaidPlace>) {
        let lines: Vec<_> = lines.iter().map(|(arm, texts)| line(arm, *texts)).collect();
        let places = places(&lines).unwrap();
        let unsaid = places[0].unsaid.clone();
        let numbers = places.iter().map(|place| (place.block, place.slot));
        (numbers.collect(), unsaid)
    }

    #[test]
    fn numbers_may_begin_anywhere_and_gaps_stay() {
        let table = [
            ("a", ["5", "11", ""]),
            ("b", ["5", "10", ""]),
            ("a", ["7", "13", ""]),
            ("b", ["7", "14", ""]),
        ];
        assert_eq!(
            found(&table),
            (vec![(0, 1), (0, 0), (2, 3), (2, 4)], vec![])
        );
    }

    #[test]
    fn an_order_within_each_block_is_an_order_of_all() {
        let table = [
            ("a", ["1", "2", ""]),
            ("b", ["1", "1", ""]),
            ("a", ["2", "1", ""]),
            ("b", ["2", "2", ""]),
        ];
        assert_eq!(
            found(&table),
            (vec![(0, 1), (0, 0), (1, 2), (1, 3)], vec![])
        );
    }

    #[test]
    fn blocks_are_found_in_an_order_that_has_them_and_in_no_other() {
        let of = |arms: &str| {
            let numbers: Vec<String> = (1..).take(arms.len()).map(|n| n.to_string()).collect();
            let lines: Vec<_> = (0..arms.len())
                .map(|at| (&arms[at..=at], ["", numbers[at].as_str(), ""]))
                .collect();
            found(&lines)
        };
        assert_eq!(of("abba"), (vec![(0, 0), (0, 1), (1, 2), (1, 3)], vec![]));
        let (places, unsaid) = of("aabb");
        assert_eq!(unsaid, [UnsaidPlace::Block]);
        assert_eq!(places, [(0, 0), (1, 1), (0, 2), (1, 3)]);
    }

    #[test]
    fn the_time_of_the_start_is_an_order_unless_two_arms_share_it() {
        let [early, late] = ["2026-01-30T17:08:00Z", "2026-01-30T18:09:00+00:00"];
        let table = [("a", ["", "", late]), ("b", ["", "", early])];
        assert_eq!(found(&table), (vec![(0, 1), (0, 0)], vec![]));
        let tied = [("a", ["", "", late]), ("b", ["", "", late])];
        assert_eq!(found(&tied).1, [UnsaidPlace::Order, UnsaidPlace::Block]);
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_its_line() {
        let refused = |lines: &[(&str, [&str; 3])]| {
            let lines: Vec<_> = lines.iter().map(|(arm, texts)| line(arm, *texts)).collect();
            places(&lines).unwrap_err()
        };
        for (lines, expected) in [
            (
                [("a", ["", "3", ""]), ("b", ["", "3", ""])],
                "order 3 stands for two slots",
            ),
            (
                [("a", ["1", "1", ""]), ("a", ["1", "2", ""])],
                "a stands twice in block 1 of run",
            ),
            (
                [("a", ["", "", "noon"]), ("b", ["", "", "1"])],
                "\"noon\" is no time such as",
            ),
            (
                [("a", ["x", "", ""]), ("b", ["1", "", ""])],
                "block: \"x\" is no whole number",
            ),
            (
                [
                    ("a", ["", "1", "2026-01-30T18:00:00Z"]),
                    ("b", ["", "2", "2026-01-30T17:00:00Z"]),
                ],
                "order and start contradict each other",
            ),
        ] {
            let why = refused(&lines);
            assert!(
                why.contains(expected) && why.starts_with("line 2"),
                "{expected}: {why}"
            );
        }
    }
}
