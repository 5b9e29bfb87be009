//! In a closed loop a faster target is given more to do: latencies at different rates are of
//! different loads.

use super::{Experiment, Located, typical};
use crate::audit::rule::{Check, Rule};
use crate::figures::figures;
use crate::{Effective, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "latency_at_unequal_load",
    catalogue_number: Some(24),
    severity: Severity::Warning,
    title: "Latencies are compared at different loads",
    text: "\
Rows of load tests with a fixed number of users: if the arms' rates differ by more than
5 %, their latencies are of different loads.
In a closed loop a faster target is given more to do. \"29 times lower latency at 2 times
the load\" compares two points of two curves: at 90 % of its capacity a target can wait
ten times as long as at 50 %. The one number that compares is the rate at equal users.
What to do: compare latencies at one offered rate in an open loop, or compare throughput
at equal concurrency.",
    checks: &[Check::Together(check)],
};

const TOLERANCE: f64 = 0.05;

pub(super) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let of_users = |record: &Record| {
        Effective::of(record).real("users").is_some() && !Effective::of(record).is_open_loop()
    };
    let rows = experiment.rows().into_iter().filter(|(_, arms)| {
        arms.iter()
            .flat_map(|(_, slots)| slots)
            .all(|(_, r)| of_users(r) && has_latency(r))
    });
    rows.filter_map(|(row, arms)| {
        let rates: Vec<(&str, f64)> = arms.iter().filter_map(|(arm, slots)| Some((*arm, typical(slots)?.1))).collect();
        let least = rates.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let most = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (most.1 > least.1 * (1.0 + TOLERANCE)).then(|| {
            let message = format!(
                "{row}: {} served {:.2} times the load of {}: their latencies are not of the same load",
                most.0,
                most.1 / least.1,
                least.0
            );
            let advice = "compare latencies at one offered rate (an open loop), or compare throughput at equal concurrency";
            RULE.about(None, Severity::Warning, message, advice)
        })
    })
    .collect()
}

fn has_latency(record: &Record) -> bool {
    figures(record).any(|f| f.mean_ns().is_some() || !f.stated_percentiles().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::super::example::{only, placed, quoted, set, sound};
    use super::super::run_on;
    use super::*;
    use record::Summary;

    fn upload(arm: &str, per_second: f64) -> Record {
        let mut record = quoted(
            "put",
            Summary {
                per_second: Some(per_second),
                mean_ns: Some(1e6),
                ..Summary::default()
            },
        );
        set(&mut record, "users", "50");
        placed(record, arm, 0, 0)
    }

    #[test]
    fn latencies_at_other_loads_are_found() {
        let found = run_on(check, &[upload("Windows", 10.9), upload("Linux", 23.2)]);
        assert_eq!(
            only(&found),
            "row: Linux served 2.13 times the load of Windows: their latencies are not of the same load"
        );
    }

    #[test]
    fn equal_loads_and_queues_of_storage_are_silent() {
        assert_eq!(run_on(check, &[upload("a", 10.0), upload("b", 10.2)]), []);
        let mut fast = sound();
        fast.elapsed_ns /= 2;
        assert_eq!(
            run_on(
                check,
                &[placed(sound(), "a", 0, 0), placed(fast, "b", 0, 1)]
            ),
            []
        );
    }
}
