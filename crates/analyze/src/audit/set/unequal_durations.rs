//! Arms measured for different times are at different ages of caches, bursts and heat.

use super::{Experiment, Located, Slot, about, grouped, median, same_settings};
use crate::{Effective, Severity};
use record::Record;
use units::{Nanos, lossless::f64_to_u64_saturating};

const TOLERANCE: f64 = 0.02;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let mut comparisons = experiment.rows().into_iter().map(|(_, arms)| arms).collect::<Vec<_>>();
    // A document compares reads with writes of one workload.
    let foreign: Vec<Slot<'_>> = experiment.slots.iter().filter(|(_, record)| record.source.is_some()).copied().collect();
    let alike = grouped(&foreign, Work).into_iter().map(|(_, slots)| grouped(&slots, |record| record.name.as_str()));
    comparisons.extend(alike);
    let differ = comparisons.iter().filter_map(|arms| {
        let times: Vec<(&str, f64)> = arms.iter().filter_map(|(arm, slots)| Some((*arm, seconds(slots)?))).collect();
        let least = times.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let most = times.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (most.1 > least.1 * (1.0 + TOLERANCE)).then_some((*least, *most))
    });
    differ
        .take(1)
        .map(|((short, least), (long, most))| {
            let [least, most] = [least, most].map(|ns| Nanos(f64_to_u64_saturating(ns)));
            let message = format!("{short} was measured for {least}, {long} for {most}");
            let advice = "measure every arm for the same time after the same warm-up";
            about(None, "unequal_durations", Severity::Warning, message, advice)
        })
        .collect()
}

/// A record's settings apart from its direction and duration.
struct Work<'a>(&'a Record);

impl PartialEq for Work<'_> {
    fn eq(&self, other: &Self) -> bool {
        !self.0.effective.is_empty() && same_settings(self.0, other.0, &["duration", "read-percent"])
    }
}

/// Measured nanoseconds of an arm that ran for a time rather than for an amount.
fn seconds(slots: &[Slot<'_>]) -> Option<f64> {
    let timed =
        slots.iter().filter(|(_, r)| !Effective::of(r).is_on("run-until-complete") && Effective::of(r).text("total-bytes").is_none());
    let times: Vec<f64> = timed.filter_map(|(_, record)| Some(Effective::of(record).measured_ns()? as f64)).collect();
    (!times.is_empty()).then(|| median(times))
}

#[cfg(test)]
mod tests {
    use super::super::super::example::set;
    use super::super::super::example::{SECOND, only, placed, quoted, sound};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    #[test]
    fn ten_seconds_beside_five_are_found() {
        let mut read = Record { name: "read".into(), ..quoted("read", Summary::default()) };
        let mut write = Record { name: "write".into(), elapsed_ns: 5 * SECOND, ..quoted("write", Summary::default()) };
        set(&mut read, "block-size", "4k");
        set(&mut write, "block-size", "4k");
        assert_eq!(only(&run_on(check, &[read, write])), "write was measured for 5 s, read for 10 s");
    }

    #[test]
    fn equal_times_and_our_own_unrelated_runs_are_silent() {
        let short = || Record { elapsed_ns: 5 * SECOND, ..sound() };
        assert_eq!(run_on(check, &[sound(), short()]), []);
        assert_eq!(run_on(check, &[placed(sound(), "a", 0, 0), placed(sound(), "b", 0, 1)]), []);
        assert_eq!(run_on(check, &[placed(sound(), "a", 0, 0), placed(short(), "b", 0, 1)]).len(), 1);
    }
}
