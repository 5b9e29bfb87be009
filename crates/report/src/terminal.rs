//! The summary that people read after a run.
//!
//! First what was measured, on what, and where that differs from what was asked; then rates and
//! latencies by kind; then every account that the record has; last the findings. One unit system:
//! bytes in powers of 1024, counts in powers of 1000. A percentile with fewer than ten
//! samples above it is starred. Text from outside (paths, messages) is shown without control
//! characters.

use analyze::Finding;
use record::Record;

mod accounts;
mod below;
mod colour;
mod heat;
mod histogram;
mod hosts;
mod knee;
mod layout;
mod lead;
mod load;
mod page;
mod rates;
mod study;
mod verdict;
mod width;

pub use colour::coloured;
pub use knee::knee_text;
pub(crate) use layout::UNFOLD;
pub use layout::{TextLayout, broken};
pub use page::Page;
pub use study::{closing_answer, study_text};

/// What the summary shows beyond its core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TerminalOptions {
    /// Adds minimum and standard deviation of latencies.
    pub show_latency: bool,
    /// Adds a histogram of latencies for each kind of operation.
    pub show_histogram: bool,
    /// Percentiles (0 to 100) instead of the usual ones; empty: the usual ones.
    pub show_percentiles: Vec<f64>,
    /// Adds a line for each worker.
    pub per_worker: bool,
    pub layout: TextLayout,
}

/// The summary of one record, a run or a load, and what an audit found in it, in lines as wide as the
/// layout says unless a word is longer.
#[must_use]
pub fn terminal(record: &Record, findings: &[Finding], options: &TerminalOptions) -> String {
    if record.kind == "load" {
        return load::text(record, findings, options);
    }
    let mut page = Page::new(options.layout);
    lead::write(&mut page, record);
    rates::write_rates(&mut page, record);
    rates::write_latencies(&mut page, record, options);
    if options.show_histogram {
        histogram::write(&mut page, record);
    }
    verdict::write_verification(&mut page, record);
    accounts::write(&mut page, record);
    if options.per_worker {
        accounts::write_workers(&mut page, record);
    }
    verdict::write_thresholds(&mut page, record);
    verdict::write_outcome(&mut page, record);
    verdict::write_findings(&mut page, findings);
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use analyze::{Severity, self_check};
    use proptest::prelude::*;
    use record::{Histogram, Operations, Verification};

    fn shown(record: &Record, options: &TerminalOptions) -> String {
        terminal(record, &self_check(record), options)
    }

    #[test]
    fn the_summary_of_a_record() {
        insta::assert_snapshot!(shown(&example::oltp(), &TerminalOptions::default()), @r#"
        oltp: random zipf(1.2) 70% reads and 30% writes of 4 KiB on /data/oltp.dat (file, 8 GiB)
          io_uring, 2 threads, queue depth 4, direct, verified, fsync every 500 writes, range locks, all on
          the whole target, for 2 s, measured 2 s
          engine: asked sync, effective io_uring (sync has one operation in flight, and a queue depth of 4
            was asked for)
          note: the file system has no DIOALIGN: alignment assumed from the device

                IOPS  throughput  operations     bytes  errors
        fsync      8           -          16         -       0
        read   7.04K  27.5 MiB/s      14,081  55.0 MiB       3
        write  3.79K  14.8 MiB/s       7,572  29.6 MiB       0
        all    10.8K  42.3 MiB/s      21,669  84.6 MiB       3

        latency      mean       p50        p90        p99      p99.9      max
        fsync      2.4 ms    2.4 ms*    2.4 ms*    2.4 ms*    2.4 ms*  2.4 ms
        read     96.84 µs   81.2 µs   84.35 µs   112.1 µs   8.998 ms     9 ms
        write    24.83 µs  21.07 µs   30.53 µs   30.59 µs   1.199 ms*  1.2 ms
        * fewer than 10 operations were slower than this percentile

        Verification: Operations: 14101, Failures: 2, Success: 99.98%
          failures by kind: stale 1, torn 1
          torn at /data/oltp.dat offset 4096: sector 3 of 8 is of generation 4, not 5
          stale at /data/oltp.dat offset 1638400: generation 2, expected 3
          pattern header; checked before the run: bit flip, swap, hole and stale block found

        in flight     3.85 a worker on average; 1.4 a submission, 1.4 a reap
        cpu           38.77 µs an operation (user 11.54 µs, system 27.23 µs); 0.42 of 2 CPUs; machine busy
                      47%; iowait 11%; steal 0.2%
        device        nvme0n1: read 55.1 MiB (100.1% of ours), wrote 29.8 MiB (100.9% of ours), 16 flushes,
                      busy 86%
        locks         range: 21,600 waits, mean 1.674 µs, p99 48 µs, max 48 µs
        coverage      0.5% (9,911 of 2,097,152 blocks of 4 KiB); rewrites 53.7% of uses (2.16 uses a block);
                      hottest 20% take 71.4%
        heat map      |█▇▆▆▅▅▅▅▄▄▄▄▄▄▄▄▄▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂····|
                       0                                                          8 GiB
                       ▄ is an even share of the uses (1.6%), and each step twice the one below; the most
                       that a column has is 28%
        filled        8 GiB in 4.13 s before the measured time: the file was missing
        error         3 x EIO in read, first at /data/oltp.dat offset 7340032
        outcome       failed (exit code 1): 2 blocks failed verification, 3 reads failed

        warning[little_law]: rate, latency and concurrency do not fit: rate x latency is 0.10 times the
          operations seen in flight (Little's law)
          help: some time is counted twice or not at all: trust the rate, not the latencies, and look at the
                worker accounts
        warning[percentile_from_few_samples]: fewer than 10 samples lie above these percentiles: fsync from
          p50 on (16 operations), write from p99.9 on (7,572 operations)
          help: run longer, or quote a lower percentile
        note[short_run]: 2 s of measured time shows the start of a run, not its steady state
          help: run for 30 s or longer, with --warmup, before quoting a rate
        note[shared_random_writes]: 2 workers wrote the same blocks in random order: what a block holds at
          the end depends on timing
          help: as a load this is fine; for comparable content use --file-distribution partitioned, for
                exclusion --lock-mode range
        note[single_observation]: single observation: no interval
          help: one run cannot say how far the next would differ: repeat in fresh runs before comparing or
                quoting
        "#);
    }

    #[test]
    fn each_of_several_hosts_is_told() {
        let part = |name: &str| {
            let mut record = example::oltp();
            record.id = name.into();
            record.generator_mut().environment.system.hostname = Some(name.into());
            record
        };
        let mut record = part("a");
        record.merge(&part("b")).unwrap();
        let text = terminal(&record, &[], &TerminalOptions::default());
        let (of_hosts, rest) = text.split_at(text.find("cpu  ").unwrap());
        assert!(of_hosts.contains("43,338"), "{of_hosts}");
        let coverage = "coverage      unknown of all ranks together";
        assert!(text.contains(coverage), "{text}");
        let told = rest.split("locks ").next().unwrap();
        insta::assert_snapshot!(told, @r"
        cpu           38.77 µs an operation (user 11.54 µs, system 27.23 µs); 0.84 of 4 CPUs
        host          a: 21,669 operations, 10.8 K/s, p50 81.03 µs, p99 112.1 µs; 0.42 CPUs; machine busy
                      47%; iowait 11%; steal 0.2%
        host          b: 21,669 operations, 10.8 K/s, p50 81.03 µs, p99 112.1 µs; 0.42 CPUs; machine busy
                      47%; iowait 11%; steal 0.2%
        device        nvme0n1 on a: read 55.1 MiB (100.1% of ours), wrote 29.8 MiB (100.9% of ours), 16
                      flushes, busy 86%
        device        nvme0n1 on b: read 55.1 MiB (100.1% of ours), wrote 29.8 MiB (100.9% of ours), 16
                      flushes, busy 86%
        ");
    }

    #[test]
    fn what_ranks_of_one_machine_share_is_told_once() {
        let text = |boot: fn(u32) -> u32| {
            let parts = (0..4).map(|rank| {
                let mut record = example::oltp();
                record.id = rank.to_string();
                let host = record.generator_mut();
                host.rank = Some(rank);
                host.environment.system.boot_id = Some(boot(rank).to_string());
                host.environment.system.hostname = Some(format!("vm{}", boot(rank)));
                record
            });
            let record = Record::merge_all(parts).unwrap();
            terminal(&record, &[], &TerminalOptions::default())
        };
        let one = text(|_| 0);
        assert!(
            one.contains("1.67 of 2 CPUs") || one.contains("1.68 of 2 CPUs"),
            "{one}"
        );
        assert_eq!(
            one.matches("device        nvme0n1: read 55.1 MiB").count(),
            1,
            "{one}"
        );
        assert_eq!(one.matches("machine busy").count(), 1, "{one}");
        assert!(one.contains("vm0: 4 ranks; machine busy"), "{one}");
        let two = text(|rank| rank / 2);
        assert!(two.contains(" of 4 CPUs"), "{two}");
        assert_eq!(
            two.matches("device        nvme0n1 on vm").count(),
            2,
            "{two}"
        );
    }

    #[test]
    fn all_that_can_be_shown() {
        let options = TerminalOptions {
            show_latency: true,
            show_histogram: true,
            show_percentiles: vec![50.0, 99.0],
            per_worker: true,
            ..TerminalOptions::default()
        };
        let text = terminal(&example::oltp(), &[], &options);
        insta::assert_snapshot!(text, @r#"
        oltp: random zipf(1.2) 70% reads and 30% writes of 4 KiB on /data/oltp.dat (file, 8 GiB)
          io_uring, 2 threads, queue depth 4, direct, verified, fsync every 500 writes, range locks, all on
          the whole target, for 2 s, measured 2 s
          engine: asked sync, effective io_uring (sync has one operation in flight, and a queue depth of 4
            was asked for)
          note: the file system has no DIOALIGN: alignment assumed from the device

                IOPS  throughput  operations     bytes  errors
        fsync      8           -          16         -       0
        read   7.04K  27.5 MiB/s      14,081  55.0 MiB       3
        write  3.79K  14.8 MiB/s       7,572  29.6 MiB       0
        all    10.8K  42.3 MiB/s      21,669  84.6 MiB       3

        latency     min      mean    stddev       p50        p99      max
        fsync    2.4 ms    2.4 ms    256 ns    2.4 ms*    2.4 ms*  2.4 ms
        read      81 µs  96.84 µs  336.5 µs   81.2 µs   112.1 µs     9 ms
        write     21 µs  24.83 µs  46.98 µs  21.07 µs   30.59 µs   1.2 ms
        * fewer than 10 operations were slower than this percentile

        fsync latency
              2 ms -     3 ms  16  100%  ██████████████████████████████████████████████████

        read latency
             70 µs -   100 µs  12,900  91.6%  ██████████████████████████████████████████████████
            100 µs -   150 µs   1,140   8.1%  ████▌
               …
            300 µs -   500 µs      21   0.1%  ▏
               …
              7 ms -    10 ms      20   0.1%  ▏

        write latency
             20 µs -    30 µs  6,000  79.2%  ██████████████████████████████████████████████████
             30 µs -    50 µs  1,560  20.6%  █████████████
               …
              1 ms -   1.5 ms     12   0.2%  ▏

        Verification: Operations: 14101, Failures: 2, Success: 99.98%
          failures by kind: stale 1, torn 1
          torn at /data/oltp.dat offset 4096: sector 3 of 8 is of generation 4, not 5
          stale at /data/oltp.dat offset 1638400: generation 2, expected 3
          pattern header; checked before the run: bit flip, swap, hole and stale block found

        in flight     3.85 a worker on average; 1.4 a submission, 1.4 a reap
        cpu           38.77 µs an operation (user 11.54 µs, system 27.23 µs); 0.42 of 2 CPUs; machine busy
                      47%; iowait 11%; steal 0.2%
        device        nvme0n1: read 55.1 MiB (100.1% of ours), wrote 29.8 MiB (100.9% of ours), 16 flushes,
                      busy 86%
        locks         range: 21,600 waits, mean 1.674 µs, p99 48 µs, max 48 µs
        coverage      0.5% (9,911 of 2,097,152 blocks of 4 KiB); rewrites 53.7% of uses (2.16 uses a block);
                      hottest 20% take 71.4%
        heat map      |█▇▆▆▅▅▅▅▄▄▄▄▄▄▄▄▄▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂····|
                       0                                                          8 GiB
                       ▄ is an even share of the uses (1.6%), and each step twice the one below; the most
                       that a column has is 28%
        filled        8 GiB in 4.13 s before the measured time: the file was missing

        worker  CPUs  started  ended  operations   IOPS  throughput    user  system  CPU wait
        0          0    12 µs    2 s      10,844  5.42K  21.2 MiB/s  120 ms  290 ms     14 ms
        1          1    12 µs    2 s      10,844  5.42K  21.2 MiB/s  120 ms  290 ms     14 ms

        error         3 x EIO in read, first at /data/oltp.dat offset 7340032
        outcome       failed (exit code 1): 2 blocks failed verification, 3 reads failed
        "#);
    }

    #[test]
    fn an_open_loop_shows_service_times_apart() {
        let mut record = example::oltp();
        let service = record
            .operations
            .kind("read")
            .map(|reads| reads.latency.clone());
        record.operations = record::Measurements::default();
        let mut late = Operations {
            count: 10,
            bytes: 40_960,
            service,
            ..Operations::default()
        };
        late.latency.record_many(900_000_000, 10);
        record.operations.insert("read", late);
        record.pace = Some(record::PaceAccount {
            asked_per_second: Some(10.0),
            achieved_per_second: 5.0,
            unsent: 10,
            ..Default::default()
        });
        let text = shown(&record, &TerminalOptions::default());
        let [late, service] = ["\nread  ", "\n  service"].map(|start| {
            text.rfind(start)
                .map(|at| text[at + 1..].lines().next().unwrap())
        });
        assert!(
            late.unwrap().contains("900 ms") && service.unwrap().contains("81.2 µs"),
            "{text}"
        );
        assert!(
            text.contains("pace          asked 10 /s, achieved 5 /s; 10 operations never started"),
            "{text}"
        );
    }

    #[test]
    fn success_is_never_rounded_up_to_all() {
        for (operations, failures, expected) in [
            (
                1_000_000,
                0,
                "Verification: Operations: 1000000, Failures: 0, Success: 100.00%",
            ),
            (
                1_000_000,
                1,
                "Verification: Operations: 1000000, Failures: 1, Success: 99.99%",
            ),
            (
                3,
                2,
                "Verification: Operations: 3, Failures: 2, Success: 33.33%",
            ),
            (
                u64::MAX,
                1,
                "Verification: Operations: 18446744073709551615, Failures: 1, Success: 99.99%",
            ),
            (
                0,
                0,
                "Verification: Operations: 0, Failures: 0, Success: n/a (written for a later check)",
            ),
        ] {
            let record = Record {
                verification: Some(Verification {
                    operations,
                    failures,
                    ..Verification::default()
                }),
                ..Record::default()
            };
            let text = terminal(&record, &[], &TerminalOptions::default());
            assert!(
                text.lines().any(|line| line == expected),
                "{expected}\n{text}"
            );
        }
    }

    #[test]
    fn the_last_lines_are_the_findings() {
        let text = shown(&example::oltp(), &TerminalOptions::default());
        assert!(
            text.contains("note[single_observation]: single observation: no interval\n  help: ")
        );
        let finding = Finding {
            rule: "starved",
            severity: Severity::Warning,
            message: "m".into(),
            advice: "a".into(),
            differing: Vec::new(),
        };
        assert!(
            terminal(&Record::default(), &[finding], &TerminalOptions::default())
                .ends_with("\nwarning[starved]: m\n  help: a\n")
        );
    }

    #[test]
    fn control_characters_of_a_path_do_not_reach_the_terminal() {
        let mut record = example::oltp();
        record.targets[0].path = "/data/\u{1b}[2Jx".into();
        let text = shown(&record, &TerminalOptions::default());
        assert!(!text.contains('\u{1b}') && text.contains("/data/\u{fffd}[2Jx"));
    }

    #[test]
    fn lines_fit_a_hundred_columns_or_those_that_a_terminal_has() {
        let options = TerminalOptions {
            show_latency: true,
            show_histogram: true,
            per_worker: true,
            ..TerminalOptions::default()
        };
        let many = TerminalOptions {
            show_percentiles: (0..20).map(|i| f64::from(i) * 5.0).collect(),
            ..options.clone()
        };
        for options in [options, many] {
            for columns in [None, Some(60), Some(80), Some(120), Some(200)] {
                let layout = TextLayout {
                    columns,
                    ..TextLayout::default()
                };
                let text = shown(
                    &example::oltp(),
                    &TerminalOptions {
                        layout,
                        ..options.clone()
                    },
                );
                for line in text.lines() {
                    assert!(
                        line.chars().count() <= columns.unwrap_or(100) && !line.ends_with(' '),
                        "{columns:?}: {line}"
                    );
                }
            }
        }
    }

    #[test]
    fn folded_findings_are_a_line_each_and_say_how_to_see_them_in_full() {
        let layout = TextLayout {
            columns: Some(80),
            folds_findings: true,
        };
        let options = TerminalOptions {
            layout,
            ..TerminalOptions::default()
        };
        let text = shown(&example::oltp(), &options);
        let found: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("warning["))
            .collect();
        insta::assert_snapshot!(found.join("\n"), @r#"
        warning[little_law]: rate, latency and concurrency do not fit: rate x latency …
        warning[percentile_from_few_samples]: fewer than 10 samples lie above these …
        note[short_run]: 2 s of measured time shows the start of a run, not its …
        note[shared_random_writes]: 2 workers wrote the same blocks in random order: …
        note[single_observation]: single observation: no interval
        --findings shows each in full; `fathom explain RULE` says why and what to do
        "#);
    }

    #[test]
    fn empty_records_and_empty_histograms_are_no_reason_to_panic() {
        let options = TerminalOptions {
            show_latency: true,
            show_histogram: true,
            show_percentiles: vec![f64::NAN, -1.0, 200.0],
            per_worker: true,
            ..TerminalOptions::default()
        };
        let mut hollow = example::oltp();
        hollow.operations.insert(
            "stat",
            Operations {
                count: 5,
                service: Some(Histogram::default()),
                ..Operations::default()
            },
        );
        hollow.elapsed_ns = 0;
        for record in [Record::default(), hollow] {
            assert!(shown(&record, &options).contains("single observation"));
        }
    }

    proptest! {
        #[test]
        fn no_numbers_make_it_panic(count in any::<u64>(), bytes in any::<u64>(), elapsed in any::<u64>(), value in any::<u64>(), fill in any::<u64>()) {
            let mut record = example::oltp();
            let mut operations = Operations { count, bytes, ..Operations::default() };
            operations.latency.record(value);
            record.operations = record::Measurements::default();
            record.operations.insert("read", operations);
            record.elapsed_ns = elapsed;
            record.generator_mut().process.user_ns = fill;
            record.generator_mut().devices[0].read_bytes = value;
            record.workers[0].ended_ns = fill;
            record.coverage.as_mut().unwrap().blocks = count;
            let options = TerminalOptions { show_histogram: true, per_worker: true, ..TerminalOptions::default() };
            prop_assert!(shown(&record, &options).ends_with('\n'));
            prop_assert!(crate::csv(std::slice::from_ref(&record)).ends_with('\n'));
            prop_assert!(crate::csv_summary(std::slice::from_ref(&record)).ends_with('\n'));
            let with_bins = crate::FioOptions { bins: true, ..crate::FioOptions::default() };
            prop_assert!(crate::fio_json(&[record], &with_bins).is_object());
        }
    }
}
