//! The few numbers that people ask a disk for, side by side: sequential and random, deep and one at
//! a time, read and write.
//!
//! A place on the card belongs to a workload, whatever its row is called: rows that differ in
//! nothing but whether they read or write share a line. The device itself comes first: where rows
//! with direct I/O are known, what memory answered is not on the card.

use super::{CellValue, Findings, ends};
use analyze::{Severity, Study, StudyRow};
use record::Quantity;
use units::Bytes;

/// Lines that a card has room for.
const MOST: usize = 4;

/// The numbers of the only arm.
pub(crate) struct Card {
    /// Whether the page cache was out of the way.
    pub(crate) is_direct: bool,
    /// Sequential ones first, and the deeper queue first.
    pub(crate) lines: Vec<CardLine>,
}

/// One workload.
pub(crate) struct CardLine {
    pub(crate) name: String,
    /// In words.
    pub(crate) what: String,
    /// Reading and writing.
    pub(crate) cells: [Option<CardCell>; 2],
}

/// One number.
pub(crate) struct CardCell {
    pub(crate) row: usize,
    pub(crate) number: String,
    pub(crate) unit: String,
    /// The interval or range.
    pub(crate) around: Option<String>,
    /// The other quantity that people know it by.
    pub(crate) also: Option<String>,
    /// Of the longest bar of its quantity.
    pub(crate) length: f64,
    pub(crate) whisker: Option<(f64, f64)>,
    /// The gravest finding about its row.
    pub(crate) mark: Option<Severity>,
}

/// What two rows of one line have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    is_random: bool,
    block_bytes: u64,
    depth: u64,
    threads: u64,
    is_direct: bool,
}

/// A row that may stand on a card.
#[derive(Clone, Copy, Debug)]
struct Place {
    shape: Shape,
    /// 0: reading, 1: writing.
    side: usize,
    row: usize,
}

/// The card of a study of one arm; `None` where no line of it would hold both reading and writing.
pub(super) fn card(study: &Study, found: &Findings<'_>) -> Option<Card> {
    if study.arms.len() != 1 {
        return None;
    }
    let rows = study.rows.iter().enumerate();
    let mut places: Vec<Place> = rows.filter_map(|(index, row)| place(index, row)).collect();
    let is_paired = |is_direct: bool| {
        places.iter().any(|a| {
            let same = |b: &&Place| b.shape == a.shape && b.side != a.side;
            a.shape.is_direct == is_direct && places.iter().any(|b| same(&b))
        })
    };
    let is_direct = is_paired(true);
    if !is_direct && !is_paired(false) {
        return None;
    }
    places.retain(|place| place.shape.is_direct == is_direct);
    let mut shapes: Vec<Shape> = Vec::new();
    for place in &places {
        if !shapes.contains(&place.shape) {
            shapes.push(place.shape);
        }
    }
    // A curve over depths has many rows that only read: pairs come first.
    let sides = |shape: &Shape| places.iter().filter(|at| at.shape == *shape).count();
    shapes.sort_by_key(|shape| std::cmp::Reverse(sides(shape).min(2)));
    shapes.truncate(MOST);
    shapes.retain(|shape| sides(shape) > 1);
    shapes.sort_by_key(|shape| (shape.is_random, std::cmp::Reverse(shape.depth)));
    let of = |shape: &Shape, side: usize| {
        let mut here = places.iter();
        let place = here.find(|at| at.shape == *shape && at.side == side)?;
        cell(study, found, place)
    };
    let mut lines: Vec<CardLine> = shapes
        .iter()
        .map(|shape| CardLine {
            name: shape.name(),
            what: shape.what(),
            cells: [0, 1].map(|side| of(shape, side)),
        })
        .collect();
    scale(&shapes, &mut lines);
    Some(Card { is_direct, lines })
}

/// The bars of one quantity are drawn to one scale.
fn scale(shapes: &[Shape], lines: &mut [CardLine]) {
    for is_random in [false, true] {
        let of_kind = |index: usize| shapes[index].is_random == is_random;
        let cells = |lines: &[CardLine]| -> f64 {
            let lines = lines
                .iter()
                .enumerate()
                .filter(|(index, _)| of_kind(*index));
            let cells = lines.flat_map(|(_, line)| line.cells.iter().flatten());
            let ends = cells.map(|cell| cell.whisker.map_or(cell.length, |(_, high)| high));
            ends.fold(0.0, f64::max)
        };
        let longest = cells(lines);
        if longest <= 0.0 {
            continue;
        }
        for (index, line) in lines.iter_mut().enumerate() {
            for cell in line.cells.iter_mut().flatten().filter(|_| of_kind(index)) {
                cell.length /= longest;
                cell.whisker = cell
                    .whisker
                    .map(|(low, high)| (low / longest, high / longest));
            }
        }
    }
}

impl Shape {
    fn name(self) -> String {
        let order = if self.is_random { "RND" } else { "SEQ" };
        let block = Bytes(self.block_bytes).to_string();
        let block = block.replace(" KiB", "K").replace(" MiB", "M");
        format!("{order}{block} Q{}T{}", self.depth, self.threads)
    }

    fn what(self) -> String {
        let order = if self.is_random {
            "random"
        } else {
            "sequential"
        };
        let at_a_time = match self.depth * self.threads {
            1 => "one at a time".to_owned(),
            n => format!("{n} at a time"),
        };
        format!("{order}, {}, {at_a_time}", Bytes(self.block_bytes))
    }
}

fn place(index: usize, row: &StudyRow) -> Option<Place> {
    let side = match row.operations.as_slice() {
        [only] if only == "read" => 0,
        [only] if only == "write" => 1,
        _ => return None,
    };
    let option = |key: &str| {
        let fact = row.workload.iter().find(|fact| fact.key == key)?;
        fact.values.first()?.as_deref()
    };
    let number = |key: &str| option(key)?.parse::<u64>().ok();
    Some(Place {
        shape: Shape {
            is_random: option("random")? == "true",
            block_bytes: Bytes::parse(option("block-size")?).ok()?.0,
            depth: number("queue-depth")?,
            threads: number("threads")?,
            is_direct: option("direct")? == "true",
        },
        side,
        row: index,
    })
}

fn cell(study: &Study, found: &Findings<'_>, place: &Place) -> Option<CardCell> {
    let row = &study.rows[place.row];
    let kind = row.operations.first()?;
    let cell = row.cells.first()?.as_ref()?;
    let names = if place.shape.is_random {
        ["iops", "throughput"]
    } else {
        ["throughput", "iops"]
    };
    let [figure, other] = names.map(|name| cell.figure(kind, &Quantity::named(name)));
    let figure = figure?;
    let value = CellValue::Figure(figure);
    let text = value.text();
    let (number, unit) = match text.split_once(' ') {
        Some((number, unit)) => (number.to_owned(), unit.to_owned()),
        None => (text, figure.metric.title()),
    };
    Some(CardCell {
        row: place.row,
        number,
        unit,
        around: value.around(),
        also: other.filter(|other| other.point.is_some()).map(|other| {
            match other.metric.is("iops") {
                true => format!("{} IOPS", CellValue::Figure(other).text()),
                false => CellValue::Figure(other).text(),
            }
        }),
        length: figure.point?,
        whisker: ends(figure),
        mark: found.mark(place.row),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example::profile;
    use analyze::{StudyOptions, study};

    fn names(card: &Card) -> Vec<(&str, [Option<&str>; 2])> {
        let cells = |line: &CardLine| {
            let text = |cell: &Option<CardCell>| cell.as_ref().map(|cell| cell.row);
            line.cells.each_ref().map(text)
        };
        let of = |line: &CardLine| cells(line).map(|row| row.map(|_| "there"));
        card.lines
            .iter()
            .map(|line| (line.name.as_str(), of(line)))
            .collect()
    }

    fn of(rows: &[(&str, &str, bool)]) -> Study {
        study(&profile(rows), &StudyOptions::default())
    }

    #[test]
    fn the_eight_numbers_stand_in_their_order_whatever_the_rows_are_called() {
        let study = of(&[
            ("RND4K Q1T1", "write", true),
            ("RND4K Q1T1", "read", true),
            ("SEQ1M Q8T1", "read", true),
            ("SEQ1M Q8T1", "write", true),
            ("SEQ1M Q8T1", "read", false),
            ("RND4K Q4T1", "read", true),
        ]);
        let card = card(&study, &Findings::of(&study)).unwrap();
        let both = [Some("there"); 2];
        assert!(card.is_direct);
        assert_eq!(names(&card), [("SEQ1M Q8T1", both), ("RND4K Q1T1", both)]);
        let first = card.lines[0].cells[0].as_ref().unwrap();
        assert!(first.unit.ends_with("/s") && !first.number.is_empty());
        assert_eq!(card.lines[1].cells[1].as_ref().unwrap().unit, "IOPS");
        assert!((0.0..=1.0).contains(&first.length), "{}", first.length);
    }

    #[test]
    fn where_nothing_is_direct_the_card_says_so_and_one_side_alone_is_none() {
        let cached = of(&[
            ("SEQ1M Q8T1", "read", false),
            ("SEQ1M Q8T1", "write", false),
        ]);
        let found = card(&cached, &Findings::of(&cached)).unwrap();
        assert!(!found.is_direct);
        let reads = of(&[("SEQ1M Q8T1", "read", true)]);
        assert!(card(&reads, &Findings::of(&reads)).is_none());
    }
}
