//! One run has no interval, whatever its own scatter looks like.

use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "single_observation",
    catalogue_number: Some(31),
    severity: Severity::Note,
    title: "One run has no interval",
    text: "\
Every record says it of itself: it is one run, whatever its own scatter looks like.
The scatter within a run is not the scatter between runs. A run whose seconds vary by
0.3 % can differ from the next by 30 %: another placement of the file, another neighbour
on the host, another boot. Two single runs that differ by 5 % show nothing at all.
What to do: repeat in at least six fresh runs before quoting, and in randomised blocks
before comparing; fathom compare does both.",
    checks: &[Check::Alone(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    if record.kind == super::CLAIM {
        return Vec::new();
    }
    let message = "single observation: no interval".to_owned();
    let advice = "one run cannot say how far the next would differ: repeat in fresh runs before comparing or quoting";
    vec![RULE.finding(Severity::Note, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, sound};
    use super::*;

    #[test]
    fn every_record_is_one() {
        assert_eq!(only(&check(&sound())), "single observation: no interval");
        assert_eq!(
            check(&Record {
                kind: "claim".into(),
                ..sound()
            }),
            []
        );
    }
}
