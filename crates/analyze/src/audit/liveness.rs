//! No rule keeps silent on a record of several hosts of which one has the fault.

use super::RULES;
use super::example::{SECOND, blocks, placed, set, sound, writing};
use super::rule::{alone, together};
use super::set::{Experiment, Located};
use record::{
    FileSystem, IoLimit, Limit, Operations, PaceAccount, Record, Status, Stoppage, TargetFact,
    Transport, Verification, WorkerAccount,
};
use std::collections::BTreeSet;

/// What makes a record of one host one that a rule finds.
type Fault = fn(&mut Record);
/// The same in the slot with this number.
type SlotFault = fn(u32, &mut Record);

fn write_instead(one: &mut Record) {
    let written = writing();
    let hosts = std::mem::take(&mut one.hosts);
    *one = Record {
        id: one.id.clone(),
        name: one.name.clone(),
        ..written
    };
    one.generator_mut().environment.system = hosts[0].environment.system.clone();
}

fn device(one: &mut Record) -> &mut record::BlockDevice {
    let storage = &mut one.generator_mut().environment.storage;
    storage
        .get_or_insert_default()
        .device
        .get_or_insert_default()
}

/// Rules of one record, each with what one host must have for it.
const FAULTS: [(&str, Fault); 35] = [
    ("not_ended", |one| one.outcome.status = Status::Incomplete),
    ("generator_stopped", |one| {
        one.stops = vec![Stoppage {
            start_ns: SECOND,
            end_ns: 4 * SECOND,
            suspended_ns: 0,
        }];
    }),
    ("bytes_and_blocks", |one| {
        let short = Operations {
            bytes: 4095,
            ..blocks(1, 3_200_000)
        };
        one.operations.insert("read", short);
    }),
    ("little_law", |one| one.loops.in_flight_ns *= 3),
    ("elapsed", |one| {
        let early = WorkerAccount {
            ended_ns: 6 * SECOND,
            ..one.workers[0].clone()
        };
        one.workers.push(early);
    }),
    ("depth_not_reached", |one| one.loops.in_flight_ns /= 10),
    ("inline_completion", |one| {
        one.loops.reaps_to_empty = one.loops.reaps;
        set(one, "direct", "false");
    }),
    ("memory_target", |one| {
        let storage = &mut one.generator_mut().environment.storage;
        storage.get_or_insert_default().is_memory = Some(true);
    }),
    ("served_from_cache", |one| {
        set(one, "direct", "false");
        one.generator_mut().devices[0].read_bytes /= 16;
    }),
    ("device_disagrees", |one| {
        one.generator_mut().devices[0].read_bytes /= 10;
    }),
    ("dirty_at_end", |one| {
        write_instead(one);
        one.generator_mut().machine.dirty_before_bytes = Some(1 << 20);
        one.generator_mut().machine.dirty_after_bytes = Some(3 << 30);
    }),
    ("volatile_writes", |one| {
        write_instead(one);
        set(one, "direct", "true");
        device(one).write_cache = Some("write back".into());
        one.generator_mut().devices[0].flushes = Some(0);
    }),
    ("rate_not_kept", |one| {
        one.pace = Some(PaceAccount {
            asked_per_second: Some(12_500.0),
            achieved_per_second: 10_000.0,
            ..PaceAccount::default()
        });
    }),
    ("starved", |one| {
        one.generator_mut().machine.steal_share = Some(0.3);
    }),
    ("clock_drift", |one| {
        one.generator_mut().calibration.clock_drift_ns = Some(2_000_000_000);
    }),
    ("verified_nothing", |one| set(one, "verify", "true")),
    ("verify_cannot_tell_holes", |one| {
        one.verification = Some(Verification {
            pattern: "zeros".into(),
            operations: 9,
            ..Verification::default()
        });
    }),
    ("short_run", |one| one.elapsed_ns = SECOND / 2),
    ("shared_random_writes", |one| {
        write_instead(one);
        set(one, "threads", "4");
        set(one, "file-distribution", "shared");
    }),
    ("latency_below_io", |one| {
        one.operations = record::Measurements::default();
        one.operations.insert("read", blocks(100_000, 400));
    }),
    ("label_vs_pattern", |one| set(one, "random", "false")),
    ("pacing_bound", |one| {
        set(one, "think-time", "1s");
        set(one, "threads", "4000");
    }),
    ("counts_inconsistent", |one| {
        let short = Operations {
            bytes: 100_000 * 2048,
            smallest_bytes: None,
            largest_bytes: None,
            ..blocks(100_000, 3_200_000)
        };
        one.operations = record::Measurements::default();
        one.operations.insert("read", short);
    }),
    ("working_set", |one| {
        one.targets = vec![TargetFact {
            bytes: 64 << 10,
            ..TargetFact::default()
        }];
    }),
    ("never_written", |one| {
        one.verification = Some(Verification {
            operations: 100,
            failures: 38,
            by_kind: [("holes".to_owned(), 38)].into(),
            ..Verification::default()
        });
    }),
    ("generator_bound", |one| {
        one.generator_mut().environment.process.allowed_cpus = "0".parse().ok();
        one.generator_mut().process.user_ns = 10 * SECOND;
    }),
    ("target_on_same_host", |one| {
        one.targets = vec![TargetFact {
            path: "nbd://localhost:10809/x".into(),
            ..TargetFact::default()
        }];
    }),
    ("paced_by_kernel", |one| {
        let pacing = (
            "net.ipv4.tcp_congestion_control".to_owned(),
            "bbr".to_owned(),
        );
        one.generator_mut().environment.system.sysctls = [pacing].into();
        one.targets = vec![TargetFact {
            path: "s3://bucket@http://127.0.0.1:9000".into(),
            ..TargetFact::default()
        }];
        let large = Operations {
            count: 10,
            bytes: 10 << 20,
            ..Operations::default()
        };
        one.operations = record::Measurements::default();
        one.operations.insert("get", large);
    }),
    ("coordinated_omission", |one| {
        one.operations.insert("read", blocks(1, 8 * SECOND));
    }),
    ("provider_limit", |one| {
        let most = Limit::AtMost(10_000);
        one.generator_mut().environment.cgroup = Some(record::ControlGroup {
            io: Some(vec![IoLimit {
                reads_per_second: most,
                ..IoLimit::default()
            }]),
            ..record::ControlGroup::default()
        });
    }),
    ("client_link", |one| {
        one.generator_mut().links = vec![record::LinkAccount {
            name: "eth0".into(),
            sent_bytes: 1_200_000_000,
            bytes_per_second: Some(125_000_000),
            ..record::LinkAccount::default()
        }];
    }),
    ("foreign_io", |one| {
        set(one, "direct", "false");
        one.generator_mut().process.storage_read_bytes = Some(409_600_000);
        one.generator_mut().devices[0].read_bytes = 500_000_000;
    }),
    ("cpu_frequency", |one| {
        let cpu = &mut one.generator_mut().environment.cpu;
        cpu.governor = Some("schedutil".into());
        (cpu.min_mhz, cpu.max_mhz) = (Some(800), Some(3600));
    }),
    ("compressible_data", |one| {
        write_instead(one);
        set(one, "write-pattern", "zeros");
    }),
    ("hidden_layers", |one| {
        device(one).transport = Some(Transport::Loop);
    }),
];

/// Rules of several records that ask what is of one host, each with what the second of two hosts
/// must have in the slot with this number of four.
const SET_FAULTS: [(&str, SlotFault); 6] = [
    ("carry_over", |slot, one| {
        let left = if slot == 2 { 300 } else { 10 };
        one.generator_mut().machine.dirty_before_bytes = Some(left << 20);
        one.generator_mut().machine.dirty_after_bytes = Some(500 << 20);
    }),
    ("ageing", |slot, one| {
        let storage = one
            .generator_mut()
            .environment
            .storage
            .get_or_insert_default();
        storage.file_system = Some(FileSystem {
            free_bytes: Some(u64::from(40 - 5 * slot) << 30),
            total_bytes: Some(100 << 30),
            ..FileSystem::default()
        });
    }),
    ("provenance_mismatch", |slot, one| {
        one.generator_mut().environment.fathom.version = format!("0.{slot}.0");
    }),
    ("several_machines", |slot, one| {
        let system = &mut one.generator_mut().environment.system;
        system.machine_fingerprint = Some(format!("machine {}", slot / 2));
    }),
    ("environment_differs", |slot, one| {
        let model = format!("CPU {}", slot % 2);
        one.generator_mut().environment.cpu.model = Some(model);
    }),
    ("faster_than_medium", |_, one| {
        device(one).transport = Some(Transport::Ata);
        one.elapsed_ns /= 20;
    }),
];

const FOREIGN: &str = "it is of figures of other tools, whose records are not merged";
const WHOLE: &str = "it judges numbers of the whole: those of a part are nobody's result";
const SERIES: &str = "it needs a course, and the series of hosts are added";
const RESULTS: &str = "it compares results, which are of the whole";
const PLAN: &str = "it looks at the plan and its settings, which all hosts have in common";

const GROUP: &str = "it is about hosts beside each other";

/// Rules that say nothing of single hosts, and why.
const SILENT: [(&str, &str); 51] = [
    ("start_skew", GROUP),
    ("kinds_apart", GROUP),
    ("hosts_lost", GROUP),
    ("series_lacks", GROUP),
    ("shared_machine", GROUP),
    ("bound_by_launcher", GROUP),
    ("straggler", GROUP),
    ("rate_share", GROUP),
    ("hosts_differ", GROUP),
    ("not_one_target", GROUP),
    ("own_cache", GROUP),
    ("clock_uncertain", GROUP),
    (
        "server_disagrees",
        "the server saw the requests of all hosts",
    ),
    (
        "generator_late",
        "hosts of one load all have one, which a test of its own sees to",
    ),
    ("percentile_from_few_samples", WHOLE),
    ("single_observation", WHOLE),
    ("tail_after_stop", WHOLE),
    ("errors_as_success", FOREIGN),
    ("summary_contradicts_data", FOREIGN),
    ("no_io", FOREIGN),
    ("failures_in_latency", FOREIGN),
    ("environment_unrecorded", FOREIGN),
    ("unit_mix", FOREIGN),
    ("not_steady", SERIES),
    ("warm_up_in_data", SERIES),
    ("ramp_in_percentile", SERIES),
    ("no_repetition", PLAN),
    ("order_aliased", PLAN),
    ("arms_identical", PLAN),
    ("size_mix", PLAN),
    ("many_comparisons", PLAN),
    ("cells_missing", PLAN),
    ("compared_with_nothing", PLAN),
    ("change_not_exercised", PLAN),
    ("pseudo_replication", PLAN),
    ("unregistered_stopping", PLAN),
    ("plan_contradicted", PLAN),
    ("plan_missing", PLAN),
    ("plan_unfinished", PLAN),
    ("control_fails", RESULTS),
    ("depth_inversion", RESULTS),
    ("same_setup_two_numbers", RESULTS),
    ("unequal_durations", RESULTS),
    ("latency_at_unequal_load", RESULTS),
    ("effect_below_mde", RESULTS),
    ("baseline_is_outlier", RESULTS),
    ("effect_flips_sign", RESULTS),
    ("verified_elsewhere", RESULTS),
    ("drift", RESULTS),
    ("one_sided", RESULTS),
    ("saturation_not_seen", RESULTS),
];

/// Whether a rule is about hosts beside each other, of whom none says anything alone.
pub(super) fn is_about_group(rule: &str) -> bool {
    SILENT.contains(&(rule, GROUP))
}

#[test]
fn every_rule_is_held_by_a_fault_or_has_a_reason_for_its_silence() {
    let faults = FAULTS.iter().map(|(rule, _)| *rule);
    let of_sets = SET_FAULTS.iter().map(|(rule, _)| *rule);
    let silent = SILENT.iter().map(|(rule, _)| *rule);
    let listed: Vec<&str> = faults.chain(of_sets).chain(silent).collect();
    let known: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    let unique: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(unique.len(), listed.len(), "a rule stands there twice");
    assert_eq!(unique, known);
}

/// What a host did.
fn part(name: &str) -> Record {
    let mut record = sound();
    record.id = name.into();
    record.name = "random reads".into();
    record.generator_mut().environment.system.hostname = Some(name.into());
    record
}

/// What two hosts did, of which the second has a fault.
fn merged(fault: impl Fn(&mut Record)) -> Record {
    let mut faulty = part("b");
    fault(&mut faulty);
    Record::merge_all([part("a"), faulty]).unwrap()
}

fn names_b(message: &str) -> bool {
    message.starts_with("on b: ") || message.ends_with("; of the hosts, b alone")
}

#[test]
fn a_rule_finds_the_host_that_has_the_fault_and_names_it() {
    let tells = |rule: &str, fault: Fault| {
        let mut single = part("b");
        fault(&mut single);
        let all = merged(fault);
        let mut of_all = alone(&all).filter(|finding| finding.rule == rule);
        alone(&single).any(|finding| finding.rule == rule)
            && of_all.any(|finding| names_b(&finding.message))
    };
    let untold = FAULTS.iter().filter(|(rule, fault)| !tells(rule, *fault));
    let untold: Vec<&str> = untold.map(|(rule, _)| *rule).collect();
    assert!(untold.is_empty(), "{untold:?}");
    let sound = merged(|_| ());
    let found: Vec<_> = alone(&sound).map(|finding| finding.rule).collect();
    assert_eq!(found, ["single_observation"]);
}

fn found_in(records: &[Record]) -> Vec<Located> {
    let alone = records.iter().flat_map(alone).map(|finding| Located {
        record: None,
        finding,
    });
    let experiments = Experiment::all(records);
    let found: Vec<Located> = experiments.iter().flat_map(together).collect();
    alone.chain(found).collect()
}

#[test]
fn a_rule_of_several_records_finds_what_one_host_of_them_has() {
    for (rule, fault) in SET_FAULTS {
        let slot = |number: u32, fault: &dyn Fn(&mut Record)| {
            let parts = ["a", "b"].map(|name| {
                let mut record = part(name);
                record.id = format!("{name}{number}");
                if name == "b" {
                    fault(&mut record);
                }
                placed(
                    record,
                    ["baseline", "new"][number as usize % 2],
                    number / 2,
                    number,
                )
            });
            Record::merge_all(parts).unwrap()
        };
        let faulty: Vec<Record> = (0..4).map(|n| slot(n, &|one| fault(n, one))).collect();
        let clean: Vec<Record> = (0..4).map(|n| slot(n, &|_| ())).collect();
        let of_rule = |records: &[Record]| -> Vec<String> {
            let found = found_in(records).into_iter();
            let found = found.filter(|located| located.finding.rule == rule);
            found.map(|located| located.finding.message).collect()
        };
        assert!(!of_rule(&faulty).is_empty(), "{rule}");
        assert_eq!(of_rule(&clean), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn jobs_that_shared_a_device_are_compared_on_each_of_several_hosts() {
    let job = |name: &str, of_b: u64| {
        let parts = ["a", "b"].map(|host| {
            let mut record = part(host);
            record.id = format!("{host}-{name}");
            record.name = name.into();
            let other = if name == "x" { "y" } else { "x" };
            record.companions = vec![format!("{host}-{other}")];
            let device = &mut record.generator_mut().devices[0];
            // The device counted both jobs.
            device.read_bytes *= if host == "b" { of_b } else { 2 };
            record
        });
        Record::merge_all(parts).unwrap()
    };
    let disagreeing = |of_b: u64| -> Vec<String> {
        let found = found_in(&[job("x", of_b), job("y", of_b)]).into_iter();
        let found = found.filter(|located| located.finding.rule == "device_disagrees");
        found.map(|located| located.finding.message).collect()
    };
    assert_eq!(disagreeing(2), Vec::<String>::new());
    let found = disagreeing(5);
    assert!(
        found.len() == 1 && found[0].starts_with("on b: "),
        "{found:?}"
    );
}
