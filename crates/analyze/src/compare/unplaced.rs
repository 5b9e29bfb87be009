//! Why nothing can be compared: what is known of the places of slots, or slots that all failed.

use record::{Record, UnsaidPlace};
use stats::{CARRY_OVER_ALPHA, Drift, Reason};

/// Why there is nothing to compare: a side of which no slot ended well, or none was begun.
pub(super) fn nothing_usable(
    sides: &[Vec<&Record>; 2],
    usable: &[Vec<&Record>; 2],
    names: [&str; 2],
) -> Option<Reason> {
    let lost = (0..2).find(|side| usable[*side].is_empty())?;
    let name = names[lost];
    let mut why = sides[lost]
        .iter()
        .rev()
        .filter_map(|record| record.outcome.message.as_deref());
    let why = why.next().map_or_else(String::new, |why| {
        let line = why.lines().next().unwrap_or_default();
        format!(", the last because {}", shortened(line))
    });
    Some(Reason::Audit(match sides[lost].len() {
        0 => format!("no slot of {name} was run"),
        1 => format!(
            "the only slot of {name} failed{}",
            why.replacen(", the last", "", 1)
        ),
        n => format!("all {n} slots of {name} failed{why}"),
    }))
}

/// A line that may be as long as a foreign program likes.
fn shortened(line: &str) -> String {
    const SHOWN: usize = 300;
    match line.char_indices().nth(SHOWN) {
        None => line.to_owned(),
        Some((at, _)) => format!("{} …", &line[..at]),
    }
}

/// What a table that another harness wrote leaves open of the places of its slots.
pub(super) fn cannot_be_placed(records: &[Record]) -> Option<Reason> {
    let trials = || records.iter().filter_map(|record| record.trial.as_ref());
    let lacks = |part| trials().any(|trial| trial.lacks(part));
    let text = match (lacks(UnsaidPlace::Order), lacks(UnsaidPlace::Block)) {
        (false, false) => return None,
        (true, false) => {
            "order aliased with arm: the table does not say in which order its slots ran, so time and arm cannot be separated"
        }
        (false, true) => {
            "no repetition: the table does not say which slots belong to one block, and in the order in which they ran they are none"
        }
        (true, true) => {
            "order aliased with arm, no repetition: the table says neither in which order its slots ran nor which of them belong to one block, so time and arm cannot be separated, and no interval is possible"
        }
    };
    Some(Reason::Audit(text.into()))
}

/// Where one arm ran after the other, and each only once a row, more than the order is missing.
pub(super) fn in_windows(aliased: Reason, measured: usize) -> Reason {
    if measured > 1 {
        return aliased;
    }
    Reason::Audit(
        "order aliased with arm, no repetition: one side ran after the other, and once a row, so time and arm cannot be separated, and no interval is possible. Measure them in randomised blocks: fathom compare --run, fathom lab".into(),
    )
}

/// Where it matters which arm ran before, nobody knows what a difference is of.
pub(super) fn seen_carry_over(drift: Option<&Drift>) -> Option<Reason> {
    let p = drift.and_then(|drift| drift.predecessor_p)?;
    (p < CARRY_OVER_ALPHA).then_some(Reason::CarryOver { p })
}
