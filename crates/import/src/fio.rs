//! fio: `--output-format=json` and `json+`, alone or among other output, of a local run or of clients.
//!
//! Units are those of fio's `stat.c`: `iops` a second, `bw_bytes` bytes a second, `bw` KiB a second, `runtime` milliseconds, `*_ns`
//! nanoseconds; up to fio 2.21 latencies stand without `_ns` and are microseconds (commit d6bb626e), and up to 2.20 `io_bytes` is KiB
//! and has no `io_kbytes` beside it (commit c12d597a). fio prints zeros for directions that it did not use; they are left out.

mod job;
mod latency;
mod options;

use crate::error::Fault;
use crate::input::{Documents, Input};
use crate::node::Node;
use crate::origin::Origin;
use crate::time;
use job::Job;
use options::Options;
use record::{DeviceAccount, ErrorCount, Measurements, Outcome, Record, Status, Summary};
use serde_json::Value;
use std::collections::BTreeMap;

/// The least run after which fio's device counters, which it polls every 250 ms, are within a few per cent.
const LEAST_MS_FOR_DEVICES: u64 = 10_000;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    let reports = final_reports(&documents.values);
    let Some(last) = reports.last() else { return Err(Fault::whole("no JSON document in it")) };
    let version = Node::root(last, "").opt_text("fio version")?;
    let mut general = printed_besides(&documents);
    if documents.values.len() > reports.len() {
        general.push(format!(
            "{} of {} reports are left out: with --status-interval each counts from the start of the run",
            documents.values.len() - reports.len(),
            documents.values.len()
        ));
    }
    let mut all = Vec::new();
    for report in &reports {
        let root = Node::root(report, "");
        all.extend(merge_clones(jobs(&root, origin)?));
        origin.admit(all.len())?;
    }
    let jobs = all;
    let devices = if jobs.len() == 1 { devices(&Node::root(last, ""))? } else { Vec::new() };
    let together: Vec<Vec<String>> = jobs.iter().enumerate().map(|(index, _)| simultaneous(&jobs, index)).collect();
    let mut records = Vec::with_capacity(jobs.len());
    for (index, (job, others)) in jobs.into_iter().zip(together).enumerate() {
        let mut record = origin.record(index, &job.name, version.map(|text| text.trim_start_matches("fio-")));
        record.notices.clone_from(&general);
        if !others.is_empty() {
            record.notices.push(format!("ran at the same time as {}: together they are one trial", others.join(", ")));
        }
        fill(&mut record, job);
        add_devices(&mut record, &devices);
        records.push(record);
    }
    Ok(records)
}

/// The last report of each run: of those with the same first job, started at the same time, the latest counts all that the others do.
fn final_reports(values: &[Value]) -> Vec<&Value> {
    let first_job = |value: &Value| {
        let job = value.get("client_stats").or_else(|| value.get("jobs"))?.get(0)?;
        Some((job.get("jobname")?.as_str()?.to_owned(), job.get("job_start").and_then(Value::as_u64)))
    };
    let mut out: Vec<&Value> = Vec::new();
    for value in values {
        match out.last_mut() {
            Some(last) if first_job(last) == first_job(value) => *last = value,
            Some(_) | None => out.push(value),
        }
    }
    out
}

fn printed_besides(documents: &Documents<'_>) -> Vec<String> {
    let lines: Vec<&str> = documents.before.lines().chain(documents.after.lines()).filter(|line| !line.trim().is_empty()).collect();
    let grave = |line: &&&str| ["error", "warn", "fail", "note:"].iter().any(|word| line.to_ascii_lowercase().contains(word));
    match (lines.len(), lines.iter().find(grave)) {
        (0, _) => Vec::new(),
        (count, None) => vec![format!("fio printed {count} lines besides its JSON")],
        (count, Some(line)) => {
            let shown: String = line.trim().chars().take(120).collect();
            vec![format!("fio printed {count} lines besides its JSON, among them: {shown}")]
        }
    }
}

fn jobs(root: &Node<'_>, origin: &Origin<'_>) -> Result<Vec<Job>, Fault> {
    let globals = Globals::read(root)?;
    let list = root
        .get("client_stats")
        .or_else(|| root.get("jobs"))
        .ok_or_else(|| root.fault("neither \"jobs\" nor \"client_stats\" is in it"))?;
    let entries: Vec<Node<'_>> = list.items()?.collect();
    origin.admit(entries.len())?;
    let mut jobs = entries.into_iter().map(|node| Job::read(&node, globals.of(&node))).collect::<Result<Vec<_>, _>>()?;
    if jobs.len() > 1 && root.get("client_stats").is_some() {
        // The sum over clients, which would count everything twice.
        jobs.retain(|job| job.name != "All clients");
    }
    Ok(jobs)
}

/// The `global options`: of a local run or of one client an object, of several clients an array that names each.
struct Globals(Vec<(Option<Client>, Options)>);

/// Host name and port.
type Client = (String, Option<u64>);

impl Globals {
    fn read(root: &Node<'_>) -> Result<Self, Fault> {
        let Some(node) = root.get("global options") else { return Ok(Self(Vec::new())) };
        if node.is_object() {
            return Ok(Self(vec![(None, Options::read(&node)?)]));
        }
        let of_client = |node: Node<'_>| Ok((client(&node), Options::read(&node)?));
        Ok(Self(node.items()?.map(of_client).collect::<Result<_, _>>()?))
    }

    /// Those that are in force for a job.
    fn of(&self, job: &Node<'_>) -> Options {
        let client = client(job);
        let found = self.0.iter().find(|(whose, _)| whose.is_none() || *whose == client);
        found.map(|(_, options)| options.clone()).unwrap_or_default()
    }
}

fn client(node: &Node<'_>) -> Option<Client> {
    let host = node.opt_text("hostname").ok().flatten()?;
    Some((host.to_owned(), node.opt_count("port").ok().flatten()))
}

/// Clones of one job (`numjobs` without `group_reporting`) are one workload: each alone is not a repetition of it.
fn merge_clones(jobs: Vec<Job>) -> Vec<Job> {
    let mut out: Vec<Job> = Vec::with_capacity(jobs.len());
    for job in jobs {
        match out.last_mut() {
            Some(last) if last.is_clone_of(&job) => last.merge(job),
            Some(_) | None => out.push(job),
        }
    }
    out
}

/// The names of the other jobs whose time overlaps with that of one; jobs without a start time overlap within their group.
fn simultaneous(jobs: &[Job], index: usize) -> Vec<String> {
    let job = &jobs[index];
    let span = |job: &Job| job.start_ms.map(|start| (start, start.saturating_add(job.runtime_ms)));
    let overlap = |other: &Job| match (span(job), span(other)) {
        (Some((from, to)), Some((start, end))) => start < to && from < end,
        _ => job.group == other.group,
    };
    let others = jobs.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
    others.filter(|other| overlap(other)).take(4).map(|other| format!("{:?}", other.name)).collect()
}

fn fill(record: &mut Record, job: Job) {
    let (effective, notices) = job.options.effective(job.clones);
    record.notices.extend(notices);
    if job.clones > 1 {
        record.notices.push(format!("{} clones of the job are added up; percentiles of single clones are left out", job.clones));
    }
    record.asked = job.options.asked();
    let block = job.options.block_bytes();
    record.effective = effective;
    record.environment.system.hostname = job.hostname;
    record.started_at = job.start_ms.map_or_else(String::new, |ms| time::format(i128::from(ms) * 1_000_000));
    record.elapsed_ns = job.runtime_ms.saturating_mul(1_000_000);
    record.process.user_ns = job.user_ns;
    record.process.system_ns = job.system_ns;
    record.process.major_faults = job.major_faults;
    record.process.minor_faults = job.minor_faults;
    let mut operations = Measurements::default();
    let (mut completion_only, mut coarse) = (false, false);
    for (kind, direction) in job.directions {
        completion_only |= direction.has_completion_latency_only();
        coarse |= direction.is_coarse();
        direction.store(&kind, block, &mut operations, &mut record.summaries, &mut record.notices);
    }
    if completion_only {
        record.notices.push(
            "latencies are fio's completion latency, which starts after the submission returned; --lat_percentiles=1 has them whole".into(),
        );
    }
    if coarse {
        record.notices.push("latencies are whole microseconds rounded down; what is rounded to 0 is left out".into());
    }
    record.operations = operations;
    if !job.figures.is_empty() {
        record.summaries.insert("job".into(), Summary { figures: job.figures, ..Summary::default() });
    }
    if job.error != 0 || job.total_errors > 0 {
        let errno = if job.error == 0 { job.first_error } else { job.error };
        record.errors.push(ErrorCount { error: format!("errno {errno}"), count: job.total_errors.max(1), ..ErrorCount::default() });
    }
    if job.error != 0 {
        let message = Some(format!("fio reports errno {} for this job", job.error));
        record.outcome = Outcome { status: Status::Failed, exit_code: 1, message };
    }
}

/// The counters of a block device, and all that fio prints of it.
type Device = (DeviceAccount, BTreeMap<String, f64>);

fn devices(root: &Node<'_>) -> Result<Vec<Device>, Fault> {
    let Some(list) = root.get("disk_util") else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for node in list.items()? {
        let name = node.need("name")?.text()?.to_owned();
        let mut figures = BTreeMap::new();
        for (key, value) in node.members()?.filter(|(key, _)| *key != "name") {
            figures.insert(key.to_owned(), value.number()?);
        }
        let count = |key| node.opt_count(key).map(Option::unwrap_or_default);
        // A sector of /sys/block/*/stat is 512 bytes, whatever the device's own.
        let bytes = |key| count(key).map(|sectors| sectors.saturating_mul(512));
        out.push((
            DeviceAccount {
                name,
                reads: count("read_ios")?,
                read_bytes: bytes("read_sectors")?,
                writes: count("write_ios")?,
                written_bytes: bytes("write_sectors")?,
                queue_ns: count("in_queue")?.saturating_mul(1_000_000),
                ..DeviceAccount::default()
            },
            figures,
        ));
    }
    Ok(out)
}

/// Takes the devices as an account only where fio's polling and what it counts besides the job cannot mislead.
fn add_devices(record: &mut Record, devices: &[Device]) {
    let long = record.elapsed_ns >= LEAST_MS_FOR_DEVICES * 1_000_000;
    let only_the_job = !record.effective.contains_key("warmup");
    for (device, figures) in devices {
        record.summaries.insert(format!("device {}", device.name), Summary { figures: figures.clone(), ..Summary::default() });
        let util = figures.get("util").copied().unwrap_or_default();
        if long && only_the_job && figures.contains_key("read_sectors") {
            let busy_ns = time::nanos(record.elapsed_ns as f64 * util / 100.0, 1.0).unwrap_or_default();
            record.devices.push(DeviceAccount { busy_ns, ..device.clone() });
        }
    }
}
