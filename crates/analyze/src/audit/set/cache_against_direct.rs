//! The same work without O_DIRECT, much faster: the page cache answered.

use super::{Experiment, Located, is_direct, is_same_work, level};
use crate::audit::served_from_cache::RULE;
use crate::{Effective, Severity};
use record::Record;

const MOST_FACTOR: f64 = 2.0;

pub(in crate::audit) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let of = |direct| {
        experiment
            .slots
            .iter()
            .filter(move |(_, record)| is_direct(record) == Some(direct))
    };
    // The best direct result of each kind of work: an experiment has many slots and few kinds.
    let mut direct: Vec<(&Record, (&str, f64))> = Vec::new();
    for (record, ours) in of(true).filter_map(|(_, record)| Some((*record, level(record)?))) {
        match direct
            .iter_mut()
            .find(|(known, (unit, _))| *unit == ours.0 && is_same_work(known, record))
        {
            Some((_, best)) => best.1 = best.1.max(ours.1),
            None => direct.push((record, ours)),
        }
    }
    let pairs = of(false).filter_map(|(index, buffered)| {
        let (unit, ours) = level(buffered)?;
        let (_, (_, best)) = direct
            .iter()
            .find(|(known, (other, _))| *other == unit && is_same_work(known, buffered))?;
        let factor = ours / best;
        (factor > MOST_FACTOR).then_some((*index, *buffered, factor))
    });
    pairs
        .map(|(index, record, factor)| {
            let asked = Effective::of(record).text("cache") == Some("warm");
            let severity = if asked { Severity::Note } else { Severity::Invalid };
            let message = format!("{factor:.0} times the direct result of the same work: the page cache answered, not the device");
            let advice =
                "call it a result of the cache (--cache warm), or measure the device with --direct or with a flush in the measured time";
            RULE.about(Some(index), severity, message, advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, quoted, set};
    use super::super::run_on;
    use super::*;
    use record::{Record, Summary};

    fn write(direct: &str, per_second: f64) -> Record {
        let mut record = quoted(
            "write",
            Summary {
                per_second: Some(per_second),
                ..Summary::default()
            },
        );
        set(&mut record, "block-size", "4k");
        set(&mut record, "direct", direct);
        record
    }

    #[test]
    fn a_buffered_result_far_above_the_direct_one_is_found() {
        let found = run_on(
            check,
            &[
                write("false", 363_000.0),
                write("true", 5960.0),
                write("true", 4000.0),
            ],
        );
        assert_eq!(
            only(&found),
            "61 times the direct result of the same work: the page cache answered, not the device"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn a_warm_cache_other_work_and_equal_results_are_not_accused() {
        let mut warm = write("false", 363_000.0);
        set(&mut warm, "cache", "warm");
        assert_eq!(
            run_on(check, &[warm, write("true", 5960.0)])[0].severity,
            Severity::Note
        );
        let mut large = write("false", 363_000.0);
        set(&mut large, "block-size", "1M");
        assert_eq!(run_on(check, &[large, write("true", 5960.0)]), []);
        assert_eq!(
            run_on(check, &[write("false", 6000.0), write("true", 5960.0)]),
            []
        );
    }
}
