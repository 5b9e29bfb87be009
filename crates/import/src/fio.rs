//! fio: `--output-format=json` and `json+`, alone or among other output, of a local run or of
//! clients.
//!
//! Units are those of fio's `stat.c`: `iops` a second, `bw_bytes` bytes a second, `bw` KiB a
//! second, `runtime` milliseconds, `*_ns` nanoseconds; up to fio 2.21 latencies stand without `_ns`
//! and are microseconds (commit d6bb626e), and up to 2.20 `io_bytes` is KiB and has no `io_kbytes`
//! beside it (commit c12d597a). fio prints zeros for directions that it did not use; they are left
//! out.

mod job;
mod latency;
mod options;
mod reports;
pub(crate) mod terse;

use crate::error::Fault;
use crate::input::{Documents, Input};
use crate::node::Node;
use crate::origin::Origin;
use job::Job;
use options::Options;
use record::{DeviceAccount, ErrorCount, Measurements, Outcome, Record, Status, Summary};
use std::collections::BTreeMap;
use units::{counted, time};

/// The least run after which fio's device counters, which it polls every 250 ms, are within a few
/// per cent.
const LEAST_MS_FOR_DEVICES: u64 = 10_000;

pub(crate) fn read(input: &Input<'_>, origin: &Origin<'_>) -> Result<Vec<Record>, Fault> {
    let documents = input.documents()?;
    let reports = reports::last_of_each_run(&documents.values);
    if reports.is_empty() {
        return Err(Fault::whole("no JSON document in it"));
    }
    let mut general = printed_besides(&documents);
    if documents.values.len() > reports.len() {
        general.push(format!(
            "{} of {} reports are left out: with --status-interval each counts from the start of the run",
            documents.values.len() - reports.len(),
            documents.values.len()
        ));
    }
    let mut records = Vec::new();
    for (number, report) in reports.iter().enumerate() {
        let root = Node::root(report, "");
        let found = of_report(&root, number, records.len(), origin)?;
        records.extend(found);
        origin.admit(records.len())?;
    }
    for record in &mut records {
        record.notices.splice(0..0, general.iter().cloned());
    }
    Ok(records)
}

/// The records of one report, of which the first is the `first`th of its file.
fn of_report(
    root: &Node<'_>,
    number: usize,
    first: usize,
    origin: &Origin<'_>,
) -> Result<Vec<Record>, Fault> {
    let version = root
        .opt_text("fio version")?
        .map(|text| text.trim_start_matches("fio-"));
    let jobs = merge_clones(jobs(root, number, origin)?);
    let devices = devices(root)?;
    let mut records: Vec<Record> = jobs
        .iter()
        .enumerate()
        .map(|(index, job)| origin.record(first + index, &job.name, version))
        .collect();
    let ids: Vec<String> = records.iter().map(|record| record.id.clone()).collect();
    let is_alone = jobs.len() == 1;
    for (index, record) in records.iter_mut().enumerate() {
        record.companions = simultaneous(&jobs, index)
            .map(|other| ids[other].clone())
            .collect();
        let others: Vec<String> = simultaneous(&jobs, index)
            .take(4)
            .map(|other| format!("{:?}", jobs[other].name))
            .collect();
        if !others.is_empty() {
            record.notices.push(format!(
                "ran at the same time as {}: together they are one trial",
                others.join(", ")
            ));
        }
    }
    let is_one_group = jobs.windows(2).all(|pair| pair[0].group == pair[1].group);
    let reported_ms = reported_ms(root)?.filter(|_| is_one_group);
    for (record, job) in records.iter_mut().zip(jobs) {
        let began = reported_ms.and_then(|ms| ms.checked_sub(job.runtime_ms));
        fill(record, job);
        if let Some(ms) = began.filter(|_| record.started_at.is_empty()) {
            record.started_at = time::format(i128::from(ms) * 1_000_000);
        }
        add_devices(record, &devices, is_alone);
    }
    Ok(records)
}

/// When the report was written, in milliseconds since 1970: jobs of one group ended shortly before, and
/// older versions of fio do not say when they began.
fn reported_ms(root: &Node<'_>) -> Result<Option<u64>, Fault> {
    let whole = root.opt_count("timestamp")?;
    let whole = whole.map(|seconds| seconds.saturating_mul(1000));
    Ok(root.opt_count("timestamp_ms")?.or(whole))
}

fn printed_besides(documents: &Documents<'_>) -> Vec<String> {
    let lines: Vec<&str> = documents
        .before
        .lines()
        .chain(documents.after.lines())
        .filter(|line| !line.trim().is_empty())
        .collect();
    let grave = |line: &&&str| {
        ["error", "warn", "fail", "note:"]
            .iter()
            .any(|word| line.to_ascii_lowercase().contains(word))
    };
    match (lines.len(), lines.iter().find(grave)) {
        (0, _) => Vec::new(),
        (count, None) => vec![format!(
            "fio printed {} besides its JSON",
            counted(count, "line")
        )],
        (count, Some(line)) => {
            let shown: String = line.trim().chars().take(120).collect();
            vec![format!(
                "fio printed {} besides its JSON, among them: {shown}",
                counted(count, "line")
            )]
        }
    }
}

fn jobs(root: &Node<'_>, report: usize, origin: &Origin<'_>) -> Result<Vec<Job>, Fault> {
    let globals = Globals::read(root)?;
    let list = root
        .get("client_stats")
        .or_else(|| root.get("jobs"))
        .ok_or_else(|| root.fault("neither \"jobs\" nor \"client_stats\" is in it"))?;
    let entries: Vec<Node<'_>> = list.items()?.collect();
    origin.admit(entries.len())?;
    let mut jobs = entries
        .into_iter()
        .map(|node| Job::read(&node, globals.of(&node), report))
        .collect::<Result<Vec<_>, _>>()?;
    if jobs.len() > 1 && root.get("client_stats").is_some() {
        // The sum over clients, which would count everything twice.
        jobs.retain(|job| job.name != "All clients");
    }
    Ok(jobs)
}

/// The `global options`: of a local run or of one client an object, of several clients an array
/// that names each.
struct Globals(Vec<(Option<Client>, Options)>);

/// Host name and port.
type Client = (String, Option<u64>);

impl Globals {
    fn read(root: &Node<'_>) -> Result<Self, Fault> {
        let Some(node) = root.get("global options") else {
            return Ok(Self(Vec::new()));
        };
        if node.is_object() {
            return Ok(Self(vec![(None, Options::read(&node)?)]));
        }
        let of_client = |node: Node<'_>| Ok((client(&node), Options::read(&node)?));
        Ok(Self(
            node.items()?.map(of_client).collect::<Result<_, _>>()?,
        ))
    }

    /// Those that are in force for a job.
    fn of(&self, job: &Node<'_>) -> Options {
        let client = client(job);
        let found = self
            .0
            .iter()
            .find(|(whose, _)| whose.is_none() || *whose == client);
        found
            .map(|(_, options)| options.clone())
            .unwrap_or_default()
    }
}

fn client(node: &Node<'_>) -> Option<Client> {
    let host = node.opt_text("hostname").ok().flatten()?;
    Some((host.to_owned(), node.opt_count("port").ok().flatten()))
}

/// Clones of one job (`numjobs` without `group_reporting`) are one workload: each alone is not a
/// repetition of it.
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

/// The other jobs whose time overlaps with that of one; jobs without a start time overlap within
/// their group.
fn simultaneous(jobs: &[Job], index: usize) -> impl Iterator<Item = usize> {
    let job = &jobs[index];
    let span = |job: &Job| {
        job.start_ms
            .map(|start| (start, start.saturating_add(job.runtime_ms)))
    };
    let overlap = move |other: &Job| match (span(job), span(other)) {
        (Some((from, to)), Some((start, end))) => start < to && from < end,
        _ => job.group == other.group,
    };
    jobs.iter()
        .enumerate()
        .filter(move |(other, job)| *other != index && overlap(job))
        .map(|(other, _)| other)
}

#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn fill(record: &mut Record, job: Job) {
    let (effective, notices) = job.options.effective(job.clones);
    record.notices.extend(notices);
    if job.clones > 1 {
        record.notices.push(format!(
            "{} clones of the job are added up; percentiles of single clones are left out",
            job.clones
        ));
    }
    record.targets = job.options.targets();
    record.asked = job.options.asked();
    let block = job.options.block_bytes();
    record.effective = effective;
    record.generator_mut().environment.system.hostname = job.hostname;
    record.started_at = job
        .start_ms
        .map_or_else(String::new, |ms| time::format(i128::from(ms) * 1_000_000));
    record.elapsed_ns = job.runtime_ms.saturating_mul(1_000_000);
    record.generator_mut().process.user_ns = job.user_ns;
    record.generator_mut().process.system_ns = job.system_ns;
    record.generator_mut().process.major_faults = job.major_faults;
    record.generator_mut().process.minor_faults = job.minor_faults;
    let mut operations = Measurements::default();
    let (mut completion_only, mut coarse) = (false, false);
    for (kind, direction) in job.directions {
        completion_only |= direction.has_completion_latency_only();
        coarse |= direction.is_coarse();
        direction.store(
            &kind,
            block,
            &mut operations,
            &mut record.summaries,
            &mut record.notices,
        );
    }
    if completion_only {
        record.notices.push(
            "percentiles are of fio's completion latency, which starts after the submission returned; --lat_percentiles=1 has the whole"
                .into(),
        );
    }
    if coarse {
        record.notices.push(
            "latencies are whole microseconds rounded down; what is rounded to 0 is left out"
                .into(),
        );
    }
    record.operations = operations;
    if !job.figures.is_empty() {
        record.summaries.insert(
            "job".into(),
            Summary {
                figures: job.figures,
                ..Summary::default()
            },
        );
    }
    if job.error != 0 || job.total_errors > 0 {
        let errno = if job.error == 0 {
            job.first_error
        } else {
            job.error
        };
        record.errors.push(ErrorCount {
            error: format!("errno {errno}"),
            count: job.total_errors.max(1),
            ..ErrorCount::default()
        });
    }
    if job.error != 0 {
        let message = Some(format!("fio reports errno {} for this job", job.error));
        record.outcome = Outcome {
            status: Status::Failed,
            exit_code: 1,
            message,
        };
    }
}

/// The counters of a block device, and all that fio prints of it.
type Device = (DeviceAccount, BTreeMap<String, f64>);

fn devices(root: &Node<'_>) -> Result<Vec<Device>, Fault> {
    let Some(list) = root.get("disk_util") else {
        return Ok(Vec::new());
    };
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

/// Takes the devices as an account only where fio's polling and what it counts besides the job
/// cannot mislead. What they say stands with every job, as the most that can have been its own.
fn add_devices(record: &mut Record, devices: &[Device], is_alone: bool) {
    let long = record.elapsed_ns >= LEAST_MS_FOR_DEVICES * 1_000_000;
    let only_the_job = !record.effective.contains_key("warmup");
    for (device, figures) in devices {
        record.summaries.insert(
            format!("device {}", device.name),
            Summary {
                figures: figures.clone(),
                ..Summary::default()
            },
        );
        let util = figures.get("util").copied().unwrap_or_default();
        if is_alone && long && only_the_job && figures.contains_key("read_sectors") {
            let busy_ns =
                time::nanos(record.elapsed_ns as f64 * util / 100.0, 1.0).unwrap_or_default();
            record.generator_mut().devices.push(DeviceAccount {
                busy_ns,
                ..device.clone()
            });
        }
    }
}
