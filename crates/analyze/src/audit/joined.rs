//! A joined record fires no rule that none of its parts fires, but for those about the group.

use super::example::{SECOND, blocks, part, set};
use super::liveness::is_about_group;
use super::rule::alone;
use record::{PaceAccount, Record};
use std::collections::BTreeSet;

/// How a rank may differ from the next.
type Change = fn(&mut Record);

/// Has its workers, and with them its measured time, end after so many seconds of the ten.
fn end_after(part: &mut Record, seconds: u64) {
    part.elapsed_ns = seconds * SECOND;
    for worker in &mut part.workers {
        worker.ended_ns = seconds * SECOND;
    }
    let done = blocks(10_000 * seconds, 3_200_000);
    part.operations = record::Measurements::default();
    part.operations.insert("read", done);
    part.loops.in_flight_ns = u128::from(32 * seconds * SECOND);
    part.loops.worker_ns = u128::from(seconds * SECOND);
    let device = &mut part.generator_mut().devices[0];
    (device.reads, device.read_bytes) = (10_000 * seconds, 10_000 * seconds * 4096);
}

/// Each rank sees all that the device of their machine did.
fn share_the_device(parts: &mut [Record]) {
    let bytes = |part: &Record| part.operations.bytes();
    let all: u64 = parts.iter().map(bytes).sum();
    for part in parts {
        let device = &mut part.generator_mut().devices[0];
        (device.reads, device.read_bytes) = (all / 4096, all);
    }
}

const CHANGES: [(&str, Change); 11] = [
    ("nothing", |_| ()),
    ("ended early", |part| end_after(part, 6)),
    ("ended soon", |part| end_after(part, 1)),
    ("began late", |part| {
        part.generator_mut().late_ns = 3 * SECOND
    }),
    ("was not as deep", |part| part.loops.in_flight_ns /= 2),
    ("stood still once", |part| {
        part.operations.insert("read", blocks(1, 50_000_000));
    }),
    ("failed at times", |part| {
        let mut reads = blocks(90_000, 3_200_000);
        reads.errors = 10_000;
        part.operations = record::Measurements::default();
        part.operations.insert("read", reads);
    }),
    ("kept a rate until it ended", |part| {
        end_after(part, 5);
        paced(part, 10_000.0);
    }),
    ("kept a rate", |part| paced(part, 10_000.0)),
    ("nearly kept a rate", |part| paced(part, 9_960.0)),
    ("had more workers", |part| {
        set(part, "threads", "2");
        part.workers.push(part.workers[0].clone());
    }),
];

fn paced(part: &mut Record, achieved: f64) {
    part.pace = Some(PaceAccount {
        asked_per_second: Some(10_000.0),
        achieved_per_second: achieved,
        ..PaceAccount::default()
    });
}

fn rules(record: &Record) -> BTreeSet<&'static str> {
    alone(record).map(|finding| finding.rule).collect()
}

#[test]
fn a_joined_record_fires_no_rule_that_none_of_its_parts_fires() {
    let mut naive = 0;
    for (first, one) in CHANGES {
        for (second, other) in CHANGES {
            for is_one_machine in [false, true] {
                let parts = [one, other, other].into_iter().zip(0..);
                let parts = parts.map(|(change, rank)| {
                    let mut part = part(rank, 3);
                    let machine = if is_one_machine { 0 } else { rank };
                    let system = &mut part.generator_mut().environment.system;
                    system.boot_id = Some(machine.to_string());
                    change(&mut part);
                    part
                });
                let mut parts: Vec<Record> = parts.collect();
                if is_one_machine {
                    share_the_device(&mut parts);
                }
                let of_parts: BTreeSet<_> = parts.iter().flat_map(rules).collect();
                let joined = Record::merge_all(parts).unwrap();
                let of_joined = rules(&joined);
                let fired = of_joined.difference(&of_parts);
                let fired: Vec<_> = fired.filter(|rule| !is_about_group(rule)).collect();
                let on = if is_one_machine {
                    "one machine"
                } else {
                    "three"
                };
                assert!(
                    fired.is_empty(),
                    "one rank {first}, two {second}, on {on}: {fired:?}"
                );
                naive += super::elapsed::check(&joined).len();
            }
        }
    }
    assert!(naive > 0, "no group has ranks that ended apart");
}
