//! A result called random must come from random offsets.

use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "label_vs_pattern",
    catalogue_number: Some(15),
    severity: Severity::Invalid,
    title: "The name says random and the offsets were sequential, or the reverse",
    text: "\
Words of the record's name, or of its row (random, rand, rnd; sequential, seq), against
the effective option `random`. Names with both words or neither are left alone.
Sequential offsets are merged, prefetched and kept in caches: on a disk they are 100
times as fast as random ones, on flash 2 to 5 times. \"4K Random Read\" with --rw=read is
a sequential result under the name of the harder test.
What to do: rename the result, or run the pattern that its name promises.",
    checks: &[Check::Each(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let Some(random) = Effective::of(record)
        .text("random")
        .and_then(|text| text.parse::<bool>().ok())
    else {
        return Vec::new();
    };
    let row = record.trial.as_ref().map(|trial| trial.row.as_str());
    let labels = [Some(record.name.as_str()), row];
    let wrong = labels
        .into_iter()
        .flatten()
        .find(|label| called_random(label).is_some_and(|called| called != random));
    let Some(label) = wrong else {
        return Vec::new();
    };
    let [called, was] = if random {
        ["sequential", "random"]
    } else {
        ["random", "sequential"]
    };
    let message = format!("{label:?} is called {called}, and its offsets were {was}");
    let advice = "rename the result, or run the pattern that its name promises: the two differ by orders of magnitude on most media";
    vec![RULE.finding(Severity::Invalid, message, advice)]
}

/// What the words of a name promise; `None` if they promise nothing or both.
fn called_random(name: &str) -> Option<bool> {
    let words = || {
        name.split(|c: char| !c.is_alphabetic())
            .map(str::to_ascii_lowercase)
    };
    let random = words().any(|word| {
        word == "rnd"
            || word == "rand"
            || word == "random"
            || word.starts_with("randr")
            || word.starts_with("randw")
    });
    let sequential = words().any(|word| {
        word == "seq"
            || word == "sequential"
            || word.starts_with("seqr")
            || word.starts_with("seqw")
    });
    (random != sequential).then_some(random)
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;
    use record::Trial;

    #[test]
    fn sequential_reads_called_random_are_found() {
        let mut record = Record {
            name: "4K Random Read".into(),
            ..sound()
        };
        assert_eq!(check(&record), []);
        set(&mut record, "random", "false");
        assert_eq!(
            only(&check(&record)),
            "\"4K Random Read\" is called random, and its offsets were sequential"
        );
        record.effective.remove("random");
        assert_eq!(check(&record), []);
    }

    #[test]
    fn the_row_of_a_profile_is_a_name_too() {
        let trial = Trial {
            row: "SEQ1M Q8T1".into(),
            ..Trial::default()
        };
        assert_eq!(
            check(&Record {
                trial: Some(trial),
                ..sound()
            })[0]
                .severity,
            Severity::Invalid
        );
    }

    #[test]
    fn names_that_promise_nothing_or_both_are_silent() {
        for name in ["read_test", "random and sequential", "seqlock", "", "brand"] {
            assert_eq!(called_random(name), None, "{name}");
        }
        assert_eq!(
            [
                called_random("randread-4k"),
                called_random("RND4K Q1T1"),
                called_random("seq_write")
            ],
            [Some(true), Some(true), Some(false)]
        );
    }
}
