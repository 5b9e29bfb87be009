//! A profile that is under way: its table fills in while it runs.

use super::{LiveState, NowTable, about};
use analyze::{LevelLine, LevelsSoFar, TriedRows};
use record::{Quantity, SlotPlace};
use stats::Estimate;

/// From so many slots on the time that they took tells more than the plan.
const ENOUGH_SLOTS: u32 = 12;

/// What is known of a profile while it runs.
#[derive(Clone, Copy, Debug)]
pub struct ProfileNow<'a> {
    pub tried_rows: &'a TriedRows,
    pub levels: &'a LevelsSoFar,
    /// The slot that runs.
    pub place: Option<&'a SlotPlace<'a>>,
}

impl ProfileNow<'_> {
    /// What is shown of it.
    #[must_use]
    pub fn now(&self) -> LiveState {
        let running = self.place.map_or_else(
            || "measured".to_owned(),
            |place| {
                format!(
                    "pass {} of {}: {}",
                    place.pass + 1,
                    passes(place),
                    place.row
                )
            },
        );
        let course = self
            .place
            .map(|place| format!("{} left", about(left_ns(place))));
        LiveState {
            running,
            course: course.unwrap_or_default(),
            share: self
                .place
                .map(|place| f64::from(place.slot) / f64::from(place.planned_slots.max(1))),
            left_out: Vec::new(),
            note: self.note(),
            table: self.table(),
            picture: None,
        }
    }

    /// How the table is read.
    fn note(&self) -> String {
        let is_any_tried = self.lines().iter().any(|line| line.is_tried);
        let tried = if is_any_tried {
            "~ was tried for a moment and counts for nothing. "
        } else {
            ""
        };
        format!("{tried}Levels so far; an interval of 95 % stands from the sixth pass on.")
    }

    /// The lines of all rows that are known; of a row that has no level yet what it gave when it was
    /// tried.
    fn lines(&self) -> Vec<Line<'_>> {
        if self.levels.rows().is_empty() {
            let rows = self.tried_rows.rows().iter();
            return rows.flat_map(|row| self.tried(row)).collect();
        }
        let levels = self.levels.lines().into_iter();
        let of_row = |level: LevelLine| {
            let row = self.levels.rows()[level.row].as_str();
            if level.kind.is_empty() {
                return self.tried(row);
            }
            vec![Line {
                row,
                level,
                is_tried: false,
            }]
        };
        levels.flat_map(of_row).collect()
    }

    fn tried<'s>(&self, row: &'s str) -> Vec<Line<'s>> {
        let line = |level: LevelLine| Line {
            row,
            is_tried: !level.kind.is_empty(),
            level,
        };
        let mut levels = self.tried_rows.lines_of(row);
        if levels.is_empty() {
            levels.push(LevelLine::default());
        }
        levels.into_iter().map(line).collect()
    }

    fn table(&self) -> NowTable {
        let lines = self.lines();
        let running = self.place.map(|place| place.row);
        let current = lines.iter().position(|line| Some(line.row) == running);
        let head = |text: &str, priority| (text.to_owned(), priority);
        NowTable {
            heads: vec![
                head("Row", 9),
                head("Operation", 3),
                head("Bandwidth", 7),
                head("IOPS", 8),
                head("p99", 6),
                head("n", 2),
            ],
            lines: lines.iter().map(Line::cells).collect(),
            current,
            urgent: Vec::new(),
        }
    }
}

/// A line of the table.
struct Line<'a> {
    row: &'a str,
    level: LevelLine,
    is_tried: bool,
}

impl Line<'_> {
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.row.to_owned(), self.level.kind.clone()];
        let sign = if self.is_tried { "~" } else { "" };
        for (name, level) in LevelsSoFar::SHOWN.iter().zip(&self.level.levels) {
            let level = level.as_ref();
            cells.push(level.map_or_else(String::new, |of| format!("{sign}{}", text(name, of))));
        }
        let n = self.level.levels.iter().flatten().map(|level| level.n);
        let n = n.max().map(|n| if self.is_tried { 0 } else { n });
        cells.push(n.map_or_else(String::new, |n| n.to_string()));
        cells
    }
}

fn text(name: &str, level: &Estimate) -> String {
    let unit = Quantity::named(name).unit();
    let point = unit.number(level.point.exp());
    if name == "iops" && level.high.is_finite() {
        let half = 100.0 * level.half_width().exp_m1();
        return format!("{point} ±{half:.1} %");
    }
    point
}

fn passes(place: &SlotPlace<'_>) -> u32 {
    place.planned_slots / place.slots_per_pass.max(1)
}

/// What the slots that are left will take at the pace of those before; at first, what the plan
/// leaves.
fn left_ns(place: &SlotPlace<'_>) -> u64 {
    if place.slot < ENOUGH_SLOTS {
        return place.budget_ns.saturating_sub(place.elapsed_ns);
    }
    let left = place.planned_slots.saturating_sub(place.slot);
    (place.elapsed_ns / u64::from(place.slot)).saturating_mul(left.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Measurements, Operations, Record, Trial};

    fn place(slot: u32, elapsed_ns: u64) -> SlotPlace<'static> {
        SlotPlace {
            row: "SEQ1M read",
            arm: "a",
            pass: slot / 24,
            attempt: 0,
            slot,
            planned_slots: 144,
            slots_per_pass: 24,
            elapsed_ns,
            budget_ns: 150_000_000_000,
        }
    }

    #[test]
    fn the_time_left_is_the_plan_s_at_first_and_then_that_of_the_slots() {
        let left = |slot, elapsed_ns| about(left_ns(&place(slot, elapsed_ns)));
        assert_eq!(left(2, 2_000_000_000), "2 min 28 s");
        assert_eq!(left(72, 90_000_000_000), "90 s");
        assert_eq!(left(150, 200_000_000_000), "0 s");
    }

    #[test]
    fn the_table_fills_in_while_it_runs() {
        let mut levels = LevelsSoFar::new(vec!["SEQ1M read".into(), "RND4K Q1 read".into()]);
        let mut operations = Measurements::default();
        operations.insert(
            "read",
            Operations {
                count: 2500,
                bytes: 2500 << 20,
                ..Operations::default()
            },
        );
        levels.add(&Record {
            elapsed_ns: 1_000_000_000,
            operations,
            trial: Some(Trial::default()),
            ..Record::default()
        });
        let place = place(24, 40_000_000_000);
        let tried_rows = tried();
        let now = ProfileNow {
            tried_rows: &tried_rows,
            levels: &levels,
            place: Some(&place),
        };
        insta::assert_snapshot!(now.now().text(80, 24), @r#"
        ████░░░░░░░░░░░░░░░░░░░░ pass 2 of 6: SEQ1M read
        3 min 20 s left
        Row            Operation    Bandwidth    IOPS  p99  n
        SEQ1M read          read   2.44 GiB/s   2.50K       1
        RND4K Q1 read       read  ~19.5 MiB/s  ~5.00K       0
        ~ was tried for a moment and counts for nothing. Levels so far; an interval of
        95 % stands from the sixth pass on.
        "#);
        let before = ProfileNow {
            tried_rows: &tried_rows,
            levels: &LevelsSoFar::default(),
            place: None,
        };
        let state = LiveState::done("trying every row once, 2 of 2: RND4K Q1 read".into(), 2, 2);
        insta::assert_snapshot!(state.above(before.now()).text(80, 24), @r#"
        ████████████████████████ trying every row once, 2 of 2: RND4K Q1 read
        Row            Operation    Bandwidth    IOPS  p99  n
        SEQ1M read          read  ~1.76 MiB/s    ~450       0
        RND4K Q1 read       read  ~19.5 MiB/s  ~5.00K       0
        ~ was tried for a moment and counts for nothing. Levels so far; an interval of
        95 % stands from the sixth pass on.
        "#);
    }

    /// Of two rows, of which the first has been measured since.
    fn tried() -> TriedRows {
        let mut tried = TriedRows::default();
        for (row, count) in [("SEQ1M read", 9), ("RND4K Q1 read", 100)] {
            let mut record = Record {
                elapsed_ns: 20_000_000,
                ..Record::default()
            };
            let read = Operations {
                count,
                bytes: count << 12,
                ..Operations::default()
            };
            record.operations.insert("read", read);
            tried.add(row, &record);
        }
        tried
    }
}
