//! Repetitions that the user declares.

use crate::origin::is_same_work;
use record::{Record, Repeat};

/// Declares records of the same work on the same target to be repetitions of each other, in the
/// order in which they stand here, from whatever files they come. Records of other work, targets or
/// hosts stay apart.
pub fn declare_repetitions(records: &mut [Record]) {
    let mut done = vec![false; records.len()];
    for first in 0..records.len() {
        if done[first] {
            continue;
        }
        let of = format!("repeats-{}", records[first].id);
        let same: Vec<usize> = (first..records.len())
            .filter(|at| is_same_work(&records[first], &records[*at]))
            .collect();
        for (number, at) in (0..).zip(same.into_iter().chain([first])) {
            if !std::mem::replace(&mut done[at], true) {
                records[at].repeat = Some(Repeat {
                    of: of.clone(),
                    number,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TargetFact;

    fn on(id: &str, target: &str) -> Record {
        let targets = vec![TargetFact {
            path: target.into(),
            ..TargetFact::default()
        }];
        Record {
            id: id.into(),
            targets,
            asked: [("bs".to_owned(), "4k".to_owned())].into(),
            ..Record::default()
        }
    }

    #[test]
    fn the_same_work_on_the_same_target_is_numbered_in_order() {
        let mut records = [on("1", "a"), on("2", "b"), on("3", "a"), on("4", "a")];
        declare_repetitions(&mut records);
        let shown: Vec<(String, u32)> = records
            .iter()
            .filter_map(|r| r.repeat.clone())
            .map(|repeat| (repeat.of, repeat.number))
            .collect();
        let a = |number| ("repeats-1".to_owned(), number);
        assert_eq!(shown, [a(0), ("repeats-2".to_owned(), 0), a(1), a(2)]);
    }
}
