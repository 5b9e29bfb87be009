//! What a load says of itself beside rates and latencies: its pace, users, connections and cost.

use super::super::accounts::{busy, server_use};
use super::super::hosts::hosts;
use super::super::page::{Page, counted, time};
use record::{LeftKind, LoadAccount, Record};
use units::{Nanos, Rate, lossless};

pub(super) fn write(page: &mut Page, record: &Record, load: &LoadAccount) {
    write_pace(page, record, load);
    write_users(page, record, load);
    write_connections(page, load);
    write_cpu(page, record, load);
    write_objects(page, record, load);
}

fn write_pace(page: &mut Page, record: &Record, load: &LoadAccount) {
    if let Some(pace) = &record.pace {
        let asked = pace
            .asked_per_second
            .map_or_else(String::new, |rate| format!("asked {}, ", Rate(rate)));
        let late = load.lateness.as_ref().and_then(|late| late.quantile(0.99));
        let text = format!(
            "{asked}began {}; {} never began; {} waited for a free connection; the generator itself was late by {} (p99)",
            Rate(pace.achieved_per_second),
            pace.unsent,
            load.queued,
            time(late)
        );
        page.fact("pace", &text);
    }
    if !load.iterations.is_empty() {
        let skipped = if load.skipped > 0 {
            format!("; {} had nothing to act on", load.skipped)
        } else {
            String::new()
        };
        let text = format!(
            "{} of users, sleeps included: p50 {}, p95 {}{skipped}",
            counted(load.iterations.count(), "turn"),
            time(load.iterations.quantile(0.5)),
            time(load.iterations.quantile(0.95))
        );
        page.fact("iterations", &text);
    }
    if !record.warmup.is_empty() {
        let text = format!(
            "{} before the measured time, not counted",
            counted(record.warmup.count() + record.warmup.errors(), "operation")
        );
        page.fact("warm-up", &text);
    }
}

fn write_users(page: &mut Page, record: &Record, load: &LoadAccount) {
    if let Some(most) = load.users.iter().max() {
        let in_flight = if record.elapsed_ns > 0 {
            record.loops.in_flight_ns as f64 / lossless::u64_to_f64(record.elapsed_ns)
        } else {
            0.0
        };
        page.fact(
            "users",
            &format!("{most} at most, looked for once an interval; {in_flight:.2} requests in flight on average"),
        );
    }
}

fn write_connections(page: &mut Page, load: &LoadAccount) {
    let failed = if load.connections_failed > 0 {
        format!(", {} refused", load.connections_failed)
    } else {
        String::new()
    };
    let retries = if load.retries > 0 {
        format!("; {}", counted(load.retries, "retry"))
    } else {
        String::new()
    };
    page.fact(
        "connections",
        &format!("{} opened{failed}{retries}", load.connections_opened),
    );
    if let [_, _, ..] = load.endpoints.as_slice() {
        for endpoint in &load.endpoints {
            let text = format!(
                "{}: {}, {}",
                endpoint.address,
                counted(endpoint.operations, "operation"),
                counted(endpoint.errors, "error")
            );
            page.fact("endpoint", &text);
        }
    }
}

fn write_cpu(page: &mut Page, record: &Record, load: &LoadAccount) {
    let of_each = |count: u64, ns: u64| {
        time((count > 0).then(|| lossless::u64_to_f64(ns) / lossless::u64_to_f64(count)))
    };
    let each = |ns: u64| of_each(record.operations_by_cpu_time(), ns);
    let process = record.process();
    let used = process.cpu_ns();
    let signing = load.signing;
    let sign = match signing.total_ns.checked_div(signing.requests) {
        Some(ns) => format!("; signing {} a request", Nanos(ns)),
        None => String::new(),
    };
    let cpus = busy(record);
    let cpu = format!(
        "{} an operation (user {}, system {}); {cpus:.2} CPUs{sign}",
        each(used),
        each(process.user_ns),
        each(process.system_ns)
    );
    page.fact("client cpu", &cpu);
    hosts(page, record);
    let of_server = |ns: u64| of_each(record.operations.count(), ns);
    for server in record.targets_watched().filter(|host| host.pid.is_some()) {
        let text = match server.used() {
            Some(used) => format!(
                "{} an operation (user {}, system {})",
                of_server(used.cpu_ns()),
                of_server(used.user_ns),
                of_server(used.system_ns)
            ),
            None => "unknown: the process went away".to_owned(),
        };
        page.fact("server cpu", &text);
    }
    if let Some(used) = server_use(record) {
        page.fact("server", &used);
    }
}

fn write_objects(page: &mut Page, record: &Record, load: &LoadAccount) {
    if let Some(verification) = &record.verification {
        page.fact(
            "verified",
            &format!(
                "{}, {} wrong",
                counted(verification.operations, "object"),
                verification.failures
            ),
        );
    }
    let made = load.setup.count();
    let mut left = record.left_over.iter();
    let is_at_most = left.any(|of| of.is_at_most && of.kind != LeftKind::Uploads);
    let at_most = if is_at_most { "at most " } else { "" };
    if made > 0 || load.left_behind > 0 {
        page.fact(
            "setup",
            &format!(
                "{} made before; {at_most}{} left on the server",
                counted(made, "object"),
                load.left_behind
            ),
        );
    }
}
