//! The summary of a load that people read: what was done, rates, latencies, the parts of requests,
//! thresholds, errors, cost, findings.

mod accounts;

use super::page::{Page, counted, time};
use super::{TerminalOptions, histogram, rates, verdict};
use analyze::{Finding, SHOWN_PERCENTILES};
use record::{Histogram, LoadAccount, Operations, Record, Status};
use units::{ByteRate, Bytes, Nanos, format_count, lossless};

/// The summary of one record and what an audit found in it. Where a run shows other percentiles
/// instead of the usual ones, a load shows them besides; the distribution of latencies is a table.
pub(super) fn text(record: &Record, findings: &[Finding], options: &TerminalOptions) -> String {
    let nothing = LoadAccount::default();
    let load = record.load.as_ref().unwrap_or(&nothing);
    let mut page = Page::new(options.layout);
    lead(&mut page, record);
    rates(&mut page, record);
    latencies(&mut page, record);
    shown_more(&mut page, record, options);
    phases(&mut page, load);
    page.gap();
    accounts::write(&mut page, record, load);
    verdict::write_thresholds(&mut page, record);
    verdict::write_errors(&mut page, record);
    outcome(&mut page, record);
    verdict::write_findings(&mut page, findings);
    page.finish()
}

fn lead(page: &mut Page, record: &Record) {
    let of = |key: &str| record.effective.get(key).map_or("?", String::as_str);
    let target = record.targets.first();
    let seeds = target.filter(|target| target.files > 0).map(|target| {
        let objects = counted(target.files, "object");
        format!(", {objects} of {}", Bytes(target.bytes))
    });
    let place = target.map_or_else(String::new, |target| {
        format!(
            " on {} ({}{})",
            target.path,
            target.kind,
            seeds.unwrap_or_default()
        )
    });
    page.wrapped(
        &format!("{}: ", record.name),
        2,
        &format!("{}{place}", of("mix")),
    );
    let each = if record.ranks() > 1 { " a rank" } else { "" };
    let load = match record.effective.get("users") {
        Some(users) => format!(
            "closed loop, at most {}{each} ({})",
            counted(users, "user"),
            of("stages")
        ),
        None => format!(
            "open loop, {} {} over at most {}",
            of("arrival"),
            of("rate"),
            counted(of("connections"), "connection")
        ),
    };
    let keep = match record.effective.get("http2-connections") {
        Some(shared) => format!("{} shared", counted(shared, "connection")),
        None if of("new-connections") == "true" => "a connection a request".to_owned(),
        None => "keep-alive".to_owned(),
    };
    // Plain HTTP and file shares sign nothing.
    let is_unsigned = |kind: &str| ["http", "share"].contains(&kind);
    let payload = match target.is_some_and(|target| is_unsigned(&target.kind)) {
        true => String::new(),
        false => format!(", payload {}", of("payload")),
    };
    let how = format!(
        "{load}; {} {}{each}, {}, {keep}{payload}, {} data{}; measured {}",
        of("threads"),
        if of("threads") == "1" {
            "thread"
        } else {
            "threads"
        },
        of("protocol"),
        of("data"),
        if of("verify") == "true" {
            ", verified"
        } else {
            ""
        },
        Nanos(record.elapsed_ns)
    );
    page.wrapped("  ", 2, &how);
    for notice in record.notes() {
        page.wrapped("  ", 4, &format!("note: {notice}"));
    }
}

fn rates(page: &mut Page, record: &Record) {
    page.gap();
    if record.operations.is_empty() {
        page.line("no operation was measured");
        return;
    }
    let seconds = lossless::u64_to_f64(record.elapsed_ns.max(1)) / 1e9;
    let row = |label: &str, operations: &Operations| {
        let moved = |text: String| {
            if operations.bytes > 0 {
                text
            } else {
                "-".to_owned()
            }
        };
        let per_second = |n: u64| lossless::u64_to_f64(n) / seconds;
        vec![
            label.to_owned(),
            format_count(per_second(operations.count)),
            moved(ByteRate(per_second(operations.bytes)).to_string()),
            operations.count.to_string(),
            moved(Bytes(operations.bytes).to_string()),
            moved(Bytes(operations.bytes / operations.count.max(1)).to_string()),
            operations.errors.to_string(),
        ]
    };
    let mut rows = vec![
        [
            "",
            "ops/s",
            "throughput",
            "operations",
            "bytes",
            "mean size",
            "errors",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    rows.extend(
        record
            .operations
            .kinds()
            .map(|(kind, operations)| row(kind, operations)),
    );
    if rows.len() > 2 {
        rows.push(row("all", &record.operations.together()));
    }
    page.table(&rows);
}

fn latencies(page: &mut Page, record: &Record) {
    let rows = rates::latency_rows(record, &SHOWN_PERCENTILES, false);
    if rows.len() > 1 {
        page.gap();
        page.table(&rows);
        if rows.iter().flatten().any(|cell| cell.contains('*')) {
            page.line(rates::STAR);
        }
    }
}

/// Percentiles of a whole distribution.
const DISTRIBUTION: [f64; 14] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 99.0, 99.9, 99.99,
];

fn shown_more(page: &mut Page, record: &Record, options: &TerminalOptions) {
    let measured = || {
        record
            .operations
            .kinds()
            .filter(|(_, operations)| !operations.latency.is_empty())
    };
    let whole: &[f64] = if options.show_latency {
        &DISTRIBUTION
    } else {
        &[]
    };
    for percentiles in [whole, &options.show_percentiles]
        .into_iter()
        .filter(|list| !list.is_empty())
    {
        let mut rows = vec![
            std::iter::once("percentile".to_owned())
                .chain(measured().map(|(kind, _)| kind.to_owned()))
                .collect::<Vec<_>>(),
        ];
        for percent in percentiles {
            let of = |histogram: &Histogram| time(histogram.quantile(percent / 100.0));
            rows.push(
                std::iter::once(format!("p{percent}"))
                    .chain(measured().map(|(_, operations)| of(&operations.latency)))
                    .collect(),
            );
        }
        page.gap();
        page.table(&rows);
    }
    if options.show_histogram {
        histogram::write(page, record);
    }
    if options.per_worker {
        let mut rows = vec![
            ["worker", "operations", "bytes", "user", "system"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for worker in &record.workers {
            let times = [worker.user_ns, worker.system_ns].map(|ns| Nanos(ns).to_string());
            let counts = [
                worker.index.to_string(),
                worker.operations.to_string(),
                Bytes(worker.bytes).to_string(),
            ];
            rows.push(counts.into_iter().chain(times).collect());
        }
        page.gap();
        page.table(&rows);
    }
}

/// The parts of requests, as medians and p95.
fn phases(page: &mut Page, load: &LoadAccount) {
    if load.phases.is_empty() {
        return;
    }
    let both = |histogram: &Histogram| match histogram.quantile(0.5) {
        Some(median) => format!(
            "{} / {}",
            time(Some(median)),
            time(histogram.quantile(0.95))
        ),
        None => "-".to_owned(),
    };
    let mut rows = vec![
        ["p50 / p95", "connecting", "sending", "waiting", "receiving"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (kind, phases) in &load.phases {
        rows.push(vec![
            kind.clone(),
            both(&phases.connecting),
            both(&phases.sending),
            both(&phases.waiting),
            both(&phases.receiving),
        ]);
    }
    page.gap();
    page.table(&rows);
}

fn outcome(page: &mut Page, record: &Record) {
    if record.loops.abandoned > 0 {
        page.fact(
            "abandoned",
            &format!(
                "{} still unanswered at the end",
                counted(record.loops.abandoned, "request")
            ),
        );
    }
    let is_gate = record.outcome.status == Status::Ok && record.outcome.exit_code != 0;
    verdict::write_end(page, record, is_gate.then_some("gate failed"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example;

    #[test]
    fn cpu_time_of_clients_is_held_against_the_time_over_which_it_was_counted() {
        let parts = (0..4).map(|rank| {
            let mut part = example::load("download", 10, 80_000_000, 0);
            (part.id, part.elapsed_ns) = (rank.to_string(), 1_000_000);
            let host = part.generator_mut();
            (host.rank, host.window_ns) = (Some(rank), Some(1_000_000_000));
            (host.process.user_ns, host.process.system_ns) = (50_000_000, 0);
            part
        });
        let record = Record::merge_all(parts).unwrap();
        let text = text(&record, &[], &TerminalOptions::default());
        let line = text.lines().find(|line| line.starts_with("client cpu"));
        assert!(
            line.is_some_and(|line| line.ends_with("; 0.20 CPUs")),
            "{text}"
        );
    }

    #[test]
    fn the_summary_of_a_load() {
        let record = example::load("download", 1000, 80_000_000, 2);
        let text = text(&record, &[], &TerminalOptions::default());
        insta::assert_snapshot!(text, @r#"
        download: get 50, put 25
          closed loop, at most 50 users (?); ? threads, ?, keep-alive, payload ?, ? data; measured 10 s

             ops/s  throughput  operations     bytes  mean size  errors
        get    100  1000 KiB/s        1000  9.77 MiB     10 KiB       2
        put     50   500 KiB/s         500  5000 KiB     10 KiB       0
        all    150  1.46 MiB/s        1500  14.6 MiB     10 KiB       2

        latency   mean    p50    p90     p99   p99.9    max
        get      80 ms  80 ms  80 ms   80 ms  80 ms*  80 ms
        put      80 ms  80 ms  80 ms  80 ms*  80 ms*  80 ms
        * fewer than 10 operations were slower than this percentile

        p50 / p95       connecting          sending        waiting      receiving
        get        1.6 ms / 1.6 ms  800 µs / 800 µs  64 ms / 64 ms  16 ms / 16 ms
        put        1.6 ms / 1.6 ms  800 µs / 800 µs  64 ms / 64 ms  16 ms / 16 ms

        iterations    1,000 turns of users, sleeps included: p50 580 ms, p95 580 ms
        users         50 at most, looked for once an interval; 12.00 requests in flight on average
        connections   50 opened
        client cpu    100 µs an operation (user 100 µs, system 0 s); 0.01 CPUs
        threshold     met get.p95<1s: 80 ms
        threshold     missed put.p95<10ms: 80 ms, 70 ms above the limit
        error         2 x 503 SlowDown in get, first at http://a/b
        outcome       ok
        "#);
    }
}
