//! One run has no interval, whatever its own scatter looks like.

use super::finding;
use crate::{Finding, Severity};
use record::Record;

pub(super) const RULE: &str = "single_observation";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    if record.kind == super::CLAIM {
        return Vec::new();
    }
    let message = "single observation: no interval".to_owned();
    let advice = "one run cannot say how far the next would differ: repeat in fresh runs before comparing or quoting";
    vec![finding(RULE, Severity::Note, message, advice)]
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
