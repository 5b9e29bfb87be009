//! hyperfine: `--export-json`. Times are seconds, memory is bytes (`src/benchmark/benchmark_result.rs`).
//!
//! Each command is a record and each of its runs an operation `run`. Runs that failed, which `--ignore-failure` keeps in the file,
//! count as errors and their times are left out, as in every record.

use crate::bins::Bins;
use crate::error::Fault;
use crate::input::Input;
use crate::node::Node;
use crate::origin::{Origin, without_secrets};
use crate::time;
use record::{ErrorCount, Operations, Record, Summary};
use std::collections::BTreeMap;

const SECOND_NS: f64 = 1e9;
const KIND: &str = "run";

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    let Some(value) = documents.values.first() else { return Ok(Vec::new()) };
    let results: Vec<Node<'_>> = Node::root(value, "").need("results")?.items()?.collect();
    origin.admit(results.len())?;
    let several = results.len() > 1;
    results
        .iter()
        .enumerate()
        .map(|(index, result)| {
            let mut record = command(result, index, origin)?;
            if several {
                record
                    .notices
                    .push("hyperfine runs all repetitions of one command before the next: order and command cannot be separated".into());
            }
            Ok(record)
        })
        .collect()
}

fn command(result: &Node<'_>, index: usize, origin: &Origin<'_>) -> Result<Record, Fault> {
    let text = without_secrets(result.need("command")?.text()?);
    let mut record = origin.record(index, &text, None);
    record.asked.insert("command".into(), text);
    if let Some(parameters) = result.get("parameters") {
        for (key, value) in parameters.members()? {
            record.asked.insert(format!("parameter {key}"), value.text()?.to_owned());
        }
    }
    let seconds = |key| Ok(result.opt_number(key)?.and_then(|value| time::nanos(value, SECOND_NS)).map(|ns| ns as f64));
    let mut summary = Summary {
        mean_ns: seconds("mean")?,
        min_ns: seconds("min")?,
        max_ns: seconds("max")?,
        stddev_ns: seconds("stddev")?,
        ..Summary::default()
    };
    if let Some(median) = seconds("median")? {
        summary.percentiles_ns.insert("50".into(), median);
    }
    for (key, name) in [("user", "user seconds"), ("system", "system seconds")] {
        if let Some(value) = result.opt_number(key)? {
            summary.figures.insert(name.into(), value);
        }
    }
    if let Some(runs) = Runs::read(result)? {
        summary.count = Some(runs.times.count());
        summary.errors = Some(runs.failed);
        summary.samples = Some(runs.times.count().saturating_add(runs.failed));
        record.elapsed_ns = runs.elapsed_ns;
        runs.store(&mut record);
    }
    record.summaries.insert(KIND.into(), summary);
    Ok(record)
}

#[derive(Default)]
struct Runs {
    times: Bins,
    elapsed_ns: u64,
    failed: u64,
    failures: BTreeMap<String, u64>,
}

impl Runs {
    /// `None` in exports of versions that kept no single times.
    fn read(result: &Node<'_>) -> Result<Option<Self>, Fault> {
        let Some(times) = result.get("times") else { return Ok(None) };
        let mut codes = Vec::new();
        if let Some(node) = result.get("exit_codes") {
            codes = node.items()?.collect();
        }
        let mut runs = Self::default();
        let mut count = 0;
        for (index, node) in times.items()?.enumerate() {
            count += 1;
            let ns = time::nanos(node.number()?, SECOND_NS).ok_or_else(|| node.fault("not a time of 0 or more seconds"))?;
            runs.elapsed_ns = runs.elapsed_ns.saturating_add(ns);
            match codes.get(index).map(failure).transpose()?.flatten() {
                Some(failure) => {
                    runs.failed += 1;
                    *runs.failures.entry(failure).or_default() += 1;
                }
                None if runs.times.add(ns, 1) => {}
                None => return Err(node.fault("more runs than 64 bits count")),
            }
        }
        if !codes.is_empty() && codes.len() != count {
            return Err(times.fault(format!("{count} times and {} exit codes", codes.len())));
        }
        Ok(Some(runs))
    }

    fn store(self, record: &mut Record) {
        for (error, count) in self.failures {
            record.errors.push(ErrorCount { operation: KIND.into(), error, count, ..ErrorCount::default() });
        }
        if self.failed > 0 {
            record
                .notices
                .push(format!("{} runs failed; mean, median and deviation as hyperfine prints them include their times", self.failed));
        }
        let count = self.times.count();
        let operations = Operations { count, errors: self.failed, latency: self.times.into_histogram(), ..Operations::default() };
        record.operations.insert(KIND, operations);
    }
}

/// How a run failed; a code of null is a signal.
fn failure(code: &Node<'_>) -> Result<Option<String>, Fault> {
    if code.is_null() {
        return Ok(Some("killed by a signal".into()));
    }
    let number = code.number()?;
    Ok((number != 0.0).then(|| format!("exit code {number}")))
}
