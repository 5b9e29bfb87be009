//! What runs say that they did on a block device, against what the device wrote down.

use super::{Experiment, Located};
use crate::Severity;
use crate::audit::server_disagrees::RULE;
use record::{Operations, Record, Status};

const ADVICE: &str = "serve the device to nobody else during the run, and repeat it; if it stays, report it as a bug with both records attached";
/// A run begins and ends so much before and after its requests, in nanoseconds.
const AROUND: i128 = 1_000_000_000;

/// From when to when a record says that it lasted, in nanoseconds since 1970.
fn span(record: &Record) -> Option<(i128, i128)> {
    let from = units::time::parse(&record.started_at)?;
    Some((from, from + i128::from(record.elapsed_ns)))
}

/// Whether a record is what a block device wrote down.
pub(super) fn is_log(record: &Record) -> bool {
    let source = record.source.as_ref();
    source.is_some_and(|source| source.format == "device-log")
}

/// Whether a device's log may hold this run over NBD: of the same host and size, at that time.
fn may_have_served(device: &Record, run: &Record) -> bool {
    let (Some(served), Some(ran)) = (span(device), span(run)) else {
        return false;
    };
    let bytes = |record: &Record| record.targets.first().map(|target| target.bytes);
    let host = |record: &Record| record.generator().environment.system.hostname.clone();
    let on_nbd = run.targets.len() == 1 && run.targets[0].kind == "nbd";
    on_nbd
        && bytes(device) == bytes(run)
        && (host(device).is_none() || host(run).is_none() || host(device) == host(run))
        && served.0 <= ran.1 + AROUND
        && ran.0 <= served.1 + AROUND
}

pub(in crate::audit) fn check(experiment: &Experiment<'_>) -> Vec<Located> {
    let logs = &experiment.logs;
    let runs = experiment.slots.iter().copied();
    let runs = runs.filter(|(_, record)| record.kind == "run");
    let served = runs.map(|(at, run)| {
        let by = logs.iter().filter(|(_, log)| may_have_served(log, run));
        (at, run, by.map(|(log, _)| *log).collect::<Vec<usize>>())
    });
    let served: Vec<_> = served.collect();
    let of = |(at, log): &(usize, &Record)| {
        let is_alone = |by: &Vec<usize>| *by == [*at];
        let shares = served
            .iter()
            .any(|(_, _, by)| by.contains(at) && !is_alone(by));
        let runs = served.iter().filter(|(_, _, by)| is_alone(by));
        let runs: Vec<(usize, &Record)> = runs.map(|(at, run, _)| (*at, *run)).collect();
        // A log that lacks requests says so itself, and which of two devices served a run nobody.
        if runs.is_empty() || shares || log.outcome.status != Status::Ok {
            return Vec::new();
        }
        ["read", "write"]
            .iter()
            .flat_map(|kind| compared(kind, log, &runs))
            .collect()
    };
    logs.iter().flat_map(of).collect()
}

/// One kind of operation: what the runs claim together, against what the device did.
fn compared(kind: &str, log: &Record, runs: &[(usize, &Record)]) -> Vec<Located> {
    let of = |side: Option<&Operations>| side.map_or((0, 0), |side| (side.count, side.bytes));
    let (mut claimed, mut claimed_bytes, mut errors) = (0, 0, 0);
    for (_, run) in runs {
        let mut own = run.warmup.clone();
        own.merge(&run.operations);
        let (count, bytes) = of(own.kind(kind));
        claimed += count;
        claimed_bytes += bytes;
        errors += own.errors();
    }
    let (counted, counted_bytes) = of(log.operations.kind(kind));
    let about = match runs {
        [(only, _)] => Some(*only),
        _ => None,
    };
    let operations = format!(
        "{kind}: {claimed} successful operations were counted, the device's log has {counted}"
    );
    let bytes = format!(
        "{kind}: {claimed_bytes} bytes were counted, the device's log has only {counted_bytes}"
    );
    let found = |severity, message| RULE.about(about, severity, message, ADVICE);
    if counted < claimed {
        vec![found(Severity::Invalid, operations)]
    } else if counted_bytes < claimed_bytes {
        vec![found(Severity::Invalid, bytes)]
    } else if counted > claimed + errors && is_covered(log, runs) {
        vec![found(Severity::Warning, operations)]
    } else {
        Vec::new()
    }
}

/// Whether all that the device did was during these runs, and none of it to prepare them.
fn is_covered(log: &Record, runs: &[(usize, &Record)]) -> bool {
    let spans: Vec<(i128, i128)> = runs.iter().filter_map(|(_, run)| span(run)).collect();
    let first = spans.iter().map(|(from, _)| *from).min();
    let last = spans.iter().map(|(_, to)| *to).max();
    let filled = runs.iter().any(|(_, run)| run.fill.is_some());
    match (span(log), first, last) {
        (Some((from, to)), Some(first), Some(last)) => {
            !filled && from + AROUND >= first && to <= last + AROUND
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::example::only;
    use super::super::run_on;
    use super::*;
    use record::{Source, TargetFact};

    fn record(kind: &str, reads: u64, started_at: &str) -> Record {
        let mut record = Record {
            kind: kind.into(),
            started_at: started_at.into(),
            elapsed_ns: 5_000_000_000,
            targets: vec![TargetFact {
                kind: "nbd".into(),
                bytes: 1 << 20,
                ..TargetFact::default()
            }],
            ..Record::default()
        };
        let operations = Operations {
            count: reads,
            bytes: reads * 4096,
            ..Operations::default()
        };
        record.operations.insert("read", operations);
        record
    }

    fn log(reads: u64, started_at: &str) -> Record {
        let mut record = record("device", reads, started_at);
        record.source = Some(Source {
            format: "device-log".into(),
            ..Source::default()
        });
        record
    }

    const AT: &str = "2026-01-01T00:00:00.5Z";
    const SOON: &str = "2026-01-01T00:00:00.6Z";

    #[test]
    fn a_device_that_did_less_than_was_claimed_makes_the_claim_invalid() {
        let found = run_on(check, &[record("run", 100, AT), log(99, SOON)]);
        assert_eq!(
            only(&found),
            "read: 100 successful operations were counted, the device's log has 99"
        );
        assert_eq!(run_on(check, &[record("run", 100, AT), log(100, SOON)]), []);
    }

    #[test]
    fn runs_of_one_device_are_added_and_more_than_they_did_is_somebody_elses() {
        let later = "2026-01-01T00:00:06Z";
        let mut whole = log(50, SOON);
        whole.elapsed_ns = 10_000_000_000;
        let two = [
            record("run", 30, AT),
            record("run", 20, later),
            whole.clone(),
        ];
        assert_eq!(run_on(check, &two), []);
        let more = [
            record("run", 30, AT),
            record("run", 10, later),
            whole.clone(),
        ];
        assert_eq!(
            only(&run_on(check, &more)),
            "read: 40 successful operations were counted, the device's log has 50"
        );
        let before = [record("run", 10, later), whole];
        assert_eq!(run_on(check, &before), [], "it was served to others before");
    }

    #[test]
    fn what_cannot_be_told_is_not_judged() {
        let run = || record("run", 100, AT);
        let elsewhere = log(1, "2026-01-02T00:00:00Z");
        assert_eq!(run_on(check, &[run(), elsewhere]), []);
        let mut other = log(1, SOON);
        other.targets[0].bytes = 7;
        assert_eq!(run_on(check, &[run(), other]), []);
        assert_eq!(run_on(check, &[run(), log(1, SOON), log(1, SOON)]), []);
        let mut lacking = log(1, SOON);
        lacking.outcome.status = Status::Incomplete;
        assert_eq!(run_on(check, &[run(), lacking]), []);
    }
}
