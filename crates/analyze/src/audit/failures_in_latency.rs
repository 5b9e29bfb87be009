//! A failure is fast or slow, but its latency is none of the operation's.

use crate::audit::rule::{Check, Rule};
use crate::figures::{Figures, figures};
use crate::{Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "failures_in_latency",
    catalogue_number: Some(58),
    severity: Severity::Warning,
    title: "Latencies of failures are not kept apart",
    text: "\
For records from elsewhere with failures: as many latencies as successes are fine, and so
is a series of successes alone (k6: expected_response:true). Otherwise it is found. Our
own failures are never in a histogram.
A server that is overloaded refuses within 1 ms what it would serve in 100: with 5 % of
failures the median improves while the service fails. A timeout of 30 s does the reverse.
What to do: take percentiles over successes, and show failures beside them with their own
number and time.",
    checks: &[Check::Alone(check)],
};

pub(super) fn check(record: &Record) -> Vec<Finding> {
    // Our own failures are never in a histogram.
    if record.source.is_none() || record.summaries.keys().any(|name| is_of_successes(name)) {
        return Vec::new();
    }
    let latencies = record
        .summaries
        .values()
        .any(|s| s.mean_ns.is_some() || !s.percentiles_ns.is_empty() || s.latency.is_some());
    let failing = figures(record).find_map(|f| Some((f, f.errors().filter(|errors| *errors > 0)?)));
    let Some((failing, errors)) = failing.filter(|(f, _)| latencies && !is_apart(f)) else {
        return Vec::new();
    };
    let of = failing
        .count()
        .map(|count| format!(" of {}", count.saturating_add(errors)))
        .unwrap_or_default();
    let message = format!(
        "{}: {errors}{of} failed, and the latencies are not those of successes alone",
        failing.kind
    );
    let advice = "take the latencies of successful operations apart from those of failures: errors are often faster, and timeouts slower";
    vec![RULE.finding(Severity::Warning, message, advice)]
}

/// k6 names them so where it is asked to.
fn is_of_successes(name: &str) -> bool {
    name.contains("expected_response:true")
}

/// Whether there are exactly as many latencies as successes.
fn is_apart(figures: &Figures<'_>) -> bool {
    figures
        .latencies()
        .is_some_and(|latencies| Some(latencies) == figures.count())
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, quoted};
    use super::*;
    use record::Summary;

    fn request(samples: Option<u64>) -> Record {
        quoted(
            "request",
            Summary {
                count: Some(6509),
                errors: Some(1),
                samples,
                mean_ns: Some(1e6),
                ..Summary::default()
            },
        )
    }

    #[test]
    fn failures_among_latencies_are_found() {
        assert_eq!(
            only(&check(&request(None))),
            "request: 1 of 6510 failed, and the latencies are not those of successes alone"
        );
        assert_eq!(check(&request(Some(6510))).len(), 1);
    }

    #[test]
    fn latencies_of_successes_are_silent() {
        assert_eq!(check(&request(Some(6509))), []);
        let mut separated = request(None);
        separated.summaries.insert(
            "http_req_duration{expected_response:true}".into(),
            Summary::default(),
        );
        assert_eq!(check(&separated), []);
        let mut ours = request(None);
        ours.source = None;
        assert_eq!(check(&ours), []);
    }
}
