//! hyperfine: `--export-json`. Times are seconds, memory is bytes
//! (`src/benchmark/benchmark_result.rs`).
//!
//! The command is the target, and each of its starts a record, in the order in which they ran: a
//! start is a fresh trial, and several of them have an interval. Starts that failed, which
//! `--ignore-failure` keeps in the file, are errors without a time, as in every record.
//! What hyperfine says of all starts together stands with the first. Exports without single times
//! give one record a command.

use crate::bins::Bins;
use crate::error::Fault;
use crate::input::Input;
use crate::node::Node;
use crate::origin::{Origin, without_secrets};
use record::{ErrorCount, Operations, Outcome, Record, Status, Summary, TargetFact};
use units::time;

const SECOND_NS: f64 = 1e9;
const KIND: &str = "run";

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    let mut out = Vec::new();
    for value in &documents.values {
        let results: Vec<Node<'_>> = Node::root(value, "").need("results")?.items()?.collect();
        for result in &results {
            let mut records = command(result, out.len(), origin)?;
            if let Some(first) = records.first_mut().filter(|_| results.len() > 1) {
                first
                    .notices
                    .push("hyperfine runs all repetitions of one command before the next: order and command cannot be separated".into());
            }
            out.extend(records);
            origin.admit(out.len())?;
        }
    }
    Ok(out)
}

/// The starts of one command; the first is the `index`th record of its file.
fn command(result: &Node<'_>, index: usize, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let text = without_secrets(result.need("command")?.text()?);
    let mut record = origin.record(index, KIND, None);
    record.targets = vec![TargetFact {
        path: text.clone(),
        kind: "command".into(),
        ..TargetFact::default()
    }];
    record.asked.insert("command".into(), text);
    if let Some(parameters) = result.get("parameters") {
        for (key, value) in parameters.members()? {
            record
                .asked
                .insert(format!("parameter {key}"), value.text()?.to_owned());
        }
    }
    let all = together(result)?;
    let Some(starts) = starts(result)? else {
        record.summaries.insert(KIND.into(), all);
        return Ok(vec![record]);
    };
    let failed = starts
        .iter()
        .filter(|start| start.failure.is_some())
        .count();
    let plain = record.clone();
    let mut out: Vec<Record> = Vec::with_capacity(starts.len());
    for (number, start) in starts.into_iter().enumerate() {
        let mut one = Record {
            id: origin.record(index + number, KIND, None).id,
            repeat: origin.repeat(index, number),
            ..plain.clone()
        };
        start.enter(&mut one)?;
        out.push(one);
    }
    match out.first_mut() {
        Some(first) => {
            if failed > 0 {
                first
                    .notices
                    .push(format!("{failed} runs failed; mean, median and deviation as hyperfine prints them include their times"));
            }
            first.summaries.insert(ALL.into(), as_figures(&all));
        }
        None => {
            record.summaries.insert(KIND.into(), all);
            out.push(record);
        }
    }
    Ok(out)
}

/// Where the figures of all starts together stand.
const ALL: &str = "all starts";

/// What hyperfine says of all starts of a command.
fn together(result: &Node<'_>) -> Result<Summary, Fault> {
    let seconds = |key| {
        Ok(result
            .opt_number(key)?
            .and_then(|value| time::nanos(value, SECOND_NS))
            .map(|ns| ns as f64))
    };
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
    Ok(summary)
}

/// The same as plain figures: beside the starts themselves they are no operations once more.
fn as_figures(all: &Summary) -> Summary {
    let moments = [
        ("mean ns", all.mean_ns),
        ("stddev ns", all.stddev_ns),
        ("min ns", all.min_ns),
        ("max ns", all.max_ns),
    ];
    let median = all
        .percentiles_ns
        .get("50")
        .map(|ns| ("median ns".to_owned(), *ns));
    let named = moments
        .into_iter()
        .filter_map(|(name, ns)| Some((name.to_owned(), ns?)));
    Summary {
        figures: named.chain(median).chain(all.figures.clone()).collect(),
        ..Summary::default()
    }
}

/// One start of a command.
struct Start {
    ns: u64,
    failure: Option<String>,
}

impl Start {
    fn enter(self, record: &mut Record) -> Result<(), Fault> {
        let mut times = Bins::default();
        match self.failure {
            Some(error) => {
                record.outcome = Outcome {
                    status: Status::Failed,
                    exit_code: 1,
                    message: Some(error.clone()),
                };
                record.errors.push(ErrorCount {
                    operation: KIND.into(),
                    error,
                    count: 1,
                    ..ErrorCount::default()
                });
            }
            None if times.add(self.ns, 1) => {}
            None => return Err(Fault::whole("more runs than 64 bits count")),
        }
        record.elapsed_ns = self.ns;
        let (count, errors) = (times.count(), 1 - times.count());
        record.operations.insert(
            KIND,
            Operations {
                count,
                errors,
                latency: times.into_histogram(),
                ..Operations::default()
            },
        );
        Ok(())
    }
}

/// `None` in exports of versions that kept no single times.
fn starts(result: &Node<'_>) -> Result<Option<Vec<Start>>, Fault> {
    let Some(times) = result.get("times") else {
        return Ok(None);
    };
    let mut codes = Vec::new();
    if let Some(node) = result.get("exit_codes") {
        codes = node.items()?.collect();
    }
    let mut out = Vec::new();
    for (index, node) in times.items()?.enumerate() {
        let ns = time::nanos(node.number()?, SECOND_NS)
            .ok_or_else(|| node.fault("not a time of 0 or more seconds"))?;
        out.push(Start {
            ns,
            failure: codes.get(index).map(failure).transpose()?.flatten(),
        });
    }
    if !codes.is_empty() && codes.len() != out.len() {
        return Err(times.fault(format!(
            "{} times and {} exit codes",
            out.len(),
            codes.len()
        )));
    }
    if out.len() > crate::MOST_RECORDS {
        return Err(times.fault(format!(
            "more than {} starts: split the file",
            crate::MOST_RECORDS
        )));
    }
    Ok(Some(out))
}

/// How a run failed; a code of null is a signal.
fn failure(code: &Node<'_>) -> Result<Option<String>, Fault> {
    if code.is_null() {
        return Ok(Some("killed by a signal".into()));
    }
    let number = code.number()?;
    Ok((number != 0.0).then(|| format!("exit code {number}")))
}
