//! What the generator says that it did, against what the server counted.

use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::{Measurements, Record};
use std::collections::BTreeMap;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "server_disagrees",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "The server counted other requests or bytes than the load generator",
    text: "\
A server of ours shows its own counters to an admin key. They are read before and after a
load (load.server.counters), and successful requests of each kind and the bytes of bodies
are compared with what the generator counted (operations and warmup). Less on the server
is invalid. More is a warning, unless failures and retries may explain it.
Two accounts that are kept apart can catch each other. A generator that counts 100
answers where the server gave 99 counts something else than answers, and its rate and its
latencies are of that. More on the server means that somebody else used it, or that the
generator has lost operations.
What to do: let nobody else use the server during the run, and repeat it. If it stays,
report it as a bug with the record attached.",
    checks: &[Check::Alone(check)],
};

const ADVICE: &str = "let nobody else use the server during the run, and repeat it; if it stays, report it as a bug with the record attached";

/// Kinds of requests, and the operation as which a server counts them.
const KINDS: [(&str, &str); 10] = [
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
const REQUESTS: &str = "fathom_s3_requests_total{operation=\"";
/// Counters of bytes, what they hold, and the kinds that move them.
const BYTES: [(&str, &str, &[&str]); 2] = [
    (
        "fathom_s3_storage_bytes_in_total",
        "were received",
        &["put", "post", "multipart_part"],
    ),
    ("fathom_s3_sent_bytes_total", "were sent", &["get", "list"]),
];

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let load = record.load.as_ref();
    let Some(counters) = load
        .and_then(|load| load.server.as_ref())
        .map(|server| &server.counters)
        .filter(|c| !c.is_empty())
    else {
        return Vec::new();
    };
    let mut own = record.warmup.clone();
    own.merge(&record.operations);
    // The server may have done what the generator gave up, and what it asked for again.
    let slack = own
        .errors()
        .saturating_add(load.map_or(0, |load| load.retries)) as f64;
    let kinds = KINDS
        .into_iter()
        .filter_map(|(kind, operation)| requests(&own, counters, (kind, operation), slack));
    kinds
        .chain(
            BYTES
                .into_iter()
                .filter_map(|row| bytes(&own, counters, row)),
        )
        .collect()
}

/// Successful requests of one kind.
fn requests(
    own: &Measurements,
    counters: &BTreeMap<String, f64>,
    (kind, operation): (&str, &str),
    slack: f64,
) -> Option<Finding> {
    let claimed = own.kind(kind).map_or(0, |operations| operations.count) as f64;
    let counted: f64 = counters
        .iter()
        .filter(|(name, _)| succeeded(name, operation))
        .map(|(_, count)| count)
        .sum();
    let message = format!(
        "{kind}: the generator counted {claimed} successful requests, the server {counted} of {operation}"
    );
    if counted < claimed {
        return Some(RULE.finding(Severity::Invalid, message, ADVICE));
    }
    (counted > claimed + slack).then(|| RULE.finding(Severity::Warning, message, ADVICE))
}

/// Whether a counter is of successes of this operation.
fn succeeded(name: &str, operation: &str) -> bool {
    let rest = name
        .strip_prefix(REQUESTS)
        .and_then(|rest| rest.strip_prefix(operation));
    rest.is_some_and(|rest| rest.starts_with("\",status=\"2"))
}

/// Bytes of bodies: the server counts those of errors and of its own documents as well, so that it
/// may have more.
fn bytes(
    own: &Measurements,
    counters: &BTreeMap<String, f64>,
    (counter, what, kinds): (&str, &str, &[&str]),
) -> Option<Finding> {
    let claimed = kinds
        .iter()
        .filter_map(|kind| own.kind(kind))
        .map(|operations| operations.bytes)
        .sum::<u64>() as f64;
    let counted = counters.get(counter).copied().unwrap_or(0.0);
    let message = format!(
        "the generator counted {claimed} bytes in {}, the server only {counted} that {what}",
        kinds.join(" and ")
    );
    (counted < claimed).then(|| RULE.finding(Severity::Invalid, message, ADVICE))
}

#[cfg(test)]
mod tests {
    use super::super::example::only;
    use super::*;
    use record::{LoadAccount, Operations, ServerAccount};

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
            "get: the generator counted 100 successful requests, the server 99 of GetObject"
        );
        assert_eq!(found[0].severity, Severity::Invalid);
        let found = check(&loaded(&[(OK, 100.0), (SENT, 999.0)]));
        assert_eq!(
            only(&found),
            "the generator counted 1000 bytes in get and list, the server only 999 that were sent"
        );
    }

    #[test]
    fn more_than_was_claimed_is_a_warning_unless_failures_explain_it() {
        let mut record = loaded(&[(OK, 103.0), (SENT, 2000.0)]);
        let found = check(&record);
        assert_eq!(
            (only(&found), found[0].severity),
            (
                "get: the generator counted 100 successful requests, the server 103 of GetObject",
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
}
