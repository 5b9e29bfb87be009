//! Records as the document that `fio --output-format=json` writes, for the tools that read it
//! (fio-plot, kubestr, scripts with jq).
//!
//! Units and types are fio's: `bw` in KiB/s, `runtime` in ms, latencies in ns, whole numbers where
//! fio has whole numbers, options as texts. An entry of `jobs` is a record, one of its workers, or
//! a group of records that ran together, as [`Entries`] says. Where the two tools differ
//! in what they know:
//! * `lat_ns` counts from the intended start; `clat_ns` from the issue. Submission is inside
//!   `clat_ns`, `slat_ns` is empty: on a target that completes inline fio's own `clat` misses the
//!   whole operation.
//! * `bw_*` and `iops_*` are from the intervals of the record, an interval without operations
//!   included.
//! * Of queue depths a record knows means, so `iodepth_level`, `iodepth_submit` and
//!   `iodepth_complete` say 100 % at the measured mean.
//! * `usr_cpu` and `sys_cpu` are of the whole process, kernel workers of io_uring included, over
//!   the time of all workers.
//! * Operations that fio has no place for (open, stat, …) are left out; what a record does not know
//!   about devices is 0, since typed readers take nothing but numbers.
//! * `fio version` is `fio-3.0-fathom-VERSION`: 3.0 is the layout (the first with nanoseconds), and
//!   readers in use check for `fio-`.

use crate::{moment, per_second};
use entries::{Entry, entries, group};
use record::{DeviceAccount, LoopAccount, Record, Status};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use units::lossless::f64_to_u64_saturating;

mod direction;
mod entries;
mod job_options;
mod latency;
mod terse;

pub use terse::fio_terse;

/// What a fio document says beyond its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FioOptions {
    /// Options as typed, for each record in order; those that readers need and nobody typed are
    /// added from what was effective.
    pub job_options: Vec<BTreeMap<String, String>>,
    pub global_options: BTreeMap<String, String>,
    /// Adds the latency bins of `json+`.
    pub bins: bool,
    /// The group of each record in order: those that ran together. Empty: each record is a group.
    pub groups: Vec<usize>,
    pub entries: Entries,
}

/// What one entry of `jobs` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entries {
    #[default]
    Record,
    /// A worker, where a record has the measurements of each: what fio writes for clones of a job.
    Worker,
    /// All records of a group: what fio writes with `group_reporting`.
    Group,
}

/// The version that results name: readers check that it begins with fio-3, the layout.
#[must_use]
pub fn fio_version(fathom: &str) -> String {
    format!("fio-3.0-fathom-{fathom}")
}

/// The fio document of `records`.
#[must_use]
pub fn fio_json(records: &[Record], options: &FioOptions) -> Value {
    let ended_ms = records
        .iter()
        .map(|record| started_ms(record).saturating_add(record.elapsed_ns / 1_000_000))
        .max()
        .unwrap_or(0);
    let version = records.first().map_or("", Record::fathom_version);
    let jobs: Vec<Value> = entries(records, options)
        .iter()
        .map(|entry| job(entry, options))
        .collect();
    let notices: BTreeSet<String> = records.iter().flat_map(Record::notes).collect();
    json!({
        "fio version": fio_version(version),
        "timestamp": ended_ms / 1000,
        "timestamp_ms": ended_ms,
        "time": moment::asctime(ended_ms),
        "global options": options.global_options,
        "jobs": jobs,
        "disk_util": disks(records, options),
        "fathom": {"notices": notices},
    })
}

fn started_ms(record: &Record) -> u64 {
    moment::unix_ms(&record.started_at).unwrap_or(0)
}

fn job(entry: &Entry<'_>, options: &FioOptions) -> Value {
    let record = entry.record.as_ref();
    let runtime_ms = record.elapsed_ns / 1_000_000;
    let workers = record.workers.len().max(1) as u64;
    let process = record.process();
    let depth = analyze::Effective::of(record)
        .number("queue-depth")
        .unwrap_or(1);
    let mut out = json!({
        "jobname": record.name,
        "groupid": entry.group,
        "job_start": started_ms(record),
        "error": exit_code(record),
        "eta": 0,
        "elapsed": record.elapsed_ns.div_ceil(1_000_000_000),
        "job options": job_options::merged(record, options.job_options.get(entry.index), &options.global_options),
        "read": direction::transfers(record, &["read"], options.bins),
        "write": direction::transfers(record, &["write"], options.bins),
        "trim": direction::transfers(record, &["trim", "discard"], options.bins),
        "sync": direction::flushes(record, &["fsync", "fdatasync"], options.bins),
        "job_runtime": runtime_ms.saturating_mul(workers),
        "usr_cpu": cpu_percent(process.user_ns, record.elapsed_ns, workers),
        "sys_cpu": cpu_percent(process.system_ns, record.elapsed_ns, workers),
        "ctx": process.voluntary_switches.saturating_add(process.involuntary_switches),
        "majf": process.major_faults,
        "minf": process.minor_faults,
        "latency_depth": depth,
        "latency_target": 0,
        "latency_target_ns": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
        "latency_window_us": 0,
    });
    let fields = out.as_object_mut().expect("the literal above is an object");
    fields.extend(depths(&record.loops));
    fields.extend(latency::shares(record));
    if record.operations.errors() > 0 {
        fields.insert("total_err".into(), record.operations.errors().into());
    }
    out
}

/// fio puts an errno here; readers look for anything but 0.
fn exit_code(record: &Record) -> i32 {
    match record.outcome.status {
        Status::Ok => 0,
        Status::Apart | Status::Failed | Status::Interrupted | Status::Incomplete => {
            record.outcome.exit_code.max(1)
        }
    }
}

fn cpu_percent(cpu_ns: u64, elapsed_ns: u64, workers: u64) -> f64 {
    per_second(cpu_ns, elapsed_ns) * 1e-9 * 100.0 / workers as f64
}

fn depths(generator: &LoopAccount) -> Map<String, Value> {
    let mean = |whole: f64, parts: f64| {
        if parts > 0.0 {
            (whole / parts).round()
        } else {
            0.0
        }
    };
    let in_flight = mean(generator.in_flight_ns as f64, generator.worker_ns as f64);
    let submitted = mean(generator.submitted as f64, generator.submissions as f64);
    let reaped = mean(generator.submitted as f64, generator.reaps as f64);
    let level: [(&str, f64); 7] = [
        ("1", 1.0),
        ("2", 2.0),
        ("4", 4.0),
        ("8", 8.0),
        ("16", 16.0),
        ("32", 32.0),
        (">=64", 64.0),
    ];
    // Labels of batches are upper bounds.
    let batch: [(&str, f64); 7] = [
        ("0", 0.0),
        ("4", 1.0),
        ("8", 5.0),
        ("16", 9.0),
        ("32", 17.0),
        ("64", 33.0),
        (">=64", 65.0),
    ];
    let distribution = |least: &[(&str, f64)], mean: f64, some: bool| -> Value {
        let at = least
            .iter()
            .rposition(|(_, least)| mean >= *least)
            .unwrap_or(0);
        let shares = least.iter().enumerate().map(|(i, (label, _))| {
            (
                (*label).to_owned(),
                Value::from(if some && i == at { 100.0 } else { 0.0 }),
            )
        });
        Value::Object(shares.collect())
    };
    let some = generator.submitted > 0;
    let fields = [
        ("iodepth_level", &level, in_flight),
        ("iodepth_submit", &batch, submitted),
        ("iodepth_complete", &batch, reaped),
    ];
    fields
        .into_iter()
        .map(|(name, least, mean)| (name.to_owned(), distribution(least, mean, some)))
        .collect()
}

/// One entry a device over all groups. The records of a group saw the same device at the same time,
/// so the longest speaks for all, as one does of the ranks of one machine.
fn disks(records: &[Record], options: &FioOptions) -> Vec<Value> {
    let mut longest: BTreeMap<usize, &Record> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        let known = longest.entry(group(options, index)).or_insert(record);
        if record.elapsed_ns > known.elapsed_ns {
            *known = record;
        }
    }
    let mut sums: Vec<(DeviceAccount, u64)> = Vec::new();
    for record in longest.values() {
        let machines = record::by_machine(record.generators(), |host| host);
        for (_, device) in machines.into_iter().flat_map(record::devices_of_machine) {
            match sums.iter_mut().find(|(sum, _)| sum.name == device.name) {
                Some((sum, counted_over_ns)) => {
                    *counted_over_ns += record.counted_over_ns();
                    add(sum, device);
                }
                None => sums.push((device.clone(), record.counted_over_ns())),
            }
        }
    }
    sums.iter()
        .map(|(device, counted_over_ns)| disk(device, *counted_over_ns))
        .collect()
}

fn add(sum: &mut DeviceAccount, device: &DeviceAccount) {
    sum.reads += device.reads;
    sum.writes += device.writes;
    sum.read_bytes += device.read_bytes;
    sum.written_bytes += device.written_bytes;
    sum.busy_ns += device.busy_ns;
    sum.queue_ns += device.queue_ns;
    let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
    sum.reads_merged = both(sum.reads_merged, device.reads_merged);
    sum.writes_merged = both(sum.writes_merged, device.writes_merged);
    sum.read_ns = both(sum.read_ns, device.read_ns);
    sum.write_ns = both(sum.write_ns, device.write_ns);
}

fn disk(device: &DeviceAccount, counted_over_ns: u64) -> Value {
    json!({
        "name": device.name,
        "read_ios": device.reads,
        "write_ios": device.writes,
        "read_sectors": device.read_bytes / 512,
        "write_sectors": device.written_bytes / 512,
        "read_merges": device.reads_merged.unwrap_or(0),
        "write_merges": device.writes_merged.unwrap_or(0),
        "read_ticks": device.read_ns.unwrap_or(0) / 1_000_000,
        "write_ticks": device.write_ns.unwrap_or(0) / 1_000_000,
        "in_queue": device.queue_ns / 1_000_000,
        "util": (per_second(device.busy_ns, counted_over_ns) * 1e-9 * 100.0).min(100.0),
    })
}

/// The nearest whole number, as fio writes for bounds of samples and for percentiles.
fn whole(value: f64) -> u64 {
    f64_to_u64_saturating(value.round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use record::{Histogram, Operations};

    /// What fio-plot reads of a job (`fio_plot/fiolib/jsonparsing_support.py`) and what other
    /// readers of the format declare.
    const READ_BY_CONSUMERS: &[&str] = &[
        "/fio version",
        "/timestamp",
        "/timestamp_ms",
        "/time",
        "/global options",
        "/jobs/0/jobname",
        "/jobs/0/groupid",
        "/jobs/0/error",
        "/jobs/0/job_start",
        "/jobs/0/elapsed",
        "/jobs/0/eta",
        "/jobs/0/job options/rw",
        "/jobs/0/job options/bs",
        "/jobs/0/job options/iodepth",
        "/jobs/0/job options/numjobs",
        "/jobs/0/read/io_bytes",
        "/jobs/0/read/io_kbytes",
        "/jobs/0/read/bw_bytes",
        "/jobs/0/read/bw",
        "/jobs/0/read/iops",
        "/jobs/0/read/runtime",
        "/jobs/0/read/total_ios",
        "/jobs/0/read/short_ios",
        "/jobs/0/read/drop_ios",
        "/jobs/0/read/slat_ns/N",
        "/jobs/0/read/clat_ns/min",
        "/jobs/0/read/clat_ns/percentile/99.000000",
        "/jobs/0/read/clat_ns/percentile/99.990000",
        "/jobs/0/read/lat_ns/mean",
        "/jobs/0/read/lat_ns/stddev",
        "/jobs/0/read/lat_ns/N",
        "/jobs/0/read/bw_min",
        "/jobs/0/read/bw_max",
        "/jobs/0/read/bw_agg",
        "/jobs/0/read/bw_mean",
        "/jobs/0/read/bw_dev",
        "/jobs/0/read/bw_samples",
        "/jobs/0/read/iops_min",
        "/jobs/0/read/iops_max",
        "/jobs/0/read/iops_mean",
        "/jobs/0/read/iops_stddev",
        "/jobs/0/read/iops_samples",
        "/jobs/0/write/lat_ns/mean",
        "/jobs/0/trim/total_ios",
        "/jobs/0/sync/total_ios",
        "/jobs/0/sync/lat_ns/N",
        "/jobs/0/job_runtime",
        "/jobs/0/usr_cpu",
        "/jobs/0/sys_cpu",
        "/jobs/0/ctx",
        "/jobs/0/majf",
        "/jobs/0/minf",
        "/jobs/0/iodepth_level/>=64",
        "/jobs/0/iodepth_submit/0",
        "/jobs/0/iodepth_complete/64",
        "/jobs/0/latency_ns/2",
        "/jobs/0/latency_us/1000",
        "/jobs/0/latency_ms/>=2000",
        "/jobs/0/latency_depth",
        "/jobs/0/latency_target",
        "/jobs/0/latency_percentile",
        "/jobs/0/latency_window",
        "/disk_util/0/name",
        "/disk_util/0/util",
        "/disk_util/0/read_sectors",
    ];

    fn document(record: Record) -> Value {
        fio_json(&[record], &FioOptions::default())
    }

    #[test]
    fn every_field_that_consumers_read_is_there() {
        let document = document(example::oltp());
        for path in READ_BY_CONSUMERS {
            assert!(
                document.pointer(path).is_some_and(|value| !value.is_null()),
                "{path}"
            );
        }
    }

    /// One line a field, jobs taken apart.
    fn lines(document: &Value) -> String {
        let line = |(key, value): (&String, &Value)| format!("{key} = {value}");
        let job = document["jobs"][0].as_object().unwrap();
        let around = document
            .as_object()
            .unwrap()
            .iter()
            .filter(|(key, _)| *key != "jobs");
        around
            .map(line)
            .chain(job.iter().map(|field| format!("  {}", line(field))))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn the_document_of_a_record() {
        insta::assert_snapshot!(lines(&document(example::oltp())), @r#"
        disk_util = [{"in_queue":14900,"name":"nvme0n1","read_ios":14100,"read_merges":3,"read_sectors":112800,"read_ticks":9100,"util":86.00000000000001,"write_ios":7640,"write_merges":12,"write_sectors":61120,"write_ticks":5800}]
        fathom = {"notices":["the file system has no DIOALIGN: alignment assumed from the device"]}
        fio version = "fio-3.0-fathom-0.1.0"
        global options = {}
        time = "Fri Nov 20 11:07:03 2026"
        timestamp = 1795172823
        timestamp_ms = 1795172823601
          ctx = 18181
          elapsed = 2
          error = 1
          eta = 0
          groupid = 0
          iodepth_complete = {"0":0.0,"16":0.0,"32":0.0,"4":100.0,"64":0.0,"8":0.0,">=64":0.0}
          iodepth_level = {"1":0.0,"16":0.0,"2":0.0,"32":0.0,"4":100.0,"8":0.0,">=64":0.0}
          iodepth_submit = {"0":0.0,"16":0.0,"32":0.0,"4":100.0,"64":0.0,"8":0.0,">=64":0.0}
          job options = {"bs":"4k","direct":"1","filename":"/data/oltp.dat","fsync":"500","group_reporting":"","iodepth":"4","ioengine":"io_uring","name":"oltp","numjobs":"2","runtime":"2000000us","rw":"randrw","rwmixread":"70","size":"8589934592","time_based":""}
          job_runtime = 4000
          job_start = 1795172821601
          jobname = "oltp"
          latency_depth = 4
          latency_ms = {"10":0.092365953909389,"100":0.0,"1000":0.0,"2":0.0554195723456334,"20":0.0,"2000":0.0,"250":0.0,"4":0.0,"50":0.0,"500":0.0,"750":0.0,">=2000":0.0}
          latency_ns = {"10":0.0,"100":0.0,"1000":0.0,"2":0.0,"20":0.0,"250":0.0,"4":0.0,"50":0.0,"500":0.0,"750":0.0}
          latency_percentile = 100.0
          latency_target = 0
          latency_target_ns = 0
          latency_us = {"10":0.0,"100":59.576040271555904,"1000":0.0,"2":0.0,"20":0.0,"250":5.264859372835173,"4":0.0,"50":34.91433057774904,"500":0.09698425160485845,"750":0.0}
          latency_window = 0
          latency_window_us = 0
          majf = 0
          minf = 812
          read = {"bw":28162,"bw_agg":100.0,"bw_bytes":28837888,"bw_dev":13868.0,"bw_max":35096,"bw_mean":28162.0,"bw_min":7360,"bw_samples":4,"clat_ns":{"N":14081,"max":9000000,"mean":96845.3945032313,"min":81000,"percentile":{"1.000000":81000,"10.000000":81000,"20.000000":81016,"30.000000":81076,"40.000000":81136,"5.000000":81000,"50.000000":81196,"60.000000":81256,"70.000000":81316,"80.000000":81376,"90.000000":84350,"95.000000":111830,"99.000000":112082,"99.500000":112114,"99.900000":8997827,"99.950000":9000000,"99.990000":9000000},"stddev":336519.21196198603},"drop_ios":0,"io_bytes":57675776,"io_kbytes":56324,"iops":7040.5,"iops_max":8774,"iops_mean":7040.5,"iops_min":1840,"iops_samples":4,"iops_stddev":3467.0,"lat_ns":{"N":14081,"max":9000000,"mean":96845.3945032313,"min":81000,"percentile":{"1.000000":81000,"10.000000":81000,"20.000000":81016,"30.000000":81076,"40.000000":81136,"5.000000":81000,"50.000000":81196,"60.000000":81256,"70.000000":81316,"80.000000":81376,"90.000000":84350,"95.000000":111830,"99.000000":112082,"99.500000":112114,"99.900000":8997827,"99.950000":9000000,"99.990000":9000000},"stddev":336519.21196198603},"runtime":2000,"short_ios":0,"slat_ns":{"N":0,"max":0,"mean":0.0,"min":0,"stddev":0.0},"total_ios":14081}
          sync = {"lat_ns":{"N":16,"max":2400000,"mean":2400000.0,"min":2400000,"percentile":{"1.000000":2400000,"10.000000":2400000,"20.000000":2400000,"30.000000":2400000,"40.000000":2400000,"5.000000":2400000,"50.000000":2400000,"60.000000":2400000,"70.000000":2400000,"80.000000":2400000,"90.000000":2400000,"95.000000":2400000,"99.000000":2400000,"99.500000":2400000,"99.900000":2400000,"99.950000":2400000,"99.990000":2400000},"stddev":255.5},"total_ios":16}
          sys_cpu = 14.750000000000002
          total_err = 3
          trim = {"bw":0,"bw_agg":0.0,"bw_bytes":0,"bw_dev":0.0,"bw_max":0,"bw_mean":0.0,"bw_min":0,"bw_samples":0,"clat_ns":{"N":0,"max":0,"mean":0.0,"min":0,"stddev":0.0},"drop_ios":0,"io_bytes":0,"io_kbytes":0,"iops":0.0,"iops_max":0,"iops_mean":0.0,"iops_min":0,"iops_samples":0,"iops_stddev":0.0,"lat_ns":{"N":0,"max":0,"mean":0.0,"min":0,"stddev":0.0},"runtime":0,"short_ios":0,"slat_ns":{"N":0,"max":0,"mean":0.0,"min":0,"stddev":0.0},"total_ios":0}
          usr_cpu = 6.25
          write = {"bw":15144,"bw_agg":100.0,"bw_bytes":15507456,"bw_dev":0.0,"bw_max":15144,"bw_mean":15144.0,"bw_min":15144,"bw_samples":4,"clat_ns":{"N":7572,"max":1200000,"mean":24825.6735340729,"min":21000,"percentile":{"1.000000":21000,"10.000000":21008,"20.000000":21024,"30.000000":21040,"40.000000":21056,"5.000000":21000,"50.000000":21072,"60.000000":21088,"70.000000":21104,"80.000000":30469,"90.000000":30530,"95.000000":30561,"99.000000":30586,"99.500000":30589,"99.900000":1199054,"99.950000":1200000,"99.990000":1200000},"stddev":46979.57702397462},"drop_ios":0,"io_bytes":31014912,"io_kbytes":30288,"iops":3786.0,"iops_max":3786,"iops_mean":3786.0,"iops_min":3786,"iops_samples":4,"iops_stddev":0.0,"lat_ns":{"N":7572,"max":1200000,"mean":24825.6735340729,"min":21000,"percentile":{"1.000000":21000,"10.000000":21008,"20.000000":21024,"30.000000":21040,"40.000000":21056,"5.000000":21000,"50.000000":21072,"60.000000":21088,"70.000000":21104,"80.000000":30469,"90.000000":30530,"95.000000":30561,"99.000000":30586,"99.500000":30589,"99.900000":1199054,"99.950000":1200000,"99.990000":1200000},"stddev":46979.57702397462},"runtime":2000,"short_ios":0,"slat_ns":{"N":0,"max":0,"mean":0.0,"min":0,"stddev":0.0},"total_ios":7572}
        "#);
    }

    #[test]
    fn a_device_is_one_entry_of_numbers_over_all_groups() {
        let records = [example::oltp(), example::oltp(), example::oltp()];
        let options = FioOptions {
            groups: vec![0, 0, 1],
            ..FioOptions::default()
        };
        let document = fio_json(&records, &options);
        let disks = document["disk_util"].as_array().unwrap();
        assert_eq!(
            (
                disks.len(),
                &disks[0]["read_ios"],
                &disks[0]["write_merges"]
            ),
            (1, &json!(28_200), &json!(24))
        );
        let mut unknown = Record::default();
        unknown.generator_mut().devices = vec![DeviceAccount::default()];
        let disk = &fio_json(&[unknown], &options)["disk_util"][0];
        assert!(
            disk.as_object()
                .unwrap()
                .iter()
                .all(|(key, value)| key == "name" || value.is_number()),
            "{disk}"
        );
    }

    #[test]
    fn units_are_those_of_fio() {
        let mut record = Record {
            elapsed_ns: 2_000_000_000,
            ..Record::default()
        };
        let mut latency = Histogram::default();
        latency.record_many(250, 2048);
        record.operations.insert(
            "read",
            Operations {
                count: 2048,
                bytes: 2048 * 4096,
                latency,
                ..Operations::default()
            },
        );
        let read = &document(record)["jobs"][0]["read"];
        assert_eq!(
            (
                &read["bw_bytes"],
                &read["bw"],
                &read["iops"],
                &read["runtime"]
            ),
            (
                &json!(4_194_304),
                &json!(4096),
                &json!(1024.0),
                &json!(2000)
            )
        );
        assert_eq!(
            read["lat_ns"],
            json!({"min": 250, "max": 250, "mean": 250.0, "stddev": 0.0, "N": 2048, "percentile": read["lat_ns"]["percentile"]})
        );
    }

    #[test]
    fn bins_are_for_json_plus_alone_and_add_up() {
        let with = fio_json(
            &[example::oltp()],
            &FioOptions {
                bins: true,
                ..FioOptions::default()
            },
        );
        let bins = with["jobs"][0]["read"]["clat_ns"]["bins"]
            .as_object()
            .unwrap();
        let total: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(
            Some(total),
            with["jobs"][0]["read"]["clat_ns"]["N"].as_u64()
        );
        assert!(bins.keys().all(|ns| ns.parse::<u64>().is_ok()));
        assert!(
            document(example::oltp())["jobs"][0]["read"]["clat_ns"]
                .get("bins")
                .is_none()
        );
    }

    #[test]
    fn a_depth_says_the_measured_mean() {
        let loops = LoopAccount {
            in_flight_ns: 31_700,
            worker_ns: 1000,
            submissions: 10,
            submitted: 40,
            reaps: 8,
            ..LoopAccount::default()
        };
        let record = Record {
            loops,
            ..Record::default()
        };
        let job = &document(record)["jobs"][0];
        assert_eq!(
            (&job["iodepth_level"]["32"], &job["iodepth_level"]["1"]),
            (&json!(100.0), &json!(0.0))
        );
        assert_eq!(
            (&job["iodepth_submit"]["4"], &job["iodepth_complete"]["8"]),
            (&json!(100.0), &json!(100.0))
        );
    }

    #[test]
    fn a_failed_record_has_an_error() {
        let mut record = Record::default();
        assert_eq!(document(record.clone())["jobs"][0]["error"], 0);
        record.outcome.status = Status::Incomplete;
        assert_eq!(document(record)["jobs"][0]["error"], 1);
    }

    #[test]
    fn nothing_measured_is_still_a_document() {
        assert_eq!(
            document(Record::default())["jobs"][0]["read"]["lat_ns"]["N"],
            0
        );
        assert_eq!(fio_json(&[], &FioOptions::default())["jobs"], json!([]));
    }
}
