//! What the generator, the machine, the devices and the data say of the run: a labelled line each,
//! where the record has it.

use super::below::{FOR_ALL, below};
use super::heat;
use super::hosts::hosts;
use super::page::{Page, counted, grouped, share, share_of, time};
use crate::per_second;
use record::{Coverage, KeptSchedule, MachineAccount, Record, TargetReach, WalkLevels};
use units::{ByteRate, Bytes, Nanos, Rate};

/// What counters of the CPU may be late by, on top of all CPUs.
const MOST_BUSY: f64 = 1.5;

pub(super) fn write(page: &mut Page, record: &Record) {
    page.gap();
    pace(page, record);
    stonewall(page, record);
    walk(page, record);
    in_flight(page, record);
    cpu(page, record);
    hosts(page, record);
    if let Some(server) = server_use(record) {
        page.fact("server", &server);
    }
    below(page, record.host_parts());
    cache(page, record);
    if let Some(locks) = &record.locks {
        let wait = &locks.wait;
        let [mean, p99, max] = [
            wait.mean(),
            wait.quantile(0.99),
            wait.max().map(|ns| ns as f64),
        ]
        .map(time);
        page.fact(
            "locks",
            &format!(
                "{}: {}, mean {mean}, p99 {p99}, max {max}",
                locks.mode,
                counted(wait.count(), "wait")
            ),
        );
    }
    let mut parts = record.hosts.iter().filter_map(|host| host.part.as_deref());
    match &record.coverage {
        Some(coverage) => covered(page, coverage),
        None if parts.any(|part| part.coverage.is_some()) => page.fact(
            "coverage",
            "unknown of all ranks together: they may have used the same blocks, or one did not get to say which; each one's own is in the record (hosts[].part.coverage)",
        ),
        None => {}
    }
    if let Some(fill) = record.fill.as_ref().filter(|fill| fill.bytes > 0) {
        page.fact(
            "filled",
            &format!(
                "{} in {} before the measured time: {}",
                Bytes(fill.bytes),
                Nanos(fill.elapsed_ns),
                fill.reason
            ),
        );
    }
    if !record.warmup.is_empty() {
        page.fact(
            "warm-up",
            &format!(
                "{} before the measured time, not counted",
                counted(record.warmup.count(), "operation")
            ),
        );
    }
}

fn pace(page: &mut Page, record: &Record) {
    let Some(pace) = &record.pace else { return };
    let unsent = if pace.unsent > 0 {
        format!("; {} never started", counted(pace.unsent, "operation"))
    } else {
        String::new()
    };
    let mut line = |asked: f64, achieved: f64, shown: fn(f64) -> String| {
        let kept = of_schedule(record, achieved / asked);
        let (asked, achieved) = (shown(asked), shown(achieved));
        page.fact(
            "pace",
            &format!("asked {asked}, achieved {achieved}{kept}{unsent}"),
        );
    };
    if let Some(asked) = pace.asked_per_second {
        line(asked, pace.achieved_per_second, |rate| {
            Rate(rate).to_string()
        });
    }
    let moved = record.paced_bytes_per_second();
    if let (Some(asked), Some(achieved)) = (pace.asked_bytes_per_second, moved) {
        line(asked, achieved, |rate| ByteRate(rate).to_string());
    }
}

/// What was kept of a schedule, where it is not what a rate makes of it: by chance more or less is due, of uneven work
/// some of it ends early, and of two rates one alone holds.
fn of_schedule(record: &Record, of_rate: f64) -> String {
    let kept = record.kept_schedule();
    let tolerance = KeptSchedule::TOLERANCE;
    match kept.filter(|kept| (kept.judged() - of_rate).abs() > tolerance) {
        Some(kept) if kept.is_all() => "; the schedule was kept".to_owned(),
        Some(kept) => format!("; {:.2}% of the schedule was kept", kept.judged() * 100.0),
        None => String::new(),
    }
}

fn stonewall(page: &mut Page, record: &Record) {
    let account = record.stonewall.as_ref();
    let Some(account) = account.filter(|account| account.has_come()) else {
        return;
    };
    let rates = [
        account
            .bytes_per_second()
            .map(|rate| ByteRate(rate).to_string()),
        account.per_second().map(|rate| Rate(rate).to_string()),
    ];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    let spread = if account.fewest == account.most {
        String::new()
    } else {
        format!(
            "; the slowest worker had {}, the fastest {}",
            grouped(account.fewest),
            counted(account.most, "operation")
        )
    };
    let after = account.wear_out_ns.map(|ns| {
        let cut = if account.cut > 0 {
            format!(", when its limit ended {}", counted(account.cut, "worker"))
        } else {
            String::new()
        };
        format!("; wear-out of {}{cut}", Nanos(ns))
    });
    page.fact(
        "stonewall",
        &format!(
            "{} by {}{spread}{}",
            rates.join(", "),
            Nanos(account.at_ns),
            after.unwrap_or_default()
        ),
    );
}

fn walk(page: &mut Page, record: &Record) {
    let Some(walk) = record.walk else {
        return;
    };
    let time = record.spans.get("walk").map_or(0, |span| span.elapsed_ns);
    let rate = Rate(per_second(walk.entries, time));
    page.fact(
        "walk",
        &format!(
            "{} looked at, {rate}; {} found{}",
            counted(walk.entries, "entry"),
            grouped(walk.matched),
            walk.levels
                .map_or_else(String::new, |levels| dealt(levels, has_own_targets(record)))
        ),
    );
}

/// Whether ranks walked trees of their own.
fn has_own_targets(record: &Record) -> bool {
    let group = record.group.as_ref();
    group.is_some_and(|group| group.target_is == Some(TargetReach::Local))
}

/// How ranks shared a walk.
fn dealt(levels: WalkLevels, is_of_several: bool) -> String {
    let WalkLevels { fewest, most } = levels;
    if levels.agree() && is_of_several {
        let levels = counted(most, "level");
        return format!(
            "; every rank read up to {levels} of its own target, and the rest of that was dealt out"
        );
    }
    if levels.agree() {
        let read = if most == 1 {
            "first level".to_owned()
        } else {
            format!("first {most} levels")
        };
        return format!("; every rank read the {read}, and the rest was dealt out");
    }
    format!(
        "; NOT RELIABLE: ranks saw different directories and dealt them out below level {fewest} and below level {most}, so that entries may be counted twice or not at all"
    )
}

fn in_flight(page: &mut Page, record: &Record) {
    let generator = &record.loops;
    if generator.worker_ns == 0 {
        return;
    }
    let mean = |whole: f64, parts: u64| if parts > 0 { whole / parts as f64 } else { 0.0 };
    let depth = generator.in_flight_ns as f64 / generator.worker_ns as f64;
    let (submitted, reaped) = (
        mean(generator.submitted as f64, generator.submissions),
        mean(generator.submitted as f64, generator.reaps),
    );
    page.fact(
        "in flight",
        &format!("{depth:.2} a worker on average; {submitted:.1} a submission, {reaped:.1} a reap"),
    );
}

fn cpu(page: &mut Page, record: &Record) {
    let process = record.process();
    let used = process.cpu_ns();
    if used == 0 || record.elapsed_ns == 0 {
        return;
    }
    let operations = record.operations_by_cpu_time();
    let each = |ns: u64| time((operations > 0).then(|| ns as f64 / operations as f64));
    let cost = format!(
        "{} an operation (user {}, system {})",
        each(used),
        each(process.user_ns),
        each(process.system_ns)
    );
    let online = record.cpus_online();
    let cpus = online.map_or_else(String::new, |online| format!(" of {online}"));
    let busy = busy(record);
    // An account of more than all CPUs can give is of a longer time than the operations were.
    let is_of_the_run = online.is_none_or(|online| busy <= online as f64 * MOST_BUSY);
    let busy = if is_of_the_run {
        format!("; {busy:.2}{cpus} CPUs")
    } else {
        String::new()
    };
    let shares = shares(&record.generator().machine);
    page.fact("cpu", &format!("{cost}{busy}{shares}"));
}

/// CPUs that were busy with it: of each host what it used over the time over which that was counted.
pub(super) fn busy(record: &Record) -> f64 {
    let hosts = record.host_parts().into_iter();
    let counted = hosts.filter(|own| own.counted_over_ns() > 0);
    let busy = counted.map(|own| own.host.process.cpu_ns() as f64 / own.counted_over_ns() as f64);
    // The sum of none is below zero by its sign.
    busy.fold(0.0, |all, own| all + own)
}

pub(super) fn shares(machine: &MachineAccount) -> String {
    let shares = [
        ("machine busy", machine.busy_share),
        ("iowait", machine.iowait_share),
        ("steal", machine.steal_share),
    ];
    let shares = shares.iter();
    let shown =
        shares.filter_map(|(name, part)| part.map(|part| format!("; {name} {}", share(part))));
    shown.collect()
}

/// What the target's own process or control group used, where one was named.
pub(super) fn server_use(record: &Record) -> Option<String> {
    let host = record.target()?;
    let used = &host.process;
    let memory = Some(used.max_resident_bytes).filter(|bytes| *bytes > 0);
    // Records that are older than this account have the CPU time of a process alone.
    if memory.is_none() && host.pid.is_some() {
        return None;
    }
    let over_ns = host.window_ns.unwrap_or(record.elapsed_ns);
    let cpus = used.cpu_ns() as f64 / over_ns.max(1) as f64;
    let memory = memory.map(|bytes| format!("; at most {} of memory", Bytes(bytes)));
    let storage = used.storage_read_bytes.zip(used.storage_written_bytes);
    let storage = storage.map(|(read, written)| {
        let (read, written) = (Bytes(read), Bytes(written));
        format!("; read {read} from storage, wrote {written}")
    });
    let shared = (!record.companions.is_empty()).then(|| FOR_ALL.to_owned());
    let rest: String = [memory, storage, shared].into_iter().flatten().collect();
    Some(format!("{cpus:.2} CPUs{rest}"))
}

fn cache(page: &mut Page, record: &Record) {
    let Some(residency) = &record.residency else {
        return;
    };
    let part = |bytes: Option<u64>| {
        bytes
            .and_then(|bytes| share_of(bytes, residency.total_bytes))
            .unwrap_or_else(|| "unknown".to_owned())
    };
    let (before, after) = (part(residency.before_bytes), part(residency.after_bytes));
    page.fact(
        "page cache",
        &format!("{before} of the target before, {after} after"),
    );
}

fn covered(page: &mut Page, coverage: &Coverage) {
    if coverage.uses == 0 || coverage.blocks == 0 {
        return;
    }
    let touched = share_of(coverage.touched, coverage.blocks).unwrap_or_default();
    let blocks = format!(
        "{touched} ({} of {} of {})",
        grouped(coverage.touched),
        counted(coverage.blocks, "block"),
        Bytes(coverage.block_bytes)
    );
    let again = coverage.uses.saturating_sub(coverage.touched);
    let rewrites = format!(
        "rewrites {} of uses ({:.2} uses a block)",
        share_of(again, coverage.uses).unwrap_or_default(),
        coverage.uses as f64 / coverage.touched.max(1) as f64
    );
    page.fact(
        "coverage",
        &format!(
            "{blocks}; {rewrites}; hottest 20% take {}",
            share(coverage.hottest_fifth_share)
        ),
    );
    heat::write(page, coverage);
}

pub(super) fn write_workers(page: &mut Page, record: &Record) {
    if record.workers.is_empty() {
        return;
    }
    page.gap();
    let mut rows = vec![
        [
            "worker",
            "CPUs",
            "started",
            "ended",
            "operations",
            "IOPS",
            "throughput",
            "user",
            "system",
            "CPU wait",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    // Kinds that follow each other have no rate in common.
    let rate = |text: String| {
        if record.spans.len() > 1 {
            "-".to_owned()
        } else {
            text
        }
    };
    for worker in &record.workers {
        let length = worker.ended_ns.saturating_sub(worker.started_ns);
        let cpus = record::CpuList::from_iter(worker.cpus.iter().copied()).to_string();
        let mut row = vec![
            worker.index.to_string(),
            if cpus.is_empty() {
                "any".to_owned()
            } else {
                cpus
            },
        ];
        row.extend([Nanos(worker.started_ns), Nanos(worker.ended_ns)].map(|time| time.to_string()));
        row.extend([
            grouped(worker.operations),
            rate(units::format_count(per_second(worker.operations, length))),
            rate(ByteRate(per_second(worker.bytes, length)).to_string()),
        ]);
        row.extend([Nanos(worker.user_ns), Nanos(worker.system_ns)].map(|time| time.to_string()));
        row.push(time(worker.run_queue_wait_ns.map(|ns| ns as f64)));
        rows.push(row);
    }
    page.table(&rows);
    for worker in &record.workers {
        if let Some(error) = &worker.error {
            page.wrapped("  ", 4, &format!("worker {}: {error}", worker.index));
        }
    }
    page.gap();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn cpu_time_is_held_against_the_time_over_which_it_was_counted() {
        let rank = |number: u32, window_ns: Option<u64>| {
            let mut part = example::oltp();
            part.id = number.to_string();
            let host = part.generator_mut();
            (host.rank, host.window_ns) = (Some(number), window_ns);
            host.process.user_ns = 3_000_000_000;
            host.process.system_ns = 0;
            part
        };
        let of = |parts: Vec<Record>| format!("{:.2}", busy(&Record::merge_all(parts).unwrap()));
        // The measured time is 2 s.
        assert_eq!(of(vec![rank(0, Some(6_000_000_000))]), "0.50");
        assert_eq!(of(vec![rank(0, None)]), "1.50");
        let window = Some(6_000_000_000);
        assert_eq!(of(vec![rank(0, window), rank(1, window)]), "1.00");
        let mut silent = rank(1, None);
        silent.elapsed_ns = 0;
        assert_eq!(of(vec![rank(0, window), silent]), "0.50");
    }

    #[test]
    fn how_ranks_shared_a_walk_is_said_and_that_they_saw_different_trees() {
        let said = |fewest, most| dealt(WalkLevels { fewest, most }, false);
        assert_eq!(
            said(1, 1),
            "; every rank read the first level, and the rest was dealt out"
        );
        assert!(said(3, 3).contains("the first 3 levels, and"));
        assert!(said(2, 3).contains("NOT RELIABLE: ranks saw different directories"));
        let own = |fewest, most| dealt(WalkLevels { fewest, most }, true);
        assert!(own(2, 2).contains("up to 2 levels of its own target,"));
        assert!(own(2, 3).contains("NOT RELIABLE: "));
    }
}
