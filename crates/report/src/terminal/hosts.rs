//! What each of several hosts did, and how their ranks began.

use super::accounts::shares;
use super::page::{Page, counted, time};
use record::{GroupAccount, HostAccount, Record, by_machine};
use units::{Nanos, Rate};

/// What each of several hosts did.
pub(super) fn hosts(page: &mut Page, record: &Record) {
    let hosts = record.host_parts();
    let slow = analyze::slow_hosts(record);
    if let Some(group) = &record.group {
        page.fact("ranks", &ranks(group, record.lost_ranks()));
    }
    let machines = by_machine(&hosts, |own| own.host);
    let is_shared = |host: &HostAccount| {
        let mut shared = machines.iter().filter(|ranks| ranks.len() > 1);
        shared.any(|ranks| ranks[0].host.boot() == host.boot())
    };
    for (own, number) in hosts.iter().zip(0..).filter(|_| hosts.len() > 1) {
        let (host, all) = (own.host, own.part.operations.together());
        let rate = own
            .part
            .operations_per_second()
            .map_or_else(String::new, |rate| format!(", {}", Rate(rate)));
        let [p50, p99] = [0.5, 0.99].map(|q| time(all.latency.quantile(q)));
        let used = host.process.user_ns.saturating_add(host.process.system_ns);
        let cpus = used as f64 / own.counted_over_ns().max(1) as f64;
        let slow = slow.iter().find(|slow| slow.number == number);
        let slow = slow.map_or_else(String::new, |slow| format!("{}; ", slow.text()));
        // What the whole machine did is told of it once.
        let shares = match is_shared(host) {
            true => String::new(),
            false => shares(&host.machine),
        };
        let text = format!(
            "{}: {slow}{}{rate}, p50 {p50}, p99 {p99}; {cpus:.2} CPUs{shares}",
            host.called(),
            counted(all.count, "operation"),
        );
        page.fact("host", &text);
    }
    for ranks in machines.iter().filter(|ranks| ranks.len() > 1) {
        let longest = ranks.iter().max_by_key(|own| own.counted_over_ns());
        let Some(host) = longest.map(|own| own.host) else {
            continue;
        };
        let name = host.machine_called();
        let shares = shares(&host.machine);
        page.fact("machine", &format!("{name}: {} ranks{shares}", ranks.len()));
    }
}

/// How the ranks of a group began, and which of them are missing.
fn ranks(group: &GroupAccount, lost: usize) -> String {
    let there = (group.size as usize).saturating_sub(lost);
    let skew = group.skew_ns.map_or_else(String::new, |skew| {
        format!(", begun within {} of each other", Nanos(skew))
    });
    let bound = match (group.unsynchronised, group.clock_bound_ns) {
        (true, _) => "; their clocks are not kept in step".to_owned(),
        (false, Some(bound)) => format!("; each clock within {}", Nanos(bound)),
        (false, None) => String::new(),
    };
    let lost = group.lost.iter().take(3);
    let lost = lost.map(|lost| format!("; rank {}: {}", lost.rank, lost.why));
    let lost: String = lost.collect();
    format!("{there} of {}{skew}{bound}{lost}", group.size)
}
