//! Runs of the modelled device with nothing wrong about them: the audit must call none of them
//! invalid.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

use analyze::{Located, Severity, audit};
use record::{Record, Trial, read_records};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Numbers that look like chance and are the same every time (the constants of Numerical Recipes).
struct Draws(u64);

impl Draws {
    fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        choices[usize::try_from(self.0 >> 33).unwrap() % choices.len()]
    }
}

/// Runs of the modelled device, one after the other in virtual time.
fn measured(directory: &Path, phases: &str) -> Vec<Record> {
    let [config, records] = ["runs.toml", "runs.jsonl"].map(|name| directory.join(name));
    std::fs::write(
        &config,
        format!("target = \"x\"\nengine = \"sim\"\n{phases}"),
    )
    .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["run", "--no-live", "--config"])
        .arg(&config)
        .arg("--records")
        .arg(&records)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    read_records(&records).unwrap().records
}

fn invalid(records: &[Record]) -> Vec<Located> {
    audit(records)
        .into_iter()
        .filter(|located| located.finding.severity == Severity::Invalid)
        .collect()
}

/// Settings that vary as those of users do: sizes, directions, depths, devices, lengths, and rates
/// that the device can serve.
fn varied(runs: u32) -> String {
    let mut draws = Draws(1);
    let mut out = String::new();
    for run in 0..runs {
        let depth = draws.of(&["1", "2", "4", "8"]);
        let latency = draws.of(&["8ms", "15ms", "30ms"]);
        let jitter = draws.of(&["none", "exponential"]);
        let servers = draws.of(&["1", "4"]);
        let duration = draws.of(&["10s", "30s", "45s"]);
        let direction = draws.of(&["100", "70", "0"]);
        let block = draws.of(&["512", "4k", "16k"]);
        let random = draws.of(&["true", "false"]);
        // At most half of what the slowest of these devices serves.
        let pace = draws.of(&[
            "",
            "",
            "rate-iops = 15\n",
            "rate-iops = 15\narrival = \"poisson\"\n",
        ]);
        // An open loop is no loop of a depth: who waits needs a slot to wait in.
        let depth = if pace.is_empty() { depth } else { "256" };
        write!(
            out,
            "[[phase]]\nname = \"run {run}\"\nseed = {run}\nqueue-depth = {depth}\nduration = \"{duration}\"\nread-percent = {direction}\n\
             block-size = \"{block}\"\nrandom = {random}\n{pace}sim-model = \"latency={latency},jitter={jitter},servers={servers}\"\n"
        )
        .unwrap();
    }
    out
}

#[test]
fn a_hundred_clean_runs_are_called_invalid_neither_alone_nor_together() {
    let directory = tempfile::tempdir().unwrap();
    let records = measured(directory.path(), &varied(100));
    assert_eq!(records.len(), 100);
    for record in &records {
        assert_eq!(
            invalid(std::slice::from_ref(record)),
            [],
            "{}: {:?}",
            record.name,
            record.effective
        );
    }
    assert_eq!(invalid(&records), []);
}

/// Two arms in blocks of random order, all on one device.
fn experiment(directory: &Path, blocks: u32) -> Vec<Record> {
    let phases: String = (0..2 * blocks).fold(String::new(), |mut out, slot| {
        let model = "latency=5ms,jitter=exponential,servers=4";
        writeln!(
            out,
            "[[phase]]\nname = \"reads\"\nseed = {slot}\nqueue-depth = 4\nduration = \"10s\"\nrandom = true\nsim-model = \"{model}\""
        )
        .unwrap();
        out
    });
    let mut draws = Draws(7);
    let mut order: Vec<(&str, u32)> = Vec::new();
    for block in 0..blocks {
        let first = draws.of(&["baseline", "candidate"]);
        let second = if first == "baseline" {
            "candidate"
        } else {
            "baseline"
        };
        order.extend([(first, block), (second, block)]);
    }
    let mut records = measured(directory, &phases);
    for ((record, (arm, block)), slot) in records.iter_mut().zip(order).zip(0..) {
        record.trial = Some(Trial {
            plan: "plan".into(),
            arm: arm.into(),
            row: "reads".into(),
            block,
            slot,
            ..Trial::default()
        });
    }
    records
}

#[test]
fn a_clean_experiment_of_ten_blocks_is_not_invalid() {
    let directory = tempfile::tempdir().unwrap();
    let records = experiment(directory.path(), 10);
    assert_eq!(records.len(), 20);
    assert_eq!(invalid(&records), []);
    let found = audit(&records);
    // A clock that steps or a machine that is away may speak of a slot or two.
    let most = found
        .iter()
        .map(|a| {
            found
                .iter()
                .filter(|b| b.record.is_some() && b.finding.rule == a.finding.rule)
                .count()
        })
        .max();
    assert!(
        most.unwrap_or(0) < 5,
        "an honest experiment is not drowned: {found:?}"
    );
}

#[test]
fn a_device_that_stands_still_for_a_third_of_the_run_is_not_clean() {
    let directory = tempfile::tempdir().unwrap();
    let phase = "[[phase]]\nname = \"stalled\"\nqueue-depth = 4\nduration = \"45s\"\nsim-model = \"latency=5ms,servers=4,stall=30s+15s\"\n";
    let records = measured(directory.path(), phase);
    let rules: Vec<&str> = invalid(&records)
        .into_iter()
        .map(|located| located.finding.rule)
        .collect();
    assert_eq!(rules, ["not_steady"]);
}
