//! Circumstances and options of the arms in words.

use analyze::{Fact, Study};
use std::collections::BTreeSet;

/// The options that say what a row does.
const TELLING: [&str; 14] = [
    "engine",
    "block-size",
    "object-size",
    "random",
    "distribution",
    "read-percent",
    "mix",
    "queue-depth",
    "threads",
    "users",
    "direct",
    "fsync",
    "file-size",
    "duration",
];

/// With more arms than this, values are listed without saying whose they are.
const MOST_BY_ARM: usize = 4;

/// Facts in which arms differ, a column an arm, under `corner`; `None` where there are none.
pub(crate) fn differing(study: &Study, corner: &str) -> Option<Vec<Vec<String>>> {
    let arms = study.arms.iter().map(|arm| arm.name.clone());
    let mut lines: Vec<Vec<String>> =
        vec![std::iter::once(corner.to_owned()).chain(arms).collect()];
    for fact in study.environments.iter().filter(|fact| fact.differs) {
        let values = fact.values.iter();
        let values = values.map(|value| value.clone().unwrap_or_else(|| "unknown".into()));
        lines.push(std::iter::once(fact.key.clone()).chain(values).collect());
    }
    (lines.len() > 1).then_some(lines)
}

/// Facts on which the arms agree, in one sentence.
pub(crate) fn agreeing(facts: &[Fact]) -> String {
    let same = facts.iter().filter(|fact| !fact.differs);
    same.filter_map(agreed).collect::<Vec<_>>().join("; ")
}

fn agreed(fact: &Fact) -> Option<String> {
    Some(format!(
        "{} {}",
        fact.key,
        fact.values.iter().flatten().next()?
    ))
}

/// What a row does, where the arms agree; and in what they do not.
pub(crate) fn told(study: &Study, row: usize) -> [Option<String>; 2] {
    let row = &study.rows[row];
    let same = TELLING.iter().filter_map(|key| {
        let mut facts = row.workload.iter();
        agreed(facts.find(|fact| fact.key == **key && !fact.differs)?)
    });
    let present = |fact: &Fact| -> String {
        let arms = study.arms.iter().zip(&row.cells).zip(&fact.values);
        let values: Vec<(&str, &str)> = arms
            .filter(|((_, cell), _)| cell.is_some())
            .map(|((arm, _), text)| (arm.name.as_str(), text.as_deref().unwrap_or("unknown")))
            .collect();
        if values.len() <= MOST_BY_ARM {
            let values = values.iter().map(|(arm, value)| format!("{arm}: {value}"));
            return values.collect::<Vec<_>>().join(", ");
        }
        let values: BTreeSet<&str> = values.iter().map(|(_, value)| *value).collect();
        values.into_iter().collect::<Vec<_>>().join(" | ")
    };
    let differing = row.workload.iter().filter(|fact| fact.differs);
    let differing = differing.map(|fact| format!("{} ({})", fact.key, present(fact)));
    [same.collect(), differing.collect()]
        .map(|parts: Vec<String>| Some(parts.join(", ")).filter(|text| !text.is_empty()))
}
