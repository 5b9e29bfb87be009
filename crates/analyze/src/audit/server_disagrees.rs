//! What the generator says that it did, against what the server counted.

use super::set::device_log;
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Measurements, Operations, Record};
use std::collections::{BTreeMap, BTreeSet};

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "server_disagrees",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "The server counted other requests or bytes than the load generator",
    text: "\
A server of ours tells an admin key what it saw, by kind of operation (/fathom/seen). It is
asked before and after a load (load.server.saw), and the operations that succeeded and their
bytes are compared kind by kind with what the generator counted (operations and warmup).
Less on the server is invalid. More operations are a warning, unless failures and retries may
explain them; so are those of a kind that the generator did not do.
Two accounts that are kept apart can catch each other. A generator that counts 100
answers where the server gave 99 counts something else than answers, and its rate and its
latencies are of that. More on the server means that somebody else used it, or that the
generator has lost operations.
Runs over NBD are compared so with the log of `fathom serve block` that was imported and is
audited with them: of the same host, size and time, where only one may have served them.
What to do: let nobody else use the server during the run, and repeat it. If it stays,
report it as a bug with the record attached.",
    checks: &[Check::Alone(check), Check::Together(device_log::check)],
};

const ADVICE: &str = "let nobody else use the server during the run, and repeat it; if it stays, report it as a bug with the record attached";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let load = record.load.as_ref();
    let Some(server) = load.and_then(|load| load.server.as_ref()) else {
        return Vec::new();
    };
    let mut own = record.warmup.clone();
    own.merge(&record.operations);
    // The server may have done what the generator gave up, and what it asked for again.
    let slack = own
        .errors()
        .saturating_add(load.map_or(0, |load| load.retries));
    match &server.saw {
        Some(saw) => {
            let kinds = own.kinds().chain(saw.kinds()).map(|(kind, _)| kind);
            let kinds: BTreeSet<&str> = kinds.collect();
            let of = |kind| operations(kind, own.kind(kind), saw.kind(kind), slack);
            kinds.into_iter().flat_map(of).collect()
        }
        None if server.counters.is_empty() => Vec::new(),
        None => by_counters(&own, &server.counters, slack),
    }
}

/// One kind: what the generator claims, against what the server saw.
fn operations(
    kind: &str,
    own: Option<&Operations>,
    saw: Option<&Operations>,
    slack: u64,
) -> Vec<Finding> {
    let of = |side: Option<&Operations>| side.map_or((0, 0), |side| (side.count, side.bytes));
    let ((claimed, claimed_bytes), (counted, counted_bytes)) = (of(own), of(saw));
    let mut found = Vec::new();
    let message = format!(
        "{kind}: the generator counted {}, the server {counted}",
        units::counted(claimed, "successful operation")
    );
    if counted < claimed {
        found.push(RULE.finding(Severity::Invalid, message, ADVICE));
    } else if counted > claimed.saturating_add(slack) {
        found.push(RULE.finding(Severity::Warning, message, ADVICE));
    }
    // A server counts the documents that it answers with as well, so that it may have more.
    found.extend(bytes(kind, claimed_bytes, counted_bytes));
    found
}

fn bytes(kinds: &str, claimed: u64, counted: u64) -> Option<Finding> {
    let message =
        format!("{kinds}: the generator counted {claimed} bytes, the server only {counted}");
    (counted < claimed).then(|| RULE.finding(Severity::Invalid, message, ADVICE))
}

/// The kinds of records of schema 1, whose servers counted by the names that S3 has for operations.
const NAMES: [(&str, &str); 10] = [
    ("put", "PutObject"),
    ("get", "GetObject"),
    ("head", "HeadObject"),
    ("delete", "DeleteObject"),
    ("list", "ListObjectsV2"),
    ("post", "PostObject"),
    ("multipart_create", "CreateMultipartUpload"),
    ("multipart_part", "UploadPart"),
    ("multipart_complete", "CompleteMultipartUpload"),
    ("multipart_abort", "AbortMultipartUpload"),
];
/// Their counters of bytes, and the kinds that move them.
const BYTES: [(&str, &[&str]); 2] = [
    (
        "fathom_s3_storage_bytes_in_total",
        &["put", "post", "multipart_part"],
    ),
    ("fathom_s3_sent_bytes_total", &["get", "list"]),
];

/// Judges a record that has no measurements of its server.
fn by_counters(own: &Measurements, counters: &BTreeMap<String, f64>, slack: u64) -> Vec<Finding> {
    let whole = units::lossless::f64_to_u64_saturating;
    let mut found = Vec::new();
    for (kind, name) in NAMES {
        let successes = format!("fathom_s3_requests_total{{operation=\"{name}\",status=\"2");
        let counted = counters
            .iter()
            .filter(|(counter, _)| counter.starts_with(&successes));
        let mut saw = own.kind(kind).cloned().unwrap_or_default();
        saw.count = whole(counted.map(|(_, count)| count).sum());
        found.extend(operations(kind, own.kind(kind), Some(&saw), slack));
    }
    for (counter, kinds) in BYTES {
        let claimed = kinds
            .iter()
            .filter_map(|kind| own.kind(kind))
            .map(|operations| operations.bytes)
            .sum();
        let counted = whole(counters.get(counter).copied().unwrap_or(0.0));
        found.extend(bytes(&kinds.join(" and "), claimed, counted));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::example::only;
    use super::*;
    use record::{LoadAccount, ServerAccount};

    fn loaded(counters: &[(&str, f64)]) -> Record {
        let counters = counters
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect();
        let server = Some(ServerAccount {
            counters,
            ..ServerAccount::default()
        });
        let mut record = Record {
            load: Some(LoadAccount {
                server,
                ..LoadAccount::default()
            }),
            ..Record::default()
        };
        record.operations.insert(
            "get",
            Operations {
                count: 90,
                bytes: 900,
                ..Operations::default()
            },
        );
        record.warmup.insert(
            "get",
            Operations {
                count: 10,
                bytes: 100,
                ..Operations::default()
            },
        );
        record
    }

    const OK: &str = "fathom_s3_requests_total{operation=\"GetObject\",status=\"200\"}";
    const REFUSED: &str = "fathom_s3_requests_total{operation=\"GetObject\",status=\"503\"}";
    const SENT: &str = "fathom_s3_sent_bytes_total";

    #[test]
    fn equal_counts_are_silent_and_so_is_a_server_that_shows_none() {
        assert_eq!(
            check(&loaded(&[(OK, 100.0), (REFUSED, 7.0), (SENT, 1000.0)])),
            []
        );
        assert_eq!(check(&loaded(&[])), []);
    }

    #[test]
    fn a_claim_that_the_server_does_not_know_of_is_invalid() {
        let found = check(&loaded(&[(OK, 99.0), (SENT, 1000.0)]));
        assert_eq!(
            only(&found),
            "get: the generator counted 100 successful operations, the server 99"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        let found = check(&loaded(&[(OK, 100.0), (SENT, 999.0)]));
        assert_eq!(
            only(&found),
            "get and list: the generator counted 1000 bytes, the server only 999"
        );
    }

    #[test]
    fn more_than_was_claimed_is_a_warning_unless_failures_explain_it() {
        let mut record = loaded(&[(OK, 103.0), (SENT, 2000.0)]);
        let found = check(&record);
        assert_eq!(
            (only(&found), found[0].severity),
            (
                "get: the generator counted 100 successful operations, the server 103",
                Severity::Warning
            )
        );
        record.operations.insert(
            "put",
            Operations {
                errors: 3,
                ..Operations::default()
            },
        );
        assert_eq!(check(&record), []);
    }

    #[test]
    fn an_operation_that_begins_like_another_is_not_it() {
        let tagging = "fathom_s3_requests_total{operation=\"GetObjectTagging\",status=\"200\"}";
        assert_eq!(check(&loaded(&[(tagging, 5.0), (SENT, 1000.0)])).len(), 1);
    }

    /// The same load, and a server that tells what it saw: counts and bytes by kind.
    fn seen(kinds: &[(&str, u64, u64)]) -> Record {
        let mut record = loaded(&[]);
        let mut saw = Measurements::default();
        for &(kind, count, bytes) in kinds {
            let operations = Operations {
                count,
                bytes,
                ..Operations::default()
            };
            saw.insert(kind, operations);
        }
        let server = record.load.as_mut().and_then(|load| load.server.as_mut());
        server.unwrap().saw = Some(saw);
        record
    }

    #[test]
    fn kinds_are_compared_with_kinds_whatever_the_server_is() {
        assert_eq!(check(&seen(&[("get", 100, 1000)])), []);
        for (saw, said, severity) in [
            (
                &[("get", 99, 1000)][..],
                "get: the generator counted 100 successful operations, the server 99",
                Severity::Invalid,
            ),
            (
                &[("get", 100, 999)],
                "get: the generator counted 1000 bytes, the server only 999",
                Severity::Invalid,
            ),
            (
                &[("get", 101, 1010)],
                "get: the generator counted 100 successful operations, the server 101",
                Severity::Warning,
            ),
            (
                &[("get", 100, 1000), ("CopyObject", 1, 0)],
                "CopyObject: the generator counted 0 successful operations, the server 1",
                Severity::Warning,
            ),
        ] {
            let found = check(&seen(saw));
            assert_eq!((only(&found), found[0].severity), (said, severity));
        }
    }

    #[test]
    fn a_server_that_tells_and_saw_nothing_makes_a_claim_invalid() {
        assert_eq!(check(&seen(&[])).len(), 2);
    }
}
